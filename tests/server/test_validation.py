"""What `validation` refuses: by mode and dialect; recordings play whatever it says."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from tests.kit.cassette_folder import episode
from tests.kit.local import Local, local

CHAT = "/v1/chat/completions"
VIDEO: dict[str, Any] = {"type": "video_url", "video_url": {"url": "https://films.test/a.mp4"}}
SHOWN = {
    "model": "m",
    "messages": [{"role": "user", "content": [{"type": "text", "text": "What is shown?"}, VIDEO]}],
    "tools": [{"type": "openrouter:web_search"}],
    "temperature": 99,
    "plugins": [{"id": "web"}],
}
RULE = """
rules:
  - when: {body: "messages[0].content[1].video_url.url"}
    then: {text: "{{ last_user }}"}
"""


def test_what_is_published_is_refused_unless_nothing_is() -> None:
    assert local(RULE).ask(CHAT, SHOWN).status == 400
    assert local(RULE, validation="live").ask(CHAT, SHOWN).status == 400
    assert local(RULE, validation={"openai": "off"}).ask("/skytells/v1/chat/completions", SHOWN).status == 400
    for mode in ("off", {"openai": "off"}):
        answered = local(RULE, validation=mode).ask(CHAT, SHOWN)
        assert answered.source.endswith("rules.yaml:3")
        assert answered.json["choices"][0]["message"]["content"] == "What is shown?"


def test_what_cannot_be_read_is_ignored_by_generated_answers_and_tells_requests_apart() -> None:
    server = local(validation="off")
    answers = [server.ask(CHAT, {**SHOWN, "plugins": [{"id": name}]}).json for name in ("web", "pdf")]
    assert answers[0]["choices"][0]["message"]["content"]
    assert answers[0]["id"] != answers[1]["id"]


def test_a_request_that_is_right_means_the_same_in_every_mode() -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    answers = {local(validation=mode).ask(CHAT, asked).body for mode in ("off", "published", "live")}
    assert len(answers) == 1


@pytest.mark.parametrize("body", [{}, {"model": "m"}, {"messages": [{"role": "user", "content": "Hi"}]}, []])
def test_a_call_needs_a_model_and_a_conversation(body: Any) -> None:
    assert local(validation="off").ask(CHAT, body).status == 400


def test_an_unusable_schema_asks_for_any_object() -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "bogus"}}}
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "response_format": schema}
    assert local().ask(CHAT, asked).status == 400
    answered = local(validation="off").ask(CHAT, asked).json["choices"][0]["message"]["content"]
    assert isinstance(json.loads(answered), dict)


DEPLOYMENT = "/azure-openai/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("path", "condition"),
    [
        (DEPLOYMENT, "param.model: gpt-4o"),
        ("/skytells/v1/chat/completions?stream=true", "param.stream: true"),
        ("/gemini/v1beta/models/m:generateContent", "param.generationConfig.topK: 5"),
    ],
)
@pytest.mark.parametrize("wrong", [False, True])
def test_rules_see_what_the_path_says(path: str, condition: str, wrong: bool) -> None:
    rule = f"rules:\n  - {{name: seen, when: {{{condition}}}, then: {{text: Hi}}}}"
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
    asked: dict[str, Any] = {"contents": contents, "generation_config": {"top_k": 5}}
    if "gemini" not in path:
        asked = {"model": "another", "messages": [{"role": "user", "content": "Hi"}]}
    answered = local(rule, validation="off").ask(path, {**asked, "tools": 5} if wrong else asked)
    assert answered.source.endswith("seen"), answered


# Of tools that are allowed, those that can be read; a choice that names none is none.
@pytest.mark.parametrize(
    "allowed", [{"mode": "auto", "tools": ["f"]}, {"mode": "auto", "tools": 5}, {"tools": None}, 5]
)
@pytest.mark.parametrize("dialect", ["openai", "tzafon"])
def test_allowed_tools_are_read_as_far_as_they_can_be(dialect: str, allowed: Any) -> None:
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed},
    }
    assert local(validation="off").ask(f"/{dialect}/v1/chat/completions", asked).status == 200


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_tool_with_an_unusable_schema_is_called_without_arguments(dialect: str) -> None:
    schema = {"type": "object", "properties": None}
    function = {"type": "function", "function": {"name": "f", "parameters": schema}}
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [function], "plugins": []}
    if dialect == "openai":
        answer = local(validation="off").ask(CHAT, {**asked, "tool_choice": "required"}).json
        assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == "{}"
    else:
        answer = local(validation="off").ask("/v1/messages", {**asked, "tool_choice": {"type": "any"}}).json
        assert answer["content"][-1]["input"] == {}


# Each is wrong, and two of them are no call at all.
WRONG = [SHOWN, {**SHOWN, "messages": [{"role": "user", "content": [VIDEO]}]}, {"messages": 7}, {"model": 5}]


def playing(folder: Path, **settings: Any) -> Local:
    return local(cassettes=str(folder), cassette="wrong", unmatched="error", **settings)


@pytest.mark.parametrize("mode", ["off", "published", "live"])
def test_recordings_play_whatever_is_refused(tmp_path: Path, mode: str) -> None:
    file = CassetteFile(tmp_path / "wrong.yaml")
    for number, body in enumerate(WRONG, 1):
        file.append(episode(body, f"answer {number}"))
    server = playing(tmp_path, validation=mode)
    for number, body in enumerate(WRONG, 1):
        data, coding = gzip.compress(json.dumps(body).encode()), {"content-encoding": "gzip"}
        for answered in (
            server.ask(CHAT, body),
            server.ask(f"/openai{CHAT}?beta=true", body),
            server.ask(CHAT, body, namespace="mine"),
            server.ask(CHAT, data, headers=coding),
        ):
            assert (answered.body.decode(), answered.source) == (f"answer {number}", f"cassette wrong.yaml#{number}")
    missed = server.ask(CHAT, {"messages": 8})
    assert missed.status == 400, missed
