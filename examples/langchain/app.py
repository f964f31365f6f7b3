"""Plans what to pack for a journey."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Packing(BaseModel):
    """What to pack."""

    items: list[str]


@tool
def forecast(city: str) -> str:
    """The weather in a city in the next days."""
    return {"Oslo": "snow", "Rome": "sun"}.get(city, "nobody knows")


def advice(journey: str) -> str:
    """What to expect there, in words."""
    agent = create_agent(ChatOpenAI(model="gpt-4o"), [forecast], system_prompt="Look the weather up, then advise.")
    return str(agent.invoke({"messages": [("user", journey)]})["messages"][-1].text)


def packing(advice: str) -> Packing:
    """The same as a list."""
    model = ChatOpenAI(model="gpt-4o-mini").with_structured_output(Packing)
    return Packing.model_validate(model.invoke(advice))
