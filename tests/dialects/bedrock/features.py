"""Chats as Bedrock's clients ask for them: what a feature asks of a chat, in the words of Converse."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.dialects import discover
from tests.dialects.features import FEATURES, PROMPT

Json = Any
URL = "/bedrock/model/{model}/converse"
STREAM_URL = "/bedrock/model/{model}/converse-stream"
# What no request of Converse can ask for: several answers, one call at most, log probabilities, the legacy functions.
BEYOND = ("n", "parallel_tool_calls", "functions", "logprobs", "top_logprobs")
# Bodies of InvokeModel, each for a model of its family.
BODIES: dict[str, Json] = {
    "anthropic.claude-sonnet-4-5-20250929-v1:0": {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": PROMPT}],
    },
    "amazon.nova-lite-v1:0": {"messages": [{"role": "user", "content": [{"text": PROMPT}]}]},
    "amazon.titan-text-express-v1": {"inputText": PROMPT},
    "meta.llama3-3-70b-instruct-v1:0": {"prompt": PROMPT},
    "mistral.mistral-7b-instruct-v0:2": {"prompt": PROMPT},
    "deepseek.r1-v1:0": {"prompt": PROMPT},
    "cohere.command-text-v14": {"prompt": PROMPT},
    "cohere.command-r-v1:0": {"message": PROMPT},
    "openai.gpt-oss-120b-1:0": {"messages": [{"role": "user", "content": PROMPT}]},
}


def names() -> list[str]:
    """The features of a chat that Converse has."""
    able = discover()["bedrock"].features
    return [
        name
        for name, feature in FEATURES.items()
        if (feature.needs is None or feature.needs in able)
        and not any(key in feature.body for key in BEYOND)
        and feature.body.get("tool_choice") != "none"
    ]


def request(name: str) -> dict[str, Json]:
    asked = FEATURES[name].body if name in FEATURES else {}
    return body({"messages": [{"role": "user", "content": PROMPT}], **asked})


def body(chat: Mapping[str, Json]) -> dict[str, Json]:
    limits = {key: chat[name] for name, key in _LIMITS.items() if name in chat}
    if isinstance(limits.get("stopSequences"), str):
        limits["stopSequences"] = [limits["stopSequences"]]
    made: dict[str, Json] = {"messages": list(_messages(chat["messages"])), "inferenceConfig": limits}
    if "reasoning_effort" in chat:
        made["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    form = chat.get("response_format") or {}
    if "json_schema" in form:
        schema = json.dumps(form["json_schema"]["schema"])
        made["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": schema}}}}
    if "tools" in chat:
        made["toolConfig"] = {"tools": [_tool(tool["function"]) for tool in chat["tools"]]}
    match chat.get("tool_choice"):
        case "required":
            made["toolConfig"]["toolChoice"] = {"any": {}}
        case {"function": {"name": name}}:
            made["toolConfig"]["toolChoice"] = {"tool": {"name": name}}
    return made


def _messages(messages: list[Json]) -> Iterator[Json]:
    for message in messages:
        if message["role"] == "tool":
            result = {"toolUseId": message["tool_call_id"], "content": [{"json": json.loads(message["content"])}]}
            yield {"role": "user", "content": [{"toolResult": result}]}
            continue
        said = message.get("content") or []
        content: list[Json] = [{"text": said}] if isinstance(said, str) else [{"text": part["text"]} for part in said]
        for call in message.get("tool_calls") or ():
            used = call["function"]
            content.append(
                {"toolUse": {"toolUseId": call["id"], "name": used["name"], "input": json.loads(used["arguments"])}}
            )
        yield {"role": "assistant" if message["role"] == "assistant" else "user", "content": content}


def _tool(function: Json) -> Json:
    described = {"description": function["description"]} if "description" in function else {}
    return {"toolSpec": {"name": function["name"], **described, "inputSchema": {"json": function["parameters"]}}}


_LIMITS = {"max_tokens": "maxTokens", "stop": "stopSequences"}
