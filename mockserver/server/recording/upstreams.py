"""The providers' own servers: URL, headers and client of a relayed request, and the errors if it fails."""

import asyncio
import re
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from string import whitespace
from typing import TYPE_CHECKING
from unicodedata import normalize
from urllib.parse import quote, unquote, unquote_to_bytes, urljoin, urlsplit

from msgspec import Struct, field

from mockserver.config.settings import name_key_variable
from mockserver.config.spelling import FLAGS, Spelling
from mockserver.core.call import Call
from mockserver.core.http import HOP_BY_HOP, HeaderLines, Headers, HttpRequest, RawHeaders
from mockserver.core.plan import Failure
from mockserver.core.seed import make_token
from mockserver.core.text import escape_line, make_reprs
from mockserver.dialects import Dialect
from mockserver.engine.offload import on_thread
from mockserver.server.routes import compile_template, drop_dialect_segment
from mockserver.server.snapshot import parse_query

if TYPE_CHECKING:
    from httpx2 import AsyncClient

# True in the task of a request that goes to an upstream on purpose; tests stop all others to providers.
relaying: ContextVar[bool] = ContextVar("relaying", default=False)
PASSED_BY = b"x-mockserver-relay"  # the header in which a request names the servers that have relayed it
MAX_CONNECTIONS = 1000
MAX_IDLE = 100


class UpstreamClient(Struct, eq=False):
    """The HTTP client of all requests to upstreams, which is made for the first one."""

    name: bytes = field(default_factory=lambda: make_token().encode())  # this server knows its own requests by it
    _client: "AsyncClient | None" = None
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get_client(self) -> "AsyncClient":
        """Return the client, made by a thread for the first request: it reads certificates."""
        if self._client is None:
            async with self._making:
                if self._client is None:
                    self._client = await on_thread(self._make_client)
        return self._client

    def _make_client(self) -> "AsyncClient":
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        from httpx2 import AsyncClient, Limits

        return AsyncClient(
            trust_env=True,
            follow_redirects=False,
            http2=False,
            timeout=None,  # each request has its own
            limits=Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_IDLE),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # the client's are its own business
        )

    async def close(self) -> None:
        client = self._client
        self._client = None
        if client is not None:
            with suppress(Exception):
                await client.aclose()

    def sign(self, headers: RawHeaders) -> RawHeaders:
        """Return the header that says that a request has passed here. Raises Failure if it has that already."""
        named = [name for key, value in headers if key == PASSED_BY for name in value.replace(b" ", b"").split(b",")]
        if self.name in named:
            raise Failure("bad_gateway", _CIRCLE, headers=((PASSED_BY.decode(), "circle"),))
        return ((PASSED_BY, b", ".join([*named, self.name])),)


