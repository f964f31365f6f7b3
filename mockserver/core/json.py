"""JSON text: encode it compactly, parse it without raising."""

import json
from collections.abc import Callable, Mapping
from typing import Any

Json = Any  # JSON is the one place where Any is honest

compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def parsed(text: str, otherwise: Json = None) -> Json:
    """The JSON value of a text, or `otherwise` if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def map_texts(value: Json, change: Callable[[str], Json]) -> Json:
    """The value with each text in it changed, but for keys; tuples become lists."""
    match value:
        case str():
            return change(value)
        case Mapping():
            return {name: map_texts(inner, change) for name, inner in value.items()}
        case list() | tuple():
            return [map_texts(inner, change) for inner in value]
    return value
