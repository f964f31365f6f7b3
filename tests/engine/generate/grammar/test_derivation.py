"""Derivations: small, varied, and of what is wanted."""

import pytest

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.grammar.notation import grammar_of
from mockserver.model.grammar.recognition import derivation

NESTED = grammar_of('start: "(" start* ")" | "x"')
SUMS = grammar_of('start: sum\nsum: sum OP sum | N | "(" sum ")"\nN: /[0-9]+/\nOP: "+" | "-"')


def texts(number: int) -> str:
    return "".join(text for _, text in derivation(NESTED, (), Seed(number).stream("x")))


def test_derivations_vary_and_stay_small() -> None:
    made = [texts(number) for number in range(100)]
    assert len(set(made)) > 10
    assert max(map(len, made)) < 80


def test_the_same_seed_derives_the_same() -> None:
    assert [texts(number) for number in range(20)] == [texts(number) for number in range(20)]


def test_what_is_wanted_is_derived_in_order_and_nothing_else() -> None:
    wanted = [{"N": "17"}, {"OP": "-"}, {"N": "3"}, {"N": "2"}]
    tokens = derivation(SUMS, wanted, Seed(1).stream("x"))
    assert [text for name, text in tokens if name == "N"] == ["17", "3", "2"]
    assert next(text for name, text in tokens if name == "OP") == "-"
    assert len(tokens) == 5


def test_a_text_that_must_be_huge_is_refused() -> None:
    rules = "".join(f"a{at}: a{at + 1} a{at + 1}\n" for at in range(60))
    with pytest.raises(Failure, match="shortest text is too long"):
        derivation(grammar_of(f'start: a0\n{rules}a60: "x"'), (), Seed(0).stream("x"))


def test_a_terminal_without_text_is_refused() -> None:
    with pytest.raises(Failure, match="no text was found for terminal NEVER"):
        derivation(grammar_of("start: NEVER\nNEVER: /a(?!a)a/"), (), Seed(0).stream("x"))
