"""Schemas as documents: their parts, what references lead to, how large they may be; validated, at a known cost.

Nothing is ever fetched. Knows how schemas name and contain each other, not what other keywords mean.
"""

from collections.abc import Iterator, Mapping
from math import inf, prod
from typing import Any
from urllib.parse import quote, unquote, urljoin

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.model.patterns import MAX_PATTERN_WORK, estimate_pattern_work
from mockserver.model.validators import InvalidSchemaError, compile_validator, escape, make_registry, write_canonical

Schema = Mapping[str, Json]


class UnsatisfiableError(LookupError):
    """No value can be made: `why`, as a sentence without its end, and the JSON pointer into the schema.

    Code that does not know the pointer gives the keyword, or nothing; its caller completes it.
    """

    def __init__(self, why: str, pointer: str = "") -> None:
        super().__init__(why, pointer)
        self.why = why
        self.pointer = pointer

    def __str__(self) -> str:
        return f"{self.why} (at {self.pointer or '#'})"


class WorkLimitError(Exception):
    """One instance may cost no more work."""


class SchemaDocument:
    """A schema and its parts. Raises UnsatisfiableError, which names the limit, if it is too deep or too large."""

    def __init__(self, root: Json) -> None:
        self.root = root
        stated = root.get("$schema") if isinstance(root, Mapping) else None
        self.draft = stated if isinstance(stated, str) else ""
        self.ignores_siblings_of_ref = "/draft-0" in self.draft  # keywords next to it say nothing up to draft 7
        self.pointers: dict[int, str] = {}  # by the identity of each part
        self.schemas: list[Schema] = []  # every object in it, in order
        self.values = 0  # of any kind, at any depth
        self.references = 0
        self.pattern_work = 0  # of compiling all patterns, as `pattern_work` estimates it
        self._patterns: set[str] = set()
        self._bases: dict[int, str] = {}
        self._named: dict[str, Any] = {"": root}  # by URI and anchor
        self._dynamic: dict[str, list[Schema]] = {}
        self._targets: dict[int, tuple[Json, ...]] = {}  # by the identity of each part
        self._read()

    def find_pointer(self, schema: Json) -> str:
        return self.pointers.get(id(schema), "#")

    def find_targets(self, schema: Schema) -> tuple[Json, ...]:
        """Return what the references of a schema lead to. Raises UnsatisfiableError if that is nothing."""
        found = self._targets.get(id(schema))
        if found is None:
            stated = ((keyword, schema.get(keyword)) for keyword in REFERENCES)
            found = tuple(self._find_target(schema, name, keyword) for keyword, name in stated if isinstance(name, str))
            if id(schema) in self.pointers:
                self._targets[id(schema)] = found
        return found

    def find_dangling_reference(self) -> UnsatisfiableError | None:
        for schema in self.schemas:
            try:
                self.find_targets(schema)
            except UnsatisfiableError as error:
                return error
        return None

    def resolve_exclusions(self) -> Json:
        """Return the schema in the library's canonical form; None if writing that may take too long."""
        lists = (_get_list(each, keyword) for each in self.schemas for keyword in ("anyOf", "oneOf"))
        choices = [len(each) for each in lists if each]
        if (
            self.values > _MAX_RESOLVED
            or max(choices, default=0) > _MAX_OPTIONS
            or prod(choices) > _MAX_WRITTEN_COMBINATIONS
        ):
            return None
        return write_canonical(self.root)

    def _find_target(self, schema: Schema, reference: str, keyword: str) -> Json:
        found = self._find(schema, reference, keyword)
        anchor = found.get("$dynamicAnchor") if isinstance(found, Mapping) else None
        if keyword == "$dynamicRef" and isinstance(anchor, str):
            return self._dynamic.get(anchor, [found])[0]  # the outermost
        return found

    def _find(self, schema: Schema, reference: str, keyword: str) -> Json:
        place = f"{self.find_pointer(schema)}/{keyword}"
        uri, _, fragment = _resolve(self._bases.get(id(schema), ""), reference, place).partition("#")
        fragment = unquote(fragment)
        if uri.startswith(_META_SCHEMAS):
            return _ANY_SCHEMA
        if uri not in self._named:
            raise UnsatisfiableError(f"{reference!r} refers to another document, and nothing is fetched", place)
        if fragment and not fragment.startswith("/"):
            uri = f"{uri}#{fragment}"
            fragment = ""
        try:
            return _follow_pointer(self._named[uri], fragment)
        except LookupError:
            raise UnsatisfiableError(f"{reference!r} refers to nothing", place) from None

    def _read(self) -> None:
        """Visit everything in order: references may lead anywhere."""
        left: list[tuple[Json, str, str, int]] = [(self.root, "#", "", 0)]
        while left:
            here, pointer, base, depth = left.pop()
            if depth > _MAX_DEPTH:
                raise UnsatisfiableError(f"it is nested more than {_MAX_DEPTH} levels deep", _shorten(pointer))
            self.values += 1 + len(here) if isinstance(here, Mapping | list) else 1
            _check_count(self.values, _MAX_VALUES, what="values", pointer=pointer)
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
        self.schemas.append(schema)
        if not (self.ignores_siblings_of_ref and "$ref" in schema):
            base = self._add_names(schema, pointer, base)
        self._bases[id(schema)] = base
        self.references += any(isinstance(schema.get(keyword), str) for keyword in REFERENCES)
        self._count(schema, pointer)
        return base

    def _count(self, schema: Schema, pointer: str) -> None:
        required = schema.get("required")
        patterns = schema.get("patternProperties")
        stated = [schema.get("pattern"), *(patterns if isinstance(patterns, Mapping) else ())]
        fresh = {pattern for pattern in stated if isinstance(pattern, str)} - self._patterns
        self._patterns |= fresh  # each is compiled once
        self.pattern_work += sum(map(estimate_pattern_work, fresh))
        _check_count(len(self.schemas), _MAX_PARTS, what="parts", pointer=pointer)
        _check_count(self.references, _MAX_REFERENCES, what="references", pointer=pointer)
        _check_count(
            len(required) if isinstance(required, list) else 0,
            MAX_PROPERTIES,
            what="required properties",
            pointer=pointer,
        )
        if self.pattern_work > MAX_PATTERN_WORK:
            raise UnsatisfiableError(
                "its patterns repeat too much to be compiled; give them lower counts", _shorten(pointer)
            )

    def _add_names(self, schema: Schema, pointer: str, base: str) -> str:
        name = schema.get("id" if "/draft-04" in self.draft else "$id")
        if isinstance(name, str) and name and not name.startswith("#"):
            base = _resolve(base, name, pointer).removesuffix("#")
            self._named.setdefault(base, schema)
        anchors = [f"#{schema[keyword]}" for keyword in ("$anchor", "$dynamicAnchor") if keyword in schema]
        for anchor in (*anchors, name):
            if isinstance(anchor, str) and anchor.startswith("#"):
                self._named.setdefault(base + anchor, schema)
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


