"""Kept answers: the conversation behind `previous_response_id`, and answers that clients look up, change or delete.

Knows calls and answers, no wire shape; how much there is room for is the store's concern.
"""

import json
from collections.abc import Awaitable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import CLIENT_RUN_TOOLS, Call, Message, ToolCall, fingerprint
from mockserver.core.json import Json
from mockserver.core.plan import (
    Answer,
    Failure,
    Item,
    Listing,
    Outcome,
    Part,
    Plan,
    Refusal,
    Stored,
    Text,
    Timing,
    ToolUse,
)
from mockserver.core.state import ValueStore

# The look-up operations, and the operation whose answers they find.
LOOK_UPS: Mapping[str, str] = {
    "response": "responses",
    "delete_response": "responses",
    "cancel_response": "responses",
    "input_items": "responses",
    "stored_chats": "chat",
    "stored_chat": "chat",
    "update_chat": "chat",
    "delete_chat": "chat",
    "chat_messages": "chat",
    "batches": "create_batch",
    "batch": "create_batch",
    "delete_batch": "create_batch",
    "cancel_batch": "create_batch",
    "batch_results": "create_batch",
    **dict.fromkeys(
        ("cached_contents", "cached_content", "update_cached_content", "delete_cached_content"), "create_cached_content"
    ),
    **dict.fromkeys(("files", "file", "delete_file", "file_content"), "create_file"),
}
KEPT = ("create_cached_content", "create_file")  # what they are about is kept, and nothing is said
_LISTS = ("stored_chats", "batches", "cached_contents", "files")
_CHANGING = (
    *("delete_response", "cancel_response", "update_chat", "delete_chat", "delete_batch", "cancel_batch"),
    *("update_cached_content", "delete_cached_content", "delete_file"),
)
_OF_CALLS = ("input_tokens", "compact_response")  # they ask about a call without wanting its answer
ABOUT_KEPT = frozenset((*LOOK_UPS, *KEPT, *_OF_CALLS))  # the answer is about what is kept, whether it is or not
_BARE = 3500  # bytes of an answer and its call without any text


