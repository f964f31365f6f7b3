"""`mockserver mcp record`, `import` and `config`: with a real server as a child process, and the official client."""

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cli.mcp_record import find_named_arguments
from mockserver.testing import MockServer
from tests.kit.notes_server import serving_notes

ROOT = Path(__file__).parents[2]
NOTES = [sys.executable, "-m", "tests.kit.notes_server", "stdio"]
ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT)}


def run(folder: Path, *arguments: str, given: str = "", **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mockserver", *arguments],
        cwd=folder,
        env={**ENVIRON, **environ},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def use(folder: Path, *arguments: str, mode: Any = "legacy") -> list[Any]:
    """Give a command to a client, and return what it saw."""
    seen: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    async def call() -> None:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "mockserver", "mcp", *arguments], cwd=folder, env=ENVIRON
        )
        async with Client(command, mode=mode) as client:
            seen.append([tool.name for tool in (await client.list_tools()).tools])
            seen.append((await client.call_tool("add", {"a": 1, "b": 2})).structured_content)
            counted = await client.call_tool("count", {"steps": 2}, progress_callback=note)
            seen.append(counted.content[0].text)  # type: ignore[union-attr]

    asyncio.run(call())
    return seen


SEEN = [["add", "count", "fail", "tell_secret"], {"result": 3}, (1, 2), (2, 2), "counted to 2"]


def test_a_recorded_command_replays_over_both_transports(tmp_path: Path) -> None:
    assert use(tmp_path, "record", "notes", "--", *NOTES) == SEEN
    for mode in ("legacy", "auto"):
        assert use(tmp_path, "notes", "--cassette", "notes", mode=mode) == SEEN

    async def add(url: str) -> Any:
        async with Client(url) as client:
            return (await client.call_tool("add", {"b": 2, "a": 1})).structured_content

    with MockServer(cassette="notes", cassettes=tmp_path / "cassettes") as server:
        assert asyncio.run(add(server.mcp("notes").url)) == {"result": 3}
        assert [call.source for call in server.mcp("notes").calls] == ["cassette notes.yaml#3"]


def test_recording_again_replaces_equal_requests(tmp_path: Path) -> None:
    for _ in range(2):
        use(tmp_path, "record", "notes", "--cassette", "tape", "--", *NOTES)
    asked = [json.loads(each.request.body)["method"] for each in CassetteFile(tmp_path / "cassettes/tape.yaml").load()]
    assert asked == ["initialize", "tools/list", "tools/call", "tools/call"]


ECHO = """
import json, os, sys
for line in sys.stdin:
    text = os.environ["NOTES_TOKEN"] + sys.argv[2]
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"content": [{"type": "text", "text": text}]}}
    print(json.dumps(answer), flush=True)
"""
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {}}}) + "\n"


def test_secrets_of_the_command_and_its_environment_are_not_recorded(tmp_path: Path) -> None:
    command = ("--", sys.executable, "-c", ECHO, "--api-key", "blue-heron-sings")
    done = run(tmp_path, "mcp", "record", "notes", *command, given=CALL, NOTES_TOKEN="grey-goose-flies")
    assert "grey-goose-fliesblue-heron-sings" in done.stdout  # the client gets what the server says
    text = (tmp_path / "cassettes/notes.yaml").read_text()
    assert "heron" not in text
    assert "goose" not in text
    assert "mockserver: 1 episode in notes.yaml" in done.stderr


def test_an_answer_that_looks_secret_is_reported_and_not_recorded(tmp_path: Path) -> None:
    command = ("--", sys.executable, "-c", ECHO, "-", "sk-proj-8fK2qLmN0pR4sT6vX9zB1dF3")
    done = run(tmp_path, "mcp", "record", "notes", *command, given=CALL, NOTES_TOKEN="")
    assert "sk-proj-8fK2" in done.stdout
    assert not (tmp_path / "cassettes/notes.yaml").exists()
    assert (
        "mockserver: an answer is not recorded: answer, body, $.result.content[0].text: sk-p...(masked)" in done.stderr
    )


def test_a_command_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    for command in ("record", "import"):
        done = run(tmp_path, "mcp", command, "notes", "--", "no-such-program")
        assert (done.returncode, done.stderr) == (
            2,
            "mockserver: cannot run 'no-such-program': program not found; install it, or name it with its path\n",
        )


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (("npx", "server", "--api-key", "abc"), {"API_KEY": "abc"}),
        (("npx", "server", "--token=abc"), {"TOKEN": "abc"}),
        (("docker", "run", "-e", "GITHUB_TOKEN=abc"), {"GITHUB_TOKEN": "abc"}),
        (("npx", "mcp-remote", "--header", "Authorization: Bearer abc"), {"AUTHORIZATION_TOKEN": "abc"}),
    ],
)
def test_named_arguments_of_a_command(program: tuple[str, ...], found: dict[str, str]) -> None:
    assert find_named_arguments(program) == found


