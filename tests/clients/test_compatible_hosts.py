"""Compatible hosts through their own clients, and through OpenAI's where a host has none: to the end of a loop."""

import json
from collections.abc import Iterator
from typing import Any

import cerebras.cloud.sdk
import groq
import httpx2
import openai
import pytest
from cerebras.cloud.sdk import Cerebras
from groq import Groq
from openai import OpenAI

from tests.kit.served import Served, served

Json = Any
RULES = """
rules:
- when: {last_user: break}
  then: {text: Half of this never arrives., faults: [{error_event: {after_tokens: 2}}]}
- {when: {model: wrong key}, then: {error: invalid_key}}
- {when: {model: unknown}, then: {error: model_not_found}}
- {when: {model: busy}, then: {error: rate_limit}}
- {when: {model: down}, then: {error: server_error}}
- {when: {tool_result: {name: look}}, then: {reasoning: I know it now., text: It is clear.}}
- when: {tools: {includes: look}}
  then: {reasoning: I must look., tool_calls: [{name: look, arguments: {city: Oslo}}]}
- {when: {response_format: json_schema}, then: {json: {city: Oslo}}}
- then: {reasoning: They greet me., text: Hello!}
"""
LOOK = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
HELLO = [{"role": "user", "content": "Hello"}]
NO_RETRY = {"api_key": "any", "max_retries": 0}
# For each host: its client, its base URL, the key of reasoning, and the module of the errors that it raises.
CLIENTS: dict[str, tuple[Any, str, str, Any]] = {
    "groq": (Groq, "/groq", "reasoning", groq),
    "cerebras": (Cerebras, "/cerebras", "reasoning", cerebras.cloud.sdk),
    "deepseek": (OpenAI, "/deepseek", "reasoning_content", openai),
    "openrouter": (OpenAI, "/openrouter/api/v1", "reasoning", openai),
    "xai": (OpenAI, "/xai/v1", "reasoning_content", openai),
    "together": (OpenAI, "/together/v1", "reasoning", openai),
    "vllm": (OpenAI, "/vllm/v1", "reasoning", openai),
    "lmstudio": (OpenAI, "/lmstudio/v1", "reasoning_content", openai),
    "compatible": (OpenAI, "/compatible/v1", "reasoning_content", openai),
}
# The statuses that are not the usual ones.
STATUSES = {
    ("xai", "wrong key"): 400,
    **{(host, "unknown"): 400 for host in ("deepseek", "openrouter", "lmstudio")},
}
UNASKED = ("groq", "cerebras", "deepseek", "openrouter", "xai", "together")  # whose streams have usage in any case


@pytest.fixture(scope="module")
def hosts() -> Iterator[Served]:
    with served(RULES, flags=("--replay", "error", "--lint", "off")) as server:
        yield server


@pytest.fixture(params=CLIENTS)
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(hosts: Served, host: str) -> Iterator[Any]:
    kind, base, *_ = CLIENTS[host]
    with kind(base_url=hosts.address + base, **NO_RETRY) as made:
        yield made


def test_a_plain_answer(client: Any, host: str) -> None:
    answer = client.chat.completions.create(model="m", messages=HELLO)
    message = answer.choices[0].message
    assert (message.content, getattr(message, CLIENTS[host][2])) == ("Hello!", "They greet me.")
    assert answer.usage.total_tokens > answer.usage.prompt_tokens > 0


def test_a_stream(client: Any, host: str) -> None:
    text, thought, usage = "", "", None
    for chunk in client.chat.completions.create(model="m", messages=HELLO, stream=True):
        extra = getattr(chunk, "x_groq", None)
        usage = getattr(chunk, "usage", None) or (extra and extra.usage) or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            thought += getattr(choice.delta, CLIENTS[host][2], None) or ""
    assert (text, thought) == ("Hello!", "They greet me.")
    assert (usage is not None) == (host in UNASKED)


def test_a_loop_with_a_tool(client: Any, host: str) -> None:
    """The history goes back as a client that knows the host writes it; the host refuses others."""
    key, messages = CLIENTS[host][2], list[Json](HELLO)
    asked = {"model": "deepseek-v4-flash", "messages": messages, "tools": [LOOK]}
    message = client.chat.completions.create(**asked).choices[0].message
    (call,) = message.tool_calls
    assert json.loads(call.function.arguments) == {"city": "Oslo"}
    function = {"name": call.function.name, "arguments": call.function.arguments}
    made = {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": function}]}
    messages += [{**made, key: getattr(message, key)}, {"role": "tool", "tool_call_id": call.id, "content": "clear"}]
    assert client.chat.completions.create(**asked).choices[0].message.content == "It is clear."


def test_a_streamed_call(client: Any) -> None:
    calls: dict[int, list[str]] = {}
    for chunk in client.chat.completions.create(model="m", messages=HELLO, tools=[LOOK], stream=True):
        for made in (made for choice in chunk.choices for made in choice.delta.tool_calls or ()):
            name, arguments = calls.setdefault(made.index or 0, ["", ""])
            calls[made.index or 0] = [name + (made.function.name or ""), arguments + (made.function.arguments or "")]
    assert calls == {0: ["look", '{"city":"Oslo"}']}


def test_a_structured_answer(client: Any, host: str) -> None:
    schema = {"name": "place", "schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
    form = {"type": "json_schema", "json_schema": schema}
    if host == "deepseek":  # which has no schemas
        with pytest.raises(CLIENTS[host][3].BadRequestError, match="This response_format type is unavailable now"):
            client.chat.completions.create(model="m", messages=HELLO, response_format=form)
        return
    answer = client.chat.completions.create(model="m", messages=HELLO, response_format=form)
    assert json.loads(answer.choices[0].message.content) == {"city": "Oslo"}


@pytest.mark.parametrize(("model", "status"), [("wrong key", 401), ("unknown", 404), ("busy", 429), ("down", 500)])
def test_errors(client: Any, host: str, model: str, status: int) -> None:
    with pytest.raises(CLIENTS[host][3].APIStatusError) as raised:
        client.chat.completions.create(model=model, messages=HELLO)
    assert raised.value.status_code == STATUSES.get((host, model), status)


def test_an_error_in_a_stream(client: Any, host: str) -> None:
    messages = [{"role": "user", "content": "break"}]
    with pytest.raises(CLIENTS[host][3].APIError):
        list(client.chat.completions.create(model="m", messages=messages, stream=True))


def test_the_error_of_openrouter_is_a_chunk_of_its_stream(hosts: Served) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "break"}], "stream": True}
    answer = httpx2.post(f"{hosts.address}/openrouter/chat/completions", json=body)
    _, *events = answer.text.split("data: ")
    *_, before, last = map(json.loads, events)
    assert (last["error"]["code"], last["choices"][0]["finish_reason"]) == (500, "error")
    assert all(last[key] == before[key] for key in ("id", "object", "created", "model", "provider"))


