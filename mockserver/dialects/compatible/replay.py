"""Changed histories that the hosts refuse: DeepSeek requires what Groq and Cerebras do not take."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.plan import Failure
from mockserver.core.validation import HistoryProblem
from mockserver.dialects._parse import Body
from mockserver.dialects._replay import History, Problems, ReplayRule, make_history_check
from mockserver.dialects.compatible.hosts import Host
from mockserver.dialects.compatible.request import does_think

Find = Callable[[Call, "_Chat"], Problems]


class _Chat(Struct, frozen=True):
    """The messages of a body, each a table, and the names of models that think unless they are told not to."""

    messages: Sequence[Body]
    thinks: Sequence[str]


def make_history(host: Host) -> History | None:
    """Return the check of a host's histories; None if it ignores reasoning in them."""

    def read(call: Call) -> _Chat | None:
        given = call.body.get("messages")
        if not isinstance(given, list):
            return None
        messages = [each if isinstance(each, dict) else {} for each in given]
        return None if all(map(_PLAIN.issuperset, messages)) else _Chat(messages, host.thinks)

    match host.history:
        case "require":
            return make_history_check(read, ReplayRule(_find_unthought_calls))
        case "refuse":
            return make_history_check(read, *(ReplayRule(find) for find in _make_refusals(host)))
    return None


_PLAIN = frozenset({"role", "content", "name"})


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
    """Return functions that find each of the keys that a host refuses."""
    word = _REFUSALS.get(host.kin, _word_plainly)

    def make(key: str) -> Find:
        def find(call: Call, chat: _Chat) -> Problems:
            for at, message in enumerate(chat.messages):
                if key in message and message.get("role") == "assistant":
                    failure = Failure("bad_parameter", word(at, key))
                    keep = f"leave `{key}` out of the messages that you send back"
                    yield HistoryProblem(failure, f"messages[{at}].{key}", keep)

        return find

    return [make(key) for key in host.refused]


def _word_as_groq(at: int, key: str) -> str:
    unsupported = f"property '{key}' is unsupported"
    return f"'messages.{at}' : for 'role:assistant' the following must be satisfied[('messages.{at}' : {unsupported})]"


def _word_as_cerebras(at: int, key: str) -> str:
    place = f"messages.{at}.assistant.{key}"
    return f"{place}: property '{place}' is unsupported"


def _word_plainly(at: int, key: str) -> str:
    return f"Unknown parameter: 'messages[{at}].{key}'."


_REFUSALS = {"groq": _word_as_groq, "cerebras": _word_as_cerebras}
