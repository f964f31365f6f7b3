"""What chats, text completions and responses can do, as data: what a rule answers, and what the request adds.

The model's name is the feature's, and the rule is found by it. Every kind of item and every action of a computer is
there by the example that its own table gives.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import yaml

from mockserver.dialects import discover
from mockserver.rules.items import Action, ItemSpec

Json = Any

URLS = {
    "openai": "/openai/v1/chat/completions",
    "skytells": "/skytells/v1/chat/completions",
    "compatible": "/compatible/v1/chat/completions",
    "crazyrouter": "/crazyrouter/v1/chat/completions",
    "fireworks": "/fireworks/inference/v1/chat/completions",
    "azure": "/azure/chat/completions?api-version=2024-05-01-preview",
    "tzafon": "/tzafon/v1/chat/completions",
    "azure_openai": "/azure-openai/openai/v1/chat/completions",
}
TEXT_URLS = {
    "openai": "/openai/v1/completions",
    "azure_openai": "/azure-openai/openai/v1/completions",
    "compatible": "/compatible/v1/completions",
    "fireworks": "/fireworks/inference/v1/completions",
}
RESPONSE_URLS = {
    "openai": "/openai/v1/responses",
    "azure_openai": "/azure-openai/openai/v1/responses",
    "tzafon": "/tzafon/v1/responses",
}
PROMPT = "Say something about the sea."
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
    """The body of a chat that asks for a feature or a failure."""
    body = {"messages": [{"role": "user", "content": PROMPT}], **_added(FEATURES, name)}
    return {"model": name, **body, **_streamed(stream=stream, usage=usage)}


def text_request(name: str, *, stream: bool = False, usage: bool = False) -> dict[str, Json]:
    return {"model": name, "prompt": PROMPT, **_added(TEXT_FEATURES, name), **_streamed(stream=stream, usage=usage)}


def response_request(name: str, *, stream: bool = False) -> dict[str, Json]:
    return {"model": name, "input": PROMPT, **_added(RESPONSE_FEATURES, name), **_streamed(stream=stream)}


def _added(features: Mapping[str, Feature], name: str) -> Mapping[str, Json]:
    return features[name].body if name in features else {}


def _streamed(*, stream: bool, usage: bool = False) -> dict[str, Json]:
    options = {"stream_options": {"include_usage": True}} if usage else {}
    return {**({"stream": True} if stream else {}), **options}


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
_WITH_FUNCTIONS = frozenset({"openai", "azure_openai", "crazyrouter", "compatible"})
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


def _as_in_chat(*names: str, body: Mapping[str, Json] | None = None) -> dict[str, Feature]:
    """Features that a rule states as it does for a chat, with what else asks for them."""
    return {name: Feature(FEATURES[name].then, body or {}, needs=FEATURES[name].needs) for name in names}


def _like_chat(*names: str) -> dict[str, Feature]:
    return {name: FEATURES[name] for name in names}


_OPENAI = frozenset({"openai", "azure_openai"})
_FIREWORKS = frozenset({"fireworks"})

TEXT_FEATURES: Mapping[str, Feature] = {
    **_like_chat("text", "empty-text", "odd-text", "words", "characters", "sized", "pieces", "reasoning", "json"),
    **_like_chat("n", "fewer-choices-than-n", "stop", "stops", "stop-at-once"),
    **_like_chat("max-tokens", "max-tokens-of-n", "max-tokens-of-pieces", "max-tokens-of-reasoning"),
    **_like_chat("finish", "usage", "resolved-model", "headers"),
    **_like_chat("filtered", "filtered-at-once", "filtered-material", "annotated"),
    **_like_chat("echo", "prose", "lorem", "template", "one-of", "generated", "generated-n", "generated-short"),
    "choices": Feature({"choices": [{"text": "A short one."}, {"text": _SEA}]}, {"n": 2}),
    "prompt-of-tokens": Feature({"text": _SEA}, {"prompt": [791, 9581, 374]}),
    "prompts": Feature({"text": "{{ last_user }} Yes."}, {"prompt": ["One", "Two", "Three"]}),
    "prompts-of-tokens": Feature({"text": _SEA}, {"prompt": [[791, 9581], [374]]}),
    "prompts-times-n": Feature({"text": _SEA}, {"prompt": ["One", "Two"], "n": 2}),
    "repeated": Feature({"text": _SEA}, {"echo": True}),
    "repeated-prompts": Feature({"text": _SEA}, {"echo": True, "prompt": ["One", "Two words"]}),
    "repeated-alone": Feature({"text": _SEA}, {"echo": True, "max_tokens": 0}),
    "repeated-with-logprobs": Feature({"text": _SEA}, {"echo": True, "logprobs": 2}),
    "repeated-of-nothing": Feature({"text": _SEA}, {"prompt": "", "echo": True, "logprobs": 1}),
    "repeated-in-characters": Feature({"text": "Œuvre 🌊", "chunks": "char"}, {"echo": True, "logprobs": 2}),
    "repeated-with-filter": Feature(FEATURES["filtered"].then, {"echo": True, "logprobs": 1}, needs="content_filter"),
    "repeated-in-part": Feature({"text": _SEA}, {"echo_last": 2, "logprobs": 1}, only=_FIREWORKS),
    "logprobs": Feature({"text": _SEA}, {"logprobs": 2}),
    "logprobs-alone": Feature({"text": _SEA}, {"logprobs": 0}),
    "logprobs-in-words": Feature({"text": _SEA, "chunks": "word"}, {"logprobs": 1}),
    "logprobs-in-characters": Feature({"text": "Œuvre 🌊", "chunks": "char"}, {"logprobs": 1}),
    "logprobs-of-n": Feature({"text": _SEA}, {"logprobs": 1, "n": 2, "prompt": ["One", "Two"]}),
    "logprobs-stated": Feature({"text": "Yes.", "logprobs": [-0.25]}, {"logprobs": 1}),
    "logprobs-unasked": Feature({"text": _SEA, "logprobs": [-0.5]}),
    "logprobs-of-a-refusal": Feature({"refusal": "I can't help with that."}, {"logprobs": 1}),
    "logprobs-of-parts": Feature({"parts": [{"text": "One. "}, {"text": "Two."}]}, {"logprobs": 1}),
    "logprobs-after-reasoning": Feature({"reasoning": "The user wants the sea.", "text": _SEA}, {"logprobs": 1}),
    "logprobs-of-odd-text": Feature(FEATURES["odd-text"].then, {"logprobs": 1}),
    "logprobs-and-stop": Feature({"text": _SEA}, {"stop": [", deep"], "logprobs": 1}),
    "tool-call": Feature({"tool_calls": [{"name": "look", "arguments": {}}]}),
    "top-logprobs-win": Feature({"text": _SEA}, {"logprobs": 1, "top_logprobs": 3}, only=_FIREWORKS),
    "repeated-as-content": Feature({"text": _SEA}, {"logprobs": True, "echo": True}, only=_FIREWORKS),
    "repeated-in-part-of-all": Feature({"text": _SEA}, {"echo_last": 99, "logprobs": 1}, only=_FIREWORKS),
    "logprobs-as-content": Feature({"text": _SEA}, {"logprobs": True, "top_logprobs": 2}, only=_FIREWORKS),
    "token-ids-of-words": Feature(
        {"text": _SEA, "chunks": "word"}, {"return_token_ids": True, "echo": True, "n": 2}, only=_FIREWORKS
    ),
    "token-ids-of-nothing": Feature({"text": ""}, {"return_token_ids": True}, only=_FIREWORKS),
    "raw-output-and-more": Feature(
        {"text": _SEA}, {"raw_output": True, "logprobs": True, "echo": True}, only=_FIREWORKS
    ),
    "perf-metrics": Feature(
        {"text": _SEA}, {"perf_metrics_in_response": True, "prediction": " The sea"}, only=_FIREWORKS
    ),
    "ignore-eos": Feature(body={"ignore_eos": True, "max_tokens": 200}, only=_FIREWORKS),
    "json-object": Feature(body={"response_format": {"type": "json_object"}, "logprobs": 1}, only=_FIREWORKS),
    "token-ids": Feature({"text": _SEA}, {"return_token_ids": True, "logprobs": 1}, only=_FIREWORKS),
    "raw-output": Feature({"text": _SEA}, {"raw_output": True}, only=_FIREWORKS),
    "suffix": Feature({"text": _SEA}, {"suffix": "The end."}, only=_OPENAI),
    "best-of-as-many": Feature({"text": _SEA}, {"n": 1, "best_of": 1}, only=_OPENAI),
    "generated-with-logprobs": Feature(body={"logprobs": 1, "max_tokens": 3}),
    "generated-prompts": Feature(body={"prompt": ["One", "Two"]}),
}

_FLAT_WEATHER = {"type": "function", "name": "get_weather", "parameters": _CITY, "strict": False}
_FLAT_TIME = {
    "type": "function",
    "name": "get_time",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
_FLAT_TOOLS = {"tools": [_FLAT_WEATHER, _FLAT_TIME]}
_LOGPROBS = {"include": ["message.output_text.logprobs"]}
_FLAT_CITATION = {
    "type": "url_citation",
    "start_index": 0,
    "end_index": 5,
    "title": "Sea",
    "url": "https://example.org/sea",
}
_FLAT_TOLD = [
    {"role": "user", "content": "How is the weather in Oslo?"},
    {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city":"Oslo"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": '{"sky": "clear"}'},
]
_FLAT_NOTE = {"type": "custom", "name": "take_note"}
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
    "file_search_call.results",
    "web_search_call.action.sources",
    "code_interpreter_call.outputs",
    "web_search_call.results",
]


def _examples(union: Any) -> Iterator[tuple[str, Json]]:
    """Each member of a union of tables by its type, with its example."""
    for member in get_args(get_args(get_args(union)[1].annotation)[0]):
        example = yaml.safe_load(member.example)
        yield example["type"], example


_ANTHROPICS = ("_tool_use", "_tool_result", "redacted_thinking", "container_upload")
_SAID = ("message", "reasoning", "function_call", "custom_tool_call")
_ITEMS = {kind: item for kind, item in _examples(ItemSpec) if not kind.endswith(_ANTHROPICS)}

RESPONSE_FEATURES: Mapping[str, Feature] = {
    **_as_in_chat("text", "empty-text", "odd-text", "words", "characters", "sized", "pieces", "reasoning", "refusal"),
    **_as_in_chat("json", "finish", "resolved-model", "headers", "echo", "prose", "lorem", "template", "one-of"),
    **_as_in_chat("usage", "generated", "filtered", "filtered-at-once", "filtered-material", "annotated"),
    **_as_in_chat("tool-call", "tool-call-in-characters", "tool-calls", "tool-call-auto", body=_FLAT_TOOLS),
    **_as_in_chat("text-and-tool-call", "parts", body=_FLAT_TOOLS),
    **_as_in_chat("one-tool-call", body={**_FLAT_TOOLS, "parallel_tool_calls": False}),
    **_as_in_chat("tool-result", body={**_FLAT_TOOLS, "input": _FLAT_TOLD}),
    **_as_in_chat("max-tokens", "max-tokens-of-pieces", "max-tokens-of-reasoning", body={"max_output_tokens": 16}),
    "no-input": Feature({"text": _SEA}, {"input": []}, only=_OPENAI),
    "input-of-messages": Feature({"text": "{{ last_user }}!"}, {"input": [{"role": "user", "content": "Look"}]}),
    "instructions": Feature({"text": _SEA}, {"instructions": "Be brief."}),
    "cut-short": Feature({"text": _SEA * 4}, {"max_output_tokens": 16}),
    "cut-short-in-a-call": Feature(
        {"tool_calls": [{"name": "get_weather", "arguments": {"city": _SEA * 4}}]},
        {**_FLAT_TOOLS, "max_output_tokens": 16},
    ),
    "noted": Feature({"text": _SEA, "annotations": [_FLAT_CITATION]}, needs="annotations"),
    "logprobs": Feature({"text": _SEA}, {**_LOGPROBS, "top_logprobs": 2}),
    "logprobs-alone": Feature({"text": _SEA}, _LOGPROBS),
    "logprobs-in-words": Feature({"text": _SEA, "chunks": "word"}, {**_LOGPROBS, "top_logprobs": 1}),
    "logprobs-stated": Feature({"text": "Yes.", "logprobs": [-0.25]}, _LOGPROBS),
    "summarised": Feature({"reasoning": "The user wants the sea.", "text": _SEA}, {"reasoning": {"summary": "auto"}}),
    "schema": Feature(body={"text": {"format": {"type": "json_schema", "name": "place", "schema": _CITY}}}),
    "generated-call": Feature(body={**_FLAT_TOOLS, "tool_choice": "required"}),
    "generated-calls": Feature(body={**_FLAT_TOOLS, "input": "How is the weather in Oslo and in Rome?"}),
    "generated-calls-one-by-one": Feature(
        body={**_FLAT_TOOLS, "input": "How is the weather in Oslo and in Rome?", "parallel_tool_calls": False}
    ),
    "generated-call-cut": Feature(
        body={**_FLAT_TOOLS, "input": f"How is the weather in '{_SEA * 4}'?", "max_output_tokens": 16}
    ),
    "generated-call-after-thinking": Feature(
        body={**_FLAT_TOOLS, "input": "How is the weather in Oslo?", "reasoning": {"effort": "low", "summary": "auto"}}
    ),
    "generated-after-sealed-thinking": Feature(
        body={"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}
    ),
    "generated-thinking-cut": Feature(body={"reasoning": {"effort": "high"}, "max_output_tokens": 16}),
    "generated-of-results": Feature(body={**_FLAT_TOOLS, "input": _FLAT_TOLD}),
    "generated-custom-call": Feature(
        body={"tools": [_FLAT_NOTE], "tool_choice": {"type": "custom", "name": "take_note"}}, needs="custom_tools"
    ),
    "generated-object": Feature(body={"text": {"format": {"type": "json_object"}}}),
    "auto-of-a-rule": Feature({"generate": "auto"}, {**_FLAT_TOOLS, "input": "How is the weather in Oslo?"}),
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
        if kind not in ("wait", "mouse_up", "key_down", "key_up")  # they have the shapes of others
    },
    "items-and-text": Feature(
        {"items": [_ITEMS["reasoning"], _ITEMS["web_search_call"], {"type": "message", "text": _SEA}]}, needs="items"
    ),
    "failed": Feature({"failed": True}, needs="failed"),
    "failed-midway": Feature({"text": _SEA, "failed": {"code": "server_error", "message": "Oh."}}, needs="failed"),
}
# What ends in a bare event `error`, of which a plain answer knows nothing.
BROKEN_OFF = Feature({"text": _SEA, "failed": {"event": "error", "message": "Oh."}}, needs="failed")
