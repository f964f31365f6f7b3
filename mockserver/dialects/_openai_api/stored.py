"""Stored chats and responses, as OpenAI and its look-alikes return them."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Page, compute_fingerprint
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.lazy import map_lazily
from mockserver.core.plan import Answer, Failure, Item, Listing, Stored, Text
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, nullable, shape
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.input_items import INPUT_PREFIXES, find_item_type
from mockserver.dialects._openai_api.responses import make_error_event, make_responses_reply
from mockserver.dialects._parse import (
    Body,
    Complaint,
    Parse,
    Refuse,
    clip,
    complain,
    look_up,
    read_body,
    read_object,
)
from mockserver.dialects._reply import RequestLines, make_json_reply, prepend_lines
from mockserver.wire.response_events import ResponseRenderer
from mockserver.wire.responses import ResponseOptions, find_item_kind, make_hosted_tool_item, make_response_usage

ORDERS = ("asc", "desc")
_METADATA = re.compile(r"metadata\[(.*)\]", re.DOTALL)  # in a query: metadata[topic]=trains
MAX_PAGE_SIZE = 100  # entries of a page


def read_page(http: HttpRequest, refuse: Refuse, *, order: str) -> Page:
    """Return the page of a list that a query asks for, in this `order` (asc, desc) unless it states one.

    Raises the Failure of its first mistake.
    """
    requested = http.query.get("order", order)
    if requested not in ORDERS:
        raise refuse(Complaint("value", ("order",), got=requested, expected=ORDERS))
    limit = read_integer_parameter(http, "limit", refuse)
    if limit is not None and limit > MAX_PAGE_SIZE:
        raise refuse(Complaint("above", ("limit",), got=limit, bound=MAX_PAGE_SIZE))
    return Page(http.query.get("after"), limit or 20, backwards=requested == "desc")


def read_integer_parameter(http: HttpRequest, name: str, refuse: Refuse, *, least: int = 0) -> int | None:
    """Return a whole number in a query; None if it is missing. Raises Failure for one that is less than `least`."""
    text = http.query.get(name)
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        raise refuse(Complaint("type", (name,), got=text, expected=("an integer",))) from None
    if number < least:
        raise refuse(Complaint("below", (name,), got=number, bound=least))
    return number


def make_list_body(entries: Iterable[Body], *, more: bool) -> dict[str, Json]:
    """Return a page of a list as a body; `more` says whether others follow."""
    shown = entries if isinstance(entries, Sequence) else list(entries)
    first, last = (shown[0]["id"], shown[-1]["id"]) if shown else (None, None)
    return {"object": "list", "data": shown, "first_id": first, "last_id": last, "has_more": more}


Render = Callable[[Call, Answer], Body]  # the answer, as it was sent
UPDATE = BodyModel(shape(metadata=nullable(Metadata)))


def make_stored_chat_operations(
    dialect: str, *, completion: Render, lines: RequestLines, refuse: Refuse
) -> tuple[Operation, ...]:
    """Return the operations of a dialect on stored chats, which `completion` renders as they were sent at first."""

    def parse_list(http: HttpRequest, validation: Validation) -> Call:
        model = http.query.get("model", "")
        page = read_page(http, refuse, order="asc")
        found = ((_METADATA.fullmatch(name), value) for name, value in http.query.items())
        metadata = {match[1]: value for match, value in found if match}
        return Call(dialect, "stored_chats", model=model, http=http, meaning={}, raw={"metadata": metadata}, page=page)

    def parse_one(operation: str) -> Parse:
        return look_up(dialect, operation, name="completion_id")

    def parse_update(http: HttpRequest, validation: Validation) -> Call:
        update = read_object(http)
        read_body(UPDATE, update, refuse=refuse)
        return replace(parse_one("update_chat")(http, validation), raw=update)

    def parse_messages(http: HttpRequest, validation: Validation) -> Call:
        page = read_page(http, refuse, order="asc")
        return replace(parse_one("chat_messages")(http, validation), page=page)

    def render(call: Call, outcome: Stored | Listing) -> Reply:
        return make_json_reply(200, _show_stored_chat(call, outcome, completion), lines=lines(call.http, call))

    one = "/chat/completions/{completion_id}"
    return (
        Operation("stored_chats", "GET", "/chat/completions", parse=parse_list, render=render),
        Operation("stored_chat", "GET", one, parse=parse_one("stored_chat"), render=render),
        Operation("update_chat", "POST", one, parse=parse_update, render=render),
        Operation("delete_chat", "DELETE", one, parse=parse_one("delete_chat"), render=render),
        Operation("chat_messages", "GET", f"{one}/messages", parse=parse_messages, render=render),
    )


def _show_stored_chat(call: Call, outcome: Stored | Listing, completion: Render) -> dict[str, Json]:
    if isinstance(outcome, Listing):
        return make_list_body(
            map_lazily(lambda each: _render_completion(each, completion), outcome.entries, few=0), more=outcome.more
        )
    if call.operation == "delete_chat":
        return {"object": "chat.completion.deleted", "id": outcome.answer.id, "deleted": True}
    if call.operation == "chat_messages":
        shown, more = call.page.select(tuple(_list_messages(outcome)), lambda message: message["id"])
        return make_list_body(shown, more=more)
    return _render_completion(outcome, completion)


def _render_completion(stored: Stored, completion: Render) -> dict[str, Json]:
    requested = stored.call.raw
    repeated = {key: requested.get(key, default) for key, default in _REQUEST_DEFAULTS.items()}
    own = {"metadata": requested.get("metadata") or {}, "request_id": f"req_{stored.call.fingerprint}"}
    return {**completion(stored.call, stored.answer), **own, "input_user": requested.get("user"), **repeated}


def _list_messages(stored: Stored) -> Iterator[Mapping[str, Json]]:
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


_REQUEST_DEFAULTS: Mapping[str, Json] = {
    "tool_choice": None,
    "tools": None,
    "seed": None,
    "temperature": 1.0,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "response_format": None,
}


class StoredResponses(Struct, frozen=True):
    """The operations of a dialect on stored responses.

    `parse_input` parses a body whose input is counted or compacted, without creating a response. If `is_final`, a
    finished response cannot be cancelled (otherwise it is returned unchanged), and only one that was streamed in the
    background can be streamed again.
    """

    dialect: str
    refuse: Refuse
    renderer: ResponseRenderer
    lines: RequestLines
    parse_input: Callable[[HttpRequest, Validation], Call]
    is_final: bool = False

    def make_operations(self) -> tuple[Operation, ...]:
        """Return the operations that count and compact an input, and those on responses by their ids."""
        one = "/responses/{response_id}"
        return (
            Operation(
                "input_tokens",
                "POST",
                "/responses/input_tokens",
                parse=self._parse_count,
                render=self._show(_show_count),
            ),
            Operation(
                "compact_response",
                "POST",
                "/responses/compact",
                parse=self._parse_compact,
                render=self._render_compacted,
            ),
            Operation(
                "response", "GET", one, parse=self._parse_response, render=self._render_response, error=make_error_event
            ),
            Operation(
                "delete_response",
                "DELETE",
                one,
                parse=self._look_up("delete_response"),
                render=self._show(_show_deleted),
            ),
            Operation(
                "cancel_response",
                "POST",
                f"{one}/cancel",
                parse=self._look_up("cancel_response"),
                render=self._render_cancelled,
            ),
            Operation(
                "input_items", "GET", f"{one}/input_items", parse=self._parse_items, render=self._show(_show_items)
            ),
        )

    def _look_up(self, operation: str) -> Parse:
        return look_up(self.dialect, operation, name="response_id")

    def _parse_response(self, http: HttpRequest, validation: Validation) -> Call:
        read_integer_parameter(http, "starting_after", self.refuse)
        return replace(
            self._look_up("response")(http, validation), stream=http.query.get("stream", "").lower() in ("true", "1")
        )

    def _parse_items(self, http: HttpRequest, validation: Validation) -> Call:
        return replace(self._look_up("input_items")(http, validation), page=read_page(http, self.refuse, order="desc"))

    def _parse_count(self, http: HttpRequest, validation: Validation) -> Call:
        return _make_look_up(self.parse_input(http, validation), "input_tokens")

    def _parse_compact(self, http: HttpRequest, validation: Validation) -> Call:
        call = _make_look_up(self.parse_input(http, validation), "compact_response")
        if not call.model:
            raise self.refuse(Complaint("missing", ("model",)))
        return call

    def _render_response(self, call: Call, stored: Stored) -> Reply:
        asked = stored.call
        # A generated response, which has no request, may have been streamed.
        was_streamed = (asked.options.background and asked.stream) or not asked.raw
        if self.is_final and call.stream and not was_streamed:
            raise self.refuse(complain(f"Unknown response_id: {clip(call.id)}", "response_id"))
        after = read_integer_parameter(call.http, "starting_after", self.refuse)
        include = (*(asked.raw.get("include") or ()), *_read_include(call.http))
        requested = replace(asked, stream=call.stream, raw={**asked.raw, "include": include})
        lines = self.lines(call.http, call)
        after = -1 if after is None else after
        return make_responses_reply(requested, stored.answer, renderer=self.renderer, lines=lines, after=after)

    def _render_cancelled(self, call: Call, stored: Stored) -> Reply:
        if self.is_final and not stored.polls:
            raise Failure("not_cancellable")
        asked = replace(stored.call, stream=False)
        lines = self.lines(call.http, call)
        return make_responses_reply(asked, stored.answer, renderer=self.renderer, lines=lines)

    def _show(self, show: Callable[[Call, Stored], Body]) -> Callable[[Call, Stored], Reply]:
        return lambda call, stored: make_json_reply(200, show(call, stored), lines=self.lines(call.http, call))

    def _render_compacted(self, call: Call, stored: Stored) -> Reply:
        body = {
            "id": stored.answer.id,
            "object": "response.compaction",
            "created_at": stored.answer.created,
            "output": list(list_compacted_items(stored)),
            "usage": make_response_usage(stored.answer.usage),
        }
        reply = make_json_reply(200, body, headers=stored.answer.headers)
        return prepend_lines(reply, self.lines(call.http, call))


def _show_deleted(call: Call, stored: Stored) -> Body:
    return {"id": stored.answer.id, "object": "response", "deleted": True}


def _show_count(call: Call, stored: Stored) -> Body:
    return {"object": "response.input_tokens", "input_tokens": stored.answer.usage.prompt}


def _show_items(call: Call, stored: Stored) -> Body:
    shown, more = call.page.select(tuple(list_input_items(stored)), lambda item: item["id"])
    return make_list_body(shown, more=more)


def list_input_items(stored: Stored) -> Iterator[Body]:
    """Yield the input of the request as items: each has an id, and messages have parts."""
    given = stored.call.raw.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given or ()
    for number, item in enumerate(items):
        prefix = find_item_prefix(find_item_type(item))
        yield complete_item(item, f"{prefix}_{compute_fingerprint(stored.answer.id, 'input', number)}")


def find_item_prefix(kind: str) -> str:
    """Return how the ids of input items of a type begin."""
    return INPUT_PREFIXES.get(kind) or find_item_kind(kind).prefix


def complete_item(item: Body, name: str) -> dict[str, Json]:
    """Return an input item as the API lists it: messages have parts, and an item without an id is called `name`."""
    kind = find_item_type(item)
    head: dict[str, Json] = {"id": name, "type": kind}
    if kind not in _WITHOUT_STATUS:
        head["status"] = "completed"
    body = {**item, "content": _read_parts(item)} if kind == "message" else item
    return {**head, **{key: value for key, value in body.items() if value is not None}}


def list_compacted_items(stored: Stored) -> Iterator[Body]:
    """Yield what remains of a compacted conversation: the user's messages, and one item for the rest.

    A text alone has no messages that could remain.
    """
    has_messages = not isinstance(stored.call.raw.get("input"), str)
    messages = [message for message in stored.call.messages if message.role == "user" and has_messages]
    for number, message in enumerate(messages):
        name = compute_fingerprint(stored.answer.id, "said", number)
        content = [{"type": "input_text", "text": message.text}]
        yield {"id": f"msg_{name}", "type": "message", "status": "completed", "role": "user", "content": content}
    parts = stored.answer.choices[0].parts
    rest = "".join(part.text for part in parts if isinstance(part, Text))
    sealed = b64encode(rest.encode("utf-8", "replace")).decode()
    yield make_hosted_tool_item(
        Item("compaction", {"encrypted_content": sealed}),
        ResponseOptions(),
        compute_fingerprint(stored.answer.id, len(messages)),
    )


def _make_look_up(call: Call, operation: str) -> Call:
    return replace(
        call, operation=operation, stream=False, options=replace(call.options, store=False, background=False)
    )


def _read_include(http: HttpRequest) -> Iterator[str]:
    """Yield what a query asks to include, as clients write lists: with brackets, indices or commas."""
    for key, value in http.query.items():
        if key.partition("[")[0] == "include":
            yield from value.split(",")


def _read_parts(item: Body) -> Json:
    content = item.get("content")
    if not isinstance(content, str):
        return content
    if item["role"] == "assistant":
        return [{"type": "output_text", "text": content, "annotations": [], "logprobs": []}]
    return [{"type": "input_text", "text": content}]


_WITHOUT_STATUS = frozenset({"reasoning", "item_reference", "compaction", "mcp_list_tools", "mcp_approval_response"})
