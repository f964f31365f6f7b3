"""OpenAI's own client with uploads, containers, fine-tuning jobs, evals, skills and webhook endpoints."""

import hashlib
import io
import json
import time
import zipfile
from base64 import b64decode
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.fine_tuning import FineTuningJob

from mockserver.dialects._openai_api.objects.fine_tuning import FEWEST_EXAMPLES, find_mistake
from mockserver.dialects._openai_api.objects.skills import read_front_matter
from tests.clients.payloads import MODEL

RULES = """
rules:
  - when: {operation: create_fine_tuning_job, param.suffix: fail}
    then: {status: [validating_files, failed]}
  - when: {operation: create_eval_run, param.name: fail}
    then: {status: [queued, in_progress, failed]}
  - {when: {last_user: add}, then: {items: [{type: code_interpreter_call, code: print(1 + 2)}], text: "3"}}
"""
UPLOAD: Any = {"filename": "a.txt", "mime_type": "text/plain", "purpose": "user_data"}


def test_a_file_is_uploaded_in_parts(strict_client: OpenAI) -> None:
    data = bytes(range(256)) * 4
    done = strict_client.uploads.upload_file_chunked(
        file=io.BytesIO(data).getvalue(), **UPLOAD, bytes=len(data), part_size=300, md5=hashlib.md5(data).hexdigest()
    )
    assert done.status == "completed"
    assert done.file is not None
    assert (done.file.filename, done.file.bytes, done.file.purpose) == ("a.txt", len(data), "user_data")
    assert strict_client.files.content(done.file.id).content == data
    with pytest.raises(openai.BadRequestError, match="is completed"):
        strict_client.uploads.parts.create(done.id, data=b"more")


def test_the_order_of_part_ids_counts(client: OpenAI) -> None:
    upload = client.uploads.create(**UPLOAD, bytes=6).id
    one, two = (client.uploads.parts.create(upload, data=data).id for data in (b"one", b"two"))
    done = client.uploads.complete(upload, part_ids=[two, one])
    assert done.file is not None
    assert client.files.content(done.file.id).content == b"twoone"


def test_parts_that_are_not_what_was_announced_are_refused(client: OpenAI) -> None:
    upload = client.uploads.create(**UPLOAD, bytes=4).id
    part = client.uploads.parts.create(upload, data=b"one").id
    with pytest.raises(openai.BadRequestError, match="The parts have 3 bytes in total, but the upload announced 4"):
        client.uploads.complete(upload, part_ids=[part])
    with pytest.raises(openai.BadRequestError, match="No part found with id 'part_x'"):
        client.uploads.complete(upload, part_ids=["part_x"])
    assert client.uploads.cancel(upload).status == "cancelled"
    with pytest.raises(openai.BadRequestError, match="is cancelled"):
        client.uploads.complete(upload, part_ids=[part])


def test_an_upload_with_another_checksum_is_refused(client: OpenAI) -> None:
    upload = client.uploads.create(**UPLOAD, bytes=3).id
    part = client.uploads.parts.create(upload, data=b"one").id
    with pytest.raises(openai.BadRequestError, match="MD5"):
        client.uploads.complete(upload, part_ids=[part], md5="0" * 32)


def test_a_container_and_its_files(client: OpenAI) -> None:
    uploaded = client.files.create(file=("data.csv", b"a,b"), purpose="user_data").id
    container = client.containers.create(name="box", file_ids=[uploaded])
    assert (container.status, container.name) == ("running", "box")
    [shared] = client.containers.files.list(container.id)
    assert (shared.path, shared.bytes) == ("/mnt/data/data.csv", 3)
    own = client.containers.files.create(container.id, file=("own.txt", b"mine"))
    assert client.containers.files.content.retrieve(own.id, container_id=container.id).content == b"mine"
    assert client.containers.files.retrieve(own.id, container_id=container.id).to_dict() == own.to_dict()
    client.containers.files.delete(own.id, container_id=container.id)
    assert [file.id for file in client.containers.files.list(container.id)] == [shared.id]
    client.containers.delete(container.id)
    with pytest.raises(openai.NotFoundError, match=f"Container with id '{container.id}' not found"):
        client.containers.files.list(container.id)


