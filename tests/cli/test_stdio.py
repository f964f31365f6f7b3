"""`mockserver mcp`: messages a line on standard input and output, by rules files or by a server that runs."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from mockserver.testing import MockServer

RULES = """
version: 1
mcp:
  files:
    tools:
      - {name: read_file, input: {path: string}, then: {text: "contents of {{ arguments.path }}"}}
      - {name: slow, then: {text: late, timing: {total: 400ms}}}
      - {name: broken, then: {text: x, faults: [disconnect]}}
"""
READ = {"name": "read_file", "arguments": {"path": "a.txt"}}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    return file


def run(rules: Path, *messages: Any, name: str = "files", **environ: str) -> "subprocess.CompletedProcess[str]":
    lines = [message if isinstance(message, str) else json.dumps(message) for message in messages]
    return subprocess.run(
        [sys.executable, "-m", "mockserver", "mcp", name],
        input="".join(f"{line}\n" for line in lines),
        cwd=rules.parent,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_each_line_is_answered_by_one_and_the_slow_do_not_keep_others_waiting(rules: Path) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    done = run(rules, call(1, "slow"), note, "{", "", call(2, "read_file", path="a.txt"))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {answer["id"] for answer in answers} == {1, 2, None}
    assert answers[-1]["id"] == 1
    assert next(a for a in answers if a["id"] == 2)["result"]["content"][0]["text"] == "contents of a.txt"
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_fault_that_breaks_a_connection_ends_the_process(rules: Path) -> None:
    done = run(rules, call(1, "broken"))
    assert done.stdout == ""


def test_an_unknown_server(rules: Path) -> None:
    done = run(rules, name="mail")
    assert done.stderr == 'mockserver: there is no MCP server "mail"; the rules files define files\n'
    assert done.returncode == 2


def test_a_rule_passes_a_call_on(rules: Path) -> None:
    with rules.open("a") as file:
        file.write("rules: [{when: {tool: slow}, then: {forward: true}}]\n")
    done = run(rules, call(1, "slow"), call(2, "read_file", path="a.txt"))
    why = "a rule forwards this message; start mockserver serve, and set MOCKSERVER_URL to its address"
    answers = sorted(map(json.loads, done.stdout.splitlines()), key=lambda answer: str(answer["id"]))
    assert answers[0]["error"] == {"code": -32603, "message": why}
    assert answers[1]["result"]["content"][0]["text"] == "contents of a.txt"
    assert done.stderr == f"mockserver: {why}\n"


def test_a_server_that_runs_answers_and_has_the_calls(tmp_path: Path) -> None:
    with MockServer() as server:
        files = server.mcp("files")
        files.tool("read_file", input={"path": str}).reply("blue heron")
        started = files.stdio

        async def use() -> str:
            parameters = StdioServerParameters(**{**started, "env": {**os.environ, **started["env"]}})
            async with Client(parameters) as client:
                answer = await client.call_tool("read_file", {"path": "a.txt"})
                told: str = answer.content[0].text  # type: ignore[union-attr]
                return told

        assert asyncio.run(use()) == "blue heron"
        files.assert_called_once(tool="read_file", arguments={"path": "a.txt"})


def test_no_server_at_the_address(rules: Path) -> None:
    done = run(rules, call(1, "read_file"), MOCKSERVER_URL="http://127.0.0.1:9")
    assert "no server answers at http://127.0.0.1:9/mcp/files" in done.stderr


TALKATIVE = """
version: 1
settings: {keys: {sk-test: }}
mcp:
  files:
    auth: {bearer: sesame}
    tools:
      - {name: copy, then: {text: copied, progress: {of: 1}, log: Copying.}}
      - {name: book, then: {ask: {user: Which city?, schema: {city: string}}, text: "Booked {{ client_answer.city }}"}}
      - {name: fail, then: {error: {code: -32000, message: Full}}}
    changes: [{after: 1, tools: {remove: [fail]}}]
"""
BEGIN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Process:
    """A server on standard input and output, to speak with message by message."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mockserver", "mcp", "files"],
            cwd=folder,
            env={**os.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self.end()

    def end(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.close()
        ended = self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return ended


@pytest.mark.parametrize("piped", [False, True])
def test_what_a_server_says_besides_results_comes_as_lines(piped: bool, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(TALKATIVE.replace("    auth: {bearer: sesame}\n", "") if piped else TALKATIVE)
    with MockServer(file) as server:
        environ = {"MOCKSERVER_URL": server.url, "MOCKSERVER_MCP_KEY": "sk-test"}
        environ = environ if piped else {"MOCKSERVER_URL": ""}
        with Process(tmp_path, **environ) as process:
            process.say({"id": 1, "method": "initialize", "params": BEGIN})
            assert process.hear()["result"]["protocolVersion"] == "2025-11-25"
            process.say({"method": "notifications/initialized"})
            process.say({"id": 2, "method": "tools/call", "params": {"name": "copy", "_meta": {"progressToken": "t"}}})
            heard = [process.hear() for _ in range(4)]
            methods = sorted(each.get("method", "result") for each in heard)
            changed = "notifications/tools/list_changed"
            assert methods == sorted(["notifications/message", "notifications/progress", changed, "result"]), heard
            process.say({"id": 3, "method": "tools/call", "params": {"name": "book"}})
            asked = process.hear()
            assert asked["method"] == "elicitation/create"
            process.say({"id": asked["id"], "result": {"action": "accept", "content": {"city": "Paris"}}})
            assert process.hear()["result"]["content"][0]["text"] == "Booked Paris"
            process.say({"id": 4, "method": "tools/call", "params": {"name": "book"}})
            assert process.hear()["method"] == "elicitation/create"
            assert process.end() == 0  # although a question is open


def test_many_slow_calls_at_once_do_not_keep_others_waiting(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "version: 1\nmcp: {files: {tools: [{name: slow, then: {text: a, timing: {total: 600s}}}, {name: fast}]}}\n"
        "rules: [{when: {tool: fast}, then: {text: b}}]\n"
    )
    with MockServer(file, timing=True) as server, Process(tmp_path, MOCKSERVER_URL=server.url) as process:
        for number in range(40):
            process.say(call(number, "slow"))
        process.say(call(99, "fast"))
        assert process.hear()["id"] == 99


def test_a_cancelled_call_is_not_answered(rules: Path) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    done = run(rules, call(1, "slow"), cancel, call(2, "read_file", path="a.txt"))
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [2]
