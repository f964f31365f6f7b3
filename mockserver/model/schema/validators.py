"""Validates values against a schema and its parts, and knows before what that costs."""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any
from urllib.parse import quote

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern, lazy_property
from mockserver.model.schema.document import (
    REFERENCES,
    Schema,
    SchemaDocument,
    UnsatisfiableError,
    escape,
    make_pattern_options,
)


class SchemaValidator:
    """Says whether a schema, or a part of it, allows a value. Raises UnsatisfiableError if the schema is invalid."""

    def __init__(self, document: SchemaDocument) -> None:
        self.document = document
        self.cost = ValidationCost(document)
        self.cost.check_compiling()
        self.whole = _compile_whole(document)
        self._parts: dict[str, Any] = {}  # by JSON pointer

    @lazy_property
    def is_cheap(self) -> bool:
        """Whether validating takes few steps on each value, however deep it is nested."""
        before: float = -1
        for depth in range(_DEEP):
            cost = self.cost.estimate(self.document.root, depth)
            if cost > _FEW:
                return False
            if cost == before:  # nothing is tried at this level, and so nothing below it
                return True
            before = cost
        return True

    def estimate_cost(self, depth: int, size: int) -> float:
        """An upper bound of the schemas that are tried to validate a value of this depth and size."""
        costs = [self.cost.estimate(self.document.root, each) for each in range(depth + 1)]  # whatever came before
        return size * costs[-1]

    def allows(self, schema: Json, value: Json) -> bool:
        """Whether a part of the schema allows a value, at a cost; True where only the whole schema can tell."""
        if isinstance(schema, bool) or not schema:
            return schema is not False
        pointer = self.document.pointers.get(id(schema))
        if pointer is None:
            inner = schema.get("not")
            return id(inner) not in self.document.pointers or not self.allows(inner, value)
        if pointer not in self._parts:
            self._parts[pointer] = self._compile_part(pointer)
        validator = self._parts[pointer]
        return validator is None or bool(validator.is_valid(value))

    def _compile_part(self, pointer: str) -> Any:
        from jsonschema_rs import ValidationError, validator_for  # slow to import; only schemas need it

        reference = {"$ref": f"{_HERE}#{quote(pointer[1:], safe='/~$')}"}
        try:
            return validator_for(
                reference, registry=self._registry, validate_formats=True, pattern_options=make_pattern_options()
            )
        except (ValidationError, ValueError):
            return None

    @lazy_property
    def _registry(self) -> Any:
        from jsonschema_rs import Registry

        return Registry([(_HERE, _make_readable(self.document.root))], retriever=_refuse_to_fetch)


def _compile_whole(document: SchemaDocument) -> Any:
    from jsonschema_rs import ValidationError, validator_for  # slow to import, and only schemas need it

    try:
        return validator_for(
            _make_readable(document.root),
            retriever=_refuse_to_fetch,
            validate_formats=True,
            pattern_options=make_pattern_options(),
        )
    except ValidationError as error:
        steps = "".join(f"/{escape(step)}" for step in error.instance_path)
        dangling = None if steps else document.find_dangling_reference()
        raise dangling or UnsatisfiableError(_take_first_line(error), f"#{steps}") from None
    except ValueError as error:
        raise UnsatisfiableError(_take_first_line(error), "#") from None


def _make_readable(schema: Json) -> Json:
    """The schema as the validator reads it: with ids and references escaped as URIs, without an unknown `$schema`."""
    schema = _escape_references(schema)
    stated = schema.get("$schema") if isinstance(schema, Mapping) else None
    if not isinstance(stated, str) or "//json-schema.org/draft" in stated:
        return schema
    return {key: value for key, value in schema.items() if key != "$schema"}


def _escape_references(schema: Json, *, named: bool = False) -> Json:
    """`named`: it holds schemas by names, which are no keywords."""
    if isinstance(schema, list):
        return list(map(_escape_references, schema))
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _escape_reference(key, value)
        if not named and (isinstance(value, str) or key in _DATA)
        else _escape_references(value, named=key in _OF_NAMES and not named)
        for key, value in schema.items()
    }


def _escape_reference(key: str, value: Json) -> Json:
    if key not in _URIS or not isinstance(value, str):
        return value
    return quote(_PERCENT.sub("%25", value), safe="/~$#%:?&=+,;@!'()*")


def _take_first_line(error: Exception) -> str:
    line = str(error).splitlines()[0].removesuffix(".")
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE // 2]}...{line[-_MAX_LINE // 2 :]}"


def _refuse_to_fetch(uri: str) -> Json:
    raise ValueError(f"{uri} is not fetched")


_DEEP, _FEW = 41, 300  # levels of any value that is generated, and schemas tried on each value within it
MAX_COST = 5_000_000  # schemas tried: some 80 ms
_MAX_COMPILING = 10_000  # schemas written out: some 100 ms
_DATA = frozenset(("enum", "const", "default", "example", "examples"))  # keywords whose values are no schemas
_OF_NAMES = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
_URIS = ("$ref", "$id", "id")
_PERCENT = lazy_pattern("%(?![0-9A-Fa-f]{2})")
_MAX_LINE = 240
_HERE = "mockserver:schema"


def measure_depth_and_size(value: Json) -> tuple[int, int]:
    within = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    extents = list(map(measure_depth_and_size, within))
    return 1 + max((depth for depth, _ in extents), default=0), 1 + sum(size for _, size in extents)


class ValidationCost:
    """An upper bound of the schemas that validating tries, on each value of a given depth; infinite if unknown."""

    def __init__(self, document: SchemaDocument) -> None:
        self.document = document
        self._known: dict[tuple[int, int], float] = {}

    def estimate(self, schema: Json, depth: int, level: int = 0) -> float:
        if level == 0 and depth * self.document.values > _MAX_COST_STEPS:
            return inf
        if isinstance(schema, list):
            return sum(self.estimate(item, depth, level + 1) for item in schema)
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
        if self.estimate_compiling() > _MAX_COMPILING and self.document.find_dangling_reference() is None:
            raise UnsatisfiableError("it has too many alternatives for its unevaluated properties or items", "#")

    def estimate_compiling(self) -> float:
        """What finding unevaluated properties and items costs the compiler: it writes out all that references reach."""
        unevaluated = (schema for schema in self.document.schemas if not _UNEVALUATED.isdisjoint(schema))
        return sum(self.estimate(schema, 1) for schema in unevaluated)

    def _within(self, schema: Schema, depth: int, level: int) -> Iterator[float]:
        for name, inner in schema.items():
            below = depth - (name in _APPLIED_BELOW)
            if name in REFERENCES:
                try:
                    yield self.estimate([*self.document.find_targets(schema)], depth, level)
                except UnsatisfiableError:
                    yield inf
            elif name in _BY_NAME and isinstance(inner, Mapping):
                yield self.estimate([*inner.values()], below, level)
            elif name == "enum" and isinstance(inner, list):
                yield len(inner) / 10
            elif name not in _NEVER_APPLIED:
                yield self.estimate(inner, below, level)


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