class Memory(Struct, frozen=True):
    """Kept answers. `polls`: how many look-ups find a background response in progress before it is done."""

    store: ValueStore[Stored]
    polls: int = 1

    async def resume(self, call: Call) -> Call | Failure | None:
        """Return the call with the conversation it continues in front, or None if that is unknown."""
        thread = call.operation == "chat"
        name = call.previous_response_id or ""
        stored = await self._find(call, "chat" if thread else "responses", name)
        stored = stored or await self._find(call, "create_cached_content", name)
        if stored is None:
            return None
        if stored.gone:
            return Failure("previous_not_found")
        if (thread or stored.call.operation in KEPT) and not call.tools:
            call = replace(call, tools=stored.call.tools, tool_choice=stored.call.tool_choice)
        return continue_conversation(call, (*stored.call.spoken, *write_messages(stored.answer)))

    async def knows(self, call: Call) -> bool:
        return call.operation in LOOK_UPS and await self._find(call, LOOK_UPS[call.operation], call.id) is not None

    async def leave(self, call: Call, plan: Plan) -> Plan:
        """Return the plan for a call, and keep what later calls may look up."""
        answer = plan.outcome
        if not isinstance(answer, Answer):
            return plan
        if call.operation in LOOK_UPS:
            return replace(plan, outcome=await self.suppose(call, answer))
        if call.operation in _OF_CALLS:
            return replace(plan, outcome=Stored(call, answer))
        if call.operation in KEPT:
            kept = await self.keep(call, answer) if call.options.store else Stored(call, answer)
            return replace(plan, outcome=kept)
        if not call.options.store:
            return plan
        await self.keep(call, answer)
        if call.options.background and not call.stream:
            return replace(plan, outcome=replace(answer, phase="queued"), timing=Timing())
        return plan

    async def keep(self, call: Call, answer: Answer) -> Stored:
        """Keep an answer under its id; one of the background that is not streamed has its polls before it."""
        size = _BARE + len(call.http.body)
        for choice in answer.choices:
            for part in choice.parts:
                size += _measure_part(part)
        stored = Stored(
            replace(call, http=replace(call.http, headers=(), body=b"")),
            replace(answer, headers=()) if answer.headers else answer,
            polls=self.polls if call.options.background and not call.stream else 0,
            size=size,
        )
        await self._put(stored)
        return stored

    async def keep_batch(self, call: Call, answer: Answer, results: tuple[tuple[Call, Outcome], ...]) -> Stored:
        asked = replace(call, http=replace(call.http, headers=(), body=b""), batch=())
        size = _BARE * (1 + len(results)) + 2 * len(call.http.body)
        await self._put(Stored(asked, answer, polls=1, size=size, results=results))
        return Stored(call, answer, polls=1, results=results)

    def put(self, stored: Stored) -> Awaitable[None] | None:
        """Keep an answer; it is kept once what this returns, if anything, was awaited."""
        return self.store.put(*_place(stored), stored, size=stored.size)

    async def _put(self, stored: Stored) -> None:
        if (kept := self.put(stored)) is not None:
            await kept

    async def look_up(self, call: Call) -> Stored | Listing | Failure | None:
        """Perform a look-up and return what it finds, or None for an unknown id."""
        if call.operation in _LISTS:
            return await self._list(call)
        key = _make_key(call.dialect, LOOK_UPS[call.operation], call.id)
        while (found := await self.store.get(call.http.namespace, key)) is not None:
            stored, version = found
            if stored.gone:
                return Failure("not_found")
            if call.operation == "cancel_response" and not stored.call.options.background:
                return Failure("not_cancellable")
            seen, changed = _look_up_stored(call, stored)
            if changed is None or await self.store.change(
                call.http.namespace, key, (changed, version), size=changed.size
            ):
                return seen
        return None

    async def suppose(self, call: Call, answer: Answer) -> Stored | Listing:
        """Perform a look-up on an answer from elsewhere, as if it had been kept."""
        cancelled = call.operation == "cancel_response"
        options = replace(call.options, store=True, background=cancelled)
        asked = replace(call, operation=LOOK_UPS[call.operation], stream=False, options=options)
        stored = Stored(asked, answer, polls=int(cancelled), size=_BARE)
        if call.operation in _LISTS:
            return Listing((stored,))
        seen, changed = _look_up_stored(call, stored)
        if call.operation in _CHANGING:
            await self._put(stored if changed is None else changed)
        return seen

    async def _find(self, call: Call, operation: str, name: str) -> Stored | None:
        found = await self.store.get(call.http.namespace, _make_key(call.dialect, operation, name))
        return None if found is None else found[0]

    async def _list(self, call: Call) -> Listing:
        wanted: Mapping[str, Json] = call.raw.get("metadata") or {}
        fitting = [
            stored
            for stored in await self.store.values(call.http.namespace)
            if not stored.gone
            and (stored.call.dialect, stored.call.operation) == (call.dialect, LOOK_UPS[call.operation])
            if call.model in ("", stored.call.model, stored.answer.model)
            if wanted.items() <= (stored.call.raw.get("metadata") or {}).items()
        ]
        return Listing(*call.page.of(fitting, lambda stored: stored.answer.id))


