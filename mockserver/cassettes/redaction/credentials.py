"""Finds and replaces known credentials wherever they occur, however they are written there."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from msgspec import Struct

from mockserver.cassettes.redaction.json_edit import Edit, EventTexts, edit_split_texts
from mockserver.cassettes.redaction.spellings import View, has_escapes, list_base64_cores, list_spellings, list_views
from mockserver.core.text import make_reprs

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick


PLACEHOLDER = "<API_KEY>"
MIN_PLAIN = 8  # letters of a value that is replaced everywhere, if all are of one kind
MIN_MIXED = 6  # if they are not
MAX_LETTERS = 32_000  # of all values together
MAX_CACHED = 4_000  # letters of values whose finder is kept


def is_distinctive(value: str) -> bool:
    """Return whether to replace a value everywhere, not only in its field, as a short or plain one such as `ollama`."""
    if PLACEHOLDER in value or value in PLACEHOLDER:
        return False
    return len(value) >= (MIN_PLAIN if value.isalpha() or value.isdigit() else MIN_MIXED)


def use_placeholder(_: str) -> str:
    """Return the text that replaces every credential in a recording."""
    return PLACEHOLDER


def make_credentials(values: Iterable[str], instead: Callable[[str], str] = use_placeholder) -> "Credentials":
    """Return those of the values that are distinctive; `instead` gives the text that replaces each."""
    found = tuple(dict.fromkeys(filter(is_distinctive, values)))
    return (_cached if sum(map(len, found)) <= MAX_CACHED else Credentials)(found, instead)


class Credentials(Struct, frozen=True, dict=True):
    """Values to replace, in any case. Time depends on the length of a text, not on how many values there are."""

    values: tuple[str, ...] = ()
    instead: Callable[[str], str] = use_placeholder

    __repr__, __rich_repr__ = make_reprs("values")

    @property
    def are_too_many(self) -> bool:
        """Whether there are too many to look for all of them: then only the first ones are found."""
        return sum(map(len, self.values)) > MAX_LETTERS

    def are_in(self, data: bytes) -> bool:
        """Return whether bytes may hold one of them."""
        if not self.values:
            return False
        small = data.lower()
        for finder in self._finders:
            if finder.automaton.find_matches_as_indexes(small):
                return True
        if not has_escapes(data):
            return False
        return any(finder.find(view.data.lower()) for view in list_views(data) for finder in self._finders)

    def redact(self, data: bytes) -> bytes:
        """Return bytes without any of them; the same object if none is in it."""
        if not self.are_in(data) or not (found := self.find_edits(data)):
            return data
        pieces = list[bytes]()
        reached = 0
        for start, end, instead in found:
            pieces += (data[reached:start], instead.encode())
            reached = end
        return b"".join((*pieces, data[reached:]))

    def redact_text(self, text: str) -> str:
        """Return a text without any of them."""
        if not self.values:
            return text
        data = text.encode("utf-8", "surrogatepass")
        left = self.redact(data)
        return text if left is data else left.decode("utf-8", "replace")

    def redact_events(self, events: EventTexts) -> EventTexts:
        """Return the events without those that are split across several of them."""
        return edit_split_texts(events, self._find_letters) if self.values else events

    def _find_letters(self, text: str) -> Sequence[Edit]:
        """Return where they occur in a text, by its letters."""
        data = text.encode("utf-8", "surrogatepass")
        edits = list[Edit]()
        letters = 0
        reached = 0
        for start, end, instead in self.find_edits(data):
            before = _count_letters(data[reached:start])
            within = _count_letters(data[start:end])
            edits.append(Edit(letters + before, letters + before + within, instead))
            letters += before + within
            reached = end
        return edits

    def find_edits(self, data: bytes) -> list[Edit]:
        """Return where each occurs, and what replaces it; one in base64 includes all the base64 around it."""
        found = list[Edit]()
        every = (finder.find_edits(view) for view in list_views(data) for finder in self._finders)
        for start, end, instead in sorted(chain.from_iterable(every)):
            if found and start < found[-1].end:  # the same in another view, or next to the base64 before it
                start, before, instead = found.pop()
                end = max(before, end)
            found.append(Edit(start, end, instead))
        return found

    @cached_property
    def _finders(self) -> "tuple[_Finder, ...]":
        plain = dict[bytes, _CredentialPattern]()
        coded = dict[bytes, _CredentialPattern]()
        for value, total in zip(self.values, accumulate(map(len, self.values)), strict=True):
            if total > MAX_LETTERS:
                break
            instead = self.instead(value)
            for form in list_spellings(value):
                plain.setdefault(form.lower(), _CredentialPattern(instead))
            for form in list_base64_cores(value):
                before = coded.get(form.lower(), _CredentialPattern(instead))
                coded[form.lower()] = _CredentialPattern(before.instead, (*before.exact, form))
        every = tuple((coded | plain).items())
        size = _FAST if len(every) <= _FAST * _MAX_FINDERS else len(every)
        return tuple(_make_finder(dict(every[start : start + size])) for start in range(0, len(every), size))


class _CredentialPattern(Struct, frozen=True):
    """The replacement of a form of a value. If case matters, `exact` has the spellings that count."""

    instead: str
    exact: tuple[bytes, ...] = ()

    def matches(self, data: bytes) -> bool:
        """Return whether these bytes, found whatever their case, are the value."""
        return not self.exact or data in self.exact


class _Finder(Struct, frozen=True):
    """Finds forms of values in bytes, by an automaton of them in lower case; `patterns` has what each stands for."""

    automaton: "BytesAhoCorasick"
    patterns: tuple[_CredentialPattern, ...]

    def find(self, small: bytes) -> Sequence[tuple[int, int, int]]:
        """Return the number of each pattern found in bytes in lower case, and where it begins and ends."""
        found: Sequence[tuple[int, int, int]] = self.automaton.find_matches_as_indexes(small)
        return found

    def find_edits(self, view: "View") -> Iterator[Edit]:
        """Yield the edits that replace what is found in a view, by its places in the text that it shows."""
        data = view.data
        reached = 0
        for number, start, end in self.find(data.lower()):
            pattern = self.patterns[number]
            if end <= reached or not pattern.matches(data[start:end]):
                continue
            if pattern.exact:
                start, end = _extend_run(data, start, end, reached=min(start, reached))
            reached = end
            yield Edit(*view.find_span(start, end), pattern.instead)


def _make_finder(patterns: Mapping[bytes, _CredentialPattern]) -> _Finder:
    from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind  # only if there is something to find

    patterns = {**patterns, PLACEHOLDER.lower().encode(): _NOWHERE}
    quick = Implementation.ContiguousNFA  # others take seconds for long values
    automaton = BytesAhoCorasick(tuple(patterns), MatchKind.LeftmostLongest, implementation=quick)
    return _Finder(automaton, tuple(patterns.values()))


def _extend_run(data: bytes, start: int, end: int, *, reached: int) -> tuple[int, int]:
    """Return the whole run of base64 around a piece of it, without the letters of an escape."""
    first = reached + len(data[reached:start].rstrip(_LETTERS))
    escape = _ESCAPE.match(data, first - 1, start) if first else None
    tail = _RUN.match(data, end)
    return escape.end() if escape else first, tail.end() if tail else end


def _count_letters(data: bytes) -> int:
    return len(data) if data.isascii() else sum(byte & 0xC0 != 0x80 for byte in data)


_FAST = 63  # up to 64 patterns are found ten times as fast as more
_MAX_FINDERS = 16
_cached = lru_cache(32)(Credentials)  # the same ones come again and again, and a finder is costly to make
_NOWHERE = _CredentialPattern("", (b"",))  # a placeholder stays as it is
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_RUN = re.compile(rb"[A-Za-z0-9+/_-]*+={0,2}+")
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|[nrtbf/])|%[0-9a-fA-F]{2}")  # of JSON, or of a URL
