"""The sizes of the smallest derivations."""

from mockserver.model.grammar.notation import Grammar, Terminal, smallest
from mockserver.model.patterns import LiteralPattern

X = {"x": Terminal(LiteralPattern("x"))}
RULES = {
    "start": (("a", "b"), ("x", "x", "x", "x", "x", "x", "x")),
    "a": (("a", "x"), ("x",)),
    "b": (("a", "a"), ()),
    "never": (("never", "x"),),
    "unknown": (("nowhere",),),
}


def test_sizes_are_those_of_the_smallest() -> None:
    assert smallest(RULES, X) == {"x": 1, "b": 1, "a": 2, "start": 4}


def test_what_derives_nothing_has_no_size() -> None:
    grammar = Grammar(RULES, X)
    assert "never" not in grammar.sizes
    assert grammar.size(("x", "never")) > 1 << 60
    assert grammar.size(("x", "a")) == 3


def test_empty_rules_are_known() -> None:
    assert Grammar(RULES, X).empty == {"b"}
    assert Grammar({"start": (("a", "a"),), "a": ((),)}, {}).empty == {"start", "a"}


def test_sizes_of_many_rules_are_found_at_once() -> None:
    chain = {f"r{at}": ((f"r{at + 1}", f"r{at + 1}"),) for at in range(3000)}
    assert smallest({**chain, "r3000": (("x",),)}, X)["r0"] == 1 << 62
