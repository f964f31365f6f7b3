"""Answers over a WebSocket: what HTTP would send as a stream, with a frame for each event."""

import json

from msgspec.structs import replace
from pydantic_core import to_json
from starlette.types import Message, Send

from mockserver.core.frames import Frame
from mockserver.core.http import Reply
from mockserver.core.json import Json, find_in, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.core.server_sent_events import END_OF_EVENT, find_data
from mockserver.delivery.faults import ONLY_OVER_HTTP
from mockserver.server.visit import Response, Visit


class EventSender:
    """Sends the answer to one request, given as HTTP by ASGI messages, as frames of a WebSocket.

    Each event of a stream is a frame; any other answer is one frame, which for an error is an event of type `error`.
    """

    def __init__(self, send: Send, lane: str) -> None:
        self._send = send
        self._lane = lane
        self._status = 0
        self._headers = dict[str, str]()
        self._is_stream: bool | None = None  # None: as its head says
        self._is_framed = False  # the body is the frame
        self._unsent = b""  # bytes of an event whose end has not come, or of a plain body
        self.has_failed = False
        self.is_over = False  # the last event of the answer was sent

    def expect(self, response: Response) -> None:
        """Take note of the form of an answer that `fit_to_socket` returned, whatever its head will say."""
        if response.forwarded is None:
            self._is_stream = is_stream(response)
            self._is_framed = bool(response.plan.faults)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
            if self._is_stream is None:
                self._is_stream = _is_stream(self._headers)
            return
        self._unsent += message.get("body", b"")
        if self._is_stream:
            *events, self._unsent = END_OF_EVENT.split(self._unsent)
            for event in events:
                await self.send_event(event)
        elif not message.get("more_body"):
            frame = self._unsent if self._is_framed else make_frame(self._status, self._headers, self._unsent)
            self.is_over = bool(frame)
            self.has_failed = self._status >= 400
            if frame:
                await self.send_frame(frame)

    async def send_event(self, event: bytes) -> None:
        """Send an event of a stream."""
        data = find_data(event)
        if data and data != b"[DONE]":
            kind = find_type(data) if _LAST.search(data) else None
            self.is_over = self.is_over or kind in LAST_TYPES
            self.has_failed = self.has_failed or kind == "error"
            await self.send_frame(_nest_error(data) if kind == "error" else data)

    async def send_frame(self, data: bytes) -> None:
        """Send a frame, with the name of the lane."""
        if self._lane and data.endswith(b"}"):
            data = b'%b,"stream_id":"%b"}' % (data[:-1], self._lane.encode())
        await self._send({"type": "websocket.send", "text": data.decode("utf-8", "replace")})


def fit_to_socket(response: Response, visit: Visit) -> Response:
    """Return a response in the form that faults change over a WebSocket: a body is one frame, unless it streams.

    Faults that only HTTP can have are left out, with a remark.
    """
    plan = response.plan
    reply = response.reply
    row = visit.row
    if not plan.faults or response.forwarded is not None:
        return response
    kept = tuple([fault for fault in plan.faults if fault.name not in ONLY_OVER_HTTP])
    useless = dict.fromkeys([fault.name for fault in plan.faults if fault.name in ONLY_OVER_HTTP])
    if useless:
        remarks = [f"the fault {name} does nothing over a WebSocket" for name in useless]
        row.plan = replace(plan, remarks=(*plan.remarks, *remarks))
        row.unaffected = not kept
    response.plan = replace(plan, faults=kept)
    if kept and not is_stream(response):
        event = make_frame(reply.status, dict(reply.headers), reply.body)
        response.reply = replace(reply, body=event, pieces=None)
    return response


def is_stream(response: Response) -> bool:
    """Return whether a response is a stream of events."""
    return _is_stream(dict(response.reply.headers))


def _is_stream(headers: dict[str, str]) -> bool:
    return headers.get("content-type", "").startswith("text/event-stream")


def make_frame(status: int, headers: dict[str, str], body: bytes) -> bytes:
    """Return the frame for an answer that is not a stream: its body, or an event of type `error`."""
    if status < 400:
        return body
    stated = find_in(try_parse(body.decode("utf-8", "replace")), "error")
    error: dict[str, Json] = {"type": "server_error", "code": None, "message": "", "param": None}
    error |= stated if isinstance(stated, dict) else {"message": body.decode("utf-8", "replace")}
    event: dict[str, Json] = {"type": "error", "status": status, "error": error}
    if heeded := {name: value for name, value in headers.items() if name.startswith(_HEEDED)}:
        event["headers"] = heeded
        error["headers"] = heeded
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def make_error_frame(reply: Reply, last: bytes) -> Frame:
    """Return the error of a provider as it sends it over a WebSocket, as `Operation.error` does for a stream."""
    return Frame(make_frame(reply.status, dict(reply.headers), reply.body))


def _nest_error(data: bytes) -> bytes:
    """Return an event of type `error` as it is over a WebSocket: over SSE it is flat, and states no status."""
    event = try_parse(data.decode("utf-8", "replace"))
    if not isinstance(event, dict) or "error" in event:
        return data
    code = event.get("code")
    status = _STATUS.get(code, 500) if isinstance(code, str) else 500
    named = {"type": "server_error" if status == 500 else "invalid_request_error"}
    error = {**named, **{name: event.get(name) for name in ("code", "message", "param")}}
    return to_json({"type": "error", "status": status, "error": error})


def find_type(event: bytes) -> Json:
    """Return the type of an event, also of one whose JSON a fault has broken."""
    value = try_parse(event.decode("utf-8", "replace"))
    if isinstance(value, dict):
        return value.get("type")
    found = _TYPE.search(event)
    return None if found is None else found[1].decode("utf-8", "replace")


LAST_TYPES = ("error", "response.completed", "response.failed", "response.incomplete")
_LAST = compile_lazily(rb'"(?:error|response\.(?:completed|failed|incomplete))"')
_TYPE = compile_lazily(rb'"type": ?"([^"]*)"')
_STATUS = {"rate_limit_exceeded": 429, "insufficient_quota": 429, "invalid_prompt": 400}
_HEEDED = ("retry-after", "x-ratelimit-")  # headers of errors that clients heed
