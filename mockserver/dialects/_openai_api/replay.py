"""Changed histories that OpenAI refuses: in chats, calls without results; in Responses, items without those that they
belong to; in both, what was rewritten.

Messages without the reasoning before them are not included, as reports disagree about them.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.seal import SealError
from mockserver.core.validation import HistoryProblem
from mockserver.dialects._errors import refuse
from mockserver.dialects._openai_api.chat import find_unanswered_calls
from mockserver.dialects._openai_api.chat_bodies import MAX_CALL_ID
from mockserver.dialects._openai_api.input_items import (
    INPUT_PREFIXES,
    find_duplicates,
    find_input_texts_of_assistant,
    find_item_type,
    find_lonely_reasoning,
    find_unpaired_calls,
    find_unprefixed_id,
    is_of_others,
    read_id,
)
from mockserver.dialects._parse import Body, Complaint, clip
from mockserver.dialects._replay import IF_PUBLISHED, UNLESS_LIVE, Problems, ReplayRule, make_history_check
from mockserver.wire.responses import ENCRYPTED_CONTENT, OutputItemId, read_item_id


class _PlacedCall(NamedTuple):
    """A tool call, with the index of its message, and its own place within that."""

    message: int
    place: int
    call: Body


class _ChatHistory(Struct, frozen=True):
    """The messages of a chat, each a table, and the tool calls in them."""

    messages: Sequence[Body]
    calls: Sequence[_PlacedCall]


def _find_empty_calls(call: Call, history: _ChatHistory) -> Problems:
    for at, message in enumerate(history.messages):
        if message.get("tool_calls") == []:
            found = Complaint("short", ("messages", at, "tool_calls"), got=[], bound=1)
            yield _word_problem(found, "leave out `tool_calls` if the message has no calls")


def _find_long_call_ids(call: Call, history: _ChatHistory) -> Problems:
    for at, index, made in history.calls:
        if isinstance(name := made.get("id"), str) and len(name) > MAX_CALL_ID:
            found = Complaint("long", ("messages", at, "tool_calls", index, "id"), got=name, bound=MAX_CALL_ID)
            yield _word_problem(found, "send the ids of calls back unchanged")


def _find_nameless_calls(call: Call, history: _ChatHistory) -> Problems:
    for at, index, made in history.calls:
        function = made.get("function")
        if isinstance(function, dict) and function.get("name") == "":
            path = ("messages", at, "tool_calls", index, "function", "name")
            keep = "send the name of each call; a stream has it only in the call's first chunk"
            yield _word_problem(Complaint("short", path, got="", bound=1), keep)


def _find_unanswered(call: Call, history: _ChatHistory) -> Problems:
    for found in find_unanswered_calls(history.messages) if call.is_checked else ():
        yield _word_problem(found, "right after `tool_calls`, send a `tool` message with the id of each call")


def _read_chat(call: Call) -> _ChatHistory | None:
    """Return the history if it has tool calls that may be wrong, else None."""
    given = call.body.get("messages")
    if not isinstance(given, list):
        return None
    messages = [each if isinstance(each, dict) else {} for each in given]
    if all(map(_TOOL_CALL_KEYS.isdisjoint, messages)):
        return None
    calls = [
        _PlacedCall(at, index, made)
        for at, message in enumerate(messages)
        if isinstance(listed := message.get("tool_calls"), list)
        for index, made in enumerate(listed)
        if isinstance(made, dict)
    ]
    return _ChatHistory(messages, calls)


_TOOL_CALL_KEYS = frozenset({"tool_calls", "tool_call_id"})


def _word_problem(found: Complaint, keep: str) -> HistoryProblem:
    return HistoryProblem(refuse(found), found.where, keep)


CHAT_HISTORY = make_history_check(
    _read_chat,
    ReplayRule(_find_empty_calls, modes=IF_PUBLISHED),
    ReplayRule(_find_long_call_ids, modes=IF_PUBLISHED),
    ReplayRule(_find_nameless_calls, modes=IF_PUBLISHED),
    ReplayRule(_find_unanswered, modes=UNLESS_LIVE),
)


Items = Sequence[tuple[int, Body]]  # each with its place


def _find_made_up_ids(call: Call, items: Items) -> Problems:
    for at, item in items:
        prefix = _PREFIXES.get(find_item_type(item))
        if prefix is not None and not is_of_others(item):
            for found in find_unprefixed_id(at, item, prefix):
                yield _word_problem(found, _KEEP_IDS)


def _find_input_texts(call: Call, items: Items) -> Problems:
    """Yield text of the assistant that was sent back as a user's."""
    for at, item in items:
        for found in find_input_texts_of_assistant(at, item):
            yield _word_problem(found, _KEEP_PARTS)


def _find_long_ids(call: Call, items: Items) -> Problems:
    from mockserver.dialects._openai_api.responses_bodies import MAX_ID  # slow, and loaded once there is such a call

    for at, item in items:
        for key in ("id", "call_id"):
            if isinstance(name := item.get(key), str) and len(name) > MAX_ID:
                found = Complaint("long", ("input", at, key), got=name, bound=MAX_ID)
                yield _word_problem(found, _KEEP_IDS)


def _find_duplicates(call: Call, items: Items) -> Problems:
    for index, found in find_duplicates([item for _, item in items]):
        yield _place_problem(found, items[index][0], "send each item once, in full or as a reference")


