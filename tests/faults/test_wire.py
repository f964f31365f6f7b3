"""What a raw socket is sent for each fault, on a connection that carried an intact answer before."""

import json
from collections.abc import Iterator

import pytest

from tests.faults.cases import IN_TEXT
from tests.faults.wire import SOON, Heard, Socket, connected
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


def reused(line: Socket, path: str, body: object, case: str) -> tuple[Heard, Heard]:
    """An intact answer and one that a fault befalls, over the same connection."""
    intact = line.ask(path, body)
    assert (intact.ended, intact.rest) == ("whole", b"")
    return intact, line.ask(path, body, case, SOON if case.endswith(WAITING) else 20.0)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("case", IN_TEXT)
def test_a_chat(line: Socket, case: str, stream: bool) -> None:
    intact, heard = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, case)
    assert heard.ended == ended(case)
    if heard.ended == "whole" and "wrong_content" not in case:
        assert heard.rest == b""
        again = line.ask("/v1/chat/completions", {**CHAT, "stream": stream})
        assert (again.body, again.ended) == (intact.body, "whole")


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_pieces_come_apart(line: Socket, stream: bool) -> None:
    for case in ("split_frame", "split_utf8"):
        intact, heard = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, case)
        if stream:
            assert len(heard.pieces) == 2 * len(frames(intact.body))
    if stream:
        _, joined = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, "join_frames")
        assert [len(frames(piece)) for piece in joined.pieces[:-1]] == [2] * (len(joined.pieces) - 1)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_heads_that_do_not_tell_the_truth(line: Socket, server: Served, stream: bool) -> None:
    intact, heard = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, "wrong_content_type")
    assert heard.headers["content-type"] == "text/plain; charset=utf-8"
    _, heard = reused(line, "/v1/chat/completions", {**CHAT, "stream": stream}, "wrong_content_length: {by: -10}")
    assert heard.headers["content-length"] == str(len(intact.body) - 10)
    assert heard.rest == intact.body[-10:]
    with connected(server.address) as other:
        _, heard = reused(other, "/v1/chat/completions", {**CHAT, "stream": stream}, "wrong_content_length: {by: 10}")
    assert heard.headers["content-length"] == str(len(intact.body) + 10)


@pytest.mark.parametrize("dialect", ["skytells", "crazyrouter", "tzafon", "azure_openai", "fireworks", "azure"])
@pytest.mark.parametrize("case", ["error_event", "drop_usage"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_every_dialect(server: Served, dialect: str, case: str, stream: bool) -> None:
    path = server.base(dialect).removeprefix(server.address) + PATHS.get(dialect, "/chat/completions")
    with connected(server.address) as line:
        intact, heard = reused(line, path, {**CHAT, "stream": stream}, case)
    assert intact.status == heard.status == 200
    assert heard.ended == "whole"
    assert heard.body != intact.body or (case == "drop_usage" and b'"usage":{' not in intact.body)
    if case == "error_event":
        told = heard.body.rpartition(b"data: ")[2]
        assert json.loads(told).get("error")
    if case == "drop_usage":
        assert b'"usage":{' not in heard.body


PATHS = {
    "azure": "/chat/completions?api-version=2024-05-01-preview",
    "azure_openai": "/openai/deployments/gpt-4o/chat/completions?api-version=2024-06-01",
}


@pytest.mark.parametrize("dialect", ["openai", "tzafon", "azure_openai"])
def test_an_error_amid_the_events_of_a_response(server: Served, dialect: str) -> None:
    inner = "/openai/v1" if dialect == "azure_openai" else ""
    path = server.base(dialect).removeprefix(server.address) + inner + "/responses"
    with connected(server.address) as line:
        intact, heard = reused(line, path, {**RESPONSES, "stream": True}, "error_event")
    *before, last = frames(heard.body)
    assert before == frames(intact.body)[: len(before)]
    assert last.startswith(b"event: error\n")
    told = json.loads(last.partition(b"data: ")[2])
    assert (told["type"], told["sequence_number"]) == ("error", len(before))
    assert {"code", "message", "param"} < set(told)


def test_the_log_tells_what_befell(server: Served) -> None:
    with connected(server.address) as line:
        heard = line.ask("/v1/chat/completions", CHAT, "disconnect: {after_tokens: 2}")
    noted = server.logged(int(heard.headers["x-mockserver-call"]))
    assert noted["ended"] == "disconnected"
