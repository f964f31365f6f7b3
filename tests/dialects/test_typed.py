"""Requests are read in types where that is sure, else by the table of fields; none can tell the two apart."""

import json
import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

import pytest
from msgspec import to_builtins

from mockserver.core.call import Call, compute_fingerprint
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import discover
from mockserver.dialects._fields import TypedModel
from tests.dialects.cohere.features import bodies

TOOL = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"a": {"type": ["string"]}}}}
CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": ":"}'}},
    {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}},
]
USED = {"name": "f", "arguments": ""}
HISTORY = [
    {"role": "system", "content": "s: t", "name": "n"},
    {"role": "user", "content": [{"type": "text", "text": "é"}, {"type": "image_url", "image_url": {"url": "u"}}]},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": "r"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "t"}]},
    {"role": "assistant", "content": "a", "refusal": None, "audio": {"id": "o"}},
    {"role": "function", "name": "f", "content": None},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}], "function_call": USED},
    {"role": "assistant", "tool_calls": CALLS[:1]},
    {"role": "user", "content": ""},
]
_SAMPLING = {"temperature": 0.5, "top_p": 1, "n": 2, "stop": ["a", "b"], "seed": 7, "max_tokens": 5, "logprobs": True}
_OTHERS = {"store": True, "parallel_tool_calls": False, "verbosity": "low", "max_completion_tokens": 9, "user": "u"}
CHAT = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "a"},
    {"role": "user", "content": "b"},
]
SEEDS: list[dict[str, Any]] = [
    {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    {"model": "m", "messages": HISTORY, "tools": [{"type": "function", "function": TOOL}], "tool_choice": "auto"},
    {
        "model": "m",
        "messages": HISTORY[:2],
        **_SAMPLING,
        "stream": True,
        "stream_options": {"include_usage": True},
        "service_tier": "flex",
    },
    {
        "model": "",
        "messages": HISTORY[-1:],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"b": 1, "a": 2.0}}},
        "functions": [TOOL],
        "function_call": {"name": "f"},
        **_OTHERS,
        "prediction": {"type": "content", "content": "p"},
    },
    {
        "model": "m",
        "messages": HISTORY[2:5],
        "web_search_options": {"a": [{"b": None}]},
        "prompt_cache_key": "k",
        "tools": [
            {"type": "custom", "custom": {"name": "g", "format": {"type": "text"}}},
            {"type": "function", "function": {"name": "h", "strict": True}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "h"}},
    },
    {"model": "m", "messages": HISTORY[1:2], "metadata": {"k": "v"}, "logit_bias": {"1": 2}},
]


class Case(NamedTuple):
    """Bodies that one operation takes; all but the last are read in types."""

    dialect: str
    operation: str
    bodies: Sequence[Mapping[str, Any]]
    params: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}


