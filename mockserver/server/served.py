"""What a request comes to before it is driven out: a reply, where it came from, when it goes and what befalls it."""

from dataclasses import dataclass

from mockserver.core.action import ErrorFrame, Fault
from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Forward, Stored, Usage
from mockserver.delivery.pace import AT_ONCE, Pace
from mockserver.server.limits import Bill


@dataclass(frozen=True, slots=True)
class Served:
    """A reply to a call (None: it was none); `settled`: the same request will get the same, and leave `kept` behind.

    `timed`: whether the request itself wants timings to make it wait; None: it does not say.
    `bill` is what it draws from the limits each time; None: nothing.
    `forward`: the upstream is to reply instead, to the request `asked`, as it came.
    """

    reply: Reply
    source: str
    call: Call | None = None
    pace: Pace = AT_ONCE
    faults: tuple[Fault, ...] = ()
    settled: bool = False
    kept: Stored | None = None
    timed: bool | None = None
    usage: Usage | None = None
    bill: Bill | None = None
    bent_by: tuple[str, ...] = ()  # rules that did not answer, and said how the answer goes out
    through: tuple[str, ...] = ()  # steps, branches and faults of rules that made it
    error: ErrorFrame | None = None  # how the provider tells an error amid this reply; None: nobody will ask
    forward: Forward | None = None
    asked: HttpRequest | None = None
