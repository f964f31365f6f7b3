"""What the object repeats of its request: the forms that clients' types expect, the provider's defaults elsewhere."""

from collections.abc import Callable
from typing import Any

import pytest

from mockserver.dialects._responses.request import RESPONSE_STYLE, echo

F = {"type": "function", "name": "f"}
ECHOED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"instructions": "Be brief."}, {"instructions": "Be brief."}),
    ({"temperature": 1, "top_p": 0.5}, {"temperature": 1.0, "top_p": 0.5}),
    ({"max_output_tokens": 20, "max_tool_calls": 2}, {"max_output_tokens": 20, "max_tool_calls": 2}),
    ({"metadata": {"a": "b"}, "user": "u"}, {"metadata": {"a": "b"}, "user": "u"}),
    ({"metadata": None, "user": None}, {}),
    ({"store": False, "parallel_tool_calls": False}, {"store": False, "parallel_tool_calls": False}),
    ({"background": True, "truncation": "auto"}, {"background": True, "truncation": "auto"}),
    ({"previous_response_id": "resp_1", "top_logprobs": 3}, {"previous_response_id": "resp_1", "top_logprobs": 3}),
    ({"text": {"verbosity": "low"}}, {"text": {"verbosity": "low", "format": {"type": "text"}}}),
    ({"text": {"format": {"type": "json_object"}}}, {"text": {"format": {"type": "json_object"}}}),
    ({"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "low", "summary": None}}),
    ({"conversation": "conv_1"}, {"conversation": {"id": "conv_1"}}),
    ({"conversation": {"id": "conv_1"}}, {"conversation": {"id": "conv_1"}}),
    ({"conversation": {"id": "conv_1", "x": 1}}, {"conversation": {"id": "conv_1"}}),
    ({"reasoning": {"": 1, "mode": "x"}}, {"reasoning": {"effort": None, "summary": None, "mode": "x"}}),
    ({"text": {"x": 1, "format": {"type": "text", "y": 2}}}, {"text": {"format": {"type": "text"}}}),
    ({"service_tier": "auto"}, {}),
    ({"service_tier": "flex"}, {"service_tier": "flex"}),
    ({"service_tier": "fast"}, {"service_tier": "priority"}),
    ({"prompt": {"id": "p"}, "prompt_cache_key": "k"}, {"prompt": {"id": "p"}, "prompt_cache_key": "k"}),
    ({"tools": []}, {}),
    (
        {"tools": [F, {"type": "web_search", "search_context_size": "low"}], "tool_choice": F},
        {
            "tools": [
                {**F, "description": None, "parameters": None, "strict": True},
                {"type": "web_search", "search_context_size": "low"},
            ],
            "tool_choice": F,
        },
    ),
    ({"include": [], "stream": True, "foo": 1, "model": "m", "input": "hi"}, {}),
]


@pytest.mark.parametrize(("body", "echoed"), ECHOED)
def test_echo(speak: Callable[[str], Any], body: dict[str, Any], echoed: dict[str, Any]) -> None:
    assert echo(speak("openai").responses(body), RESPONSE_STYLE.response) == echoed
