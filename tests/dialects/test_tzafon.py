"""Tzafon, beyond its cases: resolved limits, ids, forms of messages, errors, its computer."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import IdShape
from mockserver.core.plan import Answer, Choice, Failure, Text, Usage
from mockserver.dialects.tzafon.request import CONTEXT

ANSWER = Answer("resp_1", 1_700_000_000, "", (Choice((Text("Hi"),)),), Usage(9, 2))


@pytest.fixture
def tzafon(speak: Callable[[str], Any]) -> Any:
    return speak("tzafon")


def told(tzafon: Any, answer: Answer = ANSWER, **asked: Any) -> Any:
    return json.loads(tzafon.operation("responses").render(tzafon.responses({"input": "hi", **asked}), answer).body)


def test_what_an_answer_may_have_is_always_a_number(tzafon: Any) -> None:
    assert told(tzafon, max_output_tokens=5)["max_output_tokens"] == 5
    assert told(tzafon, max_output_tokens=-5)["max_output_tokens"] == 0
    assert told(tzafon, max_output_tokens=None)["max_output_tokens"] == CONTEXT - 7
    assert told(tzafon, input="word " * CONTEXT)["max_output_tokens"] == 1


def test_ids(tzafon: Any) -> None:
    call = tzafon.responses({"input": "hi"})
    assert (call.id, call.ids) == ("", IdShape("resp_", 32, "hex"))
    assert tzafon.responses({"input": "hi", "request_id": "mine"}).id == "mine"
    chat = tzafon.parse({})
    assert (chat.id, chat.ids) == ("", IdShape("chatcmpl-", 32, "hex"))
    assert tzafon.parse({"request_id": "mine"}).id == "chatcmpl-mine"


def test_a_wrong_key_gets_a_word(tzafon: Any) -> None:
    assert tzafon.fail(Failure("invalid_key")).body == b'{"error":"Unauthorized"}'
    stated = json.loads(tzafon.fail(Failure("invalid_key", "Mine.")).body)["error"]
    assert (stated["message"], stated["code"]) == ("Mine.", 401)


@pytest.mark.parametrize("kind", ["computer_use_preview", "computer_use"])
def test_a_computer_as_the_client_and_as_the_guide_say_it(tzafon: Any, kind: str) -> None:
    screen = {"type": kind, "display_width": 1, "display_height": 1, "environment": "desktop"}
    call = tzafon.responses({"input": "hi", "tools": [screen], "tool_choice": {"type": kind}})
    assert (call.tools[0].name, call.tools[0].options, call.tool_choice.names) == (kind, screen, (kind,))
