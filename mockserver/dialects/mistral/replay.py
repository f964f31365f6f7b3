"""Changed histories that Mistral refuses: rewritten ids of calls, results that are missing, empty turns, and turns out
of order.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from mockserver.core.call import Call
from mockserver.core.plan import Failure
from mockserver.core.validation import HistoryProblem
from mockserver.dialects._parse import Body, clip
from mockserver.dialects._replay import Problems, ReplayRule, make_history_check
from mockserver.dialects.mistral.errors import CALLS, ORDER


def _find_rewritten_ids(call: Call, messages: Sequence[Body]) -> Problems:
    for at, message in enumerate(messages):
        for index, made in enumerate(message.get("tool_calls") or ()):
            name = made.get("id") or ""
            if not _ID.fullmatch(name):
                words = f"Tool call id was {clip(name)} but must be a-z, A-Z, 0-9, with a length of 9."
                place = f"messages[{at}].tool_calls[{index}].id"
                yield HistoryProblem(_make_failure(words, CALLS, "3280"), place, "send the ids of calls back unchanged")


def _find_wrong_order(call: Call, messages: Sequence[Body]) -> Problems:
    taken = _AFTER_RESULTS if call.model.startswith(_LENIENT_MODELS) else ()
    for at, (before, message) in enumerate(pairwise(messages), 1):
        roles = before["role"], message["role"]
        if roles in _APART and roles not in taken:
            words = f"Unexpected role '{roles[1]}' after role '{roles[0]}'"
            keep = "after results, let the assistant speak before the user"
            yield HistoryProblem(_make_failure(words, ORDER, "3230"), f"messages[{at}].role", keep)


def _find_uneven_results(call: Call, messages: Sequence[Body]) -> Problems:
    for at, message in enumerate(messages):
        calls = len(message.get("tool_calls") or ())
        if not calls:
            continue
        results = 0
        while at + results + 1 < len(messages) and messages[at + results + 1]["role"] == "tool":
            results += 1
        if results != calls:
            words = "Not the same number of function calls and responses"
            keep = "right after `tool_calls`, send a `tool` message for each call"
            yield HistoryProblem(_make_failure(words, ORDER, "3230"), f"messages[{at}].tool_calls", keep)


def _find_empty_assistants(call: Call, messages: Sequence[Body]) -> Problems:
    for at, message in enumerate(messages):
        if message["role"] == "assistant" and not (message.get("content") or message.get("tool_calls")):
            words = "Assistant message must have either content or tool_calls, but not none."
            keep = "leave out messages of the assistant that say nothing and call nothing"
            yield HistoryProblem(Failure("bad_parameter", words), f"messages[{at}].content", keep)


def _find_last_assistant(call: Call, messages: Sequence[Body]) -> Problems:
    last = messages[-1]
    if last["role"] == "assistant" and not last.get("prefix") and not last.get("tool_calls"):
        words = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
        keep = "end with a user's message or a result, or set `prefix`"
        yield HistoryProblem(_make_failure(words, ORDER, "3230"), f"messages[{len(messages) - 1}].role", keep)


def _make_failure(message: str, kind: str, code: str) -> Failure:
    return Failure("bad_parameter", message, kind=kind, code=code)


def _read_history(call: Call) -> Sequence[Body] | None:
    """Return the messages; None if none of them answers another."""
    messages: Sequence[Body] = call.raw.get("messages") or ()
    return messages if call.is_checked and any(message["role"] in _ANSWERED_ROLES for message in messages) else None


_ID = re.compile(r"[a-zA-Z0-9]{9}")
_APART = (("tool", "user"), ("user", "tool"), ("tool", "system"), ("system", "tool"))
_AFTER_RESULTS = (("tool", "user"),)  # which these models take
_LENIENT_MODELS = ("mistral-small", "ministral")
_ANSWERED_ROLES = ("assistant", "tool")
HISTORY = make_history_check(
    _read_history,
    ReplayRule(_find_rewritten_ids),
    ReplayRule(_find_wrong_order),
    ReplayRule(_find_uneven_results),
    ReplayRule(_find_empty_assistants),
    ReplayRule(_find_last_assistant),
)
