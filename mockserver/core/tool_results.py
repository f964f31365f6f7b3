"""The tool calls of a conversation and their results: name, text, and the JSON in it."""

from collections.abc import Mapping

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.json import Json, parsed

ToolResult = Mapping[str, Json]  # name (None where no call has the result's id), text, json (None for other texts)


def last(call: Call) -> ToolResult | None:
    """Return the result that ends the conversation, if one does."""
    results = since_last_user(call)
    return results[-1] if results and _is_result(call.messages[-1]) else None


def since_last_user(call: Call) -> tuple[ToolResult, ...]:
    """Return the results since the user's last message, in order."""
    return tuple(_read(call, message) for message in call.since_user if _is_result(message))


def calls_since_last_user(call: Call) -> tuple[ToolCall, ...]:
    """Return the tool calls since the user's last message, in order."""
    return tuple(made for message in call.since_user for made in message.tool_calls)


def calls(call: Call) -> tuple[ToolCall, ...]:
    """Return the tool calls of the whole conversation, in order."""
    return tuple(made for message in call.messages for made in message.tool_calls)


def _is_result(message: Message) -> bool:
    return message.role in ("tool", "function")


def _read(call: Call, result: Message) -> ToolResult:
    made = (tool_call for message in reversed(call.messages) for tool_call in message.tool_calls)
    name = next((each.name for each in made if each.id == result.tool_call_id), result.name)
    return {"name": name, "text": result.text, "json": parsed(result.text)}
