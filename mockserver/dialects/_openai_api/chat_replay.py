"""Changed histories that OpenAI refuses in a chat: calls without results, and calls that were rewritten."""

from collections.abc import Sequence

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.validation import HistoryProblem
from mockserver.dialects._errors import refuse
from mockserver.dialects._openai_api.chat import MAX_CALL_ID, find_unanswered_calls
from mockserver.dialects._parse import Body, Complaint
from mockserver.dialects._replay import IF_PUBLISHED, UNLESS_LIVE, Problems, ReplayRule, make_history_check


class _History(Struct, frozen=True):
    """The messages, each a table, and the calls in them, each with the places of its message and within that."""

    messages: Sequence[Body]
    calls: Sequence[tuple[int, int, Body]]


def _find_empty_calls(call: Call, history: _History) -> Problems:
    for at, message in enumerate(history.messages):
        if message.get("tool_calls") == []:
            found = Complaint("short", ("messages", at, "tool_calls"), got=[], bound=1)
            yield _make_problem(found, "leave out `tool_calls` if the message has no calls")


def _find_long_ids(call: Call, history: _History) -> Problems:
    for at, index, made in history.calls:
        if isinstance(name := made.get("id"), str) and len(name) > MAX_CALL_ID:
            found = Complaint("long", ("messages", at, "tool_calls", index, "id"), got=name, bound=MAX_CALL_ID)
            yield _make_problem(found, "send the ids of calls back unchanged")


def _find_nameless_calls(call: Call, history: _History) -> Problems:
    for at, index, made in history.calls:
        function = made.get("function")
        if isinstance(function, dict) and function.get("name") == "":
            path = ("messages", at, "tool_calls", index, "function", "name")
            keep = "send the name of each call; a stream has it only in the call's first chunk"
            yield _make_problem(Complaint("short", path, got="", bound=1), keep)


def _find_unanswered(call: Call, history: _History) -> Problems:
    for found in find_unanswered_calls(history.messages) if call.is_checked else ():
        yield _make_problem(found, "right after `tool_calls`, send a `tool` message with the id of each call")


def _read_history(call: Call) -> _History | None:
    """Return the history if it has tool calls that may be wrong, else None."""
    given = call.body.get("messages")
    if not isinstance(given, list):
        return None
    messages = [each if isinstance(each, dict) else {} for each in given]
    if all(map(_OF_CALLS.isdisjoint, messages)):
        return None
    calls = [
        (at, index, made)
        for at, message in enumerate(messages)
        if isinstance(listed := message.get("tool_calls"), list)
        for index, made in enumerate(listed)
        if isinstance(made, dict)
    ]
    return _History(messages, calls)


_OF_CALLS = frozenset({"tool_calls", "tool_call_id"})


def _make_problem(found: Complaint, keep: str) -> HistoryProblem:
    return HistoryProblem(refuse(found), found.where, keep)


CHAT_HISTORY = make_history_check(
    _read_history,
    ReplayRule(_find_empty_calls, modes=IF_PUBLISHED),
    ReplayRule(_find_long_ids, modes=IF_PUBLISHED),
    ReplayRule(_find_nameless_calls, modes=IF_PUBLISHED),
    ReplayRule(_find_unanswered, modes=UNLESS_LIVE),
)
