"""Records an answer on its way through a relay, if it is complete. Knows no socket and no file."""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterator

from msgspec import Struct

from mockserver.cassettes.formats import StreamEnd, find_answer_format
from mockserver.config.errors import CassetteError
from mockserver.config.spelling import FLAGS, Spelling
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent
from mockserver.core.event_stream import MEDIA_TYPE, is_whole, read_message, split_messages
from mockserver.core.http import WITHOUT_BODY, RawHeaders
from mockserver.core.lazy import compile_lazily
from mockserver.core.plan import Failure
from mockserver.core.row import Row
from mockserver.core.seed import monotonic, wall
from mockserver.core.server_sent_events import END_OF_EVENT
from mockserver.core.text import escape_line
from mockserver.kinds.wire_formats import find_format
from mockserver.server.recording.misconfiguration import find_misconfiguration
from mockserver.server.snapshot import Decoding, find_codings

log = logging.getLogger("mockserver.recorder")

Save = Callable[[Episode], Awaitable[str]]  # returns where it is once it is on the disk; raises what hinders it

MAX_RECORDED = 1 << 26  # bytes of an answer; a larger one is not kept
_MAX_WHY = 2000  # characters of why an answer is not recorded
_CODED_BODY_HEADERS = (b"content-encoding", b"content-length")  # headers that do not fit decoded bytes

_LINE_END = compile_lazily(rb"\n")


class RecordingJob(Struct, frozen=True):
    """A request to record, and where. `errors`: keep answers of 400 and above; None: not those of a wrong setup."""

    cassette: str
    call: Call
    request: Sent
    errors: bool | None = None
    spelling: Spelling = FLAGS


class Recorder:
    """Takes one answer piece by piece, has it saved as an episode, and notes in its row where, or why it is not."""

    def __init__(self, job: RecordingJob, save: Save, row: Row) -> None:
        self._job = job
        self._save = save
        self._row = row
        self.began = monotonic()  # when the request was sent
        self._at = wall()
        self._body: _Body | None = None
        self._saving: asyncio.Task[None] | None = None

    def open(self, status: int, headers: RawHeaders) -> None:
        """Begin to record an answer, unless answers with its status are not kept."""
        if status < 400 or self._job.errors is not False:
            call = self._job.call
            answers = find_answer_format(find_format(call.dialect, call.operation, self._job.request.path))
            self._body = _Body(status, headers, answers.end if status < 300 else None)

    def receive(self, piece: bytes) -> None:
        """Take the next piece of the body, as it came from the upstream."""
        if self._body is not None and self._saving is None and not self._body.receive(monotonic() - self.began, piece):
            self._drop(f"the answer is larger than {MAX_RECORDED} bytes")

    @property
    def is_ready(self) -> bool:
        """Whether the answer is complete by its last event or its length, and not yet saved."""
        return self._body is not None and self._saving is None and self._body.is_complete

    async def save(self) -> None:
        """Save the answer, which has ended, or say in log and row why not. Cancelling does not stop the saving."""
        if self._saving is None:
            if self._body is None:
                return
            if why := self._body.explain_incomplete():
                self._drop(why)
                return
            self._saving = asyncio.create_task(self._save_body(self._body, monotonic() - self.began))
        await asyncio.shield(self._saving)

    async def conclude(self) -> None:
        """Save the answer if it is complete by its last event or its length: nothing more will come."""
        if self.is_ready or self._saving is not None:
            await self.save()
        elif self._body is not None:
            self.forget("it ended before it was complete")

    def forget(self, why: str) -> None:
        """Keep nothing of it, unless it is saved already."""
        if self._saving is None:
            self._body = None
            self._row.unrecorded = escape_line(why, _MAX_WHY)

    async def _save_body(self, body: "_Body", took: float) -> None:
        job = self._job
        call = self._job.call
        try:
            reply = body.build(took)
            if job.errors is None and (why := find_misconfiguration(reply, call, job.spelling)):
                raise CassetteError(why)
            episode = Episode(
                call.dialect, call.operation, model=call.model, request=job.request, reply=reply, at=self._at
            )
            self._row.recorded = await self._save(episode)
        except Exception as error:
            self._drop(str(error) or type(error).__name__)

    def _drop(self, why: str) -> None:
        self._body = None
        self._row.unrecorded = escape_line(why, _MAX_WHY)
        log.error("cassette %s: an answer is not recorded: %s", self._job.cassette, self._row.unrecorded)


