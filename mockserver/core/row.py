"""A row of the journal: one request, what was answered, and what was sent when."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HeaderLines, Headers, RawHeaders, Reply, is_stream_type
from mockserver.core.mcp_server import SESSION_OPERATION
from mockserver.core.plan import CRASH, Cause, Plan, Usage
from mockserver.core.seed import monotonic, wall
from mockserver.core.sent_body import Piece, SentParts, count_frames, split_frames
from mockserver.core.text import count_noun

REALTIME_SESSION = "realtime_session"  # the operation of a session as a whole
_SESSIONS = (SESSION_OPERATION, REALTIME_SESSION)
COMPLETE = "complete"  # how an answer ended that was sent as it should be
MAX_KEPT = 1_000_000  # bytes kept of a request's body, and of an answer's
PIECE = 120  # overhead of a piece in bytes
BARE = 2_500  # bytes of a row without names, bodies and headers
UNWEIGHED = 8_192  # bytes that an open row may keep before the journal counts them
UNDECIDED = Plan(None, "")  # of a row whose answer is not decided yet


class Weigher(Protocol):
    """Counts the memory that rows take, as the journal does for each namespace."""

    def weigh(self, row: "Row") -> None:
        """Count the kept bytes of an open row that are not counted yet; it may have to go, as others may."""


class Row(Struct, eq=False):
    """A row of the journal: one request, its plan, and what was sent when.

    Times are those of the monotonic clock, but for `at`; `first` and `elapsed` are seconds since `began`.
    """

    # Set when the journal opens it
    seq: int
    method: str
    path: str
    dialect: str
    namespace: str
    page: Weigher | None = None  # of its namespace in the journal
    at: float = field(default_factory=wall)  # seconds since 1970
    began: float = field(default_factory=monotonic)
    query: bytes = b""
    headers: RawHeaders = ()
    operation: str = ""  # that of the path; once the request is read, what it asks for
    is_socket: bool = False  # the client made the request over a WebSocket
    part_of: str = ""  # what it is a part of, as no request of its own: `line 3 of batch_1, custom_id "a"`

    # Set by `note_body`, unless the request was whole from the start
    asked: float | None = None  # when it was whole
    body: bytes = b""  # as much as is kept
    received: int = 0  # bytes of the whole body

    # Set when the request enters its namespace
    rules: Sequence[object] = ()  # those that are tried

    # Set by `note_answer`
    plan: Plan = UNDECIDED  # without its outcome, once there is a reply
    status: int = 0
    reply_headers: Headers | HeaderLines = ()
    model: str = ""
    call: Call | None = None  # dropped when the row is closed, unless the journal keeps calls

    # Set while the answer leaves, by `note_sent` or a `PacedStream`
    pieces: list[Piece] = []  # as much of the body as is kept
    parts: SentParts | None = None  # the same of a paced stream
    size: int = 0  # bytes of the body that were sent; of a paced stream that goes on: 0, and `written` knows
    first: float = 0.0  # 0: nothing of the body was sent
    unkept: int = 0  # frames sent but not kept

    # Set while the answer leaves, by its faults and its recorder
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
        """What answered: `rule rules.yaml:14 weather`, `generated`, `invalid`...; empty until decided."""
        return self.plan.source

    @property
    def is_service(self) -> bool:
        """Whether nobody counts the call: the program asked for itself, and a rule for that answered.

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
    def cause(self) -> Cause | None:
        """Why the answer is an error that mockserver or a rule gave; None of all other answers."""
        left = self.plan.outcome
        return left if type(left) is Cause else None

    @property
    def defect(self) -> str:
        """What is wrong with the rule, or with mockserver itself, that failed on the call; empty if neither did."""
        return "" if self.cause is None else self.cause.defect

    @property
    def sent(self) -> Sequence[Piece]:
        """As much of the answer's body as is kept, in the pieces in which it was sent."""
        return self.pieces if self.parts is None else self.parts

    @property
    def written(self) -> int:
        """The bytes of the answer's body that were sent by now."""
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
            self.model = call.model

    def note_defect(self, defect: str) -> None:
        """Note that mockserver failed on the call, perhaps once its answer was decided."""
        self.plan = replace(self.plan, outcome=Cause("server_error", defect), source=self.plan.source or CRASH)

    def note_sent(self, data: bytes) -> None:
        """Note bytes of the answer's body that were sent."""
        now = monotonic()
        if data and not self.size:
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
        """Have the journal count what is kept, if that is much, with `more` bytes that are or will be kept."""
        self.unweighed += more
        if self.unweighed > UNWEIGHED and self.kept and self.page is not None:
            self.page.weigh(self)

    def drop_contents(self) -> None:
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
        """How it ended, and after how much if it ended early: `client left after 3 frames`."""
        if self.ended in ("", "complete"):
            return self.ended or "open"
        amount, what = (self.unkept + len(split_frames(self.sent)), "frame") if self.streams else (self.size, "byte")
        return f"{self.ended} after {count_noun(amount, what)}"
