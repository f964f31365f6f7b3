"""Texts of a grammar that a prompt has as they are."""

import pytest

from mockserver.model.arguments import NOTHING, mentions
from mockserver.model.grammar.notation import grammar_of
from mockserver.model.grammar.recognition import best_phrase, best_span, phrases

SUMS = grammar_of('start: /[0-9]+/ (("+" | "*") /[0-9]+/)*\n%ignore " "')


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
    assert best_span(SUMS, text) == (span, tokens)


def test_phrases_are_those_mentioned() -> None:
    said = mentions('run "1 + 2" or `3*4*5`, not 6')
    assert {"1 + 2", "3*4*5"} <= set(phrases(said))
    assert best_phrase(SUMS, said) == ("3*4*5", 5)
    assert best_phrase(SUMS, NOTHING) == ("", 0)


def test_a_long_prompt_is_read_in_part() -> None:
    assert best_span(SUMS, "1 " * 100_000 + "2+2") == ("1", 1)
    assert best_span(grammar_of('start: s\ns: s s | "a"\n%ignore " "'), "a " * 50_000)[1] > 0
