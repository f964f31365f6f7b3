"""Tzafon's own client: responses with computer use, chat, models, and OpenAI's client at the same address."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import tzafon
from openai import OpenAI
from tzafon import Lightcone
from tzafon.types import chat_create_completion_params, response_create_params

from tests.clients.payloads import WEATHER_FUNCTION, Person
from tests.kit.served import Served, served
from tests.kit.strict_responses import check_event, check_tzafon, list_typed_frames

RULES = """
rules:
  - when: {last_user: {starts_with: hello}}
    then: {text: "Hello! How can I help you today?"}
  - name: look first
    when: {last_user: open the page, turn: 0}
    then: {items: [{type: computer_call, action: {type: screenshot}}]}
  - name: then click
    when: {last_user: open the page, images: 1}
    then: {items: [{type: computer_call, action: {type: point_and_type, x: 3, y: 4, text: sea}}]}
  - when: {last_user: weather}
    then: {tool_calls: [{name: get_weather, arguments: {city: Oslo, unit: celsius}}]}
  - when: {last_user: think}
    then: {reasoning: Six times seven., text: "42"}
"""
NORTHSTAR = "tzafon.northstar-cua-fast"
COMPUTER: Any = {
    "type": "computer_use_preview",
    "display_width": 1280,
    "display_height": 720,
    "environment": "browser",
}
RESPONSES: dict[str, Any] = {
    "input": "hello",
    "background": False,
    "cache_salt": "salt",
    "enable_response_messages": False,
    "include": ["message.output_text.logprobs"],
    "include_stop_str_in_output": False,
    "instructions": "Be brief.",
    "logit_bias": {"5": 0.5},
    "max_output_tokens": 100,
    "max_tool_calls": 3,
    "metadata": {"run": "7"},
    "mm_processor_kwargs": {"a": 1},
    "model": NORTHSTAR,
    "parallel_tool_calls": True,
    "previous_input_messages": [{"author": {"role": "user", "name": "ada"}, "content": [{"text": "Hi"}]}, {"a": 1}],
    "previous_response_id": "resp_1",
    "priority": 0,
    "prompt": {"id": "p", "variables": {"a": {"type": "input_text", "text": "b"}}, "version": "1"},
    "prompt_cache_key": "k",
    "reasoning": {"effort": "xhigh", "summary": "auto", "generate_summary": "auto"},
    "request_id": "my-own-id",
    "service_tier": "flex",
    "skip_special_tokens": True,
    "store": True,
    "stream": False,
    "temperature": 0.5,
    "text": {"format": {"type": "text"}, "verbosity": "low"},
    "tool_choice": "auto",
    "tools": [WEATHER_FUNCTION, {"type": "custom", "name": "note"}, COMPUTER],
    "top_k": 5,
    "top_logprobs": 1,
    "top_p": 0.9,
    "truncation": "auto",
    "user": "u",
}
MESSAGES: Any = [{"role": "user", "content": "hello"}]
CHAT: dict[str, Any] = {
    "messages": MESSAGES,
    "add_generation_prompt": True,
    "add_special_tokens": False,
    "allowed_token_ids": [1],
    "bad_words": ["bad"],
    "cache_salt": "salt",
    "chat_template": "{{ x }}",
    "chat_template_kwargs": {"a": 1},
    "continue_final_message": False,
    "documents": [{"title": "a", "text": "b"}],
    "echo": False,
    "frequency_penalty": 0.5,
    "ignore_eos": False,
    "include_reasoning": True,
    "include_stop_str_in_output": False,
    "kv_transfer_params": {},
    "length_penalty": 1.0,
    "logit_bias": {"5": 0.5},
    "logits_processors": ["a"],
    "logprobs": True,
    "max_completion_tokens": 50,
    "max_tokens": 50,
    "min_p": 0.0,
    "min_tokens": 0,
    "mm_processor_kwargs": {},
    "model": NORTHSTAR,
    "n": 1,
    "parallel_tool_calls": True,
    "presence_penalty": 0.5,
    "priority": 0,
    "prompt_logprobs": 1,
    "reasoning_effort": "low",
    "repetition_penalty": 1.0,
    "request_id": "my-own-id",
    "response_format": {"type": "text"},
    "return_token_ids": False,
    "return_tokens_as_token_ids": False,
    "seed": 7,
    "skip_special_tokens": True,
    "spaces_between_special_tokens": True,
    "stop": ["END"],
    "stop_token_ids": [2],
    "stream": False,
    "stream_options": None,
    "structured_outputs": {"regex": "a"},
    "temperature": 0.5,
    "tool_choice": "auto",
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "top_k": 5,
    "top_logprobs": 1,
    "top_p": 0.9,
    "truncate_prompt_tokens": 100,
    "use_beam_search": False,
    "user": "u",
    "vllm_xargs": {"a": "b"},
}
PERSON = {"type": "json_schema", "name": "person", "schema": Person.model_json_schema()}


RAISED: dict[int, type[tzafon.APIStatusError]] = {
    400: tzafon.BadRequestError,
    401: tzafon.AuthenticationError,
    402: tzafon.APIStatusError,
    403: tzafon.PermissionDeniedError,
    404: tzafon.NotFoundError,
    409: tzafon.ConflictError,
    413: tzafon.APIStatusError,
    422: tzafon.UnprocessableEntityError,
    429: tzafon.RateLimitError,
    500: tzafon.InternalServerError,
    503: tzafon.InternalServerError,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    failing = [f"  - {{when: {{model: status-{status}}}, then: {{error: {status}}}}}\n" for status in RAISED]
    with served(RULES + "".join(failing)) as running:
        yield running


@pytest.fixture
def base(server: Served) -> str:
    """What the client takes as its base: it adds the version itself."""
    return server.base("tzafon").removesuffix("/v1")


@pytest.fixture
def client(base: str) -> Iterator[Lightcone]:
    with Lightcone(base_url=base, api_key="sk_test", max_retries=0) as client:
        yield client


@pytest.fixture
def openai(server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base("tzafon"), api_key="sk_test", max_retries=0) as client:
        yield client


def body(client: Lightcone, **asked: Any) -> Any:
    raw = client.responses.with_raw_response.create(**asked)
    check_tzafon(raw.read())
    return json.loads(raw.read())


def test_a_text(client: Lightcone) -> None:
    response = client.responses.create(input="hello")

    assert (response.object, response.status, response.model, response.error) == (
        "response",
        "completed",
        NORTHSTAR,
        None,
    )
    assert response.id.startswith("resp_")
    assert len(response.id) == 37
    [message] = response.output
    assert isinstance(message, tzafon.types.ResponseOutputMessage)
    assert message.content[0].type == "output_text"
    assert message.content[0].text == "Hello! How can I help you today?"


def test_every_parameter_of_responses_at_once(client: Lightcone) -> None:
    asked = {name: value for name, value in RESPONSES.items() if name != "previous_input_messages"}
    response = body(client, **asked)

    assert (response["id"], response["max_output_tokens"], response["service_tier"]) == ("my-own-id", 100, "flex")
    assert [tool["type"] for tool in response["tools"]] == ["function", "custom", "computer_use_preview"]


def test_every_parameter_of_chat_at_once(client: Lightcone) -> None:
    completion: Any = client.chat.create_completion(**CHAT)

    assert completion["id"] == "chatcmpl-my-own-id"
    assert completion["choices"][0]["message"]["content"] == "Hello! How can I help you today?"


def test_none_of_the_parameters_is_left_out() -> None:
    assert RESPONSES.keys() == response_create_params.ResponseCreateParams.__annotations__.keys()
    assert CHAT.keys() == chat_create_completion_params.ChatCreateCompletionParams.__annotations__.keys()


def test_the_loop_of_computer_use(client: Lightcone) -> None:
    asked: list[Any] = [{"role": "user", "content": "open the page"}]
    [look] = client.responses.create(input=asked, tools=[COMPUTER]).output
    assert isinstance(look, tzafon.types.ResponseComputerToolCall)
    assert look.action.type == "screenshot"

    shown = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    told: Any = {"type": "computer_call_output", "call_id": look.call_id, "output": shown}
    [act] = client.responses.create(input=[*asked, look.to_dict(), told], tools=[COMPUTER]).output
    assert isinstance(act, tzafon.types.ResponseComputerToolCall)
    assert act.action.to_dict() == {"type": "point_and_type", "x": 3, "y": 4, "text": "sea"}


def test_a_function_is_called(client: Lightcone) -> None:
    [call] = client.responses.create(input="weather", tools=[WEATHER_FUNCTION]).output

    assert isinstance(call, tzafon.types.ResponseFunctionToolCall)
    assert json.loads(call.arguments) == {"city": "Oslo", "unit": "celsius"}


def test_thoughts_are_told_raw(client: Lightcone, openai: OpenAI) -> None:
    thought, message = body(client, input="think")["output"]
    events = list(openai.responses.create(input="think", stream=True))

    assert thought["content"] == [{"type": "reasoning_text", "text": "Six times seven."}]
    assert message["content"][0]["text"] == "42"
    deltas = [event.delta for event in events if event.type == "response.reasoning_text.delta"]
    assert "".join(deltas) == "Six times seven."


def test_a_structured_answer(client: Lightcone, openai: OpenAI) -> None:
    [message] = body(client, input="who?", text={"format": PERSON})["output"]

    assert Person.model_validate_json(message["content"][0]["text"])
    assert openai.responses.parse(input="who?", text_format=Person).output_parsed


def test_events(client: Lightcone, openai: OpenAI) -> None:
    with client.responses.with_streaming_response.create(input="hello", stream=True) as raw:
        frames = list_typed_frames(raw.read())
    with openai.responses.stream(model=NORTHSTAR, input="hello") as stream:
        stream.until_done()
        final = stream.get_final_response()

    assert [check_event(frame).sequence_number for frame in frames] == list(range(len(frames)))
    assert json.loads(frames[-1])["type"] == "response.completed"
    assert final.output_text == "Hello! How can I help you today?"


def test_chat(client: Lightcone, openai: OpenAI) -> None:
    completion: Any = client.chat.create_completion(messages=MESSAGES)
    chunks = openai.chat.completions.create(model=NORTHSTAR, messages=MESSAGES, stream=True)

    assert completion["model"] == NORTHSTAR
    assert completion["id"].startswith("chatcmpl-")
    assert len(completion["id"]) == len("chatcmpl-") + 32
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert said == completion["choices"][0]["message"]["content"]


def test_stored_responses(client: Lightcone) -> None:
    first = client.responses.create(input="hello", background=True)
    assert (first.status, first.output) == ("in_progress", [])
    assert first.id
    seen: list[Any] = [client.responses.retrieve(first.id) for _ in range(2)]
    assert [response["status"] for response in seen] == ["in_progress", "completed"]
    assert client.responses.create(input="hello", previous_response_id=first.id).status == "completed"

    second = client.responses.create(input="hello again", background=True)
    assert second.id
    cancelled: Any = client.responses.cancel(second.id)
    assert cancelled["status"] == "cancelled"
    with pytest.raises(tzafon.BadRequestError):
        client.responses.cancel(first.id)


def test_models(client: Lightcone) -> None:
    models: Any = client.models.list()

    assert models["object"] == "list"
    assert [model["id"] for model in models["data"]] == [NORTHSTAR, "tzafon.sm-1"]
    assert all(model["max_model_len"] > 0 for model in models["data"])


def test_a_bad_request(client: Lightcone) -> None:
    with pytest.raises(tzafon.BadRequestError) as raised:
        client.responses.create(input="hello", background=True, store=False)

    assert raised.value.body == {
        "error": {
            "message": "background can only be used when `store` is true",
            "type": "BadRequestError",
            "param": "background",
            "code": 400,
        }
    }


@pytest.mark.parametrize("status", RAISED)
def test_every_status(client: Lightcone, status: int) -> None:
    with pytest.raises(tzafon.APIStatusError) as raised:
        client.responses.create(model=f"status-{status}", input="please")

    assert type(raised.value) is RAISED[status]
    assert isinstance(raised.value.body, dict)
    error = raised.value.body["error"]
    assert error == "Unauthorized" if status == 401 else error["code"] == status
