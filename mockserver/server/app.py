"""The ASGI application, which any ASGI server can run: control paths, WebSockets, and all paths of the dialects."""

from functools import cached_property
from typing import TYPE_CHECKING

from starlette.routing import Router
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from mockserver.core.http import CONTROL, tabulate
from mockserver.core.lazy import LazyTable
from mockserver.server.access import OPEN, Guard, is_control
from mockserver.server.asgi_entrance import answer
from mockserver.server.directory import Directory
from mockserver.server.live import Live
from mockserver.server.routes import tidy
from mockserver.server.snapshot import find_path

if TYPE_CHECKING:
    from mockserver.server.sockets.socket_session import SocketSession


# What serves a client over a WebSocket, by what is spoken there; few servers need it.
SESSIONS: LazyTable["type[SocketSession]"] = LazyTable(
    {
        "live": "mockserver.server.sockets.gemini_live:LiveSession",
        "realtime": "mockserver.server.sockets.realtime_session:RealtimeSession",
        "responses": "mockserver.server.sockets.responses_session:ResponsesSession",
    }
)


class Site:
    """The application of one server; its `directory` knows what answers at a path."""

    def __init__(self, live: Live, lifespan: Lifespan[Router] | None = None) -> None:
        self._live = live
        self._lifespan = Router(lifespan=lifespan)
        self.directory = Directory(live)

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
            unknown = self.directory.find_unknown(scope["method"], path, scope["query_string"])
            await answer(unknown, scope, receive, send)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a client over a WebSocket, where there is one; else refuse it (403)."""
        query = scope["query_string"]
        found = self.directory.find_socket(find_path(scope), query, scope["headers"])
        if found is None:
            await receive()
            await send({"type": "websocket.close"})
            return
        handshake = found.make_request("GET", query, tabulate(scope["headers"]))
        session = SESSIONS[found.responder.endpoint.socket]
        await session(found.responder, handshake, scope=scope, receive=receive, send=send).run()


def _move(scope: Scope, path: str) -> Scope:
    """Return a request as if it had come to another path."""
    return {**scope, "path": path, "raw_path": path.encode(), "root_path": ""}


_SERVER_WIDE_ALLOW = ((b"allow", b"GET, HEAD, POST, DELETE, OPTIONS"),)
