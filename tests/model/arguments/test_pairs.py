"""Values that are given by name."""

from typing import Any

import pytest

from mockserver.model.arguments.reading import calls, fragments, literal, members, pairs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("city: Paris", [("city", "Paris")]),
        ("city=Paris&days=3", [("city", "Paris"), ("days", "3")]),
        ("name: Ada Lovelace, age: 36.", [("name", "Ada Lovelace"), ("age", "36")]),
        ("Note: buy milk. Then go", [("Note", "buy milk")]),
        ('title: "a, b"', [("title", "a, b")]),
        ("**Total**: 5", [("Total", "5")]),
        ("at 15:30 see http://x", []),
        ("a == b", []),
    ],
)
def test_pairs(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(mention.key, mention.value) for mention in pairs(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lookup(3)", [("#0", 3)]),
        ('f(city="Paris, F", days=3)', [("city", "Paris, F"), ("days", 3)]),
        ("f(-2.5, [1, 2], true)", [("#0", -2.5), ("#1", [1, 2]), ("#2", True)]),
        ("f()", []),
        ("the item(s)", []),
        ("f(1", []),
        ("f (1)", []),
    ],
)
def test_calls(text: str, expected: list[tuple[str, Any]]) -> None:
    assert [(mention.key, mention.value) for mention in calls(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('with {"a": [1, {"b": 2}]} and [3]', [{"a": [1, {"b": 2}]}, [3]]),
        ('{"a": "}"}', [{"a": "}"}]),
        ("{a} [b] {'c': 1}", []),
        ('{"a": NaN} {"b": 1e999}', []),
        ('] } {"a": 1}', [{"a": 1}]),
        ("[" * 30 + "]" * 30, []),
    ],
)
def test_fragments(text: str, expected: list[Any]) -> None:
    assert [mention.value for mention in fragments(text)] == expected


def test_members_stand_at_their_keys() -> None:
    text = 'x {"a": {"b": 1}}'
    found = [(m.key, m.value, text[m.start : m.end]) for m in members(text, next(fragments(text)))]
    assert found == [("a", {"b": 1}, '"a"'), ("b", 1, '"b"')]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("3", 3),
        ("-1,5", -1.5),
        ("'a'", "a"),
        ("true", True),
        ("None", "None"),
        ("[1", "[1"),
        ("{'a': 1}", {"a": 1}),
        ("", None),
    ],
)
def test_literals(written: str, value: Any) -> None:
    assert literal(written) == value
