"""Bodies that must be refused, as data: broken JSON, and for every field the values that it must not have."""

import json
from collections.abc import Mapping
from typing import Any

from tests.server.refusals import HI

Json = Any


def with_text(text: str) -> bytes:
    """A chat body whose message is this JSON text."""
    return b'{"model":"m","messages":[{"role":"user","content":' + text.encode() + b"}]}"


def deep(levels: int, *, opening: str = "[", closing: str = "]") -> bytes:
    return b'{"model":"m","messages":[{"role":"user","content":"x"}],"x":%s}' % (
        (opening * levels + closing * levels).encode()
    )


BROKEN: Mapping[str, bytes] = {
    "empty": b"",
    "blank": b" \r\n\t",
    "cut": b'{"model":"m","messages":[{"role":"us',
    "trailing comma": b'{"model":"m",}',
    "single quotes": b"{'model':'m'}",
    "comment": b'{"model":"m"} // a comment',
    "two values": b"{}{}",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": json.dumps(HI).encode("utf-16"),
    "an array": b"[]",
    "a string": b'"hello"',
    "a number": b"5",
    "null": b"null",
    "true": b"true",
    "form data": b"model=m&messages=hello",
    "NaN": b'{"model":"m","messages":[],"temperature":NaN}',
    "Infinity": b'{"model":"m","messages":[],"temperature":Infinity}',
    "minus Infinity": b'{"model":"m","messages":[],"temperature":-Infinity}',
    "1e400": b'{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":1e400}',
    "minus 1e999": b'{"model":"m","messages":[{"role":"user","content":"x"}],"x":[-1e999]}',
    "a number of 5000 digits": b'{"model":"m","messages":[{"role":"user","content":"x"}],"seed":' + b"9" * 5000 + b"}",
    "a lone high surrogate": with_text('"\\ud800"'),
    "a lone low surrogate": with_text('"a\\udc00b"'),
    "surrogates in the wrong order": with_text('"\\udc00\\ud800"'),
    "a lone surrogate in a key": b'{"model":"m","messages":[{"role":"user","content":"x"}],"\\ud800":1}',
    "invalid UTF-8": b'{"model":"m","messages":[{"role":"user","content":"\xff"}]}',
    "overlong UTF-8": b'{"model":"m","messages":[{"role":"user","content":"\xc0\xaf"}]}',
    "a surrogate in UTF-8": b'{"model":"m","messages":[{"role":"user","content":"\xed\xa0\x80"}]}',
    "a raw line feed in a string": b'{"model":"m","messages":[{"role":"user","content":"a\nb"}]}',
    "a raw NUL in a string": b'{"model":"m","messages":[{"role":"user","content":"a\x00b"}]}',
    "a bad escape": with_text('"\\x41"'),
    "a duplicate key": b'{"model":"m","model":"m","messages":[{"role":"user","content":"x"}]}',
    "a duplicate key, deep": b'{"model":"m","messages":[{"role":"user","content":"x","content":"y"}]}',
    "a duplicate key in another spelling": b'{"model":"m","mod\\u0065l":"n","messages":[]}',
    "depth 101": deep(100),
    "depth 101 of objects": deep(100, opening='{"a":', closing="}").replace(b":}", b":1}"),
    "depth 50000": deep(50_000),
    "depth 90000, never closed": b"[" * 90_000,
}

