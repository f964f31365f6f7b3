"""Drift: the changes of a newer answer in meaning, whatever words a model has chosen.

Status, kind of content, order of events, fields, their types, and the few texts that are words of the protocol: roles,
finish reasons, models, names of called tools.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from difflib import SequenceMatcher

from msgspec import Struct

from mockserver.cassettes.stream_events import Event, parse_events
from mockserver.core.episode import Recorded, join_header
from mockserver.core.http import read_media_type
from mockserver.core.json import Json, try_parse
from mockserver.core.json_diff import Pairs, find_differences, pair_names
from mockserver.core.text import join_to_line, show_value


class ValueShape(Struct, frozen=True):
    """The shape of a value without parts: its types and, if it is a word of the protocol, which words occur."""

    types: frozenset[str]
    words: frozenset[str] = frozenset()


class ListShape(Struct, frozen=True):
    """The shapes of a list's items by their kinds, such as `[text]`; of an empty list nothing is known."""

    kinds: dict[str, "Shape"]


Shape = ValueShape | ListShape | dict[str, "Shape"]  # a table by its names


def find_drift(old: Recorded, new: Recorded) -> Iterator[str]:
    """Yield what differs in meaning, a line each."""
    if old.status != new.status:
        yield f"status {old.status} -> {new.status}"
    mine, theirs = (read_media_type(join_header(reply.headers, "content-type")) for reply in (old, new))
    if mine != theirs:
        yield f"content-type {mine or 'none'} -> {theirs or 'none'}"
    if (old.frames is None) is not (new.frames is None):
        return
    try:
        if old.frames is not None and new.frames is not None:
            before = parse_events(old.frames)
            after = parse_events(new.frames)
            constant = _find_constant_names(before) | _find_constant_names(after) | _BOOKKEEPING
            yield from _compare_order(list_kinds(before, constant), list_kinds(after, constant))
            one = _find_shape_of_events(before)
            other = _find_shape_of_events(after)
        else:
            one = find_shape(_parse(old))
            other = find_shape(_parse(new))
    except RecursionError:
        yield "cannot be compared: its JSON is nested too deeply"
        return
    for found in find_differences(one, other, pair=_pair_shapes, equal=_fits):
        steps = "".join(str(step) if str(step).startswith("[") else f".{step}" for step in found.path)
        where = join_to_line(steps.removeprefix(".")) or "the body"
        if found.kind == "changed":
            yield f"{where}: {_describe(found.one, found.other)} -> {_describe(found.other, found.one)}"
        else:
            value = found.one if found.kind == "removed" else found.other
            yield f"{where}: {found.kind} ({_describe(value)})"


def _parse(reply: Recorded) -> Json:
    text = reply.body.decode("utf-8", "replace")
    return try_parse(text, otherwise=text)


def find_shape(
    value: Json, name: str = "", parent: Mapping[str, Json] | None = None, *, in_pieces: bool = False
) -> Shape:
    """Return the shape of a value; `name` is its key in a table, `parent`.

    A text that holds a JSON object has its shape, unless it is `in_pieces`: where those of a stream end is chance.
    """
    if isinstance(value, Mapping):
        return {key: find_shape(inner, key, value, in_pieces=in_pieces) for key, inner in value.items()}
    if isinstance(value, list):
        kinds: dict[str, Shape] = {}
        for item in value:
            kind = item.get("type") if isinstance(item, Mapping) else None
            step = f"[{kind}]" if isinstance(kind, str) else "[]"
            kinds[step] = merge_shapes(kinds.get(step), find_shape(item, in_pieces=in_pieces))
        return ListShape(kinds)
    if isinstance(value, str):
        inner = try_parse(value) if value.startswith("{") and not in_pieces else None
        if isinstance(inner, Mapping):
            return {f"{key} (JSON)": find_shape(each) for key, each in inner.items()}
        return ValueShape(frozenset(("text",)), frozenset((value,) if value and _is_word(name, parent or {}) else ()))
    return ValueShape(frozenset((_NAMES.get(type(value), "number"),)))


def _is_word(name: str, parent: Mapping[str, Json]) -> bool:
    """Return whether the text of a key in a table is a word of the protocol."""
    if name == "name":
        return not _ARGUMENTS.isdisjoint(parent)  # these are the arguments of a tool call
    return name in _WORDS or (name == "code" and "message" in parent)


def merge_shapes(one: Shape | None, other: Shape) -> Shape:
    """Return the shape of two values of one kind: the fields of both, and all types that these have."""
    if one is None:
        return other
    if isinstance(one, ValueShape) and isinstance(other, ValueShape):
        return ValueShape(one.types | other.types, one.words | other.words)
    if isinstance(one, ListShape) and isinstance(other, ListShape):
        return ListShape(_merge_tables(one.kinds, other.kinds))
    if isinstance(one, dict) and isinstance(other, dict):
        return _merge_tables(one, other)
    return other if isinstance(one, ValueShape) else one  # null, or a text, where other items have a table