def test_a_live_server_is_copied_with_its_schemas(tmp_path: Path) -> None:
    done = run(tmp_path, "mcp", "import", "-o", "command.yaml", "notes", "--", *NOTES)
    assert done.stderr.endswith('command.yaml: the MCP server "notes" with 4 tools, 1 resource, 1 prompt\n')
    with serving_notes() as url:
        run(tmp_path, "mcp", "import", "-o", "url.yaml", "notes", url)
    assert (tmp_path / "url.yaml").read_text() == (tmp_path / "command.yaml").read_text()

    async def look(where: Any) -> Any:
        async with Client(where) as client:
            tools = (await client.list_tools()).tools
            return [(tool.name, tool.description, tool.input_schema, tool.output_schema) for tool in tools]

    with MockServer(tmp_path / "url.yaml", unmatched="generate") as server:
        copied = asyncio.run(look(server.mcp("notes").url))
    command = StdioServerParameters(command=NOTES[0], args=NOTES[1:], env=ENVIRON)
    assert copied == asyncio.run(look(command))


def test_what_is_no_mcp_server_is_named(tmp_path: Path) -> None:
    with MockServer() as server:
        done = run(tmp_path, "mcp", "import", "x", f"{server.url}/mcp/nothing")
    assert done.returncode == 2
    assert 'it is not an MCP server: There is no MCP server "nothing"' in done.stderr


def test_rules_of_a_recording_answer_as_the_server_did(tmp_path: Path) -> None:
    use(tmp_path, "record", "notes", "--", *NOTES)
    done = run(tmp_path, "cassette", "rules", "notes", "-o", "made.yaml")
    assert done.stderr == "made.yaml: 1 MCP server and 2 rules from 4 episodes\n"
    found = use(tmp_path, "notes", "-r", "made.yaml")
    assert found == [*SEEN[:2], '{"result":"counted to 2"}']  # rules report no progress, and send a result as its text


RULES = (
    "version: 1\nsettings: {port: 8123}\nmcp: {files: {tools: [{name: read}]}, 'my notes': {tools: [{name: add}]}}\n"
)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    return tmp_path


def test_each_client_gets_its_notation(rules: Path) -> None:
    url, other = "http://127.0.0.1:8123/mcp/files", "http://127.0.0.1:8123/mcp/my%20notes"
    claude, gemini, vscode, opencode = (
        json.loads(run(rules, "mcp", "config", client).stdout) for client in ("claude", "gemini", "vscode", "opencode")
    )
    assert claude == {"mcpServers": {"files": {"type": "http", "url": url}, "my notes": {"type": "http", "url": other}}}
    assert gemini == {"mcpServers": {"files": {"httpUrl": url}, "my notes": {"httpUrl": other}}}
    assert vscode == {"servers": {"files": {"type": "http", "url": url}, "my notes": {"type": "http", "url": other}}}
    assert opencode == {"mcp": {"files": {"type": "remote", "url": url}, "my notes": {"type": "remote", "url": other}}}
    codex = tomllib.loads(run(rules, "mcp", "config", "codex").stdout)
    assert codex == {"mcp_servers": {"files": {"url": url}, "my notes": {"url": other}}}


def test_clients_can_start_the_server(rules: Path) -> None:
    found = json.loads(run(rules, "mcp", "config", "claude", "--stdio", "-r", "rules.yaml").stdout)
    started = {"command": "mockserver", "args": ["mcp", "serve", "files", "-r", "rules.yaml"]}
    assert found["mcpServers"]["files"] == started
    vscode = json.loads(run(rules, "mcp", "config", "vscode", "--stdio", "-r", "rules.yaml").stdout)
    assert vscode["servers"]["files"] == {"type": "stdio", **started}
    opencode = json.loads(run(rules, "mcp", "config", "opencode", "--stdio", "-r", "rules.yaml").stdout)
    assert opencode["mcp"]["files"] == {"type": "local", "command": [started["command"], *started["args"]]}
    codex = tomllib.loads(run(rules, "mcp", "config", "codex", "--stdio", "-r", "rules.yaml").stdout)
    assert codex["mcp_servers"]["files"] == started


def test_without_servers_there_is_nothing_to_configure(tmp_path: Path) -> None:
    done = run(tmp_path, "mcp", "config", "claude")
    assert (done.returncode, done.stderr) == (
        2,
        "mockserver: there are no MCP servers: define one under mcp: in a rules file\n",
    )


def test_programs_find_the_servers_in_their_environment(rules: Path) -> None:
    show = "import os; print({k: v for k, v in os.environ.items() if k.startswith('MOCKSERVER_MCP_')})"
    recorded = ("--upstream", "mcp/mail=http://127.0.0.1:9/mcp")
    done = run(rules, "run", *recorded, "--", sys.executable, "-c", show)
    found = eval(done.stdout)
    assert {name: url.rpartition("/mcp/")[2] for name, url in found.items()} == {
        "MOCKSERVER_MCP_FILES": "files",
        "MOCKSERVER_MCP_MY_NOTES": "my%20notes",
        "MOCKSERVER_MCP_MAIL": "mail",
    }
    assert run(rules, "check", "rules.yaml", MOCKSERVER_MCP_FILES="http://127.0.0.1:9/mcp/files").returncode == 0
    with MockServer(rules / "rules.yaml") as server:
        assert server.env["MOCKSERVER_MCP_FILES"] == server.mcp("files").url
