"""Changed histories that Bedrock's Converse refuses: calls without results, and turns of one role."""

from collections.abc import Callable

from mockserver.core.call import Call
from mockserver.core.validation import HistoryProblem
from mockserver.dialects._parse import Body
from mockserver.dialects._replay import IF_OFF, UNLESS_LIVE, Problems, ReplayRule, make_history_check
from mockserver.dialects.bedrock import checks


def _make_check(find: Callable[[Body], checks.Problems], keep: str) -> Callable[[Call, Body], Problems]:
    """Return the check of a rule; `keep` tells what a client has to do."""

    def check(call: Call, body: Body) -> Problems:
        for place, message in find(body):
            yield HistoryProblem(checks.refuse(message), place, keep)

    return check


def _read_history(call: Call) -> Body | None:
    """Return the body if it has several turns."""
    turns = call.raw.get("messages")
    return call.raw if isinstance(turns, list) and len(turns) > 1 else None


def _find_repeated(call: Call, body: Body) -> Problems:
    if not checks.takes_repeated(call.model):
        yield from _make_check(checks.find_repeated, _MERGE)(call, body)


_ANSWER = "in the next user message, answer each `toolUse` with a `toolResult` that has its id"
_MERGE = "join neighbouring messages of one role"
_OFFER = "send the `toolConfig` of the conversation with each request"
HISTORY = make_history_check(
    _read_history,
    ReplayRule(_make_check(checks.find_unanswered, _ANSWER), modes=IF_OFF),
    ReplayRule(_make_check(checks.find_excess, _ANSWER), modes=IF_OFF),
    ReplayRule(_make_check(checks.find_undefined, _OFFER), modes=IF_OFF),
    ReplayRule(_find_repeated, modes=UNLESS_LIVE),
)
