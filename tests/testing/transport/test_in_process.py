"""An answer without a socket: steps of an application, waits, and what a client receives."""

import asyncio
import math
import threading
from collections.abc import Callable, Iterable
from typing import Any

import anyio
import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from mockserver.config.errors import ConfigError
from mockserver.core.action import Action, Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.eager import run_at_once
from mockserver.core.frames import Frame
from mockserver.delivery.connection import IN_PROCESS
from mockserver.engine.offload import on_thread
from mockserver.server.snapshot import ClientLeftError
from mockserver.testing import Clock
from mockserver.testing.drivers import (
    AsyncioDriver,
    EndlessError,
    ImmediateDriver,
    make_loop_driver,
)
from mockserver.testing.in_process import InProcessRequest, InProcessResponse, WireHead

OK = Head(200, ())
STREAM = Head(200, (("content-type", "text/event-stream"),))


class Acting:
    """Hands its client these actions, and keeps what it is told."""

    def __init__(self, actions: Iterable[Action]) -> None:
        self.actions = actions
        self.noted = list[bytes]()
        self.ended: str | type[BaseException] = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self.ended = await scope["extensions"][IN_PROCESS].perform(self.actions, self.noted.append)
        except BaseException as error:
            self.ended = type(error)
            raise


def ask(app: ASGIApp, body: bytes = b"") -> InProcessRequest:
    """A request to an application, without an event loop."""
    return InProcessRequest(app, {"type": "http"}, body, driver=ImmediateDriver(Clock()))


