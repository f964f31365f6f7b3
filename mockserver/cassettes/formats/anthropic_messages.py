"""Messages of Anthropic."""

import json
from collections.abc import Sequence

from msgspec.structs import replace

from mockserver.cassettes.formats import ERROR, LINE, AnswerFormat
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
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.lazy import compile_lazily


def read_message(body: Table) -> ParsedResponse:
    """Return a message of Anthropic's."""
    blocks = read_rows(body.get("content"))
    stopped = read_text(body.get("stop_reason"))
    finish = _STOP_REASONS.get(stopped, stopped)
    parts = tuple(map(read_block, blocks))
    if finish == "content_filter" and parts:
        finish = "stop"
        parts = tuple(replace(part, kind="refusal") if part.kind == "text" else part for part in parts)
    notes = tuple(note for block in blocks for note in read_rows(block.get("citations")))
    return ParsedResponse(
        (ParsedChoice(parts, finish, notes),),
        model=read_text(body.get("model")),
        usage=read_table(body.get("usage")) or None,
    )


def read_block(block: Table) -> ParsedPart:
    """Return the part that a block of content is."""
    match block.get("type"):
        case "text":
            return ParsedPart("text", read_text(block.get("text")))
        case "thinking":
            return ParsedPart("reasoning", read_text(block.get("thinking")))
        case "tool_use":
            return ParsedPart(
                "call", call=ParsedToolCall(read_text(block.get("name")), write_input(block.get("input")))
            )
        case _:
            return ParsedPart("item", item=block)


def write_input(arguments: Json) -> str:
    """Return arguments as a plain answer has them; as they were streamed if that differs by more than usual spaces."""
    if not isinstance(arguments, str):
        return compact(arguments)
    whole = try_parse(arguments)
    usual = isinstance(whole, dict) and json.dumps(whole, ensure_ascii=False) == arguments
    return compact(whole) if usual else arguments or "{}"


def read_message_events(found: Sequence[Event]) -> ParsedResponse:
    """Return a streamed message: its blocks, each with its deltas, and the fields of the last events."""
    message = dict[str, Json]()
    blocks = dict[int, dict[str, Json]]()
    usage = dict[str, Json]()
    for event in found:
        body = event.table
        at = read_number(event.table.get("index"), 0)
        match body.get("type"):
            case "message_start":
                message |= read_table(body.get("message"))
                usage |= read_table(message.get("usage"))
            case "content_block_start":
                blocks[at] = {**read_table(body.get("content_block"))}
            case "content_block_delta":
                add_to_block(blocks.setdefault(at, {}), read_table(body.get("delta")))
            case "message_delta":
                message |= read_table(body.get("delta"))
                usage |= read_table(body.get("usage"))
    content = [{**block, "input": try_parse(block["input"])} if _was_run(block) else block for block in blocks.values()]
    complete = any(event.table.get("type") == "message_stop" for event in found)
    return end_stream(read_message({**message, "content": content, "usage": usage}), found, complete=complete)


def _was_run(block: Table) -> bool:
    """Return whether the provider ran a tool: its input is a table then, not a text that may be cut."""
    return isinstance(block.get("input"), str) and block.get("type") != "tool_use"


def add_to_block(block: dict[str, Json], delta: Table) -> None:
    """Add to a block, in place, what an event of a stream adds to its text, input or citations."""
    for key in ("text", "thinking"):
        if key in delta:
            block[key] = read_text(block.get(key)) + read_text(delta.get(key))
    if "partial_json" in delta:
        block["input"] = read_text(block.get("input")) + read_text(delta.get("partial_json"))
    if "citation" in delta:
        block["citations"] = [*read_rows(block.get("citations")), read_table(delta["citation"])]


_STOP_REASONS = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}

MESSAGES = AnswerFormat(
    read_message_events, read_message, compile_lazily(LINE + rb"event: ?message_stop[ \t]*[\r\n]|" + ERROR)
)
