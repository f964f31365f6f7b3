"""HTTP by the book: what is unusual and right is served as RFC 9110 and 9112 say."""

from collections.abc import Iterator

import pytest

from tests.kit.raw import GET, HI, STREAM, Raw, post, write_chunked
from tests.kit.served import Served, served

RULES = """\
version: 1
settings: {max_body: 1000}
rules:
  - when: {last_user: "*slowly*"}
    then: {text: "one two three", timing: {total: 300ms}}
"""
SLOWLY = HI.replace(b"Hello", b"slowly")


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture
def line(server: Served) -> Iterator[Raw]:
    with Raw(server.port) as connection:
        yield connection


@pytest.mark.parametrize(
    "sent",
    [
        post(HI),
        post(HI, "x-empty:", "x-white: \t a b \t", "X-UPPER: 1", "x-latin: \xe9"),
        post(HI, "x: y"  , *["x-many: y"] * 90),
        post(HI).replace(b"host: x", b"Host:x:8000"),
        post(HI).replace(b"host: x", b"host: [::1]:8000"),
        post(HI).replace(b"host: x", b"host:"),
        b"\r\n" + post(HI),
        b"\r\n\r\n" + post(HI),
        post(write_chunked(HI), "transfer-encoding: chunked"),
        post(write_chunked(*(HI[at : at + 1] for at in range(len(HI)))), "Transfer-Encoding: Chunked"),
        post(b"%X;a=b;c=\"d;e\\\"\";f\r\n%b\r\n000;g\r\nx-trailer: 1\r\nhost: y\r\n\r\n" % (len(HI), HI),
             "transfer-encoding: chunked"),
        post(HI, f"content-length: 000{len(HI)}"),
        post(HI, "connection: upgrade, http2-settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__"),
        post(HI, "connection: upgrade", "upgrade: websocket"),
        post(HI, path="http://elsewhere/v1/chat/completions"),
        post(HI, path="HTTP://elsewhere:99/v1/chat/completions?a=b"),
        post(HI, path="//v1//chat/completions/"),
        post(HI, path="/v1/chat/%63ompletions?[a]={b}|^`\"<>"),
        post(HI, version="1.0"),
        post(HI, "connection: close"),
        post(HI, "connection: Keep-Alive, Close"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("at_once", [True, False])
def test_a_request_is_read(sent: bytes, at_once: bool, line: Raw) -> None:
    line.send(*([sent] if at_once else [sent[at : at + 1] for at in range(len(sent))]))
    received = line.receive()
    assert (received.status, received.json["object"]) == (200, "chat.completion")
    if received.headers["connection" if b"lose" in sent or b"/1.0" in sent else "content-length"] == "close":
        assert line.rest() == b""
    else:
        assert line.is_open()


def test_requests_in_one_packet_are_answered_in_their_order(line: Raw) -> None:
    line.send(
        post(SLOWLY), GET + post(write_chunked(HI), "transfer-encoding: chunked") + post(b"{}") + GET, post(STREAM)
    )
    kinds = [(received.status, received.body[:40]) for received in (line.receive() for _ in range(6))]
    assert [status for status, _ in kinds] == [200, 200, 200, 400, 200, 200]
    assert kinds[1] == kinds[4]
    assert kinds[5][1].startswith(b"data: ")


def test_many_requests_ahead_are_answered_all(line: Raw) -> None:
    ahead = 300
    large = post(b'{"model":"m","messages":[{"role":"user","content":"%b"}]}' % (b"x" * 900))
    line.send(post(SLOWLY) + large * ahead)
    assert [line.receive().status for _ in range(ahead + 1)] == [200] * (ahead + 1)


@pytest.mark.parametrize("body", [HI, SLOWLY, STREAM, STREAM.replace(b"Hello", b"slowly")])
def test_who_stops_sending_gets_the_answer(body: bytes, line: Raw) -> None:
    line.send(post(body)).socket.shutdown(1)
    received = line.receive()
    assert received.status == 200
    assert line.rest() == b""
    assert received.body.endswith(b"data: [DONE]\n\n" if b"stream" in body else b"}")


def test_who_stops_sending_gets_all_answers(line: Raw) -> None:
    line.send(post(SLOWLY) + post(HI) + GET).socket.shutdown(1)
    assert [line.receive().status for _ in range(3)] == [200, 200, 200]
    assert line.rest() == b""


def test_the_body_is_asked_for(line: Raw) -> None:
    line.send(post(HI, "expect: 100-continue").removesuffix(HI))
    assert (line.receive().status, line.send(HI).receive().status) == (100, 200)
    assert line.is_open()


def test_a_body_that_is_there_is_not_asked_for_in_http_1_0(line: Raw) -> None:
    line.send(post(HI, "expect: 100-continue", version="1.0"))
    assert line.receive().status == 200


def test_a_body_that_is_too_large_is_not_asked_for(line: Raw) -> None:
    line.send(post(b"", "expect: 100-continue", "content-length: 1001"))
    received = line.receive()
    assert (received.status, received.headers["connection"]) == (413, "close")
    assert (
        received.json["error"]["message"]
        == "The request body is larger than 1000 bytes; the setting max_body allows more."
    )
    assert line.rest() == b""


@pytest.mark.parametrize("size", [1001, 20_000_000])
@pytest.mark.parametrize("in_chunks", [True, False])
def test_who_sends_too_much_hears_so(size: int, in_chunks: bool, line: Raw) -> None:
    body = b" " * size
    line.send(post(write_chunked(body), "transfer-encoding: chunked") if in_chunks else post(body))
    received = line.receive()
    assert received.status == 413
    assert line.rest() == b"" if received.headers.get("connection") == "close" else line.is_open()


@pytest.mark.parametrize(("headers", "stays"), [((), False), (("connection: keep-alive",), True)])
def test_http_1_0_keeps_the_connection_only_where_asked(headers: tuple[str, ...], stays: bool, line: Raw) -> None:
    received = line.send(post(HI, *headers, version="1.0")).receive()
    assert (received.status, received.headers["connection"]) == (200, "keep-alive" if stays else "close")
    assert line.is_open() if stays else line.rest() == b""


def test_a_stream_in_http_1_0_ends_with_the_connection(line: Raw) -> None:
    received = line.send(post(STREAM, "connection: keep-alive", version="1.0")).receive()
    assert received.headers["connection"] == "close"
    assert "transfer-encoding" not in received.headers
    assert received.body.startswith(b"data: {")
    assert received.body.endswith(b"data: [DONE]\n\n")


def test_a_stream_says_once_that_the_connection_ends(line: Raw) -> None:
    received = line.send(post(STREAM, "connection: close")).receive()  # hearing fails on a header that stands twice
    assert (received.headers["connection"], received.headers["transfer-encoding"]) == ("close", "chunked")
    assert line.rest() == b""


def test_head_is_get_without_the_body(line: Raw) -> None:
    whole = line.send(GET).receive()
    bare = line.send(GET.replace(b"GET", b"HEAD")).receive(to="HEAD")
    assert bare.status == 200
    assert {**bare.headers, **_CHANGING} == {**whole.headers, **_CHANGING}
    assert line.is_open()


def test_head_is_not_for_what_is_posted(line: Raw) -> None:
    received = line.send(b"HEAD /v1/embeddings HTTP/1.1\r\nhost: x\r\n\r\n").receive(to="HEAD")
    assert (received.status, received.headers["allow"]) == (405, "POST")
    assert line.is_open()


_CHANGING = {"x-mockserver-call": "", "date": "", "x-request-id": ""}


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/embeddings", "POST, OPTIONS"),
        ("/v1/models", "GET, HEAD, OPTIONS"),
        ("*", "GET, HEAD, POST, DELETE, OPTIONS"),
    ],
)
def test_options_are_told(path: str, allowed: str, line: Raw) -> None:
    received = line.send(f"OPTIONS {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()).receive()
    assert (received.status, received.headers["allow"]) == (204, allowed)
    assert "content-length" not in received.headers
    assert line.is_open()


@pytest.mark.parametrize("path", ["/v1/%00", "/%2e%2e/%2e%2e/etc/passwd", "/v1/../v1/x", "/%ff%fe", "/%zz", "//v2"])
def test_odd_paths_are_not_found(path: str, line: Raw) -> None:
    received = line.send(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()).receive()
    assert (received.status, received.json["error"]["type"]) == (404, "invalid_request_error")
    assert line.is_open()


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("/azure/chat/completions", {"code", "error", "message", "param", "status"}),
        ("/ns/mine/fireworks/inference/v1/models", {"error", "request_id"}),
        ("/what", {"error"}),
    ],
)
def test_a_refusal_speaks_as_the_path_does(path: str, keys: set[str], line: Raw) -> None:
    received = line.send(f"GET {path} HTTP/1.1\r\n\r\n".encode()).receive()
    assert (received.status, set(received.json)) == (400, keys)
    assert "No Host header." in received.body.decode()


def test_a_refusal_keeps_the_connection(line: Raw) -> None:
    assert [received.status for received in (line.send(post(b"{") + post(HI)).receive(), line.receive())] == [400, 200]
