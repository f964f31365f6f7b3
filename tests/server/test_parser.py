"""Reading requests over real sockets: what an application gets to see of them, and what ends the reading."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.door import behind_the_door
from tests.kit.raw import GET, Raw, chunked, post

UPGRADE = post(b"abc", "connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__")


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body, what was asked for, and the headers."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    names = b",".join([name for name, _ in scope["headers"]])
    asked = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} {scope['http_version']}".encode()
    told = b"|".join((body, asked, names))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(told))]})
    await send({"type": "http.response.body", "body": told})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with behind_the_door(echo) as listening:
        yield listening


@pytest.fixture
def line(port: int) -> Iterator[Raw]:
    with Raw(port) as connection:
        yield connection


@pytest.mark.parametrize(
    ("sent", "heard"),
    [
        (GET, b"|GET /v1/models  1.1|host"),
        (post(b"abc", path="/%41/b%3Fc?d=%41&?"), b"abc|POST /A/b?c d=%41&? 1.1|host,content-type,content-length"),
        (post(b"abc", path="http://y:1?q"), b"abc|POST / q 1.1|host,content-type,content-length"),
        (UPGRADE, b"abc|POST /v1/chat/completions  1.1|host,content-type,connection,content-length"),
        (
            post(b"3;a=b\r\nabc\r\n0\r\nx-trailer: 1\r\n\r\n", "transfer-encoding: chunked"),
            b"abc|POST /v1/chat/completions  1.1|host,content-type,transfer-encoding",
        ),
    ],
)
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_what_is_seen_of_a_request(sent: bytes, heard: bytes, step: int, line: Raw) -> None:
    for _ in range(2):
        line.send(*(sent[at : at + step] for at in range(0, len(sent), step)))
        assert line.hear().body == heard


def test_many_that_would_change_protocols_are_answered_each(line: Raw) -> None:
    line.send(UPGRADE * 1000)
    assert {line.hear().body for _ in range(1000)} == {
        b"abc|POST /v1/chat/completions  1.1|host,content-type,connection,content-length"
    }


def test_what_follows_the_last_request_is_not_read(line: Raw) -> None:
    line.send(post(b"abc", "connection: close") + b"GET / HTTP/1.1\r\n\r\n" + b"\x00" * 1000)
    assert line.hear().body.startswith(b"abc|")
    assert line.rest() == b""


@pytest.mark.parametrize("before", [b"", GET * 3])
def test_a_refusal_follows_the_answers_to_what_came_before(before: bytes, line: Raw) -> None:
    line.send(before + b"GET / HTTP/1.1\r\n\r\n" + GET)
    statuses = [line.hear().status for _ in range(1 + before.count(b"host"))]
    assert statuses == [200] * before.count(b"host") + [400]
    assert line.rest() == b""


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (chunked(*[b"x"] * 5_000), 200),
        (chunked(*[b"12345678"] * 50_000), 200),
        (chunked(*[b"x"] * 50_000), 400),
        (b"1;%b\r\nx\r\n" % (b"a" * 400) * 1000 + b"0\r\n\r\n", 400),
        (b"1;" + b"a" * 400_000, 400),
        (chunked(b"x").removesuffix(b"\r\n") + b"a: %b\r\n\r\n" % (b"b" * 8_000), 200),
        (chunked(b"x").removesuffix(b"\r\n") + b"a: %b\r\n\r\n" % (b"b" * 8_200), 400),
        (chunked(b"x").removesuffix(b"\r\n") + b"a: b\r\n" * 100_000 + b"\r\n", 400),
    ],
)
def test_what_frames_a_body_may_not_outweigh_it(body: bytes, status: int, line: Raw) -> None:
    head, _, _ = post(b"", "transfer-encoding: chunked").partition(b"\r\n\r\n")
    line.send(head + b"\r\n\r\n", body)
    assert line.hear().status == status


def test_a_large_body_does_not_count_as_head(line: Raw) -> None:
    for _ in range(3):
        line.send(post(b"x" * 1_000_000, "x-a: " + "a" * 60_000))
        assert line.hear().status == 200
