"""The pieces that a rule states are sent, the empty ones too, in every dialect and kind of part."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import yaml

from mockserver.core.event_stream import is_prelude, read_message, split_messages
from mockserver.dialects import discover
from tests.dialects.features import HEADERS, RESPONSE_URLS, TEXT_URLS, URLS
from tests.kit.asgi import app

Json = Any

TEXT = ["", "One", "", "", " two\n", ""]
INPUT = ["", '{"city"', "", ':"Paris"}', ""]
NOTHING = ["", ""]
NO_INPUT = ["", "{", "", "}"]


def call(pieces: list[str]) -> Json:
    return {"parts": [{"tool_call": {"name": "now", "arguments": "".join(pieces)}, "chunks": pieces}]}


# For each kind of part, the pieces and what its rule says.
PARTS: Mapping[str, tuple[list[str], Json]] = {
    "text": (TEXT, {"text": "".join(TEXT), "chunks": TEXT}),
    "empty text": (NOTHING, {"text": "", "chunks": NOTHING}),
    "reasoning": (TEXT, {"parts": [{"reasoning": "".join(TEXT), "chunks": TEXT}]}),
    "refusal": (TEXT, {"refusal": "".join(TEXT), "chunks": TEXT}),
    "call": (INPUT, call(INPUT)),
    "call without input": (NO_INPUT, call(NO_INPUT)),
    "custom call": (TEXT, {"tool_calls": [{"name": "now", "input": "".join(TEXT)}], "chunks": TEXT}),
}
STREAMED = {"model": "m", "stream": True}
BODIES: Mapping[str, Json] = {
    "chat": {**STREAMED, "messages": [{"role": "user", "content": "hi"}]},
    "responses": {**STREAMED, "input": "hi", "reasoning": {"summary": "auto"}},
    "completions": {**STREAMED, "prompt": "hi"},
    "messages": {
        "model": "claude-sonnet-4-5",
        "max_tokens": 2000,
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    },
    "cohere_chat": {**STREAMED, "messages": [{"role": "user", "content": "hi"}]},
    "complete": {**STREAMED, "max_tokens_to_sample": 99, "prompt": "\n\nHuman: hi\n\nAssistant:"},
    "converse": {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    },
    "invoke": {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 2000,
        "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    },
    "generate_content": {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    },
    "mistral_chat": {**STREAMED, "messages": [{"role": "user", "content": "hi"}]},
    "lines": {**STREAMED, "messages": [{"role": "user", "content": "hi"}]},
    "generated_lines": {**STREAMED, "prompt": "hi"},
}


def of_chat(event: Json) -> Iterator[str]:
    """Leave out what is the provider's own: the fragment that names a tool, and the first chunk where it has a role."""
    for delta in (choice["delta"] for choice in event["choices"]):
        for made in delta.get("tool_calls", ()):
            if "id" not in made:
                yield made["function"]["arguments"] if "function" in made else made["custom"]["input"]
        opens = "role" in delta and (event["own_opening"] or "tool_calls" in delta)
        yield from (delta[key] for key in ("content", "reasoning_content", "refusal") if key in delta and not opens)


def of_messages(event: Json) -> Iterator[str]:
    delta = event.get("delta", {})
    yield from (delta[key] for key in ("text", "thinking", "partial_json") if key in delta)


def of_lines(line: Json) -> Iterator[str]:
    said = line.get("message", line)
    if not line["done"]:
        yield said["thinking"] if "thinking" in said else said.get("content", said.get("response"))


def of_mistral(event: Json) -> Iterator[str]:
    """Yield the pieces of all chunks but those that open and end a choice."""
    (choice,) = event["choices"]
    content = choice["delta"]["content"]
    if "role" not in choice["delta"] and choice["finish_reason"] is None:
        yield content if isinstance(content, str) else content[0]["thinking"][0]["text"]


def of_cohere(event: Json) -> Iterator[str]:
    message = event.get("delta", {}).get("message", {})
    match event["type"]:
        case "content-delta":
            yield from message["content"].values()
        case "tool-plan-delta":
            yield message["tool_plan"]
        case "tool-call-delta":
            yield message["tool_calls"]["function"]["arguments"]


def of_converse(event: Json) -> Iterator[str]:
    delta = event.get("delta", {})
    found = {**delta, **delta.get("reasoningContent", {}), **delta.get("toolUse", {})}
    yield from (found[key] for key in ("text", "input") if key in found)


