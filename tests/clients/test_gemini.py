"""Google's own client at the Developer API and at Vertex AI's paths; every body and event held against its types."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from google import genai
from google.genai import errors, types
from pydantic import BaseModel

from mockserver.testing import MockServer
from tests.kit.served import Served, served

RULES = """
rules:
  - when: {last_user: {starts_with: hello}}
    then: {text: "Hello! How can I help you today?"}
  - when: {last_user: weather, turn: 0}
    then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
  - when: {tool_result: {name: get_weather}}
    then: {text: "It is {{ tool_result.json.sky }} in {{ tool_result.json.city }}."}
  - when: {last_user: think}
    then: {reasoning: Six times seven., text: "42"}
  - when: {last_user: blocked prompt}
    then: {content_filter: {on: prompt, category: hate}}
  - when: {last_user: blocked answer}
    then: {text: One two three., content_filter: {on: completion, category: sexual, after_tokens: 1}}
  - when: {last_user: cite}
    then:
      text: "The café is open."
      annotations: [{type: url_citation, start_index: 4, end_index: 8, url: "https://a.example", title: A}]
  - when: {last_user: run code}
    then: {items: [{type: code_interpreter_call, code: "print(1)", outputs: [{type: logs, logs: "1"}]}], text: Done.}
  - when: {last_user: breaks}
    then: {text: One two three., faults: [{error_event: {reason: overloaded}}]}
  - {when: {model: busy}, then: {error: 429, retry_after: 36.5s}}
  - {when: {model: down}, then: {error: 503}}