_RESPONSES = [
    {"model": "m", "input": "hi"},
    {
        "model": "m",
        "instructions": "i",
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "t"}]},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "r"},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "é"}, {"type": "input_image", "image_url": "u"}],
            },
        ],
        "tools": [{"type": "function", **TOOL}, {"type": "web_search", "a": 1}],
        "tool_choice": "auto",
    },
    {
        "model": "m",
        "input": "hi",
        "tools": [{"type": "custom", "name": "g", "format": {"type": "text"}}],
        "tool_choice": {"type": "custom", "name": "g"},
        "temperature": 1,
        "top_p": 0.5,
        "max_output_tokens": 16,
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"b": 1, "a": 2.0}}, "verbosity": "low"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["message.output_text.logprobs"],
        "metadata": {"k": "v"},
    },
    {
        "model": "m",
        "input": "hi",
        "stream": True,
        "stream_options": {"include_obfuscation": True},
        "background": False,
        "store": False,
        "previous_response_id": "resp_1",
        "truncation": "auto",
        "user": "u",
    },
    {"model": "m", "input": [{"id": "msg_1"}], "conversation": {"id": "c"}},
]
_BLOCKS = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "é"}, {"type": "image", "source": {"type": "url", "url": "u"}}],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "h", "signature": "s"},
            {"type": "text", "text": "a: b"},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1.0}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "r"},
            {"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}},
        ],
    },
]
_CUSTOM = {"name": "f", "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "strict": True}
_MESSAGES = [
    {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]},
    {"model": "m", "max_tokens": 5, "system": "s", "messages": [*CHAT, {"role": "assistant", "content": "b"}]},
    {
        "model": "m",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "s"}],
        "messages": _BLOCKS,
        "tools": [_CUSTOM, {"type": "custom", **_CUSTOM, "name": "g"}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    },
    {
        "model": "m",
        "max_tokens": 5,
        "messages": _BLOCKS[:1],
        "temperature": 0.5,
        "top_k": 1,
        "stop_sequences": ["a"],
        "stream": True,
        "metadata": {"user_id": "u"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"b": 1, "a": 2.0}}},
    },
    {
        "model": "m",
        "max_tokens": 5000,
        "messages": CHAT[:1],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "temperature": 1,
        "thread": {"type": "create"},
    },
    {"model": "m", "max_tokens": 5, "messages": CHAT[:1], "tools": [{"type": "bash_20250124", "name": "bash"}]},
]
_SCHEMA = {"type": "OBJECT", "properties": {"a": {"type": "ARRAY", "items": {"type": "STRING"}}}, "required": ["a"]}
_SAID = [
    {"role": "user", "parts": [{"text": "é"}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]},
    {
        "role": "model",
        "parts": [
            {"text": "h", "thought": True},
            {"functionCall": {"name": "f", "args": {"a": 1.0}}, "thoughtSignature": "QQ=="},
        ],
    },
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": None}}}]},
]
_GENERATED = [
    {"contents": [{"parts": [{"text": "hi"}]}]},
    {
        "contents": [
            {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
            {"role": "model", "parts": [{"text": ""}]},
        ],
        "systemInstruction": {"parts": [{"text": "s"}, {"text": "t"}]},
    },
    {
        "contents": _SAID,
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": _SCHEMA}]}, {"codeExecution": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    },
    {
        "contents": _SAID[:1],
        "generationConfig": {
            "temperature": 1,
            "topP": 0.5,
            "topK": 3,
            "stopSequences": ["a"],
            "responseMimeType": "application/json",
            "responseSchema": _SCHEMA,
            "thinkingConfig": {"thinkingBudget": 100, "includeThoughts": True},
        },
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "cachedContent": "cachedContents/a",
        "labels": {"a": "b"},
    },
    {"contents": [{"parts": [{"text": "hi"}]}], "system_instruction": {"parts": [{"text": "s"}]}},
]
_MODEL = {"model": "gemini-2.5-flash", "version": "v1beta", "parent": "models"}
_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "output_config")
_TOOLS = [{"type": "function", "function": TOOL}]
_UNREAD = {"model": "m", "messages": [{"role": "user", "content": None}], "n": "x"}
_LOOK_ALIKE = [
    {"model": "m", "messages": CHAT},
    {"model": "m", "messages": HISTORY[2:4] + HISTORY[-1:], "tools": _TOOLS, "tool_choice": "auto", "stream": True},
    {"model": "m", "messages": HISTORY[1:2], "temperature": 1, "top_p": 0.5, "stop": ["a"], "seed": 3, "max_tokens": 5},
]
_OF_MISTRAL = {
    "model": "m",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "é", "x": 1}, {"type": "image_url", "image_url": "u"}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1.0}}}]},
        {"role": "tool", "content": None, "name": "f"},
        {"role": "assistant", "content": "p", "prefix": True},
    ],
    "random_seed": 3,
    "tools": _TOOLS,
    "tool_choice": {"function": {"name": "f"}},
    "safe_prompt": False,
}
_TEXTS = [
    {"model": "m", "prompt": "hi"},
    {"model": "m", "prompt": ["a", "b"], "n": 2, "stream": False, "stop": "x", "logprobs": 1, "temperature": 1},
]
_OWN_CHATS = [
    {"model": "m", "messages": CHAT},
    {
        "model": "m",
        "messages": [
            {"role": "user", "content": "é", "images": ["QUJD"]},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1.0}}}]},
            {"role": "tool", "content": "r", "tool_name": "f"},
        ],
        "tools": _TOOLS,
        "options": {"temperature": 0, "stop": ["a"]},
    },
    {"model": "m", "messages": CHAT[:1], "format": {"b": 1, "a": 2.0}, "think": "low", "stream": False, "x": [{}]},
    {"model": "m", "messages": [{"role": "user", "content": 5}]},
]


def _of_cohere(operation: str) -> list[Any]:
    """Bodies of v2 without what only v1 knows."""
    return [{key: value for key, value in body.items() if key != "message"} for body in bodies(operation)]


