"""Evals, their runs and output items (https://platform.openai.com/docs/api-reference/evals).

No grader runs: every item passes. Output items are not kept, as they follow from the run.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from mockserver.core.call import Call, IdShape, compute_fingerprint
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.dialects._fields import BodyModel, Object, list_of, optional, shape
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.objects.files import Files, read_rows
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve, show_page
from mockserver.dialects._parse import Body, clip
from mockserver.kinds.kept import EVAL_RUNS, EVALS
from mockserver.kinds.objects import Objects

FINAL = ("completed", "failed", "canceled")
_ROLES = ("user", "assistant", "system", "developer")
MAX_ITEMS = 1_000  # of one run
_NO_ERROR: Body = {"code": "", "message": ""}
_FAILED: Body = {"code": "server_error", "message": "The run failed."}
_SOURCE: Body = {"type": "jsonl", "source": {"type": "file_content", "content": [{"item": {"input": "Hello!"}}]}}


class Evals(Resource):
    kind = EVALS
    path = "/evals"
    type = "eval"
    deleted = "eval.deleted"
    ids = IdShape("eval_", 32, "hex")
    unknown = "Eval with id '{id}' not found."
    fields = BodyModel(
        shape(
            data_source_config=Object,
            testing_criteria=list_of(Object),
            name=optional(str),
            metadata=optional(Metadata),
        )
    )
    updates = BodyModel(shape(name=optional(str), metadata=optional(Metadata)))
    words: ClassVar[Mapping[str, Sequence[str]]] = {**Resource.words, "order_by": ("created_at", "updated_at")}

    async def make(self, new: New, objects: Objects) -> Body:
        config = new.fields.get("data_source_config") or {"type": "custom"}
        item = config.get("item_schema") or {"type": "object"}
        schema = {"type": "object", "properties": {"item": item}, "required": ["item"]}
        return {
            "data_source_config": {
                "type": config.get("type", "custom"),
                "schema": schema,
                **_show_metadata(config),
            },
            "testing_criteria": [_show_criterion(each) for each in new.fields.get("testing_criteria") or ()],
            "name": new.fields.get("name") or "eval",
            "metadata": new.fields.get("metadata") or {},
        }

    def show_deleted(self, kept: KeptObject) -> Body:
        return {"object": self.deleted, "deleted": True, "eval_id": kept.id}


class EvalRuns(Resource):
    kind = EVAL_RUNS
    path = "/evals/{owner}/runs"
    type = "eval.run"
    deleted = "eval.run.deleted"
    ids = IdShape("evalrun_", 32, "hex")
    unknown = "Run with id '{id}' not found in eval '{owner}'."
    fields = BodyModel(shape(data_source=Object, name=optional(str), metadata=optional(Metadata)))
    parent = Evals
    statuses = ("queued",)
    events = MappingProxyType(
        {"completed": "eval.run.succeeded", "failed": "eval.run.failed", "canceled": "eval.run.canceled"}
    )
    words: ClassVar[Mapping[str, Sequence[str]]] = {**Resource.words, "status": ("queued", "in_progress", *FINAL)}
    filters: ClassVar[Mapping[str, str]] = {"status": "status"}

    async def make(self, new: New, objects: Objects) -> Body:
        source = new.fields.get("data_source") or _SOURCE
        evaluated = await Evals(self.api).find(objects, new.owner)
        names = [str(each.get("name") or each.get("type")) for each in evaluated.body["testing_criteria"]]
        total = len(await self._list_rows(source, objects))
        passed = [{"testing_criteria": name, "passed": total, "failed": 0} for name in names]
        return {
            "eval_id": new.owner,
            "report_url": f"https://platform.openai.com/evaluations/{new.owner}?run_id={new.id}",
            "status": "completed",
            "model": str(source.get("model") or "gpt-4.1"),
            "name": new.fields.get("name") or "run",
            "result_counts": {"total": total, "errored": 0, "failed": 0, "passed": total},
            "per_model_usage": [],
            "per_testing_criteria_results": passed,
            "data_source": source,
            "error": _NO_ERROR,
            "metadata": new.fields.get("metadata") or {},
        }

    def show(self, kept: KeptObject) -> Body:
        shown = {**kept.body, "status": kept.status, "error": _FAILED if kept.status == "failed" else _NO_ERROR}
        if kept.status != "completed":
            shown["per_testing_criteria_results"] = []
            shown["result_counts"] = {
                "total": kept.body["result_counts"]["total"],
                "errored": 0,
                "failed": 0,
                "passed": 0,
            }
        return shown

    def show_deleted(self, kept: KeptObject) -> Body:
        return {"object": self.deleted, "deleted": True, "run_id": kept.id}

    async def _list_rows(self, source: Body, objects: Objects) -> list[Body]:
        """Return the items that a data source names: those in it, or those of a file."""
        inner = source.get("source")
        stated = inner if isinstance(inner, Mapping) else {}
        content: Json = stated.get("content")
        if stated.get("type") == "file_id":
            file = await Files(self.api).find(objects, str(stated.get("id")))
            content = [row.value for row in await objects.on_thread(read_rows, file.data, MAX_ITEMS)]
        rows = [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []
        return [row["item"] if isinstance(row.get("item"), dict) else row for row in rows[:MAX_ITEMS]]

    @serve("POST", "cancel", "")  # first as the clients send it, then as the reference has it
    async def cancel_eval_run(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        now = (await self.end_early(kept, "canceled", objects)).after
        return ObjectView(self.show(now))

    @serve("GET", "output_items")
    async def eval_output_items(self, call: Call, objects: Objects) -> ObjectView:
        wants_failed = call.http.query.get("status") == "fail"
        items = [] if wants_failed else await self._make_items(call, objects)
        return show_page(items, call, objects, usual=self.page_size)

    @serve("GET", "output_items/{item}")
    async def eval_output_item(self, call: Call, objects: Objects) -> ObjectView:
        name = call.http.path_params["item"]
        run = await self.find_asked(call, objects)
        made = next((item for item in await self._make_items(call, objects) if item["id"] == name), None)
        if made is None and not objects.invents:
            raise Failure("not_found", message=f"Output item with id '{clip(name)}' not found.")
        return ObjectView(made or make_output_item(run, name, row={"input": "Hello!"}, number=0))

    async def _make_items(self, call: Call, objects: Objects) -> list[Body]:
        run = await self.find_asked(call, objects)
        rows = await self._list_rows(run.body["data_source"], objects) if run.status == "completed" else []
        named = [(f"outputitem_{compute_fingerprint(run.id, number)}", row) for number, row in enumerate(rows)]
        return [make_output_item(run, name, row=row, number=number) for number, (name, row) in enumerate(named)]


def make_output_item(run: KeptObject, name: str, *, row: Body, number: int) -> Body:
    """Return the output item of a run for one row of its data, by the number of the row from 0."""
    passed = run.body["per_testing_criteria_results"]
    return {
        "object": "eval.run.output_item",
        "id": name,
        "created_at": run.body["created_at"],
        "run_id": run.id,
        "eval_id": run.owner,
        "status": "pass",
        "datasource_item_id": number,
        "datasource_item": row,
        "results": [
            {"name": each["testing_criteria"], "passed": True, "score": 1.0, "sample": None} for each in passed
        ],
        "sample": {
            "input": [],
            "output": [],
            "finish_reason": "stop",
            "model": run.body["model"],
            "usage": {"total_tokens": 0, "completion_tokens": 0, "prompt_tokens": 0, "cached_tokens": 0},
            "error": _NO_ERROR,
            "temperature": 1.0,
            "max_completion_tokens": 2048,
            "top_p": 1.0,
            "seed": 42,
        },
    }


def _show_metadata(config: Body) -> Body:
    return {"metadata": config["metadata"]} if config.get("metadata") else {}


def _show_criterion(criterion: Body) -> Body:
    """Return a criterion as the API shows it: its messages have one of the known roles."""
    messages = criterion.get("input")
    if not isinstance(messages, list):
        return criterion
    return {**criterion, "input": [_show_message(each) if isinstance(each, dict) else each for each in messages]}


def _show_message(message: Body) -> Body:
    return message if message.get("role") in _ROLES else {**message, "role": "user"}
