r"""Find the credentials of a request by their names, and replace them wherever else they occur. Knows no provider.

A value is found as it is, in URLs, in JSON, in hexadecimal, as a list of numbers, in base64 and in base64 of that, each
with any of its letters escaped: `%73`, `%2573`, `\u0073`, `\\u0073`, `\x73`, `&#115;`, `&#x73;`, `&lowbar;` or `=73`.
"""

import json
import re
from array import array
from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from msgspec import Struct

from mockserver.cassettes.redaction.random_text import is_random
from mockserver.cassettes.redaction.stated_servers import (
    TextMember,
    edit_members,
    find_server_members,
    may_name_servers,
)
from mockserver.core.text import make_reprs

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

Fields = tuple[tuple[bytes, bytes], ...]
MIN_ENVIRONMENT_SECRET = 6  # letters
MIN_BASE64 = 6  # letters of base64 that identify a value


def mask(value: str) -> str:
    """Return the text to show for a credential: always the same, with the start of a long one."""
    plain = _BEGINNING.match(value)
    return f"{plain[0][: len(value) // 4] if plain else ''}...(masked)"


def find_environment_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        value for name, value in environ.items() if len(value) >= MIN_ENVIRONMENT_SECRET and _VARIABLE.search(name)
    )


def find_credentials(headers: Fields, query: bytes = b"", body: bytes = b"") -> Iterator[str]:
    """Yield the credentials of a request, however short; may repeat some."""
    yield from _find_in_headers(headers)
    found = list[str]()

    def keep(value: str) -> str:
        found.append(value)
        return ""

    fields = CredentialFields(keep)
    fields.redact_query(query)
    fields.redact_body(body)
    for value in found:
        yield value
        if said := _SAID.fullmatch(value):
            yield said[1]