def doing(work: Callable[[Any, Any], Any]) -> ASGIApp:
    """An application that is a function of what it receives by and sends by."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await work(receive, send)

    return app


TWO = b"data: 1\n\ndata: 2\n\n"


class RawResponse:
    """An answer, and what plays it."""

    def __init__(self, actions: Iterable[Action], patience: float | None = 5.0) -> None:
        self.app = Acting(actions)
        self.answer = InProcessResponse(ask(self.app), errors=httpx2, read_timeout=patience)

    def begin(self, **how: Any) -> WireHead:
        """Hear the head."""
        return run_at_once(self.answer.receive_head(**how))

    def next(self) -> bytes | None:
        """Hear the next piece."""
        return run_at_once(self.answer.receive_piece())

    def pieces(self) -> list[Any]:
        """All of the body; and the error, if it ends so."""
        received = list[Any]()
        try:
            while (piece := self.next()) is not None:
                received.append(piece)
        except httpx2.TransportError as error:
            received.append(type(error).__name__)
        return received


def told(length: int) -> Head:
    return Head(200, (("Content-Length", str(length)),))


@pytest.mark.parametrize(
    ("head", "how", "headers"),
    [
        (OK, {}, [(b"transfer-encoding", b"chunked")]),
        (OK, {"method": "HEAD"}, []),
        (OK, {"closing": True}, [(b"connection", b"close"), (b"transfer-encoding", b"chunked")]),
        (Head(200, (("Connection", "x"),)), {"method": "HEAD", "closing": True}, [(b"connection", b"close")]),
        (Head(204, ()), {}, []),
        (told(3), {}, [(b"content-length", b"3")]),
        (told(3), {"method": "HEAD"}, [(b"content-length", b"3")]),
    ],
)
def test_heads_are_as_on_the_wire(head: Head, how: Any, headers: Any) -> None:
    assert RawResponse((head,)).begin(**how) == (head.status, headers)


@pytest.mark.parametrize(
    ("actions", "received", "ended"),
    [
        ((told(3), Write(b"one")), [b"one"], "complete"),
        ((told(3), Write(b"one"), Wait(9.0)), [b"one"], "complete"),
        ((told(3), Write(b"one"), Wait(math.inf)), [b"one"], ClientLeftError),
        ((told(3), Write(b"one"), RawWrite(b"two")), [b"one"], "complete"),
        ((told(3), Write(b"one two")), [b"one"], "complete"),
        ((told(9), Write(b"one")), [b"one", "RemoteProtocolError"], "complete"),
        ((told(9), Write(b"one"), Cut("close")), [b"one", "RemoteProtocolError"], "disconnected"),
        ((told(9), Write(b"one"), Cut("reset")), [b"one", "ReadError"], "reset"),
        ((told(0), Write(b"")), [], "complete"),
        ((OK, Write(b"one"), Flush(), Write(b"two")), [b"one", b"two"], "complete"),
        ((OK, Write(b"one"), Cut("end")), [b"one"], "cut short"),
        ((OK, Write(b"one"), Cut("close")), [b"one", "RemoteProtocolError"], "disconnected"),
        ((OK, Write(b"one"), Cut("reset")), [b"one", "ReadError"], "reset"),
        ((STREAM, Write(TWO)), [b"data: 1\n\n", b"data: 2\n\n"], "complete"),
        ((STREAM, Write(TWO + b": rest")), [b"data: 1\n\n", b"data: 2\n\n", b": rest"], "complete"),
        ((STREAM, Write(TWO, 1, Frame(b"2"))), [TWO], "complete"),
        ((OK, Write(TWO)), [TWO], "complete"),
    ],
)
def test_bodies(actions: tuple[Action, ...], received: list[Any], ended: Any) -> None:
    played = RawResponse(actions)
    played.begin()
    assert played.pieces() == received
    assert played.app.ended == ended
    assert b"".join(played.app.noted) == b"".join(piece for piece in received if isinstance(piece, bytes))


def test_nothing_is_made_before_it_is_asked_for() -> None:
    made = list[int]()

    def actions() -> Iterable[Action]:
        yield STREAM
        for number in range(9):
            made.append(number)
            yield Write(b"data: %d\n\n" % number, 1, Frame(b"%d" % number))

    played = RawResponse(actions())
    played.begin()
    assert made == []
    played.next()
    played.next()
    assert made == [0, 1]
    played.answer.end(by="client")
    assert (made, played.app.ended) == ([0, 1, 2], ClientLeftError)
    assert played.app.noted == [b"data: 0\n\n", b"data: 1\n\n"]


@pytest.mark.parametrize(
    ("actions", "asked", "ended", "noted"),
    [
        ((told(3), Write(b"one")), 0, "complete", b"one"),
        ((told(3), Wait(1.0), Write(b"one")), 0, ClientLeftError, b""),
        ((told(3), Write(b"one"), Wait(1.0)), 1, "complete", b"one"),
        ((told(3), Write(b"one"), Wait(math.inf)), 1, ClientLeftError, b"one"),
        ((STREAM, Write(TWO)), 0, ClientLeftError, b""),
        ((STREAM, Write(TWO)), 1, ClientLeftError, b"data: 1\n\n"),
        ((STREAM, Write(TWO)), 2, "complete", TWO),
        ((STREAM, Write(TWO), Cut("close")), 2, "disconnected", TWO),
        ((STREAM, Write(TWO), Wait(1.0)), 2, ClientLeftError, TWO),
    ],
)
def test_who_closes_early_leaves(actions: Any, asked: int, ended: Any, noted: bytes) -> None:
    played = RawResponse(actions)
    played.begin()
    for _ in range(asked):
        played.next()
    played.answer.end(by="client")
    played.answer.end(by="client")
    assert (played.app.ended, b"".join(played.app.noted)) == (ended, noted)


def test_an_application_may_answer_in_the_words_of_asgi() -> None:
    async def echo(receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 201, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body"})

    request = ask(doing(echo), b"hello")
    actions = [run_at_once(request.next_action()) for _ in range(3)]
    assert actions == [Head(201, (("a", "b"),)), Write(b"hello"), None]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_waits_and_work_in_a_loop(backend: str) -> None:
    async def work(receive: Any, send: Any) -> None:
        await asyncio.sleep(0)
        assert await on_thread(threading.get_ident) != threading.get_ident()
        await send({"type": "http.response.body", "body": b"done"})

    async def client() -> None:
        driver = make_loop_driver(Clock())
        moment = driver.clock.now() + 30
        await driver.wait_until(moment)
        assert driver.clock.now() >= moment
        request = InProcessRequest(doing(work), {"type": "http"}, b"", driver=driver)
        assert await request.next_action() == Write(b"done")
        assert await request.next_action() is None

    anyio.run(client, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_answer_can_be_ended_from_outside_while_it_works(backend: str) -> None:
    started, ended = threading.Event(), threading.Event()

    def wait() -> None:
        started.set()
        ended.wait(timeout=30)

    async def work(receive: Any, send: Any) -> None:
        await on_thread(wait)

    async def client() -> None:
        request = InProcessRequest(doing(work), {"type": "http"}, b"", driver=make_loop_driver(Clock()))

        def end() -> None:
            started.wait(timeout=30)
            request.end()
            ended.set()

        ending = threading.Thread(target=end)
        ending.start()
        assert await request.next_action() is None
        ending.join()

    anyio.run(client, backend=backend)


async def test_a_future_is_awaited_in_its_loop() -> None:
    async def work(receive: Any, send: Any) -> None:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, b"done")
        await send({"type": "http.response.body", "body": await future})

    request = InProcessRequest(doing(work), {"type": "http"}, b"", driver=make_loop_driver(Clock()))
    assert await request.next_action() == Write(b"done")


def test_without_a_loop_work_is_done_here_and_nothing_else_is_awaited() -> None:
    async def work(receive: Any, send: Any) -> None:
        await asyncio.sleep(0)
        assert await on_thread(threading.get_ident) == threading.get_ident()
        await asyncio.Future(loop=loop)

    loop = asyncio.new_event_loop()
    with pytest.raises(RuntimeError, match="needs an event loop; use an asynchronous client"):
        run_at_once(ask(doing(work)).next_action())
    loop.close()


async def test_only_a_loop_waits_for_ever() -> None:
    with pytest.raises(EndlessError, match="never continues, and its client has no read timeout"):
        await ImmediateDriver(Clock()).wait_until(math.inf)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await AsyncioDriver(Clock()).wait_until(math.inf)


def test_a_moment_is_reached_at_once_and_never_left_again() -> None:
    clock = Clock()
    moment = clock.now() + 30
    clock.advance_to(moment)
    reached = clock.now()
    assert 0 <= reached - moment < 1
    clock.advance_to(moment - 20)
    assert clock.now() >= reached


@pytest.mark.parametrize("seconds", [-1, math.inf, math.nan])
def test_time_only_runs_forward(seconds: float) -> None:
    with pytest.raises(ConfigError, match=r"^advance takes a number of seconds, 0 or more, not "):
        Clock().advance(seconds)


async def test_who_is_due_before_comes_first() -> None:
    clock, came = Clock(), list[int]()
    start = clock.now()

    async def wait(*moments: int) -> None:
        for moment in moments:
            await clock.wait_until(start + moment)
            came.append(moment)

    await asyncio.gather(wait(30, 40), wait(5, 10, 35), wait(20))
    assert came == [5, 10, 20, 30, 35, 40]
