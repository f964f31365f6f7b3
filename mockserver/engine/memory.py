"""Kept answers: the conversation behind `previous_response_id`, and answers that clients look up, change or delete.

It knows calls and answers, but no wire shape. The store bounds how much is kept.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.core.call import APPROVAL_REQUEST, CLIENT_RUN_TOOLS, Call, Message, ToolCall, compute_fingerprint
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, make_key
from mockserver.core.plan import (
    Answer,
    Failure,
    Item,
    Kept,
    Listing,
    Part,
    Plan,
    Refusal,
    Stored,
    Text,
    Timing,
    ToolUse,
)
from mockserver.core.state import ValueStore, VersionedValue
from mockserver.kinds import ANSWER_LOOK_UPS, CONVERSATIONS, LOOK_UPS, OPERATIONS
from mockserver.kinds.kept import CACHED_CONTENTS
from mockserver.kinds.kind import Question
from mockserver.kinds.responses import RESPONSE
from mockserver.kinds.stored_answers import BARE_SIZE, AnswerLookUp


class Memory(Struct, frozen=True):
    """Kept answers. `polls`: how many look-ups find a background response in progress before it is done."""

    store: ValueStore[Kept]
    polls: int = 1
    locks: set[tuple[str, str]] = field(default_factory=set)  # namespace and name of what calls of this server hold

    async def resume(self, call: Call) -> Call | Failure | None:
        """Return the call with the conversation that it continues in front, or None if that is unknown."""
        conversation = CONVERSATIONS.get(call.operation, RESPONSE)  # others ask about a response
        name = call.previous_response_id or ""
        turn = call.http.turn
        kept: Kept | None = None if turn is None else turn.answers.get(name)
        kept = kept or await self._find(call, conversation.continues, name)
        kept = kept or await self._find(call, CACHED_CONTENTS.made_by, name)
        if kept is None:
            return None
        if kept.gone:
            return Failure("previous_not_found")
        previous: Call = kept.call
        answered = write_messages(kept.answer) if isinstance(kept, Stored) else ()
        if not call.tools and (conversation.needs_previous or isinstance(kept, KeptObject)):
            call = replace(call, tools=previous.tools, tool_choice=previous.tool_choice)
        return continue_conversation(call, (*previous.spoken, *answered))

    async def knows(self, call: Call) -> bool:
        """Return whether what a call looks up is kept."""
        look_up = LOOK_UPS.get(call.operation)
        if look_up is None:
            return False
        key = make_key(call.dialect, look_up.made_by, call.id)
        return await self.store.get(call.http.namespace, key) is not None

    async def leave(self, call: Call, plan: Plan) -> Plan:
        """Keep what later calls may look up, and return the plan for this call."""
        answer = plan.outcome
        if not isinstance(answer, Answer):
            return plan
        match OPERATIONS[call.operation]:
            case AnswerLookUp():
                return replace(plan, outcome=await self.suppose(call, answer))
            case Question():
                return replace(plan, outcome=Stored(call, answer))
        turn = call.http.turn
        if turn is not None:
            stored = _make_stored(call, answer)
            turn.answers.keep(answer.id, turn.lane, stored, size=stored.size)
        if not call.options.store:
            return plan
        await self.keep(call, answer)
        if call.options.background and not call.stream:
            return replace(plan, outcome=replace(answer, phase="queued"), timing=Timing())
        return plan

    async def keep(self, call: Call, answer: Answer) -> Stored:
        """Keep an answer by its id. One of the background that does not stream is in progress for `polls` look-ups."""
        polls = self.polls if call.options.background and not call.stream else 0
        stored = _make_stored(call, answer, polls=polls)
        if (kept := self.store.put(call.http.namespace, stored.key, stored, size=stored.size)) is not None:
            await kept
        return stored

    async def look_up(self, call: Call) -> Stored | Listing | Failure | None:
        """Perform a look-up and return what it finds, or None for an unknown id."""
        look_up = ANSWER_LOOK_UPS[call.operation]
        if look_up.act is None:
            return await self._list(call, look_up.made_by)
        key = make_key(call.dialect, look_up.made_by, call.id)
        while (found := await self.store.get(call.http.namespace, key)) is not None:
            stored, version = found
            if not isinstance(stored, Stored):
                return None
            if stored.gone:
                return Failure("not_found")
            now = look_up.act(call, stored)
            if isinstance(now, Failure):
                return now
            kept = now.kept
            if kept is None or await self.store.change(
                call.http.namespace, key, VersionedValue(kept, version), size=kept.size
            ):
                return now.seen
        return None

    async def suppose(self, call: Call, answer: Answer) -> Stored | Listing | Failure:
        """Perform a look-up on an answer that is not kept, as if it were; nothing of it stays."""
        look_up = ANSWER_LOOK_UPS[call.operation]
        options = replace(call.options, store=True, background=look_up.ends)
        first = replace(call, operation=look_up.made_by, stream=False, options=options)
        stored = Stored(first, answer, polls=int(look_up.ends), size=BARE_SIZE)
        if look_up.act is None:
            return Listing((stored,))
        now = look_up.act(call, stored)
        return now if isinstance(now, Failure) else now.seen

    async def list_made_models(self, call: Call, *, delete: bool = False) -> Sequence[str]:
        """Return the names of the models that jobs have made; `delete` that of the call's model."""
        namespace = call.http.namespace
        names = list[str]()
        for kept in await self.store.list_values(namespace):
            if not isinstance(kept, KeptObject) or kept.gone or kept.dialect != call.dialect or not kept.made_model:
                continue
            if not (delete and kept.made_model == call.model):
                names.append(kept.made_model)
            elif (found := await self.store.get(namespace, kept.key)) is not None:
                without = replace(kept, model="")
                await self.store.change(namespace, kept.key, VersionedValue(without, found.version), size=without.size)
        return names

    async def _find(self, call: Call, operation: str, name: str) -> Kept | None:
        found = await self.store.get(call.http.namespace, make_key(call.dialect, operation, name))
        return None if found is None else found.value

    async def _list(self, call: Call, made_by: str) -> Listing:
        wanted: Mapping[str, Json] = call.raw.get("metadata") or {}
        fitting = [
            stored
            for stored in await self.store.list_values(call.http.namespace)
            if isinstance(stored, Stored) and not stored.gone
            if (stored.call.dialect, stored.call.operation) == (call.dialect, made_by)
            if call.model in ("", stored.call.model, stored.answer.model)
            if wanted.items() <= (stored.call.raw.get("metadata") or {}).items()
        ]
        return Listing(*call.page.select(fitting, lambda stored: stored.answer.id))


