"""What the tools of a conversation were asked, and what they gave back: name, text, and the JSON in it."""

from collections.abc import Mapping

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.json import Json, parsed

ToolResult = Mapping[str, Json]  # name (None where no call has the result's id), text, json (None where it is none)


def last(call: Call) -> ToolResult | None:
    """The result that stands last in the conversation, if one does."""
    results = since_last_user(call)
    return results[-1] if results and _is_result(call.messages[-1]) else None


def since_last_user(call: Call) -> tuple[ToolResult, ...]:
    """The results since the user spoke last, in the order of the conversation."""
    return tuple(_read(call, message) for message in call.since_user if _is_result(message))


def calls_since_last_user(call: Call) -> tuple[ToolCall, ...]:
    """What the tools were asked since the user spoke last, in the order of the conversation."""
    return tuple(made for message in call.since_user for made in message.tool_calls)


def calls(call: Call) -> tuple[ToolCall, ...]:
    """What the tools were asked in the whole conversation, in its order."""
    return tuple(made for message in call.messages for made in message.tool_calls)


def _is_result(message: Message) -> bool:
    return message.role in ("tool", "function")


def _read(call: Call, result: Message) -> ToolResult:
    return {"name": _name(call, result), "text": result.text, "json": parsed(result.text)}


def _name(call: Call, result: Message) -> str | None:
    calls = (tool_call for message in reversed(call.messages) for tool_call in message.tool_calls)
    return next((made.name for made in calls if made.id == result.tool_call_id), result.name)
