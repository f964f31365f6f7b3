"""No text from elsewhere breaks a line of a log, moves its cursor or outgrows it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.text import LONGEST, lines, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\r\nb", r"a\x0d\x0ab"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("é\u2028\U0001f600\udc80", r"\xe9\u2028\U0001f600\udc80"),
        ("x" * (LONGEST + 1), "x" * LONGEST + "..."),
    ],
)
def test_known_answers(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters()))
def test_all_of_it_shows(text: str) -> None:
    assert printable(text).isascii()
    assert printable(text).isprintable()


def test_every_line_is_marked() -> None:
    assert lines("a\nGET /forged -> 200\n") == "| a\n| GET /forged -> 200\n| "
