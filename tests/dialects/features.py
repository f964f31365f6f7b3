"""What a chat can do, as data: for each feature what a rule answers and what the request asks beside the messages.

The model's name is the feature's, and the rule is found by it. Knows no dialect but for how each is reached.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from mockserver.dialects import discover

Json = Any

URLS = {
    "openai": "/openai/v1/chat/completions",
    "skytells": "/skytells/v1/chat/completions",
    "crazyrouter": "/crazyrouter/v1/chat/completions",
    "fireworks": "/fireworks/inference/v1/chat/completions",
    "azure": "/azure/chat/completions?api-version=2024-05-01-preview",
    "tzafon": "/tzafon/v1/chat/completions",
    "azure_openai": "/azure-openai/openai/v1/chat/completions",
}
# Azure's own API knows neither `n` nor `stream_options`: they are the model's business.
HEADERS: Mapping[str, Mapping[str, str]] = {"azure": {"extra-parameters": "pass-through"}}


@dataclass(frozen=True)
class Feature:
    """`then` of its rule (None: no rule, so that the answer is generated), and what the request adds to the usual."""

    then: Mapping[str, Json] | None = None
    body: Mapping[str, Json] = field(default_factory=dict)
    needs: str | None = None  # a feature that the dialect must have
    only: frozenset[str] = frozenset()  # the dialects whose requests can say it; empty: all


def rules(features: Mapping[str, Feature] | None = None) -> str:
    """A rules file with one rule for each feature (those of a chat, if none are given) and each failure."""
    features = FEATURES if features is None else features
    thens = {**{name: feature.then for name, feature in features.items()}, **FAILURES}
    listed = [{"name": name, "when": {"model": name}, "then": then} for name, then in thens.items() if then is not None]
    return yaml.safe_dump({"version": 1, "rules": listed}, sort_keys=False)


def spoken(dialects: Iterable[str], features: Mapping[str, Feature]) -> list[tuple[str, str]]:
    """Every one of these dialects with each feature that it has."""
    return [
        (dialect, name)
        for dialect in dialects
        for name, feature in features.items()
        if feature.needs is None or feature.needs in discover()[dialect].features
        if not feature.only or dialect in feature.only
    ]


def request(name: str, *, stream: bool = False, usage: bool = False) -> dict[str, Json]:
    """The body that asks for a feature or a failure."""
    added = FEATURES[name].body if name in FEATURES else {}
    body = {"model": name, "messages": [{"role": "user", "content": "Say something about the sea."}], **added}
    if stream:
        body["stream"] = True
    if usage:
        body["stream_options"] = {"include_usage": True}
    return body


_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": _CITY}}
_TIME = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}}
_NOTE = {"type": "custom", "custom": {"name": "take_note"}}
_TOOLS = {"tools": [_WEATHER, _TIME]}
_CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
_TOLD = [
    {"role": "user", "content": "How is the weather in Oslo?"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": '{"sky": "clear"}'},
]
_SECOND_TURN = [
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "First."},
    {"role": "user", "content": "Go on."},
]
_ASKED = [{"role": "user", "content": "How is the weather in Oslo?"}]
_ASKED_TWICE = [{"role": "user", "content": "How is the weather in Oslo and in Rome?"}]
_SCHEMA = {"type": "json_schema", "json_schema": {"name": "place", "schema": _CITY}}
_FUNCTIONS = {"functions": [_WEATHER["function"], _TIME["function"]]}  # as tools were called once
_WITH_FUNCTIONS = frozenset({"openai", "azure_openai", "crazyrouter"})
_CITATION = {
    "type": "url_citation",
    "url_citation": {"start_index": 0, "end_index": 5, "title": "Sea", "url": "https://example.org/sea"},
}
_ODD = 'line one\nline two\r\n\u2028\u2029 "quoted" \\ tab\t nul-like \u0001 👩\u200d👩\u200d👧 e\u0301 مرحبا 𝔘'
_SEA = "The sea is wide, deep and never quite still."

FEATURES: Mapping[str, Feature] = {
    "text": Feature({"text": "Hello! How can I help you today?"}),
    "text-of-parts": Feature(
        {"text": "Seen."}, {"messages": [{"role": "user", "content": [{"type": "text", "text": "Look."}]}]}
    ),
    "empty-text": Feature({"text": ""}),
    "odd-text": Feature({"text": _ODD}),
    "words": Feature({"text": _SEA, "chunks": "word"}),
    "characters": Feature({"text": _ODD, "chunks": "char"}),
    "sized": Feature({"text": _SEA, "chunks": {"size": 7}}),
    "pieces": Feature({"text": "abcdef", "chunks": ["a", "bcd", "ef"]}),
    "reasoning": Feature({"reasoning": "The user wants the sea.", "text": _SEA}),
    "refusal": Feature({"refusal": "I can't help with that."}),
    "annotations": Feature({"text": _SEA, "annotations": [_CITATION]}),
    "json": Feature({"json": {"name": "Ada", "born": 1815, "tags": ["a", None, True]}}),
    "tool-call": Feature({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}, _TOOLS),
    "tool-call-in-characters": Feature(
        {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Łódź 🌊"}}], "chunks": "char"}, _TOOLS
    ),
    "tool-calls": Feature(
        {
            "tool_calls": [
                {"name": "get_weather", "arguments": {"city": "Oslo"}},
                {"name": "get_time", "arguments": {}},
                {"name": "get_weather", "arguments": {"city": "Rome"}},
            ]
        },
        _TOOLS,
    ),
    "one-tool-call": Feature(
        {"tool_calls": [{"name": "get_time", "arguments": {}}, {"name": "get_weather", "arguments": {"city": "Rome"}}]},
        {**_TOOLS, "parallel_tool_calls": False},
    ),
    "tool-call-auto": Feature({"tool_calls": [{"name": "get_weather", "arguments": "auto"}]}, _TOOLS),
    "text-and-tool-call": Feature(
        {"text": "Let me see.", "tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}, _TOOLS
    ),
    "custom-tool-call": Feature(
        {"tool_calls": [{"name": "take_note", "input": "the sea"}]}, {"tools": [_NOTE]}, needs="custom_tools"
    ),
    "tool-result": Feature({"text": "It is {{ tool_result.json.sky }}."}, {**_TOOLS, "messages": _TOLD}),
    "parts": Feature(
        {
            "parts": [
                {"reasoning": "First the call."},
                {"text": "One moment."},
                {"tool_call": {"name": "get_weather", "arguments": {"city": "Oslo"}}},
            ]
        },
        _TOOLS,
    ),
    "n": Feature({"text": _SEA}, {"n": 3}),
    "n-of-tool-calls": Feature(
        {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}, {**_TOOLS, "n": 2}
    ),
    "choices": Feature({"choices": [{"text": "A short one."}, {"text": _SEA}, {"refusal": "No."}]}, {"n": 3}),
    "fewer-choices-than-n": Feature({"choices": [{"text": "One."}, {"text": "Two."}]}, {"n": 4}),
    "stop": Feature({"text": _SEA}, {"stop": ", deep"}),
    "stops": Feature({"text": _SEA}, {"stop": ["still", "never"]}),
    "stop-at-once": Feature({"text": _SEA}, {"stop": "The"}),
    "max-tokens": Feature({"text": _SEA}, {"max_tokens": 4}),
    "max-tokens-of-n": Feature({"text": _SEA}, {"max_tokens": 4, "n": 2}),
    "max-tokens-of-reasoning": Feature({"reasoning": "A long thought about the sea.", "text": _SEA}, {"max_tokens": 3}),
    "max-tokens-of-a-tool-call": Feature(
        {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}, {**_TOOLS, "max_tokens": 3}
    ),
    "max-tokens-of-pieces": Feature({"text": "abc def ghi", "chunks": ["ab", "c def", " ghi"]}, {"max_tokens": 2}),
    "finish": Feature({"text": _SEA, "finish": "length"}),
    "usage": Feature({"text": _SEA, "usage": {"prompt_tokens": 100, "completion_tokens": 50}}),
    "resolved-model": Feature({"text": _SEA, "model": "resolved-model-2"}),
    "headers": Feature({"text": _SEA, "headers": {"x-custom": "yes"}}),
    "logprobs": Feature({"text": _SEA}, {"logprobs": True, "top_logprobs": 2}),
    "logprobs-alone": Feature({"text": _SEA}, {"logprobs": True}),
    "logprobs-in-words": Feature({"text": _SEA, "chunks": "word"}, {"logprobs": True, "top_logprobs": 1}),
    "logprobs-stated": Feature({"text": "Yes.", "logprobs": [-0.25]}, {"logprobs": True}),
    "filtered": Feature(
        {
            "text": _SEA,
            "content_filter": {"on": "completion", "category": "violence", "severity": "medium", "after_tokens": 5},
        },
        needs="content_filter",
    ),
    "filtered-at-once": Feature(
        {
            "text": _SEA,
            "content_filter": {"on": "completion", "category": "hate", "severity": "high", "after_tokens": 0},
        },
        needs="content_filter",
    ),
    "filtered-material": Feature(
        {"text": _SEA, "content_filter": {"on": "completion", "category": "protected_material_text"}},
        needs="content_filter",
    ),
    "annotated": Feature(
        {"text": _SEA, "annotate": {"completion": {"violence": "low"}, "prompt": {"hate": "low"}}},
        needs="filter_annotations",
    ),
    "echo": Feature({"echo": True}),
    "prose": Feature({"generate": {"kind": "prose", "tokens": 20}}),
    "lorem": Feature({"generate": {"kind": "lorem", "tokens": 12}}),
    "template": Feature({"text": "{{ call.model }}: {{ last_user }} {{ fake.name }}"}),
    "steps": Feature({"steps": [{"text": "First."}, {"text": "Second."}]}, {"messages": _SECOND_TURN}),
    "one-of": Feature(
        {"one_of": [{"weight": 1, "then": {"text": "Heads."}}, {"weight": 1, "then": {"text": "Tails."}}]}
    ),
    "generated": Feature(),
    "generated-call": Feature(body={**_TOOLS, "messages": _ASKED}),
    "generated-calls": Feature(body={**_TOOLS, "messages": _ASKED_TWICE}),
    "generated-calls-one-by-one": Feature(body={**_TOOLS, "messages": _ASKED_TWICE, "parallel_tool_calls": False}),
    "generated-call-of-n": Feature(body={**_TOOLS, "messages": _ASKED, "n": 2}),
    "generated-call-required": Feature(body={**_TOOLS, "tool_choice": "required"}),
    "generated-call-named": Feature(
        body={**_TOOLS, "tool_choice": {"type": "function", "function": {"name": "get_weather"}}}
    ),
    "generated-call-with-logprobs": Feature(body={**_TOOLS, "messages": _ASKED, "logprobs": True, "top_logprobs": 1}),
    "generated-call-cut": Feature(body={**_TOOLS, "messages": _ASKED, "max_tokens": 3}),
    "generated-call-and-stop": Feature(body={**_TOOLS, "messages": _ASKED, "stop": ["a"]}),
    "generated-custom-call": Feature(
        body={"tools": [_NOTE], "tool_choice": {"type": "custom", "custom": {"name": "take_note"}}},
        needs="custom_tools",
    ),
    "generated-function-call": Feature(body={**_FUNCTIONS, "messages": _ASKED}, only=_WITH_FUNCTIONS),
    "generated-function-call-cut": Feature(
        body={**_FUNCTIONS, "messages": _ASKED, "max_tokens": 3}, only=_WITH_FUNCTIONS
    ),
    "function-call": Feature(
        {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]},
        {**_FUNCTIONS, "function_call": {"name": "get_weather"}},
        only=_WITH_FUNCTIONS,
    ),
    "generated-call-after-thinking": Feature(body={**_TOOLS, "messages": _ASKED, "reasoning_effort": "low"}),
    "generated-after-thinking": Feature(body={"reasoning_effort": "medium"}),
    "generated-thinking-cut": Feature(body={"reasoning_effort": "high", "max_tokens": 6}),
    "generated-of-results": Feature(body={**_TOOLS, "messages": _TOLD}),
    "generated-schema": Feature(body={"response_format": _SCHEMA}),
    "generated-schema-cut": Feature(body={"response_format": _SCHEMA, "max_tokens": 3}),
    "generated-object": Feature(body={"response_format": {"type": "json_object"}, "n": 2}),
    "tool-calls-auto": Feature(
        {"tool_calls": [{"name": "get_weather", "arguments": "auto"}] * 2}, {**_TOOLS, "messages": _ASKED_TWICE, "n": 2}
    ),
    "custom-tool-call-auto": Feature(
        {"tool_calls": [{"name": "take_note", "arguments": "auto"}]}, {"tools": [_NOTE]}, needs="custom_tools"
    ),
    "schema-of-a-rule": Feature({"generate": {"kind": "schema", "schema": _CITY}}),
    "markdown": Feature({"generate": {"kind": "markdown", "tokens": 40}}),
    "auto-of-a-rule": Feature({"generate": "auto"}, {**_TOOLS, "messages": _ASKED}),
    "generated-n": Feature(body={"n": 2}),
    "generated-short": Feature(body={"max_tokens": 3}),
    "generated-with-logprobs": Feature(body={"logprobs": True, "top_logprobs": 1, "max_tokens": 3}),
}

FAILURES: Mapping[str, Mapping[str, Json]] = {
    "bad-request": {"error": 400},
    "invalid-key": {"error": "invalid_key"},
    "billing": {"error": 402},
    "forbidden": {"error": 403},
    "model-not-found": {"error": "model_not_found"},
    "conflict": {"error": 409},
    "context-length": {"error": "context_length"},
    "unprocessable": {"error": "unprocessable"},
    "rate-limit": {"error": "rate_limit", "retry_after": "2s"},
    "quota": {"error": "quota"},
    "server-error": {"error": 500},
    "bad-gateway": {"error": 502},
    "overloaded": {"error": "overloaded"},
    "timeout": {"error": "timeout"},
    "filtered-prompt": {"error": "content_filter"},
    "violent-prompt": {"content_filter": {"on": "prompt", "category": "violence", "severity": "high"}},
    "jailbreak": {"content_filter": {"on": "prompt", "category": "jailbreak"}},
    "free-error": {
        "error": {"status": 418, "code": "teapot", "type": "tea", "message": "I'm a teapot.", "param": "cup"}
    },
}
