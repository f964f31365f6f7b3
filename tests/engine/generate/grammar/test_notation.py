"""Grammars in lark's notation as productions."""

import pytest
from lark import Lark

from mockserver.core.plan import Failure
from mockserver.model.grammar.notation import grammar_of
from mockserver.model.grammar.recognition import derives

# Bodies of `start`, texts that they derive, and texts that they do not.
BODIES = {
    '"a" "b"': (["ab"], ["a", "abb", ""]),
    '"a" | "b" | "c"': (["a", "c"], ["ab"]),
    '"a"?': (["", "a"], ["aa"]),
    '["a"] "b"': (["b", "ab"], ["a"]),
    '"a"*': (["", "aaa"], ["b"]),
    '"a"+ "b"': (["ab", "aaab"], ["b"]),
    '"a"~3': (["aaa"], ["aa", "aaaa"]),
    '"a"~1..3': (["a", "aa", "aaa"], ["", "aaaa"]),
    '("a" | "b" "c")~2': (["abc", "bca", "aa"], ["ab", "a"]),
    '"a" -> x\n | "b" -> y': (["a", "b"], ["ab"]),
    '("(" start ")" | "x")': (["x", "((x))"], ["(x", "()"]),
    'start "+" start | "x"': (["x", "x+x", "x+x+x"], ["x+", "xx"]),
    'INT ("," INT)*\n%import common.INT\n%ignore " "': (["1,22", "1 , 2", " 3 "], ["1 2", "1,"]),
    'A B\nA.2: "x"\nB: /[a-z]+/': (["xab"], ["ab", "x"]),
    "(" * 300 + '"a"' + ")" * 300: (["a"], ["(a)"]),
}
BROKEN = {
    'begin: "a"': "it has no rule 'start'",
    "start: a": "rule 'a' is used but not defined: line 1, column 8",
    "start: A": "terminal 'A' is used but not defined: line 1, column 8",
    "start: a\na: b | C\n\nC: /x/": "rule 'b' is used but not defined: line 2, column 4",
    'start: "a"~3..2': "a bad range, 3..2: line 1, column 12",
    'start: "a"~5000': "more than 1,000 repetitions: line 1, column 12",
    "start: NOPE\n%import common.NOPE": "there is no terminal 'NOPE' in common: line 2, column 16",
    'start: x{"a"}': "templates are not supported: line 1, column 8",
    "start: " + " ".join(["/a/~1000"] * 50): "it is too large",
    "start: T0\n" + "".join(f"T{at}: T{at + 1}\n" for at in range(3000)) + 'T3000: "x"': "it is nested too deeply",
}


@pytest.mark.parametrize("body", BODIES)
def test_a_grammar_derives_what_lark_says(body: str) -> None:
    definition = f"start: {body}"
    grammar, lark = grammar_of(definition), Lark(definition)
    right, wrong = BODIES[body]
    for text in right:
        lark.parse(text)
        assert derives(grammar, text), text
    assert [text for text in wrong if derives(grammar, text)] == []


@pytest.mark.parametrize("definition", BROKEN)
def test_what_is_broken_is_told_with_its_place(definition: str) -> None:
    with pytest.raises(Failure) as caught:
        grammar_of(definition)
    assert caught.value == Failure("bad_parameter", f"Invalid grammar: {BROKEN[definition]}.")


def test_options_side_by_side_stay_small() -> None:
    grammar = grammar_of("start: " + " ".join(f'["o{at}"]' for at in range(200)))
    assert sum(len(ways) for ways in grammar.rules.values()) == 401


def test_terminals_of_lark_itself_can_be_imported() -> None:
    names = ("INT", "NUMBER", "SIGNED_FLOAT", "ESCAPED_STRING", "CNAME", "WORD", "NEWLINE", "C_COMMENT", "HEXDIGIT")
    for name in names:
        assert name in grammar_of(f"start: {name}\n%import common.{name}").terminals
