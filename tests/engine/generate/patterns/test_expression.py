"""Regular expressions are read as ECMAScript means them."""

from math import inf

import pytest

from mockserver.model.patterns.regex import (
    ANY,
    Chars,
    Edge,
    Either,
    Group,
    Look,
    Node,
    Reference,
    Repeat,
    Sequence,
    parsed,
)

A, B = Chars(((97, 97),)), Chars(((98, 98),))
DIGIT = Chars(((48, 57),))


@pytest.mark.parametrize(
    ("pattern", "tree"),
    [
        ("a", A),
        ("", Sequence(())),
        ("ab", Sequence((A, B))),
        ("a|b", Either((A, B))),
        ("a*", Repeat(A, 0, inf)),
        ("a+?", Repeat(A, 1, inf)),
        ("a{2}", Repeat(A, 2, 2)),
        ("a{2,}", Repeat(A, 2, inf)),
        ("a{2,3}", Repeat(A, 2, 3)),
        ("a{", Sequence((A, Chars(((123, 123),))))),
        ("^a$", Sequence((Edge("^"), A, Edge("$")))),
        ("(a)", Group(A, ("1",))),
        ("(?:a)", A),
        ("(?i:a)", A),
        ("(?i)a", A),
        ("(?<x>a)", Group(A, ("1", "x"))),
        ("(?P<x>a)", Group(A, ("1", "x"))),
        (r"(a)\1", Sequence((Group(A, ("1",)), Reference("1")))),
        (r"\k<x>", Reference("x")),
        ("(?=a)", Look(A, negated=False, behind=False)),
        ("(?!a)", Look(A, negated=True, behind=False)),
        ("(?<=a)", Look(A, negated=False, behind=True)),
        ("(?<!a)", Look(A, negated=True, behind=True)),
        (".", ANY),
        (r"\d", DIGIT),
        (r"\D", Chars(((48, 57),), negated=True)),
        (r"\.", Chars(((46, 46),))),
        (r"\/", Chars(((47, 47),))),
        (r"\u0061", A),
        (r"\x61", A),
        (r"\u{61}", A),
        (r"\cA", Chars(((1, 1),))),
        (r"\n", Chars(((10, 10),))),
        (r"\b", Edge("b")),
        (r"\A", Edge("^")),
        ("[ab]", Chars(((97, 97), (98, 98)))),
        ("[^a]", Chars(((97, 97),), negated=True)),
        ("[a-b]", Chars(((97, 98),))),
        ("[a-]", Chars(((97, 97), (45, 45)))),
        (r"[\w-.]", Chars(((97, 122), (65, 90), (48, 57), (95, 95), (45, 45), (46, 46)))),
        (r"[\b]", Chars(((8, 8),))),
        (r"[a-\d]", Chars(((97, 97), (45, 45), (48, 57)))),
        ("[]a", Sequence((Chars(()), A))),
        (r"\p{Lu}", Chars(((65, 90),))),
        (r"\p{Script=Greek}", Chars(((0x3B1, 0x3C9),))),
        (r"\P{N}", Chars(((48, 57),), negated=True)),
    ],
)
def test_patterns_are_read(pattern: str, tree: Node) -> None:
    assert parsed(pattern) == tree


@pytest.mark.parametrize("pattern", ["(", ")", "[a", "*", "a{3,2}", "\\", "[b-a]", "(" * 100 + ")" * 100])
def test_what_cannot_be_read_is_an_error(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parsed(pattern)


def test_characters_of_sets() -> None:
    assert "a" in A
    assert "b" not in A
    assert "\n" not in ANY
    assert "5" not in Chars(DIGIT.ranges, negated=True)
    others = parsed(r"[\S]")
    assert isinstance(others, Chars)
    assert "a" in others
    assert " " not in others
