"""Messages of Cohere's v2, answers of its v1, and texts of its generate."""

from collections.abc import Sequence

from mockserver.cassettes.formats import AnswerFormat
from mockserver.cassettes.formats.anthropic_messages import add_to_block, read_block
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
from mockserver.core.json import Json, compact


def _read_cohere_chat(body: Table) -> ParsedResponse:
    """Return a message of Cohere's v2, or an answer of v1, which is a text."""
    message = read_table(body.get("message"))
    if "message" not in body:
        message = {**body, "content": [{"type": "text", "text": body.get("text")}]}
    parts = [ParsedPart("text", text)] if (text := read_text(message.get("tool_plan"))) else []
    parts += [part for part in map(read_block, read_rows(message.get("content"))) if part.text]
    parts += [ParsedPart("call", call=_read_cohere_call(call)) for call in read_rows(message.get("tool_calls"))]
    stopped = read_text(body.get("finish_reason"))
    finish = (
        "tool_calls" if stopped == "COMPLETE" and message.get("tool_calls") else _COHERE_REASONS.get(stopped, stopped)
    )
    usage = read_table(body.get("usage")) or read_table(body.get("meta"))
    return ParsedResponse(
        (ParsedChoice(tuple(parts), finish, tuple(read_rows(message.get("citations")))),),
        usage=read_table(usage.get("tokens")) or read_table(usage.get("billed_units")) or None,
    )


def _read_cohere_call(call: Table) -> ParsedToolCall:
    function = read_table(call.get("function"))
    if not function:  # of v1
        return ParsedToolCall(read_text(call.get("name")), compact(call.get("parameters") or {}))
    return ParsedToolCall(read_text(function.get("name")), read_text(function.get("arguments")))


def _read_cohere_events(found: Sequence[Event]) -> ParsedResponse:
    """Return a streamed message: its blocks and calls, each with its deltas, and the fields of the last event."""
    if any("event_type" in event.table for event in found):
        return _read_old_cohere_events(found)
    blocks = dict[int, dict[str, Json]]()
    calls = dict[int, dict[str, Json]]()
    citations = list[Table]()
    ended = dict[str, Json]()
    plan = ""
    for event in found:
        body = event.table
        at = read_number(event.table.get("index"), 0)
        delta = read_table(body.get("delta"))
        message = read_table(delta.get("message"))
        content = read_table(message.get("content"))
        call = read_table(message.get("tool_calls"))
        match body.get("type"):
            case "content-start":
                blocks[at] = {**content}
            case "content-delta":
                add_to_block(blocks.setdefault(at, {"type": "text"}), content)
            case "tool-plan-delta":
                plan += read_text(message.get("tool_plan"))
            case "tool-call-start":
                calls[at] = {**read_table(call.get("function"))}
            case "tool-call-delta":
                function = calls.setdefault(at, {})
                more = read_table(call.get("function"))
                function["arguments"] = read_text(function.get("arguments")) + read_text(more.get("arguments"))
            case "citation-start":
                citations.append(read_table(message.get("citations")))
            case "message-end":
                ended = {**delta}
    made = [{"function": function} for function in calls.values()]
    whole = {"content": [*blocks.values()], "tool_plan": plan, "tool_calls": made, "citations": citations}
    read = _read_cohere_chat({**ended, "message": whole})
    return end_stream(read, found, complete=bool(ended), error=ended.get("error"))


def _read_old_cohere_events(found: Sequence[Event]) -> ParsedResponse:
    """Return a streamed answer of v1: all of it is in the last event; of one that broke off, its pieces."""
    pieces = "".join(read_text(event.table.get("text")) for event in found)
    ended = next((event.table for event in found if event.table.get("event_type") == "stream-end"), {})
    whole = {"text": pieces, "finish_reason": ended.get("finish_reason"), **read_table(ended.get("response"))}
    return end_stream(_read_cohere_chat(whole), found, complete=bool(ended), error=ended.get("error"))


_COHERE_REASONS = {
    **dict.fromkeys(("COMPLETE", "STOP_SEQUENCE"), "stop"),
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "ERROR_TOXIC": "content_filter",
}


def _read_generations(body: Table) -> ParsedResponse:
    """Return the texts of Cohere's generate."""
    choices = [
        ParsedChoice(
            (ParsedPart("text", read_text(made.get("text"))),),
            _COHERE_REASONS.get(stopped := read_text(made.get("finish_reason")), stopped),
        )
        for made in read_rows(body.get("generations"))
    ]
    return ParsedResponse(tuple(choices), usage=read_table(read_table(body.get("meta")).get("tokens")) or None)


CHATS = AnswerFormat(_read_cohere_events, _read_cohere_chat)
GENERATIONS = AnswerFormat(from_body=_read_generations)
