"""A schema as a document: where each of its parts stands, and what its references lead to. Nothing is ever fetched.

Knows how schemas name and find each other, not what any other keyword means.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any
from urllib.parse import unquote, urljoin

from mockserver.core.json import Json


class DeadEndError(LookupError):
    """No value can be made here: `why`, as a sentence without its end, and the JSON pointer of the schema's place.

    Who does not know the place names the keyword, or nothing: it is told further up, where it is known.
    """

    def __init__(self, why: str, pointer: str = "") -> None:
        super().__init__(why, pointer)
        self.why = why
        self.pointer = pointer


class ExhaustedError(Exception):
    """The work that one instance may cost is done, and nothing was found."""


Schema = Mapping[str, Json]


@dataclass(slots=True)
class Document:
    """One schema with all that stands in it. Raises DeadEndError where it is nested too deeply or refers too often."""

    root: Json
    pointers: dict[int, str] = field(default_factory=dict)  # by the identity of each part
    _bases: dict[int, str] = field(default_factory=dict)
    _named: dict[str, Schema] = field(default_factory=dict)  # by URI, with an anchor behind it
    _dynamic: dict[str, list[Schema]] = field(default_factory=dict)
    _referring: list[Schema] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._read()

    @property
    def draft(self) -> str:
        """What the schema says that its draft is; empty where it says nothing."""
        stated = self.root.get("$schema") if isinstance(self.root, Mapping) else None
        return stated if isinstance(stated, str) else ""

    @property
    def old(self) -> bool:
        """Whether the schema is of a draft in which a reference stands alone: what is beside it says nothing."""
        return "/draft-0" in self.draft

    def pointer(self, schema: Json) -> str:
        """Where a part of the document stands; the root for what is not of it."""
        return self.pointers.get(id(schema), "#")

    def targets(self, schema: Schema) -> Iterator[Json]:
        """What the references of a schema lead to."""
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = schema.get(keyword)
            if isinstance(reference, str):
                yield self._target(schema, reference, keyword)

    def dangling(self) -> DeadEndError | None:
        """The first reference that leads nowhere."""
        for schema in self._referring:
            try:
                list(self.targets(schema))
            except DeadEndError as error:
                return error
        return None

    def _target(self, schema: Schema, reference: str, keyword: str) -> Json:
        found = self._found(schema, reference, keyword)
        if keyword == "$dynamicRef" and isinstance(found, Mapping) and "$dynamicAnchor" in found:
            return self._dynamic[found["$dynamicAnchor"]][0]  # the outermost
        if keyword == "$recursiveRef" and isinstance(found, Mapping) and found.get("$recursiveAnchor") is True:
            return self.root if isinstance(self.root, Mapping) and self.root.get("$recursiveAnchor") is True else found
        return found

    def _found(self, schema: Schema, reference: str, keyword: str) -> Json:
        place = f"{self.pointer(schema)}/{keyword}"
        uri, _, fragment = _joined(self._bases.get(id(schema), ""), reference, place).partition("#")
        fragment = unquote(fragment)
        if uri.startswith(_META):
            return _ANY_SCHEMA
        if uri not in self._named:
            raise DeadEndError(f"{reference!r} refers to another document, and nothing is fetched", place)
        if fragment and not fragment.startswith("/"):
            uri, fragment = f"{uri}#{fragment}", ""
        try:
            return _below(self._named[uri], fragment)
        except LookupError:
            raise DeadEndError(f"{reference!r} refers to nothing", place) from None

    def _read(self) -> None:
        """Walk through all there is, in the document's order: references may lead anywhere."""
        self._named[""] = self.root
        left: list[tuple[Json, str, str, int]] = [(self.root, "#", "", 0)]
        while left:
            here, pointer, base, depth = left.pop()
            if depth > _DEEPEST:
                raise DeadEndError(f"it is nested more than {_DEEPEST} levels deep", _clipped(pointer))
            if isinstance(here, Mapping):
                base = self._read_one(here, pointer, base)
                below: Any = reversed([*here.items()])
            elif isinstance(here, list):
                below = reversed(list(enumerate(here)))
            else:
                continue
            left += [(value, f"{pointer}/{_escaped(key)}", base, depth + 1) for key, value in below if _holds(value)]

    def _read_one(self, schema: Schema, pointer: str, base: str) -> str:
        """Note down one part; the base of the references in it."""
        self.pointers[id(schema)] = pointer
        if not _NAMING.isdisjoint(schema) and not (self.old and "$ref" in schema):
            base = self._named_as(schema, pointer, base)
        self._bases[id(schema)] = base
        if any(isinstance(schema.get(keyword), str) for keyword in _REFERRING if keyword in schema):
            self._referring.append(schema)
            if len(self._referring) > _MOST_REFERENCES:
                raise DeadEndError(f"it has more than {_MOST_REFERENCES:,} references", pointer)
        return base

    def _named_as(self, schema: Schema, pointer: str, base: str) -> str:
        for name in (schema.get("$id"), schema.get("id") if "/draft-04" in self.draft else None):
            if isinstance(name, str) and name and not name.startswith("#"):
                base = _joined(base, name, pointer).removesuffix("#")
                self._named.setdefault(base, schema)
            elif isinstance(name, str) and name:
                self._named.setdefault(base + name, schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._named.setdefault(f"{base}#{schema[keyword]}", schema)
        if isinstance(schema.get("$dynamicAnchor"), str):
            self._dynamic.setdefault(schema["$dynamicAnchor"], []).append(schema)
        return base


def _joined(base: str, reference: str, place: str) -> str:
    if reference.startswith("#"):
        return base.partition("#")[0] + reference
    try:
        return urljoin(base, reference)
    except ValueError:
        raise DeadEndError(f"{reference!r} is not a reference", place) from None


def _below(found: Json, fragment: str) -> Json:
    """What a JSON pointer leads to. Raises LookupError."""
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


def _escaped(key: object) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _clipped(pointer: str) -> str:
    return pointer if len(pointer) <= _LONGEST_POINTER else pointer[:_LONGEST_POINTER].rpartition("/")[0] + "/..."


def _holds(value: Json) -> bool:
    return isinstance(value, Mapping | list)


_DEEPEST = 250  # levels of the document; what compiles schemas goes about as deep
_LONGEST_POINTER = 200  # characters that are shown
_MOST_REFERENCES = 5_000
_NAMING = frozenset(("$id", "id", "$anchor", "$dynamicAnchor"))
_REFERRING = ("$ref", "$dynamicRef", "$recursiveRef")
_META = ("http://json-schema.org/draft", "https://json-schema.org/draft", "http://json-schema.org/schema")
_ANY_SCHEMA: Schema = {"type": "object"}  # an empty schema is one that every meta-schema allows


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
            self._known[key] = 1 + sum(self._within(schema, deep, level + 1)) if level < _EFFORT_DEEPEST else inf
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
            if self.left < 0 or level > _EFFORT_DEEPEST:
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
                yield sum(self.of(schemas, one, level) for one in _effort_below(value))
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


def _effort_below(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()


_EFFORT_DEEPEST = 200
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
# Keywords whose schemas are tried on what stands in a value, and those that have them by name.
_OF_ONE_BELOW = frozenset((
    *("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
))  # fmt: skip
_NAMED_BELOW = frozenset(("properties", "patternProperties"))
_NAMED = frozenset(("dependentSchemas", "dependencies"))
_NEVER_TRIED = frozenset(("$defs", "definitions", "enum", "const", "default", "examples"))
