"""Cohere's chat v2: an Answer as one message, or as the events of a stream, from the same layout.

See https://docs.cohere.com/v2/reference/chat and https://docs.cohere.com/v2/docs/streaming.

A stream and a message have one text block at most, as clients read only the first. What is said before tool calls is
their plan.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.lazy import map_lazily
from mockserver.core.plan import Answer, Choice, Logprob, Part, Reasoning, Refusal, Text, ToolUse, Usage
from mockserver.core.tokens import Tokenizer, find_token_id
from mockserver.wire.logprobs import MANY_TOKENS, add_offsets, group_by_piece
from mockserver.wire.parts import list_pieces, wrap_arguments
from mockserver.wire.renderer import Outline, Renderer

Body = Mapping[str, Json]
DONE = Frame(b"[DONE]", part="end")


class CohereOptions(Struct, frozen=True):
    """What the request contributes to the message."""

    thinking: bool = False  # whether it asks for thoughts, which then are not taken for a plan of tool calls


class CohereBlock(Struct, frozen=True):
    """A block of content, `text` or `thinking`, and the parts of which it consists."""

    kind: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return _join(self.parts)


class MessageLayout(Struct, frozen=True):
    """Where the parts of an answer stand in a message."""

    plan: tuple[Part, ...]
    blocks: tuple[CohereBlock, ...]
    calls: tuple[ToolUse, ...]

    @property
    def citations(self) -> list[Body]:
        """The citations of the text, with places in all of it."""
        found: list[Body] = []
        start = 0
        for part in (part for block in self.blocks if block.kind == "text" for part in block.parts):
            for note in part.annotations if type(part) is Text else ():
                found += make_citations(note, _join((part,)), start=start, number=len(found))
            start += len(_join((part,)))
        return found


def _join(parts: Iterable[Part]) -> str:
    return "".join([part.text for part in parts if type(part) is Text or isinstance(part, Reasoning | Refusal)])


class CohereRenderer(Renderer[CohereOptions]):
    """Renders messages."""

    def render_body(self, answer: Answer, options: CohereOptions) -> dict[str, Json]:
        choice = answer.choices[0]
        layout = lay_out(choice, options)
        message: dict[str, Json] = {"role": "assistant"}
        if layout.blocks:
            message["content"] = [{"type": block.kind, block.kind: block.text} for block in layout.blocks]
        if layout.plan:
            message["tool_plan"] = _join(layout.plan)
        if layout.calls:
            message["tool_calls"] = [_make_call(used, used.call.arguments) for used in layout.calls]
        if citations := layout.citations:
            message["citations"] = citations
        body = {"id": answer.id, "message": message, "finish_reason": find_finish_reason(choice)}
        body["usage"] = make_usage(answer.usage)
        if choice.logprobs is not None:
            body["logprobs"] = map_lazily(
                lambda each: _show_logprobs(each.token, (each,)), choice.logprobs, few=MANY_TOKENS
            )
        return body

    def render_frames(self, answer: Answer, options: CohereOptions) -> Iterator[Frame]:
        choice = answer.choices[0]
        layout = lay_out(choice, options)
        message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        yield _make_event("message-start", {"id": answer.id, "delta": {"message": message}}, "open")
        for part in layout.plan:
            for piece, weight in list_pieces(part, answer.tokenizer):
                yield _make_event(
                    "tool-plan-delta", {"delta": {"message": {"tool_plan": piece}}}, "text", tokens=weight
                )
        for index, block in enumerate(layout.blocks):
            is_text = block.kind == "text"
            yield from _stream_block(
                index,
                block,
                answer=answer,
                citations=layout.citations if is_text else (),
                logprobs=choice.logprobs if is_text else None,
            )
        for index, used in enumerate(layout.calls):
            yield from _stream_call(index, used, answer.tokenizer)
        ended = {"finish_reason": find_finish_reason(choice), "usage": make_usage(answer.usage)}
        yield _make_event("message-end", {"delta": ended}, "finish")
        yield DONE

    def outline(self, answer: Answer, options: CohereOptions) -> Outline | None:
        return Outline((options.thinking,), ())


class CohereLineRenderer(CohereRenderer):
    """Renders messages, and streams of them with a line of JSON for each event."""

    def render_frames(self, answer: Answer, options: CohereOptions) -> Iterator[Frame]:
        for frame in super().render_frames(answer, options):
            if frame is not DONE:
                yield replace(frame, data=frame.data + b"\n", event=None, framing="bare")


def lay_out(choice: Choice, options: CohereOptions) -> MessageLayout:
    """Return where the parts of a choice stand: texts before tool calls are their plan, or else thoughts are."""
    thoughts = list[Part]()
    texts = list[Part]()
    calls = list[ToolUse]()
    for part in choice.parts:
        match part:
            case Text() | Refusal():
                texts.append(part)
            case Reasoning():
                thoughts.append(part)
            case ToolUse(call):
                calls.append(wrap_arguments(part) if call.kind == "custom" else part)
    plan: list[Part] = []
    if calls:
        plan = texts
        texts = []
        if not plan and not options.thinking:
            plan = thoughts
            thoughts = []
    blocks = [CohereBlock("thinking", tuple(thoughts))] if thoughts else []
    if texts or not calls:
        blocks.append(CohereBlock("text", tuple(texts)))
    return MessageLayout(tuple(plan), tuple(blocks), tuple(calls))


def _make_call(used: ToolUse, arguments: str) -> Body:
    call = used.call
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def find_finish_reason(choice: Choice) -> str:
    """Return the `finish_reason` of an answer."""
    if choice.finish == "stop":
        return "STOP_SEQUENCE" if choice.stop else "COMPLETE"
    return _REASONS.get(choice.finish, choice.finish)


_REASONS = {
    "length": "MAX_TOKENS",
    "tool_calls": "TOOL_CALL",
    "function_call": "TOOL_CALL",
    "content_filter": "ERROR",
    "error": "ERROR",
}


def make_usage(usage: Usage) -> dict[str, Json]:
    """Return the `usage` of an answer."""
    counts = {"input_tokens": usage.prompt, "output_tokens": usage.completion}
    return {"billed_units": counts, "tokens": counts, "cached_tokens": usage.cached}


def make_citations(note: Body, text: str, *, start: int = 0, number: int = 0) -> Iterator[Body]:
    """Yield a rule's annotation as a citation: Cohere's own, or another provider's of an address or a document.

    `start` is where the annotated text begins in that of the message. `number` counts the citations before this one,
    and names the document that an address becomes. An annotation without a place is found by its words.
    """
    inner = note.get("url_citation")
    cited = {**note, **(inner if isinstance(inner, Mapping) else {})}
    words = cited.get("text", cited.get("cited_text"))
    found = max(text.find(words), 0) if isinstance(words, str) else 0
    begin = _find_place(cited, ("start", "start_index"), found)
    end = _find_place(cited, ("end", "end_index"), begin + len(words) if isinstance(words, str) else len(text))
    sources = cited.get("sources")
    if not isinstance(sources, list | tuple):
        sources = [_make_source(cited, number)] if "url" in cited or "cited_text" in cited else []
    yield {
        "start": start + begin,
        "end": start + end,
        "text": text[begin:end],
        "sources": [*sources],
        "type": cited["type"] if cited.get("type") in _CITATION_TYPES else "TEXT_CONTENT",
    }


def _find_place(cited: Body, keys: Sequence[str], usual: int) -> int:
    return next((at for key in keys if isinstance(at := cited.get(key), int)), usual)


def _make_source(cited: Body, number: int) -> Body:
    """Return the source that another provider's citation names: an address, or a document of the request."""
    title = cited.get("title") or cited.get("document_title") or cited.get("url") or ""
    about = {"title": str(title), "text": str(cited.get("cited_text") or "")}
    if cited.get("url"):
        about["url"] = str(cited["url"])
    name = f"doc:{cited.get('document_index', cited.get('search_result_index', number))}"
    return {"type": "document", "id": name, "document": {"id": name, **about}}


