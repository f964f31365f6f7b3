"""The state of one instance while it is generated, and which parts of its schema can hold together.

Rules out what is impossible at first sight, and looks up what the prompt says of properties; makes no values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.seed import Random, Seed
from mockserver.model.arguments import NOTHING, WHOLE, Mentions
from mockserver.model.schema.document import (
    MAX_COST,
    CompiledSchema,
    UnsatisfiableError,
    WorkLimitError,
    depth_and_size,
    escape,
)
from mockserver.model.schema.keywords import (
    EXCLUDED,
    Part,
    Parts,
    allowed_types,
    flatten,
    has_type,
    item_schemas,
    listed_values,
    negations,
    property_names,
    property_schemas,
    required_names,
)

Option = tuple[Json, ...]  # schemas that must hold together if this alternative is taken
Choice = tuple[Part, str, tuple[Option, ...]]  # a keyword of a part, and its options
Order = Callable[[str, Sequence[Option]], Sequence[Option]]  # sorts the options of a keyword


class Location(Struct, frozen=True):
    """Where a value is in the instance."""

    pointer: str = ""
    hints: tuple[str, ...] = ()  # its names and descriptions, the most telling first
    depth: int = 0
    rejections: int = 0  # how often values here or around have been rejected

    def below(self, step: str, name: str) -> "Location":
        hints = (name,) if name else self.hints
        return Location(f"{self.pointer}/{escape(step)}", hints, self.depth + 1, self.rejections)

    def after(self, rejections: int) -> "Location":
        return Location(self.pointer, self.hints, self.depth, self.rejections + rejections) if rejections else self


class Generation(Struct):
    """One attempt at an instance. Each location has its own random stream: an added property changes no other."""

    compiled: CompiledSchema
    seed: Seed
    said: Mentions  # what the prompt says and no value has used yet
    work_left: int  # steps that the attempt may still cost
    rejections: Mapping[str, int] = {}  # by JSON pointer
    minimal: bool = False  # leave out all that is optional
    known_evidence: dict[Any, tuple[Any, float]] = {}  # by what is left to say, and schemas
    strict: bool = False  # whether `not`, the other options of `oneOf` and an unmet `if` are choices of what to violate

    def spend(self, steps: int) -> None:
        """Raises WorkLimitError."""
        self.work_left -= steps
        if self.work_left < 0:
            raise WorkLimitError

    def generous(self, location: Location) -> bool:
        return not self.minimal and location.depth <= _MAX_OPTIONAL_DEPTH

    def only_said(self, parts: Parts) -> bool:
        """Whether the prompt decides on optional properties: on those of arguments, or beside required ones."""
        return self.said is not NOTHING and (self.said.sparse or bool(required_names(parts)))

    def stream(self, location: Location, label: str) -> Random:
        return self.seed.stream(label, location.pointer, str(location.rejections))

    def fraction(self, location: Location, label: str) -> float:
        """A random number from 0 to 1; cheaper than a stream."""
        return self.seed.fraction(label, location.pointer, str(location.rejections))

    def fits(self, schemas: Sequence[Json], value: Json) -> bool:
        depth, size = depth_and_size(value)
        self.spend(size // _VALUES_PER_STEP)
        cost = self.compiled.cost_of(depth, size)
        if cost > MAX_COST:
            return all(schema is True or schema == {} for schema in schemas)
        self.spend(int(cost) * len(schemas) // VALIDATED_PER_STEP)
        return all(self.compiled.allows(schema, value) for schema in schemas)

    def flatten(self, schemas: Sequence[Json]) -> Parts:
        """Add all that schemas refer to; many of them count as work. Raises UnsatisfiableError."""
        key = tuple(map(_identity, schemas))
        memory = self.compiled.memory
        if key not in memory:
            if len(memory) > _MAX_MEMORY:
                memory.clear()
            memory[key] = schemas, flatten(self.compiled.document, schemas)  # no other object gets their identity
        parts: Parts = memory[key][1]
        self.spend(len(parts) // _PARTS_PER_STEP)
        return parts

    def possible(self, schemas: Sequence[Json]) -> Parts | None:
        """The schemas, flattened; None if they allow nothing."""
        try:
            return self.flatten(schemas)
        except UnsatisfiableError:
            return None

    def property_schemas(self, parts: Parts, name: str) -> tuple[Json, ...]:
        """All schemas for the property of this name; matching many patterns counts as work."""
        patterns = sum(len(part["patternProperties"]) for part in parts if "patternProperties" in part)
        self.spend(patterns // _PATTERNS_PER_STEP + len(parts) // _PARTS_PER_STEP)
        return property_schemas(parts, name)

    def listed_values(self, parts: Parts) -> list[Json] | None:
        """The listed values of an allowed type; None if none are listed. Many of them count as work."""
        values = listed_values(parts)
        if values is None:
            return None
        stated = (part[keyword] for part in parts for keyword in ("enum", "const", EXCLUDED) if keyword in part)
        share = _VALUES_COMPARED_PER_STEP if any(EXCLUDED in part for part in parts) else _VALUES_PER_STEP
        self.spend((len(values) + sum(map(self.compiled.size_of, stated))) // share)
        allowed = allowed_types(parts)
        return [value for value in values if has_type(value, allowed)]

    def combinations(self, parts: Parts, order: Order) -> Iterator[Parts]:
        """The parts with one option of each choice among them. Raises UnsatisfiableError if there is no way."""
        if not self._can_hold(parts):
            raise self._conflict(parts)
        left: list[tuple[Parts, Option, tuple[Choice, ...]]] = [(parts, (), tuple(self._choices(parts)))]
        found, stuck = False, "#"
        while left:
            self.spend(1 + (len(left[-1][0]) + len(left[-1][2])) // _PARTS_PER_STEP)
            parts, option, further = left.pop()
            widened = self._with_option(parts, option)
            if widened is None:
                continue
            further = (*further, *self._choices(widened[len(parts) :]))
            if not further:
                found = True
                yield widened
                continue
            part, keyword, options = further[0]
            self.spend(len(options) // _PARTS_PER_STEP)
            stuck = f"{self.compiled.document.pointer(part)}/{keyword}"
            left += [(widened, option, further[1:]) for option in reversed(order(keyword, options))]
        if not found:
            raise UnsatisfiableError("none of the alternatives can be met", stuck)

    def _choices(self, parts: Parts) -> Iterator[Choice]:
        for part, keyword, options in _plain_choices(parts):
            if self.strict and keyword == "oneOf" and len(options) <= _MAX_EXCLUDED_OPTIONS:
                self.spend(len(options) ** 2 // _PARTS_PER_STEP)
                nots = [{"not": option} for (option,) in options]
                options = tuple((*option, *nots[:at], *nots[at + 1 :]) for at, option in enumerate(options))
            elif self.strict and keyword == "if":
                options = (options[0], (*options[1], {"not": part["if"]}))
            yield part, keyword, options
        for part in parts if self.strict else ():
            if "not" in part:
                yield part, "not", self._violations(part["not"])

    def _violations(self, schema: Json) -> tuple[Option, ...]:
        parts = self.possible((schema,))
        if parts is None:
            return ((),)
        ways = tuple(way for part in parts for way in negations(part))
        self.spend(len(ways) // _PARTS_PER_STEP)
        return ways

    def _can_hold(self, parts: Parts, depth: int = 2) -> bool:
        self.spend(1 + len(parts) // _PARTS_PER_STEP)
        allowed, values = allowed_types(parts), self.listed_values(parts)
        if not allowed or values == []:
            return False
        if values or allowed != ("object",) or depth <= 0:
            return True
        required = required_names(parts)
        self.spend(len(required) * (_NAME_IN_PARTS + len(parts)) // _PARTS_PER_STEP)
        inner = (self.possible(self.property_schemas(parts, name)) for name in required)
        return all(each is not None and (len(each) < 2 or self._can_hold(each, depth - 1)) for each in inner)

    def _with_option(self, parts: Parts, option: Option) -> Parts | None:
        if not option:
            return parts
        more = self.possible(option)
        if more is None:
            return None
        seen = {id(part) for part in parts}
        widened = (*parts, *(part for part in more if id(part) not in seen))
        return widened if self._can_hold(widened) else None

    def _conflict(self, parts: Parts, depth: int = 10) -> UnsatisfiableError:
        pointer = self.compiled.document.pointer(parts[0]) if parts else "#"
        for name in required_names(parts):
            inner = self.possible(self.property_schemas(parts, name))
            if inner is None:
                return UnsatisfiableError(f"the property {name!r} is required, and nothing is allowed there", pointer)
            if depth and len(inner) > 1 and not self._can_hold(inner):
                return self._conflict(inner, depth - 1)
        return UnsatisfiableError("what is demanded excludes each other", pointer)


def _plain_choices(parts: Parts) -> Iterator[Choice]:
    for part in parts:
        for keyword in ("anyOf", "oneOf"):
            if keyword in part:
                yield part, keyword, tuple((option,) for option in part[keyword])
        if "if" in part and ("then" in part or "else" in part):
            yield part, "if", ((part["if"], part.get("then", True)), (part.get("else", True),))
        for keyword in ("dependentSchemas", "dependencies"):
            for schema in part.get(keyword, {}).values():
                if not isinstance(schema, list):
                    yield part, keyword, ((schema,), ())


def _identity(schema: Json) -> int | bool:
    return schema if isinstance(schema, bool) else id(schema) + 2  # 0 and 1 would equal the booleans


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
        return generation.fits(generation.property_schemas(parts, name), value)

    _spend_on_mentions(generation, len(properties))
    said, needed = generation.said, required_names(parts)
    values, generation.said = said.assigned(properties, fits, required=needed)
    of_name = generation.property_schemas
    texts = [name for name, value in values.items() if isinstance(value, str) and name in needed]
    may_be_null = [name for name in texts if is_nullable_scalar(generation, of_name(parts, name))]
    clear = said.assigned(properties, fits)[0] if may_be_null else values
    if weak := {name for name in may_be_null if name not in clear}:  # null is better than what is left of the text
        needed = tuple(name for name in needed if name not in weak)
        values, generation.said = said.assigned(properties, fits, required=needed)
    fixed = {
        name: {"const": value}
        for name, value in values.items()
        if not generation.rejections.get(location.below(name, name).pointer) and fits(name, value)
    }
    return (*parts, {LOOKED_UP: list(properties), "properties": fixed, "required": list(fixed)})


def is_nullable_scalar(generation: Generation, schemas: Sequence[Json]) -> bool:
    """Whether schemas allow null and texts, numbers or booleans, and neither objects nor lists."""
    parts = generation.possible(schemas) or ()
    options = [option for part in parts for key in ("anyOf", "oneOf") for option in part.get(key, ())][:_MAX_OPTIONS]
    kinds = {kind for each in options for kind in allowed_types(generation.possible((each,)) or ())}
    return "null" in (kinds or allowed_types(parts)) and not {"object", "array"} & (kinds or {*allowed_types(parts)})


def has_prompt_values(parts: Parts) -> bool:
    return any(part[LOOKED_UP] and part["required"] for part in parts if LOOKED_UP in part)


def whole_value(generation: Generation, schema: Json) -> tuple[Json, ...]:
    """The value that the prompt has for a schema that is no object, if any."""
    parts = generation.possible((schema,))
    if generation.said is NOTHING or not parts or "object" in allowed_types(parts):
        return ()
    name = next((part["title"] for part in parts if isinstance(part.get("title"), str)), WHOLE)

    def fits(name: str, value: Json) -> bool:
        return generation.fits((schema,), value)

    properties = {name: _view(generation, (schema,))}
    values, generation.said = generation.said.assigned(properties, fits, required=(name,))
    return tuple(value for value in values.values() if fits(name, value))


def evidence(generation: Generation, schemas: Sequence[Json]) -> float:
    """How many of a schema's properties the prompt mentions: 0 for none, 1 for all."""
    said = generation.said
    if said is NOTHING:
        return 0
    generation.spend(1)
    key = (id(said), *map(_identity, schemas))
    known = generation.known_evidence
    if key not in known:
        known[key] = (said, schemas), 0  # of a schema that leads to itself; nothing else gets the identity of these
        known[key] = (said, schemas), _evidence(generation, generation.possible(schemas) or ())
    return known[key][1]


