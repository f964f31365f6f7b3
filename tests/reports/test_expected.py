"""Calls beside what was wanted of them; whole texts stand in tests/misses."""

from typing import Any

import pytest

from mockserver.reports.expected import any_but, not_none, sequence, too_few
from mockserver.testing.calls import Wanted, wanted
from tests.kit.calls import call
from tests.kit.came import Came


def steps(texts: str) -> list[Wanted]:
    return [wanted({"last_user": text}) for text in texts]


def marks(said: str, want: str) -> str:
    """A letter for each row: o for one that is as wanted, x for another one, - for none, + for one besides."""
    lines = sequence([Came(call(text)) for text in said], steps(want)).splitlines()[2:]
    rows = [line for line in lines if line.startswith(("  ok  ", "  MISS"))]
    kinds = {"besides": "+", "no call": "-"}
    return "".join(
        "o" if row[2:4] == "ok" else next((kind for word, kind in kinds.items() if word in row), "x") for row in rows
    )


@pytest.mark.parametrize(
    ("said", "want", "rows"),
    [
        ("abc", "abd", "oox"),
        ("ac", "abc", "o-o"),
        ("abxc", "abc", "oo+o"),
        ("", "ab", "--"),
        ("ab", "", "++"),
        ("bcd", "abcd", "-ooo"),
        ("axxd", "abcd", "oxxo"),
        ("xyz", "abc", "xxx"),
    ],
)
def test_what_is_missing_moves_no_other(said: str, want: str, rows: str) -> None:
    assert marks(said, want) == rows


def test_very_many_are_held_one_against_one() -> None:
    told = sequence([Came()] * 600, [*steps("a"), *[wanted({})] * 599])
    assert told.startswith('wrong sequence at step 1: wanted last_user="a", got "hello" (call 1)')


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ({}, "wanted 2 calls, got 1"),
        ({"last_user": "x", "param": {"n": 2}}, 'wanted 2 calls with last_user="x", param={"n": 2}, got 0'),
        ({"last_user": "x" * 99}, f'wanted 2 calls with last_user="{"x" * 48}…, got 0'),
    ],
)
def test_what_was_wanted_stands_as_it_is_written(when: dict[str, Any], words: str) -> None:
    assert too_few([Came()], wanted(when), "2").splitlines()[0] == words


def test_too_many() -> None:
    assert any_but([Came()] * 2, wanted({}), 1).startswith("wanted 1 call, got 2\n2 calls came:\n  call 1")
    assert not_none([Came()], wanted({"turn": 0})).startswith("wanted no call with turn=0, got 1\n1 call came:")


def test_the_nearest_calls_are_told() -> None:
    told = too_few([Came(call("bye")), Came(call("wether"))], wanted({"last_user": "weather"}), "at least 1")
    assert told.splitlines()[:3] == [
        'wanted at least 1 call with last_user="weather", got 0',
        '  call 1: chat gpt-4o "wether" -> unmatched',
        '    MISS  last_user equals "weather"',
    ]
