"""Statements of a grammar, each in its place."""

import pytest

from mockserver.core.plan import Failure
from mockserver.model.grammar.notation import statements

WHOLE = """
// about
start: a B | C  # the start
!?a.2: "x"
     | "y" -> named
B.3: /b/i
%import common.INT
%import common.WS -> BLANK
%import common (WORD, NUMBER)
%ignore BLANK
%override a: "z"
"""
BROKEN = {
    "start: (": "unexpected end of line: line 1, column 9",
    'start: "a"\nb: "x" )': "unexpected ')': line 2, column 8",
    "start: 'a'": 'unexpected "\'": line 1, column 8',
    'root ::= "a"': "unexpected ':': line 1, column 7",
    "%declare A": "%declare is not supported: line 1, column 10",
    'start: a{"b"}\na{c}: c': "templates are not supported: line 2, column 1",
    'start: "a"\nstart: "b"': "'start' is defined more than once: line 2, column 1",
    "%import common.INT\n%import common.A -> INT": "",
    'INT: "1"\n%import common.INT': "'INT' is defined more than once: line 2, column 16",
    "%import python.NAME": "only terminals of 'common' can be imported: line 1, column 9",
    "%import .secret.NAME": "only terminals of 'common' can be imported: line 1, column 9",
    "%import NAME": "only terminals of 'common' can be imported: line 1, column 9",
}


def test_a_grammar_is_taken_apart() -> None:
    found = statements(WHOLE)
    assert list(found.rules) == ["start", "a"]
    assert {name: each.priority for name, each in found.tokens.items()} == {"B": 3}
    assert found.imports == {"INT": "INT", "BLANK": "WS", "WORD": "WORD", "NUMBER": "NUMBER"}
    assert len(found.ignored) == 1


@pytest.mark.parametrize(("definition", "why"), [(text, why) for text, why in BROKEN.items() if why])
def test_what_is_broken_is_told_with_its_place(definition: str, why: str) -> None:
    with pytest.raises(Failure) as caught:
        statements(definition)
    assert caught.value == Failure("bad_parameter", f"Invalid grammar: {why}.")


def test_a_megabyte_is_not_read() -> None:
    with pytest.raises(Failure, match="more than 64,000 characters"):
        statements('start: "a" //' + "x" * 1_000_000)
