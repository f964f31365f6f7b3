"""`mockserver run --for`: what a coding agent finds there, shown by programs that stand in for one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver.server.agents import AGENTS
from tests.kit import program
from tests.kit.served import ROOT

RULES = """
rules:
  - {name: hi, when: {last_user: "*say hi*"}, then: {text: Hello there.}}
  - {name: loop, when: {last_user: "*loop*"}, then: {tool_calls: [{name: Read, arguments: {file_path: a}}]}}
"""
SHOW = """
import json, os, pathlib
homes = [os.environ[n] for n in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME") if n in os.environ]
files = {p.name: p.read_text() for home in homes for p in pathlib.Path(home).rglob("*") if p.is_file()}
print(json.dumps({"env": dict(os.environ), "files": files}))
"""
ASK = """
import os, sys, urllib.request, json, urllib.error
address = os.environ["ANTHROPIC_BASE_URL"]
for text in sys.argv[1:]:
    body = {"model": "claude-opus-5-5", "max_tokens": 10, "messages": [{"role": "user", "content": text}],
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}]}
    if text.startswith("Name"):
        body["system"] = "You are naming a coding session so the user can pick it out."
    try:
        print(urllib.request.urlopen(urllib.request.Request(f"{address}/v1/messages", json.dumps(body).encode(),
            {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01",
             "content-type": "application/json"})).status)
    except urllib.error.HTTPError as error:
        print(error.code, json.loads(error.read())["error"]["message"])
"""


def run(folder: Path, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mockserver", "run", *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    return tmp_path


def test_an_agent_finds_a_home_of_its_own_which_is_gone_afterwards(folder: Path) -> None:
    led = [word for name in AGENTS for word in ("--for", name)]
    lost = {"CLAUDE_CODE_USE_BEDROCK": "1", "CODEX_API_KEY": "sk-real", "GOOGLE_GENAI_USE_VERTEXAI": "true"}
    ran = run(folder, *led, "--", sys.executable, "-c", SHOW, **lost)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    env, files = found["env"], found["files"]
    assert not lost.keys() & env.keys()
    assert env["HOME"] == os.environ["HOME"], "git and package managers want it"
    assert env["ANTHROPIC_BASE_URL"].endswith("/ns/claude-code/anthropic")
    assert env["GOOGLE_GEMINI_BASE_URL"].endswith("/ns/gemini-cli/gemini")
    assert "/ns/codex/openai/v1" in files["config.toml"]
    assert "/ns/opencode/anthropic/v1" in env["OPENCODE_CONFIG_CONTENT"]
    assert json.loads(files[".claude.json"])["customApiKeyResponses"]["approved"] == ["sk-mockserver"]
    assert json.loads(files["settings.json"])["security"]["auth"]["selectedType"] == "gemini-api-key"
    for name in "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME":
        assert not Path(env[name]).exists()


def test_without_it_nothing_of_an_agent_is_set(folder: Path) -> None:
    ran = run(folder, "--", sys.executable, "-c", SHOW, CODEX_API_KEY="sk-real")
    env = json.loads(ran.stdout)["env"]
    assert env["CODEX_API_KEY"] == "sk-real"
    assert not {"CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_CONTENT"} & (env.keys() - os.environ.keys())


def test_what_it_asks_for_itself_is_answered_and_hidden(folder: Path) -> None:
    ask = ("--for", "claude-code", "--", sys.executable, "-c", ASK, "say hi", "Name this")
    ran = run(folder, *ask)
    assert (ran.stdout, ran.stderr) == ("200\n200\n", "mockserver: 1 call: 1 by rules\n")
    shown = run(folder, "--show-service", *ask)
    assert shown.stderr == "mockserver: 1 call: 1 by rules\nservice claude-code title: 1 call\n"


def test_an_unmatched_call_is_a_400_and_equal_ones_are_told_once(folder: Path) -> None:
    ran = run(folder, "--for", "claude-code", "--", sys.executable, "-c", ASK, "other", "other")
    assert ran.stdout.startswith("400 no rule answers this request; the nearest:\n  rules.yaml:")
    assert "agents.yaml" not in ran.stdout + ran.stderr
    assert ran.stderr.startswith(
        "mockserver: 2 calls: 2 unmatched\ncalls #1 to #2, POST /anthropic/v1/messages -> 400: no rule"
    )


def test_settings_of_the_user_win_over_those_of_the_preset(folder: Path) -> None:
    (folder / "rules.yaml").write_text(f"settings: {{unmatched: {{status: 422}}}}{RULES}")
    ran = run(folder, "--for", "claude-code", "--", sys.executable, "-c", ASK, "other")
    assert ran.stdout.startswith("422 ")


def test_a_loop_ends_with_the_call_that_repeats(folder: Path) -> None:
    ran = run(folder, "--for", "claude-code", "--max-calls", "3", "--", sys.executable, "-c", ASK, *["loop"] * 4)
    why = (
        'This run has reached its limit of 3 calls: rule rules.yaml:4 loop with Read({"file_path":"a"})'
        " answered 3 of them. Put a rule with tool_result before it, so that the result of the tool is answered."
    )
    assert ran.stdout == f"200\n200\n200\n400 {why}\n"
    assert ran.stderr == f"mockserver: 4 calls: 3 by rules, 1 over budget\nclaude-code: {why}\n"


def test_its_own_calls_do_not_count_for_the_budget(folder: Path) -> None:
    ran = run(
        folder, "--for", "claude-code", "--max-calls", "1", "--", sys.executable, "-c", ASK, "Name", "Name", "say hi"
    )
    assert ran.stdout == "200\n200\n200\n"


@pytest.mark.parametrize("where", ["flag", "file"])
def test_made_up_answers_are_refused_unless_allowed(folder: Path, where: str) -> None:
    flags = ["--unmatched", "generate"] if where == "flag" else []
    if where == "file":
        (folder / "rules.yaml").write_text("settings: {unmatched: generate}")
    refused = program.run("run", "--for", "codex", *flags, "-r", folder / "rules.yaml", "--", "codex")
    assert (refused.code, refused.err) == (
        2,
        "mockserver: with unmatched: generate, answers are made up, and a coding agent acts on them; remove the"
        " setting, or allow it with --let-it-run\n",
    )
    allowed = run(folder, "--for", "claude-code", "--let-it-run", *flags, "--", sys.executable, "-c", ASK, "other")
    assert allowed.stdout == "200\n"


def test_an_unknown_agent_is_told() -> None:
    ran = program.run("run", "--for", "aider", "--", "aider")
    assert (ran.code, ran.err) == (
        2,
        'mockserver: there is no coding agent "aider"; there are claude-code, codex, gemini-cli, opencode\n',
    )
