"""How derived tokens are set."""

import pytest

from mockserver.model.grammar.notation import grammar_of
from mockserver.model.grammar.recognition import layouts

TOKENS = [("A", text) for text in ("f", "(", "x", ",", "y", ")", "=", "[", "1", "]", ";")]


@pytest.mark.parametrize(
    ("ignored", "line"),
    [("/[ \\t]+/", "f(x, y) = [1];"), (r"/\n/", "f(x,\ny)\n=\n[1];"), ("/x/", "f(x,y)=[1];")],
)
def test_blanks_stand_where_they_may(ignored: str, line: str) -> None:
    grammar = grammar_of(f'start: "a"\n%ignore {ignored}')
    assert next(layouts(grammar, TOKENS)) == line


def test_every_token_by_itself_comes_second() -> None:
    _, apart = layouts(grammar_of('start: "a"\n%ignore " "'), TOKENS[:3])
    assert apart == "f ( x"


def test_blanks_are_not_doubled() -> None:
    tokens = [("A", "say "), ("A", "a"), ("A", " b")]
    assert next(layouts(grammar_of('start: "a"\n%ignore " "'), tokens)) == "say a b"
