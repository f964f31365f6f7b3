"""Where two JSON values differ: the same walk for reports and the control API."""

from itertools import islice
from typing import Any

import pytest

from mockserver.core.json_diff import ABSENT, JsonDifference, find_differences, pair_names, write_path


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": [1, {"c": 2}]}, {"b": [1, {"c": 3}], "d": 4}, ["removed a", "changed b[1].c", "added d"]),
        ([1, 2], [1], ["removed [1]"]),
        ([], ["x", "y"], ["added [0]", "added [1]"]),
        ({"a": None}, {}, ["removed a"]),
        ({"a": True}, {"a": 1}, ["changed a"]),
        ({"a": 1}, {"a": 1.0}, ["changed a"]),
        ({"a": {}}, {"a": []}, ["changed a"]),
        ("x", "y", ["changed "]),
    ],
)
def test_differences_are_told_by_kind_and_place(one: Any, other: Any, told: list[str]) -> None:
    assert [f"{found.kind} {found.where}" for found in find_differences(one, other)] == told


def test_a_difference_has_both_values() -> None:
    (found,) = find_differences({"a": [{"b": 1}]}, {"a": [{}]})
    assert found == JsonDifference(("a", 0, "b"), 1, ABSENT)


def test_names_of_the_first_come_first_in_the_order_in_which_they_are_written() -> None:
    found = find_differences({"z": 1, "a": 1}, {"b": 1, "a": 2, "z": 2})
    assert [each.where for each in found] == ["z", "a", "b"]


def test_what_belongs_together_and_what_is_equal_can_be_said() -> None:
    def pair(one: Any, other: Any) -> Any:
        return pair_names(one, other) if isinstance(one, dict) and isinstance(other, dict) else None

    found = find_differences(
        {"a": [1, 2], "b": "X"}, {"a": [2], "b": "x"}, pair=pair, equal=lambda x, y: len(x) == len(y)
    )
    assert list(found) == [JsonDifference(("a",), [1, 2], [2])]


def test_a_few_differences_of_huge_values_cost_little() -> None:
    looked_at = list[Any]()

    def equal(one: Any, other: Any) -> bool:
        looked_at.append(one)
        return bool(one == other)

    found = find_differences(list(range(10**6)), [-1] * 10**6, equal=equal)
    assert [each.where for each in islice(found, 3)] == ["[0]", "[1]", "[2]"]
    assert looked_at == [0, 1, 2]


def test_no_depth_is_too_much() -> None:
    one, other = [1], [2]
    for _ in range(10_000):
        one, other = [one], [other]
    (found,) = find_differences(one, other)
    assert (len(found.path), found.one, found.other) == (10_001, 1, 2)


def test_paths() -> None:
    assert write_path(("messages", 0, "content")) == "messages[0].content"
    assert write_path(()) == ""
