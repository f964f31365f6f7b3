"""LangGraph: a supervisor that chooses the next worker by structured output, and a ReAct agent in a graph."""

from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command
from typing_extensions import TypedDict

from tests.frameworks.inputs import TWO_CITIES, WEATHER, convert_currency, get_weather

ORDERS = """You are a supervisor of these workers:
- meteorologist: looks up the weather
- banker: converts currencies
Respond with the worker to act next. Each performs a task and responds with the result.
When finished, respond with FINISH.
"""


class Route(TypedDict):
    """The worker to route to next; FINISH if none is needed."""

    next: Literal["meteorologist", "banker", "FINISH"]


def team(visited: list[str]) -> CompiledStateGraph:
    model = ChatOpenAI(model="gpt-4o")
    workers = {"meteorologist": get_weather, "banker": convert_currency}

    def supervisor(state: MessagesState) -> Command:
        asked = [{"role": "system", "content": ORDERS}, *state["messages"]]
        visited.append(model.with_structured_output(Route).invoke(asked)["next"])
        return Command(goto=END if visited[-1] == "FINISH" else visited[-1])

    def worker(name: str) -> Any:
        agent = create_agent(model, [workers[name]], name=name)

        def work(state: MessagesState) -> Command:
            said = agent.invoke({"messages": state["messages"]})["messages"][-1].text
            return Command(update={"messages": [HumanMessage(said, name=name)]}, goto="supervisor")

        return work

    graph = StateGraph(MessagesState)
    graph.add_node("supervisor", supervisor, destinations=(*workers, END))
    for name in workers:
        graph.add_node(name, worker(name), destinations=("supervisor",))
    graph.add_edge(START, "supervisor")
    return graph.compile()


@pytest.mark.parametrize(
    ("prompt", "worker", "result"),
    [(WEATHER, "meteorologist", "sunny in Paris"), ("Convert 120 EUR to USD.", "banker", "180.00 USD")],
)
def test_a_supervisor_comes_to_an_end(prompt: str, worker: str, result: str) -> None:
    visited: list[str] = []
    end = team(visited).invoke({"messages": [("user", prompt)]}, {"recursion_limit": 12})
    assert visited == [worker, "FINISH"]
    assert result in end["messages"][-1].text


def test_a_react_graph_calls_tools_until_it_answers() -> None:
    model = ChatOpenAI(model="gpt-4o").bind_tools([get_weather])
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([get_weather]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    end = graph.compile().invoke({"messages": [("user", TWO_CITIES)]}, {"recursion_limit": 8})["messages"]
    assert [message.type for message in end] == ["human", "ai", "tool", "tool", "ai"]
    assert "sunny in Lagos" in end[-1].text
    assert "sunny in Tokyo" in end[-1].text
