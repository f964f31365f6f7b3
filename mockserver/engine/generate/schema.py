"""Makes an instance of a JSON Schema: plausible by the names of properties, and checked against the schema itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any
from urllib.parse import unquote

from mockserver.core.call import Json
from mockserver.core.plan import Failure
from mockserver.core.seed import Random, Seed
from mockserver.engine.generate.effort import effort, references
from mockserver.engine.generate.prompt import NOTHING, Mentions
from mockserver.engine.generate.scalars import SCALARS, DeadEndError


def instance(schema: Json, seed: Seed, said: Mentions = NOTHING) -> Json:
    """A value that the schema allows: what was said first. Raises Failure where it is broken or nothing is found."""
    rng = seed.stream("instance")
    schema = True if schema is None else schema
    try:
        validator = _validator(schema)
    except ValueError as error:
        raise Failure("bad_parameter", f"The JSON schema is not valid: {str(error).splitlines()[0]}") from None
    for variant in range(_VARIANTS):
        try:
            made = _Maker(schema, rng, variant).make(schema)
        except (DeadEndError, OverflowError):
            continue
        if effort(schema, made, partial(_target, schema)) <= _MOST_EFFORT and validator.is_valid(made):
            return made
    raise Failure("bad_parameter", "The JSON schema cannot be satisfied: no value was found that it allows.")


def flaw(schema: Json) -> str | None:
    """What is wrong with a schema, if something is."""
    try:
        _validator(schema)
    except ValueError as error:
        return str(error).splitlines()[0]
    return None


def _validator(schema: Json) -> Any:
    """What holds values against a schema. Raises ValueError."""
    import jsonschema_rs  # slow to import, and only schemas need it

    if references(schema) > _MOST_REFERENCES:
        raise ValueError(f"it has more than {_MOST_REFERENCES:,} references")
    return jsonschema_rs.validator_for(schema, retriever=_nothing_remote, validate_formats=True)


def _nothing_remote(uri: str) -> Json:
    raise ValueError(f"{uri} is not fetched")


@dataclass(slots=True)
class _Maker:
    """Makes one instance. A later variant takes other alternatives, and no default or example."""

    root: Json
    rng: Random
    variant: int
    left: int = 2_000  # values that may still be made

    def make(self, schema: Json, name: str = "", depth: int = 0) -> Json:
        """A value; `name` is that of the property it is for."""
        self.left -= 1
        if self.left < 0 or depth > _DEEPEST or schema is False:
            raise DeadEndError
        schema = self._resolved({} if schema is True else schema)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._alternative(schema, key, name, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._one_of(schema["enum"])
        if self.variant == 0 and ("default" in schema or schema.get("examples")):
            return schema["default"] if "default" in schema else schema["examples"][0]
        kind = self._type(schema, depth)
        if kind in ("object", "array"):
            return self._object(schema, depth) if kind == "object" else self._array(schema, name, depth)
        return SCALARS[kind](schema, name, self.rng)

    def _one_of(self, values: Sequence[Json]) -> Json:
        if not values:
            raise DeadEndError
        return self.rng.choice(values)

    def _resolved(self, schema: Mapping[str, Json]) -> Mapping[str, Json]:
        """The schema with its `$ref` and `allOf` merged into it."""
        for _ in range(_DEEPEST):
            parts = [*schema.get("allOf", ())]
            if "$ref" in schema:
                parts.append(_referred(self.root, schema["$ref"]))
            if not parts:
                return schema
            bare = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
            schema = reduce(_merged, parts, bare)
        raise DeadEndError

    def _alternative(self, schema: Mapping[str, Json], key: str, name: str, depth: int) -> Json:
        """The first alternative that works; deep down, those that lead no deeper come first."""
        bare = {other: value for other, value in schema.items() if other != key}
        turn = self.variant % len(schema[key])
        options = schema[key][turn:] + schema[key][:turn]
        if depth > _DEEP:
            options = sorted(options, key=_leads_deeper)
        for option in options:
            try:
                return self.make(_merged(bare, option), name, depth + 1)
            except DeadEndError:
                continue
        raise DeadEndError

    def _type(self, schema: Mapping[str, Json], depth: int) -> str:
        stated = schema.get("type") or next((kind for key, kind in _HINTS.items() if key in schema), "string")
        kinds = [stated] if isinstance(stated, str) else sorted(stated, key=lambda kind: kind == "null")
        return str(kinds[-1] if depth > _DEEP else kinds[self.variant % len(kinds)])

    def _object(self, schema: Mapping[str, Json], depth: int) -> Json:
        required, further = schema.get("required", ()), schema.get("additionalProperties", True)
        properties = dict(schema.get("properties", {}))
        properties |= {name: further for name in required if name not in properties}
        asked = [name for name in properties if name in required or self._extra(depth)]
        more = schema.get("minProperties", 0) - len(asked)
        asked += [name for name in properties if name not in asked][: max(0, more)]
        return {name: self.make(properties[name], name, depth + 1) for name in asked}

    def _extra(self, depth: int) -> bool:
        return depth <= _DEEP and self.variant < _VARIANTS - 1 and self.rng.random() < 0.8

    def _array(self, schema: Mapping[str, Json], name: str, depth: int) -> Json:
        items, least = schema.get("items", True), schema.get("minItems", 0)
        first = schema.get("prefixItems", items if isinstance(items, list) else [])  # a list before draft 2020-12
        further = True if isinstance(items, list) else items
        natural = max(least, len(first)) + (self.rng.randrange(1, 4) if self._extra(depth) and not first else 0)
        length = min(natural, schema.get("maxItems", natural))
        made: list[Json] = []
        for at in range(length * (4 if schema.get("uniqueItems") else 1)):
            value = self.make(first[at] if at < len(first) else further, name, depth + 1)
            if len(made) < length and not (schema.get("uniqueItems") and value in made):
                made.append(value)
        return made


def _referred(root: Json, pointer: str) -> Json:
    try:
        return _target(root, pointer)
    except LookupError:
        raise DeadEndError from None


def _target(root: Json, pointer: str) -> Json:
    """What a local reference refers to. Raises LookupError."""
    found = root
    for step in unquote(pointer).split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(step) if isinstance(found, list) else step]
        except (TypeError, ValueError):
            raise LookupError(pointer) from None
    return found


def _leads_deeper(schema: Json) -> bool:
    return isinstance(schema, Mapping) and bool({"$ref", "properties", "items"} & set(schema))


def _merged(one: Mapping[str, Json], other: Json) -> Mapping[str, Json]:
    if other is True:
        return one
    if not isinstance(other, Mapping):
        raise DeadEndError
    both = {**one, **other}
    if "properties" in one and "properties" in other:
        both["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        both["required"] = [*one["required"], *other["required"]]
    return both


# Keywords that tell the type where it is not stated.
_HINTS: dict[str, str] = {
    **dict.fromkeys(("properties", "required", "additionalProperties"), "object"),
    **dict.fromkeys(("items", "prefixItems", "minItems"), "array"),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), "number"),
}

_VARIANTS = 4
_MOST_REFERENCES = 5_000
_MOST_EFFORT = 5_000_000  # schemas tried: about half a second
_DEEP, _DEEPEST = 4, 32  # from where on nothing optional is made; where making ends