"""
FLASH = "gemini-2.5-flash"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture
def seen() -> Iterator[list[httpx.Response]]:
    """What the test's client hears; in the end all of it is held against the client's own types."""
    seen = list[httpx.Response]()
    yield seen
    for response in seen:
        if response.status_code == 200 and "generatecontent" in response.url.path.lower():
            check(response)


def check(response: httpx.Response) -> None:
    if response.headers["content-type"] == "text/event-stream":
        *events, rest = response.text.split("\r\n\r\n")
        assert rest == ""
        bodies = [json.loads(event.removeprefix("data: ")) for event in events]
    else:
        bodies = [response.json()]
    for body in bodies:
        body.get("usageMetadata", {}).pop("serviceTier", None)
        if "error" not in body:
            types.GenerateContentResponse.model_validate(body)


@pytest.fixture
def client(server: Served, seen: list[httpx.Response]) -> Iterator[genai.Client]:
    with connected(server, seen) as client:
        yield client


@pytest.fixture
def vertex(server: Served, seen: list[httpx.Response]) -> Iterator[genai.Client]:
    with connected(server, seen, vertexai=True) as client:
        yield client


@contextmanager
def connected(server: Served, seen: list[httpx.Response], **options: Any) -> Iterator[genai.Client]:
    def hear(response: httpx.Response) -> None:
        response.read()
        seen.append(response)

    with httpx.Client(event_hooks={"response": [hear]}, trust_env=False) as own:
        http = types.HttpOptions(base_url=f"{server.address}/gemini", httpx_client=own)
        with genai.Client(api_key="k", http_options=http, **options) as client:
            yield client


def stream(client: genai.Client, text: str, **config: Any) -> list[types.GenerateContentResponse]:
    asked = types.GenerateContentConfig(**config)
    return list(client.models.generate_content_stream(model=FLASH, contents=text, config=asked))


def parts(response: types.GenerateContentResponse) -> list[types.Part]:
    assert response.candidates
    content = response.candidates[0].content
    return (content and content.parts) or []


@pytest.mark.parametrize("kind", ["client", "vertex"])
def test_text_plain_and_streamed(kind: str, request: pytest.FixtureRequest) -> None:
    client: genai.Client = request.getfixturevalue(kind)
    plain = client.models.generate_content(model=FLASH, contents="hello")
    events = stream(client, "hello")
    assert plain.text == "".join(event.text or "" for event in events) == "Hello! How can I help you today?"
    assert {event.response_id for event in events} == {plain.response_id}
    assert events[-1].usage_metadata == plain.usage_metadata
    assert [event.candidates[0].finish_reason for event in events if event.candidates][-1] == types.FinishReason.STOP
    assert plain.model_version == FLASH
    assert (plain.create_time is not None) == (kind == "vertex")


def test_a_chat_remembers(client: genai.Client) -> None:
    chat = client.chats.create(model=FLASH)
    assert chat.send_message("hello").text == "Hello! How can I help you today?"
    assert chat.send_message("Spell the word sea.").text
    assert [content.role for content in chat.get_history()] == ["user", "model", "user", "model"]


def get_weather(city: str) -> dict[str, str]:
    """Get the weather of a city."""
    return {"sky": "blue", "city": city}


@pytest.mark.parametrize("model", [FLASH, "gemini-3-pro-preview"])
def test_automatic_function_calling(client: genai.Client, seen: list[httpx.Response], model: str) -> None:
    config = types.GenerateContentConfig(tools=[get_weather])
    answer = client.chats.create(model=model, config=config).send_message("weather")
    assert answer.text == "It is blue in Oslo."
    call = seen[0].json()["candidates"][0]["content"]["parts"][0]
    assert len(call["thoughtSignature"]) > 20
    assert len(call["functionCall"].get("id", "")) == (8 if "gemini-3" in model else 0)
    streamed = client.chats.create(model=model, config=config).send_message_stream("weather")
    assert "".join(event.text or "" for event in streamed) == "It is blue in Oslo."


def test_a_call_without_a_rule(client: genai.Client) -> None:
    config = types.GenerateContentConfig(tools=[get_weather])
    answer = client.chats.create(model=FLASH, config=config).send_message("What is the weather in Bergen?")
    assert "blue" in (answer.text or "")


class Person(BaseModel):
    name: str
    age: int
    nick: str | None = None


@pytest.mark.parametrize("form", [{"response_schema": Person}, {"response_json_schema": Person.model_json_schema()}])
def test_answers_of_a_schema(client: genai.Client, form: dict[str, Any]) -> None:
    config = types.GenerateContentConfig(response_mime_type="application/json", **form)
    answer = client.models.generate_content(model=FLASH, contents="Ada is 36 years old.", config=config)
    assert Person.model_validate_json(answer.text or "").age == 36
    assert "".join(event.text or "" for event in stream(client, "Ada is 36 years old.", **config.model_dump())) == (
        answer.text
    )


def test_a_schema_that_requires_nothing_gets_what_is_not_nullable(client: genai.Client) -> None:
    person = {
        "type": "OBJECT",
        "properties": {"name": {"type": "STRING"}, "nick": {"type": "STRING", "nullable": True}},
    }
    schema = {"type": "ARRAY", "items": person, "minItems": 1}
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=schema)
    answer = client.models.generate_content(model=FLASH, contents="Some people, please.", config=config)
    assert {tuple(each) for each in json.loads(answer.text or "")} <= {("name",), ("name", "nick")}


@pytest.mark.parametrize(
    "result",
    [{"result": "rain"}, {"output": "rain"}, {"return_value": "rain"}, {"name": "look", "content": "rain"}],
)
def test_results_are_unwrapped(client: genai.Client, result: dict[str, str]) -> None:
    turns = [
        types.UserContent("Look at the sky in Oslo."),
        types.ModelContent(types.Part.from_function_call(name="look", args={"city": "Oslo"})),
        types.UserContent(types.Part.from_function_response(name="look", response=result)),
    ]
    assert client.models.generate_content(model=FLASH, contents=turns).text == "Look (Oslo): rain."


def test_an_enum(client: genai.Client) -> None:
    schema = {"type": "STRING", "enum": ["red", "blue"]}
    config = types.GenerateContentConfig(response_mime_type="text/x.enum", response_schema=schema)
    answer = client.models.generate_content(model=FLASH, contents="Which colour has the sea: blue?", config=config)
    assert answer.text in ("red", "blue")


def test_thoughts(client: genai.Client) -> None:
    thinking = types.ThinkingConfig(include_thoughts=True)
    answer = client.models.generate_content(
        model=FLASH, contents="think", config=types.GenerateContentConfig(thinking_config=thinking)
    )
    assert [(part.thought, part.text) for part in parts(answer)] == [(True, "Six times seven."), (None, "42")]
    hidden = client.models.generate_content(model=FLASH, contents="think")
    assert [part.text for part in parts(hidden)] == ["42"]
    for each in (answer, hidden, stream(client, "think", thinking_config=thinking)[-1]):
        assert each.usage_metadata
        assert each.usage_metadata.thoughts_token_count == 4


def test_blocked(client: genai.Client) -> None:
    for answer in (
        client.models.generate_content(model=FLASH, contents="blocked prompt"),
        *stream(client, "blocked prompt"),
    ):
        assert answer.prompt_feedback
        assert answer.prompt_feedback.block_reason == types.BlockedReason.SAFETY
        assert answer.candidates is None
    answer = client.models.generate_content(model=FLASH, contents="blocked answer")
    assert answer.candidates
    assert answer.candidates[0].finish_reason == types.FinishReason.SAFETY
    assert [rating.blocked for rating in answer.candidates[0].safety_ratings or ()] == [True]


def test_grounding_in_bytes(client: genai.Client) -> None:
    answer = client.models.generate_content(model=FLASH, contents="cite")
    assert answer.candidates
    grounding = answer.candidates[0].grounding_metadata
    assert grounding
    assert grounding.grounding_supports
    segment = grounding.grounding_supports[0].segment
    assert segment
    assert (segment.start_index, segment.end_index, segment.text) == (4, 9, "café")


def test_code_execution(client: genai.Client) -> None:
    answer = client.models.generate_content(model=FLASH, contents="run code")
    assert (answer.executable_code, answer.code_execution_result, answer.text) == ("print(1)", "1", "Done.")
    assert parts(stream(client, "run code")[0])[0].executable_code


def test_options(client: genai.Client) -> None:
    config = types.GenerateContentConfig(
        temperature=0,
        top_p=0.5,
        top_k=3,
        candidate_count=2,
        max_output_tokens=3,
        seed=7,
        system_instruction="Be brief.",
        response_logprobs=True,
        logprobs=2,
        safety_settings=[
            types.SafetySetting(
                category=types.HarmCategory.HARM_CATEGORY_HARASSMENT, threshold=types.HarmBlockThreshold.BLOCK_NONE
            )
        ],
    )
    answer = client.models.generate_content(model=FLASH, contents="hello", config=config)
    assert answer.candidates
    assert len(answer.candidates) == 2
    first = answer.candidates[0]
    assert first.finish_reason == types.FinishReason.MAX_TOKENS
    assert first.logprobs_result
    assert first.logprobs_result.chosen_candidates
    assert "".join(token.token or "" for token in first.logprobs_result.chosen_candidates) == answer.text
    assert answer.usage_metadata
    assert answer.usage_metadata.candidates_token_count == 6
    stopped = types.GenerateContentConfig(stop_sequences=["help"])
    assert client.models.generate_content(model=FLASH, contents="hello", config=stopped).text == "Hello! How can I "


def test_images_count_as_much_as_the_provider_says(client: genai.Client) -> None:
    image = types.Part.from_bytes(data=b"\xff\xd8\xff\xe0", mime_type="image/jpeg")
    answer = client.models.generate_content(model=FLASH, contents=["hello", image])
    assert client.models.count_tokens(model=FLASH, contents="What is your name?").total_tokens == 5  # as LocalTokenizer
    counted = client.models.count_tokens(model=FLASH, contents=["hello", image])
    assert answer.usage_metadata
    details = {each.modality: each.token_count for each in answer.usage_metadata.prompt_tokens_details or ()}
    assert details[types.MediaModality.IMAGE] == 258
    assert (
        counted.total_tokens
        == answer.usage_metadata.prompt_token_count
        == sum(map(int, filter(None, details.values())))
    )


def test_embeddings(client: genai.Client, vertex: genai.Client) -> None:
    found = client.models.embed_content(model="gemini-embedding-001", contents=["sea", "lake", "sea"]).embeddings or []
    assert [len(each.values or ()) for each in found] == [3072] * 3
    assert found[0].values == found[2].values != found[1].values
    small = types.EmbedContentConfig(output_dimensionality=8, task_type="RETRIEVAL_DOCUMENT", title="T")
    for one in (client, vertex):
        several = one.models.embed_content(model="gemini-embedding-001", contents="sea", config=small).embeddings or []
        assert [len(each.values or ()) for each in several] == [8]


def test_models(client: genai.Client) -> None:
    listed = list(client.models.list(config={"page_size": 2}))
    assert [model.name for model in listed][:2] == ["models/gemini-2.5-flash", "models/gemini-2.5-flash-lite"]
    assert len(listed) == 5
    model = client.models.get(model="gemini-9")
    assert (model.name, model.input_token_limit) == ("models/gemini-9", 1_048_576)


def test_errors(client: genai.Client) -> None:
    with pytest.raises(errors.ClientError) as caught:
        client.models.generate_content(model="busy", contents="x")
    assert (caught.value.code, caught.value.status) == (429, "RESOURCE_EXHAUSTED")
    kinds = [detail["@type"].rpartition(".")[2] for detail in caught.value.details["error"]["details"]]
    assert kinds == ["Help", "QuotaFailure", "RetryInfo"]
    assert caught.value.details["error"]["details"][-1]["retryDelay"] == "36.5s"
    with pytest.raises(errors.ServerError) as failed:
        client.models.generate_content(model="down", contents="x")
    assert (failed.value.code, failed.value.status) == (503, "UNAVAILABLE")
    with pytest.raises(errors.ClientError, match="temperature must be in the range"):
        client.models.generate_content(model=FLASH, contents="x", config=types.GenerateContentConfig(temperature=3))


def test_an_error_in_mid_stream(client: genai.Client) -> None:
    heard = []
    with pytest.raises(errors.ServerError) as caught:
        heard += [event.text for event in client.models.generate_content_stream(model=FLASH, contents="breaks")]
    assert caught.value.code == 503


async def test_without_blocking(server: Served) -> None:
    async with httpx.AsyncClient(trust_env=False) as own:  # else it takes aiohttp, which warns of its use
        http = types.HttpOptions(base_url=f"{server.address}/gemini", httpx_async_client=own)
        models = genai.Client(api_key="k", http_options=http).aio.models
        answer = await models.generate_content(model=FLASH, contents="hello")
        events = [event.text async for event in await models.generate_content_stream(model=FLASH, contents="hello")]
    assert "".join(map(str, events)) == answer.text


def test_the_environment_leads_it_here(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"{server.address}/gemini")
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    with genai.Client() as client:
        assert client.models.generate_content(model=FLASH, contents="hello").text == "Hello! How can I help you today?"


def test_cached_contents(client: genai.Client) -> None:
    config = types.CreateCachedContentConfig(
        contents=["The sea is wide. " * 50], system_instruction="Be brief.", ttl="600s", display_name="sea"
    )
    made = client.caches.create(model=FLASH, config=config)
    assert made.name
    assert made.name.startswith("cachedContents/")
    assert [each.name for each in client.caches.list()] == [made.name]
    changed = client.caches.update(name=made.name, config=types.UpdateCachedContentConfig(ttl="60s"))
    assert made.expire_time
    assert changed.expire_time
    assert (made.expire_time - changed.expire_time).total_seconds() == 540
    used = types.GenerateContentConfig(cached_content=made.name)
    usage = client.models.generate_content(model=FLASH, contents="hello", config=used).usage_metadata
    assert usage
    assert made.usage_metadata
    assert usage.cached_content_token_count
    assert abs(usage.cached_content_token_count - (made.usage_metadata.total_token_count or 0)) < 5
    client.caches.delete(name=made.name)
    with pytest.raises(errors.ClientError, match="CachedContent not found") as caught:
        client.caches.get(name=made.name)
    assert caught.value.code == 403


def test_files(client: genai.Client) -> None:
    config = types.UploadFileConfig(mime_type="text/plain", display_name="Sea", name="my-file")
    file = client.files.upload(file=BytesIO(b"The sea."), config=config)
    assert (file.name, file.display_name, file.size_bytes, file.state) == (
        "files/my-file",
        "Sea",
        8,
        types.FileState.ACTIVE,
    )
    assert file.uri
    assert client.files.get(name="my-file").uri == file.uri
    assert [each.name for each in client.files.list()] == ["files/my-file"]
    part = types.Part.from_uri(file_uri=file.uri, mime_type="text/plain")
    assert client.models.generate_content(model=FLASH, contents=["hello", part]).text
    client.files.delete(name="my-file")
    with pytest.raises(errors.ClientError, match="You do not have permission to access the File my-file"):
        client.files.get(name="my-file")


KEY = "AIzaSyD-secretsecretsecretsecretsecret1"
GOOGLE = "https://generativelanguage.googleapis.com"


class Google(BaseHTTPRequestHandler):
    """Answers uploads as Google does: the client is to go on at Google's address, with its key."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        query = f"key={KEY}&upload_id=AHVrFxNdbV-7tqVlCVrVYs3nPFJ2kRw&upload_protocol=resumable"
        headers = {"x-goog-upload-status": "active", "x-goog-upload-url": f"{GOOGLE}/upload/v1beta/files?{query}"}
        answer = b""
        if "upload_id" in self.path:
            headers = {"x-goog-upload-status": "final", "content-type": "application/json"}
            answer = json.dumps(
                {"file": {"name": "files/a", "uri": f"{GOOGLE}/v1beta/files/a", "sizeBytes": len(body)}}
            )
            answer = answer.encode()
        self.send_response(200)
        for name, value in (*headers.items(), ("content-length", str(len(answer)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def uploaded(server: MockServer) -> types.File:
    options = types.HttpOptions(base_url=server.base_url("gemini"))
    with genai.Client(api_key=KEY, http_options=options) as client:
        return client.files.upload(file=BytesIO(b"The sea."), config=types.UploadFileConfig(mime_type="text/plain"))


def test_uploads_are_recorded_and_replayed(tmp_path: Path) -> None:
    stated: Any = {"cassette": "files", "cassettes": str(tmp_path)}
    with ThreadingHTTPServer(("127.0.0.1", 0), Google) as google:
        Thread(target=google.serve_forever, daemon=True).start()
        upstream = {"gemini": f"http://127.0.0.1:{google.server_port}"}
        with MockServer(record="all", upstream=upstream, **stated) as server:
            recorded = uploaded(server)
        google.shutdown()
    text = (tmp_path / "files.yaml").read_text()
    assert text.count("operation: create_file") == 2
    assert "secretsecret" not in text
    with MockServer(**stated) as server:
        assert uploaded(server) == recorded
        assert [call.source for call in server.calls] == ["cassette files.yaml#1", "cassette files.yaml#2"]
    assert (recorded.name, recorded.size_bytes) == ("files/a", 8)


def test_uploads_where_keys_are_asked_for() -> None:
    with MockServer(keys=[KEY]) as server:
        assert uploaded(server).size_bytes == 8


@pytest.mark.parametrize(("error", "most"), [(429, 3), (503, 3), (409, 1), (400, 1)])
def test_retries(error: int, most: int) -> None:
    with MockServer() as server:
        server.on().then({"error": error, "retry_after": "60s"})
        for options, calls in ((None, 1), (types.HttpRetryOptions(attempts=3, initial_delay=0.01, jitter=0), most)):
            before = len(server.calls)
            http = types.HttpOptions(base_url=server.base_url("gemini"), retry_options=options)
            with genai.Client(api_key="k", http_options=http) as client, pytest.raises(errors.APIError):
                client.models.generate_content(model=FLASH, contents="x")
            assert len(server.calls) - before == calls
