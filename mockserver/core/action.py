"""What delivery does, as values: send a head, write bytes, wait, cut."""

from dataclasses import dataclass

from mockserver.core.http import Headers


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers; always first."""

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


@dataclass(frozen=True, slots=True)
class Cut:
    """An end before the end; `how` is close or reset."""

    how: str = "close"


Action = Head | Write | Wait | Cut
