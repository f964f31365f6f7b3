"""What schemas that must all hold say together, keyword by keyword.

The schemas of one value stay apart, as parts, and are never merged into one: each keeps its own reach (which properties
it calls additional), and a reference is followed from where it is. Random choices are made elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from mockserver.core.json import Json
from mockserver.model.schema.compile import matches
from mockserver.model.schema.document import SchemaDocument, UnsatisfiableError

Part = Mapping[str, Json]
Parts = tuple[Part, ...]
TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
EXCLUDED = "not in"  # a keyword of our own: values that are not allowed


def flatten(document: SchemaDocument, schemas: Sequence[Json]) -> Parts:
    """Add all that schemas refer to and consist of. Raises UnsatisfiableError if nothing is allowed."""
    found: dict[int, Part] = {}
    left = list(reversed(schemas))
    while left:
        schema = left.pop()
        if schema is False:
            raise UnsatisfiableError("nothing is allowed here")
        if schema is True or id(schema) in found:
            continue
        targets = [*document.targets(schema)]
        alone = document.ignores_siblings_of_ref and targets
        found[id(schema)] = {key: schema[key] for key in _ANNOTATIONS if key in schema} if alone else schema
        left += reversed(targets if alone else [*targets, *schema.get("allOf", ())])
    return tuple(part for part in found.values() if part)


def allowed_types(parts: Parts) -> tuple[str, ...]:
    """The types that all parts allow, in the order of the first part that names any."""
    allowed: Sequence[str] = TYPES
    for at, stated in enumerate(part["type"] for part in parts if "type" in part):
        types = [stated] if isinstance(stated, str) else stated
        allowed = _narrowed_types(allowed, types) if at else types
    return tuple(allowed)


def _narrowed_types(one: Sequence[str], other: Sequence[str]) -> list[str]:
    found = [kind for kind in one if kind in other or (kind == "integer" and "number" in other)]
    if "number" in one and "integer" in other and "number" not in other and "integer" not in one:
        found.append("integer")
    return found


def implied_types(parts: Parts) -> tuple[str, ...]:
    """All types, those first that keywords imply where none is stated."""
    keywords = {keyword for part in parts for keyword in part}
    found = [kind for kind, implying in _IMPLYING.items() if not keywords.isdisjoint(implying)]
    return (*found, *(kind for kind in TYPES if kind not in found))


def type_of(value: Json) -> str:
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


def has_type(value: Json, allowed: Sequence[str]) -> bool:
    """Whether a value is of one of these types."""
    kind = type_of(value)
    return kind in allowed or (kind == "integer" and "number" in allowed)


def json_equal(one: Json, other: Json) -> bool:
    """Whether two values are equal as JSON: 1 and 1.0 are, 1 and true are not."""
    return bool(json_key(one) == json_key(other))


def json_key(value: Json) -> Json:
    """Something hashable that is equal for equal JSON values."""
    match value:
        case bool():
            return ("bool", value)
        case Mapping():
            return ("object", frozenset((key, json_key(inner)) for key, inner in value.items()))
        case list() | tuple():
            return ("array", tuple(map(json_key, value)))
    return value


def listed_values(parts: Parts) -> list[Json] | None:
    """The values that `const` and `enum` allow; None if there is neither."""
    found: list[Json] | None = None
    for part in parts:
        for keyword in ("const", "enum"):
            if keyword in part:
                stated = part["enum"] if keyword == "enum" else [part["const"]]
                keys = set() if found is None else {json_key(value) for value in stated}
                found = list(stated) if found is None else [value for value in found if json_key(value) in keys]
    if found is None:
        return None
    excluded = {json_key(value) for part in parts for value in part.get(EXCLUDED, ())}
    return [value for value in found if json_key(value) not in excluded]


def is_excluded(parts: Parts, value: Json) -> bool:
    """Whether a value is one that parts exclude."""
    return any(json_equal(value, other) for part in parts for other in part.get(EXCLUDED, ()))


def lower_limit(parts: Parts, keyword: str) -> int:
    """The strictest minimum of a keyword for sizes."""
    return max((int(part[keyword]) for part in parts if keyword in part), default=0)


def upper_limit(parts: Parts, keyword: str) -> int | None:
    """The strictest maximum of a keyword for sizes; None if there is none."""
    return min((int(part[keyword]) for part in parts if keyword in part), default=None)


def to_fraction(number: Json) -> Fraction:
    """A number as it is written: 0.1 is a tenth."""
    return Fraction(repr(number) if isinstance(number, float) else number)


def required_names(parts: Parts) -> tuple[str, ...]:
    """The names in `required`, which is a list since draft 4."""
    names = (name for part in parts if isinstance(part.get("required"), list) for name in part["required"])
    return tuple(dict.fromkeys(names))


def property_names(parts: Parts) -> tuple[str, ...]:
    """The names in `properties`, in the order of the schema."""
    return tuple(dict.fromkeys(name for part in parts for name in part.get("properties", ())))


def property_schemas(parts: Parts, name: str) -> tuple[Json, ...]:
    """All schemas for the property of this name."""
    found: list[Json] = []
    evaluated = False
    for part in parts:
        own = [part["properties"][name]] if name in part.get("properties", ()) else []
        own += [inner for pattern, inner in part.get("patternProperties", {}).items() if matches(pattern, name)]
        if not own and "additionalProperties" in part:
            own = [part["additionalProperties"]]
        evaluated = evaluated or bool(own)
        found += own
    if not evaluated:
        found += [part["unevaluatedProperties"] for part in parts if "unevaluatedProperties" in part]
    return tuple(found)


def item_schemas(parts: Parts, at: int) -> tuple[Json, ...]:
    """All schemas for the item at this index, as any draft spells them."""
    found: list[Json] = []
    for part in parts:
        items = part.get("items")
        first = _first_items(part)
        further = part.get("additionalItems") if isinstance(items, list) else items
        if at < len(first):
            found.append(first[at])
        elif further is not None:
            found.append(further)
    return tuple(found or [part["unevaluatedItems"] for part in parts if "unevaluatedItems" in part])


def tuple_length(parts: Parts) -> int:
    """How many items have schemas of their own."""
    return max((len(_first_items(part)) for part in parts), default=0)


def _first_items(part: Part) -> Sequence[Json]:
    items = part.get("items")
    found: Sequence[Json] = part.get("prefixItems", items if isinstance(items, list) else ())
    return found


_IMPLYING: dict[str, tuple[str, ...]] = {
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
_ANNOTATIONS = ("title", "description", "default", "examples")

Ways = list[tuple[Json, ...]]


def negations(schema: Part) -> Ways:
    """Ways to violate a schema, references resolved: whatever all schemas of one way allow, it refuses.

    Nothing is demanded for what no keywords can negate (a pattern, a format): the validator decides.
    """
    ways: Ways = []
    for keyword, negate in _NEGATIONS.items():
        if keyword in schema:
            ways += negate(schema[keyword])
    if not ways and any(keyword not in _NEVER_VIOLATED for keyword in schema):
        ways.append(())
    return ways


def _other_type(stated: Json) -> Ways:
    refused = {stated} if isinstance(stated, str) else {*stated}
    refused |= {"integer"} if "number" in refused else set()
    return [({"type": [kind for kind in TYPES if kind not in refused]},)]


def _one_missing(required: Json) -> Ways:
    names = required if isinstance(required, list) else ()
    return [({"type": "object", "properties": {name: False}},) for name in names]


def _other_values(properties: Json) -> Ways:
    return [
        ({"type": "object", "required": [name], "properties": {name: {"not": inner}}},)
        for name, inner in properties.items()
        if inner is not True and inner != {}
    ]


def _limit(keyword: str, kind: str, shift: int = 0) -> Callable[[Json], Ways]:
    """Another limit; a boolean one, as in draft 4, and a negative size say nothing."""

    def negate(limit: Json) -> Ways:
        if isinstance(limit, bool) or (shift and limit + shift < 0):
            return []
        return [({"type": [kind], keyword: limit + shift},)]

    return negate


def _not_empty(inner: Json) -> Ways:
    return [({"type": "object", "minProperties": 1},)]


_NEGATIONS: dict[str, Callable[[Json], Ways]] = {
    "const": lambda value: [({EXCLUDED: [value]},)],
    "enum": lambda values: [({EXCLUDED: values},)],
    "type": _other_type,
    "required": _one_missing,
    "properties": _other_values,
    **dict.fromkeys(("anyOf", "oneOf"), lambda options: [tuple({"not": option} for option in options)]),
    "allOf": lambda parts: [({"not": part},) for part in parts],
    "not": lambda inner: [(inner,)],
    "minimum": _limit("exclusiveMaximum", "number"),
    "maximum": _limit("exclusiveMinimum", "number"),
    "exclusiveMinimum": _limit("maximum", "number"),
    "exclusiveMaximum": _limit("minimum", "number"),
    "minLength": _limit("maxLength", "string", -1),
    "maxLength": _limit("minLength", "string", 1),
    "minItems": _limit("maxItems", "array", -1),
    "maxItems": _limit("minItems", "array", 1),
    "minProperties": _limit("maxProperties", "object", -1),
    "maxProperties": _limit("minProperties", "object", 1),
    "contains": lambda inner: [({"type": "array", "items": {"not": inner}},)],
    "items": lambda inner: (
        [] if isinstance(inner, list) else [({"type": "array", "minItems": 1, "contains": {"not": inner}},)]
    ),
    **dict.fromkeys(
        ("additionalProperties", "unevaluatedProperties", "propertyNames", "patternProperties"), _not_empty
    ),
}
_NEVER_VIOLATED = frozenset((
    *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
    *("$comment", "$schema", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions", "$ref"),
))  # fmt: skip
