"""What a client hears of an answer, on time that passes at once."""

import math
from collections.abc import Iterable
from typing import Any

import pytest

from mockserver.core.action import Action, Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.http import Frame
from mockserver.server.snapshot import ClientLeftError
from mockserver.testing import Clock
from mockserver.testing.transport.in_process import Answer
from tests.testing.transport.acting import OK, STREAM, Acting, steps

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
