"""A schema as a document: where its parts are, what references lead to, and what instances and validating cost.

Nothing is ever fetched. Knows how schemas name and contain each other, not what other keywords mean.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any
from urllib.parse import unquote, urljoin

from mockserver.core.json import Json

Schema = Mapping[str, Json]
Targets = Callable[[Schema], Iterable[Json]]  # what a schema's references lead to; raises LookupError


class UnsatisfiableError(LookupError):
    """No value can be made: `why`, as a sentence without its end, and the JSON pointer into the schema.

    Code that does not know the pointer gives the keyword, or nothing; its caller completes it.
    """

    def __init__(self, why: str, pointer: str = "") -> None:
        super().__init__(why, pointer)
        self.why = why
        self.pointer = pointer


class WorkLimitError(Exception):
    """One instance may cost no more work."""


def escape(step: object) -> str:
    """A key as a step of a JSON pointer."""
    return str(step).replace("~", "~0").replace("/", "~1")


@dataclass(slots=True)
class SchemaDocument:
    """A schema and its parts. Raises UnsatisfiableError if it is nested too deeply or has too many references."""

    root: Json
    pointers: dict[int, str] = field(default_factory=dict)  # by the identity of each part
    _bases: dict[int, str] = field(default_factory=dict)
    _named: dict[str, Schema] = field(default_factory=dict)  # by URI and anchor
    _dynamic: dict[str, list[Schema]] = field(default_factory=dict)
    _referring: list[Schema] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._read()

    @property
    def draft(self) -> str:
        """The draft that the schema states; empty if it states none."""
        stated = self.root.get("$schema") if isinstance(self.root, Mapping) else None
        return stated if isinstance(stated, str) else ""

    @property
    def ignores_siblings_of_ref(self) -> bool:
        """Whether keywords next to a reference say nothing, as up to draft 7."""
        return "/draft-0" in self.draft

    def pointer(self, schema: Json) -> str:
        """Where a part of the document is; the root for what is not part of it."""
        return self.pointers.get(id(schema), "#")

    def targets(self, schema: Schema) -> Iterator[Json]:
        """What the references of a schema lead to. Raises UnsatisfiableError if that is nothing."""
        for keyword in _REFERENCES:
            reference = schema.get(keyword)
            if isinstance(reference, str):
                yield self._target(schema, reference, keyword)

    def dangling_reference(self) -> UnsatisfiableError | None:
        """The first reference that leads nowhere."""
        for schema in self._referring:
            try:
                list(self.targets(schema))
            except UnsatisfiableError as error:
                return error
        return None

    def _target(self, schema: Schema, reference: str, keyword: str) -> Json:
        found = self._find(schema, reference, keyword)
        if keyword == "$dynamicRef" and isinstance(found, Mapping) and "$dynamicAnchor" in found:
            return self._dynamic[found["$dynamicAnchor"]][0]  # the outermost
        if keyword == "$recursiveRef" and isinstance(found, Mapping) and found.get("$recursiveAnchor") is True:
            return self.root if isinstance(self.root, Mapping) and self.root.get("$recursiveAnchor") is True else found
        return found

    def _find(self, schema: Schema, reference: str, keyword: str) -> Json:
        place = f"{self.pointer(schema)}/{keyword}"
        uri, _, fragment = _resolve(self._bases.get(id(schema), ""), reference, place).partition("#")
        fragment = unquote(fragment)
        if uri.startswith(_META_SCHEMAS):
            return _ANY_SCHEMA
        if uri not in self._named:
            raise UnsatisfiableError(f"{reference!r} refers to another document, and nothing is fetched", place)
        if fragment and not fragment.startswith("/"):
            uri, fragment = f"{uri}#{fragment}", ""
        try:
            return _follow_pointer(self._named[uri], fragment)
        except LookupError:
            raise UnsatisfiableError(f"{reference!r} refers to nothing", place) from None

    def _read(self) -> None:
        """Visit everything in order: references may lead anywhere."""
        self._named[""] = self.root
        left: list[tuple[Json, str, str, int]] = [(self.root, "#", "", 0)]
        while left:
            here, pointer, base, depth = left.pop()
            if depth > _MAX_DEPTH:
                raise UnsatisfiableError(f"it is nested more than {_MAX_DEPTH} levels deep", _shorten(pointer))
            if isinstance(here, Mapping):
                base = self._read_part(here, pointer, base)
                below: Any = reversed([*here.items()])
            else:
                below = reversed(list(enumerate(here if isinstance(here, list) else ())))
            left += [
                (value, f"{pointer}/{escape(key)}", base, depth + 1)
                for key, value in below
                if isinstance(value, Mapping | list)
            ]

    def _read_part(self, schema: Schema, pointer: str, base: str) -> str:
        """Note one part; returns the base URI of the references in it."""
        self.pointers[id(schema)] = pointer
        if not _NAMING.isdisjoint(schema) and not (self.ignores_siblings_of_ref and "$ref" in schema):
            base = self._add_names(schema, pointer, base)
        self._bases[id(schema)] = base
        if any(isinstance(schema.get(keyword), str) for keyword in _REFERENCES if keyword in schema):
            self._referring.append(schema)
            if len(self._referring) > _MAX_REFERENCES:
                raise UnsatisfiableError(f"it has more than {_MAX_REFERENCES:,} references", pointer)
        return base

    def _add_names(self, schema: Schema, pointer: str, base: str) -> str:
        for name in (schema.get("$id"), schema.get("id") if "/draft-04" in self.draft else None):
            if isinstance(name, str) and name and not name.startswith("#"):
                base = _resolve(base, name, pointer).removesuffix("#")
                self._named.setdefault(base, schema)
            elif isinstance(name, str) and name:
                self._named.setdefault(base + name, schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._named.setdefault(f"{base}#{schema[keyword]}", schema)
        if isinstance(schema.get("$dynamicAnchor"), str):
            self._dynamic.setdefault(schema["$dynamicAnchor"], []).append(schema)
        return base


def _resolve(base: str, reference: str, place: str) -> str:
    if reference.startswith("#"):
        return base.partition("#")[0] + reference
    try:
        return urljoin(base, reference)
    except ValueError:
        raise UnsatisfiableError(f"{reference!r} is not a reference", place) from None


def _follow_pointer(found: Json, fragment: str) -> Json:
    """Raises LookupError."""
    for step in fragment.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and step.isdecimal() and step.isascii():
            found = found[int(step)]
        elif isinstance(found, Mapping):
            found = found[step]
        else:
            raise LookupError(fragment)
    if not isinstance(found, bool | Mapping):
        raise LookupError(fragment)
    return found


def _shorten(pointer: str) -> str:
    return pointer if len(pointer) <= _MAX_POINTER else pointer[:_MAX_POINTER].rpartition("/")[0] + "/..."


_MAX_DEPTH = 250  # levels of the document; the validator's compiler goes about as deep
_MAX_POINTER = 200  # characters in messages
_MAX_REFERENCES = 5_000
_NAMING = frozenset(("$id", "id", "$anchor", "$dynamicAnchor"))
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_META_SCHEMAS = ("http://json-schema.org/draft", "https://json-schema.org/draft", "http://json-schema.org/schema")
_ANY_SCHEMA: Schema = {"type": "object"}  # an empty schema is one that every meta-schema allows


@dataclass(slots=True)
class MinDepths:
    """How deep the smallest instances of a document's schemas are nested, found by fixpoint when first needed."""

    document: SchemaDocument
    _known: dict[int, float] = field(default_factory=dict)

    def of(self, schema: Json) -> float:
        """0 for a plain value, 1 for an object or array of such; infinite if no instance ever ends."""
        if not isinstance(schema, Mapping):
            return inf if schema is False else 0
        if id(schema) not in self.document.pointers:
            return self._depth(schema, {})
        if id(schema) not in self._known:
            self._learn(schema)
        return self._known[id(schema)]

    def endless_part(self, schema: Json) -> str:
        """The JSON pointer of the first part that makes a schema endless."""
        pointer, seen = "#", set[int]()
        while isinstance(schema, Mapping) and id(schema) not in seen:
            seen.add(id(schema))
            pointer = self.document.pointers.get(id(schema), pointer)
            schema = next((inner for inner in self._inner(schema) if self.of(inner) == inf), None)
        return pointer

    def _learn(self, schema: Schema) -> None:
        """Lower the depths of all that the schema leads to until nothing changes."""
        reached = self._reached(schema)
        found = {id(one): inf for one in reached}
        for _ in range(_MAX_ROUNDS):
            before = dict(found)
            for one in reversed(reached):
                found[id(one)] = self._depth(one, found)
            if found == before:
                break
        self._known |= found

    def _reached(self, schema: Schema) -> list[Schema]:
        reached: list[Schema] = []
        seen, left = {id(schema)}, [schema]
        while left and len(reached) < _MAX_REACHED:
            one = left.pop()
            reached.append(one)
            for inner in self._inner(one):
                if isinstance(inner, Mapping) and id(inner) not in seen and id(inner) not in self._known:
                    seen.add(id(inner))
                    left.append(inner)
        return reached

    def _inner(self, schema: Schema) -> Iterator[Json]:
        yield from self._targets(schema)
        for keyword in ("allOf", "anyOf", "oneOf"):
            yield from _list(schema, keyword)
        yield from _required_within(schema)

    def _depth(self, schema: Schema, found: Mapping[int, float]) -> float:
        if "const" in schema or "enum" in schema:
            return 0

        def depth(inner: Json) -> float:
            if not isinstance(inner, Mapping):
                return inf if inner is False else 0
            return found.get(id(inner), self._known.get(id(inner), 0))

        whole = max(map(depth, (*self._targets(schema), *_list(schema, "allOf"))), default=0)
        for keyword in ("anyOf", "oneOf"):
            whole = max(whole, min(map(depth, _list(schema, keyword)), default=0))
        if _may_be_plain(schema):
            return whole
        within = 1 + max(map(depth, _required_within(schema)), default=0)
        return max(whole, within if "type" in schema else min(within, _DEPTH_WITHOUT_TYPE))

    def _targets(self, schema: Schema) -> tuple[Json, ...]:
        try:
            return tuple(self.document.targets(schema))
        except UnsatisfiableError:
            return (False,)


