"""Batches of requests, in the body or in a file (https://ai.google.dev/gemini-api/docs/batch-api).

Each request is answered like a call of its own; its result is in the batch, or in a file as lines of JSON.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, find_table, try_parse
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._batch_parts import BatchPart, Fail, drop_form
from mockserver.dialects._openai_api.objects.files import read_rows
from mockserver.dialects._parse import Body
from mockserver.dialects._reply import make_look_up
from mockserver.dialects.gemini.bodies import BATCH
from mockserver.dialects.gemini.files import find_file, keep_file, render_view, write_hash
from mockserver.dialects.gemini.models import USUAL_PARAMS, find_page
from mockserver.dialects.gemini.request import NAME, find_model, make_renamer, read
from mockserver.kinds.kept import BATCHES
from mockserver.kinds.objects import Objects, find_object
from mockserver.wire.parts import write_moment

IDS = IdShape("batches/", 36, "hex")
MAX_REQUESTS = 50_000
_PATH = "/{version:version}/batches"
_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch"
STATES = {
    "validating": "PENDING",
    **dict.fromkeys(("in_progress", "finalizing", "cancelling"), "RUNNING"),
    "completed": "SUCCEEDED",
    "failed": "FAILED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
}
_WORKING = ("PENDING", "RUNNING")
# The codes of google.rpc.Status, by their names (google/rpc/code.proto).
_CODES = {
    "CANCELLED": 1,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "FAILED_PRECONDITION": 9,
    "ABORTED": 10,
    "UNIMPLEMENTED": 12,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "UNAUTHENTICATED": 16,
}


class BatchedRequest(Struct, frozen=True, kw_only=True):
    """One request of a batch: its body, which may be missing, the names that its client gives it, and its place."""

    body: Json
    metadata: Json
    key: str
    place: str


class GeminiBatches(Struct, frozen=True):
    """The operations on batches, whose requests are for `generate` or `embed`; `fail` words the failures of these."""

    generate: Operation
    embed: Operation
    fail: Fail

    def make_operations(self, model: str) -> tuple[Operation, ...]:
        """Return the operations; `model` is the path of one."""
        one = f"{_PATH}/{{id}}"
        names = make_renamer(BATCH)
        made = tuple(
            Operation(
                BATCHES.made_by,
                "POST",
                f"{model}:{verb}",
                parse=partial(self._parse, asked),
                render=render_view,
                unify=names,
            )
            for verb, asked in (("batchGenerateContent", self.generate), ("asyncBatchEmbedContent", self.embed))
        )
        look_up = partial(make_look_up, NAME, render=render_view, prefix=IDS.prefix)
        found = (
            look_up("batches", "GET", _PATH, work=_list),
            look_up("batch", "GET", one, work=_show),
            look_up("cancel_batch", "POST", f"{one}:cancel", work=_cancel),
            look_up("delete_batch", "DELETE", one, work=_delete),
        )
        return tuple([replace(operation, params=USUAL_PARAMS) for operation in (*made, *found)])

    def _parse(self, asked: Operation, http: HttpRequest, validation: Validation) -> Call:
        body: Body = read(http, BATCH, validation).get("batch") or {}
        given: Body = body.get("inputConfig") or {}
        named = given.get("fileName")
        inlined = (given.get("requests") or {}).get("requests")
        if not named and not inlined and validation is not Validation.OFF:
            where = "BatchGenerateContentRequest.batch.input_config"
            raise Failure("bad_parameter", f"* {where}: either file_name or requests must be set and not empty\n")
        model = find_model(http)
        work = partial(self._create, asked, validation)
        return Call(
            NAME, BATCHES.made_by, model=model, http=http, meaning={"model": model, **body}, raw=body, work=work
        )

    async def _create(self, asked: Operation, validation: Validation, call: Call, objects: Objects) -> ObjectView:
        """Answer all requests, and keep the batch in the first of its states."""
        body = call.raw
        name = objects.draw_id(IDS)
        named = (body.get("inputConfig") or {}).get("fileName")
        requests = await self._read_requests(body, objects)
        results = list[dict[str, Json]]()
        if len(requests) > MAX_REQUESTS:
            raise Failure("bad_parameter", f"* A batch may have at most {MAX_REQUESTS:,} requests.\n")
        for request in requests:
            results.append(
                await self._answer(request, asked, call=call, validation=validation, batch=name, objects=objects)
            )
            await asyncio.sleep(0)  # let other requests run
        output: dict[str, Json] = {"inlinedResponses": {"inlinedResponses": results}}
        if named:
            output = {"responsesFile": await _write_file(name, results, objects)}
        kept = KeptObject(
            dialect=NAME,
            made_by=BATCHES.made_by,
            id=name,
            body={
                "model": call.model,
                "displayName": body.get("displayName"),
                "created": objects.now,
                "count": len(results),
                "failed": sum(["error" in each for each in results]),
                "output": output,
            },
        ).begin(objects.statuses or ("validating", "in_progress", "completed"))
        await objects.keep(kept)
        return ObjectView(show_batch(kept))

    async def _read_requests(self, body: Body, objects: Objects) -> Sequence[BatchedRequest]:
        """Return the requests of a batch, from its own body or from a file. Raises Failure if no such file exists."""
        given: Body = body.get("inputConfig") or {}
        if named := given.get("fileName"):
            file = await find_file(str(named), objects)
            rows = await objects.on_thread(read_rows, file.data, MAX_REQUESTS + 1)
            read = ((f"line {row.number}", row.value if isinstance(row.value, Mapping) else {}) for row in rows)
            return [
                BatchedRequest(body=each.get("request"), metadata=None, key=str(each.get("key") or ""), place=place)
                for place, each in read
            ]
        inlined = (given.get("requests") or {}).get("requests") or ()
        return [
            BatchedRequest(
                body=each.get("request"),
                metadata=each.get("metadata"),
                key=str((each.get("metadata") or {}).get("key") or ""),
                place=f"request {at}",
            )
            for at, each in enumerate(inlined, 1)
        ]

    async def _answer(
        self,
        request: BatchedRequest,
        asked: Operation,
        *,
        call: Call,
        validation: Validation,
        batch: str,
        objects: Objects,
    ) -> dict[str, Json]:
        """Return the result of a request: a response, or an error, with its key or metadata."""
        result: dict[str, Json] = {"key": request.key} if request.metadata is None and request.key else {}
        if request.metadata is not None:
            result["metadata"] = request.metadata
        if not isinstance(request.body, Mapping):
            return {**result, "error": {"code": 3, "message": f"{request.place}: it has no request."}}
        stated = str(request.body.get("model") or call.model).rpartition("/")[2]
        http = call.http
        path = f"{http.path.partition('/models/')[0]}/models/{stated}:{asked.path.rpartition(':')[2]}"
        sent = {key: value for key, value in request.body.items() if key != "model"}
        part = BatchPart(
            http=replace(
                drop_form(http),
                path=path,
                query={},
                body=to_json(sent),
                path_params={**http.path_params, "model": stated},
            ),
            operation=asked,
            custom_id=request.key,
            part_of=f"{request.place} of {batch}{f', key {json.dumps(request.key)}' if request.key else ''}",
            place=f"{request.place} of {batch}",
            validation=validation,
        )
        done = await part.answer(self.fail, objects)
        assert done.reply is not None  # a request gets one
        return {**result, **read_result(done.reply)}


def read_result(reply: Reply) -> dict[str, Json]:
    """Return a reply as a batch has it: a response, or the status of an error."""
    body = try_parse(reply.body.decode("utf-8", "replace"))
    if reply.status == 200:
        return {"response": body}
    stated = find_table(body, "error")
    code = _CODES.get(str(stated.get("status")), 13)
    message = stated.get("message") or reply.body.decode("utf-8", "replace")
    return {"error": {"code": code, "message": message}}


async def _write_file(batch: str, results: Sequence[Mapping[str, Json]], objects: Objects) -> str:
    """Keep the file with the results of a batch, and return its name."""
    data = b"".join([to_json(each) + b"\n" for each in results])
    name = f"files/batch-{batch.removeprefix(IDS.prefix)}"
    described: dict[str, Json] = {
        "mimeType": "application/jsonl",
        "sizeBytes": len(data),
        "sha256Hash": write_hash(data),
        "source": "GENERATED",
        "downloadUri": f"{name}:download?alt=media",
    }
    await keep_file(name, described, data=data, objects=objects, statuses=())
    return name


def show_batch(kept: KeptObject) -> dict[str, Json]:
    """Return a batch in its present state, as an operation that runs long."""
    body = kept.body
    state = STATES.get(kept.status, "RUNNING")
    created = write_moment(body["created"])
    is_over = state not in _WORKING
    has_output = state == "SUCCEEDED"
    count = body["count"]
    failed = body["failed"]
    done = {"successfulRequestCount": count - failed, "failedRequestCount": failed} if has_output else {}
    stats = {"requestCount": count, **(done if is_over else {"pendingRequestCount": count})}
    metadata: dict[str, Json] = {
        "@type": _TYPE,
        "model": f"models/{body['model']}",
        "displayName": body["displayName"],
        "output": body["output"] if has_output else None,
        "createTime": created,
        "endTime": created if is_over else None,
        "updateTime": created,
        "batchStats": {name: str(number) for name, number in stats.items() if number},
        "state": f"BATCH_STATE_{state}",
        "name": kept.id,
    }
    shown = {"name": kept.id, "metadata": {key: value for key, value in metadata.items() if value is not None}}
    if has_output:
        return {**shown, "done": True, "response": {"@type": f"{_TYPE}.Output", **body["output"]}}
    if is_over:
        return {**shown, "done": True, "error": {"code": 1 if state == "CANCELLED" else 13, "message": _ENDS[state]}}
    return shown


_ENDS = {
    "FAILED": "The batch failed.",
    "CANCELLED": "The batch was cancelled.",
    "EXPIRED": "The batch expired before all of its requests were processed.",
}


async def _find(call: Call, objects: Objects) -> KeptObject:
    """Return the batch that a call names; where unknown ones exist, one that has succeeded. Raises Failure."""
    body: dict[str, Json] = {
        "model": "gemini-2.5-flash",
        "displayName": None,
        "created": objects.now,
        "count": 0,
        "failed": 0,
        "output": {"inlinedResponses": {"inlinedResponses": []}},
        "status": "completed",
    }
    invented = KeptObject(NAME, BATCHES.made_by, id=call.id, body=body)
    return await find_object(objects, BATCHES.made_by, call.id, invented=invented, refusal=Failure("not_found"))


async def _list(call: Call, objects: Objects) -> ObjectView:
    found = (await objects.list(BATCHES.made_by))[::-1]  # the newest first
    entries, token = find_page(call.http, tuple(found))
    return ObjectView({"operations": [show_batch(each) for each in entries], **token} if entries else {})


async def _show(call: Call, objects: Objects) -> ObjectView:
    kept = (await objects.change(await _find(call, objects), KeptObject.advance)).after
    return ObjectView(show_batch(kept))


async def _cancel(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call, objects)
    if kept.ahead:
        await objects.change(kept, lambda found: found.end("cancelled"))
    elif not kept.invented:
        raise Failure("bad_parameter", f"Batch {kept.id} has ended and cannot be cancelled.")
    return ObjectView()


async def _delete(call: Call, objects: Objects) -> ObjectView:
    await objects.change(await _find(call, objects), KeptObject.forget)
    return ObjectView()
