"""Changed histories that OpenAI refuses in a chat: calls without results, and calls that were rewritten."""

from collections.abc import Sequence

from mockserver.core.call import Call
from mockserver.core.history import HistoryProblem
from mockserver.dialects._chat import MAX_CALL_ID, too_long_ids, unanswered_calls
from mockserver.dialects._errors import refuse
from mockserver.dialects._parse import Body, Complaint
from mockserver.dialects._replay import IF_PUBLISHED, UNLESS_LIVE, Problems, ReplayRule, make_history_check

Messages = Sequence[Body]


def _find_empty_calls(call: Call, messages: Messages) -> Problems:
    for at, message in enumerate(messages):
        if message.get("tool_calls") == []:
            found = Complaint("short", ("messages", at, "tool_calls"), got=[], bound=1)
            yield _problem(found, "leave out `tool_calls` where an answer has none")


def _find_long_ids(call: Call, messages: Messages) -> Problems:
    for at, index, name in too_long_ids(messages):
        found = Complaint("long", ("messages", at, "tool_calls", index, "id"), got=name, bound=MAX_CALL_ID)
        yield _problem(found, "keep the ids of calls as they came")


def _find_nameless_calls(call: Call, messages: Messages) -> Problems:
    for at, message in enumerate(messages):
        calls = message.get("tool_calls")
        for index, made in enumerate(calls if isinstance(calls, list) else ()):
            function = made.get("function") if isinstance(made, dict) else None
            if isinstance(function, dict) and function.get("name") == "":
                path = ("messages", at, "tool_calls", index, "function", "name")
                keep = "keep each call's name; a stream sends it only in the call's first piece"
                yield _problem(Complaint("short", path, got="", bound=1), keep)


def _find_unanswered(call: Call, messages: Messages) -> Problems:
    for found in unanswered_calls(messages) if call.is_checked else ():
        yield _problem(found, "answer each of the `tool_calls` by a `tool` message with its id, right after them")


def _messages(call: Call) -> Messages | None:
    """The messages, if there are calls of tools among them."""
    messages = call.body.get("messages")
    if not isinstance(messages, list):
        return None
    for message in messages:
        if isinstance(message, dict) and ("tool_calls" in message or "tool_call_id" in message):
            return [each if isinstance(each, dict) else {} for each in messages]
    return None


def _problem(found: Complaint, keep: str) -> HistoryProblem:
    return HistoryProblem(refuse(found), found.where, keep)


CHAT_HISTORY = make_history_check(
    _messages,
    ReplayRule(_find_empty_calls, modes=IF_PUBLISHED),
    ReplayRule(_find_long_ids, modes=IF_PUBLISHED),
    ReplayRule(_find_nameless_calls, modes=IF_PUBLISHED),
    ReplayRule(_find_unanswered, modes=UNLESS_LIVE),
)
