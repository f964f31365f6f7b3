"""Every predicate against values that hold and values that do not."""

import json
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mockserver.config.errors import RuleError
from mockserver.rules.match.predicates import (
    PLAIN,
    PREDICATES,
    Lens,
    UnfitError,
    is_part_of,
    is_same,
    split_pieces,
)
from mockserver.rules.match.regexes import _reads_alike, find_literals

FOLD, SQUEEZE, BOTH = Lens(fold=True), Lens(squeeze=True), Lens(fold=True, squeeze=True)

# predicate, expected, values that hold, values that do not
PLAINLY: list[tuple[str, Any, list[Any], list[Any]]] = [
    ("in", [1, "a"], [1, "a"], [True, 2, None]),
    ("includes", 1, [[1]], [[True], ["1"]]),
    ("equals", "a*", ["a*"], ["ab", "A*", None, 1]),
    ("equals", 1, [1, 1.0], [2, True, "1", None]),
    ("equals", True, [True], [1, "true", False, None]),
    ("equals", {"a": [1]}, [{"a": [1]}], [{"a": [True]}, {"a": [1], "b": 2}, {"b": [1]}, None]),
    ("in", ["a", "b"], ["a", "b"], ["c", "A", None, ["a"]]),
    ("in", ["a*", "b"], ["abc", "b"], ["bc", None]),
    ("glob", "gpt-4o*", ["gpt-4o", "gpt-4o-mini", "gpt-4o\n"], ["a gpt-4o", "GPT-4o", None, 4]),
    ("glob", "*b*", ["b", "abc", "a\nb\nc"], ["ac", "", None, ["b"]]),
    ("glob", "ab*ba", ["abba", "ab-ba"], ["aba", "ab"]),
    ("glob", r"2\*3", ["2*3"], ["2*33", "23", r"2\*3"]),
    ("contains", "b", ["abc", "b"], ["ac", "B", None, ["b"]]),
    ("contains", ["a", "b"], ["ba"], ["a", "b", None]),
    ("ends_with", "ab", ["cab", "ab"], ["abx", "b", None]),
    ("regex", "a.c", ["xabcx"], ["ac", "ABC", None, 5]),
    ("lt", 2, [1, 1.5, -1], [2, 3, True, "1", None]),
    ("gt", 2, [3, 2.5, 10**400], [2, 1, "3", None]),
    ("includes", "a", [["a", "b"], ("a",)], [["b"], "a", (), None]),
    ("includes", ["a", "b"], [["b", "c", "a"]], [["a"], None]),
    ("includes", "get_*", [["x", "get_time"]], [["x"], [1], None]),
    ("exists", True, ["", 0, False, [], {}, ("a",)], [None, ()]),
    ("length", 2, ["ab", [1, 2], (1, 2), {"a": 1, "b": 2}], ["a", 2, None]),
    ("length", {"gt": 1, "lte": 3}, ["ab", "abc"], ["a", "abcd", None]),
    ("subset", {"a": {"b": 1}}, [{"a": {"b": 1, "c": 2}, "d": 3}], [{"a": {"c": 2}}, {"a": 1}, None, []]),
    ("subset", [{"a": 1}, 2], [[2, 3, {"a": 1, "b": 2}]], [[2], {"a": 1}, None]),
    ("schema", {"type": "object", "required": ["a"]}, [{"a": 1}], [{}, 1, None]),
]


@pytest.mark.parametrize(("name", "expected", "good", "bad"), PLAINLY)
def test_predicate(name: str, expected: Any, good: list[Any], bad: list[Any]) -> None:
    test = PREDICATES[name].build(expected, PLAIN)
    assert [value for value in good if test(value) is not True] == []
    assert [value for value in bad if test(value) is not False] == []


@pytest.mark.parametrize(
    ("name", "expected", "lens", "good", "bad"),
    [
        ("equals", "Straße", FOLD, ["STRASSE", "straße"], ["strase"]),
        ("equals", "a b", SQUEEZE, ["a  b", " a\n\tb "], ["ab", "A b"]),
        ("equals", " A  b", BOTH, ["a b", "A\nB"], ["ab"]),
        ("glob", "A*C", FOLD, ["abc", "AXC"], ["ab"]),
        ("glob", "* b  c *", SQUEEZE, ["a\nb c d"], ["a bc d"]),
        ("starts_with", "ss", FOLD, ["ß", "SSx"], ["s", "xß", ""]),
        ("ends_with", "SSa", FOLD, ["xßA", "ssa"], ["sa", "ßab", ""]),
        ("ends_with", "", FOLD, ["a", ""], [None]),
        ("starts_with", "A b", BOTH, [" a\n B c"], ["ab"]),
        ("contains", ["A", "B  c"], BOTH, ["xa B C"], ["a bc"]),
        ("regex", "a b", FOLD, ["A B"], ["A  B"]),
        ("regex", "a b", SQUEEZE, ["a \n b"], ["A b"]),
        ("includes", "GET_*", FOLD, [["get_time"]], [["x"]]),
    ],
)
def test_lenses(name: str, expected: Any, lens: Lens, good: list[Any], bad: list[Any]) -> None:
    test = PREDICATES[name].build(expected, lens)
    assert [value for value in good if not test(value)] == []
    assert [value for value in bad if test(value)] == []
    assert test(None) is False


