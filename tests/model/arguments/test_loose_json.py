"""Objects as people write them, and what has their shape."""

from typing import Any

import pytest

from mockserver.model.arguments.described import Bare, named, read, record, shape

STRING = {"type": "string"}
READ: list[tuple[str, Any]] = [
    ('{"a": 1, "b": [true, null]}', {"a": 1, "b": [True, None]}),
    ("{'a': 'it', 'b': None, 'c': False, 'd': -1.5e3}", {"a": "it", "b": None, "c": False, "d": -1500.0}),
    ("{name, age}", {"name": None, "age": None}),
    ("{name: string; age?: number}", {"name": Bare("string"), "age": Bare("number")}),
    ('{"a": <your answer>}', {"a": Bare("<your answer>")}),
    ('{"a": string // what it is\n "b": int\n}', {"a": Bare("string", "what it is"), "b": Bare("int")}),
    ('{"a": 1, ...}', {"a": 1}),
    ('[{"a": 1}, ...]', [{"a": 1}]),
    ('{"tags": string[], "kind": "x" | "y"}', {"tags": Bare("string[]"), "kind": Bare('"x" | "y"')}),
    ("{}", {}),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_read(text: str, value: Any) -> None:
    assert read("so: " + text + " and more", 4) == (value, 4 + len(text))


@pytest.mark.parametrize("text", ["{", '{"a"', "{a b}", "{1: 2}", "[", "{" * 1000, '{"a":' * 1000, "{,", "[,,"])
def test_what_is_no_object(text: str) -> None:
    assert read(text, 0) is None


SHAPES: list[tuple[Any, Any]] = [
    (1, {"type": "integer"}),
    (0.5, {"type": "number"}),
    (True, {"type": "boolean"}),
    ("...", STRING),
    ("string", {"type": "string", "description": "string"}),
    ("integer", {"type": "integer", "description": "integer"}),
    ("<the title>", {"type": "string", "description": "<the title>"}),
    ("low|high", {"enum": ["low", "high"], "description": "low|high"}),
    ("true/false", {"type": "boolean", "description": "true/false"}),
    ("one of: red, green or blue", {"enum": ["red", "green", "blue"], "description": "one of: red, green or blue"}),
    ([], {"type": "array", "items": STRING, "minItems": 1}),
    ([1], {"type": "array", "items": {"type": "integer"}, "minItems": 1}),
    (Bare("string[]"), {"type": "array", "items": STRING, "minItems": 1, "description": "string[]"}),
    (Bare("int", "how many"), {"type": "integer", "description": "how many"}),
    ({"a": {"b": 1}}, record({"a": record({"b": {"type": "integer"}})})),
    ({"age": None}, record({"age": {"type": "integer"}})),
]


@pytest.mark.parametrize(("example", "schema"), SHAPES)
def test_shape(example: Any, schema: Any) -> None:
    assert shape(example) == schema


@pytest.mark.parametrize(
    ("name", "note", "kind"),
    [
        ("name", "", "string"),
        ("age", "", "integer"),
        ("item_count", "", "integer"),
        ("numberOfRooms", "", "integer"),
        ("price", "", "number"),
        ("is_open", "", "boolean"),
        ("tags", "", "array"),
        ("ingredients", "", "array"),
        ("address", "", "string"),
        ("status", "", "string"),
        ("x", "integer", "integer"),
        ("x", "a list of strings", "array"),
        ("x", "number, from 0 to 1", "number"),
        ("title", "text of the title", "string"),
    ],
)
def test_named(name: str, note: str, kind: str) -> None:
    assert named(name, note)["type"] == kind
