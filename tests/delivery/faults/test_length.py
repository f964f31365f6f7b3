"""A head stays true to its body."""

import math

import pytest

from mockserver.core.action import Action, Cut, RawWrite, Wait, Write
from mockserver.delivery.faults.positions import with_true_length
from tests.delivery.faults.stage import PLAIN_HEAD, STREAM, sized


@pytest.mark.parametrize(
    ("actions", "stated"),
    [
        ([Write(b"12345")], 5),
        ([Write(b"12345"), Cut("end")], 5),
        ([Write(b"12345"), Wait(1), Write(b"6")], 6),
        ([Write(b"12345"), Cut("close")], 26),
        ([Write(b"12345"), Wait(math.inf)], 26),
        ([Write(bytes(30)), Cut("close")], 30),
        ([Write(b"12345"), RawWrite(b"6")], 26),
    ],
)
def test_a_length_is_that_of_the_body(actions: list[Action], stated: int) -> None:
    assert list(with_true_length([Wait(1), PLAIN_HEAD, *actions])) == [Wait(1), sized(stated), *actions]


def test_where_no_length_is_stated_none_is_added() -> None:
    assert list(with_true_length(STREAM)) == list(STREAM)
