"""OpenAI's own client with kept objects: files and batches, over a real socket."""

import json
from typing import Any

import httpx2
import openai
import pytest
from openai import OpenAI
from openai.types import Batch, FileObject

from tests.clients.payloads import MODEL
from tests.kit.served import Served, served

RULES = """
rules:
  - {when: {last_user: hello}, then: {text: "Hello!"}}
  - when: {operation: create_batch, param.metadata: {subset: {plan: fail}}}
    then: {status: [validating, failed]}
  - {when: {operation: create_file, param.purpose: vision}, then: {error: 503, headers: {x-should-retry: "false"}}}
"""


def upload(client: OpenAI, *requests: Any, endpoint: str = "/v1/chat/completions") -> FileObject:
    """Upload the input of a batch: each request is the body of one line."""
    lines = [
        {"custom_id": f"request {number}", "method": "POST", "url": endpoint, "body": body}
        for number, body in enumerate(requests)
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    return client.files.create(file=("input.jsonl", data), purpose="batch")


def say(text: str, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": [{"role": "user", "content": text}], **more}


def start(client: OpenAI, file: str, **more: Any) -> Batch:
    return client.batches.create(input_file_id=file, endpoint="/v1/chat/completions", completion_window="24h", **more)


def read_lines(client: OpenAI, file: str | None) -> list[Any]:
    assert file is not None
    return [json.loads(line) for line in client.files.content(file).text.splitlines()]


def test_a_file_until_it_is_deleted(client: OpenAI) -> None:
    made = client.files.create(file=("naïve.txt", "Grüße".encode()), purpose="user_data")
    assert (made.filename, made.bytes, made.purpose, made.status) == ("naïve.txt", 7, "user_data", "processed")
    assert client.files.retrieve(made.id) == made
    assert client.files.content(made.id).content == "Grüße".encode()
    assert client.files.wait_for_processing(made.id, poll_interval=0.01) == made
    assert client.files.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError, match=f"No such File object: {made.id}"):
        client.files.retrieve(made.id)
    assert list(client.files.list()) == []


def test_the_same_file_again_is_another_one(client: OpenAI) -> None:
    first, second = (client.files.create(file=("a.txt", b"same"), purpose="user_data") for _ in range(2))
    assert first.id != second.id
    assert [each.id for each in client.files.list(order="asc")] == [first.id, second.id]


def test_pages_of_files_end(client: OpenAI) -> None:
    made = [client.files.create(file=(f"{n}.txt", b"x" * n), purpose="user_data").id for n in range(5)]
    client.files.create(file=("other.jsonl", b"{}"), purpose="batch")
    assert [each.id for each in client.files.list(limit=2, purpose="user_data")] == made[::-1]


def test_an_unknown_file_exists_where_answers_are_generated(client: OpenAI, strict_client: OpenAI) -> None:
    assert client.files.retrieve("file-unknown").id == "file-unknown"
    assert client.files.delete("file-unknown").deleted
    assert client.files.retrieve("file-unknown").id == "file-unknown"
    with pytest.raises(openai.NotFoundError) as caught:
        strict_client.files.retrieve("file-unknown")
    assert (caught.value.param, caught.value.type) == ("id", "invalid_request_error")


def test_a_rule_fails_an_upload(client: OpenAI) -> None:
    with pytest.raises(openai.InternalServerError):
        client.files.create(file=("a.png", b"x"), purpose="vision")


def test_a_batch_is_answered_by_rules_and_mistakes_land_in_the_error_file(client: OpenAI) -> None:
    file = upload(client, say("hello"), say("hello", temperature=9), say("something else"))
    batch = start(client, file.id)
    assert (batch.status, batch.output_file_id) == ("validating", None)
    batch = client.batches.retrieve(batch.id)
    assert batch.request_counts is not None
    assert (batch.status, batch.request_counts.total, batch.output_file_id) == ("in_progress", 3, None)
    batch = client.batches.retrieve(batch.id)
    assert batch.request_counts is not None
    assert (batch.status, batch.request_counts.completed, batch.request_counts.failed) == ("completed", 2, 1)
    answers = read_lines(client, batch.output_file_id)
    assert [line["custom_id"] for line in answers] == ["request 0", "request 2"]
    assert answers[0]["response"]["body"]["choices"][0]["message"]["content"] == "Hello!"
    [refused] = read_lines(client, batch.error_file_id)
    assert (refused["custom_id"], refused["response"]["status_code"]) == ("request 1", 400)
    assert refused["response"]["body"]["error"]["param"] == "temperature"
    assert client.batches.cancel(batch.id).status == "completed"


def test_each_line_of_a_batch_is_a_row_of_the_journal(generating: Served, client: OpenAI) -> None:
    lines = [say("hello"), say("something else"), say("hello", temperature=9)]
    batch = start(client, upload(client, *lines).id)
    namespace = str(client.base_url).split("/ns/")[1].partition("/")[0]
    listed = httpx2.get(f"{generating.address}/__mockserver__/api/calls?namespace={namespace}&bodies=true").json()
    made, *rows = listed["calls"][-4:]
    assert (made["operation"], made["source"], "part_of" in made) == ("create_batch", "stored", False)
    assert [row["part_of"] for row in rows] == [
        f'line {number} of {batch.id}, custom_id "request {number - 1}"' for number in (1, 2, 3)
    ]
    assert [(row["operation"], row["source"].partition(" ")[0], row["status"]) for row in rows] == [
        ("chat", "rule", 200),
        ("chat", "generated", 200),
        ("chat", "invalid", 400),
    ]
    assert [row["request"]["body"] for row in rows] == lines
    assert rows[0]["reply"]["body"]["choices"][0]["message"]["content"] == "Hello!"
    assert rows[0]["usage"]["prompt_tokens"] > 0


def test_the_error_file_names_the_line_that_no_rule_answers(strict_client: OpenAI) -> None:
    file = upload(strict_client, say("hello"), say("good bye"))
    batch = start(strict_client, file.id)
    while batch.status != "completed":
        batch = strict_client.batches.retrieve(batch.id)
    assert [line["custom_id"] for line in read_lines(strict_client, batch.output_file_id)] == ["request 0"]
    [line] = read_lines(strict_client, batch.error_file_id)
    assert (line["custom_id"], line["response"]["status_code"]) == ("request 1", 404)
    message = line["response"]["body"]["error"]["message"]
    assert message.startswith("no rule answers this request; the nearest:")
    assert 'last_user equals "hello": got "good bye"' in message
    assert message.endswith(f"(line 2 of {file.id})")


def test_a_rule_states_the_statuses_of_a_batch(client: OpenAI) -> None:
    batch = start(client, upload(client, say("hello")).id, metadata={"plan": "fail"})
    assert [batch.status, *[client.batches.retrieve(batch.id).status for _ in range(2)]] == [
        "validating",
        "failed",
        "failed",
    ]


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"", "empty_file", None),
        (b'{"custom_id"', "invalid_json_line", 1),
        (b"[1]", "invalid_json_line", 1),
        (b'{"custom_id": 1, "method": "POST", "url": "/v1/chat/completions", "body": {}}', "missing", 1),
        (b'{"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": {}}', "url_mismatch", 1),
        (
            b"\n".join(
                [
                    json.dumps(
                        {"custom_id": model, "method": "POST", "url": "/v1/chat/completions", "body": {"model": model}}
                    ).encode()
                    for model in ("gpt-5", "gpt-5-mini")
                ]
            ),
            "model_mismatch",
            2,
        ),
    ],
    ids=["empty", "half", "list", "number", "url", "model"],
)
def test_mistakes_in_the_input_fail_the_batch(client: OpenAI, data: bytes, code: str, line: int | None) -> None:
    file = client.files.create(file=("input.jsonl", data), purpose="batch")
    batch = start(client, file.id)
    for _ in range(2):
        batch = client.batches.retrieve(batch.id)
    assert batch.status == "failed"
    assert batch.errors is not None
    (mistake,) = batch.errors.data or []
    assert (mistake.code or "").startswith(code)
    assert mistake.line == line


