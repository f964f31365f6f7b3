"""What a server remembers of its answers, asked through its routes; equal requests are answered from the memo."""

import json
from typing import Any

import pytest

from tests.kit.asgi import App, app
from tests.kit.local import Answered

RESPONSES, CHATS = "/v1/responses", "/v1/chat/completions"


def create(server: App, text: str = "hello", **more: Any) -> str:
    """A response, by its id."""
    answered = server.ask(RESPONSES, {"model": "gpt-4o", "input": text, **more})
    assert answered.status == 200
    events = answered.body.decode().split("\n\n") if more.get("stream") else []
    body = json.loads(events[0].partition("data: ")[2])["response"] if events else answered.json
    name: str = body["id"]
    return name


def look(server: App, name: str, *, method: str = "GET", path: str = RESPONSES) -> Answered:
    return server.ask(f"{path}/{name}", method=method)


def text_of(answered: Answered) -> str:
    text: str = answered.json["output"][0]["content"][0]["text"]
    return text


@pytest.mark.parametrize("stream", [False, True])
def test_an_equal_request_leaves_its_answer_again(stream: bool) -> None:
    server = app()
    name = create(server, stream=stream)
    assert look(server, name, method="DELETE").status == 200
    assert look(server, name).status == 404
    assert create(server, stream=stream) == name
    assert look(server, name).status == 200


def test_a_chat_that_is_stored_is_found_and_one_that_is_not_is_not() -> None:
    server = app(unmatched="error", rules="rules: [{then: {text: hi}}]")
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    name = server.ask(CHATS, {**body, "store": False}).json["id"]
    assert look(server, name, path=CHATS).status == 404
    for _ in range(2):
        assert server.ask(CHATS, {**body, "store": True}).json["id"] == name
        assert look(server, name, path=CHATS).json["choices"][0]["message"]["content"] == "hi"
        assert look(server, name, path=CHATS, method="DELETE").status == 200
        assert look(server, name, path=CHATS).status == 404


def test_a_response_nobody_knows_is_made_up_and_stays_the_same() -> None:
    server = app()
    made = look(server, "resp_1")
    assert (made.json["id"], made.json["status"], made.json["model"]) == ("resp_1", "completed", "gpt-5")
    assert text_of(made)
    assert look(app(), "resp_1").body == made.body != look(server, "resp_2").body
    listed = server.ask(f"{RESPONSES}/resp_1/input_items", method="GET")
    assert listed.json == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}


def test_an_answer_follows_from_what_was_said_not_from_ids() -> None:
    stable, unique = app(), app(ids="unique")
    bodies = []
    for server in (stable, unique, unique):
        body = {"model": "m", "input": "more", "previous_response_id": create(server)}
        bodies.append(text_of(server.ask(RESPONSES, body)))
    assert len(set(bodies)) == 1
    other = {"model": "m", "input": "more", "previous_response_id": create(stable, "something else")}
    assert text_of(stable.ask(RESPONSES, other)) not in bodies


def test_what_a_deleted_response_said_is_not_answered_from_the_memo() -> None:
    server = app("rules: [{then: {text: 'turn {{ call.turn }}'}}]")
    body = {"model": "m", "input": "more", "previous_response_id": create(server)}
    assert [text_of(server.ask(RESPONSES, body)) for _ in range(2)] == ["turn 1"] * 2
    look(server, body["previous_response_id"], method="DELETE")
    refused = server.ask(RESPONSES, body)
    assert (refused.status, refused.json["error"]["code"]) == (400, "previous_response_not_found")


RULED = """
rules:
  - {name: gone, when: {operation: response, path: "*/resp_gone"}, then: {error: 410}}
  - {name: told, when: {operation: [response, delete_response]}, then: {text: As you wish.}}
  - {name: count, when: {operation: input_tokens}, then: {text: "", usage: {prompt_tokens: 77}}}
  - {name: list, when: {operation: stored_chats, metadata.topic: x}, then: {text: the only one}}
  - {name: page, when: {operation: chat_messages, query.limit: "5"}, then: {error: 429}}
"""


def test_rules_may_answer_look_ups() -> None:
    server = app(RULED, unmatched="error")
    assert look(server, "resp_gone").status == 410
    told = look(server, "resp_1")
    assert (told.json["id"], text_of(told)) == ("resp_1", "As you wish.")
    assert look(server, "resp_1", method="DELETE").json == {"id": "resp_1", "object": "response", "deleted": True}
    assert server.ask(f"{RESPONSES}/input_tokens", {"input": "x"}).json["input_tokens"] == 77
    listed = server.ask(f"{CHATS}?metadata[topic]=x", method="GET").json["data"]
    assert [chat["choices"][0]["message"]["content"] for chat in listed] == ["the only one"]
    assert server.ask(f"{CHATS}/c/messages?limit=5", method="GET").status == 429
    assert server.ask(f"{CHATS}/c/messages", method="GET").status == 404
