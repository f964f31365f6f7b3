"""No text from elsewhere breaks a line, moves the cursor or grows too long."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.text import MAX_LOG_LINE, count_noun, escape_line, escape_lines, format_size, show_value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\r\nb", r"a\x0d\x0ab"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("é\u2028\U0001f600\udc80", r"\xe9\u2028\U0001f600\udc80"),
        ("x" * (MAX_LOG_LINE + 1), "x" * MAX_LOG_LINE + "..."),
    ],
)
def test_known_answers(text: str, shown: str) -> None:
    assert escape_line(text) == shown


@given(st.text(st.characters()))
def test_all_of_it_shows(text: str) -> None:
    assert escape_line(text).isascii()
    assert escape_line(text).isprintable()


def test_every_line_is_marked() -> None:
    assert escape_lines("a\nGET /forged -> 200\n") == "| a\n| GET /forged -> 200\n| "


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        ("é ☃", '"é ☃"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("a\nb\x1b[31m\x7f\x85", '"a\\nb\\u001b[31m\\u007f\\u0085"'),
        ("\u2028\u202e\ud800\U000e0001", '"\\u2028\\u202e\\ud800\\udb40\\udc01"'),
        ("x" * 80, f'"{"x" * 80}"'),
        ("x" * 81, f'"{"x" * 79}…"'),
        (None, "null"),
        (1.5, "1.5"),
        (("a", "b"), '["a", "b"]'),
        ({"a": "\n"}, '{"a": "\\n"}'),
        ({"a": "x" * 200}, f'{{"a": "{"x" * 74}…'),
        (list(range(1000)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22…"),
        (b"a", "\"b'a'\""),
    ],
)
def test_shown(value: object, text: str) -> None:
    assert show_value(value) == text
    assert text.isprintable()


def test_a_value_of_any_depth_is_shown() -> None:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    assert show_value(deep) == "[" * 81 + "…"


def test_a_length_of_ones_own_a_count_and_a_size() -> None:
    assert (show_value("x" * 9, 8), show_value([1, 2, 3, 4], 8)) == ('"xxxxxxx…"', "[1, 2, 3,…")
    assert (count_noun(1, "call"), count_noun(2, "rule"), count_noun(0, "rule")) == ("1 call", "2 rules", "0 rules")
    assert (format_size(5), format_size(5_300), format_size(5_300_000)) == ("5 B", "5.3 kB", "5.3 MB")
