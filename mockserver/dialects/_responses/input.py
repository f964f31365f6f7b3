"""The input of a Responses request as messages: each item kind becomes what it means in a conversation.

All that the model says and does between two messages of others becomes one assistant message. Items may hold anything:
a value of an unexpected type is ignored.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_core import to_json

from mockserver.core.call import CLIENT_RUN_TOOLS, Message, ToolCall
from mockserver.core.json import Json
from mockserver.dialects._chat.request import NOT_FINGERPRINTED, schema_as_text, with_ordinals

Body = Mapping[str, Json]


def input_messages(given: Json) -> tuple[Message, ...]:
    """The conversation that an `input` holds: a text is what the user says."""
    if given is None:
        return ()
    return (Message("user", given),) if isinstance(given, str) else tuple(_turns(given))


def _turns(items: Iterable[Body]) -> Iterator[Message]:
    turn = _Turn()
    for item in items:
        if _is_of_model(item):
            turn.take(item)
            continue
        yield from turn.message()
        turn = _Turn()
        yield from _other_messages(item)
    yield from turn.message()


def item_type(item: Body) -> str:
    """The type of an input item; one without is a message, or refers to an item that the provider keeps."""
    kind: str | None = item.get("type")
    return kind if kind is not None else "message" if "role" in item else "item_reference"


def _is_of_model(item: Body) -> bool:
    """Whether the model said or did this: all but messages of others, results, and requests to the provider."""
    kind = item_type(item)
    if kind == "message":
        role: str = item["role"]
        return role == "assistant"
    return kind not in _REQUESTS and not _is_tool_result(kind)


def _is_tool_result(kind: str) -> bool:
    return kind.endswith(("_output", "_response"))


def _other_messages(item: Body) -> Iterator[Message]:
    kind = item_type(item)
    if kind == "message":
        yield message_of(item["role"], item["content"])
    elif _is_tool_result(kind):
        yield _RESULTS.get(kind, _result)(item)


def message_of(role: str, content: Json) -> Message:
    """A message of a text, or of parts in the forms of Responses."""
    if isinstance(content, str):
        return Message(role, content)
    given = content if isinstance(content, list) else ()
    parts: Sequence[Body] = [part for part in given if isinstance(part, Mapping)]
    others = tuple(_neutral(part) for part in parts if part.get("type") not in _TEXTS)
    return Message(role, "".join(map(_text, parts)), parts=others)


def _text(part: Body) -> str:
    key = _TEXTS.get(part.get("type") or "")
    return as_text(part.get(key)) if key else ""


def _neutral(part: Body) -> Body:
    """A part in the form that all dialects share: images and files as chat has them."""
    match part.get("type"):
        case "input_image" | "computer_screenshot":
            image = {"url": part.get("image_url"), "file_id": part.get("file_id"), "detail": part.get("detail")}
            return {"type": "image_url", "image_url": {key: value for key, value in image.items() if value is not None}}
        case "input_file":
            return {"type": "file", "file": {key: value for key, value in part.items() if key != "type"}}
    return part


@dataclass(slots=True)
class _Turn:
    """What the model said and did since others spoke last."""

    taken: bool = False
    texts: list[str] = field(default_factory=list)
    parts: list[Body] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)

    def take(self, item: Body) -> None:
        self.taken = True
        kind = item_type(item)
        if kind == "message":
            message = message_of("assistant", item["content"])
            self.texts.append(message.text)
            self.parts += message.parts
        elif kind in _CALLS:
            self.calls.append(_client_tool_call(kind, item))
        elif kind not in _SILENT:
            self.parts.append(item)

    def message(self) -> Iterator[Message]:
        if self.taken:
            yield Message("assistant", "\n".join(self.texts), parts=tuple(self.parts), tool_calls=tuple(self.calls))


def _client_tool_call(kind: str, item: Body) -> ToolCall:
    """A call that the client has to answer: of its own tools, or of one that works on its side."""
    name, argument = _CALLS[kind]
    tool = as_text(item.get("name")) if name is None else name
    of = {"function_call": "function", "custom_tool_call": "custom"}.get(kind, kind)
    return ToolCall(as_text(item.get("call_id") or item.get("id")), tool, as_text(item.get(argument)), kind=of)


def _result(item: Body) -> Message:
    output = item.get("output")
    if isinstance(output, list):
        message = message_of("tool", output)
        return Message("tool", message.text, parts=message.parts, tool_call_id=_of_call(item))
    return Message("tool", as_text(output), tool_call_id=_of_call(item))


def _screenshot(item: Body) -> Message:
    output = item.get("output")
    parts = (_neutral({**output, "type": "computer_screenshot"}),) if isinstance(output, Mapping) else ()
    return Message("tool", parts=parts, tool_call_id=_of_call(item))


def _shell_result(item: Body) -> Message:
    output = item.get("output")
    if not isinstance(output, list):
        return _result(item)
    written = (as_text(step.get(stream)) for step in output if isinstance(step, Mapping) for stream in _STREAMS)
    return Message("tool", "".join(written), tool_call_id=_of_call(item))


def _patch_result(item: Body) -> Message:
    return Message("tool", as_text(item.get("output") or item.get("status")), tool_call_id=_of_call(item))


def _approval(item: Body) -> Message:
    answered = {key: item[key] for key in ("approve", "reason") if item.get(key) is not None}
    return Message("tool", as_text(answered), tool_call_id=as_text(item.get("approval_request_id")))


def _of_call(item: Body) -> str:
    return as_text(item.get("call_id") or item.get("id"))


def as_text(value: Json) -> str:
    """A text as it is, nothing as the empty text, any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else to_json(value).decode()


