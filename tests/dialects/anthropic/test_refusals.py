"""What Anthropic refuses: its own words, its statuses and types, what only `live` refuses, and its two versions."""

import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit.asgi import app
from tests.kit.local import local

PATH = "/anthropic/v1/messages"
NEW, OLD = {"anthropic-version": "2026-10-21"}, {"anthropic-version": "2023-06-01"}
USUAL = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": [{"role": "user", "content": "Hello"}]}
REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text(encoding="utf-8"))
Json = Any


def ask(body: Json, headers: Any = NEW, **settings: Json) -> tuple[int, Json]:
    answered = local(**settings).ask(
        PATH, {key: value for key, value in {**USUAL, **body}.items() if value is not None}, headers=headers
    )
    return answered.status, answered.json


@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(body: Json, message: str) -> None:
    status, found = ask(body)
    assert (status, found["error"]["type"]) == (400, "invalid_request_error"), found
    said = found["error"]["message"]
    assert said == message or (message[-1] in " " and said.startswith(message))


def test_two_versions() -> None:
    assert ask({"temperature": 0.5}, OLD)[0] == 200
    assert ask({"temperature": 0.5}, {})[0] == 200
    assert ask({"temperature": 2}, OLD)[1]["error"]["message"] == "temperature: range: 0..1"
    assert ask({"temperature": 0.5}, {"anthropic-version": "2030-01-01"})[0] == 400
    thinking = {"thinking": {"type": "adaptive"}, "temperature": 0.5}
    assert ask(thinking, OLD)[1]["error"]["message"].startswith("`temperature` may only be set to 1 when thinking is")