_CITATION_TYPES = ("TEXT_CONTENT", "THINKING_CONTENT", "PLAN")


def _show_logprobs(text: str, logprobs: Sequence[Logprob]) -> Body:
    numbers = [find_token_id(each.token) for each in logprobs]
    return {"token_ids": numbers, "text": text, "logprobs": [each.logprob for each in logprobs]}


def _stream_block(
    index: int, block: CohereBlock, *, answer: Answer, citations: Sequence[Body], logprobs: Sequence[Logprob] | None
) -> Iterator[Frame]:
    """Yield the events of a block; each citation comes once all of its text was sent."""
    begun = {"type": block.kind, block.kind: ""}
    yield _make_event("content-start", {"index": index, "delta": {"message": {"content": begun}}}, "text")
    pieces = [found for part in block.parts for found in list_pieces(part, answer.tokenizer)]
    weighed = iter(() if logprobs is None else _list_logprobs([piece for piece, _ in pieces], logprobs))
    left = list(enumerate(citations))
    sent = 0
    for piece, weight in pieces:
        delta: dict[str, Json] = {"index": index, "delta": {"message": {"content": {block.kind: piece}}}}
        if (shown := next(weighed, None)) is not None:
            delta["logprobs"] = shown
        yield _make_event("content-delta", delta, "text", tokens=weight)
        sent += len(piece)
        while left and left[0][1]["end"] <= sent:
            yield from _stream_citation(*left.pop(0))
    for number, citation in left:
        yield from _stream_citation(number, citation)
    yield _make_event("content-end", {"index": index}, "text")


def _list_logprobs(pieces: Sequence[str], logprobs: Sequence[Logprob]) -> Iterator[Body]:
    groups = group_by_piece(pieces, add_offsets(Choice((), logprobs=logprobs)))
    for piece, group in zip(pieces, groups, strict=False):
        yield _show_logprobs(piece, [logprob for _, logprob in group])


def _stream_citation(number: int, citation: Body) -> Iterator[Frame]:
    yield _make_event("citation-start", {"index": number, "delta": {"message": {"citations": citation}}}, "text")
    yield _make_event("citation-end", {"index": number}, "text")


def _stream_call(index: int, used: ToolUse, tokenizer: Tokenizer) -> Iterator[Frame]:
    begun = {"index": index, "delta": {"message": {"tool_calls": _make_call(used, "")}}}
    yield _make_event("tool-call-start", begun, "arguments")
    for piece, weight in list_pieces(used, tokenizer):
        added = {"index": index, "delta": {"message": {"tool_calls": {"function": {"arguments": piece}}}}}
        yield _make_event("tool-call-delta", added, "arguments", tokens=weight)
    yield _make_event("tool-call-end", {"index": index}, "arguments")


def _make_event(event: str, body: Body, part: str, *, tokens: int = 0) -> Frame:
    return Frame(to_json({"type": event, **body}), event, tokens, part)


def break_off(message: str) -> Frame:
    """Return the event that ends a stream which fails."""
    return _make_event("message-end", {"delta": {"finish_reason": "ERROR", "error": message}}, "finish")
