"""Each coding agent answers, uses its tools, survives an error, and tells what no rule answers."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mockserver.testing import CodingAgent, MockServer

pytestmark = pytest.mark.timeout(600)  # several runs of programs that take their time

SECONDS = 90.0
ROOT = Path(__file__).parents[2]
PROMPTS = {
    "say hi": "Hello there.",
    "read the note": "blue heron",
    "mend the note": "The note is mended.",
    "list the files": "note.txt",
    "try again": "That took two calls.",
}


def test_it_answers(agent: CodingAgent, mockserver: MockServer) -> None:
    agent.on("say hi").then("Hello there.")
    ran = agent.run("say hi", timeout=SECONDS)
    assert (ran.text, ran.code, len(ran.calls)) == ("Hello there.", 0, 1), ran.log
    assert len(mockserver.calls) == 1, "what it asks for itself is hidden"


def test_it_reads_a_file(agent: CodingAgent, folder: Path) -> None:
    agent.on("read the note").uses("read", path=folder / "note.txt").then("It says {{ tool_result.text }}.")
    ran = agent.run("read the note", timeout=SECONDS)
    assert ran.code == 0, ran.log
    assert "blue heron" in ran.text
    assert len(ran.calls) == 2


def test_it_edits_a_file(agent: CodingAgent, folder: Path) -> None:
    edit = agent.on("mend the note").uses("read", path=folder / "note.txt")
    edit.uses("edit", path=folder / "note.txt", old="blue heron", new="grey heron").then("Done.")
    ran = agent.run("mend the note", timeout=SECONDS)
    assert (folder / "note.txt").read_text() == "grey heron\n", ran.log + str(ran.calls)
    assert ran.text.endswith("Done.")


def test_it_writes_a_file_and_runs_a_command(agent: CodingAgent, folder: Path) -> None:
    script = agent.on("greet").uses("write", path=folder / "greet.sh", text="echo hello > greeting\n")
    script.uses("run", command="sh greet.sh").then("Done.")
    ran = agent.run("greet", timeout=SECONDS)
    assert (folder / "greeting").read_text() == "hello\n", ran.log + str(ran.calls)


def test_it_tries_again_after_an_error(agent: CodingAgent, mockserver: MockServer) -> None:
    mockserver.on(last_user="*say hi*").fail(529).times(1)
    mockserver.on(last_user="*say hi*").reply("Hello there.")
    ran = agent.run("say hi", timeout=SECONDS)
    assert (ran.text, ran.code) == ("Hello there.", 0), ran.log
    assert [call.status for call in ran.calls] == [529, 200]


@pytest.mark.mockserver(verify=False)
def test_it_tells_what_no_rule_answers(agent: CodingAgent, mockserver: MockServer) -> None:
    mockserver.on(last_user="*say hi*").reply("Hello there.")
    ran = agent.run("say ho", timeout=SECONDS)
    assert "no rule answers this request" in ran.text + ran.log
    assert {call.source for call in ran.calls} == {"unmatched"}


@pytest.mark.mockserver(verify=False)
def test_a_loop_ends(name: str, folder: Path, mockserver: MockServer) -> None:
    agent = mockserver.agent(name, cwd=folder, allow=["run"], max_calls=4)
    call = agent.agent.call_tool("run", {"command": "echo again"})
    mockserver.on(last_user="*loop*").then({"tool_calls": [call]})
    ran = agent.run("loop", timeout=SECONDS)
    assert "This run has reached its limit of 4 calls" in ran.text + ran.log
    assert [call.source for call in ran.calls][4] == "budget"


def test_a_process_of_ones_own(name: str, folder: Path, mockserver: MockServer) -> None:
    mockserver.on(last_user="*say hi*").reply("Hello there.")
    with mockserver.environment_for(name) as environment:
        command = [environment.agent.program, *environment.agent.arguments, "say hi"]
        ran = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "Hello there."
    assert not environment.home.exists()


def test_it_follows_the_ready_rules(name: str, agent: CodingAgent, folder: Path, mockserver: MockServer) -> None:
    mockserver.load(ROOT / "examples" / "coding-agents" / f"{name}.yaml")
    said = {prompt: agent.run(prompt, timeout=SECONDS).text for prompt in PROMPTS}
    found = {prompt: words in said[prompt] for prompt, words in PROMPTS.items()}
    assert all(found.values()), said
    assert (folder / "note.txt").read_text() == "grey heron\n"


def write_json(path: Path, content: object) -> tuple[str, ...]:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))
    return ()


# How each agent reaches an MCP server "notes": the arguments that name its URL, or files that do.
CONNECT: dict[str, Callable[[str, Path], Sequence[str]]] = {
    "claude-code": lambda url, folder: (
        "--strict-mcp-config", "--allowedTools", "mcp__notes__find_note", "--mcp-config",
        json.dumps({"mcpServers": {"notes": {"type": "http", "url": url}}}),
    ),
    "codex": lambda url, folder: (
        "-c", f'mcp_servers.notes.url="{url}"', "-c", 'mcp_servers.notes.default_tools_approval_mode="approve"',
    ),
    "gemini-cli": lambda url, folder: write_json(
        folder / ".gemini" / "settings.json", {"mcpServers": {"notes": {"httpUrl": url, "trust": True}}}
    ),
    "opencode": lambda url, folder: write_json(
        folder / "opencode.json", {"mcp": {"notes": {"type": "remote", "url": url}}}
    ),
}  # fmt: skip
FIND = {
    "claude-code": {"name": "mcp__notes__find_note"},
    "codex": {"name": "find_note", "namespace": "mcp__notes"},
    "gemini-cli": {"name": "mcp_notes_find_note"},
    "opencode": {"name": "notes_find_note"},
}


def test_it_calls_a_tool_of_an_mcp_server(name: str, agent: CodingAgent, folder: Path, mockserver: MockServer) -> None:
    notes = mockserver.mcp("notes")
    notes.tool("find_note", description="Finds a note.", input={"about": str}).reply("grey heron")
    call = {**FIND[name], "arguments": {"about": "birds"}}
    mockserver.on("*find the note*").steps({"tool_calls": [call]}, "It says {{ tool_result.text }}.")
    ran = agent.run("find the note", *CONNECT[name](notes.url, folder), timeout=SECONDS)
    assert ran.code == 0, ran.log
    assert "grey heron" in ran.text, ran.log
    notes.assert_called_once(tool="find_note", arguments={"about": "birds"})
