"""Assistants, threads and runs through the official client: polled and streamed, with and without tools."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest
from openai import AzureOpenAI, OpenAI
from openai.types.beta.threads import Message, Run

from tests.kit.served import Served, served

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

RULES = """
settings: {unmatched: error}
rules:
- when: {tool_result: {name: get_weather}}
  then: {text: "It is {{ tool_result.json.sky }}."}
- when: {last_user: "*weather*", tools: {includes: get_weather}}
  then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
- when: {last_user: busy}
  then: {error: rate_limit}
- when: {last_user: long}
  then: {text: "One, two", finish: length}
- when: {conversation: "*my name is Ada*", last_user: Who am I?}
  then: {text: Ada}
- when: {system: "*pirate*", last_user: hello}
  then: {text: "Arr!"}
- when: {last_user: hello}
  then: {text: Hello!}
- when: {response_format: json_schema}
  then: {json: {city: Oslo}}
"""
WEATHER: Any = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base("openai"), api_key="any", max_retries=0) as opened:
        yield opened


@pytest.fixture
def assistant(client: OpenAI) -> str:
    return client.beta.assistants.create(model="gpt-4o", tools=[WEATHER]).id


def begin(client: OpenAI, text: str) -> str:
    return client.beta.threads.create(messages=[{"role": "user", "content": text}]).id


def read(message: Message) -> str:
    (block,) = message.content
    assert block.type == "text"
    return block.text.value


def list_texts(client: OpenAI, thread: str) -> list[str]:
    return [read(message) for message in client.beta.threads.messages.list(thread, order="asc")]


def find_calls(run: Run) -> list[Any]:
    assert run.required_action is not None
    return run.required_action.submit_tool_outputs.tool_calls


def test_a_run_is_polled_until_it_has_ended(client: OpenAI, assistant: str) -> None:
    thread = begin(client, "hello")
    run = client.beta.threads.runs.create(thread_id=thread, assistant_id=assistant, metadata={"a": "b"})
    seen = [run, *(client.beta.threads.runs.retrieve(run.id, thread_id=thread) for _ in range(3))]
    assert [each.status for each in seen] == ["queued", "in_progress", "completed", "completed"]
    assert [each.usage is None for each in seen] == [True, True, False, False]
    assert (seen[3].completed_at, seen[3].metadata, seen[3].model) == (run.created_at, {"a": "b"}, "gpt-4o")
    assert list_texts(client, thread) == ["hello", "Hello!"]
    said = client.beta.threads.messages.list(thread).data[0]
    assert (said.role, said.run_id, said.assistant_id, said.status) == ("assistant", run.id, assistant, "completed")
    (step,) = client.beta.threads.runs.steps.list(run.id, thread_id=thread)
    assert step.step_details.type == "message_creation"
    assert step.step_details.message_creation.message_id == said.id
    assert client.beta.threads.runs.steps.retrieve(step.id, thread_id=thread, run_id=run.id) == step
    assert [each.id for each in client.beta.threads.runs.list(thread)] == [run.id]
    assert [each.id for each in client.beta.threads.messages.list(thread, run_id=run.id)] == [said.id]


def test_equal_runs_are_apart(client: OpenAI, assistant: str) -> None:
    threads = [begin(client, "hello") for _ in range(2)]
    runs = [client.beta.threads.runs.create(thread_id=each, assistant_id=assistant) for each in threads * 2]
    assert len({run.id for run in runs}) == 4
    assert [list_texts(client, thread) for thread in threads] == [["hello", "Hello!", "Hello!"]] * 2


def test_a_thread_is_remembered(client: OpenAI, assistant: str) -> None:
    thread = begin(client, "my name is Ada")
    client.beta.threads.messages.create(thread, role="user", content=[{"type": "text", "text": "Who am I?"}])
    client.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=assistant)
    assert list_texts(client, thread)[-1] == "Ada"
    last: Any = {"type": "last_messages", "last_messages": 1}
    client.beta.threads.messages.create(thread, role="user", content="Who am I?")
    with pytest.raises(openai.NotFoundError, match="no rule answers"):
        client.beta.threads.runs.create(thread_id=thread, assistant_id=assistant, truncation_strategy=last)


def test_what_the_run_states_wins(client: OpenAI) -> None:
    pirate = client.beta.assistants.create(model="gpt-4o", instructions="You are a pirate.", temperature=0.5)
    thread = begin(client, "hello")
    asked: Any = {"thread_id": thread, "assistant_id": pirate.id}
    first = client.beta.threads.runs.create_and_poll(**asked)
    assert (first.instructions, first.temperature) == ("You are a pirate.", 0.5)
    client.beta.threads.messages.create(thread, role="user", content="hello")
    more: Any = {"instructions": "Be plain.", "additional_instructions": "Be brief.", "model": "gpt-4.1"}
    second = client.beta.threads.runs.create_and_poll(**asked, **more)
    assert (second.instructions, second.model) == ("Be plain.\nBe brief.", "gpt-4.1")
    said: Any = [{"role": "user", "content": "hello"}]
    client.beta.threads.runs.create_and_poll(**asked, additional_messages=said)
    assert list_texts(client, thread) == ["hello", "Arr!", "hello", "Hello!", "hello", "Arr!"]


def test_the_format_of_an_assistant_holds_for_its_runs(client: OpenAI) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    form: Any = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}
    asked = client.beta.assistants.create(model="gpt-4o", response_format=form)
    thread = begin(client, "Where?")
    client.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=asked.id)
    assert json.loads(list_texts(client, thread)[-1]) == {"city": "Oslo"}


def test_a_run_waits_for_the_results_of_tools(client: OpenAI, assistant: str) -> None:
    thread = begin(client, "How is the weather?")
    run = client.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=assistant)
    (call,) = find_calls(run)
    assert (run.status, call.function.name, call.function.arguments) == (
        "requires_action",
        "get_weather",
        '{"city":"Oslo"}',
    )
    with pytest.raises(openai.BadRequestError, match=f"Can't add messages to {thread} while a run {run.id} is active"):
        client.beta.threads.messages.create(thread, role="user", content="hello")
    with pytest.raises(openai.BadRequestError, match=f"Thread {thread} already has an active run {run.id}"):
        client.beta.threads.runs.create(thread_id=thread, assistant_id=assistant)
    outputs: Any = [{"tool_call_id": "call_x", "output": "{}"}]
    with pytest.raises(openai.BadRequestError, match="Expected tool outputs for call_ids"):
        client.beta.threads.runs.submit_tool_outputs(run.id, thread_id=thread, tool_outputs=outputs)
    outputs = [{"tool_call_id": call.id, "output": '{"sky": "clear"}'}]
    done = client.beta.threads.runs.submit_tool_outputs_and_poll(run_id=run.id, thread_id=thread, tool_outputs=outputs)
    assert (done.id, done.status, done.required_action) == (run.id, "completed", None)
    assert list_texts(client, thread)[-1] == "It is clear."
    said, called = client.beta.threads.runs.steps.list(run.id, thread_id=thread)
    assert (said.type, called.type, called.status) == ("message_creation", "tool_calls", "completed")
    assert called.step_details.type == "tool_calls"
    (told,) = called.step_details.tool_calls
    assert told.type == "function"
    assert told.function.output == '{"sky": "clear"}'
    with pytest.raises(openai.BadRequestError, match='Runs in status "completed" do not accept tool outputs'):
        client.beta.threads.runs.submit_tool_outputs(run.id, thread_id=thread, tool_outputs=outputs)


def test_a_stream_of_a_run(client: OpenAI, assistant: str) -> None:
    with client.beta.threads.runs.stream(thread_id=begin(client, "hello"), assistant_id=assistant) as stream:
        seen = [event.event for event in stream]
        text = "".join(read(message) for message in stream.get_final_messages())
        assert stream.get_final_run().status == "completed"
    assert seen[:7] == [
        "thread.run.created",
        "thread.run.queued",
        "thread.run.in_progress",
        "thread.run.step.created",
        "thread.run.step.in_progress",
        "thread.message.created",
        "thread.message.in_progress",
    ]
    assert seen[-3:] == ["thread.message.completed", "thread.run.step.completed", "thread.run.completed"]
    assert {*seen[7:-3]} == {"thread.message.delta"}
    assert text == "Hello!"


def test_a_stream_on_a_new_thread_with_tools(client: OpenAI, assistant: str) -> None:
    thread: Any = {"messages": [{"role": "user", "content": "the weather"}]}
    with client.beta.threads.create_and_run_stream(assistant_id=assistant, thread=thread) as stream:
        events = list(stream)
        run = stream.get_final_run()
        (step,) = stream.get_final_run_steps()
    assert (events[0].event, events[-1].event) == ("thread.created", "thread.run.requires_action")
    assert step.step_details.type == "tool_calls"
    (call,) = step.step_details.tool_calls
    assert call.type == "function"
    assert (call.id, call.function.arguments) == (find_calls(run)[0].id, '{"city":"Oslo"}')
    outputs: Any = [{"tool_call_id": call.id, "output": '{"sky": "grey"}'}]
    with client.beta.threads.runs.submit_tool_outputs_stream(
        run_id=run.id, thread_id=run.thread_id, tool_outputs=outputs
    ) as rest:
        assert next(event.event for event in rest) == "thread.run.step.completed"
        assert [read(message) for message in rest.get_final_messages()] == ["It is grey."]
    assert client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id).status == "completed"
    assert list_texts(client, run.thread_id) == ["the weather", "It is grey."]


def test_a_run_that_is_cut_is_incomplete(client: OpenAI, assistant: str) -> None:
    thread = begin(client, "long")
    run = client.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=assistant)
    assert run.status == "incomplete"
    assert run.incomplete_details is not None
    assert run.incomplete_details.reason == "max_completion_tokens"
    said = client.beta.threads.messages.list(thread).data[0]
    assert said.incomplete_details is not None
    assert (said.status, said.incomplete_details.reason) == ("incomplete", "max_tokens")


@pytest.mark.parametrize("text", ["hello", "weather"])
def test_a_run_can_be_cancelled(text: str, client: OpenAI, assistant: str) -> None:
    thread = begin(client, text)
    run = client.beta.threads.runs.create(thread_id=thread, assistant_id=assistant)
    assert client.beta.threads.runs.cancel(run.id, thread_id=thread).status == "cancelling"
    ended = client.beta.threads.runs.retrieve(run.id, thread_id=thread)
    assert (ended.status, ended.cancelled_at, ended.required_action) == ("cancelled", run.created_at, None)
    assert list_texts(client, thread) == [text]
    with pytest.raises(openai.BadRequestError, match="Cannot cancel run with status 'cancelled'"):
        client.beta.threads.runs.cancel(run.id, thread_id=thread)


def test_what_does_not_exist_or_may_not_be(client: OpenAI, assistant: str) -> None:
    thread = begin(client, "hello")
    runs = client.beta.threads.runs
    with pytest.raises(openai.NotFoundError, match="No assistant found with id 'asst_x'"):
        runs.create(thread_id=thread, assistant_id="asst_x")
    with pytest.raises(openai.NotFoundError, match="No thread found with id 'thread_x'"):
        runs.create(thread_id="thread_x", assistant_id=assistant)
    with pytest.raises(openai.NotFoundError, match="No run found with id 'run_x'"):
        runs.submit_tool_outputs("run_x", thread_id=thread, tool_outputs=[{"tool_call_id": "a", "output": "b"}])
    client.beta.threads.messages.create(thread, role="user", content="busy")
    with pytest.raises(openai.RateLimitError):
        runs.create(thread_id=thread, assistant_id=assistant)
    role: Any = "system"
    with pytest.raises(openai.BadRequestError, match="'user' and 'assistant'"):
        client.beta.threads.messages.create(thread, role=role, content="hello")
    client.beta.threads.delete(thread)
    with pytest.raises(openai.NotFoundError):
        client.beta.threads.retrieve(thread)


def test_a_format_without_a_type_is_refused(client: OpenAI, assistant: str) -> None:
    wrong: Any = {"json_schema": {"name": "person"}}
    with pytest.raises(openai.BadRequestError, match=r"Missing required parameter: 'response_format.type'"):
        client.beta.assistants.create(model="gpt-4o", response_format=wrong)
    thread = client.beta.threads.create()
    with pytest.raises(openai.BadRequestError, match=r"Missing required parameter: 'response_format.type'"):
        client.beta.threads.runs.create(thread.id, assistant_id=assistant, response_format=wrong)


def test_azure_has_them_too(server: Served) -> None:
    address = server.base("azure_openai")
    with AzureOpenAI(azure_endpoint=address, api_key="any", api_version="2024-05-01-preview") as client:
        made = client.beta.assistants.create(model="gpt-4o")
        thread = begin(client, "hello")
        run = client.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=made.id)
        assert (run.status, list_texts(client, thread)) == ("completed", ["hello", "Hello!"])


def test_what_nobody_made_is_made_up() -> None:
    with served("settings: {unmatched: generate}") as server:
        asked = {"assistant_id": "asst_x", "additional_messages": [{"role": "user", "content": "What is 2 + 2?"}]}
        base = f"{server.base('openai')}/threads/thread_x"
        run = httpx2.post(f"{base}/runs", json=asked).json()
        assert run["status"] == "queued"
        (said,) = [each for each in httpx2.get(f"{base}/messages").json()["data"] if each["role"] == "assistant"]
        assert said["content"][0]["text"]["value"] == "4"
        told = {"tool_outputs": [{"tool_call_id": "call_x", "output": "9"}]}
        assert httpx2.post(f"{base}/runs/run_x/submit_tool_outputs", json=told).status_code == 200
