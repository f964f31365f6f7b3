"""The protocol of a WebSocket: uvicorn's, with what faults and the end of a server need."""

from typing import Any

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.delivery.drive import WIRE
from mockserver.server.http.tcp import count_unsent, reset
from mockserver.server.responses_socket import STOPPING


class SocketProtocol(WebSocketsSansIOProtocol):
    """One connection of a client that speaks over a WebSocket; the application uses it as its wire."""

    half = False  # a client that stops sending says so by closing

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], site: ASGIApp) -> None:
        super().__init__(config, server_state, app_state)
        self.app, self.answering, self._is_stopping = site, 0, False

    async def run_asgi(self) -> None:
        self.scope["extensions"][WIRE] = self  # type: ignore[assignment]
        await super().run_asgi()

    def shutdown(self) -> None:
        """The server stops: answers that have begun may still be sent, unless this is said twice."""
        if self._is_stopping or not self.handshake_complete:
            super().shutdown()
        else:
            self._is_stopping = True
            self.queue.put_nowait({"type": "websocket.disconnect", "code": STOPPING})

    @property
    def busy(self) -> bool:
        """Whether an answer is being sent."""
        return self.answering > 0

    @property
    def gone(self) -> bool:
        return self.disconnected

    @property
    def unsent(self) -> int:
        return count_unsent(self.transport)

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        if code != NO_CLOSE_FRAME:
            self.conn.send_close(code)
            self.transport.write(b"".join(self.conn.data_to_send()))
        self.transport.close()

    def reset(self) -> None:
        reset(self.transport)
