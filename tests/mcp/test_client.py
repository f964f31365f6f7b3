"""The official client of MCP for Python, which speaks both eras."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, MCPError

from mockserver.testing import MockServer


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        files = running.mcp("files")
        files.tool("read_file", input={"path": str}, output={"text": str}).reply(json={"text": "blue heron"})
        files.tool("delete", input={"path": str}).fail("not allowed")
        files.resource("file:///a.md", "# A", mime="text/markdown")
        files.prompt("review", arguments=["code"]).reply("Review: {{ arguments.code }}")
        yield running


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_all_that_a_client_does(mode: Any, server: MockServer) -> None:
    async def use() -> None:
        async with Client(server.mcp("files").url, mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["read_file", "delete"]
            read = await client.call_tool("read_file", {"path": "note.txt"})
            assert (read.structured_content, read.is_error) == ({"text": "blue heron"}, False)
            assert (await client.call_tool("delete", {"path": "note.txt"})).is_error
            assert (await client.read_resource("file:///a.md")).contents[0].mime_type == "text/markdown"
            prompt = await client.get_prompt("review", {"code": "x"})
            assert prompt.messages[0].content.text == "Review: x"  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="Unknown tool: fly"):
                await client.call_tool("fly", {})

    asyncio.run(use())
    assert [call.operation for call in server.mcp("files").calls] == [
        *("mcp_call", "mcp_call", "mcp_read", "mcp_prompt", "mcp_call")
    ]
