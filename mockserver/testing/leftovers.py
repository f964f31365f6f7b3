"""What tests leave undone."""

import warnings
from collections.abc import Iterable, Iterator

from mockserver.reports.came import line
from mockserver.testing.calls import Call


class MockServerWarning(UserWarning):
    """Something that a test has left undone."""


def left_open(calls: Iterable[Call]) -> Iterator[MockServerWarning]:
    """What to say of calls whose answers were still going out when the test was over."""
    for call in calls:
        yield MockServerWarning(
            f"the test has left an answer open, {line(call)}: read the stream to its end or close it, and wait for"
            " what runs beside the test"
        )


def unrecorded(calls: Iterable[Call]) -> Iterator[MockServerWarning]:
    """What to say of calls whose answers should have been recorded and were not, once for each reason."""
    lost: dict[str, list[Call]] = {}
    for call in calls:
        if call.row.unrecorded:
            lost.setdefault(call.secrets.text(call.row.unrecorded), []).append(call)
    for why, (first, *others) in lost.items():
        head = f"{len(others) + 1} answers are not recorded, the first to" if others else "an answer is not recorded,"
        yield MockServerWarning(f"{head} {line(first)}: {why}")


def warn_of(calls: Iterable[Call]) -> None:
    """Say it where nobody reports on tests, in the line that called who calls this."""
    for warning in left_open(calls):
        warnings.warn(warning, stacklevel=3)
