"""A grammar as plain productions: what was read of it, and the sizes of the smallest things that it derives.

Knows no notation and no chance.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

from mockserver.engine.generate.patterns.trying import Pattern

Production = tuple[str, ...]  # names of rules and terminals
Rules = Mapping[str, tuple[Production, ...]]

_HUGE = 1 << 62


@dataclass(frozen=True, slots=True)
class Terminal:
    """A token: the pattern that it matches, and the texts that it can be where these are few."""

    pattern: Pattern
    texts: tuple[str, ...] = ()
    priority: int = 0


@dataclass(frozen=True)
class Grammar:
    """Rules and terminals by name; what is `ignored` may stand between any two tokens."""

    rules: Rules
    terminals: Mapping[str, Terminal]
    ignored: tuple[str, ...] = ()
    start: str = "start"

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How large the smallest derivation of each symbol is that has one; a terminal's is 1."""
        return smallest(self.rules, self.terminals)

    @cached_property
    def empty(self) -> frozenset[str]:
        """The rules that derive the empty text."""
        return frozenset(smallest(self.rules, ()))

    def size(self, production: Production) -> int:
        """The size of the smallest derivation by a production; huge where there is none."""
        return sum(self.sizes.get(symbol, _HUGE) for symbol in production)


def smallest(rules: Rules, given: Iterable[str]) -> dict[str, int]:
    """The sizes of the smallest derivations, smallest first: those `given` have 1, a rule 1 and what it consists of."""
    waiting = _Waiting(rules)
    sizes: dict[str, int] = {}
    reached = [(1, symbol) for symbol in given] + [(1, name) for name, ways in rules.items() if () in ways]
    reached.sort()
    while reached:
        size, symbol = heappop(reached)
        if symbol not in sizes:
            sizes[symbol] = size
            for found in waiting.told(symbol, size):
                heappush(reached, found)
    return sizes


class _Waiting:
    """Productions that wait for the sizes of their symbols, each occurrence by itself."""

    def __init__(self, rules: Rules) -> None:
        self._ways = [(name, way) for name, ways in rules.items() for way in ways]
        self._missing = [len(way) for _, way in self._ways]
        self._sizes = [1] * len(self._ways)
        self._places = defaultdict[str, list[int]](list)
        for at, (_, way) in enumerate(self._ways):
            for symbol in way:
                self._places[symbol].append(at)

    def told(self, symbol: str, size: int) -> Iterator[tuple[int, str]]:
        """The rules that can be derived now, and how large; a symbol is told once."""
        for at in self._places[symbol]:
            self._missing[at] -= 1
            self._sizes[at] = min(self._sizes[at] + size, _HUGE)
            if self._missing[at] == 0:
                yield self._sizes[at], self._ways[at][0]
