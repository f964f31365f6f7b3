"""The mentions of texts, given to properties one after the other and split into sets."""

import json
import time
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.model.arguments import NOTHING, Mentions, find_mentions
from mockserver.model.arguments.mentions import read
from tests.kit.loops import rows

TEXT: dict[str, Any] = {"type": "string"}
LISTED: dict[str, Any] = {"type": "array", "items": TEXT}
HELD_OUT_RATE = 0.65  # of whole rows that are right, all of their values and no other

Row = Mapping[str, Any]


def filled(said: Mentions, properties: Mapping[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """The values of an object, and of the objects in it, as whoever makes instances asks for them."""
    return _filled(said, properties, required)[0]


def _filled(
    said: Mentions, properties: Mapping[str, Any], required: tuple[str, ...]
) -> tuple[dict[str, Any], Mentions]:
    schemas = {name: {"type": schema} if isinstance(schema, str) else schema for name, schema in properties.items()}
    validators = {name: jsonschema_rs.validator_for(schema) for name, schema in schemas.items()}
    values, left = said.assign(schemas, lambda name, value: bool(validators[name].is_valid(value)), required=required)
    for name, schema in schemas.items():
        if name not in values and schema.get("type") == "object":
            inner, left = _filled(left, schema["properties"], ())
            values |= {name: inner} if inner else {}
    return values, left


@pytest.mark.parametrize("row", rows("prompts/known"), ids=lambda row: row["say"][:60])
def test_known_prompts_are_understood(row: Row) -> None:
    made = filled(find_mentions(row["say"]), row["for"], tuple(row.get("need", ())))
    assert json.dumps(made, sort_keys=True) == json.dumps(row["give"], sort_keys=True)


def test_most_prompts_that_nothing_was_tuned_on_are_understood() -> None:
    held_out = rows("prompts/held_out")
    right = sum(
        filled(find_mentions(row["say"]), row["for"], tuple(row.get("need", ()))) == row["give"] for row in held_out
    )
    assert right / len(held_out) >= HELD_OUT_RATE


def test_nothing_says_nothing() -> None:
    assert NOTHING.assign({"city": {"type": "string"}}, lambda name, value: True) == ({}, NOTHING)
    assert find_mentions("", "  ") == NOTHING
    assert NOTHING.measure_evidence({"city": {}}) == 0
    assert NOTHING.split({"city": {}}) == (NOTHING,)


def test_later_texts_fill_what_the_first_leaves() -> None:
    said = find_mentions(
        "And the weather in Rome?", '{"city": "Oslo", "days": 4}', "I live in Madrid, in celsius please"
    )
    properties = {"city": "string", "days": "integer", "unit": {"enum": ["celsius", "fahrenheit"]}}
    assert filled(said, properties) == {"city": "Rome", "days": 4, "unit": "celsius"}


def test_a_long_text_is_read_at_both_ends() -> None:
    text = "Weather in Paris. " + "and so on " * 100_000 + "The days: 3"
    assert len(find_mentions(text).text) < 21_000
    assert filled(find_mentions(text), {"city": "string", "days": "integer"}) == {"city": "Paris", "days": 3}


SCHEMA: dict[str, Any] = {
    "city": {"type": "string", "maxLength": 20},
    "count": {"type": "integer", "minimum": 0},
    "price": {"type": "number"},
    "when": {"type": "string", "format": "date"},
    "unit": {"enum": ["c", "f", 3]},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    "query": {"type": "string"},
    "on": {"type": "boolean"},
    "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "filter": {"type": "object", "properties": {"city": {"type": "string"}}},
}
PIECES = r"""in from to Paris Rome "a b" 'it' don't 3 4.5 1,234.50 $5 20% , . : ; = ( ) [ ] { } {"city":"x"} [1,2]
    and or city count 2024-02-30 2024-02-28 tomorrow 3pm 1/0 1/2 f(1,2) f( a:b a=b a@b.co http://a.b/c yes no on
    “q” «q» 「q」
    ``` ` 1e5 twenty five dozen hour minutes #1 +1 - • é 東京 の ½ ² ٣ P1D 99:99 31.31.2024 1e999 ''' \ "
    for that"""
WORDS = st.sampled_from(PIECES.split())
TEXTS = st.one_of(st.lists(WORDS, max_size=30).map(" ".join), st.lists(WORDS, max_size=30).map("".join), st.text())


@settings(deadline=None, max_examples=150)
@given(TEXTS)
def test_mentions_stand_in_their_text_in_order_and_are_json(text: str) -> None:
    said = find_mentions(text)
    starts = [mention.start for mention in said.found]
    assert starts == sorted(starts)
    for mention in said.found:
        assert 0 <= mention.start < mention.end <= len(said.text)
        json.dumps(mention.value, allow_nan=False)


@settings(deadline=None, max_examples=150)
@given(TEXTS)
def test_only_what_fits_is_given_and_always_the_same(text: str) -> None:
    validators = {name: jsonschema_rs.validator_for(schema) for name, schema in SCHEMA.items()}

    def fits(name: str, value: Any) -> bool:
        json.dumps(value, allow_nan=False)
        return bool(validators[name].is_valid(value))

    for said in find_mentions(text).split(SCHEMA):
        given_, left = said.assign(SCHEMA, fits, required=("city", "count", "query"))
        assert all(fits(name, value) for name, value in given_.items())
        assert (given_, left) == said.assign(SCHEMA, fits, required=("city", "count", "query"))


SIGNS = r"""" ' ` ``` « 「 "\ ‘a’b 7 7, 1. 1/ [ { ( f( f(1, a: a= a. a@ http ./ - 0x0 a-1- 日本 1e ((1+ $ #a x,y;"""
HOSTILE = [
    *SIGNS.split(),
    "\n", " ", " 'a", "and ", "one ", "A ", "Ab, ", "- x\n", "+1 ", " 000", "please ", "to the ", "in Ab, CD ",
    "that ", "tell that ", "remind me to ",
]  # fmt: skip


def _work(text: str) -> float:
    """The least processor time of some readings."""

    def once() -> float:
        begun = time.process_time()
        read.__wrapped__(text)
        return time.process_time() - begun

    return min(once() for _ in range(2))


@pytest.mark.parametrize("unit", HOSTILE)
def test_reading_is_linear(unit: str) -> None:
    short, long = (unit * (size // len(unit)) for size in (1_000, 8_000))
    assert _work(long) < 24 * max(_work(short), 0.0005)  # eight times the text; sixty-four if it were quadratic


S, N = "string", "integer"


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("weather in Paris and in London", {"city": S}, [{"city": "Paris"}, {"city": "London"}]),
        ("add 2 and 3", {"a": N, "b": N}, [{"a": 2, "b": 3}]),
        ("add 2 and 3, then 4 and 5", {"a": N, "b": N}, [{"a": 2, "b": 3}, {"a": 4, "b": 5}]),
        (
            "flight from Paris to London",
            {"origin": S, "destination": S},
            [{"origin": "Paris", "destination": "London"}],
        ),
        (
            "add 2 apples and 3 pears",
            {"item": S, "quantity": N},
            [{"item": "apples", "quantity": 2}, {"item": "pears", "quantity": 3}],
        ),
        (
            '[{"name": "A", "age": 1}, {"name": "B", "age": 2}]',
            {"name": S, "age": N},
            [{"name": "A", "age": 1}, {"name": "B", "age": 2}],
        ),
        ("What's the weather in Oslo? And in Rome?", {"city": S}, [{"city": "Oslo"}, {"city": "Rome"}]),
        ("", {"city": S}, [{}]),
    ],
)
def test_sets(text: str, types: dict[str, str], expected: list[dict[str, Any]]) -> None:
    properties = {name: {"type": kind} for name, kind in types.items()}
    sets = find_mentions(text).split(properties)
    assert [said.assign(properties, lambda name, value: True, required=list(types))[0] for said in sets] == expected


def test_what_is_shared_is_in_each_set_and_choices_go_with_theirs() -> None:
    properties = {
        "assignee": {"type": "string"},
        "priority": {"enum": ["low", "high"]},
        "due": {"type": "string", "format": "date"},
    }
    sets = find_mentions("create tickets for Alice (high) and Bob (low), due tomorrow").split(properties)
    assert [said.assign(properties, lambda name, value: True)[0] for said in sets] == [
        {"assignee": "Alice", "priority": "high", "due": "2023-11-15"},
        {"assignee": "Bob", "priority": "low", "due": "2023-11-15"},
    ]


@pytest.mark.parametrize(
    ("text", "schema", "expected"),
    [
        ("What is the price of a banana?", {"item": TEXT}, {"item": "banana"}),
        ("How much does a red apple cost?", {"product": TEXT}, {"product": "red apple"}),
        ("Order 13 is shipped.", {"order_id": {}, "status": TEXT}, {"order_id": "13", "status": "shipped"}),
        ("I need flour, sugar and butter", {"items": LISTED}, {"items": ["flour", "sugar", "butter"]}),
        ("Look in the knowledge base for our refund policy", {"query": TEXT}, {"query": "our refund policy"}),
        ("How many of SKU-99 are in stock?", {"sku": TEXT}, {"sku": "SKU-99"}),
    ],
)
def test_the_words_around_a_value_are_none(text: str, schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert find_mentions(text).assign(schema, lambda name, value: True, required=(*schema,))[0] == expected


def test_stated_values_come_first_and_only_where_they_fit() -> None:
    said = find_mentions("the mode is fast").add_stated({"mode": "slow"})
    assert said.assign({"mode": TEXT}, lambda name, value: True)[0] == {"mode": "slow"}
    assert said.assign({"mode": TEXT}, lambda name, value: value != "slow")[0] != {"mode": "slow"}
    alone = find_mentions("").add_stated({"mode": "slow"})
    assert alone.assign({"mode": TEXT}, lambda name, value: True)[0] == {"mode": "slow"}


def test_how_many_items_a_text_wants() -> None:
    assert find_mentions("Generate 3 quiz questions").find_count("questions")[0] == 3
    assert find_mentions("Generate 3 quiz questions").find_count("answers")[0] is None
