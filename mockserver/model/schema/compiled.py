"""Schemas compiled once: their validators, the shapes of their values, and what instances and validating cost."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import inf
from threading import local
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.model.schema.document import (
    REFERENCES,
    Schema,
    SchemaDocument,
    UnsatisfiableError,
    escape,
    pattern_options,
)
from mockserver.model.schema.shape import Shape


class CompiledSchema:
    """A schema, and all that generating its instances has found out about it."""

    def __init__(self, document: SchemaDocument) -> None:
        self.document = document
        self.cost = ValidationCost(document)
        self.cost.check_compiling()
        self.validator = _compile_validator(document)
        self._part_validators: dict[str, Any] = {}  # by JSON pointer
        self._shapes: dict[Sequence[int | bool], tuple[Sequence[Json], Shape | None]] = {}  # by identities of schemas

    @cached_property
    def min_depths(self) -> "MinDepths":
        return MinDepths(self.document)

    def shape_of(self, schemas: Sequence[Json]) -> Shape | None:
        """Return what schemas say together; None if they allow nothing at first sight."""
        key = tuple([schema if isinstance(schema, bool) else id(schema) + 2 for schema in schemas])  # True equals 1
        if key not in self._shapes:
            if len(self._shapes) > _MAX_SHAPES:
                self._shapes.clear()
            try:
                shape = Shape(self, schemas)
            except UnsatisfiableError:
                shape = None
            self._shapes[key] = schemas, shape  # no other object gets the identity of these
        return self._shapes[key][1]

    @cached_property
    def is_cheap(self) -> bool:
        """Whether validating takes few steps on each value, however deep it is nested."""
        return all(self.cost.of(self.document.root, depth) <= _FEW for depth in range(_DEEP))

    def cost_of(self, depth: int, size: int) -> float:
        """An upper bound of the schemas that are tried to validate a value of this depth and size."""
        costs = [self.cost.of(self.document.root, each) for each in range(depth + 1)]  # whatever came before
        return size * costs[-1]

    def size_of(self, listed: Json) -> int:
        """The size of what `enum` or `const` of a part holds; only the length of other lists."""
        return self._sizes.get(id(listed)) or (len(listed) if isinstance(listed, list) else 1)

    @cached_property
    def _sizes(self) -> Mapping[int, int]:
        stated = (part[keyword] for part in self.document.schemas for keyword in ("enum", "const") if keyword in part)
        return {id(value): depth_and_size(value)[1] for value in stated if isinstance(value, Mapping | list)}

    def allows(self, schema: Json, value: Json) -> bool:
        """Whether a part of the schema allows a value, at a cost; True where only the whole schema can tell."""
        if isinstance(schema, bool) or not schema:
            return schema is not False
        pointer = self.document.pointers.get(id(schema))
        if pointer is None:
            inner = schema.get("not")
            return id(inner) not in self.document.pointers or not self.allows(inner, value)
        if pointer not in self._part_validators:
            self._part_validators[pointer] = self._compile_part(pointer)
        validator = self._part_validators[pointer]
        return validator is None or bool(validator.is_valid(value))

    def _compile_part(self, pointer: str) -> Any:
        from jsonschema_rs import ValidationError, validator_for  # slow to import; only schemas need it

        reference = {"$ref": f"{_HERE}#{quote(pointer[1:], safe='/~$')}"}
        try:
            return validator_for(
                reference, registry=self._registry, validate_formats=True, pattern_options=pattern_options()
            )
        except (ValidationError, ValueError):
            return None

    @cached_property
    def _registry(self) -> Any:
        from jsonschema_rs import Registry

        return Registry([(_HERE, _readable(self.document.root))], retriever=_refuse_to_fetch)


def compile_schema(schema: Json) -> CompiledSchema:
    """Compile a schema, unless it is known. Raises UnsatisfiableError, with the place, if it is invalid."""
    try:
        key = to_json(schema, inf_nan_mode="constants")
    except ValueError:
        SchemaDocument(schema)  # raises, with the place, if it is nested too deeply
        raise UnsatisfiableError("it is no JSON", "#") from None
    cached = CACHE.schemas
    found = cached.get(key)
    if found is None:
        cached[key] = found = CompiledSchema(SchemaDocument(schema))
        while len(cached) > 1 and (len(cached) > _MAX_CACHED or _weigh(cached) > _MAX_CACHED_BYTES):
            cached.popitem(last=False)
    else:
        cached.move_to_end(key)
    return found


def _weigh(cached: Mapping[bytes, CompiledSchema]) -> int:
    """Bytes of the schemas; their patterns count by the memory that they take."""
    return sum(len(key) + 8 * compiled.document.pattern_work for key, compiled in cached.items())


def _compile_validator(document: SchemaDocument) -> Any:
    from jsonschema_rs import ValidationError, validator_for  # slow to import, and only schemas need it

    try:
        return validator_for(
            _readable(document.root),
            retriever=_refuse_to_fetch,
            validate_formats=True,
            pattern_options=pattern_options(),
        )
    except ValidationError as error:
        steps = "".join(f"/{escape(step)}" for step in error.instance_path)
        dangling = None if steps else document.dangling_reference()
        raise dangling or UnsatisfiableError(_first_line(error), f"#{steps}") from None
    except ValueError as error:
        raise UnsatisfiableError(_first_line(error), "#") from None


def _readable(schema: Json) -> Json:
    """The schema as the validator reads it: with ids and references escaped as URIs, without an unknown `$schema`."""
    schema = _with_escaped_references(schema)
    stated = schema.get("$schema") if isinstance(schema, Mapping) else None
    if not isinstance(stated, str) or "//json-schema.org/draft" in stated:
        return schema
    return {key: value for key, value in schema.items() if key != "$schema"}


def _with_escaped_references(schema: Json, *, named: bool = False) -> Json:
    """`named`: it holds schemas by names, which are no keywords."""
    if isinstance(schema, list):
        return list(map(_with_escaped_references, schema))
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _escaped(key, value)
        if not named and (isinstance(value, str) or key in _DATA)
        else _with_escaped_references(value, named=key in _OF_NAMES and not named)
        for key, value in schema.items()
    }


def _escaped(key: str, value: Json) -> Json:
    if key not in _URIS or not isinstance(value, str):
        return value
    return quote(_PERCENT.sub("%25", value), safe="/~$#%:?&=+,;@!'()*")


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0].removesuffix(".")
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE // 2]}...{line[-_MAX_LINE // 2 :]}"


def _refuse_to_fetch(uri: str) -> Json:
    raise ValueError(f"{uri} is not fetched")


class _Cache(local):
    """The compiled schemas of one thread: generating instances writes into their memory."""

    def __init__(self) -> None:
        self.schemas: OrderedDict[bytes, CompiledSchema] = OrderedDict()


CACHE = _Cache()
_MAX_CACHED = 128
_MAX_CACHED_BYTES = 1_000_000
_MAX_SHAPES = 4_000  # of one schema
_DEEP, _FEW = 41, 300  # levels of any value that is generated, and schemas tried on each value within it
MAX_COST = 5_000_000  # schemas tried: some 80 ms
_MAX_COMPILING = 10_000  # schemas written out: some 100 ms
_DATA = frozenset(("enum", "const", "default", "example", "examples"))  # keywords whose values are no schemas
_OF_NAMES = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
_URIS = ("$ref", "$id", "id")
_PERCENT = lazy_pattern("%(?![0-9A-Fa-f]{2})")
_MAX_LINE = 240
_HERE = "mockserver:schema"


class MinDepths:
    """How deep the smallest instances of a document's schemas are nested: the least fixed point, which is exact."""

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document
        self._known: dict[int, float] = dict.fromkeys(map(id, document.schemas), inf)
        changed, steps = True, _MAX_DEPTH_STEPS
        while changed and steps > 0:
            steps -= document.values
            changed = False
            for schema in reversed(document.schemas):  # what a schema contains comes after it, definitions mostly too
                depth = self._depth(schema)
                if depth < self._known[id(schema)]:
                    self._known[id(schema)], changed = depth, document.references > 0
        if changed:  # too large to know all: what has no depth yet may end after all
            self._known = {key: 0 if depth == inf else depth for key, depth in self._known.items()}

    def of(self, schema: Json) -> float:
        """0 for a plain value, 1 for an object or array of such; infinite if no instance ever ends."""
        if not isinstance(schema, Mapping):
            return inf if schema is False else 0
        return self._known.get(id(schema), 1)  # a meta-schema is no part

    def _depth(self, schema: Schema) -> float:
        if "const" in schema or "enum" in schema:
            return 0
        try:
            targets = self._document.targets(schema)
        except UnsatisfiableError:
            return inf
        whole = max(map(self.of, (*targets, *_list(schema, "allOf"))), default=0)
        for keyword in ("anyOf", "oneOf"):
            whole = max(whole, min(map(self.of, _list(schema, keyword)), default=0))
        if _may_be_plain(schema):
            return whole
        within = 1 + max(map(self.of, _required_within(schema)), default=0)
        return max(whole, within if "type" in schema else min(within, _DEPTH_WITHOUT_TYPE))


