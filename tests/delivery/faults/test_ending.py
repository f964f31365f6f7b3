"""Answers that end too early: at every position, streamed and plain."""

import math
from typing import Any

import pytest

from mockserver.core.action import Cut, Position, Wait, Write
from mockserver.delivery.faults import CutShort, Disconnect, Reset, Stall
from tests.delivery.faults.stage import (
    BODY,
    HEAD,
    OPEN,
    PLAIN,
    PLAIN_HEAD,
    STREAM,
    plain,
    sized,
    streamed,
)

# A position, and what is sent of the stream and of the plain body before it; None: it is never reached.
PLACES: list[tuple[Position, list[Any] | None, int | None]] = [
    (Position("after_frames", 2), list(STREAM[:3]), None),
    (Position("after_tokens", 2), list(STREAM[:4]), 13),
    (Position("after_bytes", 4), [HEAD, Write(OPEN.data[:4])], 4),
    (Position("before_done"), list(STREAM[:5]), 25),
    (Position("in_tool_arguments"), None, None),
]
ENDS = [(CutShort, "end"), (Disconnect, "close"), (Reset, "reset")]


@pytest.mark.parametrize(("at", "sent", "offset"), PLACES, ids=[at.where for at, *_ in PLACES])
@pytest.mark.parametrize(("fault", "how"), ENDS)
def test_an_answer_ends_there(fault: Any, how: Any, at: Position, sent: list[Any] | None, offset: int | None) -> None:
    assert streamed(fault(at)) == (list(STREAM) if sent is None else [*sent, Cut(how)])
    length = offset if how == "end" else None
    head = PLAIN_HEAD if length is None else sized(length)
    assert plain(fault(at)) == (list(PLAIN) if offset is None else [head, Write(BODY[:offset]), Cut(how)])


def test_at_the_start() -> None:
    assert streamed(CutShort(Position("at_start"))) == [HEAD, Cut("end")]
    assert plain(CutShort(Position("at_start"))) == [sized(0), Cut("end")]
    for fault, how in ((Disconnect(), "close"), (Reset(), "reset")):
        assert streamed(fault) == plain(fault) == [Cut(how)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("at", "sent", "offset"), PLACES, ids=[at.where for at, *_ in PLACES])
def test_a_stall_there(at: Position, sent: list[Any] | None, offset: int | None) -> None:
    found = streamed(Stall(at, 3.0))
    assert b"".join(each.data for each in found if isinstance(each, Write)) == b"".join(
        each.data for each in STREAM if isinstance(each, Write)
    )
    assert (Wait(3.0) in found) is (sent is not None)
    if sent is not None:
        assert found[: len(sent) + 1] == [*sent, Wait(3.0)]
    whole = plain(Stall(at))
    if offset is None:
        assert whole == list(PLAIN)
    else:
        assert whole == [PLAIN_HEAD, Write(BODY[:offset]), Wait(math.inf), Write(BODY[offset:])]