def test_code_is_run_in_a_container_that_can_be_looked_up(strict_client: OpenAI) -> None:
    client = strict_client
    file = client.files.create(file=("a.csv", b"1,2"), purpose="user_data").id
    asked: Any = {"model": MODEL, "input": "add"}
    tool: Any = {"type": "code_interpreter", "container": {"type": "auto", "file_ids": [file], "memory_limit": "4g"}}
    call = client.responses.create(**asked, tools=[tool]).output[0]
    assert call.type == "code_interpreter_call"
    assert client.containers.retrieve(call.container_id).memory_limit == "4g"
    assert [each.path for each in client.containers.files.list(call.container_id)] == ["/mnt/data/a.csv"]
    again: Any = {"type": "code_interpreter", "container": call.container_id}
    assert client.responses.create(**asked, tools=[again]).output_text == "3"
    for unknown, what in (({"type": "auto", "file_ids": ["file-x"]}, "File object"), ("cntr_x", "Container with id")):
        other: Any = {"type": "code_interpreter", "container": unknown}
        with pytest.raises(openai.NotFoundError, match=what):
            client.responses.create(**asked, tools=[other])


def train(client: OpenAI, *examples: Any, **more: Any) -> FineTuningJob:
    """Start a job with these examples."""
    data = "\n".join(map(json.dumps, examples)).encode()
    file = client.files.create(file=("train.jsonl", data), purpose="fine-tune").id
    return client.fine_tuning.jobs.create(model="gpt-4.1-mini", training_file=file, **more)


def follow(client: OpenAI, job: FineTuningJob) -> list[FineTuningJob]:
    """Return a job as each look-up shows it, until it has ended."""
    seen = [job]
    while seen[-1].status not in ("succeeded", "failed", "cancelled"):
        seen.append(client.fine_tuning.jobs.retrieve(job.id))
    return seen


EXAMPLE = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hi!"}]}


def test_a_job_makes_a_model(client: OpenAI) -> None:
    seen = follow(client, train(client, EXAMPLE, suffix="ann", metadata={"a": "b"}))
    assert [job.status for job in seen] == ["validating_files", "running", "succeeded"]
    assert [job.fine_tuned_model for job in seen[:2]] == [None, None]
    done = seen[-1]
    assert (done.fine_tuned_model or "").startswith("ft:gpt-4.1-mini:mockserver:ann:")
    assert client.files.content(done.result_files[0]).text.startswith("step,train_loss")
    events = list(client.fine_tuning.jobs.list_events(done.id, limit=5))
    assert (events[0].message, events[-1].message) == (
        "The job has successfully completed",
        f"Created fine-tuning job: {done.id}",
    )
    steps = [each.step_number for each in client.fine_tuning.jobs.checkpoints.list(done.id)]
    assert steps == sorted(steps, reverse=True)
    assert [job.id for job in client.fine_tuning.jobs.list(metadata={"a": "b"})] == [done.id]
    tuned = done.fine_tuned_model or ""
    assert tuned in [model.id for model in client.models.list()]
    assert client.chat.completions.create(model=tuned, messages=[{"role": "user", "content": "hi"}]).model == tuned
    assert client.models.delete(tuned).deleted
    assert tuned not in [model.id for model in client.models.list()]
    assert client.fine_tuning.jobs.retrieve(done.id).fine_tuned_model == tuned
    assert list(client.fine_tuning.jobs.list(metadata={"a": "c"})) == []


