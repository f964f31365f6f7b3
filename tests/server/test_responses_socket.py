"""Responses over a WebSocket: the same events as over HTTP, one a frame; lanes, chains, faults, errors, the end."""

import json
import os
import signal
import socket as sockets
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, ConnectionClosedError, ConnectionClosedOK, InvalidStatus

from mockserver.testing import MockServer
from tests.kit.served import served
from tests.kit.sockets import create, socket, text_of

RULES = """
version: 1
rules:
  - when: {last_user: slow*}
    then: {text: one two three four, timing: {per_token: 60ms}}
  - when: {last_user: refuse}
    then: {error: 429, retry_after: 2s}
  - when: {last_user: call}
    then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
  - when: {last_user: break}
    then: {text: one two, failed: true}
  - when: {last_user: raw}
    then: {raw: {status: 503, body: busy}}
  - when: {turn: 1}
    then: {text: "You said {{ messages[0].text }}."}
  - then: {text: Hello there}
"""


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(RULES)
    return file


@pytest.fixture
def server(rules: Path) -> Iterator[MockServer]:
    with MockServer(rules, unmatched="generate", timing=True, lint="off") as running:
        yield running


def over_http(server: MockServer, **body: Any) -> list[Any]:
    sent = {"model": "gpt-4o", "store": False, **body, "stream": True}
    answered = httpx.post(f"{server.url}/v1/responses", json=sent)
    return [json.loads(event.partition("data: ")[2]) for event in answered.text.split("\n\n") if event]


@pytest.mark.parametrize("text", ["hello", "call", "break", "slow"])
def test_the_frames_are_the_events_of_the_stream_over_http(server: MockServer, text: str) -> None:
    with socket(server.url) as client:
        assert client.ask(text) == over_http(server, input=text)


def test_every_mount_and_namespace_has_one(server: MockServer) -> None:
    for path in ("/v1/responses", "/openai/v1/responses", "/ns/mine/openai/v1/responses"):
        with socket(server.url, path) as client:
            assert text_of(client.ask("hello")) == "Hello there", path
    with socket(server.url, "/azure-openai/openai/v1/responses", headers={"api-key": "k"}) as client:
        assert text_of(client.ask("hello")) == "Hello there"
    assert [call.path for call in server.calls][-1] == "/azure-openai/openai/v1/responses"


def test_answers_of_a_lane_come_one_after_the_other_and_lanes_side_by_side(server: MockServer) -> None:
    with socket(server.url) as client:
        client.send(create("slow 1"), create("slow 2"))
        first, second = client.answer(), client.answer()
        assert [frame["sequence_number"] for frame in (*first, *second)] == [*range(len(first)), *range(len(second))]
        assert "stream_id" not in first[0]
        client.send(create("slow 1", stream_id="a"), create("slow 2", stream_id="b"))
        mixed = [*client.answer(), *client.answer()]
    lanes = [frame["stream_id"] for frame in mixed]
    assert set(lanes) == {"a", "b"}
    assert set(lanes[: len(first)]) == {"a", "b"}, "the second lane waited for the first"
    assert all(list(frame)[-1] == "stream_id" for frame in mixed)


def test_a_chain_goes_on_from_answers_of_the_connection_though_nothing_is_stored(server: MockServer) -> None:
    with socket(server.url) as client:
        first = client.ask("hello")[-1]["response"]["id"]
        assert text_of(client.ask("and now?", previous_response_id=first)) == "You said hello."


def test_a_chain_does_not_go_on_from_what_another_connection_got() -> None:
    with served(RULES, flags=("--unmatched", "error")) as server:
        with socket(server.address) as client:
            first = client.ask("hello")[-1]["response"]["id"]
        with socket(server.address) as client:
            failed = client.ask("and now?", previous_response_id=first)
    assert failed[0]["error"]["code"] == "previous_response_not_found"
    assert (failed[0]["type"], failed[0]["status"]) == ("error", 400)


def test_a_stored_answer_is_known_over_http_and_the_other_way_round(server: MockServer) -> None:
    with socket(server.url) as client:
        stored = client.ask("hello", store=True)[-1]["response"]["id"]
    assert over_http(server, input="more", previous_response_id=stored)[-1]["response"]["status"] == "completed"
    assert httpx.get(f"{server.url}/v1/responses/{stored}").json()["id"] == stored


def test_a_refused_continuation_forgets_its_parent_in_the_same_lane_only(server: MockServer) -> None:
    with socket(server.url) as client:
        parent = client.ask("hello", stream_id="a")[-1]["response"]["id"]
        for lane, known in (("b", True), ("a", False)):
            assert client.ask("refuse", previous_response_id=parent, stream_id=lane)[0]["type"] == "error"
            again = client.ask("and now?", previous_response_id=parent, stream_id=lane)
            assert (text_of(again) == "You said hello.") is known


