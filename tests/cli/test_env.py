"""`mockserver env --for`: variables for an agent and a server that runs elsewhere."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.kit import program

ADDRESS = "http://10.0.0.7:8000"


def test_a_shell_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_API_KEY", "sk-real")
    home = tmp_path / "a home"
    ran = program.run("env", "--for", "codex", "--address", ADDRESS, "--home", home)
    assert (ran.code, ran.err) == (0, f"wrote 1 file to {home}\n")
    script = f'{ran.out}\necho "$CODEX_HOME ${{CODEX_API_KEY-unset}} $OPENAI_API_KEY"'
    shell = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert shell.stdout == f"{home} unset sk-mockserver\n"
    assert f'base_url = "{ADDRESS}/ns/codex/openai/v1"' in (home / "config.toml").read_text()


def test_other_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_MODEL", "mine")
    command = ("env", "--for", "gemini-cli", "--address", f"{ADDRESS}/", "--home", tmp_path, "--format")
    found = json.loads(program.run(*command, "json").out)
    assert found["GOOGLE_GEMINI_BASE_URL"] == f"{ADDRESS}/ns/gemini-cli/gemini"
    assert found["GEMINI_MODEL"] is None
    lines = program.run(*command, "dotenv").out.splitlines()
    assert f"GEMINI_CLI_HOME={tmp_path}" in lines
    assert not any(line.startswith("GEMINI_MODEL") for line in lines)


def test_mistakes_are_told(tmp_path: Path) -> None:
    ran = program.run("env", "--for", "codex", "--home", tmp_path, "--address", "localhost:8000")
    assert (ran.code, ran.err) == (
        2,
        "mockserver: --address takes a URL such as http://127.0.0.1:8000, not 'localhost:8000'\n",
    )
    ran = program.run("env", "--for", "codec", "--home", tmp_path)
    assert (ran.code, ran.err) == (2, 'mockserver: there is no coding agent "codec"; did you mean "codex"?\n')
