"""What one request may cost: limits are named, and others are served and the process ends while it computes."""

import json
import os
import signal
from contextlib import ExitStack
from typing import Any

import pytest

from tests.kit.raw import Raw
from tests.kit.served import Served, served

pytestmark = pytest.mark.slow

HEALTH = b"GET /__mockserver__/api/health HTTP/1.1\r\nhost: localhost\r\n\r\n"
SHAPE = {"type": "object", "properties": {"city": {"type": "string"}, "date": {"type": "string"}}}


def posted(path: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def chat(**body: Any) -> bytes:
    return posted("/v1/chat/completions", json.dumps({"model": "gpt-4.1", **body}).encode())


def tools(n: int) -> bytes:
    offered = [{"type": "function", "function": {"name": f"get_weather_{at}", "parameters": SHAPE}} for at in range(n)]
    said = "What is the weather in Oslo on Monday, and in Rome? Send it to tool_7. " * 200
    said = [{"role": "system", "content": "Call get_weather_1. " * 2_000}, {"role": "user", "content": said}]
    return chat(messages=said, tools=offered, n=8)


def prompts(n: int) -> bytes:
    asked = [f"What is {at} times 7, and who is {at}? " * 20 for at in range(n)]
    return posted("/v1/completions", json.dumps({"model": "gpt-4o", "prompt": asked}).encode())


def received(server: Served, request: bytes) -> tuple[int, Any]:
    with Raw(server.port) as line:
        answer = line.send(request).receive()
        return answer.status, answer.json


def test_others_are_served_and_the_process_ends_while_requests_compute() -> None:
    with served() as server, ExitStack() as opened:
        for request in (tools(10_000), prompts(2_000), tools(9_999), prompts(1_999)):
            opened.enter_context(Raw(server.port)).send(request)
        assert any("open_requests 4.0" in metrics(server) for _ in range(1_000))
        for _ in range(5):
            assert received(server, HEALTH)[0] == 200
        assert "open_requests 0.0" not in metrics(server)  # they still compute
        os.kill(server.pid, signal.SIGTERM)
        while server.said.next() is not None:  # its output ends with it, within the patience of `Lines`
            pass


def metrics(server: Served) -> str:
    with Raw(server.port) as line:
        return line.send(HEALTH.replace(b"api/health", b"metrics")).receive().body.decode()


@pytest.mark.parametrize(
    ("body", "status", "named"),
    [
        (b"- a\n" * 250_000, 400, "this has more than 100,000 values; split it"),
        (b"rules:\n" + b"- {when: {}}\n" * 10_001, 409, "a namespace has at most 10000 rules of its own"),
    ],
)
def test_the_limits_of_the_control_api_are_named(body: bytes, status: int, named: str) -> None:
    with served() as server:
        answered, said = received(server, posted("/__mockserver__/api/rules", body, "application/yaml"))
        assert answered == status
        assert named in said["error"]
