"""Schemas made ready once and kept for the requests that bring them again: what holds values against them.

Knows the validator and its ways to complain, not how instances are made.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from threading import local
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.model.schema.document import DeadEndError, Document, Effort, Heights, extent, pairs


@dataclass(slots=True)
class Compiled:
    """A schema that was found sound."""

    document: Document
    validator: Any
    heights: Heights
    memory: dict[Any, Any] = field(default_factory=dict)  # what those who make instances found out about its parts
    _effort: Effort = field(init=False)
    _efforts: dict[int, float] = field(default_factory=dict)
    _parts: dict[str, Any] = field(default_factory=dict)
    _registry: Any = None

    def __post_init__(self) -> None:
        self._effort = Effort(self.document.targets)

    def affordable(self, value: Json) -> bool:
        """Whether a value can be held against the schema without stopping the server."""
        deep, wide = extent(value)
        if deep not in self._efforts:
            self._efforts[deep] = self._effort.of(self.document.root, deep)
        if wide * self._efforts[deep] <= _MOST_EFFORT:
            return True
        return pairs(self.document.root, value, self.document.targets) <= _MOST_EFFORT

    def allows(self, schema: Json, value: Json) -> bool:
        """Whether a part of the schema allows a value; what cannot be told is left to the check of the whole."""
        if isinstance(schema, bool) or not schema:
            return schema is not False
        pointer = self.document.pointers.get(id(schema))
        if pointer is None:
            return True
        if pointer not in self._parts:
            self._parts[pointer] = self._part(pointer)
        validator = self._parts[pointer]
        return validator is None or (self.affordable(value) and bool(validator.is_valid(value)))

    def _part(self, pointer: str) -> Any:
        from jsonschema_rs import Registry, ValidationError, validator_for  # slow to import; only schemas need it

        try:
            if self._registry is None:
                self._registry = Registry([(_HERE, _readable(self.document.root))], retriever=_nothing_remote)
            uri = _HERE + "#" + _quoted(pointer[1:])
            return validator_for({"$ref": uri}, registry=self._registry, validate_formats=True)
        except (ValidationError, ValueError):
            return None


def compiled(schema: Json) -> Compiled:
    """The schema made ready. Raises DeadEndError where it is broken, naming the place."""
    try:
        key = to_json(schema, inf_nan_mode="constants")
    except ValueError:
        Document(schema)  # knows the place where it is nested too deeply
        raise DeadEndError("it is no JSON", "#") from None
    kept = _KEPT.schemas
    found = kept.get(key)
    if found is None:
        kept[key] = found = _made_ready(schema)
        _make_room(kept)
    else:
        kept.move_to_end(key)
    return found


def text_validator(constraints: Mapping[str, Json]) -> Any:
    """What holds texts against a few keywords for strings. Raises ValueError."""
    return _text_validator(to_json(constraints))


def matches(pattern: str, text: str) -> bool:
    """Whether the validator finds the pattern in the text; a pattern that it cannot read is nowhere."""
    validator = _pattern_validator(pattern)
    return validator is not None and bool(validator.is_valid(text))


@lru_cache(maxsize=4096)
def _pattern_validator(pattern: str) -> Any:
    try:
        return text_validator({"pattern": pattern})
    except ValueError:
        return None


@lru_cache(maxsize=512)
def _text_validator(constraints: bytes) -> Any:
    from jsonschema_rs import validator_for  # slow to import, and only schemas need it

    return validator_for(constraints.decode(), validate_formats=True)


def _made_ready(schema: Json) -> Compiled:
    document = Document(schema)
    return Compiled(document, _validator(document), Heights(document))


def _validator(document: Document) -> Any:
    from jsonschema_rs import ValidationError, validator_for  # slow to import, and only schemas need it

    try:
        return validator_for(_readable(document.root), retriever=_nothing_remote, validate_formats=True)
    except ValidationError as error:
        steps = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in error.instance_path)
        dangling = None if steps else document.dangling()
        raise dangling or DeadEndError(_first_line(error), f"#{steps}") from None
    except ValueError as error:
        raise DeadEndError(_first_line(error), "#") from None


def _readable(schema: Json) -> Json:
    """The schema as the validator reads it: references with signs that a URI escapes are common, and meant."""
    if any(sign in reference for reference in _references(schema) for sign in _UNESCAPED):
        schema = _with_escaped(schema)
    return _of_known_draft(schema)


def _references(schema: Json) -> Iterator[str]:
    left = [schema]
    while left:
        here = left.pop()
        if isinstance(here, Mapping):
            if isinstance(here.get("$ref"), str):
                yield here["$ref"]
            left += here.values()
        elif isinstance(here, list):
            left += here


def _with_escaped(schema: Json) -> Json:
    """A copy with its references escaped; what is nested more deeply than that can be was refused before."""
    if isinstance(schema, Mapping):
        return {
            key: quote(value, safe="/~$#%:?&=+,;@!'()*")
            if key == "$ref" and isinstance(value, str)
            else _with_escaped(value)
            for key, value in schema.items()
        }
    return list(map(_with_escaped, schema)) if isinstance(schema, list) else schema


def _of_known_draft(schema: Json) -> Json:
    """The schema without a `$schema` that names no draft: its publisher's own, which is not fetched."""
    stated = schema.get("$schema") if isinstance(schema, Mapping) else None
    if not isinstance(stated, str) or "//json-schema.org/draft" in stated:
        return schema
    return {key: value for key, value in schema.items() if key != "$schema"}


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0].removesuffix(".")
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE // 2]}...{line[-_LONGEST_LINE // 2 :]}"


def _nothing_remote(uri: str) -> Json:
    raise ValueError(f"{uri} is not fetched")


def _quoted(pointer: str) -> str:
    return quote(pointer, safe="/~$")


def _make_room(kept: OrderedDict[bytes, Compiled]) -> None:
    """Forget the schemas that were not asked for longest."""
    while len(kept) > 1 and (len(kept) > _MOST_KEPT or sum(map(len, kept)) > _MOST_BYTES):
        kept.popitem(last=False)


class _Kept(local):
    """The schemas that a thread keeps: what is found out about one is written down in it while it is used."""

    def __init__(self) -> None:
        self.schemas: OrderedDict[bytes, Compiled] = OrderedDict()


_KEPT = _Kept()
_MOST_KEPT = 128
_MOST_BYTES = 1_000_000  # of schemas that are kept
_MOST_EFFORT = 5_000_000  # schemas tried: about half a second
_LONGEST_LINE = 240
_UNESCAPED = frozenset('<>[]{}"|\\^` ')
_HERE = "mockserver:schema"
