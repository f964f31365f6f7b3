"""Credentials by the names of the headers, parameters and fields that hold them. Knows no provider."""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import unquote, unquote_plus

from msgspec import Struct

from mockserver.cassettes.redaction.random_text import is_random
from mockserver.cassettes.redaction.stated_servers import (
    TextMember,
    edit_members,
    find_server_members,
    may_name_servers,
)

Fields = tuple[tuple[bytes, bytes], ...]
MIN_ENVIRONMENT_SECRET = 6  # letters


def mask(value: str) -> str:
    """Return the text to show for a credential: always the same, with the start of a long one."""
    plain = _BEGINNING.match(value)
    return f"{plain[0][: len(value) // 4] if plain else ''}...(masked)"


def find_environment_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the credentials of an environment, by the names of its variables."""
    return tuple(
        value for name, value in environ.items() if len(value) >= MIN_ENVIRONMENT_SECRET and _VARIABLE.search(name)
    )


def find_credentials(headers: Fields, query: bytes = b"", body: bytes = b"") -> Iterator[str]:
    """Yield the credentials of a request, however short, some perhaps twice."""
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
        if found_scheme := _AFTER_SCHEME.fullmatch(value):
            yield found_scheme[1]


class CredentialFields(Struct, frozen=True):
    """Replaces the values of headers, parameters and fields with the names of credentials, however short they are."""

    instead: Callable[[str], str] = mask

    def redact_headers(self, headers: Fields) -> Fields:
        """Return headers without credentials; schemes and the names of cookies stay."""
        return tuple((name, self._redact_header(name, value)) for name, value in headers)

    def redact_body(self, body: bytes) -> bytes:
        """Return a body, JSON or a form, without credentials."""
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
        """Return a query without credentials."""
        return b"&".join(map(self._redact_pair, query.split(b"&"))) if b"=" in query else query

    def redact_url(self, url: str) -> str:
        """Return an address without a password, and without keys in its path and its parameters."""
        whole, mark, fragment = url.partition("#")
        place, question, query = whole.partition("?")
        place = _USER.sub(lambda found: found[1] + self.instead(unquote(found[2])), place, count=1)
        query = self.redact_query(query.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        place, query = (_URL_PIECE.sub(self._redact_piece, part) for part in (place, query))
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
                yield from (found.decode("latin-1") for found in _AWS_SIGNATURE.findall(part))


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
    except ValueError:  # broken escapes, bytes that are not text
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


_LONGEST_NAME = 100
_LONGEST_BASIC = 4096
_WITH_SCHEME = (b"authorization", b"auth")  # headers with a scheme before the credential
# The key and the signature in the header of a signed request of AWS.
_AWS_SIGNATURE = re.compile(rb"\b(?:Credential|Signature)=([^/,\s]{8,200})")
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9_-]{0,30}")
_COOKIE = re.compile(rb"((?:^|;)[^=;]*+=)([^;]*+)")
_USER = re.compile(r"(://(?:[^/@:]*:)?)([^/]+)(?=@)")  # the password, or a user without one
_URL_PIECE = re.compile(r"((?<![/:])/|=)([^/=&?]+)")  # a segment of a path, or the value of a parameter
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
_AFTER_SCHEME = re.compile(r"(?:bearer|basic|token|apikey) +(.+)", re.IGNORECASE | re.DOTALL)
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
