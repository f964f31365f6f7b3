"""Answers in JSON, whoever asks for it, and the JSON that prompts describe."""

import json
from typing import Any

import pytest

from mockserver.core.call import Message
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model import reply
from mockserver.model.conversation import unwrap
from mockserver.model.shapes import (
    FoundValue,
    _read_descriptions,
    add_stated_bounds,
    asks_for_json,
    find_shape,
    infer_shape,
    read_loosely,
)
from mockserver.model.vocabulary import read_word_lists
from tests.kit.calls import call

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ONLY_SEVEN = {"type": "object", "properties": {"n": {"const": 7}}, "required": ["n"]}


def written(choice: DraftChoice | None) -> str:
    assert choice is not None
    (part,) = choice.parts
    assert isinstance(part, Text)
    return part.text


def ordered(said: str, *before: Message, **asked: Any) -> str:
    return written(reply.find_described_value(unwrap(call(*before, Message("user", said), **asked)), Seed(1)))


def as_json(said: str) -> Json:
    return json.loads(written(reply.write_json(call(said), Seed(1), {})))


def test_json_is_an_object() -> None:
    assert list(as_json("Hi there")) == ["topic", "answer", "confidence", "tags"]
    assert list(as_json("Return a JSON array of objects with keys name and email")) == ["items"]


def test_an_object_has_the_keys_that_the_prompt_names_and_its_values() -> None:
    keys = "Return JSON with keys name and email: bob@example.com"
    for found in (as_json(keys), json.loads(ordered(keys))):
        assert list(found) == ["name", "email"]
        assert found["email"] == "bob@example.com"
    assert "tags" in json.loads(ordered("Respond with a JSON object about tea"))


def test_bounds_that_a_description_tells() -> None:
    told = {"verdict": "The verdict (0 or 1)", "stars": "from 1 to 5", "share": "between 0 and 1", "year": "in 2024"}
    schema = {"properties": {name: {"type": "integer", "description": about} for name, about in told.items()}}
    bounds = {
        name: (each.get("minimum"), each.get("maximum"))
        for name, each in add_stated_bounds(schema)["properties"].items()
    }
    assert bounds == {"verdict": (0, 1), "stars": (1, 5), "share": (0, 1), "year": (None, None)}


def test_bounds_are_told_by_long_schemas_which_are_not_remembered() -> None:
    schema = {"properties": {"stars": {"type": "integer", "description": "from 1 to 5 " + "x" * 30_000}}}
    before = _read_descriptions.cache_info().currsize
    assert add_stated_bounds(schema)["properties"]["stars"]["maximum"] == 5
    assert _read_descriptions.cache_info().currsize == before


@pytest.mark.parametrize(
    ("prompt", "bounds"),
    [
        ('Output JSON with these keys:\n  "score"  – 0 to 3, where 0 is the lowest', (0, 3)),
        ("Give a score between 1 and 5, and a reason.", (1, 5)),
        ("score (0.0-1.0): how good it is", (0.0, 1.0)),
        ("The scores of the teams were 3 to 1.", (None, None)),
        ("Rate it.", (None, None)),
    ],
)
def test_bounds_that_a_prompt_tells_by_a_name(prompt: str, bounds: Json) -> None:
    schema = {"properties": {"score": {"type": "number", "description": "The score."}, "other": {"type": "integer"}}}
    score, other = add_stated_bounds(schema, prompt)["properties"].values()
    assert (score.get("minimum"), score.get("maximum")) == bounds
    assert other == {"type": "integer"}


@pytest.mark.parametrize("quotes", ["'''", '"""'])
def test_what_stands_between_three_quotes_is_read_for_values(quotes: str) -> None:
    cart = "interface Cart {\n items: Item[];\n}\ninterface Item {\n name: string;\n quantity: number;\n}"
    found = ordered(
        f'You translate requests into JSON objects of type "Cart" according to these definitions:\n```\n{cart}\n```\n'
        f"The following is a user request:\n{quotes}\ntwo lattes and one bagel please\n{quotes}\n"
        "The following is the user request translated into a JSON object with 2 spaces of indentation:\n"
    )
    items = [{"name": "lattes", "quantity": 2}, {"name": "bagel", "quantity": 1}]
    assert json.loads(found) == {"items": items}


