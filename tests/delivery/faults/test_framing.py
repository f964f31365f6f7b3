"""Bytes that come otherwise: broken, parted, joined, twice, out of order."""

from typing import Any

import pytest

from mockserver.core.action import Flush, Position, Wait, Write
from mockserver.core.frames import Frame, write_event
from mockserver.delivery.faults import Crlf, Duplicate, JoinFrames, MalformedJson, Reorder, SplitFrame, SplitUtf8
from tests.delivery.faults.stage import (
    BODY,
    CALLING,
    DONE,
    FINISH,
    HEAD,
    ONE,
    OPEN,
    PLAIN,
    PLAIN_HEAD,
    STREAM,
    TWO,
    plain,
    sized,
    streamed,
)

# A position, and the event that stands behind it.
VICTIMS = [
    (Position("at_start"), 1),
    (Position("after_frames", 2), 3),
    (Position("after_tokens", 1), 3),
    (Position("after_bytes", len(OPEN.data) + 1), 2),
    (Position("before_done"), 5),
]


@pytest.mark.parametrize(("at", "victim"), VICTIMS, ids=lambda value: getattr(value, "where", ""))
def test_the_event_there_is_broken(at: Position, victim: int) -> None:
    whole = STREAM[victim].data  # type: ignore[union-attr]
    broken = whole.replace(b"}\n", b"\n").replace(b"]\n", b"\n")
    assert streamed(MalformedJson(at)) == [*STREAM[:victim], Write(broken), *STREAM[victim + 1 :]]


@pytest.mark.parametrize(("at", "victim"), VICTIMS, ids=lambda value: getattr(value, "where", ""))
def test_the_event_there_comes_twice(at: Position, victim: int) -> None:
    assert streamed(Duplicate(at)) == [*STREAM[: victim + 1], *STREAM[victim:]]


@pytest.mark.parametrize(("at", "victim"), VICTIMS[:4], ids=lambda value: getattr(value, "where", ""))
def test_two_events_change_places(at: Position, victim: int) -> None:
    assert streamed(Reorder(at)) == [*STREAM[:victim], STREAM[victim + 1], STREAM[victim], *STREAM[victim + 2 :]]


@pytest.mark.parametrize("fault", [MalformedJson, Duplicate, Reorder])
def test_in_the_arguments_of_a_tool_call(fault: Any) -> None:
    at = Position("in_tool_arguments")
    assert streamed(fault(at)) == list(STREAM)
    assert streamed(fault(at), CALLING)[:4] == list(CALLING[:4])
    assert streamed(fault(at), CALLING) != list(CALLING)


@pytest.mark.parametrize("at", [Position("at_start"), Position("after_tokens", 1), Position("before_done")])
def test_a_plain_body_is_broken_or_comes_twice(at: Position) -> None:
    assert plain(MalformedJson(at)) == [sized(25), Write(BODY[:-1])]
    assert plain(Duplicate(at)) == [sized(52), Write(BODY), Write(BODY)]
    assert plain(Reorder(at)) == list(PLAIN)


def test_each_event_in_two_pieces() -> None:
    found = streamed(SplitFrame(pause=0.5))
    middle = len(OPEN.data) // 2
    first, second = OPEN.data[:middle], OPEN.data[middle:]
    apart = [Flush(), Wait(0.5)]
    assert found[:7] == [HEAD, Write(first), *apart, Write(second), *apart]
    assert len(found) == 1 + 6 * 5
    pieces = [each.frame for each in found if isinstance(each, Write)]
    assert pieces[::2] == [None] * 5
    assert None not in pieces[1::2]


def test_a_plain_body_in_two_pieces() -> None:
    apart = [Flush(), Wait(0.01)]
    assert plain(SplitFrame()) == [PLAIN_HEAD, Write(BODY[:13]), *apart, Write(BODY[13:]), *apart]


@pytest.mark.parametrize(
    ("text", "first"),
    [("naïve", b"data: na\xc3"), ("日本", b"data: \xe6"), ("a 🙂 b", b"data: a \xf0"), ("naive", b"data: ")],
)
def test_parted_in_a_character(text: str, first: bytes) -> None:
    made = Frame(text.encode())
    found = streamed(SplitUtf8(), (HEAD, Write(write_event(made), 1, made)))
    assert found[1] == Write(first)
    assert b"".join(each.data for each in found if isinstance(each, Write)) == write_event(made)


def test_several_events_come_at_once() -> None:
    assert streamed(JoinFrames()) == [
        HEAD,
        Write(OPEN.data + ONE.data),
        Flush(),
        Write(TWO.data + FINISH.data),
        Flush(),
        Write(DONE.data),
        Flush(),
    ]
    assert streamed(JoinFrames(Position("after_tokens", 2), 9)) == [
        *STREAM[:4],
        Write(FINISH.data + DONE.data),
        Flush(),
    ]
    assert plain(JoinFrames()) == list(PLAIN)


def test_lines_end_in_cr_lf() -> None:
    assert streamed(Crlf())[1] == Write(b'data: {"say":""}\r\n\r\n')
    assert streamed(Crlf(), streamed(Crlf())) == streamed(Crlf())
    assert streamed(Crlf(Position("before_done"))) == [*STREAM[:5], Write(b"data: [DONE]\r\n\r\n")]
    assert plain(Crlf()) == list(PLAIN)
    assert plain(Crlf(), (sized(3), Write(b"a\nb"))) == [sized(4), Write(b"a\r\nb")]