CASES = [
    Case("fireworks", "chat", [*_LOOK_ALIKE, {"model": "m", "messages": CHAT, "logprobs": True, "top_k": 1}, _UNREAD]),
    Case("fireworks", "completions", [*_TEXTS, {"model": "m", "prompt": [1]}]),
    Case("tzafon", "chat", [*_LOOK_ALIKE, _UNREAD]),
    Case("tzafon", "responses", [{"input": "hi", "top_k": 1}, *_RESPONSES[:3], _RESPONSES[-1]]),
    Case("mistral", "chat", [_LOOK_ALIKE[0], _OF_MISTRAL, _UNREAD]),
    Case("azure", "chat", [_LOOK_ALIKE[0], _LOOK_ALIKE[2], {**_UNREAD, "messages": [{"role": "x"}]}]),
    Case("azure", "embeddings", [{"input": ["hi"]}, {"model": "m", "input": ["a", "b"], "dimensions": 3}, _UNREAD]),
    Case("anthropic", "chat", _MESSAGES),
    Case("anthropic", "chat", _MESSAGES, headers={"anthropic-beta": "new", "anthropic-version": "2026-10-21"}),
    Case("gemini", "chat", _GENERATED, params=_MODEL),
    Case("gemini", "chat", _GENERATED, params={**_MODEL, "version": "v1beta1"}),
    Case("anthropic", "input_tokens", [{k: v for k, v in body.items() if k in _COUNTED} for body in _MESSAGES]),
    Case("ollama", "chat", _OWN_CHATS),
    Case("ollama", "completions", [{"model": "m", "prompt": "hi", "raw": True}, {"model": "m", "prompt": 5}]),
    Case("cohere", "chat", [*_of_cohere("chat"), {**_UNREAD, "new": 1}]),
    Case("cohere", "embeddings", [*_of_cohere("embeddings"), {**_UNREAD, "new": 1}]),
    Case("cohere", "rerank", [*_of_cohere("rerank"), {**_UNREAD, "new": 1}]),
    Case("openai", "chat", [*SEEDS, {"model": "m", "messages": [{"role": "user", "content": None}]}]),
    Case("openai", "responses", _RESPONSES),
    Case(
        "openai",
        "completions",
        [
            {"model": "m", "prompt": "hi"},
            {"model": "m", "prompt": ["a", "b"], "n": 2, "best_of": 3, "stream": False, "stop": "x", "logprobs": 1},
            {"model": "m", "prompt": None, "max_tokens": 5, "echo": True, "temperature": 0.5, "logit_bias": {"1": 2}},
            {"model": "m", "prompt": "a: b", "stream": True, "stream_options": {"include_usage": True}, "seed": 1},
            {"model": "m", "prompt": [1, 2]},
        ],
    ),
    Case(
        "openai",
        "embeddings",
        [
            {"model": "m", "input": "hi"},
            {"model": "m", "input": ["a", "b: c"], "dimensions": 3, "user": "u"},
            {"model": "m", "input": "hi", "encoding_format": "base64"},
            {"model": "m", "input": [1, 2]},
        ],
    ),
    Case(
        "openai",
        "moderations",
        [
            {"input": "hi"},
            {"model": "m", "input": ["a", "b: c"]},
            {"model": "m", "input": [{"type": "text", "text": "a"}]},
        ],
    ),
]
KEYS = [
    "x", "name", "role", "id", "tool_calls", "content", "type", "text", "input", "tools", "system", "thinking",
    "cache_control", "citations", "parts", "inlineData", "functionCall", "thought", "generationConfig",
]  # fmt: skip
COUNT = int(os.environ.get("TYPED_BODIES", "2000"))
VALUES = [
    *(None, True, False, 0, 1, -1, 5.0, 0.5, 1e5, 2**63, 10**30, -0.0, float("nan"), 1e308, "", "x", ":", "a:b"),
    *("user", "tool", "function", "text", "c1", "é", "\ud800", "\n", "\x7f", [], {}, [1], {"a": 1}, [[]], [{}]),
    *(
        "x" * 65,
        "a\n",
        [None],
        {"type": "text"},
        {"role": "user", "content": "y"},
        ["text"],
        CALLS,
        TOOL,
        HISTORY,
        "auto",
    ),
]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, inner in items for found in _paths(inner, (*path, key)))]


def _mutated(random: Random, bodies: Sequence[Mapping[str, Any]]) -> bytes:
    body = json.loads(json.dumps(random.choice(bodies)))
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        if not body:
            break
        *way, last = random.choice(_paths(body)[1:])
        holder = body
        for step in way:
            holder = holder[step]
        match random.randrange(6):
            case 0:
                del holder[last]
            case 1 if isinstance(holder, dict):
                holder[random.choice(KEYS)] = deepcopy(random.choice(VALUES))
            case 2 if isinstance(holder, list):
                holder.insert(last, deepcopy(random.choice((*VALUES, holder[last]))))
            case 3 if isinstance(holder[last], str):
                holder[last] += random.choice((":", "\n", "\\", '"', "é", "😀", " ", "\u2028", "a"))
            case _:
                holder[last] = deepcopy(random.choice(VALUES))
    data = json.dumps(body, ensure_ascii=random.random() < 0.5, separators=random.choice(((",", ":"), (", ", " : "))))
    return _broken(random, data.encode("utf-8", "surrogatepass"))


