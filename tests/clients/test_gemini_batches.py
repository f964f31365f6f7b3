"""Google's client with files and batches: what it uploads is read, and what batches answer is downloaded."""

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from mockserver.dialects.gemini import batches
from mockserver.testing import MockServer

FLASH = "gemini-2.5-flash"
ENDED = types.JobState.JOB_STATE_SUCCEEDED


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="generate") as running:
        running.on(last_user="ping").reply("pong")
        running.on(last_user="busy").fail(429)
        yield running


@pytest.fixture
def client(server: MockServer) -> Iterator[genai.Client]:
    options = types.HttpOptions(base_url=server.base_url("gemini"))
    with genai.Client(api_key="any", http_options=options) as opened:
        yield opened


def ask(text: str, **more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": text}]}], **more}


def wait(client: genai.Client, name: str | None) -> types.BatchJob:
    states = list[types.JobState | None]()
    while True:
        job = client.batches.get(name=name or "")
        states.append(job.state)
        if job.done:
            assert states == [types.JobState.JOB_STATE_RUNNING, ENDED]
            return job


def test_requests_in_the_body(server: MockServer, client: genai.Client) -> None:
    source: Any = [ask("ping", metadata={"key": "a"}), ask("busy", metadata={"key": "b"}), ask("ping")]
    made = client.batches.create(model=FLASH, src=source, config={"display_name": "mine"})
    assert (made.state, made.display_name, made.model) == (
        types.JobState.JOB_STATE_PENDING,
        "mine",
        f"models/{FLASH}",
    )
    assert made.dest is None
    job = wait(client, made.name)
    assert job.dest is not None
    first, second, third = job.dest.inlined_responses or ()
    assert first.response is not None
    assert third.response is not None
    assert (first.response.text, first.metadata, third.response.text) == ("pong", {"key": "a"}, "pong")
    assert second.error is not None
    assert (second.error.code, second.metadata) == (8, {"key": "b"})
    assert [call.part_of for call in server.calls if call.part_of][:2] == [
        f'request 1 of {made.name}, key "a"',
        f'request 2 of {made.name}, key "b"',
    ]
    assert [each.name for each in client.batches.list()] == [made.name]
    client.batches.delete(name=made.name or "")
    with pytest.raises(errors.ClientError) as caught:
        client.batches.get(name=made.name or "")
    assert caught.value.code == 404


def test_requests_in_a_file(client: genai.Client) -> None:
    lines = [
        json.dumps({"key": "a", "request": ask("ping")}),
        "{broken",
        json.dumps({"key": "c", "request": {"contents": []}}),
        json.dumps({"key": "d"}),
    ]
    config = types.UploadFileConfig(mime_type="jsonl", display_name="in")
    file = client.files.upload(file=BytesIO("\n".join(lines).encode()), config=config)
    job = wait(client, client.batches.create(model=FLASH, src=file.name or "").name)
    assert job.dest is not None
    data = client.files.download(file=job.dest.file_name or "")
    first, *others = map(json.loads, data.decode().splitlines())
    assert first["key"] == "a"
    assert first["response"]["candidates"][0]["content"]["parts"] == [{"text": "pong"}]
    assert [each["error"]["code"] for each in others] == [3, 3, 3]
    assert "line 2" in others[0]["error"]["message"]
    assert "contents is not specified" in others[1]["error"]["message"]
    shown = client.files.get(name=job.dest.file_name or "")
    assert (shown.source, shown.size_bytes) == (types.FileSource.GENERATED, len(data))


@pytest.mark.filterwarnings("ignore::google.genai._common.ExperimentalWarning")
def test_embeddings(client: genai.Client) -> None:
    asked = types.EmbedContentBatch(contents=["ping", "pong"])
    source = types.EmbeddingsBatchJobSource(inlined_requests=asked)
    job = wait(client, client.batches.create_embeddings(model="gemini-embedding-001", src=source).name)
    assert job.dest is not None
    found = [each.response for each in job.dest.inlined_embed_content_responses or ()]
    single = client.models.embed_content(model="gemini-embedding-001", contents="ping")
    assert [each is not None and each.embedding is not None for each in found] == [True, True]
    assert single.embeddings is not None
    assert found[0] is not None
    assert found[0].embedding is not None
    assert found[0].embedding.values == single.embeddings[0].values


def test_a_batch_is_cancelled_once(client: genai.Client) -> None:
    name = client.batches.create(model=FLASH, src=[ask("ping")]).name or ""  # type: ignore[list-item]
    client.batches.cancel(name=name)
    job = client.batches.get(name=name)
    assert (job.state, job.dest) == (types.JobState.JOB_STATE_CANCELLED, None)
    with pytest.raises(errors.ClientError, match="cannot be cancelled"):
        client.batches.cancel(name=name)


def test_a_rule_states_how_a_batch_and_a_file_go_on(server: MockServer, client: genai.Client) -> None:
    server.on(operation="create_batch").reply(status=["in_progress", "expired"])
    server.on(operation="create_file").reply(status=["uploaded", "error"])
    name = client.batches.create(model=FLASH, src=[ask("ping")]).name or ""  # type: ignore[list-item]
    assert client.batches.get(name=name).state == types.JobState.JOB_STATE_EXPIRED
    file = client.files.upload(file=BytesIO(b"x"), config={"mime_type": "video/mp4"})
    assert file.state == types.FileState.PROCESSING
    assert client.files.get(name=file.name or "").state == types.FileState.FAILED


def test_pieces_of_an_upload_are_joined(client: genai.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("google.genai._api_client.CHUNK_SIZE", 1_000_000)
    lines = [json.dumps({"key": str(at), "request": ask("ping " * 100)}) for at in range(4_000)]
    file = client.files.upload(file=BytesIO("\n".join(lines).encode()), config={"mime_type": "jsonl"})
    assert client.files.download(file=file.name or "").decode().splitlines() == lines


def test_unknown_batches_and_files() -> None:
    with MockServer(unmatched="error") as server:
        options = types.HttpOptions(base_url=server.base_url("gemini"))
        with genai.Client(api_key="any", http_options=options) as client:
            for ask_for in (client.batches.get, client.batches.delete, client.batches.cancel):
                with pytest.raises(errors.ClientError, match="not found"):
                    ask_for(name="batches/unknown")
            with pytest.raises(errors.ClientError, match="File"):
                client.batches.create(model=FLASH, src="files/unknown")
    with MockServer(unmatched="generate") as server:
        options = types.HttpOptions(base_url=server.base_url("gemini"))
        with genai.Client(api_key="any", http_options=options) as client:
            assert client.batches.get(name="batches/unknown").state == ENDED


def test_a_batch_of_too_many_requests_is_refused(client: genai.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_REQUESTS", 2)
    source: Any = [ask("ping")] * 3
    with pytest.raises(errors.ClientError, match="at most 2 requests"):
        client.batches.create(model=FLASH, src=source)
    lines = b"".join([json.dumps({"key": None, "request": ask("ping")}).encode() + b"\n" for _ in range(3)])
    file = client.files.upload(file=BytesIO(lines), config=types.UploadFileConfig(mime_type="jsonl"))
    with pytest.raises(errors.ClientError, match="at most 2 requests"):
        client.batches.create(model=FLASH, src=file.name or "")
    assert [*client.batches.list()] == []


def test_a_batch_without_requests_is_refused(client: genai.Client) -> None:
    with pytest.raises(errors.ClientError, match="requests must be set"):
        client.batches.create(model=FLASH, src=[])
