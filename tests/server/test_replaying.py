"""Recorded answers through a whole server: their bytes, their timing, and faults."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from mockserver.core.episode import Recorded
from mockserver.server.compose import start
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from tests.kit.cassette_folder import HEADERS, chat, episode, folder, make_recorded_stream
from tests.kit.local import local
from tests.kit.raw import Raw, RawResponse, post

STREAM = make_recorded_stream('{"a":1}', '{"a":2}', "[DONE]", every=0.15)
LIMITED = Recorded(429, (*HEADERS, ("retry-after", "7"), ("content-encoding", "gzip")), b'{"error": "no"}\n', took=0.2)


class Client:
    """Asks a running server, and measures how long that takes."""

    def __init__(self, running: Running) -> None:
        self._port = int(running.address.rpartition(":")[2])

    def ask(self, text: str, *headers: str, **more: Any) -> tuple[RawResponse, float]:
        with Raw(self._port) as line:
            began = perf_counter()
            received = line.send(post(json.dumps(chat(text, **more)).encode(), *headers)).receive()
            return received, perf_counter() - began


@contextmanager
def serving(tmp: Path, rules: str = "", **settings: Any) -> Iterator[Client]:
    file, cassettes = (
        tmp / "rules.yaml",
        folder(chat=[episode(chat("stream", stream=True), STREAM), episode(chat("limit"), LIMITED)]),
    )
    file.write_text(rules)
    flags = {"port": 0, "cassette": "chat", "cassettes": str(cassettes.path), **settings}
    with Running(start(Sources((file,), flags, {}))) as running:
        yield Client(running)


def test_the_bytes_and_headers_are_the_recorded_ones(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        for _ in range(2):  # the first is looked up, the second remembered
            received, _ = client.ask("limit")
            assert (received.status, received.body, received.headers["retry-after"]) == (429, LIMITED.body, "7")
            assert received.headers["x-mockserver-source"] == "cassette chat.yaml#2"
            assert "content-encoding" not in received.headers
            received, took = client.ask("stream", stream=True)
            assert (received.status, received.body, received.headers["content-type"]) == (
                200,
                STREAM.bytes,
                "text/event-stream",
            )
            assert took < 0.15, "without a speed nothing waits"


@pytest.mark.parametrize("speed", [1, 3])
def test_the_timing_is_the_recorded_one(tmp_path: Path, speed: float) -> None:
    with serving(tmp_path, replay_speed=speed) as client:
        for _ in range(2):
            received, took = client.ask("stream", stream=True)
            assert (received.body, took >= 0.45 / speed - 0.005) == (STREAM.bytes, True)
            assert client.ask("limit")[1] >= 0.2 / speed - 0.005
        assert client.ask("stream", "x-mockserver-timing: off", stream=True)[1] < 0.45 / speed


@pytest.mark.parametrize("speed", [0, 5])
@pytest.mark.parametrize(
    ("fault", "left"),
    [
        ("missing_field: {field: /a}", b"data: {}\n\ndata: {}\n\ndata: [DONE]\n\n"),
        ("duplicate: {after_frames: 1}", b'data: {"a":1}\n\ndata: {"a":2}\n\ndata: {"a":2}\n\ndata: [DONE]\n\n'),
        ("cut: {before_done: true}", b'data: {"a":1}\n\ndata: {"a":2}\n\n'),
    ],
)
def test_faults_of_recorded_answers(tmp_path: Path, fault: str, left: bytes, speed: float) -> None:
    with serving(tmp_path, f"rules: [{{name: bent, then: {{faults: [{{{fault}}}]}}}}]", replay_speed=speed) as client:
        received, _ = client.ask("stream", stream=True)
        assert (received.body, received.headers["x-mockserver-source"]) == (left, "cassette chat.yaml#1")


def test_defaults_that_a_recorded_or_a_live_request_states_change_nothing(tmp_path: Path) -> None:
    stated = {"temperature": 1, "n": 1, "response_format": {"type": "text"}, "tool_choice": "none"}
    recorded = folder(chat=[episode(chat("stated", **stated), '{"a":1}'), episode(chat("left out"), '{"a":2}')])
    with serving(tmp_path, cassettes=str(recorded.path)) as client:
        for more in (stated, {}):
            for text, number in (("stated", 1), ("left out", 2)):
                received, _ = client.ask(text, **more)
                assert (received.body, received.headers["x-mockserver-source"]) == (
                    json.dumps({"a": number}, separators=(",", ":")).encode(),
                    f"cassette chat.yaml#{number}",
                )
        assert client.ask("stated", temperature=0)[0].status == 404


def test_a_recorded_answer_to_an_approved_call_of_an_mcp_server_is_played() -> None:
    tool = {
        "type": "mcp",
        "server_label": "dice",
        "server_url": "https://dice.example/mcp",
        "require_approval": "always",
    }
    request = {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "dice",
        "name": "roll",
        "arguments": "{}",
    }
    said = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    asked = {"model": "gpt-4o", "tools": [tool], "input": [{"role": "user", "content": "Roll"}, request, said]}
    recorded = episode(asked, '{"output": []}', path="/openai/v1/responses", operation="responses")
    server = local(cassette="dice", cassettes=str(folder(dice=[recorded]).path), unmatched="error")
    assert server.ask("/openai/v1/responses", asked).body == b'{"output": []}'
