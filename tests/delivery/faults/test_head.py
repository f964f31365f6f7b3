"""Heads that do not tell the truth."""

import pytest

from mockserver.core.action import Action, Cut, Head, Position, RawWrite, Wait, Write
from mockserver.delivery.faults import CutShort, Disconnect, EmptyBody, WrongContentLength, WrongContentType
from tests.delivery.faults.stage import BODY, HEAD, ONE, OPEN, PLAIN, PLAIN_HEAD, STREAM, plain, sized, streamed

SIZE = sum(len(write.data) for write in STREAM if isinstance(write, Write))
TYPE = "text/html"


def test_another_type() -> None:
    assert streamed(WrongContentType(TYPE)) == [Head(200, (("content-type", TYPE),)), *STREAM[1:]]
    assert plain(WrongContentType(TYPE)) == [Head(200, (("content-type", TYPE), PLAIN_HEAD.headers[1])), PLAIN[1]]


def test_a_length_that_never_comes() -> None:
    assert plain(WrongContentLength(10)) == [sized(36), Write(BODY), Cut("close")]
    assert plain(WrongContentLength(10, 2.0)) == [sized(36), Write(BODY), Wait(2.0), Cut("close")]
    stated = Head(200, (*HEAD.headers, ("content-length", str(SIZE + 10))))
    assert streamed(WrongContentLength(10)) == [stated, *STREAM[1:], Cut("close")]


def test_a_length_that_is_not_enough() -> None:
    assert plain(WrongContentLength(-10)) == [sized(16), Write(BODY[:16]), RawWrite(BODY[16:])]
    assert plain(WrongContentLength(-99)) == [sized(0), Write(b""), RawWrite(BODY)]
    stated = Head(200, (*HEAD.headers, ("content-length", str(len(OPEN.data)))))
    found = streamed(WrongContentLength(-len(ONE.data)), (HEAD, OPEN, ONE))
    assert found == [stated, OPEN, Write(b""), RawWrite(ONE.data)]


@pytest.mark.parametrize(
    ("before", "by", "after"),
    [
        (CutShort(Position("after_bytes", 5)), 10, [sized(15), Write(BODY[:5]), Cut("close")]),
        (CutShort(Position("after_bytes", 5)), -2, [sized(3), Write(BODY[:3]), RawWrite(BODY[3:5]), Cut("end")]),
        (Disconnect(Position("after_bytes", 5)), 10, [sized(15), Write(BODY[:5]), Cut("close")]),
    ],
)
def test_a_wrong_length_of_what_ends_already(before: Disconnect, by: int, after: list[Action]) -> None:
    assert plain(WrongContentLength(by), plain(before)) == after


def test_a_head_and_nothing_in_it() -> None:
    assert streamed(EmptyBody()) == [HEAD, Cut("end")]
    assert plain(EmptyBody(), (Wait(1), *PLAIN)) == [Wait(1), sized(0), Cut("end")]
