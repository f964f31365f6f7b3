"""Answers that come slowly, or with signs of life."""

import pytest

from mockserver.core.action import Position, Wait, Write
from mockserver.delivery.faults import TICK, KeepAlive, Slow
from tests.delivery.faults.stage import HEAD, ONE, OPEN, PLAIN, STREAM, plain, sized, streamed

SIGN = Write(b": keepalive\n\n")


def written(actions: object) -> bytes:
    return b"".join(each.data for each in actions if isinstance(each, Write))  # type: ignore[attr-defined]


@pytest.mark.parametrize("rate", [1.0, 20.0, 1000.0, 12_345.6])
def test_bytes_come_no_faster_than_told(rate: float) -> None:
    for found, whole in ((streamed(Slow(bytes_per_second=rate)), STREAM), (plain(Slow(bytes_per_second=rate)), PLAIN)):
        pairs = list(zip(found[1::2], found[2::2], strict=True))
        assert all(
            isinstance(wait, Wait) and isinstance(piece, Write) and wait.seconds == len(piece.data) / rate
            for wait, piece in pairs
        )
        assert max(len(piece.data) for _, piece in pairs if isinstance(piece, Write)) <= max(1, rate * TICK)
        assert written(found) == written(whole)


def test_a_sign_of_life_before_each_event() -> None:
    expected = [HEAD, *[each for write in STREAM[1:] for each in (SIGN, write)]]
    assert streamed(KeepAlive()) == expected
    assert streamed(KeepAlive(Position("before_done"))) == [*STREAM[:5], SIGN, STREAM[5]]
    assert streamed(KeepAlive(Position("after_tokens", 2))) == [*STREAM[:4], SIGN, STREAM[4], SIGN, STREAM[5]]


def test_signs_of_life_during_waits() -> None:
    actions = (HEAD, Wait(2.5), OPEN, Wait(0.5), ONE)
    assert streamed(KeepAlive(every=1.0), actions) == [
        HEAD,
        Wait(1),
        SIGN,
        Wait(1),
        SIGN,
        Wait(0.5),
        OPEN,
        Wait(0.5),
        ONE,
    ]
    assert streamed(KeepAlive(every=1.0), (HEAD, Wait(1.0), OPEN)) == [HEAD, Wait(1.0), OPEN]


def test_a_plain_body_has_white_space_before_it_and_a_true_length() -> None:
    assert plain(KeepAlive()) == [sized(27), Write(b"\n"), PLAIN[1]]
    slow = (Wait(2.5), *PLAIN)
    signs = [Wait(1.0), Write(b"\n"), Wait(1.0), Write(b"\n"), Wait(0.5)]
    assert plain(KeepAlive(every=1.0), slow) == [sized(28), *signs, PLAIN[1]]