OBJECT = {"a": {"b": [None]}}
TYPES: Mapping[str, tuple[Json, ...]] = {
    "model": (5, [], OBJECT, True),
    "messages": (
        None,
        "Hello",
        5,
        {},
        [],
        [None],
        [5],
        ["Hello"],
        [[]],
        [{}],
        [{"content": "x"}],
        [{"role": "user"}],
        [{"role": "user", "content": 5}],
        [{"role": "user", "content": None}],
        [{"role": "user", "content": {}}],
        [{"role": "user", "content": []}],
        [{"role": "user", "content": [5]}],
        [{"role": "user", "content": [{}]}],
        [{"role": "user", "content": [{"type": "nope"}]}],
        [{"role": "user", "content": [{"type": ["text"]}]}],
        [{"role": "user", "content": [{"type": "text"}]}],
        [{"role": "user", "content": [{"type": "text", "text": 5}]}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": 5}]}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
        [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x", "format": "ogg"}}]}],
        [{"role": 5, "content": "x"}],
        [{"role": ["user"], "content": "x"}],
        [{"role": {}, "content": "x"}],
        [{"role": "", "content": "x"}],
        [{"role": "USER", "content": "x"}],
        [{"role": "assistant", "content": "x", "tool_calls": 5}],
        [{"role": "assistant", "content": "x", "tool_calls": [{}]}],
        [{"role": "assistant", "content": "x", "tool_calls": [{"id": "a", "type": "function"}]}],
        [
            {
                "role": "assistant",
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": {}}}],
            }
        ],
        [{"role": "tool", "content": "x", "tool_call_id": 5}],
        [*[{"role": "user", "content": "x"}] * 500, {"role": "user", "content": 5}],
    ),
    "temperature": ("hot", [], OBJECT, True, -0.1, -1e300),
    "top_p": ("x", [], OBJECT, True, 1.5, -1),
    "max_tokens": ("x", [], OBJECT, True, 1.5),
    "frequency_penalty": ("x", [], True, 2.5, -2.5),
    "presence_penalty": ("x", [], True, 2.5, -2.5),
    "stop": (5, True, OBJECT, [5], [None], [[]]),
    "seed": ("x", [], True, 1.5),
    "stream": ("true", 1, 0, [], OBJECT),
    "tools": (
        5,
        "f",
        OBJECT,
        [5],
        [None],
        [{}],
        [{"type": "nope"}],
        [{"type": "function"}],
        [{"type": "function", "function": {}}],
        [{"type": "function", "function": {"name": 5}}],
        [{"type": "function", "function": {"name": ""}}],
        [{"type": "function", "function": {"name": "a b"}}],
        [{"type": "function", "function": {"name": "a\n"}}],
        [{"type": "function", "function": {"name": "n" * 65}}],
        [{"type": "function", "function": {"name": "f", "parameters": 5}}],
        [{"type": "function", "function": {"name": "f", "parameters": []}}],
    ),
    "tool_choice": (5, "always", [], {}, {"type": "function"}, {"type": "function", "function": {"name": "f"}}),
    "response_format": (5, "json", [], {}, {"type": "xml"}, {"type": "json_schema"}, {"type": 5}),
}
OF_OPENAI: Mapping[str, tuple[Json, ...]] = {
    "model": (None,),
    "messages": (
        [{"role": "tool", "content": "x"}],
        [{"role": "assistant"}],
        [{"role": "assistant", "content": None}],
        [{"role": "assistant", "content": None, "tool_calls": []}],
    ),
    "temperature": (2.1,),
    "n": ("x", 0, -1, 129, 1.5, True, [], 10**30),
    "max_completion_tokens": ("x", 1.5, True, []),
    "logprobs": ("x", 1, [], OBJECT),
    "top_logprobs": (-1, 21, "x", 1.5, 5),
    "logit_bias": (5, [], {"1": "x"}, {"1": 101}, {"1": -101}, {"1": None}),
    "seed": (2**63, -(2**63) - 1, 10**30),
    "stop": ([], ["a"] * 5),
    "stream_options": (5, [], "x", {"include_usage": True}, {"include_usage": 5}),
    "tools": ([{"type": "custom", "custom": {}}],),
    "tool_choice": ("required",),
    "parallel_tool_calls": ("x", 1, []),
    "reasoning_effort": ("huge", 5, []),
    "verbosity": ("loud", 5),
    "service_tier": ("gold", 5),
    "store": ("x", 1),
    "metadata": (5, [], {"k": 5}, {"k" * 65: "v"}, {"k": "v" * 513}, {str(i): "v" for i in range(17)}),
    "modalities": (5, ["smell"]),
    "user": (5, []),
    "functions": (5, [], [{}]),
    "function_call": (5, "always", {"name": "f"}),
}


SCHEMAS: Mapping[str, Json] = {
    "a huge text": {"type": "string", "minLength": 10**9},
    "an absurd text": {"type": "string", "minLength": 10**30},
    "a huge array": {"type": "array", "minItems": 10**9},
    "a huge object": {"type": "object", "minProperties": 10**9},
    "arrays in arrays": {
        "type": "array",
        "minItems": 1000,
        "items": {"type": "array", "minItems": 1000, "items": {"type": "array", "minItems": 1000}},
    },
    "a slow pattern": {"type": "string", "pattern": "^(a+)+$"},
    "a huge pattern": {"type": "string", "pattern": "(((a{1000}){1000}){1000}){1000}"},
    "a broken pattern": {"type": "string", "pattern": "(("},
    "a huge number": {"type": "integer", "minimum": 1e308},
    "a tiny step": {"type": "integer", "multipleOf": 1e-300},
    "no step": {"type": "integer", "multipleOf": 0},
    "nothing between": {"type": "integer", "minimum": 5, "maximum": 3},
    "a reference to itself": {"$ref": "#"},
    "no end": {
        "$ref": "#/properties/x/$defs/n",
        "$defs": {"n": {"type": "array", "minItems": 1, "items": {"$ref": "#"}}},
    },
    "a reference abroad": {"$ref": "http://example.org/schema.json"},
    "a reference to a file": {"$ref": "file:///etc/passwd"},
    "types that are none": {"type": ["nope", 5]},
    "nothing to choose from": {"enum": []},
    "no branch": {"anyOf": []},
    "false": {"allOf": [False]},
    "keys of other types": {"type": "object", "properties": 5, "required": [{}]},
    "a long format": {"type": "string", "format": "nope" * 10_000},
}