def test_models(client: Any, host: str) -> None:
    if host == "together":  # which lists them without an object around, as only its own client reads
        assert isinstance(client.get("/models", cast_to=object), list)
    else:
        assert all(model.id for model in client.models.list().data)


@pytest.mark.parametrize("host", ["groq"])
def test_groq_hears_what_it_says(client: Groq) -> None:
    said = client.audio.speech.create(model="orpheus", voice="hannah", input="Boats leave.", response_format="wav")
    heard = client.audio.transcriptions.create(file=("a.wav", said.read()), model="whisper-large-v3")
    assert (heard.text, heard.model_extra["x_groq"]["id"][:4]) == ("Boats leave.", "req_")
    assert "usage" not in heard.model_extra
    assert client.audio.transcriptions.create(url="https://a.example/a.mp3", model="whisper-large-v3").text
    with pytest.raises(groq.BadRequestError, match="file"):
        client.audio.transcriptions.create(model="whisper-large-v3")


@pytest.mark.parametrize("host", ["groq"])
def test_a_batch_of_groq(client: Groq) -> None:
    body = {"model": "qwen/qwen3-32b", "messages": HELLO}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body}
    file = client.files.create(file=("lines.jsonl", json.dumps(line).encode()), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="7d")
    seen = [client.batches.retrieve(batch.id) for _ in range(2)][-1]
    output = json.loads(client.files.content(seen.output_file_id).read())
    assert (seen.status, seen.completion_window, output["custom_id"]) == ("completed", "7d", "a")
    assert output["response"]["body"]["choices"][0]["message"]["reasoning"] == "They greet me."
    assert client.files.info("file-elsewhere").purpose == "batch"
    assert client.batches.cancel("batch_elsewhere").id == "batch_elsewhere"


@pytest.mark.parametrize("host", ["groq"])
def test_embeddings_of_groq(client: Groq) -> None:
    made = client.embeddings.create(model="nomic-embed-text-v1_5", input=["a", "b"])
    assert [len(each.embedding) for each in made.data] == [768, 768]


@pytest.mark.parametrize("host", ["xai"])
def test_images_of_xai(client: OpenAI, hosts: Served) -> None:
    made = client.images.generate(model="grok-imagine-image", prompt="a cat", n=2, extra_body={"aspect_ratio": "16:9"})
    assert len(made.data) == 2
    assert httpx2.get(made.data[0].url).content[:4] == b"\x89PNG"
    picture = {"url": "https://a.example/a.png", "type": "image_url"}
    edit = f"{hosts.address}/xai/v1/images/edits"
    edited = httpx2.post(edit, json={"prompt": "a dog", "image": picture, "response_format": "b64_json"})
    assert list(edited.json()["data"][0]) == ["b64_json", "mime_type"]
    assert edited.json()["usage"]["cost_in_usd_ticks"] > 0
    refused = httpx2.post(edit, json={"prompt": "a dog", "images": True})
    assert (refused.status_code, "images" in refused.text) == (400, True)


def test_images_of_together(hosts: Served) -> None:
    asked = {"model": "flux", "prompt": "a cat", "width": 512, "height": 256, "steps": 4}
    made = httpx2.post(f"{hosts.address}/together/v1/images/generations", json=asked).json()
    assert (made["object"], made["model"], made["data"][0]["type"]) == ("list", "flux", "url")
    assert "size=512x256" in made["data"][0]["url"]
    coded = httpx2.post(f"{hosts.address}/together/v1/images/generations", json={**asked, "response_format": "base64"})
    assert list(coded.json()["data"][0]) == ["index", "b64_json", "type"]


@pytest.mark.parametrize("host", ["vllm", "together", "compatible"])
def test_embeddings_of_hosts_take_fields_of_their_models(client: OpenAI) -> None:
    found = client.embeddings.create(model="nomic", input=["a", "b"], extra_body={"input_type": "query"})
    assert [len(each.embedding) for each in found.data] == [1536, 1536]


@pytest.mark.parametrize("host", ["compatible"])
def test_images_are_urls_unless_they_are_to_be_sent(client: OpenAI) -> None:
    assert client.images.generate(model="flux", prompt="a cat").data[0].url
    assert client.images.generate(model="flux", prompt="a cat", response_format="b64_json").data[0].b64_json
