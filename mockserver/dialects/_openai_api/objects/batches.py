"""Batches, whose lines are answered like calls of their own (https://platform.openai.com/docs/api-reference/batch)."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape, compute_fingerprint
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, try_parse
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure, Usage
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._batch_parts import BatchPart, drop_form
from mockserver.dialects._fields import BodyModel, literal, optional, shape
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.objects.files import EXPIRY, FileRow, Files, read_rows
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve
from mockserver.dialects._parse import Body, Complaint
from mockserver.kinds import ASKED
from mockserver.kinds.kept import BATCHES
from mockserver.kinds.objects import Objects

MAX_LINES = 50_000
DAY = 86_400  # seconds, in which a batch must end
FINAL = ("completed", "failed", "expired", "cancelled")
_COUNTS = ("total", "completed", "failed")


class Line(Struct, frozen=True):
    """One request of a batch, by its number, and its result: a status, a body, and the tokens that it took."""

    number: int
    name: str | None
    model: Json
    status: int
    body: bytes
    usage: Usage

    def write(self, batch: str) -> bytes:
        """Return it as a line of the output file."""
        request = compute_fingerprint(batch, "line", self.number)
        body = try_parse(self.body.decode("utf-8", "replace"))
        response = {"status_code": self.status, "request_id": request, "body": body}
        line = {"id": f"batch_req_{request}", "custom_id": self.name, "response": response, "error": None}
        return to_json(line) + b"\n"


def write_lines(lines: Sequence[Line], batch: str) -> bytes:
    """Return the output file of a batch."""
    return b"".join([line.write(batch) for line in lines])


class Batches(Resource):
    kind = BATCHES
    path = "/batches"
    lacks: ClassVar[Sequence[str]] = ("delete_batch",)
    type = "batch"
    deleted = "batch"
    ids = IdShape("batch_", 32, "hex")
    unknown = "No batch found with id '{id}'."
    fields = BodyModel(
        shape(
            input_file_id=str,
            endpoint=str,
            completion_window=literal("24h"),
            metadata=optional(Metadata),
            output_expires_after=optional(EXPIRY),
        )
    )
    statuses = ("validating", "in_progress")
    events: ClassVar[Mapping[str, str]] = MappingProxyType({status: f"batch.{status}" for status in FINAL})

    def read(self, http: HttpRequest, validation: Validation) -> New:
        new = super().read(http, validation)
        endpoint = new.fields.get("endpoint")
        if validation is not Validation.OFF and self._find_operation(endpoint) is None:
            endpoints = tuple([f"/v1{each.path}" for each in self._list_operations()])
            raise self.api.refuse(Complaint("value", ("endpoint",), got=endpoint, expected=endpoints))
        return new

    def _find_operation(self, endpoint: Json) -> Operation | None:
        path = _drop_version(endpoint)
        return next((each for each in self._list_operations() if each.path == path), None)

    def _list_operations(self) -> Sequence[Operation]:
        """Return the operations that lines can ask for: those that ask a model something, and not in a session."""
        return [each for each in self.api.operations if each.name in ASKED and each.over_socket != "realtime"]

    async def make(self, new: New, objects: Objects) -> Body:
        fields = new.fields
        lines, mistakes = await self._answer_lines(new, objects)
        answered = [line for line in lines if line.status == 200]
        refused = [line for line in lines if line.status != 200]
        return {
            "endpoint": fields.get("endpoint", "/v1/chat/completions"),
            "model": lines[0].model if lines else None,
            "errors": {"object": "list", "data": mistakes} if mistakes else None,
            "input_file_id": fields.get("input_file_id", ""),
            "completion_window": fields.get("completion_window", "24h"),
            "status": "failed" if mistakes else "completed",
            "output_file_id": await self._write_file("output", answered, new=new, objects=objects),
            "error_file_id": await self._write_file("error", refused, new=new, objects=objects),
            "request_counts": dict(zip(_COUNTS, (len(lines), len(answered), len(refused)), strict=True)),
            "usage": _add_usage(answered),
            "metadata": fields.get("metadata"),
        }

    def show(self, kept: KeptObject) -> Body:
        """Return a batch in its present status: what is not known yet is empty."""
        body = kept.body
        status = kept.status
        created = kept.body["created_at"]
        has_ended = status in FINAL
        shown = {
            **body,
            "status": status,
            "errors": body["errors"] if status == "failed" else None,
            "output_file_id": body["output_file_id"] if has_ended and status != "failed" else None,
            "error_file_id": body["error_file_id"] if has_ended and status != "failed" else None,
            "in_progress_at": None if status in ("validating", "failed") else created,
            "expires_at": created + DAY,
            "finalizing_at": created if status in ("finalizing", "completed") else None,
            **{f"{final}_at": created if status == final else None for final in FINAL},
            "cancelling_at": created if status in ("cancelling", "cancelled") else None,
        }
        if not has_ended:
            total = 0 if status == "validating" else body["request_counts"]["total"]
            shown["request_counts"] = {"total": total, "completed": 0, "failed": 0}
        return shown

    async def _answer_lines(self, new: New, objects: Objects) -> "_Answered":
        """Answer each line of the input file, unless the file has mistakes."""
        if "input_file_id" not in new.fields:  # an invented batch
            return _Answered()
        file = await Files(self.api).find(objects, new.fields["input_file_id"])
        requests = await objects.on_thread(read_rows, file.data, MAX_LINES + 1)
        mistakes = await objects.on_thread(find_mistakes, requests, new.fields["endpoint"])
        if mistakes:
            return _Answered(mistakes=mistakes)
        return _Answered(await self.answer_rows(requests, new, objects, place=new.fields["input_file_id"]))

    async def answer_rows(self, rows: Sequence[FileRow], new: New, objects: Objects, *, place: str) -> list[Line]:
        """Answer requests with a `url`, a `body` and perhaps a `custom_id`; `place` says in messages where they are."""
        lines = list[Line]()
        for row in rows:
            done = await self._read_line(row, new, place).answer(self.api.fail, objects)
            assert done.reply is not None  # a line gets one
            lines.append(
                Line(
                    number=row.number,
                    name=row.value.get("custom_id"),
                    model=row.value["body"].get("model"),
                    status=done.reply.status,
                    body=done.reply.body,
                    usage=done.plan.outcome if isinstance(done.plan.outcome, Usage) else Usage(),
                )
            )
            await asyncio.sleep(0)  # let other requests run
        return lines

    def _read_line(self, row: FileRow, new: New, place: str) -> BatchPart:
        """Return a line as a request of its own."""
        sent = {key: value for key, value in row.value["body"].items() if key != "stream"}
        operation = self._find_operation(row.value["url"])
        mount = new.http.path.removesuffix(self.path)
        path = row.value["url"] if operation is None else mount + operation.path
        name = row.value.get("custom_id")
        return BatchPart(
            http=replace(drop_form(new.http), path=path, body=to_json(sent), path_params={}),
            operation=operation,
            custom_id=name or "",
            part_of=f"line {row.number} of {new.id}{'' if name is None else f', custom_id {json.dumps(name)}'}",
            place=f"line {row.number} of {place}",
            validation=new.validation,
        )

    async def _write_file(self, what: str, lines: Sequence[Line], *, new: New, objects: Objects) -> str | None:
        """Keep the file with these lines and return its id; None if it would be empty."""
        if not lines:
            return None
        data = await objects.on_thread(write_lines, lines, new.id)
        fields = {"purpose": "batch_output", "expires_after": new.fields.get("output_expires_after")}
        name = objects.draw_id(Files.ids, f"batch {what}")
        file = New(id=name, fields=fields, data=data, file_name=f"{new.id}_{what}.jsonl")
        return (await Files(self.api).create(file, objects)).id

    @serve("POST", "cancel")
    async def cancel_batch(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        before, now = await self.end_early(kept, "cancelled", objects)
        if before is now and not objects.invents:
            raise Failure("conflict", message=f"Cannot cancel a batch with status '{kept.status}'.")
        return ObjectView(self.show(replace(now, ahead=("cancelling",)) if now.status == "cancelled" else now))


class _Answered(NamedTuple):
    """The lines of an input file, answered, or the mistakes in it for which none was."""

    lines: Sequence[Line] = ()
    mistakes: Sequence[Body] = ()


def find_mistakes(rows: Sequence[FileRow], endpoint: str) -> Sequence[Body]:
    """Return the mistakes in the lines of an input file, as `errors` of a batch has them."""
    return list(_list_mistakes(rows, endpoint))


def _list_mistakes(rows: Sequence[FileRow], endpoint: str) -> Iterator[Body]:
    if not rows:
        yield _make_mistake("empty_file", "The input file is empty.", None)
    if len(rows) > MAX_LINES:
        yield _make_mistake("too_many_tasks", f"The input file has more than {MAX_LINES:,} lines.", None)
    bodies = [row.value.get("body") for row in rows if isinstance(row.value, dict)]
    models = [body.get("model") for body in bodies if isinstance(body, dict)]
    model = next(filter(None, models), None)
    names = Counter(str(row.value.get("custom_id")) for row in rows if isinstance(row.value, dict))
    for number, request in [(row.number, row.value) for row in rows]:
        if not isinstance(request, dict):
            yield _make_mistake("invalid_json_line", "This line is not parseable as valid JSON.", number)
            continue
        missing = next((key for key, kind in _LINE.items() if not isinstance(request.get(key), kind)), None)
        if missing is not None:
            message = f"Missing required parameter: '{missing}'."
            if missing in request:
                message = f"Invalid type for '{missing}': expected {_LINE_WORDS[_LINE[missing]]}."
            yield _make_mistake("missing_required_parameter", message, number)
        elif request["method"] != "POST":
            message = f"The method '{request['method']}' is not supported; use 'POST'."
            yield _make_mistake("invalid_method", message, number)
        elif names[request["custom_id"]] > 1:
            message = f"The custom_id '{request['custom_id']}' is used by another line."
            yield _make_mistake("duplicate_custom_id", message, number)
        elif _drop_version(request["url"]) != _drop_version(endpoint):
            message = f"The URL '{request['url']}' does not match the endpoint of the batch, '{endpoint}'."
            yield _make_mistake("url_mismatch", message, number)
        elif request["body"].get("model", model) != model:  # a line without a model is refused on its own
            message = f"The model '{request['body']['model']}' is not that of the first line, '{model}'."
            yield _make_mistake("model_mismatch", message, number)


def _drop_version(path: Json) -> Json:
    """Return the path of an operation: Azure's have no `/v1` in front."""
    return path.removeprefix("/v1") if isinstance(path, str) else path


def _make_mistake(code: str, message: str, line: int | None) -> Body:
    return {"code": code, "message": message, "param": None, "line": line}


def _add_usage(lines: Sequence[Line]) -> Body:
    """Return the tokens of all lines."""
    read, written = (sum([getattr(line.usage, name) for line in lines]) for name in ("prompt", "completion"))
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": sum([line.usage.cached for line in lines])},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": sum([line.usage.reasoning for line in lines])},
        "total_tokens": read + written,
    }


_LINE: Mapping[str, type] = {"custom_id": str, "method": str, "url": str, "body": dict}
_LINE_WORDS: Mapping[type, str] = {str: "a string", dict: "an object"}
