"""Compiles the validators of JSON Schemas. Nothing is fetched, and patterns backtrack only so far."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily


class InvalidSchemaError(ValueError):
    """A schema that cannot be compiled: `why`, as a sentence without its end, and the JSON pointer into the schema."""

    def __init__(self, why: str, pointer: str = "#") -> None:
        super().__init__(why, pointer)
        self.why = why
        self.pointer = pointer


def compile_validator(schema: Json, *, formats: bool | None = None, registry: Any = None) -> Any:
    """Return a validator of jsonschema_rs. Raises InvalidSchemaError.

    `formats`: whether to check them; None: as the draft of the schema demands. `registry`, as `make_registry` makes it,
    has the documents that references lead to.
    """
    from jsonschema_rs import ValidationError, validator_for  # slow to import, and only schemas need it

    try:
        return validator_for(
            _make_readable(schema),
            retriever=_refuse_to_fetch,
            registry=registry,
            validate_formats=formats,
            pattern_options=_make_pattern_options(),
        )
    except ValidationError as error:
        raise InvalidSchemaError(_take_first_line(error), f"#{make_pointer(error.instance_path)}") from None
    except ValueError as error:
        raise InvalidSchemaError(_take_first_line(error)) from None


def make_registry(uri: str, schema: Json) -> Any:
    """Return a registry with one document. Raises InvalidSchemaError where an id of it is no URI."""
    from jsonschema_rs import Registry

    try:
        return Registry([(uri, _make_readable(schema))], retriever=_refuse_to_fetch)
    except ValueError as error:
        raise InvalidSchemaError(_take_first_line(error)) from None


def write_canonical(schema: Json) -> Json:
    """Return a schema, whose formats are checked, in the library's canonical form; None if it has none."""
    from jsonschema_rs import canonicalize

    try:
        return canonicalize(
            _make_readable(schema),
            retriever=_refuse_to_fetch,
            validate_formats=True,
            pattern_options=_make_pattern_options(),
        ).to_json_schema()
    except ValueError:  # ValidationError is one
        return None


def escape(step: object) -> str:
    """Return a key as a step of a JSON pointer."""
    return str(step).replace("~", "~0").replace("/", "~1")


def make_pointer(steps: Iterable[str | int]) -> str:
    """Return the JSON pointer of these keys and indexes: `/items/0`."""
    return "".join(f"/{escape(step)}" for step in steps)


@cache
def _make_pattern_options() -> Any:
    from jsonschema_rs import FancyRegexOptions

    return FancyRegexOptions(backtrack_limit=_MAX_BACKTRACKS)


def _refuse_to_fetch(uri: str) -> Json:
    raise ValueError(f"{uri} is not part of this schema, and nothing is fetched")


def _make_readable(schema: Json) -> Json:
    """Return the schema as the library reads it: ids and references escaped as URIs, without an unknown `$schema`."""
    schema = _escape_references(schema)
    stated = schema.get("$schema") if isinstance(schema, Mapping) else None
    if not isinstance(stated, str) or "//json-schema.org/draft" in stated:
        return schema
    return {key: value for key, value in schema.items() if key != "$schema"}


def _escape_references(schema: Json, *, named: bool = False) -> Json:
    """`named`: its keys are names of schemas, and not keywords."""
    if isinstance(schema, list):
        return list(map(_escape_references, schema))
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _escape_reference(key, value)
        if not named and (isinstance(value, str) or key in _DATA)
        else _escape_references(value, named=key in _KEYWORDS_WITH_NAMES and not named)
        for key, value in schema.items()
    }


def _escape_reference(key: str, value: Json) -> Json:
    if key not in _URIS or not isinstance(value, str):
        return value
    return quote(_PERCENT.sub("%25", value), safe="/~$#%:?&=+,;@!'()*")


def _take_first_line(error: Exception) -> str:
    line = str(error).splitlines()[0].removesuffix(".")
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE // 2]}...{line[-_MAX_LINE // 2 :]}"


_MAX_BACKTRACKS = 100_000  # some 15 ms
_MAX_LINE = 240
_DATA = frozenset(("enum", "const", "default", "example", "examples"))  # keywords whose values are not schemas
_KEYWORDS_WITH_NAMES = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
)
_URIS = ("$ref", "$id", "id")
_PERCENT = compile_lazily("%(?![0-9A-Fa-f]{2})")