def test_two_lines_of_one_name_fail_the_batch(client: OpenAI) -> None:
    line = json.dumps({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": say("hello")})
    file = client.files.create(file=("input.jsonl", f"{line}\n{line}\n".encode()), purpose="batch")
    batch = start(client, file.id)
    for _ in range(2):
        batch = client.batches.retrieve(batch.id)
    assert batch.errors is not None
    assert [mistake.code for mistake in batch.errors.data or ()] == ["duplicate_custom_id"] * 2


def test_a_batch_is_cancelled_once(strict_client: OpenAI) -> None:
    batch = start(strict_client, upload(strict_client, say("hello")).id)
    assert strict_client.batches.cancel(batch.id).status == "cancelling"
    assert strict_client.batches.retrieve(batch.id).status == "cancelled"
    with pytest.raises(openai.ConflictError, match="Cannot cancel a batch with status 'cancelled'"):
        strict_client.batches.cancel(batch.id)
    with pytest.raises(openai.NotFoundError, match="No batch found with id 'batch_x'"):
        strict_client.batches.cancel("batch_x")


@pytest.mark.parametrize(
    ("media", "body", "message"),
    [
        ("application/json", b"{}", "expected multipart/form-data"),
        ("multipart/form-data", b"--x--", "Could not parse multipart form: the content type has no boundary"),
        ("multipart/form-data; boundary=x", b"", "the body ends before its last boundary"),
        ("multipart/form-data; boundary=x", b"--x\r\nbroken", "the body ends before its last boundary"),
        ("multipart/form-data; boundary=x", b"\0\xff", "Could not parse multipart form"),
        ("multipart/form-data; boundary=x", b"--x--\r\n", "Missing required parameter: 'file'."),
    ],
)
def test_a_body_that_is_no_form_is_refused(generating: Served, media: str, body: bytes, message: str) -> None:
    answer = httpx2.post(f"{generating.base('openai')}/files", content=body, headers={"content-type": media})
    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]


def test_a_reset_forgets_objects(generating: Served, client: OpenAI) -> None:
    made = client.files.create(file=("a.txt", b"a"), purpose="user_data")
    namespace = str(client.base_url).split("/ns/")[1].partition("/")[0]
    reset = f"{generating.address}/__mockserver__/api/reset?namespace={namespace}"
    httpx2.post(reset, headers={"x-mockserver-control": "1"}).raise_for_status()
    assert list(client.files.list()) == []
    assert client.files.create(file=("a.txt", b"a"), purpose="user_data").id == made.id


def test_the_oldest_objects_give_way() -> None:
    with served("settings: {unmatched: error, stored_answers: 3}") as bounded:
        client = OpenAI(base_url=bounded.base("openai"), api_key="any", max_retries=0)
        made = [client.files.create(file=(f"{n}.txt", b"a"), purpose="user_data").id for n in range(5)]
        assert [file.id for file in client.files.list(order="asc")] == made[2:]
        with pytest.raises(openai.NotFoundError):
            client.files.retrieve(made[0])


def test_what_only_the_live_api_refuses() -> None:
    with served("settings: {validation: live}") as live:
        base = live.base("openai")
        refused = {
            "/files/a%20b": "Invalid 'id': 'a b'. Expected an ID that contains letters",
            "/vector_stores?limit=500": "Expected a value <= 100, but got 500 instead",
        }
        for path, message in refused.items():
            answer = httpx2.get(base + path)
            assert answer.status_code == 400
            assert message in answer.json()["error"]["message"]
        answer = httpx2.post(f"{base}/vector_stores", json={"color": "red"})
        assert answer.json()["error"]["message"] == "Unknown parameter: 'color'."
        assert httpx2.get(f"{base}/files?limit=10000").status_code == 200


@pytest.mark.parametrize("line", [r'{"custom_id": "\ud800"}', '{"a": 1e999}', '{"a": NaN}', "[" * 3_000])
def test_a_line_that_no_request_could_be_is_no_line(client: OpenAI, line: str) -> None:
    file = client.files.create(file=("input.jsonl", line.encode()), purpose="batch")
    batch = start(client, file.id)
    for _ in range(2):
        batch = client.batches.retrieve(batch.id)
    assert batch.errors is not None
    assert [mistake.code for mistake in batch.errors.data or ()] == ["invalid_json_line"]
    assert [each.id for each in client.batches.list()] == [batch.id]


def test_a_line_is_answered_whole_if_it_asks_for_a_stream(client: OpenAI) -> None:
    batch = start(client, upload(client, say("hello", stream=True)).id)
    for _ in range(2):
        batch = client.batches.retrieve(batch.id)
    (line,) = read_lines(client, batch.output_file_id)
    assert line["response"]["body"]["choices"][0]["message"]["content"] == "Hello!"


@pytest.mark.parametrize(
    ("method", "path", "body", "named"),
    [
        ("POST", "/batches", {"endpoint": "/v1/cats"}, "endpoint"),
        ("POST", "/batches", {"endpoint": "/v1/realtime"}, "endpoint"),
        ("POST", "/batches", {"endpoint": "/v1/realtime/calls"}, "endpoint"),
        ("POST", "/batches", {"endpoint": "/v1/images/content"}, "endpoint"),
        ("POST", "/batches", {"completion_window": "1h"}, "completion_window"),
        ("POST", "/uploads", {"bytes": 1, "filename": "a", "mime_type": "a/b", "purpose": "fun"}, "purpose"),
        ("POST", "/vector_stores", {"expires_after": {"anchor": "created_at", "days": 1}}, "expires_after.anchor"),
        ("POST", "/vector_stores", {"chunking_strategy": {"type": "odd"}}, "chunking_strategy.type"),
        ("POST", "/containers", {"name": "a", "memory_limit": "2g"}, "memory_limit"),
        ("GET", "/files?order=up", None, "order"),
        ("GET", "/vector_stores/vs_1/files?filter=odd", None, "filter"),
    ],
)
def test_words_that_the_api_does_not_have_are_refused(
    generating: Served, method: str, path: str, body: dict[str, Any] | None, named: str
) -> None:
    usual = {"input_file_id": "file-a", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    sent = {**usual, **body} if body is not None and path == "/batches" else body
    answer = httpx2.request(method, generating.base("openai") + path, json=sent)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (400, named, "invalid_value")
    assert "Supported values are: " in error["message"]


def test_a_purpose_that_the_api_does_not_have_is_refused(client: OpenAI) -> None:
    purpose: Any = "fun"
    with pytest.raises(openai.BadRequestError, match=r"'fun' is not one of \['fine-tune', .*\] - 'purpose'"):
        client.files.create(file=("a.txt", b"a"), purpose=purpose)


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Windows\\a.txt", "a.txt"),
        ("..", "file"),
        ("a\r\nset-cookie: x=1", "a%0D%0Aset-cookie: x=1"),
        ("π.txt", "_.txt"),
    ],
)
def test_a_hostile_name_leads_nowhere(name: str, saved: str, client: OpenAI) -> None:
    file = client.files.create(file=(name, b"a"), purpose="user_data")
    content = client.files.content(file.id).response
    assert content.headers["content-disposition"] == f'attachment; filename="{saved}"'
    assert "set-cookie" not in content.headers
