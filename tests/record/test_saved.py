"""What comes of recordings: in the file, in the journal, run after run, from several servers at once."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.server.compose import start
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from mockserver.testing import MockServer
from tests.kit.cassette_folder import chat, episode
from tests.kit.raw import Raw, RawResponse, post
from tests.kit.scripts import ANSWER, base
from tests.kit.served import Served, served
from tests.kit.upstream import Upstream


@contextmanager
def recording(folder: Path, upstream: str, record: str = "new_episodes", **settings: Any) -> Iterator[int]:
    more = {"port": 0, "cassettes": str(folder), "cassette": "chat", "record": record, **settings}
    with Running(start(Sources((), {**more, "upstream": {"openai": upstream}}))) as running:
        yield int(running.address.rpartition(":")[2])


def ask(port: int, content: Any, *headers: str, **more: Any) -> RawResponse:
    with Raw(port) as raw:
        return raw.send(post(json.dumps(chat(content, **more)).encode(), *headers)).receive()


def noted(port: int) -> Any:
    deadline = time.monotonic() + 10
    while (call := control(port, "calls?limit=1")["calls"][0])["elapsed_ms"] is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return call


def cassette(port: int) -> Any:
    return control(port, "cassette")


def control(port: int, path: str) -> Any:
    with Raw(port) as raw:
        return raw.send(f"GET /__mockserver__/api/{path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()).receive().json


def tape(folder: Path) -> CassetteFile:
    return CassetteFile(folder / "chat.yaml")


def held(folder: Path) -> list[tuple[str, str]]:
    return [
        (json.loads(each.request.body)["messages"][0]["content"], each.reply.bytes.decode())
        for each in tape(folder).load()
    ]


def test_what_is_refused_here_is_recorded_and_played(up: Upstream, tmp_path: Path) -> None:
    film = [{"type": "video_url", "video_url": {"url": "https://films.test/a.mp4"}}]
    with recording(tmp_path, base(up, "plain")) as port:
        sources = [ask(port, film).headers["x-mockserver-source"] for _ in range(2)]
    assert sources == ["forwarded", "cassette chat.yaml#1"]
    assert len(tape(tmp_path).load()) == 1


def test_the_journal_says_where_an_answer_was_recorded(up: Upstream, tmp_path: Path) -> None:
    with recording(tmp_path, base(up, "plain")) as port:
        for number, text in enumerate(("one", "two"), 1):
            ask(port, text)
            assert noted(port)["recorded"] == f"cassette chat.yaml#{number}"
        ask(port, "one")
        assert not {"recorded", "unrecorded"} & set(noted(port))


@pytest.mark.parametrize(
    ("script", "text", "told"),
    [
        (
            "plain",
            "My key is sk-proj-8fK2qLmN0pR4sT6vX9zB1dF3",
            "request, body, $.messages[0].content: sk-p...(masked)",
        ),
        ("unterminated", "hi", "the stream ended without its final event"),
        ("dropped", "hi", "broke off its answer"),
    ],
)
def test_the_journal_says_why_it_was_not(up: Upstream, tmp_path: Path, script: str, text: str, told: str) -> None:
    with recording(tmp_path, base(up, script)) as port:
        with Raw(port) as raw:
            assert b" 200 OK" in raw.send(post(json.dumps(chat(text)).encode(), "connection: close")).rest()
        call = noted(port)
    assert told in call["unrecorded"]
    assert "recorded" not in call
    assert not tape(tmp_path).exists


@pytest.mark.parametrize("record", ["new_episodes", pytest.param("all", marks=pytest.mark.slow)])
def test_two_servers_lose_nothing(up: Upstream, tmp_path: Path, record: str) -> None:
    old, texts = [f"old {number}" for number in range(8)], [f"text {number}" for number in range(16)]
    for text in old:
        tape(tmp_path).append(episode(chat(text), "before"))
    settings = {
        "cassettes": str(tmp_path),
        "cassette": "chat",
        "record": record,
        "upstream": {"openai": base(up, "plain")},
    }
    rules = f"settings: {json.dumps(settings)}\n"
    asked = [*old, *texts] if record == "all" else texts
    with served(rules) as one, served(rules) as two, ThreadPoolExecutor(8) as pool:

        def answered(pair: tuple[Served, str]) -> bytes:
            return ask(pair[0].port, pair[1]).body

        answers = list(pool.map(answered, [(server, text) for text in asked for server in (one, two)]))
    assert answers == [ANSWER] * 2 * len(asked)
    kept = [] if record == "all" else [(text, "before") for text in old]
    assert sorted(held(tmp_path)) == sorted([*kept, *((text, ANSWER.decode()) for text in asked for _ in range(2))])
    assert not any(document.is_edited for document in tape(tmp_path).load_documents())


def test_what_a_request_says_of_mcp_servers_is_kept_nowhere(tmp_path: Path) -> None:
    secret = "aB3dE6gH9"
    address = f"https://me:{secret}1@h/s/{secret}jK0l/mcp?api_key={secret}2"
    tool = {"type": "mcp", "server_label": "a", "server_url": address}
    body = {"model": "gpt-4o", "input": "hi", "tools": [{**tool, "headers": {"X-Foo": f"{secret}3"}}]}
    upstream = Running(start(Sources((), {"port": 0, "unmatched": "generate"})))
    with upstream, recording(tmp_path, f"{upstream.address}/v1") as port, Raw(port) as raw:
        answered = raw.send(post(json.dumps(body).encode(), path="/v1/responses")).receive()
        assert json.dumps(answered.json).count(secret) == 4  # it echoes the tools
        noted(port)  # and is over
        shown = json.dumps(control(port, "calls/1"))
    text = (tmp_path / "chat.yaml").read_text()
    assert "https://me:<API_KEY>@h/s/<API_KEY>/mcp?api_key=<API_KEY>" in text
    assert [secret in each for each in (text, shown)] == [False, False]


@pytest.mark.parametrize(
    ("record", "advice"),
    [
        (
            "once",
            "It is asked for everything, as chat.yaml was empty at the start (record: once); to replay the 1 episode"
            " that it has now, start the server again, or set --record none.",
        ),
        (
            "all",
            "With record: all, it is asked for everything; to replay the 1 episode of chat.yaml, set --record none.",
        ),
        ("new_episodes", "and the setting upstream."),
    ],
)
def test_without_its_upstream_a_server_says_how_to_replay(record: str, advice: str, tmp_path: Path) -> None:
    provider = MockServer(unmatched="generate").start()
    with recording(tmp_path, f"{provider.url}/v1", record) as port:
        assert ask(port, "hi").status == 200
        provider.stop()
        asked = ask(port, "hi" if record != "new_episodes" else "bye")
    assert asked.status == 502
    assert asked.json["error"]["message"].endswith(advice)
