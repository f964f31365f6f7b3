"""Chats of OpenAI's clients at Anthropic's address."""

from typing import Any

import pytest

from tests.kit.local import Answered, Local, local

Json = Any
MODEL = "claude-opus-5-5"
RULES = "rules: [{when: {dialect: openai, path: /anthropic/v1/chat/completions}, then: {text: Hi!}}]"


def ask(server: Local, **more: Json) -> Answered:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], **more}
    headers = {"authorization": "Bearer key"}
    return server.ask("/anthropic/v1/chat/completions", body, headers=headers)


def test_a_chat_is_openai_s() -> None:
    answered = ask(local(RULES, keys=["key"])).json
    assert (answered["object"], answered["model"]) == ("chat.completion", MODEL)
    assert answered["choices"][0]["message"]["content"] == "Hi!"
    refused = ask(local(RULES, keys=["other"]))
    assert (refused.status, refused.json["error"]["type"]) == (401, "invalid_request_error")


@pytest.mark.parametrize(
    "more", [{"seed": 1, "made_up": True}, {"response_format": {"type": "json_object"}}, {"metadata": {"a": "b"}}]
)
def test_what_anthropic_ignores_is_not_refused_live(more: Json) -> None:
    assert ask(local(validation="live"), **more).status == 200


def test_only_one_choice_is_given() -> None:
    refused = ask(local(validation="live"), n=2)
    assert (refused.status, refused.json["error"]["param"]) == (400, "n")
