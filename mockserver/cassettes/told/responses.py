"""What a Response says: its items as parts. Of a stream the last event holds all of it, unless it broke off."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from mockserver.cassettes.told.events import Event
from mockserver.cassettes.told.told import Part, Said, Told, Used, number, rows, spoken, table, text
from mockserver.core.json_text import Json

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
