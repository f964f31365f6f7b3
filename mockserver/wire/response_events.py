"""Responses as streams: the numbered events of the object, and of each of its items."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, repeat

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.http import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Broken, Item, Part, Reasoning, Refusal, Text, ToolUse, tokens_of, words_of
from mockserver.core.tokens import APPROX, Chunks, Tokenizer, spans, weigh_pieces
from mockserver.wire.logprobs import Block
from mockserver.wire.renderer import Marks, Outline, Renderer
from mockserver.wire.responses import (
    OutputItem,
    ResponseLayout,
    ResponseOptions,
    StatusEvent,
    TextDeltas,
    find_item_kind,
    find_status,
    list_item_ids,
    list_output_items,
    make_response,
    make_response_in_progress,
    make_response_of_items,
)
from mockserver.wire.template import HOLE, CountedFrames, tell

MAX_PARTIAL_IMAGES = 3
Events = Iterator[Frame]  # each with a hole for its number


def _make_event(name: str, rest: bytes, tokens: int = 0, part: str = "text") -> Frame:
    """Return an event; `rest` is its JSON after type and sequence number, from the first key to the closing brace."""
    return Frame(b'{"type":"%b","sequence_number":%b,%b' % (name.encode(), HOLE, rest), name, tokens, part)


def _make_opening(answer: Answer, layout: ResponseLayout, options: ResponseOptions) -> Events:
    started = to_json({"response": make_response_in_progress(answer, layout, options)})[1:]
    created = started
    waits = answer.phase == "queued" or options.request_fields.get("background") is True
    if layout.queued and waits:
        created = to_json({"response": make_response_in_progress(answer, layout, options, queued=True)})[1:]
    yield _make_event("response.created", created, part="open")
    if created is not started:
        yield _make_event("response.queued", created, part="open")
    if find_status(answer, layout) != "queued":
        yield _make_event("response.in_progress", started, part="open")


def _count_partial_images(options: ResponseOptions) -> int:
    tools = (tool for tool in options.request_fields.get("tools") or () if tool.get("type") == "image_generation")
    wanted = next((tool.get("partial_images") for tool in tools), None)
    return min(wanted, MAX_PARTIAL_IMAGES) if isinstance(wanted, int) else 0


def _make_ending(answer: Answer, layout: ResponseLayout, options: ResponseOptions, items: list[OutputItem]) -> Frame:
    match answer.broken:
        case Broken(event=True) as broken:
            error = {"type": broken.code, "code": broken.code, "message": broken.message, "param": None}
            return _make_event("error", to_json({"error": error})[1:], part="finish")
    status = find_status(answer, layout)
    final = to_json({"response": make_response_of_items(answer, layout, options, items)})[1:]
    return _make_event(f"response.{status}", final, part="finish")


_NUMBER = b"%d".__mod__


class ResponseRenderer(Renderer[ResponseOptions]):
    """Renders responses in one layout."""

    def __init__(self, layout: ResponseLayout) -> None:
        super().__init__()
        self.layout = layout

    def body(self, answer: Answer, options: ResponseOptions) -> dict[str, Json]:
        return make_response(answer, self.layout, options)

    def frames(self, answer: Answer, options: ResponseOptions) -> Iterator[Frame]:
        """Yield the events; those of a background answer end where it is now."""
        yield from _make_opening(answer, self.layout, options)
        if answer.phase:
            return
        items, partial_images = list_output_items(answer, self.layout, options), _count_partial_images(options)
        for index, item in enumerate(items):
            yield from make_item_events(ItemStream(index, item, answer.tokenizer, partial_images))
        yield _make_ending(answer, self.layout, options, items)

    def stream(self, answer: Answer, options: ResponseOptions) -> Iterable[Frame]:
        filled = self.fill_frames(answer, options)
        if filled is None:
            return tell(self.frames(answer, options), map(_NUMBER, count()))
        return CountedFrames(filled, lambda: map(_NUMBER, count()))

    def outline(self, answer: Answer, options: ResponseOptions) -> Outline | None:
        repeated, sealed = options.request_fields, "reasoning.encrypted_content" in options.include
        values = [
            encode(value) if type(value) is str else to_json(value)
            for key, value in repeated.items()
            if key != "background"
        ]
        values += [name.encode() for name in list_item_ids(answer, stored=options.stored)]
        form = (*repeated, repeated.get("background") is True, options.summary, options.stored, sealed, len(values))
        return Outline(form, tuple(values))

    def mark(self, options: ResponseOptions, marks: Marks) -> ResponseOptions:
        repeated = options.request_fields
        marked = {key: [{"type": marks.draw_text()}] for key in repeated if key != "background"}  # as if all were tools
        return replace(options, request_fields={**repeated, **marked})


class ItemStream(Struct, frozen=True):
    """Builds the events of one item: knows its place in the response, and how its texts are cut."""

    index: int
    item: OutputItem
    tokenizer: Tokenizer = APPROX
    partial_images: int = 0  # how many previews come before an image

    @property
    def place(self) -> dict[str, Json]:
        return {"item_id": self.item.body["id"], "output_index": self.index}

    @property
    def part(self) -> str:
        return "arguments" if isinstance(self.item.parts[0], ToolUse | Item) else "text"

    def make_item_event(self, event: str, body: Mapping[str, Json], tokens: int) -> Frame:
        rest = to_json({"output_index": self.index, "item": body})[1:]
        return _make_event(f"response.output_item.{event}", rest, tokens, self.part)

    def make_event(self, event: str, fields: Mapping[str, Json]) -> Frame:
        return _make_event(f"response.{event}", to_json({**self.place, **fields})[1:], 0, self.part)

    def list_tokens(self, part: Part, text: str) -> tuple[str, ...]:
        return tokens_of(part, self.tokenizer) if text == words_of(part) else self.tokenizer.split(text)

    def list_text_deltas(self, event: str, place: Mapping[str, Json], text: str, part: Part) -> Events:
        pieces = weigh_pieces(self.list_tokens(part, text), _choose_chunks(part, text))
        return self.list_deltas(event, {**self.place, **place}, zip(pieces, repeat(b"}"), strict=False))

    def list_deltas(
        self, event: str, place: Mapping[str, Json], pieces: Iterable[tuple[tuple[str, int], bytes]]
    ) -> Events:
        """Yield an event for each piece, given with the JSON after it; one is empty only if a rule states it.

        What all share is serialised once.
        """
        name, part = f"response.{event}.delta", self.part
        before = to_json({**place, "delta": ""})[1:-3]
        for (piece, weight), after in pieces:
            yield _make_event(name, before + to_json(piece) + after, weight, part)


def make_item_events(stream: ItemStream) -> Events:
    item = stream.item
    first = item.parts[0]
    yield stream.make_item_event("added", make_item_in_progress(item.body), 0)
    inner = _INNER[type(first)](stream)
    if item.open:
        yield from _take_until_last_delta(inner)
        return
    shown = 0
    for event in inner:
        shown += event.tokens
        yield event
    hidden = max(len(tokens_of(first, stream.tokenizer)) - shown, 0) if isinstance(first, Reasoning) else 0
    yield stream.make_item_event("done", item.body, hidden)


def make_item_in_progress(body: Mapping[str, Json]) -> dict[str, Json]:
    blank = _BLANK.get(body["type"]) or find_item_kind(body["type"]).blank
    started = {"status": "in_progress", **blank}
    return {key: _blank_values(value, started[key]) if key in started else value for key, value in body.items()}


def _blank_values(value: Json, blank: Json) -> Json:
    return {**value, **blank} if isinstance(value, Mapping) and isinstance(blank, Mapping) else blank


def _take_until_last_delta(events: Events) -> Events:
    kept = list(events)
    last = max((at for at, event in enumerate(kept) if str(event.event).endswith(".delta")), default=-1)
    yield from kept[: last + 1]


def _stream_message(stream: ItemStream) -> Events:
    for at, (part, content) in enumerate(zip(stream.item.parts, stream.item.body["content"], strict=True)):
        inner = _stream_text if isinstance(part, Text) else _stream_refusal
        empty = {key: _EMPTY.get(key, value) for key, value in content.items()}
        yield stream.make_event("content_part.added", {"content_index": at, "part": empty})
        yield from inner(stream, {"content_index": at}, part, content)
        yield stream.make_event("content_part.done", {"content_index": at, "part": content})


def _stream_text(stream: ItemStream, place: Mapping[str, Json], part: Part, content: Mapping[str, Json]) -> Events:
    tokens = stream.list_tokens(part, content["text"])
    pieces = tuple(weigh_pieces(tokens, part.chunks))
    logprobs = [_drop_bytes(logprob) for logprob in content["logprobs"]]
    if logprobs:
        ends = spans((piece for piece, _ in pieces), tokens)
        tails: Iterator[bytes] = (b',"logprobs":' + to_json(logprobs[span]) + b"}" for span in ends)
    else:
        tails = repeat(b',"logprobs":[]}')
    yield from stream.list_deltas("output_text", {**stream.place, **place}, zip(pieces, tails, strict=False))
    for at, note in enumerate(content["annotations"]):
        yield stream.make_event("output_text.annotation.added", {**place, "annotation_index": at, "annotation": note})
    yield stream.make_event("output_text.done", {**place, "text": content["text"], "logprobs": logprobs})


def _drop_bytes(logprob: Block) -> dict[str, Json]:
    top = [{"token": other["token"], "logprob": other["logprob"]} for other in logprob["top_logprobs"]]
    return {"token": logprob["token"], "logprob": logprob["logprob"], "top_logprobs": top}


def _stream_refusal(stream: ItemStream, place: Mapping[str, Json], part: Part, content: Mapping[str, Json]) -> Events:
    yield from stream.list_text_deltas("refusal", place, content["refusal"], part)
    yield stream.make_event("refusal.done", {**place, "refusal": content["refusal"]})


def _stream_reasoning(stream: ItemStream) -> Events:
    body = stream.item.body
    for at, content in enumerate(body["summary"]):
        yield from _stream_reasoning_part(stream, "reasoning_summary_part", {"summary_index": at}, content)
    for at, content in enumerate(body.get("content", ())):
        yield from _stream_reasoning_part(stream, "content_part", {"content_index": at}, content)


def _stream_reasoning_part(
    stream: ItemStream, event: str, place: Mapping[str, Json], content: Mapping[str, Json]
) -> Events:
    text, text_event = content["text"], _REASONING_TEXT[content["type"]]
    yield stream.make_event(f"{event}.added", {**place, "part": {**content, "text": ""}})
    yield from stream.list_text_deltas(text_event, place, text, stream.item.parts[0])
    yield stream.make_event(f"{text_event}.done", {**place, "text": text})
    yield stream.make_event(f"{event}.done", {**place, "part": content})


def _choose_chunks(part: Part, text: str) -> Chunks:
    """Return how a text is cut: an exact list of pieces applies to the part's own text alone."""
    derived = isinstance(part, Reasoning) and isinstance(part.chunks, tuple) and text != part.text
    return "token" if derived else part.chunks