def _list(schema: Schema, keyword: str) -> list[Json]:
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def _required_within(schema: Schema) -> Iterator[Json]:
    """What every object or array of a schema must contain."""
    properties = schema.get("properties")
    for name in _list(schema, "required"):
        yield properties.get(name, True) if isinstance(properties, Mapping) else True
    least = schema.get("minItems", 0)
    if isinstance(least, int) and least > 0:
        first = schema.get("prefixItems", schema.get("items"))
        yield from first[:least] if isinstance(first, list) else (schema.get("items", True),)
    if "contains" in schema and schema.get("minContains", 1):
        yield schema["contains"]


def _may_be_plain(schema: Schema) -> bool:
    stated = schema.get("type")
    if stated is None:
        return not any(keyword in schema for keyword in ("required", "minItems", "contains", "properties"))
    return any(kind not in ("object", "array") for kind in ([stated] if isinstance(stated, str) else stated))


_MAX_ROUNDS = 100
_MAX_REACHED = 20_000
_DEPTH_WITHOUT_TYPE = 1_000  # without a type it may be a plain value after all, if nothing else ends


def depth_and_size(value: Json) -> tuple[int, int]:
    """How deeply a value is nested, and how many values it has."""
    extents = list(map(depth_and_size, _inner_values(value)))
    return 1 + max((depth for depth, _ in extents), default=0), 1 + sum(size for _, size in extents)


