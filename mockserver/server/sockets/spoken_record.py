"""Spoken sessions: how they take messages, hear sounds and open turns, and the row that each has in the journal."""

import asyncio
import logging
import re
import sys
from functools import partial

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json
from starlette.types import Message

from mockserver.core.call import Call
from mockserver.core.frames import Frame, write_event
from mockserver.core.http import HeaderLines, Reply
from mockserver.core.plan import Failure, Plan
from mockserver.core.row import COMPLETE, MAX_KEPT, PIECE, REALTIME_SESSION
from mockserver.core.socket_turn import SocketAnswers, SocketTurn
from mockserver.delivery.connection import CLIENT_LEFT, CUT, STOPPED
from mockserver.dialects._openai_api.realtime.recordings import make_recording_call
from mockserver.dialects._parse import Body
from mockserver.engine.offload import on_thread
from mockserver.engine.planning import plan_call
from mockserver.kinds.audio import Transcript
from mockserver.kinds.realtime import TURN
from mockserver.media.samples import SampleFormat
from mockserver.server.masking import summarize_crash
from mockserver.server.sockets.socket_session import CUT_SHORT, FAILED, STOPPING, SocketSession
from mockserver.server.visit import Visit

log = logging.getLogger("mockserver")

SWITCHING = 101  # the status of a handshake that leads to a session
_EVENTS = HeaderLines("content-type: text/event-stream\r\n")  # the row shows them as an event stream
_SOUND = re.compile(r'"(audio|delta|data)": ?"([A-Za-z0-9+/_-]{256,}={0,2})"')
_BUG = "mockserver failed on this event; its log says how."
_ENDS = {STOPPING: STOPPED, CUT_SHORT: CUT["end"], FAILED: CUT["end"]}
_FAREWELLS = (1000, 1001, 1005)  # codes of clients that mean to leave (RFC 6455, 7.4.1)


class SessionRecord:
    """Keeps the row of a session: its events, each without its sound, and its end as the last one."""

    def __init__(self, visit: Visit, model: str) -> None:
        self.visit = visit
        self._received: list[str] = []
        self._size = 0
        visit.row.model = model
        self._note_answer(REALTIME_SESSION, Plan(None, "generated"), SWITCHING)

    def refuse(self, plan: Plan, status: int) -> None:
        """Note that the client is turned away: that is a call like any other that is refused."""
        self._note_answer(TURN.name, plan, status)

    def _note_answer(self, operation: str, plan: Plan, status: int) -> None:
        self.visit.row.operation = operation
        self.visit.row.note_answer(plan, Reply(status, _EVENTS))

    def take(self, message: Message) -> None:
        """Note what the client has sent."""
        row = self.visit.row
        text = message.get("text")
        if not isinstance(text, str):
            text = (message.get("bytes") or b"").decode("utf-8", "replace")
        line = _hide_sound(text)
        if row.kept and self._size < MAX_KEPT:
            self._received.append(line)
            row.weigh(len(line) + PIECE)
        self._size += len(line)

    def note(self, text: str) -> None:
        """Note what is sent to the client."""
        self.visit.row.note_sent(write_event(Frame(_hide_sound(text).encode("utf-8", "replace"))))

    def end(self, client_code: int | None, server_code: int | None) -> None:
        """Close the row. The client has closed the session with a code, or the server; without codes, it broke off."""
        by, code = ("server", server_code) if server_code is not None else ("client", client_code)
        self.note(to_json({"type": "websocket.close", "by": by, "code": code}).decode())
        row = self.visit.row
        row.received = self._size
        if row.kept:
            row.body = "\n".join(self._received).encode("utf-8", "replace")
        how = COMPLETE if client_code in _FAREWELLS else CLIENT_LEFT
        self.visit.end(how if server_code is None else _ENDS.get(server_code, COMPLETE))


