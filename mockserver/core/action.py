"""What delivery does, as values: send a head, write bytes, wait."""

from dataclasses import dataclass

from mockserver.core.http import Headers


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers."""

    status: int
    headers: Headers


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes of the body."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds to let pass before the next action."""

    seconds: float


Action = Head | Write | Wait
