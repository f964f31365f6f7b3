"""What a text mentions, as a value: where it stands, what kind of thing it is, and which words stand around it."""

from dataclasses import dataclass

from mockserver.core.call import Json


@dataclass(frozen=True, slots=True)
class Mention:
    """One value that stands in a text, from `start` up to `end`; `key` is what the text calls it, if it does."""

    kind: str  # number, quoted, date, time, datetime, duration, email, url, id, name, words, pair, argument, json...
    value: Json
    start: int
    end: int
    key: str = ""
    unit: str = ""  # what a number counts or measures: a unit's sign, a currency's code, "%", "#" before an id
    cue: str = ""  # the preposition before it, in English: from, to, in, with, named...
    before: tuple[str, ...] = ()  # stems of the words before it in its clause, nearest first
    after: tuple[str, ...] = ()  # stems of the words after it
    source: int = 0  # which of the texts it stands in

    def overlaps(self, other: "Mention") -> bool:
        """Whether both have a character in common."""
        return self.start < other.end and other.start < self.end
