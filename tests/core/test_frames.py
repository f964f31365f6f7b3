"""Pieces of a stream as they left become frames with times again."""

import pytest

from mockserver.core.sent_body import Piece, SentFrame, count_frames, split_frames


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([], []),
        ([(1.0, b"data: a\n\n")], [(1.0, b"data: a", True)]),
        (
            [(1.0, b"data: a\n\ndata: b\n\n"), (2.0, b"data: c\n\n")],
            [(1.0, b"data: a"), (1.0, b"data: b"), (2.0, b"data: c")],
        ),
        ([(1.0, b"da"), (2.0, b"ta: a\n"), (3.0, b"\ndata: b")], [(3.0, b"data: a"), (3.0, b"data: b", False)]),
        ([(1.0, b"data: a\r\n\r\ndata: b\r\n\r\n")], [(1.0, b"data: a"), (1.0, b"data: b")]),
        (
            [(1.0, b"data: a\n"), (2.0, b"\n"), (3.0, b""), (4.0, b"data: b\n\n")],
            [(2.0, b"data: a"), (4.0, b"data: b")],
        ),
        ([(1.0, b"\xff\n\n")], [(1.0, b"\xff")]),
    ],
)
def test_frames_leave_with_their_last_byte(pieces: list[Piece], expected: list[tuple[float, bytes]]) -> None:
    assert list(split_frames(pieces)) == [SentFrame(*each) for each in expected]


@pytest.mark.parametrize(
    ("raw", "event", "text"),
    [
        (b"data: {}", None, "{}"),
        (b"event: done\ndata: a\ndata:b", "done", "a\nb"),
        (b": ping", None, ": ping"),
        (b"event: x\r\ndata: \xc3", "x", "�"),
    ],
)
def test_a_frame_says_what_it_holds(raw: bytes, event: str | None, text: str) -> None:
    frame = SentFrame(0.0, raw)
    assert (frame.event, frame.text) == (event, text)


def test_frames_are_counted_without_being_kept() -> None:
    assert count_frames(b"data: a\n\ndata: b\r\n\r\ndata: c") == 2
