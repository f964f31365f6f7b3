"""What properties ask for, and mentions given to them as values of their types."""

from typing import Any

import pytest

from mockserver.model.arguments import find_mentions
from mockserver.model.arguments.assigning import convert, rank_candidates, read_properties
from mockserver.model.arguments.evidence import read_property
from mockserver.model.arguments.mentions import Mention, read


def given(text: str, properties: dict[str, Any], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    return find_mentions(text).assign(properties, lambda name, value: True, required=required)[0]


INTEGER, STRING = {"type": "integer"}, {"type": "string"}


def test_weaker_evidence_is_enough_for_what_is_required() -> None:
    assert given("Oslo", {"city": STRING}) == {}
    assert given("Oslo", {"city": STRING}, required=("city",)) == {"city": "Oslo"}
    assert given("fold the laundry", {"input": STRING}, required=("input",)) == {"input": "fold the laundry"}


def test_the_next_form_is_given_where_the_first_does_not_fit() -> None:
    properties = {"time": {"type": "string", "format": "time"}}
    assert find_mentions("at 10:30").assign(properties, lambda name, value: value == "10:30")[0] == {"time": "10:30"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The lamp is broken, tags: lamp, refund", ["lamp", "refund"]),
        ("tags: order, book, lamp", ["order", "book", "lamp"]),
        ("tags: report and refund", ["report", "refund"]),
    ],
)
def test_words_that_request_something_elsewhere_are_items_of_a_list(text: str, expected: list[str]) -> None:
    schema = {"tags": {"type": "array", "items": STRING}}
    assert find_mentions(text).assign(schema, lambda name, value: isinstance(value, list))[0] == {"tags": expected}


def test_work_is_bounded_by_pairs() -> None:
    text = "in Rome, " * 400
    properties = {f"city{at}": STRING for at in range(2_000)}
    assert len(rank_candidates(text, read(text), read_properties(properties))) <= 45_000


def test_what_stands_at_the_ends_is_weighed() -> None:
    text = "Ann. " * 190 + "city: Oslo."
    schemas = {f"p{at}": {"type": "boolean"} for at in range(600)} | {"city": STRING}
    assert find_mentions(text).assign(schemas, lambda name, value: True)[0] == {"city": "Oslo"}


@pytest.mark.parametrize(
    ("mention", "name", "schema", "expected"),
    [
        (("number", 3), "x", {"type": "integer"}, 3),
        (("number", 3), "x", {"type": "string"}, "3 km"),
        (("number", 2.5), "x", {"type": "integer"}, None),
        (("duration", 2700, "minutes"), "minutes", {"type": "integer"}, 45),
        (("duration", 2700, "minutes"), "timeout_seconds", {"type": "number"}, 2700),
        (("duration", 2700, "minutes"), "x", {"type": "number", "description": "in hours"}, 0.75),
        (("duration", 2700, "minutes"), "x", {"type": "integer"}, 45),
        (("duration", 2700, "minutes"), "x", {"format": "duration"}, "PT45M"),
        (("date", "2025-03-03"), "x", {"format": "date-time"}, "2025-03-03T00:00:00Z"),
        (("datetime", "2025-03-03T10:30:00Z"), "x", {"format": "date"}, "2025-03-03"),
        (("datetime", "2025-03-03T10:30:00Z"), "time", {"type": "string"}, "10:30"),
        (("time", "10:30"), "x", {"type": "string", "format": "time"}, "10:30:00Z"),
        (("money", 5, "USD"), "currency", {"type": "string"}, "USD"),
        (("name", "euros"), "currency", {"type": "string"}, "EUR"),
        (("pair", "5 km"), "x", {"type": "number"}, 5),
        (("pair", "yes"), "x", {"type": "boolean"}, True),
        (("member", False), "x", {"type": "boolean"}, False),
        (("member", {"a": 1}), "x", {"type": "object"}, {"a": 1}),
        (("member", {"a": 1}), "x", {}, {"a": 1}),
        (("name", "Paris"), "x", {"type": "integer"}, None),
        (("number", 40, "%"), "level", {"type": "number", "maximum": 1}, 0.4),
    ],
)
def test_values(mention: tuple[Any, ...], name: str, schema: Any, expected: Any) -> None:
    kind, value, *unit = mention
    made = convert("3 km", Mention(kind, value, 0, 4, unit="".join(unit)), read_property(name, schema, 0))
    assert next(made, None) == expected


@pytest.mark.parametrize(
    ("name", "schema", "semantic_type"),
    [
        ("x", {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}, "place"),
        ("user_id", {"type": "integer"}, "id"),
        ("guests", {"type": "array", "items": {"type": "string"}}, "person"),
        ("source_code", {"type": "string"}, "code"),
        ("frobnicator", {"type": "string"}, ""),
    ],
)
def test_natures(name: str, schema: Any, semantic_type: str) -> None:
    assert read_property(name, schema, 0).semantic_type == semantic_type


@pytest.mark.parametrize(
    ("schema", "types", "choices"),
    [
        ({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}, ("string",), ("a",)),
        ({"type": ["integer", "null"]}, ("integer",), ()),
        ({"const": 3}, (), (3,)),
        ({"minimum": 1}, ("number",), ()),
        (True, (), ()),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, ("integer", "string"), ()),
    ],
)
def test_types_and_choices(schema: Any, types: tuple[str, ...], choices: tuple[Any, ...]) -> None:
    prop = read_property("x", schema, 0)
    assert (prop.types, prop.choices) == (types, choices)


def test_what_something_is_taken_from_comes_first() -> None:
    both = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    assert given("Subtract 12 from 50", both, required=("a", "b")) == {"a": 50, "b": 12}
    assert given("Add 12 to 50", both, required=("a", "b")) == {"a": 12, "b": 50}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I live in Boston, MA with my family.", {"city": "Boston", "state": "MA"}),
        ("Weather in Boston, MA", {"city": "Boston, MA"}),
        ("She moved to Austin, Texas.", {"city": "Austin", "state": "Texas"}),
        ("to 10 Main St, Denver, CO 80202", {"street": "10 Main St", "city": "Denver", "state": "CO", "zip": "80202"}),
        ("221B Baker Street, London NW1 6XE", {"street": "221B Baker Street", "city": "London", "postcode": "NW1 6XE"}),
        ("It is 12 Baker Street in London.", {"number": "12", "street": "Baker Street", "city": "London"}),
        ("Er wohnt in 10115 Berlin.", {"plz": "10115", "city": "Berlin"}),
        ("2020 Ford F-150, red", {"year": "2020", "make": "Ford", "model": "F-150", "color": "red"}),
        ("Ann Lee is selling her 2018 Honda Accord.", {"seller": "Ann Lee", "make": "Honda", "model": "Accord"}),
        ("Jay Miller is a 29 year old teacher.", {"name": "Jay Miller", "occupation": "teacher"}),
        ("Mi chiamo Luca Rossi, ho 22 anni e vivo a Milano.", {"name": "Luca Rossi", "city": "Milano"}),
        ("Me llamo Eva Gil y tengo 45 años.", {"nombre": "Eva Gil", "edad": "45"}),
        ("Eva Gil joined Acme as Head of Sales.", {"name": "Eva Gil", "company": "Acme", "position": "Head of Sales"}),
        ("The Acme XK-200 drill costs 30 euros.", {"product_name": "Acme XK-200"}),
    ],
)
def test_properties_ask_for_parts_of_what_is_said(text: str, wanted: dict[str, str]) -> None:
    assert given(text, dict.fromkeys(wanted, STRING), required=tuple(wanted)) == wanted
