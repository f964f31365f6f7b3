"""OpenAI's own client, asking for whole answers."""

import json

import openai
import pydantic
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

from tests.clients.payloads import MODEL, WEATHER, Person, say

PIXEL = "data:image/png;base64,iVBORw0KGgo="
MESSAGES: list[ChatCompletionMessageParam] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "system", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
    {
        "role": "user",
        "name": "ada",
        "content": [
            {"type": "text", "text": "Look and listen:"},
            {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"file_id": "file-1"}},
        ],
    },
    {"role": "assistant", "refusal": "No."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "call_2", "type": "custom", "custom": {"name": "g", "input": "free text"}},
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "done"}]},
    {"role": "function", "name": "f", "content": "done"},
]


def test_a_text(client: OpenAI) -> None:
    completion = client.chat.completions.create(model=MODEL, messages=say("hello"))

    assert completion.id.startswith("chatcmpl-")
    assert len(completion.id) == len("chatcmpl-") + 29
    assert completion.object == "chat.completion"
    assert completion.created == 1_700_000_000
    assert completion.model == MODEL
    assert completion.service_tier == "default"
    assert completion.system_fingerprint
    assert completion.system_fingerprint.startswith("fp_")
    [choice] = completion.choices
    assert (choice.index, choice.finish_reason, choice.logprobs) == (0, "stop", None)
    assert choice.message.role == "assistant"
    assert choice.message.content == "Hello! How can I help you today?"
    assert (choice.message.refusal, choice.message.tool_calls) == (None, None)

    usage = completion.usage
    assert usage
    assert usage.prompt_tokens > 0
    assert usage.completion_tokens > 0
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.prompt_tokens_details
    assert usage.prompt_tokens_details.cached_tokens == 0
    assert usage.completion_tokens_details
    assert usage.completion_tokens_details.reasoning_tokens == 0


def test_a_tool_call_and_what_follows(client: OpenAI) -> None:
    messages = say("weather in Paris, please")
    first = client.chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER]).choices[0]

    assert (first.finish_reason, first.message.content) == ("tool_calls", None)
    assert first.message.tool_calls
    [call] = first.message.tool_calls
    assert call.type == "function"
    assert call.id.startswith("call_")
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments) == {"city": "Paris", "unit": "celsius"}

    result = {"role": "tool", "tool_call_id": call.id, "content": '{"sky": "sunny", "city": "Paris"}'}
    conversation = [*messages, first.message, result]
    second = client.chat.completions.create(model=MODEL, messages=conversation, tools=[WEATHER]).choices[0]

    assert (second.finish_reason, second.message.content) == ("stop", "It is sunny in Paris.")


def test_what_a_rule_states_wins(client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=say("extras"))
    completion = raw.parse()

    assert raw.headers["x-route"] == "blue"
    assert completion.model == "resolved-model"
    assert completion.usage
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (40, 12)
    assert completion.usage.prompt_tokens_details
    assert completion.usage.prompt_tokens_details.cached_tokens == 30


def test_every_kind_of_message_is_accepted(client: OpenAI) -> None:
    completion = client.chat.completions.create(model=MODEL, messages=[*MESSAGES, *say("hello")])

    assert completion.choices[0].message.content == "Hello! How can I help you today?"


def test_parse(client: OpenAI) -> None:
    completion = client.chat.completions.parse(model=MODEL, messages=say("a person"), response_format=Person)

    assert completion.choices[0].message.parsed == Person(name="Ada Lovelace", age=36)


def test_parse_rejects_an_answer_that_does_not_fit(client: OpenAI) -> None:
    with pytest.raises(pydantic.ValidationError, match="age"):
        client.chat.completions.parse(model=MODEL, messages=say("nobody"), response_format=Person)


def test_parse_fills_the_schema_where_no_rule_does(client: OpenAI) -> None:
    completion = client.chat.completions.parse(model=MODEL, messages=say("anybody"), response_format=Person)

    assert isinstance(completion.choices[0].message.parsed, Person)


def test_parse_shows_a_refusal(client: OpenAI) -> None:
    choice = client.chat.completions.parse(model=MODEL, messages=say("forbidden"), response_format=Person).choices[0]

    assert (choice.message.parsed, choice.message.refusal) == (None, "I cannot help with that.")


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("long story", openai.LengthFinishReasonError),
        ("filtered completion", openai.ContentFilterFinishReasonError),
    ],
)
def test_parse_refuses_what_is_not_whole(client: OpenAI, prompt: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        client.chat.completions.parse(model=MODEL, messages=say(prompt), response_format=Person)
