"""Conversations of each provider as the server itself leads them, and as recordings of live providers have them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.kit.local import Answered, Local, local

Json = Any
RULES = """
rules:
  - when: {last_user: weather, turn: 0}
    then: {reasoning: A look at the sky., tool_calls: [{name: look, arguments: {city: Zürich, days: 1}}]}
  - when: {last_user: both, turn: 0}
    then:
      reasoning: Two looks.
      tool_calls: [{name: look, arguments: {city: Oslo}}, {name: look, arguments: {city: Rome}}]
  - when: {last_user: twice}
    then: {parts: [{reasoning: One.}, {text: First.}, {reasoning: Two.}, {text: Second.}]}
  - then: {reasoning: That is all., text: Sunny.}
"""


@dataclass(frozen=True)
class Way:
    """How a client of one API writes a request, and sends an answer back with the results of its calls."""

    path: str
    begin: Callable[[str], dict[str, Json]]
    append: Callable[[dict[str, Json], Json], None]

    def conversation(self, server: Local, *said: str, model: str = "", **more: Json) -> dict[str, Json]:
        """The body of the request that follows these turns of the user."""
        body = self.begin(said[0]) | more
        for text in (*said[1:], "and?"):
            self.append(body, self.ask(server, body, model).json)
            self.append(body, text)
        return body

    def ask(self, server: Local, body: Json, model: str = "", **headers: str) -> Answered:
        path = self.path.format(model=model)
        named = body if "{model}" in self.path else {"model": model, **body}
        answered = server.ask(path, named, headers={"anthropic-version": "2026-10-21", **headers})
        assert answered.status == 200 or server.live.settings.replay == "error", answered.body
        return answered


def server(**settings: Json) -> Local:
    return local(RULES, **{"lint": "off", **settings})  # as some dialects do not show its reasoning


TOOL_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
RESULT = "a clear sky"


def _messages(text: str) -> dict[str, Json]:
    return {
        "max_tokens": 1000,
        "thinking": {"type": "adaptive"},
        "system": "Be brief.",
        "tools": [{"name": "look", "input_schema": TOOL_SCHEMA}],
        "messages": [{"role": "user", "content": text}],
    }


def _append_message(body: dict[str, Json], added: Json) -> None:
    if isinstance(added, str):
        last = body["messages"][-1]
        if last["role"] == "user":
            last["content"].append({"type": "text", "text": added})
        else:
            body["messages"].append({"role": "user", "content": added})
        return
    body["messages"].append({"role": "assistant", "content": added["content"]})
    used = [block["id"] for block in added["content"] if block["type"] == "tool_use"]
    if used:
        results = [{"type": "tool_result", "tool_use_id": name, "content": RESULT} for name in used]
        body["messages"].append({"role": "user", "content": results})


def _contents(text: str) -> dict[str, Json]:
    declared = [{"name": "look", "parametersJsonSchema": TOOL_SCHEMA}]
    return {"contents": [{"role": "user", "parts": [{"text": text}]}], "tools": [{"functionDeclarations": declared}]}


def _append_content(body: dict[str, Json], added: Json) -> None:
    if isinstance(added, str):
        if "functionResponse" not in body["contents"][-1]["parts"][0]:  # results go on with the same turn
            body["contents"].append({"role": "user", "parts": [{"text": added}]})
        return
    content = added["candidates"][0]["content"]
    body["contents"].append(content)
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    if calls:
        results = [{"functionResponse": {"name": call["name"], "response": {"result": RESULT}}} for call in calls]
        body["contents"].append({"role": "user", "parts": results})


def _items(text: str) -> dict[str, Json]:
    return {
        "include": ["reasoning.encrypted_content"],
        "tools": [{"type": "function", "name": "look", "parameters": TOOL_SCHEMA, "strict": False}],
        "input": [{"role": "user", "content": text}],
    }


def _append_items(body: dict[str, Json], added: Json) -> None:
    if isinstance(added, str):
        body["input"].append({"role": "user", "content": added})
        return
    body["input"] += added["output"]
    calls = [item for item in added["output"] if item["type"] == "function_call"]
    body["input"] += [{"type": "function_call_output", "call_id": each["call_id"], "output": RESULT} for each in calls]


def _chat(text: str) -> dict[str, Json]:
    function = {"name": "look", "parameters": TOOL_SCHEMA}
    return {"tools": [{"type": "function", "function": function}], "messages": [{"role": "user", "content": text}]}


def _append_chat(body: dict[str, Json], added: Json) -> None:
    if isinstance(added, str):
        body["messages"].append({"role": "user", "content": added})
        return
    message = added["choices"][0]["message"]
    body["messages"].append(message)
    for call in message.get("tool_calls") or ():
        body["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": RESULT})


MESSAGES = Way("/anthropic/v1/messages", _messages, _append_message)
GEMINI = Way("/gemini/v1beta/models/{model}:generateContent", _contents, _append_content)
RESPONSES = Way("/v1/responses", _items, _append_items)
AZURE_RESPONSES = Way("/azure-openai/openai/v1/responses", _items, _append_items)
CHAT = Way("/v1/chat/completions", _chat, _append_chat)
AZURE_CHAT = Way("/azure-openai/openai/v1/chat/completions", _chat, _append_chat)


DEEPSEEK = Way("/deepseek/chat/completions", _chat, _append_chat)
GROQ = Way("/groq/openai/v1/chat/completions", _chat, _append_chat)
CEREBRAS = Way("/cerebras/v1/chat/completions", _chat, _append_chat)


def make_message(answered: Answered) -> Json:
    """What the refusal of any of these says."""
    found = json.loads(answered.body)
    return found.get("error", found)["message"]
