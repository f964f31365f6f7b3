"""How deep the smallest instance of a schema is, so that what refers to itself can be brought to an end.

Knows which keywords demand something further down, not how anything is made.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from mockserver.core.call import Json
from mockserver.engine.generate.instances.dead_end import DeadEndError
from mockserver.engine.generate.instances.document import Document


@dataclass(slots=True)
class Heights:
    """The least heights of a document's schemas, found by fixpoint when they are first asked for."""

    document: Document
    _known: dict[int, float] = field(default_factory=dict)

    def of(self, schema: Json) -> float:
        """0 for what needs nothing within, 1 for a table or list of such; infinite where no instance ever ends."""
        if not isinstance(schema, Mapping):
            return inf if schema is False else 0
        if id(schema) not in self.document.pointers:
            return self._told(schema, {})
        if id(schema) not in self._known:
            self._learn(schema)
        return self._known[id(schema)]

    def endless(self, schema: Json) -> str:
        """Where the first thing that makes a schema endless stands, as a JSON pointer."""
        pointer, seen = "#", set[int]()
        while isinstance(schema, Mapping) and id(schema) not in seen:
            seen.add(id(schema))
            pointer = self.document.pointers.get(id(schema), pointer)
            schema = next((inner for inner in self._inner(schema) if self.of(inner) == inf), None)
        return pointer

    def _learn(self, schema: Mapping[str, Json]) -> None:
        """Lower the heights of all that the schema leads to until nothing changes any more."""
        reached = self._reached(schema)
        found = {id(one): inf for one in reached}
        for _ in range(_MOST_ROUNDS):
            before = dict(found)
            for one in reversed(reached):
                found[id(one)] = self._told(one, found)
            if found == before:
                break
        self._known |= found

    def _reached(self, schema: Mapping[str, Json]) -> list[Mapping[str, Json]]:
        reached: list[Mapping[str, Json]] = []
        seen, left = {id(schema)}, [schema]
        while left and len(reached) < _MOST_REACHED:
            one = left.pop()
            reached.append(one)
            for inner in self._inner(one):
                if isinstance(inner, Mapping) and id(inner) not in seen and id(inner) not in self._known:
                    seen.add(id(inner))
                    left.append(inner)
        return reached

    def _inner(self, schema: Mapping[str, Json]) -> Iterator[Json]:
        yield from self._targets(schema)
        for keyword in ("allOf", "anyOf", "oneOf"):
            yield from _listed(schema, keyword)
        yield from _demanded(schema)

    def _told(self, schema: Mapping[str, Json], found: Mapping[int, float]) -> float:
        if "const" in schema or "enum" in schema:
            return 0

        def height(inner: Json) -> float:
            if not isinstance(inner, Mapping):
                return inf if inner is False else 0
            return found.get(id(inner), self._known.get(id(inner), 0))

        whole = max(map(height, (*self._targets(schema), *_listed(schema, "allOf"))), default=0)
        for keyword in ("anyOf", "oneOf"):
            whole = max(whole, min(map(height, _listed(schema, keyword)), default=0))
        if _may_be_plain(schema):
            return whole
        within = 1 + max(map(height, _demanded(schema)), default=0)
        return max(whole, within if "type" in schema else min(within, _WITHOUT_TYPE))

    def _targets(self, schema: Mapping[str, Json]) -> tuple[Json, ...]:
        try:
            return tuple(self.document.targets(schema))
        except DeadEndError:
            return (False,)


def _listed(schema: Mapping[str, Json], keyword: str) -> list[Json]:
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def _demanded(schema: Mapping[str, Json]) -> Iterator[Json]:
    """What every table or list of a schema must hold something of."""
    properties = schema.get("properties")
    for name in _listed(schema, "required"):
        yield properties.get(name, True) if isinstance(properties, Mapping) else True
    least = schema.get("minItems", 0)
    if isinstance(least, int) and least > 0:
        first = schema.get("prefixItems", schema.get("items"))
        yield from first[:least] if isinstance(first, list) else (schema.get("items", True),)
    if "contains" in schema and schema.get("minContains", 1):
        yield schema["contains"]


def _may_be_plain(schema: Mapping[str, Json]) -> bool:
    """Whether a schema allows, or is only about, what holds nothing."""
    stated = schema.get("type")
    if stated is None:
        return not any(keyword in schema for keyword in ("required", "minItems", "contains", "properties"))
    kinds = [stated] if isinstance(stated, str) else stated
    return any(kind not in ("object", "array") for kind in kinds)


_MOST_ROUNDS = 100
_WITHOUT_TYPE = 1_000  # what states no type may be plain after all, if nothing else ends
_MOST_REACHED = 20_000