class Upstream(Struct, frozen=True):
    """The upstream of a dialect, or an MCP server: its URL, and the key that replaces the client's, if there is one.

    `name` is that of the settings; `mount` is the path here that its URL stands for, unless the dialect's mounts are.
    """

    dialect: Dialect
    address: str
    key: str | None = None
    name: str = ""
    mount: str = ""

    __repr__, __rich_repr__ = make_reprs("key")

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    def build_url(self, path: str, raw: bytes, query: bytes) -> str:
        """Return the URL for a path without its namespace; `raw` is the path as it was sent, with its namespace."""
        rest = path[len(self._find_prefix(path)) :]
        if _has_dot_segment(rest):
            raise Failure("bad_parameter", "A path that is relayed to an upstream may not contain . or .. segments.")
        written = _find_written_end(raw, rest)
        target = quote(rest.encode("utf-8", "surrogateescape"), safe=_SAFE) if written is None else written
        if self.key is not None:  # ours replaces the client's
            pairs = [(pair, HttpRequest("POST", "/", query=parse_query(pair))) for pair in query.split(b"&")]
            query = b"&".join(pair for pair, http in pairs if self.dialect.read_credential(http) is None)
        return f"{self.address}{target}{'?' if query else ''}{quote(query, safe=_SAFE_IN_QUERY)}"

    def _find_prefix(self, path: str) -> str:
        if path == self.mount:
            return path
        fronts = (front for mount in self._mounts for front in (mount, drop_dialect_segment(mount)))
        return max((front for front in fronts if path.startswith(f"{front}/")), key=len, default="")

    @property
    def _mounts(self) -> Iterator[str]:
        """Yield the dialect's mounts, and what stands before its operations at the address of another provider."""
        yield from self.dialect.mounts
        for elsewhere in self.dialect.unmounted:
            for operation in self.dialect.operations:
                if elsewhere.name == operation.name and elsewhere.path.endswith(operation.path):
                    yield elsewhere.path.removesuffix(operation.path)

    def translate_location(self, http: HttpRequest, url: str, field: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        """Return a header of the answer from `url`: a location at the upstream becomes one at this server."""
        if field[0] != b"location":
            return field
        try:
            target = urljoin(url, field[1].decode("latin-1"))
        except ValueError:  # it is not a URL
            return field
        rest = target.removeprefix(self.address)
        if rest == target or not rest.startswith("/"):
            return field
        return b"location", f"{http.prefix}{self._find_prefix(http.path)}{rest}".encode("latin-1", "replace")

    def build_headers(self, headers: RawHeaders) -> list[tuple[bytes, bytes]]:
        """Return the headers of a request that go on.

        The upstream's own key, if there is one, replaces the client's.
        """
        passed = list(select_forwarded(headers))
        key = self.key
        if key is None:
            return passed
        found = [(name, written % key.encode("latin-1", "replace")) for name, written in _CREDENTIALS.items()]
        # A header of the dialect's own rather than the common one, which is the last.
        taken = (
            each for each in found if self.dialect.read_credential(HttpRequest("POST", "/", headers=(each,))) == key
        )
        return [*(field for field in passed if field[0] not in _CREDENTIALS), next(taken, found[-1])]

    def make_failure(self, error: BaseException, seconds: float | None = None) -> Failure:
        """Return the failure of a request without an answer; `seconds` is the time limit."""
        from httpx2 import LocalProtocolError, TimeoutException

        late = isinstance(error, TimeoutError | TimeoutException)
        if isinstance(error, LocalProtocolError):  # its words hold the header, which may be a key
            why = "was not called: a header of the request, or its key, has characters that are not allowed in headers"
        else:
            limit = "in time" if seconds is None else f"within {seconds:g} s (upstream_timeout)"
            why = f"did not answer {limit}" if late else _explain(error)
        message = f"The upstream of {self.name}, {self.host}, {why}."
        return Failure("gateway_timeout" if late else "bad_gateway", message)

    def explain_break(self, error: BaseException, seconds: float | None = None) -> str:
        """Return why an answer broke off; `seconds` is the time limit."""
        from httpx2 import TimeoutException

        late = isinstance(error, TimeoutException) and seconds is not None
        why = f"sent nothing for {seconds:g} s (upstream_timeout)" if late else escape_line(_describe(error))
        return f"The upstream of {self.name}, {self.host}, broke off its answer: {why}."


def find_upstream(
    dialect: Dialect,
    call: Call,
    upstreams: Mapping[str, str],
    *,
    environ: Mapping[str, str],
    spelling: Spelling = FLAGS,
) -> Upstream:
    """Return the upstream that answers a call, with the key of the environment. Raises Failure if there is none."""
    name = call.upstream
    address = upstreams.get(name)
    if address is None:
        written = spelling.write("upstream", {name: "https://..."})
        raise Failure("bad_gateway", f"No upstream is set for {name}; set one, such as {written}")
    key = environ.get(name_key_variable(name), "").strip() or None
    return Upstream(dialect, address, key=key, name=name, mount="" if call.mcp is None else call.http.path)


def select_forwarded(headers: RawHeaders) -> Iterator[tuple[bytes, bytes]]:
    """Yield the headers, in lower case, without those of the connection, of a page and this server's own."""
    lower = [(name.lower(), value) for name, value in headers]
    named = {name.strip().lower() for key, value in lower if key == b"connection" for name in value.split(b",")}
    if any(name == b"origin" for name, _ in lower):
        named.add(b"cookie")  # a browser sends a page's cookies to all ports of a host: they are other servers'
    for name, value in lower:
        if name not in _CONNECTION_HEADERS and name not in named and not name.startswith(_OWN_AND_PAGE_HEADERS):
            yield name, value.strip(b" \t")


def replace_upload_urls(headers: Headers | HeaderLines, http: HttpRequest, dialect: Dialect) -> Headers | HeaderLines:
    """Return the headers of a provider's answer with this server's URLs in place of those that lead to the provider.

    A client would send what follows, with its key, to the provider, past the recording.
    """
    if _UPLOAD_URLS.isdisjoint(dict(headers)):
        return headers
    return tuple(
        (name, _replace_url(value, http, dialect) if name in _UPLOAD_URLS else value) for name, value in headers
    )


def _replace_url(url: str, http: HttpRequest, dialect: Dialect) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:  # it is not a URL
        return url
    segments = parts.path.split("/")[1:]
    tails = ["/".join(segments[at:]) for at in range(len(segments))]
    paths = ((mount, f"{mount}/{tail}") for tail in tails for mount in dialect.mounts)
    for mount, path in paths:
        if any(compile_template(mount + operation.path).fullmatch(path) for operation in dialect.operations):
            return f"{http.server_url}{path}?{parts.query}".rstrip("?")
    return url


_UPLOAD_URLS = frozenset(("x-goog-upload-url", "x-goog-upload-control-url"))


def _has_dot_segment(path: str) -> bool:
    """Return whether a server may take a segment for `.` or `..`: encoded several times, padded, or in other dots."""
    for _ in range(_MAX_DECODED):
        path = normalize("NFKC", path)
        if any(segment.partition(";")[0].strip(_PADDING) in (".", "..") for segment in re.split(r"[/\\]", path)):
            return True
        path = unquote(path)
    return False


def _find_written_end(raw: bytes, rest: str) -> str | None:
    """Return the end of a raw path that decodes to `rest`, as it was written; None if none does."""
    whole = rest.encode("utf-8", "surrogateescape")
    starts = [at for at, letter in enumerate(raw) if letter == _SLASH]
    ends = (raw[at:] for at in starts[:_MAX_TRIED])
    return next((quote(end, safe=_SAFE + "%") for end in ends if unquote_to_bytes(end) == whole), None)


def _explain(error: BaseException) -> str:
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    found = ((why, cause) for kind, why in _REASONS for cause in causes if isinstance(cause, kind))
    why, cause = next(found, ("gave no answer: {}", error))
    return why.format(escape_line(_describe(cause)))


def _describe(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message + (_TRUST if error.verify_code in _UNKNOWN_SIGNER_CODES else "")
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    is_plain = isinstance(error, ssl.SSLError) and "WRONG_VERSION_NUMBER" in str(error)
    return text.rstrip(".") + ("; if it speaks plain HTTP, begin its URL with http://" if is_plain else "")


_CIRCLE = (
    "This request has passed through this server before: the upstream is the server itself, or leads back to it. "
    "Name the provider's own server as the upstream."
)
_TRUST = "; to trust it, set SSL_CERT_FILE to a file with all trusted certificates"
_UNKNOWN_SIGNER_CODES = (2, 18, 19, 20, 21)  # OpenSSL's codes; a trusted certificate does not help with others
_REASONS: Sequence[tuple[type[BaseException], str]] = (
    (socket.gaierror, "cannot be found: {}; check the network, the proxy and the setting upstream"),
    (ssl.SSLCertVerificationError, "has a certificate that is not trusted: {}"),
    (ssl.SSLError, "failed the TLS handshake: {}"),
    (ConnectionRefusedError, "refuses connections; check that it runs, and the setting upstream"),
    (ConnectionResetError, "reset the connection"),
)

_CONNECTION_HEADERS = frozenset(map(str.encode, HOP_BY_HOP)) | {
    b"expect",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-authentication-info",
    b"host",
    b"content-length",
    b"origin",  # a page's origin has been checked, and does not concern the upstream
}
_OWN_AND_PAGE_HEADERS = (b"x-mockserver-", b"sec-fetch-")
# Where a key may stand, and how it is written there.
_CREDENTIALS: Mapping[bytes, bytes] = {
    b"api-key": b"%s",
    b"x-api-key": b"%s",
    b"x-goog-api-key": b"%s",
    b"authorization": b"Bearer %s",
}
_SLASH = ord("/")
_MAX_TRIED = 10
_MAX_DECODED = 4
_PADDING = f"{whitespace}\0"
_SAFE = "/:@!$&'()*+,;=-._~"
_SAFE_IN_QUERY = _SAFE + '?%[]|"<>^`{}\\'
