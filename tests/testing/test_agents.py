"""Coding agents in tests: their own requests as recorded, and programs that stand in for the agents themselves.

`tests/agents` runs the real ones.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from unittest import SkipTest

import httpx
import pytest

from mockserver.config.errors import ConfigError
from mockserver.server.agents import AGENTS
from mockserver.testing import MockServer

RECORDED = sorted(Path(__file__).with_name("agent_requests").glob("*.json"))
REQUESTS = [(file.stem, at) for file in RECORDED for at in range(len(json.loads(file.read_text())))]
# Answers what it is asked like Claude Code: a prompt after -p, the result of Read until no tool is called.
CLAUDE = """#!/usr/bin/env python3
import json, os, sys, time, urllib.request, urllib.error
from pathlib import Path
if "--sleep" in sys.argv:
    time.sleep(60)
messages = [{"role": "user", "content": sys.argv[sys.argv.index("-p") + 1]}]
while True:
    body = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages,
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}]}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), {
        "x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json",
        "anthropic-version": "2023-06-01"})
    try:
        answer = json.loads(urllib.request.urlopen(request).read())
    except urllib.error.HTTPError as error:
        sys.exit(f"API Error: {error.code} " + json.loads(error.read())["error"]["message"])
    uses = [part for part in answer["content"] if part["type"] == "tool_use"]
    if not uses:
        print(*[part["text"] for part in answer["content"]])
        break
    messages.append({"role": "assistant", "content": answer["content"]})
    messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": part["id"],
        "content": Path(part["input"]["file_path"]).read_text()} for part in uses]})
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called `claude` that is found first."""
    file = tmp_path / "bin" / "claude"
    file.parent.mkdir()
    file.write_text(CLAUDE)
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")
    return file


@pytest.mark.parametrize(("name", "at"), REQUESTS)
def test_requests_of_a_start_are_answered(server: MockServer, name: str, at: int) -> None:
    request = json.loads(Path(__file__).with_name("agent_requests").joinpath(f"{name}.json").read_text())[at]
    server.on(last_user="*say hi*").reply("Hello there.")
    environment = server.environment_for(name)
    url = f"{server.url}/ns/{environment.namespace}{request['path']}"
    params = request["query"] or None
    answered = httpx.post(url, params=params, headers=request["headers"], json=request["body"])
    assert answered.status_code == 200, answered.text
    assert answered.headers["x-mockserver-source"].startswith(request["source"])
    hidden = request["source"].startswith("service ")
    assert (len(server.calls), len(server.service_calls)) == ((0, 1) if hidden else (1, 0))


@pytest.mark.parametrize("name", AGENTS)
def test_there_are_recorded_requests_of_each(name: str) -> None:
    assert f"{name}.json" in [file.name for file in RECORDED]


@pytest.mark.parametrize("name", AGENTS)
def test_there_are_ready_rules_for_each(server: MockServer, root: Path, name: str) -> None:
    server.load(root / "examples" / "coding-agents" / f"{name}.yaml")
    offered = {tool.name for tool in AGENTS[name].tools.values()}
    rules: list[Any] = [rule.spec for rule in server.local.rules.loaded]
    steps = [step for rule in rules for step in rule["then"].get("steps", ())]
    used = {call["name"] for step in steps for call in step.get("tool_calls", ())}
    assert used <= offered
    assert [rule["name"] for rule in rules] == ["hi", "read", "edit", "run", "busy", "free"]


MESSAGES = "/anthropic/v1/messages"
CONTENT = "/gemini/v1beta/models/gemini-2.5-flash:generateContent"


def claude(user: str, **more: Any) -> dict[str, Any]:
    return {"model": "claude-haiku-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": user}], **more}


def gemini(user: str, system: str = "", **config: Any) -> dict[str, Any]:
    instruction = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
    return {"contents": [{"role": "user", "parts": [{"text": user}]}], **instruction, "generationConfig": config}


VERSION = {"anthropic-version": "2023-06-01"}
COUNTED = {"model": "claude-haiku-4-5", "messages": claude("say hi")["messages"]}
NEXT_SPEAKER = {
    "responseMimeType": "application/json",
    "responseJsonSchema": {"type": "object", "properties": {"next_speaker": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("path", "body", "source"),
    [
        (MESSAGES, claude("say hi", system="You are naming a coding session so that"), "service claude-code title"),
        (MESSAGES, claude("say hi", system="Generate a short kebab-case name (2-4 words)"), "service claude-code name"),
        (MESSAGES, {**claude("quota"), "max_tokens": 1}, "service claude-code quota"),
        (f"{MESSAGES}/count_tokens", COUNTED, "service token count"),
        (
            CONTENT,
            gemini("say hi", "You determine whether a conversational AI assistant is stuck in an unproductive loop."),
            "service gemini-cli loop check",
        ),
        (CONTENT, gemini("say hi", **NEXT_SPEAKER), "service gemini-cli next speaker"),
        (
            CONTENT,
            gemini("Summarize the user's primary intent or goal in this conversation in ONE sentence (max 80)."),
            "service gemini-cli summary",
        ),
        (MESSAGES, claude("quota"), "rule "),
    ],
)  # fmt: skip
def test_what_an_agent_asks_for_itself_is_told_by_its_own_words(
    server: MockServer, path: str, body: dict[str, Any], source: str
) -> None:
    server.on().reply("A rule for everything.")
    server.environment_for("claude-code")
    answered = httpx.post(f"{server.url}/ns/claude-code{path}", headers=VERSION, json=body)
    assert answered.status_code == 200, answered.text
    assert answered.headers["x-mockserver-source"].startswith(source)


def test_without_an_agent_nothing_is_hidden(server: MockServer) -> None:
    server.on(last_user="quota").reply("Plenty.")
    httpx.post(f"{server.url}{MESSAGES}", headers=VERSION, json={**claude("quota"), "max_tokens": 1})
    assert [len(server.calls), len(server.service_calls)] == [1, 0]


def test_an_agent_reads_what_a_rule_says(server: MockServer, program: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("blue heron")
    agent = server.agent("claude-code", cwd=tmp_path)
    agent.on("read the note").uses("read", path=tmp_path / "note.txt").then("It says {{ tool_result.text }}.")
    ran = agent.run("read the note")
    assert (ran.text, ran.code, len(ran.calls)) == ("It says blue heron.", 0, 2)
    again = agent.run("Please read the note")
    assert (again.text, len(again.calls), len(agent.calls)) == ("It says blue heron.", 2, 4)
    server.verify()


def test_arguments_are_no_templates(server: MockServer, program: Path, tmp_path: Path) -> None:
    note = tmp_path / "{{ note }}.txt"
    note.write_text("blue heron")
    agent = server.agent("claude-code", cwd=tmp_path)
    agent.on("read the note").uses("read", path=note).then("It says {{ tool_result.text }}.")
    assert agent.run("read the note").text == "It says blue heron."


def test_a_conversation_that_goes_on_begins_with_its_last_prompt(server: MockServer, program: Path) -> None:
    agent = server.agent("claude-code", cwd=program.parent)
    agent.on("read the note").uses("Read", file_path="note.txt").then("Done.")
    before = [{"role": "user", "content": "say hi"}, {"role": "assistant", "content": "Hello."}]
    body = {**claude("read the note"), "tools": [{"name": "Read", "input_schema": {"type": "object"}}]}
    body["messages"] = before + body["messages"]
    answered = httpx.post(f"{server.url}/ns/claude-code{MESSAGES}", headers=VERSION, json=body).json()
    assert [part["type"] for part in answered["content"]] == ["tool_use"]


def test_a_key_with_quotes_stays_whole(program: Path) -> None:
    with MockServer(keys=['sk-"quoted"']) as server:
        environment = server.environment_for("opencode")
        config = json.loads(environment["OPENCODE_CONFIG_CONTENT"])
    assert config["provider"]["anthropic"]["options"]["apiKey"] == 'sk-"quoted"'


def test_two_agents_keep_their_calls_and_rules_apart(server: MockServer, program: Path, tmp_path: Path) -> None:
    one, other = (server.agent("claude-code", cwd=tmp_path) for _ in range(2))
    one.on("say hi").then("One.")
    other.on("say hi").then("Other.")
    assert [one.run("say hi").text, other.run("say hi").text] == ["One.", "Other."]
    assert [len(one.calls), len(other.calls), len(server.calls)] == [1, 1, 2]


def test_what_no_rule_answers_is_a_400_and_fails_the_test(server: MockServer, program: Path, tmp_path: Path) -> None:
    agent = server.agent("claude-code", cwd=tmp_path)
    agent.on("say hi").then("Hello.")
    ran = agent.run("say ho")
    assert ran.code == 1
    assert ran.log.startswith("API Error: 400 no rule answers this request; the nearest:\n")
    with pytest.raises(AssertionError, match='no rule answered "say ho"'):
        server.verify()


def test_a_loop_ends_and_fails_the_test(server: MockServer, program: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("blue heron")
    agent = server.agent("claude-code", cwd=tmp_path, max_calls=3)
    server.on().reply(tool_calls=[agent.agent.call_tool("read", {"path": tmp_path / "note.txt"})])
    ran = agent.run("read the note")
    assert ran.log.startswith("API Error: 400 This run has reached its limit of 3 calls: rule ")
    with pytest.raises(AssertionError, match="claude-code: This run has reached its limit of 3 calls"):
        server.verify()


def test_an_agent_that_does_not_end_is_stopped(server: MockServer, program: Path, tmp_path: Path) -> None:
    agent = server.agent("claude-code", cwd=tmp_path)
    with pytest.raises(TimeoutError, match=r"claude-code was still running after 0.5 s; it made 0 calls"):
        agent.run("say hi", "--sleep", timeout=0.5)


def test_the_environment_is_a_mapping_until_the_test_ends(server: MockServer, program: Path) -> None:
    server.on("say hi").reply("Hello.")
    environment = server.environment_for("claude-code")
    ran = subprocess.run(["claude", "-p", "say hi"], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "Hello.\n"
    assert Path(environment["CLAUDE_CONFIG_DIR"], ".claude.json").exists()
    assert "sk-" not in repr(environment)
    server.reset()
    assert not environment.home.exists()


def test_the_environment_is_a_context(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    with server.environment_for("claude-code") as environment:
        assert os.environ["CLAUDE_CONFIG_DIR"] == str(environment.home)
        assert "CLAUDE_CODE_USE_BEDROCK" not in os.environ
    assert "CLAUDE_CONFIG_DIR" not in os.environ
    assert os.environ["CLAUDE_CODE_USE_BEDROCK"] == "1"
    assert not environment.home.exists()


def test_a_test_without_its_program_is_skipped(
    server: MockServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SkipTest, match="codex is not installed: npm install --global @openai/codex"):
        server.agent("codex", cwd=tmp_path)


def test_mistakes_are_told(server: MockServer, program: Path, tmp_path: Path) -> None:
    rule = server.agent("claude-code", cwd=tmp_path).on("x")
    with pytest.raises(ConfigError, match='there is no coding agent "claude"; did you mean "claude-code"'):
        server.environment_for("claude")
    with pytest.raises(ConfigError, match=r"allow takes a list of read, write, edit, run, not \['delete'\]"):
        server.agent("claude-code", cwd=tmp_path, allow=["delete"])
    with pytest.raises(ConfigError, match="edit takes path, old and new, not path, text"):
        rule.uses("edit", path="a", text="b")
    with pytest.raises(ConfigError, match="read takes path, not nothing"):
        rule.uses("read")
    rule.uses("Glob", pattern="*").then("Done.")


def test_made_up_answers_are_refused_unless_allowed() -> None:
    with MockServer(unmatched="generate") as server:
        with pytest.raises(ConfigError, match=r"a coding agent acts on them; .*, or allow it with let_it_run=True$"):
            server.environment_for("codex")
        assert server.environment_for("codex", let_it_run=True)["CODEX_HOME"]
