"""What to tell of a test that failed by itself: it may have failed for what its calls got."""

from collections.abc import Sequence

from mockserver.reports.came import Came, listed, refused
from mockserver.reports.problems import Problem, told


def beside(calls: Sequence[Came], problems: Sequence[Problem]) -> str:
    """Problems, then the calls that were refused and why, then all calls in a line each, or that none came."""
    return "\n\n".join(filter(None, (told(problems), "\n".join(refused(calls)), listed(calls))))