CACHED = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
SOURCE = {
    "type": "base64",
    "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
}
# Pictures by their width; of each, only the head.
PICTURES = {
    width: {
        "type": "image",
        "source": {
            **SOURCE,
            "media_type": "image/png",
            "data": b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + b"\0\0\0\x01").decode(),
        },
    }
    for width in (2000, 2001, 8001)
}
LARGE = b64encode(b"\x89PNG" + bytes(3_932_159)).decode()
CLOSED = {"type": "object", "additionalProperties": False}
BLANK = {"type": "text", "text": "\n"}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
LIVE = {
    "more than the model can say": (
        {"model": "claude-3-5-haiku-20241022", "max_tokens": 12000},
        NEW,
        "max_tokens: 12000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku-20241022",
    ),
    "no version": ({}, {}, "anthropic-version: header is required"),
    "unknown version": ({}, {"anthropic-version": "x"}, 'anthropic-version: "x" is not a valid version'),
    "temperature and top_p": (
        {"temperature": 1, "top_p": 1},
        OLD,
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    ),
    "a budget for a model that has none": (
        {"model": "claude-opus-4-7", "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}},
        NEW,
        '"thinking.type.enabled" is not supported for this model. '
        'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    ),
    "blank stop": (
        {"stop_sequences": [" "]},
        NEW,
        "stop_sequences: each stop sequence must contain non-whitespace",
    ),
    "cached too often": (
        {"system": [CACHED] * 5},
        NEW,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "cached too often, with the whole": (
        {"cache_control": {"type": "ephemeral"}, "system": [CACHED] * 4},
        NEW,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "longer after shorter": (
        {
            "system": [CACHED],
            "messages": [
                {"role": "user", "content": [{**CACHED, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
            ],
        },
        NEW,
        "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
        "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
    ),
    "blank prefill": (
        {"messages": [*USUAL["messages"], {"role": "assistant", "content": "so "}]},
        NEW,
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    "newer model": (
        {"temperature": 1, "model": "claude-opus-4-8"},
        OLD,
        "`temperature` is deprecated for this model.",
    ),
    "prefill": (
        {"model": "claude-sonnet-5-5", "messages": [*USUAL["messages"], {"role": "assistant", "content": "So"}]},
        NEW,
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    "open object": (
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        NEW,
        "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
    "strict tool": (
        {"tools": [{"name": "a", "strict": True, "input_schema": {"type": "object"}}]},
        NEW,
        "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
    "image": (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}}
                    ],
                }
            ]
        },
        NEW,
        "messages.0.content.0.image.source.base64: Could not process image",
    ),
    "image of another type": (
        {
            "messages": [
                {"role": "user", "content": [{"type": "image", "source": {**SOURCE, "media_type": "image/jpeg"}}]}
            ]
        },
        NEW,
        "messages.0.content.0.image.source.base64: The image was specified using the image/jpeg media type, but the "
        "image appears to be a image/png image",
    ),
    "blanks": (
        {"messages": [*USUAL["messages"], {"role": "assistant", "content": [BLANK]}, *USUAL["messages"]]},
        NEW,
        "messages: text content blocks must contain non-whitespace text",
    ),
    "blank instructions": (
        {"system": [BLANK]},
        NEW,
        "system: text content blocks must contain non-whitespace text",
    ),
    "a union as input": (
        {"tools": [{"name": "a", "input_schema": {"type": "object", "anyOf": [{"required": ["b"]}]}}]},
        NEW,
        "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    ),
    "a property with blanks": (
        {"tools": [{"name": "a", "input_schema": {"type": "object", "properties": {"a b": {}}}}]},
        NEW,
        "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    ),
    "no schema": (
        {"tools": [{"name": "a", "input_schema": {"type": "object", "properties": {"a": {"items": [{}]}}}}]},
        NEW,
        "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
        "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
        "https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview.",
    ),
    "a result of a search that nobody made": (
        {"messages": [*USUAL["messages"], {"role": "assistant", "content": [FOUND]}, *USUAL["messages"]]},
        NEW,
        "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. Each "
        "`web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
    ),
    "an address": (
        {"metadata": {"user_id": "kim@example.com"}},
        NEW,
        "metadata.user_id: user_id appears to contain an email address",
    ),
    "too many strict tools": (
        {"tools": [{"name": f"a{n}", "strict": True, "input_schema": CLOSED} for n in range(21)]},
        NEW,
        "Too many strict tools (21). The maximum number of strict tools supported is 20. "
        "Try reducing the number of tools marked as strict.",
    ),
    "too many optional properties": (
        {
            "tools": [
                {
                    "name": "a",
                    "strict": True,
                    "input_schema": {**CLOSED, "properties": {f"b{n}": {} for n in range(13)}},
                }
            ],
            "output_config": {
                "format": {
                    "type": "json_schema",
                    "schema": {
                        **CLOSED,
                        "properties": {
                            "a": {
                                "type": "array",
                                "items": {**CLOSED, "properties": {f"b{n}": {} for n in range(12)}},
                            }
                        },
                        "required": ["a"],
                    },
                }
            },
        },
        NEW,
        "Schemas contains too many optional parameters (25), which would make grammar compilation inefficient. "
        "Reduce the number of optional parameters in your tool schemas (limit: 24).",
    ),
    "too many unions": (
        {
            "tools": [
                {
                    "name": "a",
                    "strict": True,
                    "input_schema": {
                        **CLOSED,
                        "properties": {f"b{n}": {"type": ["string", "null"]} for n in range(17)},
                        "required": [f"b{n}" for n in range(17)],
                    },
                }
            ]
        },
        NEW,
        "Schemas contains too many parameters with union types (17 parameters with type arrays or anyOf). This causes "
        "exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: 16 parameters "
        "with unions).",
    ),
    "an image of many bytes": (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "image", "source": {**SOURCE, "media_type": "image/png", "data": LARGE}}],
                },
            ]
        },
        NEW,
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes",
    ),
    "a long image": (
        {"messages": [{"role": "user", "content": [PICTURES[8001]]}]},
        NEW,
        "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: "
        "8000 pixels",
    ),
    "a long image among many": (
        {"messages": [{"role": "user", "content": [PICTURES[2000]] * 20 + [PICTURES[2001]]}]},
        NEW,
        "messages.0.content.20.image.source.base64.data: At least one of the image dimensions exceed max allowed size "
        "for many-image requests: 2000 pixels",
    ),
    "a failure without a reason": (
        {
            "messages": [
                *USUAL["messages"],
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True}]},
            ]
        },
        NEW,
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    ),
    "a failure with an image": (
        {
            "messages": [
                *USUAL["messages"],
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {}}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [PICTURES[2000]]}
                    ],
                },
            ]
        },
        NEW,
        "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true",
    ),
    "a call of the user": (
        {"messages": [{"role": "user", "content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {}}]}]},
        NEW,
        "messages.0: `tool_use` blocks can only be in `assistant` messages",
    ),
    "a thought at the end": (
        {
            "messages": [
                *USUAL["messages"],
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": "x"}]},
            ]
        },
        NEW,
        "messages.1: The final block in an assistant message cannot be `thinking`.",
    ),
    "all tools deferred": (
        {"tools": [{"name": "a", "input_schema": {"type": "object"}, "defer_loading": True}]},
        NEW,
        "At least one tool must have defer_loading=false. All tools cannot be deferred.",
    ),
    "a reference to no tool": (
        {
            "tools": [{"name": "a", "input_schema": {"type": "object"}}],
            "messages": [
                *USUAL["messages"],
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {}}]},
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "content": [{"type": "tool_reference", "tool_name": "b"}],
                        }
                    ],
                },
            ],
        },
        NEW,
        "messages.2.content.0.tool_result.content: Tool reference 'b' not found in available tools",
    ),
    "no PDF": (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "document",
                            "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
                        }
                    ],
                }
            ]
        },
        NEW,
        "messages.0.content.0.pdf.source.base64.data: The PDF specified was not valid.",
    ),
    "an effort of other models": (
        {"model": "claude-haiku-4-5-20251001", "output_config": {"effort": "low"}},
        NEW,
        "This model does not support the effort parameter.",
    ),
    "adaptive thinking of newer models": (
        {"thinking": {"type": "adaptive"}},
        NEW,
        "adaptive thinking is not supported on this model",
    ),
    "a system message for an older model": (
        {"messages": [*USUAL["messages"], {"role": "system", "content": "Be kind."}]},
        NEW,
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as '
        "an input message role.",
    ),
    "another place": (
        {"inference_geo": "moon"},
        NEW,
        "inference_geo: must be one of ['global', 'us']",
    ),
    "a container without code": (
        {"container": "container_1", "tools": [{"name": "a", "input_schema": {"type": "object"}}]},
        NEW,
        "container: Container identifier can only be provided when using the code execution tool",
    ),
    "an effort of newer models": (
        {"model": "claude-opus-4-6", "output_config": {"effort": "xhigh"}},
        NEW,
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    ),
}


