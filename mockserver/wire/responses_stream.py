"""The events that tell one output item, from its first appearance to its last (`wire/openai.md` section 7).

Knows neither the object around the items nor the numbers that events bear.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

from pydantic_core import to_json

from mockserver.core.http import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Broken, Item, Part, Reasoning, Refusal, Text, ToolUse, tokens_of, words_of
from mockserver.core.tokens import APPROX, Chunks, Tokenizer, spans, weighed
from mockserver.wire.content_filter import TokenLogprob
from mockserver.wire.responses import (
    CommandDeltas,
    CommandOutputs,
    ItemEvent,
    OutputItem,
    PartialImages,
    ResponseLayout,
    ResponseOptions,
    StatusEvent,
    TextDeltas,
    item_kind,
    output_items,
    response_in_progress,
    response_of_items,
    status_of,
)


class Event(NamedTuple):
    """An event without its number: its type, the JSON behind these two, its weight and which part it carries."""

    type: str
    rest: bytes  # from the first key to the closing brace
    tokens: int = 0
    part: str = "text"


Events = Iterator[Event]


def item_events(track: "ItemStream") -> Events:
    """All events of an item."""
    output = track.output
    first = output.parts[0]
    yield track.shows("added", item_in_progress(output.item), 0)
    steps = _INNER[type(first)](track)
    if output.open:
        yield from _unclosed(steps)
        return
    told = 0
    for step in steps:
        told += step.tokens
        yield step
    hidden = max(len(tokens_of(first, track.tokenizer)) - told, 0) if isinstance(first, Reasoning) else 0
    yield track.shows("done", output.item, hidden)


def item_in_progress(item: Mapping[str, Json]) -> dict[str, Json]:
    """The item while it is in progress: the same keys, with nothing yet in those that will be filled."""
    blank = _BLANK.get(item["type"]) or item_kind(item["type"]).blank
    started = {"status": "in_progress", **blank}
    return {key: _blanked(value, started[key]) if key in started else value for key, value in item.items()}


def _blanked(value: Json, blank: Json) -> Json:
    return {**value, **blank} if isinstance(value, Mapping) and isinstance(blank, Mapping) else blank


def _unclosed(steps: Events) -> Events:
    """The steps up to the last piece that came: what is open stays so."""
    held = list(steps)
    last = max((at for at, step in enumerate(held) if step.type.endswith(".delta")), default=-1)
    yield from held[: last + 1]


@dataclass(frozen=True, slots=True)
class ItemStream:
    """Where the events of one item belong, and how its texts are cut."""

    index: int
    output: OutputItem
    tokenizer: Tokenizer = APPROX
    previews: int = 0  # how many images come before one is ready

    @property
    def place(self) -> dict[str, Json]:
        """The keys that say where an event belongs."""
        return {"item_id": self.output.item["id"], "output_index": self.index}

    @property
    def part(self) -> str:
        """Which part of an answer the frames carry."""
        return "arguments" if isinstance(self.output.parts[0], ToolUse | Item) else "text"

    def shows(self, event: str, item: Mapping[str, Json], tokens: int) -> Event:
        """An event that holds the whole item."""
        rest = to_json({"output_index": self.index, "item": item})[1:]
        return Event(f"response.output_item.{event}", rest, tokens, self.part)

    def says(self, event: str, fields: Mapping[str, Json]) -> Event:
        """An event about the item."""
        return Event(f"response.{event}", to_json({**self.place, **fields})[1:], 0, self.part)

    def tokens(self, part: Part, text: str) -> tuple[str, ...]:
        """The tokens of a text that shows a part, or something else of it than its own words."""
        return tokens_of(part, self.tokenizer) if text == words_of(part) else self.tokenizer.split(text)

    def types(self, event: str, place: Mapping[str, Json], text: str, part: Part) -> Events:
        """A text of a part, piece by piece."""
        pieces = weighed(self.tokens(part, text), _way(part, text))
        return self.deltas(event, {**self.place, **place}, zip(pieces, repeat(b"}"), strict=False))

    def deltas(self, event: str, place: Mapping[str, Json], pieces: Iterable[tuple[tuple[str, int], bytes]]) -> Events:
        """An event for each piece, with what follows it in the JSON. What all share is serialised once."""
        name, part = f"response.{event}.delta", self.part
        before = to_json({**place, "delta": ""})[1:-3]
        for (piece, weight), after in pieces:
            if piece:
                yield Event(name, before + to_json(piece) + after, weight, part)


def _message(track: ItemStream) -> Events:
    for at, (part, content) in enumerate(zip(track.output.parts, track.output.item["content"], strict=True)):
        told = _text if isinstance(part, Text) else _refusal
        empty = {key: _EMPTY.get(key, value) for key, value in content.items()}
        yield track.says("content_part.added", {"content_index": at, "part": empty})
        yield from told(track, {"content_index": at}, part, content)
        yield track.says("content_part.done", {"content_index": at, "part": content})


def _text(track: ItemStream, place: Mapping[str, Json], part: Part, content: Mapping[str, Json]) -> Events:
    tokens = track.tokens(part, content["text"])
    pieces = tuple(weighed(tokens, part.chunks))
    logprobs = [_streamed(logprob) for logprob in content["logprobs"]]
    texts = (piece for piece, _ in pieces)
    tails = (_tail(logprobs[span]) for span in spans(texts, tokens)) if logprobs else repeat(b',"logprobs":[]}')
    yield from track.deltas("output_text", {**track.place, **place}, zip(pieces, tails, strict=False))
    for at, note in enumerate(content["annotations"]):
        yield track.says("output_text.annotation.added", {**place, "annotation_index": at, "annotation": note})
    yield track.says("output_text.done", {**place, "text": content["text"], "logprobs": logprobs})


def _tail(logprobs: Sequence[Mapping[str, Json]]) -> bytes:
    return b',"logprobs":' + to_json(logprobs) + b"}"


def _streamed(logprob: TokenLogprob) -> dict[str, Json]:
    """A stream shows no bytes."""
    top = [{"token": other["token"], "logprob": other["logprob"]} for other in logprob["top_logprobs"]]
    return {"token": logprob["token"], "logprob": logprob["logprob"], "top_logprobs": top}


def _refusal(track: ItemStream, place: Mapping[str, Json], part: Part, content: Mapping[str, Json]) -> Events:
    yield from track.types("refusal", place, content["refusal"], part)
    yield track.says("refusal.done", {**place, "refusal": content["refusal"]})


def _reasoning(track: ItemStream) -> Events:
    """What is told of the thoughts, then the thoughts themselves, where they are shown."""
    item = track.output.item
    for at, told in enumerate(item["summary"]):
        yield from _thought(track, "reasoning_summary_part", {"summary_index": at}, told)
    for at, told in enumerate(item.get("content", ())):
        yield from _thought(track, "content_part", {"content_index": at}, told)


def _thought(track: ItemStream, frame: str, place: Mapping[str, Json], told: Mapping[str, Json]) -> Events:
    text, typed = told["text"], _TYPED_THOUGHT[told["type"]]
    yield track.says(f"{frame}.added", {**place, "part": {**told, "text": ""}})
    yield from track.types(typed, place, text, track.output.parts[0])
    yield track.says(f"{typed}.done", {**place, "text": text})
    yield track.says(f"{frame}.done", {**place, "part": told})


def _way(part: Part, text: str) -> Chunks:
    """How a text is cut: an exact list of pieces is of the part's own text alone."""
    other = isinstance(part, Reasoning) and isinstance(part.chunks, tuple) and text != part.text
    return "token" if other else part.chunks


