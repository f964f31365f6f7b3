"""Message batches: created, retrieved, cancelled and deleted, with their results as lines of JSON.

A mistake in one request of a batch is that request's result; the batch is refused only for mistakes outside of them.
"""

import re
from collections import Counter
from collections.abc import Mapping

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Listing, Outcome, Stored
from mockserver.core.validation import HistoryProblem, Validation
from mockserver.dialects import Operation, keep_unread
from mockserver.dialects._fields import Model, Object, closed_shape, list_of, text
from mockserver.dialects._parse import look_up, read_object
from mockserver.dialects._reply import json_reply, moment
from mockserver.dialects.anthropic.answers import RENDERER, make_filtered_answer, make_message_options
from mockserver.dialects.anthropic.bodies import NAME, read_as_anthropic
from mockserver.dialects.anthropic.errors import make_error_body, refuse, request_id_line
from mockserver.dialects.anthropic.models import find_page
from mockserver.dialects.anthropic.replay import HISTORY
from mockserver.dialects.anthropic.request import make_call, read_version

BATCH = Model(
    closed_shape(
        requests=list_of(closed_shape(custom_id=text(pattern="^[a-zA-Z0-9_-]{1,64}$"), params=Object), 1, 100_000)
    )
)
_IDS = IdShape("msgbatch_01", 22, "base58")
_DAY = 86_400
_PATH = "/v1/messages/batches"
_RESULTS_URL = re.compile(rb'("results_url"\s*:\s*")[^"]*/v1/messages/batches(/[^"]*")')
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")


def operations() -> tuple[Operation, ...]:
    one = _PATH + "/{id}"
    return (
        Operation("create_batch", "POST", _PATH, _parse, _render, own_urls=_replace_urls, history=_check_histories),
        Operation("batches", "GET", _PATH, look_up(NAME, "batches"), _render_list, own_urls=_replace_urls),
        Operation("batch", "GET", one, look_up(NAME, "batch"), _render, own_urls=_replace_urls),
        Operation("delete_batch", "DELETE", one, look_up(NAME, "delete_batch"), _render_deletion),
        Operation(
            "cancel_batch", "POST", f"{one}/cancel", look_up(NAME, "cancel_batch"), _render, own_urls=_replace_urls
        ),
        Operation("batch_results", "GET", f"{one}/results", look_up(NAME, "batch_results"), _render_results),
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
        NAME, "create_batch", model="", http=http, meaning=body, raw=body, ids=_IDS, batch=asked, remarks=unique
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


def _render(call: Call, stored: Stored) -> Reply:
    return json_reply(200, _render_batch(call, stored), request_id_line(call.http, call))


def _render_list(call: Call, outcome: Listing) -> Reply:
    listed = [_render_batch(call, stored) for stored in outcome.entries]
    return json_reply(200, find_page(listed, call.http), request_id_line(call.http, call))


def _render_batch(call: Call, stored: Stored) -> dict[str, Json]:
    answer = stored.answer
    cancelled = stored.answer.phase == "cancelled"
    status = (
        "canceling" if call.operation == "cancel_batch" and cancelled else "in_progress" if stored.polls else "ended"
    )
    kinds = Counter(_name_kind(_word_refusal(*result), cancelled=cancelled) for result in stored.results)
    counts = kinds if status == "ended" else {"processing": len(stored.results)}
    return {
        "id": answer.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": {name: counts.get(name, 0) for name in _COUNTS},
        "created_at": moment(answer.created),
        "expires_at": moment(answer.created + _DAY),
        "ended_at": moment(answer.created) if status == "ended" else None,
        "archived_at": None,
        "cancel_initiated_at": moment(answer.created) if cancelled else None,
        "results_url": f"{_find_base_url(call.http)}/{answer.id}/results" if status == "ended" else None,
    }


def _find_base_url(http: HttpRequest) -> str:
    """Return the URL of the batches, as the client reached them."""
    return http.server_url + http.path.partition(_PATH)[0] + _PATH


def _replace_urls(http: HttpRequest, body: bytes) -> bytes:
    own = _find_base_url(http).encode("utf-8", "replace")
    return _RESULTS_URL.sub(lambda found: found[1] + own + found[2], body)


def _word_refusal(call: Call, outcome: Outcome) -> Outcome:
    return (make_filtered_answer(outcome, call) if isinstance(outcome, Failure) else None) or outcome


def _name_kind(outcome: Outcome, *, cancelled: bool = False) -> str:
    return "canceled" if cancelled else "succeeded" if isinstance(outcome, Answer) else "errored"


def _render_deletion(call: Call, kept: Stored) -> Reply:
    if kept.polls:
        raise refuse("The batch has not ended: cancel it first, or wait until it has.")
    body = {"id": kept.answer.id, "type": "message_batch_deleted"}
    return json_reply(200, body, request_id_line(call.http, call))


def _render_results(call: Call, kept: Stored) -> Reply:
    if kept.polls:
        raise refuse("The batch has no results yet: it has not ended.")
    cancelled = kept.answer.phase == "cancelled"
    names = [request["custom_id"] for request in kept.call.raw.get("requests", ())]
    lines = [
        to_json({"custom_id": name, "result": _render_result(asked, result, cancelled=cancelled)}) + b"\n"
        for name, (asked, result) in zip(names, kept.results, strict=True)
    ]
    body = b"".join(lines)
    typed = (("content-type", "application/x-jsonl"), ("content-length", str(len(body))))
    return Reply(200, (*HeaderLines(request_id_line(call.http, call)), *typed), body)


def _render_result(call: Call, outcome: Outcome, *, cancelled: bool) -> dict[str, Json]:
    outcome = _word_refusal(call, outcome)
    match _name_kind(outcome, cancelled=cancelled), outcome:
        case "succeeded" as kind, Answer() as answer:
            options = make_message_options(call)
            batched = replace(options, usage={**options.usage, "service_tier": "batch"})
            return {"type": kind, "message": RENDERER.body(answer, batched)}
        case "errored" as kind, failed:
            failure = failed if isinstance(failed, Failure) else Failure("server_error")
            return {"type": kind, "error": make_error_body(call.http, failure, call if call.messages else None)[0]}
    return {"type": "canceled"}
