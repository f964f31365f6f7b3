"""What a request comes to before it is driven out: a reply, where it came from, and when it goes."""

from collections.abc import Callable
from dataclasses import dataclass

from mockserver.core.http import Reply
from mockserver.core.plan import Stored, Timing


def steady() -> float:
    """No jitter."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Served:
    """A reply with its source and timing; `settled`: the same request will get the same, and leave `kept` behind."""

    reply: Reply
    source: str
    timing: Timing = Timing()
    jitter: Callable[[], float] = steady
    settled: bool = False
    kept: Stored | None = None
