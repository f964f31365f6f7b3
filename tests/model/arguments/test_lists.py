"""Several values for one property."""

import pytest

from mockserver.model.arguments.properties import item_of, read_property
from mockserver.model.arguments.reading import read
from mockserver.model.arguments.spoken import after_key, bulleted, candidates, enumerated
from mockserver.model.arguments.values import Mention


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("apples, pears and plums", "string", ["apples", "pears", "plums"]),
        ("1, 2 & 3", "integer", [1, 2, 3]),
        ("Ann, Bob, and Carl", "string", ["Ann", "Bob", "Carl"]),
        ('"a b" or "c"', "string", ["a b", "c"]),
    ],
)
def test_enumerations(text: str, kind: str, expected: list[object]) -> None:
    prop = read_property("things", {"type": "array", "items": {"type": kind}}, 0)
    groups = enumerated(text, list(candidates(read(text), item_of(prop), prop)), item_of(prop))
    assert [mention.value for mention in max(groups)[1]] == expected


def test_items_after_a_key() -> None:
    text = "tags: red, green and blue. Thanks, all"
    assert [m.value for m in after_key(text, Mention("pair", "red", 6, 9))] == ["red", "green", "blue"]


@pytest.mark.parametrize(
    ("text", "expected"), [("x:\n- a b\n* c\n1. d", ["a b", "c", "d"]), ("- alone", []), ("a - b - c", [])]
)
def test_bullets(text: str, expected: list[str]) -> None:
    assert [mention.value for mention in bulleted(text)] == expected