# How the pieces are found in an event of each operation.
FOUND: Mapping[str, Callable[[Json], Iterator[str]]] = {
    "chat": of_chat,
    "responses": lambda event: iter([event["delta"]] if "delta" in event else []),
    "completions": lambda event: (choice["text"] for choice in event["choices"]),
    "messages": of_messages,
    "cohere_chat": of_cohere,
    "complete": lambda event: iter([event["completion"]]),
    "converse": of_converse,
    "invoke": of_messages,
    "generate_content": lambda event: (
        part["text"] for each in event["candidates"] for part in each["content"].get("parts", ()) if "text" in part
    ),
    "mistral_chat": of_mistral,
    "lines": of_lines,
    "generated_lines": of_lines,
}
GEMINI = "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
PLACES: list[tuple[str, str, str]] = [
    *(("chat", name, url) for name, url in URLS.items()),
    *(("responses", name, url) for name, url in RESPONSE_URLS.items()),
    *(("completions", name, url) for name, url in TEXT_URLS.items()),
    ("mistral_chat", "mistral", "/mistral/v1/chat/completions"),
    ("messages", "anthropic", "/anthropic/v1/messages"),
    ("complete", "anthropic", "/anthropic/v1/complete"),
    ("generate_content", "gemini", GEMINI),
    ("lines", "ollama", "/ollama/api/chat"),
    ("generated_lines", "ollama", "/ollama/api/generate"),
    ("cohere_chat", "cohere", "/cohere/v2/chat"),
    ("converse", "bedrock", "/bedrock/model/us.anthropic.claude-opus-4-8/converse-stream"),
    ("invoke", "bedrock", "/bedrock/model/us.anthropic.claude-opus-4-8/invoke-with-response-stream"),
]
WITHOUT_STREAMS = {"jina", "voyage"}
CALLS = {"call", "call without input", "custom call"}
# What an operation has no place for, in whole or in pieces.
LACKS: Mapping[str, set[str]] = {
    "completions": CALLS | {"reasoning"},
    "complete": CALLS | {"reasoning"},
    **dict.fromkeys(("generate_content", "lines", "mistral_chat"), CALLS),  # their calls are whole
    "generated_lines": CALLS,
}
WITHOUT_REASONING = {"openai", "azure_openai", "skytells"}  # in a chat
# Pieces of the provider's own, before or after those of the rule.
OWN: Mapping[tuple[str, str], tuple[list[str], list[str]]] = {
    ("completions", ""): ([], [""]),
    ("complete", ""): ([], [""]),
    ("messages", "call"): ([""], []),
    ("messages", "call without input"): ([""], []),
    ("messages", "custom call"): (["", '{"input":"'], ['"}']),
    ("cohere_chat", "custom call"): (['{"input":"'], ['"}']),
    ("invoke", "call"): ([""], []),
    ("invoke", "call without input"): ([""], []),
    ("invoke", "custom call"): (["", '{"input":"'], ['"}']),
    ("converse", "custom call"): (['{"input":"'], ['"}']),
}
IN_OBJECTS = {("messages", "custom call"), ("cohere_chat", "custom call")}  # free text in JSON
CASES = [
    (operation, dialect, url, part)
    for operation, dialect, url in PLACES
    for part in PARTS
    if part not in LACKS.get(operation, ())
    and not (operation == "chat" and part == "reasoning" and dialect in WITHOUT_REASONING)
]


@pytest.mark.parametrize(("operation", "dialect", "url", "part"), CASES)
def test_all_pieces_are_sent(operation: str, dialect: str, url: str, part: str) -> None:
    pieces, then = PARTS[part]
    served = app(yaml.safe_dump({"rules": [{"then": then}]}))
    got = served.ask(url, BODIES[operation], headers={"anthropic-version": "2023-06-01", **HEADERS.get(dialect, {})})
    assert got.status == 200, got.body
    if is_prelude(got.body):
        lines = [message.text for message in map(read_message, split_messages(got.body)) if message is not None]
    else:
        lines = [
            line.removeprefix("data: ") for line in got.body.decode().split("\n") if line[:6] in ("data: ", '{"mode')
        ]
    events = [json.loads(line) for line in lines if line != "[DONE]"]
    if operation == "chat":
        first = next((choice["delta"] for event in events for choice in event["choices"]), {})
        events = [{**event, "own_opening": bool(first)} for event in events]
    before, after = OWN.get((operation, part)) or OWN.get((operation, "")) or ([], [])
    spelled = (
        [json.dumps(piece)[1:-1] for piece in pieces] if part == "custom call" and (operation, part) in OWN else pieces
    )
    assert [piece for event in events for piece in FOUND[operation](event)] == [*before, *spelled, *after]


def test_all_dialects_are_there() -> None:
    assert {dialect for _, dialect, _ in PLACES} | WITHOUT_STREAMS == set(discover())
