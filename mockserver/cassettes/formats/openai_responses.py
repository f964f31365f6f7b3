"""Responses of OpenAI, and those of its Realtime sessions."""

from collections.abc import Iterator, Sequence

from mockserver.cassettes.formats import ERROR, AnswerFormat
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
from mockserver.cassettes.stream_events import Event, end_stream, find_error
from mockserver.core.lazy import compile_lazily

FINAL = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


def _read_response(body: Table) -> ParsedResponse:
    items = read_rows(body.get("output"))
    contents = [content for item in items for content in read_rows(item.get("content"))]
    notes = tuple(note for content in contents for note in read_rows(content.get("annotations")))
    return ParsedResponse(
        choices=(
            ParsedChoice(
                _read_parts(items),
                _find_finish(body, items),
                annotations=notes,
                filters=_find_filters(body, "completion"),
            ),
        ),
        model=read_text(body.get("model")),
        usage=read_table(body.get("usage")) or None,
        error=body.get("error"),
        broken=body.get("status") == "failed" or body.get("error") is not None,
        prompt_filters=_find_filters(body, "prompt"),
    )


def _read_steps(found: Sequence[Event]) -> ParsedResponse:
    last = next((event for event in reversed(found) if event.table.get("type") in FINAL), None)
    if last is not None:
        return _read_response(read_table(last.table.get("response")))
    read = ParsedResponse((ParsedChoice(_read_parts(_collect_items(found))),))
    return end_stream(read, found, complete=find_error(found) is not None)


def _read_spoken(found: Sequence[Event]) -> ParsedResponse:
    """Return a response of a Realtime session, whose last event has one type for every status."""
    last = next((event for event in reversed(found) if event.table.get("type") == "response.done"), None)
    if last is None:
        return _read_steps(found)
    response = read_table(last.table.get("response"))
    details = read_table(response.get("status_details"))
    return _read_response({**response, "incomplete_details": details, "error": details.get("error")})


def _collect_items(found: Sequence[Event]) -> list[Table]:
    """Return the finished items, and the text of unfinished messages."""
    items = dict[int, Table]()
    texts = dict[int, str]()
    for event in found:
        at = read_number(event.table.get("output_index"), 0)
        match event.table.get("type"):
            case "response.output_item.done":
                items[at] = read_table(event.table.get("item"))
            case "response.output_text.delta":
                texts[at] = texts.get(at, "") + read_text(event.table.get("delta"))
    for at, text in texts.items():
        items.setdefault(at, {"type": "message", "content": [{"type": "output_text", "text": text}]})
    return [items[at] for at in sorted(items)]


def _read_parts(items: Sequence[Table]) -> tuple[ParsedPart, ...]:
    return tuple(part for item in items for part in _read_item(item))


def _read_item(item: Table) -> Iterator[ParsedPart]:
    match item.get("type"):
        case "message":
            for content in read_rows(item.get("content")):
                for key, kind in (("text", "text"), ("refusal", "refusal"), ("transcript", "text")):
                    if text := read_text(content.get(key)):
                        yield ParsedPart(kind, text)
        case "reasoning":
            texts = read_rows(item.get("content")) or read_rows(item.get("summary"))
            if text := "\n".join(read_text(row.get("text")) for row in texts):
                yield ParsedPart("reasoning", text)
        case "function_call" | "custom_tool_call" as kind:
            name = read_text(item.get("name"))
            namespace = read_text(item.get("namespace"))
            custom = kind == "custom_tool_call"
            text = read_text(item.get("input" if custom else "arguments"))
            yield ParsedPart("call", call=ParsedToolCall(name, text, custom=custom, namespace=namespace))
        case _:
            yield ParsedPart("item", item=item)


def _find_finish(body: Table, items: Sequence[Table]) -> str:
    reason = read_text(read_table(body.get("incomplete_details")).get("reason"))
    if reason:
        return "length" if reason.startswith("max_") else reason
    return "tool_calls" if any(item.get("type") in ("function_call", "custom_tool_call") for item in items) else "stop"


def _find_filters(body: Table, on: str) -> Table | None:
    for row in read_rows(body.get("content_filters")):
        if row.get("source_type") == on:
            return read_table(row.get("content_filter_results")) or None
    return None


_LAST_EVENT = rb'"type"\s*:\s*"response\.(?:completed|incomplete|failed)"'
_LAST_SPOKEN_EVENT = rb'"type"\s*:\s*"response\.done"'
RESPONSES = AnswerFormat(_read_steps, _read_response, compile_lazily(_LAST_EVENT + b"|" + ERROR))
SPOKEN = AnswerFormat(_read_spoken, _read_response, compile_lazily(_LAST_SPOKEN_EVENT + b"|" + ERROR))
