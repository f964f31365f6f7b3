"""OpenAI's own client with conversations: their items, and responses that go on in them."""

from time import monotonic
from typing import Any
from unittest.mock import AsyncMock

import openai
import pytest
from openai import OpenAI

from mockserver.core.plan import Failure
from mockserver.core.state import StateLostError
from mockserver.dialects._openai_api.objects.conversations import ConversationItems
from mockserver.server.limits import Reservation
from tests.clients.payloads import MODEL
from tests.kit.asgi import app
from tests.kit.served import PATIENCE

RULES = """
rules:
  - {when: {last_user: hello}, then: {text: "Hello!"}}
  - {when: {conversation: {contains: my name is Ann}, last_user: who am I?}, then: {text: You are Ann.}}
  - {when: {last_user: weather, turn: 0}, then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}}
  - {when: {last_user: slow}, then: {text: one two three four five six, timing: {per_token: 100ms}}}
  - {when: {last_user: break}, then: {text: half, failed: {message: Out of steam.}}}
"""
TOOL: Any = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}, "strict": False}


def read(client: OpenAI, conversation: str) -> list[tuple[str, str]]:
    """Return who says what in a conversation; of other items, their types."""
    items = client.conversations.items.list(conversation, order="asc", limit=2)  # over several pages
    return [
        (item.role, getattr(item.content[0], "text", "")) if item.type == "message" else (item.type, "")
        for item in items
    ]


def test_a_conversation_until_it_is_deleted(client: OpenAI) -> None:
    made = client.conversations.create(metadata={"topic": "trains"})
    assert made.metadata == {"topic": "trains"}
    assert client.conversations.update(made.id, metadata={"topic": "fish"}).metadata == {"topic": "fish"}
    assert client.conversations.retrieve(made.id).metadata == {"topic": "fish"}
    assert client.conversations.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError, match=f"Conversation with id '{made.id}' not found"):
        client.conversations.items.list(made.id)


def test_items_are_listed_newest_first_and_can_be_deleted(client: OpenAI) -> None:
    name = client.conversations.create(items=[{"role": "user", "content": "one"}]).id
    added = client.conversations.items.create(
        name, items=[{"role": "user", "content": "two"}, {"role": "assistant", "content": "three"}]
    )
    assert (added.first_id, added.last_id) == (added.data[0].id, added.data[1].id)
    assert [item.id for item in client.conversations.items.list(name)][:2] == [added.last_id, added.first_id]
    assert read(client, name) == [("user", "one"), ("user", "two"), ("assistant", "three")]
    assert client.conversations.items.retrieve(added.last_id, conversation_id=name) == added.data[1]
    assert client.conversations.items.delete(added.first_id, conversation_id=name).id == name
    assert read(client, name) == [("user", "one"), ("assistant", "three")]


@pytest.mark.parametrize("way", ["plain", "streamed", "in the background", "not stored"])
def test_a_response_goes_on_in_its_conversation(client: OpenAI, way: str) -> None:
    name = client.conversations.create(items=[{"role": "user", "content": "my name is Ann"}]).id
    more: dict[str, Any] = {"conversation": name, "model": MODEL}
    client.responses.create(input="hello", **more)
    match way:
        case "streamed":
            with client.responses.stream(input="who am I?", **more) as stream:
                answer = stream.get_final_response()
        case "in the background":
            answer = client.responses.create(input="who am I?", background=True, **more)
            while answer.status in ("queued", "in_progress"):
                answer = client.responses.retrieve(answer.id)
        case _:
            answer = client.responses.create(input="who am I?", store=way == "plain", **more)
    assert answer.output_text == "You are Ann."
    assert answer.conversation is not None
    assert answer.conversation.id == name
    assert read(client, name) == [
        ("user", "my name is Ann"),
        ("user", "hello"),
        ("assistant", "Hello!"),
        ("user", "who am I?"),
        ("assistant", "You are Ann."),
    ]
    said = client.conversations.items.list(name).data[0]
    assert said.id == answer.output[0].id


def test_tools_are_called_within_a_conversation(client: OpenAI) -> None:
    name = client.conversations.create().id
    made = client.responses.create(model=MODEL, input="weather", tools=[TOOL], conversation=name).output[0]
    assert made.type == "function_call"
    result: Any = {"type": "function_call_output", "call_id": made.call_id, "output": "rain"}
    client.responses.create(model=MODEL, input=[result], tools=[TOOL], conversation=name)
    assert [kind for kind, _ in read(client, name)] == ["user", "function_call", "function_call_output", "assistant"]


def test_a_failed_response_leaves_its_conversation_as_it_was(client: OpenAI) -> None:
    name = client.conversations.create().id
    assert client.responses.create(model=MODEL, input="break", conversation=name).status == "failed"
    assert read(client, name) == []


