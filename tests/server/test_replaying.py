"""Recorded answers over a real socket: their bytes, their beat, and what befalls them."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from mockserver.core.episode import Recorded
from mockserver.server.live import Sources, start
from mockserver.server.run import Running
from tests.kit.reels import CHAT, HEADERS, Folder, chat, episode, folder, streamed

STREAM = streamed('{"a":1}', '{"a":2}', "[DONE]", every=0.15)
CODED = (*HEADERS, ("retry-after", "7"), ("content-encoding", "gzip"))
LIMITED = Recorded(429, CODED, b'{"error": "slow  down"}\n', took=0.2)
HELD = {"chat": [episode(chat("stream", stream=True), STREAM), episode(chat("limit"), LIMITED)]}


@dataclass(frozen=True)
class Got:
    """An answer, and when its body began and ended, in seconds since it was asked for."""

    status: int
    headers: dict[str, str]
    body: bytes
    first: float
    last: float


@dataclass(frozen=True)
class Client:
    """Asks a running server."""

    port: int

    def ask(self, text: str, path: str = CHAT, headers: dict[str, str] | None = None, **more: Any) -> Got:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        began = perf_counter()
        fields = {"content-type": "application/json", **(headers or {})}
        connection.request("POST", path, json.dumps(chat(text, **more)), fields)
        response = connection.getresponse()
        try:
            body = response.read(1)
            first = perf_counter() - began
            body += response.read()
        except http.client.IncompleteRead as broken:
            body += broken.partial
        last = perf_counter() - began
        connection.close()
        told = {name.lower(): value for name, value in response.headers.items()}
        return Got(response.status, told, body, first, last)


@contextmanager
def served(held: Folder, rules: str, tmp: Path, **settings: Any) -> Iterator[Client]:
    file = tmp / "rules.yaml"
    file.write_text(rules)
    with Running(
        start(Sources((file,), {"port": 0, "cassette": "chat", "cassettes": str(held.path), **settings}, {}))
    ) as running:
        yield Client(int(running.address.rpartition(":")[2]))


def test_the_bytes_and_headers_are_those_that_were_recorded(tmp_path: Path) -> None:
    with served(folder(**HELD), "", tmp_path) as client:
        for _ in range(3):  # the first is looked up, the others are remembered
            got = client.ask("limit")
            assert (got.status, got.body) == (429, LIMITED.body)
            assert got.headers["retry-after"] == "7"
            assert got.headers["content-length"] == str(len(LIMITED.body))
            assert "content-encoding" not in got.headers
            assert got.headers["x-mockserver-source"] == "cassette chat.yaml#2"
            got = client.ask("stream", stream=True)
            assert (got.status, got.body) == (200, STREAM.bytes)
            assert got.headers["content-type"] == "text/event-stream"
            assert got.last < 0.15, "without a speed nothing waits"


@pytest.mark.parametrize(("speed", "first", "last"), [(1, 0.15, 0.45), (3, 0.05, 0.15)])
def test_the_beat_is_kept(tmp_path: Path, speed: float, first: float, last: float) -> None:
    with served(folder(**HELD), "", tmp_path, replay_speed=speed) as client:
        for _ in range(2):
            got = client.ask("stream", stream=True)
            assert got.body == STREAM.bytes
            assert got.first >= first - 0.005
            assert got.last >= last - 0.005
            assert client.ask("limit").first >= 0.2 / speed - 0.005
        assert client.ask("stream", stream=True, headers={"x-mockserver-timing": "off"}).last < last


FAULTS: list[tuple[str, bytes]] = [
    ("cut: {after_frames: 1}", b'data: {"a":1}\n\n'),
    ("missing_field: {field: /a}", b"data: {}\n\ndata: {}\n\ndata: [DONE]\n\n"),
    ("duplicate: {after_frames: 1}", b'data: {"a":1}\n\ndata: {"a":2}\n\ndata: {"a":2}\n\ndata: [DONE]\n\n'),
    ("cut: {before_done: true}", b'data: {"a":1}\n\ndata: {"a":2}\n\n'),
]


@pytest.mark.parametrize("speed", [0, 5])
@pytest.mark.parametrize(("fault", "left"), FAULTS)
def test_faults_befall_what_was_recorded(tmp_path: Path, fault: str, left: bytes, speed: float) -> None:
    rules = f"rules: [{{name: bent, then: {{faults: [{{{fault}}}]}}}}]"
    with served(folder(**HELD), rules, tmp_path, replay_speed=speed) as client:
        got = client.ask("stream", stream=True)
        assert got.body == left
        assert got.headers["x-mockserver-source"] == "cassette chat.yaml#1"
