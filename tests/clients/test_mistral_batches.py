"""Mistral's client with files and batch jobs: what it uploads is read, and what jobs answer is downloaded."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mistralai.client import Mistral, errors
from mistralai.client.models import BatchJob, ChatCompletionResponse
from mistralai.extra.batch import BatchClient

from mockserver.testing import MockServer

SMALL = "mistral-small-latest"
CHAT = "/v1/chat/completions"
Json = Any


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="error") as running:
        running.on(last_user="ping").reply("pong")
        running.on(last_user="busy").fail(429)
        running.on(operation="ocr", last_user="*invoice.pdf*").reply(markdown="# Invoice")
        yield running


@pytest.fixture
def client(server: MockServer) -> Iterator[Mistral]:
    with connect(server) as opened:
        yield opened


def connect(server: MockServer, key: str = "any") -> Mistral:
    return Mistral(server_url=server.base_url("mistral"), api_key=key)


def ask(text: str, **more: Json) -> Json:
    return {"messages": [{"role": "user", "content": text}], **more}


def upload(client: Mistral, *lines: Json, name: str = "in.jsonl") -> str:
    data = "\n".join(map(json.dumps, lines)).encode()
    return client.files.upload(file={"file_name": name, "content": data}, purpose="batch").id


def upload_invoice(client: Mistral) -> str:
    return client.files.upload(file={"file_name": "invoice.pdf", "content": b"%PDF-1.4"}, purpose="ocr").id


def wait(client: Mistral, job: BatchJob) -> BatchJob:
    states = [job.status]
    while job.status in ("QUEUED", "RUNNING"):
        job = client.batch.jobs.get(job_id=job.id)
        states.append(job.status)
    assert states == ["QUEUED", "RUNNING", "SUCCESS"]
    return job


def download(client: Mistral, name: Json) -> list[Json]:
    return [*map(json.loads, client.files.download(file_id=name).read().splitlines())]


def test_requests_in_files(server: MockServer, client: Mistral) -> None:
    first = upload(client, {"custom_id": "a", "body": ask("ping")}, {"custom_id": "b", "body": ask("busy")})
    second = upload(client, {"body": ask("ping", model="ignored")}, name="more.jsonl")
    made = client.batch.jobs.create(
        input_files=[first, second], model=SMALL, endpoint=CHAT, metadata={"team": "a"}, timeout_hours=2
    )
    assert (made.total_requests, made.completed_at, made.output_file) == (0, None, None)
    job = wait(client, made)

    counts = (job.total_requests, job.completed_requests, job.succeeded_requests, job.failed_requests)
    assert counts == (3, 3, 2, 1)
    assert (job.input_files, job.model, job.metadata, job.outputs) == ([first, second], SMALL, {"team": "a"}, None)
    assert [(error.message, error.count) for error in job.errors] == [("HTTP Error, status code: 429", 1)]
    answered = download(client, job.output_file)
    assert [line["custom_id"] for line in answered] == ["a", None]
    assert [line["response"]["body"]["model"] for line in answered] == [SMALL, SMALL]
    assert answered[0]["response"]["body"]["choices"][0]["message"]["content"] == "pong"
    (refused,) = download(client, job.error_file)
    assert (refused["custom_id"], refused["error"], refused["response"]["status_code"]) == ("b", None, 429)
    assert json.loads(refused["response"]["body"])["type"] == "rate_limited"
    assert [call.part_of for call in server.calls if call.part_of] == [
        f'line 1 of {job.id}, custom_id "a"',
        f'line 2 of {job.id}, custom_id "b"',
        f"line 1 of {job.id}",
    ]


def test_requests_in_the_job(client: Mistral) -> None:
    requests: Json = [{"custom_id": name, "body": ask(text)} for name, text in (("a", "ping"), ("b", "busy"))]
    job = wait(client, client.batch.jobs.create(requests=requests, model=SMALL, endpoint=CHAT))
    assert isinstance(job.outputs, list)
    assert [line["custom_id"] for line in job.outputs] == ["a", "b"]
    assert client.batch.jobs.get(job_id=job.id, inline=False).outputs is None
    assert [each.id for each in client.batch.jobs.list(status=["SUCCESS", "RUNNING"], model=SMALL).data or ()] == [
        job.id
    ]
    assert client.batch.jobs.list(status=["RUNNING"]).total == 0
    assert client.batch.jobs.delete(job_id=job.id).deleted
    with pytest.raises(errors.SDKError, match="No batch job matches the given query") as caught:
        client.batch.jobs.get(job_id=job.id)
    assert caught.value.status_code == 404


def test_the_typed_wrapper_runs_a_job_from_end_to_end(client: Mistral) -> None:
    wrapper: Json = BatchClient(client, endpoint=CHAT, response_body_type=ChatCompletionResponse)
    lines = b"\n".join([json.dumps({"custom_id": text, "body": ask(text)}).encode() for text in ("ping", "busy")])
    done = asyncio.run(wrapper.run(lines, model=SMALL, poll_interval_seconds=0, inline_threshold=1))
    assert (done.succeeded, done.failed) == (1, 1)
    assert done.by_id()["ping"].choices[0].message.content == "pong"
    assert [(each.custom_id, each.status_code) for each in done.errors()] == [("busy", 429)]
    assert client.files.list().total == 0  # it deletes what it made


def test_other_endpoints_and_agents(client: Mistral) -> None:
    document = {"document": {"type": "file", "file_id": upload_invoice(client)}}
    request: Json = {"custom_id": "a", "body": document}
    scan = wait(client, client.batch.jobs.create(requests=[request], model="mistral-ocr-latest", endpoint="/v1/ocr"))
    request = {"custom_id": "b", "body": ask("ping", model="ignored")}
    chat = wait(client, client.batch.jobs.create(requests=[request], agent_id="ag_1", endpoint=CHAT))
    (pages,), (answer,) = (job.outputs for job in (scan, chat) if job.outputs)
    assert pages["response"]["body"]["pages"][0]["markdown"] == "# Invoice"
    assert answer["response"]["body"]["model"] == "ag_1"


def test_a_job_is_cancelled(client: Mistral) -> None:
    requests: Json = [{"custom_id": "a", "body": ask("ping")}]
    queued = client.batch.jobs.create(requests=requests, model=SMALL, endpoint=CHAT)
    cancelled = client.batch.jobs.cancel(job_id=queued.id)
    assert (cancelled.status, cancelled.total_requests, cancelled.output_file) == ("CANCELLED", 0, None)
    running = client.batch.jobs.create(requests=requests, model=SMALL, endpoint=CHAT)
    client.batch.jobs.get(job_id=running.id)
    assert client.batch.jobs.cancel(job_id=running.id).status == "CANCELLATION_REQUESTED"
    ended = client.batch.jobs.get(job_id=running.id)
    assert (ended.status, ended.succeeded_requests) == ("CANCELLED", 1)
    assert client.batch.jobs.cancel(job_id=running.id).status == "CANCELLED"
    assert [job.id for job in client.batch.jobs.list(order_by="created").data or ()] == [queued.id, running.id]


@pytest.mark.parametrize(("last", "shown"), [("failed", "FAILED"), ("expired", "TIMEOUT_EXCEEDED")])
def test_a_rule_states_how_a_job_goes_on(server: MockServer, client: Mistral, last: str, shown: str) -> None:
    server.on(operation="create_batch").reply(status=["in_progress", last])
    requests: Json = [{"custom_id": "a", "body": ask("ping")}]
    made = client.batch.jobs.create(requests=requests, model=SMALL, endpoint=CHAT)
    job = client.batch.jobs.get(job_id=made.id)
    assert (made.status, job.status) == ("RUNNING", shown)
    assert (job.output_file is None, len(job.errors)) == ((True, 1) if last == "failed" else (False, 0))


def test_a_file_is_kept_and_read(server: MockServer, client: Mistral) -> None:
    name = upload_invoice(client)
    assert upload_invoice(client) == name
    shown = client.files.retrieve(file_id=name)
    told = (shown.filename, shown.purpose, shown.sample_type, shown.size_bytes, shown.mimetype, shown.deleted)
    assert told == ("invoice.pdf", "ocr", "ocr_input", 8, "application/pdf", False)
    lines = upload(client, {"body": ask("ping")}, {"body": ask("ping")})
    assert client.files.retrieve(file_id=lines).num_lines == 2
    assert [each.id for each in client.files.list().data] == [lines, name]
    assert [each.id for each in client.files.list(page=1, page_size=1).data] == [name]
    assert [each.id for each in client.files.list(search="voice", sample_type=["ocr_input", "instruct"]).data] == [name]
    assert client.files.list(purpose="batch", source=["mistral"]).total == 0

    document: Json = {"type": "file", "file_id": name}
    assert client.ocr.process(model="mistral-ocr-latest", document=document).pages[0].markdown == "# Invoice"
    parts: Json = [{"type": "text", "text": "ping"}, document]
    said = client.chat.complete(model=SMALL, messages=[{"role": "user", "content": parts}])
    assert said.choices[0].message is not None
    assert said.choices[0].message.content == "pong"
    assert client.files.delete(file_id=name).deleted
    for refused in (
        lambda: client.ocr.process(model="mistral-ocr-latest", document=document),
        lambda: client.chat.complete(model=SMALL, messages=[{"role": "user", "content": parts}]),
    ):
        with pytest.raises(errors.SDKError, match="invalid_request_file") as caught:
            refused()
        assert caught.value.status_code == 400


def test_a_signed_url_leads_here_and_needs_no_header() -> None:
    with MockServer(unmatched="error", keys=["right"]) as server, connect(server, "right") as client:
        server.on(operation="ocr", last_user="*invoice.pdf*").reply(markdown="# Invoice")
        url = client.files.get_signed_url(file_id=upload_invoice(client), expiry=2).url
        assert url.startswith(server.url)
        assert httpx2.get(url).content == b"%PDF-1.4"
        assert "right" not in url
        assert httpx2.get(url.replace("sig=", "sig=a")).status_code == 401
        document: Json = {"type": "document_url", "document_url": url}
        assert client.ocr.process(model="mistral-ocr-latest", document=document).pages[0].markdown == "# Invoice"
        with pytest.raises(errors.SDKError, match="less than or equal to 168"):
            client.files.get_signed_url(file_id=upload_invoice(client), expiry=169)


def test_what_is_wrong_with_a_job(client: Mistral) -> None:
    with pytest.raises(errors.SDKError, match="No file matches the given query") as caught:
        client.batch.jobs.create(input_files=["unknown"], model=SMALL, endpoint=CHAT)
    assert caught.value.status_code == 404
    with pytest.raises(errors.SDKError, match="has the purpose 'ocr'") as caught:
        client.batch.jobs.create(input_files=[upload_invoice(client)], model=SMALL, endpoint=CHAT)
    assert caught.value.status_code == 422
    with pytest.raises(errors.SDKError, match='"loc":\\["body","input_files"\\]'):
        client.batch.jobs.create(model=SMALL, endpoint=CHAT)
    with pytest.raises(errors.SDKError, match="greater than or equal to 1"):
        client.batch.jobs.create(input_files=["any"], endpoint=CHAT, timeout_hours=0)
    with pytest.raises(errors.SDKError, match='"line_number":2') as caught:
        client.files.upload(file={"file_name": "a.jsonl", "content": b'{"body": {}}\n{broken'}, purpose="batch")
    assert json.loads(caught.value.body)["detail"] == "Invalid file format."


def test_unknown_files_and_jobs_exist_unless_they_are_errors() -> None:
    with MockServer(unmatched="generate") as server, connect(server) as client:
        assert client.batch.jobs.get(job_id="unknown").status == "SUCCESS"
        assert client.files.retrieve(file_id="unknown").purpose == "ocr"
        document: Json = {"type": "file", "file_id": "unknown"}
        pages = client.ocr.process(model="mistral-ocr-latest", document=document).pages
        assert pages[0].markdown == "# unknown\n\nPage 1 of unknown."
        job = client.batch.jobs.create(input_files=["unknown"], model=SMALL, endpoint=CHAT)
        assert client.batch.jobs.get(job_id=job.id).total_requests == 0
