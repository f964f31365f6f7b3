"""Mistral's conversations: an Answer as entries, or as the events that make them (https://docs.mistral.ai/agents)."""

from collections.abc import Iterator, Mapping
from functools import partial

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Reasoning, Refusal, Text, ToolUse
from mockserver.wire.parts import join_spoken, list_pieces, write_moment
from mockserver.wire.renderer import Outline, Renderer

Body = dict[str, Json]


class ConversationOptions(Struct, frozen=True):
    """What the request contributes: the conversation that goes on, empty for a new one, and the agent that answers."""

    conversation: str = ""
    agent: str | None = None


class ConversationRenderer(Renderer[ConversationOptions]):
    """Renders responses of conversations; a new conversation has the id of its first answer."""

    def render_body(self, answer: Answer, options: ConversationOptions) -> Body:
        return {
            "object": "conversation.response",
            "conversation_id": options.conversation or answer.id,
            "outputs": list_entries(answer, options),
            "usage": _make_usage(answer),
        }

    def render_frames(self, answer: Answer, options: ConversationOptions) -> Iterator[Frame]:
        moment = {"created_at": write_moment(answer.created)}
        name = options.conversation or answer.id
        yield _make_event("conversation.response.started", {**moment, "conversation_id": name}, "open")
        calls = (part for part in answer.choices[0].parts if isinstance(part, ToolUse))
        for index, entry in enumerate(list_entries(answer, options)):
            stream = _stream_message if entry["type"] == "message.output" else partial(_stream_call, next(calls))
            yield from stream(answer, {**moment, "output_index": index}, entry)
        yield _make_event("conversation.response.done", {**moment, "usage": _make_usage(answer)}, "end")

    def outline(self, answer: Answer, options: ConversationOptions) -> Outline | None:
        return None  # these answers are too rare for templates


def list_entries(answer: Answer, options: ConversationOptions) -> list[Body]:
    """Return the entries of an answer: its message, then its function calls."""
    moment = write_moment(answer.created)
    name = answer.id.rpartition("_")[2]
    common = {"object": "entry", "created_at": moment, "completed_at": moment, "model": answer.model}
    choice = answer.choices[0]
    thoughts = [_make_thought(part.text) for part in choice.parts if isinstance(part, Reasoning)]
    text = join_spoken(choice)
    calls = [part.call for part in choice.parts if isinstance(part, ToolUse)]
    entries = list[Body]()
    if text or thoughts or not calls:
        content: Json = [*thoughts, {"type": "text", "text": text}] if thoughts else text
        entry: Body = {"type": "message.output", "id": f"msg_{name}", "role": "assistant", "content": content}
        entries.append({**common, **entry, "agent_id": options.agent})
    for number, call in enumerate(calls):
        used: Body = {"type": "function.call", "id": f"fc_{name}{number}", "tool_call_id": call.id, "name": call.name}
        entries.append({**common, **used, "arguments": call.arguments, "agent_id": options.agent})
    return entries


def _stream_message(answer: Answer, place: Body, entry: Body) -> Iterator[Frame]:
    """Yield the events of a message, thoughts first."""
    own = {key: entry[key] for key in ("id", "model", "agent_id", "role")}
    has_thoughts = isinstance(entry["content"], list)
    for part in answer.choices[0].parts:
        if isinstance(part, Text | Refusal | Reasoning):
            is_thought = isinstance(part, Reasoning)
            at = int(has_thoughts and not is_thought)
            for piece, weight in list_pieces(part, answer.tokenizer):
                content = _make_thought(piece) if is_thought else piece
                body = {**place, **own, "content_index": at, "content": content}
                yield _make_event("message.output.delta", body, "text", tokens=weight)


def _stream_call(used: ToolUse, answer: Answer, place: Body, entry: Body) -> Iterator[Frame]:
    own = {key: entry[key] for key in ("id", "name", "tool_call_id", "model", "agent_id")}
    for piece, weight in list_pieces(used, answer.tokenizer):
        yield _make_event("function.call.delta", {**place, **own, "arguments": piece}, "arguments", tokens=weight)


def _make_thought(text: str) -> Body:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _make_event(kind: str, body: Mapping[str, Json], part: str, *, tokens: int = 0) -> Frame:
    return Frame(to_json({"type": kind, **body}), event=kind, part=part, tokens=tokens)


def _make_usage(answer: Answer) -> Body:
    usage = answer.usage
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "connector_tokens": None,
        "connectors": None,
    }
