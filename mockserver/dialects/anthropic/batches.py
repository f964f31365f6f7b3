"""Message batches: created, retrieved, cancelled and deleted, with their results as lines of JSON.

A mistake in one request of a batch is that request's result; the batch is refused only for mistakes outside of them.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Answer, CarriedOut, Failure, Outcome, Plan
from mockserver.core.validation import HistoryProblem, Validation
from mockserver.dialects import Operation, keep_unread
from mockserver.dialects._fields import BodyModel, Object, closed_shape, list_of, text
from mockserver.dialects._parse import read_object
from mockserver.dialects._reply import make_look_up
from mockserver.dialects.anthropic.answers import RENDERER, make_filtered_answer, make_message_options
from mockserver.dialects.anthropic.bodies import NAME, read_as_anthropic
from mockserver.dialects.anthropic.errors import make_error_body, refuse
from mockserver.dialects.anthropic.files import render_view
from mockserver.dialects.anthropic.models import find_page
from mockserver.dialects.anthropic.replay import HISTORY
from mockserver.dialects.anthropic.request import make_call, read_version
from mockserver.kinds.kept import BATCHES
from mockserver.kinds.objects import Objects, find_object
from mockserver.media.large_data import read_data
from mockserver.wire.parts import write_moment

BATCH = BodyModel(
    closed_shape(
        requests=list_of(closed_shape(custom_id=text(pattern="^[a-zA-Z0-9_-]{1,64}$"), params=Object), 1, 100_000)
    )
)
_IDS = IdShape("msgbatch_01", 22, "base58")
_DAY = 86_400  # seconds
_PATH = "/v1/messages/batches"
_RESULTS_URL = re.compile(rb'("results_url"\s*:\s*")[^"]*/v1/messages/batches(/[^"]*")')
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")


def make_operations() -> tuple[Operation, ...]:
    one = _PATH + "/{id}"
    created = Operation(
        BATCHES.made_by,
        "POST",
        _PATH,
        parse=_parse,
        render=render_view,
        own_urls=_replace_urls,
        history=_check_histories,
    )
    look_up = partial(make_look_up, NAME, render=render_view)
    return (
        created,
        look_up("batches", "GET", _PATH, work=_list, own_urls=_replace_urls),
        look_up("batch", "GET", one, work=_show, own_urls=_replace_urls),
        look_up("delete_batch", "DELETE", one, work=_delete),
        look_up("cancel_batch", "POST", f"{one}/cancel", work=_cancel, own_urls=_replace_urls),
        look_up("batch_results", "GET", f"{one}/results", work=_show_results),
    )


def _parse(http: HttpRequest, validation: Validation) -> Call:
    read_version(http, validation=validation)
    body = read_as_anthropic(BATCH, read_object(http), validation=validation)
    named = Counter(request["custom_id"] for request in body["requests"])
    twice = next((name for name, count in named.items() if count > 1), None)
    if twice is not None and validation is not Validation.OFF:
        raise refuse(f"requests: custom_id must be unique; found duplicate custom_id: {twice}")
    asked = tuple([_parse_request(http, request, validation=validation) for request in body["requests"]])
    remarks = (remark for call in asked if isinstance(call, Call) for remark in call.remarks)
    unique = tuple(dict.fromkeys(remarks))
    return Call(
        NAME, BATCHES.made_by, model="", http=http, meaning=body, raw=body, batch=asked, remarks=unique, work=_create
    )


def _parse_request(http: HttpRequest, request: Mapping[str, Json], *, validation: Validation) -> Call | Failure:
    """Return the call that a request of a batch would be by itself, or why it is refused."""
    params = request["params"]
    http = replace(http, path=http.path.removesuffix("/batches"), body=to_json(params))
    try:
        if params.get("stream") and validation is not Validation.OFF:
            raise refuse("stream: Extra inputs are not permitted")
        call = replace(make_call(http, params, validation=validation), custom_id=request["custom_id"])
        return keep_unread(call, params) if validation is Validation.OFF else call
    except Failure as failure:
        return failure


def _check_histories(call: Call, validation: Validation) -> list[HistoryProblem]:
    return [
        replace(problem, part=part, place=f"requests.{part}.params.{problem.place}")
        for part, asked in enumerate(call.batch)
        if isinstance(asked, Call)
        for problem in HISTORY(asked, validation)
    ]


async def _create(call: Call, objects: Objects) -> ObjectView:
    """Answer all requests, and keep their results for when the batch is looked up: the first time, it has ended."""
    objects.refuse_statuses()
    batch = objects.derive_id(_IDS)
    lines = list[bytes]()
    counts = Counter[str]()
    for number, (request, asked) in enumerate(zip(call.raw["requests"], call.batch, strict=True), 1):
        part_of = f"request {number} of {batch}"
        if isinstance(asked, Call):
            plan = await objects.answer(asked)
            part_of += f", custom_id {json.dumps(asked.custom_id)}"
            objects.note(CarriedOut(asked.http, asked, plan, part_of=part_of))
            result = _render_result(asked, plan.outcome)
        else:
            assert isinstance(asked, Failure)  # the parser gives a call or a Failure
            objects.note(CarriedOut(replace(call.http, body=b""), None, Plan(asked, "invalid"), part_of=part_of))
            result = _render_result(call, asked)
        lines.append(_write_line(request["custom_id"], result))
        counts[result["type"]] += 1
        await asyncio.sleep(0)  # let other requests run
    kept = KeptObject(
        dialect=NAME,
        made_by=BATCHES.made_by,
        id=batch,
        body={"created": objects.now, "counts": counts},
        data=b"".join(lines),
    ).begin(("in_progress", "ended"))
    await objects.keep(kept)
    return ObjectView(_describe(call, kept))


def _render_result(call: Call, outcome: Outcome) -> dict[str, Json]:
    """Return the result of a request of a batch; `call` is that of the batch if the request was refused."""
    if isinstance(outcome, Failure):
        outcome = make_filtered_answer(outcome, call) or outcome
    if isinstance(outcome, Answer):
        options = make_message_options(call)
        batched = replace(options, usage={**options.usage, "service_tier": "batch"})
        return {"type": "succeeded", "message": RENDERER.render_body(outcome, batched)}
    failure = outcome if isinstance(outcome, Failure) else Failure("server_error")
    return {"type": "errored", "error": make_error_body(call.http, failure, call if call.messages else None).body}


def _write_line(custom_id: str, result: Mapping[str, Json]) -> bytes:
    return to_json({"custom_id": custom_id, "result": result}) + b"\n"


async def _find(call: Call, objects: Objects) -> KeptObject:
    """Return the batch that a call names; one that nobody made has ended, without requests. Raises Failure."""
    body = {"created": objects.now, "counts": {}, "status": "ended"}
    invented = KeptObject(NAME, BATCHES.made_by, id=call.id, body=body)
    return await find_object(objects, BATCHES.made_by, call.id, invented=invented)


def _describe(call: Call, kept: KeptObject) -> dict[str, Json]:
    """Return a batch as clients see it."""
    created = write_moment(kept.body["created"])
    is_cancelled = kept.status == "canceled"
    status = "ended" if is_cancelled else kept.status
    if is_cancelled and call.operation == "cancel_batch":
        status = "canceling"
    has_ended = status == "ended"
    counts = kept.body["counts"] if has_ended else {"processing": sum(kept.body["counts"].values())}
    return {
        "id": kept.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": {name: counts.get(name, 0) for name in _COUNTS},
        "created_at": created,
        "expires_at": write_moment(kept.body["created"] + _DAY),
        "ended_at": created if has_ended else None,
        "archived_at": None,
        "cancel_initiated_at": created if is_cancelled else None,
        "results_url": f"{_find_base_url(call.http)}/{kept.id}/results" if has_ended else None,
    }


def _find_base_url(http: HttpRequest) -> str:
    """Return the URL of the batches, as the client reached them."""
    return http.server_url + http.path.partition(_PATH)[0] + _PATH


def _replace_urls(http: HttpRequest, body: bytes) -> bytes:
    own = _find_base_url(http).encode("utf-8", "replace")
    return _RESULTS_URL.sub(lambda found: found[1] + own + found[2], body)


async def _list(call: Call, objects: Objects) -> ObjectView:
    listed = [_describe(call, kept) for kept in reversed(await objects.list(BATCHES.made_by))]
    return ObjectView(find_page(listed, call.http))


async def _show(call: Call, objects: Objects) -> ObjectView:
    kept = (await objects.change(await _find(call, objects), KeptObject.advance)).after
    return ObjectView(_describe(call, kept))


async def _cancel(call: Call, objects: Objects) -> ObjectView:
    kept = (await objects.change(await _find(call, objects), _cancel_requests)).after
    return ObjectView(_describe(call, kept))


def _cancel_requests(kept: KeptObject) -> KeptObject:
    """Return a batch whose requests were cancelled, all of them, unless it has ended."""
    if not kept.ahead:
        return kept
    custom_ids = [json.loads(line)["custom_id"] for line in read_data(kept.data).splitlines()]
    data = b"".join([_write_line(custom_id, {"type": "canceled"}) for custom_id in custom_ids])
    return replace(kept.end("canceled").change(counts={"canceled": len(custom_ids)}), data=data)


async def _delete(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call, objects)
    if kept.ahead:
        raise refuse("The batch has not ended: cancel it first, or wait until it has.")
    await objects.change(kept, KeptObject.forget)
    return ObjectView({"id": kept.id, "type": "message_batch_deleted"})


async def _show_results(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call, objects)
    if kept.ahead:
        raise refuse("The batch has no results yet: it has not ended.")
    headers = (("content-type", "application/x-jsonl"),)
    return ObjectView(data=kept.data, headers=headers)
