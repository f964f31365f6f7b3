"""Finds the credentials of a request and masks them wherever they occur, in whatever form they are written.

Knows the names that credentials go by, no provider. What it makes is for people to read: journal, log, error report.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, quote_plus, unquote_plus

Fields = tuple[tuple[bytes, bytes], ...]
SHORTEST = 6  # letters of a value that is masked wherever it occurs; a shorter one only in its own place
MOST = 64  # values of one request that are looked for everywhere; further ones are masked in their own places


def mask(value: str) -> str:
    """What stands in place of a credential: the same for the same one, and enough of a long one to know it by."""
    plain = _BEGINNING.match(value)
    return f"{plain[0][: len(value) // 4] if plain else ''}...(masked)"


def known(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The credentials that stand in environment variables, by the names of these."""
    return tuple(value for name, value in environ.items() if len(value) >= SHORTEST and _VARIABLE.search(name))


def secrets_of(headers: Fields, query: bytes = b"", body: bytes = b"", more: Iterable[str] = ()) -> "Secrets":
    """The credentials of a request; `more` are known from elsewhere."""
    found = dict.fromkeys((*_in_headers(headers), *_in_pairs(query), *_in_body(body), *more))
    long = (value for value in found if len(value) >= SHORTEST)
    return Secrets(tuple(sorted((value for value, _ in zip(long, range(MOST), strict=False)), key=len, reverse=True)))


@dataclass(frozen=True)
class Secrets:
    """Credentials, the longest first. To mask a text takes time in proportion to its length."""

    values: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """The text without any of them."""
        for form, instead in self._forms:
            if form in text:
                text = text.replace(form, instead)
        return text

    def data(self, data: bytes) -> bytes:
        """The same for bytes, such as an answer's body."""
        for form, instead in self._raw:
            if form in data:
                data = data.replace(form, instead)
        return data

    def headers(self, headers: Fields) -> Fields:
        """Headers, in which what a credential's own header holds is masked however short it is."""
        return tuple((name, self.data(_masked_header(name, value))) for name, value in headers)

    def query(self, query: bytes) -> bytes:
        """A query, likewise."""
        return self.data(_masked_pairs(query))

    def body(self, body: bytes) -> bytes:
        """The body of a request, likewise."""
        masked = _FIELD.sub(lambda found: found[1] + mask(_unescaped(found[2])).encode() + b'"', body)
        return self.data(_masked_pairs(masked) if _is_form(body) else masked)

    @cached_property
    def _forms(self) -> tuple[tuple[str, str], ...]:
        forms = {form: mask(value) for value in self.values for form in _forms_of(value)}
        return tuple(sorted(forms.items(), key=lambda pair: len(pair[0]), reverse=True))

    @cached_property
    def _raw(self) -> tuple[tuple[bytes, bytes], ...]:
        encodings = ("utf-8", "latin-1")
        pairs = {
            form.encode(encoding, "surrogatepass" if encoding == "utf-8" else "replace"): instead.encode()
            for form, instead in self._forms
            for encoding in encodings[: 1 + _is_latin(form)]
        }
        return tuple(sorted(pairs.items(), key=lambda pair: len(pair[0]), reverse=True))


def _in_headers(headers: Fields) -> Iterator[str]:
    for name, value in headers:
        if _is_secret_header(name):
            for part in _parts(name, value):
                yield part.decode("latin-1")
                yield from _passwords(name, part)


def _parts(name: bytes, value: bytes) -> list[bytes]:
    """What is secret of a header: all of it, but for the scheme of a credential and the names of cookies."""
    value = value.strip()
    if name.lower() in (b"cookie", b"set-cookie"):
        pairs = value.split(b";") if name.lower() == b"cookie" else value.split(b";")[:1]
        return [pair.partition(b"=")[2].strip().strip(b'"') for pair in pairs if b"=" in pair]
    scheme, blank, token = value.partition(b" ")
    if not name.lower().endswith(b"authorization"):
        return [value] if value else []
    return [token.strip()] if blank and _SCHEME.fullmatch(scheme) else [value] if value else []


def _passwords(name: bytes, part: bytes) -> Iterator[str]:
    """What `Authorization: Basic` holds once it is decoded."""
    if not name.lower().endswith(b"authorization") or len(part) > _LONGEST_BASIC:
        return
    try:
        user, colon, password = b64decode(part, validate=True).partition(b":")
    except ValueError:
        return
    if colon:
        yield from (text.decode("latin-1") for text in (user + colon + password, password) if text)


def _in_pairs(query: bytes) -> Iterator[str]:
    for pair in query.split(b"&"):
        name, equals, value = pair.partition(b"=")
        if equals and _is_secret_parameter(name):
            yield unquote_plus(value.decode("latin-1"))


def _in_body(body: bytes) -> Iterator[str]:
    for found in _FIELD.finditer(body):
        value = _unescaped(found[2])
        yield value
        if said := _SAID.fullmatch(value):
            yield said[1]
    if _is_form(body):
        yield from _in_pairs(body)