def test_an_unknown_conversation_is_empty_or_an_error(client: OpenAI, strict_client: OpenAI) -> None:
    for _ in range(2):  # nothing is kept of it
        answer = client.responses.create(model=MODEL, input="who am I?", conversation="conv_unknown")
        assert answer.output_text != "You are Ann."
    assert read(client, "conv_unknown") == []
    with pytest.raises(openai.NotFoundError, match="Conversation with id 'conv_unknown' not found"):
        strict_client.responses.create(model=MODEL, input="hello", conversation="conv_unknown")


def test_a_response_continues_a_conversation_or_a_response_but_not_both(client: OpenAI) -> None:
    name = client.conversations.create().id
    with pytest.raises(openai.BadRequestError, match="Mutually exclusive parameters"):
        client.responses.create(model=MODEL, input="hello", conversation=name, previous_response_id="resp_1")


@pytest.mark.parametrize("items", [[{"role": "user"}], [{"content": "a"}], [1], "a"])
def test_items_that_are_none_are_refused(client: OpenAI, items: Any) -> None:
    with pytest.raises(openai.BadRequestError):
        client.conversations.create(items=items)


def test_a_file_in_a_prompt_must_exist(client: OpenAI, strict_client: OpenAI) -> None:
    asked: Any = [{"role": "user", "content": [{"type": "input_file", "file_id": "file-unknown"}]}]
    assert client.responses.create(model=MODEL, input=asked).status == "completed"
    with pytest.raises(openai.NotFoundError, match="No such File object: file-unknown"):
        strict_client.responses.create(model=MODEL, input=asked)
    told: Any = [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-unknown"}}]}]
    with pytest.raises(openai.NotFoundError, match="No such File object: file-unknown"):
        strict_client.chat.completions.create(model=MODEL, messages=told)


def test_one_response_at_a_time(client: OpenAI, strict_client: OpenAI) -> None:
    conversation, other = (strict_client.conversations.create().id for _ in range(2))
    with strict_client.responses.create(model=MODEL, input="slow", conversation=conversation, stream=True) as stream:
        next(iter(stream))
        with pytest.raises(openai.BadRequestError, match="Another process is currently operating") as caught:
            strict_client.responses.create(model=MODEL, input="hello", conversation=conversation)
        assert (caught.value.code, caught.value.param) == ("conversation_locked", "conversation")
        strict_client.responses.create(model=MODEL, input="hello", conversation=other)
        for _ in stream:
            pass
    assert strict_client.responses.create(model=MODEL, input="hello", conversation=conversation).output_text == "Hello!"
    made = client.conversations.create().id
    with client.responses.create(model=MODEL, input="slow", conversation=made, stream=True) as stream:
        next(iter(stream))
        client.responses.create(
            model=MODEL, input="hello", conversation=made
        )  # where answers are generated, it goes on
    assert [text for _, text in read(client, made)] == [
        "slow",
        "one two three four five six",
        "hello",
        "Hello!",
    ]


def test_a_client_that_leaves_lets_others_go_on(strict_client: OpenAI) -> None:
    conversation = strict_client.conversations.create().id
    with strict_client.responses.create(model=MODEL, input="slow", conversation=conversation, stream=True) as stream:
        next(iter(stream))
    until, said = monotonic() + PATIENCE, None
    while said is None:  # until the server has noticed
        try:
            said = strict_client.responses.create(model=MODEL, input="hello", conversation=conversation)
        except openai.BadRequestError:
            assert monotonic() < until, "the conversation stays locked"
    assert said.output_text == "Hello!"


@pytest.mark.parametrize(
    "error", [StateLostError("gone"), Failure("overloaded"), RuntimeError("a bug")], ids=["lost", "refused", "bug"]
)
@pytest.mark.parametrize(("part", "name"), [(ConversationItems, "list_all"), (Reservation, "settle")])
def test_what_breaks_an_answer_off_does_not_lock_its_conversation(
    monkeypatch: pytest.MonkeyPatch, part: type, name: str, error: Exception
) -> None:
    server = app(RULES, unmatched="error", limits={"tokens_per_minute": 10_000})
    conversation = server.ask("/v1/conversations", {}).json["id"]
    asked = {"model": MODEL, "input": "hello", "conversation": conversation}
    with monkeypatch.context() as broken:
        broken.setattr(part, name, AsyncMock(side_effect=error))
        assert server.ask("/v1/responses", asked).status >= 500
    answered = server.ask("/v1/responses", asked)
    assert (answered.status, answered.json["output"][0]["content"][0]["text"]) == (200, "Hello!")
