"""What the prompt says reaches the values of a schema, unless it does not fit."""

from collections.abc import Mapping
from json import loads
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.json import Json
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.arguments import Mentions, find_mentions
from mockserver.model.auto import answer_as_model
from mockserver.model.reply import write_instance
from mockserver.model.schema import generate_instance
from tests.kit.calls import call


class Stated(Mentions, frozen=True):
    """A prompt that gives these values to properties by their names, if they fit, and parts itself into sets."""

    values: Any = ()
    parted: Any = ()

    def assign(self, properties: Mapping[str, Any], fits: Any, *, required: Any = (), owner: str = "") -> Any:
        values = dict(self.values)
        taken = {name: values.pop(name) for name in properties if name in values and fits(name, values[name])}
        return taken, Stated(values=tuple(values.items()), parted=self.parted)

    def measure_evidence(self, properties: Mapping[str, Any]) -> float:
        return sum(name in dict(self.values) for name in properties) / len(properties)

    def split(self, properties: Mapping[str, Any], *, listed: bool = False) -> Any:
        return tuple(Stated(values=tuple(one.items())) for one in self.parted) or (self,)


def made(schema: Any, **values: Any) -> Any:
    return generate_instance(schema, Seed(1), Stated(values=tuple(values.items())))


CITY: Any = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}}}


def test_a_gap_of_an_example_is_no_value() -> None:
    reason: Any = {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}
    said = find_mentions('Judge it. Example JSON:\n{"reason": "<your_reason>"}')
    assert "your_reason" not in generate_instance(reason, Seed(1), said)["reason"]


def test_the_prompt_wins_over_defaults() -> None:
    assert made(CITY, city="Bergen", days=7) == {"city": "Bergen", "days": 7}
    assert made({**CITY, "required": ["days"]}, city="Bergen")["days"] == 3
    assert made({**CITY, "default": {}}, city="Bergen")["city"] == "Bergen"
    assert made({**CITY, "default": {}}) == {}


def test_values_that_do_not_fit_are_not_used() -> None:
    assert made({**CITY, "required": ["days"]}, days="soon")["days"] == 3


def test_optional_properties_that_are_said_are_there() -> None:
    schema = {"type": "object", "properties": {f"p{at}": {"type": "integer"} for at in range(100)}}
    assert made(schema, p99=5)["p99"] == 5


def test_optional_properties_that_are_not_said_are_left_out() -> None:
    properties: Any = {"city": {"type": "string"}, "note": {"type": "string"}, "stay": CITY, "guest": {"items": CITY}}
    assert made({"type": "object", "properties": properties}, city="Bergen") == {"city": "Bergen"}
    found = made({"type": "object", "properties": properties}, note="quiet", days=4)
    assert found == {"note": "quiet", "stay": {"days": 4}}
    assert (
        made({"type": "object", "properties": {**properties, "stay": {}}}, note="quiet", days=4)["guest"][0]["days"]
        == 4
    )


def test_nested_objects_get_what_is_left() -> None:
    schema = {"type": "object", "properties": {"trip": CITY, "note": {"const": "x"}}, "required": ["trip"]}
    assert made(schema, city="Bergen")["trip"]["city"] == "Bergen"


def test_alternatives_follow_what_is_said() -> None:
    cat = {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind", "lives"]}
    dog = {"properties": {"kind": {"const": "dog"}, "tricks": {"type": "string"}}, "required": ["kind", "tricks"]}
    schema = {"type": "object", "properties": {"kind": {"type": "string"}}, "anyOf": [cat, dog]}
    assert made(schema, kind="dog")["kind"] == "dog"
    assert made(schema, lives=9) == {"kind": "cat", "lives": 9}
    assert made(schema, tricks="roll") == {"kind": "dog", "tricks": "roll"}


def test_conditions_follow_what_is_said() -> None:
    schema = {
        "type": "object",
        "properties": {"country": {"enum": ["US", "NL"]}, "code": {"type": "string"}},
        "required": ["country", "code"],
        "if": {"properties": {"country": {"const": "US"}}},
        "then": {"properties": {"code": {"pattern": "^[0-9]{5}$"}}},
        "else": {"properties": {"code": {"pattern": "^[0-9]{4} [A-Z]{2}$"}}},
    }
    assert made(schema, country="NL", code="1234 AB") == {"country": "NL", "code": "1234 AB"}
    assert made(schema, code="12345") == {"country": "US", "code": "12345"}


def test_lists_have_an_item_for_each_object_in_the_prompt() -> None:
    said = Stated(parted=({"city": "Bergen"}, {"city": "Oslo"}, {"city": "Tromsø"}))
    found = generate_instance({"type": "array", "items": {"$ref": "#/$defs/c"}, "$defs": {"c": CITY}}, Seed(1), said)
    assert [one["city"] for one in found] == ["Bergen", "Oslo", "Tromsø"]
    assert len(generate_instance({"type": "array", "items": CITY, "maxItems": 2}, Seed(1), said)) == 2


@pytest.mark.parametrize(("title", "expected"), [("Count", 5), (None, 5)])
def test_a_value_that_is_no_object_is_asked_for_as_one_property(title: Any, expected: int) -> None:
    schema = {"type": "integer", **({"title": title} if title else {})}
    assert made(schema, **{title or "answer": expected}) == expected
    assert isinstance(made(schema, **{title or "answer": "five"}), int)


def test_properties_are_shown_with_their_references_resolved() -> None:
    seen: dict[str, Any] = {}

    class Listening(Mentions, frozen=True):
        def assign(self, properties: Mapping[str, Any], fits: Any, *, required: Any = (), owner: str = "") -> Any:
            seen.update(properties, required=tuple(required))
            return {}, self

    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"$ref": "#/$defs/x", "title": "A"},
            "b": {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]},
        },
        "$defs": {"x": {"allOf": [{"type": "string"}, {"format": "date"}]}},
    }
    generate_instance(schema, Seed(1), Listening())
    assert seen["required"] == ("a",)
    assert seen["a"] == {"title": "A", "type": "string", "format": "date"}
    assert seen["b"] == {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}


