"""Finds the credentials of a request by the names that they go by, and takes them out of their places.

Knows no provider. Wherever else they occur is no matter of names: see `cassettes/credentials.py`.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_plus

Fields = tuple[tuple[bytes, bytes], ...]
SHORTEST = 6  # letters of a variable's value that is a credential


def mask(value: str) -> str:
    """What stands in place of a credential: the same for the same one, and enough of a long one to know it by."""
    plain = _BEGINNING.match(value)
    return f"{plain[0][: len(value) // 4] if plain else ''}...(masked)"


def known(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The credentials that stand in environment variables, by the names of these."""
    return tuple(value for name, value in environ.items() if len(value) >= SHORTEST and _VARIABLE.search(name))


def credentials(headers: Fields, query: bytes = b"", body: bytes = b"") -> Iterator[str]:
    """The values of the credentials of a request, however short; some of them more than once."""
    yield from _in_headers(headers)
    yield from _in_pairs(query)
    yield from _in_body(body)


@lru_cache(1024)
def is_secret_header(name: str) -> bool:
    """Whether a header holds a credential, by its name."""
    return _is_secret_header(name.encode("latin-1", "replace"))


@dataclass(frozen=True, slots=True)
class Places:
    """The places of credentials in a request: what stands there gets something else instead, however short it is."""

    instead: Callable[[str], str] = mask

    def headers(self, headers: Fields) -> Fields:
        """Headers without what those of credentials hold, but for schemes and the names of cookies."""
        return tuple((name, self._header(name, value)) for name, value in headers)

    def query(self, query: bytes) -> bytes:
        """A query, likewise."""
        return self._pairs(query)

    def body(self, body: bytes) -> bytes:
        """The body of a request, likewise."""
        if _may_have_fields(body):
            body = _FIELD.sub(lambda found: found[1] + self.instead(_unescaped(found[2])).encode() + b'"', body)
        return self._pairs(body) if _is_form(body) else body

    def _header(self, name: bytes, value: bytes) -> bytes:
        if not _is_secret_header(name):
            return value
        if name.lower() in (b"cookie", b"set-cookie"):
            return _COOKIE.sub(lambda found: found[1] + self._plain(found[2]), value)
        parts = _parts(name, value)
        return value.strip()[: -len(parts[0])] + self._plain(parts[0]) if parts and parts[0] else value

    def _pairs(self, query: bytes) -> bytes:
        return b"&".join(map(self._pair, query.split(b"&"))) if b"=" in query else query

    def _pair(self, pair: bytes) -> bytes:
        name, equals, value = pair.partition(b"=")
        return name + equals + self._plain(value) if value and _is_secret_parameter(name) else pair

    def _plain(self, value: bytes) -> bytes:
        return self.instead(unquote_plus(value.decode("latin-1"))).encode() if value else value


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
    if not name.lower().endswith(_WITH_SCHEME):
        return [value] if value else []
    return [token.strip()] if blank and _SCHEME.fullmatch(scheme) else [value] if value else []


def _passwords(name: bytes, part: bytes) -> Iterator[str]:
    """What `Authorization: Basic` holds once it is decoded."""
    if not name.lower().endswith(_WITH_SCHEME) or len(part) > _LONGEST_BASIC:
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
    for found in _FIELD.finditer(body) if _may_have_fields(body) else ():
        value = _unescaped(found[2])
        yield value
        if said := _SAID.fullmatch(value):
            yield said[1]
    if _is_form(body):
        yield from _in_pairs(body)


def _may_have_fields(body: bytes) -> bool:
    """Whether to look closely: most bodies have no name of a credential."""
    return _ENDING.search(body) is not None


def _unescaped(text: bytes) -> str:
    try:
        value: str = json.loads(b'"' + text + b'"', strict=False)
    except ValueError:  # broken escapes, bytes that are no text
        value = text.decode("utf-8", "replace")
    return value


@lru_cache(1024)
def _is_secret_header(name: bytes) -> bool:
    return _HEADER.search(name) is not None


def _is_secret_parameter(name: bytes) -> bool:
    return len(name) <= _LONGEST_NAME and _PARAMETER.fullmatch(unquote_plus(name.decode("latin-1"))) is not None


def _is_form(body: bytes) -> bool:
    """Whether a body may be that of a form: it begins with a name and an equals sign."""
    return _FORM.match(body) is not None


_LONGEST_NAME, _LONGEST_BASIC = 100, 4096
_WITH_SCHEME = (b"authorization", b"auth")  # headers whose credential has its scheme in front
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
_BEGINNING = re.compile(r"[A-Za-z0-9_-]{0,4}")
_SAID = re.compile(r"(?:bearer|basic|token|apikey) +(.+)", re.IGNORECASE | re.DOTALL)
# The end of such a name: what is quick to tell comes first.
_ENDING = re.compile(
    rb'"(?<=[yntdl]")(?:(?<=key")|(?<=token")|(?<=secret")|(?<=password")|(?<=passwd")|(?<=credential")'
    rb'|(?<=authorization"))',
    re.IGNORECASE,
)
# A JSON member whose name is a credential's and whose value is text; names are bounded, blanks are never read twice.
# The token of a logprob is none: it has neighbours that tell.
_FIELD = re.compile(
    rb'("(?:[\w-]{0,40}?'
    rb"(?:api[_-]?key|access[_-]?key|private[_-]?key|token|secret|password|passwd|credential|authorization)"
    rb'"\s*+:\s*+"|key"\s*+:\s*+"(?=[\w+/=.~-]{16})))((?:[^"\\]|\\.)*+)"(?!\s*+,\s*+"(?:logprob|bytes)")',
    re.IGNORECASE | re.DOTALL,
)