def _look_up_stored(call: Call, stored: Stored) -> tuple[Stored, Stored | None]:
    """Return what a look-up finds, and what is kept from now on, if that is another."""
    changed: Stored | None = None
    match call.operation:
        case "delete_batch" if stored.polls:
            return stored, None
        case "delete_response" | "delete_chat" | "delete_batch" | "delete_cached_content" | "delete_file":
            kept = replace(stored.call, raw={}, messages=())
            changed = Stored(kept, replace(stored.answer, choices=()), gone=True, size=_BARE)
            return changed, changed
        case "update_chat":
            raw = {**stored.call.raw, "metadata": call.raw.get("metadata")}
            stored = changed = replace(stored, call=replace(stored.call, raw=raw))
        case "update_cached_content":
            stored = changed = replace(stored, call=replace(stored.call, raw={**stored.call.raw, **call.raw}))
        case "batch" if stored.polls:  # it has ended when somebody looks
            stored = changed = replace(stored, polls=0)
        case "cancel_response" | "cancel_batch" if stored.polls:
            stored = replace(stored, answer=replace(stored.answer, phase="cancelled"))
            return stored, replace(stored, polls=0)  # it was still in progress
        case "response" if stored.polls and call.stream:  # a stream ends when it is done
            stored = changed = replace(stored, polls=0)
        case "response" if stored.polls:
            changed = replace(stored, polls=stored.polls - 1)
            return replace(stored, answer=replace(stored.answer, phase="in_progress")), changed
    if stored.polls and changed is None:
        stored = replace(stored, answer=replace(stored.answer, phase="in_progress"))
    return stored, changed


def continue_conversation(call: Call, history: tuple[Message, ...]) -> Call:
    """Return the call at the end of a conversation. Its meaning is what was said, whatever the conversation's id."""
    own = call.messages[: int(call.has_instructions)]
    results = (message for message in call.spoken if message.role == "tool")  # their calls may be in the history
    meaning = {**call.meaning, "previous_response_id": fingerprint(*_list_meanings((*history, *results)))}
    return replace(call, messages=(*own, *history, *call.spoken), meaning=meaning)


def write_messages(answer: Answer) -> tuple[Message, ...]:
    parts = () if answer.phase == "cancelled" else answer.choices[0].parts
    message = Message(
        "assistant",
        "\n".join(_list_texts(parts)),
        parts=tuple(
            {"type": part.kind, **part.body}
            for part in parts
            if isinstance(part, Item) and part.kind not in CLIENT_RUN_TOOLS
        ),
        tool_calls=tuple(_list_calls(parts)),
    )
    return (message,) if message.text or message.parts or message.tool_calls else ()


def _list_texts(parts: Sequence[Part]) -> Iterator[str]:
    """Return the texts, one per message."""
    text, before = "", False
    for part in parts:
        spoken = isinstance(part, Text | Refusal)
        if before and (not spoken or (isinstance(part, Text) and part.apart)):
            yield text
            text = ""
        if isinstance(part, Text | Refusal):
            text += part.text
        before = spoken
    if before:
        yield text


def _list_calls(parts: Sequence[Part]) -> Iterator[ToolCall]:
    for part in parts:
        match part:
            case ToolUse(call):
                yield call
            case Item(kind, body) if kind in CLIENT_RUN_TOOLS:
                name, key = CLIENT_RUN_TOOLS[kind]
                yield ToolCall(body.get("call_id", ""), name, json.dumps(body.get(key), separators=(",", ":")), kind)


def _list_meanings(history: Sequence[Message]) -> Iterator[Json]:
    ordinals: dict[str, int] = {}
    for message in history:
        for call in message.tool_calls:
            ordinals.setdefault(call.id, len(ordinals))
        calls = [[call.kind, call.name, call.arguments] for call in message.tool_calls]
        parts = [{key: value for key, value in part.items() if key not in _IDS} for part in message.parts]
        result = None if message.tool_call_id is None else ordinals.get(message.tool_call_id, -1)
        yield [message.role, message.text, parts, calls, result, message.name]


_IDS = frozenset({"id", "call_id"})


def _measure_part(part: Part) -> int:
    if type(part) is Text:  # first, as most are; a match takes far longer
        return len(part.text)
    match part:
        case ToolUse(made):
            return len(made.arguments)
        case Item(_, body):
            return len(str(body))
        case _:
            return len(part.text)


def _place(stored: Stored) -> tuple[str, str]:
    call = stored.call
    return call.http.namespace, _make_key(call.dialect, call.operation, stored.answer.id)


def _make_key(dialect: str, operation: str, name: str) -> str:
    return f"{dialect} {operation} {name}"