def test_a_nullable_object_takes_what_the_prompt_says_of_it() -> None:
    person = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    }
    maybe = {"type": "object", "properties": {"result": {"anyOf": [person, {"type": "null"}], "default": None}}}
    assert generate_instance(maybe, Seed(1), find_mentions("Sara is 41 years old."))["result"] == {
        "name": "Sara",
        "age": 41,
    }
    assert generate_instance(maybe, Seed(1), find_mentions("Unknown.")).get("result") is None


def test_a_list_of_objects_leaves_the_rest_to_what_stands_beside_it() -> None:
    item = {
        "type": "object",
        "properties": {"crop": {"type": "string"}, "tons": {"type": "integer"}},
        "required": ["crop", "tons"],
    }
    schema = {
        "type": "object",
        "properties": {"place": {"type": "string"}, "crops": {"type": "array", "items": item}},
        "required": ["place", "crops"],
    }
    made = generate_instance(
        schema, Seed(1), find_mentions("The farm in Iowa sold 1200 tons of corn and 800 tons of soy.")
    )
    assert made == {"place": "Iowa", "crops": [{"crop": "corn", "tons": 1200}, {"crop": "soy", "tons": 800}]}


def test_a_prompt_that_fills_one_item_wants_no_others() -> None:
    person = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"users": {"type": "array", "items": person}}, "required": ["users"]}
    for seed in range(5):
        assert generate_instance(schema, Seed(seed), find_mentions("Ann is 30 years old")) == {
            "users": [{"name": "Ann", "age": 30}]
        }
        assert len(generate_instance(schema, Seed(seed), find_mentions("Invent 4 users"))["users"]) == 4


def test_optional_properties_that_nobody_mentions_are_left_out() -> None:
    properties = {"title": {"type": "string"}, "start": {"type": "string", "format": "date"}}
    optional = {"type": "object", "properties": properties}
    for seed in range(5):
        found = generate_instance({**optional, "required": ["title"]}, Seed(seed), find_mentions("Meet at noon"))
        assert list(found) == ["title"]
        assert generate_instance(optional, Seed(seed), replace(find_mentions("Do it"), sparse=True)) == {}
    assert any(generate_instance(optional, Seed(seed), find_mentions("Do it")) for seed in range(5))


ADA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "email": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "age": {"type": ["integer", "null"]},
    },
    "required": ["name", "email", "age"],
}


@pytest.mark.parametrize(
    ("said", "email", "age"),
    [
        ("Extract the person: Ada Lovelace. If a field is missing, use null.", None, None),
        ("Extract the person: Ada Lovelace, 36", None, 36),
        ("Ada Lovelace, ada@x.com", "ada@x.com", None),
    ],
)
def test_what_the_prompt_does_not_say_is_null_where_it_may_be(said: str, email: Json, age: Json) -> None:
    (part,) = write_instance(call(said, schema=ADA), Seed(1), {}).parts
    assert isinstance(part, Text)
    assert loads(part.text) == {"name": "Ada Lovelace", "email": email, "age": age}
    (part,) = write_instance(call("Make up a person.", schema=ADA), Seed(1), {}).parts
    assert isinstance(part, Text)
    assert None not in loads(part.text).values()


@pytest.mark.parametrize(
    ("prompt", "name", "count"),
    [
        ("List 3 fruits", "fruits", 3),
        ("Give me three colours.", "colors", 3),
        ("Name five European capitals", "capitals", 5),
    ],
)
def test_a_number_of_items_is_no_item(prompt: str, name: str, count: int) -> None:
    texts = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {name: texts}, "required": [name]}
    for seed in range(5):
        listed = generate_instance(schema, Seed(seed), find_mentions(prompt))[name]
        assert len({*listed}) == len(listed) == count
        assert len(generate_instance(texts, Seed(seed), find_mentions(prompt))) == count
        assert not {"3", "three", "five", name} & {*listed}


def test_a_number_before_what_is_listed() -> None:
    texts = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {"tags": texts}, "required": ["tags"]}
    assert generate_instance(schema, Seed(1), find_mentions("Use these 3 tags: red, green, blue"))["tags"] == [
        "red",
        "green",
        "blue",
    ]


def test_once_work_was_done_the_answer_comes_before_more_work() -> None:
    answer = {"type": "object", "title": "Response", "properties": {"response": {"type": "string"}}}
    work = {"type": "object", "title": "Plan", "properties": {"steps": {"type": "array", "items": {"type": "string"}}}}
    schema = {"type": "object", "required": ["action"], "properties": {"action": {"anyOf": [work, answer]}}}
    schema["properties"]["action"]["anyOf"] = [{**each, "required": [*each["properties"]]} for each in (work, answer)]
    prompt = (
        "What is the tallest hill?\nYou have done the following steps:\n[('look it up', 'Rysy')]\nUpdate your plan."
    )
    (part,) = answer_as_model(call(prompt, response_format="json_schema", schema=schema), Seed(0), {}).parts
    assert isinstance(part, Text)
    assert loads(part.text)["action"].keys() == {"response"}
