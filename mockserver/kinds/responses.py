"""Responses: conversations whose answers are stored, and may be created in the background while clients poll them."""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Failure, Stored
from mockserver.kinds.kind import MCP_ANSWER_KEYS, Conversation, Question
from mockserver.kinds.stored_answers import AnswerLookUp, FoundAnswer, delete, show


def _follow(call: Call, stored: Stored) -> FoundAnswer:
    """Show a response; each look-up brings a background response closer to its end, and a stream completes it."""
    if not stored.polls:
        return FoundAnswer(stored)
    if call.stream:
        done = replace(stored, polls=0)
        return FoundAnswer(done, done)
    return FoundAnswer(show(call, stored).seen, replace(stored, polls=stored.polls - 1))


def _cancel(call: Call, stored: Stored) -> FoundAnswer | Failure:
    """End a response of the background that is still in progress."""
    if not stored.call.options.background:
        return Failure("not_cancellable")
    if not stored.polls:
        return FoundAnswer(stored)
    seen = replace(stored, answer=replace(stored.answer, phase="cancelled"))
    return FoundAnswer(seen, replace(seen, polls=0))


RESPONSE = Conversation(
    name="responses",
    body=lambda text: {"input": text},
    body_key="input",
    withheld=MCP_ANSWER_KEYS | {"system_fingerprint"},
    continues="responses",
    may_forget=True,
)
INPUT_TOKENS = Question(
    name="input_tokens",
    silent=True,
    withheld=MCP_ANSWER_KEYS | {"items", "failed", "tool_calls", "json", "refusal", "parts", "choices"},
    advice='; for a count, write text: "" and usage: {prompt_tokens: 9}',
)
COMPACTION = Question(name="compact_response", is_limited=True)
OPERATIONS = (
    RESPONSE,
    AnswerLookUp(name="response", made_by=RESPONSE.name, act=_follow),
    AnswerLookUp(name="delete_response", made_by=RESPONSE.name, act=delete),
    AnswerLookUp(name="cancel_response", made_by=RESPONSE.name, act=_cancel, ends=True),
    AnswerLookUp(name="input_items", made_by=RESPONSE.name, act=show),
    INPUT_TOKENS,
    COMPACTION,
)
