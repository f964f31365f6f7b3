"""`mockserver faults`: real programs, once for each fault."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_run import environ

RULES = "rules: [{then: {text: 'Hello to you, friend!'}}]"
HELLO = '{"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "hello"}]}'
NAIVE = f"""
import json, os, httpx
said = ""
with httpx.stream("POST", os.environ["OPENAI_BASE_URL"] + "/chat/completions", json={HELLO}, timeout=TIMEOUT) as answer:
    answer.raise_for_status()
    for line in answer.iter_lines():
        if line.startswith("data: {{"):
            said += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
print(said)
"""


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mockserver", "faults", *arguments]
    return subprocess.run(command, cwd=folder, env=environ(), capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "app.py").write_text(NAIVE.replace("TIMEOUT", "None"))
    return tmp_path


def test_a_program_under_faults(folder: Path) -> None:
    chosen = ["-f", "cut", "-f", "stall@after_tokens=1", "-f", "crlf", "-f", "duplicate", "--error", "429"]
    done = run(folder, *chosen, "--limit", "3s", "--", sys.executable, "app.py")
    assert done.stdout.splitlines() == [
        f"{sys.executable} app.py",
        "  ok   intact                 stream  passes",
        "  ok   error=429              stream  raised HTTPStatusError (exit code 1)",
        "  BAD  cut@after_tokens=1     stream  accepted a truncated answer, cut short after 2 frames",
        "  ok   cut@before_done        stream  recovered",
        "  ok   cut@in_tool_arguments  stream  unaffected: the answer ends before that",
        "  BAD  stall@after_tokens=1   stream  hung: still running after 3 s",
        "  ok   crlf                   stream  recovered",
        "  ok   duplicate              stream  recovered, but its output differs",
        "8 runs: 4 recovered, 1 raised, 1 unaffected, 1 hung, 1 truncated; 2 bad",
    ]
    assert (done.returncode, done.stderr) == (1, "")


def test_what_is_expected_allowed_and_shown(folder: Path) -> None:
    chosen = ["-f", "cut@after_tokens=1", "-f", "empty_body", "--error", "500", "--times", "all"]
    said = ["--expect", "cut@after_tokens=1=truncated", "--expect", "error=500=HTTPStatusError", "--allow", "truncated"]
    done = run(folder, *chosen, *said, "--output", "--", sys.executable, "app.py")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "4 runs: 1 recovered, 1 raised, 2 truncated; none bad"
    assert done.stderr.startswith("Hello to you, friend!\nTraceback")
    assert done.stderr.endswith("\nHello\n\n")
    again = run(folder, "--error", "500", "--expect", "error=recovered", "--", sys.executable, "app.py")
    assert again.returncode == 1
    assert again.stdout.splitlines()[2] == (
        "  BAD  error=500  stream  raised HTTPStatusError (exit code 1); expected recovered"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-f", "cutt", "--", "true"], 'unknown fault "cutt"; did you mean "cut"?'),
        (["--times", "no", "--", "true"], "--times must be \"all\" or a whole number of at least 1, not 'no'"),
        (["--limit", "soon", "--", "true"], '"soon" is not a duration; write 300ms, 2s, 1m or a number of seconds'),
        (["--", "no-such-program"], "cannot run 'no-such-program': No such file or directory"),
        (["--", "false"], "without faults, the program ended with exit code 1"),
        (["--limit", "100ms", "--", "sleep", "60"], "without faults, the program was still running after 0.1 s"),
        (["--", "true"], "the program made no API calls, so no fault could be injected; does it read OPENAI_BASE_URL?"),
    ],
)
def test_what_leads_nowhere_is_told_in_one_line(folder: Path, arguments: list[str], complaint: str) -> None:
    done = run(folder, *arguments)
    assert (done.returncode, done.stderr) == (2, f"mockserver: {complaint}\n")