@pytest.mark.parametrize(("body", "headers", "message"), LIVE.values(), ids=LIVE.keys())
def test_live(body: Json, headers: Any, message: str) -> None:
    assert ask(body, headers)[0] == 200
    status, found = ask(body, headers, validation="live")
    assert (status, found["error"]["message"]) == (400, message)


def test_what_the_live_provider_accepts() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {}}
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4"}
    spoken, told = {"role": "assistant", "content": [BLANK, search, use]}, {"role": "user", "content": [result]}
    tool = {"name": "f", "input_schema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}}
    assert ask({"messages": [*USUAL["messages"], spoken, told], "tools": [tool]}, validation="live")[0] == 200
    for content in ("", []):  # of an assistant, also between other turns
        messages = [*USUAL["messages"], {"role": "assistant", "content": content}, *USUAL["messages"]]
        assert ask({"messages": messages}, validation="live")[0] == 200
    pdf = {"type": "base64", "media_type": "application/pdf", "data": b64encode(b"%PDF-1.7\n").decode()}
    messages = [{"role": "user", "content": [{"type": "document", "source": pdf}]}]
    assert ask({"messages": messages}, validation="live")[0] == 200


def test_text_completions_are_for_old_models() -> None:
    asked = {"model": "claude-haiku-4-5", "max_tokens_to_sample": 9, "prompt": "\n\nHuman: Hi\n\nAssistant:"}
    server = local(validation="live")
    refused = server.ask("/anthropic/v1/complete", asked, headers=OLD)
    said = '"claude-haiku-4-5" is not supported on this API. Please use the Messages API instead.'
    assert (refused.status, refused.json["error"]["message"]) == (400, said)
    assert server.ask("/anthropic/v1/complete", {**asked, "model": "claude-2.1"}, headers=OLD).status == 200


THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}