def _broken(random: Random, data: bytes) -> bytes:
    """Bytes as they are, most often: else with a key twice, a letter that is written otherwise, or too many levels."""
    at = random.randrange(len(data)) if data else 0
    match random.randrange(14):
        case 0:
            return data[:at] + random.choice((b'"', b",", b":", b"\\", b"}", b"\xff", b"\x00", b" ", b"1")) + data[at:]
        case 1:
            return data.replace(b'{"', random.choice((b'{"model":"m","', b'{"role":"user","', b'{"a":1,"')), 1)
        case 2:
            return data.replace(b":", b"\\u003a", random.randrange(3)).replace(b'"role"', b'"rol\\u0065"', 1)
        case 3:
            key = random.choice((b'"name"', b'"content"', b'"type"', b'"a"', b'"model"', b'"messages"', b'"role"'))
            before, found, after = data.partition(key)
            return before + key + random.choice((b':"a:b",', b" : 1,", b":null,", b":[],")) + found + after
        case 4:
            levels = random.choice((5, 90, 95, 97, 98, 99, 100, 101, 150, 250, 5000))
            return data.replace(b"1", b"[" * levels + b"]" * levels, 1)
        case 5:
            return data.replace(b"1", random.choice((b"1e400", b"-1e999", b"1.0", b"1E0", b"9" * 400, b"1.", b"01")), 1)
    return data


def _read(case: Case, body: bytes) -> Any:
    """The call of a body, or why it is refused."""
    operation = next(each for each in discover()[case.dialect].operations if each.name == case.operation)
    headers = ((b"content-type", b"application/json"), *((k.encode(), v.encode()) for k, v in case.headers.items()))
    path = operation.fill_path(operation.path, **case.params)
    http = HttpRequest("POST", path, operation.query, headers, body, path_params=case.params)
    try:
        call = operation.read_call(http, Validation.PUBLISHED)
    except Failure as failure:
        return failure.reason, failure.message, failure.code, failure.param, failure.kind, failure.details
    fields = {name: getattr(call, name) for name in Call.__struct_fields__ if name not in ("http", "is_sound")}
    problems = [(each.failure.message, each.keep) for each in operation.history(call, Validation.PUBLISHED)]
    assert not (call.is_sound and problems)
    hashed = call.fingerprint, compute_fingerprint(call.dialect, call.operation, call.meaning), call.content_fingerprint
    meaning = fields.pop("meaning")
    return repr(fields), to_builtins(meaning), hashed, problems, call.prompt_tokens


def _read_all(monkeypatch: pytest.MonkeyPatch, case: Case, bodies: Sequence[bytes]) -> tuple[list[Any], list[bool]]:
    """The calls of bodies, and which of them were read in types."""
    read, typed = [], []
    with monkeypatch.context() as patch:
        found = list[Any]()
        for name in ("read", "read_table"):
            patch.setattr(TypedModel, name, _noting(getattr(TypedModel, name), found))
        for body in bodies:
            found.clear()
            read.append(_read(case, body))
            typed.append(any(each is not None for each in found))
    return read, typed


def _noting(read: Any, found: list[Any]) -> Any:
    def noted(self: TypedModel, body: bytes) -> Any:
        found.append(read(self, body))
        return found[-1]

    return noted


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.dialect}-{case.operation}")
def test_a_body_that_was_changed_reads_the_same_in_types_and_by_the_table(
    monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    random = Random(35)
    bodies = [_mutated(random, case.bodies) for _ in range(COUNT)]
    first, typed = _read_all(monkeypatch, case, bodies)
    assert sum(typed) > COUNT / 8
    for name in ("read", "read_table"):
        monkeypatch.setattr(TypedModel, name, lambda self, body: None)
    for body, read in zip(bodies, first, strict=True):
        assert _read(case, body) == read, body


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.dialect}-{case.operation}")
def test_usual_bodies_are_read_in_types(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    read, typed = _read_all(monkeypatch, case, [json.dumps(body).encode() for body in case.bodies])
    assert [*typed] == [True] * (len(typed) - 1) + [False]
    assert case.headers or all(isinstance(each[1], dict) for each in read[:-1]), "refused"


@pytest.mark.parametrize("others", ["", '"stream":true,', '"stream":true,"user":"u",'])
def test_a_key_that_is_stated_twice_is_refused_where_the_path_names_the_model(others: str) -> None:
    """A colon in the name of a deployment is none of the body's, nor do other fields hide the key."""
    chats = (each for each in discover()["azure_openai"].operations if each.name == "chat" and "{" in each.path)
    body = b'{"model":"m",%b"seed":1,"seed":2,"messages":[{"role":"user","content":"hi"}]}' % others.encode()
    headers = ((b"content-type", b"application/json"),)
    query, params = {"api-version": "2024-10-21"}, {"deployment": "a:b"}
    with pytest.raises(Failure, match="duplicate key"):
        next(chats).read_call(HttpRequest("POST", "/", query, headers, body, path_params=params), Validation.PUBLISHED)
