"""Protocols of what is kept between requests, in memory or shared: counters, answers, limits; and of cassettes."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.plan import Failure, Forward
from mockserver.core.rates import Limits

Value = TypeVar("Value")


class StateLostError(Exception):
    """The shared state is out of reach or refuses to change; whether the step was made is not known."""


class Precondition(NamedTuple):
    """What must hold for a rule to answer: fewer than `times` before, and this state, which then `becomes` another."""

    counter: str
    times: int | None = None
    state: str | None = None
    becomes: str | None = None  # None: the state stays


class Counters(Protocol):
    """Counters and a scenario's state, separate for each namespace. Each method is one atomic step."""

    async def open(self, namespace: str, gates: Sequence[Precondition], found: str | None) -> int | None:
        """Try gates in order; return the index of the first that opens, or None.

        A gate whose state holds counts, whether it opens or not. `found`: the state to go by, if not the current one.
        """

    async def count(self, namespace: str, name: str) -> int:
        """Add one to a counter that starts at 0 and is forgotten when many others were used since; return it."""

    async def entries(self, namespace: str) -> Mapping[str, str]:
        """Return all counters, and the state under STATE."""

    async def set_state(self, namespace: str, state: str) -> None:
        """Change the state of the scenario."""

    async def forget(self, namespace: str, names: Sequence[str]) -> None:
        """Forget counters, which start at 0 again."""

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""


TIMES = "times "  # prefix of the counter of a rule with `times`


def times_counter(rule: str) -> str:
    """Return the counter of a rule with `times`."""
    return TIMES + rule


STATE, START = "state", "start"  # the key of a scenario's state, and the state in which every scenario begins


class Shelf(Protocol[Value]):
    """Bounded storage for each namespace: the oldest values are evicted first. Each method is one atomic step."""

    async def get(self, namespace: str, key: str) -> tuple[Value, int] | None:
        """Return the value and its version, or None."""

    def put(self, namespace: str, key: str, value: Value, *, size: int) -> Awaitable[None] | None:
        """Keep a value of about so many bytes as the newest; a value larger than the bound is not kept.

        It is kept once what this returns, if anything, was awaited.
        """

    async def change(self, namespace: str, key: str, value: tuple[Value, int], *, size: int) -> bool:
        """Replace a value of this version; return False if it has another by now, or there is none."""

    async def values(self, namespace: str) -> tuple[Value, ...]:
        """Return all values of a namespace, oldest first."""

    async def count(self, namespace: str) -> int:
        """Return how many values a namespace has."""

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""


class Draw(NamedTuple):
    """An amount drawn from a bucket that refills in `window` seconds; amounts are in seconds of refilling.

    `needed` must be there for anything to be drawn; `taken` is then taken, which may leave a debt, or is given back
    where it is less than nothing.
    """

    bucket: str
    window: float
    needed: float
    taken: float


class Admission(NamedTuple):
    """What a request got: a slot, a place in the queue, or nothing, as there is `no_room` or a bucket is `empty`."""

    result: Literal["entered", "queued", "no_room", "empty"]
    waits: Sequence[float] = ()  # of each bucket that was asked for, the seconds until it is full
    place: str | None = None  # to be left; None if nothing limits how many requests run at once


class LimitStore(Protocol):
    """Buckets that start full and refill continuously, and slots with a queue, separate for each namespace."""

    async def enter(self, namespace: str, draws: Sequence[Draw], limits: Limits) -> Admission:
        """Draw all and get a slot or a place in the queue, or change nothing: one atomic step."""

    async def wait(self, namespace: str, place: str, limits: Limits) -> None:
        """Return when a place in the queue has become a slot: earlier places first."""

    async def take(self, namespace: str, draws: Sequence[Draw]) -> Sequence[float]:
        """Draw in one atomic step, whatever is available; return each bucket's seconds until it is full."""

    def leave(self, namespace: str, place: str, limits: Limits) -> None:
        """Give a slot or a place in the queue back."""

    async def clear(self, namespace: str) -> None:
        """Forget a namespace: its buckets are full again. Slots stay taken."""


class Lookup(Struct, frozen=True):
    """What a cassette has for a call, and its source."""

    outcome: Recorded | Forward | Failure
    source: str


class CassettePlayer(Protocol):
    """Looks calls up in cassettes."""

    @property
    def is_empty(self) -> bool:
        """Return whether there is a cassette only for calls that name one."""

    async def play(self, call: Call, counters: Counters, cassette: str | None = None) -> Lookup | None:
        """Return a recorded answer, a Forward to the provider, or a Failure that names the nearest episode.

        Looks in the loaded cassette unless `cassette` names one; None if there is none. `counters` count repeats.
        """
