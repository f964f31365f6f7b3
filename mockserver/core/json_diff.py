"""Where two JSON values differ, place by place: one walk for reports and for the control API."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from mockserver.core.json import Json


class Absence(Enum):
    ABSENT = "absent"


ABSENT = Absence.ABSENT  # in place of a value that one side lacks; null is a value

Step = str | int
Pairs = Iterable[tuple[Step, Json, Json]]  # a name or an index, and what the two sides have there


class JsonDifference(Struct, frozen=True):
    """A place at which two values differ, and what each has there: ABSENT if it lacks the place."""

    path: tuple[Step, ...]
    one: Json
    other: Json

    @property
    def kind(self) -> Literal["removed", "added", "changed"]:
        """What happened on the way from `one` to `other`."""
        if self.other is ABSENT:
            return "removed"
        return "added" if self.one is ABSENT else "changed"

    @property
    def where(self) -> str:
        """The path as text: `messages[0].content`; empty for the whole values."""
        return write_path(self.path)


def pair_items(one: Json, other: Json) -> Pairs | None:
    """Pair the values of two tables by name, those of two lists by index; None for two that are compared whole.

    The names of `one` come first.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return pair_names(one, other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return ((at, *pair) for at, pair in enumerate(zip_longest(one, other, fillvalue=ABSENT)))
    return None


def pair_names(one: Mapping[str, Json], other: Mapping[str, Json]) -> Pairs:
    return ((name, one.get(name, ABSENT), other.get(name, ABSENT)) for name in dict.fromkeys((*one, *other)))


def is_equal(one: Json, other: Json) -> bool:
    """Return whether two values are equal and of one type: true is not 1, and 1 is not 1.0."""
    return type(one) is type(other) and bool(one == other)


def find_differences(
    one: Json,
    other: Json,
    *,
    pair: Callable[[Json, Json], Pairs | None] = pair_items,
    equal: Callable[[Json, Json], bool] = is_equal,
) -> Iterator[JsonDifference]:
    """Yield the differences of two values in the order in which these are written.

    `pair` says which parts of two values belong together; `equal` compares those that it returns None for. Each part is
    looked at once and only when the caller wants the next difference, so a few of two huge values cost little, and no
    depth is too much.
    """
    steps: list[Step] = []
    pending: list[Iterator[tuple[Step, Json, Json]]] = [iter([("", one, other)])]
    while pending:
        found = next(pending[-1], None)
        if found is None:
            pending.pop()
            del steps[-1:]
            continue
        step, mine, theirs = found
        if mine is theirs:
            continue
        absent = mine is ABSENT or theirs is ABSENT
        pairs = None if absent else pair(mine, theirs)
        if pairs is not None:
            steps.append(step)
            pending.append(iter(pairs))
        elif absent or not equal(mine, theirs):
            yield JsonDifference((*steps, step)[1:], mine, theirs)


def write_path(path: Iterable[Step]) -> str:
    """Write a path as `messages[0].content`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
