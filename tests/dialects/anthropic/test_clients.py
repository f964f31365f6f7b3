"""Anthropic's own client over a socket: messages, streams, tool runner, structured outputs, batches, errors."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO
from typing import Any, Literal
from zipfile import ZipFile

import anthropic
import httpx
import pytest
from pydantic import BaseModel, Field

from mockserver.testing import MockServer
from tests.kit.local import local

FILES = "files-api-2025-04-14"  # the beta whose lists have the shape of others
MODEL: Any = "claude-sonnet-5-5"
HELLO: Any = [{"role": "user", "content": "Hello"}]
WEATHER: Any = {
    "name": "get_weather",
    "description": "The weather in a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="generate") as started:
        yield started


@pytest.fixture(autouse=True)
def cleared(server: MockServer) -> None:
    server.reset()


@pytest.fixture
def client(server: MockServer) -> Iterator[anthropic.Anthropic]:
    base = server.base_url("anthropic")
    with anthropic.Anthropic(base_url=base, api_key="sk-x", max_retries=0, _strict_response_validation=True) as created:
        yield created


def test_a_message(client: anthropic.Anthropic, server: MockServer) -> None:
    server.on("Hello").reply("Hi!")
    message = client.messages.create(model=MODEL, max_tokens=99, messages=HELLO)
    assert (message.content[0].text, message.stop_reason) == ("Hi!", "end_turn")  # type: ignore[union-attr]
    assert message._request_id
    assert message._request_id.startswith("req_01")


def test_a_stream(client: anthropic.Anthropic, server: MockServer) -> None:
    server.on("Hello").reply(reasoning="A greeting.", text="Hi there!")
    with client.messages.stream(model=MODEL, max_tokens=99, messages=HELLO) as stream:
        assert "".join(stream.text_stream) == "Hi there!"
        message = stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.to_dict() == client.messages.create(model=MODEL, max_tokens=99, messages=HELLO).to_dict()


def test_the_beta_namespace(client: anthropic.Anthropic) -> None:
    message = client.beta.messages.create(model=MODEL, max_tokens=99, messages=HELLO, betas=["a-2025-01-01"])
    assert message.content[0].type == "text"
    counted = client.beta.messages.count_tokens(model=MODEL, messages=HELLO)
    assert counted.input_tokens == message.usage.input_tokens


async def test_the_async_client(server: MockServer) -> None:
    async with anthropic.AsyncAnthropic(base_url=server.base_url("anthropic"), api_key="k") as client:
        asked = (client.messages.create(model=MODEL, max_tokens=99, messages=HELLO) for _ in range(3))
        assert len({message.id for message in await asyncio.gather(*asked)}) == 1
        async with client.messages.stream(model=MODEL, max_tokens=99, messages=HELLO) as stream:
            assert await stream.get_final_text()


@pytest.mark.parametrize("thread", [True, False])
def test_the_tool_runner_ends(client: anthropic.Anthropic, server: MockServer, thread: bool) -> None:
    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """The weather in a city.

        Args:
            city: The city.
        """
        return f"It is clear in {city}."

    runner = client.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=999,
        tools=[get_weather],
        messages=[{"role": "user", "content": "How is the weather in Oslo?"}],
        **({} if thread else {"thread": False}),  # type: ignore[arg-type]
    )
    messages = list(runner)
    assert [message.stop_reason for message in messages] == ["tool_use", "end_turn"]
    assert "clear" in messages[-1].content[0].text  # type: ignore[union-attr]
    assert len(server.calls) == 2


class Report(BaseModel):
    """A report."""

    city: str
    stars: int = Field(ge=1, le=5)
    code: str = Field(pattern=r"^[A-Z]{3}-\d{4}$")
    tags: list[str] = Field(max_length=3, min_length=2)
    mood: Literal["good", "bad"]


def test_structured_outputs(client: anthropic.Anthropic) -> None:
    message = client.messages.parse(model=MODEL, max_tokens=999, messages=HELLO, output_format=Report)
    assert isinstance(message.parsed_output, Report)
    with client.messages.stream(model=MODEL, max_tokens=999, messages=HELLO, output_format=Report) as stream:
        assert stream.get_final_message().parsed_output == message.parsed_output


def test_batches(client: anthropic.Anthropic, server: MockServer) -> None:
    server.on("Hello").reply("Hi!")
    good: Any = {"model": MODEL, "max_tokens": 9, "messages": HELLO}
    asked: Any = [{"custom_id": "a", "params": good}, {"custom_id": "b", "params": {**good, "max_tokens": -1}}]
    for base in (server.base_url("anthropic"), f"{server.url}/ns/mine/anthropic"):
        own = client.with_options(base_url=base)
        batch = own.messages.batches.create(requests=asked)
        assert (batch.processing_status, batch.request_counts.processing) == ("in_progress", 2)
        ended = own.messages.batches.retrieve(batch.id)
        assert (ended.processing_status, ended.request_counts.succeeded, ended.request_counts.errored) == (
            "ended",
            1,
            1,
        )
        assert ended.results_url == f"{base}/v1/messages/batches/{batch.id}/results"
        first, second = own.messages.batches.results(batch.id)
        assert first.result.type == "succeeded"
        assert first.result.message.usage.service_tier == "batch"
        assert second.result.type == "errored"
        assert second.result.error.error.message == "max_tokens: must be greater than or equal to 0"
        assert [each.id for each in own.messages.batches.list()] == [batch.id]
        assert own.messages.batches.delete(batch.id).type == "message_batch_deleted"


def test_a_file_that_nobody_uploaded_here(client: anthropic.Anthropic) -> None:
    file = client.files.retrieve_metadata("file_011x")
    assert (file.id, file.mime_type) == ("file_011x", "text/plain")
    assert len(client.files.download(file.id).read()) == file.size_bytes > 0
    assert client.files.delete(file.id).type == "file_deleted"
    assert client.files.retrieve_metadata(file.id) == file


SKILL = ("notes/SKILL.md", b"---\nname: notes\ndescription: Takes notes.\n---\nWrite them down.")


def test_skills_have_versions(client: anthropic.Anthropic) -> None:
    skill = client.beta.skills.create(display_name="Notes", files=[SKILL])
    second = client.beta.skills.versions.create(skill.id, files=[SKILL, ("notes/more.md", b"More.")])
    shown = client.beta.skills.retrieve(skill.id)
    assert (shown.display_name, shown.latest_version_id) == ("Notes", second.id)
    assert (second.name, second.description, second.skill_id) == ("notes", "Takes notes.", skill.id)
    assert [each.id for each in client.beta.skills.list()] == [skill.id]
    assert list(client.beta.skills.list(source="anthropic")) == []

    latest, first = client.beta.skills.versions.list(skill.id)
    assert (latest, first.id) == (second, skill.latest_version_id)
    archive = client.beta.skills.versions.download(latest.id, skill_id=skill.id).read()
    with ZipFile(BytesIO(archive)) as opened:
        assert opened.namelist() == ["notes/SKILL.md", "notes/more.md"]

    with pytest.raises(anthropic.BadRequestError, match="Delete all versions first"):
        client.beta.skills.delete(skill.id)
    for version in (latest, first):
        client.beta.skills.versions.delete(version.id, skill_id=skill.id)
    assert client.beta.skills.delete(skill.id).type == "skill_deleted"
    with pytest.raises(anthropic.NotFoundError):
        client.beta.skills.retrieve(skill.id)


def test_a_skill_that_nobody_made_is_deleted_with_the_versions_added_to_it(client: anthropic.Anthropic) -> None:
    client.beta.skills.versions.create("skill_elsewhere", files=[SKILL])
    assert client.beta.skills.delete("skill_elsewhere").type == "skill_deleted"
    assert list(client.beta.skills.versions.list("skill_elsewhere")) == []


def test_skills_in_the_words_of_the_beta(client: anthropic.Anthropic) -> None:
    headers = {"anthropic-beta": "skills-2025-10-02"}
    made = client.beta.skills.with_raw_response.create(files=[SKILL], extra_headers=headers)
    skill = made.http_response.json()
    assert (skill["display_title"], skill["source"]) == ("notes", "custom")
    path = f"/v1/skills/{skill['id']}/versions/{skill['latest_version']}"
    version = client.get(path, cast_to=object, options={"headers": headers})
    assert isinstance(version, dict)
    assert (version["version"], version["directory"]) == (skill["latest_version"], "notes")


@pytest.mark.parametrize("path", ["", "/skill_x/versions"])
def test_a_skill_has_files(path: str) -> None:
    refused = local().ask(f"/anthropic/v1/skills{path}", {})
    assert refused.status == 400
    assert refused.json["error"]["message"] == "No files provided. Please provide files using 'files[]' field."


TOP = "SKILL.md file must be exactly in the top-level folder."
MISPLACED = {
    "SKILL.md": TOP,
    "notes/skill.md": TOP,
    "a/notes/SKILL.md": TOP,
    "notes/README.md": TOP,
    "other/SKILL.md": "The folder name 'other' must match the skill name 'notes' in SKILL.md.",
    "notes\\SKILL.md": "Skill contains path with invalid characters",
}


@pytest.mark.parametrize(("validation", "refused"), [("off", {}), ("published", {}), ("live", MISPLACED)])
def test_where_the_files_of_a_skill_stand(validation: str, refused: dict[str, str]) -> None:
    with (
        MockServer(validation=validation) as server,
        anthropic.Anthropic(base_url=server.base_url("anthropic"), api_key="sk-x", max_retries=0) as client,
    ):
        for path in MISPLACED:
            if path not in refused:
                client.beta.skills.create(files=[(path, SKILL[1])])
                continue
            with pytest.raises(anthropic.BadRequestError) as error:
                client.beta.skills.create(files=[(path, SKILL[1])])
            assert error.value.response.json()["error"]["message"] == refused[path]
        if validation == "live":
            text = SKILL[1].replace(b"Takes notes.", b"a" * 1025)
            with pytest.raises(anthropic.BadRequestError, match="'description' in SKILL\\.md must be at most 1024"):
                client.beta.skills.create(files=[("notes/SKILL.md", text)])


@pytest.mark.parametrize("path", ["skills/skill_x", "skills/skill_x/versions/1", "skills/skill_x/versions/1/content"])
def test_without_generated_answers_an_unknown_skill_is_a_404(path: str) -> None:
    assert local(unmatched="error").ask(f"/anthropic/v1/{path}", method="GET").status == 404
    assert local().ask(f"/anthropic/v1/{path}", method="GET").status == 200


@pytest.mark.parametrize(("method", "path"), [("GET", "file_x"), ("GET", "file_x/content"), ("DELETE", "file_x")])
def test_without_generated_answers_an_unknown_file_is_a_404(method: str, path: str) -> None:
    refused = local(unmatched="error").ask(f"/anthropic/v1/files/{path}", method=method)
    assert (refused.status, refused.json["error"]["type"]) == (404, "not_found_error")


def test_files(client: anthropic.Anthropic, server: MockServer) -> None:
    data = b"Hello\r\n--x\r\n\r\n\x00\xff\r\n"
    first = client.files.upload(file=("a b.txt", data, "text/plain"), expires_in_seconds=3600)
    second = client.beta.files.upload(file=("c.pdf", b"%PDF", "application/pdf"))
    assert (first.filename, first.mime_type, first.size_bytes) == ("a b.txt", "text/plain", len(data))
    assert (first.expires_at and first.expires_at - first.created_at) == timedelta(hours=1)
    assert client.files.retrieve_metadata(first.id) == first
    assert client.files.download(first.id).read() == data
    assert [each.id for each in client.files.list(limit=1)] == [second.id, first.id]
    assert client.files.list(ids=[first.id, "file_x"]).data == [first]
    asked = httpx.get(f"{server.base_url('anthropic')}/v1/files?limit=1", headers={"anthropic-beta": FILES}).json()
    assert ([each["id"] for each in asked.pop("data")], asked) == (
        [second.id],
        {"has_more": True, "first_id": second.id, "last_id": second.id},
    )
    odd = client.files.upload(file=("d", data, "tëxt/€"))
    assert (odd.mime_type, client.files.download(odd.id).read()) == ("application/octet-stream", data)
    shown: Any = [{"type": "document", "source": {"type": "file", "file_id": first.id}}]
    assert client.messages.create(model=MODEL, max_tokens=99, messages=[{"role": "user", "content": shown}]).content
    assert client.files.delete(first.id).type == "file_deleted"
    with pytest.raises(anthropic.NotFoundError):
        client.files.download(first.id)
    with pytest.raises(anthropic.BadRequestError, match="expires_in_seconds: Input should be greater than"):
        client.files.upload(file=("a", b"x"), expires_in_seconds=5)
    with pytest.raises(anthropic.BadRequestError, match="file: Field required"):
        client.post("/v1/files", cast_to=object, body={})


def test_a_batch_has_no_statuses_that_a_rule_could_state() -> None:
    server = local("rules: [{when: {operation: create_batch}, then: {status: [in_progress, expired]}}]")
    asked = {"custom_id": "a", "params": {"model": MODEL, "max_tokens": 9, "messages": HELLO}}
    refused = server.ask("/anthropic/v1/messages/batches", {"requests": [asked]}, headers={"anthropic-version": "x"})
    assert refused.status == 500
    assert refused.json["error"]["message"].endswith(": anthropic has no statuses that a rule can state")


def test_a_batch_that_is_cancelled(client: anthropic.Anthropic) -> None:
    asked: Any = [{"custom_id": "a", "params": {"model": MODEL, "max_tokens": 9, "messages": HELLO}}]
    batch = client.messages.batches.create(requests=asked)
    with pytest.raises(anthropic.BadRequestError):
        client.messages.batches.delete(batch.id)
    assert client.messages.batches.cancel(batch.id).processing_status == "canceling"
    ended = client.messages.batches.retrieve(batch.id)
    assert (ended.processing_status, ended.request_counts.canceled) == ("ended", 1)
    (only,) = client.messages.batches.results(batch.id)
    assert only.result.type == "canceled"
    with pytest.raises(anthropic.BadRequestError, match="custom_id must be unique"):
        client.messages.batches.create(requests=asked * 2)


def test_models(client: anthropic.Anthropic) -> None:
    names = [model.id for model in client.models.list(limit=3)]
    assert len(names) == len(set(names)) > 6
    assert client.models.retrieve("claude-opus-4-8").display_name == "Claude Opus 4.8"
    assert client.models.list(extra_query={"lifecycle": ["retired"]}).data == []
    with pytest.raises(anthropic.BadRequestError, match="lifecycle: Input should be 'active', "):
        client.models.list(extra_query={"lifecycle": ["active", "new"]})
    page = client.models.list(before_id=names[4], limit=2)
    assert ([model.id for model in page.data], page.has_more) == (names[2:4], True)


ERRORS: dict[int, type[anthropic.APIStatusError]] = {
    400: anthropic.BadRequestError,
    401: anthropic.AuthenticationError,
    403: anthropic.PermissionDeniedError,
    404: anthropic.NotFoundError,
    409: anthropic.ConflictError,
    422: anthropic.UnprocessableEntityError,
    429: anthropic.RateLimitError,
    500: anthropic.InternalServerError,
    529: anthropic.InternalServerError,
}


@pytest.mark.parametrize(("status", "kind"), ERRORS.items())
def test_errors(client: anthropic.Anthropic, server: MockServer, status: int, kind: type[Exception]) -> None:
    server.on("Hello").fail(status)
    for stream in (False, True):
        with pytest.raises(kind) as caught:
            client.messages.create(model=MODEL, max_tokens=9, messages=HELLO, stream=stream)
        body: Any = caught.value.body  # type: ignore[attr-defined]
        assert body["request_id"] == caught.value.request_id  # type: ignore[attr-defined]


def test_it_tries_again(client: anthropic.Anthropic, server: MockServer) -> None:
    server.on("Hello").fail(529, retry_after=0).times(1)
    server.on("Hello").reply("Hi!")
    patient = client.with_options(max_retries=2)
    assert patient.messages.create(model=MODEL, max_tokens=9, messages=HELLO).content
    assert len(server.calls) == 2


def test_an_error_within_a_stream(client: anthropic.Anthropic, server: MockServer) -> None:
    server.on("Hello").then(
        {"text": "One two three four.", "faults": [{"error_event": {"after_tokens": 2, "reason": "overloaded"}}]}
    )
    with pytest.raises(anthropic.APIStatusError) as caught:
        for _ in client.messages.create(model=MODEL, max_tokens=99, messages=HELLO, stream=True):
            pass
    assert (caught.value.type, caught.value.status_code) == ("overloaded_error", 200)


def test_rate_limits(server: MockServer) -> None:
    with MockServer(unmatched="generate", limits={"requests_per_minute": 2}) as limited:
        address = f"{limited.base_url('anthropic')}/v1/messages"
        body = {"model": "m", "max_tokens": 9, "messages": HELLO}
        answers = [httpx.post(address, json=body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["anthropic-ratelimit-requests-remaining"] == "1"
    assert answers[0].headers["anthropic-ratelimit-requests-reset"].endswith("Z")
    assert (
        answers[2]
        .json()["error"]["message"]
        .startswith("This request would exceed your organization's rate limit of 2 requests per minute ")
    )
    assert float(answers[2].headers["retry-after"]) > 0


def test_the_environment_leads_the_client_here(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "real")
    with server.environ(), anthropic.Anthropic(max_retries=0) as client:
        assert client.messages.create(model=MODEL, max_tokens=9, messages=HELLO).content
        assert client.auth_token is None


def test_version_1_of_the_sdk_sends_its_key_in_its_own_header(server: MockServer) -> None:
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    body = {"model": "m", "max_tokens": 9, "messages": HELLO, "temperature": 0.5, "top_k": 3}
    answer = httpx.post(f"{server.base_url('anthropic')}/v1/messages?beta=true", json=body, headers=headers)
    assert answer.status_code == 200
    (call,) = server.calls
    assert call.model == "m"


def test_vertex_ai_is_answered_by_the_same_rules(server: MockServer) -> None:
    server.on("Hello", model="claude-sonnet-4-5@*").reply("Hi!")
    server.on("*Paris*").reply(tool_calls=[{"name": "get_weather", "arguments": {"city": "Paris"}}])
    base = server.base_url("anthropic") + "/v1"
    model = "claude-sonnet-4-5@20250929"
    with anthropic.AnthropicVertex(
        base_url=base, region="us-east5", project_id="p", access_token="t", max_retries=0
    ) as client:
        message = client.messages.create(model=model, max_tokens=99, messages=HELLO)
        with client.messages.stream(model=model, max_tokens=99, messages=HELLO) as stream:
            assert stream.get_final_message().to_dict() == message.to_dict()
        asked: Any = [{"role": "user", "content": "Is it warm in Paris?"}]
        called = client.messages.create(model=model, max_tokens=99, messages=asked, tools=[WEATHER])
        counted = client.messages.count_tokens(model=model, messages=HELLO)
        with pytest.raises(anthropic.BadRequestError, match="at least one message"):
            client.messages.create(model=model, max_tokens=99, messages=[])
    assert message.content[0].text == "Hi!"  # type: ignore[union-attr]
    assert message.model == "claude-sonnet-4-5-20250929"
    assert message.id.startswith("msg_vrtx_01")
    assert called.content[0].id.startswith("toolu_vrtx_01")  # type: ignore[union-attr]
    assert counted.input_tokens == message.usage.input_tokens


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [({"model": MODEL}, "model: Extra inputs are not permitted"), ({}, "anthropic_version: Field required")],
)
def test_vertex_ai_wants_the_version_in_the_body_and_no_model(
    server: MockServer, changed: dict[str, Any], wrong: str
) -> None:
    path = "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5:rawPredict"
    body = {"max_tokens": 9, "messages": HELLO, **changed}
    answer = httpx.post(server.base_url("anthropic") + path, json=body, headers={"authorization": "Bearer t"})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == wrong