def test_a_job_shows_the_hyperparameters_of_its_method(client: OpenAI) -> None:
    usual = {"n_epochs": 3, "batch_size": 1, "learning_rate_multiplier": 1.0}
    supervised = train(client, EXAMPLE).to_dict()
    assert supervised["method"] == {"type": "supervised", "supervised": {"hyperparameters": usual}}
    stated: Any = {"type": "dpo", "dpo": {"hyperparameters": {"beta": 0.2, "n_epochs": 2, "batch_size": "auto"}}}
    shown = train(client, EXAMPLE, method=stated).to_dict()
    assert shown["method"] == {"type": "dpo", "dpo": {"hyperparameters": {"beta": 0.2, **usual, "n_epochs": 2}}}
    assert shown["hyperparameters"] == {**usual, "n_epochs": 2}


def test_a_training_file_with_a_mistake_fails_the_job(client: OpenAI) -> None:
    *_, failed = follow(client, train(client, EXAMPLE, {"messages": [{"content": "hi"}]}))
    assert failed.error is not None
    assert (failed.status, failed.error.code, failed.error.param) == (
        "failed",
        "invalid_training_file",
        "training_file",
    )
    assert "Example 2, message 1 Discriminator 'role' is missing in value" in failed.error.message


def test_blank_lines_are_no_examples() -> None:
    data = b"\n" * FEWEST_EXAMPLES + b"\n \n".join([json.dumps(EXAMPLE).encode()] * FEWEST_EXAMPLES)
    assert find_mistake(data, few=True) is None
    assert find_mistake(b"\n" * FEWEST_EXAMPLES, few=False) is not None


def test_a_rule_fails_a_job(client: OpenAI) -> None:
    seen = follow(client, train(client, EXAMPLE, suffix="fail"))
    assert [job.status for job in seen] == ["validating_files", "failed"]
    assert seen[-1].error is not None
    assert not [model.id for model in client.models.list() if model.id.startswith("ft:")]


def test_a_job_is_paused_resumed_and_cancelled(strict_client: OpenAI) -> None:
    jobs = strict_client.fine_tuning.jobs
    job = train(strict_client, EXAMPLE)
    assert [jobs.pause(job.id).status, jobs.retrieve(job.id).status] == ["paused", "paused"]
    assert jobs.resume(job.id).status == "validating_files"
    assert jobs.cancel(job.id).status == "cancelled"
    with pytest.raises(openai.BadRequestError, match=f"Job has already completed: {job.id}"):
        jobs.cancel(job.id)
    with pytest.raises(openai.NotFoundError) as caught:
        jobs.retrieve("ftjob-x")
    assert (caught.value.param, caught.value.code) == ("fine_tune_id", "fine_tune_not_found")
    with pytest.raises(openai.BadRequestError, match="invalid training_file: file-x"):
        jobs.create(model="gpt-4.1-mini", training_file="file-x")


SOURCE: Any = {
    "type": "jsonl",
    "source": {"type": "file_content", "content": [{"item": {"q": "1 + 1"}}, {"item": {"q": "2 + 2"}}]},
}


def test_each_item_of_an_eval_passes(client: OpenAI) -> None:
    check: Any = {"type": "string_check", "name": "sum", "input": "a", "operation": "eq", "reference": "a"}
    made = client.evals.create(
        name="sums", data_source_config={"type": "custom", "item_schema": {}}, testing_criteria=[check]
    )
    run = client.evals.runs.create(made.id, data_source=SOURCE)
    assert (run.status, run.result_counts.passed) == ("queued", 0)
    run = client.evals.runs.retrieve(run.id, eval_id=made.id)
    assert (run.status, run.result_counts.passed, run.result_counts.total) == ("completed", 2, 2)
    items = list(client.evals.runs.output_items.list(run.id, eval_id=made.id, limit=1, order="asc"))
    assert [item.datasource_item for item in items] == [{"q": "1 + 1"}, {"q": "2 + 2"}]
    again = client.evals.runs.output_items.retrieve(items[0].id, eval_id=made.id, run_id=run.id)
    assert again.to_dict() == items[0].to_dict()
    assert client.evals.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError, match=f"Eval with id '{made.id}' not found"):
        client.evals.runs.list(made.id)


