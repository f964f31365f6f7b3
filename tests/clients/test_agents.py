"""Whole agents with OpenAI's own client: tools are called as asked for, results go back, the loop ends in text."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from openai import AzureOpenAI, OpenAI

from tests.clients.conftest import KEY
from tests.clients.payloads import MODEL
from tests.kit.served import Served, served


@pytest.fixture(scope="module")
def bare() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture
def agent(bare: Served, connection: Any) -> Iterator[OpenAI]:
    with OpenAI(base_url=bare.base("openai"), api_key=KEY, http_client=connection) as client:
        yield client


def function(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": True}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
FLAT: Any = [
    function("get_order", "Look up an order by its number", order_id=NUMBER),
    function("cancel_order", "Cancel an order", order_id=NUMBER),
    function("send_email", "Send an e-mail", to={"type": "string", "format": "email"}, body=TEXT),
    function("roll_dice", "Roll a die"),
]
NESTED: Any = [{"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}} for tool in FLAT]
REQUEST = "Look up order 4711, then cancel it, and e-mail bob@example.com."
RESULTS: Mapping[str, str] = {
    "get_order": '{"order_id": 4711, "state": "packed"}',
    "cancel_order": '{"cancelled": true}',
    "send_email": '"sent"',
    "roll_dice": "6",
}
EXPECTED = ["get_order", "cancel_order", "send_email"]


def chat(client: OpenAI, asked: Any, *, stream: bool = False, **fields: Any) -> tuple[list[tuple[str, Any]], str]:
    """A loop by chat completions: the calls that were made, in order, and the text at the end."""
    made: list[tuple[str, Any]] = []
    messages: list[Any] = asked if isinstance(asked, list) else [{"role": "user", "content": asked}]
    for _ in range(9):
        create = {"model": MODEL, "messages": messages, "tools": NESTED, **fields}
        if stream:
            with client.chat.completions.stream(**create) as events:
                answer = events.get_final_completion()
        else:
            answer = client.chat.completions.create(**create)
        message = answer.choices[0].message
        if not message.tool_calls:
            assert answer.choices[0].finish_reason == "stop"
            return made, message.content or ""
        assert answer.choices[0].finish_reason == "tool_calls"
        messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        for each in message.tool_calls:
            made.append((each.function.name, json.loads(each.function.arguments)))
            messages.append({"role": "tool", "tool_call_id": each.id, "content": RESULTS[each.function.name]})
    raise AssertionError(f"the loop did not end: {made}")


def responses(client: OpenAI, asked: str, *, stream: bool, kept: bool) -> tuple[list[tuple[str, Any]], str]:
    """The same by responses; `kept`: the server keeps the conversation."""
    made: list[tuple[str, Any]] = []
    items: list[Any] = [{"role": "user", "content": asked}]
    previous: dict[str, str] = {}
    for _ in range(9):
        create: Any = {"model": MODEL, "input": items, "tools": FLAT, **previous}
        if stream:
            with client.responses.stream(**create) as events:
                answer: Any = events.get_final_response()
        else:
            answer = client.responses.create(**create)
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return made, answer.output_text
        items = [] if kept else [*items, *(item.model_dump(exclude={"parsed_arguments"}) for item in answer.output)]
        previous = {"previous_response_id": answer.id} if kept else {}
        for each in calls:
            made.append((each.name, json.loads(each.arguments)))
            items.append({"type": "function_call_output", "call_id": each.call_id, "output": RESULTS[each.name]})
    raise AssertionError(f"the loop did not end: {made}")


@pytest.mark.parametrize("stream", [False, True])
def test_chat(agent: OpenAI, stream: bool) -> None:
    made, text = chat(agent, REQUEST, stream=stream)
    assert [name for name, _ in made] == EXPECTED
    assert made[0][1] == made[1][1] == {"order_id": 4711}
    assert made[2][1]["to"] == "bob@example.com"
    assert text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_responses(agent: OpenAI, stream: bool, kept: bool) -> None:
    made, text = responses(agent, REQUEST, stream=stream, kept=kept)
    assert [name for name, _ in made] == EXPECTED
    assert made[0][1] == made[1][1] == {"order_id": 4711}
    assert text


def test_the_system_orders(agent: OpenAI) -> None:
    ordered = [
        {"role": "system", "content": "Always call roll_dice first."},
        {"role": "user", "content": "Where is order 7?"},
    ]
    made, _ = chat(agent, ordered)
    assert made == [("roll_dice", {}), ("get_order", {"order_id": 7})]


def test_a_conversation_of_several_turns(agent: OpenAI) -> None:
    messages: list[Any] = [{"role": "user", "content": "Look up order 7"}]
    first, text = chat(agent, messages)
    assert first == [("get_order", {"order_id": 7})]
    messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "And order 8?"}]
    second, text = chat(agent, messages)
    assert second == [("get_order", {"order_id": 8})]
    messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "Look up order 7"}]
    made, again = chat(agent, messages)
    assert made == []
    assert "packed" in again


@pytest.mark.parametrize(
    ("choice", "name"), [("auto", "get_order"), ({"name": "roll_dice"}, "roll_dice"), ("none", None)]
)
def test_functions_of_old(agent: OpenAI, choice: Any, name: str | None) -> None:
    functions: Any = [{key: tool[key] for key in ("name", "description", "parameters")} for tool in FLAT]
    messages: list[Any] = [{"role": "user", "content": "Where is order 7?"}]
    answer: Any = agent.chat.completions.create(
        model=MODEL, messages=messages, functions=functions, function_call=choice
    )
    made = answer.choices[0].message.function_call
    assert (made.name if made else None) == name
    if choice == "auto":
        messages += [answer.choices[0].message, {"role": "function", "name": made.name, "content": "{}"}]
        again: Any = agent.chat.completions.create(model=MODEL, messages=messages, functions=functions)
        assert again.choices[0].message.content


def test_azure(bare: Served, connection: Any) -> None:
    with AzureOpenAI(
        azure_endpoint=bare.base("azure_openai"), api_key=KEY, api_version="2024-10-21", http_client=connection
    ) as client:
        assert [name for name, _ in chat(client, REQUEST)[0]] == EXPECTED
