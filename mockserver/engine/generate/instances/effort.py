"""How much work it is to hold a value against a JSON Schema, told beforehand: no client's schema may stop a server.

Knows where schemas stand within schemas, not what any keyword means.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from mockserver.core.call import Json

Targets = Callable[[Mapping[str, Json]], Iterable[Json]]  # what a schema's references lead to; raises LookupError


def extent(value: Json) -> tuple[int, int]:
    """How deep a value is, and how many values it has."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    extents = list(map(extent, inner))
    return 1 + max((deep for deep, _ in extents), default=0), 1 + sum(wide for _, wide in extents)


@dataclass(slots=True)
class Effort:
    """About how many schemas must be tried at the most on each value; infinite where nobody can tell."""

    targets: Targets
    _known: dict[tuple[int, int], float] = field(default_factory=dict)

    def of(self, schema: Json, deep: int, level: int = 0) -> float:
        """The schemas tried on a value so deep; those that lead back to where they stand are not tried again."""
        if isinstance(schema, list):
            return sum(self.of(item, deep, level) for item in schema)
        if not isinstance(schema, Mapping) or deep < 1:
            return 0
        key = (id(schema), deep)
        if key not in self._known:
            self._known[key] = 0
            self._known[key] = 1 + sum(self._within(schema, deep, level + 1)) if level < _DEEPEST else inf
        return self._known[key]

    def _within(self, schema: Mapping[str, Json], deep: int, level: int) -> Iterator[float]:
        for name, inner in schema.items():
            if name in _REFERENCES:
                yield self._referred(schema, deep, level)
            elif name in _OF_ONE_BELOW:
                yield self.of(inner, deep - 1, level)
            elif name in _NAMED_BELOW and isinstance(inner, Mapping):
                yield self.of([*inner.values()], deep - 1, level)
            elif name in _NAMED and isinstance(inner, Mapping):
                yield self.of([*inner.values()], deep, level)
            elif name not in _NEVER_TRIED:
                yield self.of(inner, deep, level)

    def _referred(self, schema: Mapping[str, Json], deep: int, level: int) -> float:
        try:
            return self.of([*self.targets(schema)], deep, level)
        except LookupError:
            return inf


@dataclass(slots=True)
class _Pairs:
    """The same for one value, counted along its own branches: dearer to tell, and never less than what is true."""

    targets: Targets
    left: int = 200_000  # pairs of a schema and a value that are looked at
    _known: dict[tuple[int, int], float] = field(default_factory=dict)

    def of(self, schema: Json, value: Json, level: int = 0) -> float:
        if isinstance(schema, list):
            return sum(self.of(item, value, level) for item in schema)
        if not isinstance(schema, Mapping):
            return 0
        key = (id(schema), id(value))
        if key not in self._known:
            self.left -= 1
            if self.left < 0 or level > _DEEPEST:
                return inf
            self._known[key] = 0
            self._known[key] = 1 + sum(self._within(schema, value, level + 1))
        return self._known[key]

    def _within(self, schema: Mapping[str, Json], value: Json, level: int) -> Iterator[float]:
        for name, inner in schema.items():
            if name in _REFERENCES:
                yield self._referred(schema, value, level)
            elif name == "properties" and isinstance(inner, Mapping):
                common = [key for key in value if key in inner] if isinstance(value, Mapping) else ()
                yield sum(self.of(inner[key], value[key], level) for key in common)
            elif name in _OF_ONE_BELOW or name in _NAMED_BELOW:
                schemas = [*inner.values()] if name in _NAMED_BELOW and isinstance(inner, Mapping) else inner
                yield sum(self.of(schemas, one, level) for one in _below(value))
            elif name in _NAMED and isinstance(inner, Mapping):
                yield self.of([*inner.values()], value, level)
            elif name not in _NEVER_TRIED:
                yield self.of(inner, value, level)

    def _referred(self, schema: Mapping[str, Json], value: Json, level: int) -> float:
        try:
            return self.of([*self.targets(schema)], value, level)
        except LookupError:
            return inf


def pairs(schema: Json, value: Json, targets: Targets) -> float:
    """About how many schemas must be tried at the most to hold this one value against a schema."""
    return _Pairs(targets).of(schema, value)


def _below(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()


_DEEPEST = 200
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
# Keywords whose schemas are tried on what stands in a value, and those that have them by name.
_OF_ONE_BELOW = frozenset((
    *("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
))  # fmt: skip
_NAMED_BELOW = frozenset(("properties", "patternProperties"))
_NAMED = frozenset(("dependentSchemas", "dependencies"))
_NEVER_TRIED = frozenset(("$defs", "definitions", "enum", "const", "default", "examples"))
