"""MCP servers that a test declares: answers, assertions, and why a test fails."""

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from mockserver.config.errors import ConfigError, RuleError
from mockserver.testing import MockServer


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


def call(server: MockServer, tool: str, name: str = "files", **arguments: Any) -> Any:
    params = {"name": tool, "arguments": arguments}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return httpx.post(server.mcp(name).url, json=sent).json()


def text(answer: Any) -> str:
    (content,) = answer["result"]["content"]
    told: str = content["text"]
    return told


def test_a_tool_and_its_answers(server: MockServer) -> None:
    files = server.mcp("files")
    files.on(tool="read_file", arguments={"path": "secret*"}).fail("permission denied")
    files.tool("read_file", input={"path": str}, output={"text": str}).reply(json={"text": "blue heron"})
    files.tool("join", input={"a": str, "n?": int}).reply(lambda a, n=1: a * n)
    files.tool("count").reply(lambda **named: {"count": len(named)})
    files.tool("busy").fail(503)

    assert call(server, "read_file", path="note.txt")["result"]["structuredContent"] == {"text": "blue heron"}
    failed = call(server, "read_file", path="secret.txt")
    assert (text(failed), failed["result"]["isError"]) == ("permission denied", True)
    assert text(call(server, "join", a="ab", n=2)) == "abab"
    assert call(server, "count", x=1, y=2)["result"]["structuredContent"] == {"count": 2}
    assert "error" in call(server, "busy")

    files.assert_called_once(tool="read_file", arguments={"path": "note.txt"})
    files.assert_called_times(2, tool="read_file")
    files.assert_not_called(tool="delete")
    assert [row.status for row in files.calls] == [200, 200, 200, 200, 503]
    with pytest.raises(AssertionError, match="join"):
        files.assert_called_once(tool="join", arguments={"a": "x"})


def test_programs_find_a_server_as_soon_as_it_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
        url = server.mcp("my-files").url
        assert os.environ["MOCKSERVER_MCP_MY_FILES"] == url
        assert os.environ["OPENAI_BASE_URL"] == "http://127.0.0.1:9"
        assert MockServer().mcp("notes").name == "notes"  # leads nobody: it does not run
    assert not [name for name in os.environ if name.startswith("MOCKSERVER_MCP_")]


def test_resources_and_prompts(server: MockServer) -> None:
    files = server.mcp("files")
    files.resource("file:///a.md", "# A", mime="text/markdown")
    files.prompt("review", arguments=["code"]).reply("Review: {{ arguments.code }}")
    read = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///a.md"}}
    assert httpx.post(files.url, json=read).json()["result"]["contents"][0]["text"] == "# A"
    get = {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "review", "arguments": {"code": "x"}}}
    assert httpx.post(files.url, json=get).json()["result"]["messages"][0]["content"]["text"] == "Review: x"
    files.assert_called_once(resource="file:///a.md")
    files.assert_called_once(prompt_name="review")


def test_a_call_that_no_rule_answers_fails_the_test_and_names_the_nearest_rule() -> None:
    def test() -> None:
        with MockServer() as server:
            files = server.mcp("files")
            files.tool("read_file", input={"path": str})
            files.prompt("review", arguments=["path"])
            files.on(prompt_name="review", arguments={"path": "notes.*"}).reply("not for tools")
            files.on(tool="read_file", arguments={"path": "note.txt"}).reply("blue heron")
            answer = call(server, "read_file", path="notes.txt")
            assert answer["error"]["code"] == -32001
            assert "note.txt" in answer["error"]["message"]

    with pytest.raises(AssertionError) as failed:
        test()
    assert "read_file" in str(failed.value)
    assert "notes.txt" in str(failed.value)
    assert "prompt_name" not in str(failed.value)


def test_times_and_states_are_shared_with_the_model(server: MockServer) -> None:
    files = server.mcp("files")
    files.tool("read_file").reply("later")
    files.on(tool="read_file").reply("first").times(1)
    assert [text(call(server, "read_file")) for _ in range(3)] == ["first", "later", "later"]


def test_declarations_end_with_a_reset(server: MockServer) -> None:
    server.mcp("files").tool("read_file").reply("a")
    server.reset()
    assert "There is no MCP server" in call(server, "read_file")["error"]["message"]


def test_a_test_adds_to_a_server_of_a_file(tmp_path: Any) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nmcp: {files: {tools: [{name: a, then: {text: of the file}}, {name: b}]}}\n")
    with MockServer(file) as server:
        server.mcp("files").tool("b").reply("of the test")
        server.mcp("files").tool("c").reply("new")
        assert [text(call(server, name)) for name in "abc"] == ["of the file", "of the test", "new"]


def test_mistakes_are_shown_at_the_line_of_the_test(server: MockServer) -> None:
    files = server.mcp("files")
    with pytest.raises(RuleError, match=r"test_fixture.py:\d+:\d+: .*expects a type"):
        files.tool("read", input={"path": "text"})
    with pytest.raises(ConfigError, match=r"test_fixture.py:\d+: path cannot have the type bytes"):
        files.tool("read", input={"path": bytes})
    with pytest.raises(RuleError, match=r"test_fixture.py:\d+:\d+: .*colour"):
        files.tool("read").reply("a", colour="red")  # type: ignore[call-arg]


def test_a_tool_that_is_declared_again_has_the_later_answer(server: MockServer) -> None:
    files = server.mcp("files")
    files.tool("a").reply("first")
    files.tool("a").reply("second")
    assert text(call(server, "a")) == "second"


def test_names_of_tools_are_no_patterns(server: MockServer) -> None:
    files = server.mcp("files")
    files.tool("a*").reply("of the star")
    files.tool("ab").reply("of ab")
    assert [text(call(server, name)) for name in ("ab", "a*")] == ["of ab", "of the star"]


def test_a_server_may_be_declared_again_after_a_reset(server: MockServer) -> None:
    files = server.mcp("files")
    files.tool("a").reply("before")
    server.reset()
    files.tool("b").reply("after")
    assert text(call(server, "b")) == "after"
    assert call(server, "a")["error"]["message"] == "Unknown tool: a"


def test_failures_of_prompts_and_resources_are_errors_of_the_protocol(server: MockServer) -> None:
    files = server.mcp("files")
    files.prompt("review").fail("no such style")
    files.resource("file:///a", "a").fail("disk failure")
    for method, params, message in (
        ("prompts/get", {"name": "review"}, "no such style"),
        ("resources/read", {"uri": "file:///a"}, "disk failure"),
    ):
        sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert httpx.post(files.url, json=sent).json()["error"] == {"code": -32603, "message": message}


def test_a_coroutine_function_is_refused(server: MockServer) -> None:
    async def answer() -> str:
        return "never awaited"

    files = server.mcp("files")
    files.tool("a").reply(answer)  # type: ignore[arg-type,unused-ignore]
    assert "error" in call(server, "a")
    assert server.local.rules.failures
    server.local.rules.failures.clear()
    server.reset()  # the failed call is meant