_STREAMS = ("stdout", "stderr")
# The key that holds the text of a part.
_TEXTS: Mapping[str, str] = {
    **dict.fromkeys(("input_text", "output_text", "text", "summary_text", "reasoning_text"), "text"),
    "refusal": "refusal",
}
# Calls that the client answers: the tool's name (None: the item has it) and the key of its input.
_CALLS: Mapping[str, tuple[str | None, str]] = {
    "function_call": (None, "arguments"),
    "custom_tool_call": (None, "input"),
    **CLIENT_RUN_TOOLS,
    "mcp_approval_request": (None, "arguments"),
    "tool_search_call": ("tool_search", "arguments"),
}
# Results that are more than an `output` of text or parts.
_RESULTS: Mapping[str, Callable[[Body], Message]] = {
    "computer_call_output": _screenshot,
    "shell_call_output": _shell_result,
    "apply_patch_call_output": _patch_result,
    "mcp_approval_response": _approval,
}
# What the client asks of the provider: it says nothing to the model.
_REQUESTS = frozenset({"compaction_trigger", "additional_tools", "configuration_update"})
# What the model did that is no part of what it said.
_SILENT = frozenset({"reasoning"})


def responses_fingerprint_fields(body: Body) -> dict[str, Json]:
    """The fields that a Call's fingerprint is made of (product rules: determinism)."""
    kept = {key: value for key, value in body.items() if value is not None and key not in _BOOKKEEPING}
    if isinstance(items := kept.get("input"), list):
        ordinals: dict[str, str] = {}
        kept["input"] = [with_ordinals(item, ordinals, _IDS) for item in items]
    if tools := kept.get("tools"):
        kept["tools"] = [schema_as_text(tool, "parameters") for tool in tools]
    text = kept.get("text")
    if text and text.get("format"):
        kept["text"] = {**text, "format": schema_as_text(text["format"], "schema")}
    return kept


_IDS = ("id", "call_id", "approval_request_id")
_BOOKKEEPING = NOT_FINGERPRINTED | {
    *("background", "background_options", "previous_response_id"),
    *("request_id", "priority", "cache_salt", "enable_response_messages"),
}
