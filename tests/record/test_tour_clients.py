"""The tape that ships, read by the official clients: they get of it what they would get of their providers."""

from collections.abc import Iterator
from typing import Any

import fireworks
import pytest
from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import ChatCompletionsToolDefinition, FunctionDefinition, UserMessage
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from crazyrouter import Crazyrouter
from fireworks import Fireworks
from openai import AzureOpenAI, OpenAI
from tzafon import Lightcone

from tests.kit.served import Served
from tests.record.tour import CITY, HELLO, KIMI, NORTHSTAR, TOOL, TOOLS, VIOLENT, WEATHER, player

GREETING = "Hello! How can I help you today?"
CUT = "The knight raised his sword and"


@pytest.fixture(scope="module")
def tape() -> Iterator[Served]:
    with player() as running:
        yield running


def say(text: str) -> Any:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]


def joined(chunks: Any) -> str:
    """The text of a streamed chat."""
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def test_openai(tape: Served) -> None:
    with OpenAI(base_url=tape.base("openai"), api_key="sk-other", max_retries=0) as client:
        answer = client.chat.completions.create(model="gpt-4o", messages=say(HELLO))
        assert (answer.choices[0].message.content, answer.usage and answer.usage.total_tokens) == (GREETING, 17)
        assert joined(client.chat.completions.create(model="gpt-4o", messages=say(HELLO), stream=True)) == GREETING
        *_, last = client.responses.create(model="gpt-4o", input="Any news today?", stream=True)
        assert last.type == "response.completed"
        assert [item.type for item in last.response.output] == ["web_search_call", "message"]
        assert last.response.output_text == "Nothing new under the sun."


def test_skytells(tape: Served) -> None:
    with OpenAI(base_url=tape.base("skytells"), api_key="sk-other", max_retries=0) as client:
        choice = client.chat.completions.create(model="gpt-4o", messages=say(VIOLENT)).choices[0]
        assert (choice.message.content, choice.finish_reason) == (CUT, "content_filter")
        assert (choice.model_extra or {})["content_filter_results"]["violence"]["filtered"]
        assert joined(client.chat.completions.create(model="gpt-4o", messages=say(HELLO), stream=True)) == GREETING


def test_crazyrouter(tape: Served) -> None:
    with Crazyrouter(base_url=tape.base("crazyrouter"), api_key="sk-other", max_retries=0) as client:
        answer = client.chat.completions.create(model="gpt-4o", messages=say(WEATHER), tools=TOOLS)
        assert answer.choices[0].message.tool_calls[0].function.arguments == '{"city":"Oslo"}'
        assert joined(client.chat.completions.create(model="gpt-4o", messages=say(HELLO), stream=True)) == GREETING


def test_tzafon(tape: Served) -> None:
    base = tape.base("tzafon").removesuffix("/v1")
    with Lightcone(base_url=base, api_key="sk_other", max_retries=0) as own:
        (call,) = own.responses.create(model=NORTHSTAR, input=WEATHER, tools=[TOOL]).output or ()
        assert (call.type, call.name, call.arguments) == ("function_call", "get_weather", '{"city":"Oslo"}')
    with OpenAI(base_url=tape.base("tzafon"), api_key="sk_other", max_retries=0) as client:  # Tzafon's own reads none
        *_, last = client.responses.create(model=NORTHSTAR, input=HELLO, stream=True)
        assert last.type == "response.completed"
        assert last.response.output_text == GREETING


def test_azure(tape: Served) -> None:
    tools = [ChatCompletionsToolDefinition(function=FunctionDefinition(name="get_weather", parameters=CITY))]
    with ChatCompletionsClient(tape.base("azure"), AzureKeyCredential("other"), model="Phi-4", retry_total=0) as client:
        assert client.complete(messages=[UserMessage(HELLO)]).choices[0].message.content == GREETING
        with client.complete(messages=[UserMessage(WEATHER)], tools=tools, stream=True) as updates:
            calls = [call for update in updates for call in update.choices[0].delta.tool_calls or ()]
        assert "".join(call.function.arguments or "" for call in calls) == '{"city":"Oslo"}'
        with pytest.raises(HttpResponseError) as told:
            client.complete(messages=[UserMessage("How to build a bomb?")])
        assert (told.value.status_code, told.value.response.headers["x-ms-error-code"]) == (400, "content_filter")


def test_azure_openai(tape: Served) -> None:
    base, version = tape.base("azure_openai"), "2024-10-21"
    with AzureOpenAI(azure_endpoint=base, api_key="other", api_version=version, max_retries=0) as client:
        chunks = list(client.chat.completions.create(model="gpt-4o", messages=say(VIOLENT), stream=True))
        assert joined(chunks) == CUT
        assert chunks[-1].choices[0].finish_reason == "content_filter"


def test_fireworks(tape: Served) -> None:
    base = tape.base("fireworks").removesuffix("/v1")
    with Fireworks(base_url=base, api_key="fw_other", max_retries=0) as client:
        assert client.completions.create(model=KIMI, prompt=HELLO).choices[0].text == GREETING
        chunks = client.completions.create(model=KIMI, prompt=HELLO, stream=True)
        assert "".join(choice.text for chunk in chunks for choice in chunk.choices) == GREETING
        with pytest.raises(fireworks.RateLimitError) as told:
            client.chat.completions.create(model="busy-model", messages=say(HELLO))
        assert told.value.response.headers["retry-after"] == "1"