def test_keys_on_lines_of_their_own() -> None:
    keys = '"why"   – One sentence.\n  "score" – 0 to 3, where 3 is the best'
    found = as_json(f"Output only a JSON object with exactly these keys:\n  {keys}\n\nTea is good.")
    assert list(found) == ["why", "score"]
    assert found["score"] in range(4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{\n"a": "he said "no" to it",\n"b": 1\n}', {"a": 'he said "no" to it', "b": 1}),
        ('{\n"a": "never closed\n}', {"a": "never closed"}),
        ('{\n"a": "x" | "y"\n}', {"a": '"x" | "y"'}),
    ],
)
def test_texts_that_are_quoted_badly(text: str, value: Json) -> None:
    found = read_loosely(text, 0)
    assert found is not None
    assert found.value == value


def test_a_schema_in_the_prompt_or_in_the_instructions() -> None:
    schema = json.dumps(ONLY_SEVEN)
    assert ordered(f"Answer in JSON of this schema: {schema}") == '{"n":7}'
    assert ordered(f"Answer with JSON in a ```json block, of this schema: {schema}") == '```json\n{"n":7}\n```'
    assert ordered("Hello", Message("system", f"Always answer in JSON of this schema: {schema}")) == '{"n":7}'
    assert written(reply.write_instance(call(f"The schema: {schema}"), Seed(1), {})) == '{"n":7}'


def test_an_order_in_an_earlier_message_of_the_same_turn() -> None:
    order = Message("user", f"Extract a valid object by the json schema below.\n{WEATHER}\nRespond with JSON only.")
    assert json.loads(ordered("It rains in Oslo.", order)) == {"city": "Oslo"}
    answered = (order, Message("assistant", "{}"))
    assert reply.find_described_value(call(*answered, Message("user", "It rains in Oslo.")), Seed(1)) is None


def test_a_last_message_that_only_shows_the_json() -> None:
    shown = 'Output ONLY a JSON dict that adheres to this schema:\n{"properties": {"title": {"type": "string"}}}'
    said = Message("user", "Extract The Name of the Wind by Patrick Rothfuss")
    assert ordered(shown, said) == '{"title":"The Name of the Wind"}'


def test_a_prompt_that_orders_no_json() -> None:
    for said in ("Hello", f"The schema: {json.dumps(ONLY_SEVEN)}", "What is JSON?"):
        assert reply.find_described_value(call(said), Seed(1)) is None


def test_the_schema_of_the_options_wins_over_that_of_the_call() -> None:
    asked = call("Hi there", schema=WEATHER)
    assert list(json.loads(written(reply.write_instance(asked, Seed(1), {})))) == ["city"]
    assert written(reply.write_instance(asked, Seed(1), {"schema": {"const": "é"}})) == '"é"'
    assert isinstance(json.loads(written(reply.write_instance(call("Hi there"), Seed(1), {}))), dict)


PERSON = {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}
INSTRUCTIONS = (
    "The output should be formatted as a JSON instance that conforms to the JSON schema below.\n\n"
    'As an example, for the schema {"properties": {"foo": {"type": "array", "items": {"type": "string"}}}} the object '
    '{"foo": ["bar"]} is well-formatted. The object {"properties": {"foo": ["bar"]}} is not.\n\n'
)


@pytest.mark.parametrize(
    "text",
    [
        f"{INSTRUCTIONS}Here is the output schema:\n```\n{json.dumps(PERSON)}\n```\nJohn is 30.",
        f"Provide the objects in json that match the following json_schema:\n\n{PERSON}\n\nReturn an instance.",
        f"Respond with JSON of the schema {json.dumps({'name': 'person', 'strict': True, 'schema': PERSON})}.",
    ],
)
def test_a_schema_in_the_prompt(text: str) -> None:
    found = find_shape(text)
    assert found is not None
    assert found.schema == PERSON


