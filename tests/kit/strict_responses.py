"""Holds Responses and their events against the types of the official clients, both to the letter.

The clients themselves construct without validating, so a wrong key or a missing one goes unseen by them.
"""

import json
import re
from typing import Annotated, Any

from openai._types import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.parsed_response import ParsedResponse
from openai.types.responses.response import Response
from pydantic import Field, TypeAdapter
from tzafon.types import ResponseComputerToolCall, ResponseFunctionToolCall, ResponseOutputMessage
from tzafon.types.response_create_response import ResponseCreateResponse

from tests.kit.strict import find_undeclared_keys

_RESPONSE = TypeAdapter(Response)
_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[ResponseStreamEvent, Field(discriminator="type")])
_TZAFON = TypeAdapter(ResponseCreateResponse)
_TZAFON_ITEMS: dict[str, TypeAdapter[Any]] = {
    "message": TypeAdapter(ResponseOutputMessage),
    "function_call": TypeAdapter(ResponseFunctionToolCall),
    "computer_call": TypeAdapter(ResponseComputerToolCall),
}
# Keys that the live API documents or sends, and the client's types do not know (the penalties since 2026).
_RESPONSE_KEYS = ("completed_at", "frequency_penalty", "presence_penalty", "store", "tools[].n")
_KNOWN = frozenset({"name", *_RESPONSE_KEYS, *(f"response.{key}" for key in _RESPONSE_KEYS)})


def check_response(body: bytes) -> Response:
    """The Response by the openai client's types; raises unless it is one to the letter."""
    found = _RESPONSE.validate_json(body, strict=True)
    _check_known(found, body)
    return found


def check_event(data: bytes) -> Any:
    """The same for one event of a stream; the fields of an error are in a table of their own, unlike in the types."""
    if (event := json.loads(data))["type"] == "error":
        error = event.pop("error")
        assert (set(event), set(error)) == ({"type", "sequence_number"}, {"type", "code", "message", "param"})
        data = json.dumps({**error, **event}).encode()
    found = _EVENT.validate_json(data, strict=True)
    _check_known(found, data)
    return found


def list_typed_frames(stream: bytes) -> list[bytes]:
    """The data of each frame. Raises unless the framing is exact and each frame is named by its event's type."""
    *pieces, rest = stream.split(b"\n\n")
    assert rest == b"", "the last frame has no end"
    found = [re.fullmatch(rb"event: (\S+)\ndata: (\S[^\r\n]*)", piece) for piece in pieces]
    assert None not in found, stream
    framed = [(match[1].decode(), match[2]) for match in found if match]
    assert all(json.loads(data)["type"] == event for event, data in framed)
    return [data for _, data in framed]


def check_tzafon(body: bytes) -> None:
    """Raises unless this is a response by the tzafon client's types, each item by the type of its kind."""
    found = _TZAFON.validate_json(body, strict=True)
    for item in _RESPONSE.validate_json(body, strict=True).output:
        if item.type in _TZAFON_ITEMS:
            _TZAFON_ITEMS[item.type].validate_json(item.to_json(), strict=True)
    assert found.status is not None


def accumulate_response(events: list[Any]) -> ParsedResponse[None] | None:
    """What the client's helper makes of a whole stream: the final response, or None where none was completed."""
    state: ResponseStreamState[None] = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in events:
        state.handle_event(event)
    return state._completed_response


def _check_known(found: Any, text: bytes) -> None:
    unknown = set(find_undeclared_keys(found)) - _KNOWN
    assert not unknown, f"keys that nobody documents or sends: {sorted(unknown)} in {text!r}"
