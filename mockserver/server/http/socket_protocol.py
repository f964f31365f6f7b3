"""The protocol of a WebSocket: uvicorn's, with what deadlines, faults, slow clients and the end of a server need."""

import asyncio
from math import inf
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.datastructures import Headers
from websockets.frames import CloseCode, Frame
from websockets.http11 import Request

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.delivery.connection import MAX_WRITE, WIRE
from mockserver.server.app import Site
from mockserver.server.http.deadlines import DeadlineWatch
from mockserver.server.http.parser import RequestHead
from mockserver.server.http.tcp import MAX_DRAINED, count_unsent, is_abandoned, reset
from mockserver.server.limits import Unsent
from mockserver.server.sockets.socket_session import STOPPING

PING_EVERY = 20.0  # seconds, as the provider pings
PONG_WITHIN = 20.0
CLOSE_WITHIN = 0.5  # for the client's own close frame, when the server stops
MAX_FRAGMENTS = 10_000  # of a message; they may be empty, and so as many as a client likes
MAX_EARLY = 1 << 16  # bytes that a client sends before its handshake is answered
_READ_ALREADY = b"GET / HTTP/1.1\r\n\r\n"  # for the parser of websockets, which begins with a handshake
_RESTORED = (b"connection", b"upgrade")  # headers that the parser of HTTP takes out


class SocketProtocol(WebSocketsSansIOProtocol):
    """One connection of a client that speaks over a WebSocket; the application uses it as its wire."""

    half_closed = False  # a client that stops sending says so by closing
    due = 0.0  # when the deadline watch has to look

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        *,
        site: Site,
        watch: DeadlineWatch,
        unsent: Unsent,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.app = site
        self.answering = 0
        self._is_stopping = False
        self.ping_interval = PING_EVERY
        self.ping_timeout = PONG_WITHIN
        self.close_timeout = watch.deadlines.farewell
        self._watch = watch
        self._all_unsent = unsent
        self._dropped: int | None = None  # bytes that have come since the client was refused
        self._early = b""  # what has come before the handshake was answered
        self.held = 0  # bytes of `max_unsent` that it takes because its client does not read
        self._untaken = inf  # bytes that the client had not taken when last looked at, if the connection ends

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._watch.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.leave(self)
        self._all_unsent.release(self)
        super().connection_lost(exc)

    def begin(self, head: RequestHead) -> None:
        """Answer a handshake that was read already; what follows it are frames."""
        self.conn.receive_data(_READ_ALREADY)
        self.conn.events_received()
        target = head.raw_path + (b"?" + head.query if head.query else b"")
        fields = [(name, value) for name, value in head.table.headers if name not in _RESTORED]
        headers = Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields])
        headers["Connection"] = "Upgrade"
        headers["Upgrade"] = "websocket"
        self.handle_connect(Request(target.decode("latin-1"), headers))

    def data_received(self, data: bytes) -> None:
        if self._dropped is not None:
            self._dropped += len(data)
            if self._dropped > MAX_DRAINED:
                self.transport.abort()
            return
        if self.handshake_complete:
            super().data_received(data)
            return
        self._early += data
        if len(self._early) > MAX_EARLY:
            self.transport.pause_reading()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            # as the client is refused
            self.handshake_complete = True
            self._early = b""
            self._dropped = 0
        if self._early and self.handshake_complete:
            early = self._early
            self._early = b""
            if len(early) > MAX_EARLY:
                self.transport.resume_reading()
            self.data_received(early)

    async def run_asgi(self) -> None:
        self.scope["extensions"][WIRE] = self  # type: ignore[assignment]
        await super().run_asgi()
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # the server has waited long enough
            self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        if self._dropped is not None:  # by a fragment before this one
            return
        if len(self.frames) == MAX_FRAGMENTS:
            self.conn.fail(CloseCode.MESSAGE_TOO_BIG, f"message with more than {MAX_FRAGMENTS} fragments")
            self.handle_parser_exception()
            return
        super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text" and not _is_text(b"".join(self.frames)):
            self.conn.fail(CloseCode.INVALID_DATA, "invalid UTF-8")
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        """End the connection of a client that breaks the protocol, but drain it: a reset might overtake the reason."""
        sent = self.conn.close_sent
        assert sent is not None  # the parser has failed
        self.queue.put_nowait({"type": "websocket.disconnect", "code": sent.code, "reason": sent.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self._dropped = 0
        self.stop_keepalive()
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close_timer = self.loop.call_later(self._watch.deadlines.linger, self.transport.abort)

    def handle_ping(self) -> None:
        pong = b"".join(self.conn.data_to_send())
        if self.writable.is_set():  # else pongs would heap up; it is enough to answer the latest ping (RFC 6455, 5.5.3)
            self.transport.write(pong)

    def keepalive_timeout(self) -> None:
        """End the connection of a client that has not answered a ping, unless its pong may wait to be read."""
        if self.read_paused and not is_abandoned(self.transport):
            self.pong_timer = self.loop.call_later(PONG_WITHIN, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._all_unsent.settle(self, self.transport.get_write_buffer_size() + MAX_WRITE)

    def resume_writing(self) -> None:
        self._all_unsent.release(self)
        super().resume_writing()

    def handle_deadline(self, now: float) -> None:
        """End a connection that is closed, but whose client takes nothing more, or has left without being read."""
        self.due = now + self._watch.deadlines.linger
        if self.transport.is_closing():
            before = self._untaken
            self._untaken = self.transport.get_write_buffer_size()
            if not 0 < self._untaken < before:
                self.transport.abort()
        elif self.read_paused and is_abandoned(self.transport):
            self.transport.abort()

    def shutdown(self) -> None:
        """The server stops: answers that have begun may still be sent, unless this is said twice."""
        if not self.handshake_complete:
            self.transport.close()
        elif self._is_stopping:
            super().shutdown()
        else:
            self._is_stopping = True
            self.close_timeout = CLOSE_WITHIN
            self.queue.put_nowait({"type": "websocket.disconnect", "code": STOPPING})

    @property
    def busy(self) -> bool:
        """Whether an answer is being sent."""
        return self.answering > 0

    @property
    def gone(self) -> bool:
        return self.disconnected or self.close_sent or self.transport.is_closing()

    @property
    def unsent(self) -> int:
        return count_unsent(self.transport)

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        if code != NO_CLOSE_FRAME and not self.close_sent:
            self.conn.send_close(code)
            self.transport.write(b"".join(self.conn.data_to_send()))
        self.transport.close()

    def reset(self) -> None:
        reset(self.transport)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
