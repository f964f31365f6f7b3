"""What an answer of chat says: a whole completion, or its chunks put together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mockserver.core.episode import Beat, Recorded
from mockserver.core.exchange import frames
from mockserver.core.json import Json, parsed

NOTHING: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True)
class Used:
    """A call of a tool; `text` is its arguments or, of a custom one, its input."""

    name: str
    text: str
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a choice: reasoning, text and refusal have a text, a call what is used, an item its table."""

    kind: str  # reasoning | text | refusal | call | item
    text: str = ""
    used: Used | None = None
    item: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """One choice: its parts in the order of the wire, why it ended, what stands beside it."""

    parts: tuple[Part, ...] = ()
    finish: str = ""  # in the words of chat
    annotations: tuple[Mapping[str, Json], ...] = ()
    filters: Mapping[str, Json] | None = None

    def joined(self, kind: str) -> str:
        """All texts of one kind."""
        return "".join(part.text for part in self.parts if part.kind == kind)

    @property
    def calls(self) -> tuple[Used, ...]:
        """The tools that are called."""
        return tuple(part.used for part in self.parts if part.used is not None)


@dataclass(frozen=True, slots=True)
class Told:
    """An answer. `error` is what its envelope holds, `broken` that it came after the answer had begun.

    `whole`: the end of the stream was seen, as it is of every plain answer.
    """

    choices: tuple[Said, ...] = ()
    status: int = 200
    model: str = ""
    usage: Mapping[str, Json] | None = None
    error: Json = None
    body: Json = None  # of an error, whole: JSON, or text where it is none
    broken: bool = False
    whole: bool = True
    prompt_filters: Mapping[str, Json] | None = None


def table(value: Json) -> Mapping[str, Json]:
    """The value where it is a table, else an empty one."""
    return value if isinstance(value, Mapping) else NOTHING


def rows(value: Json) -> list[Mapping[str, Json]]:
    """The tables of a list; none where it is no list."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def text(value: Json) -> str:
    """The value where it is text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: Json, otherwise: int = 0) -> int:
    """The value where it is a whole number."""
    return value if isinstance(value, int) else otherwise


def spoken(kind: str, words: str) -> tuple[Part, ...]:
    """A part for some words; none for no words."""
    return (Part(kind, words),) if words else ()


DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `json` is None where its data are none."""

    at: float
    name: str
    text: str
    json: Json

    @property
    def table(self) -> Mapping[str, Json]:
        """The data as a table; an empty one where they are none."""
        return table(self.json)

    @property
    def error(self) -> Json:
        """What the event says went wrong, if it is for that."""
        if self.name == "error" or self.table.get("type") == "error":
            return self.table.get("error") or self.json or self.text
        return self.table.get("error") if "choices" not in self.table and "response" not in self.table else None


def events(beats: Sequence[Beat]) -> tuple[Event, ...]:
    """The events in the beats of a stream, but for comments."""
    found = (frame for frame in frames(beats) if b"data:" in frame.raw)
    return tuple(Event(frame.at, frame.event or "", frame.text, parsed(frame.text)) for frame in found)


def of_chat(body: Mapping[str, Json]) -> Told:
    """A plain answer."""
    return Told(
        choices=tuple(_choice(choice, _Message().take(table(choice.get("message")))) for choice in _in_order(body)),
        model=text(body.get("model")),
        usage=table(body.get("usage")) or None,
        prompt_filters=prompt_filters(body),
    )


def of_chunks(events: Sequence[Event]) -> Told:
    """A streamed one. A choice is what its deltas add up to; of what stands beside them the last counts."""
    messages, beside = dict[int, _Message](), dict[int, dict[str, Json]]()
    for event in events:
        for choice in rows(event.table.get("choices")):
            at = number(choice.get("index"))
            messages.setdefault(at, _Message()).take(table(choice.get("delta")))
            beside.setdefault(at, {}).update({key: value for key, value in choice.items() if value is not None})
    return Told(
        choices=tuple(_choice(beside[at], messages[at]) for at in sorted(messages)),
        **around(events, whole=any(event.text == DONE for event in events)),
    )


def around(events: Sequence[Event], *, whole: bool) -> dict[str, Json]:
    """What chunks say of the whole answer: model, usage, filters, an error."""
    error = next((event.error for event in events if event.error is not None), None)
    return {
        "model": next((model for event in events if (model := text(event.table.get("model")))), ""),
        "usage": next((used for event in reversed(events) if (used := table(event.table.get("usage")))), None),
        "prompt_filters": next((found for event in events if (found := prompt_filters(event.table))), None),
        "error": error,
        "broken": error is not None,
        "whole": whole,
    }


def prompt_filters(body: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """What the filters of a provider saw in the prompt."""
    found = rows(body.get("prompt_filter_results"))
    return table(found[0].get("content_filter_results")) or None if found else None


def _in_order(body: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    return sorted(rows(body.get("choices")), key=lambda choice: number(choice.get("index")))


def _choice(beside: Mapping[str, Json], message: "_Message") -> Said:
    return Said(
        parts=message.parts,
        finish=text(beside.get("finish_reason")),
        annotations=tuple(message.annotations),
        filters=table(beside.get("content_filter_results")) or None,
    )


@dataclass(slots=True)
class _Call:
    name: str = ""
    text: str = ""
    custom: bool = False

    def take(self, call: Mapping[str, Json]) -> None:
        """A whole call, or a piece of one."""
        self.custom = self.custom or "custom" in call
        used = table(call.get("custom" if self.custom else "function"))
        self.name += text(used.get("name"))
        self.text += text(used.get("input" if self.custom else "arguments"))


@dataclass(slots=True)
class _Message:
    """A message that grows by what is taken."""

    words: dict[str, str] = field(default_factory=dict)
    calls: dict[int, _Call] = field(default_factory=dict)
    annotations: list[Mapping[str, Json]] = field(default_factory=list)

    def take(self, message: Mapping[str, Json]) -> "_Message":
        for key, kind in _WORDS:
            self.words[kind] = self.words.get(kind, "") + text(message.get(key))
        for at, call in enumerate(rows(message.get("tool_calls"))):
            self.calls.setdefault(number(call.get("index"), at), _Call()).take(call)
        if bare := table(message.get("function_call")):
            self.calls.setdefault(-1, _Call()).take({"function": bare})
        self.annotations += rows(message.get("annotations"))
        return self

    @property
    def parts(self) -> tuple[Part, ...]:
        said = (part for kind in ("reasoning", "text", "refusal") for part in spoken(kind, self.words.get(kind, "")))
        return (*said, *_used(self.calls[at] for at in sorted(self.calls)))


def _used(calls: Iterable[_Call]) -> tuple[Part, ...]:
    return tuple(Part("call", used=Used(call.name, call.text, call.custom)) for call in calls)


_WORDS = (
    ("reasoning_content", "reasoning"),
    ("reasoning", "reasoning"),
    ("content", "text"),
    ("refusal", "refusal"),
)


FINAL = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


def of_response(body: Mapping[str, Json]) -> Told:
    """A plain answer, or what the last event of a stream holds."""
    items = rows(body.get("output"))
    failed = body.get("status") == "failed"
    return Told(
        choices=(Said(_parts(items), _finish(body, items), _annotations(items), _filters(body, "completion")),),
        model=text(body.get("model")),
        usage=table(body.get("usage")) or None,
        error=body.get("error"),
        broken=failed or body.get("error") is not None,
        prompt_filters=_filters(body, "prompt"),
    )


def of_steps(events: Sequence[Event]) -> Told:
    """A streamed one."""
    last = next((event for event in reversed(events) if event.table.get("type") in FINAL), None)
    if last is not None:
        return of_response(table(last.table.get("response")))
    error = next((event.error for event in events if event.error is not None), None)
    items = [done[at] for done in [_done(events)] for at in sorted(done)]
    return Told(choices=(Said(_parts(items)),), error=error, broken=error is not None, whole=error is not None)


def _done(events: Sequence[Event]) -> dict[int, Mapping[str, Json]]:
    """The items so far; of a message that was not done, what its deltas said."""
    found, growing = dict[int, Mapping[str, Json]](), dict[int, str]()
    for event in events:
        at = number(event.table.get("output_index"))
        match event.table.get("type"):
            case "response.output_item.done":
                found[at] = table(event.table.get("item"))
            case "response.output_text.delta":
                growing[at] = growing.get(at, "") + text(event.table.get("delta"))
    for at, words in growing.items():
        found.setdefault(at, {"type": "message", "content": [{"type": "output_text", "text": words}]})
    return found


def _parts(items: Sequence[Mapping[str, Json]]) -> tuple[Part, ...]:
    return tuple(part for item in items for part in _ITEMS.get(text(item.get("type")), _other)(item))


def _message(item: Mapping[str, Json]) -> Iterator[Part]:
    for content in rows(item.get("content")):
        yield from spoken("text", text(content.get("text")))
        yield from spoken("refusal", text(content.get("refusal")))


def _reasoning(item: Mapping[str, Json]) -> Iterator[Part]:
    told = rows(item.get("content")) or rows(item.get("summary"))
    yield from spoken("reasoning", "\n".join(text(row.get("text")) for row in told))


def _function(item: Mapping[str, Json]) -> Iterator[Part]:
    yield Part("call", used=Used(text(item.get("name")), text(item.get("arguments"))))


def _custom(item: Mapping[str, Json]) -> Iterator[Part]:
    yield Part("call", used=Used(text(item.get("name")), text(item.get("input")), custom=True))


def _other(item: Mapping[str, Json]) -> Iterator[Part]:
    yield Part("item", item=item)


def _finish(body: Mapping[str, Json], items: Sequence[Mapping[str, Json]]) -> str:
    reason = text(table(body.get("incomplete_details")).get("reason"))
    if reason:
        return "length" if reason.startswith("max_") else reason
    return "tool_calls" if any(item.get("type") in ("function_call", "custom_tool_call") for item in items) else "stop"


def _annotations(items: Sequence[Mapping[str, Json]]) -> tuple[Mapping[str, Json], ...]:
    contents = (content for item in items for content in rows(item.get("content")))
    return tuple(note for content in contents for note in rows(content.get("annotations")))


def _filters(body: Mapping[str, Json], on: str) -> Mapping[str, Json] | None:
    for row in rows(body.get("content_filters")):
        if row.get("source_type") == on:
            return table(row.get("content_filter_results")) or None
    return None


_ITEMS: Mapping[str, Callable[[Mapping[str, Json]], Iterator[Part]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _function,
    "custom_tool_call": _custom,
}


def of_completion(body: Mapping[str, Json]) -> Told:
    """A plain answer."""
    choices = sorted(rows(body.get("choices")), key=lambda choice: number(choice.get("index")))
    return Told(
        choices=tuple(_texts_choice(choice, text(choice.get("text"))) for choice in choices),
        model=text(body.get("model")),
        usage=table(body.get("usage")) or None,
        prompt_filters=prompt_filters(body),
    )


def of_text_chunks(events: Sequence[Event]) -> Told:
    """A streamed one."""
    words, beside = dict[int, str](), dict[int, dict[str, Json]]()
    for event in events:
        for choice in rows(event.table.get("choices")):
            at = number(choice.get("index"))
            words[at] = words.get(at, "") + text(choice.get("text"))
            beside.setdefault(at, {}).update({key: value for key, value in choice.items() if value is not None})
    choices = tuple(_texts_choice(beside[at], words[at]) for at in sorted(words))
    return Told(choices=choices, **around(events, whole=any(event.text == DONE for event in events)))


def _texts_choice(beside: Mapping[str, Json], words: str) -> Said:
    return Said(
        parts=spoken("text", words),
        finish=text(beside.get("finish_reason")),
        filters=table(beside.get("content_filter_results")) or None,
    )


__all__ = ["Event", "Part", "Said", "Told", "Used", "events", "told"]


def told(reply: Recorded, operation: str) -> Told:
    """What the answer to an operation says."""
    if reply.frames is not None:
        return _streamed(reply, operation)
    text = reply.body.decode("utf-8", "replace")
    body = parsed(text)
    if reply.status >= 400:
        whole = text if body is None else body
        return Told(error=_error(whole), status=reply.status, body=whole)
    read = _PLAIN.get(operation)
    if read is None or not isinstance(body, Mapping):
        return Told(status=reply.status)
    return read(body)


def _streamed(reply: Recorded, operation: str) -> Told:
    found = events(reply.frames or ())
    if reply.status >= 400:
        text = "".join(event.text for event in found)
        return Told(error=text, status=reply.status, body=text)
    read = _STREAMED.get(operation)
    return Told() if read is None else read(found)


def _error(body: Json) -> Json:
    """What stands in the envelope of an error; the whole body where it is none."""
    return body.get("error") or table(body) if isinstance(body, Mapping) else body


_PLAIN: Mapping[str, Callable[[Mapping[str, Json]], Told]] = {
    "chat": of_chat,
    "completions": of_completion,
    "responses": of_response,
    "response": of_response,
    "stored_chat": of_chat,
}
_STREAMED: Mapping[str, Callable[[Sequence[Event]], Told]] = {
    "chat": of_chunks,
    "completions": of_text_chunks,
    "responses": of_steps,
    "response": of_steps,
}
