"""Calls as values, without a dialect or a request on the wire."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import fields

from mockserver.core.call import Call, Message, Options, Tool, ToolCall
from mockserver.core.http import HttpRequest


@dataclass(frozen=True)
class Web:
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "default"


def call(*said: str | Message, tools: Sequence[str] = (), web: Web | None = None, **more: Any) -> Call:
    web = web or Web()
    headers = tuple((name.lower().encode(), value.encode("latin-1")) for name, value in web.headers.items())
    request = HttpRequest("POST", "/chat/completions", query=web.query, headers=headers, namespace=web.namespace)
    messages = tuple(Message("user", text) if isinstance(text, str) else text for text in said)
    offered = tuple(Tool(name) for name in tools)
    common = {"dialect": "openai", "operation": "chat", "model": "gpt-4o", "http": request, "meaning": None}
    return Call(**{**common, "messages": messages, "tools": offered, **pack_options(more)})


_OPTIONS = frozenset(each.name for each in fields(Options))


def pack_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a call, those of its options among them, as arguments of Call."""
    options = {name: value for name, value in given.items() if name in _OPTIONS}
    rest = {name: value for name, value in given.items() if name not in _OPTIONS}
    return {**rest, "options": Options(**options)} if options else rest


def tool_result(result: str, *, name: str = "get_weather") -> tuple[Message, ...]:
    asked = Message("assistant", tool_calls=(ToolCall("call_1", name, "{}"),))
    return Message("user", "weather?"), asked, Message("tool", result, tool_call_id="call_1")
