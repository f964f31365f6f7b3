"""Schemas of a kilobyte that a client means to stop the server with: answered soon, while others are served."""

import json
import os
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.kit.raw import Raw
from tests.kit.served import Served, served
from tests.safety.test_costs import HEALTH, chat, posted, received

pytestmark = pytest.mark.slow

TEXT = 'Set a to "Oslo" and b to 42'


def doubled(keyword: str, **more: Any) -> Any:
    links = {f"d{at}": {keyword: [{"$ref": f"#/$defs/d{at + 1}"}] * 2, **more} for at in range(30)}
    shape = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    return {"$ref": "#/$defs/d0", "$defs": {**links, "d30": shape}}


SCHEMAS = [
    doubled("anyOf"),
    doubled("oneOf"),
    doubled("anyOf", unevaluatedProperties=False),
    {"type": "object", "properties": {f"p{at}": {"pattern": rf"(?=a)\w{{200}}{at}"} for at in range(100)}},
]


def requests(schema: Any) -> list[bytes]:
    """The schema as the format of a chat and of a response, and as the parameters of a tool."""
    tool = {"type": "function", "function": {"name": "set", "parameters": schema}}
    said = [{"role": "user", "content": TEXT}]
    form = {"type": "json_schema", "name": "x", "schema": schema}
    response = {"model": "gpt-4.1", "input": TEXT, "text": {"format": form}}
    return [
        chat(messages=said, response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}),
        chat(messages=said, tools=[tool], tool_choice="required", n=8),
        posted("/v1/responses", json.dumps(response).encode()),
    ]


@pytest.mark.parametrize("schema", SCHEMAS, ids=["anyOf", "oneOf", "unevaluated", "patterns"])
def test_a_hostile_schema_gets_an_error_that_says_why(schema: Any) -> None:
    with served(log="none") as server:
        for request in requests(schema):
            status, said = received(server, request)
            assert status == 400
            assert "schema" in said["error"]["message"]
        assert _seconds(server) < 5


def test_others_are_served_and_the_process_ends_while_schemas_are_read() -> None:
    with served(log="none") as server, ExitStack() as opened:
        for schema in SCHEMAS:
            for request in requests(schema):
                opened.enter_context(Raw(server.port)).send(request)
        assert received(server, HEALTH)[0] == 200
        os.kill(server.pid, signal.SIGTERM)
        while server.said.next() is not None:  # its output ends with it, within the patience of `Lines`
            pass


def _seconds(server: Served) -> float:
    """The CPU time of the process so far."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
