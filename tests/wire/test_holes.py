"""Numbers in the holes of a stream."""

from itertools import count

import pytest

from mockserver.wire.template import HOLE, fill_holes


@pytest.mark.parametrize(
    ("form", "filled"),
    [
        ("", ""),
        ("no number", "no number"),
        ("# and #", "0 and 1"),
        ("100% of #", "100% of 0"),
        ("%d%b#%%s#", "%d%b0%%s1"),
    ],
)
def test_only_holes_are_filled(form: str, filled: str) -> None:
    assert fill_holes(form.encode().replace(b"#", HOLE), map(b"%d".__mod__, count())) == filled.encode()
