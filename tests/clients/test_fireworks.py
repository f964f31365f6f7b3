"""Fireworks through its own client, which minds every type here, and through OpenAI's."""

from collections.abc import Iterator
from typing import Any

import fireworks
import openai
import pytest
from anthropic import Anthropic
from fireworks import Fireworks
from fireworks.types.shared import LogProbs, NewLogProbs
from openai import OpenAI

from mockserver.media.sound_files import Speech, write_wav
from tests.kit.served import Served, served

MODEL = "accounts/fireworks/models/kimi-k2-instruct-0905"
RULES = """
version: 1
rules:
  - {when: {last_user: "*hello*"}, then: {text: " Hello there, friend."}}
  - {when: {last_user: "*busy*"}, then: {error: 429, retry_after: 0.01}}
  - {when: {last_user: "*broken*"}, then: {error: 500}}
  - {when: {last_user: "*gives up*"}, then: {text: " Sor", finish: error}}
  - when: {last_user: "*weather*"}
    then: {reasoning: "They ask of Oslo.", tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
"""
TOOLS: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]


@pytest.fixture(scope="module")
def place() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_fireworks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIREWORKS_API_KEY", "FIREWORKS_BASE_URL", "FIREWORKS_ACCOUNT_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["/fireworks/inference", "/fireworks"])
def client(place: Served, request: pytest.FixtureRequest) -> Iterator[Fireworks]:
    """The client at either of its bases, both without `/v1`."""
    base = place.address + request.param
    with Fireworks(api_key="fw_1", base_url=base, max_retries=1, _strict_response_validation=True) as client:
        yield client


def test_a_completion_that_breaks_off(client: Fireworks) -> None:
    made = client.completions.create(model=MODEL, prompt="It gives up.", raw_output=True)
    assert (made.choices[0].text, made.choices[0].finish_reason) == (" Sor", "error")


def test_tokens_that_were_sent_are_fragments(client: Fireworks) -> None:
    made = client.completions.create(model=MODEL, prompt=[5, 7], raw_output=True)
    raw = made.choices[0].raw_output
    assert raw is not None
    assert raw.prompt_fragments == raw.prompt_token_ids == [5, 7]


def test_a_completion(client: Fireworks) -> None:
    made = client.completions.create(model=MODEL, prompt="Say hello.", max_tokens=3)
    assert (made.object, made.model) == ("text_completion", MODEL)
    assert (made.choices[0].text, made.choices[0].finish_reason) == (" Hello there,", "length")
    assert (made.usage.prompt_tokens, made.usage.completion_tokens, made.usage.total_tokens) == (3, 3, 6)


def test_a_stream(client: Fireworks) -> None:
    *before, last = list(client.completions.create(model=MODEL, prompt="Say hello.", stream=True))
    assert "".join(chunk.choices[0].text for chunk in before) == " Hello there, friend."
    assert [chunk.usage for chunk in before] == [None] * len(before)
    assert (last.choices[0].finish_reason, last.usage and last.usage.total_tokens) == ("stop", 8)


def test_log_probabilities_of_both_kinds(client: Fireworks) -> None:
    legacy = client.completions.create(model=MODEL, prompt="Say hello.", logprobs=2, echo=True).choices[0].logprobs
    new = client.completions.create(model=MODEL, prompt="Say hello.", logprobs=True, top_logprobs=2).choices[0].logprobs
    assert isinstance(legacy, LogProbs)
    assert isinstance(new, NewLogProbs)
    assert "".join(legacy.tokens or ()) == "Say hello. Hello there, friend."
    assert "".join(entry.token for entry in new.content or ()) == " Hello there, friend."
    assert {len(entry.top_logprobs or ()) for entry in new.content or ()} == {2}


def test_every_parameter_at_once(client: Fireworks) -> None:
    made = client.completions.create(
        model=MODEL,
        prompt=["Say hello.", "hello again"],
        context_length_exceeded_behavior="error",
        echo=True,
        echo_last=1,
        frequency_penalty=-1,
        ignore_eos=True,
        images=[["data:image/png;base64,AA=="], []],
        logit_bias={"5": 1.5},
        logprobs=True,
        max_tokens=9,
        metadata={"a": "b"},
        min_p=0.1,
        mirostat_lr=0.1,
        mirostat_target=1,
        n=2,
        perf_metrics_in_response=True,
        prediction={"content": " Hello"},
        presence_penalty=1,
        prompt_cache_isolation_key="i",
        prompt_cache_key="k",
        raw_output=True,
        reasoning_effort="low",
        reasoning_history="preserved",
        repetition_penalty=1.5,
        response_format={"type": "text"},
        return_token_ids=True,
        seed=5,
        service_tier="priority",
        speculation=[1],
        stop=["never"],
        temperature=1,
        top_k=5,
        top_logprobs=1,
        top_p=0.5,
        typical_p=0.5,
    )
    assert [choice.index for choice in made.choices] == [0, 1, 2, 3]
    assert made.choices[2].raw_output
    assert made.choices[2].raw_output.prompt_fragments == ["hello again"]
    assert made.choices[0].token_ids == made.choices[0].raw_output.completion_token_ids  # type: ignore[union-attr]
    assert made.perf_metrics
    assert made.perf_metrics["speculation-prompt-tokens"] == 1


