"""What several schemas that hold at once say together, asked keyword by keyword.

The schemas of one value stand side by side, as parts, and are never merged into one: so each keeps its own reach (which
properties it calls additional), and a reference is followed from where it stands. Knows no chance and makes no value.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from mockserver.core.json import Json
from mockserver.model.schema.compiled import matches
from mockserver.model.schema.document import DeadEndError, Document

Parts = tuple[Mapping[str, Json], ...]
KINDS = ("string", "number", "integer", "boolean", "object", "array", "null")
EXCLUDED = "not in"  # a keyword of our own: values that are not allowed


def flat(document: Document, schemas: Sequence[Json]) -> Parts:
    """Schemas with all that they refer to and are made of. Raises DeadEndError where nothing is allowed."""
    found: dict[int, Mapping[str, Json]] = {}
    left = list(reversed(schemas))
    while left:
        schema = left.pop()
        if schema is False:
            raise DeadEndError("nothing is allowed here")
        if schema is True or id(schema) in found:
            continue
        targets = [*document.targets(schema)]
        alone = document.old and targets
        found[id(schema)] = {key: schema[key] for key in _NOTES if key in schema} if alone else schema
        left += reversed(targets if alone else [*targets, *schema.get("allOf", ())])
    return tuple(part for part in found.values() if part)


def kinds(parts: Parts) -> tuple[str, ...]:
    """The types that all parts allow, those first that the first part names first; `integer` stands for itself."""
    allowed: Sequence[str] | None = None
    for part in parts:
        if "type" in part:
            stated = [part["type"]] if isinstance(part["type"], str) else part["type"]
            allowed = list(stated) if allowed is None else _both(allowed, stated)
    return tuple(KINDS if allowed is None else allowed)


def _both(one: Sequence[str], other: Sequence[str]) -> list[str]:
    found = [kind for kind in one if kind in other or (kind == "integer" and "number" in other)]
    if "number" in one and "integer" in other and "number" not in other and "integer" not in one:
        found.append("integer")
    return found


def hinted(parts: Parts) -> tuple[str, ...]:
    """The types that keywords tell where none is stated, most telling first."""
    keywords = {keyword for part in parts for keyword in part}
    found = [kind for kind, hints in _HINTS.items() if not keywords.isdisjoint(hints)]
    return (*found, *(kind for kind in KINDS if kind not in found))


def kind_of(value: Json) -> str:
    """The type of a value: `integer` for every whole number."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case Mapping():
            return "object"
    return "array"


def of_kind(value: Json, allowed: Sequence[str]) -> bool:
    """Whether a value is of one of these types."""
    kind = kind_of(value)
    return kind in allowed or (kind == "integer" and "number" in allowed)


def same(one: Json, other: Json) -> bool:
    """Whether two values are equal as JSON: 1 and 1.0 are, 1 and true are not."""
    return bool(identity(one) == identity(other))


def identity(value: Json) -> Json:
    """Something hashable that is equal for equal JSON values."""
    match value:
        case bool():
            return ("bool", value)
        case Mapping():
            return ("object", frozenset((key, identity(inner)) for key, inner in value.items()))
        case list() | tuple():
            return ("array", tuple(map(identity, value)))
    return value


def listed(parts: Parts) -> list[Json] | None:
    """The values that `const` and `enum` leave; None where all are free."""
    found: list[Json] | None = None
    for part in parts:
        for keyword in ("const", "enum"):
            if keyword in part:
                stated = part["enum"] if keyword == "enum" else [part["const"]]
                found = list(stated) if found is None else _shared(found, stated)
    if found is None:
        return None
    refused = {identity(value) for part in parts for value in part.get(EXCLUDED, ())}
    return [value for value in found if identity(value) not in refused]


def _shared(one: Sequence[Json], other: Sequence[Json]) -> list[Json]:
    keys = {identity(value) for value in other}
    return [value for value in one if identity(value) in keys]


def refused(parts: Parts, value: Json) -> bool:
    """Whether a value is one of those that are not allowed."""
    return any(same(value, other) for part in parts for other in part.get(EXCLUDED, ()))


def least(parts: Parts, keyword: str) -> int:
    """The greatest of the lower limits that parts set with a keyword for counts."""
    return max((int(part[keyword]) for part in parts if keyword in part), default=0)


def most(parts: Parts, keyword: str) -> int | None:
    """The smallest of the upper limits; None where there is none."""
    return min((int(part[keyword]) for part in parts if keyword in part), default=None)


def exact(number: Json) -> Fraction:
    """A number as it is written: 0.1 is a tenth."""
    return Fraction(repr(number) if isinstance(number, float) else number)


def stating(parts: Parts, *keywords: str) -> Iterator[Mapping[str, Json]]:
    """The parts that have one of the keywords."""
    return (part for part in parts if any(keyword in part for keyword in keywords))


def required(parts: Parts) -> tuple[str, ...]:
    """The names that an object must have, each once; in draft 4 and before a boolean says nothing here."""
    names = (name for part in parts if isinstance(part.get("required"), list) for name in part["required"])
    return tuple(dict.fromkeys(names))


def named(parts: Parts) -> tuple[str, ...]:
    """The names of properties that are spoken of, in the order of the schema."""
    return tuple(dict.fromkeys(name for part in parts for name in part.get("properties", ())))


def of_property(parts: Parts, name: str) -> tuple[Json, ...]:
    """All schemas for the property of this name."""
    found: list[Json] = []
    known = False
    for part in parts:
        own = _own(part, name)
        known = known or bool(own) or "additionalProperties" in part
        if not own and "additionalProperties" in part:
            own = [part["additionalProperties"]]
        found += own
    if not known:
        found += [part["unevaluatedProperties"] for part in parts if "unevaluatedProperties" in part]
    return tuple(found)


