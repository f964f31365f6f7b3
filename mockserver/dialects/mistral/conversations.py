"""Mistral's agents and conversations, which the service keeps (https://docs.mistral.ai/agents/agents_basics).

A conversation is a chat of entries. Its model or agent, and the fields with which it started, hold for all of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape, Message
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Answer, ToolUse
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, list_of, open_shape, optional, shape, text_or
from mockserver.dialects._parse import Body, Complaint, read_body, read_object
from mockserver.dialects._reply import make_answer_reply, make_data_reply, make_json_reply, make_look_up
from mockserver.dialects.mistral.errors import refuse, write_header_lines
from mockserver.dialects.mistral.request import NAME, make_chat
from mockserver.kinds.kept import AGENTS, CONVERSATION_ITEMS, CONVERSATIONS
from mockserver.kinds.objects import Beginning, Objects, Work, find_object
from mockserver.wire.mistral_conversations import ConversationOptions, ConversationRenderer, list_entries
from mockserver.wire.parts import join_spoken, write_moment

_IDS = IdShape("conv_", 32, "hex")
_AGENT_IDS = IdShape("ag_", 32, "hex")
_USUAL_MODEL = "mistral-medium-latest"
_STANDING: Mapping[str, Any] = {  # fields that hold for all of a conversation
    "model": optional(str),
    "name": optional(str),
    "description": optional(str),
    "instructions": optional(str),
    "tools": optional(list_of(open_shape(type=optional(str)))),
    "completion_args": optional(Object),
    "metadata": optional(Object),
    "guardrails": optional(Any),
}
_ASKED: Mapping[str, Any] = {
    "inputs": optional(text_or("<an array of objects>", list_of(Object))),
    "stream": optional(bool),
    "store": optional(bool),
    "handoff_execution": optional(str),
}
START = BodyModel(shape(**_STANDING, **_ASKED, agent_id=optional(str), agent_version=optional(Any)))
APPEND = BodyModel(shape(**_ASKED, completion_args=optional(Object), tool_confirmations=optional(list_of(Object))))
AGENT = BodyModel(shape(**_STANDING, handoffs=optional(list_of(str)), version_message=optional(str)))
_RENDERER = ConversationRenderer()


def make_conversation_operations() -> tuple[Operation, ...]:
    """Return the operations on agents and conversations."""
    conversation = "/conversations/{id}"
    items = CONVERSATION_ITEMS.listed_by or ""
    agent = "/agents/{id}"
    look_up = partial(make_look_up, NAME, render=_render_view)
    create_agent = partial(_parse_agent, AGENTS.made_by, _create_agent)
    return (
        Operation(
            "chat", "POST", "/conversations", parse=_parse_start, render=_render, body=_ask, shows_reasoning=True
        ),
        Operation(
            "chat",
            "POST",
            conversation,
            parse=_parse_append,
            render=_render,
            body=_ask,
            params={"id": "conv_1"},
            shows_reasoning=True,
        ),
        look_up("conversations", "GET", "/conversations", work=_list_conversations),
        look_up("conversation", "GET", conversation, work=_show),
        look_up(items, "GET", f"{conversation}/history", work=_list_all),
        look_up(items, "GET", f"{conversation}/messages", work=_list_messages),
        look_up("delete_conversation", "DELETE", conversation, work=_delete),
        Operation(AGENTS.made_by, "POST", "/agents", parse=create_agent, render=_render_view),
        Operation(
            "update_agent",
            "PATCH",
            agent,
            parse=partial(_parse_agent, "update_agent", _update_agent),
            render=_render_view,
        ),
        look_up("agents", "GET", "/agents", work=_list_agents),
        look_up("agent", "GET", agent, work=_show_agent),
        look_up("delete_agent", "DELETE", agent, work=_delete_agent),
    )


def _ask(text: str) -> dict[str, Json]:
    return {"inputs": text}


def _render_view(call: Call, view: ObjectView) -> Reply:
    """Return the reply: an object, a list of objects, or an empty one after a deletion."""
    lines = write_header_lines(call.http, call)
    if view.status == _NO_CONTENT:
        return Reply(_NO_CONTENT, HeaderLines(lines))
    if _LISTED in view.body:
        return make_data_reply(200, to_json(view.body[_LISTED]), lines=lines)
    return make_json_reply(200, view.body, lines=lines)


_LISTED = "listed"  # where a view has a list, which is the whole body
_NO_CONTENT = 204


# Turns of conversations.


class _Turn(Struct, frozen=True, kw_only=True):
    """A turn: the id of the conversation that goes on, or the agent of a new one, and the entries of the request."""

    conversation: str
    agent: str
    entries: Sequence[Body]
    is_stored: bool

    async def read(self, call: Call, objects: Objects) -> Beginning:
        """Return the earlier messages and the agent's instructions; an unknown agent has none. Raises Failure."""
        kept: KeptObject | None = None
        if self.conversation:
            kept = await _find(self.conversation, objects)
        elif self.agent:
            kept = await _find_agent(self.agent, objects, is_known=True)
        if kept is None or kept.call is None:
            return Beginning()
        before: Call = kept.call
        return Beginning(before.messages, before.model, tools=before.tools, tool_choice=before.tool_choice)

    async def write(self, call: Call, answer: Answer, objects: Objects, *, is_generated: bool) -> Answer:
        """Keep the turn for calls that go on, unless the request does not want that."""
        if not self.is_stored:
            return answer
        name = self.conversation or answer.id
        before = await objects.find(CONVERSATIONS.made_by, self.conversation) if self.conversation else None
        standing: Body = call.raw if before is None else before.body
        body = {
            **{key: standing.get(key) for key in (*_STANDING, "agent_id")},
            "model": answer.model,
            "created": standing.get("created", objects.now),
            "entries": [
                *standing.get("entries", ()),
                *self._describe(answer),
                *list_entries(answer, ConversationOptions(name, standing.get("agent_id"))),
            ],
        }
        whole = (*call.messages, _make_message(answer))
        beginning = replace(call, http=HttpRequest("POST", ""), raw={}, meaning={}, messages=whole, references=None)
        await objects.keep(KeptObject(NAME, CONVERSATIONS.made_by, id=name, body=body, call=beginning))
        return answer

    def _describe(self, answer: Answer) -> Iterator[Body]:
        """Yield the entries of the request as the service keeps them."""
        moment = write_moment(answer.created)
        for number, entry in enumerate(self.entries):
            name = f"msg_{answer.id.rpartition('_')[2]}in{number}"
            yield {"object": "entry", "created_at": moment, "completed_at": moment, "id": name, **entry}


