"""Fine-tuning jobs, permissions and graders (https://platform.openai.com/docs/api-reference/fine-tuning).

Events and checkpoints are not kept: they follow from the job.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, compute_fingerprint
from mockserver.core.json import Json, find_table, try_parse
from mockserver.core.kept_objects import Data, KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, integer, list_of, literal, open_shape, optional, shape, text
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.objects.files import Files
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve, show_page
from mockserver.dialects._openai_api.stored import make_list_body
from mockserver.dialects._parse import Body, clip
from mockserver.kinds.kept import CHECKPOINT_PERMISSIONS, FINE_TUNING_JOBS
from mockserver.kinds.objects import Objects
from mockserver.media.large_data import list_lines

FINAL = ("succeeded", "failed", "cancelled")
FEWEST_EXAMPLES = 10
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_EPOCHS = 3
_STEPS_OF_EPOCH = 10
_METADATA = "metadata["  # in a query: metadata[topic]=trains
_LOSSES = "step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy"


class FineTuningJobs(Resource):
    kind = FINE_TUNING_JOBS
    path = "/fine_tuning/jobs"
    type = "fine_tuning.job"
    deleted = "fine_tuning.job"
    ids = IdShape("ftjob-", 24)
    unknown = "Could not find fine tune: {id}"
    fields = BodyModel(
        shape(
            model=str,
            training_file=str,
            validation_file=optional(str),
            suffix=optional(text(1, 64)),
            seed=optional(integer()),
            method=optional(open_shape(type=literal("supervised", "dpo", "reinforcement"))),
            hyperparameters=optional(Object),
            integrations=optional(list_of(Object)),
            metadata=optional(Metadata),
        )
    )
    statuses = ("validating_files", "running")
    events = MappingProxyType({status: f"fine_tuning.job.{status}" for status in FINAL})

    async def make(self, new: New, objects: Objects) -> Body:
        fields = new.fields
        model = fields.get("model", "gpt-4.1-mini")
        mistake = await self._check_training_file(new, objects)
        method = fields.get("method") or {"type": "supervised"}
        hyperparameters = _read_hyperparameters(fields.get("hyperparameters"), method)
        tuned = f"ft:{model}:mockserver:{fields.get('suffix') or ''}:{compute_fingerprint(new.id)[:8]}"
        return {
            "model": model,
            "finished_at": new.created,
            "fine_tuned_model": None if mistake else tuned,
            "organization_id": "org-mockserver",
            "result_files": [] if mistake or new.invented else [await self._write_results(new, objects)],
            "status": "failed" if mistake else "succeeded",
            "validation_file": fields.get("validation_file"),
            "training_file": fields.get("training_file", "file-unknown"),
            "hyperparameters": hyperparameters,
            "trained_tokens": None if mistake else 1_000,
            "error": mistake,
            "user_provided_suffix": fields.get("suffix"),
            "seed": 42 if fields.get("seed") is None else fields["seed"],
            "estimated_finish": None,
            "integrations": fields.get("integrations") or [],
            "metadata": fields.get("metadata"),
            "method": _show_method(method, hyperparameters),
        }

    async def finish(self, new: New, objects: Objects) -> KeptObject:
        made = await super().finish(new, objects)
        return replace(made, model=made.body["fine_tuned_model"] or "")

    def show(self, kept: KeptObject) -> Body:
        """Return a job in its present status: what is not known yet is empty."""
        status = kept.status
        body = {**kept.body, "status": status}
        if status != "succeeded":
            body |= {"fine_tuned_model": None, "result_files": [], "trained_tokens": None}
        if status not in FINAL:
            body["finished_at"] = None
        body["error"] = (body["error"] or _STOPPED) if status == "failed" else None
        return body

    def is_listed(self, kept: KeptObject, query: Mapping[str, str]) -> bool:
        wanted = {key[len(_METADATA) : -1]: value for key, value in query.items() if key.startswith(_METADATA)}
        return wanted.items() <= (kept.body["metadata"] or {}).items()

    def refuse_unknown(self, name: str, owner: str) -> Failure:
        message = self.unknown.format(id=clip(name))
        return Failure("not_found", message=message, param="fine_tune_id", code="fine_tune_not_found")

    async def _check_training_file(self, new: New, objects: Objects) -> Body | None:
        """Return what is wrong with the examples of a new job. Raises Failure if there is no such file."""
        name = new.fields.get("training_file")
        if name is None:
            return None
        try:
            file = await Files(self.api).find(objects, name)
        except Failure:
            message = f"invalid training_file: {clip(name)}"
            raise Failure("bad_parameter", message=message, param="training_file") from None
        if file.invented:
            return None
        why = await objects.on_thread(find_mistake, file.data, few=new.validation is Validation.LIVE)
        if why is None:
            return None
        message = f"The job failed due to an invalid training file. {why}"
        return {"code": "invalid_training_file", "message": message, "param": "training_file"}

    async def _write_results(self, new: New, objects: Objects) -> str:
        """Keep the file with the losses of a job's steps and return its id."""
        rows = [f"{step.number},{step.loss},{step.accuracy},," for step in _list_steps()]
        file = New(
            id=objects.draw_id(Files.ids, "step metrics"),
            fields={"purpose": "fine-tune-results"},
            data="\n".join((_LOSSES, *rows, "")).encode(),
            file_name="step_metrics.csv",
        )
        return (await Files(self.api).create(file, objects)).id

    @serve("POST", "cancel")
    async def cancel_fine_tuning_job(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        before, now = await self.end_early(kept, "cancelled", objects)
        if before is now and not objects.invents:
            message = f"Job has already completed: {kept.id}"
            raise Failure("bad_parameter", message=message, code="invalid_cancel_request")
        return ObjectView(self.show(now))

    @serve("POST", "pause")
    async def pause_fine_tuning_job(self, call: Call, objects: Objects) -> ObjectView:
        """Let a job stay as it is until it is resumed."""
        kept = await self.find_asked(call, objects)
        _, now = await objects.change(
            kept, lambda found: replace(found, ahead=("paused", *found.ahead)) if found.ahead else found
        )
        return ObjectView(self.show(now))

    @serve("POST", "resume")
    async def resume_fine_tuning_job(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        _, now = await objects.change(
            kept, lambda found: replace(found, ahead=tuple([each for each in found.ahead if each != "paused"]))
        )
        return ObjectView(self.show(now))

    async def advance(self, kept: KeptObject, objects: Objects) -> KeptObject:
        return kept if kept.status == "paused" else await super().advance(kept, objects)

    @serve("GET", "events")
    async def fine_tuning_events(self, call: Call, objects: Objects) -> ObjectView:
        job = await self.find_asked(call, objects)
        return show_page(list(list_events(job)), call, objects, usual=20)

    @serve("GET", "checkpoints")
    async def fine_tuning_checkpoints(self, call: Call, objects: Objects) -> ObjectView:
        job = await self.find_asked(call, objects)
        made = list(list_checkpoints(job)) if job.status == "succeeded" else []
        return show_page(made, call, objects, usual=10)


class CheckpointPermissions(Resource):
    kind = CHECKPOINT_PERMISSIONS
    path = "/fine_tuning/checkpoints/{owner}/permissions"
    type = "checkpoint.permission"
    deleted = "checkpoint.permission"
    ids = IdShape("cp_", 24)
    unknown = "No permission found with id '{id}' for checkpoint '{owner}'."
    fields = BodyModel(shape(project_ids=list_of(str)))
    page_size = 10
    words: ClassVar[Mapping[str, Sequence[str]]] = {"order": ("ascending", "descending")}
    filters: ClassVar[Mapping[str, str]] = {"project_id": "project_id"}

    async def make(self, new: New, objects: Objects) -> Body:
        return {"project_id": new.fields.get("project_id", "proj_unknown")}

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        """Permit a model to each project, and list these permissions."""
        made = list[KeptObject]()
        for number, project in enumerate(new.fields["project_ids"]):
            name = objects.draw_id(self.ids, f"permission {number}")
            made.append(await self.create(New(id=name, fields={"project_id": project}, owner=new.owner), objects))
        return ObjectView(make_list_body([kept.body for kept in made], more=False))


_RUN = BodyModel(shape(grader=Object, model_sample=optional(str), item=optional(Object)))
_VALIDATION = BodyModel(shape(grader=Object))


class Graders(Resource):
    """Graders are run and checked, but not kept."""

    path = "/fine_tuning/alpha/graders"

    def make_operations(self) -> tuple[Operation, ...]:
        return self.list_served()

    @serve("POST", f"{path}/run", body=_RUN)
    async def run_grader(self, call: Call, objects: Objects) -> ObjectView:
        grader = call.raw["grader"]
        metadata = {
            "errors": {**dict.fromkeys(_GRADER_ERRORS, False), **dict.fromkeys(_GRADER_DETAILS)},
            "execution_time": 0.01,
            "name": str(grader.get("name", "grader")),
            "sampled_model_name": None,
            "scores": {},
            "token_usage": None,
            "type": str(grader.get("type", "string_check")),
        }
        result = {"reward": 1.0, "metadata": metadata, "sub_rewards": {}, "model_grader_token_usage_per_model": {}}
        return ObjectView(result)

    @serve("POST", f"{path}/validate", body=_VALIDATION)
    async def validate_grader(self, call: Call, objects: Objects) -> ObjectView:
        return ObjectView({"grader": call.raw["grader"]})


def find_mistake(data: Data, *, few: bool) -> str | None:
    """Return what is wrong with the examples of a training file. If `few`, it is a mistake to have too few of them."""
    count = sum(1 for _ in islice(_list_examples(data), FEWEST_EXAMPLES))
    if not count or (few and count < FEWEST_EXAMPLES):
        return f"Training file has {count} example(s), but must have at least {FEWEST_EXAMPLES} examples"
    for number, row in enumerate(_list_examples(data), 1):
        example = try_parse(row.decode("utf-8", "replace"))
        if not isinstance(example, dict):
            return f"Invalid file format. Line {number} is not a dictionary"
        messages = example.get("messages")
        for at, message in enumerate(messages if isinstance(messages, list) else ()):
            role = message.get("role") if isinstance(message, dict) else None
            if role not in _ROLES:
                why = "is missing in value" if role is None else f"has the unknown value {clip(str(role))!r}"
                return f"Invalid file format. Example {number}, message {at + 1} Discriminator 'role' {why}"
    return None


def _list_examples(data: Data) -> Iterator[bytes]:
    """Yield the lines of a training file that are not blank."""
    return filter(bytes.strip, list_lines(data))


def list_events(job: KeptObject) -> Iterator[Body]:
    """Yield the events of a job in its present status, the oldest first."""
    status = job.status
    error = job.body["error"]
    shown: list[tuple[str, str, Body]] = [
        ("message", f"Created fine-tuning job: {job.id}", {}),
        ("message", f"Validating training file: {job.body['training_file']}", {}),
    ]
    if status == "failed":
        shown.append(("message", str((error or _STOPPED)["message"]), {}))
    elif status == "cancelled":
        shown.append(("message", "The job was cancelled", {}))
    elif status not in ("validating_files", "pending"):
        shown.append(("message", "Files validated, moving job to queued state", {}))
        if status != "queued":
            shown.append(("message", "Fine-tuning job started", {}))
        if status == "succeeded":
            total = _EPOCHS * _STEPS_OF_EPOCH
            for step in _list_steps():
                message = f"Step {step.number}/{total}: training loss={step.loss}"
                shown.append(("metrics", message, {**step.show(), "total_steps": total}))
            shown.append(("message", "New fine-tuned model created", {}))
            shown.append(("message", "The job has successfully completed", {}))
    for number, (kind, message, data) in enumerate(shown):
        yield {
            "object": "fine_tuning.job.event",
            "id": f"ftevent-{compute_fingerprint(job.id, 'event', number)[:24]}",
            "created_at": job.body["created_at"],
            "level": "error" if status == "failed" and number == len(shown) - 1 else "info",
            "message": message,
            "data": data,
            "type": kind,
        }


def list_checkpoints(job: KeptObject) -> Iterator[Body]:
    """Yield the checkpoints of a job, one after each epoch, the oldest first."""
    for step in islice(_list_steps(), _STEPS_OF_EPOCH - 1, None, _STEPS_OF_EPOCH):
        yield {
            "object": "fine_tuning.job.checkpoint",
            "id": f"ftckpt_{compute_fingerprint(job.id, 'checkpoint', step.number)[:24]}",
            "created_at": job.body["created_at"],
            "fine_tuned_model_checkpoint": f"{job.body['fine_tuned_model']}:ckpt-step-{step.number}",
            "fine_tuning_job_id": job.id,
            "metrics": step.show(),
            "step_number": step.number,
        }


class _Step(NamedTuple):
    number: int
    loss: float
    accuracy: float

    def show(self) -> Body:
        return {"step": self.number, "train_loss": self.loss, "train_mean_token_accuracy": self.accuracy}


def _list_steps() -> Iterator[_Step]:
    """Yield the steps of a job, with a loss that falls and an accuracy that rises."""
    for number in range(1, _EPOCHS * _STEPS_OF_EPOCH + 1):
        yield _Step(number, loss=round(2 / (1 + number / 5), 4), accuracy=round(1 - 0.5 / (1 + number / 5), 4))


def _show_method(method: Body, hyperparameters: Body) -> Body:
    """Return the method of a job with its own hyperparameters, which clients of some languages require."""
    kind = str(method["type"])
    inner = find_table(method, kind)
    return {**method, kind: {**inner, "hyperparameters": {**find_table(inner, "hyperparameters"), **hyperparameters}}}


def _read_hyperparameters(stated: Json, method: Body) -> Body:
    own = find_table(method, str(method.get("type")), "hyperparameters")
    usual = {"n_epochs": _EPOCHS, "batch_size": 1, "learning_rate_multiplier": 1.0}
    given = {**own, **(stated if isinstance(stated, Mapping) else {})}
    return {key: value if given.get(key) in (None, "auto") else given[key] for key, value in usual.items()}


_STOPPED: Body = {"code": "server_error", "message": "The job failed due to an internal error.", "param": None}
_GRADER_ERRORS = (
    "formula_parse_error", "invalid_variable_error", "model_grader_parse_error", "model_grader_refusal_error",
    "model_grader_server_error", "other_error", "python_grader_runtime_error", "python_grader_server_error",
    "sample_parse_error", "truncated_observation_error", "unresponsive_reward_error",
)  # fmt: skip
_GRADER_DETAILS = (
    "model_grader_server_error_details",
    "python_grader_runtime_error_details",
    "python_grader_server_error_type",
)