def _own(part: Mapping[str, Json], name: str) -> list[Json]:
    """The schemas that one part has for the name or for a pattern that it matches."""
    own = [part["properties"][name]] if name in part.get("properties", ()) else []
    own += [inner for pattern, inner in part.get("patternProperties", {}).items() if matches(pattern, name)]
    return own


def of_item(parts: Parts, at: int) -> tuple[Json, ...]:
    """All schemas for the item at this place of a list, in the spellings of all drafts."""
    found: list[Json] = []
    known = False
    for part in parts:
        items = part.get("items")
        first = part.get("prefixItems", items if isinstance(items, list) else ())
        further = part.get("additionalItems") if isinstance(items, list) else items
        if at < len(first):
            found.append(first[at])
        elif further is not None:
            found.append(further)
        known = known or at < len(first) or further is not None
    if not known:
        found += [part["unevaluatedItems"] for part in parts if "unevaluatedItems" in part]
    return tuple(found)


def tuple_length(parts: Parts) -> int:
    """How many items have schemas of their own."""
    return max((len(_first(part)) for part in parts), default=0)


def _first(part: Mapping[str, Json]) -> Sequence[Json]:
    items = part.get("items")
    found: Sequence[Json] = part.get("prefixItems", items if isinstance(items, list) else ())
    return found


# Keywords that tell the type where it is not stated.
_HINTS: dict[str, tuple[str, ...]] = {
    "object": (
        *("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
        *("maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"),
    ),
    "array": (
        *("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "additionalItems"),
        *("unevaluatedItems",),
    ),
    "string": ("pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_NOTES = ("title", "description", "default", "examples")


Ways = list[tuple[Json, ...]]


def opposites(schema: Mapping[str, Json]) -> Ways:
    """Ways to break a schema, references resolved: any one, as schemas that then hold together, does.

    What has no opposite in words (a pattern, a format) is left to the check of the whole: nothing is demanded for it.
    """
    ways: Ways = []
    for keyword, opposite in _OPPOSITES.items():
        if keyword in schema:
            ways += opposite(schema[keyword], schema)
    if not ways and any(keyword not in _NEGATION_NOTES for keyword in schema):
        ways.append(())
    return ways


def _not_of_type(stated: Json, schema: Mapping[str, Json]) -> Ways:
    refused = [stated] if isinstance(stated, str) else stated
    whole = ["integer"] if "number" in refused else []
    return [({"type": [kind for kind in KINDS if kind not in (*refused, *whole)]},)]


def _without_one(required: Json, schema: Mapping[str, Json]) -> Ways:
    return (
        [({"type": "object", "properties": {name: False}},) for name in required] if isinstance(required, list) else []
    )


def _with_other_values(properties: Json, schema: Mapping[str, Json]) -> Ways:
    return [
        ({"type": "object", "required": [name], "properties": {name: {"not": inner}}},)
        for name, inner in properties.items()
        if inner is not True and inner != {}
    ]


def _none_of(options: Json, schema: Mapping[str, Json]) -> Ways:
    return [tuple({"not": option} for option in options)]


def _one_fails(parts: Json, schema: Mapping[str, Json]) -> Ways:
    return [({"not": part},) for part in parts]


def _bound(keyword: str, kinds: Sequence[str], shift: int = 0) -> Callable[[Json, Mapping[str, Json]], Ways]:
    return lambda limit, schema: (
        [] if isinstance(limit, bool) or (limit + shift < 0 and shift) else [({"type": kinds, keyword: limit + shift},)]
    )


_NUMBER, _STRING, _ARRAY, _OBJECT = ["number"], ["string"], ["array"], ["object"]

_OPPOSITES: dict[str, Callable[[Json, Mapping[str, Json]], Ways]] = {
    "const": lambda value, schema: [({EXCLUDED: [value]},)],
    "enum": lambda values, schema: [({EXCLUDED: values},)],
    "type": _not_of_type,
    "required": _without_one,
    "properties": _with_other_values,
    "anyOf": _none_of,
    "oneOf": _none_of,
    "allOf": _one_fails,
    "not": lambda inner, schema: [(inner,)],
    "minimum": _bound("exclusiveMaximum", _NUMBER),
    "maximum": _bound("exclusiveMinimum", _NUMBER),
    "exclusiveMinimum": _bound("maximum", _NUMBER),
    "exclusiveMaximum": _bound("minimum", _NUMBER),
    "minLength": _bound("maxLength", _STRING, -1),
    "maxLength": _bound("minLength", _STRING, 1),
    "minItems": _bound("maxItems", _ARRAY, -1),
    "maxItems": _bound("minItems", _ARRAY, 1),
    "minProperties": _bound("maxProperties", _OBJECT, -1),
    "maxProperties": _bound("minProperties", _OBJECT, 1),
    "contains": lambda inner, schema: [({"type": "array", "items": {"not": inner}},)],
    "items": lambda inner, schema: (
        [] if isinstance(inner, list) else [({"type": "array", "minItems": 1, "contains": {"not": inner}},)]
    ),
    "additionalProperties": lambda inner, schema: [({"type": "object", "minProperties": 1},)],
    "unevaluatedProperties": lambda inner, schema: [({"type": "object", "minProperties": 1},)],
    "propertyNames": lambda inner, schema: [({"type": "object", "minProperties": 1},)],
    "patternProperties": lambda inner, schema: [({"type": "object", "minProperties": 1},)],
}
# What says nothing of values, so that a schema of nothing else cannot be broken.
_NEGATION_NOTES = frozenset((
    *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
    *("$comment", "$schema", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions", "$ref"),
))  # fmt: skip
