"""Changed histories that Anthropic refuses: edited thinking, and calls without results.

Thinking dropped before a tool call, and signatures of another Claude model, are not included: reports disagree.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.seal import SealError
from mockserver.core.validation import HistoryProblem, Validation
from mockserver.dialects._parse import Body
from mockserver.dialects._replay import IF_OFF, Problems, ReplayRule, make_history_check
from mockserver.dialects.anthropic.bodies import MESSAGES, read_as_anthropic
from mockserver.dialects.anthropic.conflicts import find_unpaired
from mockserver.dialects.anthropic.errors import refuse
from mockserver.wire.thinking import Prefix, SignatureClaims, claim_text, list_message_blocks, read_signature


def defer_prefix(call: Call) -> Callable[[], Prefix] | None:
    """Return the function that reads the prefix to which an answer's thinking is bound; None if it is not bound.

    An answer that goes on from a prefill is not bound.
    """
    if not _BINDS.match(call.model) or not call.is_checked or call.raw.get("thread"):
        return None
    messages = call.raw.get("messages") or ({"role": "assistant"},)
    return None if messages[-1]["role"] == "assistant" else partial(_read_prefix, call.raw)


def _read_prefix(body: Body) -> Prefix:
    prefix = Prefix(body)
    for message in body["messages"]:
        prefix.add_message(message)
    return prefix


class _Signature(NamedTuple):
    """The claims of a signature, if this server made it; whether it may be a signature at all."""

    claims: SignatureClaims | None = None
    is_valid: bool = True


class _Thought(Struct, frozen=True, kw_only=True):
    """A thinking block of the history."""

    place: str
    block: Body
    latest: bool  # of the latest message of the assistant
    signature: _Signature

    @property
    def claims(self) -> SignatureClaims | None:
        return self.signature.claims

    @property
    def is_edited(self) -> bool:
        text = self.block.get("thinking")  # empty where it is not shown
        return bool(text) and self.claims is not None and self.claims.text != claim_text(str(text))


def _list_thoughts(call: Call) -> Sequence[_Thought] | None:
    """Return the thinking blocks of the assistant; None if all messages are texts."""
    messages: Json = call.body.get("messages")
    held = list[tuple[int, list[Json]]]()
    latest = -1
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict):
            latest = at if message.get("role") == "assistant" else latest
            if isinstance(content := message.get("content"), list):
                held.append((at, content if latest == at else []))
    if not held:
        return None
    return [
        _Thought(
            place=f"messages.{at}.content.{index}",
            block=block,
            latest=at == latest,
            signature=_read_signature(block.get("signature")),
        )
        for at, content in held
        for index, block in enumerate(content)
        if isinstance(block, dict) and block.get("type") == "thinking"
    ]


def _read_signature(signature: object) -> _Signature:
    try:
        return _Signature(read_signature(signature) if isinstance(signature, str) else None)
    except SealError:
        return _Signature(is_valid=False)


def _find_unsigned(call: Call, thoughts: Sequence[_Thought]) -> Problems:
    for thought in thoughts:
        if thought.block.get("signature") is None:
            place = f"{thought.place}.thinking.signature"
            yield HistoryProblem(refuse(f"{place}: Field required"), thought.place, _KEEP)


def _find_forged(call: Call, thoughts: Sequence[_Thought]) -> Problems:
    for thought in thoughts:
        if not thought.signature.is_valid or (thought.is_edited and not thought.latest):
            yield HistoryProblem(refuse(f"{thought.place}: {_INVALID}"), thought.place, _KEEP)


def _find_modified(call: Call, thoughts: Sequence[_Thought]) -> Problems:
    """Yield thinking blocks of the latest assistant message with another text or order."""
    # The places that the first and the latest thought of this message had in their answer.
    first = -1
    last = -1
    for thought in thoughts:
        if not thought.latest or thought.claims is None:
            continue
        place = thought.claims.place
        # Clients join answers to one message (one that paused and its continuation), and each counts from 0. A message
        # whose thoughts begin with another place was reordered: there, 0 begins nothing.
        begins = place == 0 and first <= 0
        if thought.is_edited or (place <= last and not begins):
            yield HistoryProblem(refuse(f"{thought.place}: {_MODIFIED}"), thought.place, _KEEP)
        first = place if first < 0 else first
        last = place


def _find_displaced(call: Call, thoughts: Sequence[_Thought]) -> Problems:
    """Yield thinking blocks whose prefix has changed."""
    if not thoughts or not call.is_checked or call.raw.get("thread"):
        return
    binding = (call.raw.get("thinking") or {}).get("block_binding") or {}
    if binding.get("prefix_mismatch_behavior") == "drop_block":
        return
    prefix = Prefix(call.raw)
    for at, message in enumerate(call.raw["messages"]):
        for index, block in enumerate(list_message_blocks(message)):
            claims = _read_signature(block.get("signature") if block["type"] == "thinking" else None).claims
            if claims is not None and claims.content and (why := _describe_difference(claims, prefix)) is not None:
                place = f"messages.{at}.content.{index}"
                setting = "" if _BETA in (call.http.find_header("anthropic-beta") or "") else _SETTING
                yield HistoryProblem(refuse(f"{place}: {_INVALID}. {_BOUND}{setting}{why}"), place, _KEEP_ALL)
            prefix.add(message["role"], block)


def _describe_difference(claims: SignatureClaims, prefix: Prefix) -> str | None:
    """Return Anthropic's description of the change in the prefix of a block; None if nothing changed."""
    if claims.system != prefix.system:
        return " The `system` prompt differs from the one this block was created with."
    # `content` is without thoughts. Clients drop those of the oldest turns to save tokens, which the provider allows:
    # nothing is wrong if none stands before this one.
    if claims.content != prefix.content or (claims.is_first and prefix.has_thought):
        return ""
    if claims.thought != prefix.thought and prefix.has_thought:
        return " The `thinking` block that preceded this one when it was created is missing from this request."
    return None


def _find_unanswered(call: Call, thoughts: Sequence[_Thought]) -> Problems:
    """Yield calls without results, and results without calls, if the body was read completely."""
    if call.is_checked:
        return
    try:
        body = read_as_anthropic(MESSAGES, call.body, validation=Validation.PUBLISHED)
    except Failure:
        return
    for message in find_unpaired(body):
        yield HistoryProblem(refuse(message), message.partition(": ")[0], _KEEP_RESULTS)


_KEEP = "send all thinking blocks of an answer back unchanged, in order, each with its signature"
_KEEP_ALL = "keep `system`, `tools` and all earlier messages unchanged, and add new messages at the end"
_KEEP_RESULTS = "in the next user message, answer each `tool_use` with a `tool_result` that has its id"
_INVALID = "Invalid `signature` in `thinking` block"
_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
_BOUND = (
    "The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
_BETA = "thinking-binding-controls-2026-08-01"
_SETTING = f" That setting requires the `{_BETA}` value in the `anthropic-beta` header."
# Claude Fable 5.1 and later; what follows a version may be a date, and Bedrock puts a vendor before the name.
_BINDS = re.compile(r"(?:.*[./])?claude-fable-(?:5-[1-9][0-9]?|[6-9]|[1-9][0-9])(?![0-9])")

HISTORY = make_history_check(
    _list_thoughts,
    ReplayRule(_find_unsigned, modes=IF_OFF),
    ReplayRule(_find_forged),
    ReplayRule(_find_modified),
    ReplayRule(_find_displaced, models=_BINDS),
    ReplayRule(_find_unanswered, modes=IF_OFF),
)
