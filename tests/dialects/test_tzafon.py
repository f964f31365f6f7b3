"""Tzafon on the wire: the object of the seed and vLLM's keys after it, resolved limits, envelopes, ids."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import IdShape, Message
from mockserver.core.plan import Answer, Choice, Failure, Models, Reasoning, Text, Usage
from mockserver.dialects.tzafon.request import CONTEXT

ANSWER = Answer("resp_1", 1_700_000_000, "", (Choice((Text("Hi"),)),), Usage(9, 2))


@pytest.fixture
def tzafon(speak: Callable[[str], Any]) -> Any:
    return speak("tzafon")


def told(tzafon: Any, answer: Answer = ANSWER, **asked: Any) -> Any:
    return json.loads(tzafon.operation("responses").render(tzafon.responses({"input": "hi", **asked}), answer).body)


def test_the_object(tzafon: Any) -> None:
    body = told(tzafon)
    [message] = body.pop("output")
    assert message["content"] == [{"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}]
    assert list(body.items()) == [
        ("id", "resp_1"),
        ("created_at", 1_700_000_000),
        ("model", "tzafon.northstar-cua-fast"),
        ("object", "response"),
        ("status", "completed"),
        ("error", None),
        ("tools", []),
        (
            "usage",
            {
                "input_tokens": 9,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 2,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 11,
            },
        ),
        ("incomplete_details", None),
        ("instructions", None),
        ("metadata", None),
        ("parallel_tool_calls", True),
        ("temperature", 1.0),
        ("tool_choice", "auto"),
        ("top_p", 1.0),
        ("background", False),
        ("max_output_tokens", CONTEXT - 7),
        ("max_tool_calls", None),
        ("previous_response_id", None),
        ("prompt", None),
        ("reasoning", None),
        ("service_tier", "auto"),
        ("text", None),
        ("top_logprobs", None),
        ("truncation", "disabled"),
        ("user", None),
    ]


def test_thoughts_are_shown_raw(tzafon: Any) -> None:
    thoughtful = Answer("resp_1", 1, "m", (Choice((Reasoning("Hm."), Text("Yes."))),), Usage(1, 2))
    thought, _ = told(tzafon, thoughtful)["output"]
    assert thought["content"] == [{"type": "reasoning_text", "text": "Hm."}]


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


def test_what_the_server_keeps_books_of_is_no_part_of_a_chats_meaning(tzafon: Any) -> None:
    assert (
        tzafon.parse({"request_id": "a", "priority": 0, "cache_salt": "s"}).fingerprint == tzafon.parse({}).fingerprint
    )


def test_a_tool_of_chat_needs_no_type(tzafon: Any) -> None:
    call = tzafon.parse({"tools": [{"function": {"name": "f"}}], "tool_choice": {"function": {"name": "f"}}})
    assert ([tool.name for tool in call.tools], call.tool_choice.names) == (["f"], ("f",))


def test_the_list_of_models(tzafon: Any) -> None:
    reply = tzafon.operation("models").render(tzafon.parse({}), Models(("m",), 5))
    assert json.loads(reply.body) == {
        "object": "list",
        "data": [
            {
                "id": "m",
                "object": "model",
                "created": 5,
                "owned_by": "mockserver",
                "root": "m",
                "parent": None,
                "max_model_len": CONTEXT,
                "permission": [],
            }
        ],
    }


CONFLICTS: list[tuple[dict[str, Any], str]] = [
    ({"background": True, "store": False}, "background can only be used when `store` is true"),
    (
        {"previous_response_id": "a", "previous_input_messages": []},
        "Only one of `previous_input_messages` and `previous_response_id` can be set.",
    ),
    ({"cache_salt": ""}, "Parameter 'cache_salt' must be a non-empty string if provided."),
]
STRICT: list[tuple[dict[str, Any], str]] = [
    ({"temperature": -0.5}, "temperature must be non-negative, got -0.5."),
    ({"top_p": 0}, "top_p must be in (0, 1], got 0."),
    ({"max_output_tokens": 0}, "max_tokens must be at least 1, got 0."),
    ({"priority": 2}, "Got priority but priority scheduling is not enabled."),
]


@pytest.mark.parametrize(("body", "message"), CONFLICTS)
def test_conflicts(tzafon: Any, body: dict[str, Any], message: str) -> None:
    error = tzafon.complains({"input": "hi", **body})
    assert (error["message"], error["type"], error["code"]) == (message, "BadRequestError", 400)


@pytest.mark.parametrize(("body", "message"), STRICT)
def test_what_waits_for_strict(tzafon: Any, body: dict[str, Any], message: str) -> None:
    assert tzafon.responses({"input": "hi", **body}).operation == "responses"
    assert tzafon.complains({"input": "hi", **body}, strict=True)["message"] == message


def test_chat_is_strict_too(tzafon: Any) -> None:
    assert tzafon.parse({"max_tokens": 0}).max_tokens == 0
    assert b"max_tokens must be at least 1" in tzafon.refuses({"max_tokens": 0}, strict=True).body


LONELY: list[tuple[dict[str, Any], str]] = [
    ({"stream_options": {}}, "Stream options can only be defined when `stream=True`."),
    ({"top_logprobs": 1}, "when using `top_logprobs`, `logprobs` must be set to true."),
    ({"tool_choice": "required"}, "When using `tool_choice`, `tools` must be set."),
    ({"cache_salt": ""}, "Parameter 'cache_salt' must be a non-empty string if provided."),
]


@pytest.mark.parametrize(("body", "message"), LONELY)
def test_lonely_options_of_chat(tzafon: Any, body: dict[str, Any], message: str) -> None:
    error = json.loads(tzafon.refuses(body).body)["error"]
    assert (error["message"], error["type"]) == (message, "BadRequestError")


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
