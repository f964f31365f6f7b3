"""What a raw socket is sent for each fault, on a connection that carried an intact answer before."""

import json
from collections.abc import Iterator

import pytest

from tests.faults.cases import IN_TEXT
from tests.faults.wire import SOON, RawResponse, Socket, connected
from tests.kit.served import Served

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
RESPONSES = {"model": "gpt-4o", "input": "hello"}


def frames(data: bytes) -> list[bytes]:
    """The events of a stream, each with its end."""
    return [frame + b"\n\n" for frame in data.split(b"\n\n")[:-1]]


def ended(case: str) -> str:
    """How the connection ends with a fault."""
    if case == "wrong_content_length: {by: 10}":
        return "FIN"
    return {"disconnect": "FIN", "reset": "RST", "stall": "waiting"}.get(case.partition(":")[0], "whole")


WAITING = ("stall", "stall: {after_tokens: 2}")


@pytest.fixture
def line(server: Served) -> Iterator[Socket]:
    with connected(server.address) as opened:
        yield opened


def reused(line: Socket, path: str, body: object, case: str) -> tuple[RawResponse, RawResponse]:
    """An intact answer and one that a fault befalls, over the same connection."""
    intact = line.ask(path, body)
    assert (intact.ended, intact.rest) == ("whole", b"")
    return intact, line.ask(path, body, case, SOON if case.endswith(WAITING) else 20.0)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("case", IN_TEXT)
def test_a_chat(line: Socket, case: str, stream: bool) -> None:
    intact, received = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, case)
    assert received.ended == ended(case)
    if received.ended == "whole" and "wrong_content" not in case:
        assert received.rest == b""
        again = line.ask("/v1/chat/completions", {**CHAT, "stream": stream})
        assert (again.body, again.ended) == (intact.body, "whole")


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_pieces_come_apart(line: Socket, stream: bool) -> None:
    for case in ("split_frame", "split_utf8"):
        intact, received = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, case)
        if stream:
            assert len(received.pieces) == 2 * len(frames(intact.body))
    if stream:
        _, joined = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, "join_frames")
        assert [len(frames(piece)) for piece in joined.pieces[:-1]] == [2] * (len(joined.pieces) - 1)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_heads_that_do_not_tell_the_truth(line: Socket, server: Served, stream: bool) -> None:
    intact, received = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, "wrong_content_type")
    assert received.headers["content-type"] == "text/plain; charset=utf-8"
    _, received = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, "wrong_content_length: {by: -10}")
    assert received.headers["content-length"] == str(len(intact.body) - 10)
    assert received.rest == intact.body[-10:]
    with connected(server.address) as other:
        _, received = reused(
            other, "/v1/chat/completions", {**CHAT, "stream": stream}, "wrong_content_length: {by: 10}"
        )
    assert received.headers["content-length"] == str(len(intact.body) + 10)


@pytest.mark.parametrize("dialect", ["skytells", "crazyrouter", "tzafon", "azure_openai", "fireworks", "azure"])
@pytest.mark.parametrize("case", ["error_event", "drop_usage"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_every_dialect(server: Served, dialect: str, case: str, stream: bool) -> None:
    path = server.base(dialect).removeprefix(server.address) + PATHS.get(dialect, "/chat/completions")
    with connected(server.address) as line:
        intact, received = reused(line, path, {**CHAT, "stream": stream}, case)
    assert intact.status == received.status == 200
    assert received.ended == "whole"
    assert received.body != intact.body or (case == "drop_usage" and b'"usage":{' not in intact.body)
    if case == "error_event":
        told = received.body.rpartition(b"data: ")[2]
        assert json.loads(told).get("error")
    if case == "drop_usage":
        assert b'"usage":{' not in received.body


PATHS = {
    "azure": "/chat/completions?api-version=2024-05-01-preview",
    "azure_openai": "/openai/deployments/gpt-4o/chat/completions?api-version=2024-06-01",
}


@pytest.mark.parametrize("dialect", ["openai", "tzafon", "azure_openai"])
def test_an_error_amid_the_events_of_a_response(server: Served, dialect: str) -> None:
    inner = "/openai/v1" if dialect == "azure_openai" else ""
    path = server.base(dialect).removeprefix(server.address) + inner + "/responses"
    with connected(server.address) as line:
        intact, received = reused(line, path, {**RESPONSES, "stream": True}, "error_event")
    *before, last = frames(received.body)
    assert before == frames(intact.body)[: len(before)]
    assert last.startswith(b"event: error\n")
    told = json.loads(last.partition(b"data: ")[2])
    assert (told["type"], told["sequence_number"]) == ("error", len(before))
    assert set(told["error"]) == {"type", "code", "message", "param"}


def test_the_log_tells_what_befell(server: Served) -> None:
    with connected(server.address) as line:
        received = line.ask("/v1/chat/completions", CHAT, "disconnect: {after_tokens: 2}")
    noted = server.logged(int(received.headers["x-mockserver-call"]))
    assert noted["ended"] == "disconnected"
