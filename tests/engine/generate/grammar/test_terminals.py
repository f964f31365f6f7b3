"""Terminals as patterns and as lists of texts."""

import re

import pytest

from mockserver.core.plan import Failure
from mockserver.model.grammar.notation import Lexicon, statements
from mockserver.model.patterns import LiteralPattern, fullmatch

# The terminal T, texts that it is, and texts that it is not.
TERMINALS = {
    'T: "a.b"': (["a.b"], ["axb", "A.B"]),
    'T: "ab"i': (["ab", "AB"], ["abc"]),
    r'T: "\"\n\t\\\u00e9"': (['"\n\t\\é'], []),
    r'T: "\d"': ([r"\d"], ["1"]),
    r"T: /a\/b/i": (["a/b", "A/B"], ["ab"]),
    "T: /a # first\n b [ #]/x": (["ab ", "ab#"], ["a b "]),
    r"T: /a.b/s": (["a\nb"], []),
    'T: "a".."c"': (["b"], ["d", "-"]),
    'T: "a" "b"? ["c"] "d"* "e"+': (["ae", "abcddee"], ["abc"]),
    'T: ("x" | "y")~2': (["xy"], ["x", "xyx"]),
    'T: "x"~2..3': (["xx", "xxx"], ["x", "xxxx"]),
    'T: A B\nA: "a" | "aa"\nB: A+': (["aaa"], ["a"]),
    "T: A | B\nA: /[0-9]/\nB: /[0-9]+\\.[0-9]/": (["1", "1.5"], ["1."]),
}
BROKEN = {
    'T: ""': "a terminal that is empty: line 1, column 4",
    "T: A": "terminal 'A' is used but not defined: line 1, column 4",
    "T: A\nA: B\nB: A": "terminal 'A' contains itself: line 3, column 4",
    'T: a\na: "x"': "rule 'a' is used in a terminal: line 1, column 4",
    'T: "ab".."c"': "a range that is not from one character to another: line 1, column 4",
    'T: "x"~3..2': "a bad range, 3..2: line 1, column 8",
    "T: /(/": r"a regular expression that is not valid (missing )): line 1, column 4",
    'T: "x" -> y': "alias in a terminal: line 1, column 4",
    r'T: "\ud800"': "half of a character: line 1, column 4",
    "\n".join(["T: A0", *(f"A{at}: A{at + 1} A{at + 1}" for at in range(20)), 'A20: "x"']): (
        "terminal 'A10' is too large: line 11, column 5"
    ),
}


def lexicon(text: str) -> Lexicon:
    return Lexicon(statements(text).tokens)


@pytest.mark.parametrize("text", TERMINALS)
def test_patterns_match(text: str) -> None:
    found = lexicon(text)
    pattern = found.pattern_of(found.tokens["T"].body)
    right, wrong = TERMINALS[text]
    assert [each for each in right if not fullmatch(pattern, each)] == []
    assert [each for each in wrong if fullmatch(pattern, each)] == []


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_broken_is_told_with_its_place(text: str) -> None:
    found = lexicon(text)
    with pytest.raises(Failure, match=re.escape(BROKEN[text])):
        found.pattern_of(found.tokens["T"].body)


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ('T: "a" | "b" | A\nA: "c"i', ("a", "b", "c")),
        ("T: /(red|dark green)/", ("red", "dark green")),
        ("T: /^red|green$/i", ("red", "green")),
        ("T: /red?/", ()),
        ('T: "a" | /b+/', ()),
        ('T: "a" "b"', ()),
        ("T: " + " | ".join(f'"w{at}"' for at in range(300)), ()),
    ],
)
def test_few_texts_are_listed(text: str, listed: tuple[str, ...]) -> None:
    found = lexicon(text)
    assert found.texts(found.tokens["T"].body) == listed


def test_bare_literals_need_no_pattern() -> None:
    found = lexicon('T: ("Ab"i)')
    assert found.pattern_of(found.tokens["T"].body) == LiteralPattern("Ab", ignore_case=True)


def test_too_many_patterns_are_refused() -> None:
    found = lexicon("".join(f"T{at}: /x{at}/\n" for at in range(401)))
    *bodies, last = [definition.body for definition in found.tokens.values()]
    for body in bodies:
        found.pattern_of(body)
    with pytest.raises(Failure, match="more than 400 regular expressions: line 401, column 7"):
        found.pattern_of(last)
