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

from mockserver.delivery.faults import ONLY_OVER_HTTP
from mockserver.testing import MockServer
from tests.kit.served import served
from tests.kit.sockets import create, join_deltas_of, socket

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


@pytest.mark.parametrize("place", ["ResponsesSession._respond", "EventSender.expect"])
def test_a_turn_that_mockserver_fails_in_fails_the_test(
    server: MockServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    with socket(server.url) as client, monkeypatch.context() as patched:
        patched.setattr(f"mockserver.server.sockets.responses_session.{place}", None)
        client.send(create("hello"))
        with pytest.raises(ConnectionClosedError) as closed:
            client.receive()
    assert closed.value.rcvd.code == 1011
    assert server.problems()[0].headline.startswith("internal error of mockserver, please report it: TypeError: ")
    assert "internal error of mockserver on a WebSocket" in caplog.text
    server.reset()  # or its end would fail


def test_every_mount_and_namespace_has_one(server: MockServer) -> None:
    for path in ("/v1/responses", "/openai/v1/responses", "/ns/mine/openai/v1/responses"):
        with socket(server.url, path) as client:
            assert join_deltas_of(client.ask("hello")) == "Hello there", path
    with socket(server.url, "/azure-openai/openai/v1/responses", headers={"api-key": "k"}) as client:
        assert join_deltas_of(client.ask("hello")) == "Hello there"
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
        assert join_deltas_of(client.ask("and now?", previous_response_id=first)) == "You said hello."


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
            assert (join_deltas_of(again) == "You said hello.") is known


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
    "deep within": ('{"type": "response.create", "x": ' + "[" * 950 + "]" * 950 + "}", "invalid_json", None),
    "no type": ({"model": "gpt-4o"}, "missing_required_parameter", "type"),
    "another type": ({"type": "session.update"}, "invalid_value", "type"),
    "a type that is no text": ({"type": 3}, "invalid_value", "type"),
    "in the background": (create("x", background=True), "unsupported_parameter", "background"),
    "a bad lane": (create("x", stream_id="a b"), "invalid_stream_id", "stream_id"),
    "twice a key": ('{"type": "response.create", "type": "x"}', "invalid_json", None),
    "no number": ('{"type": "response.create", "temperature": NaN}', "invalid_json", None),
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
        assert join_deltas_of(client.ask("hello")) == "Hello there"
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


def test_steering_is_refused_as_the_provider_refuses_it(server: MockServer) -> None:
    sent = {"type": "response.steer", "input": [], "previous_response_id": "resp_1", "stream_id": "a"}
    with socket(server.url) as client:
        failed = client.send(sent).receive()
    assert failed["error"]["code"] == "steering_not_supported"
    assert failed["steer"] == {"input": [], "previous_response_id": "resp_1"}
    assert (failed["type"], failed["stream_id"]) == ("response.steer.failed", "a")


def test_an_error_does_not_wait_for_answers(server: MockServer) -> None:
    with socket(server.url) as client:
        client.send(create("slow"), "{")
        assert client.receive()["type"] == "error"
        assert client.answer()[-1]["type"] == "response.completed"


def test_refusals_open_no_lanes(server: MockServer) -> None:
    with socket(server.url) as client:
        for lane in range(40):
            assert client.send({"type": "x", "stream_id": f"l{lane}"}).receive()["type"] == "error"
        assert client.ask("hello", stream_id="first")[-1]["type"] == "response.completed"


def test_what_waits_is_bounded_and_all_of_it_is_answered(rules: Path) -> None:
    with MockServer(rules, max_body="100kB", timing=True) as server, socket(server.url) as client:
        client.send(create("slow"), *[create(f"hello {'x' * 40_000}") for _ in range(10)])
        assert client.answer()[-1]["type"] == "response.completed"
        assert [client.answer()[-1]["type"] for _ in range(10)] == ["response.completed"] * 10


def test_an_append_goes_on_from_the_response_before_it_though_that_was_not_made_yet(server: MockServer) -> None:
    server.on(last_user="continue", conversation="*Hello there*").reply("CONTINUED")
    with socket(server.url) as client:
        client.send(create("hello"), {**create("continue"), "type": "response.append"})
        assert join_deltas_of(client.answer()) == "Hello there"
        assert join_deltas_of(client.answer()) == "CONTINUED"


def test_a_cut_is_noticed_whatever_the_request_says(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two", faults=["cut"])
    with socket(server.url) as client:
        client.send(create("hello", metadata={"type": "error", "x": "response.completed"}), create("next"))
        with pytest.raises(ConnectionClosedOK):
            client.answer()
    assert [call.last_user for call in server.calls if call.status] == ["hello"]


def test_a_handshake_may_state_that_it_has_no_body(server: MockServer) -> None:
    """Java's HttpClient does so."""
    with socket(server.url, headers={"Content-Length": "0"}) as client:
        assert join_deltas_of(client.ask("hello")) == "Hello there"


def test_a_handshake_may_have_long_headers(server: MockServer) -> None:
    with socket(server.url, key="k" * 20_000) as client:
        assert join_deltas_of(client.ask("hello")) == "Hello there"


def test_what_is_no_handshake_is_answered_over_http(server: MockServer) -> None:
    sent = {"model": "gpt-4o", "input": "hello"}
    assert httpx.post(f"{server.url}/v1/responses", json=sent, headers={"upgrade": "websocket"}).status_code == 200
    port = int(server.url.rpartition(":")[2])
    head = "GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    for more in ("content-length: 2\r\n\r\n{}", "sec-websocket-version: 13\r\n\r\n"):
        with sockets.create_connection(("localhost", port), timeout=30) as connection:
            connection.sendall((head + more).encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 4")


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
        assert join_deltas_of(seen) == "one two"
    elif name not in ("duplicate", "reorder"):
        assert join_deltas_of(seen) == "one two three four"
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


@pytest.mark.parametrize("code", [1000, 1001, 1008, 1011, 1012, 1013, 3000, 4999])
def test_any_code_may_be_chosen(code: int, server: MockServer) -> None:
    server.on(last_user="hello").reply("one", faults=[{"disconnect": {"code": code}}])
    with socket(server.url) as client:
        client.send(create("hello"))
        with pytest.raises(ConnectionClosed) as closed:
            client.receive()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


@pytest.mark.parametrize("name", sorted(ONLY_OVER_HTTP))
def test_a_fault_of_http_does_nothing_and_a_remark_says_so(name: str, server: MockServer) -> None:
    server.on(last_user="hello").reply("one two", faults=[name])
    server.on(last_user="fail").fail(429, faults=[name])
    with socket(server.url) as client:
        assert join_deltas_of(client.ask("hello")) == "one two"
        assert client.ask("fail")[0]["status"] == 429
        assert join_deltas_of(client.ask("call")) == ""
    for call in server.calls[:2]:
        assert call.faults == (name,)
        assert f"the fault {name} does nothing over a WebSocket" in call.answer_remarks
        assert call.row.unaffected
    assert not server.calls[2].answer_remarks


def test_a_fault_acts_on_the_event_of_an_error(server: MockServer) -> None:
    faults: list[Any] = ["malformed_json", {"disconnect": {"code": 1013}}, {"missing_field": {"field": "/error/code"}}]
    for fault in faults:
        server.on(last_user=f"fail {faults.index(fault)}").fail(429, faults=[fault])
    with socket(server.url) as client:
        client.send(create("fail 0"))
        broken = client.connection.recv(timeout=10)
        assert isinstance(broken, str)
        assert not _parses(broken)
        assert broken.startswith('{"type":"error","status":429,"error":{"type":"requests"')
        (without,) = client.ask("fail 2")
        assert (without["status"], "code" in without["error"]) == (429, False)
        client.send(create("fail 1"))
        with pytest.raises(ConnectionClosedError, match="1013"):
            client.receive()


def test_an_error_in_the_middle_is_the_event_that_clients_of_a_socket_know(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two", faults=[{"error_event": {"after_tokens": 1, "reason": "rate_limit"}}])
    with socket(server.url) as client:
        *before, error = client.ask("hello")
        assert join_deltas_of(before) == "one"
        assert (error["type"], error["status"], error["error"]["code"]) == ("error", 429, "rate_limit_exceeded")
        assert join_deltas_of(client.ask("call")) == "", "the connection goes on"


def test_slowness_delays_whole_events(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two", faults=[{"slow": {"bytes_per_second": 50_000}}])
    with socket(server.url) as client:
        began = time.monotonic()
        frames = client.ask("hello")
        assert join_deltas_of(frames) == "one two"
        assert time.monotonic() - began > sum(len(json.dumps(frame)) for frame in frames) / 60_000


def test_a_last_event_that_is_broken_ends_the_answer_but_not_the_connection(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two", faults=[{"malformed_json": {"before_done": True}}])
    with socket(server.url) as client:
        client.send(create("hello"))
        while _parses(client.connection.recv(timeout=10)):
            pass
        assert client.ask("call")[-1]["type"] == "response.completed"


def test_each_answer_is_a_call(server: MockServer) -> None:
    with socket(server.url, key="sk-secret-1") as client:
        client.ask("hello")
        client.ask("refuse")
    first, second = server.calls
    assert (first.status, first.operation, first.method) == (200, "responses", "POST")
    assert first.source.startswith("rule ")
    assert first.websocket
    listed = httpx.get(f"{server.url}/__mockserver__/api/calls").json()["calls"]
    assert [call.get("websocket") for call in listed] == [True, True]
    assert httpx.get(f"{server.url}/v1/models").status_code == 200
    assert not server.calls[-1].websocket
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
            assert join_deltas_of(client.ask("hello")) == "Hello there"


def test_limits_count_each_answer(rules: Path) -> None:
    with MockServer(rules, limits={"requests_per_minute": 1}) as server, socket(server.url) as client:
        assert client.ask("hello")[-1]["type"] == "response.completed"
        (refused,) = client.ask("hello")
    assert (refused["status"], refused["error"]["code"]) == (429, "rate_limit_exceeded")
    assert "retry-after" in refused["headers"]
    assert refused["headers"] == refused["error"]["headers"]


def test_limits_count_handshakes(rules: Path, caplog: pytest.LogCaptureFixture) -> None:
    with MockServer(rules, limits={"requests_per_minute": 1}) as server:
        with socket(server.url, key="sk-a") as client:
            assert client.ask("hello")[-1]["type"] == "response.completed"
        with pytest.raises(InvalidStatus) as refused, socket(server.url, key="sk-a"):
            pass
        answer = refused.value.response
        over_http = httpx.post(
            f"{server.url}/v1/responses", json={"model": "gpt-4o"}, headers={"authorization": "Bearer sk-a"}
        )
        with socket(server.url, key="sk-b") as client:
            assert client.ask("hello")[-1]["type"] == "response.completed"
        row = server.calls[1]
    assert (answer.status_code, json.loads(answer.body)["error"]["code"]) == (429, "rate_limit_exceeded")
    assert json.loads(answer.body)["error"]["message"].startswith("Rate limit reached for WebSocket connections in org")
    ours = {name.lower() for name in answer.headers}
    assert {name for name in over_http.headers if name.startswith(("x-ratelimit", "retry-after"))} <= ours
    assert (answer.headers["x-ratelimit-limit-requests"], answer.headers["x-ratelimit-remaining-requests"]) == (
        "1",
        "0",
    )
    assert (row.method, row.status, row.source, row.ended) == ("GET", 429, "limited", "complete")
    assert not caplog.records


def test_what_is_no_websocket_closes_the_connection(server: MockServer) -> None:
    port = int(server.url.rpartition(":")[2])
    head = (
        "GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    for junk in (b"\xff\xff\xff\xff", b"\x81\x05hello", b"\xc1\x80\0\0\0\0", b"GET / HTTP/1.1\r\n\r\n"):
        with sockets.create_connection(("localhost", port), timeout=30) as connection:
            connection.sendall(head.encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 101 ")
            connection.sendall(junk)
            received = connection.recv(4096)
            assert received[:1] == b"\x88", junk  # a close frame
            assert int.from_bytes(received[2:4], "big") == 1002, junk
    with sockets.create_connection(("localhost", port), timeout=30) as connection:
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
        running = server.local._running
        assert running is not None
        running.hang_up()
        with pytest.raises(ConnectionClosedError):
            client.receive()
