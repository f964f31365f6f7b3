"""OpenAI's own client sends back what it got: items of Responses, whole or as references, and messages of a chat."""

from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from mockserver.testing import MockServer

LOOK: Any = {"name": "look", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
KEEPING: dict[str, Any] = {"store": True}
STATELESS: dict[str, Any] = {"store": False, "include": ["reasoning.encrypted_content"]}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="error") as started:
        yield started


@pytest.fixture
def client(server: MockServer) -> Iterator[OpenAI]:
    calls = [{"name": "look", "arguments": {"city": "Zürich"}}, {"name": "look", "arguments": {}}]
    server.on("*weather*", turn=0, operation="chat").reply(tool_calls=calls)  # it shows no reasoning
    server.on(operation="chat").reply(text="Sunny.")
    server.on("*weather*", turn=0).reply(reasoning="Two looks: 🌧.", tool_calls=calls)
    server.on().reply(reasoning="That is all.", text="Sunny.")
    yield server.client()
    server.reset()


def said(client: OpenAI, stream: bool, **asked: Any) -> Any:
    if not stream:
        return client.responses.create(**asked)
    with client.responses.stream(**asked) as streamed:
        return streamed.get_final_response()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kept", [KEEPING, STATELESS], ids=["store", "stateless"])
@pytest.mark.parametrize("dumped", [False, True], ids=["items", "dumped"])
def test_items(client: OpenAI, server: MockServer, kept: dict[str, Any], stream: bool, dumped: bool) -> None:
    items: list[Any] = [{"role": "user", "content": "The weather?"}]
    tools = [{"type": "function", **LOOK}]
    for _ in range(3):
        output = said(client, stream, model="gpt-5", input=items, tools=tools, **kept).output
        items += [item.model_dump(exclude_none=True) if dumped else item for item in output]
        made = [item for item in output if item.type == "function_call"]
        items += [{"type": "function_call_output", "call_id": each.call_id, "output": "Clear."} for each in made]
        if not made:
            items.append({"role": "user", "content": "And then?"})
    assert [call.status for call in server.calls] == [200] * 3
    assert [call.remarks for call in server.calls] == [()] * 3


def test_references_and_continuing(client: OpenAI, server: MockServer) -> None:
    asked: Any = {"model": "gpt-5", "tools": [{"type": "function", **LOOK}]}
    first = client.responses.create(input="The weather?", **asked)
    results: list[Any] = [
        {"type": "function_call_output", "call_id": item.call_id, "output": "Clear."}
        for item in first.output
        if item.type == "function_call"
    ]
    client.responses.create(input=results, previous_response_id=first.id, **asked)
    references: list[Any] = [{"type": "item_reference", "id": item.id} for item in first.output]
    client.responses.create(input=[{"role": "user", "content": "The weather?"}, *references, *results], **asked)
    assert [call.remarks for call in server.calls] == [()] * 3


@pytest.mark.parametrize("stream", [False, True])
def test_chats(client: OpenAI, server: MockServer, stream: bool) -> None:
    messages: list[Any] = [{"role": "user", "content": "The weather?"}]
    for _ in range(3):
        asked: Any = {"model": "gpt-4o", "messages": messages, "tools": [{"type": "function", "function": LOOK}]}
        if stream:
            with client.chat.completions.stream(**asked) as streamed:
                message = streamed.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        made = [{"role": "tool", "tool_call_id": each.id, "content": "Clear."} for each in message.tool_calls or ()]
        messages += made or [{"role": "user", "content": "And then?"}]
    assert [call.remarks for call in server.calls] == [()] * 3


def test_what_was_learned_does_not_answer_a_changed_history(client: OpenAI, server: MockServer) -> None:
    """Requests that differ in their texts and ids only are answered alike, but not where an id is too long."""

    def chat(text: str, name: str) -> None:
        function = {"name": "look", "arguments": "{}"}
        messages: list[Any] = [
            {"role": "user", "content": text},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": name, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": name, "content": f"clear, {text}"},
        ]
        client.chat.completions.create(model="gpt-4o", messages=messages)

    for number in range(6):
        chat(f"the {number}th", f"call_{number}")
    for number in range(4):
        chat(f"the {number}th", "c" * 41)
    assert [bool(call.remarks) for call in server.calls] == [False] * 6 + [True] * 4


def test_equal_requests_get_equal_remarks(client: OpenAI, server: MockServer) -> None:
    messages: list[Any] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "a", "tool_calls": []}]
    for _ in range(4):
        client.chat.completions.create(model="gpt-4o", messages=[*messages, messages[0]])
    remarks = [call.remarks for call in server.calls]
    assert remarks[0]
    assert remarks == [remarks[0]] * 4
