"""The Agents SDK of OpenAI: tools, output types, handoffs, sessions, streams, on both of OpenAI's APIs."""

import json
from typing import Any

import pytest
from agents import (
    Agent,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    OpenAIResponsesWSModel,
    Runner,
    SQLiteSession,
    ToolCallItem,
    function_tool,
)
from agents.items import RunItem
from openai import AsyncOpenAI

from tests.frameworks.inputs import (
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
MODELS = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}
TOOLS = [function_tool(get_weather), function_tool(convert_currency)]
PARIS = ("get_weather", {"city": "Paris", "unit": "celsius"})
DOLLARS = ("convert_currency", {"amount": 120, "from_currency": "EUR", "to_currency": "USD"})


@pytest.fixture(params=MODELS)
async def model(request: pytest.FixtureRequest, address: str) -> Model:
    return MODELS[request.param]("gpt-4o", AsyncOpenAI())


def called(items: list[RunItem]) -> list[tuple[str, Any]]:
    calls = (item.raw_item for item in items if isinstance(item, ToolCallItem))
    return [use(call.name, json.loads(call.arguments)) for call in calls]


async def test_an_agent_calls_a_tool_several_times_at_once(model: Model) -> None:
    end = await Runner.run(Agent("Guide", tools=TOOLS, model=model), TWO_CITIES, max_turns=3)
    cities = [("get_weather", {"city": city, "unit": "fahrenheit"}) for city in ("Lagos", "Tokyo")]
    assert called(end.new_items) == cities
    assert len(end.raw_responses) == 2


async def test_an_agent_calls_several_tools(model: Model) -> None:
    end = await Runner.run(Agent("Guide", tools=TOOLS, model=model), WEATHER_AND_MONEY, max_turns=3)
    assert called(end.new_items) == [
        ("get_weather", {"city": "Oslo", "unit": "celsius"}),
        DOLLARS,
    ]
    assert "120 EUR are 180.00 USD" in end.final_output


async def test_a_call_is_required_and_no_two_at_once(model: Model) -> None:
    settings = ModelSettings(tool_choice="required", parallel_tool_calls=False)
    end = await Runner.run(Agent("Guide", tools=TOOLS, model=model, model_settings=settings), TWO_CITIES, max_turns=4)
    assert [len(response.output) for response in end.raw_responses][:2] == [1, 1]
    assert [arguments["city"] for _, arguments in called(end.new_items)] == ["Lagos", "Tokyo"]


async def test_an_agent_ends_in_an_object(model: Model) -> None:
    agent = Agent("Clerk", output_type=Person, tools=TOOLS, model=model)
    end = await Runner.run(agent, WEATHER_AND_PERSON, max_turns=3)
    assert called(end.new_items) == [PARIS]
    assert end.final_output == ADA


async def test_an_agent_hands_over(model: Model) -> None:
    money = Agent("Bank Clerk", handoff_description="Converts currencies.", tools=TOOLS[1:], model=model)
    weather = Agent("Meteorologist", handoff_description="Knows the weather.", tools=TOOLS[:1], model=model)
    desk = Agent("Desk", instructions="Route to the right expert.", handoffs=[weather, money], model=model)
    end = await Runner.run(desk, "Convert 120 EUR to USD.", max_turns=4)
    assert end.last_agent is money
    assert called(end.new_items) == [DOLLARS]
    assert "120 EUR are 180.00 USD" in end.final_output


async def test_a_conversation_goes_on(model: Model) -> None:
    agent, session = Agent("Guide", tools=TOOLS, model=model), SQLiteSession("guide")
    await Runner.run(agent, WEATHER, session=session, max_turns=3)
    end = await Runner.run(agent, "And the weather in Rome?", session=session, max_turns=3)
    assert called(end.new_items) == [("get_weather", {"city": "Rome", "unit": "celsius"})]
    assert "sunny in Rome" in end.final_output


async def test_a_session_in_a_conversation_of_the_server(address: str) -> None:
    async with AsyncOpenAI() as client:
        session = OpenAIConversationsSession(openai_client=client)
        agent = Agent("Guide", model=OpenAIResponsesModel("gpt-4o", client))
        for text in ("Hello!", "How are you?"):
            await Runner.run(agent, text, session=session)
        said = [str(item) for item in await session.get_items() if item.get("role") == "user"]
        assert [text in shown for text, shown in zip(("Hello!", "How are you?"), said, strict=True)] == [True, True]
        assert await session.pop_item()
        await session.clear_session()
        assert await session.get_items() == []


async def test_a_conversation_that_the_server_remembers(address: str) -> None:
    agent = Agent("Guide", tools=TOOLS, model=OpenAIResponsesModel("gpt-4o", AsyncOpenAI()))
    end = await Runner.run(agent, WEATHER, auto_previous_response_id=True, max_turns=3)
    assert called(end.new_items) == [PARIS]
    assert "sunny in Paris" in end.final_output


async def test_a_streamed_agent_ends_the_same(model: Model) -> None:
    agent = Agent("Guide", tools=TOOLS, model=model)
    streamed = Runner.run_streamed(agent, WEATHER, max_turns=3)
    raw = [event.data async for event in streamed.stream_events() if event.type == "raw_response_event"]
    pieces = [event.delta for event in raw if event.type == "response.output_text.delta"]
    assert len(pieces) > 3
    assert "".join(pieces) == streamed.final_output == (await Runner.run(agent, WEATHER)).final_output


async def test_an_agent_over_a_websocket(address: str) -> None:
    model = OpenAIResponsesWSModel("gpt-4o", AsyncOpenAI())
    agent = Agent("Guide", tools=TOOLS, model=model)
    end = await Runner.run(agent, TWO_CITIES, max_turns=3)
    assert [name for name, _ in called(end.new_items)] == ["get_weather", "get_weather"]
    streamed = Runner.run_streamed(agent, WEATHER_AND_MONEY, max_turns=3)
    kinds = {event.type async for event in streamed.stream_events()}
    assert "raw_response_event" in kinds
    assert [name for name, _ in called(streamed.new_items)] == ["get_weather", "convert_currency"]
