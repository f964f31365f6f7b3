"""Which texts a grammar derives, and which of them are in a prompt."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import UnexpectedInput

from mockserver.model.arguments import NOTHING, mentions
from mockserver.model.grammar.earley import best_phrase, best_span, derives, match_prefix, phrases
from mockserver.model.grammar.notation import load_grammar

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
    assert derives(load_grammar(SUMS), text) is right


@settings(deadline=None)
@given(st.text(alphabet="abc", max_size=8))
def test_rules_that_may_be_empty(text: str) -> None:
    try:
        LARK_OF_HOLES.parse(text)
        right = True
    except UnexpectedInput:
        right = False
    assert derives(load_grammar(HOLES), text) is right


def test_the_longest_text_from_a_place() -> None:
    found = match_prefix(load_grammar(SUMS), "add 1 + 2 * 3 now", 4)
    assert (found.end, found.tokens) == (14, 5)
    assert match_prefix(load_grammar(SUMS), "add", 0).end is None


@pytest.mark.parametrize(
    ("definition", "text", "right"),
    [
        ('start: A | B "!"\nA.2: /[a-z]+/\nB: /[a-z]+/', "a!", False),
        ('start: A | B "!"\nA: /[a-z]/\nB: /[a-z]+/', "ab!", True),
        ('start: "if" NAME | NAME "="\nNAME: /[a-z]+/', "if=", False),
    ],
)
def test_one_token_is_read_at_each_place(definition: str, text: str, right: bool) -> None:
    assert derives(load_grammar(definition), text) is right


def test_it_ends_where_it_is_too_much_work() -> None:
    mean = load_grammar('start: s\ns: s s | s s s | "a" |')
    assert derives(mean, "aaaa")
    assert match_prefix(mean, "a" * 500, steps=2_000).steps_left <= 0
    assert not derives(mean, "a" * 500)


CHAIN = load_grammar('start: /[0-9]+/ (("+" | "*") /[0-9]+/)*\n%ignore " "')


@pytest.mark.parametrize(
    ("text", "span", "tokens"),
    [
        ("what is 17 * 3 + 2?", "17 * 3 + 2", 5),
        ("1, then 2+3", "2+3", 3),
        ("x1 and 4th", "", 0),
        ("nothing", "", 0),
        ("7", "7", 1),
    ],
)
def test_the_part_with_the_most_tokens(text: str, span: str, tokens: int) -> None:
    assert best_span(CHAIN, text) == (span, tokens)


def test_phrases_are_those_mentioned() -> None:
    said = mentions('run "1 + 2" or `3*4*5`, not 6')
    assert {"1 + 2", "3*4*5"} <= set(phrases(said))
    assert best_phrase(CHAIN, said) == ("3*4*5", 5)
    assert best_phrase(CHAIN, NOTHING) == ("", 0)


def test_a_long_prompt_is_read_in_part() -> None:
    assert best_span(CHAIN, "1 " * 100_000 + "2+2") == ("1", 1)
    assert best_span(load_grammar('start: s\ns: s s | "a"\n%ignore " "'), "a " * 50_000)[1] > 0
