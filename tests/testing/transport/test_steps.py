"""A request on its way through an application, step by step."""

import threading
from typing import Any

import pytest

from mockserver.core.action import Cut, Head, Wait, Write
from mockserver.engine.offload import Work, aside
from mockserver.server.snapshot import ClientLeftError
from mockserver.testing.transport.in_process import END, Gate, Steps
from tests.testing.transport.acting import OK, Acting, doing, steps

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
        stepped = Steps(gate, {"type": "http"}, b"", in_asyncio=False)
        while stepped.next() is not END:
            pass

    threads = [threading.Thread(target=walk) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 160
