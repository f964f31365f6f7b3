"""Recorded answers as replies."""

from mockserver.core.episode import Recorded
from mockserver.core.plan import Timing
from mockserver.delivery.script import AT_ONCE, Pace
from mockserver.server.replay import replayed
from tests.kit.reels import streamed

STREAM = streamed("1", "[DONE]", every=0.2)
PLAIN = Recorded(200, (("Content-Type", "text/plain"),), b"abc", took=0.5)


def test_the_bytes_are_those_that_were_recorded() -> None:
    reply, pace = replayed(STREAM, AT_ONCE, 0)
    assert (reply.status, reply.frames, reply.beats) == (200, (b"data: 1\n\n", b"data: [DONE]\n\n"), ())
    assert pace is AT_ONCE
    reply, pace = replayed(PLAIN, AT_ONCE, 0)
    assert (reply.body, reply.frames, reply.beats, pace) == (b"abc", None, (), AT_ONCE)


def test_headers_of_the_connection_are_not_repeated_and_the_length_is_right() -> None:
    headers = (
        ("Content-Type", "text/plain"),
        ("Content-Length", "99"),
        ("content-encoding", "gzip"),
        ("Transfer-Encoding", "chunked"),
        ("date", "yesterday"),
        ("retry-after", "7"),
    )
    reply, _ = replayed(Recorded(429, headers, b"abc"), AT_ONCE, 0)
    assert reply.headers == (("Content-Type", "text/plain"), ("retry-after", "7"), ("content-length", "3"))
    reply, _ = replayed(Recorded(200, headers, frames=((0.1, b"abc"),)), AT_ONCE, 0)
    assert reply.headers == (("Content-Type", "text/plain"), ("retry-after", "7"))
    assert replayed(Recorded(204), AT_ONCE, 0)[0].headers == ()


def test_the_beat_is_kept_at_the_speed_that_is_set() -> None:
    reply, pace = replayed(STREAM, AT_ONCE, 2)
    assert (reply.beats, pace.at_once) == ((0.1, 0.2), False)
    reply, pace = replayed(PLAIN, AT_ONCE, 0.5)
    assert (reply.beats, pace.at_once) == ((1.0,), False)


def test_what_came_at_once_goes_at_once() -> None:
    assert replayed(Recorded(200, body=b"a"), AT_ONCE, 1)[1] is AT_ONCE
    assert replayed(Recorded(200, frames=()), AT_ONCE, 1)[1] is AT_ONCE


def test_a_pace_that_a_rule_states_wins() -> None:
    stated = Pace(Timing(per_token=1.0))
    reply, pace = replayed(STREAM, stated, 1)
    assert (reply.beats, pace) == ((), stated)
