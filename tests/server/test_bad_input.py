"""Whatever body a client sends, it gets its dialect's own error with a 4xx: never a 5xx, a traceback or a hang."""

import json
import time
from functools import cache
from typing import Any

import pytest

from tests.dialects.features import URLS
from tests.dialects.invariants import has_shape
from tests.kit.asgi import App, app
from tests.server.bad_bodies import BROKEN, OBJECT, OF_OPENAI, SCHEMAS, TYPES, deep, with_text
from tests.server.refusals import HI, PATIENCE, ask, assert_refused, assert_sound, named

Json = Any


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_a_broken_body_is_refused(dialect: str, body: bytes) -> None:
    assert_refused(ask(dialect, body), dialect, *((400,) if dialect == "azure" else ()))


@pytest.mark.parametrize("dialect", ["fireworks", "tzafon"])
def test_a_wrong_value_harms_nobody_who_is_lenient(dialect: str) -> None:
    for table in (TYPES, OF_OPENAI):
        for field, values in table.items():
            for value in values:
                assert_sound(ask(dialect, {**HI, field: value}), dialect)


@pytest.mark.parametrize("dialect", ["openai", "skytells", "crazyrouter", "fireworks", "tzafon", "azure_openai"])
@pytest.mark.parametrize(
    "body",
    [
        deep(98),  # within the message of 100 levels in all
        with_text('"\\ud83c\\udf0a"'),
        with_text('"\\u0000"'),
        with_text('"[[[[ {{{{ \\" ]]]] 1e999"'),
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":1e-400}',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":5.0}',
    ],
)
def test_an_odd_but_sound_body_is_served(dialect: str, body: bytes) -> None:
    assert ask(dialect, body).status == 200


def wrong() -> list[Any]:
    """Every dialect that takes its fields as published with each of them and a value that it must refuse."""
    found = []
    for dialect in (name for name in URLS if name != "tzafon"):
        tables = (TYPES,) if dialect in ("azure", "fireworks") else (TYPES, OF_OPENAI)
        for field, value in ((field, value) for table in tables for field, values in table.items() for value in values):
            found.append(pytest.param(dialect, field, value, id=f"{dialect}-{field}-{json.dumps(value)[:40]}"))
    return found


@pytest.mark.parametrize(("dialect", "field", "value"), wrong())
def test_a_wrong_value_is_refused(dialect: str, field: str, value: Json) -> None:
    answered = ask(dialect, {**HI, field: value})
    assert_refused(answered, dialect)
    assert field in named(answered), "the error names the field"


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize("field", ["model", "messages"])
def test_a_missing_field_is_refused(dialect: str, field: str) -> None:
    answered = ask(dialect, {key: value for key, value in HI.items() if key != field})
    if field == "model" and dialect in ("azure", "tzafon"):
        assert answered.status == 200
    else:
        assert_refused(answered, dialect)
        assert field in named(answered)


JUNK: tuple[Json, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    1.5,
    -0.0,
    5e-324,
    "",
    "x",
    "\x00",
    "x" * 5000,
    [],
    [None],
    [[[]]],
    {},
    OBJECT,
)


@pytest.mark.parametrize("dialect", URLS)
def test_junk_in_every_field_harms_nobody(dialect: str) -> None:
    for field in (*TYPES, *OF_OPENAI, "", "x", "__proto__", "a.b[0]", "\u2028", "k" * 5000):
        for junk in JUNK:
            for header in ("error", "pass-through", "drop"):
                answered = ask(dialect, {**HI, field: junk}, headers={"extra-parameters": header})
                assert_sound(answered, dialect)
                if dialect != "azure":
                    break


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_nasty_schema_gets_arguments_or_a_4xx(dialect: str, schema: Json) -> None:
    parameters = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    begun = time.perf_counter()
    answered = caller().ask(URLS[dialect], {**HI, "tools": tools})
    assert time.perf_counter() - begun < PATIENCE
    if answered.status == 200:
        json.loads(answered.json["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
    else:
        assert 400 <= answered.status < 500
        has_shape(answered.json, dialect, "error")


@cache
def caller() -> App:
    """A server that calls the first tool with arguments made from its schema."""
    return app("rules: [{then: {tool_calls: [{name: f, arguments: auto}]}}]")


@pytest.mark.parametrize("dialect", URLS)
def test_as_many_choices_as_may_be_asked_for(dialect: str) -> None:
    body = {**HI, "n": 128, "stream": True, "logprobs": True, "top_logprobs": 5 if dialect == "fireworks" else 20}
    answered = ask(dialect, body, headers={"extra-parameters": "pass-through"})
    assert answered.status == 200
    assert answered.body.endswith(b"data: [DONE]\n\n")
