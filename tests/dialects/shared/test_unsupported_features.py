"""What is said of a request that its model cannot serve."""

from typing import Any

import pytest

from mockserver.core.json import Json, find_in
from mockserver.core.plan import Failure
from mockserver.dialects._errors import (
    PLAIN_UNSUPPORTED_MESSAGES,
    UNSUPPORTED_MESSAGES,
    find_unsupported_feature,
)
from tests.kit.calls import call

UNSUPPORTED = "unsupported_parameter"
TEXT, IMAGE = {"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}
CHAT: Json = {"messages": [{"role": "system", "content": "a"}, {"role": "user", "content": [TEXT, IMAGE]}]}


def found(feature: str, raw: Json, operation: str = "chat", **details: Any) -> tuple[str | None, str, str | None, Json]:
    """The parameter, which words, the code, and what stands at the place."""
    asked = call("a", raw=raw, operation=operation)
    said = find_unsupported_feature(Failure("unsupported", details={"feature": feature, **details}), asked)
    return said.param, said.message, said.code, find_in(raw, *said.path)


@pytest.mark.parametrize(
    ("feature", "raw", "said"),
    [
        ("tools", {"tools": [1]}, ("tools", "parameter", UNSUPPORTED, [1])),
        ("tools", {"functions": [1]}, ("functions", "parameter", UNSUPPORTED, [1])),
        ("vision", CHAT, ("messages.[1].content.[1].type", "vision", None, "image_url")),
        ("vision", {"messages": []}, ("messages", "vision", None, [])),
        ("json_schema", {"response_format": {"type": "x"}}, ("response_format", "json_schema", None, "x")),
        ("reasoning", {"reasoning_effort": "low"}, (None, "unrecognized", None, "low")),
        ("efforts", {"reasoning_effort": "low"}, ("reasoning_effort", "one_of_values", "unsupported_value", "low")),
        ("verbosity", {"verbosity": "low"}, ("verbosity", "one_of_values", "unsupported_value", "low")),
        (
            "reasoning_with_tools",
            {"reasoning_effort": "low"},
            ("reasoning_effort", "reasoning_with_tools", None, "low"),
        ),
        (
            "cache_retention",
            {"prompt_cache_retention": "24h"},
            ("prompt_cache_retention", "cache_retention", "invalid_parameter", "24h"),
        ),
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
        (
            "efforts",
            {"reasoning": {"effort": "low"}},
            ("reasoning.effort", "value_of_model", "unsupported_value", "low"),
        ),
        ("verbosity", {"text": {"verbosity": "low"}}, ("text.verbosity", "value_of_model", "unsupported_value", "low")),
        ("max_output_tokens", {"max_output_tokens": 9}, ("max_output_tokens", "max_output_tokens", "invalid_value", 9)),
    ],
)
def test_where_a_response_asks_for_a_feature(feature: str, raw: Json, said: tuple[Any, ...]) -> None:
    assert found(feature, raw, "responses") == said


@pytest.mark.parametrize(
    ("details", "operation", "words", "code"),
    [
        ({"param": "temperature", "default": 1}, "chat", "value", "unsupported_value"),
        ({"param": "temperature", "default": 1}, "responses", "parameter", None),
        ({"param": "top_p"}, "chat", "parameter", "unsupported_parameter"),
        ({"param": "max_tokens"}, "chat", "max_tokens", "unsupported_parameter"),
    ],
)
def test_a_parameter_that_cannot_be_set(details: Any, operation: str, words: str, code: str | None) -> None:
    param = details["param"]
    assert found("sampling", {param: 7}, operation, **details) == (param, words, code, 7)


def test_encrypted_reasoning_needs_a_model_that_reasons() -> None:
    wanted = ["reasoning.encrypted_content"]
    said = found("reasoning", {"include": wanted}, "responses", param="include")
    assert said == ("include", "encrypted_content", None, wanted)


def test_only_openai_points_to_its_guides() -> None:
    assert UNSUPPORTED_MESSAGES.keys() == PLAIN_UNSUPPORTED_MESSAGES.keys()
    assert not any("openai.com" in words for words in PLAIN_UNSUPPORTED_MESSAGES.values())
