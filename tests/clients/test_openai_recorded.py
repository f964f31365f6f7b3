"""OpenAI's own client with recorded objects: polls are replayed in order, forms whatever their boundary."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

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


def test_what_was_recorded_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCKSERVER_UPSTREAM_KEY_OPENAI", SECRET)
    kept = f"cassettes: {tmp_path}, cassette: objects"
    with served("settings: {unmatched: generate}") as upstream:
        record = f"settings: {{{kept}, record: once, upstream: {{openai: {upstream.address}/v1}}}}"
        with served(record) as recording:
            recorded = use(recording.address)
    assert recorded[:3] == ["validating", "in_progress", "completed"]
    assert SECRET not in (tmp_path / "objects.yaml").read_text()
    with served(f"settings: {{{kept}, unmatched: error}}") as replaying:
        assert use(replaying.address) == recorded
