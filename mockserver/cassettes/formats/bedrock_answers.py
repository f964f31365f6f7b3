"""Answers of Bedrock: of Converse, and of InvokeModel, where each model has a format of its own."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from mockserver.cassettes.formats import AnswerFormat
from mockserver.cassettes.formats.anthropic_messages import read_message, read_message_events, write_input
from mockserver.cassettes.formats.openai_chats import read_choices
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
from mockserver.cassettes.stream_events import Event, end_stream
from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily


def _read_converse(body: Table) -> ParsedResponse:
    message = read_table(read_table(body.get("output")).get("message"))
    stopped = read_text(body.get("stopReason"))
    parts = [part for block in read_rows(message.get("content")) for part in _read_converse_block(block)]
    finish = _CONVERSE_REASONS.get(stopped, stopped)
    usage = read_table(body.get("usage"))
    counts = {name: usage[key] for key, name in _CONVERSE_COUNTS.items() if key in usage}
    return ParsedResponse((ParsedChoice(tuple(parts), finish),), usage=counts or None)


def _read_converse_block(block: Table) -> Iterator[ParsedPart]:
    if isinstance(text := block.get("text"), str):
        yield ParsedPart("text", text)
    if thought := read_table(read_table(block.get("reasoningContent")).get("reasoningText")):
        yield ParsedPart("reasoning", read_text(thought.get("text")))
    if cited := read_table(block.get("citationsContent")):
        yield ParsedPart("text", "".join(read_text(row.get("text")) for row in read_rows(cited.get("content"))))
    if used := read_table(block.get("toolUse")):
        yield ParsedPart("call", call=ParsedToolCall(read_text(used.get("name")), write_input(used.get("input"))))


def _read_converse_events(found: Sequence[Event]) -> ParsedResponse:
    """Return a streamed answer of Converse: its blocks, each with its deltas, and the fields of the last events."""
    blocks = dict[int, dict[str, Json]]()
    fields = dict[str, Json]()
    names = set[str]()
    for event in found:
        named = _name_event(event)
        name = named.name
        body = named.body
        names.add(name)
        block = blocks.setdefault(read_number(body.get("contentBlockIndex"), 0), {}) if "contentBlock" in name else {}
        delta = read_table(body.get("delta"))
        match name:
            case "contentBlockStart":
                block |= read_table(body.get("start"))
            case "contentBlockDelta" if "text" in delta:
                block["text"] = read_text(block.get("text")) + read_text(delta["text"])
            case "contentBlockDelta" if "toolUse" in delta:
                used = read_table(block.get("toolUse"))
                more = read_text(read_table(delta["toolUse"]).get("input"))
                block["toolUse"] = {**used, "input": read_text(used.get("input")) + more}
            case "contentBlockDelta" if "reasoningContent" in delta:
                thought = read_table(read_table(block.get("reasoningContent")).get("reasoningText"))
                more = read_text(read_table(delta["reasoningContent"]).get("text"))
                thought = {"text": read_text(thought.get("text")) + more}
                block["reasoningContent"] = {"reasoningText": thought}
            case "messageStop" | "metadata":
                fields |= body
    message = {"content": [block for _, block in sorted(blocks.items()) if block]}
    whole = _read_converse({**fields, "output": {"message": message}})
    return end_stream(whole, found, complete="metadata" in names)


class _NamedBody(Struct, frozen=True):
    """The name of an event, and its body."""

    name: str = ""
    body: Table = {}


def _name_event(event: Event) -> _NamedBody:
    """Return the name and the body of an event; in chunks, Nova's have their name as a key."""
    if event.name != "chunk":
        return _NamedBody(event.name, event.table)
    return next((_NamedBody(key, read_table(value)) for key, value in event.table.items()), _NamedBody())


_CONVERSE_REASONS = {
    "end_turn": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    **dict.fromkeys(("guardrail_intervened", "content_filtered"), "content_filter"),
}

_CONVERSE_COUNTS = {
    "inputTokens": "prompt_tokens",
    "outputTokens": "completion_tokens",
    "totalTokens": "total_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}


def _read_body_of_model(body: Table) -> ParsedResponse:
    """Return an answer of InvokeModel, by the keys of its model's format."""
    if body.get("type") == "message":
        return read_message(body)
    if "output" in body and "stopReason" in body:
        return _read_converse(body)
    if _has_messages(body):
        return read_choices([body])
    return _read_texts([body])


def _has_messages(body: Table) -> bool:
    """Return whether a body, or an event, has the choices of a chat."""
    return any("message" in choice or "delta" in choice for choice in read_rows(body.get("choices")))


def _read_chunks_of_model(found: Sequence[Event]) -> ParsedResponse:
    tables = [event.table for event in found if event.name == "chunk"]
    complete = any("amazon-bedrock-invocationMetrics" in table for table in tables)
    if any(table.get("type") == "message_start" for table in tables):
        read = read_message_events(found)
    elif any("messageStart" in table for table in tables):
        read = _read_converse_events(found)
    elif any(map(_has_messages, tables)):
        read = read_choices(tables)
    else:
        read = _read_texts(tables)
    return end_stream(read, found, complete=complete)


def _read_texts(bodies: Sequence[Table]) -> ParsedResponse:
    """Return an answer of a model that continues a prompt: the texts of all its pieces."""
    rows = [row for body in bodies for row in _list_generations(body)]
    texts = [read_text(row.get(key)) for row in rows for key in _TEXTS_OF_MODELS]
    ends = (read_text(row.get(key)) for row in reversed(rows) for key in _ENDS_OF_MODELS)
    ended = next(filter(None, ends), "")
    text = "".join(texts)
    parts = (ParsedPart("text", text),) if text else ()
    return ParsedResponse((ParsedChoice(parts, _PROMPTED_REASONS.get(ended.upper(), "stop")),) if parts else ())


def _list_generations(body: Table) -> list[Table]:
    """Return the rows that hold texts: those of a list, or the body itself."""
    return next(filter(None, (read_rows(body.get(key)) for key in _LISTS_OF_MODELS)), [body])


_LISTS_OF_MODELS = ("results", "outputs", "generations", "choices")

_TEXTS_OF_MODELS = ("outputText", "generation", "text", "completion")

_ENDS_OF_MODELS = ("completionReason", "stop_reason", "finish_reason")

_PROMPTED_REASONS = {"LENGTH": "length", "MAX_TOKENS": "length", "CONTENT_FILTERED": "content_filter"}

CONVERSE = AnswerFormat(_read_converse_events, _read_converse, compile_lazily(rb"\Ametadata "))
INVOKED = AnswerFormat(
    _read_chunks_of_model, _read_body_of_model, compile_lazily(rb'"amazon-bedrock-invocationMetrics"')
)