def _tool_call(track: ItemStream) -> Events:
    item, part = track.output.item, track.output.parts[0]
    if item["type"] == "custom_tool_call":
        yield from track.types("custom_tool_call_input", {}, item["input"], part)
        yield track.says("custom_tool_call_input.done", {"input": item["input"]})
        return
    yield from track.types("function_call_arguments", {}, item["arguments"], part)
    yield track.says("function_call_arguments.done", {"name": item["name"], "arguments": item["arguments"]})


def _hosted(track: ItemStream) -> Events:
    for stage in item_kind(track.output.item["type"]).stages:
        yield from _stage(track, stage)


def _stage(track: ItemStream, stage: ItemEvent) -> Events:
    match stage:
        case StatusEvent():
            return _phase(track, stage)
        case TextDeltas():
            return _typed(track, stage)
        case PartialImages():
            return _previews(track)
        case CommandDeltas():
            return _commands(track)
        case CommandOutputs():
            return _printed(track)


def _phase(track: ItemStream, phase: StatusEvent) -> Events:
    item = track.output.item
    failed = phase.failed is not None and (item.get("status") == "failed" or item.get("error"))
    if name := phase.failed if failed else phase.name:
        yield track.says(f"{item['type']}.{name}", {})


def _typed(track: ItemStream, typed: TextDeltas) -> Events:
    whole = track.output.item[typed.key] or ""
    yield from track.types(typed.event, {}, whole, track.output.parts[0])
    yield track.says(f"{typed.event}.done", {typed.key: whole})


