"""Conditions: a tree of leaves that each test one field, joined by `All` and `Either`. Reads no YAML.

The tree holds no `not`: negation is pushed down to the leaves, so that each result can be read by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.exchange import ConditionResult
from mockserver.core.json import Json
from mockserver.rules.match.fields import Field
from mockserver.rules.match.predicates import PLAIN, Lens, Test

Groups = Mapping[str, str]
NO_GROUPS: Groups = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Leaf:
    """One predicate applied to one field. An `implied` leaf was not written by the user."""

    field: Field
    predicate: str
    expected: Json
    test: Test
    lens: Lens = PLAIN
    negative: bool = False
    implied: bool = False

    @property
    def leaves(self) -> tuple["Leaf", ...]:
        """Return this leaf alone."""
        return (self,)

    @property
    def uses(self) -> frozenset[str]:
        """Return the field that is read, or its family, such as `header`."""
        return frozenset((self.field.family,))

    def holds(self, call: Call) -> Groups | None:
        """Return the pattern's named groups (often none) if the leaf holds, else None.

        Raises RuleError if the pattern exceeds its time limit.
        """
        found = self.test(self.field.read(call))
        if found is True:
            return NO_GROUPS
        return found or None

    def results(self, call: Call) -> tuple[ConditionResult, ...]:
        """Return what was expected, what was found and whether it held; a pattern that times out does not hold."""
        actual = self.field.read(call)
        ok = self._ok(actual)
        if ok and self.implied:
            return ()
        predicate = f"not {self.predicate}" if self.negative else self.predicate
        ignoring = ("ignore_case",) * self.lens.fold + ("ignore_space",) * self.lens.squeeze
        return (ConditionResult(self.field.name, predicate, self.expected, actual, ok, ignoring),)

    def share(self, call: Call) -> tuple[int, int]:
        """Return how many conditions hold, and how many there are."""
        ok = self._ok(self.field.read(call))
        return (0, 0) if ok and self.implied else (int(ok), 1)

    def negated(self) -> "Leaf":
        """Return the leaf that holds when this one does not."""
        test = self.test
        return replace(self, test=lambda actual: not test(actual), negative=not self.negative)

    def _ok(self, actual: Json) -> bool:
        try:
            return bool(self.test(actual))
        except RuleError:
            return False


@dataclass(frozen=True, slots=True)
class _Joined:
    parts: tuple["Condition", ...] = ()

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    @property
    def uses(self) -> frozenset[str]:
        return frozenset(leaf.field.family for leaf in self.leaves)


class All(_Joined):
    """Holds if every part does; without parts it always holds."""

    __slots__ = ()

    def holds(self, call: Call) -> Groups | None:
        """Return the named groups of all patterns if every part holds, else None."""
        groups = NO_GROUPS
        for part in self.parts:
            found = part.holds(call)
            if found is None:
                return None
            if found:
                groups = {**groups, **found}
        return groups

    def results(self, call: Call) -> tuple[ConditionResult, ...]:
        """Return the results of every part."""
        return tuple(result for part in self.parts for result in part.results(call))

    def share(self, call: Call) -> tuple[int, int]:
        """Return how many conditions hold, and how many there are."""
        held = total = 0
        for part in self.parts:
            part_held, part_total = part.share(call)
            held += part_held
            total += part_total
        return held, total

    def negated(self) -> "Condition":
        """Return the condition that holds when this one does not."""
        return Either(tuple(part.negated() for part in self.parts))


class Either(_Joined):
    """Holds if at least one part does; without parts it never holds."""

    __slots__ = ()

    def holds(self, call: Call) -> Groups | None:
        """Return the named groups of the first part that holds, or None."""
        return next((found for part in self.parts if (found := part.holds(call)) is not None), None)

    def results(self, call: Call) -> tuple[ConditionResult, ...]:
        """Return the results of the nearest part."""
        nearest = self._nearest(call)
        return () if nearest is None else nearest.results(call)

    def share(self, call: Call) -> tuple[int, int]:
        """Return how many conditions of the nearest part hold, and how many it has."""
        nearest = self._nearest(call)
        return (0, 1) if nearest is None else nearest.share(call)

    def negated(self) -> "Condition":
        """Return the condition that holds when no part does."""
        return All(tuple(part.negated() for part in self.parts))

    def _nearest(self, call: Call) -> "Condition | None":
        return max(self.parts, key=lambda part: nearness(part, call), default=None)


Condition = Leaf | All | Either


def implied(condition: Condition) -> Condition:
    """Mark a condition as not written by the user: reports mention it only if it fails."""
    match condition:
        case Leaf():
            return replace(condition, implied=True)
        case All():
            return All(tuple(map(implied, condition.parts)))
        case Either():
            return Either(tuple(map(implied, condition.parts)))


def nearness(condition: Condition, call: Call) -> float:
    """Return the share of a condition that holds, from 0 to 1."""
    held, total = condition.share(call)
    return held / total if total else 1.0
