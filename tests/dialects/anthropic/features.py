"""What Anthropic's messages can do, as data: `then` of a rule, which is found by the model's name, and the request."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

Json = Any

PROMPT = "Say something about the sea."
SEA = "The sea is wide, deep and never quite still."
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "The weather in a city", "input_schema": CITY}
TIME = {"name": "get_time", "input_schema": {"type": "object", "properties": {}}}
TOOLS = {"tools": [WEATHER, TIME]}
CALL = {"name": "get_weather", "arguments": {"city": "Łódź 🌊"}}
ASKED = [{"role": "user", "content": "How is the weather in Oslo?"}]
USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": '{"sky": "clear"}'}
TOLD = [*ASKED, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [RESULT]}]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": SEA}, "title": "Sea"}
FORMAT = {"output_config": {"format": {"type": "json_schema", "schema": {**CITY, "additionalProperties": False}}}}
THINKING = {"thinking": {"type": "adaptive"}}
OMITTED = {"thinking": {"type": "adaptive", "display": "omitted"}}
CITATION = {
    "type": "url_citation",
    "url_citation": {"start_index": 0, "end_index": 7, "title": "Sea", "url": "https://example.org/sea"},
}
LOCATION = {
    "type": "char_location",
    "cited_text": "The sea",
    "document_index": 0,
    "document_title": "Sea",
    "start_char_index": 0,
    "end_char_index": 7,
    "file_id": None,
}
SEARCH = {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}
CODE = {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]}
FETCHED = {
    "type": "web_fetch_result",
    "url": "https://example.org",
    "retrieved_at": "2026-01-01T00:00:00Z",
    "content": {"type": "document", "source": DOCUMENT["source"], "title": "Sea", "citations": {"enabled": False}},
}
FETCH = {"type": "server_tool_use", "name": "web_fetch", "input": {"url": "https://example.org"}}

# `then` of the rule (None: the answer is generated), and what the request adds to the usual one.
FEATURES: Mapping[str, tuple[Json, Mapping[str, Json]]] = {
    "text": ({"text": SEA}, {}),
    "empty-text": ({"text": ""}, {}),
    "pieces": ({"text": "abcdef", "chunks": ["a", "bcd", "ef"]}, {}),
    "characters": ({"text": "👩‍👩‍👧 e\u0301 𝔘\r\n\u2028", "chunks": "char"}, {}),
    "reasoning": ({"reasoning": "The user wants the sea.", "text": SEA}, {}),
    "reasoning-omitted": ({"reasoning": "The user wants the sea.", "text": SEA}, OMITTED),
    "refusal": ({"refusal": "I can't help with that."}, {}),
    "annotations": ({"text": SEA, "annotations": [CITATION, LOCATION]}, {}),
    "json": ({"json": {"name": "Ada", "born": 1815, "tags": ["a", None, True]}}, {}),
    "tool-call": ({"tool_calls": [CALL]}, TOOLS),
    "tool-call-in-characters": ({"tool_calls": [CALL], "chunks": "char"}, TOOLS),
    "tool-calls": ({"text": "Let me see.", "tool_calls": [CALL, {"name": "get_time", "arguments": {}}]}, TOOLS),
    "one-tool-call": (
        {"tool_calls": [CALL, {"name": "get_time", "arguments": {}}]},
        {**TOOLS, "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ),
    "tool-result": ({"text": "It is {{ tool_result.json.sky }}."}, {**TOOLS, "messages": TOLD}),
    "stop": ({"text": SEA}, {"stop_sequences": ["never", ", deep"]}),
    "stop-at-once": ({"text": SEA}, {"stop_sequences": ["The"]}),
    "max-tokens": ({"text": SEA}, {"max_tokens": 4}),
    "no-tokens": ({"text": SEA}, {"max_tokens": 0}),
    "max-tokens-of-reasoning": ({"reasoning": "A long thought about it.", "text": SEA}, {"max_tokens": 3}),
    "max-tokens-of-a-tool-call": ({"tool_calls": [CALL]}, {**TOOLS, "max_tokens": 4}),
    "finish": ({"text": SEA, "finish": "length"}, {}),
    "own-finish": ({"text": SEA, "finish": "pause_turn"}, {}),
    "usage": (
        {
            "text": SEA,
            "usage": {"prompt_tokens": 100, "completion_tokens": 9, "cached_tokens": 60, "cache_write_tokens": 5},
        },
        {},
    ),
    "filtered": (
        {"text": SEA, "content_filter": {"on": "completion", "category": "violence", "after_tokens": 5}},
        {},
    ),
    "hateful-prompt": ({"content_filter": {"on": "prompt", "category": "hate"}}, {}),
    "searched": (
        {"items": [{"type": "web_search_call", "query": "sea", "sources": ["https://example.org"]}], "text": SEA},
        SEARCH,
    ),
    "fetched": (
        {"items": [FETCH, {"type": "web_fetch_tool_result", "content": FETCHED}], "text": SEA},
        {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
    ),
    "hidden-thoughts": ({"items": [{"type": "redacted_thinking", "data": "c2VhbGVk"}], "text": SEA}, THINKING),
    "generated": (None, {}),
    "generated-thinking": (None, THINKING),
    "generated-thinking-omitted": (None, OMITTED),
    "generated-call": (None, {**TOOLS, "messages": ASKED}),
    "generated-call-any": (None, {**TOOLS, "tool_choice": {"type": "any"}}),
    "generated-call-named": (None, {**TOOLS, "tool_choice": {"type": "tool", "name": "get_time"}}),
    "generated-call-cut": (None, {**TOOLS, "messages": ASKED, "max_tokens": 3}),
    "generated-of-results": (None, {**TOOLS, "messages": TOLD}),
    "generated-schema": (None, FORMAT),
    "generated-search": (None, {**SEARCH, "messages": [{"role": "user", "content": "Search the web for fjords."}]}),
    "generated-code": (None, {**CODE, "messages": [{"role": "user", "content": "Run code: `print(2)`"}]}),
    "generated-bash": (
        None,
        {"tools": [{"type": "bash_20250124", "name": "bash"}], "tool_choice": {"type": "any"}},
    ),
    "images": (None, {"messages": [{"role": "user", "content": [IMAGE, DOCUMENT, {"type": "text", "text": "Look."}]}]}),
    "system": (None, {"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]}),
    "asked-for": (
        {"text": SEA},
        {"container": {"skills": []}, "diagnostics": {}, "speed": "fast", "context_management": {"edits": []}},
    ),
    "thread": (None, {"thread": {"type": "create"}}),
}


def rules() -> str:
    listed = [{"name": name, "when": {"model": name}, "then": then} for name, (then, _) in FEATURES.items() if then]
    return yaml.safe_dump({"version": 1, "rules": listed}, sort_keys=False)


def request(name: str, **more: Json) -> dict[str, Json]:
    usual = {"model": name, "max_tokens": 1000, "messages": [{"role": "user", "content": PROMPT}]}
    return {**usual, **FEATURES[name][1], **more}


def bodies(operation: str) -> Iterator[Json]:
    """Sound bodies of an operation."""
    for name in FEATURES:
        body = request(name)
        if operation == "chat":
            yield from (body, {**body, "stream": True})
        elif operation == "completions":
            prompt = f"\n\nHuman: {PROMPT}\n\nAssistant:"
            yield {"model": name, "prompt": prompt, "max_tokens_to_sample": 9, "stream": name < "g"}
        elif operation == "create_batch":
            yield {"requests": [{"custom_id": name, "params": body}]}
        else:
            counted = ("model", "messages", "tools", "system", "tool_choice", "thinking", "output_config")
            yield {key: value for key, value in body.items() if key in counted}
