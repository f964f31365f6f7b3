"""Determinism as a client sees it: the same request gets the same bytes, plain and streamed, in any process."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from openai import OpenAI

from tests.clients.asked import MODEL, TIME, WEATHER, say
from tests.kit.served import Served, served
from tests.kit.strict import frames

BASES = {
    "openai": "/chat/completions",
    "crazyrouter": "/chat/completions",
    "skytells": "/chat/completions",
    "azure": "/chat/completions?api-version=2024-05-01-preview",
}
ASKED: dict[str, dict[str, Any]] = {
    "a rule": {"messages": say("hello")},
    "nothing known": {"messages": say("Tell me about the sea.")},
    "other languages": {"messages": say("Erzähl mir vom Meer. 海について教えて。")},
    "tools": {"messages": say("What is the weather in Rome?"), "tools": [WEATHER, TIME]},
    "two calls": {"messages": say("weather and time"), "tools": [WEATHER, TIME]},
    "few tokens": {"messages": say("Tell me about the sea."), "max_tokens": 5},
    "an error": {"messages": say("x"), "model": "status-404"},
    "a filtered prompt": {"messages": say("filtered prompt")},
}


@pytest.fixture(scope="module")
def other(rules: str) -> Iterator[Served]:
    """A second server with the same rules."""
    with served(rules) as running:
        yield running


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", BASES)
@pytest.mark.parametrize("asked", ASKED)
def test_the_same_bytes_in_another_process(
    connection: httpx2.Client, server: Served, other: Served, *, asked: str, dialect: str, stream: bool
) -> None:
    body = {"model": MODEL, **ASKED[asked], "stream": stream}
    first, again, elsewhere = (
        connection.post(running.base(dialect) + BASES[dialect], json=body) for running in (server, server, other)
    )

    assert first.content == again.content == elsewhere.content
    assert len({_headers(response) for response in (first, again, elsewhere)}) == 1


@pytest.mark.parametrize("asked", ["a rule", "nothing known", "other languages", "few tokens"])
@pytest.mark.parametrize("dialect", BASES)
def test_a_stream_says_what_a_plain_answer_says(
    connection: httpx2.Client, server: Served, dialect: str, asked: str
) -> None:
    url = server.base(dialect) + BASES[dialect]
    body = {"model": MODEL, **ASKED[asked]}
    plain = connection.post(url, json=body).json()
    chunks = [json.loads(frame) for frame in frames(connection.post(url, json={**body, "stream": True}).content)[:-1]]

    text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    assert text == plain["choices"][0]["message"]["content"]
    assert {chunk["id"] for chunk in chunks} == {plain["id"]}
    assert chunks[-1]["choices"][0]["finish_reason"] == plain["choices"][0]["finish_reason"]


def test_what_is_only_bookkeeping_changes_nothing(client: OpenAI) -> None:
    one = client.chat.completions.create(model=MODEL, messages=say("Tell me about the sea."))
    more: dict[str, Any] = {"user": "u-1", "metadata": {"run": "7"}, "store": True, "safety_identifier": "s"}
    two = client.chat.completions.create(model=MODEL, messages=say("Tell me about the sea."), **more)

    assert two == one


@pytest.mark.parametrize("more", [{"temperature": 0.2}, {"seed": 5}, {"extra_body": {"unknown": 1}}])
def test_what_changes_the_meaning_changes_the_answer(client: OpenAI, more: dict[str, Any]) -> None:
    one = client.chat.completions.create(model=MODEL, messages=say("Tell me about the sea."))
    two = client.chat.completions.create(model=MODEL, messages=say("Tell me about the sea."), **more)

    assert two.id != one.id


def _headers(response: httpx2.Response) -> tuple[tuple[str, str], ...]:
    """All but the date and the number of the call."""
    own = {"date", "x-mockserver-call", "x-mockserver-source"}
    return tuple((name, value) for name, value in response.headers.multi_items() if name not in own)
