"""JSON text: encode it compactly, parse it without raising."""

import json
from collections.abc import Callable, Container, Mapping
from typing import Any

from msgspec.json import Encoder

Json = Any  # JSON is the one place where Any is honest

compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


encode_sorted = Encoder(order="sorted").encode  # `canonical` of what holds no half of a character


def write_canonical(value: Json) -> bytes:
    """Return JSON with sorted keys and without blanks, the same on every machine and Python."""
    try:
        return encode_sorted(value)
    except UnicodeEncodeError:  # half of a character
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def try_parse(text: str, otherwise: Json = None) -> Json:
    """Return the JSON value of a text, or `otherwise` if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def find_in(value: Json, *path: str | int) -> Json:
    """Return what keys and indices lead to in a value, step by step; None if there is nothing."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def find_table(value: Json, *path: str | int) -> Mapping[str, Json]:
    """Return the object to which keys and indices lead in a value, an empty one if there is none."""
    found = find_in(value, *path)
    return found if isinstance(found, Mapping) else {}


def drop_empty(table: Mapping[str, Json], optional: Container[str]) -> dict[str, Json]:
    """Return a table without those of the `optional` keys that hold nothing: null, false, no text, no items."""
    return {name: value for name, value in table.items() if value or name not in optional}


def map_texts(value: Json, change: Callable[[str], Json], fixed: Container[str] = (), *, keys: bool = False) -> Json:
    """Return the value with each text in it changed, except below `fixed` keys. Tuples become lists.

    With `keys`, the names in objects are changed too.
    """

    def walk(inner: Json) -> Json:
        match inner:
            case str():
                return change(inner)
            case Mapping():
                items = inner.items()
                return {change(k) if keys else k: each if k in fixed else walk(each) for k, each in items}
            case list() | tuple():
                return list(map(walk, inner))
        return inner

    return walk(value)
