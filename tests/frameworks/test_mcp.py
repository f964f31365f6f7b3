"""Clients of MCP that public frameworks bring: LangChain's adapters and the Agents SDK, with tools of a rules file."""

from collections.abc import Iterator

import pytest
from agents import Agent, OpenAIChatCompletionsModel, Runner
from agents.mcp import MCPServerStreamableHttp
from langchain_mcp_adapters.client import MultiServerMCPClient
from openai import AsyncOpenAI

from tests.kit.served import Served, served

RULES = """
version: 1
mcp:
  files:
    tools:
      - name: read_file
        description: Reads a file.
        input: {path: string}
        output: {text: string}
        then: {json: {text: "contents of {{ arguments.path }}"}}
      - {name: delete, input: {path: string}, then: {tool_error: not allowed}}
rules:
  - when: {tool_result: {text: "*contents of note.txt*"}}
    then: {text: The note is there.}
  - when: {last_user: "*note*", tools: {includes: read_file}}
    then: {tool_calls: [{name: read_file, arguments: {path: note.txt}}]}
"""


@pytest.fixture(scope="module")
def files() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


async def test_langchain_loads_and_calls_the_tools(files: Served) -> None:
    client = MultiServerMCPClient({"files": {"transport": "streamable_http", "url": f"{files.address}/mcp/files"}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    assert tools.keys() == {"read_file", "delete"}
    assert "contents of a.txt" in str(await tools["read_file"].ainvoke({"path": "a.txt"}))


async def test_an_agent_of_openai_calls_a_tool_of_a_server(files: Served) -> None:
    model = OpenAIChatCompletionsModel("gpt-4o", AsyncOpenAI(base_url=files.base("openai")))
    async with MCPServerStreamableHttp(params={"url": f"{files.address}/mcp/files"}) as server:
        end = await Runner.run(Agent("Guide", model=model, mcp_servers=[server]), "What does the note say?")
    assert end.final_output == "The note is there."
