"""A row of the journal: one request, its plan, and what was sent when."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from mockserver.core.call import Call
from mockserver.core.event_stream import (
    MESSAGE_SIGN,
    describe_message,
    is_prelude,
    is_whole,
    read_message,
    split_messages,
)
from mockserver.core.http import HeaderLines, Headers, RawHeaders, Reply, is_stream_type
from mockserver.core.mcp_server import SESSION_OPERATION
from mockserver.core.plan import Plan, Usage
from mockserver.core.seed import monotonic, wall
from mockserver.core.server_sent_events import END_OF_EVENT, find_data
from mockserver.core.text import count_noun

Piece = tuple[float, bytes]  # the time, and the bytes sent then
SentPart = tuple[float, int, int]  # the time, and from where to where the body was sent then


class SentFrame(Struct, frozen=True):
    """A frame as it was sent: the time of its last byte, and its bytes without their end.

    An event ends with a blank line, a line of JSON with a line feed. `whole`: that end was sent as well.
    """

    at: float
    raw: bytes
    whole: bool = True

    @property
    def event(self) -> str | None:
        if (message := read_message(self.raw)) is not None:
            return message.name
        return next((line[6:].strip().decode(errors="replace") for line in self._lines if line[:6] == b"event:"), None)

    @property
    def text(self) -> str:
        """Return the data of an event, or what a message of Amazon's event streams says."""
        if (message := read_message(self.raw)) is not None:
            return describe_message(message)
        return (find_data(self.raw) or self.raw).decode("utf-8", "replace")

    @property
    def _lines(self) -> Sequence[bytes]:
        return _LINE.split(self.raw)


def split_frames(pieces: Sequence[Piece]) -> tuple[SentFrame, ...]:
    """Return the frames in the pieces of a stream; bytes after the last end of one are an incomplete frame."""
    pieces = list(pieces)
    data = b"".join([data for _, data in pieces])
    if is_prelude(data):
        ends = _list_message_ends(data)
    else:
        ends = _list_line_ends(data) if data[:1] == b"{" else _list_event_ends(data)
    return tuple(_cut_frames(data, ends, pieces))


def count_frames(data: bytes) -> int:
    """Return roughly how many frames end in these bytes."""
    if data[:1] == b"{":  # a line of JSON, as no event begins
        return data.count(b"\n")
    return data.count(b"\n\n") + data.count(b"\r\n\r\n") + data.count(MESSAGE_SIGN)