class _Body:
    """The body of an answer while it comes: its bytes, decoded, and its events if it is a stream."""

    def __init__(self, status: int, headers: RawHeaders, end: StreamEnd | None) -> None:
        self._status = status
        self._headers = headers
        self._decoding = _make_decoding(headers)  # None: its coding is unknown, or the body does not have it
        self._is_coded = self._decoding is None or bool(self._decoding.codings)
        self._plain: list[bytes] = []
        lengths = (int(value) for name, value in headers if name == b"content-length" and value.isdigit())
        self._size = 0
        self._length = next(lengths, None)
        self._events = None if self._decoding is None else self._make_events(end)

    def _make_events(self, end: StreamEnd | None) -> "_Events | None":
        if self._has_type(MEDIA_TYPE.encode()):
            return _Messages(end)
        if self._has_type(b"ndjson"):
            return _Events(end, _LINE_END)
        return _Events(end) if self._has_type(b"event-stream") else None

    def _has_type(self, media: bytes) -> bool:
        return any(name == b"content-type" and media in value.lower() for name, value in self._headers)

    def receive(self, at: float, piece: bytes) -> bool:
        """Take a piece that came `at` seconds after the request; return False if the body is too large now."""
        self._size += len(piece)
        if self._decoding is not None:
            try:
                plain = self._decoding.feed(piece)
            except Exception:  # each library has its own
                self._decoding = None
                self._events = None
            else:
                self._plain.append(plain)
                if self._events is not None:
                    self._events.receive(at, plain)
        return self._size <= MAX_RECORDED

    @property
    def is_complete(self) -> bool:
        return self._size == self._length or (self._events is not None and self._events.has_ended)

    def explain_incomplete(self) -> str | None:
        """Return why an answer that has ended is not complete, or None."""
        if self._events is not None:
            unended = self._events.end is not None and not self._events.has_ended
            return "the stream ended without its final event" if unended else None
        announced = self._length is not None or self._status in WITHOUT_BODY
        if announced or self._is_coded or not self._has_type(b"application/json"):
            return None
        try:
            json.loads(b"".join(self._plain))
        except (ValueError, RecursionError):  # a body of HTTP/1.0 ends with its connection
            return "its length is unknown, and its JSON is incomplete"
        return None

    def build(self, took: float) -> Recorded:
        """Return the answer, which is complete. Raises CassetteError if it is coded and can't be decoded."""
        if self._size and (self._decoding is None or not self._decoding.whole):
            raise CassetteError("its content encoding cannot be decoded, so it cannot be searched for secrets")
        dropped = _CODED_BODY_HEADERS if self._is_coded and self._size else ()
        kept = [field for field in self._headers if field[0] not in dropped]
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in kept)
        if self._events is not None:
            return Recorded(self._status, headers, frames=self._events.finish(), took=took)
        return Recorded(self._status, headers, b"".join(self._plain), took=took)


class _Events:
    """The events of a stream, each with the time of the last of its bytes.

    `end` finds the last event, `between` the end of each.
    """

    def __init__(self, end: StreamEnd | None, between: re.Pattern[bytes] = END_OF_EVENT) -> None:
        self.end = end
        self.has_ended = False
        self._between = between
        self._events: list[RecordedEvent] = []
        self._rest = bytearray()  # of an event whose end has not come
        self._late = 0.0

    def _find_ends(self, looked: int) -> Iterator[int]:
        """Yield where the events end in the bytes that are left; the first `looked` of them have no end in them."""
        return (found.end() for found in self._between.finditer(self._rest, looked))

    def _ends_stream(self, event: bytes) -> bool:
        return self.end is not None and self.end.search(event) is not None

    def receive(self, at: float, piece: bytes) -> None:
        """Take a piece of the stream, of any length, at its time in seconds since the request."""
        rest = self._rest
        start = 0
        looked = max(0, len(rest) - 3)
        rest += piece
        for end in self._find_ends(looked):
            event = bytes(rest[start:end])
            start = end
            self._events.append((at, event))
            self.has_ended = self.has_ended or self._ends_stream(event)
        if piece:
            self._late = at
        if start:
            self._rest = rest[start:]

    def finish(self) -> tuple[RecordedEvent, ...]:
        """Return the events; the last is what came of one that has no end."""
        return (*self._events, (self._late, bytes(self._rest))) if self._rest else tuple(self._events)


class _Messages(_Events):
    """The messages of Amazon's event streams, which state their lengths."""

    def _find_ends(self, looked: int) -> Iterator[int]:
        end = 0
        whole = bytes(self._rest)
        for message in split_messages(whole):
            end += len(message)
            if is_whole(message):
                yield end

    def _ends_stream(self, event: bytes) -> bool:
        message = read_message(event)
        if message is None or self.end is None:
            return False
        return message.kind != "event" or self.end.search(f"{message.name} {message.text}".encode()) is not None


def _make_decoding(headers: RawHeaders) -> Decoding | None:
    """Return what undoes the codings of a body; None if one of them is unknown."""
    try:
        return Decoding(find_codings(headers), MAX_RECORDED)
    except (Failure, KeyError):
        return None
