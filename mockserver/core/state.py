"""What is remembered between requests, in memory or in a shared state: counters, and values such as kept answers."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

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

    async def open(self, namespace: str, preconditions: Sequence[Precondition], found: str | None) -> int | None:
        """Try preconditions in order; return the index of the first that holds, or None.

        One whose state holds counts, whether all of it holds or not. `found`: the state to go by, if not the current.
        """

    async def count(self, namespace: str, name: str) -> int:
        """Add one to a counter that starts at 0 and is forgotten when many others were used since; return it."""

    async def list_entries(self, namespace: str) -> Mapping[str, str]:
        """Return all counters, and the state under STATE."""

    async def set_state(self, namespace: str, state: str) -> None:
        """Change the state of the scenario."""

    async def forget(self, namespace: str, names: Sequence[str]) -> None:
        """Forget counters, which start at 0 again."""

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""


TIMES = "times "  # prefix of the counter of a rule with `times`


def name_times_counter(rule: str) -> str:
    """Return the counter of a rule with `times`."""
    return TIMES + rule


STATE = "state"  # the key of a scenario's state
START = "start"  # the state in which every scenario begins


class VersionedValue(NamedTuple, Generic[Value]):
    """A value with the number of its version, which each change raises."""

    value: Value
    version: int


class ValueStore(Protocol[Value]):
    """Bounded storage for each namespace: the oldest values are evicted first. Each method is one atomic step."""

    @property
    def most(self) -> int:
        """How many values of a namespace there can be; 0: nothing is kept."""

    @property
    def bounds_files(self) -> str:
        """The setting that bounds the files that are kept."""

    async def get(self, namespace: str, key: str) -> VersionedValue[Value] | None:
        """Return the value and its version, or None."""

    def put(self, namespace: str, key: str, value: Value, *, size: int) -> Awaitable[None] | None:
        """Keep a value of about `size` bytes as the newest; a value larger than the bound is not kept.

        It is kept once what this returns, if anything, was awaited.
        """

    async def change(self, namespace: str, key: str, value: VersionedValue[Value], *, size: int) -> bool:
        """Replace a value of this version; return False if it has another version by now, or is gone."""

    async def list_values(self, namespace: str) -> tuple[Value, ...]:
        """Return all values of a namespace, oldest first."""

    async def count(self, namespace: str) -> int:
        """Return how many values a namespace has."""

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""
