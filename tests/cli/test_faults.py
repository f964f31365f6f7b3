"""`mockserver faults`: real programs, once for each fault."""

import sys
from pathlib import Path

import pytest

from tests.kit.program import Ran
from tests.kit.program import run as run_command

RULES = "rules: [{then: {text: 'Hello to you, friend!'}}]"
NAIVE = """
import json, os, urllib.request
body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
said = ""
with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
    for line in answer:
        if line.startswith(b"data: {"):
            said += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
print(said)
"""


def run(*arguments: str) -> Ran:
    return run_command("faults", *arguments)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "app.py").write_text(NAIVE)
    monkeypatch.chdir(tmp_path)


def test_a_program_under_faults() -> None:
    chosen = ["-f", "cut", "-f", "stall@after_tokens=1", "-f", "crlf", "-f", "duplicate", "--error", "429"]
    done = run(*chosen, "--limit", "3s", "--", sys.executable, "app.py")
    assert done.out.splitlines() == [
        f"{sys.executable} app.py",
        "  ok   intact                 stream  passes",
        "  ok   error=429              stream  raised HTTPError (exit code 1)",
        "  BAD  cut@after_tokens=1     stream  accepted a truncated answer, cut short after 2 frames",
        "  ok   cut@before_done        stream  recovered",
        "  ok   cut@in_tool_arguments  stream  unaffected: the answer ended before the fault",
        "  BAD  stall@after_tokens=1   stream  hung: still running after 3 s",
        "  ok   crlf                   stream  recovered",
        "  ok   duplicate              stream  recovered, but its output differs",
        "8 runs: 4 recovered, 1 raised, 1 unaffected, 1 hung, 1 truncated; 2 bad",
    ]
    assert (done.code, done.err) == (1, "")


def test_what_is_expected_allowed_and_shown() -> None:
    chosen = ["-f", "cut@after_tokens=1", "-f", "empty_body", "--error", "500", "--times", "all"]
    said = ["--expect", "cut@after_tokens=1=truncated", "--expect", "error=500=HTTPError", "--allow", "truncated"]
    done = run(*chosen, *said, "--output", "--", sys.executable, "app.py")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "4 runs: 1 recovered, 1 raised, 2 truncated; none bad"
    assert done.err.startswith("Hello to you, friend!\nTraceback")
    assert done.err.endswith("\nHello\n\n")
    again = run("--error", "500", "--expect", "error=recovered", "--", sys.executable, "app.py")
    assert again.code == 1
    assert again.out.splitlines()[2] == ("  BAD  error=500  stream  raised HTTPError (exit code 1); expected recovered")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-f", "cutt", "--", "true"], 'unknown fault "cutt"; did you mean "cut"?'),
        (
            ["--position", "end", "--", "true"],
            'there is no position "end"; choose one of after_tokens, after_frames, after_bytes, before_done,'
            " in_tool_arguments, at_start",
        ),
        (["--expect", "ok", "--", "true"], '--expect takes FAULT=OUTCOME, such as cut=recovered, not "ok"'),
        (["--times", "no", "--", "true"], "--times must be \"all\" or a whole number of at least 1, not 'no'"),
        (["--limit", "soon", "--", "true"], '"soon" is not a duration; write 300ms, 2s, 1m or a number of seconds'),
        (
            ["--", "no-such-program"],
            "cannot run 'no-such-program': program not found; install it, or name it with its path",
        ),
        (["--", "false"], "without faults, the program ended with exit code 1"),
        (["--limit", "100ms", "--", "sleep", "60"], "without faults, the program was still running after 0.1 s"),
        (["--", "true"], "the program made no API calls, so no fault could be injected; does it read OPENAI_BASE_URL?"),
    ],
)
def test_what_leads_nowhere_is_told_in_one_line(arguments: list[str], complaint: str) -> None:
    done = run(*arguments)
    assert (done.code, done.err) == (2, f"mockserver: {complaint}\n")
