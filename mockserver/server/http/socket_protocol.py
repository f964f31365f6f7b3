"""The protocol of a WebSocket: frames by websockets, and what deadlines, faults, slow clients and a stop need."""

import asyncio
import email.utils
import logging
from collections.abc import Callable
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Scope
from websockets.datastructures import Headers
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.http import RawHeaders
from mockserver.server.http.any_connection import Connection, Shared
from mockserver.server.http.framing import find_phrase
from mockserver.server.http.parser import RequestHead
from mockserver.server.http.tcp import count_unsent, is_abandoned
from mockserver.server.sockets.socket_session import STOPPING

PING_EVERY = 20.0  # seconds, as the provider pings
PONG_WITHIN = 20.0
CLOSE_WITHIN = 0.5  # for the client's own close frame, when the server stops
MAX_FRAGMENTS = 10_000  # of a message; they may be empty, and so as many as a client likes
MAX_EARLY = 1 << 16  # bytes that a client sends before its handshake is answered
_READ_ALREADY = b"GET / HTTP/1.1\r\n\r\n"  # for the parser of websockets, which begins with a handshake
_RESTORED = (b"connection", b"upgrade")  # headers that the parser of HTTP takes out
_DEFLATE = ServerPerMessageDeflateFactory(  # with little memory for each connection
    server_max_window_bits=12, client_max_window_bits=12, compress_settings={"memLevel": 5}
)

log = logging.getLogger("mockserver")


class SocketClosedError(OSError):
    """A message was sent after the end of the connection, for which ASGI asks for an OSError."""


