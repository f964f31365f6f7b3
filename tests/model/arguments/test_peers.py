"""Properties that differ in their place keep the order of the text."""

import pytest

from mockserver.model.arguments.assigning import read_properties
from mockserver.model.arguments.properties import in_order, peers
from mockserver.model.arguments.values import Mention

STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (("city_a", "city_b"), [("city_a", "city_b")]),
        (("y", "x"), [("x", "y")]),
        (("second", "first", "note"), [("first", "second")]),
        (("station_2", "station_1", "line_1"), [("station_1", "station_2")]),
        (("source", "target"), [("source", "target")]),
        (("city", "country"), []),
    ],
)
def test_what_is_alike_but_for_its_place_is_a_group(names: tuple[str, ...], groups: list[tuple[str, ...]]) -> None:
    found = peers(read_properties(dict.fromkeys(names, STRING)))
    assert [tuple(prop.name for prop in group) for group in found] == groups


def test_another_type_is_no_peer() -> None:
    assert peers(read_properties({"a": STRING, "b": {"type": "integer"}})) == []


def test_values_are_told_out_in_the_order_of_the_text() -> None:
    one, two = read_properties({"a": STRING, "b": STRING})
    early, late = Mention("name", "Rome", 0, 4), Mention("name", "Oslo", 9, 13)
    assert in_order([(one, late), (two, early)]) == [(one, early), (two, late)]


def test_what_something_is_taken_from_comes_first() -> None:
    one, two = read_properties({"a": {"type": "integer"}, "b": {"type": "integer"}})
    few, many = Mention("number", 12, 9, 11), Mention("number", 50, 17, 19, cue="from")
    assert in_order([(one, few), (two, many)]) == [(one, many), (two, few)]