TOOL = {"tools": [{"name": "a", "input_schema": {"type": "object"}}]}
# What one kind of thinking, or one family of models, excludes.
VARIANTS = {
    "adaptive thinking and any tool": ({"thinking": {"type": "adaptive"}, "tool_choice": {"type": "any"}, **TOOL}, 200),
    "adaptive thinking and a tool": (
        {"thinking": {"type": "adaptive"}, "tool_choice": {"type": "tool", "name": "a"}, **TOOL},
        200,
    ),
    "thinking between tools": ({"thinking": {"type": "between_tools"}, "tool_choice": {"type": "any"}, **TOOL}, 200),
    "no thinking": ({"thinking": {"type": "disabled"}, "tool_choice": {"type": "any"}, **TOOL}, 200),
    "a budget and a tool": ({**THINKING, "tool_choice": {"type": "tool", "name": "a"}, **TOOL}, 400),
    "a budget and its own choice": ({**THINKING, "tool_choice": {"type": "auto"}, **TOOL}, 200),
    "a budget and top_k": ({**THINKING, "top_k": 5}, 400),
    "adaptive thinking and top_k": ({"thinking": {"type": "adaptive"}, "top_k": 5}, 200),
    "a budget and a low top_p": ({**THINKING, "top_p": 0.9}, 400),
    "a budget and a high top_p": ({**THINKING, "top_p": 0.95}, 200),
    "adaptive thinking and temperature": ({"thinking": {"type": "adaptive"}, "temperature": 0.5}, 400),
    "no thinking and temperature": ({"thinking": {"type": "disabled"}, "temperature": 0.5}, 200),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_rule_of_one_kind_of_thinking(name: str) -> None:
    body, status = VARIANTS[name]
    assert ask(body, OLD)[0] == status


def test_an_interleaved_budget_may_exceed_the_tokens_of_one_answer() -> None:
    body = {"thinking": {"type": "enabled", "budget_tokens": 4000}, "max_tokens": 2000, **TOOL}
    assert ask(body)[0] == 400
    assert ask(body, {**NEW, "anthropic-beta": "context-1m-2025-08-07, interleaved-thinking-2025-05-14"})[0] == 200


MODEL_LIMITS = [
    ("claude-sonnet-4-20250514", {"temperature": 1, "top_p": 1}, 200),
    ("claude-opus-4-1-20250805", {"temperature": 1, "top_p": 1}, 400),
    ("claude-haiku-4-5-20251001", {"temperature": 1, "top_p": 1}, 400),
    ("claude-opus-4-6", {"temperature": 0.5}, 200),
    ("claude-opus-5", {"temperature": 0.5}, 400),
    ("claude-sonnet-4-6", THINKING, 200),
    ("claude-opus-4-5-20251101", {"output_config": {"effort": "low"}}, 200),
    ("claude-opus-4-5-20251101", {"output_config": {"effort": "max"}}, 400),
    ("claude-sonnet-4-5@20250929", {"output_config": {"effort": "low"}}, 400),
    ("claude-3-7-sonnet-latest", {"thinking": {"type": "adaptive"}}, 400),
    ("claude-next", {"output_config": {"effort": "low"}, "thinking": {"type": "adaptive"}}, 200),
    ("claude-haiku-5-5", THINKING, 400),
    ("claude-haiku-5-5", {"thinking": {"type": "adaptive"}}, 200),
]


@pytest.mark.parametrize(("model", "body", "status"), MODEL_LIMITS)
def test_live_what_families_of_models_refuse(model: str, body: Json, status: int) -> None:
    assert ask({"model": model, **body}, OLD)[0] == 200
    assert ask({"model": model, **body}, OLD, validation="live")[0] == status


def test_live_a_turn_of_the_providers_tools_is_no_prefill() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    messages = [*USUAL["messages"], {"role": "assistant", "content": [search, found]}]
    assert ask({"model": "claude-opus-4-8", "messages": messages}, validation="live")[0] == 200


USED = {"type": "tool_use", "id": "t1", "name": "a", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1"}
OTHER, OTHER_RESULT = {**USED, "id": "t2"}, {**RESULT, "tool_use_id": "t2"}


def turns(*said: Json) -> list[Json]:
    """Messages by their roles' initials, each with its content."""
    roles = {"u": "user", "a": "assistant", "s": "system"}
    return [{"role": roles[role], "content": content} for role, content in said]


HISTORIES = {
    "an id again in a later turn": [
        *turns(("u", "Hi"), ("a", [USED]), ("u", [RESULT]), ("a", [USED]), ("u", [RESULT])),
    ],
    "results in two messages": turns(("u", "Hi"), ("a", [USED, OTHER]), ("u", [RESULT]), ("u", [OTHER_RESULT])),
    "calls in two messages": turns(("u", "Hi"), ("a", [USED]), ("a", [OTHER]), ("u", [OTHER_RESULT, RESULT])),
    "a text and a call": turns(("u", "Hi"), ("u", "Go"), ("a", "Well."), ("a", [USED]), ("u", [RESULT]), ("u", "So?")),
    "a system message before a result": turns(("u", "Hi"), ("a", [USED]), ("s", "Be kind."), ("u", [RESULT])),
    "a system message between calls": turns(
        ("u", "Hi"), ("a", [USED]), ("s", "Be kind."), ("a", [OTHER]), ("u", [RESULT, OTHER_RESULT])
    ),
    "a system message between results": turns(
        ("u", "Hi"), ("a", [USED, OTHER]), ("u", [RESULT]), ("s", "Be brief."), ("u", [OTHER_RESULT])
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_order_is_that_of_merged_turns(name: str) -> None:
    for mode in ("published", "live") if not name.startswith("a system message") else ("published",):
        status, found = ask({"messages": HISTORIES[name]}, validation=mode)
        assert status == 200, found


PLACE = "the directive-only form (content: [] with output_config) is accepted at any position"
HEAD = f"messages.0: use the top-level 'system' parameter for the initial system prompt; {PLACE}"
AFTER = "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result"
BEFORE = "role 'system' must precede an 'assistant' message or end the array"
KINDS = "role 'system' supports text, tool_addition, and tool_removal blocks only"
BLANK_TEXT = "system text blocks must contain non-whitespace text"
SEARCHED = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]
SYSTEM_MESSAGES = {
    "first": (turns(("s", "Be kind."), ("s", "Be brief."), ("u", "Hi")), HEAD),
    "after an answer": (
        turns(("u", "Hi"), ("a", "Hi"), ("s", "Be"), ("s", "kind"), ("u", "So")),
        f"messages.2: {AFTER}; {PLACE}",
    ),
    "before a question": (
        turns(("u", "Hi"), ("s", "Be"), ("s", "kind"), ("u", "So")),
        f"messages.2: {BEFORE}; {PLACE}",
    ),
    "between a call and its result": (
        turns(("u", "Hi"), ("a", [USED]), ("s", "Be kind."), ("u", [RESULT])),
        f"messages.2: {AFTER}; {PLACE}",
    ),
    "with an image": (turns(("u", "Hi"), ("s", [PICTURES[2000]])), f"messages.1: {KINDS}"),
    "blank": (turns(("u", "Hi"), ("s", "  ")), f"messages.1: {BLANK_TEXT}"),
    "blank and first": (turns(("s", "  "), ("u", "Hi")), HEAD),
    "last": (turns(("u", "Hi"), ("s", "Be"), ("s", "kind")), None),
    "before an answer": (turns(("u", "Hi"), ("s", "Be kind."), ("a", "Hi"), ("u", "So")), None),
    "after a search": (turns(("u", "Hi"), ("a", SEARCHED), ("s", "Be kind.")), None),
    "only an effort": (
        [
            *turns(("u", "Hi")),
            {"role": "system", "content": [], "output_config": {"effort": "low"}},
            *turns(("u", "So")),
        ],
        None,
    ),
    "empty turns beside others": (turns(("u", []), ("u", "Hi"), ("a", []), ("u", "So"), ("u", "")), None),
}


@pytest.mark.parametrize(("messages", "why"), SYSTEM_MESSAGES.values(), ids=SYSTEM_MESSAGES.keys())
def test_live_where_system_messages_stand(messages: Json, why: str | None) -> None:
    status, found = ask({"model": "claude-opus-5", "messages": messages}, validation="live")
    assert (found["error"]["message"] if why else status) == (why or 200)


def test_what_may_be_null_or_negative() -> None:
    assert ask({"metadata": None, "stop_sequences": None}, OLD)[0] == 200
    assert ask({"top_k": -1}, OLD)[0] == 200


def test_live_reads_images_of_results() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}}
    told = {"role": "user", "content": [{**RESULT, "content": [image]}]}
    messages = [*USUAL["messages"], {"role": "assistant", "content": [USED]}, told]
    status, found = ask({"messages": messages}, validation="live")
    place = "messages.2.content.0.tool_result.content.0.image.source.base64"
    assert (status, found["error"]["message"]) == (400, f"{place}: Could not process image")


def test_live_wants_the_version_of_every_body() -> None:
    complete = {"model": "m", "prompt": "Hi", "max_tokens_to_sample": 9}
    batch = {"requests": [{"custom_id": "a", "params": USUAL}]}
    for path, body in (("/anthropic/v1/complete", complete), (f"{PATH}/batches", batch)):
        answered = local(validation="live").ask(path, body)
        assert answered.json["error"]["message"] == "anthropic-version: header is required"
        assert local(validation="live").ask(path, body, headers=NEW).status == 200


def test_live_wants_results_before_texts() -> None:
    call = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": name, "name": "a", "input": {}} for name in "ab"],
    }
    results = [{"type": "tool_result", "tool_use_id": name} for name in "ab"]
    text = {"type": "text", "text": "Well."}
    for content, status in (([*results, text], 200), ([text, *results], 400), ([results[0], text, results[1]], 400)):
        messages = [*USUAL["messages"], call, {"role": "user", "content": content}]
        assert ask({"messages": messages})[0] == 200
        found = ask({"messages": messages}, validation="live")
        assert found[0] == status
        if status == 400:
            message = found[1]["error"]["message"]
            assert message.startswith("messages.1: `tool_use` ids were found without `tool_result` blocks immediately")


