"""Find the credentials of a request by their names, and replace them wherever else they occur. Knows no provider."""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from msgspec import Struct

from mockserver.cassettes.redaction.encodings import View, has_escapes, in_any_case, in_base64, views
from mockserver.core.text import hiding

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

Fields = tuple[tuple[bytes, bytes], ...]
MIN_ENVIRONMENT_SECRET = 6  # letters


def mask(value: str) -> str:
    """The text to show for a credential: always the same, with the start of a long one."""
    plain = _BEGINNING.match(value)
    return f"{plain[0][: len(value) // 4] if plain else ''}...(masked)"


def environment_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        value for name, value in environ.items() if len(value) >= MIN_ENVIRONMENT_SECRET and _VARIABLE.search(name)
    )


def credentials(headers: Fields, query: bytes = b"", body: bytes = b"") -> Iterator[str]:
    """The credentials of a request, however short; may repeat some."""
    yield from _in_headers(headers)
    found = list[str]()

    def keep(value: str) -> str:
        found.append(value)
        return ""

    fields = CredentialFields(keep)
    fields.query(query)
    fields.body(body)
    for value in found:
        yield value
        if said := _SAID.fullmatch(value):
            yield said[1]


class CredentialFields(Struct, frozen=True):
    """Replaces what headers, parameters and fields with the names of credentials hold, however short it is."""

    instead: Callable[[str], str] = mask

    def headers(self, headers: Fields) -> Fields:
        """Headers without credentials; schemes and the names of cookies stay."""
        return tuple((name, self._header(name, value)) for name, value in headers)

    def body(self, body: bytes) -> bytes:
        if _ENDING.search(body):
            body = _FIELD.sub(self._field, body)
        return self.query(body) if _FORM.match(body) else body

    def _header(self, name: bytes, value: bytes) -> bytes:
        if not is_secret_field(name):
            return value
        if name.lower() in (b"cookie", b"set-cookie"):
            return _COOKIE.sub(lambda found: found[1] + self._plain(found[2]), value)
        parts = _parts(name, value)
        return value.strip()[: -len(parts[0])] + self._plain(parts[0]) if parts and parts[0] else value

    def query(self, query: bytes) -> bytes:
        return b"&".join(map(self._pair, query.split(b"&"))) if b"=" in query else query

    def _field(self, found: re.Match[bytes]) -> bytes:
        name = found[1].split(b'"')[1]
        return found[0] if is_page_token(name) else found[1] + self.instead(_unescaped(found[2])).encode() + b'"'

    def _pair(self, pair: bytes) -> bytes:
        name, equals, value = pair.partition(b"=")
        return name + equals + self._plain(value) if value and _is_secret_parameter(name) else pair

    def _plain(self, value: bytes) -> bytes:
        return self.instead(unquote_plus(value.decode("latin-1"))).encode() if value else value


def _in_headers(headers: Fields) -> Iterator[str]:
    for name, value in headers:
        if is_secret_field(name):
            for part in _parts(name, value):
                yield part.decode("latin-1")
                yield from _passwords(name, part)


def _parts(name: bytes, value: bytes) -> list[bytes]:
    value = value.strip()
    if name.lower() in (b"cookie", b"set-cookie"):
        pairs = value.split(b";") if name.lower() == b"cookie" else value.split(b";")[:1]
        return [pair.partition(b"=")[2].strip().strip(b'"') for pair in pairs if b"=" in pair]
    scheme, blank, token = value.partition(b" ")
    if not name.lower().endswith(_WITH_SCHEME):
        return [value] if value else []
    return [token.strip()] if blank and _SCHEME.fullmatch(scheme) else [value] if value else []


def _passwords(name: bytes, part: bytes) -> Iterator[str]:
    if not name.lower().endswith(_WITH_SCHEME) or len(part) > _LONGEST_BASIC:
        return
    try:
        user, colon, password = b64decode(part, validate=True).partition(b":")
    except ValueError:
        return
    if colon:
        yield from (text.decode("latin-1") for text in (user + colon + password, password) if text)


def _unescaped(text: bytes) -> str:
    try:
        value: str = json.loads(b'"' + text + b'"', strict=False)
    except ValueError:  # broken escapes, bytes that are no text
        value = text.decode("utf-8", "replace")
    return value


@lru_cache(1024)
def is_secret_field(name: bytes) -> bool:
    """Whether a header of this name, as it is sent, holds a credential."""
    return _HEADER.search(name) is not None


@lru_cache(1024)
def is_secret_header(name: str) -> bool:
    """The same of a name that is text."""
    return is_secret_field(name.encode("latin-1", "replace"))


