"""OpenAI's own client: what responses and stored chat completions leave behind, over a real socket."""

from collections.abc import Iterator

import openai
import pytest
from openai import OpenAI
from openai.types.responses import Response, ResponseTextDeltaEvent

from tests.clients.payloads import MODEL, say
from tests.kit.served import Served, served

RULES = """
settings: {unmatched: error, ids: unique, background_polls: 2}
rules:
  - name: weather, told
    when: {tool_result: {name: get_weather}}
    then: {text: "It is {{ tool_result.json.sky }}."}
  - name: weather
    when: {last_user: "*weather*"}
    then: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}
  - name: a script
    when: {conversation: {starts_with: script}}
    then: {steps: [{text: one}, {text: two}, {text: three}]}
  - name: on the way home
    when: {previous_response: resp_of_yesterday}
    then: {text: Welcome back.}
  - name: lost once
    when: {operation: response, path: "*/resp_lost"}
    then: {error: 500, headers: {x-should-retry: "false"}}
    times: 1
  - name: searched
    when: {last_user: search}
    then: {items: [{type: file_search_call, query: a, results: []}, {type: web_search_call, query: a, sources: []}]}
  - name: anything
    when: {last_user: "*"}
    then: {text: "You said: {{ last_user }}"}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture
def client(server: Served, request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    base = server.base("openai", namespace=request.node.name.replace("[", "-").replace("]", ""))
    with OpenAI(base_url=base, api_key="sk-test") as client:
        yield client


def test_a_response_until_it_is_deleted(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello", metadata={"topic": "greeting"})
    assert client.responses.retrieve(made.id) == made
    assert made.metadata == {"topic": "greeting"}

    events = list(client.responses.retrieve(made.id, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].type == "response.completed"
    rest = list(client.responses.retrieve(made.id, stream=True, starting_after=3))
    assert rest == events[4:]

    client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError, match=f"Response with id '{made.id}' not found"):
        client.responses.retrieve(made.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.delete(made.id)


def test_input_items(client: OpenAI) -> None:
    made = client.responses.create(
        model=MODEL,
        input=[
            {"role": "user", "content": "first"},
            {"type": "message", "role": "assistant", "content": "second"},
            {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "fine"},
            {"role": "user", "content": [{"type": "input_text", "text": "last"}]},
        ],
    )

    items = list(client.responses.input_items.list(made.id, limit=2))
    assert [item.type for item in items] == [
        "message",
        "function_call_output",
        "function_call",
        "message",
        "message",
    ]
    assert len({item.id for item in items}) == 5
    first, second = list(client.responses.input_items.list(made.id, order="asc"))[:2]
    assert first.to_dict()["content"] == [{"type": "input_text", "text": "first"}]
    assert second.to_dict()["content"][0]["text"] == "second"  # type: ignore[index]


def test_a_conversation_goes_on(client: OpenAI) -> None:
    last, said = None, []
    for text in ("script", "next", "next", "next"):
        last = client.responses.create(model=MODEL, input=text, previous_response_id=last.id if last else None)
        said.append(last.output_text)

    assert said == ["one", "two", "three", "three"]
    assert last
    assert last.previous_response_id


def statuses(client: OpenAI, made: Response, times: int) -> list[str | None]:
    return [client.responses.retrieve(made.id).status for _ in range(times)]


def test_work_in_the_background(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello", background=True)

    assert (made.status, made.output, made.usage, made.background) == ("queued", [], None, True)
    assert statuses(client, made, 4) == ["in_progress", "in_progress", "completed", "completed"]
    assert client.responses.retrieve(made.id).output_text == "You said: hello"


def test_work_in_the_background_is_cancelled(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello", background=True)

    assert statuses(client, made, 1) == ["in_progress"]
    cancelled = client.responses.cancel(made.id)
    assert (cancelled.id, cancelled.status, cancelled.output) == (made.id, "cancelled", [])
    assert statuses(client, made, 4) == ["cancelled"] * 4
    assert client.responses.cancel(made.id).status == "cancelled"


def test_a_stream_from_the_background_is_taken_up_again(client: OpenAI) -> None:
    stream = client.responses.create(model=MODEL, input="hello", background=True, stream=True)
    first = [next(stream) for _ in range(5)]
    stream.close()
    assert [event.type for event in first[:3]] == ["response.created", "response.queued", "response.in_progress"]

    name = first[0].response.id  # type: ignore[union-attr]
    rest = list(client.responses.retrieve(name, stream=True, starting_after=first[-1].sequence_number))
    text = "".join(event.delta for event in (*first, *rest) if isinstance(event, ResponseTextDeltaEvent))
    assert text == "You said: hello"
    assert rest[-1].type == "response.completed"


def test_stored_chats(client: OpenAI) -> None:
    chats = client.chat.completions
    made = [
        chats.create(model=model, messages=say(text), store=True, metadata={"topic": topic})
        for model, text, topic in (("a", "one", "x"), ("a", "two", "y"), ("b", "three", "x"))
    ]
    chats.create(model="a", messages=say("not stored"))
    names = [chat.id for chat in made]

    assert [chat.id for chat in chats.list(limit=1)] == names
    assert [chat.id for chat in chats.list(order="desc")] == names[::-1]
    assert [chat.id for chat in chats.list(model="a")] == names[:2]
    assert [chat.id for chat in chats.list(metadata={"topic": "x"})] == [names[0], names[2]]
    assert [chat.id for chat in chats.list(after=names[0], limit=1)] == names[1:]

    first = chats.retrieve(names[0])
    assert (first.id, first.choices, first.usage) == (names[0], made[0].choices, made[0].usage)
    assert first.metadata == {"topic": "x"}
    assert chats.update(names[0], metadata={"topic": "z"}).metadata == {"topic": "z"}
    assert [chat.id for chat in chats.list(metadata={"topic": "z"})] == names[:1]

    assert chats.delete(names[0]).deleted
    with pytest.raises(openai.NotFoundError, match=f"Chat completion with id '{names[0]}' not found"):
        chats.retrieve(names[0])
    assert [chat.id for chat in chats.list()] == names[1:]


def test_namespaces_keep_apart(client: OpenAI, server: Served) -> None:
    made = client.responses.create(model=MODEL, input="hello")

    with OpenAI(base_url=server.base("openai"), api_key="any") as other, pytest.raises(openai.NotFoundError):
        other.responses.retrieve(made.id)
