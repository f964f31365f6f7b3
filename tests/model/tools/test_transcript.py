"""Quoted calls, and code to run as it is written."""

import json

import pytest

from mockserver.core.call import Message, Tool
from mockserver.model.tools.transcript import code_runner, with_quoted_calls
from tests.kit.calls import call

ASKED = Message("user", "What is the weather in Paris?")
QUOTED = """Calling tools:
[{'id': 'call_1', 'type': 'function', 'function': {'name': 'get_weather', 'arguments': {'city': "L'Aquila"}}}]"""
OBSERVED = Message("user", "Observation:\nsunny")


def test_what_is_quoted_is_told() -> None:
    _, asked, given = with_quoted_calls(
        call(ASKED, Message("assistant", QUOTED), OBSERVED, tools=["get_weather"])
    ).messages
    (made,) = asked.tool_calls
    assert (made.name, json.loads(made.arguments)) == ("get_weather", {"city": "L'Aquila"})
    assert (given.role, given.text, given.tool_call_id) == ("tool", "sunny", made.id)


@pytest.mark.parametrize(
    "said",
    [
        [ASKED],
        [OBSERVED],
        [ASKED, OBSERVED],
        [ASKED, Message("assistant", QUOTED)],
        [ASKED, Message("user", QUOTED), OBSERVED],
        [ASKED, Message("assistant", QUOTED), Message("user", "Thanks. Observation: sunny")],
        [ASKED, Message("assistant", "Calling tools:"), OBSERVED],
        [ASKED, Message("assistant", "Calling tools:\n[7, {'function': 7}, {'function': {'name': 7}}]"), OBSERVED],
        [ASKED, Message("assistant", "Calling tools:" + "[" * 100_000), OBSERVED],
    ],
)
def test_other_texts_stay_what_they_are(said: list[Message]) -> None:
    assert list(with_quoted_calls(call(*said, tools=["get_weather"])).messages) == said


def test_without_tools_nothing_is_a_call() -> None:
    said = (ASKED, Message("assistant", QUOTED), OBSERVED)
    assert with_quoted_calls(call(*said)).messages == said


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
