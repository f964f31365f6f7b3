"""Remarks on answers that no model could give; what one could give, or breaks on purpose, gets none."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.core.draft import Draft, DraftChoice
from mockserver.rules.lint.contradictions import explain_refusal, find_contradictions
from tests.kit import calls
from tests.kit.local import local

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
DAY = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}


def function(name: str = "get_weather", parameters: Any = CITY, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


TOOLS = {"tools": [function(strict=True)]}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "c", "schema": CITY, "strict": True}}
LOOSE = {"type": "json_schema", "json_schema": {"name": "c", "schema": CITY}}
OBJECT = {"response_format": {"type": "json_object"}}
PARIS = {"name": "get_weather", "arguments": {"city": "Paris"}}
TEXT = {"text": "Hello"}
WEB = {"tools": [{"type": "web_search"}]}
WIKI = {"tools": [{"type": "mcp", "server_label": "wiki", "server_url": "https://wiki.example"}]}
FLAT = {"type": "function", "name": "get_weather", "parameters": CITY, "strict": True}
NO_TOOL = 'calls "get_weather", a tool that the request does not offer'
FORBIDDEN = 'calls "get_weather", which the request\'s tool_choice forbids'
NO_CALL = "calls no tool, although the request's tool_choice requires one"
NAMED = {"type": "function", "function": {"name": "get_weather"}}
STRICT = {"type": "json_schema", "name": "c", "schema": CITY, "strict": True}
REFUSED = "has JSON that the strict schema of response_format refuses:"
AS_OBJECT = {"text": {"format": {"type": "json_object"}}}
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


def remarks(then: Mapping[str, Any], body: Mapping[str, Any], path: str = CHAT, **settings: Any) -> list[str]:
    """What the server remarks on a rule's answer, without the rule's place."""
    server = local(json.dumps({"rules": [{"then": then}]}), **settings)
    asked = {"input": "hi"} if path == RESPONSES else {"messages": [{"role": "user", "content": "hi"}]}
    answered = server.ask(path, {"model": "gpt-4o", **asked, **body})
    assert answered.status == 200, answered.body
    assert all("rules.yaml:1: the answer " in one for one in answered.remarks)
    return [one.partition(": the answer ")[2] for one in answered.remarks]


@pytest.mark.parametrize(
    ("then", "body", "why"),
    [
        ({"tool_calls": [PARIS]}, {}, NO_TOOL),
        (
            {"tool_calls": [{"name": "get_wether"}]},
            TOOLS,
            'calls "get_wether", a tool that the request does not offer; did you mean "get_weather"?',
        ),
        (
            {"tool_calls": [{"name": "x"}]},
            TOOLS,
            'calls "x", a tool that the request does not offer; it offers "get_weather"',
        ),
        ({"tool_calls": [PARIS]}, {**TOOLS, "tool_choice": "none"}, FORBIDDEN),
        (
            {"tool_calls": [PARIS]},
            {"tools": [function(), function("b")], "tool_choice": {"type": "function", "function": {"name": "b"}}},
            FORBIDDEN,
        ),
        (
            {"tool_calls": [{**PARIS, "arguments": {"city": 3}}]},
            TOOLS,
            'calls "get_weather" with arguments that its strict schema refuses: 3 is not of type "string" at /city',
        ),
        (
            {"tool_calls": [{**PARIS, "arguments": {"town": "Paris"}}]},
            TOOLS,
            'calls "get_weather" with arguments that its strict schema refuses: Additional properties are not allowed '
            "('town' was unexpected); \"city\" is a required property",
        ),
        ({"tool_calls": [{**PARIS, "arguments": "{"}]}, TOOLS, 'calls "get_weather" with arguments that are not JSON'),
        (
            {"tool_calls": [{**PARIS, "arguments": "[1]"}]},
            {"tools": [function(parameters=None)]},
            'calls "get_weather" with arguments that are not a JSON object',
        ),
        (
            {"tool_calls": [{"name": "d", "arguments": {"day": "soon"}}]},
            {"tools": [function("d", DAY, strict=True)]},
            'calls "d" with arguments that its strict schema refuses: "soon" is not a "date" at /day',
        ),
        (
            {"tool_calls": [{"name": "get_weather", "input": "x"}]},
            TOOLS,
            'calls "get_weather", a function tool, which takes arguments',
        ),
        (
            {"tool_calls": [PARIS]},
            {"tools": [{"type": "custom", "custom": {"name": "get_weather"}}]},
            'calls "get_weather", a custom tool, which takes input',
        ),
        (TEXT, OBJECT, "has text that is not JSON, but response_format is json_object"),
        ({"text": "```json\n{}\n```"}, OBJECT, "has text that is not JSON, but response_format is json_object"),
        ({"json": [1]}, OBJECT, "has JSON that is not an object, but response_format is json_object"),
        (TEXT, {"response_format": LOOSE}, "has text that is not JSON, but response_format is json_schema"),
        (
            {"json": {}},
            {"response_format": SCHEMA},
            'has JSON that the strict schema of response_format refuses: "city" is a required property',
        ),
        ({**TEXT, "finish": "tool_calls"}, TOOLS, "has finish: tool_calls, but calls no tool"),
        ({**TEXT, "finish": "function_call"}, {}, "has finish: function_call, but calls no tool"),
        (
            {"tool_calls": [PARIS, PARIS]},
            {**TOOLS, "parallel_tool_calls": False},
            "calls 2 tools, but the request allows one call, as its parallel_tool_calls is false",
        ),
        ({"text": "Sunny."}, {**TOOLS, "tool_choice": "required"}, NO_CALL),
        ({"text": "Sunny."}, {**TOOLS, "tool_choice": NAMED}, NO_CALL),
        (
            {"tool_calls": [PARIS], "finish": "stop"},
            TOOLS,
            "has finish: stop, but calls a tool; a model sends tool_calls",
        ),
        (
            {"tool_calls": [PARIS], "finish": "function_call"},
            TOOLS,
            "has finish: function_call, but with this request's tools, a model sends tool_calls",
        ),
        (
            {"tool_calls": [PARIS], "finish": "tool_calls"},
            {"functions": [{"name": "get_weather", "parameters": CITY}]},
            "has finish: tool_calls, but with this request's tools, a model sends function_call",
        ),
    ],
)  # fmt: skip
def test_what_no_model_could_answer(then: Mapping[str, Any], body: Mapping[str, Any], why: str) -> None:
    assert remarks(then, body) == [why]
    assert remarks(then, body, lint="off") == []


@pytest.mark.parametrize(
    ("then", "body"),
    [
        (TEXT, {}),
        (TEXT, TOOLS),
        ({"tool_calls": [PARIS]}, TOOLS),
        ({"tool_calls": [PARIS], "finish": "tool_calls"}, TOOLS),
        ({"tool_calls": [{"name": "get_weather"}]}, TOOLS),  # generated arguments
        ({"tool_calls": [PARIS], "text": "Let me see."}, {**TOOLS, "response_format": SCHEMA}),
        ({"tool_calls": [{**PARIS, "arguments": '{"ci'}], "finish": "length"}, TOOLS),
        ({"tool_calls": [{**PARIS, "arguments": '{"ci'}], "finish": "content_filter"}, TOOLS),
        ({"tool_calls": [PARIS], "finish": "stop"}, {**TOOLS, "tool_choice": "required"}),
        ({"tool_calls": [PARIS], "finish": "stop"}, {**TOOLS, "tool_choice": NAMED}),
        ({"text": "Sun", "finish": "length"}, {**TOOLS, "tool_choice": "required"}),
        ({"refusal": "I can't."}, {**TOOLS, "tool_choice": "required"}),
        ({"tool_calls": [PARIS, PARIS]}, TOOLS),
        ({"tool_calls": [{"name": "f"}]}, {"tools": [{"type": "function", "function": {"name": "f"}}]}),
        ({"tool_calls": [{"name": "f", "arguments": ""}]}, {"tools": [function("f", None)]}),
        ({"tool_calls": [{**PARIS, "arguments": {"town": "Paris"}}]}, {"tools": [function()]}),
        ({"json": {}}, {"response_format": LOOSE}),
        ({"tool_calls": [{"name": "c", "input": "x"}]}, {"tools": [{"type": "custom", "custom": {"name": "c"}}]}),
        ({"tool_calls": [PARIS], "finish": "function_call"}, {"functions": [{"name": "get_weather"}]}),
        ({"tool_calls": [PARIS]}, {"tools": [function("ToolSearch")]}),  # which finds others
        ({"tool_calls": [PARIS], "faults": ["unknown_tool"]}, TOOLS),
        ({"tool_calls": [PARIS], "faults": [{"bad_tool_arguments": {"how": "wrong_types"}}]}, TOOLS),
        ({"tool_calls": [PARIS]}, {**TOOLS, "max_tokens": 2}),
        ({"json": {"city": "Paris"}}, {"response_format": SCHEMA}),
        ({"json": {"city": "Paris"}}, {"response_format": SCHEMA, "max_tokens": 2}),
        ({"json": {"city": "Paris"}, "faults": ["malformed_json"]}, {"response_format": SCHEMA}),
        ({"refusal": "No."}, {"response_format": SCHEMA}),
        ({"text": '{"ci', "finish": "length"}, {"response_format": SCHEMA}),
        ({"text": '{"city": ', "content_filter": {"on": "completion", "after_tokens": 1}}, {"response_format": SCHEMA}),
        ({"generate": "auto"}, {"response_format": SCHEMA}),
        ({"generate": "auto"}, {**TOOLS, "tool_choice": "required"}),
        ({"text": "plain"}, {"response_format": {"type": "text"}}),
        ({"choices": [{"json": {"city": "a"}}, TEXT]}, {"response_format": SCHEMA}),  # n is 1
    ],
)  # fmt: skip
def test_what_a_model_could_answer(then: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    assert remarks(then, body) == []


@pytest.mark.parametrize(
    ("then", "body", "why"),
    [
        ({"tool_calls": [PARIS]}, {}, [NO_TOOL]),
        ({"tool_calls": [PARIS]}, {"tools": [FLAT]}, []),
        ({"tool_calls": [PARIS]}, {"prompt": {"id": "pmpt_1"}}, []),  # which may have tools
        ({"tool_calls": [PARIS], "finish": "stop"}, {"tools": [FLAT]}, []),
        ({"items": [{"type": "web_search_call", "query": "x"}]}, WEB, []),
        ({"items": [{"type": "web_search_call", "query": "x"}]}, {"web_search_options": {}}, []),
        ({"items": [{"type": "web_search_call", "query": "x"}]}, {"tools": [{"type": "web_search_preview"}]}, []),
        (
            {"items": [{"type": "web_search_call", "query": "x"}]},
            WIKI,
            ["has web_search_call, but the request does not offer that tool"],
        ),
        ({"items": [{"type": "mcp_list_tools", "server_label": "wiki"}]}, WIKI, []),
        (
            {"items": [{"type": "mcp_list_tools", "server_label": "other"}]},
            WIKI,
            ['has mcp_list_tools of "other", an MCP server that the request does not offer'],
        ),
        (
            {"items": [{"type": "message", "text": "See:"}, {"type": "message", "text": "{}"}]},
            AS_OBJECT,
            [],
        ),
        ({"failed": True, "text": "{"}, AS_OBJECT, []),
        ({"json": {}}, {"text": {"format": {"type": "json_schema", "name": "c", "schema": CITY}}}, []),
        ({"json": {}}, {"text": {"format": STRICT}}, [f"{REFUSED} \"city\" is a required property"]),
    ],
)  # fmt: skip
def test_answers_of_responses(then: Mapping[str, Any], body: Mapping[str, Any], why: list[str]) -> None:
    assert remarks(then, body, RESPONSES) == why


def test_other_dialects_and_operations() -> None:
    for path in (
        "/fireworks/v1/chat/completions",
        "/skytells/v1/chat/completions",
        "/azure/chat/completions?api-version=2024-05-01-preview",
    ):
        assert remarks({"tool_calls": [PARIS]}, {}, path) == [NO_TOOL], path
        assert remarks({"json": {}}, OBJECT, path) == [], path
    always_strict = {"response_format": {"type": "json_schema", "json_schema": {"schema": CITY}}}
    (why,) = remarks({"json": {}}, always_strict, "/fireworks/v1/chat/completions")
    assert why.startswith(REFUSED)


def test_each_reason_once_for_all_choices() -> None:
    then = {"choices": [{"json": []}, {"json": []}, {"json": {}}]}
    assert remarks(then, {**OBJECT, "n": 3}) == ["has JSON that is not an object, but response_format is json_object"]


def test_schemas_that_cannot_judge() -> None:
    assert explain_refusal({"type": "nothing"}, 3) is None
    assert explain_refusal({"$ref": "https://example.com/x"}, 3) is None
    assert explain_refusal({"enum": list(range(1_000_000))}, 3) is None
    assert explain_refusal({"type": "string"}, 3) == '3 is not of type "string"'


def test_lookups_get_no_remark() -> None:
    assert find_contradictions(calls.call(operation="response"), Draft((DraftChoice((), finish="tool_calls"),))) == ()