def _evidence(generation: Generation, parts: Parts) -> float:
    properties = property_views(generation, parts)
    if properties:
        _spend_on_mentions(generation, len(properties))
        return generation.said.evidence(properties)
    options = [option for part in parts for key in ("anyOf", "oneOf") for option in part.get(key, ())]
    return max((evidence(generation, (option,)) for option in options[:_MAX_OPTIONS]), default=0)


def _spend_on_mentions(generation: Generation, properties: int) -> None:
    generation.spend(min(_MAX_PAIRS, properties * (1 + len(generation.said.found))) // _PAIRS_PER_STEP)


def evidence_within(generation: Generation, schemas: Sequence[Json]) -> float:
    """The same, also of objects in a list."""
    parts = generation.possible(schemas)
    if generation.said is NOTHING or not parts:
        return 0
    return evidence(generation, parts if property_names(parts) else item_schemas(parts, 0))


def property_views(generation: Generation, parts: Parts) -> dict[str, Json]:
    of_name = generation.property_schemas
    return {name: _view(generation, of_name(parts, name)) for name in property_names(parts)[:_MAX_PROPERTIES]}


def _view(generation: Generation, schemas: Sequence[Json]) -> Json:
    whole = _merged(generation, schemas)
    if isinstance(whole, dict):
        for keyword in ("anyOf", "oneOf"):
            if keyword in whole:
                generation.spend(len(whole[keyword]) // _OPTIONS_PER_STEP)
                whole[keyword] = [_merged(generation, (option,)) for option in whole[keyword]]
    return _outlined(whole)


def _merged(generation: Generation, schemas: Sequence[Json]) -> Json:
    parts = generation.possible(schemas)
    if parts is None:
        return False
    whole = {key: part[key] for part in reversed(parts) for key in _READ_FROM_VIEWS if key in part}
    generation.spend(len(whole.get("enum", ())) // _VALUES_PER_STEP)
    return whole


def _outlined(schema: Json, levels: int = 2) -> Json:
    """A schema without what nobody reads who looks for it in a text: of the properties within it, only the names."""
    if isinstance(schema, list):
        return [_outlined(option, levels) for option in schema]
    if not isinstance(schema, Mapping):
        return schema
    outline = {key: value for key, value in schema.items() if key in _READ_FROM_VIEWS}
    for key in outline.keys() & _HOLDING:
        outline[key] = _outlined(outline[key], levels - 1) if levels else True
    if isinstance(outline.get("properties"), Mapping):
        outline["properties"] = dict.fromkeys(islice(outline["properties"], _MAX_PROPERTIES), True)
    return outline


_MAX_OPTIONAL_DEPTH = 4
_MAX_EXCLUDED_OPTIONS = 40
_MAX_MEMORY = 4_000
_PARTS_PER_STEP, _PATTERNS_PER_STEP, _VALUES_PER_STEP, _VALUES_COMPARED_PER_STEP = 40, 10, 50, 15
_NAME_IN_PARTS, _PAIRS_PER_STEP, _OPTIONS_PER_STEP, VALIDATED_PER_STEP = 4, 4, 4, 2_000
_MAX_PAIRS = 12_000  # of a property and a mention that are looked at
_MAX_OPTIONS = 8
_MAX_PROPERTIES = 200
_HOLDING = frozenset(("items", "prefixItems", "anyOf", "oneOf"))
_READ_FROM_VIEWS = (
    *("type", "enum", "const", "format", "title", "description", "properties", "minimum", "maximum"),
    *_HOLDING,
)
