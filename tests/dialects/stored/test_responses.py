"""Kept responses on the wire."""

import json
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from openai.types.responses import CompactedResponse, Response

from mockserver.core.call import Message, Page
from mockserver.core.frames import write_event
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Answer, Choice, Failure, Stored, Text, Usage

NAME = "resp_1"
ANSWER = Answer(NAME, 7, "m", (Choice((Text("hi"),)),), Usage(3, 2))


def request(body: Any = b"", **query: str) -> HttpRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpRequest("GET", "/", query=query, body=data, path_params={"response_id": NAME})


@pytest.fixture(params=["openai", "tzafon"])
def speaker(speak: Callable[[str], Any], request: pytest.FixtureRequest) -> Any:
    return speak(request.param)


def replied(speaker: Any, operation: str, asked: Any = None, *, answer: Answer = ANSWER, **query: str) -> Reply:
    """What is said where the response to such a body is looked up."""
    made = speaker.operation("responses").parse(request(asked or {"input": "hello"}), False)
    known = speaker.operation(operation)
    reply = known.render(known.parse(request(**query), False), Stored(made, answer, polls=int(answer.phase != "")))
    assert isinstance(reply, Reply)
    return reply


def told(*args: Any, **how: Any) -> Any:
    return json.loads(replied(*args, **how).body)


def test_a_retrieved_response_repeats_its_request(speaker: Any) -> None:
    body = told(speaker, "response", {"input": "hello", "metadata": {"a": "b"}, "temperature": 0.5})
    Response.model_validate(body, strict=True)
    assert (body["id"], body["metadata"], body["temperature"]) == (NAME, {"a": "b"}, 0.5)
    assert body["output"][0]["content"][0]["text"] == "hi"


BACKGROUND = {"input": "hello", "background": True, "stream": True}


@pytest.mark.parametrize(("after", "first"), [(None, 0), ("0", 1), ("4", 5)])
def test_a_retrieved_stream(speaker: Any, after: str | None, first: int) -> None:
    query = {"stream": "true"} | ({"starting_after": after} if after else {})
    reply = replied(speaker, "response", BACKGROUND, **query)
    assert reply.frames is not None
    events = [json.loads(write_event(frame).partition(b"data: ")[2]) for frame in reply.frames]
    assert [event["sequence_number"] for event in events] == list(range(first, events[-1]["sequence_number"] + 1))
    assert events[-1]["type"] == "response.completed"


@pytest.mark.parametrize("kept", [{}, {"background": True}, {"stream": True}])
def test_what_can_be_told_again(speak: Callable[[str], Any], kept: dict[str, bool]) -> None:
    assert replied(speak("openai"), "response", {"input": "hello", **kept}, stream="true").frames is not None
    with pytest.raises(Failure) as raised:
        replied(speak("tzafon"), "response", {"input": "hello", **kept}, stream="true")
    assert (raised.value.message, raised.value.param) == (f"Unknown response_id: {NAME}", "response_id")


@pytest.mark.parametrize("number", ["-1", "x"])
def test_a_place_where_no_stream_begins(speaker: Any, number: str) -> None:
    with pytest.raises(Failure) as raised:
        speaker.operation("response").parse(request(starting_after=number), False)
    assert raised.value.param == "starting_after"


def test_a_cancelled_response(speaker: Any) -> None:
    body = told(speaker, "cancel_response", answer=replace(ANSWER, phase="cancelled"))
    assert (body["status"], body["output"], body["usage"]) == ("cancelled", [], None)


def test_one_that_is_over_cannot_be_cancelled(speak: Callable[[str], Any]) -> None:
    assert told(speak("openai"), "cancel_response")["status"] == "completed"
    with pytest.raises(Failure) as raised:
        told(speak("tzafon"), "cancel_response")
    assert raised.value.reason == "not_cancellable"


ITEMS = [
    {"role": "user", "content": "one"},
    {"type": "message", "role": "assistant", "content": "two", "id": "msg_mine", "status": "incomplete"},
    {"role": "user", "content": [{"type": "input_image", "image_url": "u"}]},
    {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}", "id": None},
    {"type": "function_call_output", "call_id": "call_1", "output": "done"},
    {"type": "reasoning", "summary": []},
    {"type": "item_reference", "id": "msg_before"},
    {"id": "rs_before"},
    {"type": "computer_call", "call_id": "call_2"},
    {"type": "who_knows"},
]


