"""Counters have names of their own, and those of a rule are found again."""

from mockserver.engine.counters import attempts_counter, counters_of_rule, fault_counter, ids_counter, times_counter
from tests.kit.calls import call


def test_no_two_counters_have_the_same_name() -> None:
    asked = call("hi")
    names = [
        times_counter("a"),
        times_counter("b"),
        attempts_counter(asked),
        ids_counter(asked),
        fault_counter("a", "then/faults/0/cut"),
    ]
    assert len({*names, "state"}) == len(names) + 1


def test_the_counters_of_a_rule_are_those_of_no_other() -> None:
    own = [times_counter("a"), fault_counter("a", "then/faults/0/cut"), fault_counter("a", "then/steps/0/faults/0/cut")]
    others = [
        times_counter("a b"),
        fault_counter("a b", "then/faults/0/cut"),
        fault_counter("b", "then/faults/0/cut"),
        "state",
    ]
    assert list(counters_of_rule("a", (*others, *own))) == own