def test_live_a_turn_of_calls_needs_no_thoughts() -> None:
    messages = [*USUAL["messages"], {"role": "assistant", "content": [USED]}, {"role": "user", "content": [RESULT]}]
    assert ask({**THINKING, "messages": messages}, validation="live")[0] == 200


def said(*content: Json) -> list[Json]:
    return [{"role": "user", "content": list(content)}]


ODD = {
    "instructions only": {"messages": [{"role": "system", "content": "Be kind."}]},
    "nothing but a warm cache": {"thinking": {"type": "adaptive"}, "max_tokens": 0},
    "results of any kind": {
        "messages": said({"type": "web_search_tool_result", "tool_use_id": "s", "content": [1, None, ["a"]]})
    },
    "lists for ids": {"messages": said({"type": "mcp_tool_use", "id": [1]}, {"type": "compaction", "tool_use_id": {}})},
    "states of a browser": {
        "messages": [
            *USUAL["messages"],
            {"role": "assistant", "content": [USED]},
            *said({**RESULT, "content": [{"type": "browser_state", "content": [5]}]}),
        ]
    },
    "constraints that are none": {
        "tools": [
            {
                "name": "a",
                "input_schema": {
                    "type": "object",
                    "properties": {"n": {"type": "integer", "description": "{minimum: low, maxLength: True}"}},
                },
            }
        ],
        "tool_choice": {"type": "any"},
    },
}