def test_the_properties_of_a_schema_in_the_prompt() -> None:
    properties = json.dumps(PERSON["properties"])
    found = find_shape(f"Respond in JSON. The properties of each field:\n{properties}")
    assert found is not None
    assert found.schema["properties"] == PERSON["properties"]
    assert found.schema["required"] == ["name", "age"]
    of_a_tool = find_shape(f'Tools:\nfind, args: {properties}\nRespond in JSON like {{"tool": "..."}}.')
    assert of_a_tool is not None
    assert list(of_a_tool.schema["properties"]) == ["tool"]


def test_what_else_a_prompt_says_gives_the_values() -> None:
    found = find_shape(f"John is 30. {INSTRUCTIONS}\n```json\n{json.dumps(PERSON)}\n```\nHe lives in Rome.")
    assert found is not None
    assert "John is 30" in found.rest
    assert "lives in Rome" in found.rest
    assert "properties" not in found.rest
    assert "```" not in found.rest


KEYS: list[tuple[str, dict[str, str | None]]] = [
    ("Return JSON with keys name, age and city.", {"name": "string", "age": "integer", "city": "string"}),
    ("Return JSON with the fields: id (integer), email (string)", {"id": "integer", "email": "string"}),
    ('Reply with JSON that has a "summary" key and a "score" key.', {"summary": "string", "score": "number"}),
    ("Answer as JSON with the following keys:\n- `title`: a title\n* tags (list of strings): tags\n1. is_open - if",
     {"title": "string", "tags": "array", "is_open": "boolean"}),
    ('Extract the person as JSON: {"name": "...", "age": 0}', {"name": "string", "age": "integer"}),
    ("Reply in JSON like {name, age}", {"name": "string", "age": "integer"}),
    ("{ name: string; age: number } is the format. Respond in json", {"name": "string", "age": "integer"}),
    ('Give JSON with "mood" (good/bad) and "sure" (0 to 1)', {"mood": None, "sure": "number"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "types"), KEYS)
def test_keys_in_the_prompt(text: str, types: dict[str, str | None]) -> None:
    found = find_shape(text)
    assert found is not None
    properties: dict[str, Any] = found.schema["properties"]
    assert {name: schema.get("type") for name, schema in properties.items()} == types
    assert found.schema["required"] == list(types)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Respond with a valid JSON object", True),
        ("What is JSON?", False),
        ("Write a Python function that parses JSON and returns the keys", False),
        ("Tell me about the keys of a piano", False),
    ],
)
def test_asks_for_json(text: str, asked: bool) -> None:
    assert asks_for_json(text) is asked
    assert find_shape(text) is None


@pytest.mark.parametrize(
    ("order", "fenced"),
    [
        ("Return the correct JSON within a ```json codeblock", True),
        ("The output should be a markdown code snippet of JSON", True),
        ("Return JSON, no markdown", False),
    ],
)
def test_fences(order: str, fenced: bool) -> None:
    found = find_shape(f"{order} with keys a and b")
    assert found is not None
    assert found.write({}).startswith("```") is fenced


