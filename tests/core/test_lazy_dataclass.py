"""Dataclasses whose methods are generated when first called behave as those of the standard library."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import partial
from typing import Any, Generic, TypeVar

import pytest

from mockserver.core import lazy_dataclass

T = TypeVar("T")
OPTIONS: list[dict[str, bool]] = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"slots": True, "unsafe_hash": True},
    {"slots": True, "repr": False},
]


def point(make: Callable[..., Any], **options: bool) -> Any:
    class Point:
        """Somewhere."""

        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list, compare=False, repr=False)

    return make(**options)(Point)


lazy, standard = (partial(point, make) for make in (lazy_dataclass.dataclass, dataclasses.dataclass))


@pytest.mark.parametrize("options", OPTIONS)
def test_a_lazy_dataclass_behaves_as_a_standard_one(options: dict[str, bool]) -> None:
    assert seen(lazy(**options)) == seen(standard(**options))


def seen(cls: Any) -> list[object]:
    one, same, other = cls(1), cls(1, tags=["a"]), cls(x=1, y=3)
    slotted = hasattr(cls, "__slots__")
    printed = repr(one) if "__repr__" in vars(cls) else ""
    return [
        *(one.x, one.y, one.tags, other.y, same.tags, slotted, printed, cls.__doc__, cls.__match_args__),
        *(one == same, one == other, one != other, one == 1, one.__eq__(1)),
        *(error(lambda: hash(one)), not error(lambda: hash(one)) and hash(one) == hash(same)),
        *(error(cls), error(lambda: cls(1, z=2)), error(lambda: setattr(one, "x", 5)), one.x),
        *(error(lambda: delattr(other, "x")), hasattr(other, "x")),
        *(dataclasses.is_dataclass(cls), [each.name for each in dataclasses.fields(cls)], dataclasses.asdict(same)),
        *(dataclasses.replace(same, y=9).tags, copy.deepcopy(same).tags, copy.copy(same).y, same.tags),
    ]


def error(act: Callable[[], object]) -> str:
    try:
        act()
    except (TypeError, FrozenInstanceError, AttributeError) as raised:
        return f"{type(raised).__name__}: {raised}"
    return ""


def test_a_method_is_generated_when_first_called() -> None:
    cls = lazy(frozen=True, slots=True)
    initial = dict(vars(cls))
    assert cls(1) == cls(1)
    changed = {name for name, value in vars(cls).items() if initial[name] is not value}
    assert changed == {"__init__", "__eq__"}


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Base(Generic[T]):
    value: T
    ready: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ready.append(type(self).__name__)

    def __repr__(self) -> str:
        return "its own"


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Derived(Base[int]):
    more: str = "more"


class Plain(Derived):
    pass


def test_derived_classes() -> None:
    made, plain = Derived(1, [], "x"), Plain(2)
    assert (made.value, made.more, made.ready, repr(made)) == (
        1,
        "x",
        ["Derived"],
        "Derived(value=1, ready=['Derived'], more='x')",
    )
    assert (plain.value, plain.ready, repr(Base(1))) == (2, ["Plain"], "its own")
    assert [made == Base(1), Base(1) == Base(1)] == [False, True]


def test_frozen_ones_with_slots_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Derived(1))) == Derived(1)


def test_own_methods_stay() -> None:
    @lazy_dataclass.dataclass(slots=True)
    class Same:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    assert (Same(1) == Same(2), hash(Same(1))) == (True, 7)
