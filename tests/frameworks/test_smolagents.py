"""Smolagents: agents that keep calls and their results as text, and must call a tool to end."""

from typing import Any

import pytest
from smolagents import CodeAgent, ToolCallingAgent, tool
from smolagents.models import OpenAIModel

from tests.frameworks.inputs import TWO_CITIES, WEATHER, WEATHER_AND_MONEY, convert_currency, get_weather


@pytest.fixture
def agent(address: str) -> ToolCallingAgent:
    """An agent with both tools, which gives up after a few steps."""
    model = OpenAIModel("gpt-4o", api_base=address, api_key="any")
    return ToolCallingAgent([tool(get_weather), tool(convert_currency)], model, max_steps=4, verbosity_level=0)


def called(agent: ToolCallingAgent) -> list[tuple[str, Any]]:
    """The tools that were called, but for the one that ends a run; sorted, since they are called in threads."""
    uses = (use for step in agent.memory.steps for use in getattr(step, "tool_calls", None) or ())
    return sorted(((use.name, use.arguments) for use in uses if use.name != "final_answer"), key=str)


def test_an_agent_calls_a_tool_and_tells_its_result(agent: ToolCallingAgent) -> None:
    assert "sunny in Paris" in agent.run(WEATHER)
    assert [(name, arguments["city"]) for name, arguments in called(agent)] == [("get_weather", "Paris")]


def test_an_agent_calls_a_tool_several_times(agent: ToolCallingAgent) -> None:
    told = agent.run(TWO_CITIES)
    assert [arguments for _, arguments in called(agent)] == [
        {"city": city, "unit": "fahrenheit"} for city in ("Lagos", "Tokyo")
    ]
    assert "sunny in Lagos" in told
    assert "sunny in Tokyo" in told


def test_an_agent_calls_several_tools(agent: ToolCallingAgent) -> None:
    told = agent.run(WEATHER_AND_MONEY)
    assert [name for name, _ in called(agent)] == ["convert_currency", "get_weather"]
    assert "sunny in Oslo" in told
    assert "120 EUR are 180.00 USD" in told


@pytest.mark.parametrize("tags", [None, "markdown"])
def test_an_agent_that_writes_code(address: str, tags: str | None) -> None:
    model = OpenAIModel("gpt-4o", api_base=address, api_key="any")
    agent = CodeAgent([tool(get_weather)], model, max_steps=3, verbosity_level=0, code_block_tags=tags)
    assert "sunny in Paris" in agent.run(WEATHER)
    assert agent.run("What is 12 * 12?") == 144


def test_a_streamed_agent_ends_the_same(agent: ToolCallingAgent) -> None:
    *_, last = agent.run(WEATHER, stream=True)
    assert last.output == agent.run(WEATHER)
