"""What is said of a request that its model cannot serve."""

from typing import Any

import pytest

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.dialects._errors import (
    PLAIN_UNSUPPORTED_MESSAGES,
    UNSUPPORTED_MESSAGES,
    find_unsupported_feature,
    find_value_at,
)
from tests.kit.calls import call

UNSUPPORTED = "unsupported_parameter"
TEXT, IMAGE = {"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}
CHAT: Json = {"messages": [{"role": "system", "content": "a"}, {"role": "user", "content": [TEXT, IMAGE]}]}


def found(feature: str, raw: Json, operation: str = "chat", **details: Any) -> tuple[str, str, str | None, Json]:
    """The parameter, which words, the code, and what stands at the place."""
    asked = call("a", raw=raw, operation=operation)
    said = find_unsupported_feature(Failure("unsupported", details={"feature": feature, **details}), asked)
    return said.param, said.message, said.code, find_value_at(raw, said.path)


@pytest.mark.parametrize(
    ("feature", "raw", "said"),
    [
        ("tools", {"tools": [1]}, ("tools", "parameter", UNSUPPORTED, [1])),
        ("tools", {"functions": [1]}, ("functions", "parameter", UNSUPPORTED, [1])),
        ("vision", CHAT, ("messages.[1].content.[1].type", "vision", None, "image_url")),
        ("vision", {"messages": []}, ("messages", "vision", None, [])),
        ("json_schema", {"response_format": {"type": "x"}}, ("response_format", "json_schema", None, "x")),
        ("reasoning", {"reasoning_effort": "low"}, ("reasoning_effort", "parameter", UNSUPPORTED, "low")),
        ("max_output_tokens", {"max_tokens": 9}, ("max_tokens", "max_output_tokens", "invalid_value", 9)),
    ],
)
def test_where_a_chat_asks_for_a_feature(feature: str, raw: Json, said: tuple[Any, ...]) -> None:
    assert found(feature, raw) == said


@pytest.mark.parametrize(
    ("feature", "raw", "said"),
    [
        ("vision", {"input": [{"content": [{"type": "input_image"}]}]}, ("input", "vision", None, "input_image")),
        ("vision", {"input": "a"}, ("input", "vision", None, "a")),
        ("json_schema", {"text": {"format": {"type": "x"}}}, ("text.format", "json_schema", None, "x")),
        ("reasoning", {"reasoning": {"effort": "low"}}, ("reasoning.effort", "parameter", UNSUPPORTED, "low")),
        ("max_output_tokens", {"max_output_tokens": 9}, ("max_output_tokens", "max_output_tokens", "invalid_value", 9)),
    ],
)
def test_where_a_response_asks_for_a_feature(feature: str, raw: Json, said: tuple[Any, ...]) -> None:
    assert found(feature, raw, "responses") == said


@pytest.mark.parametrize(
    ("param", "operation", "words", "code"),
    [
        ("temperature", "chat", "value", "unsupported_value"),
        ("temperature", "responses", "parameter", "unsupported_parameter"),
        ("logprobs", "chat", "parameter", "unsupported_parameter"),
        ("max_tokens", "chat", "max_tokens", "unsupported_parameter"),
    ],
)
def test_a_parameter_that_cannot_be_set(param: str, operation: str, words: str, code: str) -> None:
    assert found("sampling", {param: 7}, operation, param=param) == (param, words, code, 7)


def test_only_openai_points_to_its_guides() -> None:
    assert UNSUPPORTED_MESSAGES.keys() == PLAIN_UNSUPPORTED_MESSAGES.keys()
    assert not any("openai.com" in words for words in PLAIN_UNSUPPORTED_MESSAGES.values())
