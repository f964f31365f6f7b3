"""Whatever a client sends, each dialect answers with a 4xx of its own or understands it; never with an exception."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver.core.call import Call
from mockserver.core.plan import Failure

CHAT = b'{"model":"m","messages":[{"role":"user","content":"hi"}]'
BAD: dict[str, bytes] = {
    "empty": b"",
    "half": CHAT,
    "NaN": CHAT + b',"temperature":NaN}',
    "Infinity": CHAT + b',"temperature":Infinity}',
    "1e400": CHAT + b',"temperature":1e400}',
    "1e400 in an unknown field": CHAT + b',"foo":[{"a":-1E400}]}',
    "lone surrogate": b'{"model":"m","messages":[{"role":"user","content":"\\ud83d"}]}',
    "duplicate key": CHAT + b',"model":"n"}',
    "invalid UTF-8": b'{"model":"\xff\xfe","messages":[]}',
    "UTF-16": CHAT.decode().encode("utf-16"),
    "null byte": CHAT + b"}\x00",
    "depth 101": CHAT + b',"foo":' + b"[" * 100 + b"]" * 100 + b"}",
    "depth 100000": b"[" * 100_000,
    "huge integer": CHAT + b',"seed":' + b"9" * 500 + b"}",
    "absurd integer": CHAT + b',"seed":' + b"9" * 10_000 + b"}",
    "array": b"[" + CHAT + b"}]",
    "string": b'"hi"',
    "number": b"7",
    "form": b"model=m&messages=hi",
    "array for a message": b'{"model":"m","messages":[[]]}',
    "object for messages": b'{"model":"m","messages":{}}',
    "array for content": b'{"model":"m","messages":[{"role":"user","content":[[]]}]}',
    "object for a role": b'{"model":"m","messages":[{"role":{},"content":""}]}',
    "array for tools": CHAT + b',"tools":{"a":1}}',
    "array for a function": CHAT + b',"tools":[{"type":"function","function":[]}]}',
    "array for a format": CHAT + b',"response_format":[]}',
    "number for a stop": CHAT + b',"stop":[1]}',
    "text for stream": CHAT + b',"stream":"true"}',
    "array for a choice": CHAT + b',"tool_choice":[]}',
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD.keys())
def test_bad_bodies(anyone: Any, body: bytes) -> None:
    reply = anyone.refuses(body)
    assert reply.status in (400, 422)
    assert json.loads(reply.body)
    assert len(reply.body) < 1200


def test_another_media_type(anyone: Any) -> None:
    reply = anyone.refuses(CHAT + b"}", headers={"content-type": "text/plain"})
    if anyone.dialect.name == "fireworks":  # whose framework takes such a body for a text
        assert reply.status == 422
        assert json.loads(reply.body)["detail"][0]["input"] == CHAT.decode() + "}"
        return
    assert reply.status == (400 if anyone.dialect.name == "tzafon" else 415)
    assert b"Invalid Content-Type header (text/plain), expected application/json." in reply.body


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}])
def test_the_media_type_may_be_absent(anyone: Any, headers: dict[str, str]) -> None:
    assert anyone.parse(CHAT + b"}", headers=headers).last_user == "hi"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WORDS = [
    *("user", "assistant", "tool", "function", "system", "text", "image_url", "custom", "auto", "required"),
    *("json_schema", "allowed_tools", "content"),
]
KEYS = [
    *("role", "content", "type", "text", "tool_calls", "tool_call_id", "function", "custom", "name"),
    *("arguments", "refusal", "audio", "id", "function_call", "image_url", "url", "allowed_tools", "mode"),
    *("tools", "parameters", "json_schema", "schema", "input", "include_usage"),
]
SHAPED = st.recursive(
    VALUES | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "function"]) | VALUES, "content": SHAPED},
    optional=dict.fromkeys(("tool_calls", "tool_call_id", "name", "refusal", "audio", "function_call", "id"), SHAPED),
)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
TOP = [
    *("tools", "tool_choice", "functions", "function_call", "response_format", "stop", "stream"),
    *("stream_options", "n", "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs", "logit_bias"),
    *("metadata", "seed", "audio", "temperature", "prediction", "modalities", "parallel_tool_calls", "foo"),
]
BODY = st.fixed_dictionaries(
    {
        "model": st.just("m") | VALUES,
        "messages": st.lists(MESSAGE | st.just({"role": "user", "content": "hi"}), max_size=3),
    },
    optional={key: SHAPED | st.just([TOOL]) | st.just({"name": "f"}) for key in TOP},
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=BODY, strict=st.booleans(), wish=st.sampled_from(["pass-through", "drop", "error"]))
def test_any_body_is_understood_or_refused(anyone: Any, body: Any, strict: bool, wish: str) -> None:
    try:
        call = anyone.parse(json.dumps(body).encode(), strict=strict, headers={"extra-parameters": wish})
    except Failure as failure:
        reply = anyone.fail(failure)
        assert 400 <= reply.status < 500
        json.loads(reply.body)
    else:
        _is_sound(call)


def _is_sound(call: Call) -> None:
    """All that the engine will ask of a call works."""
    assert len(call.fingerprint) == 32
    assert call.prompt_tokens > 0
    assert isinstance(call.last_user, str)
    assert all(isinstance(message.text, str) for message in call.messages)
    assert call.options.n >= 1
    assert call.options.max_tokens is None or call.options.max_tokens >= 0
    assert all(isinstance(stop, str) for stop in call.options.stop)
