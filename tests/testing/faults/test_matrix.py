"""What a fault matrix is told."""

from typing import Any

import pytest

from mockserver.config.errors import MockserverError, Place
from mockserver.testing.fault_matrix import LIMIT, Matrix

HERE = Place("test_app.py", 7, 1)


def test_what_is_not_said() -> None:
    matrix = Matrix.of(HERE)
    assert (matrix.limit, matrix.standard.expect, matrix.standard.allow, len(matrix.probes)) == (LIMIT, {}, (), 28)


def test_what_is_said() -> None:
    expect: dict[str | int, Any] = {500: ValueError, "cut": ["raised", "truncated"], "cut@before_done": "recovered"}
    matrix = Matrix.of(HERE, "cut", errors=[500], limit="2s", expect=expect, allow="hung", when={"param": {"n": 2}})
    assert matrix.limit == 2
    assert matrix.standard.allow == ("hung",)
    assert matrix.standard.expect == {
        "error=500": ("ValueError",),
        "cut": ("raised", "truncated"),
        "cut@before_done": ("recovered",),
    }
    rule = matrix.probes[1].rule
    assert rule is not None
    assert rule.spec["when"] == {"param.n": 2}


def test_one_alone_stands_for_a_list() -> None:
    alone = Matrix.of(HERE, "cut", errors="rate_limit", positions="at_start", expect={"cut": ValueError})
    assert alone.standard.expect == {"cut": ("ValueError",)}
    assert [probe.name for probe in alone.probes] == ["intact", "error=rate_limit", "cut@at_start"]
    assert [probe.name for probe in Matrix.of(HERE, errors={"status": 503}).probes] == ["intact", "error=503"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"limits": 3}, 'a fault matrix has no option "limits"; did you mean "limit"?'),
        ({"limit": "soon"}, '"soon" is not a duration; write 300ms, 2s, 1m or a number of seconds'),
        ({"expect": {"cutt": "raised"}}, 'expect: the matrix has no fault "cutt"; did you mean "cut"?'),
        ({"expect": {"cut": "raise"}}, 'expect: there is no outcome "raise"; did you mean "raised"?'),
        ({"expect": {"cut": 42}}, "expect: an outcome or an error is wanted, not 42"),
        ({"expect": "raised"}, "expect is a table, not 'raised'"),
        ({"when": ["hello"]}, "when is a table, not ['hello']"),
        ({"limit": 0}, "limit: a run takes longer than 0 s"),
        ({"errors": 99}, "99 is not an error status; write 400 to 599, or a table with a status and a message"),
        ({"allow": 5}, 'allow: "5" is not among what is bad: hung, truncated, failed, left_open, ignored_retry_after'),
        (
            {"allow": "raised"},
            'allow: "raised" is not among what is bad: hung, truncated, failed, left_open, ignored_retry_after',
        ),
    ],
)
def test_mistakes(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(MockserverError) as raised:
        Matrix.of(HERE, "cut", **options)
    assert str(raised.value) == f"test_app.py:7:1: {complaint}"