def has_credential_fields(body: bytes) -> bool:
    """Whether a body may have fields with the names of credentials."""
    return _ENDING.search(body) is not None or _FORM.match(body) is not None


def _is_secret_parameter(name: bytes) -> bool:
    if len(name) > _LONGEST_NAME or is_page_token(name):
        return False
    return _PARAMETER.fullmatch(unquote_plus(name.decode("latin-1"))) is not None


def is_page_token(name: bytes) -> bool:
    """Whether a name is, or ends with, that of a token of a page, which is not a credential: `nextPageToken`."""
    return _PAGE_TOKEN.search(name) is not None


_LONGEST_NAME, _LONGEST_BASIC = 100, 4096
_WITH_SCHEME = (b"authorization", b"auth")  # headers with a scheme before the credential
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9_-]{0,30}")
_COOKIE = re.compile(rb"((?:^|;)[^=;]*+=)([^;]*+)")
_FORM = re.compile(rb"\s{0,20}[A-Za-z_][\w.%-]{0,99}=")

_VARIABLE = re.compile(
    r"(?:API_?KEY|_KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$|^MOCKSERVER_UPSTREAM_KEY_", re.IGNORECASE
)
_HEADER = re.compile(
    rb"(?:^|-)auth(?:orization)?$|^(?:set-)?cookie$|api[-_]?key|^key$|(?:subscription|access|auth|functions|master)-key"
    rb"|secret|password|credential|token$|signature$|assertion$",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"(?:.*[_-])?(?:api[_-]?key|key|token|secret|password|passwd|pwd|sig|signature|code|credential|authorization|auth)",
    re.IGNORECASE,
)
_PAGE_TOKEN = re.compile(
    rb"(?:^|[^\w-])(?:next|(?:(?:next|prev|previous|start)[_. -]?)?"
    rb"(?:page|paging|pagination|continuation|continue|cursor|skip|sync))[_. -]?token$",
    re.IGNORECASE,
)
_BEGINNING = re.compile(r"[A-Za-z0-9_-]{0,4}")
_SAID = re.compile(r"(?:bearer|basic|token|apikey) +(.+)", re.IGNORECASE | re.DOTALL)
# The end of such a name, the quickest check first, as most bodies have none.
_ENDING = re.compile(
    rb'"(?<=[yntdl]")(?:(?<=key")|(?<=token")|(?<=secret")|(?<=password")|(?<=passwd")|(?<=credential")'
    rb'|(?<=authorization"))',
    re.IGNORECASE,
)
# A JSON member with the name of a credential and a text value; names are bounded, blanks are never read twice.
# The token of a logprob is not one: logprob or bytes follow it.
_FIELD = re.compile(
    rb'("(?:[\w-]{0,40}?'
    rb"(?:api[_-]?key|access[_-]?key|private[_-]?key|token|secret|password|passwd|credential|authorization)"
    rb'"\s*+:\s*+"|key"\s*+:\s*+"(?=[\w+/=.~-]{16})))((?:[^"\\]|\\.)*+)"(?!\s*+,\s*+"(?:logprob|bytes)")',
    re.IGNORECASE | re.DOTALL,
)


PLACEHOLDER = "<API_KEY>"
MIN_PLAIN, MIN_MIXED = 8, 6  # letters of a value that is replaced everywhere, if all are alike or not
MAX_LETTERS = 32_000  # of all values together
MAX_CACHED = 4_000  # letters of values whose finder is kept
Edit = tuple[int, int, str]  # start, end, replacement


def is_distinctive(value: str) -> bool:
    """Whether to replace a value everywhere; a short or plain one, such as `ollama`, is replaced in its field only."""
    if PLACEHOLDER in value or value in PLACEHOLDER:
        return False
    return len(value) >= (MIN_PLAIN if value.isalpha() or value.isdigit() else MIN_MIXED)


def placeholder_for(_: str) -> str:
    """The text that replaces every credential in a recording."""
    return PLACEHOLDER


def credentials_of(values: Iterable[str], instead: Callable[[str], str] = placeholder_for) -> "Credentials":
    found = tuple(dict.fromkeys(filter(is_distinctive, values)))
    return (_cached if sum(map(len, found)) <= MAX_CACHED else Credentials)(found, instead)