def _make_stored(call: Call, answer: Answer, *, polls: int = 0) -> Stored:
    """Return an answer and its call as they are kept: without the headers and the body of the request."""
    size = BARE_SIZE + len(call.http.body)
    for choice in answer.choices:
        for part in choice.parts:
            size += _measure_part(part)
    http = replace(call.http, headers=(), body=b"", turn=None, form=None)
    answer = replace(answer, headers=()) if answer.headers else answer
    return Stored(replace(call, http=http, references=None), answer, polls=polls, size=size)


def continue_conversation(call: Call, history: tuple[Message, ...]) -> Call:
    """Return the call at the end of a conversation. Its meaning has the messages, not the id of the conversation."""
    own = call.messages[: int(call.has_instructions)]
    results = (message for message in call.spoken if message.role == "tool")  # their calls may be in the history
    meaning = {**call.meaning, "previous_response_id": compute_fingerprint(*_list_meanings((*history, *results)))}
    return replace(call, messages=(*own, *history, *call.spoken), meaning=meaning)


def write_messages(answer: Answer) -> tuple[Message, ...]:
    """Return an answer as a message of the conversation that goes on from it; none if it is empty."""
    parts = () if answer.phase == "cancelled" else answer.choices[0].parts
    message = Message(
        "assistant",
        "\n".join(_list_texts(parts)),
        parts=tuple(
            {"type": part.kind, **part.body}
            for part in parts
            if isinstance(part, Item) and part.kind not in CLIENT_RUN_TOOLS and part.kind != APPROVAL_REQUEST
        ),
        tool_calls=tuple(_list_calls(parts)),
    )
    return (message,) if message.text or message.parts or message.tool_calls else ()


def _list_texts(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the texts, one for each message."""
    text = ""
    before = False
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
            case Item("mcp_approval_request", body):
                arguments = str(body.get("arguments"))
                yield ToolCall("", name=str(body.get("name")), arguments=arguments, kind=APPROVAL_REQUEST)
            case Item(kind, body) if kind in CLIENT_RUN_TOOLS:
                name, key = CLIENT_RUN_TOOLS[kind]
                arguments = json.dumps(body.get(key), separators=(",", ":"))
                yield ToolCall(body.get("call_id", ""), name=name, arguments=arguments, kind=kind)


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
