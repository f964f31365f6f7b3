"""Answers in JSON, whoever asks for it: the request's format, its schema, or words in the prompt."""

import json
from typing import Any

from mockserver.core.call import Message
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model import structured
from tests.kit.calls import call

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ONLY_SEVEN = {"type": "object", "properties": {"n": {"const": 7}}, "required": ["n"]}


def written(choice: DraftChoice | None) -> str:
    assert choice is not None
    (part,) = choice.parts
    assert isinstance(part, Text)
    return part.text


def ordered(said: str, *before: Message, **asked: Any) -> str:
    return written(structured.ordered(call(*before, Message("user", said), **asked), Seed(1), {}))


def as_json(said: str) -> Json:
    return json.loads(written(structured.json(call(said), Seed(1), {})))


def test_json_is_an_object() -> None:
    assert list(as_json("Hi there")) == ["topic", "answer", "confidence", "tags"]
    assert list(as_json("Return a JSON array of objects with keys name and email")) == ["items"]


def test_an_object_has_the_keys_that_the_prompt_names_and_its_values() -> None:
    keys = "Return JSON with keys name and email: bob@example.com"
    for found in (as_json(keys), json.loads(ordered(keys))):
        assert list(found) == ["name", "email"]
        assert found["email"] == "bob@example.com"
    assert "tags" in json.loads(ordered("Respond with a JSON object about tea"))


def test_a_schema_in_the_prompt_or_in_the_instructions() -> None:
    schema = json.dumps(ONLY_SEVEN)
    assert ordered(f"Answer in JSON of this schema: {schema}") == '{"n":7}'
    assert ordered(f"Answer with JSON in a ```json block, of this schema: {schema}") == '```json\n{"n":7}\n```'
    assert ordered("Hello", Message("system", f"Always answer in JSON of this schema: {schema}")) == '{"n":7}'
    assert written(structured.schema(call(f"The schema: {schema}"), Seed(1), {})) == '{"n":7}'


def test_a_prompt_that_orders_no_json() -> None:
    for said in ("Hello", f"The schema: {json.dumps(ONLY_SEVEN)}", "What is JSON?"):
        assert structured.ordered(call(said), Seed(1), {}) is None


def test_the_schema_of_the_options_wins_over_that_of_the_call() -> None:
    asked = call("Hi there", schema=WEATHER)
    assert list(json.loads(written(structured.schema(asked, Seed(1), {})))) == ["city"]
    assert written(structured.schema(asked, Seed(1), {"schema": {"const": "é"}})) == '"é"'
    assert isinstance(json.loads(written(structured.schema(call("Hi there"), Seed(1), {}))), str)