class Credentials(Struct, frozen=True, dict=True):
    """Values to replace, in any case. Time depends on the length of a text, not on how many values there are."""

    values: tuple[str, ...] = ()
    instead: Callable[[str], str] = placeholder_for

    __repr__, __rich_repr__ = hiding("values")

    @property
    def too_many(self) -> bool:
        """Whether only the first of them are looked for, as there are so many."""
        return sum(map(len, self.values)) > MAX_LETTERS

    def are_in(self, data: bytes) -> bool:
        """Whether bytes may hold one of them."""
        if not self.values:
            return False
        small = data.lower()
        for finder in self._finders:
            if finder.automaton.find_matches_as_indexes(small):
                return True
        if not has_escapes(data):
            return False
        return any(finder.find(view.data.lower()) for view in views(data) for finder in self._finders)

    def data(self, data: bytes) -> bytes:
        """Bytes without any of them; the same object if none is in it."""
        if not self.are_in(data) or not (found := self.edits(data)):
            return data
        pieces, reached = list[bytes](), 0
        for start, end, instead in found:
            pieces += (data[reached:start], instead.encode())
            reached = end
        return b"".join((*pieces, data[reached:]))

    def text(self, text: str) -> str:
        if not self.values:
            return text
        data = text.encode("utf-8", "surrogatepass")
        left = self.data(data)
        return text if left is data else left.decode("utf-8", "replace")

    def edits(self, data: bytes) -> list[Edit]:
        """Where each occurs, and what replaces it; one in base64 includes all the base64 around it."""
        found = list[Edit]()
        every = (finder.edits(view) for view in views(data) for finder in self._finders)
        for start, end, instead in sorted(chain.from_iterable(every)):
            if found and start < found[-1][1]:  # the same in another view, or next to the base64 before it
                start, before, instead = found.pop()
                end = max(before, end)
            found.append((start, end, instead))
        return found

    @cached_property
    def _finders(self) -> "tuple[_Finder, ...]":
        plain, coded = dict[bytes, _CredentialPattern](), dict[bytes, _CredentialPattern]()
        for value, total in zip(self.values, accumulate(map(len, self.values)), strict=True):
            if total > MAX_LETTERS:
                break
            instead = self.instead(value)
            for form in in_any_case(value):
                plain.setdefault(form.lower(), _CredentialPattern(instead))
            for form in in_base64(value):
                before = coded.get(form.lower(), _CredentialPattern(instead))
                coded[form.lower()] = _CredentialPattern(before.instead, (*before.exact, form))
        every = tuple((coded | plain).items())
        size = _FAST if len(every) <= _FAST * _MAX_FINDERS else len(every)
        return tuple(_finder(dict(every[start : start + size])) for start in range(0, len(every), size))


class _CredentialPattern(Struct, frozen=True):
    """The replacement of a value; `exact`: its only forms, if case matters."""

    instead: str
    exact: tuple[bytes, ...] = ()

    def matches(self, data: bytes) -> bool:
        return not self.exact or data in self.exact


class _Finder(Struct, frozen=True):
    automaton: "BytesAhoCorasick"
    patterns: tuple[_CredentialPattern, ...]

    def find(self, small: bytes) -> Sequence[tuple[int, int, int]]:
        found: Sequence[tuple[int, int, int]] = self.automaton.find_matches_as_indexes(small)
        return found

    def edits(self, view: View) -> Iterator[Edit]:
        data, reached = view.data, 0
        for number, start, end in self.find(data.lower()):
            pattern = self.patterns[number]
            if end <= reached or not pattern.matches(data[start:end]):
                continue
            if pattern.exact:
                start, end = _run(data, start, end, min(start, reached))
            reached = end
            yield (*view.span(start, end), pattern.instead)


def _finder(patterns: Mapping[bytes, _CredentialPattern]) -> _Finder:
    from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind  # only if there is something to find

    patterns = {**patterns, PLACEHOLDER.lower().encode(): _NOWHERE}
    quick = Implementation.ContiguousNFA  # others take seconds for long values
    automaton = BytesAhoCorasick(tuple(patterns), MatchKind.LeftmostLongest, implementation=quick)
    return _Finder(automaton, tuple(patterns.values()))


def _run(data: bytes, start: int, end: int, reached: int) -> tuple[int, int]:
    """The whole run of base64 around a piece of it, without the letters of an escape."""
    first = reached + len(data[reached:start].rstrip(_LETTERS))
    escape, tail = _ESCAPE.match(data, first - 1, start) if first else None, _RUN.match(data, end)
    return escape.end() if escape else first, tail.end() if tail else end


_FAST, _MAX_FINDERS = 63, 16  # up to 64 patterns are found ten times as fast as more
_cached = lru_cache(32)(Credentials)  # the same ones come again and again, and a finder is costly to make
_NOWHERE = _CredentialPattern("", (b"",))  # a placeholder stays as it is
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_RUN = re.compile(rb"[A-Za-z0-9+/_-]*+={0,2}+")
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|[nrtbf/])|%[0-9a-fA-F]{2}")  # of JSON, or of a URL
