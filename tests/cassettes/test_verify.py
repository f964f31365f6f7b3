"""Doubtful episodes are found, with what to do; good ones pass."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mockserver.cassettes.verify import DAY, Checks, Retired, findings, retired
from mockserver.core.episode import Episode, Recorded
from tests.kit.episodes import AT, chat, episode
from tests.kit.local import local

NOW = Checks(now=AT)
ASKED = {"model": "m", "messages": [{"role": "user", "content": "a"}]}


def words(one: Episode, checks: Checks = NOW) -> list[str]:
    return [found.words for found in findings([one], checks)]


def answered(body: Any, **changed: Any) -> Episode:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = Recorded(200, (("content-type", "application/json"),), text)
    return replace(chat("a", {"text": "b"}), reply=replace(reply, **changed))


PATHS = {
    "/openai/v1/chat/completions": ASKED,
    "/openai/v1/completions": {"model": "m", "prompt": "a"},
    "/openai/v1/responses": {"model": "m", "input": "a"},
    "/openai/v1/embeddings": {"model": "m", "input": ["a"]},
    "/openai/v1/moderations": {"model": "m", "input": "a"},
    "/skytells/v1/chat/completions": ASKED,
    "/crazyrouter/v1/chat/completions": ASKED,
    "/tzafon/v1/chat/completions": ASKED,
    "/tzafon/v1/responses": {"model": "m", "input": "a"},
    "/azure/chat/completions?api-version=2024-05-01-preview": ASKED,
    "/azure-openai/openai/v1/chat/completions": ASKED,
    "/fireworks/inference/v1/completions": {"model": "m", "prompt": "a"},
    "/fireworks/inference/v1/chat/completions": ASKED,
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("then", ['{"text": "b"}', '{"error": 429}', '{"error": 500}', '{"error": "context_length"}'])
def test_what_our_dialects_answer_is_good(path: str, stream: bool, then: str) -> None:
    server = local(f'{{"rules": [{{"then": {then}}}]}}')
    assert words(episode(server, path, {**PATHS[path], **({"stream": True} if stream else {})})) == []


def test_models_are_listed() -> None:
    assert words(episode(local(), "/openai/v1/models", method="GET")) == []


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
    ({"id": "a", "created": 1, "model": "m"}, ["the answer has no $.choices; add it, or record it again"]),
    (b"<html>", ["the answer is not JSON; record it again"]),
    (b"[" * 100_000, ["the answer is not JSON; record it again"]),
]


@pytest.mark.parametrize(("body", "told"), BAD, ids=range(len(BAD)))
def test_an_answer_that_clients_cannot_read_is_found(body: Any, told: list[str]) -> None:
    assert words(answered(body)) == told


def test_a_dialect_may_need_more() -> None:
    skytells = replace(answered(CHAT), dialect="skytells")
    assert words(skytells) == [
        "the answer has no $.choices[0].content_filter_results; add it, or record it again",
        "the answer has no $.prompt_filter_results; add it, or record it again",
    ]
    assert words(replace(answered({}), dialect="azure", operation="info")) == []


def test_an_error_of_a_proxy_is_not_judged() -> None:
    assert words(answered(b"<html>", status=502, headers=(("content-type", "text/html"),))) == []
    assert words(answered({"detail": "no"}, status=502)) == ["the error has no $.error; add it, or record it again"]


def test_events_of_a_stream_are_held_against_their_shape() -> None:
    good = chat("a", {"text": "b c d e f g h i"}, stream=True)
    frames = [(at, data.replace(b'"id"', b'"di"')) for at, data in good.reply.frames or ()]
    found = words(replace(good, reply=replace(good.reply, frames=tuple(frames))))
    assert found[:1] == ["event 1 of the stream has no $.id; add it, or record it again"]
    assert (len(found), found[3]) == (4, "7 more of its events have such mistakes")


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


def test_age_model_bytes_leaks_and_use() -> None:
    old = replace(chat("a", {"text": "b"}), model="gpt-4-32k")
    checks = Checks(
        now=AT + 100 * DAY,
        max_age=90 * DAY,
        mismatches=frozenset({1}),
        leaks=lambda _: ["looks like a key"],
        played=frozenset({2}),
    )
    assert words(old, checks) == [
        "was edited: its bytes do not match its sha256; record it again or, if you meant to edit it, "
        "set `sha256: unknown`",
        "is 100 days old; record it again",
        "uses gpt-4-32k, which was retired on 2025-06-06; record it again with gpt-4o",
        "looks like a key",
        "was not played; to remove all such episodes: mockserver cassette prune NAME --unplayed URL",
    ]
    assert words(replace(old, at=0.0, model="m"), Checks(now=AT, max_age=1)) == []


IN_2024, IN_2026 = 1_710_000_000.0, 1_770_000_000.0


@pytest.mark.parametrize(
    ("dialect", "model", "now", "found"),
    [
        ("openai", "text-davinci-003", IN_2024, Retired("2024-01-04", "gpt-3.5-turbo-instruct")),
        ("openai", "gpt-4-32k", IN_2024, None),
        ("openai", "gpt-4-32k", IN_2026, Retired("2025-06-06", "gpt-4o")),
        ("openai", "text-search-ada-doc-001", IN_2026, Retired("2024-01-04", "text-embedding-3-small")),
        ("openai", "gpt-4o", IN_2026, None),
        ("openai", "", IN_2026, None),
        ("azure_openai", "text-davinci-003", IN_2026, None),
    ],
)
def test_models_are_retired_from_their_day_on(dialect: str, model: str, now: float, found: Retired | None) -> None:
    assert retired(dialect, model, now) == found
