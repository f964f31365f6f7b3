"""Recorded requests are read by their dialects; several prompts are several questions."""

import json
from dataclasses import replace

import pytest

from mockserver.cli.cassette.meaning import asked, known, unplayable
from mockserver.core.episode import Episode
from mockserver.server.parse_recorded import heard
from tests.kit.episodes import chat, episode
from tests.kit.local import local


def test_a_call_of_every_place() -> None:
    path = "/azure-openai/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    body = {"messages": [{"role": "user", "content": "a"}]}
    call = heard(episode(local(), path, body))
    assert call is not None
    assert (call.dialect, call.model, call.last_user) == ("azure_openai", "mine", "a")
    bare = chat("a", {"text": "b"})
    bare = replace(bare, request=replace(bare.request, path="/v1/chat/completions"))
    assert heard(bare) is not None
    assert heard(replace(bare, dialect="tzafon")) is not None
    for wrong in (
        replace(bare, dialect="none"),
        replace(bare, request=replace(bare.request, path="/nowhere")),
        replace(bare, request=replace(bare.request, method="PUT")),
        replace(bare, request=replace(bare.request, body=b"[")),
    ):
        assert heard(wrong) is None
        assert list(asked(wrong, "x#1")) == []


PLAYED = chat("a", {"text": "b"})
DOUBTFUL = [
    (PLAYED, []),
    (
        replace(PLAYED, dialect="opnai"),
        ['can never be played: there is no dialect "opnai"; did you mean "openai"?'],
    ),
    (replace(PLAYED, dialect="none"), ['can never be played: there is no dialect "none"']),
    (
        replace(PLAYED, operation="caht"),
        ['says that its operation is "caht", but POST /openai/v1/chat/completions is chat'],
    ),
    (
        replace(PLAYED, request=replace(PLAYED.request, path="/v1/chat/completion")),
        ["can never be played: openai has no POST /v1/chat/completion; mend its method and path"],
    ),
    (
        replace(PLAYED, dialect="tzafon"),
        ["can never be played: tzafon has no POST /openai/v1/chat/completions; mend its method and path"],
    ),
    (
        replace(PLAYED, request=replace(PLAYED.request, body=b'{"model": "m"}')),
        [
            "can never be played: openai refuses its request: Missing required parameter: 'messages'; mend it, or "
            "record it anew"
        ],
    ),
]


@pytest.mark.parametrize(("found", "words"), DOUBTFUL)
def test_what_no_request_can_get(found: Episode, words: list[str]) -> None:
    assert list(unplayable(found)) == words


def test_each_prompt_is_asked_by_itself() -> None:
    rules = [{"when": {"last_user": "a"}, "then": {"text": " 1"}}, {"then": {"text": " 2"}}]
    body = {"model": "babbage-002", "prompt": ["a", "b"], "echo": True}
    one, two = asked(episode(local(json.dumps({"rules": rules})), "/openai/v1/completions", body), "x#1")
    assert (one.fields["last_user"], one.told.choices[0].joined("text")) == ("a", " 1")
    assert (two.fields["last_user"], two.told.choices[0].joined("text")) == ("b", " 2")


def test_fields_are_those_of_rules() -> None:
    (one,) = asked(chat("a", {"text": "b"}, temperature=1, **{"x.y": 2}), "x#1")
    assert one.fields["operation"] == "chat"
    assert one.fields["param.temperature"] == 1
    assert one.fields["tools"] == []
    assert "system" not in one.fields
    assert "param.x.y" not in one.fields


def test_places_are_known() -> None:
    assert known().operation("POST", "/tzafon/v1/responses") == "responses"
    assert known().operation("PUT", "/tzafon/v1/responses") is None
    assert known().operation("POST", "/nowhere") is None
