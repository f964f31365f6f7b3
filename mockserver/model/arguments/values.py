"""What a text mentions: a value, where it stands, and the words around it."""

from msgspec import Struct

from mockserver.core.json import Json


class Mention(Struct, frozen=True):
    """A value in a text, from `start` up to `end`; `key` is its name in the text, if it has one."""

    kind: (
        str  # number, money, quoted, date, time, datetime, duration, email, url, id, name, words, pair, member, json...
    )
    value: Json
    start: int
    end: int
    key: str = ""
    unit: str = ""  # of a number: a unit, a currency's code, "%", "#"; of words: "the", "lead", "label" or "counted"
    cue: str = ""  # the preposition before it, in English
    before: tuple[str, ...] = ()  # the words before it in its clause, in the singular, nearest first
    after: tuple[str, ...] = ()  # the words after it
    parts: "tuple[Mention, ...]" = ()  # what is in it, and may be wanted alone

    def overlaps(self, other: "Mention") -> bool:
        return self.start < other.end and other.start < self.end