def _unescaped(text: bytes) -> str:
    try:
        value: str = json.loads(b'"' + text + b'"', strict=False)
    except ValueError:  # broken escapes, bytes that are no text
        value = text.decode("utf-8", "replace")
    return value


def _masked_header(name: bytes, value: bytes) -> bytes:
    if not _is_secret_header(name):
        return value
    if name.lower() in (b"cookie", b"set-cookie"):
        return _COOKIE.sub(lambda found: found[1] + _instead(found[2]), value)
    parts = _parts(name, value)
    return value.strip()[: -len(parts[0])] + _instead(parts[0]) if parts and parts[0] else value


def _masked_pairs(query: bytes) -> bytes:
    return b"&".join(map(_masked_pair, query.split(b"&"))) if b"=" in query else query


def _masked_pair(pair: bytes) -> bytes:
    name, equals, value = pair.partition(b"=")
    return name + equals + _instead(value) if value and _is_secret_parameter(name) else pair


def _instead(value: bytes) -> bytes:
    return mask(unquote_plus(value.decode("latin-1"))).encode() if value else value


def _is_secret_header(name: bytes) -> bool:
    return _HEADER.search(name) is not None


def _is_secret_parameter(name: bytes) -> bool:
    return len(name) <= _LONGEST_NAME and _PARAMETER.fullmatch(unquote_plus(name.decode("latin-1"))) is not None


def _is_form(body: bytes) -> bool:
    """Whether a body may be that of a form: it begins with a name and an equals sign."""
    return _FORM.match(body) is not None


def _is_latin(text: str) -> bool:
    return not text.isascii() and all(ord(letter) < 256 for letter in text)


def _forms_of(value: str) -> Iterator[str]:
    """How a value may be written: as it is, in URLs, in JSON, in JSON within JSON, in base64 among other bytes."""
    spelled = {value: None}
    if _is_latin(value):  # a header's bytes, which may have been UTF-8
        spelled[value.encode("latin-1").decode("utf-8", "replace")] = None
    for text in spelled:
        yield from filter(None, (text, quote_plus(text, errors="replace"), quote(text, safe="", errors="replace")))
        yield from map(_lowered, (quote(text, safe="", errors="replace"), quote(text, errors="replace")))
        for ascii_only in (True, False):
            once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
            yield once
            yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
            yield once.replace("/", "\\/")
        yield from _in_base64(text.encode("utf-8", "replace"))


def _lowered(text: str) -> str:
    return _PERCENT.sub(lambda found: found[0].lower(), text)


def _in_base64(raw: bytes) -> Iterator[str]:
    """The letters that a value certainly has in base64, at each of the three ways to fall among groups of three."""
    for before in range(3):
        letters = b64encode(b"\0" * before + raw).decode()
        start = (0, 2, 3)[before]
        whole = (before + len(raw)) // 3 * 4 + (0, 1, 2)[(before + len(raw)) % 3]
        core = letters[start:whole]
        if len(core) >= SHORTEST:
            yield core
            yield core.translate(_URL_SAFE)


_LONGEST_NAME, _LONGEST_BASIC = 100, 4096
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9_-]{0,30}")
_COOKIE = re.compile(rb"((?:^|;)[^=;]*+=)([^;]*+)")
_PERCENT = re.compile("%[0-9A-F]{2}")
_URL_SAFE = str.maketrans("+/", "-_")
_FORM = re.compile(rb"\s{0,20}[A-Za-z_][\w.%-]{0,99}=")

_VARIABLE = re.compile(
    r"(?:API_?KEY|_KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$|^MOCKSERVER_UPSTREAM_KEY_", re.IGNORECASE
)
_HEADER = re.compile(
    rb"^(?:proxy-)?authorization$|^(?:set-)?cookie$|api[-_]?key|^key$|subscription-key|access-key"
    rb"|secret|password|credential|token$|signature$",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"(?:.*[_-])?(?:api[_-]?key|key|token|secret|password|passwd|pwd|sig|signature|code|credential|authorization|auth)",
    re.IGNORECASE,
)
_BEGINNING = re.compile(r"[A-Za-z0-9_-]{0,4}")
_SAID = re.compile(r"(?:bearer|basic|token|apikey) +(.+)", re.IGNORECASE | re.DOTALL)
# A JSON member whose name is a credential's and whose value is text; names are bounded, blanks are never read twice.
_FIELD = re.compile(
    rb'("(?:[\w-]{0,40}?'
    rb"(?:api[_-]?key|access[_-]?key|private[_-]?key|token|secret|password|passwd|credential|authorization)"
    rb'"\s*+:\s*+"|key"\s*+:\s*+"(?=[\w+/=.~-]{16})))((?:[^"\\]|\\.)*+)"',
    re.IGNORECASE | re.DOTALL,
)
