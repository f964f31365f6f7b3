"""YAML without what has no place in a cassette."""

import pytest

from mockserver.cassettes.yaml_text import Refused, parse
from mockserver.config.yaml_reader import MAX_DEPTH, TOO_DEEP


def test_scalars_stay_as_they_are_written() -> None:
    node = parse("a: 1.50\n'b': ['yes', yes, ~]")
    assert node is not None
    assert [(key, inner.spot) for key, inner in node.value.items()] == [("a", (0, 3)), ("b", (1, 5))]
    assert (node.value["a"].value, node.value["a"].bare) == ("1.50", True)
    assert [(item.value, item.bare) for item in node.value["b"].value] == [("yes", False), ("yes", True), ("~", True)]
    assert [node.find_key_spot(key) for key in "ab"] == [(0, 0), (1, 0)]


@pytest.mark.parametrize("text", ["", "# only this\n", "---\n", "---\n# a\n...\n"])
def test_nothing_is_nothing(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "words", "spot"),
    [
        ("a: &x 1\nb: *x", "anchors (&) are not allowed in a cassette; remove this one", (0, 3)),
        ("b: *x", "aliases (*) are not allowed in a cassette; write the value itself", (0, 3)),
        ("a: &x [1]", "anchors (&) are not allowed in a cassette; remove this one", (0, 3)),
        (
            "a: !!python/object/apply:os.system ['true']",
            "tags (!) are not allowed in a cassette; remove this one",
            (0, 3),
        ),
        ("a: !!str 1", "tags (!) are not allowed in a cassette; remove this one", (0, 3)),
        ("a: !x {}", "tags (!) are not allowed in a cassette; remove this one", (0, 3)),
        ("a: 1\nb: 2\na: 3", 'duplicate key "a"', (2, 0)),
        ("? [a]\n: 1", "a key must be a string", (0, 2)),
        ("a\n---\nb", 'a document begins with "---" on a line of its own', (1, 0)),
        ("a: 1\n...\nb: 2", "this line is not indented like the first one", (2, 0)),
        ("a: [1\n", 'this "[" is never closed', (0, 3)),
        (
            "a: b: c",
            'this ":" is not allowed here: put text that contains ": " in quotes, or fix the indentation',
            (0, 4),
        ),
        ("a: 'x\n", "this quote is never closed", (0, 3)),
        ("a: \x00", 'the character U+0000 is not allowed in YAML; write "\\u0000" in double quotes', (0, 3)),
        ("a:\n b: \x7f", 'the character U+007F is not allowed in YAML; write "\\u007f" in double quotes', (1, 4)),
        ("[" * 200, TOO_DEEP, (0, MAX_DEPTH)),
        ("- " * 100_000, TOO_DEEP, (0, 2 * MAX_DEPTH)),
    ],
)
def test_all_else_is_refused_where_it_stands(text: str, words: str, spot: tuple[int, int]) -> None:
    with pytest.raises(Refused) as caught:
        parse(text)
    assert (caught.value.words, caught.value.spot) == (words, spot)


def test_what_the_parser_itself_finds_too_deep_is_worded_alike() -> None:
    with pytest.raises(Refused) as caught:  # before 6.0.4, PyYAML has no limit, and ours is met first
        parse("[" * 100_000 + "]" * 100_000)
    assert (caught.value.words, caught.value.spot[0]) == (TOO_DEEP, 0)
