"""What is recorded over a WebSocket: the stream that the provider sends over HTTP, played on either of them."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, ConnectionClosedError

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.reports.calls import ReceivedCall
from mockserver.testing import MockServer
from tests.kit.socket_upstream import connect_proxy, socket_upstream
from tests.kit.sockets import Socket, create, join_deltas_of, socket


def test_a_recorded_answer_plays_over_a_socket_and_over_http(tmp_path: Path) -> None:
    options = {"cassettes": str(tmp_path), "cassette": "chat"}
    with MockServer(timing=True) as provider:
        provider.on(last_user="hello").reply("one two three", timing={"per_token": "40ms"})
        upstream = {"openai": f"{provider.url}/v1"}
        with MockServer(record="all", upstream=upstream, **options) as recorder, socket(recorder.url) as client:
            recorded = client.ask("hello")
        assert join_deltas_of(recorded) == "one two three"
        assert [call.path for call in provider.calls] == ["/v1/responses"]
    (episode,) = CassetteFile(tmp_path / "chat.yaml").load()
    times = [at for at, _ in episode.reply.frames or ()]
    assert times == sorted(times)
    assert times[-1] - times[0] >= 0.03  # two tokens after the first one, 40 ms each; a late first one catches up
    with MockServer(**options) as player:
        with socket(player.url) as client:
            assert client.ask("hello") == recorded
            sent = {**create("hello"), "stream": True}
            del sent["type"]
        answered = httpx.post(f"{player.url}/v1/responses", json=sent)
        events = [json.loads(event.partition("data: ")[2]) for event in answered.text.split("\n\n") if event]
    assert events == recorded


def recorded_and_played(tmp_path: Path, provider: MockServer, ask: Callable[[Socket], Any]) -> list[ReceivedCall]:
    """Record what a client asks, play it again to the same client, and return the calls that were recorded."""
    options: Any = {"cassettes": str(tmp_path), "cassette": "chat"}
    upstream = {"openai": f"{provider.url}/v1"}
    with MockServer(record="all", upstream=upstream, **options) as recorder:
        with socket(recorder.url) as client:
            recorded = ask(client)
        calls = [*recorder.calls]
    with MockServer(unmatched="error", **options) as player, socket(player.url) as client:
        assert ask(client) == recorded
        assert all(call.source.startswith("cassette ") for call in player.calls)
    return calls


@pytest.fixture
def provider() -> Iterator[MockServer]:
    with MockServer(timing=True, lint="off") as running:
        running.on(last_user="hello").reply("one two three")
        running.on(last_user="again", conversation="*one two three*").reply("Once more")
        running.on(last_user="refuse").fail(429, retry_after="3s")
        running.on(last_user="slow").reply("a b c d", timing={"per_token": "50ms"})
        yield running


def test_a_chain_of_which_nothing_is_stored(tmp_path: Path, provider: MockServer) -> None:
    def ask(client: Socket) -> Any:
        first = client.ask("hello")
        second = client.ask("again", previous_response_id=first[-1]["response"]["id"])
        assert join_deltas_of(second) == "Once more"
        return first, second

    calls = recorded_and_played(tmp_path, provider, ask)
    assert [call.row.recorded for call in calls] == ["cassette chat.yaml#1", "cassette chat.yaml#2"]
    assert [call.row.is_socket for call in provider.calls] == [True, True]


def test_a_warm_up_is_the_providers_too(tmp_path: Path, provider: MockServer) -> None:
    def ask(client: Socket) -> Any:
        warm = client.ask("warm", generate=False)
        goes_on = client.ask("hello", previous_response_id=warm[-1]["response"]["id"])
        assert warm[-1]["response"]["output"] == []
        assert join_deltas_of(goes_on) == "one two three"
        return warm, goes_on

    assert len(recorded_and_played(tmp_path, provider, ask)) == 2
    assert len(provider.calls) == 2


def test_lanes_and_errors(tmp_path: Path, provider: MockServer) -> None:
    def ask(client: Socket) -> Any:
        client.send(create("slow", stream_id="a"), create("hello", stream_id="b"))
        mixed = [*client.answer(), *client.answer()]
        lanes = [[frame for frame in mixed if frame["stream_id"] == lane] for lane in ("a", "b")]
        assert [join_deltas_of(frames) for frames in lanes] == ["a b c d", "one two three"]
        (refused,) = client.ask("refuse")
        assert (refused["status"], refused["error"]["code"]) == (429, "rate_limit_exceeded")
        assert refused["headers"]["retry-after"] == "3"
        return lanes, refused

    assert len(recorded_and_played(tmp_path, provider, ask)) == 3


def test_a_provider_without_sockets_is_asked_over_http(tmp_path: Path) -> None:
    with MockServer(sockets=False) as provider:
        provider.on(last_user="hello").reply("one two three")
        calls = recorded_and_played(tmp_path, provider, lambda client: (client.ask("hello"), client.ask("hello")))
        assert len(calls) == 2
        assert [call.method for call in provider.calls] == ["GET", "POST", "POST"], "it is asked for a socket once"


def test_a_rule_passes_warm_ups_and_chains_on(tmp_path: Path, provider: MockServer) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n  - {when: {last_user: here}, then: {text: from here}}\n  - {then: {forward: true}}\n")
    with MockServer(rules, upstream={"openai": f"{provider.url}/v1"}) as server, socket(server.url) as client:
        warm = client.ask("warm", generate=False)[-1]["response"]["id"]
        first = client.ask("hello", previous_response_id=warm)[-1]["response"]["id"]
        assert join_deltas_of(client.ask("again", previous_response_id=first)) == "Once more"
        assert join_deltas_of(client.ask("here")) == "from here"
    assert len(provider.calls) == 3


def test_a_key_of_the_server_goes_to_the_provider_in_place_of_the_clients(
    provider: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCKSERVER_UPSTREAM_KEY_OPENAI", "sk-of-the-server")
    seen = list[Any]()

    def answer(connection: Any, message: str) -> None:
        connection.send(json.dumps({"type": "response.completed", "response": {}}))

    with socket_upstream(answer) as upstream, forwarding(upstream.base) as server:
        with socket(server.url, headers={"x-of-the-client": "1"}) as client:
            seen = client.ask("hello", metadata={"a": "b"})
        headers = upstream.handshakes[0].headers
        assert headers["authorization"] == "Bearer sk-of-the-server"
        assert headers["x-of-the-client"] == "1"
        assert len(headers.get_all("sec-websocket-key")) == 1
        sent = json.loads(upstream.frames[0])
        assert (sent["type"], sent["input"], sent["metadata"]) == ("response.create", "hello", {"a": "b"})
    assert seen == [{"type": "response.completed", "response": {}}]


@contextmanager
def forwarding(base: str, **options: Any) -> Iterator[MockServer]:
    """A server that passes everything on."""
    with MockServer(upstream={"openai": base}, **options) as server:
        server.on().then({"forward": True})
        yield server


ODD = {
    "no JSON": "{",
    "JSON over several lines": '{\n"type": "x",\n"y": 1}',
    "no text": b'{"type":"x"}',
    "no type": '{"x":1}',
    "no object": "[]",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_frame_goes_through(name: str) -> None:
    last = json.dumps({"type": "response.completed", "response": {"id": "resp_1"}})

    def answer(connection: Any, message: str) -> None:
        connection.send(ODD[name])
        connection.send(last)

    with socket_upstream(answer) as upstream, forwarding(upstream.base) as server, socket(server.url) as client:
        client.send(create("hello"))
        odd = ODD[name]
        assert client.connection.recv(timeout=10) == (odd.decode() if isinstance(odd, bytes) else odd)
        assert client.connection.recv(timeout=10) == last


@pytest.mark.parametrize("code", [1000, 1011, 1013, 4001])
@pytest.mark.filterwarnings("ignore:an answer was not recorded")
def test_a_connection_that_the_provider_closes_is_closed_with_its_code(tmp_path: Path, code: int) -> None:
    def answer(connection: Any, message: str) -> None:
        connection.send('{"type":"response.created","response":{}}')
        connection.close(code)

    options: Any = {"cassettes": str(tmp_path), "cassette": "chat", "record": "all", "lint": "off"}
    with socket_upstream(answer) as upstream, MockServer(upstream={"openai": upstream.base}, **options) as server:
        with socket(server.url) as client:
            client.send(create("hello"))
            assert client.receive()["type"] == "response.created"
            with pytest.raises(ConnectionClosed) as closed:
                client.receive()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == code
        (call,) = server.calls
        assert f"closed with code {code}" in call.row.unrecorded
    assert not (tmp_path / "chat.yaml").exists()


def test_a_provider_that_closes_before_it_answers_is_a_bad_gateway_and_asked_again() -> None:
    def answer(connection: Any, message: str) -> None:
        if len(upstream.frames) == 1:
            connection.close(1011)
        connection.send('{"type":"response.completed","response":{}}')

    with socket_upstream(answer) as upstream, forwarding(upstream.base) as server, socket(server.url) as client:
        (failed,) = client.ask("hello")
        assert (failed["type"], failed["status"]) == ("error", 502)
        assert "closed with code 1011" in failed["error"]["message"]
        assert client.ask("hello")[-1]["type"] == "response.completed"
        assert len(upstream.handshakes) == 2


def test_a_provider_that_says_nothing_is_given_up_on() -> None:
    def answer(connection: Any, message: str) -> None:
        if "begin" in message:
            connection.send('{"type":"response.created","response":{}}')

    with (
        socket_upstream(answer) as upstream,
        forwarding(upstream.base, upstream_timeout="300ms") as server,
        socket(server.url) as client,
    ):
        (late,) = client.ask("hello")
        assert (late["status"], "upstream_timeout" in late["error"]["message"]) == (504, True)
        client.send(create("begin"))
        assert client.receive()["type"] == "response.created"
        with pytest.raises(ConnectionClosedError):
            client.receive()


def test_a_client_that_leaves_leaves_the_provider() -> None:
    left = Event()

    def answer(connection: Any, message: str) -> None:
        connection.send('{"type":"response.created","response":{}}')
        with pytest.raises(ConnectionClosed):
            connection.recv(timeout=10)
        left.set()

    with socket_upstream(answer) as upstream, forwarding(upstream.base) as server:
        with socket(server.url) as client:
            client.send(create("hello"))
            client.receive()
        assert left.wait(10)


def test_a_proxy_is_used_as_for_http(provider: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        connect_proxy() as (proxy, targets),
        forwarding(f"{provider.url}/v1") as server,
        socket(server.url, proxy=None) as client,
    ):
        for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)  # the last one is set by the servers of this test
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        assert join_deltas_of(client.ask("hello")) == "one two three"
        assert targets == [provider.url.removeprefix("http://")]


def test_a_lane_that_is_given_up_on_does_not_leave_the_others_waiting() -> None:
    def answer(connection: Any, message: str) -> None:
        if json.loads(message)["input"] == "fast":
            connection.send('{"type":"response.created","response":{},"stream_id":"b"}')

    with (
        socket_upstream(answer) as upstream,
        forwarding(upstream.base, upstream_timeout="500ms") as server,
        socket(server.url) as client,
    ):
        client.send(create("silent", stream_id="a"))
        time.sleep(0.3)
        client.send(create("fast", stream_id="b"))
        began, seen = time.monotonic(), list[str]()
        with suppress(ConnectionClosed):
            while time.monotonic() < began + 10:
                seen.append(client.receive()["type"])
        assert time.monotonic() - began < 5
        assert "response.created" in seen


def test_a_connection_that_was_closed_while_nothing_was_asked_is_opened_again() -> None:
    def answer(connection: Any, message: str) -> None:
        connection.send('{"type":"response.completed","response":{}}')
        connection.close(1001)

    with socket_upstream(answer) as upstream, forwarding(upstream.base) as server, socket(server.url) as client:
        for _ in range(3):
            assert client.ask("hello")[-1]["type"] == "response.completed"
            time.sleep(0.1)
        assert len(upstream.handshakes) == 3
