"""Chats are read in types where that is sure, else by the table of fields; no request can tell the two apart."""

import json
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from msgspec import to_builtins

from mockserver.core.call import Call, fingerprint
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import _chat, discover
from mockserver.dialects._typed import TypedModel

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


def _mutated(random: Random) -> bytes:
    body = json.loads(json.dumps(random.choice(SEEDS)))
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
                key = random.choice(("x", "name", "role", "id", "tool_calls", "content"))
                holder[key] = deepcopy(random.choice(VALUES))
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


def _read(body: bytes) -> Any:
    """The call of a body, or why it is refused."""
    (chat,) = (each for each in discover()["openai"].operations if each.name == "chat")
    http = HttpRequest("POST", "/chat/completions", {}, ((b"content-type", b"application/json"),), body)
    try:
        call = chat.call(http, Validation.PUBLISHED)
    except Failure as failure:
        return failure.reason, failure.message, failure.code, failure.param, failure.kind, failure.details
    fields = {name: getattr(call, name) for name in Call.__struct_fields__ if name not in ("http", "is_sound")}
    problems = [(each.failure.message, each.keep) for each in chat.history(call, Validation.PUBLISHED)]
    assert not (call.is_sound and problems)
    hashed = call.fingerprint, fingerprint(call.dialect, call.operation, call.meaning), call.content_fingerprint
    meaning = fields.pop("meaning")
    return repr(fields), to_builtins(meaning), hashed, problems, call.prompt_tokens


def _compare(monkeypatch: pytest.MonkeyPatch, bodies: list[bytes]) -> int:
    """Read bodies both ways; how many were read in types."""
    first = [_read(body) for body in bodies]
    typed = sum(_chat._TYPED_CHAT.read(body) is not None for body in bodies)
    monkeypatch.setattr(TypedModel, "read", lambda self, body: None)
    for body, read in zip(bodies, first, strict=True):
        assert _read(body) == read, body
    return typed


def test_a_body_that_was_changed_reads_the_same_in_types_and_by_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(35)
    assert _compare(monkeypatch, [_mutated(random) for _ in range(3_000)]) > 500


def test_a_usual_chat_and_a_history_with_tools_are_read_in_types() -> None:
    for seed in SEEDS[:2]:
        assert _chat._TYPED_CHAT.read(json.dumps(seed).encode()) is not None


@pytest.mark.parametrize("others", ["", '"stream":true,', '"stream":true,"user":"u",'])
def test_a_key_that_is_stated_twice_is_refused_where_the_path_names_the_model(others: str) -> None:
    """A colon in the name of a deployment is none of the body's, nor do other fields hide the key."""
    chats = (each for each in discover()["azure_openai"].operations if each.name == "chat" and "{" in each.path)
    body = b'{"model":"m",%b"seed":1,"seed":2,"messages":[{"role":"user","content":"hi"}]}' % others.encode()
    headers = ((b"content-type", b"application/json"),)
    query, params = {"api-version": "2024-10-21"}, {"deployment": "a:b"}
    with pytest.raises(Failure, match="duplicate key"):
        next(chats).call(HttpRequest("POST", "/", query, headers, body, path_params=params), Validation.PUBLISHED)
