"""A real MCP server is recorded over HTTP, and replayed without it to clients of both eras."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.server.compose import start
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from tests.kit.notes_server import serving_notes

ERAS = ("auto", "legacy")
TOKEN = "Bearer tok-3f9Kq7Zx2LmW8vRt"


@pytest.fixture(scope="module")
def streaming() -> Iterator[str]:
    with serving_notes() as url:
        yield url


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    with serving_notes("json") as url:
        yield url


@contextmanager
def serving(
    folder: Path, record: str = "none", rules: str = "", cassette: str | None = "notes", **upstream: str
) -> Iterator[str]:
    file = folder / "rules.yaml"
    file.write_text(rules or "version: 1")
    settings = {"port": 0, "cassettes": str(folder), "cassette": cassette, "record": record}
    named = {f"mcp/{name}": url for name, url in upstream.items()}
    with Running(start(Sources((file,), {**settings, "upstream": named}))) as running:
        yield running.address


def list_calls(address: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = httpx.get(f"{address}/__mockserver__/api/calls").json()["calls"]
    return [call for call in found if call["method"] == "POST"]


def use(address: str, mode: Any) -> list[Any]:
    """Do all that a client can, and return what it saw."""
    seen: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(("progress", progress, total))

    async def run() -> None:
        async with Client(f"{address}/mcp/notes", mode=mode) as client:
            seen.append([tool.name for tool in (await client.list_tools()).tools])
            seen.append((await client.call_tool("add", {"a": 1, "b": 2})).structured_content)
            counted = await client.call_tool("count", {"steps": 2}, progress_callback=note)
            seen.append(counted.content[0].text)  # type: ignore[union-attr]
            failed = await client.call_tool("fail", {})
            seen.append((failed.is_error, failed.content[0].text))  # type: ignore[union-attr]
            seen.append((await client.read_resource("note://one")).contents[0].text)  # type: ignore[union-attr]
            seen.append((await client.get_prompt("review", {"code": "x"})).messages[0].content.text)  # type: ignore[union-attr]

    asyncio.run(run())
    return seen


SEEN = [
    ["add", "count", "fail", "tell_secret"],
    {"result": 3},
    ("progress", 1, 2),
    ("progress", 2, 2),
    "counted to 2",
    (True, "Error executing tool fail: the disk is full"),
    "buy milk",
    "Review x",
]


@pytest.mark.parametrize("played", ERAS)
@pytest.mark.parametrize("recorded", ERAS)
def test_both_eras_replay_what_either_recorded(recorded: str, played: str, streaming: str, tmp_path: Path) -> None:
    with serving(tmp_path, "once", notes=streaming) as address:
        assert use(address, recorded) == SEEN
    with serving(tmp_path) as address:
        assert use(address, played) == SEEN
        calls = list_calls(address)
    assert [call["source"].partition("#")[0] for call in calls] == ["cassette notes.yaml"] * 5  # without lists


def test_plain_answers_replay_too(plain: str, tmp_path: Path) -> None:
    with serving(tmp_path, "once", notes=plain) as address:
        seen = use(address, "legacy")
    with serving(tmp_path) as address:
        assert use(address, "legacy") == seen
    assert all(episode.reply.frames is None for episode in CassetteFile(tmp_path / "notes.yaml").load())


def test_what_clients_repeat_in_each_connection_is_recorded_once(streaming: str, tmp_path: Path) -> None:
    with serving(tmp_path, "once", notes=streaming) as address:
        use(address, "legacy")
        use(address, "legacy")
    asked = [json.loads(episode.request.body)["method"] for episode in CassetteFile(tmp_path / "notes.yaml").load()]
    assert (asked.count("initialize"), asked.count("tools/list"), asked.count("tools/call")) == (1, 1, 6)


def test_new_calls_are_recorded_in_the_session_of_the_server(streaming: str, tmp_path: Path) -> None:
    async def add(address: str, number: int) -> Any:
        async with Client(f"{address}/mcp/notes", mode="legacy") as client:
            return (await client.call_tool("add", {"a": number, "b": 1})).structured_content

    with serving(tmp_path, "once", notes=streaming) as address:
        assert asyncio.run(add(address, 1)) == {"result": 2}
    with serving(tmp_path, "new_episodes", notes=streaming) as address:
        assert asyncio.run(add(address, 1)) == {"result": 2}
        assert asyncio.run(add(address, 5)) == {"result": 6}
        sources = [call["source"] for call in list_calls(address)]
    assert sources == ["cassette notes.yaml#2", "forwarded"]
    assert len(CassetteFile(tmp_path / "notes.yaml").load()) == 4


def test_a_miss_names_the_nearest_episode(streaming: str, tmp_path: Path) -> None:
    with serving(tmp_path, "once", notes=streaming) as address:
        use(address, "auto")

    async def ask() -> None:
        async with Client(f"{address}/mcp/notes") as client:
            await client.call_tool("add", {"a": 1, "b": 7})

    with serving(tmp_path) as address, pytest.raises(ExceptionGroup) as caught:
        asyncio.run(ask())
    error: BaseException = caught.value
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MCPError)
    first, nearest, differs, *_ = str(error).splitlines()
    assert first == "no episode of notes.yaml answers this request; the nearest:"
    assert 'mcp notes tools/call add "a: 1\\nb: 2"' in nearest
    assert differs == "    arguments.b: recorded 2 | request 7"


def test_a_rule_answers_before_the_recording(streaming: str, tmp_path: Path) -> None:
    rules = "version: 1\nrules: [{when: {mcp: notes, tool: fail}, then: {tool_error: all is well}}]\n"
    with serving(tmp_path, "once", notes=streaming) as address:
        use(address, "auto")
    with serving(tmp_path, rules=rules) as address:
        assert (True, "all is well") in use(address, "auto")


WELL = [(True, "all is well") if isinstance(each, tuple) and each[0] is True else each for each in SEEN]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("defined", [False, True])
def test_a_rule_passes_calls_on(defined: bool, mode: str, streaming: str, tmp_path: Path) -> None:
    rules = "version: 1\nrules:\n- {when: {mcp: notes, tool: fail}, then: {tool_error: all is well}}\n"
    rules += "- {when: {mcp: notes}, then: {forward: true}}\n"
    rules += "mcp: {notes: {tools: [{name: other}]}}\n" if defined else ""
    with serving(tmp_path, rules=rules, cassette=None, notes=streaming) as address:
        assert use(address, mode) == WELL
        assert {call["source"].partition(" ")[0] for call in list_calls(address)} == {"forwarded", "rule"}
    assert not (tmp_path / "notes.yaml").exists()


@pytest.mark.parametrize("defined", [False, True])
def test_no_result_is_made_up_of_a_tool_that_only_the_real_server_knows(
    defined: bool, streaming: str, tmp_path: Path
) -> None:
    rules = "version: 1\nrules:\n- {when: {mcp: notes, tool: add}, then: {forward: true}}\n"
    rules += "mcp: {notes: {tools: [{name: other}]}}\n" if defined else ""
    with serving(tmp_path, rules=rules, cassette=None, notes=streaming) as address:
        error = post(address, "tools/call", params={"name": "fail", "arguments": {}}).json()["error"]
        assert error["code"] == -32001
        assert 'MISS  tool equals "add": got "fail"' in error["message"]
        assert [call["source"] for call in list_calls(address)] == ["unmatched"]
        if defined:
            made = post(address, "tools/call", params={"name": "other", "arguments": {}}).json()["result"]
            assert made["content"][0]["text"] == "made-up result of other()"


@pytest.mark.parametrize("mode", ERAS)
def test_a_rule_plays_a_cassette(mode: str, streaming: str, tmp_path: Path) -> None:
    with serving(tmp_path, "once", notes=streaming) as address:
        use(address, "auto")
    rules = "version: 1\nrules:\n- {when: {mcp: notes, tool: fail}, then: {tool_error: all is well}}\n"
    rules += "- {when: {mcp: notes}, then: {cassette: notes}}\n"
    with serving(tmp_path, rules=rules, cassette=None) as address:
        assert use(address, mode) == WELL
    rules += "mcp: {notes: {tools: [{name: add, input: {a: integer, b: integer}}]}}\n"
    with serving(tmp_path, rules=rules, cassette=None) as address:
        tools = post(address, "tools/list").json()["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["add"], "a definition has its own lists"
        known = post(address, "tools/call", params={"name": "add", "arguments": {"a": 1, "b": 2}})
        assert '"result":3' in known.text
        missed = post(address, "tools/call", params={"name": "add", "arguments": {"a": 1, "b": 7}}).json()["error"]
        assert missed["message"].startswith("no episode of notes.yaml answers this request; the nearest:")


def test_a_rule_passes_calls_on_to_nowhere(tmp_path: Path) -> None:
    rules = "version: 1\nrules: [{when: {mcp: notes, tool: add}, then: {forward: true}}]\n"
    with serving(tmp_path, rules=rules, cassette=None) as address:
        refused = post(address, "initialize").json()["error"]["message"]
        assert refused == "No upstream is set for mcp/notes; set one, such as --upstream mcp/notes=https://..."


def post(address: str, method: str, number: Any = 1, **more: Any) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": more.pop("params", {})}
    accept = {"accept": "application/json, text/event-stream"}
    return httpx.post(f"{address}/mcp/notes", json=message, headers={**accept, **more}, timeout=30)


def test_keys_and_sessions_are_not_recorded(streaming: str, tmp_path: Path) -> None:
    asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    with serving(tmp_path, "once", notes=streaming) as address:
        begun = post(address, "initialize", params=asked, authorization=TOKEN)
        session = begun.headers["mcp-session-id"]
        call = {"name": "add", "arguments": {"a": 1, "b": 2}}
        post(address, "tools/call", 2, params=call, authorization=TOKEN, **{"mcp-session-id": session})
        secret = {"name": "tell_secret", "arguments": {}}
        told = post(address, "tools/call", 3, params=secret, **{"mcp-session-id": session})
        assert "sk-proj-" in told.text  # the client gets it all the same
    text = (tmp_path / "notes.yaml").read_text()
    assert session not in text
    assert TOKEN.removeprefix("Bearer ") not in text
    assert "sk-proj-8fK2" not in text
    with serving(tmp_path) as address:
        assert "mcp-session-id" not in post(address, "initialize", params=asked).headers


@pytest.mark.parametrize("number", [7, "seven"])
def test_the_id_is_that_of_the_caller(number: Any, streaming: str, plain: str, tmp_path: Path) -> None:
    for kind, url in (("streaming", streaming), ("plain", plain)):
        folder = tmp_path / kind
        folder.mkdir()
        with serving(folder, "once", notes=url) as address:
            use(address, "legacy")
        with serving(folder) as address:
            answered = post(address, "tools/call", number, params={"name": "add", "arguments": {"a": 1, "b": 2}})
            again = post(address, "tools/call", number, params={"name": "add", "arguments": {"b": 2, "a": 1}})
        assert answered.content == again.content
        text = answered.text.partition("data: ")[2] or answered.text
        assert json.loads(text)["id"] == number


def test_what_a_server_refuses_is_not_recorded(streaming: str, tmp_path: Path) -> None:
    with serving(tmp_path, "once", notes=streaming) as address:
        answered = post(address, "tools/call", params={"name": "add", "arguments": {}}, **{"mcp-session-id": "lost"})
        assert answered.status_code == 404
        (call,) = list_calls(address)
    assert call["unrecorded"].startswith("404: the MCP server refused the message:")
    assert not (tmp_path / "notes.yaml").exists()


def test_a_server_that_nobody_recorded_is_not_found(streaming: str, tmp_path: Path) -> None:
    with serving(tmp_path, "once", other=streaming) as address:
        answered = post(address, "tools/list")
    assert answered.status_code == 404
    assert 'There is no MCP server "notes"' in answered.json()["error"]["message"]
