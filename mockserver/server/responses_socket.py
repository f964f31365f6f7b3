"""Responses over a WebSocket, as OpenAI serves them: each `response.create` is a request of its own.

It becomes the POST that another client would send, `Responder.respond` answers it, and each event of that stream leaves
as one frame. So rules, cassettes, limits, timing, faults and the journal are the same as over HTTP.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json
from starlette.types import Message, Receive, Scope, Send

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.http import HttpRequest, SocketAnswers, SocketTurn
from mockserver.core.json import Json, try_parse
from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Failure
from mockserver.core.text import truncate
from mockserver.delivery.drive import CLIENT_LEFT, WIRE, ClientConnection, PacedStream, Wire
from mockserver.dialects._parse import read_json
from mockserver.engine.offload import on_thread
from mockserver.server.access import check_key, check_page
from mockserver.server.deliver import serve
from mockserver.server.respond import LARGE, Responder, Response, Visit, return_response

MOST_LANES = 32  # names of lanes on one connection, ever; the lane without a name does not count
MOST_AT_ONCE = 16  # responses of a connection that are made at once
MOST_WAITING = 64  # events of a connection that wait for their turn; more are not read meanwhile
LOOK = 0.5  # seconds between two looks whether a client that waits is still there
STOPPING, CUT_SHORT = 1012, 1000  # codes with which connections are closed (RFC 6455, 7.4)
FAREWELL = 1.0  # seconds that answers get to notice that their client has left


class ClientEvent(Struct, frozen=True):
    """An event of a client: the request that it makes in a lane, or why it is refused."""

    lane: str
    body: bytes
    fields: Mapping[str, Json] = {}  # of the body
    writes: bool = True  # False: the client only warms up, and nothing is to be written
    continues_last: bool = False  # it goes on from the last response of its lane
    refusal: Failure | None = None
    answer: bytes = b""  # the frame that is all of its answer, if anything


class ClientEvents:
    """Reads the events of one connection, and knows the lanes that they have named."""

    def __init__(self) -> None:
        self._lanes = set[str]()

    def read(self, text: str) -> ClientEvent | None:
        """Return what a text frame wants; None for an event that has no answer."""
        body = text.encode("utf-8", "surrogatepass")
        try:
            event = read_json(body)
        except Failure as failure:
            return refuse_event(body, "invalid_json", failure.message or "The frame is not valid JSON.")
        if not isinstance(event, dict):
            return refuse_event(body, "invalid_json", "An event must be a JSON object.")
        lane = event.pop("stream_id", "")
        if lane != "" and not (isinstance(lane, str) and _LANE.fullmatch(lane)):
            return refuse_event(body, "invalid_stream_id", _BAD_LANE, param="stream_id")
        if lane and lane not in self._lanes and len(self._lanes) == MOST_LANES:
            return refuse_event(body, "websocket_stream_limit_reached", _TOO_MANY_LANES, param="stream_id")
        match event.pop("type", None):
            case "response.create":
                return self._read_create(body, lane, event)
            case "response.append":  # of some builds of Codex
                return self._read_create(body, lane, event, continues_last=True)
            case "response.processed":
                return None
            case "response.steer":
                return ClientEvent(lane, body, answer=_refuse_steering(event))
            case None:
                why = "Missing required parameter: 'type'."
                return refuse_event(body, "missing_required_parameter", why, param="type", lane=lane)
            case other:
                why = f"Invalid value: {truncate(repr(other))}. Supported values are: 'response.create'."
                return refuse_event(body, "invalid_value", why, param="type", lane=lane)

    def _read_create(
        self, body: bytes, lane: str, event: dict[str, Json], *, continues_last: bool = False
    ) -> ClientEvent:
        """Return the request of a `response.create`, whose fields are those of the body over HTTP."""
        if event.get("background"):
            return refuse_event(body, "unsupported_parameter", _NO_BACKGROUND, param="background", lane=lane)
        if lane:
            self._lanes.add(lane)
        cache = event.get("prompt_cache_options")
        prewarms = isinstance(cache, dict) and cache.get("prewarm") is True
        writes = event.pop("generate", None) is not False and not prewarms
        fields = {**event, "stream": True}
        return ClientEvent(lane, to_json(fields), fields, writes=writes, continues_last=continues_last)


def refuse_event(body: bytes, code: str, why: str, *, param: str | None = None, lane: str = "") -> ClientEvent:
    return ClientEvent(lane, body, refusal=Failure("bad_parameter", why, status=400, code=code, param=param))


def _refuse_steering(event: Mapping[str, Json]) -> bytes:
    error = {"type": "invalid_request_error", "code": "steering_not_supported", "message": _NO_STEERING}
    steer = {name: event.get(name) for name in ("input", "previous_response_id")}
    return to_json({"type": "response.steer.failed", "error": error, "steer": steer})


_LANE = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_BAD_LANE = "Invalid 'stream_id': expected 1 to 256 letters, digits, '_', '.' or '-'."
_TOO_MANY_LANES = f"This connection has used {MOST_LANES} stream ids already. Use one of them, or connect once more."
_NO_BINARY = "Send events as text frames, not as binary ones."
_NO_BACKGROUND = "Background responses are not supported over a WebSocket."
_NO_STEERING = "mockserver does not steer responses. Wait for the response, then create another one."


class EventSender:
    """Sends the answer to one request, given as HTTP by ASGI messages, as frames of a WebSocket.

    Each event of a stream is a frame; any other answer is one frame, which for an error is an event of type `error`.
    """

    def __init__(self, send: Send, lane: str) -> None:
        self._send, self._lane = send, lane
        self._status, self._headers, self._is_stream = 0, dict[str, str](), False
        self._unsent = b""  # bytes of an event whose end has not come, or of a plain body
        self.has_failed = False
        self.is_over = False  # the last event of the answer was sent

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
            self._is_stream = self._headers.get("content-type", "").startswith("text/event-stream")
            return
        self._unsent += message.get("body", b"")
        if self._is_stream:
            *events, self._unsent = _END_OF_EVENT.split(self._unsent)
            for event in events:
                await self._send_event(event)
        elif not message.get("more_body"):
            await self.send_frame(self._unsent if self._status < 400 else self._make_error())
            self.is_over, self.has_failed = True, self._status >= 400

    async def _send_event(self, event: bytes) -> None:
        data = b"\n".join([found[1] for found in _DATA.finditer(event)])
        if data and data != b"[DONE]":
            kind = _find_type(data) if _LAST.search(data) else None
            self.is_over = self.is_over or kind in _LAST_TYPES
            self.has_failed = self.has_failed or kind == "error"
            await self.send_frame(data)

    async def send_frame(self, data: bytes) -> None:
        """Send a frame, with the name of the lane."""
        if self._lane and data.endswith(b"}"):
            data = b'%b,"stream_id":"%b"}' % (data[:-1], self._lane.encode())
        await self._send({"type": "websocket.send", "text": data.decode("utf-8", "replace")})

    def _make_error(self) -> bytes:
        """Return the event for an answer with the status of an error."""
        body = try_parse(self._unsent.decode("utf-8", "replace"))
        stated = body.get("error") if isinstance(body, dict) else None
        error: dict[str, Json] = {"type": "server_error", "code": None, "message": "", "param": None}
        error |= stated if isinstance(stated, dict) else {"message": self._unsent.decode("utf-8", "replace")}
        event: dict[str, Json] = {"type": "error", "status": self._status, "error": error}
        if told := {name: value for name, value in self._headers.items() if name.startswith(_TOLD)}:
            event["headers"] = error["headers"] = told
        return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


_END_OF_EVENT = lazy_pattern(rb"\r\n\r\n|\n\n|\r\r")
_DATA = lazy_pattern(rb"(?:\A|(?<=[\r\n]))data: ?([^\r\n]*)")
_LAST = lazy_pattern(rb'"(?:error|response\.(?:completed|failed|incomplete))"')
_LAST_TYPES = ("error", "response.completed", "response.failed", "response.incomplete")


def _find_type(event: bytes) -> Json:
    value = try_parse(event.decode("utf-8", "replace"))
    return value.get("type") if isinstance(value, dict) else None


_TOLD = ("retry-after", "x-ratelimit-")  # headers of errors that clients heed


class ConnectionWire(Wire, Protocol):
    """The connection beneath a WebSocket; `answering` is how many answers are being sent on it."""

    answering: int


class SocketWire(Struct, frozen=True):
    """What ends the connection beneath a WebSocket, for faults. It has no framing of HTTP to write past."""

    wire: ConnectionWire

    @property
    def stopping(self) -> bool:
        """Return False: its answers have an end."""
        return False

    @property
    def gone(self) -> bool:
        return self.wire.gone

    @property
    def unsent(self) -> int:
        return self.wire.unsent

    def write(self, data: bytes) -> None:
        self.wire.write(data)

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        self.wire.close(code)

    def reset(self) -> None:
        self.wire.reset()

    def send_whole(self, status: int, head: bytes, body: bytes) -> bool:
        return False

    def send_piece(self, data: bytes) -> bool:
        return False

    def send_paced(self, status: int, head: bytes, stream: PacedStream) -> bool:
        return False


class Turn(Struct, frozen=True):
    """An event that waits for its answer, and its visit."""

    event: ClientEvent
    visit: Visit


Lane = asyncio.Queue[Turn | None]


class ResponsesSocket:
    """One connection of a client. Responses of a lane are made one after the other, those of several lanes at once."""

    def __init__(
        self, responder: Responder, handshake: HttpRequest, *, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._responder, self._handshake = responder, handshake
        self._scope, self._receive, self._send = scope, receive, send
        wire: ConnectionWire | None = (scope.get("extensions") or {}).get(WIRE)
        self._wire = None if wire is None else SocketWire(wire)
        self._answers, self._events = SocketAnswers(), ClientEvents()
        self._lanes: dict[str, Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)
        self._waiting, self._waiting_bytes = 0, 0
        self._has_room, self._has_left = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Accept the client and answer its events until it leaves; or refuse it, as an HTTP request."""
        await self._receive()  # websocket.connect
        try:
            self._check_handshake()
        except Failure as failure:
            await self._refuse_handshake(failure)
            return
        await self._send({"type": "websocket.accept"})
        stops = False
        try:
            while (message := await self._receive())["type"] != "websocket.disconnect":
                await self._take(message)
            stops = message.get("code") == STOPPING
        finally:
            if not stops:
                self._has_left.set()
            await self._end_lanes(in_time=None if stops else FAREWELL)
        if stops:
            await self._send_to_client({"type": "websocket.close", "code": STOPPING})

    def _check_handshake(self) -> None:
        settings = self._responder.live.settings
        check_page(self._handshake, settings)
        if settings.keys is not None:
            check_key(self._responder.dialect.credential(self._handshake), settings.keys)

    async def _refuse_handshake(self, failure: Failure) -> None:
        visit = self._admit(self._handshake)
        response = self._responder.refuse(self._handshake, failure)
        response = self._responder.finish(response, self._handshake, visit)

        async def send(message: Message) -> None:
            await self._send_to_client({**message, "type": f"websocket.{message['type']}"})

        await self._serve(return_response(response), visit, send)

    async def _take(self, message: Message) -> None:
        """Answer what has no place in a lane at once, and queue what has; wait while too much waits already."""
        text = message.get("text")
        if text is None:
            event: ClientEvent | None = refuse_event(b"", "invalid_json", _NO_BINARY)
        elif len(text) > LARGE:
            event = await on_thread(self._events.read, text)
        else:
            event = self._events.read(text)
        if event is None:
            return
        if event.answer:
            await EventSender(self._send_to_client, event.lane).send_frame(event.answer)
            return
        turn = Turn(event, self._admit(self._make_request(event)))
        if event.refusal is not None:
            await self._answer(turn)
            return
        self._queue(turn)
        most = self._responder.live.settings.max_body
        while self._waiting >= MOST_WAITING or self._waiting_bytes > most:
            self._has_room.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_room.wait(), LOOK)
            if self._wire is not None and self._wire.gone:
                return

    def _queue(self, turn: Turn) -> None:
        event = turn.event
        lane = self._lanes.get(event.lane)
        if lane is None:
            lane = self._lanes[event.lane] = asyncio.Queue()
            self._tasks.add(asyncio.create_task(self._run_lane(lane)))
        lane.put_nowait(turn)
        self._waiting, self._waiting_bytes = self._waiting + 1, self._waiting_bytes + len(event.body)

    async def _run_lane(self, lane: Lane) -> None:
        while (turn := await lane.get()) is not None:
            self._waiting, self._waiting_bytes = self._waiting - 1, self._waiting_bytes - len(turn.event.body)
            self._has_room.set()
            if self._is_over:
                turn.visit.end(CLIENT_LEFT)
                continue
            async with self._at_once:
                await self._answer(turn)

    @property
    def _is_over(self) -> bool:
        """Whether nothing reaches the client any more."""
        return self._has_left.is_set() or (self._wire is not None and self._wire.gone)

    async def _answer(self, turn: Turn) -> None:
        event, visit = turn.event, turn.visit
        sender = EventSender(self._send_to_client, event.lane)
        if event.continues_last:
            last = self._answers.find_last(event.lane)
            event = replace(event, body=to_json({**event.fields, "previous_response_id": last}))
        with self._note_answering():
            await self._serve(self._respond(self._make_request(event), visit, event), visit, sender)
        previous = event.fields.get("previous_response_id")
        if sender.has_failed and isinstance(previous, str):
            self._answers.forget(previous, event.lane)
        if not (sender.is_over or self._has_left.is_set()):  # a fault has cut the answer short
            await self._send_to_client({"type": "websocket.close", "code": CUT_SHORT})
            self._has_left.set()

    @contextmanager
    def _note_answering(self) -> Iterator[None]:
        """Have the connection know that an answer is being sent."""
        if self._wire is None:
            yield
            return
        self._wire.wire.answering += 1
        try:
            yield
        finally:
            self._wire.wire.answering -= 1

    async def _respond(self, request: HttpRequest, visit: Visit, event: ClientEvent) -> Response:
        if event.refusal is not None:
            return self._responder.finish(self._responder.refuse(request, event.refusal), request, visit)
        return await self._responder.respond(request, visit)

    def _make_request(self, event: ClientEvent) -> HttpRequest:
        handshake = self._handshake
        headers = [field for field in handshake.headers if field[0] not in _OF_HANDSHAKES]
        headers.append((b"content-type", b"application/json"))
        return HttpRequest(
            method="POST",
            path=handshake.path,
            query=handshake.query,
            headers=headers,
            body=event.body,
            namespace=handshake.namespace,
            path_params=handshake.path_params,
            turn=SocketTurn(self._answers, event.lane, writes=event.writes),
        )

    def _admit(self, request: HttpRequest) -> Visit:
        visit = self._responder.admit(request.method, request.path, request.namespace)
        row = visit.row
        row.query, row.headers = self._scope["query_string"], request.headers
        row.take(request.body)
        visit.receive = self._wait_until_left
        return visit

    async def _serve(self, response: Awaitable[Response], visit: Visit, send: Send) -> None:
        client = ClientConnection(self._wait_until_left, send, self._wire)
        scope = {**self._scope, "type": "http", "method": visit.row.method, "http_version": "1.1"}
        await serve(self._responder, response, visit, client, scope)

    async def _wait_until_left(self) -> Message:
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def _send_to_client(self, message: Message) -> None:
        """Send a message, unless the client has left."""
        try:
            await self._send(message)
        except OSError:
            self._has_left.set()

    async def _end_lanes(self, *, in_time: float | None) -> None:
        """Let the answers that have begun end, for so many seconds; None: as long as they take."""
        for lane in self._lanes.values():
            lane.put_nowait(None)
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=in_time)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)


_OF_HANDSHAKES = frozenset(
    (
        *(b"upgrade", b"connection", b"content-type", b"content-length", b"content-encoding", b"transfer-encoding"),
        *(b"sec-websocket-key", b"sec-websocket-version", b"sec-websocket-extensions", b"sec-websocket-protocol"),
    )
)