@pytest.mark.parametrize(
    "piece",
    ['"', "{", "[{", '{"a":', "json keys a, ", "return json ", "fields: a\n- b: c\n", "'a ", "a or ", '{"a": "b", '],
)
def test_no_text_is_too_odd(piece: str) -> None:
    assert find_shape("json " + piece * (500_000 // len(piece)), json_anyway=True) is None or piece[0] in "{jf"


READ: list[tuple[str, Any]] = [
    ("{'a': 'it', 'b': None, 'c': False, 'd': -1.5e3}", {"a": "it", "b": None, "c": False, "d": -1500.0}),
    ("{name, age}", {"name": None, "age": None}),
    ("{name: string; age?: number}", {"name": "string", "age": "number"}),
    ('{"a": <your answer>}', {"a": "<your answer>"}),
    ('{"a": string // what it is\n "b": int\n}', {"a": "string // what it is", "b": "int"}),
    ('[{"a": 1}, ...]', [{"a": 1}]),
    ('{"tags": string[], "kind": "x" | "y"}', {"tags": "string[]", "kind": '"x" | "y"'}),
    ("{}", {}),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_read(text: str, value: Any) -> None:
    assert read_loosely("so: " + text + " and more", 4) == FoundValue(value, 4, 4 + len(text))


@pytest.mark.parametrize("text", ["{", '{"a"', "{a b}", "{1: 2}", "[", "{" * 1000, '{"a":' * 1000, "{,", "[,,"])
def test_what_is_no_object(text: str) -> None:
    assert read_loosely(text, 0) is None


TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}


@pytest.mark.parametrize(
    ("example", "schema"),
    [
        (True, {"type": "boolean"}),
        ("...", {"type": "string"}),
        ("low|high", {"enum": ["low", "high"], "description": "low|high"}),
        ("one of: red, green or blue", {"enum": ["red", "green", "blue"], "description": "one of: red, green or blue"}),
        ("<yes or no>", {"enum": ["yes", "no"], "description": "<yes or no>"}),
        ("[low/high]", {"enum": ["low", "high"], "description": "[low/high]"}),
        ("<your reason>", {"type": "string"}),
        ("string[]", {**TEXTS, "description": "string[]"}),
        ("int // how many", {"type": "integer", "description": "how many"}),
        ([], TEXTS),
    ],
)
def test_shape(example: Any, schema: Any) -> None:
    assert infer_shape(example) == schema


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("List 3 fruits as a JSON array", 3),
        ("Give me a JSON array of five country names.", 5),
        ("Return a JSON array with the first 3 planets", 3),
    ],
)
def test_a_list_in_words(said: str, number: int) -> None:
    found = json.loads(ordered(said))
    assert len(found) == number
    assert all(isinstance(each, str) for each in found)
    assert ordered("Extract all email addresses as a JSON array: bob@x.org, amy@y.org") == '["bob@x.org","amy@y.org"]'


def test_ranges() -> None:
    found = find_shape('Return JSON: {"mood": ..., "score": 0-1, "stars": 1-5}')
    assert found is not None
    assert found.schema["properties"] == {
        "mood": {"type": "string"},
        "score": {"type": "number", "minimum": 0, "maximum": 1, "description": "0-1"},
        "stars": {"type": "integer", "minimum": 1, "maximum": 5, "description": "1-5"},
    }


@pytest.mark.parametrize(
    "said",
    [
        'Only JSON of this schema: {"type": "object", "properties": {"pet": {"$ref": "#/components/schemas/Pet"}}}',
        'Only JSON of this schema: {"type": "object", "properties": {"pet": {"type": "str", "required": true}}}',
        "Give me 50 colors as a JSON array of primary colors.",
    ],
)
def test_a_prompt_that_describes_the_impossible_gets_json_nevertheless(said: str) -> None:
    assert json.loads(ordered(said))


@pytest.mark.parametrize(
    ("said", "schema"),
    [
        ("Return JSON with a single key score that is yes or no.", {"score": {"enum": ["yes", "no"]}}),
        ("Return a JSON object with one field named ok which is true or false", {"ok": {"type": "boolean"}}),
        ('Reply in JSON {"name": string, "age"?: number}', {"name": {"type": "string"}, "age": {"type": "integer"}}),
    ],
)
def test_keys_that_a_prompt_describes_in_words(said: str, schema: dict[str, Any]) -> None:
    found = find_shape(said)
    assert found is not None
    properties = {name: {key: value for key, value in inner.items() if key != "description"}
                  for name, inner in found.schema["properties"].items()}  # fmt: skip
    assert properties == schema


def test_keys_may_be_optional() -> None:
    found = find_shape("Return JSON with fields title (string), isbn (string, optional), year (int), optional subtitle")
    assert found is not None
    assert list(found.schema["properties"]) == ["title", "isbn", "year", "subtitle"]
    assert found.schema["required"] == ["title", "year"]


def test_alternatives_lists_and_objects_without_the_word_json() -> None:
    assert ordered('Respond with {"score": "yes"} or {"score": "no"}.') in ('{"score":"yes"}', '{"score":"no"}')
    assert list(json.loads(ordered('Answer only with {"city": "...", "temp": 0}: Oslo'))) == ["city", "temp"]
    for said in ("list 3 fruits as a JSON array", "List 3 fruits as JSON"):
        found = json.loads(ordered(said))
        assert len({*found} & {*read_word_lists("properties")["one_of"]["fruit"]}) == 3