def _list(schema: Schema, keyword: str) -> list[Json]:
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def _required_within(schema: Schema) -> Iterator[Json]:
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
    return any(kind not in ("object", "array") for kind in (stated if isinstance(stated, list) else [stated]))


_MAX_DEPTH_STEPS = 100_000
_DEPTH_WITHOUT_TYPE = 1_000  # without a type it may be a plain value after all, if nothing else ends


def depth_and_size(value: Json) -> tuple[int, int]:
    within = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    extents = list(map(depth_and_size, within))
    return 1 + max((depth for depth, _ in extents), default=0), 1 + sum(size for _, size in extents)


class ValidationCost:
    """An upper bound of the schemas that validating tries, on each value of a given depth; infinite if unknown."""

    def __init__(self, document: SchemaDocument) -> None:
        self.document = document
        self._known: dict[tuple[int, int], float] = {}

    def of(self, schema: Json, depth: int, level: int = 0) -> float:
        if level == 0 and depth * self.document.values > _MAX_COST_STEPS:
            return inf
        if isinstance(schema, list):
            return sum(self.of(item, depth, level + 1) for item in schema)
        if not isinstance(schema, Mapping) or depth < 1:
            return 0
        key = (id(schema), depth)
        if key not in self._known:
            if level > _MAX_LEVEL:
                return inf
            self._known[key] = inf  # what leads to itself on the same value
            self._known[key] = 1 + sum(self._within(schema, depth, level + 1))
        return self._known[key]

    def check_compiling(self) -> None:
        """Raise UnsatisfiableError if the compiler would take too long."""
        if self.of_compiling() > _MAX_COMPILING and self.document.dangling_reference() is None:
            raise UnsatisfiableError("it has too many alternatives for its unevaluated properties or items", "#")

    def of_compiling(self) -> float:
        """What finding unevaluated properties and items costs the compiler: it writes out all that references reach."""
        unevaluated = (schema for schema in self.document.schemas if not _UNEVALUATED.isdisjoint(schema))
        return sum(self.of(schema, 1) for schema in unevaluated)

    def _within(self, schema: Schema, depth: int, level: int) -> Iterator[float]:
        for name, inner in schema.items():
            below = depth - (name in _APPLIED_BELOW)
            if name in REFERENCES:
                try:
                    yield self.of([*self.document.targets(schema)], depth, level)
                except UnsatisfiableError:
                    yield inf
            elif name in _BY_NAME and isinstance(inner, Mapping):
                yield self.of([*inner.values()], below, level)
            elif name == "enum" and isinstance(inner, list):
                yield len(inner) / 10
            elif name not in _NEVER_APPLIED:
                yield self.of(inner, below, level)


_MAX_LEVEL = 300  # lists count too
_MAX_COST_STEPS = 500_000  # values times depth
_UNEVALUATED = frozenset(("unevaluatedProperties", "unevaluatedItems"))
# Keywords whose schemas apply to the values within a value, those that hold schemas by name, and those that hold none.
_APPLIED_BELOW = frozenset((
    *("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "properties", "patternProperties"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
))  # fmt: skip
_BY_NAME = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
_NEVER_APPLIED = frozenset(("$defs", "definitions", "const", "default", "examples", "required"))
