"""Schemas as documents: compiled and validated, where their parts are, and what instances and validating cost.

Nothing is ever fetched. Knows how schemas name and contain each other, not what other keywords mean.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from math import inf
from threading import local
from typing import Any
from urllib.parse import quote, unquote, urljoin

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.core.pattern_size import estimate_size

Schema = Mapping[str, Json]


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


class SchemaDocument(Struct):
    """A schema and its parts. Raises UnsatisfiableError, which names the limit, if it is too deep or too large."""

    root: Json
    pointers: dict[int, str] = {}  # by the identity of each part
    _bases: dict[int, str] = {}
    _named: dict[str, Schema] = {}  # by URI and anchor
    _dynamic: dict[str, list[Schema]] = {}
    schemas: list[Schema] = []  # every object in it, in order
    _targets: dict[int, tuple[Json, ...]] = {}  # by the identity of each part
    references: int = 0  # how many there are
    values: int = 0  # of any kind, at any depth
    pattern_work: int = 0  # of compiling all patterns, as `pattern_work` estimates it
    _patterns: set[str] = set()

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
        return self.pointers.get(id(schema), "#")

    def targets(self, schema: Schema) -> tuple[Json, ...]:
        """What the references of a schema lead to. Raises UnsatisfiableError if that is nothing."""
        found = self._targets.get(id(schema))
        if found is None:
            stated = ((keyword, schema.get(keyword)) for keyword in _REFERENCES)
            found = tuple(self._target(schema, name, keyword) for keyword, name in stated if isinstance(name, str))
            if id(schema) in self.pointers:
                self._targets[id(schema)] = found
        return found

    def dangling_reference(self) -> UnsatisfiableError | None:
        for schema in self.schemas:
            try:
                self.targets(schema)
            except UnsatisfiableError as error:
                return error
        return None

    def _target(self, schema: Schema, reference: str, keyword: str) -> Json:
        found = self._find(schema, reference, keyword)
        anchor = found.get("$dynamicAnchor") if isinstance(found, Mapping) else None
        if keyword == "$dynamicRef" and isinstance(anchor, str):
            return self._dynamic.get(anchor, [found])[0]  # the outermost
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

    def __post_init__(self) -> None:
        self._named[""] = self.root  # everything is visited in order: references may lead anywhere
        left: list[tuple[Json, str, str, int]] = [(self.root, "#", "", 0)]
        while left:
            here, pointer, base, depth = left.pop()
            if depth > _MAX_DEPTH:
                raise UnsatisfiableError(f"it is nested more than {_MAX_DEPTH} levels deep", _shorten(pointer))
            self.values += 1 + len(here) if isinstance(here, Mapping | list) else 1
            _check_count(self.values, _MAX_VALUES, "values", pointer)
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
        self.references += any(isinstance(schema.get(keyword), str) for keyword in _REFERENCES)
        self._count(schema, pointer)
        return base

    def _count(self, schema: Schema, pointer: str) -> None:
        required, patterns = schema.get("required"), schema.get("patternProperties")
        stated = [schema.get("pattern"), *(patterns if isinstance(patterns, Mapping) else ())]
        fresh = {pattern for pattern in stated if isinstance(pattern, str)} - self._patterns
        self._patterns |= fresh  # each is compiled once
        self.pattern_work += sum(map(pattern_work, fresh))
        _check_count(len(self.schemas), _MAX_PARTS, "parts", pointer)
        _check_count(self.references, _MAX_REFERENCES, "references", pointer)
        _check_count(len(required) if isinstance(required, list) else 0, MAX_PROPERTIES, "required properties", pointer)
        if self.pattern_work > _MAX_PATTERN_WORK:
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


@lru_cache(maxsize=1024)
def pattern_work(pattern: str) -> int:
    """About how many microseconds compiling a pattern takes; each keeps some 400 bytes of memory."""
    backtracks = _BACKTRACKS.search(pattern)
    if "\\p" in pattern.lower() or (backtracks and "\\w" in pattern.lower()):
        each = 250  # a class of Unicode's letters is written out for each repeat
    else:
        each = 50 if backtracks or _LARGE_CLASS.search(pattern) else 5
    return 50 + each * estimate_size(_UP_TO.sub(r"{\1}", pattern))


def _shorten(pointer: str) -> str:
    return pointer if len(pointer) <= _MAX_POINTER else pointer[:_MAX_POINTER].rpartition("/")[0] + "/..."


_MAX_DEPTH = 250  # levels of the document; the validator's compiler goes about as deep
_MAX_POINTER = 200  # characters in messages
_MAX_REFERENCES = 5_000
_MAX_PARTS, _MAX_VALUES = 20_000, 200_000
MAX_PROPERTIES = 2_000  # of one object
_MAX_PATTERN_WORK = 250_000
_BACKTRACKS = lazy_pattern(r"\(\?[=!<]|\\[1-9k]")
_LARGE_CLASS = lazy_pattern(r"\\[dDsS]|\[\^|\(\?i")
_UP_TO = lazy_pattern(r"\{\d*,(\d+)\}")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_META_SCHEMAS = ("http://json-schema.org/draft", "https://json-schema.org/draft", "http://json-schema.org/schema")
_ANY_SCHEMA: Schema = {"type": "object"}  # an empty schema is one that every meta-schema allows


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


class ValidationCost(Struct):
    """An upper bound of the schemas that validating tries, on each value of a given depth; infinite if unknown."""

    document: SchemaDocument
    _known: dict[tuple[int, int], float] = {}

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
            if name in _REFERENCES:
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


class CompiledSchema(Struct):
    document: SchemaDocument
    validator: Any
    min_depths: MinDepths
    cost: ValidationCost
    memory: dict[Any, Any] = {}  # what generating instances found out about its parts
    _part_validators: dict[str, Any] = {}
    _sizes: dict[int, int] | None = None  # by the identity of lists and objects
    _registry: Any = None

    def cost_of(self, depth: int, size: int) -> float:
        """An upper bound of the schemas that are tried to validate a value of this depth and size."""
        costs = [self.cost.of(self.document.root, each) for each in range(depth + 1)]  # whatever came before
        return size * costs[-1]

    def size_of(self, listed: Json) -> int:
        """The size of what `enum` or `const` of a part holds; only the length of other lists."""
        if self._sizes is None:
            stated = (part[keyword] for part in self.document.schemas for keyword in _LISTING if keyword in part)
            self._sizes = {id(value): depth_and_size(value)[1] for value in stated if isinstance(value, Mapping | list)}
        return self._sizes.get(id(listed)) or (len(listed) if isinstance(listed, list) else 1)

    def allows(self, schema: Json, value: Json) -> bool:
        """Whether a part of the schema allows a value, at a cost; True where only the whole schema can tell."""
        if isinstance(schema, bool) or not schema:
            return schema is not False
        pointer = self.document.pointers.get(id(schema))
        if pointer is None:
            inner = schema.get("not")
            return id(inner) not in self.document.pointers or not self.allows(inner, value)
        if pointer not in self._part_validators:
            self._part_validators[pointer] = self._part_validator(pointer)
        validator = self._part_validators[pointer]
        return validator is None or bool(validator.is_valid(value))

    def _part_validator(self, pointer: str) -> Any:
        from jsonschema_rs import Registry, ValidationError, validator_for  # slow to import; only schemas need it

        try:
            if self._registry is None:
                self._registry = Registry([(_HERE, _readable(self.document.root))], retriever=_refuse_to_fetch)
            uri = f"{_HERE}#{quote(pointer[1:], safe='/~$')}"
            return validator_for(
                {"$ref": uri}, registry=self._registry, validate_formats=True, pattern_options=pattern_options()
            )
        except (ValidationError, ValueError):
            return None


def compile_schema(schema: Json) -> CompiledSchema:
    """Raises UnsatisfiableError, with the place, if the schema is invalid."""
    try:
        key = to_json(schema, inf_nan_mode="constants")
    except ValueError:
        SchemaDocument(schema)  # raises, with the place, if it is nested too deeply
        raise UnsatisfiableError("it is no JSON", "#") from None
    cached = CACHE.schemas
    found = cached.get(key)
    if found is None:
        cached[key] = found = _compiled(SchemaDocument(schema))
        while len(cached) > 1 and (len(cached) > _MAX_CACHED or _weight_of(cached) > _MAX_CACHED_BYTES):
            cached.popitem(last=False)
    else:
        cached.move_to_end(key)
    return found


def _compiled(document: SchemaDocument) -> CompiledSchema:
    cost = ValidationCost(document)
    cost.check_compiling()
    return CompiledSchema(document, _validator(document), MinDepths(document), cost)


def _weight_of(cached: Mapping[bytes, CompiledSchema]) -> int:
    """Bytes of the schemas; their patterns count by the memory that they take."""
    return sum(len(key) + 8 * compiled.document.pattern_work for key, compiled in cached.items())


def text_validator(constraints: Mapping[str, Json]) -> Any:
    """A validator of keywords for strings; None if it cannot read them."""
    written = to_json(constraints)
    stated = (part.get("pattern") for part in constraints.get("allOf", (constraints,)))
    large = sum(pattern_work(pattern) for pattern in stated if isinstance(pattern, str)) > _LARGE_PATTERN
    return (_large_text_validator if large else _text_validator)(written)


@lru_cache(maxsize=1024)
def _text_validator(constraints: bytes) -> Any:
    from jsonschema_rs import validator_for  # slow to import, and only schemas need it

    try:
        return validator_for(constraints.decode(), validate_formats=True, pattern_options=pattern_options())
    except ValueError:
        return None


_large_text_validator = lru_cache(maxsize=4)(_text_validator.__wrapped__)


@cache
def pattern_options() -> Any:
    from jsonschema_rs import FancyRegexOptions  # slow to import, and only schemas need it

    return FancyRegexOptions(backtrack_limit=_MAX_BACKTRACKS)


def matches(pattern: str, text: str) -> bool:
    """Whether the validator finds the pattern in the text; False for a pattern that it cannot read."""
    validator = text_validator({"pattern": pattern})
    return validator is not None and bool(validator.is_valid(text))


def _validator(document: SchemaDocument) -> Any:
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
MAX_COST = 5_000_000  # schemas tried: some 80 ms
_MAX_COMPILING = 10_000  # schemas written out: some 100 ms
_MAX_BACKTRACKS = 100_000  # some 15 ms
_LARGE_PATTERN = 1_000
_LISTING = ("enum", "const")
_DATA = frozenset((*_LISTING, "default", "example", "examples"))  # keywords whose values are no schemas
_OF_NAMES = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
_URIS = ("$ref", "$id", "id")
_PERCENT = lazy_pattern("%(?![0-9A-Fa-f]{2})")
_MAX_LINE = 240
_HERE = "mockserver:schema"
