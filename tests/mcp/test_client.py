"""The official client of MCP for Python, which speaks both eras."""

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

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
        "mcp_call",
        "mcp_call",
        "mcp_read",
        "mcp_prompt",
        "mcp_call",
    ]


def test_what_a_server_says_while_a_client_waits(server: MockServer) -> None:
    files = server.mcp("files")
    files.on(tool="read_file").reply(
        json={"text": "blue heron"},
        progress=[{"of": 2, "message": "half"}, {"of": 2}],
        log={"level": "warning", "data": {"left": 3}},
    )
    told: list[Any] = []

    async def note_progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async def note_log(params: Any) -> None:
        told.append((params.level, params.data))

    async def use(mode: Any) -> None:
        async with Client(files.url, mode=mode, logging_callback=note_log) as client:
            read = await client.call_tool("read_file", {"path": "a"}, progress_callback=note_progress)
            assert read.structured_content == {"text": "blue heron"}

    asyncio.run(use("auto"))  # in which a client has to ask for log lines
    assert told == [(1, 2, "half"), (2, 2, None)]
    told.clear()
    asyncio.run(use("legacy"))
    assert sorted(map(str, told)) == ["('warning', {'left': 3})", "(1.0, 2.0, 'half')", "(2.0, 2.0, None)"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_is_asked(mode: Any, server: MockServer) -> None:
    files = server.mcp("files")
    files.tool("book").reply(
        "Booked {{ client_answer.city }}", ask={"user": "Which city?", "schema": {"city": "string"}}
    )
    files.on(tool="book", client_action="decline").reply("As you like.")
    files.tool("sum").reply("{{ client_answer.content.text }}!", ask={"model": "Sum it up."})
    files.tool("where").reply("{{ client_answer.roots[0].uri }}", ask={"roots": True})
    actions = ["accept", "decline"]

    async def answer(context: Any, params: Any) -> ElicitResult:
        assert params.message == "Which city?"
        action: Any = actions.pop(0)
        return ElicitResult(action=action, content={"city": "Paris"} if action == "accept" else None)

    async def sample(context: Any, params: Any) -> CreateMessageResult:
        said = TextContent(type="text", text=f"On {params.messages[0].content.text}")
        return CreateMessageResult(role="assistant", content=said, model="m")

    async def list_roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///r")])  # type: ignore[arg-type,unused-ignore]

    async def use() -> list[str]:
        callbacks: Any = {
            "elicitation_callback": answer,
            "sampling_callback": sample,
            "list_roots_callback": list_roots,
        }
        async with Client(files.url, mode=mode, **callbacks) as client:
            results = [await client.call_tool(name, {}) for name in ("book", "book", "sum", "where")]
            return [result.content[0].text for result in results]  # type: ignore[union-attr]

    assert asyncio.run(use()) == ["Booked Paris", "As you like.", "On Sum it up.!", "file:///r"]


def test_a_client_hears_of_changes(server: MockServer) -> None:
    files = server.mcp("files", sessions=True)
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)

    async def use() -> None:
        async with Client(files.url, mode="legacy", message_handler=hear) as client:
            await asyncio.sleep(0.2)  # until its stream is open
            files.changed()
            for _ in range(100):
                await asyncio.sleep(0.02)
                if heard:
                    break
            await client.list_tools()
        async with Client(files.url) as client, client.listen(tools_list_changed=True) as events:
            files.changed()
            async for event in events:
                heard.append(type(event).__name__)
                break

    asyncio.run(use())
    assert heard == ["ToolListChangedNotification", "ToolsListChanged"]


class _Storage:
    """Remembers what a login gave."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


def test_a_client_logs_in(server: MockServer) -> None:
    files = server.mcp("guarded", auth="oauth")
    files.tool("a").reply("A")
    places: list[str] = []

    async def open_page(url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            places.append((await browser.get(url)).headers["location"])

    async def come_back() -> AuthorizationCodeResult:
        told = parse_qs(urlsplit(places[-1]).query)
        return AuthorizationCodeResult(code=told["code"][0], state=told["state"][0])

    async def use() -> str:
        uris: Any = ["http://localhost:3000/callback"]
        login = OAuthClientProvider(
            server_url=files.url,
            client_metadata=OAuthClientMetadata(client_name="test", redirect_uris=uris),
            storage=_Storage(),
            redirect_handler=open_page,
            callback_handler=come_back,
        )
        async with (
            httpx2.AsyncClient(auth=login) as http,
            Client(streamable_http_client(files.url, http_client=http)) as client,
        ):
            result = await client.call_tool("a", {})
            told: str = result.content[0].text  # type: ignore[union-attr]
            return told

    assert asyncio.run(use()) == "A"
    assert len(places) == 1
    files.assert_called_once(tool="a")


@pytest.mark.parametrize("fault", ["cut", {"reset": {"after_frames": 3}}])
def test_a_stream_that_breaks_off_is_taken_up_again(fault: Any, server: MockServer) -> None:
    held = server.mcp("held", sessions=True)
    held.tool("copy").reply("copied", progress=[{"of": 3}, {"of": 3}, {"of": 3}], faults=[fault])
    held.tool("book").reply("Booked {{ client_answer.city }}", ask={"user": "Where?", "schema": {"city": "string"}})
    held.on(tool="book").then({"faults": ["cut"]})
    told: list[float] = []

    async def note_progress(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    async def answer(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"city": "Oslo"})

    async def use() -> None:
        async with Client(held.url, mode="legacy", elicitation_callback=answer) as client:
            copied = await client.call_tool("copy", {}, progress_callback=note_progress)
            booked = await client.call_tool("book", {})
            texts = [each.content[0].text for each in (copied, booked)]  # type: ignore[union-attr]
            assert texts == ["copied", "Booked Oslo"]

    asyncio.run(use())
    assert told == [1, 2, 3]
    assert [call.ended.partition(" after")[0] for call in held.calls] == [
        "cut short" if fault == "cut" else "reset",
        "cut short",
    ]