@dataclass(slots=True)
class ValidationCost:
    """An upper bound of the schemas that validating tries, on each value of a given depth; infinite if unknown."""

    targets: Targets
    pairs_left: float = inf  # pairs of a schema and a value that may be visited
    _known: dict[tuple[int, int], float] = field(default_factory=dict)

    def of(self, schema: Json, value: Json, level: int = 0) -> float:
        """The schemas tried on a value, or on one of a depth given as a number; a recursive one counts once."""
        if isinstance(schema, list):
            return sum(self.of(item, value, level) for item in schema)
        if not isinstance(schema, Mapping) or not self._exists(value):
            return 0
        key = (id(schema), self._key(value))
        if key not in self._known:
            self.pairs_left -= 1
            if self.pairs_left < 0 or level > _MAX_LEVEL:
                return inf
            self._known[key] = 0
            self._known[key] = 1 + sum(self._within(schema, value, level + 1))
        return self._known[key]

    def _within(self, schema: Schema, value: Json, level: int) -> Iterator[float]:
        for name, inner in schema.items():
            by_name = isinstance(inner, Mapping)
            if name in _REFERENCES:
                try:
                    yield self.of([*self.targets(schema)], value, level)
                except LookupError:
                    yield inf
            elif name == "properties" and by_name:
                yield sum(self.of(one, below, level) for one, below in self._properties(inner, value))
            elif name in _APPLIED_BELOW or name in _NAMED_BELOW:
                schemas = [*inner.values()] if name in _NAMED_BELOW and by_name else inner
                yield sum(self.of(schemas, below, level) for below in self._below(value))
            elif name in _NAMED_HERE and by_name:
                yield self.of([*inner.values()], value, level)
            elif name not in _NEVER_APPLIED:
                yield self.of(inner, value, level)

    def _exists(self, depth: Json) -> bool:
        return bool(depth >= 1)

    def _key(self, depth: Json) -> int:
        return int(depth)

    def _below(self, depth: Json) -> Sequence[Json]:
        return (depth - 1,)

    def _properties(self, properties: Schema, depth: Json) -> Iterable[tuple[Json, Json]]:
        return ((schema, depth - 1) for schema in properties.values())


class _ExactCost(ValidationCost):
    """The same for one value, along its own branches: takes longer to compute, and is still never too low."""

    __slots__ = ()

    def _exists(self, value: Json) -> bool:
        return True

    def _key(self, value: Json) -> int:
        return id(value)

    def _below(self, value: Json) -> Sequence[Json]:
        return _inner_values(value)

    def _properties(self, properties: Schema, value: Json) -> Iterable[tuple[Json, Json]]:
        names = value if isinstance(value, Mapping) else ()
        return ((properties[name], value[name]) for name in names if name in properties)


def exact_cost(schema: Json, value: Json, targets: Targets) -> float:
    """An upper bound of the schemas that validating one value tries."""
    return _ExactCost(targets, _MAX_PAIRS).of(schema, value)


def _inner_values(value: Json) -> Sequence[Json]:
    return [*value.values()] if isinstance(value, Mapping) else value if isinstance(value, list) else ()


_MAX_LEVEL = 200
_MAX_PAIRS = 200_000
# Keywords whose schemas apply to the values within a value, and those that hold schemas by name.
_APPLIED_BELOW = frozenset((
    *("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
))  # fmt: skip
_NAMED_BELOW = frozenset(("properties", "patternProperties"))
_NAMED_HERE = frozenset(("dependentSchemas", "dependencies"))
_NEVER_APPLIED = frozenset(("$defs", "definitions", "enum", "const", "default", "examples"))
