"""What an MCP client and a server say to each other, line by line, as recorded answers to requests."""

from collections.abc import Mapping

from msgspec import Struct

from mockserver.core.episode import Recorded, RecordedEvent
from mockserver.core.json import Json, compact
from mockserver.core.mcp_messages import Message, is_response, read_message


class Exchanged(Struct, frozen=True):
    """A request of the client and what the server answered, as it would be over HTTP."""

    request: bytes
    answer: Recorded


class _Waiting(Struct):
    """A request without its answer yet; `told`: what the server said meanwhile, and when."""

    line: bytes
    began: float
    token: Json
    told: list[RecordedEvent] = []


class StdioListener:
    """Joins the lines of a client and a server to requests with their answers; times are seconds of one clock."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def hear_client(self, line: bytes, at: float) -> None:
        """Note what the client says."""
        message = read_message(line)
        if message is not None and "method" in message and "id" in message:
            meta = _read_table(_read_table(message.get("params")).get("_meta"))
            self._waiting[compact(message["id"])] = _Waiting(line.strip(), at, meta.get("progressToken"))

    def hear_server(self, line: bytes, at: float) -> Exchanged | None:
        """Note what the server says; return the exchange that it ends, if it does."""
        message = read_message(line)
        if message is None:
            return None
        if not is_response(message):
            about = self._find_subject(message)
            if about is not None:
                about.told.append((at - about.began, _write_event(line)))
            return None
        waiting = self._waiting.pop(compact(message.get("id")), None)
        if waiting is None:
            return None
        took = at - waiting.began
        if not waiting.told:
            return Exchanged(waiting.line, Recorded(200, _JSON, line.strip(), took=took))
        frames = (*waiting.told, (took, _write_event(line)))
        return Exchanged(waiting.line, Recorded(200, _STREAM, frames=frames, took=took))

    def _find_subject(self, message: Message) -> _Waiting | None:
        """Return the request that a message of the server belongs to: the one with its token, or the only one."""
        token = _read_table(message.get("params")).get("progressToken")
        if token is not None:
            return next((each for each in self._waiting.values() if each.token == token), None)
        return next(iter(self._waiting.values())) if len(self._waiting) == 1 else None


def _write_event(line: bytes) -> bytes:
    return b"event: message\ndata: " + line.strip() + b"\n\n"


def _read_table(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


_JSON = (("content-type", "application/json"),)
_STREAM = (("content-type", "text/event-stream"),)
