"""The values of credentials, taken out of all that is kept or shown, however they are written there.

In what is kept every one of them leaves the same placeholder, so that a request looks the same whoever sends it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from mockserver.core.spellings import in_base64, raw, spellings

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

PLACEHOLDER = "<API_KEY>"
SHORTEST, SHORTEST_MIXED = 8, 6  # letters of a value that is looked for everywhere; fewer where not all are alike
LARGEST = 32_000  # letters of all values together that are looked for
REMEMBERED = 4_000  # letters of values for which it is worth the memory to keep what finds them
Span = tuple[int, int]
Edit = tuple[int, int, str]  # from where to where, and what is to stand there


def worth_looking_for(value: str) -> bool:
    """Whether a value is taken out wherever it stands; a short or plain one, such as `ollama`, is only in its place."""
    if PLACEHOLDER in value or value in PLACEHOLDER:
        return False
    return len(value) >= (SHORTEST if value.isalpha() or value.isdigit() else SHORTEST_MIXED)


def placeholder(_: str) -> str:
    """What stands in place of every credential in what is recorded."""
    return PLACEHOLDER


def credentials_of(values: Iterable[str], instead: Callable[[str], str] = placeholder) -> "Credentials":
    """Those of some values that are worth looking for."""
    found = tuple(dict.fromkeys(filter(worth_looking_for, values)))
    return (_again if sum(map(len, found)) <= REMEMBERED else Credentials)(found, instead)


@dataclass(frozen=True)
class Credentials:
    """Values to take out, and what stands in place of one, in whatever case they are written.

    What that takes depends on the length of a text, not on how many they are.
    """

    values: tuple[str, ...] = ()
    instead: Callable[[str], str] = placeholder

    @property
    def too_many(self) -> bool:
        """Whether there is so much of them that only the first are looked for."""
        return sum(map(len, self.values)) > LARGEST

    def are_in(self, data: bytes) -> bool:
        """Whether bytes may hold one of them."""
        return bool(self.values) and bool(self._finder.find(data))

    def data(self, data: bytes) -> bytes:
        """Bytes without any of them; the very object, where none is in it."""
        if not self.values or not (found := self.edits(data)):
            return data
        pieces, reached = list[bytes](), 0
        for start, end, instead in found:
            pieces += (data[reached:start], instead.encode())
            reached = end
        return b"".join((*pieces, data[reached:]))

    def text(self, text: str) -> str:
        """The same of a text."""
        if not self.values:
            return text
        data = text.encode("utf-8", "surrogatepass")
        left = self.data(data)
        return text if left is data else left.decode("utf-8", "replace")

    def edits(self, data: bytes) -> list[Edit]:
        """Where each stands, and what is to stand there; one in base64 with all the base64 around it, which tells of

        it too.
        """
        found = list[Edit]()
        reached = 0
        for number, start, end in self._finder.find(data):
            pattern = self._finder.patterns[number]
            if end <= reached or not pattern.stands(data[start:end]):
                continue
            if start < reached:  # it overlaps the base64 before
                found[-1] = (found[-1][0], end, found[-1][2])
            elif not pattern.exact:
                found.append((start, end, pattern.instead))
            else:
                found.append((*_run(data, start, end, reached), pattern.instead))
            reached = found[-1][1]
        return found

    @cached_property
    def _finder(self) -> "_Finder":
        from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind  # only where there is something to find

        plain, coded = dict[bytes, _Pattern](), dict[bytes, _Pattern]()
        for value in self._within_bounds():
            instead = self.instead(value)
            for form in raw(spellings(value)):
                plain.setdefault(form.lower(), _Pattern(instead))
            for form in raw(in_base64(value)):
                before = coded.get(form.lower(), _Pattern(instead))
                coded[form.lower()] = _Pattern(before.instead, (*before.exact, form))
        patterns = coded | plain | {PLACEHOLDER.lower().encode(): _NOWHERE}
        quick = Implementation.ContiguousNFA  # to make; of what is long, others take seconds
        found = BytesAhoCorasick(tuple(patterns), MatchKind.LeftmostLongest, implementation=quick)
        return _Finder(found, tuple(patterns.values()))

    def _within_bounds(self) -> Iterator[str]:
        total = 0
        for value in self.values:
            total += len(value)
            if total > LARGEST:
                return
            yield value


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What stands in place of a value that is found so. `exact`: its forms, if in another case they are none."""

    instead: str
    exact: tuple[bytes, ...] = ()

    def stands(self, data: bytes) -> bool:
        return not self.exact or data in self.exact


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds patterns, which are in small letters."""

    automaton: "BytesAhoCorasick"
    patterns: tuple[_Pattern, ...]

    def find(self, data: bytes) -> Sequence[tuple[int, int, int]]:
        """The number of each that is found, with its start and end."""
        found: Sequence[tuple[int, int, int]] = self.automaton.find_matches_as_indexes(data.lower())
        return found


def _run(data: bytes, start: int, end: int, reached: int) -> Span:
    """The whole run of base64 around a piece of it, after what was reached before; letters of an escape are none."""
    first = reached + len(data[reached:start].rstrip(_LETTERS))
    escape, tail = _ESCAPE.match(data, first - 1, start) if first else None, _RUN.match(data, end)
    return escape.end() if escape else first, tail.end() if tail else end


_again = lru_cache(32)(Credentials)  # the same ones come again and again, and what finds them is costly
_NOWHERE = _Pattern("", (b"",))  # a placeholder is left as it is
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_RUN = re.compile(rb"[A-Za-z0-9+/_-]*+={0,2}+")
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|[nrtbf/])|%[0-9a-fA-F]{2}")  # of JSON, or of a URL
