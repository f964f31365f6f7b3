"""How much work it is to hold a value against a JSON Schema, told beforehand: no client's schema may stop a server.

Knows where schemas stand within schemas, not what any keyword means.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from mockserver.core.call import Json

Target = Callable[[str], Json]  # what a local reference (#/...) refers to; it raises LookupError where that is nothing


def references(schema: Json) -> int:
    """How many `$ref` stand in a schema, wherever they do."""
    found, left = 0, [schema]
    while left:
        here = left.pop()
        if isinstance(here, Mapping):
            found += "$ref" in here
            left += here.values()
        elif isinstance(here, list):
            left += here
    return found


def effort(schema: Json, value: Json, target: Target) -> float:
    """About how many schemas must be tried at the most to hold a value against one; infinite where nobody can tell."""
    deep, wide = _extent(value)
    return wide * _Effort(target).of(schema, deep, 0)


def _extent(value: Json) -> tuple[int, int]:
    """How deep a value is, and how many values it has."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    extents = list(map(_extent, inner))
    return 1 + max((deep for deep, _ in extents), default=0), 1 + sum(wide for _, wide in extents)


@dataclass(slots=True)
class _Effort:
    target: Target
    known: dict[tuple[int, int], float] = field(default_factory=dict)

    def of(self, schema: Json, deep: int, level: int) -> float:
        """The schemas tried on a value so deep; those that lead back to where they stand are not tried again."""
        if isinstance(schema, list):
            return sum(self.of(item, deep, level) for item in schema)
        if not isinstance(schema, Mapping) or deep < 1:
            return 0
        key = (id(schema), deep)
        if key not in self.known:
            self.known[key] = 0
            self.known[key] = 1 + sum(self._within(schema, deep, level + 1)) if level < _DEEPEST else inf
        return self.known[key]

    def _within(self, schema: Mapping[str, Json], deep: int, level: int) -> Iterator[float]:
        for name, inner in schema.items():
            if name == "$ref":
                yield self.of(self._referred(inner), deep, level)
            elif name in _ELSEWHERE or (name == "$id" and level > 1):
                yield inf
            elif name in _OF_ONE_BELOW:
                yield self.of(inner, deep - 1, level)
            elif name in _NAMED_BELOW and isinstance(inner, Mapping):
                yield self.of([*inner.values()], deep - 1, level)
            elif name in _NAMED and isinstance(inner, Mapping):
                yield self.of([*inner.values()], deep, level)
            elif name not in _NEVER_TRIED:
                yield self.of(inner, deep, level)

    def _referred(self, pointer: Json) -> Json:
        if pointer != "#" and not str(pointer).startswith("#/"):
            return _UNTOLD
        try:
            return self.target(str(pointer))
        except LookupError:
            return _UNTOLD


_DEEPEST = 200
_ELSEWHERE = frozenset(("$dynamicRef", "$recursiveRef"))
_UNTOLD = {"$dynamicRef": ""}
# Keywords whose schemas are tried on what stands in a value, and those that have them by name.
_OF_ONE_BELOW = frozenset((
    *("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
))  # fmt: skip
_NAMED_BELOW = frozenset(("properties", "patternProperties"))
_NAMED = frozenset(("dependentSchemas", "dependencies"))
_NEVER_TRIED = frozenset(("$defs", "definitions", "enum", "const", "default", "examples"))
