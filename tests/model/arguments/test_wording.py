"""Choices, booleans and lists in the words of a text."""

import pytest

from mockserver.model.arguments import find_mentions
from mockserver.model.arguments.assigning import find_boolean, find_choices
from mockserver.model.arguments.evidence import read_property


@pytest.mark.parametrize(
    ("text", "choices", "expected"),
    [
        ("in celsius", ["C", "F"], "C"),
        ("20 °F", ["C", "F"], "F"),
        ("size M", ["S", "M"], "M"),
        ("in-progress ones", ["OPEN", "IN_PROGRESS"], "IN_PROGRESS"),
        ("all cities", ["city", "town"], "city"),
        ("not low but high", ["low", "high"], "high"),
        ("a cat", ["C", "A"], None),
    ],
)
def test_choices(text: str, choices: list[str], expected: str | None) -> None:
    found = sorted(find_choices(text, read_property("x", {"enum": choices}, 0)), key=lambda pair: -pair[0])
    assert (found[0][1].value if found else None) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("enable notifications", "notifications", True),
        ("without gift wrap", "gift_wrap", False),
        ("don't overwrite it", "overwrite", False),
        ("list recursively", "recursive", True),
        ("verbose=false", "verbose", False),
        ("no rush, include images", "include_images", True),
        ("dry-run", "dryRun", True),
        ("hello", "verbose", None),
    ],
)
def test_yes_and_no(text: str, name: str, expected: bool | None) -> None:
    assert find_boolean(text, read_property(name, {"type": "boolean"}, 0)) is expected


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("1, 2 & 3", "integer", [1, 2, 3]),
        ('"a b" or "c"', "string", ["a b", "c"]),
    ],
)
def test_enumerations(text: str, kind: str, expected: list[object]) -> None:
    given, _ = find_mentions(text).assign({"things": {"type": "array", "items": {"type": kind}}}, lambda *_: True)
    assert given["things"] == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("x:\n- a b\n* c\n1. d", ["a b", "c", "d"]), ("- alone", None), ("a - b - c", None)]
)
def test_bullets(text: str, expected: list[str] | None) -> None:
    given, _ = find_mentions(text).assign({"points": {"type": "array", "items": {"type": "string"}}}, lambda *_: True)
    assert given.get("points") == expected
