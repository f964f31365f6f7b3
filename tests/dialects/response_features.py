"""What a response can do, as data, in the manner of `features.py`, from which it takes what rules answer.

Every kind of item and every action of a computer is there by the example that its own table gives.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import yaml

from mockserver.rules.item_schema import Action
from mockserver.rules.items import ItemSpec, SaidSpec
from tests.dialects.features import FEATURES, Feature

Json = Any

RESPONSE_URLS = {
    "openai": "/openai/v1/responses",
    "azure_openai": "/azure-openai/openai/v1/responses",
    "tzafon": "/tzafon/v1/responses",
}
INPUT = "Say something about the sea."
_SEA = "The sea is wide, deep and never quite still."
_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_WEATHER = {"type": "function", "name": "get_weather", "parameters": _CITY, "strict": False}
_TIME = {
    "type": "function",
    "name": "get_time",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
_TOOLS = {"tools": [_WEATHER, _TIME]}
_LOGPROBS = {"include": ["message.output_text.logprobs"]}
_NOTE = {"type": "url_citation", "start_index": 0, "end_index": 5, "title": "Sea", "url": "https://example.org/sea"}
_TOLD = [
    {"role": "user", "content": "How is the weather in Oslo?"},
    {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city":"Oslo"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": '{"sky": "clear"}'},
]
_NOTE_TOOL = {"type": "custom", "name": "take_note"}
_SCREEN = {"type": "computer_use_preview", "display_width": 800, "display_height": 600, "environment": "browser"}
_OWN_TOOLS: list[dict[str, Json]] = [
    {"type": "web_search"},
    {"type": "file_search", "vector_store_ids": ["vs_1"]},
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {"type": "image_generation", "size": "1024x1024", "partial_images": 1},
    {"type": "mcp", "server_label": "wiki", "server_url": "https://example.org", "allowed_tools": ["ask"]},
    {"type": "local_shell"},
    {"type": "shell"},
    {"type": "apply_patch"},
]
_INCLUDED = [
    *("file_search_call.results", "web_search_call.action.sources", "code_interpreter_call.outputs"),
    "web_search_call.results",
]
_OPENAI = frozenset({"openai", "azure_openai"})


def response_request(name: str, *, stream: bool = False) -> dict[str, Json]:
    """The body that asks for a feature or a failure."""
    added = RESPONSE_FEATURES[name].body if name in RESPONSE_FEATURES else {}
    body: dict[str, Json] = {"model": name, "input": INPUT, **added}
    return {**body, "stream": True} if stream else body


def _as_in_chat(*names: str, body: Mapping[str, Json] | None = None) -> dict[str, Feature]:
    """Features that a rule states as it does for a chat."""
    return {name: Feature(FEATURES[name].then, body or {}, needs=FEATURES[name].needs) for name in names}


def _examples(union: Any) -> Iterator[tuple[str, Json]]:
    """Each member of a union of tables by its type, with its example."""
    for member in get_args(get_args(union)[0]):
        example = yaml.safe_load(get_args(member)[0].example)
        yield example["type"], example


_SAID = {get_args(spec.model_fields["type"].annotation)[0] for spec in get_args(SaidSpec)}
_ITEMS = dict(_examples(ItemSpec))

RESPONSE_FEATURES: Mapping[str, Feature] = {
    **_as_in_chat("text", "empty-text", "odd-text", "words", "characters", "sized", "pieces", "reasoning", "refusal"),
    **_as_in_chat("json", "finish", "resolved-model", "headers", "echo", "prose", "lorem", "template", "one-of"),
    **_as_in_chat("usage", "generated", "filtered", "filtered-at-once", "filtered-material", "annotated"),
    **_as_in_chat("tool-call", "tool-call-in-characters", "tool-calls", "tool-call-auto", body=_TOOLS),
    **_as_in_chat("text-and-tool-call", "parts", body=_TOOLS),
    **_as_in_chat("one-tool-call", body={**_TOOLS, "parallel_tool_calls": False}),
    **_as_in_chat("tool-result", body={**_TOOLS, "input": _TOLD}),
    **_as_in_chat("max-tokens", "max-tokens-of-pieces", "max-tokens-of-reasoning", body={"max_output_tokens": 16}),
    "no-input": Feature({"text": _SEA}, {"input": []}, only=_OPENAI),
    "input-of-messages": Feature({"text": "{{ last_user }}!"}, {"input": [{"role": "user", "content": "Look"}]}),
    "instructions": Feature({"text": _SEA}, {"instructions": "Be brief."}),
    "cut-short": Feature({"text": _SEA * 4}, {"max_output_tokens": 16}),
    "cut-short-in-a-call": Feature(
        {"tool_calls": [{"name": "get_weather", "arguments": {"city": _SEA * 4}}]}, {**_TOOLS, "max_output_tokens": 16}
    ),
    "noted": Feature({"text": _SEA, "annotations": [_NOTE]}, needs="annotations"),
    "logprobs": Feature({"text": _SEA}, {**_LOGPROBS, "top_logprobs": 2}),
    "logprobs-alone": Feature({"text": _SEA}, _LOGPROBS),
    "logprobs-in-words": Feature({"text": _SEA, "chunks": "word"}, {**_LOGPROBS, "top_logprobs": 1}),
    "logprobs-stated": Feature({"text": "Yes.", "logprobs": [-0.25]}, _LOGPROBS),
    "summarised": Feature({"reasoning": "The user wants the sea.", "text": _SEA}, {"reasoning": {"summary": "auto"}}),
    "schema": Feature(body={"text": {"format": {"type": "json_schema", "name": "place", "schema": _CITY}}}),
    "generated-call": Feature(body={**_TOOLS, "tool_choice": "required"}),
    "generated-calls": Feature(body={**_TOOLS, "input": "How is the weather in Oslo and in Rome?"}),
    "generated-calls-one-by-one": Feature(
        body={**_TOOLS, "input": "How is the weather in Oslo and in Rome?", "parallel_tool_calls": False}
    ),
    "generated-call-cut": Feature(
        body={**_TOOLS, "input": f"How is the weather in '{_SEA * 4}'?", "max_output_tokens": 16}
    ),
    "generated-call-after-thinking": Feature(
        body={**_TOOLS, "input": "How is the weather in Oslo?", "reasoning": {"effort": "low", "summary": "auto"}}
    ),
    "generated-after-sealed-thinking": Feature(
        body={"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}
    ),
    "generated-thinking-cut": Feature(body={"reasoning": {"effort": "high"}, "max_output_tokens": 16}),
    "generated-of-results": Feature(body={**_TOOLS, "input": _TOLD}),
    "generated-custom-call": Feature(
        body={"tools": [_NOTE_TOOL], "tool_choice": {"type": "custom", "name": "take_note"}}, needs="custom_tools"
    ),
    "generated-object": Feature(body={"text": {"format": {"type": "json_object"}}}),
    "auto-of-a-rule": Feature({"generate": "auto"}, {**_TOOLS, "input": "How is the weather in Oslo?"}),
    **{
        f"generated-{tool['type']}": Feature(
            body={"tools": [tool], "tool_choice": "required", "include": _INCLUDED}, only=_OPENAI
        )
        for tool in _OWN_TOOLS
    },
    "generated-computer": Feature(body={"tools": [_SCREEN], "input": "Click the button.", "tool_choice": "required"}),
    "background": Feature({"text": _SEA}, {"background": False}),
    "not-kept": Feature({"text": _SEA}, {"store": False}),
    "custom-tool-call": Feature(
        {"tool_calls": [{"name": "take_note", "input": "the sea"}]},
        {"tools": [{"type": "custom", "name": "take_note"}]},
        needs="custom_tools",
    ),
    "messages": Feature({"items": [{"type": "message", "text": "One."}, {"type": "message", "text": "Two."}]}),
    **{
        f"item-{kind}": Feature(
            {"items": [example]}, needs="custom_tools" if "custom" in kind else None if kind in _SAID else "items"
        )
        for kind, example in _ITEMS.items()
    },
    **{
        f"action-{kind}": Feature({"items": [{"type": "computer_call", "action": action}]}, needs="items")
        for kind, action in _examples(Action)
    },
    "items-and-text": Feature(
        {"items": [_ITEMS["reasoning"], _ITEMS["web_search_call"], {"type": "message", "text": _SEA}]}, needs="items"
    ),
    "failed": Feature({"failed": True}, needs="failed"),
    "failed-midway": Feature({"text": _SEA, "failed": {"code": "server_error", "message": "Oh."}}, needs="failed"),
}
# What ends in a bare event `error`, of which a plain answer knows nothing.
BROKEN_OFF = Feature({"text": _SEA, "failed": {"event": "error", "message": "Oh."}}, needs="failed")
