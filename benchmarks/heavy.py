"""Requests as large as the server takes, or with answers as large as it gives: what might keep others waiting."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from load import post

Json = Any
LIMIT = 9_500_000  # bytes of the largest bodies
WORDS = "The quick brown fox jumps over the lazy dog, and 12 others (of 345) follow it home at 6:30 pm. "
CHAT, TEXT, RESPONSES, EMBEDDINGS = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings"
FIREWORKS = "/fireworks/inference/v1/completions"


def ask(path: str, **body: Json) -> bytes:
    """A request with this body."""
    return post(path, json.dumps({"model": "m", **body}, ensure_ascii=False).encode())


def chat(text: str = "hello", **more: Json) -> bytes:
    """A chat with one message."""
    return ask(CHAT, **{"messages": [{"role": "user", "content": text}], **more})


def _long(length: int = LIMIT) -> str:
    return (WORDS * (length // len(WORDS) + 1))[:length]


def _texts(count: int = 2048, length: int = 0) -> list[str]:
    return [f"text {number} {_long(length)}" for number in range(count)]


def _tools(count: int, parameters: Json) -> Json:
    made = ({"name": f"tool_{n}", "description": f"Does {n}.", "parameters": parameters} for n in range(count))
    return [{"type": "function", "function": function} for function in made]


def _with_tool(parameters: Json) -> bytes:
    return chat("call tool_0", tools=_tools(1, parameters), tool_choice="required")


def _custom(syntax: str, definition: str) -> bytes:
    form = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
    return chat(tools=[{"type": "custom", "custom": {"name": "c", "format": form}}], tool_choice="required")


def _shaped(schema: Json) -> bytes:
    whole = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    return chat(response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": whole}})


def _wide(count: int) -> Json:
    fields = {f"field_{n}": {"type": "string", "description": WORDS} for n in range(count)}
    return {"type": "object", "properties": fields}


def _turns(count: int) -> Json:
    return [{"role": ("user", "assistant")[n % 2], "content": f"{n} {WORDS}"} for n in range(count * 2 + 1)]


def _told(result: str) -> bytes:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "user", "content": "look it up"}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    return chat(messages=[asked, called, {"role": "tool", "tool_call_id": "c", "content": result}])


def _parts(count: int) -> Json:
    return [{"role": "user", "content": [{"type": "text", "text": "x"}] * count}]


def _raw(value: str) -> bytes:
    """A chat with one more field, as its JSON."""
    return post(CHAT, b'{"model":"m","messages":[{"role":"user","content":"hi"}],"x":%s}' % value.encode())


def _array(of: str, count: int, *, end: str = "]") -> bytes:
    return _raw("[" + ",".join([of] * count) + end)


_TOLD = {"logprobs": True, "top_logprobs": 20}
_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_STORY = "Tell me a long story of the sea."
_RULES = "".join(f'a{n}: "x"\n' for n in range(60_000))
_FOUND = json.dumps([{"name": f"n{n}", "value": n} for n in range(150_000)])

CASES: Mapping[str, Callable[[], bytes]] = {
    "128 choices": lambda: chat(n=128),
    "128 choices with log probabilities": lambda: chat(_STORY, n=128, **_TOLD),
    "the same, streamed": lambda: chat(_STORY, n=128, stream=True, **_TOLD),
    "2,048 prompts": lambda: ask(TEXT, prompt=_texts()),
    "2,048 prompts, streamed": lambda: ask(TEXT, prompt=_texts(), stream=True),
    "2,048 prompts with log probabilities": lambda: ask(TEXT, prompt=_texts(), logprobs=5, max_tokens=200),
    "a prompt of 1 MB, echoed with log probabilities": lambda: ask(
        FIREWORKS, prompt=_long(100_000), echo=True, logprobs=5
    ),
    "a prompt of 1,300,000 numbers": lambda: ask(TEXT, prompt=[n % 100_000 for n in range(1_300_000)]),
    "an endless answer, 8 times": lambda: ask(FIREWORKS, prompt="hi", ignore_eos=True, n=8, logprobs=5),
    "2,048 embeddings": lambda: ask(EMBEDDINGS, input=_texts()),
    "2,048 embeddings of 4,096 numbers": lambda: ask(EMBEDDINGS, input=_texts(), dimensions=4096),
    "2,048 embeddings in base64": lambda: ask(EMBEDDINGS, input=_texts(), encoding_format="base64"),
    "embeddings of 2,048 long texts": lambda: ask(EMBEDDINGS, input=_texts(length=400)),
    "2,048 moderations": lambda: ask("/v1/moderations", input=_texts()),
    "a message of words": lambda: chat(_long()),
    "a message of one word": lambda: chat("x" * LIMIT),
    "a message of digits": lambda: chat("7" * LIMIT),
    "a message of brackets": lambda: chat("[" * LIMIT),
    "a message of quotes": lambda: chat('"' * (LIMIT // 2)),
    "a message of lines": lambda: chat("a\n" * (LIMIT // 3)),
    "a message of blanks": lambda: chat(" " * LIMIT),
    "a message of Chinese": lambda: chat("海" * (LIMIT // 3)),
    "70,000 messages": lambda: chat(messages=_turns(35_000)),
    "250,000 parts": lambda: chat(messages=_parts(250_000)),
    "an input of words": lambda: ask(RESPONSES, input=_long()),
    "90,000 items": lambda: ask(RESPONSES, input=[{"role": "user", "content": WORDS[:50]}] * 90_000),
    "40,000 tools": lambda: chat("call tool_7", tools=_tools(40_000, _CITY)),
    "a tool of 60,000 fields": lambda: _with_tool(_wide(60_000)),
    "a schema of 60,000 fields": lambda: _shaped(_wide(60_000)),
    "an enum of 1,000,000": lambda: _shaped({"enum": list(range(1_000_000))}),
    "a schema of 80,000 branches": lambda: _shaped({"anyOf": [_CITY] * 80_000}),
    "an array of 100,000 wanted": lambda: _shaped({"type": "array", "minItems": 100_000, "items": {"type": "integer"}}),
    "a grammar of 60,000 rules": lambda: _custom("lark", f'start: a\n{_RULES}a: "b"'),
    "a pattern of 200,000 groups": lambda: _custom("regex", "(a|b)" * 200_000),
    "a tool's result of 6 MB": lambda: _told(_FOUND),
    "a tool's result that is deep": lambda: _told("[" * 300_000 + "]" * 300_000),
    "JSON too deep": lambda: _raw("[" * 4_000_000 + "]" * 4_000_000),
    "JSON of lists": lambda: _array("[]", 3_000_000),
    "JSON of exponents": lambda: _array("1e-300", 1_300_000),
    "JSON of many keys": lambda: _raw(json.dumps({f"k{n}": n for n in range(500_000)})),
    "JSON that breaks at its end": lambda: _array("0", 4_500_000, end=",]"),
    "250,000 wrong messages": lambda: chat(messages=[{"role": "user", "content": 5}] * 250_000),
    "600,000 unknown items": lambda: ask(RESPONSES, input=[{"type": "x"}] * 600_000),
    "700,000 biases": lambda: chat(logit_bias={str(n): 1 for n in range(700_000)}),
    "400,000 unknown keys": lambda: ask(EMBEDDINGS, input="x", **{f"key_{n}": None for n in range(400_000)}),
    "stops of 8 MB": lambda: chat(stop=["a" * 2_000_000] * 4),
    "a model's name of 9 MB": lambda: ask(CHAT, model="m" * LIMIT, messages=[{"role": "user", "content": "x"}]),
}
