"""The table of a fault matrix."""

from mockserver.reports.failures import BAD, OUTCOMES, Row, fault_line, fault_summary, table

ROWS = (
    Row("test_app.py::test_b", "cut@after_tokens=1", "stream", "truncated", "took a truncated answer", bad=True, at=2),
    Row("test_app.py::test_b", "intact", "", "recovered", "passes", bad=False),
    Row("test_app.py::test_b", "crlf", "plain", "recovered", "recovered", bad=False, at=1),
    Row("test_app.py::test_a", "crlf", "", "unaffected", "unaffected: no call came", bad=False, at=1),
)


def test_the_table_is_in_order_whatever_came_first() -> None:
    assert list(table(ROWS)) == [
        "test_app.py::test_a",
        "  ok   crlf                        unaffected: no call came",
        "test_app.py::test_b",
        "  ok   intact                      passes",
        "  ok   crlf                plain   recovered",
        "  BAD  cut@after_tokens=1  stream  took a truncated answer",
        "4 runs: 2 recovered, 1 unaffected, 1 truncated; 1 bad",
    ]


def test_a_line_and_a_summary() -> None:
    assert fault_line(ROWS[2], 6) == "  ok   crlf    plain   recovered"
    assert fault_summary(ROWS[2:3]) == "1 run: 1 recovered; none bad"


def test_what_is_bad_is_an_outcome() -> None:
    assert {*BAD} < {*OUTCOMES}
