"""A spoken session in the journal: one row with what its client sent, what it was sent, and how it ended."""

import re

from pydantic_core import to_json
from starlette.types import Message

from mockserver.core.exchange import COMPLETE, MOST_KEPT, PIECE, REALTIME_SESSION
from mockserver.core.http import HeaderLines
from mockserver.core.plan import Plan
from mockserver.delivery.connection import CLIENT_LEFT, CUT, STOPPED
from mockserver.kinds.realtime import TURN
from mockserver.server.respond import Visit
from mockserver.server.sockets.socket_session import CUT_SHORT, FAILED, STOPPING, SocketSession

SWITCHING = 101  # the status of a handshake that leads to a session
_EVENTS = HeaderLines("content-type: text/event-stream\r\n")  # as which the row shows them
_SOUND = re.compile(r'"(audio|delta|data)": ?"([A-Za-z0-9+/_-]{256,}={0,2})"')
_ENDS = {STOPPING: STOPPED, CUT_SHORT: CUT["end"], FAILED: CUT["end"]}
_FAREWELLS = (1000, 1001, 1005)  # codes of clients that mean to leave (RFC 6455, 7.4.1)


class SessionRecord:
    """Keeps the row of a session: its events, each without its sound, and its end as the last one."""

    def __init__(self, visit: Visit, model: str) -> None:
        self.visit = visit
        self._received: list[str] = []
        self._size = 0
        visit.row.model = model
        self._state(REALTIME_SESSION, Plan(None, "generated"), SWITCHING)

    def refuse(self, plan: Plan, status: int) -> None:
        """Note that the client is turned away: that is a call like any other that is refused."""
        self._state(TURN.name, plan, status)

    def _state(self, operation: str, plan: Plan, status: int) -> None:
        row = self.visit.row
        row.operation, row.plan, row.status, row.reply_headers = operation, plan, status, _EVENTS

    def take(self, message: Message) -> None:
        """Note what the client has sent."""
        row, text = self.visit.row, message.get("text")
        if not isinstance(text, str):
            text = (message.get("bytes") or b"").decode("utf-8", "replace")
        line = _hide_sound(text)
        if row.kept and self._size < MOST_KEPT:
            self._received.append(line)
            row.weigh(len(line) + PIECE)
        self._size += len(line)

    def note(self, text: str) -> None:
        """Note what is sent to the client."""
        self.visit.row.note(b"data: %b\n\n" % _hide_sound(text).encode("utf-8", "replace"))

    def end(self, client_code: int | None, server_code: int | None) -> None:
        """Close the row: the client has closed the session with a code, or the server has; neither: it broke off."""
        by, code = ("server", server_code) if server_code is not None else ("client", client_code)
        self.note(to_json({"type": "websocket.close", "by": by, "code": code}).decode())
        row = self.visit.row
        row.received = self._size
        if row.kept:
            row.body = "\n".join(self._received).encode("utf-8", "replace")
        how = COMPLETE if client_code in _FAREWELLS else CLIENT_LEFT
        self.visit.end(how if server_code is None else _ENDS.get(server_code, COMPLETE))


class RecordedSession(SocketSession):
    """A session that is a row of the journal once it has begun."""

    record: SessionRecord | None = None
    _closed_with: int | None = None

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            if self.record is not None:
                self.record.end(self.close_code, self._closed_with)

    def begin_record(self, model: str) -> SessionRecord:
        """Return the record of this session, which begins now."""
        self.record = SessionRecord(self.admit(self.handshake), model)
        return self.record

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


def _hide_sound(event: str) -> str:
    """Return an event with the length of its sound in place of that."""
    return _SOUND.sub(lambda found: f'"{found[1]}":"<{len(found[2]) * 3 // 4:,} bytes>"', event)