def _merge_tables(one: dict[str, Shape], other: dict[str, Shape]) -> dict[str, Shape]:
    return {**one, **{key: merge_shapes(one.get(key), shape) for key, shape in other.items()}}


def _pair_shapes(one: Json, other: Json) -> Pairs | None:
    if isinstance(one, ListShape) and isinstance(other, ListShape):
        return pair_names(one.kinds, other.kinds) if one.kinds and other.kinds else ()
    return pair_names(one, other) if isinstance(one, dict) and isinstance(other, dict) else None


def _fits(one: Json, other: Json) -> bool:
    """Return whether a value without parts has nothing new; that one of its types does not occur now is chance."""
    if not isinstance(one, ValueShape) or not isinstance(other, ValueShape):
        return False
    return other.types <= one.types and one.words == other.words


def _describe(shape: Json, other: Json = None) -> str:
    """Return a shape in words; of a value with words, only what the `other`, its counterpart, does not share."""
    if not isinstance(shape, ValueShape):
        return "list" if isinstance(shape, ListShape) else "table"
    shared = other.types if isinstance(other, ValueShape) and other.words != shape.words else frozenset[str]()
    types = shape.types - shared - {"text"} if shape.words else shape.types
    return show_value(" or ".join((*sorted(types), *sorted(shape.words))))[1:-1]


# Keys whose texts are words of a protocol, in any dialect.
_WORDS = frozenset(
    ("type", "object", "role", "status", "model", "modelVersion", "finish_reason", "stop_reason", "finishReason")
) | {"stopReason", "done_reason"}
_ARGUMENTS = frozenset(("arguments", "input", "args"))
_NAMES = {bool: "boolean", type(None): "null"}


# Streams.


def list_kinds(events: Sequence[Event], constant: Set[str]) -> list[str]:
    """Return the kinds of events in their order, equal neighbours once, without those that keep a connection open.

    A chunk without a name or type is known by its fields besides the `constant` ones: `content`, `finish_reason`.
    """
    kinds = list[str]()
    for event in events:
        kind = _find_type(event)
        if not kind:
            names = [name for name in _list_names(event.json) if name not in constant]
            kind = " ".join(names) if isinstance(event.json, Mapping) else event.text
        if kind not in ("", "ping") and kinds[-1:] != [kind]:
            kinds.append(kind)
    return kinds


def _find_constant_names(events: Sequence[Event]) -> Set[str]:
    """Return the fields of every chunk without a name or type: their coming and going changes no order."""
    names = [set(_list_names(event.json)) for event in events if not _find_type(event) and event.json is not None]
    return set.intersection(*names) if names else set()


def _find_type(event: Event) -> str:
    kind = event.table.get("type")
    return kind if isinstance(kind, str) else event.name


def _list_names(value: Json) -> list[str]:
    """Return the keys of values that are not empty, at any depth, each once; of a table inside, only its key."""
    found = dict[str, None]()
    pending = [value]
    while pending:
        match pending.pop(0):
            case Mapping() as table:
                for key, inner in table.items():
                    if isinstance(inner, Mapping | list) and key in _CONTAINERS:
                        pending.append(inner)
                    elif inner is not None and inner != [] and inner != {}:
                        found[key] = None
            case list() as items:
                pending += items
    return list(found)


_BOOKKEEPING = frozenset(("id", "object", "created", "created_at", "model", "index", "modelVersion", "responseId"))
# Of chunks: what holds the news.
_CONTAINERS = frozenset(("choices", "delta", "message", "candidates", "content", "parts"))


def _compare_order(one: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    for change, start, end, begin, stop in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if change != "equal":
            before, after = (
                ", then ".join(show_value(kind)[1:-1] for kind in kinds)
                for kinds in (one[start:end], other[begin:stop])
            )
            place = f"after {show_value(one[start - 1])[1:-1]}" if start else "at the start"
            yield f"events {place}: {before or 'nothing'} -> {after or 'nothing'}"


def _find_shape_of_events(events: Sequence[Event]) -> Shape:
    """Return the shape of the events of each kind; of chunks without one, of all together."""
    found = dict[str, Shape]()
    for event in events:
        if event.json is not None and (kind := _find_type(event)) != "ping":
            step = f"[{kind or 'chunk'}]"
            found[step] = merge_shapes(found.get(step), find_shape(event.json, in_pieces=True))
    return found
