"""OpenAI's own client through a relay: it gets what the upstream says, which is on record before it has it all."""

import json
from collections.abc import Iterator

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.kit.relaying import Relaying, relaying
from tests.kit.upstream import Upstream, plain, stream, upstream

CHUNK = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi there"}, "finish_reason": "stop"}],
}


def said(text: str) -> bytes:
    """A chunk of a chat."""
    return b"data: " + json.dumps({**CHUNK, "choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


STEPS = [
    {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "object": "response"}},
    {"type": "response.output_text.delta", "sequence_number": 1, "delta": "Hi", "item_id": "msg_1"},
    {"type": "response.completed", "sequence_number": 2, "response": {"id": "resp_1", "object": "response"}},
]
SCRIPTS = {
    "plain": plain(json.dumps(COMPLETION).encode()),
    "stream": stream(said("Hi"), said(" there"), b"data: [DONE]\n\n", gap=0.05),
    "steps": stream(*(f"event: {step['type']}\ndata: {json.dumps(step)}\n\n".encode() for step in STEPS)),
    "dropped": (*stream(said("Hi"), end=False), "close"),
    "failed": stream(said("Hi"), b'data: {"error":{"message":"no more","type":"server_error"}}\n\n'),
    "limited": plain(b'{"error":{"message":"slow down"}}', "retry-after: 3", status="429 Too Many Requests"),
}


@pytest.fixture(scope="module")
def up() -> Iterator[Upstream]:
    with upstream(SCRIPTS) as process:
        yield process


def client(relay: Relaying) -> OpenAI:
    return OpenAI(base_url=f"{relay.address}/v1", api_key="sk-test", max_retries=0)


MESSAGES = [{"role": "user", "content": "hi"}]


def test_a_plain_chat(up: Upstream) -> None:
    with relaying(up.base("plain")) as relay, client(relay) as asking:
        answer = asking.chat.completions.create(model="gpt-4o", messages=MESSAGES)
        assert answer.choices[0].message.content == "Hi there"
        assert relay.episode.reply.bytes == json.dumps(COMPLETION).encode()
        assert relay.episode.request.path == "/v1/chat/completions"


def test_a_streamed_chat(up: Upstream) -> None:
    with relaying(up.base("stream")) as relay, client(relay) as asking:
        chunks = asking.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hi there"
        assert len(relay.episode.reply.frames or ()) == 3


async def test_an_asynchronous_client(up: Upstream) -> None:
    with relaying(up.base("stream")) as relay:
        async with AsyncOpenAI(base_url=f"{relay.address}/v1", api_key="sk-test", max_retries=0) as asking:
            chunks = await asking.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=True)
            texts = [chunk.choices[0].delta.content async for chunk in chunks]
        assert texts == ["Hi", " there"]
        assert len(relay.episode.reply.frames or ()) == 3


def test_a_streamed_response(up: Upstream) -> None:
    with relaying(up.base("steps")) as relay, client(relay) as asking:
        kinds = [event.type for event in asking.responses.create(model="gpt-4o", input="hi", stream=True)]
        assert kinds == [step["type"] for step in STEPS]
        assert len(relay.episode.reply.frames or ()) == 3
        assert relay.episode.operation == "responses"


def test_a_stream_that_breaks_off_is_an_error(up: Upstream) -> None:
    with relaying(up.base("dropped")) as relay, client(relay) as asking:
        with pytest.raises(openai.APIConnectionError):
            list(asking.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=True))
        assert relay.episodes == []


def test_a_stream_that_fails_is_on_record(up: Upstream) -> None:
    with relaying(up.base("failed")) as relay, client(relay) as asking:
        with pytest.raises(openai.APIError, match="no more"):
            list(asking.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=True))
        assert len(relay.episode.reply.frames or ()) == 2


def test_errors_are_the_upstream_s(up: Upstream) -> None:
    with relaying(up.base("limited")) as relay, client(relay) as asking:
        with pytest.raises(openai.RateLimitError) as told:
            asking.chat.completions.create(model="gpt-4o", messages=MESSAGES)
        assert told.value.response.headers["retry-after"] == "3"
        assert relay.episode.reply.status == 429