def _list_event_ends(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each server-sent event ends, without its blank line and with it."""
    return (found.span() for found in END_OF_EVENT.finditer(data))


def _list_line_ends(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the same for lines of JSON."""
    return (found.span() for found in _LINE.finditer(data))


def _list_message_ends(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the same for the messages of Amazon's event streams, which have no blank lines."""
    end = 0
    for message in split_messages(data):
        end += len(message)
        if is_whole(message):
            yield end, end


def _cut_frames(data: bytes, ends: Iterable[tuple[int, int]], pieces: Sequence[Piece]) -> Iterator[SentFrame]:
    start = 0
    row = 0
    reached = len(pieces[0][1]) if pieces else 0
    for end, following in ends:
        while reached < following:
            row += 1
            reached += len(pieces[row][1])
        if end > start or data[:1] != b"{":  # an empty line, which keeps a stream of lines alive, is none
            yield SentFrame(pieces[row][0], data[start:end])
        start = following
    if start < len(data):
        yield SentFrame(pieces[-1][0], data[start:], whole=False)


_LINE = re.compile(rb"\r\n|\n|\r")


REALTIME_SESSION = "realtime_session"  # the operation of a session as a whole
_SESSIONS = (SESSION_OPERATION, REALTIME_SESSION)
COMPLETE = "complete"  # how an answer ended that was sent as it should be
MAX_KEPT = 1_000_000  # bytes kept of a request's body, and of an answer's
PIECE = 120  # overhead of a piece in bytes
BARE = 2_500  # bytes of a row without names, bodies and headers
UNWEIGHED = 10_000  # bytes that an open row may keep before the journal counts them


class ConditionResult(Struct, frozen=True):
    """One condition of a rule applied to a request: what was expected, the actual value, whether it held.

    `ignoring` is what does not matter then: `ignore_case`, `ignore_space`; `elsewhere` the field that has the value.
    """

    field: str
    predicate: str
    expected: object
    actual: object
    ok: bool
    ignoring: tuple[str, ...] = ()
    elsewhere: str = ""


class SentParts(Sequence[Piece]):
    """What was sent of the body of a paced stream, cut out of it when somebody looks.

    `log` is of the streams that go on together, and grows while they do; `before` is of what this one sent without
    them.
    """

    __slots__ = ("_before", "_body", "_log")

    def __init__(self, body: bytes, log: list[SentPart], before: Sequence[SentPart] = ()) -> None:
        self._body = body
        self._log = log
        self._before = before

    def detach(self, *, unsent_last: bool = False) -> None:
        """Stop growing with the log, whose last part may be unsent."""
        self._before = self.parts[: len(self) - unsent_last]
        self._log = []

    @property
    def parts(self) -> list[SentPart]:
        return [*self._before, *self._log]

    @property
    def size(self) -> int:
        """Return how many bytes of the body were sent."""
        return self._log[-1][2] if self._log else self._before[-1][2] if self._before else 0

    def __len__(self) -> int:
        return len(self._before) + len(self._log)

    def __iter__(self) -> Iterator[Piece]:
        return ((time, self._body[start:end]) for time, start, end in self.parts)

    def __getitem__(self, at: Any) -> Any:
        return [*self][at]


UNDECIDED = Plan(None, "")  # of a row whose answer is not decided yet


class Page(Protocol):
    """The rows of one namespace, as a row sees them: the journal counts the memory that they take."""

    def weigh(self, row: "Exchange") -> None:
        """Count the kept bytes of an open row that are not counted yet; it may have to go, as others may."""


class Exchange(Struct, eq=False):
    """A row of the journal: one request, its plan, and what was sent when.

    Times are those of the monotonic clock, but for `at`; `first` and `elapsed` are seconds since `began`.
    """

    # Set when the journal opens it
    seq: int
    method: str
    path: str
    dialect: str
    namespace: str
    page: Page | None = None
    at: float = field(default_factory=wall)  # seconds since 1970
    began: float = field(default_factory=monotonic)
    query: bytes = b""
    headers: RawHeaders = ()
    operation: str = ""  # that of the path; once the request is read, what it asks for
    is_socket: bool = False  # the client made the request over a WebSocket
    part_of: str = ""  # what it is a part of, as no request of its own: `line 3 of batch_1, custom_id "a"`

    # Set once the request is whole, by `note_body`
    asked: float | None = None  # when that was
    body: bytes = b""  # as much as is kept
    received: int = 0  # bytes of the whole body

    # Set when it is decided what to answer, by `note_answer`
    rules: Sequence[object] = ()  # those that were tried
    plan: Plan = UNDECIDED  # without its outcome, once there is a reply
    status: int = 0
    reply_headers: Headers | HeaderLines = ()
    model: str = ""
    call: Call | None = None  # dropped when the row is closed, unless the journal keeps calls

    # Set while the answer leaves, by `note_sent` or a paced stream
    pieces: list[Piece] = []  # as much of the body as is kept
    parts: SentParts | None = None  # the same of a paced stream
    size: int = 0  # bytes of the body that were sent; of a paced stream that goes on: 0, and `written` knows
    first: float = 0.0  # 0: nothing of the body was sent
    unkept: int = 0  # frames sent but not kept
    unaffected: bool = False  # what its faults would change is not in the answer
    recorded: str = ""  # where the provider's answer was recorded: `cassette chat.yaml#3`
    unrecorded: str = ""  # why it was not recorded although it should be

    # Set when the journal closes it
    ended: str = ""  # complete | client left | server stopped | cut short | disconnected | reset; "": still open
    elapsed: float = 0.0

    # What the journal counts
    kept: bool = True  # the journal has room for it; else it keeps only its counts
    unweighed: int = 0  # kept bytes that the journal does not count yet
    weight: int = 0  # kept bytes that it counts

    __repr__ = object.__repr__  # tracebacks must not show what clients send

    @property
    def source(self) -> str:
        """Return what answered: `rule rules.yaml:14 weather`, `generated`, `invalid`...; empty until decided."""
        return self.plan.source

    @property
    def is_service(self) -> bool:
        """Return whether nobody counts the call: the program asked for itself, and a rule for that answered.

        The same holds for handshakes and lists of MCP, and for whole sessions, whose responses are calls.
        """
        return self.plan.is_service or (self.operation in _SESSIONS and self.plan is not UNDECIDED)

    @property
    def modified_by(self) -> tuple[str, ...]:
        return self.plan.modified_by

    @property
    def trace(self) -> tuple[str, ...]:
        return self.plan.trace

    @property
    def remarks(self) -> tuple[str, ...]:
        return (*self.plan.remarks, *self.plan.history_remarks)

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple([fault.name for fault in self.plan.faults])

    @property
    def usage(self) -> Usage | None:
        left = self.plan.outcome
        return left if type(left) is Usage else None

    @property
    def sent(self) -> Sequence[Piece]:
        """Return as much of the answer's body as is kept, in the pieces in which it was sent."""
        return self.pieces if self.parts is None else self.parts

    @property
    def written(self) -> int:
        """Return the bytes of the answer's body that were sent by now."""
        return self.size if self.parts is None else self.parts.size

    def note_body(self, body: bytes, at: float) -> None:
        """Note the request's body, which has come after the head and was whole at that time."""
        self.asked = at
        self.received = len(body)
        if self.kept:
            self.body = body[:MAX_KEPT]
            self.weigh(len(self.body))

    def note_answer(self, plan: Plan, reply: Reply, call: Call | None = None) -> None:
        """Note what is answered, and the call that was read of the request."""
        self.plan = plan
        self.status = reply.status
        self.reply_headers = reply.headers
        if call is not None:
            self.call = call
            self.operation = call.operation
            self.model = model = call.model
            self.unweighed += len(model)

    def note_sent(self, data: bytes) -> None:
        """Note bytes of the answer's body that were sent."""
        now = monotonic()
        if not self.size:
            self.first = now - self.began
        size = len(data)
        self.size = total = self.size + size
        if total > MAX_KEPT or not self.kept:
            room = max(MAX_KEPT - total + size, 0) if self.kept else 0
            self.unkept += count_frames(data[room:])
            data = data[:room]
            size = room
            if not room:
                return
        self.pieces.append((now, data))
        self.unweighed += size + PIECE
        if self.unweighed > UNWEIGHED:
            self.weigh()

    def weigh(self, more: int = 0) -> None:
        """Have the journal count what is kept, if that is much: so many more bytes are, or will be."""
        self.unweighed += more
        if self.unweighed > UNWEIGHED and self.kept and self.page is not None:
            self.page.weigh(self)

    def empty(self) -> None:
        """Keep no more than counts: the journal has no more room for a row that is open."""
        self.unkept += sum(count_frames(data) for _, data in self.sent)
        self.pieces = []
        self.parts = None
        self.body = b""
        self.headers = ()

    @property
    def streams(self) -> bool:
        return any(name.lower() == "content-type" and is_stream_type(kind) for name, kind in self.reply_headers)

    @property
    def ending(self) -> str:
        """Return how it ended, and after how much if it ended early: `client left after 3 frames`."""
        if self.ended in ("", "complete"):
            return self.ended or "open"
        amount, what = (self.unkept + len(split_frames(self.sent)), "frame") if self.streams else (self.size, "byte")
        return f"{self.ended} after {count_noun(amount, what)}"
