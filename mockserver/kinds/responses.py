"""Responses: conversations whose answers are stored, and may be created in the background while clients poll them."""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Failure, Stored
from mockserver.kinds.kind import OF_TOOLS, Conversation, Question
from mockserver.kinds.objects import Found, ObjectKind, cancel, delete, show


def _follow(call: Call, stored: Stored) -> Found:
    """Show a response; each look-up brings a background response closer to its end, and a stream completes it."""
    if not stored.polls:
        return Found(stored)
    if call.stream:
        done = replace(stored, polls=0)
        return Found(done, done)
    return Found(show(call, stored).seen, replace(stored, polls=stored.polls - 1))


def _cancel(call: Call, stored: Stored) -> Found | Failure:
    return cancel(call, stored) if stored.call.options.background else Failure("not_cancellable")


RESPONSE = Conversation(
    name="responses",
    body=lambda text: {"input": text},
    body_key="input",
    withheld=OF_TOOLS | {"system_fingerprint"},
    continues="responses",
    may_forget=True,
)
STORED_RESPONSES = ObjectKind(
    made_by="responses",
    acts={"response": _follow, "delete_response": delete, "cancel_response": _cancel, "input_items": show},
    ends=frozenset(("cancel_response",)),
)
INPUT_TOKENS = Question(
    name="input_tokens",
    silent=True,
    withheld=OF_TOOLS | {"items", "failed", "tool_calls", "json", "refusal", "parts", "choices"},
    advice='; for a count, write text: "" and usage: {prompt_tokens: 9}',
)
COMPACTION = Question(name="compact_response", is_limited=True)
OPERATIONS = (RESPONSE, *STORED_RESPONSES.look_ups, INPUT_TOKENS, COMPACTION)
