"""What delivery does, as values: send a head, write bytes, wait, cut; and the faults that bend a list of these."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from mockserver.core.http import Frame, Headers
from mockserver.core.seed import Random, Seed


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers."""

    status: int
    headers: Headers


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as every frame makes one
class Write:
    """Bytes of the body and their weight in tokens; `frame`: the one event of a stream that they carry."""

    data: bytes
    tokens: int = field(default=0, compare=False)
    frame: Frame | bytes | None = field(default=None, compare=False)


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as every frame makes one
class Wait:
    """Seconds to let pass before the next action; infinite: until the client leaves or the server stops."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The end, here and now: of the message as if it were whole, or of the connection, closed or reset (TCP RST)."""

    how: Literal["end", "close", "reset"]


@dataclass(frozen=True, slots=True)
class Flush:
    """What was written leaves now, apart from what follows."""


@dataclass(frozen=True, slots=True)
class Spill:
    """Bytes on the connection past all framing, after those that HTTP knows of."""

    data: bytes


Action = Head | Write | Wait | Flush | Spill | Cut
ErrorFrame = Callable[[str, int], Frame]  # a reason to fail, and how many frames went before


@dataclass(frozen=True, slots=True)
class Scene:
    """What a fault may draw on besides the actions: chance of its own, the provider's error as a frame,

    and whether the answer is a stream of frames or one body.
    """

    random: Random
    error: ErrorFrame
    streamed: bool = True


Bend = Callable[[Iterable[Action], Scene], Iterator[Action]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that befalls one answer: its name, what it makes of the actions (None: it is in what the answer says),

    and where its chance comes from.
    """

    name: str
    bend: Bend | None = None
    seed: Seed = Seed()
