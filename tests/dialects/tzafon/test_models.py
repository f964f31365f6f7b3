"""What Tzafon's schema allows is accepted, and what it forbids is refused with vLLM's two kinds of 400."""

from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.plan import Failure

USER = {"role": "user", "content": "hi"}
COMPUTER = {"type": "computer_use_preview", "display_width": 1, "display_height": 1, "environment": "mac"}


@pytest.fixture
def tzafon(speak: Callable[[str], Any]) -> Any:
    return speak("tzafon")


ACCEPTED: list[dict[str, Any]] = [
    {"max_output_tokens": 1, "temperature": 5, "top_p": 7, "top_logprobs": 50, "top_k": -1, "priority": 3},
    {"metadata": {"k" * 100: "v" * 1000}, "cache_salt": None, "request_id": "r", "logit_bias": {"1": 0.5}},
    {"tools": [{"type": "function", "name": "any name"}, {"type": "custom", "name": "c"}, COMPUTER, {"type": "mcp"}]},
    {"tool_choice": {"type": "computer_use_preview"}},
    {"tool_choice": {"type": "custom", "name": "c"}},
    {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"name": "f"}]}},
    {"text": {"format": {"type": "json_schema", "name": "any name", "schema": {}}}},
    {"reasoning": {"effort": "xhigh"}, "service_tier": "scale", "never_heard_of": [1]},
]


@pytest.mark.parametrize("kind", ["computer_use_preview", "computer_use"])
def test_a_computer_as_the_client_and_as_the_guide_say_it(tzafon: Any, kind: str) -> None:
    screen = {**COMPUTER, "type": kind, "environment": "desktop"}
    call = tzafon.responses({"input": "hi", "tools": [screen], "tool_choice": {"type": kind}})
    assert (call.tools[0].name, call.tools[0].options, call.tool_choice.names) == (kind, screen, (kind,))


@pytest.mark.parametrize("body", ACCEPTED)
def test_accepted(tzafon: Any, body: dict[str, Any]) -> None:
    assert tzafon.responses({"input": "hi", **body}).raw == {"input": "hi", **body}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"input": None}, "input"),
    ({"service_tier": None}, "service_tier"),
    ({"service_tier": "fast"}, "service_tier"),
    ({"include": ["web_search_call.action.sources"]}, "include[0]"),
    ({"reasoning": {"effort": "max"}}, "reasoning.effort"),
    ({"metadata": {"a": 1}}, "metadata.a"),
    ({"tools": None}, "tools"),
    ({"tools": [{**COMPUTER, "environment": "amiga"}]}, "tools[0].environment"),
    ({"tools": [{"type": "computer_use_preview"}]}, "tools[0].display_height"),
    ({"tool_choice": None}, "tool_choice"),
    ({"tool_choice": {"type": "web_search"}}, "tool_choice.type"),
    ({"truncation": "none"}, "truncation"),
    ({"request_id": 5}, "request_id"),
    ({"priority": "high"}, "priority"),
    ({"previous_input_messages": ["hi"]}, "previous_input_messages[0]"),
]


@pytest.mark.parametrize(("body", "param"), REFUSED)
def test_refused(tzafon: Any, body: dict[str, Any], param: str) -> None:
    error = tzafon.complains({"input": "hi", **body})
    assert (error["type"], error["param"], error["code"]) == ("Bad Request", param, 400)


CHATS: list[dict[str, Any]] = [
    {"model": None, "max_tokens": 5, "max_completion_tokens": 6},
    {"messages": [{"role": "anyone", "content": None}]},
    {"messages": [{"author": {"role": "user"}, "content": []}]},
    {"messages": [{"role": "user", "content": ["a", {"type": "text", "text": "b"}, {"thinking": "c"}]}]},
    {"tools": [{"function": {"name": "f"}}, {"type": "custom", "custom": {"name": "c"}}]},
    {"response_format": {"type": "structural_tag", "format": {}}},
    {"stream": True, "stream_options": {"continuous_usage_stats": True}},
    {"guided_regex": "a", "min_tokens": "anything"},
]


@pytest.mark.parametrize("body", CHATS)
def test_accepted_in_chat(tzafon: Any, body: dict[str, Any]) -> None:
    assert tzafon.parse(body).operation == "chat"


WRONG_CHATS: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "messages"),
    ({"messages": ["hi"]}, "messages[0]"),
    ({"messages": [{"content": "hi"}]}, "messages[0].role"),
    ({"messages": [{"author": {}, "content": "hi"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
    ({"n": 0}, "n"),
    ({"n": 129}, "n"),
    ({"tools": [{}]}, "tools[0].function"),
    ({"tools": [{"type": "custom"}]}, "tools[0].custom"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"response_format": {"type": "xml"}}, "response_format.type"),
]


@pytest.mark.parametrize(("body", "param"), WRONG_CHATS)
def test_refused_in_chat(tzafon: Any, body: dict[str, Any], param: str) -> None:
    with pytest.raises(Failure) as caught:
        tzafon.parse(body)
    assert (caught.value.kind, caught.value.param) == ("Bad Request", param)
