"""The requests of the golden set that no rule answers: what is generated in each way that there is.

Imports nothing but the standard library.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = Any
CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"

PROMPTS: Mapping[str, str] = {
    "english": "What is the weather in Paris and in Rome tomorrow at 5pm? Then e-mail Ann Bell (ann@example.com).",
    "german": "Wie wird das Wetter morgen in München? Buche dann ein Hotel für 2 Personen unter 120 €.",
    "french": "Quel temps fait-il à Lyon demain ? Envoie un e-mail à zoe@example.fr.",
    "spanish": "¿Qué tiempo hace en Madrid? Explica también la historia del tren.",
    "russian": "Какая погода в Москве завтра?",
    "arabic": "ما هو الطقس في القاهرة غدا؟",
    "hindi": "दिल्ली में मौसम कैसा है?",
    "chinese": "北京明天天气怎么样？写一首短诗。",
    "japanese": "東京の天気を教えてください。",
    "korean": "서울 날씨 어때요?",
    "thai": "อากาศที่กรุงเทพเป็นอย่างไร",
    "list": "List 5 rivers of Europe.",
    "table": "Show a table of 3 planets and their moons.",
    "code": "Write a Python function that sorts a list of numbers.",
    "sum": "What is 17 * 23 + 4?",
    "verses": "Write a haiku about the harbour.",
    "option": "Which is the largest? A) ant B) whale C) dog. Answer with the letter alone.",
    "repeated": 'Say exactly "all is well".',
    "keys": "Extract as JSON with keys name, age (integer) and tags (list): Ann is 42, likes tea and chess.",
    "shape": 'Reply in JSON like {"city": "…", "degrees": 0, "sunny": true} for Oslo, 12 degrees, sunny.',
    "schema": 'Answer in JSON that matches {"type":"object","properties":{"city":{"type":"string"},"when":'
    '{"type":"string","format":"date"}},"required":["city","when"]}: Rome on 2024-05-01.',
    "long": "12:12 in Rome, named 'Ann', for 3 people; " * 400,
}
FORMATS = [
    "email", "idn-email", "uri", "iri", "uri-reference", "uri-template", "hostname", "idn-hostname", "ipv4",
    "ipv6", "uuid", "date", "time", "date-time", "duration", "json-pointer", "relative-json-pointer", "regex",
    "password", "byte", "phone",
]  # fmt: skip
NAMES = [
    "name", "first_name", "email", "phone", "address", "city", "country", "zip", "company", "job_title", "title",
    "description", "url", "price", "amount", "currency", "quantity", "age", "user_id", "order_id", "sku", "color",
    "date", "timezone", "language", "latitude", "rating", "status", "tags", "username", "path", "mime_type",
]  # fmt: skip


def _object(properties: Mapping[str, Json], **more: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), **more}


_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}
SCHEMAS: Mapping[str, Json] = {
    "names as texts": _object(dict.fromkeys(NAMES, _TEXT)),
    "names as numbers": _object({key: {"type": "number"} for key in NAMES}),
    "formats": _object({name: {"type": "string", "format": name} for name in FORMATS}),
    "short formats": _object({name: {"type": "string", "format": name, "maxLength": 12} for name in ("email", "uri")}),
    "numbers": _object(
        {
            "huge": {"type": "number", "minimum": 1e308},
            "steps": {"type": "number", "multipleOf": 0.01, "exclusiveMinimum": 0, "maximum": 1},
            "tiny": {"type": "number", "multipleOf": 1e-300},
            "beyond": {"type": "integer", "minimum": 2**70},
            "between": {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1.0000001},
        }
    ),
    "patterns": _object(
        {
            "plate": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,5}$"},
            "script": {"type": "string", "pattern": "^\\p{Lu}\\p{Ll}{2,}$"},
            "ahead": {"type": "string", "pattern": "^(?=.*[0-9])(?=.*[A-Z])[A-Z0-9]{6,9}$"},
            "either": {"type": "string", "pattern": "^(?:left|right)(?:-(?:up|down))*$"},
        }
    ),
    "lists": _object(
        {
            "pair": {"type": "array", "prefixItems": [_TEXT, _WHOLE], "items": False, "minItems": 2},
            "different": {"type": "array", "items": {"enum": list("abcdef")}, "uniqueItems": True, "minItems": 4},
            "with": {"type": "array", "items": _WHOLE, "contains": {"const": 7}, "minContains": 2, "minItems": 5},
        }
    ),
    "map": {"type": "object", "propertyNames": {"pattern": "^[a-f]{3}_[0-9]$"}, "minProperties": 5},
    "by pattern": {"type": "object", "patternProperties": {"^x-": _WHOLE}, "additionalProperties": False},
    "tree": {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": _object(
                {"value": _WHOLE, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2}}
            )
        },
    },
    "either": {"anyOf": [_object({"kind": {"const": "cat"}, "lives": _WHOLE}), _object({"kind": {"const": "dog"}})]},
    "one of": {"oneOf": [{"type": "integer", "multipleOf": at} for at in (3, 5, 7)]},
    "if": _object(
        {"country": {"enum": ["DE", "US"]}, "code": _TEXT},
        **{"if": {"properties": {"country": {"const": "DE"}}}},
        then={"properties": {"code": {"pattern": "^[0-9]{5}$"}}},
        **{"else": {"properties": {"code": {"pattern": "^[A-Z]{2}[0-9]{3}$"}}}},
    ),
    "not": {"type": "integer", "minimum": 0, "maximum": 9, "not": {"enum": [1, 2, 3, 4]}},
    "any": True,
    "impossible": _object({"a": {"type": "integer", "minimum": 5, "maximum": 3}}),
    "endless": _object({"again": {"$ref": "#"}}),
    "too much": {"type": "array", "items": _TEXT, "minItems": 10**9},
    "elsewhere": {"$ref": "https://example.com/schema.json"},
    "wide": _object({f"field_{at}": {"type": "string", "description": f"word {at} of it"} for at in range(200)}),
}


def _function(name: str, about: str, properties: Mapping[str, Json], required: Sequence[str]) -> Json:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


_WHEN = {"type": "string", "format": "date-time"}
TOOLS = [
    _function("get_weather", "Get the weather of a city", {"city": _TEXT, "unit": {"enum": ["c", "f"]}}, ["city"]),
    _function("send_email", "Send an e-mail", {"to": {"type": "string", "format": "email"}, "body": _TEXT}, ["to"]),
    _function("book_hotel", "Book a hotel", {"city": _TEXT, "guests": _WHOLE, "max_price": _WHOLE}, ["city", "guests"]),
    _function("remind", "Set a reminder", {"at": _WHEN, "about": _TEXT}, ["at"]),
    _function("now", "The time", {}, []),
]
_CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Rome"}'}},
    ],
}
_RESULTS = [
    {"role": "tool", "tool_call_id": "call_1", "content": '{"temp": 21, "sky": "clear", "wind": {"kmh": 12}}'},
    {"role": "tool", "tool_call_id": "call_2", "content": "Rain until the evening, 14 degrees."},
]
GRAMMARS: Mapping[str, tuple[str, str]] = {
    "lark": ("lark", 'start: term ("+" term)*\nterm: NUMBER | "(" start ")"\n%import common.NUMBER'),
    "lark of words": ("lark", 'start: VERB " the " NOUN\nVERB: "open" | "close"\nNOUN: /[a-z]{3,8}/'),
    "regex": ("regex", "^[A-Z]{2,4}-\\d{3}$"),
    "broken": ("lark", "start: ("),
}
HOSTED: Mapping[str, Json] = {
    "web_search": {},
    "file_search": {"vector_store_ids": ["vs_1"]},
    "code_interpreter": {"container": {"type": "auto"}},
    "image_generation": {},
    "mcp": {"server_label": "docs", "server_url": "https://example.com/mcp", "require_approval": "never"},
    "computer_use_preview": {"display_width": 800, "display_height": 600, "environment": "browser"},
    "local_shell": {},
    "shell": {},
    "apply_patch": {},
}
MODELS = ("gpt-4o", "gpt-4o-mini", "o3-mini", "gpt-5", "gpt-4.1-nano", "gpt-3.5-turbo", "a-model-of-nobody", "GPT-4o")


def unruled() -> Iterator[tuple[str, str, Json]]:
    yield from _chats()
    for name, schema in SCHEMAS.items():
        wanted = {"type": "json_schema", "json_schema": {"name": "wanted", "schema": schema}}
        yield f"instance of {name}", CHAT, _chat("One for Ann, 42, please.", response_format=wanted)
        tool = {"type": "function", "function": {"name": "make", "parameters": schema}}
        if isinstance(schema, dict):
            yield f"arguments of {name}", CHAT, _chat("Make one: name Ann.", tools=[tool], tool_choice="required")
    for name, (syntax, definition) in GRAMMARS.items():
        grammar = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
        tool = {"type": "custom", "custom": {"name": "write", "format": grammar}}
        for prompt in ("Write 12 + 30.", "Open the window"):
            yield f"grammar {name}: {prompt}", CHAT, _chat(prompt, tools=[tool], tool_choice="required", model="gpt-5")
    yield from _responses()
    for model in MODELS:
        yield f"model {model}", CHAT, _chat("Tell me about trains.", model=model)
        yield f"long answer of {model}", CHAT, _chat("Tell me about trains.", model=model, max_completion_tokens=50_000)


def _chats() -> Iterator[tuple[str, str, Json]]:
    for name, prompt in PROMPTS.items():
        yield f"prompt {name}", CHAT, _chat(prompt)
        yield f"prompt {name}, streamed", CHAT, _chat(prompt, stream=True, n=2)
        yield f"prompt {name}, tools", CHAT, _chat(prompt, tools=TOOLS)
        yield f"prompt {name}, a tool", CHAT, _chat(prompt, tools=TOOLS, tool_choice="required")
        yield f"prompt {name}, object", CHAT, _chat(f"{prompt} (JSON)", response_format={"type": "json_object"})
        yield f"prompt {name}, thought over", CHAT, _chat(prompt, model="o3-mini", reasoning_effort="high")
        yield f"prompt {name}, text", TEXT, {"model": "gpt-3.5-turbo-instruct", "prompt": prompt, "n": 2, "logprobs": 2}
        told = [{"role": "user", "content": prompt}, _CALLED, *_RESULTS]
        yield f"prompt {name}, results", CHAT, {"model": "gpt-4o", "messages": told, "tools": TOOLS}
        again = [*told, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "And in Oslo?"}]
        yield f"prompt {name}, again", CHAT, {"model": "gpt-4o", "messages": again, "tools": TOOLS}


def _responses() -> Iterator[tuple[str, str, Json]]:
    for name, prompt in PROMPTS.items():
        thinking = {"effort": "medium", "summary": "auto"}
        yield f"response {name}", RESPONSES, {"model": "gpt-5", "input": prompt, "reasoning": thinking}
    for kind, options in HOSTED.items():
        tool = {"type": kind, **options}
        for prompt in (
            "Search the web for news about whales and click Submit.",
            "Draw a cat, run 2+2, list the files.",
        ):
            body = {"model": "gpt-5", "input": prompt, "tools": [tool], "tool_choice": "required"}
            yield f"hosted {kind}: {prompt[:8]}", RESPONSES, body


def _chat(prompt: str, *, model: str = "gpt-4o", **more: Json) -> Json:
    return {"model": model, "messages": [{"role": "user", "content": prompt}], **more}
