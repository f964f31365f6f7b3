"""What to tell of a test that failed by itself: it may have failed for what its calls got."""

from collections.abc import Iterator, Sequence

from mockserver.engine.nearest import plain
from mockserver.reports.came import REFUSED, Came, line, listed
from mockserver.reports.problems import Problem, told

MOST = 5  # refused calls that are told
_FAILED = 500


def beside(calls: Sequence[Came], problems: Sequence[Problem]) -> str:
    """Problems, then the calls that were refused and why, then all calls in a line each; empty where none came."""
    if not calls and not problems:
        return ""
    return "\n\n".join(filter(None, (told(problems), "\n".join(_refused(calls)), listed(calls))))


def _refused(calls: Sequence[Came]) -> Iterator[str]:
    """Calls that no rule was asked for, or whose rule failed by itself."""
    found = [call for call in calls if call.source in REFUSED or (call.status == _FAILED and call.error)]
    for call in found[:MOST]:
        yield line(call) if call.source in REFUSED else f"{line(call)} ({call.status})"
        yield f"  {plain(call.secrets.text(call.error)[:_LONGEST])}"
    if len(found) > MOST:
        yield f"... and {len(found) - MOST} more that were refused"


_LONGEST = 500