class SocketProtocol(Connection):
    """The connection of a client that speaks over a WebSocket; the application uses it as its wire.

    `receive` and `send` are ASGI's. The application first answers the handshake: it accepts, or refuses over HTTP.
    """

    def __init__(self, shared: Shared, head: RequestHead, app: ASGIApp) -> None:
        """Serve a client that has sent this head."""
        super().__init__(shared)
        self.answering = 0
        self.due = 0.0
        self._head = head
        self._app = app
        self._messages = asyncio.Queue[Message]()  # for the application
        self._websocket = ServerProtocol(extensions=[_DEFLATE], max_size=shared.config.ws_max_size)
        self._handshake = Handshake(self._websocket, head, self.server_state.default_headers)
        self._is_answered = False  # the handshake is
        self._early = b""  # what has come before
        self._reader = MessageReader()
        self._keepalive = Keepalive(self._ping, self._end_silence)

        # The end
        self._is_closed = False  # a close frame or a refusal was sent
        self._is_lost = False
        self._close_timer: asyncio.TimerHandle | None = None

    def begin(self, rest: bytes) -> None:
        """Run the application; `rest` has come behind the head."""
        self._messages.put_nowait({"type": "websocket.connect"})
        scope = _make_scope(self.make_scope(self._head, wire=self), self._handshake.headers)
        task = asyncio.get_running_loop().create_task(self._run(scope))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)
        if rest:
            self.data_received(rest)

    # What the transport calls

    def leave(self) -> None:
        self._keepalive.stop()
        del self._keepalive  # which leads back here
        self._messages.put_nowait({"type": "websocket.disconnect", "code": 1005 if self._is_answered else 1006})
        self._is_lost = True
        if self._close_timer is not None:
            self._close_timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self.is_ending:
            self.drop(data)
        elif self._is_answered:
            self._read(data)
        else:
            self._early += data
            if len(self._early) > MAX_EARLY:
                self.flow.pause_reading()

    # What the server and its watch call

    @property
    def busy(self) -> bool:
        return self.answering > 0

    def shutdown(self) -> None:
        if not self._is_answered:
            self.end()
        elif not self.stopping:
            self.stopping = True
            self._messages.put_nowait({"type": "websocket.disconnect", "code": STOPPING})
        else:
            self._keepalive.stop()
            self.close(NO_CLOSE_FRAME if self._is_closed else STOPPING)

    def check_client(self, now: float) -> None:
        """End the connection of a client that has left without being read."""
        self.due = now + self.watch.deadlines.linger
        if self.flow.read_paused and is_abandoned(self.transport):
            self.transport.abort()

    # Frames

    def _read(self, data: bytes) -> None:
        self._websocket.receive_data(data)
        if self._websocket.parser_exc is not None:
            self._end_broken()
            return
        for event in self._websocket.events_received():
            assert isinstance(event, Frame)  # the handshake was read before
            if event.opcode is Opcode.PING:
                self._answer_ping()
            elif event.opcode is Opcode.PONG:
                self._keepalive.take_pong(bytes(event.data))
            elif event.opcode is Opcode.CLOSE:
                self._take_close()
            elif not self._is_closed:
                self._take_fragment(event)

    def _take_fragment(self, frame: Frame) -> None:
        try:
            message = self._reader.read(frame)
        except BrokenMessageError as error:
            self._websocket.fail(error.code, error.reason)
            self._end_broken()
            return
        if message is not None:
            self._messages.put_nowait(message)
            self.flow.pause_reading()

    def _answer_ping(self) -> None:
        """Send the pong that websockets has made, unless pongs heap up: the latest is enough (RFC 6455, 5.5.3)."""
        pong = b"".join(self._websocket.data_to_send())
        if not self.flow.write_paused:
            self.transport.write(pong)

    def _take_close(self) -> None:
        """Answer the client's close frame; or it answers ours, and the connection is done with."""
        close = self._websocket.close_rcvd
        assert close is not None  # the frame has just come
        if not self.gone:
            self._messages.put_nowait({"type": "websocket.disconnect", "code": close.code, "reason": close.reason})
            self._flush()
        self.end()

    def _ping(self, data: bytes) -> None:
        if not self.gone:
            self._websocket.send_ping(data)
            self._flush()

    def _end_silence(self) -> None:
        """End the connection of a client that has not answered a ping, unless its pong may wait to be read."""
        if self.gone:
            return
        if self.flow.read_paused and not is_abandoned(self.transport):
            self._keepalive.wait_for_pong()
            return
        self._websocket.fail(CloseCode.INTERNAL_ERROR, "keepalive ping timeout")
        self._flush()
        self._is_closed = True
        self.end()

    def _end_broken(self) -> None:
        """End the connection of a client that breaks the protocol, but drain it: a reset might overtake the reason."""
        sent = self._websocket.close_sent
        assert sent is not None  # the parser has failed
        self._messages.put_nowait({"type": "websocket.disconnect", "code": sent.code, "reason": sent.reason})
        self._flush()
        self._is_closed = True
        self._keepalive.stop()
        self.end(drains=True)

    def _flush(self) -> None:
        self.transport.write(b"".join(self._websocket.data_to_send()))

    # The application

    async def _run(self, scope: Scope) -> None:
        try:
            await self._app(scope, self.receive, self.send)
        except asyncio.CancelledError:  # the server has waited long enough
            self.transport.abort()
        except SocketClosedError:
            pass
        except Exception:
            log.exception("internal error of mockserver on a WebSocket at %s", ascii(scope["path"]))
        if not (self._is_answered or self._is_lost):
            self._send_response(self._websocket.reject(HTTPStatus.INTERNAL_SERVER_ERROR, "Internal Server Error"))
        if self._close_timer is None and not self.is_ending:
            self.end()

    async def receive(self) -> Message:
        """Return the next message of the client; no more is read before the application takes it."""
        message = await self._messages.get()
        if self._is_answered and self._messages.empty():
            self.flow.resume_reading()
        return message

    async def send(self, message: Message) -> None:
        """Answer the handshake, send or close; wait while the client takes nothing. Raises SocketClosedError."""
        await self.flow.drain()
        if self.gone:
            raise SocketClosedError
        if not self._is_answered:
            response = self._handshake.answer(message)
            if response is not None:
                self._send_response(response)
        elif message["type"] == "websocket.close":
            self._send_close(message.get("code", CloseCode.NORMAL_CLOSURE), message.get("reason") or "")
        else:
            if message.get("bytes") is not None:
                self._websocket.send_binary(message["bytes"])
            else:
                self._websocket.send_text(message["text"].encode())
            self._flush()

    def _send_response(self, response: Response) -> None:
        """Answer the handshake: read what came early, or close."""
        self._is_answered = True
        self._websocket.send_response(response)
        self._flush()
        early = self._early
        self._early = b""
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            self._messages.put_nowait({"type": "websocket.disconnect", "code": 1006})
            self._is_closed = True
            self.end()
            return
        self._keepalive.start()
        if len(early) > MAX_EARLY:
            self.flow.resume_reading()
        if early:
            self._read(early)

    def _send_close(self, code: int, reason: str) -> None:
        """Send a close frame, and give the client time for its own."""
        self._messages.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self._websocket.send_close(code, reason)
        self._flush()
        self._is_closed = True
        self.flow.resume_reading()
        seconds = CLOSE_WITHIN if self.stopping else self.watch.deadlines.farewell
        self._close_timer = asyncio.get_running_loop().call_later(seconds, self.end)

    # The wire

    @property
    def gone(self) -> bool:
        return self._is_lost or self._is_closed or self.transport.is_closing()

    @property
    def unsent(self) -> int:
        return count_unsent(self.transport)

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        if code != NO_CLOSE_FRAME and not self._is_closed:
            self._websocket.send_close(code)
            self._flush()
        self.end()


