"""Cohere's chat and generate of v1: an Answer as a body, or as lines of JSON.

See https://docs.cohere.com/v1/reference/chat and https://docs.cohere.com/v1/reference/generate.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from pydantic_core import from_json, to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Text, ToolUse
from mockserver.wire.cohere import find_finish_reason, make_citations, make_usage
from mockserver.wire.parts import join_spoken, list_spoken_pieces

Body = Mapping[str, Json]


class OldOptions(Struct, frozen=True):
    """What the request contributes to the answer: the turns so far, and the documents that it sends."""

    history: Sequence[Body] = ()
    documents: Sequence[Body] = ()


def make_old_chat(answer: Answer, options: OldOptions) -> dict[str, Json]:
    """Return the body of a chat, with the conversation up to its end."""
    choice = answer.choices[0]
    text = join_spoken(choice)
    calls = _list_calls(choice)
    turn: dict[str, Json] = {"role": "CHATBOT", "message": text, **({"tool_calls": calls} if calls else {})}
    body: dict[str, Json] = {"response_id": answer.id, "text": text, "generation_id": answer.id}
    body |= {
        "chat_history": [*options.history, turn],
        "finish_reason": _find_reason(choice),
        "meta": _make_meta(answer),
    }
    if calls:
        body["tool_calls"] = calls
    if citations := _list_citations(choice):
        body |= {"citations": citations, "documents": [*options.documents]}
    return body


def _find_reason(choice: Choice) -> str:
    if choice.finish == "content_filter":
        return "ERROR_TOXIC"
    reason = find_finish_reason(choice)
    return "COMPLETE" if reason in ("TOOL_CALL", "STOP_SEQUENCE") else reason


def _make_meta(answer: Answer) -> dict[str, Json]:
    usage = make_usage(answer.usage)
    return {"api_version": {"version": "1"}, "billed_units": usage["billed_units"], "tokens": usage["tokens"]}


def _list_calls(choice: Choice) -> list[Body]:
    calls = [part.call for part in choice.parts if isinstance(part, ToolUse)]
    return [{"name": call.name, "parameters": _parse_parameters(call.arguments)} for call in calls]


def _parse_parameters(arguments: str) -> Json:
    """Return the object of a JSON text, which may be cut off; any other value is the `input` of one."""
    try:
        value = from_json(arguments or "{}", allow_partial=True)
    except ValueError:
        value = arguments
    return value if isinstance(value, dict) else {"input": value}


def _list_citations(choice: Choice) -> list[Body]:
    found: list[Body] = []
    start = 0
    for part in choice.parts:
        if isinstance(part, Text):
            for note in part.annotations:
                found += map(_write_citation, make_citations(note, part.text, start=start, number=len(found)))
            start += len(part.text)
    return found


def _write_citation(citation: Body) -> Body:
    names = [source.get("id") for source in citation["sources"] if isinstance(source, Mapping)]
    return {**{key: citation[key] for key in ("start", "end", "text")}, "document_ids": names}


def stream_old_chat(answer: Answer, options: OldOptions) -> Iterator[Frame]:
    """Yield the lines of a chat; the last one has the body of `make_old_chat`."""
    choice = answer.choices[0]
    yield _write_line("stream-start", {"generation_id": answer.id}, "open")
    for piece, weight in list_spoken_pieces(choice, answer.tokenizer):
        yield _write_line("text-generation", {"text": piece}, "text", tokens=weight)
    if citations := _list_citations(choice):
        yield _write_line("citation-generation", {"citations": citations}, "text")
    if calls := _list_calls(choice):
        yield _write_line("tool-calls-generation", {"tool_calls": calls}, "arguments")
    body = make_old_chat(answer, options)
    yield _write_end(_find_reason(choice), body)


def make_generation(answer: Answer, prompt: str) -> dict[str, Json]:
    """Return the body of an answer to `generate`."""
    made = [
        {
            "id": f"{answer.id}-{at}" if at else answer.id,
            "text": join_spoken(choice),
            "finish_reason": _find_reason(choice),
        }
        for at, choice in enumerate(answer.choices)
    ]
    return {"id": answer.id, "generations": made, "prompt": prompt, "meta": _make_meta(answer)}


def stream_generation(answer: Answer, prompt: str) -> Iterator[Frame]:
    """Yield the lines of an answer to `generate`; the last one has its body."""
    for at, choice in enumerate(answer.choices):
        for piece, weight in list_spoken_pieces(choice, answer.tokenizer):
            yield _write_line(
                "text-generation", {"text": piece, **({"index": at} if at else {})}, "text", tokens=weight
            )
    yield _write_end(_find_reason(answer.choices[0]), make_generation(answer, prompt))


def _write_line(event: str, body: Body, part: str, *, tokens: int = 0, finished: bool = False) -> Frame:
    data = to_json({"is_finished": finished, "event_type": event, **body})
    return Frame(data + b"\n", None, tokens, part, "bare")


def _write_end(reason: str, response: Body) -> Frame:
    return _write_line("stream-end", {"finish_reason": reason, "response": response}, "end", finished=True)


def break_off_line(message: str) -> Frame:
    """Return the line that ends a stream which fails."""
    failed = {"finish_reason": "ERROR", "error": message, "response": {"text": ""}}
    return _write_line("stream-end", failed, "finish", finished=True)