def _stream_tool_call(stream: ItemStream) -> Events:
    body, part = stream.item.body, stream.item.parts[0]
    if body["type"] == "custom_tool_call":
        yield from stream.list_text_deltas("custom_tool_call_input", {}, body["input"], part)
        yield stream.make_event("custom_tool_call_input.done", {"input": body["input"]})
        return
    yield from stream.list_text_deltas("function_call_arguments", {}, body["arguments"], part)
    yield stream.make_event("function_call_arguments.done", {"name": body["name"], "arguments": body["arguments"]})


def _stream_hosted_tool(stream: ItemStream) -> Events:
    body = stream.item.body
    for events in find_item_kind(body["type"]).events:
        match events:
            case StatusEvent() if events.failed is not None and body.get("status", "completed") not in _ENDED:
                return
            case StatusEvent():
                failed = events.failed is not None and (body.get("status") == "failed" or body.get("error"))
                if name := events.failed if failed else events.name:
                    yield stream.make_event(f"{body['type']}.{name}", {})
            case TextDeltas():
                text = body[events.key] or ""
                yield from stream.list_text_deltas(events.event, {}, text, stream.item.parts[0])
                yield stream.make_event(f"{events.event}.done", {events.key: text})
            case "partial_images":
                image = body["result"]
                for at in range(stream.partial_images if image else 0):
                    fields = {"partial_image_index": at, "partial_image_b64": image}
                    yield stream.make_event("image_generation_call.partial_image", fields)
            case "commands":
                yield from _stream_commands(stream)
            case "command_outputs":
                yield from _stream_command_outputs(stream)


