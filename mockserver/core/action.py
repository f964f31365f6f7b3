"""Actions of delivery, and how faults are declared: their options and the positions where they apply."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from mockserver.core.http import Frame, Headers
from mockserver.core.seed import Random, Seed

Where = Literal["at_start", "after_frames", "after_tokens", "after_bytes", "in_tool_arguments", "before_done"]
Kind = Literal["count", "difference", "duration", "media type", "pointer", "position", "reason", "speed", "word"]
Faults = Mapping[str, Any]  # the class of each fault, a dataclass, by name


@dataclass(frozen=True, slots=True)
class Position:
    """A position in an answer; `count` is the number of frames, tokens or bytes before it."""

    where: Where
    count: int = 0


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a fault: its kind of value, its meaning, and the words or positions it accepts."""

    field: str
    name: str
    kind: Kind
    about: str
    default: Any
    among: tuple[str, ...] = ()


def option(default: Any, kind: Kind, about: str, *, among: tuple[str, ...] = ()) -> Any:
    """Declare a field that rules may set; a name that Python reserves ends in an underscore."""
    return field(default=default, metadata={"option": (kind, about, among)})


def position(where: Where, count: int = 0, *, among: tuple[str, ...] = ()) -> Any:
    """Declare the field that says where the fault applies by default; all positions are accepted unless named."""
    return option(Position(where, count), "position", "", among=among or tuple(POSITIONS))


def options(fault: type[Any]) -> tuple[Option, ...]:
    stated = [(each, each.metadata["option"]) for each in fields(fault) if "option" in each.metadata]
    return tuple(
        Option(each.name, each.name.rstrip("_"), kind, about, each.default, among)
        for each, (kind, about, among) in stated
    )


def counts(where: str) -> bool:
    return where.startswith("after_")


# Where a fault can apply.
POSITIONS: Mapping[str, str] = {
    "after_tokens": "after this many tokens; in a plain body, at the same share of the bytes",
    "after_frames": "after this many events of a stream; a plain body counts as one",
    "after_bytes": "after this many bytes of the body",
    "before_done": "before the last event (chat: `[DONE]`); in a plain body before the last byte",
    "in_tool_arguments": "in the arguments of a tool call; nowhere without one",
    "at_start": "before the body",
}


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    headers: Headers


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as every frame makes one
class Write:
    """Bytes of the body and their weight in tokens; `frame`: the event of a stream that they carry."""

    data: bytes
    tokens: int = field(default=0, compare=False)
    frame: Frame | bytes | None = field(default=None, compare=False)


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as every frame makes one
class Wait:
    """Seconds to wait before the next action; infinite: until the client leaves or the server stops."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """End at once: the message as if it were complete, or the connection, closed or reset (TCP RST)."""

    how: Literal["end", "close", "reset"]


@dataclass(frozen=True, slots=True)
class Flush:
    """Send what was written now, separate from what follows."""


@dataclass(frozen=True, slots=True)
class RawWrite:
    """Bytes on the connection outside HTTP framing, after the message."""

    data: bytes


Action = Head | Write | Wait | Flush | RawWrite | Cut
ErrorFrame = Callable[[str, int], Frame]  # takes a reason and the number of frames sent before


@dataclass(frozen=True, slots=True)
class FaultContext:
    """What a fault may use besides the actions: its own random stream, and the provider's error as a frame."""

    random: Random
    error: ErrorFrame
    streamed: bool = True


Bend = Callable[[Iterable[Action], FaultContext], Iterator[Action]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one answer. `bend` changes its actions; None if the fault is in its content. `seed` is its chance."""

    name: str
    bend: Bend | None = None
    seed: Seed = Seed()
