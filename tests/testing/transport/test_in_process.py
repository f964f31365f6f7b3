"""An answer without a socket: steps of an application, waits, and what a client receives."""

import asyncio
import math
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from mockserver.config.errors import ConfigError
from mockserver.core.action import Action, Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.http import Frame
from mockserver.engine.offload import Work, aside
from mockserver.server.snapshot import ClientLeftError
from mockserver.testing import Clock
from mockserver.testing.transport.in_process import END, Answer, EndlessError, Gate, Steps, met_here, met_in_loop
from tests.testing.transport.acting import OK, STREAM, Acting, doing, steps

TWO = b"data: 1\n\ndata: 2\n\n"


class HeardError(Exception):
    """What a client is told in place of an answer."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, message)
        self.name = name


class Heard:
    """An answer, and what plays it."""

    def __init__(self, actions: Iterable[Action], patience: float | None = 5.0) -> None:
        self.clock, self.app = Clock(), Acting(actions)
        self.answer = Answer(steps(self.app), self.clock, HeardError, patience)

    def begin(self) -> list[tuple[bytes, bytes]]:
        """Hear the head."""
        head = self.answer.next()
        assert isinstance(head, Head)
        return self.answer.begin(head)

    def pieces(self) -> list[Any]:
        """All of the body; and the error, if it ends so."""
        heard = list[Any]()
        try:
            while (piece := self.answer.next()) is not None:
                heard.append(piece)
        except HeardError as error:
            heard.append(error.name)
        return heard


def told(length: int) -> Head:
    return Head(200, (("Content-Length", str(length)),))


@pytest.mark.parametrize(
    ("head", "how", "headers"),
    [
        (OK, {}, [(b"transfer-encoding", b"chunked")]),
        (OK, {"bare": True}, []),
        (OK, {"last": True}, [(b"connection", b"close"), (b"transfer-encoding", b"chunked")]),
        (Head(200, (("Connection", "x"),)), {"bare": True, "last": True}, [(b"connection", b"close")]),
        (Head(204, ()), {}, []),
        (told(3), {}, [(b"content-length", b"3")]),
        (told(3), {"bare": True}, [(b"content-length", b"3")]),
    ],
)
def test_heads_are_as_on_the_wire(head: Head, how: Any, headers: Any) -> None:
    answer = Heard((head,)).answer
    assert answer.next() == head
    assert answer.begin(head, **how) == headers


@pytest.mark.parametrize(
    ("actions", "heard", "ended"),
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
def test_bodies(actions: tuple[Action, ...], heard: list[Any], ended: Any) -> None:
    played = Heard(actions)
    played.begin()
    assert played.pieces() == heard
    assert played.app.ended == ended
    assert b"".join(played.app.noted) == b"".join(piece for piece in heard if isinstance(piece, bytes))


@pytest.mark.parametrize(("how", "name"), [("close", "RemoteProtocolError"), ("reset", "ReadError")])
def test_before_its_head_an_answer_can_end_too(how: Any, name: str) -> None:
    assert Heard((Cut(how),)).pieces() == [name]


def test_waits_take_no_time_and_count() -> None:
    played = Heard((OK, Write(b"one"), Wait(30.0), Write(b"two")), None)
    began = played.clock.now()
    played.begin()
    assert played.pieces() == [b"one", b"two"]
    assert 30 <= played.clock.now() - began < 31


def test_a_client_waits_no_longer_than_it_wants_to() -> None:
    played = Heard((OK, Wait(4.0), Write(b"one"), Wait(4.0), Write(b"two"), Wait(3.0), Wait(3.0), Write(b"three")))
    began = played.clock.now()
    played.begin()
    assert played.pieces() == [b"one", b"two", "ReadTimeout"]
    assert 13 <= played.clock.now() - began < 14
    assert played.app.ended is ClientLeftError


def test_what_never_comes_is_given_up_as_well() -> None:
    played = Heard((OK, Wait(math.inf)))
    played.begin()
    assert played.pieces() == ["ReadTimeout"]


def test_what_was_due_while_nobody_asked_is_there() -> None:
    played = Heard((OK, Write(b"one"), Wait(30.0), Write(b"two")))
    played.begin()
    assert played.answer.next() == b"one"
    played.clock.advance(40)
    before = played.clock.now()
    assert played.answer.next() == b"two"
    assert played.clock.now() - before < 1


def test_nothing_is_made_before_it_is_asked_for() -> None:
    made = list[int]()

    def actions() -> Iterable[Action]:
        yield STREAM
        for number in range(9):
            made.append(number)
            yield Write(b"data: %d\n\n" % number, 1, Frame(b"%d" % number))

    played = Heard(actions())
    played.begin()
    assert made == []
    played.answer.next()
    played.answer.next()
    assert made == [0, 1]
    played.answer.close()
    assert (made, played.app.ended) == ([0, 1, 2], ClientLeftError)
    assert played.app.noted == [b"data: 0\n\n", b"data: 1\n\n"]


@pytest.mark.parametrize(
    ("actions", "asked", "ended", "noted"),
    [
        ((told(3), Write(b"one")), 0, "complete", b"one"),
        ((told(3), Wait(1.0), Write(b"one")), 0, ClientLeftError, b""),
        ((STREAM, Write(TWO)), 0, ClientLeftError, b""),
        ((STREAM, Write(TWO)), 1, ClientLeftError, b"data: 1\n\n"),
        ((STREAM, Write(TWO)), 2, "complete", TWO),
        ((STREAM, Write(TWO), Cut("close")), 2, "disconnected", TWO),
        ((STREAM, Write(TWO), Wait(1.0)), 2, ClientLeftError, TWO),
    ],
)
def test_who_closes_early_leaves(actions: Any, asked: int, ended: Any, noted: bytes) -> None:
    played = Heard(actions)
    played.begin()
    for _ in range(asked):
        played.answer.next()
    played.answer.close()
    played.answer.close()
    assert (played.app.ended, b"".join(played.app.noted)) == (ended, noted)


async def test_in_a_loop_it_is_the_same() -> None:
    played = Heard((OK, Write(b"one"), Wait(30.0), Write(b"two")))
    assert await played.answer.next_async() == OK
    assert await played.answer.next_async() == b"one"
    with pytest.raises(HeardError):
        await played.answer.next_async()


ACTIONS = (OK, Write(b"one"), Wait(30.0), Write(b"two"))


def test_each_action_is_a_step() -> None:
    app = Acting(ACTIONS)
    stepped = steps(app)
    assert [stepped.next() for _ in ACTIONS] == list(ACTIONS)
    assert not stepped.over
    assert stepped.next() is END
    assert (app.ended, stepped.over) == ("complete", True)


@pytest.mark.parametrize(("how", "ended"), [("end", "cut short"), ("close", "disconnected"), ("reset", "reset")])
def test_what_is_cut_ends_there(how: Any, ended: str) -> None:
    app = Acting((OK, Cut(how), Write(b"never")))
    stepped = steps(app)
    assert [stepped.next() for _ in range(3)] == [OK, Cut(how), END]
    assert app.ended == ended


def test_what_has_reached_the_client_is_noted_when_it_has() -> None:
    app = Acting(ACTIONS)
    stepped = steps(app)
    stepped.note(b"nobody yet")
    stepped.next()
    stepped.note(b"one")
    assert app.noted == [b"one"]


def test_a_client_that_leaves_ends_it() -> None:
    app = Acting(ACTIONS)
    stepped = steps(app)
    stepped.next()
    stepped.leave()
    stepped.leave()
    assert (app.ended, stepped.over) == (ClientLeftError, True)


def test_who_does_not_care_is_ended_too() -> None:
    async def stubborn(receive: Any, send: Any) -> None:
        for _ in range(9):
            try:
                await send({"type": "http.response.body", "body": b"x"})
            except ClientLeftError:
                await send({"type": "http.response.body", "body": b"y"})

    stepped = steps(doing(stubborn))
    stepped.next()
    stepped.leave()
    assert stepped.over


def test_an_application_may_answer_in_the_words_of_asgi() -> None:
    async def echo(receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 201, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body"})

    stepped = steps(doing(echo), b"hello")
    assert [stepped.next() for _ in range(3)] == [Head(201, (("a", "b"),)), Write(b"hello"), END]


def test_large_work_is_handed_up() -> None:
    told = list[object]()

    async def large(receive: Any, send: Any) -> None:
        told.append(await aside(threading.get_ident))
        try:
            await aside(int)
        except ValueError as error:
            told.append(error)

    stepped = steps(doing(large))
    assert stepped.next() == Work(threading.get_ident)
    assert stepped.next(5) == Work(int)
    error = ValueError("no")
    assert stepped.next(error=error) is END
    assert told == [5, error]


def test_what_fails_is_over() -> None:
    async def failing(receive: Any, send: Any) -> None:
        raise LookupError("gone")

    stepped = steps(doing(failing))
    with pytest.raises(LookupError, match="gone"):
        stepped.next()
    assert stepped.over


def test_one_step_at_a_time_is_made() -> None:
    inside, most = list[int](), list[int]()

    async def working(receive: Any, send: Any) -> None:
        for _ in range(20):
            inside.append(1)
            sum(range(5000))  # long enough for another thread to have its turn
            most.append(len(inside))
            inside.pop()
            await send({"type": "http.response.body", "body": b"x"})

    gate = Gate(doing(working))

    def walk() -> None:
        stepped = Steps(gate, {"type": "http"}, b"", patient=False)
        while stepped.next() is not END:
            pass

    threads = [threading.Thread(target=walk) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 160


async def test_waits_and_work_in_a_loop() -> None:
    clock = Clock()
    moment = clock.now() + 30
    assert await met_in_loop(clock, moment) is None
    assert clock.now() >= moment
    assert await met_in_loop(clock, None) is None
    assert await met_in_loop(clock, Work(threading.get_ident)) != threading.get_ident()
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, None)
    await met_in_loop(clock, next(future.__await__()))
    assert future.done()


async def test_without_a_loop_work_is_done_here_and_nothing_else_is_awaited() -> None:
    assert await met_here(Clock(), Work(threading.get_ident)) == threading.get_ident()
    with pytest.raises(RuntimeError, match="needs an event loop; use an asynchronous client"):
        await met_here(Clock(), object())


async def test_only_a_loop_waits_for_ever() -> None:
    with pytest.raises(EndlessError, match="never continues, and its client has no read timeout"):
        await met_here(Clock(), math.inf)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await met_in_loop(Clock(), math.inf)


def test_it_runs_by_itself_and_can_be_put_forward() -> None:
    clock = Clock()
    before = clock.now()
    clock.advance(60)
    assert 60 <= clock.now() - before < 61


def test_a_moment_is_reached_at_once_and_never_left_again() -> None:
    clock = Clock()
    moment = clock.now() + 30
    clock.reach(moment)
    reached = clock.now()
    assert 0 <= reached - moment < 1
    clock.reach(moment - 20)
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
            await clock.reached(start + moment)
            came.append(moment)

    await asyncio.gather(wait(30, 40), wait(5, 10, 35), wait(20))
    assert came == [5, 10, 20, 30, 35, 40]


async def test_who_gives_up_keeps_nobody_waiting() -> None:
    clock = Clock()
    start = clock.now()
    early = asyncio.create_task(clock.reached(start + 5))
    await asyncio.sleep(0)
    early.cancel()
    await clock.reached(start + 10)
    assert clock.now() - start >= 10
    assert early.cancelled()
