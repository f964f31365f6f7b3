"""Requests for a WebSocket get a 426 in the dialect's shape, on which clients fall back to HTTP at once."""

import json
from collections.abc import Iterator

import httpx2
import pytest

from mockserver.testing import MockServer
from tests.kit.raw import Raw

UPGRADE = ("connection: Upgrade", "upgrade: WebSocket", "sec-websocket-version: 13", "sec-websocket-key: AAAA")
PATHS = {
    "/v1/responses": "invalid_request_error",
    "/openai/v1/responses": "invalid_request_error",
    "/ns/mine/openai/v1/responses": "invalid_request_error",
    "/v1/models": "invalid_request_error",  # which a plain GET reads
    "/tzafon/v1/responses": None,
    "/azure-openai/openai/v1/responses": None,
    "/anthropic/v1/messages": "invalid_request_error",
    "/gemini/v1beta/models/gemini-2.5-flash:generateContent": None,
}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(sockets=False) as running:
        yield running


@pytest.fixture
def line(server: MockServer) -> Iterator[Raw]:
    with Raw(int(server.url.rpartition(":")[2])) as connection:
        yield connection


def head(path: str, *headers: str) -> bytes:
    return "\r\n".join((f"GET {path} HTTP/1.1", "host: localhost", *headers, "", "")).encode()


@pytest.mark.parametrize("path", PATHS)
def test_a_socket_is_refused_and_the_connection_goes_on(path: str, line: Raw) -> None:
    for step in (1, 100_000):
        sent = head(path, *UPGRADE)
        line.send(*(sent[at : at + step] for at in range(0, len(sent), step)))
        refused = line.receive()
        assert (refused.status, refused.headers["upgrade"]) == (426, "HTTP/1.1")
        error = refused.json["error"]
        assert "There is no WebSocket at" in (error if isinstance(error, str) else error["message"])
        assert PATHS[path] in (None, error.get("type"))
    assert line.send(head("/v1/models")).receive().status == 200


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (head("/v1/responses"), 405),
        (head("/v1/models", "connection: upgrade", "upgrade: h2c"), 200),
        (head("/v1/nothing", *UPGRADE), 404),
    ],
)
def test_what_asks_for_no_socket_of_a_provider_is_answered_as_ever(request_head: bytes, status: int, line: Raw) -> None:
    assert line.send(request_head).receive().status == status


def test_a_head_after_a_socket_asks_for_none(line: Raw) -> None:
    line.send(head("/v1/models", *UPGRADE) + head("/v1/models") + head("/v1/models", *UPGRADE) + head("/v1/models"))
    assert [line.receive().status for _ in range(4)] == [426, 200, 426, 200]


def test_the_journal_and_the_transport(server: MockServer) -> None:
    with httpx2.Client(transport=server.transport(), base_url=server.url) as client:
        refused = client.get("/v1/responses", headers={"connection": "Upgrade", "upgrade": "websocket"})
    assert (refused.status_code, json.loads(refused.content)["error"]["code"]) == (426, "method_not_supported")
    assert refused.headers["x-mockserver-source"] == "invalid"