def _check_count(count: int, most: int, what: str, pointer: str) -> None:
    if count > most:
        raise UnsatisfiableError(f"it has more than {most:,} {what}", _shorten(pointer))


def _shorten(pointer: str) -> str:
    return pointer if len(pointer) <= _MAX_POINTER else pointer[:_MAX_POINTER].rpartition("/")[0] + "/..."


_MAX_DEPTH = 250  # levels of the document; the validator's compiler goes about as deep
_MAX_POINTER = 200  # characters in messages
_MAX_REFERENCES = 5_000
_MAX_PARTS = 20_000
_MAX_VALUES = 200_000
MAX_PROPERTIES = 2_000  # of one object
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Of a schema that is written out: values, options of one alternative, and ways to combine all of them.
_MAX_RESOLVED = 2_000
_MAX_OPTIONS = 40
_MAX_WRITTEN_COMBINATIONS = 4_096
_META_SCHEMAS = ("http://json-schema.org/draft", "https://json-schema.org/draft", "http://json-schema.org/schema")
_ANY_SCHEMA: Schema = {"type": "object"}  # an empty schema is one that every meta-schema allows


class MinDepths:
    """How deep the smallest instances of a document's schemas are nested: the least fixed point, which is exact."""

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document
        self._known: dict[int, float] = dict.fromkeys(map(id, document.schemas), inf)
        changed = True
        steps = _MAX_DEPTH_STEPS
        while changed and steps > 0:
            steps -= document.values
            changed = False
            for schema in reversed(document.schemas):  # what a schema contains comes after it, definitions mostly too
                depth = self._measure_schema(schema)
                if depth < self._known[id(schema)]:
                    self._known[id(schema)] = depth
                    changed = document.references > 0
        if changed:  # too large to know all: what has no depth yet may end after all
            self._known = {key: 0 if depth == inf else depth for key, depth in self._known.items()}

    def find(self, schema: Json) -> float:
        """Return how deep the values of a schema must be nested: 0 for a plain value, 1 for an object or array of such.

        It is infinite if no instance ever ends.
        """
        if not isinstance(schema, Mapping):
            return inf if schema is False else 0
        return self._known.get(id(schema), 1)  # a meta-schema is not a part of it

    def _measure_schema(self, schema: Schema) -> float:
        if "const" in schema or "enum" in schema:
            return 0
        try:
            targets = self._document.find_targets(schema)
        except UnsatisfiableError:
            return inf
        whole = max(map(self.find, (*targets, *_get_list(schema, "allOf"))), default=0)
        for keyword in ("anyOf", "oneOf"):
            whole = max(whole, min(map(self.find, _get_list(schema, keyword)), default=0))
        if _may_be_plain(schema):
            return whole
        within = 1 + max(map(self.find, _find_required_within(schema)), default=0)
        return max(whole, within if "type" in schema else min(within, _DEPTH_WITHOUT_TYPE))


