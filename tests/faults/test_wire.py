"""What a raw socket is sent for each fault, on a connection that carried an intact answer before."""

import json
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.faults.cases import IN_TEXT
from tests.faults.wire import SOON, Heard, Socket, connected
from tests.kit.served import Served

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
RESPONSES = {"model": "gpt-4o", "input": "hello"}


def frames(data: bytes) -> list[bytes]:
    """The events of a stream, each with its end."""
    return [frame + b"\n\n" for frame in data.split(b"\n\n")[:-1]]


def behind(tokens: int, whole: bytes) -> int:
    """How many bytes of a stream of chat stand before the end of the event with this many tokens."""
    return len(b"".join(frames(whole)[: tokens + 1]))


def without(whole: bytes, key: str) -> bytes:
    """The JSON of a body or of each event without a key."""
    if not whole.startswith(b"data: "):
        return _less(whole, key)
    return b"".join(b"data: " + _less(frame[6:-2], key) + b"\n\n" for frame in frames(whole))


def _less(data: bytes, key: str) -> bytes:
    if data == b"[DONE]":
        return data
    return _json({name: value for name, value in json.loads(data).items() if name != key})


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


Expected = tuple[Callable[[bytes], bytes | None], str]


def part(size: Callable[[bytes], int]) -> Callable[[bytes], bytes]:
    return lambda whole: whole[: size(whole)]


def same(whole: bytes) -> bytes:
    return whole


def nothing(whole: bytes) -> bytes:
    return b""


def twice(at: int) -> Callable[[bytes], bytes]:
    return lambda whole: b"".join((*frames(whole)[: at + 1], *frames(whole)[at:]))


def swapped(at: int) -> Callable[[bytes], bytes]:
    def swap(whole: bytes) -> bytes:
        order = frames(whole)
        order[at : at + 2] = reversed(order[at : at + 2])
        return b"".join(order)

    return swap


def opened(whole: bytes) -> bytes:
    events = frames(whole)
    events[2] = events[2].replace(b"}\n\n", b"\n\n")
    return b"".join(events)


def failed(before: int, reason: str) -> Callable[[bytes], bytes]:
    return lambda whole: b"".join(frames(whole)[:before]) + b"data: " + ERRORS[reason] + b"\n\n"


def _error(message: str) -> bytes:
    return _json({"error": {"message": message, "type": "server_error", "param": None, "code": None}})


ERRORS = {
    "server_error": _error("The server had an error while processing your request. Sorry about that!"),
    "overloaded": _error("The engine is currently overloaded, please try again later."),
}

