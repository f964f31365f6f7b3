"""Conditions: a tree of leaves that each test one field, joined by `All` and `Either`.

The tree has no `not`: negation is pushed down to the leaves, so that each result can be read by itself. The tree
explains a condition; a single function, compiled from the tree on first use, tells whether it holds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.rules.match.fields import Field, Read, find_nested_param
from mockserver.rules.match.predicates import PLAIN, Lens, Test, TextSet

Groups = Mapping[str, str]
NO_GROUPS: Groups = MappingProxyType({})
Check = Callable[[Call], bool | Groups]  # as a Test: groups mean that it holds


class ConditionResult(Struct, frozen=True):
    """One condition of a rule applied to a request: what was expected, the actual value, whether it held.

    `ignoring` is what does not matter then: `ignore_case`, `ignore_space`; `elsewhere` the field that has the value.
    """

    field: str
    predicate: str
    expected: object
    actual: object
    ok: bool
    ignoring: tuple[str, ...] = ()
    elsewhere: str = ""


class Held(NamedTuple):
    """How many conditions hold, of how many."""

    held: int
    total: int


class _Node(Struct, frozen=True, dict=True):
    """A part of the tree, with the function that tests calls for it."""

    @lazy_property
    def check(self) -> Check:
        return compile_check(self)  # type: ignore[arg-type]  # every node is a Condition

    def holds(self, call: Call) -> Groups | None:
        """Return the named groups of the condition's patterns (often none) if it holds, else None.

        Raises RuleError if a pattern exceeds its time limit.
        """
        found = self.check(call)
        if found is True:
            return NO_GROUPS
        return found or None


class Leaf(_Node, frozen=True):
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
        return (self,)

    @property
    def uses(self) -> frozenset[str]:
        return frozenset((self.field.family,))

    def explain(self, call: Call) -> tuple[ConditionResult, ...]:
        """Return what was expected, what was found and whether it held; a pattern that times out does not hold."""
        actual = self.field.read(call)
        ok = self._holds_for(actual)
        if ok and self.implied:
            return ()
        predicate = f"not {self.predicate}" if self.negative else self.predicate
        ignoring = ("ignore_case",) * self.lens.fold + ("ignore_space",) * self.lens.squeeze
        nested = "" if ok or actual is not None else find_nested_param(self.field.name, call)
        return (
            ConditionResult(
                self.field.name,
                predicate,
                expected=self.expected,
                actual=actual,
                ok=ok,
                ignoring=ignoring,
                elsewhere=nested,
            ),
        )

    def count_held(self, call: Call) -> Held:
        """Return how many conditions hold, and how many there are."""
        ok = self._holds_for(self.field.read(call))
        return Held(0, 0) if ok and self.implied else Held(int(ok), 1)

    def negate(self) -> "Leaf":
        test = self.test
        return replace(self, test=lambda actual: not test(actual), negative=not self.negative)

    def _holds_for(self, actual: Json) -> bool:
        try:
            return bool(self.test(actual))
        except RuleError:
            return False


class _Joined(_Node, frozen=True):
    parts: tuple["Condition", ...] = ()

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    @property
    def uses(self) -> frozenset[str]:
        return frozenset(leaf.field.family for leaf in self.leaves)


class All(_Joined, frozen=True):
    """Holds if every part holds; without parts, it always holds."""

    def explain(self, call: Call) -> tuple[ConditionResult, ...]:
        return tuple(result for part in self.parts for result in part.explain(call))

    def count_held(self, call: Call) -> Held:
        counts = [part.count_held(call) for part in self.parts]
        return Held(sum(count.held for count in counts), sum(count.total for count in counts))

    def negate(self) -> "Condition":
        return Either(tuple(part.negate() for part in self.parts))


class Either(_Joined, frozen=True):
    """Holds if at least one part holds; without parts, it never holds."""

    def explain(self, call: Call) -> tuple[ConditionResult, ...]:
        nearest = self._find_nearest(call)
        return () if nearest is None else nearest.explain(call)

    def count_held(self, call: Call) -> Held:
        nearest = self._find_nearest(call)
        return Held(0, 1) if nearest is None else nearest.count_held(call)

    def negate(self) -> "Condition":
        return All(tuple(part.negate() for part in self.parts))

    def _find_nearest(self, call: Call) -> "Condition | None":
        return max(self.parts, key=lambda part: measure_nearness(part, call), default=None)


Condition = Leaf | All | Either


def compile_check(condition: Condition) -> Check:
    """Return the function that tests a call for a condition: each leaf costs one read and one test."""
    match condition:
        case Leaf():
            read, test = _make_step(condition)
            return lambda call: test(read(call))
        case All():
            return _check_all(tuple(map(_make_step, _put_cheap_first(_flatten(condition)))))
    return _check_any(tuple(map(_make_step, condition.parts)))


class _Step(NamedTuple):
    """What is read of a call, and its test."""

    read: Callable[[Call], Any]
    test: Callable[[Any], bool | Groups]


def _check_all(steps: tuple[_Step, ...]) -> Check:
    def check(call: Call) -> bool | Groups:
        groups = None
        for read, test in steps:
            found = test(read(call))
            if found is True:
                continue
            if not found:
                return False
            groups = found if groups is None else {**groups, **found}
        return True if groups is None else groups

    return check


def _check_any(steps: tuple[_Step, ...]) -> Check:
    def check(call: Call) -> bool | Groups:
        for read, test in steps:
            if found := test(read(call)):
                return found
        return False

    return check


def _make_step(condition: Condition) -> _Step:
    if not isinstance(condition, Leaf):
        return _Step(lambda call: call, condition.check)
    needs_text = condition.predicate == "holds" and condition.field.needs
    read = _read_if_needed(condition.field) if needs_text else condition.field.read
    return _Step(read, _choose_test(condition))


def _read_if_needed(field: Field) -> Read:
    """Return a reader of a true-or-false field that reads nothing if the value cannot be true."""
    read = field.read
    needs = field.needs

    def read_if_needed(call: Call) -> Json:
        written = call.written
        if written is not None and written.find(needs) < 0 and written.find(_ESCAPED_ASCII) < 0:
            return None
        return read(call)

    return read_if_needed


def _choose_test(leaf: Leaf) -> Callable[[Any], bool | Groups]:
    """Return the test of a leaf; if a text must be one of several, their set is the test, which takes half as long."""
    test = leaf.test
    return test.__contains__ if isinstance(test, TextSet) and leaf.field.kind == "text" else test


_ESCAPED_ASCII = b"\\u00"


def _flatten(condition: All) -> Iterator[Leaf | Either]:
    for part in condition.parts:
        if isinstance(part, All):
            yield from _flatten(part)
        else:
            yield part


def _put_cheap_first(parts: Iterable[Leaf | Either]) -> Iterator[Leaf | Either]:
    """Put costly conditions behind cheap ones, but move none past a pattern, which may raise."""
    for patterns, grouped in groupby(parts, key=_has_pattern):
        run = list(grouped)
        yield from run if patterns else sorted(run, key=_is_costly)


def _has_pattern(part: Leaf | Either) -> bool:
    return any(leaf.predicate == "regex" for leaf in part.leaves)


def _is_costly(part: Leaf | Either) -> bool:
    return any(leaf.field.costly or leaf.predicate == "schema" for leaf in part.leaves)


def mark_implied(condition: Condition) -> Condition:
    """Mark a condition as not written by the user: reports mention it only if it fails."""
    match condition:
        case Leaf():
            return replace(condition, implied=True)
        case All(parts) | Either(parts):
            return type(condition)(tuple(map(mark_implied, parts)))


def measure_nearness(condition: Condition, call: Call) -> float:
    """Return the share of a condition that holds, from 0 to 1."""
    held, total = condition.count_held(call)
    return held / total if total else 1.0
