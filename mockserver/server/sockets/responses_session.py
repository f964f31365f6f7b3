"""Responses over a WebSocket, as OpenAI serves them: each `response.create` is a request of its own.

It becomes the POST that another client would send, `Responder.respond` answers it, and each event of that stream leaves
as one frame. So rules, cassettes, limits, timing, faults and the journal are the same as over HTTP.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json
from starlette.types import Message, Receive, Scope, Send

from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, find_in
from mockserver.core.plan import Failure
from mockserver.core.socket_turn import SocketAnswers, SocketTurn
from mockserver.core.text import truncate
from mockserver.delivery.connection import CLIENT_LEFT
from mockserver.dialects._parse import read_json
from mockserver.engine.offload import LARGEST_IN_LOOP, on_thread
from mockserver.server.masking import summarize_crash
from mockserver.server.respond import Responder
from mockserver.server.socket_frames import EventSender, fit_to_socket, make_error_frame
from mockserver.server.sockets.socket_session import CUT_SHORT, FAILED, SocketSession
from mockserver.server.sockets.upstream import UpstreamSocket
from mockserver.server.visit import Response, Visit

log = logging.getLogger("mockserver")

MAX_LANES = 32  # names of lanes on one connection, ever; the lane without a name does not count
MAX_AT_ONCE = 16  # responses of a connection that are made at once
MAX_WAITING = 64  # events of a connection that wait for their turn; more are not read meanwhile
LOOK = 0.5  # seconds between two looks whether a client that waits is still there


class ClientEvent(Struct, frozen=True):
    """An event of a client: the request that it makes in a lane, or why it is refused."""

    lane: str
    body: bytes
    fields: Mapping[str, Json] = {}  # of the body
    writes: bool = True  # False: the client only warms up, and nothing is to be written
    continues_last: bool = False  # it goes on from the last response of its lane
    refusal: Failure | None = None
    answer: bytes = b""  # the frame that is all of its answer, if anything

    def write(self) -> bytes:
        """Return the event as the provider knows it."""
        lane = {"stream_id": self.lane} if self.lane else {}
        return to_json({"type": "response.create", **self.fields, **lane})


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
        if lane and lane not in self._lanes and len(self._lanes) == MAX_LANES:
            return refuse_event(body, "websocket_stream_limit_reached", _TOO_MANY_LANES, param="stream_id")
        match event.pop("type", None):
            case "response.create":
                return self._read_create(body, lane, event)
            case "response.append":  # some builds of Codex send it
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
        prewarms = find_in(event, "prompt_cache_options", "prewarm") is True
        writes = event.get("generate") is not False and not prewarms
        fields = {**event, "stream": True}
        return ClientEvent(lane, to_json(fields), fields, writes=writes, continues_last=continues_last)


def refuse_event(body: bytes, code: str, why: str, *, param: str | None = None, lane: str = "") -> ClientEvent:
    """Return an event that is refused with this code and message."""
    return ClientEvent(lane, body, refusal=Failure("bad_parameter", why, status=400, code=code, param=param))


def _refuse_steering(event: Mapping[str, Json]) -> bytes:
    error = {"type": "invalid_request_error", "code": "steering_not_supported", "message": _NO_STEERING}
    steer = {name: event.get(name) for name in ("input", "previous_response_id")}
    return to_json({"type": "response.steer.failed", "error": error, "steer": steer})


_LANE = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_BAD_LANE = "Invalid 'stream_id': expected 1 to 256 letters, digits, '_', '.' or '-'."
_TOO_MANY_LANES = f"This connection has used {MAX_LANES} stream ids already. Use one of them, or connect once more."
_NO_BINARY = "Send events as text frames, not as binary ones."
_NO_BACKGROUND = "Background responses are not supported over a WebSocket."
_EXPIRED = "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue."
_NO_STEERING = "mockserver does not steer responses. Wait for the response, then create another one."


class Turn(Struct, frozen=True):
    """An event that waits for its answer, and its visit."""

    event: ClientEvent
    visit: Visit


Lane = asyncio.Queue[Turn | None]


class ResponsesSession(SocketSession):
    """The session of a client. Responses of a lane are made one after the other, those of several lanes at once."""

    def __init__(
        self, responder: Responder, handshake: HttpRequest, *, scope: Scope, receive: Receive, send: Send
    ) -> None:
        super().__init__(responder, handshake, scope=scope, receive=receive, send=send)
        self._answers = SocketAnswers()
        self._events = ClientEvents()
        self._upstream = UpstreamSocket()
        self._lanes: dict[str, Lane] = {}
        self._at_once = asyncio.Semaphore(MAX_AT_ONCE)
        self._waiting = 0
        self._waiting_bytes = 0
        self._has_room = asyncio.Event()

    async def take(self, message: Message) -> None:
        """Refuse an event at once, or queue it in its lane; then wait while too much waits already."""
        text = message.get("text")
        if text is None:
            event: ClientEvent | None = refuse_event(b"", "invalid_json", _NO_BINARY)
        elif len(text) > LARGEST_IN_LOOP:
            event = await on_thread(self._events.read, text)
        else:
            event = self._events.read(text)
        if event is None:
            return
        if event.answer:
            await EventSender(self.send, event.lane).send_frame(event.answer)
            return
        turn = Turn(event, self.admit(self._make_request(event)))
        if event.refusal is None:
            try:
                self.hold(turn.visit)
            except Failure as failure:
                turn = Turn(replace(event, refusal=failure), turn.visit)
        if turn.event.refusal is not None:
            await self._answer(turn)
            return
        self._queue(turn)
        await self._wait_for_room()

    async def _wait_for_room(self) -> None:
        most = self.responder.live.settings.max_body
        while self._waiting >= MAX_WAITING or self._waiting_bytes > most:
            self._has_room.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_room.wait(), LOOK)
            if self.is_gone:
                return

    def _queue(self, turn: Turn) -> None:
        event = turn.event
        lane = self._lanes.get(event.lane)
        if lane is None:
            lane = asyncio.Queue()
            self._lanes[event.lane] = lane
            self.start_task(self._run_lane(lane))
        lane.put_nowait(turn)
        self._waiting += 1
        self._waiting_bytes += len(event.body)

    async def _run_lane(self, lane: Lane) -> None:
        while (turn := await lane.get()) is not None:
            self._waiting -= 1
            self._waiting_bytes -= len(turn.event.body)
            self._has_room.set()
            if self.is_over:
                turn.visit.end(CLIENT_LEFT)
                continue
            try:
                async with self._at_once:
                    await self._answer(turn)
            except Exception as error:  # a bug of mockserver: nobody is to wait for what never comes
                log.exception("internal error of mockserver on a WebSocket at %s", ascii(self.handshake.path))
                turn.visit.row.note_defect(summarize_crash(error))
                await self.close(FAILED)

    async def _answer(self, turn: Turn) -> None:
        event = turn.event
        visit = turn.visit
        sender = EventSender(self.send, event.lane)
        if event.continues_last:
            last = self._answers.find_last(event.lane)
            fields = {**event.fields, "previous_response_id": last}
            event = replace(event, body=to_json(fields), fields=fields)
        await self.answer(self._respond(event, visit, sender), visit, sender)
        previous = event.fields.get("previous_response_id")
        if sender.has_failed and isinstance(previous, str):
            self._answers.forget(previous, event.lane)
        if not sender.is_over:  # a fault has cut the answer short
            await self.close(CUT_SHORT)

    async def _respond(self, event: ClientEvent, visit: Visit, sender: EventSender) -> Response:
        visit.request = self._make_request(event)
        if event.refusal is not None:
            response = await self.refuse(event.refusal, visit)
        else:
            response = await self.responder.respond(visit)
        response = fit_to_socket(response, visit)
        response.error_frame = make_error_frame
        sender.expect(response)
        return response

    def _make_request(self, event: ClientEvent) -> HttpRequest:
        turn = SocketTurn(
            self._answers, event.lane, writes=event.writes, write_frame=event.write, upstream=self._upstream
        )
        return self.make_request(event.body, turn)

    async def say_expired(self) -> None:
        error = {"type": "invalid_request_error", "code": "websocket_connection_limit_reached", "message": _EXPIRED}
        event = {"type": "error", "status": 400, "error": {**error, "param": None}}
        await EventSender(self.send, "").send_frame(to_json(event))

    async def end_answers(self, *, in_time: float | None) -> None:
        for lane in self._lanes.values():
            lane.put_nowait(None)
        try:
            await self.end_tasks(in_time=in_time)
        finally:
            await self._upstream.close()
