"""OpenAI's own client with recorded objects: polls are replayed in order, forms whatever their boundary."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from mockserver.core.seed import Seed
from mockserver.media.formats import write_png
from mockserver.media.picture import draw
from tests.clients.payloads import MODEL
from tests.kit.served import served

SECRET = "sk-a-secret-that-is-never-written-1234567890"


def use(address: str) -> list[Any]:
    """Return what a program sees that uses objects of several kinds."""
    client = OpenAI(base_url=f"{address}/v1", api_key=SECRET, max_retries=0)
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}]}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body}
    file = client.files.create(file=("in.jsonl", json.dumps(line).encode()), purpose="batch")  # at a random boundary
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    seen: list[Any] = [batch.status]
    while batch.output_file_id is None:
        batch = client.batches.retrieve(batch.id)
        seen.append(batch.status)
    assert seen == ["validating", "in_progress", "completed"]
    seen.append(client.files.content(batch.output_file_id).text)
    store = client.vector_stores.create(name="docs").id
    client.vector_stores.files.upload_and_poll(vector_store_id=store, file=("a.txt", b"Trains to Oslo"))
    seen.append([each.score for each in client.vector_stores.search(store, query="trains")])
    conversation = client.conversations.create().id
    for text in ("one", "two"):
        answer = client.responses.create(model=MODEL, input=text, conversation=conversation)
        seen.append(answer.output_text)
    seen.append([item.id for item in client.conversations.items.list(conversation)])
    seen.append(client.conversations.delete(conversation).deleted)
    return seen


def use_media(address: str) -> list[Any]:
    """Return what a program sees that speaks, listens, edits pictures and reads files."""
    with OpenAI(base_url=f"{address}/v1", api_key=SECRET, max_retries=0) as client:
        said = client.audio.speech.create(model="tts-1", voice="alloy", input="The train leaves.").read()
        file = ("said.mp3", said)
        heard = [
            client.audio.transcriptions.create(model="whisper-1", file=file, response_format=form)
            for form in ("text", "verbose_json")
        ]
        pieces = [event.type for event in client.audio.transcriptions.create(model=HEARER, file=file, stream=True)]
        picture = ("a.png", write_png(draw("A cat", 64, 64, Seed())))
        edited = client.images.edit(model="gpt-image-2", image=[picture, picture], mask=picture, prompt="a red hat")
        uploaded = client.uploads.create(bytes=4, filename="a.txt", mime_type="text/plain", purpose="user_data")
        parts = [client.uploads.parts.create(uploaded.id, data=data).id for data in (b"ab", b"cd")]
        whole = client.uploads.complete(uploaded.id, part_ids=parts)
        skill = client.skills.create(files=[("s/SKILL.md", b"---\nname: s\ndescription: d\n---\n")])
        archive = client.skills.content.retrieve(skill.id).read()
        job = client.fine_tuning.jobs.create(
            model="gpt-4.1", training_file=client.files.create(file=("t.jsonl", TRAINING), purpose="fine-tune").id
        )
        steps = [client.fine_tuning.jobs.retrieve(job.id).status for _ in range(3)]
        return [said, *heard, pieces, edited, whole, archive, job.status, steps]


HEARER = "gpt-4o-transcribe"
TRAINING = b'{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n' * 10


@pytest.mark.parametrize("program", [use, use_media])
def test_what_was_recorded_is_replayed(
    program: Callable[[str], list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCKSERVER_UPSTREAM_KEY_OPENAI", SECRET)
    kept = f"cassettes: {tmp_path}, cassette: objects"
    with served("settings: {unmatched: generate}") as upstream:
        record = f"settings: {{{kept}, record: once, upstream: {{openai: {upstream.address}/v1}}}}"
        with served(record) as recording:
            recorded = program(recording.address)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if SECRET.encode() in path.read_bytes()]
    for path in (tmp_path / "objects.files").glob("*"):
        assert path.stem == sha256(path.read_bytes()).hexdigest()[: len(path.stem)]
    with served(f"settings: {{{kept}, unmatched: error}}") as replaying:
        assert program(replaying.address) == recorded