# For each fault: what comes of a stream's bytes and how that ends, and the same of a plain body.
STREAMED: Mapping[str, Expected] = {
    "cut": (lambda whole: whole.removesuffix(b"data: [DONE]\n\n"), "whole"),
    "cut: {after_tokens: 2}": (part(lambda whole: behind(2, whole)), "whole"),
    "cut: {at_start: true}": (nothing, "whole"),
    "disconnect": (nothing, "FIN"),
    "disconnect: {after_tokens: 2}": (part(lambda whole: behind(2, whole)), "FIN"),
    "disconnect: {before_done: true}": (lambda whole: whole.removesuffix(b"data: [DONE]\n\n"), "FIN"),
    "reset": (nothing, "RST"),
    "reset: {after_tokens: 2}": (part(lambda whole: behind(2, whole)), "RST"),
    "stall": (nothing, "waiting"),
    "stall: {after_tokens: 2}": (part(lambda whole: behind(2, whole)), "waiting"),
    "slow: {bytes_per_second: 50000}": (same, "whole"),
    "keepalive": (lambda whole: b"".join(b": keepalive\n\n" + frame for frame in frames(whole)), "whole"),
    "malformed_json": (opened, "whole"),
    "split_utf8": (same, "whole"),
    "split_frame": (same, "whole"),
    "join_frames": (same, "whole"),
    "duplicate": (twice(2), "whole"),
    "reorder": (swapped(2), "whole"),
    "crlf": (lambda whole: whole.replace(b"\n", b"\r\n"), "whole"),
    "wrong_content_type": (same, "whole"),
    "wrong_content_length: {by: 10}": (same, "FIN"),
    "wrong_content_length: {by: -10}": (lambda whole: whole[:-10], "whole"),
    "empty_body": (nothing, "whole"),
    "error_event": (failed(2, "server_error"), "whole"),
    "error_event: {at_start: true, reason: overloaded}": (failed(0, "overloaded"), "whole"),
    "missing_field: {field: /choices}": (lambda whole: without(whole, "choices"), "whole"),
    "drop_usage": (same, "whole"),
}
HALF = part(lambda whole: len(whole) * 2 // json.loads(whole)["usage"]["completion_tokens"])
PLAIN: Mapping[str, Expected] = {
    **dict.fromkeys(STREAMED, (same, "whole")),
    "cut": (lambda whole: whole[:-1], "whole"),
    "cut: {after_tokens: 2}": (HALF, "whole"),
    "cut: {at_start: true}": (nothing, "whole"),
    "disconnect": (nothing, "FIN"),
    "disconnect: {after_tokens: 2}": (HALF, "FIN"),
    "disconnect: {before_done: true}": (lambda whole: whole[:-1], "FIN"),
    "reset": (nothing, "RST"),
    "reset: {after_tokens: 2}": (HALF, "RST"),
    "stall": (nothing, "waiting"),
    "stall: {after_tokens: 2}": (HALF, "waiting"),
    "keepalive": (lambda whole: b"\n" + whole, "whole"),
    "malformed_json": (lambda whole: whole[:-1], "whole"),
    "duplicate": (lambda whole: whole + whole, "whole"),
    "wrong_content_length: {by: 10}": (same, "FIN"),
    "wrong_content_length: {by: -10}": (lambda whole: whole[:-10], "whole"),
    "empty_body": (nothing, "whole"),
    "error_event": (lambda whole: ERRORS["server_error"], "whole"),
    "error_event: {at_start: true, reason: overloaded}": (lambda whole: ERRORS["overloaded"], "whole"),
    "missing_field: {field: /choices}": (lambda whole: without(whole, "choices"), "whole"),
    "drop_usage": (lambda whole: without(whole, "usage"), "whole"),
}
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
    bend, ended = (STREAMED if stream else PLAIN)[case]
    assert (heard.body, heard.ended) == (bend(intact.body), ended)
    if ended == "whole" and "wrong_content" not in case:
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


def test_a_character_comes_in_two_pieces(line: Socket) -> None:
    _, heard = reused(line, "/v1/chat/completions", {**CHAT, "stream": True}, "split_utf8")
    assert any(piece.endswith(b"\xc3") for piece in heard.pieces)


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


@pytest.mark.parametrize("front", ["error ", "raw "])
@pytest.mark.parametrize("case", IN_TEXT)
def test_errors_and_raw_bytes(line: Socket, case: str, front: str) -> None:
    intact, heard = reused(line, "/v1/chat/completions", CHAT, front + case)
    assert heard.ended == PLAIN[case][1]
    if heard.ended == "whole":
        assert heard.status == (503 if front == "error " else 200)
    if heard.ended == "whole" and "wrong_content" not in case:
        assert line.ask("/v1/chat/completions", CHAT).body == intact.body


@pytest.mark.parametrize("dialect", ["skytells", "crazyrouter", "tzafon", "azure_openai", "fireworks", "azure"])
@pytest.mark.parametrize("case", ["reset: {after_tokens: 2}", "cut", "error_event", "drop_usage"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_every_dialect(server: Served, dialect: str, case: str, stream: bool) -> None:
    path = server.base(dialect).removeprefix(server.address) + PATHS.get(dialect, "/chat/completions")
    with connected(server.address) as line:
        intact, heard = reused(line, path, {**CHAT, "stream": stream}, case)
    assert intact.status == heard.status == 200
    assert heard.ended == (STREAMED if stream else PLAIN)[case][1]
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