@pytest.mark.parametrize(
    ("asked", "raised"),
    [
        ({"prompt": "hello", "n": 200}, fireworks.UnprocessableEntityError),
        ({"prompt": "hello", "extra_body": {"suffix": "x"}}, fireworks.UnprocessableEntityError),
        ({"prompt": "busy"}, fireworks.RateLimitError),
        ({"prompt": "broken"}, fireworks.InternalServerError),
    ],
)
def test_errors(client: Fireworks, asked: Any, raised: type[fireworks.APIStatusError]) -> None:
    with pytest.raises(raised) as caught:
        client.completions.create(model=MODEL, **asked)
    body: Any = caught.value.body
    assert isinstance(body["detail"], list) if caught.value.status_code == 422 else body["request_id"]


def test_a_chat(client: Fireworks) -> None:
    messages: Any = [{"role": "user", "content": "hello"}]
    made = client.chat.completions.create(model=MODEL, messages=messages, logprobs=True, top_logprobs=1)
    assert made.choices[0].message.content == " Hello there, friend."
    assert isinstance(made.choices[0].logprobs, NewLogProbs)
    *before, last = list(client.chat.completions.create(model=MODEL, messages=messages, stream=True, logprobs=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in before) == " Hello there, friend."
    assert last.usage == made.usage


def test_tools_and_reasoning(client: Fireworks) -> None:
    messages: Any = [{"role": "user", "content": "the weather"}]
    message = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    assert message.reasoning_content == "They ask of Oslo."
    assert message.tool_calls
    assert message.tool_calls[0].function.arguments == '{"city":"Oslo"}'


def test_recordings_are_transcribed_in_every_form(place: Served) -> None:
    sound = ("said.wav", write_wav(Speech("The train leaves at noon.")))
    with OpenAI(base_url=f"{place.address}/fireworks/inference/v1", api_key="fw_1") as client:
        hear = client.audio.transcriptions.create
        plain = hear(model="whisper-v3-turbo", file=sound)
        assert plain.to_dict() == {"text": "The train leaves at noon."}
        whole = hear(
            model="whisper-v3", file=sound, response_format="verbose_json", timestamp_granularities=["word", "segment"]
        )
        assert [word.word.strip() for word in whole.words or ()] == ["The", "train", "leaves", "at", "noon."]
        assert "00:00:00,000 -->" in hear(model="whisper-v3", file=sound, response_format="srt")
        with pytest.raises(openai.BadRequestError) as caught:
            hear(model="whisper-v3", file=("notes.txt", b"words"))
        assert caught.value.body == {
            "message": "Invalid file format. Supported formats: "
            "['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']",
            "param": None,
            "code": "INVALID_ARGUMENT",
            "type": "error",
        }


def test_embeddings_take_the_fields_of_their_model(place: Served) -> None:
    with OpenAI(base_url=f"{place.address}/fireworks/inference/v1", api_key="fw_1") as client:
        found = client.embeddings.create(model="nomic", input=["a", "b"], extra_body={"normalize": True})
    assert [len(each.embedding) for each in found.data] == [1536, 1536]


def test_messages_are_answered_as_anthropics(place: Served, client: Fireworks) -> None:
    asked: Any = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "hello"}]}
    made = client.messages.create(**asked)
    assert made.to_dict()["content"] == [{"type": "text", "text": " Hello there, friend."}]
    address = f"{place.address}/fireworks/inference"
    with Anthropic(base_url=address, api_key="fw_1") as other, other.messages.stream(**asked) as stream:
        assert stream.get_final_text() == " Hello there, friend."


def test_clients_that_add_the_version_find_chats_below_an_address_that_has_it(place: Served) -> None:
    with Fireworks(base_url=f"{place.address}/fireworks/inference/v1", api_key="fw_1") as client:
        made = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "hello"}])
    assert made.choices[0].message.content == " Hello there, friend."
