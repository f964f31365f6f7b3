"""Smolagents: an agent that keeps its calls and their results as text, and ends by a tool."""

from smolagents import ToolCallingAgent, tool
from smolagents.models import OpenAIModel

from tests.frameworks.asked import WEATHER, get_weather


def test_an_agent_calls_a_tool_and_tells_its_result(address: str) -> None:
    model = OpenAIModel("gpt-4o", api_base=address, api_key="any")
    agent = ToolCallingAgent([tool(get_weather)], model, max_steps=3, verbosity_level=0)
    assert "sunny in Paris" in agent.run(WEATHER)
