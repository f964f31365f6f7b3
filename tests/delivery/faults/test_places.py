"""Where positions are: in streams, in plain bodies, in what other faults have left."""

from collections.abc import Iterable

import pytest

from mockserver.core.action import Action, Head, Position, Wait, Write
from mockserver.core.frames import Frame
from mockserver.delivery.faults.positions import HERE, mark_position
from tests.delivery.faults.stage import CALLING, CALLS, HEAD, PLAIN, PLAIN_HEAD, STREAM, make_context

SIZES = [len(write.data) for write in STREAM if isinstance(write, Write)]


def before(at: Position, actions: Iterable[Action] = STREAM, *, exact: bool = True, streamed: bool = True) -> object:
    """What stands before the mark: how many whole actions, and how many bytes of the next; None without a mark."""
    found = list(mark_position(actions, at, make_context(streamed=streamed), exact=exact))
    if HERE not in found:
        assert found == list(actions)
        return None
    here = found.index(HERE)
    assert found.count(HERE) == 1
    assert data(found) == data(actions)
    ends = [action for action in found[:here] if action in actions]
    rest = [action for action in found[:here] if action not in actions]
    return len(ends), sum(len(action.data) for action in rest if isinstance(action, Write))


def data(actions: Iterable[object]) -> bytes:
    return b"".join(action.data for action in actions if isinstance(action, Write))


@pytest.mark.parametrize(
    ("at", "found"),
    [
        (Position("at_start"), (1, 0)),
        (Position("after_frames", 2), (3, 0)),
        (Position("after_frames", 6), None),
        (Position("after_tokens", 2), (4, 0)),
        (Position("after_tokens", 3), None),
        (Position("after_bytes", 5), (1, 5)),
        (Position("after_bytes", SIZES[0] + 3), (2, 3)),
        (Position("after_bytes", sum(SIZES)), (6, 0)),
        (Position("after_bytes", sum(SIZES) + 1), None),
        (Position("before_done"), (5, 0)),
        (Position("in_tool_arguments"), None),
    ],
)
def test_positions_in_a_stream(at: Position, found: object) -> None:
    assert before(at) == found


@pytest.mark.parametrize(
    ("at", "offset"),
    [
        (Position("at_start"), 0),
        (Position("after_bytes", 26), 26),
        (Position("after_bytes", 27), None),
        (Position("after_frames", 1), 26),
        (Position("after_frames", 2), None),
        (Position("after_tokens", 1), 6),
        (Position("after_tokens", 5), None),
        (Position("before_done"), 25),
        (Position("in_tool_arguments"), None),
    ],
)
def test_positions_in_a_plain_body(at: Position, offset: int | None) -> None:
    found = before(at, PLAIN, streamed=False)
    assert found == (None if offset is None else (2, 0) if offset == 26 else (1, offset))


@pytest.mark.parametrize("at", [Position("after_frames", 0), Position("after_tokens", 4), Position("before_done")])
def test_a_plain_body_is_struck_as_a_whole(at: Position) -> None:
    assert before(at, PLAIN, exact=False, streamed=False) == (1, 0)


def test_between_the_pieces_of_arguments() -> None:
    assert before(Position("in_tool_arguments"), CALLING) == (4, 0)


def test_inside_a_piece_of_arguments_that_is_alone() -> None:
    actions = (HEAD, CALLS[0], CALLS[1], STREAM[4], STREAM[5])
    assert before(Position("in_tool_arguments"), actions) == (2, len(b'data: {"arguments":"{\\"'))
    assert before(Position("in_tool_arguments"), actions, exact=False) == (2, 0)


@pytest.mark.parametrize(
    ("body", "offset"),
    [
        (b'{"arguments":"{\\"a\\":1}"}', 14 + 4),
        (b'{"text":"\\"arguments\\":\\"no","arguments":"ab"}', 43),
        (b'{"input":"abcd"}', 12),
        (b'{"input":{"a":1}}', 10 + 2),
        (b'{"text":"ab","args": {"a": 1}}', 22 + 3),
        (b'{"input":{}}', None),
        (b'{"arguments":""}', None),
    ],
)
def test_arguments_in_a_plain_body(body: bytes, offset: int | None) -> None:
    found = before(Position("in_tool_arguments"), (PLAIN_HEAD, Write(body, 1)), streamed=False)
    assert found == (None if offset is None else (1, offset))


def test_the_last_frame_is_found_among_waits_and_pieces() -> None:
    frames = [Frame(b"1"), Frame(b"2")]
    actions = (HEAD, Wait(1), Write(b"1", 0, frames[0]), Wait(1), Write(b"2"), Wait(2), Write(b"3", 0, frames[1]))
    found = list(mark_position(actions, Position("before_done"), make_context()))
    assert found == [*actions[:4], HERE, *actions[4:]]


def test_a_stream_is_not_looked_at_further_than_needed() -> None:
    def endless() -> Iterable[Action]:
        yield HEAD
        while True:
            yield Write(b"x", 1, Frame(b"x"))

    for at in (Position("after_frames", 2), Position("after_tokens", 2), Position("after_bytes", 2)):
        found = mark_position(endless(), at, make_context())
        assert [next(found) is HERE for _ in range(4)] == [False, False, False, True]
    assert isinstance(next(iter(mark_position(endless(), Position("before_done"), make_context()))), Head)
