"""Batch jobs at Mistral (https://docs.mistral.ai/api/endpoint/batch): requests in files, or in the job itself."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, compute_fingerprint
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, try_parse
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, integer, list_of, literal, open_shape, optional, shape
from mockserver.dialects._openai_api.objects.batches import Batches, Line
from mockserver.dialects._openai_api.objects.files import FileRow, read_rows
from mockserver.dialects._openai_api.objects.resource import New, serve
from mockserver.dialects._parse import Body, Complaint
from mockserver.dialects.mistral.files import API, MAX_LINES, MistralFiles, MistralResource
from mockserver.kinds.objects import Objects

CHAT = "/v1/chat/completions"
ENDPOINTS = (
    CHAT, "/v1/embeddings", "/v1/fim/completions", "/v1/moderations", "/v1/chat/moderations", "/v1/ocr",
    "/v1/classifications", "/v1/chat/classifications", "/v1/conversations",
)  # fmt: skip
STATES = {
    "validating": "QUEUED",
    "in_progress": "RUNNING",
    "finalizing": "RUNNING",
    "completed": "SUCCESS",
    "failed": "FAILED",
    "expired": "TIMEOUT_EXCEEDED",
    "cancelling": "CANCELLATION_REQUESTED",
    "cancelled": "CANCELLED",
}
_COUNTS = ("completed_requests", "succeeded_requests", "failed_requests")
_NOTHING_DONE: Body = {
    **dict.fromkeys(("output_file", "error_file", "completed_at")),
    **dict.fromkeys(_COUNTS, 0),
    "errors": [],
}


class MistralBatches(MistralResource, Batches):
    path = "/batch/jobs"
    lacks = ()
    unknown = "No batch job matches the given query."
    fields = BodyModel(
        shape(
            endpoint=literal(*ENDPOINTS),
            input_files=optional(list_of(str)),
            requests=optional(list_of(open_shape(custom_id=optional(str), body=Object))),
            model=optional(str),
            agent_id=optional(str),
            metadata=optional(Object),
            timeout_hours=optional(integer(1)),
        )
    )
    events: ClassVar[Mapping[str, str]] = MappingProxyType({})
    filters: ClassVar[Mapping[str, str]] = {"model": "model", "agent_id": "agent_id", "status": "status"}

    def read(self, http: HttpRequest, validation: Validation) -> New:
        new = super().read(http, validation)
        if validation is not Validation.OFF and not (new.fields.get("input_files") or new.fields.get("requests")):
            raise self.api.refuse(Complaint("missing", ("input_files",)))
        return new

    async def make(self, new: New, objects: Objects) -> Body:
        fields = new.fields
        names: Sequence[str] = fields.get("input_files") or ()
        rows = await self._list_rows(new, objects)
        place = ", ".join(names) or f"the requests of {new.id}"
        lines = await self.answer_rows(rows, new, objects, place=place)
        numbered = list(enumerate(lines))
        answered = [each for each in numbered if each[1].status == 200]
        refused = [each for each in numbered if each[1].status != 200]
        failures = Counter(line.status for _, line in refused)
        return {
            "input_files": names,
            "metadata": fields.get("metadata"),
            "endpoint": fields.get("endpoint", CHAT),
            "model": fields.get("model"),
            "agent_id": fields.get("agent_id"),
            "output_file": await self._write_rows("result", answered, new=new, objects=objects),
            "error_file": await self._write_rows("error", refused, new=new, objects=objects),
            "errors": [
                {"message": f"HTTP Error, status code: {status}", "count": count}
                for status, count in sorted(failures.items())
            ],
            "status": "completed",
            "total_requests": len(lines),
            **dict(zip(_COUNTS, (len(lines), len(answered), len(refused)), strict=True)),
            "outputs": None,
            "started_at": new.created,
            "completed_at": new.created,
            "is_inline": bool(fields.get("requests")),
        }

    async def _list_rows(self, new: New, objects: Objects) -> Sequence[FileRow]:
        """Return the requests of a job, each with the endpoint and the model of all. Raises Failure."""
        fields = new.fields
        rows = [FileRow(number, request) for number, request in enumerate(fields.get("requests") or (), 1)]
        for name in fields.get("input_files") or ():
            file = await MistralFiles(self.api).find(objects, name)
            if file.body["purpose"] != "batch" and not file.invented:
                why = f"File '{name}' has the purpose '{file.body['purpose']}': a job reads files for 'batch'."
                raise Failure("unprocessable", why, details={"detail": why})
            rows += await objects.on_thread(read_rows, file.data, MAX_LINES)
        named = {key: fields[key] for key in ("model", "agent_id") if fields.get(key)}
        is_of_agent = "agent_id" in named and fields["endpoint"] == CHAT
        url = "/v1/agents/completions" if is_of_agent else fields.get("endpoint", CHAT)

        def complete(sent: Json) -> Body:
            request: Body = sent if isinstance(sent, dict) else {}
            name = request.get("custom_id")
            body = request.get("body")
            given = body if isinstance(body, dict) else {}
            if is_of_agent:
                given = {key: value for key, value in given.items() if key != "model"}
            return {"custom_id": None if name is None else str(name), "url": url, "body": {**given, **named}}

        return [FileRow(row.number, complete(row.value)) for row in rows]

    async def _write_rows(
        self, what: str, lines: Sequence[tuple[int, Line]], *, new: New, objects: Objects
    ) -> str | None:
        """Keep the file with these lines and return its id; None if it would be empty."""
        if not lines:
            return None
        head = compute_fingerprint(new.id)
        data = b"".join([_write_row(f"batch-{head[:8]}-{head[8:16]}-{number}", line) for number, line in lines])
        fields = {
            "purpose": "batch",
            "sample_type": f"batch_{what}",
            "mimetype": "application/jsonl",
            "num_lines": len(lines),
        }
        name = objects.draw_id(self.ids, f"batch {what}")
        file = New(id=name, fields=fields, data=data, file_name=f"{new.id}_{what}.jsonl")
        return (await MistralFiles(self.api).create(file, objects)).id

    def show(self, kept: KeptObject) -> Body:
        """Return a job in its present state: before it ends, nothing is done."""
        status = kept.status
        shown = {key: value for key, value in kept.body.items() if key != "is_inline"}
        if status in ("validating", "in_progress", "finalizing", "cancelling", "failed"):
            shown |= _NOTHING_DONE
        if status == "validating":
            shown["total_requests"] = 0
        if status == "failed":
            shown["errors"] = [{"message": "The batch job failed.", "count": 1}]
            shown["completed_at"] = kept.body["completed_at"]
        return {**shown, "status": STATES[status]}

    async def view(self, kept: KeptObject, objects: Objects) -> Body:
        """Return a job with its results, if the requests were in it, or if the query asks for them."""
        shown = self.show(kept)
        wanted = objects.call.http.query.get("inline", "true" if kept.body["is_inline"] else "")
        if wanted != "true" or shown["completed_at"] is None:
            return shown
        outputs = list[Json]()
        for name in filter(None, (shown["output_file"], shown["error_file"])):
            file = await MistralFiles(self.api).find(objects, name)
            outputs += [row.value for row in await objects.on_thread(read_rows, file.data, MAX_LINES)]
        return {**shown, "outputs": outputs}

    @serve("POST", "cancel")
    async def cancel_batch(self, call: Call, objects: Objects) -> ObjectView:
        """Cancel a job: one that has not begun has no results; one that runs is still finished."""
        before, now = await objects.change(await self.find_asked(call, objects), _cancel)
        is_running = before.ahead and before.status != "validating"
        return ObjectView(self.show(replace(now, ahead=("cancelling",)) if is_running else now))


def _cancel(kept: KeptObject) -> KeptObject:
    if not kept.ahead:
        return kept
    ended = kept.end("cancelled")
    return ended.change(**_NOTHING_DONE, total_requests=0) if kept.status == "validating" else ended


def _write_row(name: str, line: Line) -> bytes:
    """Return the line of a request in a file of results; an error's body is a text there."""
    text = line.body.decode("utf-8", "replace")
    response = {"status_code": line.status, "body": try_parse(text) if line.status == 200 else text}
    return to_json({"id": name, "custom_id": line.name, "response": response, "error": None}) + b"\n"


def make_file_and_batch_operations(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return the operations on files and batch jobs; the requests of jobs ask for those `operations` that jobs can."""
    paths = {path.removeprefix("/v1") for path in (*ENDPOINTS, "/v1/agents/completions")}
    api = replace(API, operations=[each for each in operations if each.path in paths and each.method == "POST"])
    return (*MistralFiles(api).make_operations(), *MistralBatches(api).make_operations())
