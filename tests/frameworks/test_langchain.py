"""LangChain: agents, structured output in each of its ways, and streams."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_google_genai import ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings
from langchain_openai import ChatOpenAI

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
MODELS: dict[str, Callable[[], BaseChatModel]] = {
    "chat": lambda: ChatOpenAI(model="gpt-4o", use_responses_api=False),
    "responses": lambda: ChatOpenAI(model="gpt-4o", use_responses_api=True),
    "claude": lambda: ChatAnthropic(model="claude-haiku-4-5"),
    "claude without forced tools": lambda: ChatAnthropic(model="claude-sonnet-5-5"),
    "gemini": lambda: ChatGoogleGenerativeAI(model="gemini-2.5-flash"),
    "gemini with ids of calls": lambda: ChatGoogleGenerativeAI(model="gemini-3-pro-preview"),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, address: str) -> BaseChatModel:
    return MODELS[request.param]()


def run(model: BaseChatModel, prompt: str, **options: Any) -> dict[str, Any]:
    agent = create_agent(model, [get_weather, convert_currency], **options)
    return agent.invoke({"messages": [("user", prompt)]}, {"recursion_limit": 10})


def called(messages: list[BaseMessage]) -> list[list[tuple[str, dict[str, Any]]]]:
    answers = (message for message in messages if isinstance(message, AIMessage))
    return [[use(call["name"], call["args"]) for call in answer.tool_calls] for answer in answers]


def test_an_agent_calls_a_tool_several_times_at_once(model: BaseChatModel) -> None:
    messages = run(model, TWO_CITIES)["messages"]
    cities = [("get_weather", {"city": city, "unit": "fahrenheit"}) for city in ("Lagos", "Tokyo")]
    assert called(messages) == [cities, []]
    assert "sunny in Lagos" in messages[-1].text
    assert "sunny in Tokyo" in messages[-1].text


def test_an_agent_calls_several_tools(model: BaseChatModel) -> None:
    messages = run(model, WEATHER_AND_MONEY)["messages"]
    *calls, end = called(messages)
    assert [use for several in calls for use in several] == [
        ("get_weather", {"city": "Oslo", "unit": "celsius"}),
        ("convert_currency", {"amount": 120, "from_currency": "EUR", "to_currency": "USD"}),
    ]
    assert end == []
    assert "sunny in Oslo" in messages[-1].text
    assert "120 EUR are 180.00 USD" in messages[-1].text


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_an_agent_ends_in_an_object(model: BaseChatModel, strategy: type) -> None:
    end = run(model, WEATHER_AND_PERSON, response_format=strategy(Person))
    assert called(end["messages"])[0] == [("get_weather", {"city": "Paris", "unit": "celsius"})]
    assert len(called(end["messages"])) == 2
    assert end["structured_response"] == ADA


@pytest.mark.parametrize("method", ["function_calling", "json_schema"])
def test_structured_output(model: BaseChatModel, method: str) -> None:
    assert model.with_structured_output(Person, method=method).invoke(PERSON) == ADA


def test_any_tool_must_be_called(model: BaseChatModel) -> None:
    tools = [convert_currency, get_weather]
    answer = model.bind_tools(tools, tool_choice="any").invoke("The weather in Oslo")
    assert called([answer]) == [[("get_weather", {"city": "Oslo", "unit": "celsius"})]]


def test_streamed_text_is_the_text(model: BaseChatModel) -> None:
    prompt = "Write a few words on the tides of the sea."
    pieces = [piece.text for piece in model.stream(prompt)]
    assert len(pieces) > 5
    assert "".join(pieces) == model.invoke(prompt).text


async def test_a_streamed_agent_ends_the_same(model: BaseChatModel) -> None:
    agent = create_agent(model, [get_weather])
    question = {"messages": [("user", WEATHER)]}
    pieces = [piece async for piece, _ in agent.astream(question, stream_mode="messages")]
    told = "".join(piece.text for piece in pieces if isinstance(piece, AIMessage))
    assert told == run(model, WEATHER)["messages"][-1].text


def test_embeddings(address: str) -> None:
    embeddings = GoogleGenerativeAIEmbeddings(model="gemini-embedding-001", output_dimensionality=256)
    found = embeddings.embed_documents(["The sea is wide.", "Refunds take five days."])
    assert [len(vector) for vector in found] == [256, 256]
    assert embeddings.embed_query("The sea is wide.") == pytest.approx(found[0])