def _find_unkept_items(call: Call, items: Items) -> Problems:
    """Yield items without content that were created with `store: false`, so that nobody has it."""
    for at, item in items:
        known = _read_own_id(item)
        bare = find_item_type(item) == "item_reference" or (_is_reasoning(item) and not item.get("encrypted_content"))
        if bare and known is not None and not known.stored:
            text = (
                f"Item with id '{read_id(item)}' not found. Items are not persisted when `store` is set to false. "
                "Try again with `store` set to true, or remove this item from your input."
            )
            keep = 'with `store: false`, include "reasoning.encrypted_content" and send back whole items'
            yield _make_problem(text, at, keep, status=404)


def _find_unverified(call: Call, items: Items) -> Problems:
    for at, item in items:
        content = item.get("encrypted_content")
        if not _is_reasoning(item) or not isinstance(content, str) or not content:
            continue
        try:
            ENCRYPTED_CONTENT.open(content)
        except SealError:
            what = f"for item {clip(read_id(item))}" if read_id(item) else clip(f"{content[:4]}...{content[-4:]}")
            text = (
                f"The encrypted content {what} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed."
            )
            failure = Failure("bad_parameter", text, code="invalid_encrypted_content")
            keep = "send `encrypted_content` back unchanged, to the provider that made it"
            yield HistoryProblem(failure, f"input[{at}].encrypted_content", keep)


def _find_lonely_reasoning(call: Call, items: Items) -> Problems:
    for index, found in find_lonely_reasoning([item for _, item in items]):
        keep = "send reasoning together with the call or message that follows it, or neither"
        yield _place_problem(found, items[index][0], keep)


def _find_calls_without_reasoning(call: Call, items: Items) -> Problems:
    names = {None, *(read_id(item) for _, item in items)}
    for at, item in items:
        known = _read_own_id(item) if find_item_type(item) in _CALLS else None
        if known is not None and known.stored and known.reasoning_id not in names:
            text = (
                f"Item '{read_id(item)}' of type '{find_item_type(item)}' was provided without its required "
                f"'reasoning' item: '{known.reasoning_id}'."
            )
            yield _make_problem(text, at, "send a call together with the reasoning item before it, or without its id")


def _find_unpaired(call: Call, items: Items) -> Problems:
    for index, found in find_unpaired_calls([item for _, item in items]):
        at, item = items[index]
        if find_item_type(item).removesuffix("_output") in _CALLS:
            keep = "send each call together with its output, which has the same `call_id`"
            yield _place_problem(found, at, keep)


def skip_if_continued(check: Callable[[Call, Items], Problems]) -> Callable[[Call, Items], Problems]:
    """Return a check that is left out if the request continues a stored response or conversation."""

    def check_unless_continued(call: Call, items: Items) -> Problems:
        continued = call.body.get("previous_response_id") or call.body.get("conversation")
        return iter(()) if continued else check(call, items)

    return check_unless_continued


def _read_items(call: Call) -> Items | None:
    """Return the items, each with its place, unless all are messages with only a role and a text."""
    given: Json = call.body.get("input")
    if not isinstance(given, list):
        return None
    for item in given:
        if not isinstance(item, dict) or len(item) != 2 or type(item.get("content")) is not str:
            return [(at, each) for at, each in enumerate(given) if _is_item(each)]
    return None


def _is_item(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type", ""), str | None)


def _read_own_id(item: Body) -> OutputItemId | None:
    return read_item_id(read_id(item))


def _is_reasoning(item: Body) -> bool:
    return find_item_type(item) == "reasoning"


def _place_problem(found: Complaint, at: int, keep: str) -> HistoryProblem:
    return HistoryProblem(refuse(found), f"input[{at}]", keep)


def _make_problem(text: str, at: int, keep: str, status: int | None = None) -> HistoryProblem:
    failure = Failure("bad_parameter", text, status=status, param="input")
    return HistoryProblem(failure, f"input[{at}]", keep)


_CALLS = ("function_call", "custom_tool_call")
# Other kinds of items have prefixes, too, but nobody has seen OpenAI insist on them.
_PREFIXES = {kind: INPUT_PREFIXES[kind] for kind in ("message", "reasoning", *_CALLS)}
_KEEP_IDS = "send the ids of items and calls back unchanged, or leave out those of items"
_KEEP_PARTS = "send the assistant's text back as `output_text`"
_REASONS = re.compile(r"(?!gpt-[34]|chatgpt)")  # any other name may be a model that reasons

RESPONSES_HISTORY = make_history_check(
    _read_items,
    ReplayRule(_find_made_up_ids, modes=IF_PUBLISHED),
    ReplayRule(_find_input_texts, modes=IF_PUBLISHED),
    ReplayRule(_find_long_ids, modes=IF_PUBLISHED),
    ReplayRule(_find_duplicates, modes=UNLESS_LIVE),
    ReplayRule(_find_unkept_items),
    ReplayRule(_find_unverified),
    ReplayRule(skip_if_continued(_find_unpaired), modes=UNLESS_LIVE),
    ReplayRule(skip_if_continued(_find_lonely_reasoning), modes=UNLESS_LIVE),
    ReplayRule(skip_if_continued(_find_calls_without_reasoning), models=_REASONS),
)
