"""Values that fit almost nowhere, and where a body can have one."""

from collections.abc import Iterator
from typing import Any

Json = Any
ODD: tuple[Json, ...] = (
    None, 0, -1, 1.5, "", "x", True, [], [1], [None], {},
    {"type": "odd"}, {"type": "text"}, {"role": "user"},
)  # fmt: skip


def places(value: Json) -> Iterator[tuple[Json, Any]]:
    """Yield the tables and lists of a value, each with its keys."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places(inner)
