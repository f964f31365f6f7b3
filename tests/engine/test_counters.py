"""Counters have names of their own, and those of a rule are found again."""

from mockserver.engine.counters import attempts, befallen, ids, of_rule, times
from tests.kit.calls import call


def test_no_two_counters_have_the_same_name() -> None:
    asked = call("hi")
    names = [times("a"), times("b"), attempts(asked), ids(asked), befallen("a", "then/faults/0/cut")]
    assert len({*names, "state"}) == len(names) + 1


def test_the_counters_of_a_rule_are_those_of_no_other() -> None:
    own = [times("a"), befallen("a", "then/faults/0/cut"), befallen("a", "then/steps/0/faults/0/cut")]
    others = [times("a b"), befallen("a b", "then/faults/0/cut"), befallen("b", "then/faults/0/cut"), "state"]
    assert list(of_rule("a", (*others, *own))) == own
