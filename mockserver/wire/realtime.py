"""Realtime: an Answer as the events of a spoken response (https://platform.openai.com/docs/api-reference/realtime).

The events have no ids yet, and those of the conversation are missing: that is for the session that sends them.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.hosted_tools import describe_error
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Item, Part, Refusal, Sound, Text, ToolUse, Usage
from mockserver.core.seed import Seed
from mockserver.media.samples import PCM, SampleFormat
from mockserver.media.sound_files import read_samples
from mockserver.media.tone import LETTERS_A_SECOND, write_tone
from mockserver.wire.parts import list_pieces

PIECE = 250  # milliseconds of sound in one event
# milliseconds of sound that are a token
TOKEN_OF_ASSISTANT = 50
TOKEN_OF_USER = 100
MAX_SPOKEN_SECONDS = 300  # seconds that an answer takes; longer ones are spoken faster
LISTED = "mcp_list_tools"  # the type of items that list the tools of a server


class Voice(Struct, frozen=True):
    """How an answer is spoken."""

    name: str = "marin"
    speed: float = 1.0
    sound: SampleFormat = PCM

    def speak(self, text: str, sound: Sound | None = None) -> bytes:
        """Return sound of whole tokens: the file that a rule states, or else a tone as long as the text takes."""
        if sound is not None and sound.file is not None:
            samples = read_samples(sound.file) or b""
        elif text:
            speed = max(self.speed, len(text) / LETTERS_A_SECOND / MAX_SPOKEN_SECONDS)
            samples = write_tone(text, self.name if sound is None else sound.voice, speed=speed)
        else:
            return b""
        spoken = self.sound.encode(samples)
        return spoken + self.sound.silence * (
            -len(spoken) % self.sound.count_bytes(TOKEN_OF_ASSISTANT) // self.sound.width
        )


class RealtimeOptions(Struct, frozen=True):
    """What the request contributes to the response: the fields that it repeats, and its voice, if it is spoken.

    `heard` counts the prompt's tokens of sound, and `seen` those of its other tokens that are of images.
    """

    repeated: Mapping[str, Json]
    voice: Voice | None = None
    metadata: Json = None
    heard: int = 0
    seen: int = 0


class SpokenItem(Struct, frozen=True, kw_only=True):
    """An item of a response, with the part of the answer that it shows."""

    id: str
    index: int
    part: Part
    text: str
    sound: bytes = b""

    def write(self, status: str, options: RealtimeOptions) -> dict[str, Json]:
        """Return the item in a status, with its content."""
        if isinstance(self.part, Item):
            return {**self.write_begun(), **_write_mcp(self.part.body)}
        if isinstance(self.part, ToolUse):
            return {**self.write_begun(), "status": status, "arguments": self.text}
        content = {"type": "output_text", "text": self.text}
        if options.voice is not None:
            content = {"type": "output_audio", "transcript": self.text}
        return {**self.write_begun(), "status": status, "content": [content]}

    def write_begun(self) -> dict[str, Json]:
        """Return the item as it is before it has any content."""
        if isinstance(self.part, Item):
            head = {"id": self.id, "type": self.part.kind}
            return {**head, **_write_mcp(self.part.body), **_BEGUN.get(self.part.kind, {})}
        if isinstance(self.part, ToolUse):
            call = self.part.call
            head = {"id": self.id, "type": "function_call", "status": "in_progress", "name": call.name}
            return {**head, "call_id": call.id, "arguments": ""}
        return {"id": self.id, "type": "message", "status": "in_progress", "role": "assistant", "content": []}


# The keys of items of MCP servers that are still empty when the item begins.
_BEGUN: Mapping[str, Mapping[str, Json]] = {
    "mcp_call": {"arguments": "", "output": None, "error": None},
    LISTED: {"tools": []},
    "mcp_approval_request": {},
}


def write_listed(name: str, item: Item) -> dict[str, Json]:
    """Return the item with this id that lists the tools of an MCP server."""
    return {"id": name, "type": item.kind, **_write_mcp(item.body)}


def _write_mcp(body: Mapping[str, Json]) -> dict[str, Json]:
    """Return the content of an item of an MCP server; its error is simpler than that of Responses."""
    shown = {key: value for key, value in body.items() if key not in ("id", "status")}
    error = shown.get("error")
    if isinstance(error, Mapping):
        kind = str(error.get("type")).removeprefix("mcp_")
        message = {"type": kind, "message": describe_error(error)}
        shown["error"] = {**message, "code": error["code"]} if "code" in error else message
    elif "tools" in shown:
        shown.pop("error", None)
    return shown


def list_spoken_items(answer: Answer, options: RealtimeOptions) -> list[SpokenItem]:
    """Return the items of an answer: one for each call, for the texts before it, and for each use of an MCP server."""
    groups: list[list[Part]] = []
    for part in answer.choices[0].parts if answer.choices else ():
        if isinstance(part, Text | Refusal):
            is_apart = isinstance(part, Text) and part.apart
            if groups and not is_apart and isinstance(groups[-1][0], Text | Refusal):
                groups[-1].append(part)
            else:
                groups.append([part])
        elif isinstance(part, ToolUse) or (isinstance(part, Item) and part.kind in _BEGUN):
            groups.append([part])
    return [_make_item(answer, parts, index=index, voice=options.voice) for index, parts in enumerate(groups)]


def name_item(*labels: str) -> str:
    """Return the id of an item."""
    return "item_" + Seed().draw_alnum(21, "realtime item", *labels)


def _make_item(answer: Answer, parts: Sequence[Part], *, index: int, voice: Voice | None) -> SpokenItem:
    name = name_item(answer.id, str(index))
    first = parts[0]
    if isinstance(first, Item):
        return SpokenItem(id=name, index=index, part=first, text=str(first.body.get("arguments") or ""))
    if isinstance(first, ToolUse):
        return SpokenItem(id=name, index=index, part=first, text=first.call.arguments)
    text = "".join([part.text for part in parts if isinstance(part, Text | Refusal)])
    stated = next((part.sound for part in parts if isinstance(part, Text)), None)
    if len(parts) > 1:
        first = Text(text)
    sound = b"" if voice is None else voice.speak(text, stated)
    return SpokenItem(id=name, index=index, part=first, text=text, sound=sound)


def make_response(
    answer: Answer, options: RealtimeOptions, status: str, *, items: Sequence[Json] = (), usage: Json = None
) -> dict[str, Json]:
    """Return the response in a status, with its items so far."""
    return {
        "object": "realtime.response",
        "id": answer.id,
        "status": status,
        "status_details": _explain_status(answer, status),
        "output": [*items],
        **options.repeated,
        "usage": usage,
        "metadata": options.metadata,
    }


def find_status(answer: Answer) -> str:
    """Return the status in which a response ends."""
    if answer.broken is not None:
        return "failed"
    finish = answer.choices[0].finish if answer.choices else "stop"
    return "incomplete" if finish in ("length", "content_filter") else "completed"


def _explain_status(answer: Answer, status: str) -> Json:
    if status == "failed" and answer.broken is not None:
        error = {"type": "server_error", "code": answer.broken.code, "message": answer.broken.message}
        return {"type": "failed", "error": error}
    if status == "incomplete":
        is_filtered = answer.choices[0].finish == "content_filter"
        return {"type": "incomplete", "reason": "content_filter" if is_filtered else "max_output_tokens"}
    return None


def make_usage(usage: Usage, options: RealtimeOptions, *, spoken: int) -> dict[str, Json]:
    """Return the tokens of a response; those of sound come on top of those of texts and images."""
    heard = usage.prompt_audio or options.heard
    spoken = usage.completion_audio or spoken
    seen = min(options.seen, usage.prompt)
    return {
        "total_tokens": usage.total + heard + spoken,
        "input_tokens": usage.prompt + heard,
        "output_tokens": usage.completion + spoken,
        "input_token_details": {
            "text_tokens": usage.prompt - seen,
            "audio_tokens": heard,
            "image_tokens": seen,
            "cached_tokens": usage.cached,
            "cached_tokens_details": {"text_tokens": usage.cached, "audio_tokens": 0, "image_tokens": 0},
        },
        "output_token_details": {"text_tokens": usage.completion, "audio_tokens": spoken},
    }


def stream_events(answer: Answer, options: RealtimeOptions) -> Iterator[Frame]:
    """Return the events of a response, each as JSON that begins with its type. Its sound is made at once."""
    return _stream_items(answer, options, list_spoken_items(answer, options))


def _stream_items(answer: Answer, options: RealtimeOptions, items: Sequence[SpokenItem]) -> Iterator[Frame]:
    yield _make_event("response.created", {"response": make_response(answer, options, "in_progress")}, carries="open")
    status = find_status(answer)
    written: list[Json] = []
    for item in items:
        is_last = item is items[-1]
        ends = "incomplete" if is_last and status != "completed" else "completed"
        if answer.choices[0].finish == "tool_calls" and isinstance(item.part, ToolUse):
            ends = "completed"
        written.append(item.write(ends, options))
        yield from _ItemEvents(answer, options, item).stream(written[-1], is_whole=not (is_last and answer.broken))
    spoken = sum([len(item.sound) for item in items])
    if options.voice is not None:
        spoken //= options.voice.sound.count_bytes(TOKEN_OF_ASSISTANT)
    usage = make_usage(answer.usage, options, spoken=spoken)
    response = make_response(answer, options, status, items=written, usage=usage)
    yield _make_event("response.done", {"response": response}, carries="finish")


def _make_event(kind: str, fields: Mapping[str, Json], *, tokens: int = 0, carries: str = "text") -> Frame:
    return Frame(to_json({"type": kind, **fields}), kind, tokens, carries)


class _ItemEvents(Struct, frozen=True):
    """The events of one item."""

    answer: Answer
    options: RealtimeOptions
    item: SpokenItem

    def stream(self, done: Mapping[str, Json], *, is_whole: bool) -> Iterator[Frame]:
        """Yield the events of the item, up to the one that shows it `done`, or its last delta if it breaks off."""
        place = {"response_id": self.answer.id, "output_index": self.item.index}
        yield _make_event("response.output_item.added", {**place, "item": self.item.write_begun()})
        if isinstance(self.item.part, ToolUse):
            yield from self._stream_call(self.item.part, is_whole=is_whole)
        elif isinstance(self.item.part, Item):
            yield from self._stream_server_use(self.item.part)
        elif self.options.voice is None:
            yield from self._stream_text(is_whole=is_whole)
        else:
            yield from self._stream_speech(self.options.voice, is_whole=is_whole)
        if is_whole:
            yield _make_event("response.output_item.done", {**place, "item": done})

    @property
    def _place(self) -> dict[str, Json]:
        return {"response_id": self.answer.id, "item_id": self.item.id, "output_index": self.item.index}

    def _stream_call(self, use: ToolUse, *, is_whole: bool) -> Iterator[Frame]:
        kind = "response.function_call_arguments"
        place = {**self._place, "call_id": use.call.id}
        for piece, weight in list_pieces(self.item.part, self.answer.tokenizer):
            yield _make_event(f"{kind}.delta", {**place, "delta": piece}, tokens=weight, carries="arguments")
        if is_whole:
            yield _make_event(f"{kind}.done", {**place, "name": use.call.name, "arguments": use.call.arguments})

    def _stream_server_use(self, item: Item) -> Iterator[Frame]:
        """Yield the events of a use of an MCP server; a request for approval has none."""
        index = {"item_id": self.item.id, "output_index": self.item.index}
        if item.kind == LISTED:
            for what in ("in_progress", "completed"):
                yield _make_event(f"{LISTED}.{what}", {"item_id": self.item.id})
        elif item.kind == "mcp_call":
            arguments = "response.mcp_call_arguments"
            text = self.item.text
            yield _make_event(f"{arguments}.delta", {**self._place, "delta": text}, carries="arguments")
            yield _make_event(f"{arguments}.done", {**self._place, "arguments": text})
            yield _make_event("response.mcp_call.in_progress", index)
            ended = "failed" if item.body.get("error") else "completed"
            yield _make_event(f"response.mcp_call.{ended}", index)

    def _stream_text(self, *, is_whole: bool) -> Iterator[Frame]:
        place = {**self._place, "content_index": 0}
        yield _make_event("response.content_part.added", {**place, "part": {"type": "text", "text": ""}})
        for piece, weight in list_pieces(self.item.part, self.answer.tokenizer):
            yield _make_event("response.output_text.delta", {**place, "delta": piece}, tokens=weight)
        if is_whole:
            yield _make_event("response.output_text.done", {**place, "text": self.item.text})
            yield _make_event("response.content_part.done", {**place, "part": {"type": "text", "text": self.item.text}})

    def _stream_speech(self, voice: Voice, *, is_whole: bool) -> Iterator[Frame]:
        """Yield pieces of the transcript, each before the sound up to it."""
        place = {**self._place, "content_index": 0}
        yield _make_event("response.content_part.added", {**place, "part": {"type": "audio", "transcript": ""}})
        sound = self.item.sound
        size = voice.sound.count_bytes(PIECE)
        sent = 0
        written = 0  # letters
        for piece, weight in list_pieces(self.item.part, self.answer.tokenizer):
            yield _make_event("response.output_audio_transcript.delta", {**place, "delta": piece}, tokens=weight)
            written += len(piece)
            due = len(sound) * written // max(len(self.item.text), 1)
            while sent < due and (due - sent >= size or due == len(sound)):
                yield self._make_sound_event(sound[sent : sent + size], place)
                sent += size
        for at in range(sent, len(sound), size):  # a file without words
            yield self._make_sound_event(sound[at : at + size], place)
        if is_whole:
            yield _make_event("response.output_audio.done", place)
            yield _make_event("response.output_audio_transcript.done", {**place, "transcript": self.item.text})
            yield _make_event(
                "response.content_part.done", {**place, "part": {"type": "audio", "transcript": self.item.text}}
            )

    def _make_sound_event(self, data: bytes, place: Mapping[str, Json]) -> Frame:
        return _make_event("response.output_audio.delta", {**place, "delta": b64encode(data).decode()})