def _stream_commands(stream: ItemStream) -> Events:
    """Yield the events of a shell call, which refer to the item only by its index."""
    for at, command in enumerate(stream.item.body["action"]["commands"]):
        place = {"output_index": stream.index, "command_index": at}
        yield _make_event(_COMMAND + "added", to_json({**place, "command": ""})[1:], 0, stream.part)
        pieces = zip(weigh_pieces(stream.tokenizer.split(command), "token"), repeat(b"}"), strict=False)
        yield from stream.list_deltas("shell_call_command", place, pieces)
        yield _make_event(_COMMAND + "done", to_json({**place, "command": command})[1:], 0, stream.part)


def _stream_command_outputs(stream: ItemStream) -> Events:
    for at, output in enumerate(stream.item.body["output"]):
        delta = {key: output[key] for key in ("stdout", "stderr") if output.get(key)}
        yield stream.make_event("shell_call_output_content.delta", {"command_index": at, "delta": delta})
        yield stream.make_event("shell_call_output_content.done", {"command_index": at, "output": [output]})


_ENDED = ("completed", "incomplete", "failed")
_REASONING_TEXT = {"summary_text": "reasoning_summary_text", "reasoning_text": "reasoning_text"}
_COMMAND = "response.shell_call_command."
_EMPTY: Mapping[str, Json] = {"text": "", "refusal": "", "annotations": [], "logprobs": []}
_BLANK: Mapping[str, Mapping[str, Json]] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
    "reasoning": {"summary": [], "content": []},
}
_INNER: Mapping[type, Callable[[ItemStream], Events]] = {
    Text: _stream_message,
    Refusal: _stream_message,
    Reasoning: _stream_reasoning,
    ToolUse: _stream_tool_call,
    Item: _stream_hosted_tool,
}
