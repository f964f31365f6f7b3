"""Recorded requests are read by their dialects; several prompts are several questions."""

import json

import pytest
from msgspec.structs import replace

from mockserver.cli.cassette.convert import read_recorded_calls
from mockserver.cli.cassette.episodes import explain_unplayable
from mockserver.core.episode import Episode
from tests.kit.episodes import chat, episode
from tests.kit.local import local

PLAYED = chat("a", {"text": "b"})
DOUBTFUL = [
    (PLAYED, []),
    (
        replace(PLAYED, dialect="opnai"),
        ['can never be replayed: unknown dialect "opnai"; did you mean "openai"?'],
    ),
    (replace(PLAYED, dialect="none"), ['can never be replayed: unknown dialect "none"']),
    (
        replace(PLAYED, operation="caht"),
        ['has the operation "caht", but POST /openai/v1/chat/completions is chat'],
    ),
    (
        replace(PLAYED, request=replace(PLAYED.request, path="/v1/chat/completion")),
        ["can never be replayed: openai has no POST /v1/chat/completion; correct its method and path"],
    ),
    (
        replace(PLAYED, dialect="tzafon"),
        ["can never be replayed: tzafon has no POST /openai/v1/chat/completions; correct its method and path"],
    ),
]


@pytest.mark.parametrize(("found", "words"), DOUBTFUL)
def test_what_no_request_can_get(found: Episode, words: list[str]) -> None:
    assert list(explain_unplayable(found)) == words


def test_each_prompt_is_asked_by_itself() -> None:
    rules = [{"when": {"last_user": "a"}, "then": {"text": " 1"}}, {"then": {"text": " 2"}}]
    body = {"model": "babbage-002", "prompt": ["a", "b"], "echo": True}
    one, two = read_recorded_calls(episode(local(json.dumps({"rules": rules})), "/openai/v1/completions", body), "x#1")
    assert (one.fields["last_user"], one.response.choices[0].join_texts("text")) == ("a", " 1")
    assert (two.fields["last_user"], two.response.choices[0].join_texts("text")) == ("b", " 2")


def test_fields_are_those_of_rules() -> None:
    (one,) = read_recorded_calls(chat("a", {"text": "b"}, temperature=1, **{"x.y": 2}), "x#1")
    assert one.fields["operation"] == "chat"
    assert one.fields["param.temperature"] == 1
    assert one.fields["tools"] == []
    assert "system" not in one.fields
    assert "param.x.y" not in one.fields
