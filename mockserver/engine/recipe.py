"""How something is made for a call: what is known when the rules are loaded is made once, the rest for every call."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from mockserver.engine.draft import Moment

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Recipe(Generic[T]):
    """Makes a value for a moment; `known` holds the value itself where it is the same for every call."""

    make: Callable[[Moment], T]
    known: tuple[T, ...] = ()

    def into(self, build: Callable[[T], U]) -> "Recipe[U]":
        """The recipe for what `build` turns the value into."""
        if self.known:
            return fixed(build(self.known[0]))
        make = self.make
        return Recipe(lambda moment: build(make(moment)))


def fixed(value: T) -> Recipe[T]:
    """The recipe for a value that is the same for every call."""
    return Recipe(lambda _: value, (value,))


def both(one: Recipe[T], other: Recipe[U], build: Callable[[T, U], V]) -> Recipe[V]:
    """The recipe for what `build` makes of two values."""
    if one.known and other.known:
        return fixed(build(one.known[0], other.known[0]))
    first, second = one.make, other.make
    return Recipe(lambda moment: build(first(moment), second(moment)))


def together(recipes: Iterable[Recipe[T]]) -> Recipe[tuple[T, ...]]:
    """The recipe for all the values."""
    parts = tuple(recipes)
    if all(part.known for part in parts):
        return fixed(tuple(part.known[0] for part in parts))
    makers = tuple(part.make for part in parts)
    return Recipe(lambda moment: tuple([make(moment) for make in makers]))
