"""What an answer of chat says: a whole completion, or its chunks put together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mockserver.cassettes.told.events import DONE, Event
from mockserver.cassettes.told.told import Part, Said, Told, Used, number, rows, spoken, table, text
from mockserver.core.json_text import Json


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
