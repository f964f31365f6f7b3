"""Answers of Ollama's own API, whose streams are lines of JSON."""

from collections.abc import Sequence

from mockserver.cassettes.formats import AnswerFormat
from mockserver.cassettes.parsed_response import (
    ParsedChoice,
    ParsedPart,
    ParsedResponse,
    ParsedToolCall,
    Table,
    read_rows,
    read_table,
    read_text,
)
from mockserver.cassettes.stream_events import Event, end_stream
from mockserver.core.json import compact
from mockserver.core.lazy import compile_lazily


def _read_lines(found: Sequence[Event]) -> ParsedResponse:
    complete = any(event.table.get("done") is True for event in found[-1:])
    return end_stream(_join_lines([event.table for event in found]), found, complete=complete)


def _read_body(body: Table) -> ParsedResponse:
    return _join_lines([body])


def _join_lines(bodies: Sequence[Table]) -> ParsedResponse:
    """Return an answer of Ollama's own API, from its body or the lines of its stream: pieces of texts add up."""
    thoughts = list[str]()
    said = list[str]()
    calls = list[ParsedToolCall]()
    for body in bodies:
        message = read_table(body.get("message")) or body
        thoughts.append(read_text(message.get("thinking")))
        said.append(read_text(message.get("content", message.get("response"))))
        for call in read_rows(message.get("tool_calls")):
            used = read_table(call.get("function"))
            calls.append(ParsedToolCall(read_text(used.get("name")), compact(used.get("arguments") or {})))
    texts = (("reasoning", "".join(thoughts)), ("text", "".join(said)))
    parts = (
        *[ParsedPart(kind, text) for kind, text in texts if text],
        *[ParsedPart("call", call=call) for call in calls],
    )
    reason = next((reason for body in reversed(bodies) if (reason := read_text(body.get("done_reason")))), "")
    last = bodies[-1] if bodies else {}
    return ParsedResponse(
        choices=(ParsedChoice(parts, "tool_calls" if calls and reason == "stop" else reason),),
        model=next((model for body in bodies if (model := read_text(body.get("model")))), ""),
        usage={name: last[key] for key, name in _LINE_COUNTS.items() if key in last} or None,
    )


_LINE_COUNTS = {"prompt_eval_count": "prompt_tokens", "eval_count": "completion_tokens"}

LINES = AnswerFormat(_read_lines, _read_body, compile_lazily(rb'"done"\s*:\s*true|\A\s*\{\s*"error"\s*:'))
