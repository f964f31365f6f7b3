"""Pydantic AI: tools, its output tools, native and prompted output, and streams."""

from collections.abc import Callable

import pytest
from pydantic_ai import Agent, NativeOutput, PromptedOutput, UsageLimits
from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

from tests.frameworks.inputs import (
    PERSON,
    TWO_CITIES,
    WEATHER,
    WEATHER_AND_MONEY,
    WEATHER_AND_PERSON,
    Person,
    convert_currency,
    get_weather,
    use,
)

ADA = Person(name="Ada Lovelace", age=36)
MODELS: dict[str, Callable[[], Model]] = {
    "chat": lambda: OpenAIChatModel("gpt-4o"),
    "responses": lambda: OpenAIResponsesModel("gpt-4o"),
    "gemini": lambda: GoogleModel("gemini-3-pro-preview"),
}
FEW = UsageLimits(request_limit=3)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, address: str) -> Model:
    return MODELS[request.param]()


def called(messages: list[ModelMessage]) -> list[tuple[str, object]]:
    parts = (part for message in messages for part in message.parts)
    return [use(part.tool_name, part.args_as_dict()) for part in parts if isinstance(part, ToolCallPart)]


async def test_an_agent_calls_a_tool_several_times(model: Model) -> None:
    end = await Agent(model, tools=[get_weather, convert_currency]).run(TWO_CITIES, usage_limits=FEW)
    cities = [("get_weather", {"city": city, "unit": "fahrenheit"}) for city in ("Lagos", "Tokyo")]
    assert called(end.all_messages()) == cities
    assert end.usage.requests == 2
    assert "sunny in Tokyo" in end.output


async def test_an_agent_calls_several_tools(model: Model) -> None:
    end = await Agent(model, tools=[get_weather, convert_currency]).run(WEATHER_AND_MONEY, usage_limits=FEW)
    assert called(end.all_messages()) == [
        ("get_weather", {"city": "Oslo", "unit": "celsius"}),
        ("convert_currency", {"amount": 120, "from_currency": "EUR", "to_currency": "USD"}),
    ]
    assert "120 EUR are 180.00 USD" in end.output


@pytest.mark.parametrize("way", [lambda shape: shape, NativeOutput, PromptedOutput], ids=["tool", "native", "prompted"])
async def test_output_is_an_object(model: Model, way: type) -> None:
    end = await Agent(model, output_type=way(Person)).run(PERSON, usage_limits=FEW)
    assert end.output == ADA
    assert end.usage.requests == 1


@pytest.mark.parametrize("way", [lambda shape: shape, NativeOutput, PromptedOutput], ids=["tool", "native", "prompted"])
async def test_an_agent_ends_in_an_object(model: Model, way: type) -> None:
    agent = Agent(model, output_type=way(Person), tools=[get_weather, convert_currency])
    end = await agent.run(WEATHER_AND_PERSON, usage_limits=FEW)
    assert called(end.all_messages())[0] == ("get_weather", {"city": "Paris", "unit": "celsius"})
    assert end.output == ADA
    assert end.usage.requests == 2


async def test_a_streamed_agent_ends_the_same(model: Model) -> None:
    agent = Agent(model, tools=[get_weather])
    async with agent.run_stream(WEATHER, usage_limits=FEW) as streamed:
        told = "".join([piece async for piece in streamed.stream_text(delta=True)])
    assert told == (await agent.run(WEATHER)).output


async def test_a_streamed_object_grows(model: Model) -> None:
    async with Agent(model, output_type=Person).run_stream(PERSON) as streamed:
        seen = [person async for person in streamed.stream_output(debounce_by=None)]
    assert seen[-1] == ADA


async def test_a_conversation_goes_on(model: Model) -> None:
    agent = Agent(model, tools=[get_weather])
    first = await agent.run(WEATHER, usage_limits=FEW)
    second = await agent.run("And the weather in Rome?", message_history=first.all_messages(), usage_limits=FEW)
    assert called(second.new_messages()) == [("get_weather", {"city": "Rome", "unit": "celsius"})]
    assert "sunny in Rome" in second.output
