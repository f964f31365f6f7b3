"""Text that a pattern requires is found where that is plain, and never where it is not required."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mockserver.rules.match.predicates import literals


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        ("weather", ("weather",)),
        (r"weather in (?P<city>\w+)", ("weather in ",)),
        (r"^a\.b$", ("a.b",)),
        ("abc?d", ("ab", "d")),
        ("abc*d", ("ab", "d")),
        ("abc+d", ("abc", "d")),
        ("abc{0,3}d", ("ab", "d")),
        ("abc{e<=1}d", ("ab", "d")),
        ("abc+?d", ("abc", "d")),
        (r"order \d+ of", ("order ", " of")),
        ("a(?:b|c)d", ("a", "d")),
        ("a(b(c)d)e", ("a", "e")),
        ("a(?<n>b)?e", ("a", "e")),
        ("[]abc]xyz", ("xyz",)),
        ("[^]abc]xyz", ("xyz",)),
        (r"[\]a]xyz", ("xyz",)),
        ("a.b", ("a", "b")),
        (r"caf\bé", ("caf", "é")),
        ("a|b", ()),
        ("(?i)abc", ()),
        ("(?x) a b c", ()),
        ("(?=abc)", ()),
        ("(?<!abc)", ()),
        (r"\p{L}abc", ()),
        (r"\x41bc", ()),
        (r"(a)\1", ()),
        ("[[:alpha:]]abc", ()),
        ("[]abc[x]y", ()),
        ("a{b", ()),
        ("", ()),
    ],
)
def test_literals(pattern: str, pieces: tuple[str, ...]) -> None:
    assert literals(pattern) == pieces


ATOMS = st.sampled_from(
    ["a", "b", "ab", r"\.", ".", r"\w", "[ab]", "[]ab]", "(a|b)", "(?:ab)", "(b)?", "(?i:a)", "|", "^", "[^]a]", r"\b"]
)
QUANTITIES = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,1}", "*?", "++", "{e<=1}"])
PATTERNS = st.lists(st.tuples(ATOMS, QUANTITIES), max_size=5).map(lambda parts: "".join(map("".join, parts)))


@given(PATTERNS, st.text("ab].A", max_size=8))
def test_what_is_required_is_there_whenever_the_pattern_is_found(pattern: str, text: str) -> None:
    try:
        found = regex.compile(pattern).search(text, timeout=0.1)
    except (regex.error, TimeoutError, MemoryError):  # memory: the library fails so on "^*?a{e<=1}a"
        return
    if found:
        assert all(piece in text for piece in literals(pattern))
