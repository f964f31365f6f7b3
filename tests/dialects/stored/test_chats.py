"""Stored chats on the wire."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from openai.types.chat import ChatCompletion

from mockserver.core.call import Page
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Answer, Choice, Failure, Listing, Stored, Text, Usage

NAME = "chatcmpl-1"
MESSAGES = [
    {"role": "user", "name": "ada", "content": "look"},
    {"role": "user", "content": [{"type": "text", "text": "there"}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": {}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "done"},
]
ASKED = {"model": "m", "messages": MESSAGES, "metadata": {"topic": "x"}, "temperature": 0.5, "user": "u"}


def request(**more: Any) -> HttpRequest:
    return HttpRequest("GET", "/", path_params={"completion_id": NAME}, **more)


@pytest.fixture
def openai(speak: Callable[[str], Any]) -> Any:
    return speak("openai")


def shown(openai: Any, operation: str, *, gone: bool = False, page: Page | None = None, **asked: Any) -> Any:
    known = openai.operation(operation)
    call = known.parse(request(body=b'{"metadata": null}'), False)
    answer = Answer(NAME, 7, "m", (Choice((Text("hi"),)),), Usage(3, 2), "0123456789")
    stored = Stored(replace(call, operation="chat", raw=asked), answer, gone=gone)
    outcome = Listing((stored,), more=True) if operation == "stored_chats" else stored
    return json.loads(known.render(replace(call, page=page or call.page), outcome).body)


@pytest.mark.parametrize("operation", ["stored_chat", "update_chat"])
def test_a_stored_chat_repeats_its_request(openai: Any, operation: str) -> None:
    body = shown(openai, operation, **ASKED)
    ChatCompletion.model_validate(body, strict=True)
    assert (body["id"], body["choices"][0]["message"]["content"]) == (NAME, "hi")
    assert (body["metadata"], body["temperature"], body["input_user"]) == ({"topic": "x"}, 0.5, "u")
    assert (body["top_p"], body["tools"], body["service_tier"]) == (1.0, None, "default")


def test_a_chat_of_which_nothing_is_known_but_the_answer(openai: Any) -> None:
    assert shown(openai, "stored_chat")["metadata"] == {}
    assert shown(openai, "chat_messages")["data"] == []


def test_messages_have_ids_and_parts(openai: Any) -> None:
    body = shown(openai, "chat_messages", **ASKED)
    assert body["data"][0] == {
        "id": f"{NAME}-0",
        "role": "user",
        "content": "look",
        "name": "ada",
        "content_parts": None,
    }
    assert (body["data"][1]["content"], body["data"][1]["content_parts"]) == (None, MESSAGES[1]["content"])
    assert body["data"][2]["tool_calls"] == MESSAGES[2]["tool_calls"]
    assert body["data"][3]["tool_call_id"] == "call_1"
    page = shown(openai, "chat_messages", page=Page(f"{NAME}-0", 2), **ASKED)
    assert ([message["id"] for message in page["data"]], page["has_more"]) == ([f"{NAME}-1", f"{NAME}-2"], True)


def test_what_is_looked_for(openai: Any) -> None:
    for operation in ("stored_chat", "delete_chat", "chat_messages"):
        call = openai.operation(operation).parse(request(query={"limit": "3"}), True)
        assert (call.operation, call.id, call.model) == (operation, NAME, "")
    assert call.page == Page(limit=3)
    query = {"model": "m", "metadata[topic]": "x", "order": "desc"}
    call = openai.operation("stored_chats").parse(request(query=query), False)
    assert (call.model, call.raw["metadata"], call.page) == ("m", {"topic": "x"}, Page(backwards=True))


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({}, "metadata", "missing_required_parameter"),
        ({"metadata": {"a": 1}}, "metadata.a", "invalid_type"),
        ({"metadata": {str(i): "x" for i in range(17)}}, "metadata", "object_above_max_properties"),
    ],
)
def test_an_update_that_cannot_be(openai: Any, body: Any, param: str, code: str) -> None:
    with pytest.raises(Failure) as raised:
        openai.operation("update_chat").parse(request(body=json.dumps(body).encode()), False)
    assert (raised.value.param, raised.value.code) == (param, code)
