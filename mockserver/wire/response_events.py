"""Responses as streams: the numbered events of the object, and of each of its items."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count, repeat

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Broken, Item, Part, Reasoning, Refusal, Text, ToolUse, find_tokens, find_words
from mockserver.core.tokens import APPROX, Chunks, Tokenizer, slice_tokens, weigh_pieces
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
from mockserver.wire.template import HOLE, CountedFrames, fill_counts

MAX_PARTIAL_IMAGES = 3
Events = Iterator[Frame]  # each with a hole for its number


def _make_event(name: str, rest: bytes, *, tokens: int = 0, part: str = "text") -> Frame:
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


def _make_ending(answer: Answer, layout: ResponseLayout, options: ResponseOptions, *, items: list[OutputItem]) -> Frame:
    match answer.broken:
        case Broken(event=True) as broken:
            error = {"type": broken.code, "code": broken.code, "message": broken.message, "param": None}
            return _make_event("error", to_json({"error": error})[1:], part="finish")
    status = find_status(answer, layout)
    final = to_json({"response": make_response_of_items(answer, layout, options, items=items)})[1:]
    return _make_event(f"response.{status}", final, part="finish")


_write_number = b"%d".__mod__
_NUMBERS = tuple(map(_write_number, range(256)))  # most streams have fewer events


def _write_numbers() -> Iterator[bytes]:
    """Yield 0, 1, 2, ... as bytes."""
    return chain(_NUMBERS, map(_write_number, count(len(_NUMBERS))))


_NOWHERE: Mapping[str, Json] = {}


class ResponseRenderer(Renderer[ResponseOptions]):
    """Renders responses in one layout."""

    def __init__(self, layout: ResponseLayout) -> None:
        super().__init__()
        self.layout = layout

    def render_body(self, answer: Answer, options: ResponseOptions) -> dict[str, Json]:
        return make_response(answer, self.layout, options)

    def render_frames(self, answer: Answer, options: ResponseOptions) -> Iterator[Frame]:
        """Yield the events; those of a background answer end where it is now."""
        yield from _make_opening(answer, self.layout, options)
        if answer.phase:
            return
        items = list_output_items(answer, self.layout, options)
        partial_images = _count_partial_images(options)
        for index, item in enumerate(items):
            stream = ItemStream(index=index, item=item, tokenizer=answer.tokenizer, partial_images=partial_images)
            yield from stream.list_events()
        yield _make_ending(answer, self.layout, options, items=items)

    def stream(self, answer: Answer, options: ResponseOptions) -> Iterable[Frame]:
        filled = self.fill_frames(answer, options)
        if filled is None:
            return fill_counts(self.render_frames(answer, options), _write_numbers())
        return CountedFrames(filled, _write_numbers)

    def outline(self, answer: Answer, options: ResponseOptions) -> Outline | None:
        repeated = options.request_fields
        sealed = "reasoning.encrypted_content" in options.include
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
        marked = {key: [{"type": marks.draw_text()}] for key in repeated if key != "background"}  # as lists of tools
        return replace(options, request_fields={**repeated, **marked})


class ItemStream(Struct, frozen=True, kw_only=True):
    """The events of the item at a place of the response."""

    index: int
    item: OutputItem
    tokenizer: Tokenizer = APPROX
    partial_images: int = 0  # how many previews come before an image

    def list_events(self) -> Events:
        """Yield all events of the item; of one that breaks off, up to its last delta."""
        item = self.item
        first = item.parts[0]
        yield self._make_item_event("added", make_item_in_progress(item.body), 0)
        inner = self._list_inner_events(first)
        if item.open:
            yield from _take_until_last_delta(inner)
            return
        shown = 0
        for event in inner:
            shown += event.tokens
            yield event
        hidden = max(len(find_tokens(first, self.tokenizer)) - shown, 0) if isinstance(first, Reasoning) else 0
        yield self._make_item_event("done", item.body, hidden)

    def _list_inner_events(self, first: Part) -> Events:
        match first:
            case Text() | Refusal():
                return self._stream_message()
            case Reasoning():
                return self._stream_reasoning()
            case ToolUse():
                return self._stream_tool_call()
        return self._stream_hosted_tool()

    @property
    def _place(self) -> dict[str, Json]:
        return {"item_id": self.item.body["id"], "output_index": self.index}

    @property
    def _part(self) -> str:
        return "arguments" if isinstance(self.item.parts[0], ToolUse | Item) else "text"

    def _make_item_event(self, event: str, body: Mapping[str, Json], tokens: int) -> Frame:
        rest = to_json({"output_index": self.index, "item": body})[1:]
        return _make_event(f"response.output_item.{event}", rest, tokens=tokens, part=self._part)

    def _make_event(self, event: str, fields: Mapping[str, Json]) -> Frame:
        return _make_event(f"response.{event}", to_json({**self._place, **fields})[1:], part=self._part)

    def _list_tokens(self, part: Part, text: str) -> tuple[str, ...]:
        return find_tokens(part, self.tokenizer) if text == find_words(part) else self.tokenizer.split(text)

    def _list_deltas(
        self, event: str, place: Mapping[str, Json], pieces: Iterable[tuple[tuple[str, int], bytes]]
    ) -> Events:
        """Yield an event for each piece, given with the JSON after it; one is empty only if a rule states it.

        What all share is serialised once.
        """
        name = f"response.{event}.delta"
        part = self._part
        before = to_json({**place, "delta": ""})[1:-3]
        for (piece, weight), after in pieces:
            yield _make_event(name, before + to_json(piece) + after, tokens=weight, part=part)

    def _stream_string(
        self, event: str, text: str, *, part: Part, done: Mapping[str, Json], place: Mapping[str, Json] = _NOWHERE
    ) -> Events:
        """Yield the pieces of a string, then an event with the fields `done`."""
        pieces = weigh_pieces(self._list_tokens(part, text), _choose_chunks(part, text))
        yield from self._list_deltas(event, {**self._place, **place}, zip(pieces, repeat(b"}"), strict=False))
        yield self._make_event(f"{event}.done", {**place, **done})

    def _stream_message(self) -> Events:
        for at, (part, content) in enumerate(zip(self.item.parts, self.item.body["content"], strict=True)):
            place = {"content_index": at}
            empty = {key: _EMPTY.get(key, value) for key, value in content.items()}
            yield self._make_event("content_part.added", {**place, "part": empty})
            if isinstance(part, Text):
                yield from self._stream_text(place, part, content)
            else:
                refusal = content["refusal"]
                yield from self._stream_string("refusal", refusal, part=part, done={"refusal": refusal}, place=place)
            yield self._make_event("content_part.done", {**place, "part": content})

    def _stream_text(self, place: Mapping[str, Json], part: Text, content: Mapping[str, Json]) -> Events:
        tokens = self._list_tokens(part, content["text"])
        pieces = tuple(weigh_pieces(tokens, part.chunks))
        logprobs = [_drop_bytes(logprob) for logprob in content["logprobs"]]
        if logprobs:
            ends = slice_tokens((piece for piece, _ in pieces), tokens)
            tails: Iterator[bytes] = (b',"logprobs":' + to_json(logprobs[span]) + b"}" for span in ends)
        else:
            tails = repeat(b',"logprobs":[]}')
        yield from self._list_deltas("output_text", {**self._place, **place}, zip(pieces, tails, strict=False))
        for at, note in enumerate(content["annotations"]):
            noted = {**place, "annotation_index": at, "annotation": note}
            yield self._make_event("output_text.annotation.added", noted)
        yield self._make_event("output_text.done", {**place, "text": content["text"], "logprobs": logprobs})

    def _stream_reasoning(self) -> Events:
        body = self.item.body
        for at, content in enumerate(body["summary"]):
            yield from self._stream_reasoning_part("reasoning_summary_part", {"summary_index": at}, content)
        for at, content in enumerate(body.get("content", ())):
            yield from self._stream_reasoning_part("content_part", {"content_index": at}, content)

    def _stream_reasoning_part(self, event: str, place: Mapping[str, Json], content: Mapping[str, Json]) -> Events:
        text = content["text"]
        text_event = _REASONING_TEXT[content["type"]]
        yield self._make_event(f"{event}.added", {**place, "part": {**content, "text": ""}})
        yield from self._stream_string(text_event, text, part=self.item.parts[0], done={"text": text}, place=place)
        yield self._make_event(f"{event}.done", {**place, "part": content})

    def _stream_tool_call(self) -> Events:
        body = self.item.body
        part = self.item.parts[0]
        if body["type"] == "custom_tool_call":
            done = {"input": body["input"]}
            return self._stream_string("custom_tool_call_input", body["input"], part=part, done=done)
        done = {"name": body["name"], "arguments": body["arguments"]}
        return self._stream_string("function_call_arguments", body["arguments"], part=part, done=done)

    def _stream_hosted_tool(self) -> Events:
        body = self.item.body
        for events in find_item_kind(body["type"]).events:
            match events:
                case StatusEvent() if events.failed is not None and body.get("status", "completed") not in _ENDED:
                    return
                case StatusEvent():
                    failed = events.failed is not None and (body.get("status") == "failed" or body.get("error"))
                    if name := events.failed if failed else events.name:
                        yield self._make_event(f"{body['type']}.{name}", {})
                case TextDeltas(key, event):
                    text = body[key] or ""
                    yield from self._stream_string(event, text, part=self.item.parts[0], done={key: text})
                case "partial_images":
                    image = body["result"]
                    for at in range(self.partial_images if image else 0):
                        fields = {"partial_image_index": at, "partial_image_b64": image}
                        yield self._make_event("image_generation_call.partial_image", fields)
                case "commands":
                    yield from self._stream_commands()
                case "command_outputs":
                    yield from self._stream_command_outputs()

    def _stream_commands(self) -> Events:
        """Yield the events of a shell call, which refer to the item only by its index."""
        for at, command in enumerate(self.item.body["action"]["commands"]):
            place = {"output_index": self.index, "command_index": at}
            yield _make_event(_COMMAND + "added", to_json({**place, "command": ""})[1:], part=self._part)
            pieces = zip(weigh_pieces(self.tokenizer.split(command), "token"), repeat(b"}"), strict=False)
            yield from self._list_deltas("shell_call_command", place, pieces)
            yield _make_event(_COMMAND + "done", to_json({**place, "command": command})[1:], part=self._part)

    def _stream_command_outputs(self) -> Events:
        for at, output in enumerate(self.item.body["output"]):
            delta = {key: output[key] for key in ("stdout", "stderr") if output.get(key)}
            yield self._make_event("shell_call_output_content.delta", {"command_index": at, "delta": delta})
            yield self._make_event("shell_call_output_content.done", {"command_index": at, "output": [output]})


def make_item_in_progress(body: Mapping[str, Json]) -> dict[str, Json]:
    """Return an output item as it is before its content streams."""
    blank = _BLANK.get(body["type"]) or find_item_kind(body["type"]).blank
    started = {"status": "in_progress", **blank}
    return {key: _blank_values(value, started[key]) if key in started else value for key, value in body.items()}


def _blank_values(value: Json, blank: Json) -> Json:
    return {**value, **blank} if isinstance(value, Mapping) and isinstance(blank, Mapping) else blank


def _take_until_last_delta(events: Events) -> Events:
    kept = list(events)
    last = max((at for at, event in enumerate(kept) if str(event.event).endswith(".delta")), default=-1)
    yield from kept[: last + 1]


def _drop_bytes(logprob: Block) -> dict[str, Json]:
    top = [{"token": other["token"], "logprob": other["logprob"]} for other in logprob["top_logprobs"]]
    return {"token": logprob["token"], "logprob": logprob["logprob"], "top_logprobs": top}


def _choose_chunks(part: Part, text: str) -> Chunks:
    """Return how a text is cut: an exact list of pieces applies to the part's own text alone."""
    derived = isinstance(part, Reasoning) and isinstance(part.chunks, tuple) and text != part.text
    return "token" if derived else part.chunks


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
