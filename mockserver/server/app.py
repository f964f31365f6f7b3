"""The ASGI application, which any ASGI server can run: control paths, WebSockets, and all paths of the dialects."""

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from starlette.routing import Router
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from mockserver.core.http import CONTROL, HttpRequest, RawHeaders, Reply, tabulate
from mockserver.core.lazy import LazyTable
from mockserver.core.plan import Failure
from mockserver.server.access import OPEN, Guard, is_control
from mockserver.server.asgi_entrance import answer
from mockserver.server.directory import Directory, FoundResponder
from mockserver.server.handshakes import admits_socket
from mockserver.server.live import Live
from mockserver.server.respond import Responder
from mockserver.server.routes import tidy
from mockserver.server.snapshot import find_path

if TYPE_CHECKING:
    from mockserver.server.sockets.socket_session import SocketSession


# What serves a client over a WebSocket, by what operations are spoken there; few servers need it.
SESSIONS: LazyTable["type[SocketSession]"] = LazyTable(
    {
        "live": "mockserver.server.sockets.gemini_live:LiveSession",
        "realtime": "mockserver.server.sockets.realtime_session:RealtimeSession",
        "responses": "mockserver.server.sockets.responses_session:ResponsesSession",
    }
)


class FoundSocket(Struct, frozen=True):
    """What answers at a path over a WebSocket, and the handshake of its client."""

    responder: Responder
    handshake: HttpRequest

    @property
    def session(self) -> "type[SocketSession]":
        """Return what serves the client."""
        spoken = {each.over_socket for each in self.responder.endpoint.operations.values()}
        return next(SESSIONS[name] for name in SESSIONS if name in spoken)


class Site:
    """The application of one server, as its settings are now."""

    def __init__(self, live: Live, lifespan: Lifespan[Router] | None = None) -> None:
        self._live = live
        self._lifespan = Router(lifespan=lifespan)
        self._directories = dict[str, Directory]()  # by their default dialects
        self._settings, self._directory = live.settings, self._choose_directory()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)

    @cached_property
    def control(self) -> ASGIApp:
        """The application at the control paths, which a server that only answers calls never imports."""
        from mockserver.server import inspector
        from mockserver.server.control import Control

        return Guard(Control(self._live), self._live, OPEN | inspector.PATHS)

    @property
    def directory(self) -> Directory:
        """What is at which path, as the settings are now."""
        if self._live.settings is not self._settings:
            self._follow_settings()
        return self._directory

    def find(self, path: str) -> FoundResponder | None:
        """Return what answers at a path, for entrances without a scope; None: the application has to look."""
        return self.directory.find(path)

    def refuse_unread(self, failure: Failure, method: str, path: str) -> Reply:
        """Return the answer to a request that is refused before it is read, and note it in the journal."""
        return self.directory.refuse_unread(failure, method, path)

    def admits_socket(self, path: str, query: bytes, headers: RawHeaders) -> bool:
        """Return whether the connection of a handshake is to go on as a WebSocket."""
        return self.find_socket(path, query, headers) is not None

    def find_socket(self, path: str, query: bytes, headers: RawHeaders) -> "FoundSocket | None":
        """Return what answers a handshake at a path, if its client may go on over a WebSocket."""
        found = self.directory.find(path) or self.directory.find_corrected(path)
        if found is None:
            return None
        handshake = found.make_request("GET", query, tabulate(headers))
        is_admitted = admits_socket(handshake, found.responder.endpoint, self._live.settings)
        return FoundSocket(found.responder, handshake) if is_admitted else None

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = find_path(scope)
        if is_control(path):
            is_tidy = path == CONTROL or path.startswith(f"{CONTROL}/")
            await self.control(scope if is_tidy else _move(scope, tidy(path)), receive, send)
        elif path == "*":  # OPTIONS of the server as such
            await send({"type": "http.response.start", "status": 204, "headers": _SERVER_WIDE_ALLOW})
            await send({"type": "http.response.body"})
        elif found := self.directory.find(path):
            await answer(found, scope, receive, send)
        elif found := self.directory.find_corrected(path):
            await answer(found, _move(scope, found.path), receive, send)
        else:
            found = self.directory.adopt(scope["method"], path, scope["query_string"])
            await answer(found, scope, receive, send)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a client over a WebSocket, where there is one; else refuse it (403)."""
        found = self.find_socket(find_path(scope), scope["query_string"], scope["headers"])
        if found is None:
            await receive()
            await send({"type": "websocket.close"})
            return
        await found.session(found.responder, found.handshake, scope=scope, receive=receive, send=send).run()

    def _follow_settings(self) -> None:
        """Take note of other settings, as after a reload."""
        settings = self._live.settings
        if settings.hosts != self._settings.hosts:
            self._directories.clear()
        self._settings, self._directory = settings, self._choose_directory()

    def _choose_directory(self) -> Directory:
        default = self._live.settings.dialect
        return self._directories.get(default) or self._directories.setdefault(default, Directory(self._live))


def _move(scope: Scope, path: str) -> Scope:
    """Return a request as if it had come to another path."""
    return {**scope, "path": path, "raw_path": path.encode(), "root_path": ""}


_SERVER_WIDE_ALLOW = ((b"allow", b"GET, HEAD, POST, DELETE, OPTIONS"),)
