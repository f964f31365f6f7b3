"""The providers' own servers: where a request goes there, in which headers, and what is said if it does not arrive."""

import asyncio
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urlsplit

from mockserver.config.recording import UPSTREAM_KEY
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.core.seed import token
from mockserver.core.text import printable
from mockserver.dialects import Dialect
from mockserver.engine.offload import aside
from mockserver.server.routes import bare

if TYPE_CHECKING:
    from httpx2 import AsyncClient

PASSED_BY = b"x-mockserver-relay"  # the header in which a request names the servers that have relayed it
MOST_CONNECTIONS, MOST_IDLE = 1000, 100

Fields = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How many seconds an upstream may take until its answer begins, and then between two pieces of it.

    As long as the official clients wait: a model may think for minutes, and they know best when to give up.
    """

    head: float = 600.0
    piece: float = 600.0


@dataclass(slots=True, eq=False)
class UpstreamClient:
    """One client for all of them, made when the first request is to go there."""

    patience: Timeouts = Timeouts()
    name: bytes = field(default_factory=lambda: token().encode())  # by which this server knows its own requests
    _client: "AsyncClient | None" = None
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def client(self) -> "AsyncClient":
        """The client; it reads of proxies and certificates in the environment, and follows no redirect."""
        if self._client is None:
            async with self._making:
                if self._client is None:
                    self._client = await aside(self._made)
        return self._client

    def _made(self) -> "AsyncClient":
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        from httpx2 import AsyncClient, Limits, Timeout

        return AsyncClient(
            trust_env=True,
            follow_redirects=False,
            http2=False,
            timeout=Timeout(self.patience.head, read=self.patience.piece, write=self.patience.piece),
            limits=Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_IDLE),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # the client's are its own business
        )

    async def close(self) -> None:
        """Let all connections go."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                await client.aclose()

    def signed(self, headers: Fields) -> Fields:
        """What says that a request has passed here. Raises Failure where one says so already: it goes in circles."""
        named = [name for key, value in headers if key == PASSED_BY for name in value.replace(b" ", b"").split(b",")]
        if self.name in named:
            raise Failure("bad_gateway", _CIRCLE, headers=((PASSED_BY.decode(), "circle"),))
        return ((PASSED_BY, b", ".join([*named, self.name])),)


@dataclass(frozen=True, slots=True)
class Upstream:
    """To where a request of one dialect goes: the address of its upstream, the key that goes there with it."""

    dialect: Dialect
    address: str
    key: str | None = None

    @property
    def host(self) -> str:
        """The upstream as people are told of it."""
        return urlsplit(self.address).netloc

    def url(self, path: str, raw: bytes, query: bytes) -> str:
        """The address for a path, without its namespace; `raw` is how it was written, with its namespace."""
        fronts = (front for mount in self.dialect.mounts for front in (mount, bare(mount)))
        front = max((front for front in fronts if path.startswith(f"{front}/")), key=len, default="")
        rest = path[len(front) :]
        written = _ending(raw, rest)
        target = quote(rest.encode("utf-8", "surrogateescape"), safe=_SAFE) if written is None else written
        return f"{self.address}{target}{'?' if query else ''}{quote(query, safe=_SAFE_IN_QUERY)}"

    def headers(self, headers: Fields) -> list[tuple[bytes, bytes]]:
        """The headers of a request that go on, with the upstream's own key, if there is one, for the client's."""
        passed = list(onward(headers))
        if self.key is None:
            return passed
        name, value = self._credential(self.key)
        return [*(field for field in passed if field[0] not in _CREDENTIALS), (name, value)]

    def _credential(self, key: str) -> tuple[bytes, bytes]:
        """The header in which this dialect takes a key: one of its own rather than the common one."""
        for name, written in _CREDENTIALS.items():
            header = (name, written % key.encode("latin-1", "replace"))
            if self.dialect.credential(HttpRequest("POST", "/", headers=(header,))) == key:
                return header
        return b"authorization", b"Bearer " + key.encode("latin-1", "replace")

    def unreachable(self, error: BaseException) -> Failure:
        """What its client is told of an upstream that gave no answer."""
        from httpx2 import LocalProtocolError, TimeoutException

        if isinstance(error, LocalProtocolError):  # whose words hold the header, which may be a key
            return Failure("bad_gateway", f"The upstream of {self.dialect.name}, {self.host}, {_NOT_ASKED}.")
        late = isinstance(error, TimeoutError | TimeoutException)
        told = f"The upstream of {self.dialect.name}, {self.host}, {_LATE if late else _why(error)}."
        return Failure("gateway_timeout" if late else "bad_gateway", told)

    def broken(self, error: BaseException) -> str:
        """What the log says of an answer that was broken off."""
        return f"The upstream of {self.dialect.name}, {self.host}, broke its answer off: {printable(_words(error))}."


