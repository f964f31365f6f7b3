"""The values of credentials, taken out of all that is kept, however they are written there.

Every one of them leaves the same placeholder, so that a request looks the same whoever sends it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mockserver.core.spellings import in_base64, raw, spellings

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

PLACEHOLDER = "<API_KEY>"
SHORTEST, SHORTEST_MIXED = 8, 6  # letters of a value that is looked for everywhere; fewer where not all are alike
LARGEST = 32_000  # letters of all values together that are looked for
Span = tuple[int, int]


def worth_looking_for(value: str) -> bool:
    """Whether a value is taken out wherever it stands; a short or plain one, such as `ollama`, is only in its place."""
    if PLACEHOLDER in value or value in PLACEHOLDER:
        return False
    return len(value) >= (SHORTEST if value.isalpha() or value.isdigit() else SHORTEST_MIXED)


def credentials_of(values: Iterable[str]) -> "Credentials":
    """Those of some values that are worth looking for."""
    return Credentials(tuple(dict.fromkeys(filter(worth_looking_for, values))))


@dataclass(frozen=True)
class Credentials:
    """Values to take out. What that takes depends on the length of a text, not on how many they are."""

    values: tuple[str, ...] = ()

    @property
    def too_many(self) -> bool:
        """Whether there is so much of them that only the first are looked for."""
        return sum(map(len, self.values)) > LARGEST

    def are_in(self, data: bytes) -> bool:
        """Whether bytes may hold one of them."""
        return bool(self.values) and bool(self._automaton[0].find_matches_as_indexes(data))

    def data(self, data: bytes) -> bytes:
        """Bytes without any of them; the very object, where none is in it."""
        if not self.values or not (spans := self.spans(data)):
            return data
        ends = (0, *(end for _, end in spans))
        starts = (*(start for start, _ in spans), len(data))
        return _INSTEAD.join(data[end:start] for end, start in zip(ends, starts, strict=True))

    def text(self, text: str) -> str:
        """The same of a text."""
        if not self.values:
            return text
        data = text.encode("utf-8", "surrogatepass")
        left = self.data(data)
        return text if left is data else left.decode("utf-8", "replace")

    def spans(self, data: bytes) -> list[Span]:
        """From where to where each stands; one in base64 with all the base64 around it, which tells of it too."""
        automaton, plain = self._automaton
        found = list[Span]()
        reached = 0
        for pattern, start, end in automaton.find_matches_as_indexes(data):
            if pattern == 0 or end <= reached:  # a placeholder, or within the base64 before
                continue
            if start < reached:
                found[-1] = (found[-1][0], end)
            elif pattern <= plain:
                found.append((start, end))
            else:
                found.append(_run(data, start, end, reached))
            reached = found[-1][1]
        return found

    @cached_property
    def _automaton(self) -> "tuple[BytesAhoCorasick, int]":
        """What finds them, and how many of its patterns after the first are not base64."""
        from ahocorasick_rs import BytesAhoCorasick, MatchKind  # only where there is something to look for

        plain = dict.fromkeys(raw(form for value in self._within_bounds() for form in spellings(value)))
        coded = dict.fromkeys(raw(form for value in self._within_bounds() for form in in_base64(value)))
        patterns = (_INSTEAD, *plain, *(form for form in coded if form not in plain))
        return BytesAhoCorasick(patterns, matchkind=MatchKind.LeftmostLongest), len(plain)

    def _within_bounds(self) -> Iterator[str]:
        total = 0
        for value in self.values:
            total += len(value)
            if total > LARGEST:
                return
            yield value


def _run(data: bytes, start: int, end: int, reached: int) -> Span:
    """The whole run of base64 around a piece of it, after what was reached before; letters of an escape are none."""
    first = reached + len(data[reached:start].rstrip(_LETTERS))
    escape, tail = _ESCAPE.match(data, first - 1, start) if first else None, _RUN.match(data, end)
    return escape.end() if escape else first, tail.end() if tail else end


_INSTEAD = PLACEHOLDER.encode()
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_RUN = re.compile(rb"[A-Za-z0-9+/_-]*+={0,2}+")
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|[nrtbf/])|%[0-9a-fA-F]{2}")  # of JSON, or of a URL