class Heard(Struct, frozen=True):
    """A sound as a call for its transcription, and the plan for that."""

    call: Call
    plan: Plan

    @property
    def text(self) -> str | None:
        """The words in the sound; None if nothing tells them."""
        if isinstance(self.plan.outcome, Transcript):
            return self.plan.outcome.text
        return self.call.last_user if self.call.messages else None


class RecordedSession(SocketSession):
    """A session that is a row of the journal once it has begun.

    Each message is an act of the client, and each answer a turn. Its sound and its items take `held` bytes of
    `max_unsent` until it ends.
    """

    record: SessionRecord | None = None
    held = 0
    _closed_with: int | None = None

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            if self.record is not None:
                self.record.end(self.close_code, self._closed_with)
                self.record = None  # which leads back here

    def begin_record(self, model: str) -> SessionRecord:
        """Return the record of this session, which begins now."""
        self.record = SessionRecord(self.admit(self.handshake), model)
        return self.record

    @property
    def size(self) -> int:
        """The bytes that the session holds."""
        raise NotImplementedError

    async def act(self, message: Message) -> None:
        """Handle a message of the client. Raises Failure."""
        raise NotImplementedError

    async def complain(self, failure: Failure) -> None:
        """Tell the client what is wrong with its message."""
        raise NotImplementedError

    async def take(self, message: Message) -> None:
        if self.record is not None:
            self.record.take(message)
        if self.is_over:  # it was closed meanwhile
            return
        try:
            await self.act(message)
        except Failure as failure:
            await self.complain(failure)
        except Exception:  # a bug of mockserver
            self.log_bug()
            await self.complain(Failure("server_error", _BUG))
        finally:
            self.responder.live.unsent.settle(self, self.size)

    def log_bug(self) -> None:
        """Log the exception that is being handled, and note it in the row of the session."""
        log.exception("internal error of mockserver on a WebSocket at %s", ascii(self.handshake.path))
        error = sys.exception()
        if self.record is not None and error is not None:
            self.record.visit.row.note_defect(summarize_crash(error))

    def hold_message(self, body: bytes) -> None:
        """Count the bytes of a message that the session keeps. Raises Failure if all take too many."""
        live = self.responder.live
        live.unsent.take(self, len(body), limit=live.settings.max_unsent)

    def open_turn(self, body: bytes, turn: SocketTurn, left: asyncio.Event) -> Visit:
        """Return the visit of the request that stands for a turn; it ends once it is `left`. Raises Failure."""
        visit = self.admit(self.make_request(body, turn))
        try:
            self.hold(visit)
        except Failure:
            visit.end(CLIENT_LEFT)
            raise
        visit.receive = partial(_wait_until_left, left)
        return visit

    async def hear(self, transcription: Body, audio: bytes, sound: SampleFormat) -> Heard:
        """Return the words in a sound: those of a rule, or those that mockserver's own speech carries."""
        request = self.make_request(b"", SocketTurn(SocketAnswers()))
        dialect = self.responder.dialect.name
        make = partial(make_recording_call, request, dialect, transcription=transcription, audio=audio, sound=sound)
        call = await on_thread(make)
        engine = self.responder.live.find_engine(self.handshake.namespace)
        return Heard(call, await plan_call(engine, replace(call, http=replace(request, turn=None))))

    async def send_noted(self, data: bytes, *, is_text: bool) -> None:
        """Send a frame, and note it; nothing follows the end of a session."""
        if self.is_over:
            return
        text = data.decode("utf-8", "replace")
        if self.record is not None:
            self.record.note(text)
        frame: Message = {"text": text} if is_text else {"bytes": data}
        await self.send({"type": "websocket.send", **frame})

    async def close(self, code: int, reason: str = "") -> None:
        if not self.is_over:
            self._closed_with = code
        await super().close(code, reason)


async def _wait_until_left(left: asyncio.Event) -> Message:
    await left.wait()
    return {"type": "http.disconnect"}


def _hide_sound(event: str) -> str:
    """Return an event with the length of its sound in place of that."""
    return _SOUND.sub(lambda found: f'"{found[1]}":"<{len(found[2]) * 3 // 4:,} bytes>"', event)
