"""What the prompt says of the values of a schema: asked for the properties of each object, and for a value as a whole.

Knows how schemas are shown to those who read prompts, not how prompts are read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mockserver.core.json import Json
from mockserver.model.arguments import NOTHING
from mockserver.model.schema.making import Making, Place, possible
from mockserver.model.schema.parts import Parts, kinds, named, of_item, required

ASKED = "asked"  # a keyword of our own: the names of the properties that the prompt was asked for


def with_said(making: Making, parts: Parts, place: Place, *, trouble: Mapping[str, int]) -> Parts:
    """The parts, and with them what the prompt has for properties that it was not asked for yet."""
    if making.said is NOTHING or place.tries or "object" not in kinds(parts):
        return parts
    asked = {name for part in parts for name in part.get(ASKED, ())}
    properties = {name: schema for name, schema in shown(making, parts).items() if name not in asked}
    if not properties:
        return parts

    def fits(name: str, value: Json) -> bool:
        return making.fits(making.alternatives.of_property(parts, name), value)

    apart = making.said.apart(_listed(making, parts, properties))
    values, left = apart.assigned(properties, fits, required=required(parts))
    making.said = left if apart is making.said else making.said.beside(apart, left)
    fixed = {
        name: {"const": value}
        for name, value in values.items()
        if not trouble.get(place.below(name, name).pointer) and fits(name, value)
    }
    return (*parts, {ASKED: list(properties), "properties": fixed, "required": list(fixed)})


def _listed(making: Making, parts: Parts, names: Iterable[str]) -> Iterator[Mapping[str, Json]]:
    """The properties of the items of each list of objects."""
    for name in names:
        of_name = possible(making, making.alternatives.of_property(parts, name))
        if of_name and kinds(of_name) == ("array",):
            item = possible(making, of_item(of_name, 0))
            if item and named(item):
                yield shown(making, item)


def said_as_whole(making: Making, schema: Json) -> tuple[Json, ...]:
    """What the prompt has for a schema that is no object: one value, or none."""
    parts = possible(making, (schema,))
    if making.said is NOTHING or not parts or "object" in kinds(parts):
        return ()
    name = next((part["title"] for part in parts if isinstance(part.get("title"), str)), "answer")

    def fits(name: str, value: Json) -> bool:
        return making.fits((schema,), value)

    values, making.said = making.said.assigned({name: shown_one(making, (schema,))}, fits, required=(name,))
    return tuple(value for value in values.values() if fits(name, value))


def evidence(making: Making, schemas: Sequence[Json]) -> float:
    """How much of a schema's properties the prompt speaks of: 0 for none, 1 for all."""
    if making.said is NOTHING:
        return 0
    parts = possible(making, schemas)
    properties = shown(making, parts) if parts else {}
    if properties or not parts:
        return making.said.evidence(properties) if properties else 0
    options = [option for part in parts for key in ("anyOf", "oneOf") for option in part.get(key, ())]
    return max((evidence(making, (option,)) for option in options[:_MOST_OPTIONS]), default=0)


def evidence_within(making: Making, schemas: Sequence[Json]) -> float:
    """The same, of objects in a list too."""
    parts = possible(making, schemas)
    if making.said is NOTHING or not parts:
        return 0
    return evidence(making, parts if named(parts) else of_item(parts, 0))


def spoken(parts: Parts) -> bool:
    """Whether the prompt had a value for any property of an object."""
    return any(part[ASKED] and part["required"] for part in parts if ASKED in part)


def shown(making: Making, parts: Parts) -> dict[str, Json]:
    """The properties that are spoken of, each as one schema."""
    return {
        name: shown_one(making, making.alternatives.of_property(parts, name)) for name in named(parts)[:_MOST_SHOWN]
    }


def shown_one(making: Making, schemas: Sequence[Json]) -> Json:
    """Schemas as one, references resolved, in their alternatives too; the first word on each keyword counts."""
    whole = _merged(making, schemas)
    if isinstance(whole, dict):
        for keyword in ("anyOf", "oneOf"):
            if keyword in whole:
                whole[keyword] = [_merged(making, (option,)) for option in whole[keyword]]
    return whole


def _merged(making: Making, schemas: Sequence[Json]) -> Json:
    parts = possible(making, schemas)
    if parts is None:
        return False
    return {key: value for part in reversed(parts) for key, value in part.items() if key not in _RESOLVED}


_MOST_OPTIONS = 8
_MOST_SHOWN = 200
_RESOLVED = frozenset(("$ref", "allOf", "$dynamicRef", "$recursiveRef", "$defs", "definitions"))
