"""Chats as Ollama's clients ask for them: what a feature asks of a chat, in the words of its own API."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.dialects import discover
from tests.dialects.features import FEATURES, PROMPT, TEXT_FEATURES

Json = Any
URL, GENERATE_URL = "/ollama/api/chat", "/ollama/api/generate"
# What no request of Ollama can ask for: several answers, a choice of tools, one call at most, the legacy functions.
BEYOND = ("n", "tool_choice", "parallel_tool_calls", "functions")
_OPTIONS = {"stop": "stop", "max_tokens": "num_predict", "seed": "seed", "temperature": "temperature"}


def names() -> list[str]:
    """The features of a chat that Ollama has."""
    return [name for name, feature in FEATURES.items() if _can(feature)]


def text_names() -> list[str]:
    """Those of a text that continues one prompt."""
    several = ("n", "best_of", "echo", "suffix")
    return [
        name
        for name, feature in TEXT_FEATURES.items()
        if _can(feature) and isinstance(feature.body.get("prompt", ""), str) and not any(map(feature.body.get, several))
    ]


def _can(feature: Any) -> bool:
    needed = feature.needs is None or feature.needs in discover()["ollama"].features - {"items", "failed"}
    return needed and not feature.only and not any(key in feature.body for key in BEYOND)


def request(name: str, *, stream: bool = False) -> dict[str, Json]:
    asked = FEATURES[name].body if name in FEATURES else {}
    chat = {"messages": [{"role": "user", "content": PROMPT}], **asked}
    made = {"model": name, "messages": list(_messages(chat["messages"])), **_shared(chat), "stream": stream}
    if "tools" in chat:
        made["tools"] = chat["tools"]
    return made


def text_request(name: str, *, stream: bool = False) -> dict[str, Json]:
    asked = TEXT_FEATURES[name].body if name in TEXT_FEATURES else {}
    return {"model": name, "prompt": asked.get("prompt", PROMPT), **_shared(asked), "stream": stream}


def _shared(asked: Mapping[str, Json]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    if options := {own: asked[key] for key, own in _OPTIONS.items() if key in asked}:
        made["options"] = options
    if asked.get("logprobs"):
        made |= {"logprobs": True, "top_logprobs": asked.get("top_logprobs", 0)}
    if "reasoning_effort" in asked:
        made["think"] = asked["reasoning_effort"]
    form = asked.get("response_format") or {}
    if form:
        made["format"] = form["json_schema"]["schema"] if "json_schema" in form else "json"
    return made


def _messages(messages: list[Json]) -> Iterator[Json]:
    for message in messages:
        content = message.get("content") or ""
        texts = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        calls = [
            {"function": {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}}
            for call in message.get("tool_calls") or ()
        ]
        told = {"tool_name": "get_weather"} if message["role"] == "tool" else {}
        yield {"role": message["role"], "content": texts, **({"tool_calls": calls} if calls else {}), **told}