def test_a_warm_up_writes_nothing_and_can_be_gone_on_from(server: MockServer) -> None:
    for fields in ({"generate": False}, {"prompt_cache_options": {"prewarm": True}}):
        with socket(server.url) as client:
            frames = client.ask("hello", **fields)
            done = frames[-1]["response"]
            assert [frame["type"] for frame in frames] == [
                "response.created",
                "response.in_progress",
                "response.completed",
            ]
            assert (done["output"], done["usage"]["output_tokens"]) == ([], 0)
            assert done["usage"]["input_tokens"] > 0
            assert done["id"] != client.ask("hello")[-1]["response"]["id"]
            assert client.ask("hello", previous_response_id=done["id"])[-1]["type"] == "response.completed"


ERRORS = {
    "no JSON": ("{", "invalid_json", None),
    "no object": ("[1]", "invalid_json", None),
    "binary": (b"\x00", "invalid_json", None),
    "deep": ("[" * 100_000, "invalid_json", None),
    "no type": ({"model": "gpt-4o"}, "missing_required_parameter", "type"),
    "another type": ({"type": "session.update"}, "invalid_value", "type"),
    "a type that is no text": ({"type": 3}, "invalid_value", "type"),
    "in the background": (create("x", background=True), "unsupported_parameter", "background"),
    "a bad lane": (create("x", stream_id="a b"), "invalid_stream_id", "stream_id"),
    "steering": ({"type": "response.steer", "input": [], "previous_response_id": "r"}, "steering_not_supported", None),
    "a bad field": (create("x", temperature=9), "decimal_above_max_value", "temperature"),
    "a rule": (create("refuse"), "rate_limit_exceeded", None),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_an_event_and_the_connection_goes_on(name: str, server: MockServer) -> None:
    sent, code, param = ERRORS[name]
    with socket(server.url) as client:
        (error,) = client.send(sent).answer()
        assert (error["type"], error["error"]["code"], error["error"]["param"]) == ("error", code, param)
        assert error["status"] == (429 if name == "a rule" else 400)
        assert ("headers" in error) is (name == "a rule")
        assert text_of(client.ask("hello")) == "Hello there"
    assert len(server.calls) == 2


def test_an_answer_that_is_no_json_of_a_provider(server: MockServer) -> None:
    with socket(server.url) as client:
        assert client.ask("raw") == [
            {
                "type": "error",
                "status": 503,
                "error": {"type": "server_error", "code": None, "message": "busy", "param": None},
            }
        ]


def test_there_are_at_most_32_lanes(server: MockServer) -> None:
    with socket(server.url) as client:
        for lane in range(32):
            assert client.ask("hello", stream_id=f"lane-{lane}")[-1]["type"] == "response.completed"
        assert client.ask("hello", stream_id="one-more")[0]["error"]["code"] == "websocket_stream_limit_reached"
        assert client.ask("hello", stream_id="lane-0")[-1]["type"] == "response.completed"


FAULTS: dict[str, tuple[Any, type[Exception] | None]] = {
    "cut": ({"cut": {"after_tokens": 2}}, ConnectionClosedOK),
    "disconnect": ({"disconnect": {"after_tokens": 2}}, ConnectionClosedError),
    "reset": ({"reset": {"after_tokens": 2}}, ConnectionClosedError),
    "stall": ({"stall": {"after_tokens": 2}}, TimeoutError),
    "duplicate": ({"duplicate": {"after_tokens": 1}}, None),
    "reorder": ("reorder", None),
    "split_frame": ("split_frame", None),
    "crlf": ("crlf", None),
    "keepalive": ("keepalive", None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str, server: MockServer) -> None:
    fault, raised = FAULTS[name]
    server.on(last_user="hello").reply("one two three four", faults=[fault])
    seen = []
    with socket(server.url) as client:
        client.send(create("hello"))
        with pytest.raises(raised) if raised else nullcontext():
            while not seen or seen[-1]["type"] != "response.completed":
                seen.append(json.loads(client.connection.recv(timeout=0.5)))
    if raised is not None:
        assert text_of(seen) == "one two"
    elif name not in ("duplicate", "reorder"):
        assert text_of(seen) == "one two three four"
    assert server.calls[-1].faults == (name,)


def test_a_close_frame_of_a_chosen_code(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two three four", faults=[{"disconnect": {"after_tokens": 2, "code": 1011}}])
    with socket(server.url) as client:
        client.send(create("hello"))
        with pytest.raises(ConnectionClosedError) as closed:
            client.answer()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1011
    assert server.calls[-1].ended.startswith("disconnected")


def test_malformed_json_reaches_the_client_as_it_is(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two three four", faults=["malformed_json"])
    with socket(server.url) as client:
        client.send(create("hello"))
        frames = [client.connection.recv(timeout=10) for _ in range(8)]
    unparsed = [frame for frame in frames if not _parses(frame)]
    assert len(unparsed) == 1


def _parses(frame: str | bytes) -> bool:
    try:
        json.loads(frame)
    except ValueError:
        return False
    return True


def test_each_answer_is_a_call(server: MockServer) -> None:
    with socket(server.url, key="sk-secret-1") as client:
        client.ask("hello")
        client.ask("refuse")
    first, second = server.calls
    assert (first.status, first.operation, first.method) == (200, "responses", "POST")
    assert first.source.startswith("rule ")
    assert (second.status, second.ended) == (429, "complete")
    assert "sk-secret-1" not in str(httpx.get(f"{server.url}/__mockserver__/api/calls").text)


def test_a_client_that_leaves_ends_its_answers(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two", faults=["stall"])
    with socket(server.url) as client:
        client.send(create("hello"))
        time.sleep(0.2)
    deadline = time.monotonic() + 5
    while not server.calls[-1].ended and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.calls[-1].ended.startswith("client left")


def test_a_key_that_is_not_accepted_and_a_page_are_refused_before_the_socket_opens(rules: Path) -> None:
    with MockServer(rules, keys=["sk-right"]) as server:
        with pytest.raises(InvalidStatus) as refused, socket(server.url, key="sk-wrong"):
            pass
        assert refused.value.response.status_code == 401
        assert json.loads(refused.value.response.body)["error"]["code"] == "invalid_api_key"
        with pytest.raises(InvalidStatus) as refused, socket(server.url, key="sk-right", origin="https://evil.example"):
            pass
        assert refused.value.response.status_code == 403
        with socket(server.url, key="sk-right") as client:
            assert text_of(client.ask("hello")) == "Hello there"


def test_limits_count_each_answer(rules: Path) -> None:
    with MockServer(rules, limits={"requests_per_minute": 1}) as server, socket(server.url) as client:
        assert client.ask("hello")[-1]["type"] == "response.completed"
        (refused,) = client.ask("hello")
    assert (refused["status"], refused["error"]["code"]) == (429, "rate_limit_exceeded")
    assert "retry-after" in refused["headers"]
    assert refused["headers"] == refused["error"]["headers"]


def test_what_is_no_websocket_closes_the_connection(server: MockServer) -> None:
    port = int(server.url.rpartition(":")[2])
    head = (
        "GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    for junk in (b"\xff\xff\xff\xff", b"\x81\x05hello", b"\xc1\x80\0\0\0\0", b"GET / HTTP/1.1\r\n\r\n"):
        with sockets.create_connection(("localhost", port), timeout=5) as connection:
            connection.sendall(head.encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 101 ")
            connection.sendall(junk)
            received = connection.recv(4096)
            assert received[:1] == b"\x88", junk  # a close frame
            assert int.from_bytes(received[2:4], "big") == 1002, junk
    with sockets.create_connection(("localhost", port), timeout=5) as connection:
        connection.sendall(head.replace("sec-websocket-version: 13", "sec-websocket-version: 7").encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 4")


def test_a_frame_that_is_too_large_closes_the_connection(rules: Path) -> None:
    with MockServer(rules, max_body="100kB") as server, socket(server.url) as client:
        client.send(create("x" * 200_000))
        with pytest.raises(ConnectionClosedError) as closed:
            client.receive()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


def test_a_server_that_stops_lets_answers_end_and_says_that_it_restarts() -> None:
    with served(RULES) as server, socket(server.address) as client, socket(server.address) as idle:
        client.send(create("slow"))
        assert client.receive()["type"] == "response.created"
        os.kill(server.pid, signal.SIGTERM)
        assert client.answer()[-1]["type"] == "response.completed"
        for each in (client, idle):
            with pytest.raises(ConnectionClosed) as closed:
                each.receive()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1012


def test_a_reset_ends_answers_that_are_being_sent(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two", faults=["stall"])
    with socket(server.url) as client:
        client.send(create("hello"))
        time.sleep(0.2)
        running = server._running
        assert running is not None
        running.hang_up()
        with pytest.raises(ConnectionClosedError):
            client.receive()
