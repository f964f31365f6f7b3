"""What schemas that must all hold say together, keyword by keyword.

The schemas of one value stay apart, as parts, and are never merged into one: each keeps its own reach (which properties
it calls additional), and a reference is followed from where it is. Random choices are made elsewhere.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from json import dumps

from mockserver.core.json import Json
from mockserver.model.schema.document import SchemaDocument, UnsatisfiableError, matches

Part = Mapping[str, Json]
Parts = tuple[Part, ...]
TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_TYPES_OF_PYTHON = {type(None): "null", bool: "boolean", int: "integer", str: "string", list: "array"}
EXCLUDED = "not in"  # a keyword of our own: values that are not allowed


def flatten(document: SchemaDocument, schemas: Sequence[Json]) -> Parts:
    """Add all that schemas refer to and consist of. Raises UnsatisfiableError if nothing is allowed."""
    found: dict[int, Part] = {}
    left = list(reversed(schemas))
    while left:
        schema = left.pop()
        if schema is False:
            raise UnsatisfiableError("nothing is allowed here")
        if not isinstance(schema, Mapping) or id(schema) in found:  # a draft may not know the keyword that holds it
            continue
        targets = document.targets(schema)
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
    keywords = {keyword for part in parts for keyword in part}
    found = [kind for kind, implying in _IMPLYING.items() if not keywords.isdisjoint(implying)]
    return (*found, *(kind for kind in TYPES if kind not in found))


def type_of(value: Json) -> str:
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _TYPES_OF_PYTHON.get(type(value), "object")


def has_type(value: Json, allowed: Sequence[str]) -> bool:
    kind = type_of(value)
    return kind in allowed or (kind == "integer" and "number" in allowed)


def json_key(value: Json) -> str:
    """A text that is the same for equal values: unlike in Python, 1 and true differ."""
    return dumps(value, sort_keys=True)


def listed_values(parts: Parts) -> list[Json] | None:
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
    return [value for value in found if json_key(value) not in excluded] if excluded else found


def is_excluded(parts: Parts, value: Json) -> bool:
    return any(json_key(value) == json_key(other) for part in parts for other in part.get(EXCLUDED, ()))


def lower_limit(parts: Parts, keyword: str) -> int:
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
    return tuple(dict.fromkeys(name for part in parts for name in part.get("properties", ())))


def property_schemas(parts: Parts, name: str) -> tuple[Json, ...]:
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

Way = tuple[Json, ...]


def negations(schema: Part) -> Iterator[Way]:
    """Ways to violate a schema, references resolved; the last demands nothing where only the validator can tell."""
    for keyword, negate in _NEGATIONS.items():
        if keyword in schema:
            yield from negate(schema[keyword])
    for keyword, (opposite, kind, shift) in _OPPOSITES.items():
        if keyword in schema and not isinstance(schema[keyword], bool) and (not shift or schema[keyword] + shift >= 0):
            yield ({"type": [kind], opposite: schema[keyword] + shift},)
    if not schema.keys() <= _NEGATIONS.keys() | _OPPOSITES.keys() | _NEVER_VIOLATED:
        yield ()


def _other_types(stated: Json) -> list[Way]:
    refused = {stated} if isinstance(stated, str) else {*stated}
    refused |= {"integer"} if "number" in refused else set()
    return [({"type": [kind for kind in TYPES if kind not in refused]},)]


def _other_values(properties: Mapping[str, Json]) -> Iterator[Way]:
    for name, inner in properties.items():
        ways = [*negations(inner)] if isinstance(inner, Mapping) and "$ref" not in inner else [({"not": inner},)]
        if ways:
            other = ways[0][0] if len(ways) == 1 and len(ways[0]) == 1 else {"not": inner}
            yield ({"type": "object", "required": [name], "properties": {name: other}},)


_NEGATIONS: dict[str, Callable[[Json], Iterable[Way]]] = {
    "const": lambda value: [({EXCLUDED: [value]},)],
    "enum": lambda values: [({EXCLUDED: values},)],
    "type": _other_types,
    "required": lambda names: (
        [({"type": "object", "properties": {name: False}},) for name in names] if isinstance(names, list) else []
    ),
    "properties": _other_values,
    **dict.fromkeys(("anyOf", "oneOf"), lambda options: [tuple({"not": option} for option in options)]),
    "not": lambda inner: [(inner,)],
    "contains": lambda inner: [({"type": "array", "items": {"not": inner}},)],
    "items": lambda inner: (
        [] if isinstance(inner, list) else [({"type": "array", "minItems": 1, "contains": {"not": inner}},)]
    ),
}
_OPPOSITES = {  # with the type, and what to add to the limit
    "minimum": ("exclusiveMaximum", "number", 0),
    "maximum": ("exclusiveMinimum", "number", 0),
    "exclusiveMinimum": ("maximum", "number", 0),
    "exclusiveMaximum": ("minimum", "number", 0),
    **{
        f"{one}{size}": (f"{other}{size}", kind, shift)
        for size, kind in (("Length", "string"), ("Items", "array"), ("Properties", "object"))
        for one, other, shift in (("min", "max", -1), ("max", "min", 1))
    },
}
_NEVER_VIOLATED = frozenset((*_ANNOTATIONS, "allOf", "$ref", "$defs", "definitions", "$schema", "$id", "$anchor"))
