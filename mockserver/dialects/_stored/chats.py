"""Stored chat completions, as OpenAI tells them (`wire/openai.md` section 1): listed, retrieved, updated, deleted.

What is on the wire is made of the request that the client sent then; who keeps it is not this module's concern.
"""

from collections.abc import Callable, Iterator, Mapping

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from mockserver.core.call import Call, Json
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.page import FIRST_PAGE
from mockserver.core.plan import Answer, Listing, Stored, Success
from mockserver.dialects import Operation
from mockserver.dialects._chat.models import Metadata
from mockserver.dialects._shared.parse import read_object, validated
from mockserver.dialects._shared.reply import json_reply
from mockserver.dialects._stored.pages import Refuse, listing, page, pairs

Shown = Callable[[Call], Headers]
Body = Callable[[Call, Answer], Mapping[str, Json]]


class Update(TypedDict):
    """The body that changes a stored completion."""

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore", defer_build=True)  # type: ignore[misc]

    metadata: Metadata | None


UPDATE = TypeAdapter(Update)


def stored_chats(dialect: str, body: Body, headers: Shown, refuse: Refuse) -> tuple[Operation, ...]:
    """The operations on stored completions of a dialect, whose answers carry its own headers.

    `body` puts an answer into the object in which the call got it.
    """

    def found(name: str) -> Callable[[HttpRequest, bool], Call]:
        def parse(http: HttpRequest, strict: bool) -> Call:
            wanted = http.path_params.get("completion_id", "")
            paged = page(http, refuse, order="asc") if name == "chat_messages" else FIRST_PAGE
            return Call(dialect, name, "", http, {"id": wanted}, id=wanted, page=paged)

        return parse

    def parse_list(http: HttpRequest, strict: bool) -> Call:
        model, metadata = http.query.get("model", ""), pairs(http, "metadata")
        return Call(
            dialect, "stored_chats", model, http, {}, raw={"metadata": metadata}, page=page(http, refuse, order="asc")
        )

    def parse_update(http: HttpRequest, strict: bool) -> Call:
        body = read_object(http)
        validated(UPDATE, body, refuse)
        wanted = http.path_params.get("completion_id", "")
        return Call(dialect, "update_chat", "", http, {"id": wanted}, raw=body, id=wanted)

    def render(call: Call, outcome: Success) -> Reply:
        return json_reply(200, _told(call, outcome, body), headers(call))

    one = "/chat/completions/{completion_id}"
    return (
        Operation("stored_chats", "GET", "/chat/completions", parse_list, render),
        Operation("stored_chat", "GET", one, found("stored_chat"), render),
        Operation("update_chat", "POST", one, parse_update, render),
        Operation("delete_chat", "DELETE", one, found("delete_chat"), render),
        Operation("chat_messages", "GET", f"{one}/messages", found("chat_messages"), render),
    )


def _told(call: Call, outcome: Success, body: Body) -> dict[str, Json]:
    if isinstance(outcome, Listing):
        return listing((_completion(each, body) for each in outcome.entries), more=outcome.more)
    assert isinstance(outcome, Stored)  # noqa: S101  # the engine answers an operation in its own kind
    if call.operation == "delete_chat":
        return {"object": "chat.completion.deleted", "id": outcome.answer.id, "deleted": True}
    if call.operation == "chat_messages":
        shown, more = call.page.of(tuple(_messages(outcome)), lambda message: message["id"])
        return listing(shown, more=more)
    return _completion(outcome, body)


def _completion(stored: Stored, body: Body) -> dict[str, Json]:
    """The completion as it was given, and what was asked for it."""
    asked = stored.call.raw
    repeated = {key: asked.get(key, default) for key, default in _ASKED.items()}
    own = {"metadata": asked.get("metadata") or {}, "request_id": f"req_{stored.call.fingerprint}"}
    return {**body(stored.call, stored.answer), **own, "input_user": asked.get("user"), **repeated}


def _messages(stored: Stored) -> Iterator[Mapping[str, Json]]:
    """The messages that were sent, each with an id of its own."""
    for number, message in enumerate(stored.call.raw.get("messages") or ()):
        content = message.get("content")
        parts = content if isinstance(content, list) else None
        kept = {key: value for key, value in message.items() if key not in ("role", "content", "name")}
        yield {
            "id": f"{stored.answer.id}-{number}",
            "role": message["role"],
            "content": content if parts is None else None,
            "name": message.get("name"),
            "content_parts": parts,
            **kept,
        }


_ASKED: Mapping[str, Json] = {
    "tool_choice": None,
    "tools": None,
    "seed": None,
    "temperature": 1.0,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "response_format": None,
}