def _make_message(answer: Answer) -> Message:
    """Return an answer as the message that later calls go on from."""
    choice = answer.choices[0]
    calls = tuple([part.call for part in choice.parts if isinstance(part, ToolUse)])
    return Message("assistant", join_spoken(choice), tool_calls=calls)


def _parse_start(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_body(START, read_object(http), refuse=refuse, validation=validation)
    if not (parsed.get("model") or parsed.get("agent_id")) and validation is not Validation.OFF:
        raise refuse(Complaint("missing", ("model",)))
    return _make_call(http, body, parsed=parsed, validation=validation)


def _parse_append(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_body(APPEND, read_object(http), refuse=refuse, validation=validation)
    return _make_call(http, body, parsed=parsed, validation=validation)


def _make_call(http: HttpRequest, body: Body, *, parsed: Body, validation: Validation) -> Call:
    conversation = http.path_params.get("id", "")
    agent = parsed.get("agent_id") or ""
    entries = _list_entries(parsed.get("inputs"))
    arguments = parsed.get("completion_args") or {}
    chat = {
        **{key: value for key, value in arguments.items() if value is not None},
        "model": parsed.get("model") or agent,
        "messages": [*_write_instructions(parsed), *_write_chat(entries)],
        "stream": parsed.get("stream") is True,
    }
    if parsed.get("tools"):
        chat["tools"] = parsed["tools"]
    call = make_chat(http, chat, validation)
    return replace(
        call,
        raw=body,
        ids=_IDS,
        meaning={**call.meaning, "agent": agent} if agent else call.meaning,
        references=_Turn(
            conversation=conversation,
            agent=agent,
            entries=entries,
            is_stored=parsed.get("store") is not False,
        ),
    )


def _write_instructions(parsed: Body) -> list[Body]:
    instructions = parsed.get("instructions")
    return [{"role": "system", "content": instructions}] if instructions else []


def _list_entries(inputs: Json) -> Sequence[Body]:
    """Return the inputs of a request as entries."""
    if isinstance(inputs, str):
        return ({"type": "message.input", "role": "user", "content": inputs},)
    return [{"type": "message.input", **entry} if "role" in entry else entry for entry in inputs or ()]


def _write_chat(entries: Sequence[Body]) -> Sequence[Body]:
    """Return entries as the messages of a chat; calls in a row belong to one message."""
    messages = list[dict[str, Any]]()
    for entry in entries:
        match entry.get("type"):
            case "function.call":
                function = {"name": entry.get("name"), "arguments": entry.get("arguments") or "{}"}
                if not messages or messages[-1]["role"] != "assistant":
                    messages.append({"role": "assistant", "content": ""})
                calls = messages[-1].setdefault("tool_calls", [])
                calls.append({"id": entry.get("tool_call_id"), "function": function})
            case "function.result":
                messages.append(
                    {"role": "tool", "tool_call_id": entry.get("tool_call_id"), "content": entry.get("result")}
                )
            case "message.input" | "message.output":
                messages.append({"role": entry.get("role") or "assistant", "content": entry.get("content")})
    return messages


def _render(call: Call, outcome: Answer) -> Reply:
    options = ConversationOptions(call.http.path_params.get("id", ""), call.raw.get("agent_id"))
    return make_answer_reply(outcome, _RENDERER, options, write_header_lines(call.http, call), stream=call.stream)


# Look-ups of conversations.


async def _find(name: str, objects: Objects) -> KeptObject:
    """Return a conversation by its id; one that nobody began is empty. Raises Failure."""
    body: Body = {"created": objects.now, "model": _USUAL_MODEL, "entries": []}
    invented = KeptObject(NAME, CONVERSATIONS.made_by, id=name, body=body)
    return await find_object(objects, CONVERSATIONS.made_by, name, invented=invented)


async def _show(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call.id, objects)
    return ObjectView(_describe_conversation(kept))


async def _list_conversations(call: Call, objects: Objects) -> ObjectView:
    return ObjectView({_LISTED: [_describe_conversation(kept) for kept in await objects.list(CONVERSATIONS.made_by)]})


def _describe_conversation(kept: KeptObject) -> Body:
    moment = write_moment(kept.body["created"])
    shown = {key: value for key, value in kept.body.items() if key not in ("created", "entries") and value is not None}
    return {"object": "conversation", "id": kept.id, "created_at": moment, "updated_at": moment, **shown}


async def _list_all(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call.id, objects)
    body = {"object": "conversation.history", "conversation_id": kept.id, "entries": kept.body["entries"]}
    return ObjectView(body)


async def _list_messages(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call.id, objects)
    messages = [entry for entry in kept.body["entries"] if str(entry.get("type")).startswith("message.")]
    body = {"object": "conversation.messages", "conversation_id": kept.id, "messages": messages}
    return ObjectView(body)


async def _delete(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call.id, objects)
    await objects.change(kept, KeptObject.forget)
    return ObjectView(status=_NO_CONTENT)


# Agents.


def _parse_agent(operation: str, work: Work, http: HttpRequest, validation: Validation) -> Call:
    """Return the call that makes or changes an agent."""
    body, parsed = read_body(AGENT, read_object(http), refuse=refuse, validation=validation)
    name = http.path_params.get("id", "")
    if operation == AGENTS.made_by and validation is not Validation.OFF:
        for key in ("model", "name"):
            if not parsed.get(key):
                raise refuse(Complaint("missing", (key,)))
    return Call(
        NAME,
        operation,
        model=parsed.get("model") or "",
        http=http,
        meaning={"id": name, **body},
        raw=parsed,
        id=name,
        work=work,
    )


def _make_agent(name: str, body: Body) -> KeptObject:
    """Return an agent, with the call that begins all conversations with it."""
    instructions = _write_instructions(body)
    messages = instructions or [{"role": "user", "content": ""}]
    chat = {"model": name, "messages": messages, "tools": body.get("tools") or []}
    call = make_chat(HttpRequest("POST", ""), chat, Validation.OFF)
    beginning = replace(call, raw={}, meaning={}, messages=call.messages if instructions else ())
    return KeptObject(NAME, AGENTS.made_by, id=name, body=body, call=beginning)


async def _create_agent(call: Call, objects: Objects) -> ObjectView:
    made = _make_agent(objects.derive_id(_AGENT_IDS), {**call.raw, "created": objects.now, "version": 0})
    await objects.keep(made)
    return ObjectView(_describe_agent(made))


async def _update_agent(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_agent(call.id, objects)
    _, now = await objects.change(
        kept, lambda found: _make_agent(found.id, {**found.body, **call.raw, "version": found.body["version"] + 1})
    )
    return ObjectView(_describe_agent(now))


async def _find_agent(name: str, objects: Objects, *, is_known: bool = False) -> KeptObject:
    """Return an agent by its id; one that nobody made here has only a model. Raises Failure.

    `is_known`: it exists in any case, as users make agents in the console.
    """
    body = {"name": name, "model": _USUAL_MODEL, "created": objects.now, "version": 0}
    invented = _make_agent(name, body)
    if is_known and await objects.find(AGENTS.made_by, name) is None:
        return objects.invent(invented)
    return await find_object(objects, AGENTS.made_by, name, invented=invented)


async def _show_agent(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_agent(call.id, objects)
    return ObjectView(_describe_agent(kept))


async def _list_agents(call: Call, objects: Objects) -> ObjectView:
    return ObjectView({_LISTED: [_describe_agent(kept) for kept in await objects.list(AGENTS.made_by)]})


async def _delete_agent(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_agent(call.id, objects)
    await objects.change(kept, KeptObject.forget)
    return ObjectView(status=_NO_CONTENT)


def _describe_agent(kept: KeptObject) -> Body:
    stated = kept.body
    moment = write_moment(stated["created"])
    return {
        "object": "agent",
        "id": kept.id,
        **{key: stated.get(key) for key in (*_STANDING, "handoffs")},
        "tools": stated.get("tools") or [],
        "completion_args": stated.get("completion_args") or {},
        "version": stated["version"],
        "versions": [*range(stated["version"] + 1)],
        "created_at": moment,
        "updated_at": moment,
        "deployment_chat": False,
        "source": "api",
    }
