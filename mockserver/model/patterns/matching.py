"""Regular expressions of clients: compiled and tried within a time that is set, and texts that look meant for them.

Knows no grammar. `regex` reads what Python's own and most of what Rust's dialect writes, and can be stopped.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from mockserver.core.pattern_size import written_out
from mockserver.core.seed import Random
from mockserver.model.patterns.regex import matching

Pattern = Any  # a Literal, or a compiled pattern, whose type `regex` does not export

_PATIENCE = 0.1  # seconds for one try, which takes microseconds unless the pattern backtracks without end
_TRIES = 8
_READ = 4_000  # characters of a prompt


class UnreadableError(Exception):
    """A regular expression that cannot be read: why, and at which of its characters."""

    def __init__(self, why: str, at: int = 0) -> None:
        super().__init__(why)
        self.at = at


class SlowError(Exception):
    """It takes too long to tell whether a pattern matches."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A pattern that is a text as it stands, in small or capital letters where that is all the same."""

    text: str
    any_case: bool = False

    def begins(self, text: str, at: int) -> bool:
        """Whether a text goes on so from a place."""
        if self.any_case:
            return text[at : at + len(self.text)].lower() == self.text.lower()
        return text.startswith(self.text, at)


def compiled(source: str) -> Pattern:
    """The pattern. Raises UnreadableError."""
    import regex  # type: ignore[import-untyped]  # slow to import, and few requests have a pattern

    if written_out(source) > _LARGEST:
        raise UnreadableError("it repeats too much")
    try:
        return regex.compile(source, regex.VERSION0)
    except regex.error as error:
        raise UnreadableError(error.msg, error.pos or 0) from None
    except RecursionError:
        raise UnreadableError("it is nested too deeply") from None
    except (ValueError, OverflowError) as error:
        raise UnreadableError(str(error)) from None


def fits(pattern: Pattern, text: str) -> bool:
    """Whether the whole text matches. Raises SlowError."""
    if isinstance(pattern, Literal):
        return len(text) == len(pattern.text) and pattern.begins(text, 0)
    try:
        return pattern.fullmatch(text, timeout=_PATIENCE) is not None
    except TimeoutError:
        raise SlowError from None


def length_at(pattern: Pattern, text: str, at: int) -> int:
    """How many characters match from a place on; 0 for none. Raises SlowError."""
    if isinstance(pattern, Literal):
        return len(pattern.text) if pattern.begins(text, at) else 0
    try:
        found = pattern.match(text, at, timeout=_PATIENCE)
    except TimeoutError:
        raise SlowError from None
    return found.end() - at if found else 0


def found_in(source: str, text: str) -> list[str]:
    """What of a text matches a pattern, as far as it is words by themselves; nothing where any word would do.

    Raises SlowError.
    """
    bare = _ANCHORS.sub("", source)
    try:
        inside = compiled(rf"(?<!\w)(?:{bare})(?!\w)")
        if any(fits(compiled(bare), word) for word in _ANY_WORDS):
            return []
        return [found[0] for found in inside.finditer(text[:_READ], timeout=_PATIENCE) if found[0].strip()]
    except UnreadableError:
        return []
    except TimeoutError:
        raise SlowError from None


def text_for(pattern: Pattern, rng: Random) -> str | None:
    """A text that matches and is not empty, if that can be: one that people would write, else any. None: none found."""
    if isinstance(pattern, Literal):
        return pattern.text
    for candidate in _usual(rng):
        if fits(pattern, candidate):
            return candidate
    made = [text for _ in range(_TRIES) if (text := matching(pattern.pattern, rng)) is not None]
    fitting = [text for text in made if fits(pattern, text) and is_whole(text)]
    return min(fitting, key=lambda text: not text, default=None)


def is_whole(text: str) -> bool:
    """Whether no character of a text is a half one, which no client can be sent."""
    return _HALF.search(text) is None


def _usual(rng: Random) -> Iterator[str]:
    """Texts that people write, the likeliest first: a word, a name, numbers, quoted words, dates, times."""
    word, other = rng.choice(_WORDS), rng.choice(_WORDS)
    number = rng.randrange(1, 100)
    day = _DAY + timedelta(days=rng.randrange(366))
    time = f"{rng.randrange(24):02}:{rng.randrange(60):02}"
    yield from (word, f"{word}_{other}", word.capitalize(), word.upper(), f"{word}{number}", f"{word}-{other}")
    yield from (str(number), f"{number}.{rng.randrange(10)}", f"{number}.{rng.randrange(100):02}")
    yield from (f'"{word}"', f"'{word}'", f"`{word}`", f"{word}.{other}", f"/{word}/{other}", f"{word} {other}")
    yield from (f"{day}", f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", f"{day:%d.%m.%Y}", time, f"{time}:00")
    yield from (f"{day}T{time}:00Z", f"{day}T{time}:00", f"{day} {time}", f"{day} {time}:00")
    yield from (f"{word}@example.com", f"https://example.com/{word}", f"{word}.example.com", f"{word}.txt", f"#{word}")
    yield from (f"$1{number}.00", f"{number}%", " ", "\n")


_HALF = re.compile("[\ud800-\udfff]")
_LARGEST = 20_000
_DAY = date(2024, 1, 1)
_WORDS = (
    *("amber", "border", "cedar", "delta", "ember", "field", "garden", "harbor", "island", "juniper", "kernel"),
    *("lantern", "meadow", "north", "orchard", "pepper", "quartz", "river", "summit", "timber", "valley", "window"),
)
_ANCHORS = re.compile(r"^(?:\^|\\A)+|(?<!\\)(?:\$|\\[zZ])+$")
_ANY_WORDS = ("qzxvw", "QZXVW", "Qzxvw", "qzx vwq", "Qzxvw zwq xqz")