def upstream_of(dialect: Dialect, upstreams: Mapping[str, str], environ: Mapping[str, str]) -> Upstream:
    """The way to the upstream of a dialect. Raises Failure where there is none."""
    address = upstreams.get(dialect.name)
    if address is None:
        told = f"No upstream is known for {dialect.name}: name it, as in --upstream {dialect.name}=https://..."
        raise Failure("bad_gateway", told)
    return Upstream(dialect, address, environ.get(UPSTREAM_KEY + dialect.name.upper(), "").strip() or None)


def onward(headers: Fields) -> Iterator[tuple[bytes, bytes]]:
    """The headers, in lower case, that concern more than the connection they came on; none of our own."""
    lower = [(name.lower(), value) for name, value in headers]
    named = {name.strip().lower() for key, value in lower if key == b"connection" for name in value.split(b",")}
    for name, value in lower:
        if name not in _OF_A_CONNECTION and name not in named and not name.startswith(_OWN):
            yield name, value.strip(b" \t")  # around it they are not of the value, and no client may send them


def _ending(raw: bytes, rest: str) -> str | None:
    """The end of a path as it was written, where it means `rest`."""
    whole = rest.encode("utf-8", "surrogateescape")
    starts = [at for at, letter in enumerate(raw) if letter == _SLASH]
    ends = (raw[at:] for at in starts[:_MOST_TRIED])
    return next((quote(end, safe=_SAFE + "%") for end in ends if unquote_to_bytes(end) == whole), None)


def _why(error: BaseException) -> str:
    """What stood in the way, from the innermost of an error's causes that says so."""
    causes = tuple(_causes(error))
    for kind, told in _REASONS:
        for cause in causes:
            if isinstance(cause, kind):
                return told.format(printable(_words(cause)))
    return f"gave no answer: {printable(_words(causes[0]))}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message + (_TRUST if error.verify_code in _OF_NO_KNOWN_SIGNER else "")
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return text.rstrip(".")


_CIRCLE = (
    "This request has passed this server before: the upstream is the server itself, or leads back to it. Name the "
    "provider's own server with --upstream."
)
_LATE = "did not answer in time"
_NOT_ASKED = "was not asked: a header of the request, or the key for it, has characters that none may have"
_TRUST = "; to trust it, set SSL_CERT_FILE to a file of all certificates that are trusted"
_OF_NO_KNOWN_SIGNER = (2, 18, 19, 20, 21)  # as OpenSSL numbers what it finds; no other certificate helps the rest
_REASONS: Sequence[tuple[type[BaseException], str]] = (
    (socket.gaierror, "cannot be found: {}"),
    (ssl.SSLCertVerificationError, "shows a certificate that is not trusted: {}"),
    (ssl.SSLError, "does not speak TLS as it should: {}"),
    (ConnectionRefusedError, "refuses connections"),
    (ConnectionResetError, "reset the connection"),
)

_OF_A_CONNECTION = frozenset(
    (
        *(b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect"),
        *(b"proxy-authenticate", b"proxy-authorization", b"proxy-authentication-info", b"proxy-connection"),
        *(b"host", b"content-length"),
    )
)
_OWN = b"x-mockserver-"
# Where a key may stand, and how it is written there.
_CREDENTIALS: Mapping[bytes, bytes] = {b"api-key": b"%s", b"x-api-key": b"%s", b"authorization": b"Bearer %s"}
_SLASH, _MOST_TRIED = ord("/"), 10
_SAFE = "/:@!$&'()*+,;=-._~"
_SAFE_IN_QUERY = _SAFE + '?%[]|"<>^`{}\\'
