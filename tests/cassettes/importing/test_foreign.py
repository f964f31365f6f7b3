"""Headers and moments come in many shapes."""

import pytest

from mockserver.cassettes.convert.imports import UnreadableError, header_pairs, timestamp
from mockserver.core.episode import header_value


def test_headers_become_pairs() -> None:
    assert header_pairs({"A": ["1", "2"], "B": "3", "C": [b"4"]}) == (("a", "1"), ("a", "2"), ("b", "3"), ("c", "4"))
    assert header_pairs([{"name": "A", "value": "1"}, {"name": ":path", "value": "/"}, 3]) == (("a", "1"),)
    assert header_pairs({"a\ud800": "1", "é": "2", "": "3", "b": "\ud800"}) == (("b", "?"),)
    assert header_pairs(None) == ()
    with pytest.raises(UnreadableError, match="its headers are not a table"):
        header_pairs("a: b")
    assert header_value((("a", "1"), ("b", "2"), ("a", "3")), "a") == "1, 3"


def test_moments_are_in_utc_where_they_do_not_say() -> None:
    assert timestamp("2025-01-01T00:00:00") == timestamp("2025-01-01T01:00:00+01:00") == 1735689600
    assert timestamp("yesterday") == timestamp(None) == timestamp(3) == 0.0
