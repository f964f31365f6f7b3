"""The types of a test's rules: mypy accepts what works, and refuses what would fail when the test runs."""

from pathlib import Path
from typing import get_args

from mypy import api

from mockserver.delivery.faults import FAULTS
from mockserver.rules.answer.content import ERROR_NAMES
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.match.fields import FIELDS, Field
from mockserver.testing.options import ErrorName, FaultName, When

SNIPPET = """
from mockserver.testing import MockServer

server = MockServer(lint="error")
server.on("*hello*", name="hello", model=["a", "b"], turn={"lt": 3}, attempt=2, stream=True).reply("Hi!")
server.on(last_user={"contains": "x"}, tools="get_time", param={"n": 2, "stop": ["a"]}, body="n > `1`").fail(429)
server.on(tool_result={"name": "get_time"}, header={"x-id": "1"}).fail("rate_limit", retry_after=1)
server.on().reply("x", faults=["stall", {"cut": {"after_tokens": 3}}], finish="length")
server.on(last_user=3)
server.on(3)
server.on(turn="many")
server.on(stream="yes")
server.on(model=None)
server.on().fail("ratelimit")
server.on().reply("x", faults=["stal"])
server.on().fail(500, faults=["stal"])
server.on().reply("x", finish="stopped")
MockServer(lint="warning")
"""


def test_mistakes_are_errors_of_types(tmp_path: Path) -> None:
    program = tmp_path / "snippet.py"
    program.write_text(SNIPPET)
    output, problems, _ = api.run([str(program), "--no-error-summary", "--hide-error-codes", "--no-pretty"])
    wrong = {int(line.split(":")[1]) for line in output.splitlines() if ": error: " in line}
    first = SNIPPET.splitlines().index("server.on(last_user=3)") + 1
    assert (problems, wrong) == ("", set(range(first, len(SNIPPET.splitlines()) + 1))), output


def test_names_are_those_of_the_tables() -> None:
    assert set(get_args(ErrorName)) == set(ERROR_NAMES)
    assert set(get_args(FaultName)) == {*FAULTS, *ANSWER_FAULTS}


def test_conditions_have_the_types_of_their_fields() -> None:
    values = {"text": str, "number": float, "boolean": bool, "list": str, "json": float}
    for name, field in FIELDS.items():
        if isinstance(field, Field) and not field.members:
            assert values[field.kind] in get_args(When.__annotations__[name]), name