class CredentialFields(Struct, frozen=True):
    """Replaces what headers, parameters and fields with the names of credentials hold, however short it is."""

    instead: Callable[[str], str] = mask

    def redact_headers(self, headers: Fields) -> Fields:
        """Return headers without credentials; schemes and the names of cookies stay."""
        return tuple((name, self._redact_header(name, value)) for name, value in headers)

    def redact_body(self, body: bytes) -> bytes:
        servers = find_server_members(body) if may_name_servers(body) else None  # before any value changes
        if _ENDING.search(body):
            body = _FIELD.sub(self._redact_field, body)
        if servers is not None and (servers.urls or servers.headers):

            def change(member: TextMember) -> bytes | None:
                if member in servers.headers:
                    return json.dumps(self.instead(member.value)).encode()
                left = self.redact_url(member.value) if member in servers.urls else member.value
                return None if left == member.value else json.dumps(left).encode()

            body = edit_members(body, change)
        return self.redact_query(body) if _FORM.match(body) else body

    def _redact_header(self, name: bytes, value: bytes) -> bytes:
        if not is_secret_field(name):
            return value
        if name.lower() in (b"cookie", b"set-cookie"):
            return _COOKIE.sub(lambda found: found[1] + self._redact_plain(found[2]), value)
        parts = _split_value(name, value)
        return value.strip()[: -len(parts[0])] + self._redact_plain(parts[0]) if parts and parts[0] else value

    def redact_query(self, query: bytes) -> bytes:
        return b"&".join(map(self._redact_pair, query.split(b"&"))) if b"=" in query else query

    def redact_url(self, url: str) -> str:
        """Return an address without a password, and without what its path and parameters hold of keys."""
        whole, mark, fragment = url.partition("#")
        place, question, query = whole.partition("?")
        place = _USER.sub(lambda found: found[1] + self.instead(unquote(found[2])), place, count=1)
        query = self.redact_query(query.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        place, query = (_OF_ADDRESS.sub(self._redact_piece, part) for part in (place, query))
        return f"{place}{question}{query}{mark}{fragment}"

    def _redact_piece(self, found: re.Match[str]) -> str:
        text = unquote(found[2])
        is_key = _UUID.search(text) is not None or any(map(is_random, _LETTERS_OF_KEY.findall(text)))
        return found[1] + self.instead(text) if is_key else found[0]

    def _redact_field(self, found: re.Match[bytes]) -> bytes:
        name = found[1].split(b'"')[1]
        return found[0] if is_page_token(name) else found[1] + self.instead(_unescape(found[2])).encode() + b'"'

    def _redact_pair(self, pair: bytes) -> bytes:
        name, equals, value = pair.partition(b"=")
        return name + equals + self._redact_plain(value) if value and _is_secret_parameter(name) else pair

    def _redact_plain(self, value: bytes) -> bytes:
        return self.instead(unquote_plus(value.decode("latin-1"))).encode() if value else value


def _find_in_headers(headers: Fields) -> Iterator[str]:
    for name, value in headers:
        if is_secret_field(name):
            for part in _split_value(name, value):
                yield part.decode("latin-1")
                yield from _find_passwords(name, part)
                yield from (found.decode("latin-1") for found in _OF_SIGNATURE.findall(part))


def _split_value(name: bytes, value: bytes) -> list[bytes]:
    value = value.strip()
    if name.lower() in (b"cookie", b"set-cookie"):
        pairs = value.split(b";") if name.lower() == b"cookie" else value.split(b";")[:1]
        return [pair.partition(b"=")[2].strip().strip(b'"') for pair in pairs if b"=" in pair]
    scheme, blank, token = value.partition(b" ")
    if not name.lower().endswith(_WITH_SCHEME):
        return [value] if value else []
    return [token.strip()] if blank and _SCHEME.fullmatch(scheme) else [value] if value else []


def _find_passwords(name: bytes, part: bytes) -> Iterator[str]:
    if not name.lower().endswith(_WITH_SCHEME) or len(part) > _LONGEST_BASIC:
        return
    try:
        user, colon, password = b64decode(part, validate=True).partition(b":")
    except ValueError:
        return
    if colon:
        yield from (text.decode("latin-1") for text in (user + colon + password, password) if text)


def _unescape(text: bytes) -> str:
    try:
        value: str = json.loads(b'"' + text + b'"', strict=False)
    except ValueError:  # broken escapes, bytes that are no text
        value = text.decode("utf-8", "replace")
    return value


@lru_cache(1024)
def is_secret_field(name: bytes) -> bool:
    """Return whether a header of this name, as it is sent, holds a credential."""
    return _HEADER.search(name) is not None


@lru_cache(1024)
def is_secret_header(name: str) -> bool:
    """Return whether a header of this name, which is text, holds a credential."""
    return is_secret_field(name.encode("latin-1", "replace"))


def has_credential_fields(body: bytes) -> bool:
    """Return whether a body may have fields with the names of credentials."""
    return _ENDING.search(body) is not None or _FORM.match(body) is not None or may_name_servers(body)


def _is_secret_parameter(name: bytes) -> bool:
    if len(name) > _LONGEST_NAME or is_page_token(name):
        return False
    return _PARAMETER.fullmatch(unquote_plus(name.decode("latin-1"))) is not None


def is_page_token(name: bytes) -> bool:
    """Return whether a name is, or ends with, that of a token of a page, which is not a credential: `nextPageToken`."""
    return _PAGE_TOKEN.search(name) is not None


_LONGEST_NAME, _LONGEST_BASIC = 100, 4096
_WITH_SCHEME = (b"authorization", b"auth")  # headers with a scheme before the credential
# The key and the signature in the header of a signed request of AWS.
_OF_SIGNATURE = re.compile(rb"\b(?:Credential|Signature)=([^/,\s]{8,200})")
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9_-]{0,30}")
_COOKIE = re.compile(rb"((?:^|;)[^=;]*+=)([^;]*+)")
_USER = re.compile(r"(://(?:[^/@:]*:)?)([^/]+)(?=@)")  # the password, or a user without one
_OF_ADDRESS = re.compile(r"((?<![/:])/|=)([^/=&?]+)")  # a segment of a path, or the value of a parameter
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_LETTERS_OF_KEY = re.compile(r"[A-Za-z0-9]{12,}")  # of letters that are long enough for a key
_FORM = re.compile(rb"\s{0,20}[A-Za-z_][\w.%-]{0,99}=")

