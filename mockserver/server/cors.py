"""Lets pages of the listed origins ask from a browser (CORS); where none is listed, this stands nowhere at all.

Knows where control paths stand: `*` never opens these.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mockserver.core.http import origin
from mockserver.delivery.connection import SHORT
from mockserver.server.access import CONTROL
from mockserver.server.routes import tidy

_Fields = list[tuple[bytes, bytes]]
MAX_AGE = 600  # seconds that a browser need not ask again


def opened(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """The application for pages of these origins too; the very application where there are none."""
    return Cors(app, frozenset(origins)) if origins else app


@dataclass(frozen=True, slots=True, eq=False)
class Cors:
    """An ASGI application whose answers pages of other origins may read."""

    app: ASGIApp
    origins: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a browser that asks whether it may ask; else pass the request on, and say who may read the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = dict(scope["headers"])
        allowed = self._allowed(asked.get(b"origin"), scope["path"])
        if allowed and scope["method"] == "OPTIONS" and b"access-control-request-method" in asked:
            await _permit(asked, allowed, send)
        else:
            lent = {name: lent for name, lent in scope.get("extensions", {}).items() if name != SHORT}
            await self.app({**scope, "extensions": lent}, receive, _told(send, allowed))

    def _allowed(self, said: bytes | None, path: str) -> _Fields:
        """The headers that let a page of this origin in; none if it may not."""
        if said is None:
            return []
        if origin(said.decode("latin-1")) in self.origins:
            return [(b"access-control-allow-origin", said), (b"access-control-allow-credentials", b"true")]
        if "*" in self.origins and not is_control(path):
            return [(b"access-control-allow-origin", b"*")]
        return []


def is_control(path: str) -> bool:
    """Whether a path is one that controls the server, however many slashes stand in it."""
    return f"{tidy(path)}/".startswith(f"{CONTROL}/")


async def _permit(asked: dict[bytes, bytes], allowed: _Fields, send: Send) -> None:
    """Yes, with the very method and headers that were asked for."""
    headers = [
        *allowed,
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-max-age", b"%d" % MAX_AGE),
    ]
    wanted = asked.get(b"access-control-request-headers", b"")
    if _NAMES.fullmatch(wanted):
        headers.append((b"access-control-allow-headers", wanted))
    if asked.get(b"access-control-request-private-network") == b"true":
        headers.append((b"access-control-allow-private-network", b"true"))
    vary = b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    await send({"type": "http.response.start", "status": 204, "headers": [*headers, (b"vary", vary)]})
    await send({"type": "http.response.body", "body": b""})


def _told(send: Send, allowed: _Fields) -> Send:
    """A send that adds to the head of an answer who may read it; what a rule says of that itself stands."""

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: _Fields = list(message.get("headers", ()))
            said = {name.lower() for name, _ in headers}
            if b"access-control-allow-origin" not in said:
                headers += [*allowed, *((b"access-control-expose-headers", names) for names in _exposed(said, allowed))]
            message = {**message, "headers": [*headers, (b"vary", b"Origin")]}
        await send(message)

    return told


def _exposed(names: Iterable[bytes], allowed: _Fields) -> Iterable[bytes]:
    """The names of an answer's headers that a page cannot read unless it is told so: all but the commonest."""
    shown = b", ".join(sorted(name for name in names if name not in _ALWAYS_READ))
    return (shown,) if shown and allowed else ()


_NAMES = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z, -]+")
_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_ALWAYS_READ = frozenset(
    (
        *(b"cache-control", b"content-language", b"content-length", b"content-type", b"expires", b"last-modified"),
        *(b"connection", b"date", b"pragma", b"set-cookie", b"transfer-encoding", b"vary"),
    )
)