@pytest.mark.parametrize("name", ODD)
def test_odd_but_accepted(name: str) -> None:
    assert ask(ODD[name])[0] == 200


KINDS = {
    "invalid_key": (401, "authentication_error", "invalid x-api-key"),
    "402": (402, "billing_error", "There is an issue with your organization's billing."),
    "forbidden": (403, "permission_error", "Your API key does not have permission to use the specified resource."),
    "model_not_found": (404, "not_found_error", "model: claude-sonnet-4-5"),
    "409": (409, "conflict_error", "The resource was changed by another request."),
    "413": (413, "request_too_large", "Request exceeds the maximum allowed number of bytes."),
    "unprocessable": (422, "invalid_request_error", "The request was well-formed, but could not be processed."),
    "quota": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. "),
    "context_length": (400, "invalid_request_error", "prompt is too long: 8193 tokens > 8192 maximum"),
    "rate_limit": (
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 60 requests per minute",
    ),
    "500": (500, "api_error", "Internal server error"),
    "timeout": (504, "timeout_error", "The request timed out."),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "529": (529, "overloaded_error", "Overloaded"),
    "408": (408, "invalid_request_error", "The request timed out."),
    "{status: 400, message: No, code: thread_unsupported_request}": (400, "invalid_request_error", "No"),
}


