"""Tzafon, beyond its cases: resolved limits, ids, forms of messages, errors, its computer."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import IdShape, Message
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


def test_earlier_messages_stand_before_the_input(tzafon: Any) -> None:
    given = [
        {"author": {"role": "user", "name": "ada"}, "content": [{"type": "text", "text": "Hello"}]},
        {"role": "assistant", "content": "Hi!", "channel": "final"},
        {"author": {"role": "tool"}},
        {"neither": 1},
    ]
    call = tzafon.responses({"input": "Go on.", "instructions": "Be brief.", "previous_input_messages": given})
    assert call.messages == (
        Message("system", "Be brief."),
        Message("user", "Hello"),
        Message("assistant", "Hi!"),
        Message("tool"),
        Message("user", "Go on."),
    )


def test_chat_messages_of_every_form(tzafon: Any) -> None:
    bare = {"role": "user", "content": ["a", {"image_url": "u"}, {"type": "text", "text": "b"}, {"audio_url": 5}]}
    harmony = {"author": {"role": "assistant"}, "content": [{"type": "text", "text": "c"}]}
    call = tzafon.parse({"messages": [bare, harmony]})
    image, unknown = {"type": "image_url", "image_url": {"url": "u"}}, {"audio_url": 5, "type": "unknown"}
    assert call.messages == (Message("user", "ab", parts=(image, unknown)), Message("assistant", "c"))
    assert call.raw["messages"] == [bare, harmony]


ERRORS = [
    ("previous_not_found", 404, "invalid_request_error", "response_id"),
    ("not_found", 404, "invalid_request_error", "response_id"),
    ("not_cancellable", 400, "invalid_request_error", "response_id"),
    ("unknown_model", 404, "NotFoundError", "model"),
    ("bad_parameter", 400, "BadRequestError", None),
    ("bad_json", 400, "Bad Request", None),
    ("rate_limit", 429, "Too Many Requests", None),
    ("server_error", 500, "InternalServerError", None),
]


@pytest.mark.parametrize(("reason", "status", "kind", "param"), ERRORS)
def test_errors(tzafon: Any, reason: str, status: int, kind: str, param: str | None) -> None:
    reply = tzafon.fail(Failure(reason))
    error = json.loads(reply.body)["error"]
    assert reply.status == status
    assert list(error) == ["message", "type", "param", "code"]
    assert (error["type"], error["param"], error["code"]) == (kind, param, status)


def test_a_wrong_key_gets_a_word(tzafon: Any) -> None:
    assert tzafon.fail(Failure("invalid_key")).body == b'{"error":"Unauthorized"}'
    stated = json.loads(tzafon.fail(Failure("invalid_key", "Mine.")).body)["error"]
    assert (stated["message"], stated["code"]) == ("Mine.", 401)


@pytest.mark.parametrize("kind", ["computer_use_preview", "computer_use"])
def test_a_computer_as_the_client_and_as_the_guide_say_it(tzafon: Any, kind: str) -> None:
    screen = {"type": kind, "display_width": 1, "display_height": 1, "environment": "desktop"}
    call = tzafon.responses({"input": "hi", "tools": [screen], "tool_choice": {"type": kind}})
    assert (call.tools[0].name, call.tools[0].options, call.tool_choice.names) == (kind, screen, (kind,))
