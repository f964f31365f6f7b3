"""The items of a Responses input: their types, and what only the live API requires of them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.dialects._openai_api.chat_bodies import NAME_PATTERN
from mockserver.dialects._openai_api.data_urls import find_wrong_input_file, find_wrong_input_image
from mockserver.dialects._parse import Body, Complaint, clip, complain, find_unknown_keys
from mockserver.wire.responses import ITEM_KINDS


def find_item_type(item: Body) -> str:
    """Return the type of an input item; messages, which have a role, and references may lack it."""
    kind: str | None = item.get("type")
    return kind if kind is not None else "message" if "role" in item else "item_reference"


def find_misshapen_parts(index: int, item: Body) -> Iterator[Complaint]:
    """Yield ids and names that are invalid for their item, and parts that the item cannot have."""
    kind = find_item_type(item)
    yield from (Complaint("unknown", ("input", index, *path)) for path in _list_unknown_paths(kind, item))
    yield from _find_wrong_id(item.get("id"), _ID_PREFIXES.get(kind, ""), index)
    name = item.get("name")
    if kind == "function_call" and isinstance(name, str) and not re.fullmatch(NAME_PATTERN, name):
        path = ("input", index, "name")
        if name:
            yield Complaint("pattern", path, name, bound=NAME_PATTERN)
        else:
            yield Complaint("short", path, name, bound=1)
    if kind == "message":
        yield from _find_wrong_parts(item.get("content"), item.get("role"), ("input", index, "content"))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        if isinstance(output, Mapping):
            yield Complaint("type", ("input", index, "output"), output, expected=("a string", "an array of objects"))
        yield from _find_wrong_parts(output, "tool", ("input", index, "output"))


def _list_unknown_paths(kind: str, item: Body) -> Iterator[tuple[str | int, ...]]:
    """Yield where an item has what no item of its kind has; some of it is what clients add to what they received."""
    if kind in _KEYS_OF_ITEMS:
        yield from ((key,) for key in find_unknown_keys(item, _KEYS_OF_ITEMS[kind]))
    if kind == "reasoning" and "status" in item and item["status"] is None:
        yield ("status",)
    action = item.get("action") if kind == "web_search_call" else None
    if isinstance(action, Mapping) and isinstance(action.get("type"), str) and action["type"] != "search":
        yield from (("action", key) for key in action if key in _KEYS_OF_SEARCHES)
    content = item.get("content") if kind == "message" else None
    for at, part in enumerate(content if isinstance(content, list) else ()):
        if part.get("type") == "output_text" and "parsed" in part:
            yield ("content", at, "parsed")


def _find_wrong_id(name: Json, prefix: str, index: int) -> Iterator[Complaint]:
    if not isinstance(name, str):
        return
    if not _ID.fullmatch(name):
        expected = "contains letters, numbers, underscores, or dashes, but this value contained additional characters"
        yield _complain_of_id(name, expected, index)
    elif not name.startswith(prefix):
        yield _complain_of_id(name, f"begins with '{prefix}'", index)


def find_unprefixed_id(index: int, item: Body, prefix: str) -> Iterator[Complaint]:
    """Yield ids that are valid except for their prefix."""
    name = item.get("id")
    if isinstance(name, str) and _ID.fullmatch(name):
        yield from _find_wrong_id(name, prefix, index)


def _complain_of_id(name: str, expected: str, index: int) -> Complaint:
    message = f"Invalid 'input[{index}].id': '{clip(name)}'. Expected an ID that {expected}."
    return Complaint("value", ("input", index, "id"), got=name, message=message)


def find_input_texts_of_assistant(index: int, item: Body) -> Iterator[Complaint]:
    """Yield parts in an assistant message that have the type of a user's."""
    if find_item_type(item) == "message" and item.get("role") == "assistant":
        for found in _find_wrong_parts(item.get("content"), "assistant", ("input", index, "content")):
            if found.got == "input_text":
                yield found


def _find_wrong_parts(parts: Json, speaker: Json, path: tuple[str | int, ...]) -> Iterator[Complaint]:
    """Yield parts of an unknown type, or of one that this role cannot use: the path then ends at the part."""
    allowed = _OWN_PARTS.get(str(speaker), _PARTS_OF_OTHERS)
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "input_image" and isinstance(image := part.get("image_url"), Mapping):  # as in chats
            yield Complaint("type", (*path, index, "image_url"), image, expected=("an image URL",))
        if kind == "input_image":
            yield from find_wrong_input_image(part.get("image_url"), (*path, index, "image_url"))
        elif kind == "input_file":
            yield from find_wrong_input_file(part.get("file_data"), (*path, index, "file_data"))
        if not isinstance(kind, str) or kind in allowed:
            continue
        if kind not in _PARTS and speaker != "tool":
            yield Complaint("value", (*path, index, "type"), got=kind, expected=_PARTS)
        elif kind not in _RARE_PARTS or speaker == "assistant":
            yield Complaint("value", (*path, index), got=kind, expected=allowed)