_VARIABLE = re.compile(
    r"(?:API_?KEY|_KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$|^MOCKSERVER_UPSTREAM_KEY_", re.IGNORECASE
)
_HEADER = re.compile(
    rb"(?:^|-)auth(?:orization)?$|^(?:set-)?cookie$|api[-_]?key|^key$|(?:subscription|access|auth|functions|master)-key"
    rb"|secret|password|credential|token$|signature$|assertion$|^sec-websocket-protocol$",  # a page's key is there
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"(?:.*[_-])?(?:api[_-]?key|key|token|secret|password|passwd|pwd|sig|signature|code|credential|authorization|auth"
    r"|(?:access|auth|bearer|client|private|refresh|secret|session|subscription)(?:key|token|secret))",
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


class Edit(NamedTuple):
    """A change of a text, or of bytes: what replaces the part between two positions."""

    start: int
    end: int
    instead: str


def is_distinctive(value: str) -> bool:
    """Return whether to replace a value everywhere; a short or plain one, such as `ollama`, only in its field."""
    if PLACEHOLDER in value or value in PLACEHOLDER:
        return False
    return len(value) >= (MIN_PLAIN if value.isalpha() or value.isdigit() else MIN_MIXED)


def use_placeholder(_: str) -> str:
    """Return the text that replaces every credential in a recording."""
    return PLACEHOLDER


def make_credentials(values: Iterable[str], instead: Callable[[str], str] = use_placeholder) -> "Credentials":
    found = tuple(dict.fromkeys(filter(is_distinctive, values)))
    return (_cached if sum(map(len, found)) <= MAX_CACHED else Credentials)(found, instead)


class Credentials(Struct, frozen=True, dict=True):
    """Values to replace, in any case. Time depends on the length of a text, not on how many values there are."""

    values: tuple[str, ...] = ()
    instead: Callable[[str], str] = use_placeholder

    __repr__, __rich_repr__ = make_reprs("values")

    @property
    def are_too_many(self) -> bool:
        """Whether only the first of them are looked for, as there are so many."""
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
        pieces, reached = list[bytes](), 0
        for start, end, instead in found:
            pieces += (data[reached:start], instead.encode())
            reached = end
        return b"".join((*pieces, data[reached:]))

    def redact_text(self, text: str) -> str:
        if not self.values:
            return text
        data = text.encode("utf-8", "surrogatepass")
        left = self.redact(data)
        return text if left is data else left.decode("utf-8", "replace")

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
        plain, coded = dict[bytes, _CredentialPattern](), dict[bytes, _CredentialPattern]()
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

    def find_edits(self, view: "View") -> Iterator[Edit]:
        data, reached = view.data, 0
        for number, start, end in self.find(data.lower()):
            pattern = self.patterns[number]
            if end <= reached or not pattern.matches(data[start:end]):
                continue
            if pattern.exact:
                start, end = _extend_run(data, start, end, min(start, reached))
            reached = end
            yield Edit(*view.find_span(start, end), pattern.instead)


def _make_finder(patterns: Mapping[bytes, _CredentialPattern]) -> _Finder:
    from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind  # only if there is something to find

    patterns = {**patterns, PLACEHOLDER.lower().encode(): _NOWHERE}
    quick = Implementation.ContiguousNFA  # others take seconds for long values
    automaton = BytesAhoCorasick(tuple(patterns), MatchKind.LeftmostLongest, implementation=quick)
    return _Finder(automaton, tuple(patterns.values()))


def _extend_run(data: bytes, start: int, end: int, reached: int) -> tuple[int, int]:
    """Return the whole run of base64 around a piece of it, without the letters of an escape."""
    first = reached + len(data[reached:start].rstrip(_LETTERS))
    escape, tail = _ESCAPE.match(data, first - 1, start) if first else None, _RUN.match(data, end)
    return escape.end() if escape else first, tail.end() if tail else end


_FAST, _MAX_FINDERS = 63, 16  # up to 64 patterns are found ten times as fast as more
_cached = lru_cache(32)(Credentials)  # the same ones come again and again, and a finder is costly to make
_NOWHERE = _CredentialPattern("", (b"",))  # a placeholder stays as it is
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_RUN = re.compile(rb"[A-Za-z0-9+/_-]*+={0,2}+")
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|[nrtbf/])|%[0-9a-fA-F]{2}")  # of JSON, or of a URL


