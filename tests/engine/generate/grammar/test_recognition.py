"""Which texts a grammar derives, read as a lexer that knows the context would read them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import UnexpectedInput

from mockserver.model.grammar.notation import grammar_of
from mockserver.model.grammar.recognition import derives, reading

SUMS = """
start: sum
sum: product | sum "+" product
product: atom | product "*" atom
atom: /[0-9]+/ | "(" sum ")" | "-" atom
%ignore " "
"""
HOLES = 'start: a b* c\na: "a"? | b a\nb: "b" a?\nc: | c "c"'
LARK_OF_SUMS, LARK_OF_HOLES = Lark(SUMS, parser="lalr"), Lark(HOLES)


@settings(deadline=None)
@given(st.text(alphabet="12+*()- ", max_size=12))
def test_it_agrees_with_lark(text: str) -> None:
    try:
        LARK_OF_SUMS.parse(text)
        right = True
    except UnexpectedInput:
        right = False
    assert derives(grammar_of(SUMS), text) is right


@settings(deadline=None)
@given(st.text(alphabet="abc", max_size=8))
def test_rules_that_may_be_empty(text: str) -> None:
    try:
        LARK_OF_HOLES.parse(text)
        right = True
    except UnexpectedInput:
        right = False
    assert derives(grammar_of(HOLES), text) is right


def test_the_longest_text_from_a_place() -> None:
    found = reading(grammar_of(SUMS), "add 1 + 2 * 3 now", 4)
    assert (found.end, found.tokens) == (14, 5)
    assert reading(grammar_of(SUMS), "add", 0).end is None


@pytest.mark.parametrize(
    ("definition", "text", "right"),
    [
        ('start: A | B "!"\nA.2: /[a-z]+/\nB: /[a-z]+/', "a!", False),
        ('start: A | B "!"\nA: /[a-z]/\nB: /[a-z]+/', "ab!", True),
        ('start: "if" NAME | NAME "="\nNAME: /[a-z]+/', "if=", False),
    ],
)
def test_one_token_is_read_at_each_place(definition: str, text: str, right: bool) -> None:
    assert derives(grammar_of(definition), text) is right


def test_it_ends_where_it_is_too_much_work() -> None:
    mean = grammar_of('start: s\ns: s s | s s s | "a" |')
    assert derives(mean, "aaaa")
    assert reading(mean, "a" * 500, steps=2_000).left <= 0
    assert not derives(mean, "a" * 500)