@pytest.mark.parametrize("error", KINDS)
def test_errors_of_rules(error: str) -> None:
    answered = local(f"rules: [{{then: {{error: {error}}}}}]").ask(PATH, USUAL, headers={"x-api-key": "k"})
    found = answered.json["error"]
    assert (answered.status, found["type"]) == KINDS[error][:2]
    assert found["message"].startswith(KINDS[error][2])
    assert found.get("details") == ({"error_code": "thread_unsupported_request"} if "code" in error else None)


def test_keys() -> None:
    server = local(keys=["right"])
    said = {
        "x-api-key": ("wrong", "invalid x-api-key"),
        "authorization": ("Bearer wrong", "Invalid bearer token"),
        "x": ("", "x-api-key header is required"),
    }
    for header, (value, message) in said.items():
        answered = server.ask(PATH, USUAL, headers={header: value})
        assert (answered.status, answered.json["error"]["message"]) == (401, message)
    assert server.ask(PATH, USUAL, headers={"x-api-key": "right", "authorization": "Bearer wrong"}).status == 200


def test_paths_and_methods() -> None:
    server = app("rules: []")
    lost = server.ask("/anthropic/v1/nothing/here", USUAL)
    assert (lost.status, lost.json["error"]["type"]) == (404, "not_found_error")
    wrong = server.ask(PATH, method="GET")
    assert (wrong.status, wrong.json["error"]["message"], wrong.headers["allow"]) == (405, "Method Not Allowed", "POST")


def test_a_model_that_is_not_listed() -> None:
    status, found = ask({"model": "claude-nope"}, models=["claude-sonnet-4-5"])
    assert (status, found["error"]["type"], found["error"]["message"]) == (404, "not_found_error", "model: claude-nope")


def test_windows_of_models() -> None:
    table = {"claude-x": {"context_window": 50, "max_output_tokens": 20}}
    long = {"model": "claude-x", "max_tokens": 10, "messages": [{"role": "user", "content": "word " * 60}]}
    assert ask(long, models=table)[1]["error"]["message"] == "prompt is too long: 67 tokens > 50 maximum"
    assert ask({"model": "claude-x", "max_tokens": 21}, models=table)[1]["error"]["message"] == (
        "max_tokens: 21 > 20, which is the maximum allowed number of output tokens for claude-x"
    )


def test_a_schema_that_says_nothing_is_of_any_object() -> None:
    form = {"output_config": {"format": {"type": "json_schema", "schema": {"foo": "bar"}}}}
    status, found = ask(form)
    assert (status, found["content"][0]["text"][0]) == (200, "{")


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": 5}, "5 is not valid under any of the schemas listed in the 'anyOf' keyword"),
        ({"$ref": "#/nope"}, "'#/nope' refers to nothing"),
        ({"type": "object", "additionalProperties": False, "required": "a"}, '"a" is not of type "array"'),
    ],
)
def test_an_unusable_schema_is_of_any_object_unless_live(schema: Json, why: str) -> None:
    form = {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    status, found = ask(form)
    assert (status, type(json.loads(found["content"][0]["text"]))) == (200, dict)
    status, found = ask(form, validation="live")
    assert (status, found["error"]["message"]) == (400, f"output_config.format.schema: {why}")


@pytest.mark.parametrize(("pattern", "holds"), [("[", False), ("a{2,1}", False), (r"^\p{Lu}{3}$", True)])
def test_a_description_makes_no_schema_unusable(pattern: str, holds: bool) -> None:
    code = {"type": "string", "description": f"The code.\n\n{{pattern: {pattern}}}"}
    schema = {"type": "object", "properties": {"code": code}, "required": ["code"]}
    tools = {"tools": [{"name": "a", "input_schema": schema}], "tool_choice": {"type": "any"}}
    status, found = ask(tools)
    assert status == 200
    assert (re.fullmatch("[A-Z]{3}", found["content"][0]["input"]["code"]) is not None) == holds


def test_a_body_beyond_the_limit() -> None:
    answered = app("", max_body=999).ask(PATH, {**USUAL, "system": "x" * 999})
    error = {"type": "request_too_large", "message": "Request exceeds the maximum allowed number of bytes."}
    assert (answered.status, answered.json["error"]) == (413, error)
    ruled = app("rules: [{then: {error: {reason: too_large, message: Mine}}}]").ask(PATH, USUAL)
    assert ruled.json["error"] == {**error, "message": "Mine"}
