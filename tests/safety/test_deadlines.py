"""What takes too long ends, absolutely: deadlines shortened, over real sockets, in this process."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.server.app import Site
from mockserver.server.http.deadlines import Deadlines
from tests.kit.app_server import serve_app
from tests.kit.local import local
from tests.kit.raw import GET, HI, Raw, post

SHORT = Deadlines(first=1.5, head=0.6, body=0.6, idle=1.2, farewell=0.4, linger=0.4, look=0.02)
TRICKLE = 0.05  # seconds
SLOW = "rules: [{when: {last_user: Hello}, then: {text: Hi, timing: {total: 1s}}}]"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    live = local(SLOW).live
    site = Site(live)
    with serve_app(site, refuse=site.directory.refuse_unread, deadlines=SHORT) as listening:
        yield listening


async def busy(scope: Any, receive: Any, send: Any) -> None:
    """Keep the loop from everything else for longer than any deadline, then answer."""
    if scope["path"] == "/busy":
        time.sleep(2 * SHORT.head)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def test_a_server_that_is_behind_cuts_nobody() -> None:
    with serve_app(busy, deadlines=SHORT) as port, Raw(port) as begun, Raw(port) as used:
        begun.send(GET[:-2])
        for _ in range(2):
            assert used.send(GET.replace(b"/v1/models", b"/busy")).receive().status == 200
            begun.send(b"x-more: 1\r\n")
        assert begun.send(b"\r\n").receive().status == 200


def trickled(line: Raw, data: bytes) -> float:
    began = time.monotonic()
    line.socket.settimeout(TRICKLE)
    for at in range(len(data)):
        line.send(data[at : at + 1])
        try:
            line._held = line.socket.recv(65536)
            break
        except TimeoutError:
            continue
    line.socket.settimeout(20)
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("before", "sent", "why"),
    [
        (b"", GET[:-2] + b"x-a: " + b"a" * 1000, "head"),
        (GET, GET[:-2] + b"x-a: " + b"a" * 1000, "head"),
        (b"", post(b" " * 1000), "body"),
        (GET, post(b" " * 1000), "body"),
        (b"", post(b"3e8\r\n" + b" " * 1000, "transfer-encoding: chunked"), "body"),
    ],
)
def test_what_trickles_is_cut(before: bytes, sent: bytes, why: str, port: int) -> None:
    with Raw(port) as line:
        if before:
            assert line.send(before).receive().status == 200
        at = sent.index(b"\r\n\r\n") + 4 if why == "body" else 0
        line.send(sent[:at])
        took = trickled(line, sent[at:])
        received = line.receive()
        assert (received.status, received.json["error"]["message"]) == (408, f"The {why} of the request took too long.")
        assert received.headers["connection"] == "close"
        assert line.rest() == b""
        assert SHORT.head <= took < SHORT.head * 10


def test_half_a_request_behind_an_answer_that_takes_its_time_is_cut() -> None:
    deadlines = replace(SHORT, idle=60.0)
    with serve_app(Site(local(SLOW).live), deadlines=deadlines) as port, Raw(port) as line:
        began = time.monotonic()
        assert line.send(post(HI) + GET[:-2]).receive().status == 200
        assert line.receive().status == 408
        assert time.monotonic() - began < deadlines.idle / 2


def test_an_answer_may_take_longer_than_its_request(port: int) -> None:
    whole = post(HI)
    with Raw(port) as line:
        line.send(whole[:-1])
        time.sleep(TRICKLE)  # so that the body comes in two pieces
        assert line.send(whole[-1:]).receive().status == 200
        assert line.is_open()
    with Raw(port) as line:  # deadlines are still checked
        assert line.receive().status == 408


def test_who_says_nothing_is_sent_away_later_than_who_trickles(port: int) -> None:
    began = time.monotonic()
    with Raw(port) as line:
        assert line.receive().json["error"]["message"] == "The head of the request took too long."
        assert line.rest() == b""
    assert SHORT.first <= time.monotonic() - began < SHORT.first * 10


def test_an_idle_connection_is_closed_without_a_word(port: int) -> None:
    with Raw(port) as line:
        line.send(GET).receive()
        assert line.rest() == b""


def test_who_went_on_sending_too_much_is_cut(port: int) -> None:
    with Raw(port) as line:
        line.send(post(b"", "content-length: 1000000000"))
        assert line.receive().status == 413
        with pytest.raises(OSError, match=r"reset|pipe"):
            line.send(*(b" " * 1000 for _ in range(10_000_000)))
