"""Chat and text completions of OpenAI, and of those that speak as it does."""

from collections.abc import Sequence

from msgspec import Struct

from mockserver.cassettes.formats import DONE_LINE, ERROR, AnswerFormat
from mockserver.cassettes.parsed_response import (
    ParsedChoice,
    ParsedPart,
    ParsedResponse,
    ParsedToolCall,
    Table,
    read_number,
    read_rows,
    read_table,
    read_text,
)
from mockserver.cassettes.stream_events import DONE, Event, end_stream
from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily


def _read_chunks(found: Sequence[Event]) -> ParsedResponse:
    complete = any(event.text == DONE or event.table.get("object") == _LAST_OBJECT for event in found)
    return end_stream(read_choices([event.table for event in found], streamed=True), found, complete=complete)


def _read_body(body: Table) -> ParsedResponse:
    return read_choices([body])


def read_choices(bodies: Sequence[Table], *, streamed: bool = False) -> ParsedResponse:
    """Return a chat or text completion, from its body or its chunks: texts add up, of other fields the last counts."""
    messages = dict[int, _Message]()
    last = dict[int, dict[str, Json]]()
    for body in bodies:
        for position, choice in enumerate(read_rows(body.get("choices"))):
            at = read_number(choice.get("index"), position)
            messages.setdefault(at, _Message()).add(_find_message(choice, streamed=streamed))
            last.setdefault(at, {}).update({key: value for key, value in choice.items() if value is not None})
    return ParsedResponse(
        choices=tuple(messages[at].build(last[at]) for at in sorted(messages)),
        model=next((model for body in bodies if (model := read_text(body.get("model")))), ""),
        usage=next((usage for body in reversed(bodies) if (usage := read_table(body.get("usage")))), None),
        prompt_filters=next((filters for body in bodies if (filters := _find_prompt_filters(body))), None),
    )


def _find_message(choice: Table, *, streamed: bool) -> Table:
    """Return what a choice says. Some hosts have a text beside the delta (Together), or all so far (Perplexity)."""
    keys = ("delta", "message") if streamed else ("message", "delta")
    found = next((choice[key] for key in keys if key in choice), {"content": choice.get("text")})
    return read_table(found)


def _find_prompt_filters(body: Table) -> Table | None:
    found = read_rows(body.get("prompt_filter_results"))
    return read_table(found[0].get("content_filter_results")) or None if found else None


class _Message(Struct):
    """A message of a choice, put together from the deltas of a stream, or from the whole one as a single delta."""

    texts: dict[str, str] = {}  # by the kind of part
    calls: dict[int, ParsedToolCall] = {}  # by their index; -1: the function call of older APIs
    annotations: list[Table] = []

    def add(self, delta: Table) -> None:
        for key, kind in _TEXTS.items():
            self._add_text(kind, read_text(delta.get(key)))
        for part in read_rows(delta.get("content")):  # of Mistral
            self._add_text("text", read_text(part.get("text")))
            self._add_text("reasoning", "".join(read_text(row.get("text")) for row in read_rows(part.get("thinking"))))
        for position, call in enumerate(read_rows(delta.get("tool_calls"))):
            self._add_call(read_number(call.get("index"), position), call)
        if function_call := read_table(delta.get("function_call")):
            self._add_call(-1, {"function": function_call})
        self.annotations += read_rows(delta.get("annotations"))

    def _add_text(self, kind: str, text: str) -> None:
        self.texts[kind] = self.texts.get(kind, "") + text

    def _add_call(self, at: int, delta: Table) -> None:
        before = self.calls.get(at, ParsedToolCall("", ""))
        custom = before.custom or "custom" in delta
        used = read_table(delta.get("custom" if custom else "function"))
        name = read_text(used.get("name"))
        text = read_text(used.get("input" if custom else "arguments"))
        self.calls[at] = ParsedToolCall(before.name + name, before.text + text, custom)

    def build(self, fields: Table) -> ParsedChoice:
        """Return the choice of this message; `fields` are those of the choice beside its message."""
        texts = [ParsedPart(kind, text) for kind, text in self.texts.items() if text]
        calls = [ParsedPart("call", call=self.calls[at]) for at in sorted(self.calls)]
        return ParsedChoice(
            parts=(*texts, *calls),
            finish=read_text(fields.get("finish_reason")),
            annotations=tuple(self.annotations),
            filters=read_table(fields.get("content_filter_results")) or None,
        )


# The texts of a message, in the order of parts, by the fields of the wire.
_TEXTS = {"reasoning_content": "reasoning", "reasoning": "reasoning", "content": "text", "refusal": "refusal"}

_LAST_OBJECT = "chat.completion.done"  # of Perplexity, which sends no [DONE]
_LAST_CHUNK = rb'"object"\s*:\s*"chat\.completion\.done"'
CHATS = AnswerFormat(_read_chunks, _read_body, compile_lazily(DONE_LINE + b"|" + _LAST_CHUNK + b"|" + ERROR))
STORED_CHATS = AnswerFormat(from_body=_read_body)
