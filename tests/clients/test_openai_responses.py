"""OpenAI's own client and the Responses API: whole answers, events, its helpers, and everything it can send."""

import asyncio
import json
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import response_create_params

from tests.clients.payloads import CODE, INPUT, MODEL, PARAMETERS, RUN_CODE_TOOL, WEATHER_FUNCTION, Person
from tests.kit.served import Served


def test_a_text(client: OpenAI) -> None:
    response = client.responses.create(model=MODEL, input="hello")

    assert response.output_text == "Hello! How can I help you today?"
    assert (response.object, response.status, response.model) == ("response", "completed", MODEL)
    assert (response.error, response.incomplete_details, response.metadata) == (None, None, {})
    assert response.id.startswith("resp_")
    assert len(response.id) == 55
    assert response.usage
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    assert response._request_id
    assert response._request_id.startswith("req_")


def test_an_empty_body(client: OpenAI) -> None:
    response = client.responses.create()

    assert response.output_text
    assert response.model == "gpt-5"


def test_none_of_the_parameters_is_left_out() -> None:
    assert PARAMETERS.keys() == response_create_params.ResponseCreateParamsBase.__annotations__.keys()


@pytest.mark.parametrize("stream", [False, True])
def test_every_parameter_at_once(client: OpenAI, *, stream: bool) -> None:
    """But for those that exclude each other."""
    excluded = ("conversation", *(() if stream else ("stream_options",)))
    asked: dict[str, Any] = {name: value for name, (value, _) in PARAMETERS.items() if name not in excluded}
    answer = client.responses.create(**asked, stream=stream)

    if not stream:
        assert (answer.temperature, answer.metadata, answer.service_tier) == (0.5, {"run": "7"}, "flex")
        assert [tool.type for tool in answer.tools] == ["function", "custom", "web_search"]
        [part] = answer.output[0].content
        assert "".join(weighed.token for weighed in part.logprobs) == answer.output_text
    else:
        *_, last = answer
        assert last.type == "response.completed"
        assert last.response.output_text == "Hello! How can I help you today?"


@pytest.mark.parametrize("dialect", ["openai", "tzafon"])
def test_all_kinds_of_input_at_once(client: OpenAI, server: Served, dialect: str) -> None:
    own = client.with_options(base_url=server.base(dialect))

    assert own.responses.create(model=MODEL, input=INPUT).output_text == "Hello! How can I help you today?"


def test_events(client: OpenAI) -> None:
    events = list(client.responses.create(model=MODEL, input="hello", stream=True))

    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:4]] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    last = events[-1]
    assert last.type == "response.completed"
    assert "".join(deltas) == last.response.output_text == "Hello! How can I help you today?"
    assert last.response == client.responses.create(model=MODEL, input="hello")


def test_a_function_is_called_and_told(client: OpenAI) -> None:
    asked: Any = {"model": MODEL, "tools": [WEATHER_FUNCTION]}
    first = client.responses.create(input="weather in Paris", **asked)
    [call] = first.output
    assert call.type == "function_call"
    assert json.loads(call.arguments) == {"city": "Paris", "unit": "celsius"}

    told = {"type": "function_call_output", "call_id": call.call_id, "output": '{"sky": "clear", "city": "Paris"}'}
    history: Any = [{"role": "user", "content": "weather in Paris"}, *first.output, told]
    assert client.responses.create(input=history, **asked).output_text == "It is clear in Paris."


def test_a_function_is_called_by_events(client: OpenAI) -> None:
    with client.responses.stream(model=MODEL, input="weather in Paris", tools=[WEATHER_FUNCTION]) as stream:
        events = list(stream)
        [call] = stream.get_final_response().output

    assert call.type == "function_call"
    assert call.parsed_arguments == {"city": "Paris", "unit": "celsius"}
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(deltas) == call.arguments


def test_a_custom_tool_is_called(client: OpenAI) -> None:
    asked: Any = {"model": MODEL, "input": "compute", "tools": [RUN_CODE_TOOL]}
    [call] = client.responses.create(**asked).output
    with client.responses.stream(**asked) as stream:
        deltas = [event.delta for event in stream if event.type == "response.custom_tool_call_input.delta"]
        [streamed] = stream.get_final_response().output

    assert call.type == streamed.type == "custom_tool_call"
    assert call.input == streamed.input == "".join(deltas) == CODE


def test_reasoning(client: OpenAI) -> None:
    asked: Any = {"model": MODEL, "input": "think", "reasoning": {"effort": "low", "summary": "auto"}}
    thought, message = client.responses.create(**asked).output
    with client.responses.stream(**asked) as stream:
        deltas = [event.delta for event in stream if event.type == "response.reasoning_summary_text.delta"]
        final = stream.get_final_response()

    assert (thought.type, message.type) == ("reasoning", "message")
    assert [part.text for part in thought.summary] == ["Six times seven."] == ["".join(deltas)]
    assert final.output_text == "42"


def test_a_structured_answer(client: OpenAI) -> None:
    parsed = client.responses.parse(model=MODEL, input="who?", text_format=Person)
    with client.responses.stream(model=MODEL, input="who?", text_format=Person) as stream:
        stream.until_done()
        streamed = stream.get_final_response()

    assert isinstance(parsed.output_parsed, Person)
    assert parsed.output_parsed == streamed.output_parsed


def test_an_incomplete_answer(client: OpenAI) -> None:
    asked: Any = {"model": MODEL, "input": "count on", "max_output_tokens": 16}
    response = client.responses.create(**asked)
    *_, last = client.responses.create(**asked, stream=True)

    assert response.status == "incomplete"
    assert response.incomplete_details
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.usage
    assert response.usage.output_tokens == 16
    assert last.type == "response.incomplete"
    assert last.response == response


def test_log_probabilities_are_the_same_streamed(client: OpenAI) -> None:
    asked: Any = {"model": MODEL, "input": "hello", "include": ["message.output_text.logprobs"], "top_logprobs": 2}
    [message] = client.responses.create(**asked).output
    events = list(client.responses.create(**asked, stream=True))

    [part] = message.content
    streamed = [w for event in events if event.type == "response.output_text.delta" for w in event.logprobs]
    assert [(w.token, w.logprob) for w in part.logprobs] == [(w.token, w.logprob) for w in streamed]
    assert "".join(w.token for w in part.logprobs) == "Hello! How can I help you today?"
    assert all(len(w.top_logprobs) == 2 for w in part.logprobs)


async def test_asynchronously(async_client: AsyncOpenAI) -> None:
    responses = async_client.responses
    plain, empty = await asyncio.gather(responses.create(model=MODEL, input="hello"), responses.create())
    async with responses.stream(model=MODEL, input="who?", text_format=Person) as stream:
        kinds = {event.type async for event in stream}
        final = await stream.get_final_response()
    parsed = await responses.parse(model=MODEL, input="who?", text_format=Person)

    assert plain.output_text == "Hello! How can I help you today?"
    assert empty.output_text
    assert "response.output_text.done" in kinds
    assert final.output_parsed == parsed.output_parsed
