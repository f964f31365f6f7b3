"""Headers and moments come in many shapes."""

import pytest

from mockserver.cassettes.convert.foreign import UnfitError, header, listed, moment


def test_headers_become_pairs() -> None:
    assert listed({"A": ["1", "2"], "B": "3", "C": [b"4"]}) == (("a", "1"), ("a", "2"), ("b", "3"), ("c", "4"))
    assert listed([{"name": "A", "value": "1"}, {"name": ":path", "value": "/"}, 3]) == (("a", "1"),)
    assert listed({"a\ud800": "1", "é": "2", "": "3", "b": "\ud800"}) == (("b", "?"),)
    assert listed(None) == ()
    with pytest.raises(UnfitError, match="its headers are no table"):
        listed("a: b")
    assert header((("a", "1"), ("b", "2"), ("a", "3")), "a") == "1, 3"


def test_moments_are_in_utc_where_they_do_not_say() -> None:
    assert moment("2025-01-01T00:00:00") == moment("2025-01-01T01:00:00+01:00") == 1735689600
    assert moment("yesterday") == moment(None) == moment(3) == 0.0
