"""Haystack: an agent with a tool, the end at a tool, and answers from retrieved documents."""

from typing import Annotated

from haystack import Document, Pipeline
from haystack.components.agents import Agent
from haystack.components.builders import ChatPromptBuilder
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.tools import tool

from tests.frameworks.inputs import WEATHER

REFUNDS, SHIPPING = "Refunds take five days.", "Shipping is free above 50 euros."
PROMPT = """Given these documents, answer the question.
Documents:
{% for document in documents %}{{ document.content }}
{% endfor %}
Question: {{ question }}
Answer:"""


@tool
def get_weather(city: Annotated[str, "The city"]) -> str:
    """Get the current weather in a city."""
    return f"sunny in {city}"


def test_an_agent_calls_a_tool_and_says_its_result() -> None:
    agent = Agent(chat_generator=OpenAIChatGenerator(model="gpt-4o"), tools=[get_weather], max_agent_steps=3)
    messages = agent.run(messages=[ChatMessage.from_user(WEATHER)])["messages"]
    calls = [(call.tool_name, call.arguments) for message in messages for call in message.tool_calls]
    assert calls == [("get_weather", {"city": "Paris"})]
    assert "sunny in Paris" in messages[-1].text


def test_an_agent_ends_at_a_tool() -> None:
    agent = Agent(
        chat_generator=OpenAIChatGenerator(model="gpt-4o"), tools=[get_weather], exit_conditions=["get_weather"]
    )
    end = agent.run(messages=[ChatMessage.from_user(WEATHER)])["messages"][-1]
    assert end.tool_call_result.result == "sunny in Paris"


def test_a_pipeline_answers_from_the_nearest_document() -> None:
    store, question = InMemoryDocumentStore(), "How long do refunds take?"
    written = OpenAIDocumentEmbedder(progress_bar=False).run([Document(content=REFUNDS), Document(content=SHIPPING)])
    store.write_documents(written["documents"])
    pipeline = Pipeline()
    pipeline.add_component("embedder", OpenAITextEmbedder())
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=1))
    pipeline.add_component("prompt", ChatPromptBuilder([ChatMessage.from_user(PROMPT)]))
    pipeline.add_component("model", OpenAIChatGenerator(model="gpt-4o"))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "model.messages")
    end = pipeline.run({"embedder": {"text": question}, "prompt": {"question": question}})
    assert end["model"]["replies"][0].text == REFUNDS