def find_incomplete_items(items: Iterable[Body]) -> Iterator[Complaint]:
    """Yield the fields that items lack."""
    for index, item in enumerate(items):
        for key in _NEEDED.get(item.get("type") or "", ()):
            if item.get(key) is None:
                yield Complaint("missing", ("input", index, key))


def find_unpaired_calls(items: Sequence[Body]) -> Iterator[tuple[int, Complaint]]:
    """Yield outputs without a call, and calls without an output; references may stand for either."""
    if any(find_item_type(item) in _STAND_FOR_OTHERS for item in items):
        return
    calls = {write_text(item.get("call_id")): at for at, item in enumerate(items) if item.get("type") in _CALLS}
    asked = {write_text(item.get("call_id")) for item in items if item.get("type") in _ANSWERED_CALLS}
    outputs = {write_text(item.get("call_id")): at for at, item in enumerate(items) if item.get("type") in _OUTPUTS}
    for call_id, at in outputs.items():
        if call_id not in asked:
            kind = items[at]["type"].replace("_", " ")
            yield at, complain(f"No tool call found for {kind} with call_id {clip(call_id)}.", "input")
    for call_id, at in calls.items():
        if call_id not in outputs:
            kind = items[at]["type"].replace("_", " ")
            yield at, complain(f"No tool output found for {kind} {clip(call_id)}.", "input")


def find_lonely_reasoning(items: Sequence[Body]) -> Iterator[tuple[int, Complaint]]:
    """Yield reasoning, known by an id, that no item of the model follows."""
    for at, item in enumerate(items):
        name = read_id(item)
        if find_item_type(item) == "reasoning" and name and (at + 1 == len(items) or is_of_others(items[at + 1])):
            what = f"Item '{clip(name)}' of type 'reasoning'"
            yield at, complain(f"{what} was provided without its required following item.", "input")


def find_duplicates(items: Iterable[Body]) -> Iterator[tuple[int, Complaint]]:
    """Yield items with the id of an earlier one."""
    seen = set[str]()
    for at, item in enumerate(items):
        name = read_id(item)
        if name in seen:
            found = f"Duplicate item found with id {clip(name)}."
            yield at, complain(f"{found} Remove duplicate items from your input and try again.", "input")
        if name:
            seen.add(name)


def read_id(item: Body) -> str:
    """Return the id of an item; empty without one."""
    name = item.get("id")
    return name if isinstance(name, str) else ""


def is_of_others(item: Body) -> bool:
    """Return whether an item is not the model's: a message of others, or a result."""
    kind = find_item_type(item)
    return item.get("role") != "assistant" if kind == "message" else kind.endswith("_output")


def write_text(value: Json) -> str:
    """Return a text unchanged, None as an empty text, and any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else to_json(value).decode()


_KEYS_OF_CALLS = frozenset({"type", "id", "call_id", "name", "namespace", "caller", "agent", "async"})
# The keys of items by their kind, those that beta clients send included.
_KEYS_OF_ITEMS: Mapping[str, frozenset[str]] = {
    "message": frozenset({"type", "id", "role", "content", "status", "phase", "agent"}),
    "function_call": _KEYS_OF_CALLS | {"arguments", "status"},
    "function_call_output": _KEYS_OF_CALLS - {"async"} | {"output", "status"},
    "custom_tool_call": _KEYS_OF_CALLS | {"input", "status"},
    "reasoning": frozenset({"type", "id", "summary", "content", "encrypted_content", "status", "agent"}),
}
_KEYS_OF_SEARCHES = frozenset({"query", "queries", "sources"})
_PARTS_OF_OTHERS = ("input_text", "input_image", "input_audio", "input_file")
_OWN_PARTS: Mapping[str, tuple[str, ...]] = {
    "assistant": ("output_text", "refusal"),
    "tool": ("input_text", "input_image", "input_file", "scoped_content"),
}
_RARE_PARTS = frozenset({"computer_screenshot", "encrypted_content"})
_PARTS = (
    "input_text", "input_image", "input_audio", "output_text", "refusal", "input_file", "computer_screenshot",
    "summary_text", "encrypted_content",
)  # fmt: skip

# How the ids of items begin; those of what clients add (results, references) may begin in any way.
INPUT_PREFIXES: Mapping[str, str] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "computer_call_output": "cuo",
}
_ID_PREFIXES: Mapping[str, str] = {
    kind: prefix
    for kind, prefix in {**INPUT_PREFIXES, **{name: kind.prefix for name, kind in ITEM_KINDS.items()}}.items()
    if not kind.endswith("_output")
}
_ID = re.compile(r"[a-zA-Z0-9_-]+")
# Calls that need their outputs.
_CALLS = ("function_call", "custom_tool_call", "computer_call", "shell_call", "apply_patch_call")
_OUTPUTS = frozenset(f"{kind}_output" for kind in _CALLS)
_ANSWERED_CALLS = (*_CALLS, "tool_search_call")  # calls that may have an output
_STAND_FOR_OTHERS = ("item_reference", "compaction", "context_compaction")
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