# How a known value may be written.


def list_spellings(value: str) -> Iterator[bytes]:
    """Yield the forms of a value in which case does not matter; may repeat some."""
    for form in dict.fromkeys(_spell(value)):
        yield form.encode("utf-8", "surrogatepass")
        if _is_latin(form):
            yield form.encode("latin-1")
    for text in _list_texts(value):
        data = text.encode("utf-8", "replace")
        yield from (data.hex(*between).encode() for between in ((), (" ",), (":",)))
        yield from (between.join(map(str, data)).encode() for between in (",", ", "))


def list_base64_cores(value: str) -> Iterator[bytes]:
    """Yield the letters that a value has in base64, and in base64 of that, wherever it begins in a longer text."""
    for text in _list_texts(value):
        for once in _list_cores(text.encode("utf-8", "replace")):
            yield once
            yield from _list_cores(once)


def _spell(value: str) -> Iterator[str]:
    """Yield a value as it is, in URLs and in JSON, and each of these within another."""
    for text in _list_texts(value):
        once = dict.fromkeys((text, *_write(text)))
        yield from once
        for form in once:
            yield from _write(form) if form is not text else ()


def _write(text: str) -> Iterator[str]:
    if _SAME_EVERYWHERE.fullmatch(text):
        return
    yield quote_plus(text, errors="replace")
    for safe in ("", "/", _COMPONENT, _ADDRESS):
        yield (quoted := quote(text, safe=safe, errors="replace"))
        yield _PERCENT.sub(lambda found: found[0].lower(), quoted)
    for ascii_only in (True, False):
        yield (once := json.dumps(text, ensure_ascii=ascii_only)[1:-1])
        yield once.replace("/", "\\/")


def _list_texts(value: str) -> Iterator[str]:
    yield value
    if _is_latin(value):  # the bytes of a header, which may be UTF-8
        yield value.encode("latin-1").decode("utf-8", "replace")


def _is_latin(text: str) -> bool:
    return not text.isascii() and all(ord(letter) < 256 for letter in text)


