"""Tool calls that a conversation quotes as text."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.json import Json
from mockserver.model.arguments.described import read

_CALLING, _OBSERVED = "Calling tools:", "Observation:"


def with_quoted_calls(call: Call) -> Call:
    """Return the call, with tool calls and observations that its messages quote as calls and results."""
    if not call.tools or not any(map(_observes, call.messages)):
        return call
    return replace(call, messages=tuple(_parsed(call.messages)))


def _observes(message: Message) -> bool:
    return message.role == "user" and message.text.startswith(_OBSERVED)


def _parsed(messages: Sequence[Message]) -> Iterator[Message]:
    before: tuple[ToolCall, ...] = ()
    for message, following in zip_longest(messages, messages[1:]):
        made = _quoted(message) if following is not None and _observes(following) else ()
        if made:
            yield Message("assistant", tool_calls=made)
        elif before:
            yield Message("tool", message.text.removeprefix(_OBSERVED).strip(), tool_call_id=before[-1].id)
        else:
            yield message
        before = made


def _quoted(message: Message) -> tuple[ToolCall, ...]:
    if message.role != "assistant" or not message.text.startswith(_CALLING):
        return ()
    opening = message.text.find("[")
    found = None if opening < 0 else read(message.text, opening)
    listed = found[0] if found and isinstance(found[0], list) else []
    return tuple(made for each in listed if (made := _call(each)) is not None)


def _call(quoted: Json) -> ToolCall | None:
    function = quoted.get("function") if isinstance(quoted, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(quoted.get("id", "")), function["name"], text)
