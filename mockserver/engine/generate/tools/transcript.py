"""Conversations that hold calls and their results as text, as some agents write them, told as calls and results.

Such an agent quotes what it called in the assistant's message, `Calling tools: [...]`, and what came of it in the next
one of the user, `Observation: ...`. Knows messages, not what is made of them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from mockserver.core.call import Call, Json, Message, ToolCall
from mockserver.engine.generate.described.notation import read

_CALLING, _OBSERVED = "Calling tools:", "Observation:"


def retold(call: Call) -> Call:
    """The call, with quoted tool calls and observations of its conversation as what they are."""
    if not call.tools or not any(map(_observes, call.messages)):
        return call
    return replace(call, messages=tuple(_retold(call.messages)))


def _observes(message: Message) -> bool:
    return message.role == "user" and message.text.startswith(_OBSERVED)


def _retold(messages: Sequence[Message]) -> Iterator[Message]:
    before: tuple[ToolCall, ...] = ()
    for message, behind in zip_longest(messages, messages[1:]):
        made = _quoted(message) if behind is not None and _observes(behind) else ()
        if made:
            yield Message("assistant", tool_calls=made)
        elif before:
            yield Message("tool", message.text.removeprefix(_OBSERVED).strip(), tool_call_id=before[-1].id)
        else:
            yield message
        before = made


def _quoted(message: Message) -> tuple[ToolCall, ...]:
    """The calls that a message of the assistant quotes."""
    if message.role != "assistant" or not message.text.startswith(_CALLING):
        return ()
    opening = message.text.find("[")
    found = None if opening < 0 else read(message.text, opening)
    listed = found[0] if found and isinstance(found[0], list) else []
    return tuple(made for each in listed if (made := _call(each)) is not None)


def _call(quoted: Json) -> ToolCall | None:
    """One quoted call; None where it is none."""
    function = quoted.get("function") if isinstance(quoted, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(quoted.get("id", "")), function["name"], text)
