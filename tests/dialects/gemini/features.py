"""Chats as Gemini's clients ask for them: what a feature asks of a chat, in the words of generateContent."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.dialects import discover
from tests.dialects.features import FEATURES, PROMPT

Json = Any
URL = "/gemini/v1beta/models/{model}:generateContent"
STREAM_URL = "/gemini/v1beta/models/{model}:streamGenerateContent?alt=sse"
# What no request of Gemini can ask for: one call at most, the legacy functions.
BEYOND = ("parallel_tool_calls", "functions")
LEVELS = {"low": "LOW", "medium": "MEDIUM", "high": "HIGH"}


def names() -> list[str]:
    """The features of a chat that Gemini has."""
    able = discover()["gemini"].features
    return [
        name
        for name, feature in FEATURES.items()
        if (feature.needs is None or feature.needs in able) and not any(key in feature.body for key in BEYOND)
    ]


def request(name: str) -> dict[str, Json]:
    asked = FEATURES[name].body if name in FEATURES else {}
    return body({"messages": [{"role": "user", "content": PROMPT}], **asked})


def body(chat: Mapping[str, Json]) -> dict[str, Json]:
    config = {gemini: chat[key] for key, gemini in _CONFIG.items() if key in chat}
    if isinstance(config.get("stopSequences"), str):
        config["stopSequences"] = [config["stopSequences"]]
    if "reasoning_effort" in chat:
        config["thinkingConfig"] = {"includeThoughts": True, "thinkingLevel": LEVELS[chat["reasoning_effort"]]}
    form = chat.get("response_format") or {}
    if form:
        config["responseMimeType"] = "application/json"
    if "json_schema" in form:
        config["responseJsonSchema"] = form["json_schema"]["schema"]
    made: dict[str, Json] = {"contents": list(_contents(chat["messages"]))}
    if config:
        made["generationConfig"] = config
    if "tools" in chat:
        made["tools"] = [{"functionDeclarations": [_function(tool["function"]) for tool in chat["tools"]]}]
    match chat.get("tool_choice"):
        case "required":
            made["toolConfig"] = {"functionCallingConfig": {"mode": "ANY"}}
        case {"function": {"name": name}}:
            made["toolConfig"] = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]}}
    return made


def bodies(operation: str) -> Iterator[Json]:
    """Sound bodies of an operation."""
    if operation in ("chat", "input_tokens"):
        yield from map(request, names())
    content = {"parts": [{"text": PROMPT}]}
    if operation == "input_tokens":
        yield {"generateContentRequest": {"model": "models/x", **request("tool-call")}}
    if operation == "embeddings":
        yield {"content": content, "taskType": "CLUSTERING", "outputDimensionality": 3}
        yield {"requests": [{"model": "models/x", "content": content, "title": "T", "taskType": "RETRIEVAL_DOCUMENT"}]}
        yield {"instances": [{"content": PROMPT}], "parameters": {"outputDimensionality": 3}}
    if operation == "create_cached_content":
        yield {"model": "models/x", **request("tool-call"), "ttl": "60s", "displayName": "a"}
    if operation == "create_batch":
        asked = {"request": request("tool-call"), "metadata": {"key": "first"}}
        yield {"batch": {"displayName": "a", "inputConfig": {"requests": {"requests": [asked]}}}}
        yield {"batch": {"displayName": "a", "priority": "1", "inputConfig": {"fileName": "files/a"}}}
    if operation == "create_auth_token":
        setup = {"model": "models/x", "generationConfig": {"temperature": 1}}
        yield {"uses": 1, "expireTime": "2026-01-01T00:00:00Z", "bidiGenerateContentSetup": setup}
    if operation == "create_file":
        yield {"file": {"displayName": "a", "mimeType": "text/plain", "sizeBytes": "5"}}


def _contents(messages: list[Json]) -> Iterator[Json]:
    for message in messages:
        if message["role"] == "tool":
            response = {"result": json.loads(message["content"])}
            yield {"role": "user", "parts": [{"functionResponse": {"name": "get_weather", "response": response}}]}
            continue
        said = message.get("content") or []
        parts = [{"text": said}] if isinstance(said, str) else [{"text": part["text"]} for part in said]
        for call in message.get("tool_calls") or ():
            used = call["function"]
            parts.append({"functionCall": {"name": used["name"], "args": json.loads(used["arguments"])}})
        yield {"role": "model" if message["role"] == "assistant" else "user", "parts": parts}


def _function(function: Json) -> Json:
    rest = {key: value for key, value in function.items() if key != "parameters"}
    return {**rest, "parametersJsonSchema": function["parameters"]}


_CONFIG = {
    "n": "candidateCount",
    "stop": "stopSequences",
    "max_tokens": "maxOutputTokens",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
}
