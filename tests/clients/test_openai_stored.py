"""OpenAI's own client: what responses and stored chat completions leave behind, over a real socket."""

from collections.abc import Iterator

import openai
import pytest
from openai import OpenAI
from openai.types.responses import Response, ResponseFunctionToolCall, ResponseTextDeltaEvent

from tests.clients.asked import MODEL, say
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


def test_a_streamed_response_is_kept_as_a_whole(client: OpenAI) -> None:
    with client.responses.stream(model=MODEL, input="hello") as stream:
        final = stream.get_final_response()

    assert client.responses.retrieve(final.id).output_text == final.output_text == "You said: hello"


def test_what_is_not_stored_is_not_found(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello", store=False)

    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(made.id)


def test_what_is_included_on_retrieval(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello", include=["message.output_text.logprobs"])

    again = client.responses.retrieve(made.id, include=["message.output_text.logprobs", "reasoning.encrypted_content"])
    assert again == made


def test_each_of_several_is_included_on_retrieval(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="search")

    again = client.responses.retrieve(made.id, include=["file_search_call.results", "web_search_call.action.sources"])
    files, web = (item.to_dict() for item in again.output)
    assert (files["results"], web["action"]) == ([], {"type": "search", "query": "a", "queries": ["a"], "sources": []})


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
        *("message", "function_call_output", "function_call", "message", "message"),
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


def test_a_tool_loop_over_responses(client: OpenAI) -> None:
    asked = client.responses.create(model=MODEL, input="weather in Paris?")
    [call] = asked.output
    assert isinstance(call, ResponseFunctionToolCall)

    told = client.responses.create(
        model=MODEL,
        previous_response_id=asked.id,
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": '{"sky": "clear"}'}],
    )
    assert told.output_text == "It is clear."


def test_an_unknown_previous_response(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="Previous response with id 'resp_x' not found") as raised:
        client.responses.create(model=MODEL, input="hello", previous_response_id="resp_x")

    assert (raised.value.code, raised.value.param) == ("previous_response_not_found", "previous_response_id")


def test_a_rule_may_know_a_response_that_the_server_does_not(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello", previous_response_id="resp_of_yesterday")

    assert made.output_text == "Welcome back."
    assert client.responses.retrieve(made.id).previous_response_id == "resp_of_yesterday"


def test_a_rule_may_fail_a_look_up(client: OpenAI) -> None:
    with pytest.raises(openai.InternalServerError):
        client.responses.retrieve("resp_lost")
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_lost")


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


def test_finished_work_stays_finished(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello", background=True)
    statuses(client, made, 3)

    assert client.responses.cancel(made.id).status == "completed"


def test_what_the_client_waited_for_cannot_be_cancelled(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello")

    with pytest.raises(openai.BadRequestError):
        client.responses.cancel(made.id)


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


def test_a_stream_of_unfinished_work_tells_all_of_it(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello", background=True)

    assert list(client.responses.retrieve(made.id, stream=True))[-1].type == "response.completed"
    assert statuses(client, made, 1) == ["completed"]


def test_tokens_of_an_input(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello")
    assert made.usage

    counted = client.responses.input_tokens.count(model=MODEL, input="hello")
    assert (counted.object, counted.input_tokens) == ("response.input_tokens", made.usage.input_tokens)
    more = client.responses.input_tokens.count(model=MODEL, input="hello", previous_response_id=made.id)
    assert more.input_tokens > made.usage.total_tokens


def test_a_conversation_is_compacted(client: OpenAI) -> None:
    made = client.responses.create(model=MODEL, input="hello")
    compacted = client.responses.compact(model=MODEL, input="bye", previous_response_id=made.id)

    assert compacted.object == "response.compaction"
    assert [item.type for item in compacted.output] == ["message", "message", "compaction"]
    followed = client.responses.create(model=MODEL, input=[*compacted.to_dict(warnings=False)["output"], *say("now")])  # type: ignore[list-item,misc]
    assert followed.output_text == "You said: now"


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


def test_messages_of_a_stored_chat(client: OpenAI) -> None:
    parts = [{"type": "text", "text": "two"}]
    made = client.chat.completions.create(
        model=MODEL,
        store=True,
        messages=[{"role": "system", "content": "one"}, {"role": "user", "content": parts}],  # type: ignore[typeddict-item,list-item]
    )

    messages = list(client.chat.completions.messages.list(made.id, limit=1))
    assert [message.id for message in messages] == [f"{made.id}-0", f"{made.id}-1"]
    assert [(message.role, message.content) for message in messages] == [("system", "one"), ("user", None)]
    assert messages[1].to_dict()["content_parts"] == parts


def test_namespaces_keep_apart(client: OpenAI, server: Served) -> None:
    made = client.responses.create(model=MODEL, input="hello")

    with OpenAI(base_url=server.base("openai"), api_key="any") as other, pytest.raises(openai.NotFoundError):
        other.responses.retrieve(made.id)
