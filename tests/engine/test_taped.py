"""Rules first, then the cassette, then what is kept or generated."""

from typing import Any

import pytest

from mockserver.core.episode import Recorded
from mockserver.server.live import Sources, start
from tests.kit.local import Answered, Local
from tests.kit.reels import CHAT, HEADERS, Folder, chat, episode, folder

RULES = """
rules:
  - {name: ruled, when: {last_user: ruled}, then: {text: by a rule}}
  - {name: other, when: {last_user: "*other*"}, then: {cassette: other}}
  - {name: away, when: {last_user: "*away*"}, then: {forward: true}}
  - {name: steps, when: {last_user: "*steps*"}, then: {steps: [{text: first}, {cassette: other}]}}
  - {name: times, when: {last_user: counted}, times: 1, then: {cassette: other}}
"""
RESPONSES = "/v1/responses"
GOING_ON = {"model": "gpt-4o", "input": "And?", "previous_response_id": "resp_up"}


def server(held: Folder, rules: str = RULES, tmp: Any = None, **settings: Any) -> Local:
    """A server that plays `chat`."""
    file = tmp / "rules.yaml"
    file.write_text(rules)
    return Local(start(Sources((file,), {"cassette": "chat", "cassettes": str(held.path), **settings}, {})))


HELD = {
    "chat": [
        episode(chat("ruled"), "never"),
        episode(chat("hello"), '{"from":"chat"}'),
        episode(
            {"model": "gpt-4o", "input": "And?", "previous_response_id": "resp_up"},
            "{}",
            path=RESPONSES,
            operation="responses",
        ),
        episode({"model": "m", "prompt": ["a", "b"]}, '{"two":2}', path="/v1/completions", operation="completions"),
        episode(None, '{"object":"list"}', path="/v1/models", operation="models", method="GET"),
        episode(None, '{"id":"resp_up"}', path="/v1/responses/resp_up", operation="response", method="GET"),
        episode(chat("x " * 20_000, model="gpt-4"), Recorded(400, HEADERS, b'{"error":{}}')),
    ],
    "other": [episode(chat("other"), '{"from":"other"}'), episode(chat("counted"), '{"counted":1}')],
}


@pytest.fixture
def local(tmp_path: Any) -> Local:
    return server(folder(**HELD), tmp=tmp_path)


def said(answered: Answered) -> str:
    text: str = answered.json["choices"][0]["message"]["content"]
    return text


def test_rules_come_first(local: Local) -> None:
    assert said(local.ask(CHAT, chat("ruled"))) == "by a rule"


def test_what_no_rule_answers_the_cassette_does(local: Local) -> None:
    answered = local.ask(CHAT, chat("hello"))
    assert (answered.source, answered.body) == ("cassette chat.yaml#2", b'{"from":"chat"}')


def test_a_rule_plays_another_cassette(local: Local) -> None:
    answered = local.ask(CHAT, chat("other"))
    assert (answered.source, answered.body) == ("cassette other.yaml#1", b'{"from":"other"}')
    missed = local.ask(CHAT, chat("another one"))
    assert (missed.status, missed.source) == (404, "unmatched")
    assert missed.json["error"]["message"].startswith("no episode of other.yaml answers this request; the nearest:")


def test_a_rule_that_has_had_its_times_leaves_the_call_to_the_cassette(local: Local) -> None:
    assert local.ask(CHAT, chat("counted")).source == "cassette other.yaml#2"
    assert local.ask(CHAT, chat("counted")).source == "unmatched"


def test_a_rule_forwards(local: Local) -> None:
    assert local.ask(CHAT, chat("go away")).source == "forwarded"


def test_a_step_plays_a_cassette(local: Local) -> None:
    assert said(local.ask(CHAT, chat("steps"))) == "first"
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "steps"},
    ]
    assert local.ask(CHAT, {"model": "m", "messages": messages}).source == "unmatched"


@pytest.mark.parametrize("unmatched", ["generate", "error"])
def test_a_miss_is_an_error_whatever_is_generated_elsewhere(tmp_path: Any, unmatched: str) -> None:
    answered = server(folder(**HELD), tmp=tmp_path, unmatched=unmatched).ask(CHAT, chat("hullo"))
    assert (answered.status, answered.source) == (404, "unmatched")
    assert 'recorded "hello" | request "hullo"' in answered.json["error"]["message"]


@pytest.mark.parametrize("unmatched", ["generate", "error"])
def test_a_response_goes_on_from_one_that_only_the_provider_knows(tmp_path: Any, unmatched: str) -> None:
    local = server(folder(**HELD), tmp=tmp_path, unmatched=unmatched)
    assert local.ask(RESPONSES, GOING_ON).source == "cassette chat.yaml#3"
    missed = local.ask(RESPONSES, {**GOING_ON, "previous_response_id": "resp_down"})
    assert 'previous_response_id: recorded "resp_up" | request "resp_down"' in missed.json["error"]["message"]


def test_several_prompts_are_one_request(local: Local) -> None:
    answered = local.ask("/v1/completions", {"model": "m", "prompt": ["a", "b"]})
    assert (answered.source, answered.body) == ("cassette chat.yaml#4", b'{"two":2}')
    assert local.ask("/v1/completions", {"model": "m", "prompt": ["b", "a"]}).source == "unmatched"


def test_look_ups_are_played(local: Local) -> None:
    assert local.ask("/v1/models", method="GET", body=b"").source == "cassette chat.yaml#5"
    assert local.ask("/v1/responses/resp_up", method="GET", body=b"").source == "cassette chat.yaml#6"
    assert local.ask("/v1/responses/resp_no", method="GET", body=b"").status == 404


def test_what_is_kept_here_is_not_asked_of_the_cassette(local: Local) -> None:
    kept = local.ask(RESPONSES, {"model": "m", "input": "ruled"})
    assert kept.source.endswith("ruled")
    assert local.ask(f"{RESPONSES}/{kept.json['id']}", method="GET", body=b"").source == "stored"


def test_what_is_published_of_a_model_refuses_nothing_that_was_recorded(local: Local) -> None:
    body = chat("x " * 20_000, model="gpt-4")
    assert local.ask(CHAT, body).body == b'{"error":{}}'
    refused = local.ask(CHAT, chat("y " * 20_000, model="gpt-4"))
    assert (refused.status, refused.source) == (400, "invalid")


def test_a_model_that_the_settings_do_not_list_is_refused(tmp_path: Any) -> None:
    local = server(folder(**HELD), tmp=tmp_path, models=["o3"])
    assert local.ask(CHAT, chat("hello")).source == "invalid"


def test_faults_and_timing_of_rules_befall_what_was_recorded(tmp_path: Any) -> None:
    rules = "rules: [{name: cut, then: {faults: [{cut: {after_bytes: 3}}], timing: {total: 2s}}}]"
    local = server(folder(**HELD), rules, tmp=tmp_path)
    assert local.ask(CHAT, chat("hello")).source == "cassette chat.yaml#2"
    rules = "rules: [{name: own, then: {cassette: chat, timing: {total: 2s}, faults: [reset]}}]"
    assert server(folder(**HELD), rules, tmp=tmp_path).ask(CHAT, chat("hello")).source == "cassette chat.yaml#2"
