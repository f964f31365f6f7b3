"""Code that is to be run as it is written."""

import pytest

from mockserver.core.call import Tool
from mockserver.model.tools.transcript import code_runner


def taking(name: str, about: str, parameter: str) -> Tool:
    return Tool(name, about, {"type": "object", "properties": {parameter: {"type": "string"}}})


TOOLS = (
    taking("get_weather", "Get the weather", "city"),
    taking("db", "Runs SQL against the warehouse", "query"),
    taking("Bash", "Executes a command in a shell", "command"),
    taking("repl", "Runs Python", "code"),
)


def run_by(text: str) -> str:
    tool = code_runner(text, TOOLS)
    return tool.name if tool else ""


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("SELECT name FROM users WHERE age > 3", "db"),
        ("`SELECT 1 FROM dual`", "db"),
        ("Please run this query: ```sql\nSELECT 1\n```", "db"),
        ("DELETE FROM sessions WHERE old", "db"),
        ("git status", "Bash"),
        ("run `npm test`", "Bash"),
        ("can you execute `frobnicate --all` please?", "Bash"),
        ("ls -la /tmp", "Bash"),
        ("```python\nprint(1)\n```", "repl"),
    ],
)
def test_code_is_run_by_what_takes_its_kind(text: str, tool: str) -> None:
    assert run_by(text) == tool


@pytest.mark.parametrize(
    "text",
    [
        "What does `SELECT 1` mean?",
        "`git rebase` or `git merge`, which is better?",
        "Select a gift from the shop",
        "git is great",
        "make dinner",
        "Find me a hotel",
        "Why does `npm test` fail?",
        "",
    ],
)
def test_what_is_said_about_code_runs_nothing(text: str) -> None:
    assert run_by(text) == ""


def test_nothing_runs_what_no_tool_takes() -> None:
    assert code_runner("git status", TOOLS[:1]) is None


def test_a_megabyte_is_read_in_bounded_time() -> None:
    for text in ("`" * 1_000_000, "select " * 150_000, "run " * 250_000, "please " * 100_000):
        assert code_runner(text, TOOLS) is None
