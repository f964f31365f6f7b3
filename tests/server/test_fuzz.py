"""Mutations of a sound body, and any bytes at all: an answer or a 4xx, never a 5xx."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.dialects.features import URLS
from tests.server.refusals import HI, ask, assert_sound

Json = Any

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
_RICH: Mapping[str, Json] = {
    **HI,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "u"}}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}},
    "stop": ["a", "b"],
    "n": 2,
    "temperature": 1,
    "max_tokens": 5,
    "stream": True,
    "stream_options": {"include_usage": True},
    "logprobs": True,
    "top_logprobs": 2,
    "metadata": {"k": "v"},
}


@st.composite
def _mutated(draw: st.DrawFn) -> bytes:
    """A sound body with one to three of its values replaced or removed, and now and then a few of its bytes."""
    body = json.loads(json.dumps(_RICH))
    for _ in range(draw(st.integers(1, 3))):
        _mutate(draw, body)
    text = json.dumps(body).encode()
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.binary(max_size=4)) + text[at + draw(st.integers(0, 4)) :]
    return text


def _mutate(draw: st.DrawFn, value: Json) -> None:
    while True:
        key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        if not isinstance(value[key], dict | list) or not value[key] or draw(st.integers(0, 2)) == 0:
            break
        value = value[key]
    if draw(st.booleans()) or len(value) == 1:
        value[key] = draw(_JSON)
    else:
        del value[key]


@pytest.mark.parametrize("dialect", URLS)
@given(body=_mutated())
@settings(max_examples=250, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_mutations_of_a_sound_body_harm_nobody(dialect: str, body: bytes) -> None:
    assert_sound(ask(dialect, body, headers={"extra-parameters": "pass-through"}), dialect)


@pytest.mark.parametrize("dialect", URLS)
@given(body=st.binary(max_size=60))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_any_bytes_harm_nobody(dialect: str, body: bytes) -> None:
    assert_sound(ask(dialect, body), dialect)
