"""Schemas compiled once and kept for the requests that repeat them, with validators for the whole and for its parts."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from threading import local
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.model.schema.document import (
    MinDepths,
    SchemaDocument,
    UnsatisfiableError,
    ValidationCost,
    depth_and_size,
    escape,
)


@dataclass(slots=True)
class CompiledSchema:
    """A valid schema."""

    document: SchemaDocument
    validator: Any
    min_depths: MinDepths
    memory: dict[Any, Any] = field(default_factory=dict)  # what generating instances found out about its parts
    _cost: ValidationCost = field(init=False)
    _part_validators: dict[str, Any] = field(default_factory=dict)
    _registry: Any = None

    def __post_init__(self) -> None:
        self._cost = ValidationCost(self.document.targets)

    def affordable(self, value: Json) -> bool:
        """Whether validating a value does not block the server."""
        depth, size = depth_and_size(value)
        return size * self._cost.of(self.document.root, depth) <= _MAX_COST

    def allows(self, schema: Json, value: Json) -> bool:
        """Whether a part of the schema allows a value; True where only the whole schema can tell."""
        if isinstance(schema, bool) or not schema:
            return schema is not False
        pointer = self.document.pointers.get(id(schema))
        if pointer is None:
            inner = schema.get("not")
            return id(inner) not in self.document.pointers or not self.allows(inner, value)
        if pointer not in self._part_validators:
            self._part_validators[pointer] = self._part_validator(pointer)
        validator = self._part_validators[pointer]
        return validator is None or (self.affordable(value) and bool(validator.is_valid(value)))

    def _part_validator(self, pointer: str) -> Any:
        from jsonschema_rs import Registry, ValidationError, validator_for  # slow to import; only schemas need it

        try:
            if self._registry is None:
                self._registry = Registry([(_HERE, _readable(self.document.root))], retriever=_refuse_to_fetch)
            uri = f"{_HERE}#{quote(pointer[1:], safe='/~$')}"
            return validator_for({"$ref": uri}, registry=self._registry, validate_formats=True)
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
        document = SchemaDocument(schema)
        cached[key] = found = CompiledSchema(document, _validator(document), MinDepths(document))
        while len(cached) > 1 and (len(cached) > _MAX_CACHED or sum(map(len, cached)) > _MAX_CACHED_BYTES):
            cached.popitem(last=False)
    else:
        cached.move_to_end(key)
    return found


def text_validator(constraints: Mapping[str, Json]) -> Any:
    """A validator of keywords for strings. Raises ValueError."""
    return _text_validator(to_json(constraints))


@lru_cache(maxsize=512)
def _text_validator(constraints: bytes) -> Any:
    from jsonschema_rs import validator_for  # slow to import, and only schemas need it

    return validator_for(constraints.decode(), validate_formats=True)


def matches(pattern: str, text: str) -> bool:
    """Whether the validator finds the pattern in the text; False for a pattern that it cannot read."""
    validator = _pattern_validator(pattern)
    return validator is not None and bool(validator.is_valid(text))


@lru_cache(maxsize=4096)
def _pattern_validator(pattern: str) -> Any:
    try:
        return text_validator({"pattern": pattern})
    except ValueError:
        return None


def _validator(document: SchemaDocument) -> Any:
    from jsonschema_rs import ValidationError, validator_for  # slow to import, and only schemas need it

    try:
        return validator_for(_readable(document.root), retriever=_refuse_to_fetch, validate_formats=True)
    except ValidationError as error:
        steps = "".join(f"/{escape(step)}" for step in error.instance_path)
        dangling = None if steps else document.dangling_reference()
        raise dangling or UnsatisfiableError(_first_line(error), f"#{steps}") from None
    except ValueError as error:
        raise UnsatisfiableError(_first_line(error), "#") from None


def _readable(schema: Json) -> Json:
    """The schema as the validator reads it: with references escaped as URIs, and without an unknown `$schema`."""
    schema = _with_escaped_references(schema)
    stated = schema.get("$schema") if isinstance(schema, Mapping) else None
    if not isinstance(stated, str) or "//json-schema.org/draft" in stated:
        return schema
    return {key: value for key, value in schema.items() if key != "$schema"}


def _with_escaped_references(schema: Json) -> Json:
    if isinstance(schema, Mapping):
        return {
            key: quote(value, safe="/~$#%:?&=+,;@!'()*")
            if key == "$ref" and isinstance(value, str)
            else _with_escaped_references(value)
            for key, value in schema.items()
        }
    return list(map(_with_escaped_references, schema)) if isinstance(schema, list) else schema


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
_MAX_COST = 5_000_000  # schemas tried: about half a second
_MAX_LINE = 240
_HERE = "mockserver:schema"
