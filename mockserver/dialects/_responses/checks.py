"""What no type can say about a Responses body: fields that need each other, and what only live APIs refuse."""

from collections.abc import Iterable, Iterator, Mapping

from mockserver.core.call import Json
from mockserver.dialects._responses.input import as_text
from mockserver.dialects._responses.models import RESPONSE_FIELDS
from mockserver.dialects._shared.parse import Complaint, clip, unknown_keys

Body = Mapping[str, Json]


def conflicts(body: Body) -> Iterator[Complaint]:
    """Fields that exclude or need each other (`wire/openai.md` section 6)."""
    if body.get("stream_options") is not None and not body.get("stream"):
        yield _conflict("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    if body.get("previous_response_id") is not None and body.get("conversation") is not None:
        both = "'previous_response_id' or 'conversation'"
        yield _conflict(
            "previous_response_id",
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. "
            f"Ensure you are only providing one of: {both}.",
        )
    yield from unkept_background(body)


def unkept_background(body: Body) -> Iterator[Complaint]:
    """An answer that is made in the background, but not kept for anybody to look up."""
    if body.get("background") and body.get("store") is False:
        yield _conflict("background", "Background mode requires 'store' to be true.")


def responses_live_only(body: Body) -> Iterator[Complaint]:
    """What OpenAI's live API refuses beyond its published schema."""
    for key in unknown_keys(body, RESPONSE_FIELDS):
        yield Complaint("unknown", (key,))
    if not body.get("model") and not body.get("prompt"):
        yield Complaint("missing", ("model",))
    if not any(body.get(key) for key in _SUBJECTS):
        yield _conflict("input", _NO_SUBJECT)
    yield from _impossible_choice(body)
    if isinstance(body.get("input"), list):
        yield from _incomplete_items(body["input"])
        if not body.get("previous_response_id") and not body.get("conversation"):
            yield from _strays(body["input"])


def _impossible_choice(body: Body) -> Iterator[Complaint]:
    """A tool choice that needs tools which are not offered; a stored prompt may bring some."""
    choice = body.get("tool_choice")
    if choice in (None, "none", "auto") or body.get("prompt"):
        return
    tools = body.get("tools") or ()
    if not tools:
        mode = choice if isinstance(choice, str) else choice["type"]
        yield _conflict("tool_choice", f"Tool choice '{mode}' must be specified with 'tools' parameter.")
    elif not isinstance(choice, str) and choice["type"] != "allowed_tools" and not _offers(tools, choice):
        yield _conflict("tool_choice", f"Tool choice '{clip(choice['type'])}' not found in 'tools' parameter.")


def _offers(tools: Iterable[Body], choice: Body) -> bool:
    key = "server_label" if choice["type"] == "mcp" else "name"
    return any(tool["type"] == choice["type"] and tool.get(key) == choice.get(key) for tool in tools)


def _incomplete_items(items: Iterable[Body]) -> Iterator[Complaint]:
    for index, item in enumerate(items):
        for key in _NEEDED.get(item.get("type") or "", ()):
            if item.get(key) is None:
                yield Complaint("missing", ("input", index, key))


def _strays(items: Iterable[Body]) -> Iterator[Complaint]:
    """Calls without their outputs, and outputs without their calls."""
    calls = {as_text(item.get("call_id")): item["type"] for item in items if item.get("type") in _OUTPUTS}
    outputs = {as_text(item.get("call_id")): item["type"] for item in items if item.get("type") in _OUTPUTS.values()}
    for call_id, kind in outputs.items():
        if call_id not in calls:
            words = f"No tool call found for {kind.replace('_', ' ')} with call_id {clip(call_id)}."
            yield _conflict("input", words)
    for call_id, kind in calls.items():
        if call_id not in outputs:
            yield _conflict("input", f"No tool output found for {kind.replace('_', ' ')} {clip(call_id)}.")


def _conflict(field: str, message: str) -> Complaint:
    return Complaint("conflict", (field,), message=message)


_SUBJECTS = ("input", "prompt", "previous_response_id", "conversation")
_NO_SUBJECT = "Missing required parameter: provide one of 'input', 'prompt', 'previous_response_id' or 'conversation'."
_OUTPUTS: Mapping[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id", "output"),
    "computer_call": ("call_id",),
    "computer_call_output": ("call_id", "output"),
    "shell_call_output": ("call_id", "output"),
    "apply_patch_call_output": ("call_id", "status"),
    "mcp_approval_response": ("approval_request_id", "approve"),
    "item_reference": ("id",),
}
