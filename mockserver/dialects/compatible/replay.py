"""Changed histories that the hosts refuse: DeepSeek requires what Groq and Cerebras do not take, and wants all results;
Perplexity wants turns.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.plan import Failure
from mockserver.core.validation import HistoryProblem
from mockserver.dialects._openai_api.chat import ResultWords, find_unanswered_calls
from mockserver.dialects._parse import Body, Complaint
from mockserver.dialects._replay import History, Problems, ReplayRule, make_history_check
from mockserver.dialects.compatible.hosts import Host
from mockserver.dialects.compatible.request import does_think

Find = Callable[[Call, "_Chat"], Problems]


class _Chat(Struct, frozen=True):
    """The messages of a body, each a table, and the names of models that think unless they are told not to."""

    messages: Sequence[Body]
    thinks: Sequence[str]


def make_history(host: Host) -> History | None:
    """Return the check of a host's histories; None if it takes any."""
    rules = [ReplayRule(find) for find in (*_find_reasoning_rules(host), *_TURNS.get(host.kin, ()))]
    are_all_read = host.kin == "perplexity"  # where plain messages may be wrong, too

    def read(call: Call) -> _Chat | None:
        given = call.body.get("messages")
        if not isinstance(given, list):
            return None
        messages = [each if isinstance(each, dict) else {} for each in given]
        is_plain = not are_all_read and all(map(_PLAIN.issuperset, messages))
        return None if is_plain else _Chat(messages, host.thinks)

    return make_history_check(read, *rules) if rules else None


_PLAIN = frozenset({"role", "content", "name"})


def _find_reasoning_rules(host: Host) -> Sequence[Find]:
    match host.history:
        case "require":
            return [_find_unthought_calls]
        case "refuse":
            return _make_refusals(host)
    return ()


def _find_unthought_calls(call: Call, chat: _Chat) -> Problems:
    """Find tool calls whose message lacks `reasoning_content`; an empty one is enough.

    Models before V4 want it only since the user's last message (https://api-docs.deepseek.com/guides/thinking_mode).
    """
    if not does_think(chat.thinks, call.body):
        return
    is_older = _BEFORE_V4.match(call.model) is not None
    since = max((at for at, message in enumerate(chat.messages) if message.get("role") == "user"), default=0)
    for at, message in enumerate(chat.messages):
        if not message.get("tool_calls") or message.get("reasoning_content") is not None or (is_older and at < since):
            continue
        text = _MISSING_BEFORE_V4.format(at=at) if is_older else _MISSING
        failure = Failure("bad_parameter", text)
        keep = "send `reasoning_content` back in each assistant message with `tool_calls`"
        yield HistoryProblem(failure, f"messages[{at}].reasoning_content", keep)


_BEFORE_V4 = re.compile("deepseek-(?:reasoner|chat|v3|r1)")
_MISSING = "The `reasoning_content` in the thinking mode must be passed back to the API."
_MISSING_BEFORE_V4 = (
    "Missing `reasoning_content` field in the assistant message at message index {at}. For more information, please "
    "refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
)


def _make_refusals(host: Host) -> Sequence[Find]:
    """Return functions that find each of the keys that a host refuses, as it refuses any field that it does not know.

    It names the first message that has one, Cerebras all of them.
    """

    def make(key: str) -> Find:
        def find(call: Call, chat: _Chat) -> Problems:
            found = [
                Complaint("unknown", ("messages", at, key), got=message[key], loc=("messages", at, "assistant", key))
                for at, message in enumerate(chat.messages)
                if key in message and message.get("role") == "assistant"
            ]
            if found:
                named = found if host.kin == "cerebras" else found[:1]
                message = "\n".join([host.errors.refuse(each).message or "" for each in named])
                keep = f"leave `{key}` out of the messages that you send back"
                yield HistoryProblem(Failure("bad_parameter", message), found[0].where, keep)

        return find

    return [make(key) for key in host.refused]


def _find_unanswered_calls(call: Call, chat: _Chat) -> Problems:
    for found in find_unanswered_calls(chat.messages, _DEEPSEEK_WORDS) if call.is_checked else ():
        keep = "right after `tool_calls`, send a `tool` message with the id of each call"
        yield HistoryProblem(Failure("bad_parameter", found.message), found.where, keep)


_DEEPSEEK_WORDS = ResultWords(
    stray="Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    unanswered=(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "(insufficient tool messages following tool_calls message)"
    ),
)


def _find_wrong_turns(call: Call, chat: _Chat) -> Problems:
    """Find the first turn out of order (https://docs.perplexity.ai); results may follow each other."""
    roles = [str(message.get("role")) for message in chat.messages]
    start = next((at for at, role in enumerate(roles) if role != "system"), len(roles))
    for at in range(start, len(roles)):
        if roles[at] == "system" or (at > start and roles[at - 1] == roles[at] != "tool"):
            keep = "begin with system messages, then let user and assistant take turns"
            yield HistoryProblem(_make_turn_failure(_ALTERNATE), f"messages[{at}].role", keep)
    if roles[-1:] == ["assistant"]:
        keep = "end with a user's message or a result"
        yield HistoryProblem(_make_turn_failure(_LAST), f"messages[{len(roles) - 1}].role", keep)


def _make_turn_failure(message: str) -> Failure:
    return Failure("bad_parameter", message, kind="invalid_message")


_ALTERNATE = (
    "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s)."
)
_LAST = "Last message must have role `user` or `tool`."
_TURNS: Mapping[str, Sequence[Find]] = {"deepseek": [_find_unanswered_calls], "perplexity": [_find_wrong_turns]}