def test_input_items(speaker: Any) -> None:
    body = told(speaker, "input_items", {"input": ITEMS}, order="asc")
    items = body["data"]
    assert (len(items), body["has_more"]) == (len(ITEMS), False)
    assert [item["id"].partition("_")[0] for item in items] == [
        "msg", "msg", "msg", "fc", "fco", "rs", "msg", "rs", "cu", "it",
    ]  # fmt: skip
    assert len({item["id"] for item in items}) == len(items)
    assert (items[1]["id"], items[1]["status"], items[6]["id"]) == ("msg_mine", "incomplete", "msg_before")
    assert items[0]["content"] == [{"type": "input_text", "text": "one"}]
    assert items[1]["content"] == [{"type": "output_text", "text": "two", "annotations": [], "logprobs": []}]
    assert items[2]["content"] == ITEMS[2]["content"]
    assert items[3].items() >= {"type": "function_call", "status": "completed", "arguments": "{}"}.items()
    assert ["status" in item for item in items[5:8]] == [False] * 3
    assert items[7]["type"] == "item_reference"


def test_the_last_input_item_comes_first_unless_asked(speaker: Any) -> None:
    body = told(speaker, "input_items", {"input": ITEMS}, limit="2")
    assert [item["type"] for item in body["data"]] == ["who_knows", "computer_call"]
    assert body["has_more"] is True
    assert speaker.operation("input_items").parse(request(after="x"), False).page == Page("x", backwards=True)


@pytest.mark.parametrize(("asked", "count"), [({"input": "text"}, 1), ({}, 0)])
def test_a_text_is_one_item_and_nothing_is_none(speak: Callable[[str], Any], asked: Any, count: int) -> None:
    openai = speak("openai")
    made = openai.operation("responses").parse(request(asked), False)
    known = openai.operation("input_items")
    body = json.loads(known.render(known.parse(request(), False), Stored(made, ANSWER)).body)
    assert len(body["data"]) == count


@pytest.mark.parametrize("operation", ["input_tokens", "compact_response"])
def test_what_is_asked_about_a_request_is_neither_kept_nor_streamed(speaker: Any, operation: str) -> None:
    asked = {"model": "m", "input": "hello", "stream": True, "background": True, "previous_response_id": "resp_0"}
    call = speaker.operation(operation).parse(request(asked), False)
    assert (call.operation, call.stream, call.options.store, call.options.background) == (
        operation,
        False,
        False,
        False,
    )
    assert (call.previous_response_id, call.last_user) == ("resp_0", "hello")


def test_a_compacted_conversation(speaker: Any) -> None:
    known = speaker.operation("compact_response")
    call = known.parse(request({"model": "m", "input": [{"role": "user", "content": "last"}]}), False)
    said = (Message("system", "s"), Message("user", "first"), Message("assistant", "a"), *call.messages)
    body = json.loads(known.render(call, Stored(replace(call, messages=said), ANSWER)).body)
    # The client types what users said as what the model said, against the sample in its own documentation.
    CompactedResponse.model_validate({**body, "output": body["output"][2:]}, strict=True)
    assert [item["type"] for item in body["output"]] == ["message", "message", "compaction"]
    assert [item["content"][0]["text"] for item in body["output"][:2]] == ["first", "last"]
    assert b64decode(body["output"][2]["encrypted_content"]) == b"hi"
    assert body["usage"]["total_tokens"] == 5
    text = known.parse(request({"model": "m", "input": "last"}), False)
    only = json.loads(known.render(text, Stored(replace(text, messages=said), ANSWER)).body)
    assert [item["type"] for item in only["output"]] == ["compaction"]


def test_a_conversation_is_compacted_by_a_model(speaker: Any) -> None:
    with pytest.raises(Failure) as raised:
        speaker.operation("compact_response").parse(request({"input": "last"}), False)
    assert raised.value.param == "model"
