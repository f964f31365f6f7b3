"""Words that change with every run, and patterns that find them."""

import re

import pytest

from mockserver.cassettes.miss import varying_pattern

FOUND = {
    r"\d+-\d+-\d+": ("Today is 2026-01-31.", "Today is 2026-02-01."),
    r"order \d+": ("Where is order 41?", "Where is order 42?"),
    r"req_\d+": ("see req_7, please", "see req_123, please"),
    r"\d+:\d+:\d+\.\d+": ("at 10:00:00.5", "at 11:01:59.25"),
    r"\d+/\d+|order \d+": ("on 1/2 order 3", "on 2/2 order 4"),
    "[0-9a-fA-F-]{16,}": ("id 550e8400-e29b-41d4-a716-446655440000", "id 123e4567-e89b-12d3-a456-426614174abc"),
}
NONE = [
    ("the weather in Oslo", "the weather in Rome"),
    ("it is 7", "it is seven"),
    ("7", "8"),
    ("2 + 7", "2 + 8"),
    ("order 41 in Oslo", "order 42 in Rome"),
    ("order 41", "order 41 and 42"),
    ("the same", "the same"),
    ("a1 b1 c1 d1", "a2 b2 c2 d2"),
    ("", ""),
]


@pytest.mark.parametrize("pattern", FOUND)
def test_what_changes_is_found(pattern: str) -> None:
    one, other = FOUND[pattern]
    assert varying_pattern(one, other) == pattern
    assert re.sub(pattern, "<>", one) == re.sub(pattern, "<>", other)


@pytest.mark.parametrize(("one", "other"), NONE)
def test_what_differs_in_more_is_another_text(one: str, other: str) -> None:
    assert varying_pattern(one, other) is None
