"""Webhooks that tell how batches, jobs, evals and background responses end, as OpenAI's own client verifies them."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import SimpleQueue
from threading import Thread
from typing import Any

import httpx2
import openai
import pytest
from openai import OpenAI

from mockserver.core.plan import WebhookEvent
from mockserver.server.webhook_delivery import send_events
from tests.clients.payloads import MODEL
from tests.kit.local import local
from tests.kit.served import PATIENCE, Served, served

SECRET = "whsec_c2VjcmV0"
Received = SimpleQueue[tuple[Mapping[str, str], bytes]]


@pytest.fixture(scope="module")
def received() -> Received:
    return SimpleQueue()


@pytest.fixture(scope="module")
def receiver(received: Received) -> Iterator[str]:
    """Return the URL of a program that receives webhooks."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()
            received.put((dict(self.headers.items()), body))

        def log_message(self, *args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}/hook"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def server(receiver: str) -> Iterator[Served]:
    rules = f"""
settings: {{webhook_url: "{receiver}", webhook_secret: {SECRET}}}
rules:
  - {{when: {{last_user: break}}, then: {{text: half, failed: true}}}}
  - {{when: {{operation: create_eval_run, param.name: fail}}, then: {{status: [queued, failed]}}}}
"""
    with served(rules) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base("openai"), api_key="any", webhook_secret=SECRET, max_retries=0) as client:
        yield client


def unwrap(client: OpenAI, received: Received) -> tuple[str, str]:
    """Return the type of the next event and the id of what it is about; its signature is right."""
    headers, body = received.get(timeout=PATIENCE)
    with pytest.raises(openai.InvalidWebhookSignatureError):
        client.webhooks.unwrap(body + b" ", headers)
    event: Any = client.webhooks.unwrap(body, headers)
    assert headers["webhook-id"] == event.id
    return event.type, event.data.id


def upload(client: OpenAI, purpose: Any, *lines: Any) -> str:
    data = "\n".join(map(json.dumps, lines)).encode()
    return client.files.create(file=("lines.jsonl", data), purpose=purpose).id


def start_batch(client: OpenAI, *lines: Any) -> str:
    file = upload(client, "batch", *lines)
    made = client.batches.create(input_file_id=file, endpoint="/v1/chat/completions", completion_window="24h")
    assert made.status == "validating"
    return made.id


def test_a_batch_ends_by_itself(client: OpenAI, received: Received) -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
    done = start_batch(client, {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body})
    assert unwrap(client, received) == ("batch.completed", done)
    assert client.batches.retrieve(done).status == "completed"
    failed = start_batch(client, {"custom_id": "a"})
    assert unwrap(client, received) == ("batch.failed", failed)


def test_a_job_and_a_run_end_by_themselves(client: OpenAI, received: Received) -> None:
    example = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hi!"}]}
    job = client.fine_tuning.jobs.create(model="gpt-4.1-mini", training_file=upload(client, "fine-tune", example))
    assert (job.status, unwrap(client, received)) == ("validating_files", ("fine_tuning.job.succeeded", job.id))
    made = client.evals.create(data_source_config={"type": "custom", "item_schema": {}}, testing_criteria=[])
    source: Any = {"type": "jsonl", "source": {"type": "file_content", "content": [{"item": {"q": "1"}}]}}
    for name, event in (("pass", "eval.run.succeeded"), ("fail", "eval.run.failed")):
        run = client.evals.runs.create(made.id, name=name, data_source=source)
        assert unwrap(client, received) == (event, run.id)


@pytest.mark.parametrize(
    ("text", "more", "event"),
    [
        ("hi", {}, "response.completed"),
        ("break", {}, "response.failed"),
        ("tell me more", {"max_output_tokens": 16}, "response.incomplete"),
    ],
)
def test_a_background_response_ends(
    client: OpenAI, received: Received, text: str, more: dict[str, Any], event: str
) -> None:
    made = client.responses.create(model=MODEL, input=text, background=True, **more)
    assert made.status == "queued"
    kind, about = unwrap(client, received)
    assert about == made.id
    assert client.responses.retrieve(made.id).status == kind.partition(".")[2]
    if not more:  # what is generated may be short
        assert kind == event


def test_a_test_event_is_sent(client: OpenAI, received: Received) -> None:
    made = client.webhooks.create(name="hook", url="https://example.com/hook", event_types=["batch.completed"])
    assert client.webhooks.test(made.id, event_type="batch.completed").success
    assert unwrap(client, received) == ("batch.completed", "batch_test")


def test_the_journal_has_what_was_sent(server: Served, client: OpenAI, received: Received) -> None:
    batch = start_batch(client, {"custom_id": "a"})
    unwrap(client, received)
    url = f"{server.address}/__mockserver__/api/calls?bodies=true&service=true"
    sent: dict[str, Any] = {}
    while sent.get("ended") != "complete":
        sent = next(call for call in reversed(httpx2.get(url).json()["calls"]) if call["operation"] == "webhook")
    assert (sent["source"], sent["request"]["body"]["data"]) == ("service webhook batch.failed", {"id": batch})


def test_a_receiver_that_is_away_is_told_in_the_log() -> None:
    with served("settings: {webhook_url: 'http://127.0.0.1:9/hook'}") as running:
        with OpenAI(base_url=running.base("openai"), api_key="any") as client:
            start_batch(client, {"custom_id": "a"})
        told = "the webhook batch.failed did not reach http://127.0.0.1:9/hook"
        assert told in running.says("webhook")
        os.kill(running.pid, signal.SIGTERM)
        assert [line for line in iter(running.said.next, None) if told in line] == []  # once


def test_the_next_event_is_sent_whatever_becomes_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[str]()

    async def post(client: object, url: str, **sent: object) -> None:
        tried.append(url)
        raise LookupError("a bug")

    monkeypatch.setattr(httpx2.AsyncClient, "post", post)
    live = local(webhook_url="http://localhost:1/hook").live
    event = WebhookEvent("openai", id="evt_1", created=0, kind="batch.failed", about="batch_1")

    async def send() -> None:
        send_events((event, event), live, journal=live.journal, namespace="default")
        while len(live.journal.list_rows("default")) < 2 or live.journal.open_calls:
            await asyncio.sleep(0)

    asyncio.run(send())
    assert len(tried) == 2
    assert {row.remarks for row in live.journal.list_rows("default")} == {
        ("the webhook batch.failed did not reach http://localhost:1/hook: a bug",)
    }
