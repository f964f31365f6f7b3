"""Doubtful episodes are found, with what to do; good ones pass."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.cassettes.verify import DAY, Checks, list_findings
from mockserver.core.episode import Episode, Recorded
from tests.kit.episodes import AT, chat, episode
from tests.kit.local import local

NOW = Checks(now=AT)
ASKED = {"model": "m", "messages": [{"role": "user", "content": "a"}]}


def words(one: Episode, checks: Checks = NOW) -> list[str]:
    return [words for _, words in list_findings([one], checks)]


def answered(body: Any, **changed: Any) -> Episode:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = Recorded(200, (("content-type", "application/json"),), text)
    return replace(chat("a", {"text": "b"}), reply=replace(reply, **changed))


PATHS = {
    "/openai/v1/chat/completions": ASKED,
    "/openai/v1/responses": {"model": "m", "input": "a"},
    "/openai/v1/embeddings": {"model": "m", "input": ["a"]},
    "/openai/v1/moderations": {"model": "m", "input": "a"},
    "/skytells/v1/chat/completions": ASKED,
    "/crazyrouter/v1/chat/completions": ASKED,
    "/tzafon/v1/chat/completions": ASKED,
    "/azure/chat/completions?api-version=2024-05-01-preview": ASKED,
    "/azure-openai/openai/v1/chat/completions": ASKED,
    "/fireworks/inference/v1/completions": {"model": "m", "prompt": "a"},
    "/cohere/v1/chat": {"model": "m", "message": "a"},
    "/cohere/v2/chat": ASKED,
}


@pytest.mark.parametrize("path", PATHS)
def test_what_our_dialects_answer_is_good(path: str) -> None:
    for then in ('{"text": "b"}', '{"error": 429}', '{"error": "context_length"}'):
        server = local(f'{{"rules": [{{"then": {then}}}]}}')
        for more in ({}, {"stream": True}):
            assert words(episode(server, path, {**PATHS[path], **more})) == []


TABLE = "input should be a valid dictionary; correct it, or record it again"
CHOICE = {"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}
CHAT = {"id": "a", "created": 1, "model": "m", "choices": [CHOICE]}
BAD: list[tuple[Any, list[str]]] = [
    (CHAT, []),
    ({**CHAT, "more": {"of": 1}, "usage": None}, []),
    (
        {**CHAT, "id": None},
        ["the answer is wrong at $.id: input should be a valid string; correct it, or record it again"],
    ),
    (
        {**CHAT, "choices": [{**CHOICE, "message": None}]},
        [f"the answer is wrong at $.choices[0].message: {TABLE}"],
    ),
    ({"choices": [{"message": {"content": "a"}}]}, []),  # as some servers that speak OpenAI's chat
    ({**CHAT, "choices": [{"index": 0}]}, ["the answer has no $.choices[0].message; add it, or record it again"]),
    (
        {**CHAT, "choices": [{"message": {"tool_calls": [{"type": "function", "function": {"name": "f"}}]}}]},
        ["the answer has no $.choices[0].message.tool_calls[0].function.arguments; add it, or record it again"],
    ),
    ({"error": {"message": "filtered"}}, []),
    ({"id": "a", "created": 1, "model": "m"}, ["the answer has no $.choices; add it, or record it again"]),
    (b"<html>", ["the answer is not JSON; record it again"]),
    (b"[" * 100_000, ["the answer is not JSON; record it again"]),
]


@pytest.mark.parametrize(("body", "told"), BAD, ids=range(len(BAD)))
def test_an_answer_that_clients_cannot_read_is_found(body: Any, told: list[str]) -> None:
    assert words(answered(body)) == told


@pytest.mark.parametrize("status", [400, 502])
@pytest.mark.parametrize("body", [b"<html>", {"detail": "no"}, {"statusCode": 401, "message": "no"}, [], {"error": 3}])
def test_an_error_is_not_judged(body: Any, status: int) -> None:
    """The official clients read errors in any shape, and gateways have their own."""
    assert words(answered(body, status=status)) == []


def test_events_of_a_stream_are_held_against_their_shape() -> None:
    good = chat("a", {"text": "b c d e f g h i"}, stream=True)
    frames = [(at, data.replace(b'"delta"', b'"dleta"')) for at, data in good.reply.frames or ()]
    found = words(replace(good, reply=replace(good.reply, frames=tuple(frames))))
    assert found[:1] == ["event 1 of the stream has no $.choices[0].delta; add it, or record it again"]
    assert (len(found), found[3]) == (4, "7 more of its events have such mistakes")


FILTERED = {"finish_reason": "content_filter", "index": 0, "content_filter_results": {"hate": {"filtered": True}}}
HALVES = [
    {"choices": [], "created": 0, "id": "", "model": "", "prompt_filter_results": []},
    {**CHAT, "choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"name": "f"}}]}}]},
    {**CHAT, "choices": [{"finish_reason": None, "index": 0, "content_filter_offsets": {"check_offset": 1}}]},
    {**CHAT, "choices": [FILTERED]},
]


def test_what_azure_leaves_out_when_it_filters() -> None:
    assert words(answered({**CHAT, "choices": [FILTERED]})) == []
    streamed = chat("a", {"text": "b"}, stream=True)
    frames = [(0.0, b"data: " + json.dumps(half).encode() + b"\n\n") for half in HALVES]
    frames.append((0.0, b"data: [DONE]\n\n"))
    assert words(replace(streamed, reply=replace(streamed.reply, frames=tuple(frames)))) == []


def test_a_stream_without_its_end_is_found() -> None:
    good = chat("a", {"text": "b"}, stream=True)
    cut = replace(good, reply=replace(good.reply, frames=(good.reply.frames or ())[:-1]))
    assert words(cut) == ["the stream breaks off before its end; record it again"]


@pytest.mark.parametrize(
    ("age", "told"), [(90, "1 minute"), (7200, "2 hours"), (DAY, "1 day"), (100.9 * DAY, "100 days")]
)
def test_ages(age: float, told: str) -> None:
    young = chat("a", {"text": "b"})
    assert words(young, Checks(now=young.at + age, max_age=60)) == [f"is {told} old; record it again"]


def test_age_bytes_leaks_and_use() -> None:
    old = chat("a", {"text": "b"})
    checks = Checks(
        now=AT + 100 * DAY,
        max_age=90 * DAY,
        mismatches=frozenset({1}),
        leaks=lambda _: ["looks like a key"],
        source="chat.yaml",
        played=frozenset({"chat.yaml#2", "other.yaml#1"}),
    )
    assert words(old, checks) == [
        "was edited: its bytes do not match its sha256; record it again or, if you meant to edit it, "
        "set `sha256: unknown`",
        "is 100 days old; record it again",
        "looks like a key",
        "was not played; to remove all such episodes: mockserver cassette prune NAME --unplayed URL",
    ]
    assert words(replace(old, at=0.0), Checks(now=AT, max_age=1)) == []
