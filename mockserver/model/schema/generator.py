"""Generates one instance: follows the schema down, tries alternatives, and takes what the prompt says first."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.seed import Random
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.patterns import sample
from mockserver.model.schema.document import MAX_PROPERTIES, UnsatisfiableError, pattern_work
from mockserver.model.schema.generation import (
    LOOKED_UP,
    Generation,
    Location,
    Option,
    evidence,
    evidence_within,
    has_prompt_values,
    is_nullable_scalar,
    property_views,
    with_prompt_values,
)
from mockserver.model.schema.keywords import (
    EXCLUDED,
    Part,
    Parts,
    allowed_types,
    implied_types,
    is_excluded,
    item_schemas,
    json_key,
    lower_limit,
    property_names,
    required_names,
    tuple_length,
    upper_limit,
)
from mockserver.model.schema.scalars import make_number, make_text, natural_range, word

T = TypeVar("T")


def make(generation: Generation, schemas: Sequence[Json], location: Location) -> Json:
    """Make a value that all the schemas allow, within the budget of work. Raises UnsatisfiableError."""
    generation.spend(1)
    location = location.after(generation.rejections.get(location.pointer, 0))
    parts = generation.flatten(schemas)
    if location.depth > _MAX_DEPTH:
        raise UnsatisfiableError(f"it leads more than {_MAX_DEPTH} levels deep", _pointer(generation, parts))
    hints = (*location.hints, *_descriptions(parts))
    location = Location(location.pointer, hints, location.depth, location.rejections)
    for value in _default_and_examples(generation, parts, location):
        if _is_allowed(generation, schemas, parts, value):
            return value
    said, widened = generation.said, with_prompt_values(generation, parts, location)
    if widened is not parts:
        try:
            return _first_possible(generation, widened, schemas, location)
        except UnsatisfiableError:
            generation.said = said
    return _first_possible(generation, parts, schemas, location)


def _first_possible(generation: Generation, parts: Parts, schemas: Sequence[Json], location: Location) -> Json:
    first: UnsatisfiableError | None = None
    said = generation.said
    order = partial(ordered_options, generation, location)
    for combination in islice(generation.combinations(parts, order), _MAX_COMBINATIONS):
        try:
            return _value(generation, combination, schemas, location)
        except UnsatisfiableError as error:
            first = first or _with_pointer(generation, error, combination)
            generation.said = said
    raise first or UnsatisfiableError("none of the alternatives can be met", _pointer(generation, parts))


def _value(generation: Generation, parts: Parts, schemas: Sequence[Json], location: Location) -> Json:
    values = generation.listed_values(parts)
    if values is not None:
        return _listed_value(generation, values, schemas, location)
    failed: UnsatisfiableError | None = None
    for kind in _ordered_types(generation, parts, location):
        try:
            return _value_of_type(generation, kind, parts, location)
        except UnsatisfiableError as error:
            failed = failed or error
    raise failed or UnsatisfiableError("no type is left that is allowed", "type")


def _value_of_type(generation: Generation, kind: str, parts: Parts, location: Location) -> Json:
    match kind:
        case "object":
            return _make_object(generation, with_prompt_values(generation, parts, location), location)
        case "array":
            return _make_array(generation, parts, location)
        case "string":
            patterns = (part["pattern"] for part in parts if isinstance(part.get("pattern"), str))
            generation.spend(sum(map(pattern_work, patterns)) // _PATTERN_WORK_PER_STEP)
            text = make_text(parts, location.hints, partial(_attempt, generation, location))
            generation.spend(len(text) // _CHARACTERS_PER_STEP)
            return text
        case "number" | "integer":
            low, high = natural_range(location.hints)
            high += (high - low) * 10 * location.rejections
            for attempt in ("", *map(str, range(_MAX_NUMBERS))):
                rng = generation.stream(location, f"number{attempt}")
                number = make_number(parts, (low, high), rng, whole=kind == "integer")
                if not is_excluded(parts, number):
                    break
            return number
        case "boolean":
            value = generation.fraction(location, "boolean") < 0.5
            return not value if is_excluded(parts, value) else value
    return None


def _attempt(generation: Generation, location: Location, attempt: int, rejected: int) -> Random:
    """The stream of an attempt at a text; characters that were rejected before count as work."""
    generation.spend(10 * attempt + rejected // _REJECTED_PER_STEP)
    return generation.stream(location, f"text {attempt}")


def _listed_value(generation: Generation, values: Sequence[Json], schemas: Sequence[Json], location: Location) -> Json:
    start = int(generation.fraction(location, "one of") * len(values))
    for at in range(min(len(values), _MAX_LISTED)):
        generation.spend(1)
        value = values[(start + at) % len(values)]
        if (len(values) == 1 and not generation.strict) or generation.fits(schemas, value):
            return value
    raise UnsatisfiableError("none of the listed values is allowed", "enum")


def _default_and_examples(generation: Generation, parts: Parts, location: Location) -> Sequence[Json]:
    """The default and examples of the schema, unless they were rejected or the prompt says more."""
    if location.rejections or generation.minimal:
        return ()
    found: list[Json] = [part["default"] for part in parts if "default" in part]
    for part in parts:
        examples = part.get("examples")
        if isinstance(examples, list) and examples:
            start = int(generation.fraction(location, "example") * len(examples))
            found += _rotated(examples, start)[:_MAX_EXAMPLES]
    return () if found and evidence(generation, parts) > 0 else found


def _is_allowed(generation: Generation, schemas: Sequence[Json], parts: Parts, value: Json) -> bool:
    values = generation.listed_values(parts)
    if values is not None and json_key(value) not in map(json_key, values):
        return False
    return not is_excluded(parts, value) and generation.fits(schemas, value)


def ordered_options(
    generation: Generation, location: Location, keyword: str, options: Sequence[Option]
) -> Sequence[Option]:
    """Sort the options of a keyword: what the prompt mentions first, null last; deep down what ends soonest."""
    if keyword not in ("anyOf", "oneOf"):
        return _rotated(options, location.rejections)
    if not generation.generous(location):
        depth = generation.compiled.min_depths.of
        return sorted(options, key=lambda option: depth(option[0]))
    others = [option for option in options if not _is_null(option)]
    chance = int(generation.fraction(location, "alternative") * len(others)) if len(others) > 1 else 0
    ordered = [*_rotated(others, chance + location.rejections), *(option for option in options if _is_null(option))]
    if generation.said is NOTHING or location.rejections:
        return ordered
    return sorted(ordered, key=lambda option: -evidence(generation, option[:1]))


def _ordered_types(generation: Generation, parts: Parts, location: Location) -> Sequence[str]:
    """The types to try: null last, or first where the value must end; implied ones first if none is stated."""
    allowed = allowed_types(parts)
    if any("type" in part for part in parts):
        found = sorted(allowed, key=lambda kind: (kind == "null") == generation.generous(location))
    else:
        found = [kind for kind in implied_types(parts) if kind in allowed]
    return _rotated(found, location.rejections // 2)  # try each type twice


def _with_pointer(generation: Generation, error: UnsatisfiableError, parts: Parts) -> UnsatisfiableError:
    if error.pointer.startswith("#"):
        return error
    pointers = generation.compiled.document.pointers
    stating = next((part for part in parts if error.pointer in part and id(part) in pointers), None)
    if stating is None:
        return UnsatisfiableError(error.why, _pointer(generation, parts))
    return UnsatisfiableError(error.why, f"{pointers[id(stating)]}/{error.pointer}")


def _pointer(generation: Generation, parts: Parts) -> str:
    pointers = generation.compiled.document.pointers
    return next((pointers[id(part)] for part in parts if id(part) in pointers), "#")


def _rotated(items: Sequence[T], by: int) -> list[T]:
    turn = by % max(1, len(items))
    return [*items[turn:], *items[:turn]]


def _is_null(option: Option) -> bool:
    schema: Json = option[0] if option else True
    if not isinstance(schema, dict):
        return False
    return schema.get("type") in ("null", ["null"]) or ("const" in schema and schema["const"] is None)


def _descriptions(parts: Parts) -> tuple[str, ...]:
    texts = [part.get(keyword) for keyword in ("title", "description") for part in parts]
    return tuple(text[:_MAX_DESCRIPTION] for text in texts if isinstance(text, str))


def _make_object(generation: Generation, parts: Parts, location: Location) -> dict[str, Json]:
    least, most = lower_limit(parts, "minProperties"), upper_limit(parts, "maxProperties")
    if least > MAX_PROPERTIES:
        why = f"cannot generate {least:,} properties; the limit is {MAX_PROPERTIES:,}"
        raise UnsatisfiableError(why, "minProperties")
    return _Object(generation, parts, location, least, MAX_PROPERTIES if most is None else most).make()


class _Object(Struct):
    generation: Generation
    parts: Parts
    location: Location
    least: int
    most: int

    def make(self) -> dict[str, Json]:
        required = self._with_dependents(required_names(self.parts))
        if len(required) > self.most:
            stated = upper_limit(self.parts, "maxProperties") is not None
            keyword, why = ("maxProperties", "allowed") if stated else ("required", f"made, {MAX_PROPERTIES:,}")
            raise UnsatisfiableError(f"more properties are required than are {why}", keyword)
        known = property_names(self.parts)
        chosen = self._choose(known, required)
        names = [name for name in known if name in chosen] + [name for name in chosen if name not in known]
        values = self._values(names, required)
        self._add_properties(values, known)
        return values

    def _choose(self, known: Sequence[str], required: Sequence[str]) -> dict[str, None]:
        chosen = dict.fromkeys(required)
        if self.generation.generous(self.location):
            wanted = (name for name in known if name not in required and self._wanted(name))
            for name in islice(wanted, int(_by_depth(_MAX_OPTIONAL, self.location))):
                added = [one for one in self._with_dependents((name,)) if one not in chosen]
                if len(chosen) + len(added) <= self.most:
                    chosen |= dict.fromkeys(added)
        return chosen

    def _wanted(self, name: str) -> bool:
        """Whether to make an optional property: what the prompt mentions, or by chance if it mentions nothing."""
        mentioned = evidence_within(self.generation, self._schemas(name)) > 0
        if mentioned or has_prompt_values(self.parts) or self.generation.only_said(self.parts):
            return mentioned
        fraction = self.generation.fraction(self.location.below(name, name), "optional")
        chance = _by_depth(_OPTIONAL_CHANCES, self.location) / (1 + self.location.rejections)
        return fraction < chance and self._allowed(name)

    def _values(self, names: Sequence[str], required: Collection[str]) -> dict[str, Json]:
        values: dict[str, Json] = {}
        for name in names:
            if name not in required and has_prompt_values(self.parts) and not self._wanted(name):
                continue  # another property used what the prompt says
            try:
                values[name] = self._value(name)
            except UnsatisfiableError:
                if name in required or any(name in self._with_dependents((other,)) for other in values):
                    raise
        return values

    def _value(self, name: str) -> Json:
        schemas = self._schemas(name)
        if False in schemas:
            raise UnsatisfiableError(f"the property {name!r} is required, and nothing is allowed there", "required")
        if self._is_unknown(name, schemas):
            return None
        return make(self.generation, schemas, self.location.below(name, name))

    def _is_unknown(self, name: str, schemas: tuple[Json, ...]) -> bool:
        """Whether a value or null is null: the prompt says others and not this one, which has no default."""
        generation = self.generation
        if generation.said is NOTHING or not (has_prompt_values(self.parts) or generation.said.sparse):
            return False
        said = any(name in part["properties"] for part in self.parts if LOOKED_UP in part)
        rejected = generation.rejections.get(self.location.below(name, name).pointer)
        if said or rejected or not is_nullable_scalar(generation, schemas):
            return False
        stated = any("default" in part for part in generation.possible(schemas) or ())
        return not stated and not evidence_within(generation, schemas)

    def _schemas(self, name: str) -> tuple[Json, ...]:
        return self.generation.property_schemas(self.parts, name)

    def _with_dependents(self, names: Sequence[str]) -> tuple[str, ...]:
        found, looked_at = dict.fromkeys(names), 0
        left = list(names)
        while left:
            name = left.pop()
            for part in self.parts:
                for keyword in ("dependentRequired", "dependencies"):
                    dependents = part.get(keyword, {}).get(name, ())
                    looked_at += len(dependents)
                    new = [one for one in dependents if one not in found] if isinstance(dependents, list) else []
                    found |= dict.fromkeys(new)
                    left += new
        self.generation.spend(looked_at // _NAMES_PER_STEP)
        return tuple(found)

    def _add_properties(self, values: dict[str, Json], known: Sequence[str]) -> None:
        wanted = self.least
        if not known and not values and self._is_map() and self.generation.generous(self.location):
            wanted = max(wanted, 1 + int(self.generation.fraction(self.location, "size") * 2))
        wanted = min(wanted, self.most)
        for name in self._further_names(values, known) if len(values) < wanted else ():
            try:
                values[name] = self._value(name)
            except UnsatisfiableError:
                continue
            if len(values) >= wanted:
                return
        if len(values) < self.least:
            raise UnsatisfiableError(f"could not find {self.least:,} allowed property names", "minProperties")

    def _further_names(self, values: Collection[str], known: Sequence[str]) -> Iterator[str]:
        for name in known:
            if name not in values and len(self._with_dependents((name,))) == 1 and self._allowed(name):
                yield name
        patterns = [pattern for part in self.parts for pattern in part.get("patternProperties", ())]
        at = misses = 0
        while misses < _MAX_MISSES:
            further = self._make_name(patterns, at)
            fits = further is not None and further not in (*values, *known) and self._allowed(further)
            at, misses = at + 1, 0 if fits else misses + 1
            if fits and further is not None:
                yield further

    def _make_name(self, patterns: Sequence[str], at: int) -> str | None:
        rng = self.generation.stream(self.location, f"name {at}")
        wanted = self._name_schemas()
        if wanted and at % 2 == 0:
            location = Location(f"{self.location.pointer}/~name {at}", (), self.location.depth)
            try:
                name = make(self.generation, (*wanted, _TEXT), location)
            except UnsatisfiableError:
                return None
            return name if isinstance(name, str) else None
        if patterns and at % 3 != 2:
            return sample(patterns[at % len(patterns)], rng)
        return word(rng) if at < _MAX_MISSES else f"{word(rng)}_{at}"

    def _allowed(self, name: str) -> bool:
        possible = self.generation.possible(self._schemas(name)) is not None
        return possible and self.generation.fits(self._name_schemas(), name)

    def _name_schemas(self) -> tuple[Json, ...]:
        return tuple(part["propertyNames"] for part in self.parts if "propertyNames" in part)

    def _is_map(self) -> bool:
        return any(
            part.get("additionalProperties", True) not in (True, False, {}) or part.get("patternProperties")
            for part in self.parts
        )


def _make_array(generation: Generation, parts: Parts, location: Location) -> list[Json]:
    least, most = lower_limit(parts, "minItems"), upper_limit(parts, "maxItems")
    if least > _MAX_ITEMS:
        raise UnsatisfiableError(f"cannot generate {least:,} items; the limit is {_MAX_ITEMS:,}", "minItems")
    if most is not None and least > most:
        raise UnsatisfiableError(f"no list has {least:,} items and no more than {most:,}", "minItems")
    return _Array(generation, parts, location, least, _MAX_ITEMS if most is None else most).make()


class _Array(Struct):
    generation: Generation
    parts: Parts
    location: Location
    least: int
    most: int
    distinct: bool = False  # if possible, as a prompt that wants "3 fruits" does

    def make(self) -> list[Json]:
        wanted = self._wanted()
        self.distinct = wanted > 1
        sets = self._prompt_sets()
        contained = [part["contains"] for part in self.parts if "contains" in part for _ in range(_times(part))]
        fixed = tuple_length(self.parts)
        length = self._length(fixed, wanted or len(sets), len(contained))
        if len(contained) > length:
            raise UnsatisfiableError(f"more items are demanded than the {self.most:,} that there may be", "contains")
        start = min(fixed, length - len(contained))  # behind the fixed items if there is room
        items: list[Json] = []
        seen: set[str] = set()
        for at in range(length):
            if at < len(sets):
                self.generation.said = sets[at]
            demanded = contained[at - start : at - start + 1] if at >= start else []
            try:
                items.append(self._item(at, (*item_schemas(self.parts, at), *demanded), seen))
            except UnsatisfiableError:
                if at < self.least or demanded:
                    raise
                break
        return items

    def _wanted(self) -> int:
        """How many items the prompt wants, if it says so: "4 tasks"."""
        said = self.generation.said
        hints = self.location.hints
        if said is NOTHING or self.location.rejections or not (hints or self._holds_texts()):
            return 0
        count, self.generation.said = said.counted(hints[0] if hints and hints[0] != "elements" else "")
        return min(count or 0, _MAX_WANTED)

    def _holds_texts(self) -> bool:
        return allowed_types(tuple(item_schemas(self.parts, tuple_length(self.parts)))) == ("string",)

    def _length(self, fixed: int, sets: int, contained: int) -> int:
        length = max(self.least, contained)
        if self.generation.generous(self.location):
            fraction = self.generation.fraction(self.location, "length")
            natural = fixed or 1 + int(fraction * max(1, 3 - self.location.depth // 2))
            length = max(length, sets or natural)
        if self.generation.possible(item_schemas(self.parts, fixed)) is None:  # no items beyond the fixed ones
            if fixed < self.least:
                why = f"no more than {fixed} items are allowed, and {self.least} are demanded"
                raise UnsatisfiableError(why, "minItems")
            length = min(length, fixed)
        return min(length, self.most)

    def _prompt_sets(self) -> tuple[Mentions, ...]:
        if self.generation.said is NOTHING or self.location.rejections:
            return ()
        item = self.generation.possible(item_schemas(self.parts, tuple_length(self.parts)))
        if not item or not property_names(item):
            return ()
        views = property_views(self.generation, item)
        sets = self.generation.said.sets(views, listed=True)
        return sets if len(sets) > 1 or self.generation.said.evidence(views) > _FEW_MENTIONED else ()

    def _item(self, at: int, schemas: Sequence[Json], seen: set[str]) -> Json:
        location = self.location.below(str(at), "")
        unique = any(part.get("uniqueItems") is True for part in self.parts)
        if not unique and not (self.distinct and self._holds_texts()):
            return make(self.generation, schemas, location)
        excluded: list[Json] = []
        for attempt in range(_MAX_ITEM_ATTEMPTS):
            extra = ({EXCLUDED: list(excluded)},) if excluded else ()
            try:
                value = make(self.generation, (*schemas, *extra), location.after(attempt))
            except UnsatisfiableError:
                if excluded:
                    break
                raise
            key = json_key(value)
            if key not in seen:
                seen.add(key)
                return value
            excluded.append(value)
        if not unique:
            return excluded[0]
        raise UnsatisfiableError("no further item was found that differs from the others", "uniqueItems")


def _times(part: Part) -> int:
    return min(int(part.get("minContains", 1)), _MAX_ITEMS + 1)


def _by_depth(values: Sequence[float], location: Location) -> float:
    return values[min(location.depth, len(values) - 1)]


_MAX_ITEMS, _MAX_WANTED = 1_000, 50
_FEW_MENTIONED = 0.4  # share of the properties of a list's only item above which the prompt has no further items
_MAX_ITEM_ATTEMPTS = 30
_MAX_MISSES = 24
_OPTIONAL_CHANCES = (0.9, 0.7, 0.4, 0.2, 0.1)  # of an optional property, by depth
_MAX_OPTIONAL = (20, 8, 4, 2)  # optional properties of one object, by depth
_TEXT: Json = {"type": "string"}
_MAX_DEPTH = 40
_MAX_COMBINATIONS = 16
_MAX_LISTED = 50
_MAX_NUMBERS = 4  # made again if they are excluded
_MAX_EXAMPLES = 4
_MAX_DESCRIPTION = 80
_CHARACTERS_PER_STEP, _REJECTED_PER_STEP = 50, 5
_PATTERN_WORK_PER_STEP = 100
_NAMES_PER_STEP = 50
