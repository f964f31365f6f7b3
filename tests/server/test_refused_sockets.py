"""Rules that refuse a WebSocket before it opens: over HTTP, with the provider's error, or by a fault."""

from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI
from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus

from mockserver.config.errors import MockserverError
from mockserver.testing import MockServer
from tests.kit.sockets import join_deltas_of, socket

pytestmark = pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="error") as running:
        running.on(last_user="hello").reply("Hello there")
        yield running


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_an_error_of_a_rule_is_the_answer_to_the_handshake(status: int, server: MockServer) -> None:
    server.on(operation="websocket").reply(error=status, headers={"x-reason": "maintenance"}).times(1)
    client = OpenAI(base_url=server.base_url(), api_key="any")
    with pytest.raises(InvalidStatus) as refused, client.responses.connect():
        pass
    response = refused.value.response
    assert (response.status_code, response.headers["x-reason"]) == (status, "maintenance")
    assert b'"message"' in response.body
    with socket(server.url) as connection:
        assert join_deltas_of(connection.ask("hello")) == "Hello there"
    first, second = server.calls
    assert (first.operation, first.method, first.status, first.websocket) == ("websocket", "GET", status, True)
    assert (first.source.partition(" ")[0], first.ended, second.operation) == ("rule", "complete", "responses")


def test_conditions_are_those_of_any_request(server: MockServer) -> None:
    server.on(operation="websocket", path="*/realtime").reply(error=503)
    server.on(operation="websocket", key="old").reply(raw={"status": 410, "body": "gone"})
    for path, key, status in (("/v1/realtime?model=gpt-realtime", "new", 503), ("/v1/responses", "old", 410)):
        with pytest.raises(InvalidStatus) as refused, socket(server.url, path, key=key):
            pass
        assert refused.value.response.status_code == status
    with socket(server.url, key="new") as connection:
        assert join_deltas_of(connection.ask("hello")) == "Hello there"


def test_rules_that_do_not_name_it_are_for_what_is_asked_on_the_connection(server: MockServer) -> None:
    server.on(path="/v1/responses").reply(error=503)
    with socket(server.url) as connection:
        assert connection.ask("hi")[0]["status"] == 503
    assert [call.operation for call in server.calls] == ["responses"]


@pytest.mark.parametrize("fault", ["reset", "disconnect"])
def test_a_fault_breaks_the_handshake(fault: Any, server: MockServer, caplog: pytest.LogCaptureFixture) -> None:
    server.on(operation="websocket").then({"faults": [fault]})
    with pytest.raises(InvalidMessage), socket(server.url):
        pass
    assert caplog.messages == []


def test_a_client_that_gives_up_on_a_stalled_handshake_keeps_nothing_waiting(server: MockServer) -> None:
    server.on(operation="websocket").then({"faults": ["stall"]})
    with pytest.raises((InvalidHandshake, TimeoutError)), socket(server.url, open_timeout=0.2):
        pass
    server.local.wait_until_idle(5)
    assert server.calls[0].ended == "client left after 0 bytes"


@pytest.mark.parametrize("then", [{"text": "hi"}, {"json": {"a": 1}}, {"forward": True}])
def test_only_a_refusal_can_answer(then: Any, server: MockServer) -> None:
    with pytest.raises(MockserverError, match='cannot answer the operation "websocket"'):
        server.on(operation="websocket").then(then)


def test_a_miss_on_the_connection_names_the_nearest_rule(server: MockServer) -> None:
    with socket(server.url) as connection:
        (missed,) = connection.ask("hallo")
    assert (missed["status"], "last_user" in missed["error"]["message"]) == (404, True)
    assert [call.source for call in server.calls] == ["unmatched"]
    server.reset()
