"""What the prompt says of the values of a schema: of the properties of each object, and of a value as a whole."""

from collections.abc import Iterator, Mapping, Sequence

from mockserver.core.json import Json
from mockserver.model.arguments import NOTHING
from mockserver.model.schema.generation import Generation, Location
from mockserver.model.schema.keywords import Parts, allowed_types, item_schemas, property_names, required_names

LOOKED_UP = "looked up"  # a keyword of our own: the names of properties already looked up in the prompt


def with_prompt_values(generation: Generation, parts: Parts, location: Location) -> Parts:
    """Add to the parts what the prompt says of properties that were not looked up yet."""
    if generation.said is NOTHING or location.rejections or "object" not in allowed_types(parts):
        return parts
    known = {name for part in parts for name in part.get(LOOKED_UP, ())}
    properties = {name: schema for name, schema in property_views(generation, parts).items() if name not in known}
    if not properties:
        return parts

    def fits(name: str, value: Json) -> bool:
        return generation.fits(generation.alternatives.property_schemas(parts, name), value)

    apart = generation.said.apart(_items_of_lists(generation, parts, properties))
    values, left = apart.assigned(properties, fits, required=required_names(parts))
    generation.said = left if apart is generation.said else generation.said.beside(apart, left)
    fixed = {
        name: {"const": value}
        for name, value in values.items()
        if not generation.rejections.get(location.below(name, name).pointer) and fits(name, value)
    }
    return (*parts, {LOOKED_UP: list(properties), "properties": fixed, "required": list(fixed)})


def has_prompt_values(parts: Parts) -> bool:
    """Whether the prompt has a value for any property of an object."""
    return any(part[LOOKED_UP] and part["required"] for part in parts if LOOKED_UP in part)


def _items_of_lists(generation: Generation, parts: Parts, names: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    for name in names:
        values = generation.possible(generation.alternatives.property_schemas(parts, name))
        if values and allowed_types(values) == ("array",):
            item = generation.possible(item_schemas(values, 0))
            if item and property_names(item):
                yield property_views(generation, item)


def whole_value(generation: Generation, schema: Json) -> tuple[Json, ...]:
    """The value that the prompt has for a schema that is no object, if any."""
    parts = generation.possible((schema,))
    if generation.said is NOTHING or not parts or "object" in allowed_types(parts):
        return ()
    name = next((part["title"] for part in parts if isinstance(part.get("title"), str)), "answer")

    def fits(name: str, value: Json) -> bool:
        return generation.fits((schema,), value)

    properties = {name: _view(generation, (schema,))}
    values, generation.said = generation.said.assigned(properties, fits, required=(name,))
    return tuple(value for value in values.values() if fits(name, value))


def evidence(generation: Generation, schemas: Sequence[Json]) -> float:
    """How many of a schema's properties the prompt mentions: 0 for none, 1 for all."""
    if generation.said is NOTHING:
        return 0
    parts = generation.possible(schemas)
    properties = property_views(generation, parts) if parts else {}
    if properties or not parts:
        return generation.said.evidence(properties) if properties else 0
    options = [option for part in parts for key in ("anyOf", "oneOf") for option in part.get(key, ())]
    return max((evidence(generation, (option,)) for option in options[:_MAX_OPTIONS]), default=0)


def evidence_within(generation: Generation, schemas: Sequence[Json]) -> float:
    """The same, also of objects in a list."""
    parts = generation.possible(schemas)
    if generation.said is NOTHING or not parts:
        return 0
    return evidence(generation, parts if property_names(parts) else item_schemas(parts, 0))


def property_views(generation: Generation, parts: Parts) -> dict[str, Json]:
    """The properties of an object, each as one schema for those who read prompts."""
    of_name = generation.alternatives.property_schemas
    return {name: _view(generation, of_name(parts, name)) for name in property_names(parts)[:_MAX_PROPERTIES]}


def _view(generation: Generation, schemas: Sequence[Json]) -> Json:
    """Schemas merged into one, references resolved, also in its alternatives."""
    whole = _merged(generation, schemas)
    if isinstance(whole, dict):
        for keyword in ("anyOf", "oneOf"):
            if keyword in whole:
                whole[keyword] = [_merged(generation, (option,)) for option in whole[keyword]]
    return whole


def _merged(generation: Generation, schemas: Sequence[Json]) -> Json:
    """Schemas as one, in which the first value of each keyword counts."""
    parts = generation.possible(schemas)
    if parts is None:
        return False
    return {key: value for part in reversed(parts) for key, value in part.items() if key not in _RESOLVED}


_MAX_OPTIONS = 8
_MAX_PROPERTIES = 200
_RESOLVED = frozenset(("$ref", "allOf", "$dynamicRef", "$recursiveRef", "$defs", "definitions"))
