"""AutoGen: an agent with a tool, objects, handoffs, and teams that end by a word."""

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination, TextMentionTermination
from autogen_agentchat.messages import ToolCallRequestEvent
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_ext.models.openai import OpenAIChatCompletionClient

from tests.frameworks.inputs import PERSON, WEATHER, Person

TERMINATE = TextMentionTermination("TERMINATE")


def get_weather(city: str) -> str:
    """Get the current weather in a city."""
    return f"sunny in {city}"


def refund_flight(flight_id: str) -> str:
    """Refund a flight."""
    return f"Flight {flight_id} refunded"


@pytest.fixture
def model(address: str) -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(model="gpt-4o")


def called(end: TaskResult) -> list[tuple[str, str]]:
    events = (message for message in end.messages if isinstance(message, ToolCallRequestEvent))
    return [(call.name, call.arguments) for event in events for call in event.content]


async def test_an_agent_calls_a_tool_and_says_its_result(model: OpenAIChatCompletionClient) -> None:
    agent = AssistantAgent("assistant", model, tools=[get_weather], reflect_on_tool_use=True)
    end = await agent.run(task=WEATHER)
    assert called(end) == [("get_weather", '{"city":"Paris"}')]
    assert "sunny in Paris" in end.messages[-1].to_text()


async def test_an_agent_ends_in_an_object(model: OpenAIChatCompletionClient) -> None:
    end = await AssistantAgent("clerk", model, output_content_type=Person).run(task=PERSON)
    assert end.messages[-1].content == Person(name="Ada Lovelace", age=36)


async def test_a_team_ends_once_the_critic_approves(model: OpenAIChatCompletionClient) -> None:
    writer = AssistantAgent("writer", model, system_message="You write short poems.")
    orders = "Give feedback. Respond with 'APPROVE' when your feedback is addressed."
    critic = AssistantAgent("critic", model, system_message=orders)
    until = TextMentionTermination("APPROVE", sources=["critic"]) | MaxMessageTermination(8)
    end = await RoundRobinGroupChat([writer, critic], termination_condition=until).run(task="A poem about autumn.")
    assert "APPROVE" in end.messages[-1].to_text()


async def test_an_agent_says_when_its_task_is_done(model: OpenAIChatCompletionClient) -> None:
    orders = "Solve tasks using your tools. Reply TERMINATE when the task is done."
    agent = AssistantAgent("assistant", model, tools=[get_weather], system_message=orders)
    until = TERMINATE | MaxMessageTermination(8)
    end = await RoundRobinGroupChat([agent], termination_condition=until).run(task=WEATHER)
    assert called(end) == [("get_weather", '{"city":"Paris"}')]
    assert "TERMINATE" in end.messages[-1].to_text()


async def test_a_model_selects_who_speaks_next(model: OpenAIChatCompletionClient) -> None:
    orders = "You plan. Your team: weatherman. When all is answered, summarize the findings and end with TERMINATE."
    planner = AssistantAgent("planner", model, description="Plans the work.", system_message=orders)
    weatherman = AssistantAgent("weatherman", model, description="Knows the weather.", tools=[get_weather])
    until = TERMINATE | MaxMessageTermination(10)
    end = await SelectorGroupChat([planner, weatherman], model, termination_condition=until).run(task=WEATHER)
    assert called(end)[0] == ("get_weather", '{"city":"Paris"}')
    assert "TERMINATE" in end.messages[-1].to_text()


async def test_an_agent_hands_over(model: OpenAIChatCompletionClient) -> None:
    travel = "You are a travel agent. The flights_refunder refunds flights. Use TERMINATE when all is done."
    agent = AssistantAgent("travel_agent", model, handoffs=["flights_refunder", "user"], system_message=travel)
    refunds = "You refund flights with your tool."
    refunder = AssistantAgent("flights_refunder", model, tools=[refund_flight], system_message=refunds)
    until = HandoffTermination("user") | TERMINATE | MaxMessageTermination(6)
    end = await Swarm([agent, refunder], termination_condition=until).run(task="I need to refund my flight 507811.")
    assert called(end)[:2] == [
        ("transfer_to_flights_refunder", "{}"),
        ("refund_flight", '{"flight_id":"507811"}'),
    ]
