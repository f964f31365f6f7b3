"""The events of clients, field by field, and the items that they contain."""

from collections.abc import Mapping
from typing import Any

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.text import truncate
from mockserver.core.validation import Validation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import (
    BodyModel,
    closed_shape,
    integer,
    list_of,
    literal,
    open_shape,
    optional,
    tag_union,
    text,
)
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.realtime.sessions import OUTPUT, RESPONSE_FIELDS, SESSION
from mockserver.dialects._parse import Body, read_body

_ID = optional(text(1, 32))
_STATUS = {"status": optional(literal("completed", "incomplete", "in_progress")), "object": optional(str)}
_CONTENT = {
    "system": tag_union("type", open_shape(type=literal("input_text"), text=str)),
    "user": tag_union(
        "type",
        open_shape(type=literal("input_text"), text=str),
        open_shape(type=literal("input_audio"), audio=optional(str), transcript=optional(str)),
        open_shape(type=literal("input_image"), image_url=str, detail=optional(literal("auto", "low", "high"))),
    ),
    "assistant": tag_union(
        "type",
        open_shape(type=literal("output_text"), text=str),
        open_shape(type=literal("output_audio"), audio=optional(str), transcript=optional(str)),
    ),
}
_Message = tag_union(
    "role",
    *[
        closed_shape(type=literal("message"), role=literal(role), content=list_of(part), id=_ID, **_STATUS)
        for role, part in _CONTENT.items()
    ],
)
_FUNCTION_CALL = {"name": text(1), "arguments": str, "call_id": optional(str)}
_OTHERS: Mapping[str, Any] = {
    "function_call": closed_shape(type=literal("function_call"), id=_ID, **_FUNCTION_CALL, **_STATUS),
    "function_call_output": closed_shape(
        type=literal("function_call_output"), id=_ID, call_id=str, output=str, **_STATUS
    ),
    **{
        kind: open_shape(type=literal(kind), id=_ID)
        for kind in ("mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response")
    },
}
ITEM: Any = {"type": "tagged-union", "discriminator": "type", "choices": {"message": _Message, **_OTHERS}}
_REFERENCE = closed_shape(type=literal("item_reference"), id=str)
INPUT_ITEM: Any = {**ITEM, "choices": {**ITEM["choices"], "item_reference": _REFERENCE}}
_RESPONSE = closed_shape(
    **RESPONSE_FIELDS,
    audio=optional(closed_shape(output=optional(OUTPUT))),
    conversation=optional(literal("auto", "none")),
    input=optional(list_of(INPUT_ITEM)),
    metadata=optional(Metadata),
)


def _make_event_model(**fields: Any) -> BodyModel:
    return BodyModel(closed_shape(type=str, event_id=optional(text(most=512)), **fields))


_ITEM_ID = {"item_id": str}
CLIENT_EVENTS: Mapping[str, BodyModel] = {
    "session.update": _make_event_model(session=SESSION),
    "input_audio_buffer.append": _make_event_model(audio=str),
    "input_audio_buffer.commit": _make_event_model(),
    "input_audio_buffer.clear": _make_event_model(),
    "conversation.item.create": _make_event_model(previous_item_id=optional(str), item=ITEM),
    "conversation.item.truncate": _make_event_model(**_ITEM_ID, content_index=integer(0), audio_end_ms=integer(0)),
    "conversation.item.delete": _make_event_model(**_ITEM_ID),
    "conversation.item.retrieve": _make_event_model(**_ITEM_ID),
    "response.create": _make_event_model(response=optional(_RESPONSE)),
    "response.cancel": _make_event_model(response_id=optional(str)),
}
# As the provider lists them: some belong to sessions that translate.
_LISTED = (
    "session.update", "session.close", "input_audio_buffer.append", "session.input_audio_buffer.append",
    "input_audio_buffer.commit", "input_audio_buffer.clear", "conversation.item.create",
    "conversation.item.truncate", "conversation.item.delete", "conversation.item.retrieve", "response.create",
)  # fmt: skip


def read_event(event: Json, validation: Validation) -> Body:
    """Return an event of a client, which is known and has the fields of its type. Raises Failure."""
    if not isinstance(event, dict):
        raise Failure("bad_parameter", "An event must be a JSON object.", code="invalid_event")
    kind = event.get("type")
    if kind is None:
        raise Failure("bad_parameter", "The 'type' field is missing.", code="invalid_event")
    model = CLIENT_EVENTS.get(kind) if isinstance(kind, str) else None
    if model is None:
        named = ", ".join([f"'{name}'" for name in _LISTED])
        message = f"Invalid value: {truncate(repr(kind))}. Supported values are: {named}, and 'response.cancel'."
        raise Failure("bad_parameter", message, code="invalid_value", param="type")
    parsed: Body = read_body(model, event, refuse=refuse, validation=validation).parsed
    return parsed
