"""Perplexity's searches (https://docs.perplexity.ai/api-reference/search-post), which proxies have, too, and its chats
that are answered later (https://docs.perplexity.ai/api-reference/async-chat-completions-post).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.config.hosts import GENERIC
from mockserver.core.call import Call, IdShape, Message, Options, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, try_parse
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._batch_parts import BatchPart, Fail, drop_form
from mockserver.dialects._fields import BodyModel, Object, integer, list_of, literal, optional, shape, text_or_list
from mockserver.dialects._parse import Body, Complaint, look_up, read_request
from mockserver.dialects._reply import make_json_reply, write_request_id
from mockserver.dialects.compatible.hosts import Host
from mockserver.dialects.compatible.request import NAME
from mockserver.kinds.kept import ASYNC_CHATS
from mockserver.kinds.objects import Objects, find_object
from mockserver.kinds.search import WebPages

MAX_QUERIES = 5  # of a search
MAX_RESULTS = 20
_USUAL_RESULTS = 10
_IDS = IdShape("", 36, "uuid")
SEARCH = BodyModel(
    shape(
        query=text_or_list(str, most=MAX_QUERIES),
        max_results=optional(integer(1, MAX_RESULTS)),
        max_tokens=optional(integer(1)),
        max_tokens_per_page=optional(integer(1)),
        country=optional(str),
        search_domain_filter=optional(list_of(str)),
        search_language_filter=optional(list_of(str)),
        search_recency_filter=optional(literal("hour", "day", "week", "month", "year")),
        search_mode=optional(literal("web", "academic", "sec")),
    )
)
ASYNC_CHAT = BodyModel(shape(request=Object, idempotency_key=optional(str)))
_STATUSES = {"queued": "CREATED", "in_progress": "IN_PROGRESS", "completed": "COMPLETED", "failed": "FAILED"}
_BROKEN = "The request failed due to an internal error."


def make_perplexity_operations(host: Host, chat: Operation, *, fail: Fail) -> tuple[Operation, ...]:
    """Return the operations on searches and later chats that the host has; `chat` answers those."""
    if host.kin not in ("perplexity", GENERIC):
        return ()

    search = Operation("search", "POST", "/search", parse=partial(_parse_search, host), render=_render_search)
    if host.kin == GENERIC:
        return (search,)
    path = "/async/chat/completions"
    one, every = ASYNC_CHATS.name, str(ASYNC_CHATS.listed_by)
    later = partial(_parse_async, host, chat, fail)
    return (
        search,
        Operation(ASYNC_CHATS.made_by, "POST", path, parse=later, render=_render_view),
        Operation(every, "GET", path, parse=look_up(NAME, every, work=_list), render=_render_view),
        Operation(one, "GET", f"{path}/{{id}}", parse=look_up(NAME, one, work=_show), render=_render_view),
    )


# Searches.


def _parse_search(host: Host, http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(SEARCH, http, refuse=host.errors.refuse, validation=validation)
    asked = parsed.get("query") or ""
    queries = [asked] if isinstance(asked, str) else asked[:MAX_QUERIES] or [""]
    if validation is not Validation.OFF and not all(queries):
        raise host.errors.refuse(Complaint("missing", ("query",)))
    domains = [name for name in parsed.get("search_domain_filter") or () if not name.startswith("-")]
    return Call(
        dialect=NAME,
        operation="search",
        model="",
        http=http,
        meaning=body,
        raw=body,
        messages=tuple([Message("user", query) for query in queries]),
        prompts=tuple(map(Prompt, queries)),
        documents=tuple(domains),
        options=Options(top_documents=parsed.get("max_results") or _USUAL_RESULTS),
        ids=_IDS,
    )


def _render_search(call: Call, outcome: WebPages) -> Reply:
    results = [
        {"title": page.title, "url": page.url, "snippet": page.text, "date": page.date, "last_updated": page.date}
        for page in outcome.pages
    ]
    body: dict[str, Json] = {"id": outcome.id, "results": results, "server_time": None}
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


# Chats that are answered later.


def _parse_async(host: Host, chat: Operation, fail: Fail, http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(ASYNC_CHAT, http, refuse=host.errors.refuse, validation=validation)
    asked: Body = {key: value for key, value in (parsed.get("request") or {}).items() if key != "stream"}
    part = BatchPart(
        http=replace(
            drop_form(http),
            path=http.path.replace("/async/", "/"),
            body=to_json(asked),
            headers=(*drop_form(http).headers, (b"content-type", b"application/json")),
        ),
        operation=chat,
        custom_id=str(parsed.get("idempotency_key") or ""),
        part_of="the asynchronous chat",
        place="the asynchronous chat",
        validation=validation,
    )
    inner = chat.read_call(part.http, validation)  # a chat that is wrong is refused at once
    call = Call(NAME, ASYNC_CHATS.made_by, model=inner.model, http=http, meaning=body, raw=body)
    return replace(call, messages=inner.messages, work=partial(_create, part, fail))


async def _create(part: BatchPart, fail: Fail, call: Call, objects: Objects) -> ObjectView:
    """Answer the chat, and keep it in the first of its statuses."""
    name = objects.draw_id(_IDS)
    done = await replace(part, part_of=f"asynchronous chat {name}").answer(fail, objects)
    assert done.reply is not None  # a request gets one
    answer = try_parse(done.reply.body.decode("utf-8", "replace"))
    error: Any = None
    if done.reply.status != 200:
        stated: Any = answer.get("error") if isinstance(answer, Mapping) else None
        error = stated.get("message") if isinstance(stated, Mapping) else _BROKEN
    last = "completed" if error is None else "failed"
    kept = KeptObject(
        NAME,
        ASYNC_CHATS.made_by,
        id=name,
        body={"created_at": objects.now, "model": call.model, "response": answer, "error": error},
    ).begin(objects.statuses or ("queued", "in_progress", last))
    await objects.keep(kept)
    return ObjectView(_describe(kept))


def _describe(kept: KeptObject) -> Body:
    body = kept.body
    created = body["created_at"]
    status = kept.status
    return {
        "id": kept.id,
        "model": body["model"],
        "created_at": created,
        "started_at": None if status == "queued" else created,
        "completed_at": created if status == "completed" else None,
        "failed_at": created if status == "failed" else None,
        "response": body["response"] if status == "completed" else None,
        "error_message": (body["error"] or _BROKEN) if status == "failed" else None,
        "status": _STATUSES.get(status, status.upper()),
    }


async def _show(call: Call, objects: Objects) -> ObjectView:
    body: Body = {"created_at": objects.now, "model": "sonar", "response": None, "error": None, "status": "completed"}
    invented = KeptObject(NAME, ASYNC_CHATS.made_by, id=call.id, body=body)
    found = await find_object(objects, ASYNC_CHATS.made_by, call.id, invented=invented)
    now = (await objects.change(found, KeptObject.advance)).after
    return ObjectView(_describe(now))


async def _list(call: Call, objects: Objects) -> ObjectView:
    found = (await objects.list(ASYNC_CHATS.made_by))[::-1]  # the newest first
    shown = [{key: value for key, value in _describe(each).items() if key != "response"} for each in found]
    return ObjectView({"next_token": None, "requests": shown})


def _render_view(call: Call, view: ObjectView) -> Reply:
    return make_json_reply(200, view.body, lines=write_request_id(call.http, call), headers=view.headers)
