"""A fault matrix as text: what a program did, fault by fault."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# What can be said of a program under a fault; some of it is bad by itself.
OUTCOMES = {
    "recovered": "It got its answer in the end, or was not disturbed at all.",
    "raised": "It raised an error; a program ended with an exit code other than 0.",
    "unaffected": "The fault could not befall what it asked for: there is no tool call to spoil, for one.",
    "hung": "It was still waiting when its time was over.",
    "truncated": "It took an answer without an end for a whole one: it did not ask again, and did not raise.",
    "failed": "It went on, with a result that the test's assertions do not accept, or asked what no rule answers.",
    "left_open": "It ended without closing a stream that was still going out.",
    "ignored_retry_after": "It came again sooner than it was told.",
}
BAD = ("hung", "truncated", "failed", "left_open", "ignored_retry_after")


@dataclass(frozen=True, slots=True)
class Row:
    """One run: of which test (or program), under which fault, whether it asked for a stream, and what it did.

    `outcome` is a word of OUTCOMES, `told` the same for people; `bad`: the run fails for it. `at` is its place among
    those of its test.
    """

    test: str
    fault: str
    asked: str
    outcome: str
    told: str
    bad: bool
    at: int = 0


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of a matrix: each test with its faults, then how many did what."""
    width = max([len(row.fault) for row in rows], default=0)
    ordered = sorted(rows, key=lambda row: (row.test, row.at))
    for test in dict.fromkeys(row.test for row in ordered):
        yield test
        yield from (line(row, width) for row in ordered if row.test == test)
    yield summary(rows)


def line(row: Row, width: int) -> str:
    """A run in one line; `width` is that of the longest name of a fault."""
    return f"  {'BAD' if row.bad else 'ok '}  {row.fault:{width}}  {row.asked:6}  {row.told}"


def summary(rows: Sequence[Row]) -> str:
    """How many runs there were, and what came of them, in one line."""
    counts = Counter(row.outcome for row in rows)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    bad = sum(row.bad for row in rows)
    return f"{len(rows)} run{'s' * (len(rows) != 1)}: {told}; {bad or 'none'} bad"
