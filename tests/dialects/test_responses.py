"""From a Responses body to a Call, beyond the tables of requests/, and from an answer to a reply."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import Message, ToolCall
from mockserver.core.frames import Frame
from mockserver.core.http import Reply
from mockserver.core.plan import Answer, Choice, Failure, Reasoning, Text, Usage
from mockserver.dialects._openai_api.responses import (
    RESPONSE_LAYOUT,
    find_responses_meaning,
    make_error_event,
    make_responses_reply,
    read_input,
    show_request,
)
from mockserver.wire.response_events import ResponseRenderer

USER = {"role": "user", "content": "hi"}
F = {"type": "function", "name": "f"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a":1}'}
SPOKEN = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
ANSWER = Answer("resp_1", 1_700_000_000, "", (Choice((Reasoning("Hm."), Text("Hello there."))),), Usage(3, 4))


@pytest.fixture
def parse(speak: Callable[[str], Any]) -> Callable[..., Any]:
    parse: Callable[..., Any] = speak("openai").responses
    return parse


def test_what_is_said_by_instructions_is_of_this_call_alone(parse: Callable[..., Any]) -> None:
    assert parse({"instructions": "Be brief.", "input": "hi"}).spoken == (Message("user", "hi"),)


def test_what_the_model_does_in_a_row_is_one_turn() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
    found = read_input([USER, {"type": "reasoning"}, search, SPOKEN, CALL, output, {"type": "reasoning"}, SPOKEN, USER])
    assert [message.role for message in found] == ["user", "assistant", "tool", "assistant", "user"]
    assert found[1] == Message(
        "assistant", "Hello.", parts=(search,), tool_calls=(ToolCall("call_1", "f", '{"a":1}', kind="function"),)
    )


def test_messages_of_one_turn_stand_on_lines_of_their_own() -> None:
    assert read_input([SPOKEN, SPOKEN]) == (Message("assistant", "Hello.\nHello."),)


ODD: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": 7, "name": None, "arguments": {"a": 1}},
    {"type": "function_call_output", "output": None},
    {"type": "computer_call_output", "output": "x"},
    {"type": "shell_call_output", "output": [1, {"stdout": 2}]},
    {"type": "function_call_output", "output": [1, {"type": 5}, {"type": "input_text", "text": 5}]},
    {"type": "mcp_approval_response"},
]


@pytest.mark.parametrize("item", ODD)
def test_odd_values_are_read_as_text(item: dict[str, Any]) -> None:
    (message,) = read_input([item])
    assert isinstance(message.text, str)
    assert all(isinstance(call.arguments, str) and isinstance(call.id, str) for call in message.tool_calls)


def test_what_only_tzafon_keeps_books_of() -> None:
    books = {"request_id": "r", "priority": 0, "cache_salt": "s", "enable_response_messages": True}
    assert find_responses_meaning({"input": "hi", **books}, "openai") == {"input": "hi"}


def test_the_body_stays_as_it_is() -> None:
    body = {"input": [{"type": "a", "id": "1"}], "text": {"format": None}, "tools": [{"type": "mcp"}]}
    assert find_responses_meaning(body, "openai") == {
        "input": [{"type": "a", "id": "#0"}],
        "tools": [{"type": "mcp"}],
    }
    assert body["input"] == [{"type": "a", "id": "1"}]


ECHOED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"temperature": 1, "top_p": 0.5}, {"temperature": 1.0, "top_p": 0.5}),
    ({"metadata": None, "user": None}, {}),
    ({"background": True, "truncation": "auto"}, {"background": True, "truncation": "auto"}),
    ({"text": {"verbosity": "low"}}, {"text": {"verbosity": "low", "format": {"type": "text"}}}),
    (
        {"text": {"format": {"type": "json_object"}}},
        {"text": {"format": {"type": "json_object"}, "verbosity": "medium"}},
    ),
    (
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": {}}, "verbosity": "low"}},
        {
            "text": {
                "format": {"type": "json_schema", "description": None, "name": "n", "schema": {}, "strict": False},
                "verbosity": "low",
            }
        },
    ),
    ({"conversation": "conv_1"}, {"conversation": {"id": "conv_1"}}),
    ({"conversation": {"id": "conv_1", "x": 1}}, {"conversation": {"id": "conv_1"}}),
    ({"reasoning": {"": 1, "mode": "x"}}, {"reasoning": {"effort": None, "summary": None, "mode": "x"}}),
    (
        {"text": {"x": 1, "format": {"type": "text", "y": 2}}},
        {"text": {"format": {"type": "text"}, "verbosity": "medium"}},
    ),
    ({"service_tier": "auto"}, {}),
    ({"service_tier": "flex"}, {"service_tier": "flex"}),
    ({"service_tier": "fast"}, {"service_tier": "priority"}),
    ({"tools": []}, {}),
    (
        {"tools": [F, {"type": "web_search", "search_context_size": "low"}], "tool_choice": F},
        {
            "tools": [
                {**F, "description": None, "parameters": None, "strict": True},
                {
                    "type": "web_search",
                    "search_context_size": "low",
                    "user_location": {
                        "type": "approximate",
                        "country": "US",
                        **dict.fromkeys(("city", "region", "timezone")),
                    },
                },
            ],
            "tool_choice": F,
        },
    ),
    ({"include": [], "stream": True, "foo": 1, "model": "m", "input": "hi"}, {}),
]


@pytest.mark.parametrize(("body", "echoed"), ECHOED)
def test_echo(speak: Callable[[str], Any], body: dict[str, Any], echoed: dict[str, Any]) -> None:
    assert show_request(speak("openai").responses(body), RESPONSE_LAYOUT.response) == echoed


def numbers(reply: Any) -> list[int]:
    return [json.loads(frame.data)["sequence_number"] for frame in reply.frames if isinstance(frame, Frame)]


def test_a_streamed_reply_and_its_rest(parse: Callable[..., Any]) -> None:
    call, renderer = parse({"stream": True}), ResponseRenderer(RESPONSE_LAYOUT)
    whole = numbers(make_responses_reply(call, ANSWER, renderer, ""))
    assert whole == list(range(len(whole)))
    assert len(whole) > 8
    assert numbers(make_responses_reply(call, ANSWER, renderer, "", after=4)) == whole[5:]
    assert numbers(make_responses_reply(call, ANSWER, renderer, "", after=whole[-1])) == []


def test_the_id_of_what_was_not_found_is_told(speak: Callable[[str], Any]) -> None:
    openai = speak("openai")
    call = openai.responses({"previous_response_id": "resp_7"})
    message = json.loads(openai.fail(Failure("previous_not_found"), call).body)["error"]["message"]
    assert message == "Previous response with id 'resp_7' not found."


@pytest.mark.parametrize(
    ("said", "error"),
    [
        *[
            (error, error)
            for error in (
                {"type": "server_error", "code": None, "message": "Sorry", "param": None},
                {"type": "x", "code": 503, "message": "Sorry", "param": "input"},
            )
        ],
        ("Unauthorized", {"type": None, "code": None, "message": "Unauthorized", "param": None}),
    ],
)
def test_an_error_as_an_event(said: Any, error: Any) -> None:
    before = b'event: response.created\ndata: {"type":"response.created","sequence_number":6}\n\n'
    event = make_error_event(Reply(500, (), json.dumps({"error": said}).encode()), before)
    assert (event.event, json.loads(event.data)) == ("error", {"type": "error", "sequence_number": 7, "error": error})