def _list_cores(data: bytes) -> Iterator[bytes]:
    """Yield the letters of base64 that data has at each of its three possible offsets."""
    for before in range(3):
        letters = b64encode(b"\0" * before + data)
        core = letters[(0, 2, 3)[before] : (before + len(data)) * 4 // 3]
        if len(core) >= MIN_BASE64:
            yield from dict.fromkeys((core, core.translate(_URL_SAFE)))


_COMPONENT = "!'()*"  # not escaped by JavaScript's encodeURIComponent, unlike Python
_ADDRESS = ";,/?:@&=+$!'()*#"  # not escaped by encodeURI
_SAME_EVERYWHERE = re.compile(r"[A-Za-z0-9_.~-]*+")
_PERCENT = re.compile("%[0-9A-F]{2}")
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class View(Struct, frozen=True):
    """A text, or what it means without one layer of escapes; then the place of each escape here and in that text."""

    data: bytes
    outer: "View | None" = None
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()
    lefts: Sequence[int] = ()
    rights: Sequence[int] = ()

    def find_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and end, in the text as it was, of what is between these; no escape is split."""
        if self.outer is None:
            return start, end
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, end) - 1
        if first >= 0:
            start = self.lefts[first] if start < self.ends[first] else self.rights[first] + start - self.ends[first]
        if last >= 0:
            end = self.rights[last] + max(0, end - self.ends[last])
        return self.outer.find_span(start, end)

    def unescape(self, escape: "Escape") -> "View | None":
        """Return the view without these escapes, or None if it has none."""
        if escape.letter not in self.data or escape.sign.search(self.data) is None:
            return None
        made, reached = bytearray(), 0
        starts, ends, lefts, rights = (array("I") for _ in range(4))
        for match in escape.pattern.finditer(self.data):
            if (meant := escape.meaning(match)) is not None:
                made += self.data[reached : match.start()]
                starts.append(len(made))
                made += meant
                reached = match.end()
                ends.append(len(made))
                lefts.append(match.start())
                rights.append(reached)
        return (
            View(bytes(made + self.data[reached:]), self, starts=starts, ends=ends, lefts=lefts, rights=rights)
            if starts
            else None
        )


def has_escapes(data: bytes) -> bool:
    for letter, search in _SIGNS:  # noqa: SIM110  # any() takes three times as long
        if letter in data and search(data):
            return True
    return False


def list_views(data: bytes) -> Iterator[View]:
    """Yield the data, then without its escapes, layer by layer."""
    view = View(data)
    yield view
    for _ in range(MAX_NESTED):
        before = view
        for escape in ESCAPES:
            if inner := view.unescape(escape):
                view = inner
                yield view
        if view is before:
            return


def _read_hexadecimal(match: re.Match[bytes]) -> bytes:
    return bytes((int(match[1], 16),)) if match[1] else b""


def _read_backslashed(match: re.Match[bytes]) -> bytes | None:
    return _read_hexadecimal(match) or match[2]


def _read_entity(match: re.Match[bytes]) -> bytes | None:
    from html import unescape  # large, and hardly ever needed

    letter = unescape(f"&{match[1].decode()};")
    return letter.encode() if len(letter) == 1 and letter.isascii() else None


class Escape(NamedTuple):
    """A kind of escapes: the letter with which each begins, a quick sign of them, and what each match means, if any."""

    letter: bytes
    sign: re.Pattern[bytes]
    pattern: re.Pattern[bytes]
    meaning: Callable[[re.Match[bytes]], bytes | None]


MAX_NESTED = 3  # kinds of escapes within others; those of one kind within each other are taken off at once
_BACKSLASH = re.compile(rb"\\(?:(?:u00|x)[2-7]|/)")
_BACKSLASHES = re.compile(rb"\\++(?:(?:u00|x)([2-7][0-9a-fA-F])|(/))?")  # all, so that none is read twice
_PERCENT_SIGN = re.compile(rb"%(?:25)*([2-7][0-9a-fA-F]|0[aAdD])")
_AMPERSAND = re.compile(rb"&(?:amp;)*(#[xX]0*[2-7][0-9a-fA-F]|#0*[0-9]{2,3}|[A-Za-z]{2,24}(?=;));?")
_EQUALS = re.compile(rb"=(?:([2-7][0-9a-fA-F])|(?:\r|\\{1,64}r)?(?:\n|\\{1,64}n))")  # quoted-printable
# Escapes of ASCII letters alone, as others have few forms.
ESCAPES = (
    Escape(b"\\", _BACKSLASH, _BACKSLASHES, _read_backslashed),
    Escape(b"%", _PERCENT_SIGN, _PERCENT_SIGN, _read_hexadecimal),
    Escape(b"&", _AMPERSAND, _AMPERSAND, _read_entity),
    Escape(b"=", _EQUALS, _EQUALS, _read_hexadecimal),
)
# As numbers, which are found in bytes nine times as fast as letters.
_SIGNS = tuple((escape.letter[0], escape.sign.search) for escape in ESCAPES)