def _previews(track: ItemStream) -> Events:
    image = track.output.item["result"]
    for at in range(track.previews if image else 0):
        fields = {"partial_image_index": at, "partial_image_b64": image}
        yield track.says("image_generation_call.partial_image", fields)


def _commands(track: ItemStream) -> Events:
    """A shell's events tell the item only by its index."""
    for at, command in enumerate(track.output.item["action"]["commands"]):
        place = {"output_index": track.index, "command_index": at}
        yield Event(_COMMAND + "added", to_json({**place, "command": ""})[1:], 0, track.part)
        pieces = zip(weighed(track.tokenizer.split(command), "token"), repeat(b"}"), strict=False)
        yield from track.deltas("shell_call_command", place, pieces)
        yield Event(_COMMAND + "done", to_json({**place, "command": command})[1:], 0, track.part)


def _printed(track: ItemStream) -> Events:
    for at, printed in enumerate(track.output.item["output"]):
        said = {key: printed[key] for key in ("stdout", "stderr") if printed.get(key)}
        yield track.says("shell_call_output_content.delta", {"command_index": at, "delta": said})
        yield track.says("shell_call_output_content.done", {"command_index": at, "output": [printed]})


_TYPED_THOUGHT = {"summary_text": "reasoning_summary_text", "reasoning_text": "reasoning_text"}
_COMMAND = "response.shell_call_command."
_EMPTY: Mapping[str, Json] = {"text": "", "refusal": "", "annotations": [], "logprobs": []}
_BLANK: Mapping[str, Mapping[str, Json]] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
    "reasoning": {"summary": [], "content": []},
}
_INNER: Mapping[type, Callable[[ItemStream], Events]] = {
    Text: _message,
    Refusal: _message,
    Reasoning: _reasoning,
    ToolUse: _tool_call,
    Item: _hosted,
}


def events(answer: Answer, style: ResponseLayout, asked: ResponseOptions) -> Iterator[Frame]:
    """The frames of a streamed answer, numbered without a gap.

    The stream of an answer that is not there yet stops where the answer stands.
    """
    for number, (name, rest, tokens, part) in enumerate(_events(answer, style, asked)):
        data = b'{"type":"%b","sequence_number":%d,%b' % (name.encode(), number, rest)
        yield Frame(data, name, tokens, part)


def _events(answer: Answer, style: ResponseLayout, asked: ResponseOptions) -> Events:
    yield from _opening(answer, style, asked)
    if answer.phase:
        return
    built, previews = output_items(answer, style, asked), _partial_images_wanted(asked)
    for index, output in enumerate(built):
        yield from item_events(ItemStream(index, output, answer.tokenizer, previews))
    yield _ending(answer, style, asked, built)


def _opening(answer: Answer, style: ResponseLayout, asked: ResponseOptions) -> Events:
    started = to_json({"response": response_in_progress(answer, style, asked)})[1:]
    created = started
    waits = answer.phase == "queued" or asked.echo.get("background") is True
    if style.queued and waits:
        created = to_json({"response": response_in_progress(answer, style, asked, queued=True)})[1:]
    yield Event("response.created", created, part="open")
    if created is not started:
        yield Event("response.queued", created, part="open")
    if status_of(answer, style) != "queued":
        yield Event("response.in_progress", started, part="open")


def _partial_images_wanted(asked: ResponseOptions) -> int:
    """How many images the request wants to see before one is ready."""
    tools = (tool for tool in asked.echo.get("tools") or () if tool.get("type") == "image_generation")
    wanted = next((tool.get("partial_images") for tool in tools), None)
    return min(wanted, _MAX_PARTIAL_IMAGES) if isinstance(wanted, int) else 0


def _ending(answer: Answer, style: ResponseLayout, asked: ResponseOptions, built: list[OutputItem]) -> Event:
    match answer.broken:
        case Broken(event=True) as broken:
            error = {"code": broken.code, "message": broken.message, "param": None}
            return Event("error", to_json(error)[1:], part="finish")
    ended = status_of(answer, style)
    if ended == "incomplete" and not style.incomplete_event:
        ended = "completed"
    final = to_json({"response": response_of_items(answer, style, asked, built)})[1:]
    return Event(f"response.{ended}", final, part="finish")


_MAX_PARTIAL_IMAGES = 3
