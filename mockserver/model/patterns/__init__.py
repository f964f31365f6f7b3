"""Regular expressions that clients send: compiled, matched within a time limit, and sample texts that look meant.

Compiled with `regex`, which reads Python's dialect and most of Rust's, and which can be stopped.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from mockserver.core.pattern_size import written_out
from mockserver.core.seed import Random
from mockserver.model.patterns.sampling import sample

Pattern = Any  # a LiteralPattern, or a compiled pattern, whose type `regex` does not export


class InvalidPatternError(Exception):
    """A regular expression that cannot be compiled: why, and at which character."""

    def __init__(self, why: str, at: int = 0) -> None:
        super().__init__(why)
        self.at = at


class PatternTimeoutError(Exception):
    """A match took too long."""


@dataclass(frozen=True, slots=True)
class LiteralPattern:
    """A pattern that matches one text only, perhaps in any case."""

    text: str
    ignore_case: bool = False

    def matches_at(self, text: str, at: int) -> bool:
        """Whether a text continues with it at a position."""
        if self.ignore_case:
            return text[at : at + len(self.text)].lower() == self.text.lower()
        return text.startswith(self.text, at)


def compile_pattern(source: str) -> Pattern:
    """Raises InvalidPatternError."""
    import regex  # type: ignore[import-untyped]  # slow to import, and few requests have a pattern

    if written_out(source) > _MAX_SIZE:
        raise InvalidPatternError("it repeats too much")
    try:
        return regex.compile(source, regex.VERSION0)
    except regex.error as error:
        raise InvalidPatternError(error.msg, error.pos or 0) from None
    except RecursionError:
        raise InvalidPatternError("it is nested too deeply") from None
    except (ValueError, OverflowError) as error:
        raise InvalidPatternError(str(error)) from None


def fullmatch(pattern: Pattern, text: str) -> bool:
    """Whether the whole text matches. Raises PatternTimeoutError."""
    if isinstance(pattern, LiteralPattern):
        return len(text) == len(pattern.text) and pattern.matches_at(text, 0)
    try:
        return pattern.fullmatch(text, timeout=_TIMEOUT_S) is not None
    except TimeoutError:
        raise PatternTimeoutError from None


def match_length(pattern: Pattern, text: str, at: int) -> int:
    """How many characters match from a position on; 0 for none. Raises PatternTimeoutError."""
    if isinstance(pattern, LiteralPattern):
        return len(pattern.text) if pattern.matches_at(text, at) else 0
    try:
        found = pattern.match(text, at, timeout=_TIMEOUT_S)
    except TimeoutError:
        raise PatternTimeoutError from None
    return found.end() - at if found else 0


def find_whole_words(source: str, text: str) -> list[str]:
    """Find matches in a text that do not begin or end inside a word; none for a pattern that matches any word.

    Raises PatternTimeoutError.
    """
    bare = _ANCHORS.sub("", source)
    try:
        inside = compile_pattern(rf"(?<!\w)(?:{bare})(?!\w)")
        if any(fullmatch(compile_pattern(bare), word) for word in _UNLIKELY_WORDS):
            return []
        return [found[0] for found in inside.finditer(text[:_MAX_PROMPT], timeout=_TIMEOUT_S) if found[0].strip()]
    except InvalidPatternError:
        return []
    except TimeoutError:
        raise PatternTimeoutError from None


def sample_text(pattern: Pattern, rng: Random) -> str | None:
    """Return a matching text, if possible one that people write and not an empty one; None if none is found."""
    if isinstance(pattern, LiteralPattern):
        return pattern.text
    for candidate in _usual_texts(rng):
        if fullmatch(pattern, candidate):
            return candidate
    samples = [text for _ in range(_SAMPLES) if (text := sample(pattern.pattern, rng)) is not None]
    matching = [text for text in samples if fullmatch(pattern, text) and is_encodable(text)]
    return min(matching, key=lambda text: not text, default=None)


def is_encodable(text: str) -> bool:
    """Whether a text has no lone surrogate, which cannot be sent."""
    return _SURROGATE.search(text) is None


def _usual_texts(rng: Random) -> Iterator[str]:
    """Texts that people write, the likeliest first: words, names, numbers, quoted words, dates, times."""
    word, other, number = rng.choice(_WORDS), rng.choice(_WORDS), rng.randrange(1, 100)
    day = _FIRST_DAY + timedelta(days=rng.randrange(366))
    time = f"{rng.randrange(24):02}:{rng.randrange(60):02}"
    yield from (word, f"{word}_{other}", word.capitalize(), word.upper(), f"{word}{number}", f"{word}-{other}")
    yield from (str(number), f"{number}.{rng.randrange(10)}", f"{number}.{rng.randrange(100):02}")
    yield from (f'"{word}"', f"'{word}'", f"{word}.{other}", f"/{word}/{other}", f"{word} {other}")
    yield from (f"{day}", f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", time, f"{time}:00", f"{day}T{time}:00Z")
    yield from (f"{word}@example.com", f"https://example.com/{word}", f"{word}.example.com", f"{word}.txt", " ", "\n")


_TIMEOUT_S = 0.1  # a match takes microseconds unless the pattern backtracks without end
_SAMPLES = 8
_MAX_PROMPT = 4_000  # characters
_MAX_SIZE = 20_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIRST_DAY = date(2024, 1, 1)
_WORDS = (
    *("amber", "border", "cedar", "delta", "ember", "field", "garden", "harbor", "island", "juniper", "kernel"),
    *("lantern", "meadow", "north", "orchard", "pepper", "quartz", "river", "summit", "timber", "valley", "window"),
)
_ANCHORS = re.compile(r"^(?:\^|\\A)+|(?<!\\)(?:\$|\\[zZ])+$")
_UNLIKELY_WORDS = ("qzxvw", "QZXVW", "Qzxvw", "qzx vwq", "Qzxvw zwq xqz")