@pytest.mark.parametrize(
    ("pattern", "text", "groups"),
    [
        (r"in (?P<city>\w+)", "weather in Paris?", {"city": "Paris"}),
        (r"(?P<a>x)|(?P<b>y)", "y", {"a": "", "b": "y"}),
        (r"in (\w+)", "in Paris", True),
    ],
)
def test_named_groups(pattern: str, text: str, groups: Any) -> None:
    assert PREDICATES["regex"].build(pattern, PLAIN)(text) == groups


def test_a_pattern_that_takes_too_long() -> None:
    test = PREDICATES["regex"].build("(?:(?:a|aa)+)+c", FOLD)
    with pytest.raises(RuleError) as caught:
        test("a" * 60)
    assert str(caught.value) == (
        'the pattern "(?:(?:a|aa)+)+c" took more than 0.1 s, or ran out of memory, on this request; simplify it'
    )


PARTS = (
    "a", "-", "[[", "[:", "(", "(?:", "(?P<n>", ")", "[a-z]", "[^ab]", "{2}", "{e}", "(?i)",
    r"\d", r"\b", r"\p{L}", r"\.", "^", "$", ".", "|", "?", "*", "+",
)  # fmt: skip


@given(st.lists(st.sampled_from(PARTS)).map("".join))
def test_a_pattern_whose_import_waits_is_none_that_the_library_refuses(pattern: str) -> None:
    if _reads_alike(pattern):
        regex.compile(pattern)


@pytest.mark.parametrize(
    ("name", "expected", "message", "path"),
    [
        ("regex", "a(b", "invalid regular expression: missing ) at position 3", ()),
        ("regex", "((a{1000}){1000}){1000}", "invalid regular expression: it is too large, or repeats too much", ()),
        ("length", {"les": 1}, 'unknown comparison "les"; choose one of equals, lt, lte, gt, gte', ("les",)),
        (
            "schema",
            {"type": "objekt"},
            "invalid JSON Schema: \"objekt\" is not valid under any of the schemas listed in the 'anyOf' keyword "
            "(at #/type)",
            (),
        ),
    ],
)
def test_what_can_never_be_compared(name: str, expected: Any, message: str, path: tuple[str, ...]) -> None:
    with pytest.raises(UnfitError) as caught:
        PREDICATES[name].build(expected, PLAIN)
    assert (str(caught.value), caught.value.path) == (message, path)


def test_a_schema_fetches_nothing() -> None:
    with pytest.raises(UnfitError, match="refers to another document, and nothing is fetched"):
        PREDICATES["schema"].build({"$ref": "http://127.0.0.1:9/x"}, PLAIN)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/Größe x", "$defs": {"Größe x": {"type": "integer"}}},
        {"$schema": "https://schemas.example/unknown", "type": "integer"},
    ],
)
def test_a_schema_may_be_any_that_generation_reads(schema: Any) -> None:
    test = PREDICATES["schema"].build(schema, PLAIN)
    assert (test(3), test("3")) == (True, False)


def test_a_pattern_of_many_stars_stays_quick() -> None:
    test = PREDICATES["glob"].build("*a" * 50 + "*b", PLAIN)
    assert test("a" * 100_000) is False
    assert test("a" * 100_000 + "b") is True


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "*"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@given(JSON, JSON)
def test_equality_is_that_of_json(one: Any, other: Any) -> None:
    assert is_same(one, other) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))
    assert is_same(one, one)
    assert is_part_of(one, one)


@given(st.lists(st.text("ab*", max_size=3), min_size=1), st.lists(st.text("ab*", max_size=3)))
def test_a_pattern_fits_whatever_stands_for_its_stars(literal: list[str], between: list[str]) -> None:
    pattern = "*".join(piece.replace("*", r"\*") for piece in literal)
    assert split_pieces(pattern) == tuple(literal)
    gaps = [*between, *[""] * len(literal)][: len(literal) - 1]
    text = literal[0] + "".join(gap + piece for gap, piece in zip(gaps, literal[1:], strict=True))
    assert PREDICATES["glob"].build(pattern, PLAIN)(text)


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
        ("a(?:b|c)d", ("a", "d")),
        ("[]abc]xyz", ("xyz",)),
        ("a.b", ("a", "b")),
        ("a|b", ()),
        ("(?i)abc", ()),
        ("(?=abc)", ()),
        (r"\p{L}abc", ()),
        ("[[:alpha:]]abc", ()),
        ("", ()),
    ],
)
def test_literals(pattern: str, pieces: tuple[str, ...]) -> None:
    assert find_literals(pattern) == pieces


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
        assert all(piece in text for piece in find_literals(pattern))


def test_a_schema_that_doubles_is_not_tried_on_what_a_client_sends() -> None:
    links: dict[str, Any] = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**links, "d40": {"type": "integer"}}}
    assert not PREDICATES["schema"].build(schema, PLAIN)("text")
    with pytest.raises(UnfitError, match="too many alternatives for its unevaluated properties"):
        PREDICATES["schema"].build({**schema, "unevaluatedProperties": False}, PLAIN)