def _get_list(schema: Schema, keyword: str) -> list[Json]:
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def _find_required_within(schema: Schema) -> Iterator[Json]:
    properties = schema.get("properties")
    for name in _get_list(schema, "required"):
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


# Validation


class SchemaValidator:
    """Says whether a schema, or a part of it, allows a value. Raises UnsatisfiableError if the schema is invalid.

    `formats`: whether to check them; None: as the draft of the schema demands.
    """

    def __init__(self, document: SchemaDocument, *, formats: bool | None = True) -> None:
        self.document = document
        self.formats = formats
        self.cost = ValidationCost(document)
        self.cost.check_compiling()
        self.whole = _compile_whole(document, formats=formats)
        self._parts: dict[str, Any] = {}  # by JSON pointer

    @lazy_property
    def is_cheap(self) -> bool:
        """Whether validating takes few steps on each value, however deep it is nested."""
        before: float = -1
        for depth in range(_DEEP):
            cost = self.cost.estimate(self.document.root, depth)
            if cost > _FEW_TRIED:
                return False
            if cost == before:  # nothing is tried at this level, and so nothing below it
                return True
            before = cost
        return True

    def estimate_cost(self, depth: int, size: int) -> float:
        """Return an upper bound of the schemas that are tried to validate a value of this depth and size."""
        costs = [self.cost.estimate(self.document.root, each) for each in range(depth + 1)]  # whatever came before
        return size * costs[-1]

    def allows(self, schema: Json, value: Json) -> bool:
        """Return whether a part of the schema allows a value, at a cost; True where only the whole schema can tell."""
        if isinstance(schema, bool) or not schema:
            return schema is not False
        pointer = self.document.pointers.get(id(schema))
        if pointer is None:
            return True
        if pointer not in self._parts:
            self._parts[pointer] = self._compile_part(pointer)
        validator = self._parts[pointer]
        return validator is None or bool(validator.is_valid(value))

    def _compile_part(self, pointer: str) -> Any:
        reference = {"$ref": f"{_HERE}#{quote(pointer[1:], safe='/~$')}"}
        try:
            return compile_validator(reference, formats=self.formats, registry=self._registry)
        except InvalidSchemaError:
            return None

    @lazy_property
    def _registry(self) -> Any:
        return make_registry(_HERE, self.document.root)


def _compile_whole(document: SchemaDocument, *, formats: bool | None) -> Any:
    try:
        return compile_validator(document.root, formats=formats)
    except InvalidSchemaError as error:
        dangling = document.find_dangling_reference() if error.pointer == "#" else None
        raise dangling or UnsatisfiableError(error.why, error.pointer) from None


_DEEP = 41  # levels of any value that is generated
_FEW_TRIED = 300  # schemas tried on each value within it
MAX_COST = 5_000_000  # schemas tried: some 80 ms
_MAX_COMPILING = 10_000  # schemas written out: some 100 ms
_HERE = "mockserver:///schema"  # ids that are relative are resolved against it


def measure_depth_and_size(value: Json) -> tuple[int, int]:
    """Return how many levels a value has, and of how many values it consists."""
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
            self._known[key] = 1 + sum(self._list_costs_within(schema, depth, level + 1))
        return self._known[key]

    def check_compiling(self) -> None:
        """Raise UnsatisfiableError if the compiler would take too long."""
        if self.estimate_compiling() > _MAX_COMPILING and self.document.find_dangling_reference() is None:
            raise UnsatisfiableError("it has too many alternatives for its unevaluated properties or items", "#")

    def estimate_compiling(self) -> float:
        """Estimate what unevaluated properties and items cost the compiler: it writes out all that references reach."""
        unevaluated = (schema for schema in self.document.schemas if not _UNEVALUATED.isdisjoint(schema))
        return sum(self.estimate(schema, 1) for schema in unevaluated)

    def _list_costs_within(self, schema: Schema, depth: int, level: int) -> Iterator[float]:
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
    "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "properties", "patternProperties",
    "additionalProperties", "unevaluatedProperties", "propertyNames",
))  # fmt: skip
_BY_NAME = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
_NEVER_APPLIED = frozenset(("$defs", "definitions", "const", "default", "examples", "required"))
