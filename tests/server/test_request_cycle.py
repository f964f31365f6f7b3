"""One request and its answer, over real sockets: what an application may do, and what becomes of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mockserver.core.plan import Failure
from mockserver.delivery.drive import FAST_PATH, WIRE
from tests.kit.door import behind_the_door
from tests.kit.raw import GET, Heard, Raw, chunked, post

App = Callable[[Any, Any, Any], Awaitable[None]]


def asked(app: App, sent: bytes = GET) -> tuple[Heard, bytes]:
    with behind_the_door(app) as port, Raw(port) as line:
        heard = line.send(sent).hear()
        line.socket.shutdown(1)
        return heard, line.rest()


async def begin(send: Any, *headers: tuple[bytes, bytes]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def test_what_an_application_receives() -> None:
    seen = list[Any]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        seen.append((scope["method"], scope["path"], scope["query_string"], scope["http_version"], body))
        await begin(send, (b"content-length", b"0"))
        await send({"type": "http.response.body"})
        seen.append(await receive())

    body = b"x" * 300_000
    await asyncio.to_thread(asked, app, post(chunked(body, body), "transfer-encoding: chunked", path="/a%20b?c=d"))
    assert seen == [("POST", "/a b", b"c=d", "1.1", body + body), {"type": "http.disconnect"}]


def test_an_application_that_fails_is_a_500_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("planted")

    with caplog.at_level(logging.ERROR):
        heard, rest = asked(app)
    assert (heard.status, heard.headers["connection"], rest) == (500, "close", b"")
    assert "planted" in caplog.text


def test_an_application_that_says_nothing_is_a_500() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        return

    assert asked(app)[0].status == 500


def test_a_failure_is_the_answer() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise Failure("conflict", "planted")

    heard, _ = asked(app)
    assert (heard.status, heard.json["error"]["message"]) == (409, "planted")


def test_an_answer_that_is_not_brought_to_its_end_breaks_off() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await begin(send)
        await send({"type": "http.response.body", "body": b"abc", "more_body": True})

    with behind_the_door(app) as port, Raw(port) as line:
        assert line.send(GET).rest().endswith(b"\r\n\r\n3\r\nabc\r\n")


@pytest.mark.parametrize("length", [b"2", b"5"])
def test_a_length_that_is_a_lie_goes_out_and_ends_the_connection(length: bytes) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await begin(send, (b"content-length", length))
        await send({"type": "http.response.body", "body": b"abc"})

    with behind_the_door(app) as port, Raw(port) as line:
        assert line.send(GET).rest().endswith(b"\r\n\r\nabc")


async def test_an_answer_begins_once_and_ends_once() -> None:
    errors = list[str]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for messages in (["body", "start", "start", "body", "body"],):
            for kind in messages:
                try:
                    await send({"type": f"http.response.{kind}", "status": 200, "headers": []})
                except RuntimeError as error:
                    errors.append(f"{kind}: {error}")

    await asyncio.to_thread(asked, app)
    assert [error.partition(":")[0] for error in errors] == ["body", "start", "body"]


def test_the_wire_reaches_past_all_framing() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        wire = scope["extensions"][WIRE]
        wire.write(b"not HTTP at all")
        while wire.unsent:
            await asyncio.sleep(0.001)
        wire.close()

    with behind_the_door(app) as port, Raw(port) as line:
        assert line.send(GET).rest() == b"not HTTP at all"


@pytest.mark.parametrize(
    ("sent", "whole"),
    [
        (GET, True),
        (GET.replace(b"1.1", b"1.0"), False),
        (GET.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"), False),
    ],
)
def test_only_a_simple_answer_goes_out_whole(sent: bytes, whole: bool) -> None:
    went = list[bool]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        went.append(scope["extensions"][FAST_PATH].whole(201, b"x-one: 1\r\ncontent-length: 2\r\n", b"ok"))
        if not went[-1]:
            await begin(send, (b"x-one", b"1"), (b"content-length", b"2"))
            await send({"type": "http.response.body", "body": b"ok"})

    heard, _ = asked(app, sent)
    assert went == [whole]
    assert (heard.headers["x-one"], heard.headers["content-length"]) == ("1", "2")
    assert heard.status == (201 if whole else 200)
    assert "date" in heard.headers
