"""What it takes that a schema does not hold: `not` turned into schemas that can be made.

Knows each keyword's opposite, not which of several opposites is taken.
"""

from collections.abc import Callable, Mapping, Sequence

from mockserver.core.call import Json
from mockserver.engine.generate.instances.parts import EXCLUDED, KINDS

Ways = list[tuple[Json, ...]]


def opposites(schema: Mapping[str, Json]) -> Ways:
    """Ways to break a schema, references resolved: any one, as schemas that then hold together, does.

    What has no opposite in words (a pattern, a format) is left to the check of the whole: nothing is demanded for it.
    """
    ways: Ways = []
    for keyword, opposite in _OPPOSITES.items():
        if keyword in schema:
            ways += opposite(schema[keyword], schema)
    if not ways and any(keyword not in _NOTES for keyword in schema):
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
_NOTES = frozenset((
    *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
    *("$comment", "$schema", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions", "$ref"),
))  # fmt: skip