class Handshake:
    """A handshake that was read over HTTP, and how an application answers it by the messages of ASGI."""

    def __init__(self, websocket: ServerProtocol, head: RequestHead, default_headers: RawHeaders) -> None:
        fields = [field for field in head.table.headers if field[0] not in _RESTORED]
        self.headers = [*fields, (b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]
        self._default_headers = default_headers
        self._websocket = websocket
        self._refusal: Response | None = None  # more of its body may come
        target = head.raw_path + (b"?" + head.query if head.query else b"")
        websocket.receive_data(_READ_ALREADY)
        websocket.events_received()
        self._acceptance = websocket.accept(Request(target.decode("latin-1"), _decode(self.headers)))

    def answer(self, message: Message) -> Response | None:
        """Return the response that a message completes, if it does: with status 101, there is a WebSocket then."""
        match message["type"]:
            case "websocket.accept":
                return self._accept(message.get("headers", ()), message.get("subprotocol"))
            case "websocket.close":
                return self._websocket.reject(HTTPStatus.FORBIDDEN, "")
            case "websocket.http.response.start":
                status = message["status"]
                self._refusal = Response(status, find_phrase(status), _decode(message["headers"]), b"")
                return None
            case _:
                assert self._refusal is not None  # whose head was sent
                self._refusal.body = bytes(self._refusal.body) + message.get("body", b"")
                return None if message.get("more_body") else _complete(self._refusal)

    def _accept(self, headers: RawHeaders, subprotocol: str | None) -> Response:
        response = self._acceptance
        del response.headers["Date"]
        response.headers.update(_decode((*self._default_headers, *headers)))
        if subprotocol:
            response.headers["Sec-WebSocket-Protocol"] = subprotocol
        return response


class BrokenMessageError(Exception):
    """A message breaks the protocol; the connection is closed with this code."""

    def __init__(self, code: CloseCode, reason: str) -> None:
        self.code = code
        self.reason = reason


class MessageReader:
    """Joins the frames of a client to messages."""

    def __init__(self) -> None:
        self._fragments: list[bytes] = []  # of the message that is being read
        self._is_text = True  # that message is

    def read(self, frame: Frame) -> Message | None:
        """Return the message that a frame completes, as ASGI has it. Raises BrokenMessageError."""
        if frame.opcode is not Opcode.CONT:
            self._fragments = []
            self._is_text = frame.opcode is Opcode.TEXT
        if len(self._fragments) == MAX_FRAGMENTS:
            raise BrokenMessageError(CloseCode.MESSAGE_TOO_BIG, f"message with more than {MAX_FRAGMENTS} fragments")
        self._fragments.append(bytes(frame.data))
        if not frame.fin:
            return None
        data = b"".join(self._fragments)
        self._fragments = []
        if not self._is_text:
            return {"type": "websocket.receive", "bytes": data}
        try:
            return {"type": "websocket.receive", "text": data.decode()}
        except UnicodeDecodeError:
            raise BrokenMessageError(CloseCode.INVALID_DATA, "invalid UTF-8") from None


class Keepalive:
    """Pings a client at times, and tells that it has not answered."""

    def __init__(self, ping: Callable[[bytes], None], on_silence: Callable[[], None]) -> None:
        self._ping = ping
        self._on_silence = on_silence
        self._count = 0  # of pings; each says its number
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._set(PING_EVERY, self._send)

    def wait_for_pong(self) -> None:
        self._set(PONG_WITHIN, self._on_silence)

    def take_pong(self, data: bytes) -> None:
        """Take note of a pong; those that nobody asked for do not count (RFC 6455, 5.5.3)."""
        if data == self._number:
            self.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    @property
    def _number(self) -> bytes:
        return self._count.to_bytes(4)

    def _send(self) -> None:
        self._count += 1
        self.wait_for_pong()
        self._ping(self._number)

    def _set(self, seconds: float, callback: Callable[[], None]) -> None:
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(seconds, callback)


def _decode(headers: RawHeaders) -> Headers:
    return Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers])


def _make_scope(scope: Scope, headers: RawHeaders) -> Scope:
    """Return the scope of a WebSocket, made of that of its handshake."""
    offered = [value.decode("latin-1") for name, value in headers if name == b"sec-websocket-protocol"]
    return {
        **{name: value for name, value in scope.items() if name != "method"},
        "type": "websocket",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "scheme": "ws",
        "headers": headers,
        "subprotocols": [each.strip() for value in offered for each in value.split(",")],
        "extensions": {"websocket.http.response": {}, **scope["extensions"]},
    }


def _complete(refusal: Response) -> Response:
    """Return a refusal with the headers that it lacks."""
    headers = refusal.headers
    headers.setdefault("Date", email.utils.formatdate(usegmt=True))
    headers.setdefault("Connection", "close")
    headers.setdefault("Content-Length", str(len(refusal.body)))
    headers.setdefault("Content-Type", "text/plain; charset=utf-8")
    return refusal
