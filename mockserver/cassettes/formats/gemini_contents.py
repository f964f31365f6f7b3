"""Contents of Gemini."""

from collections.abc import Sequence

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
from mockserver.cassettes.stream_events import Event, end_stream
from mockserver.core.json import Json, compact
from mockserver.core.lazy import compile_lazily


def _read_stream(found: Sequence[Event]) -> ParsedResponse:
    read = _read_contents([event.table for event in found])
    return end_stream(read, found, complete=read.complete)


def _read_body(body: Json) -> ParsedResponse:
    """Return the response of a body, or of a stream that was asked for as one list."""
    return _read_contents(read_rows([body]) or read_rows(body))


def _read_contents(bodies: Sequence[Table]) -> ParsedResponse:
    """Return a response of Gemini, or the responses of its stream: pieces of a text add up."""
    found = dict[int, list[ParsedPart]]()
    ends = dict[int, str]()
    for body in bodies:
        for position, candidate in enumerate(read_rows(body.get("candidates"))):
            at = read_number(candidate.get("index"), position)
            parts = found.setdefault(at, [])
            for part in filter(
                None, map(_read_content_part, read_rows(read_table(candidate.get("content")).get("parts")))
            ):
                if parts and part.text and parts[-1].kind == part.kind:
                    part = ParsedPart(part.kind, parts.pop().text + part.text)
                parts.append(part)
            ends[at] = read_text(candidate.get("finishReason")) or ends.get(at, "")
    choices = [ParsedChoice(tuple(found[at]), _map_content_finish(ends[at], found[at])) for at in sorted(found)]
    feedback = next((said for body in bodies if (said := read_table(body.get("promptFeedback")))), {})
    blocked = "blockReason" in feedback
    counts = read_table(bodies[-1].get("usageMetadata")) if bodies else {}
    return ParsedResponse(
        choices=tuple(choices),
        model=next((model for body in bodies if (model := read_text(body.get("modelVersion")))), ""),
        usage={name: counts[key] for key, name in _COUNTS.items() if key in counts} or None,
        complete=blocked or (bool(ends) and all(ends.values())),
        prompt_filters=_read_content_filters(feedback) or None,
        blocked=blocked,
    )


def _read_content_filters(feedback: Table) -> dict[str, Json]:
    """Return the ratings of a prompt as filters of chats, of the harms that both know."""
    found = (
        (_HARMS.get(read_text(rating.get("category"))), rating) for rating in read_rows(feedback.get("safetyRatings"))
    )
    return {
        harm: {"filtered": rating.get("blocked") is True, "severity": read_text(rating.get("probability")).lower()}
        for harm, rating in found
        if harm
    }


_HARMS = {
    "HARM_CATEGORY_HATE_SPEECH": "hate",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT": "sexual",
    "HARM_CATEGORY_DANGEROUS_CONTENT": "violence",
}


def _read_content_part(part: Table) -> ParsedPart | None:
    if call := read_table(part.get("functionCall")):
        return ParsedPart("call", call=ParsedToolCall(read_text(call.get("name")), compact(call.get("args") or {})))
    if code := read_table(part.get("executableCode")):
        return ParsedPart("item", item={"type": "code_interpreter_call", "code": read_text(code.get("code"))})
    text = read_text(part.get("text"))
    return ParsedPart("reasoning" if part.get("thought") else "text", text) if text else None


def _map_content_finish(reason: str, parts: Sequence[ParsedPart]) -> str:
    if reason == "STOP":
        return "tool_calls" if any(part.call for part in parts) else "stop"
    return {"MAX_TOKENS": "length", "SAFETY": "content_filter"}.get(reason, reason)


_COUNTS = {
    "promptTokenCount": "prompt_tokens",
    "candidatesTokenCount": "completion_tokens",
    "thoughtsTokenCount": "reasoning_tokens",
    "cachedContentTokenCount": "cached_tokens",
    "totalTokenCount": "total_tokens",
}

_LAST_EVENT = rb'"(?:finishReason|blockReason)"\s*:'
CONTENTS = AnswerFormat(_read_stream, _read_body, compile_lazily(_LAST_EVENT + b"|" + ERROR), reads_any=True)
