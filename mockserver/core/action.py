"""Actions of delivery, and how faults are declared: their options and the positions where they apply."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import fields

from mockserver.core.frames import Frame
from mockserver.core.http import Headers
from mockserver.core.seed import Random, Seed

Where = Literal["at_start", "after_frames", "after_tokens", "after_bytes", "in_tool_arguments", "before_done"]
Kind = Literal[
    "close code", "count", "difference", "duration", "media type", "pointer", "position", "reason", "speed", "word"
]
Faults = Mapping[str, Any]  # the class of each fault, a Struct, by name


class Position(Struct, frozen=True):
    """A position in an answer; `count` is the number of frames, tokens or bytes before it."""

    where: Where
    count: int = 0


class Settable(Struct, frozen=True):
    """Annotates a field of a fault that rules may set: its kind of value, and the words or positions it accepts."""

    kind: Kind
    about: str
    among: tuple[str, ...] = ()


class Option(Struct, frozen=True):
    """An option of a fault, from a field; of a name that Python reserves, the field ends in an underscore."""

    field: str
    name: str
    kind: Kind
    about: str
    default: Any
    among: tuple[str, ...] = ()


def list_options(fault: type[Any]) -> tuple[Option, ...]:
    """Return the options of a fault that rules may set, from the annotations of its fields."""
    hints = get_type_hints(fault, include_extras=True)
    stated = [(each, settable) for each in fields(fault) for settable in get_args(hints[each.name])[1:]]
    return tuple(
        Option(
            each.name,
            each.name.rstrip("_"),
            kind=settable.kind,
            about=settable.about,
            default=each.default,
            among=settable.among,
        )
        for each, settable in stated
        if isinstance(settable, Settable)
    )


def is_counted(where: str) -> bool:
    """Return whether a position is a count, `after_tokens`, and not one of the words for a place."""
    return where.startswith("after_")


# Where a fault can apply.
POSITIONS: Mapping[str, str] = {
    "after_tokens": "after this many tokens; in a plain body, at the same share of the bytes",
    "after_frames": "after this many events of a stream; a plain body counts as one",
    "after_bytes": "after this many bytes of the body",
    "before_done": "before the last event (chat: `[DONE]`); in a plain body before its last bracket",
    "in_tool_arguments": "in the arguments of a tool call; nowhere without one",
    "at_start": "before the body",
}


At = Annotated[Position, Settable("position", "", tuple(POSITIONS))]


class Head(Struct, frozen=True):
    status: int
    headers: Headers


class Write(Struct, frozen=True, eq=False):
    """Bytes of the body, and their weight in tokens; `frame`: the event that they carry. Equal bytes are equal."""

    data: bytes
    tokens: int = 0
    frame: Frame | bytes | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Write) and self.data == other.data

    def __ne__(self, other: object) -> bool:  # Struct has its own
        return not self == other

    def __hash__(self) -> int:
        return hash(self.data)


class Wait(Struct, frozen=True):
    """Seconds to wait before the next action; infinite: until the client leaves or the server stops."""

    seconds: float


NO_CLOSE_FRAME = 1006  # how clients call the end of a WebSocket without a close frame (RFC 6455, 7.1.5)


class Cut(Struct, frozen=True):
    """End at once: the message as if it were complete, or the connection, closed or reset (TCP RST)."""

    how: Literal["end", "close", "reset"]
    code: int = NO_CLOSE_FRAME  # of the close frame with which a WebSocket is closed


class Flush(Struct, frozen=True):
    """Send what was written now, separate from what follows."""


class RawWrite(Struct, frozen=True):
    """Bytes on the connection outside HTTP framing, after the message."""

    data: bytes


Action = Head | Write | Wait | Flush | RawWrite | Cut
ErrorFrame = Callable[[str, bytes], Frame]  # takes a reason and the bytes of the event before


class FaultContext(Struct, frozen=True):
    """What a fault may use besides the actions: its own random stream, and the provider's error as a frame.

    `live`: the answer is a stream of what happens, which a fault that waits for more of it would hold up for ever.
    """

    random: Random
    error: ErrorFrame
    streamed: bool = True
    live: bool = False


ChangeActions = Callable[[Iterable[Action], FaultContext], Iterator[Action]]


class Fault(Struct, frozen=True):
    """A fault of one answer. `change_actions` makes others of its actions; None if the fault is in its content.

    `seed` decides its chance.
    """

    name: str
    change_actions: ChangeActions | None = None
    seed: Seed = Seed()