def test_a_rule_fails_a_run(client: OpenAI) -> None:
    made = client.evals.create(data_source_config={"type": "custom", "item_schema": {}}, testing_criteria=[])
    run = client.evals.runs.create(made.id, name="fail", data_source=SOURCE)
    assert [client.evals.runs.retrieve(run.id, eval_id=made.id).status for _ in range(3)] == [
        "in_progress",
        "failed",
        "failed",
    ]


SKILL = b"---\nname: greeter\ndescription: Says hello.\n---\nSay hello.\n"


def test_a_skill_and_its_versions(client: OpenAI) -> None:
    made = client.skills.create(files=[("greeter/SKILL.md", SKILL), ("greeter/a.txt", b"a")])
    assert (made.name, made.description, made.latest_version) == ("greeter", "Says hello.", "1")
    with zipfile.ZipFile(io.BytesIO(client.skills.content.retrieve(made.id).content)) as archive:
        assert archive.read("greeter/SKILL.md") == SKILL
    second = client.skills.versions.create(made.id, files=[("greeter/SKILL.md", SKILL)], default=True)
    assert second.version == "2"
    assert client.skills.retrieve(made.id).default_version == "2"
    assert [each.version for each in client.skills.versions.list(made.id)] == ["2", "1"]
    assert client.skills.update(made.id, default_version="1").default_version == "1"
    assert client.skills.versions.delete("2", skill_id=made.id).version == "2"
    assert client.skills.delete(made.id).deleted


def test_the_secret_of_a_webhook_endpoint_is_shown_once(client: OpenAI) -> None:
    made = client.webhooks.create(name="hook", url="https://example.com/hook", event_types=["batch.completed"])
    assert len(b64decode(made.signing_secret.removeprefix("whsec_"), validate=True)) == 24
    assert not hasattr(client.webhooks.retrieve(made.id), "signing_secret")
    assert client.webhooks.update(made.id, name="other").name == "other"
    assert client.webhooks.rotate_secret(made.id).signing_secret != made.signing_secret
    assert client.webhooks.test(made.id, event_type="batch.completed").success
    assert "batch.completed" in client.webhooks.event_types.list().data
    assert [each.id for each in client.webhooks.list()] == [made.id]
    assert client.webhooks.delete(made.id).deleted


def test_nothing_in_a_skill_leads_out_of_its_folder(client: OpenAI) -> None:
    made = client.skills.create(files=[("s/SKILL.md", SKILL), ("../../evil", b"a"), ("/abs", b"b"), ("a\\..\\b", b"c")])
    with zipfile.ZipFile(io.BytesIO(client.skills.content.retrieve(made.id).content)) as archive:
        assert [name for name in archive.namelist() if ".." in name or name.startswith("/")] == []


def test_a_skill_that_is_too_large_is_refused(client: OpenAI) -> None:
    with pytest.raises(openai.APIStatusError, match="A skill may have 50,000,000 bytes") as caught:
        client.skills.create(files=[("s/SKILL.md", b"a" * 50_000_001)])
    assert caught.value.status_code == 413


@pytest.mark.parametrize("text", ["---" + "\n" * 50_000, "---\nname: a" + " " * 50_000 + "b\n---", "---\nname: a"])
def test_a_skill_is_read_in_no_time(text: str) -> None:
    before = time.process_time()
    read_front_matter(text)
    assert time.process_time() - before < 1


def test_a_damaged_archive_describes_nothing(client: OpenAI) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("s/SKILL.md", SKILL * 9)
    broken = bytearray(written.getvalue())
    broken[42:52] = b"\xff" * 10
    assert client.skills.create(files=("s.zip", bytes(broken))).name == "skill"
