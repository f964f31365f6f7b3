"""Scripts are lists of actions: no clock and no socket is needed to assert them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from mockserver.core.action import Action, Head, Wait, Write
from mockserver.core.frames import Frame, write_event
from mockserver.core.http import Reply
from mockserver.core.plan import Distribution, Timing
from mockserver.core.seed import Seed
from mockserver.delivery.script import AT_ONCE, Pace, join_frames, join_paced_frames, make_script

HEADERS = (("content-type", "application/json"),)
PLAIN = Reply(200, HEADERS, b"{}", tokens=10)
FRAMES = (
    Frame(b"1", tokens=0, part="open"),
    Frame(b"2", tokens=1),
    Frame(b"3", tokens=3),
    Frame(b"[DONE]", part="end"),
)
STREAM = Reply(200, HEADERS, frames=FRAMES)


@pytest.mark.parametrize(
    ("frame", "wire"),
    [
        (Frame(b'{"a":1}'), b'data: {"a":1}\n\n'),
        (Frame(b"[DONE]"), b"data: [DONE]\n\n"),
        (Frame(b"{}", event="response.created"), b"event: response.created\ndata: {}\n\n"),
        (b"anything: \r\n", b"anything: \r\n"),
    ],
)
def test_sse_is_byte_exact(frame: Frame | bytes, wire: bytes) -> None:
    assert write_event(frame) == wire


@pytest.mark.parametrize("status", [204, 304])
@pytest.mark.parametrize("sent", [{"body": b"{}"}, {"frames": FRAMES}])
def test_a_status_without_a_body_gets_none(status: int, sent: Mapping[str, Any]) -> None:
    assert list(make_script(Reply(status, HEADERS, **sent), AT_ONCE)) == [Head(status, HEADERS), Write(b"")]


def test_without_timing_all_frames_are_one_write() -> None:
    whole = b"data: 1\n\ndata: 2\n\ndata: 3\n\ndata: [DONE]\n\n"
    assert list(make_script(STREAM, AT_ONCE)) == [Head(200, HEADERS), Write(whole)]


def test_without_timing_a_huge_stream_is_made_while_it_is_sent() -> None:
    made = 0

    def frames() -> Iterator[Frame]:
        nonlocal made
        for _ in range(10_000):
            made += 1
            yield Frame(b"x" * 1000)

    reply = join_frames(Reply(200, HEADERS, frames=frames()))
    assert 0 < made < 200
    head, *writes = make_script(reply, AT_ONCE)
    assert (head, made) == (Head(200, HEADERS), 10_000)
    assert (
        b"".join(write.data for write in writes if isinstance(write, Write)) == write_event(Frame(b"x" * 1000)) * 10_000
    )
    assert len(writes) < 200


def waited(actions: Iterable[Action]) -> float:
    return sum(action.seconds for action in actions if isinstance(action, Wait))


def test_a_plain_body_waits_before_its_head() -> None:
    timing = Timing(first_token=0.5, per_token=0.1)
    assert list(make_script(PLAIN, Pace(timing))) == [Wait(pytest.approx(1.4)), Head(200, HEADERS), Write(b"{}")]


@pytest.mark.parametrize("distribution", ["uniform", "normal", "lognormal"])
@pytest.mark.parametrize("total", [None, 3.0])
def test_a_plain_body_waits_as_long_as_its_stream(distribution: Distribution, total: float | None) -> None:
    timing = Timing(0.5, 0.1, jitter=0.5, distribution=distribution, total=total)
    pace, plain = Pace(timing, Seed(3)), Reply(200, HEADERS, b"{}", tokens=4)
    assert waited(make_script(plain, pace)) == pytest.approx(waited(make_script(STREAM, pace)))
    assert list(make_script(STREAM, pace)) == list(make_script(STREAM, pace))


def test_frames_are_paced_by_their_tokens() -> None:
    actions = list(make_script(STREAM, Pace(Timing(first_token=0.5, per_token=0.1))))
    assert actions == [
        Head(200, HEADERS),
        Wait(0.5),
        Write(b"data: 1\n\n"),
        Write(b"data: 2\n\n"),
        Wait(pytest.approx(0.3)),
        Write(b"data: 3\n\n"),
        Write(b"data: [DONE]\n\n"),
    ]


def sent_at(actions: Iterable[Action]) -> Mapping[float, bytes]:
    """What is written at which time."""
    now, found = 0.0, dict[float, bytes]()
    for action in actions:
        if isinstance(action, Wait):
            now = round(now + action.seconds, 9)
        elif isinstance(action, Write):
            found[now] = found.get(now, b"") + action.data
    return found


@pytest.mark.parametrize("timing", [Timing(0.5, 0.1), Timing(0.5, 0.1, jitter=0.5), Timing(total=3.0), Timing(0.5)])
def test_the_parts_of_a_body_leave_when_its_frames_would(timing: Timing) -> None:
    pace = Pace(timing, Seed(3))
    reply = join_paced_frames(STREAM, pace)
    assert (reply.frames, reply.body) == (None, b"".join(map(write_event, FRAMES)))
    assert sent_at(make_script(reply, pace)) == sent_at(make_script(STREAM, pace))
    assert list(make_script(reply, AT_ONCE)) == list(make_script(STREAM, AT_ONCE))


@pytest.mark.parametrize("first", [0.0, 0.25, 9.0])
@pytest.mark.parametrize("reply", [PLAIN, STREAM], ids=["plain", "stream"])
def test_total_is_kept(reply: Reply, first: float) -> None:
    actions = make_script(reply, Pace(Timing(first_token=first, per_token=7.0, total=2.0)))
    assert sum(action.seconds for action in actions if isinstance(action, Wait)) == pytest.approx(2.0)


# --- what was recorded


TIMED = Reply(200, HEADERS, frames=(b"1", b"2", b"3", b"4"), frame_times=(0.1, 0.1, 0.5, 0.4))
SLOW = Pace(Timing(total=1.0))


def test_recorded_frames_leave_at_their_times() -> None:
    """As near to each as before, however late the ones before were: waits add up to the time of each."""
    waits = [Wait(0.1), Write(b"1"), Write(b"2"), Wait(0.4), Write(b"3"), Write(b"4")]
    assert list(make_script(TIMED, SLOW)) == [Head(200, HEADERS), *waits]


def test_a_recorded_body_leaves_at_its_time() -> None:
    reply = Reply(200, HEADERS, b"{}", frame_times=(0.5,))
    assert list(make_script(reply, SLOW)) == [Wait(0.5), Head(200, HEADERS), Write(b"{}")]
