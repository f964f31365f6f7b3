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
        timeout=60,
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
    assert done.stderr == 'mockserver: the rules files define no MCP server "mail"; there are: files\n'
    assert done.returncode == 2


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
