"""Objects and arrays: which properties or how many items they have, and a value for each."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from mockserver.core.json import Json
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.patterns.sampling import sample
from mockserver.model.schema.document import UnsatisfiableError
from mockserver.model.schema.generation import Generation, Location
from mockserver.model.schema.keywords import (
    EXCLUDED,
    Part,
    Parts,
    item_schemas,
    json_key,
    lower_limit,
    property_names,
    required_names,
    tuple_length,
    upper_limit,
)
from mockserver.model.schema.plausible import word
from mockserver.model.schema.prompt_values import evidence_within, has_prompt_values, property_views


def make_object(generation: Generation, parts: Parts, location: Location) -> dict[str, Json]:
    """Make an object that the parts allow, its properties in the order of the schema. Raises UnsatisfiableError."""
    least, most = lower_limit(parts, "minProperties"), upper_limit(parts, "maxProperties")
    if least > _MAX_PROPERTIES:
        why = f"an object of {least:,} properties is not made, only up to {_MAX_PROPERTIES:,}"
        raise UnsatisfiableError(why, "minProperties")
    return _Object(generation, parts, location, least, _MAX_PROPERTIES if most is None else most).make()


@dataclass(slots=True)
class _Object:
    generation: Generation
    parts: Parts
    location: Location
    least: int
    most: int

    def make(self) -> dict[str, Json]:
        required = self._with_dependents(required_names(self.parts))
        if len(required) > self.most:
            stated = upper_limit(self.parts, "maxProperties") is not None
            keyword, why = ("maxProperties", "allowed") if stated else ("required", f"made, {_MAX_PROPERTIES:,}")
            raise UnsatisfiableError(f"more properties are required than are {why}", keyword)
        known = property_names(self.parts)
        chosen = self._choose(known, required)
        names = [name for name in known if name in chosen] + [name for name in chosen if name not in known]
        values = self._values(names, required)
        self._add_properties(values, known)
        return values

    def _choose(self, known: Sequence[str], required: Sequence[str]) -> dict[str, None]:
        """The names of the properties to make: the required ones and, within the limits, some others."""
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
        if mentioned or has_prompt_values(self.parts):
            return mentioned
        fraction = self.generation.fraction(self.location.below(name, name), "optional")
        chance = _by_depth(_OPTIONAL_CHANCES, self.location) / (1 + self.location.rejections)
        return fraction < chance and self._allowed(name)

    def _values(self, names: Sequence[str], required: Collection[str]) -> dict[str, Json]:
        """A value for each name; an optional one that cannot be made is left out."""
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
        return self.generation.make(schemas, self.location.below(name, name))

    def _schemas(self, name: str) -> tuple[Json, ...]:
        return self.generation.alternatives.property_schemas(self.parts, name)

    def _with_dependents(self, names: Sequence[str]) -> tuple[str, ...]:
        found = dict.fromkeys(names)
        left = list(names)
        while left:
            name = left.pop()
            for part in self.parts:
                for keyword in ("dependentRequired", "dependencies"):
                    dependents = part.get(keyword, {}).get(name, ())
                    new = [one for one in dependents if one not in found] if isinstance(dependents, list) else []
                    found |= dict.fromkeys(new)
                    left += new
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
            raise UnsatisfiableError(f"no {self.least:,} properties were found that are allowed", "minProperties")

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
        """The next name to try: for `propertyNames`, for a pattern, or any word."""
        rng = self.generation.stream(self.location, f"name {at}")
        wanted = self._name_schemas()
        if wanted and at % 2 == 0:
            location = Location(f"{self.location.pointer}/~name {at}", (), self.location.depth)
            try:
                name = self.generation.make((*wanted, _TEXT), location)
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


def make_array(generation: Generation, parts: Parts, location: Location) -> list[Json]:
    """Make an array that the parts allow. Raises UnsatisfiableError."""
    least, most = lower_limit(parts, "minItems"), upper_limit(parts, "maxItems")
    if least > _MAX_ITEMS:
        raise UnsatisfiableError(f"a list of {least:,} items is not made, only up to {_MAX_ITEMS:,}", "minItems")
    if most is not None and least > most:
        raise UnsatisfiableError(f"no list has {least:,} items and no more than {most:,}", "minItems")
    return _Array(generation, parts, location, least, _MAX_ITEMS if most is None else most).make()


@dataclass(slots=True)
class _Array:
    generation: Generation
    parts: Parts
    location: Location
    least: int
    most: int

    def make(self) -> list[Json]:
        sets = self._prompt_sets()
        contained = [part["contains"] for part in self.parts if "contains" in part for _ in range(_times(part))]
        fixed = tuple_length(self.parts)
        length = self._length(fixed, len(sets), len(contained))
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

    def _length(self, fixed: int, sets: int, contained: int) -> int:
        length = max(self.least, contained)
        if self.generation.generous(self.location):
            fraction = self.generation.fraction(self.location, "length")
            natural = fixed or 1 + int(fraction * max(1, 3 - self.location.depth // 2))
            length = max(length, sets if sets > 1 else natural)
        if self.generation.possible(item_schemas(self.parts, fixed)) is None:  # no items beyond the fixed ones
            if fixed < self.least:
                why = f"no more than {fixed} items are allowed, and {self.least} are demanded"
                raise UnsatisfiableError(why, "minItems")
            length = min(length, fixed)
        return min(length, self.most)

    def _prompt_sets(self) -> tuple[Mentions, ...]:
        """What the prompt says of each of several objects."""
        if self.generation.said is NOTHING or self.location.rejections:
            return ()
        item = self.generation.possible(item_schemas(self.parts, tuple_length(self.parts)))
        if not item or not property_names(item):
            return ()
        sets = self.generation.said.sets(property_views(self.generation, item), listed=True)
        return sets if len(sets) > 1 else ()

    def _item(self, at: int, schemas: Sequence[Json], seen: set[str]) -> Json:
        location = self.location.below(str(at), "")
        if not any(part.get("uniqueItems") is True for part in self.parts):
            return self.generation.make(schemas, location)
        excluded: list[Json] = []
        for attempt in range(_MAX_ATTEMPTS):
            extra = ({EXCLUDED: list(excluded)},) if excluded else ()
            try:
                value = self.generation.make((*schemas, *extra), location.after(attempt))
            except UnsatisfiableError:
                if excluded:
                    break
                raise
            key = json_key(value)
            if key not in seen:
                seen.add(key)
                return value
            excluded.append(value)
        raise UnsatisfiableError("no further item was found that differs from the others", "uniqueItems")


def _times(part: Part) -> int:
    return min(int(part.get("minContains", 1)), _MAX_ITEMS + 1)


def _by_depth(values: Sequence[float], location: Location) -> float:
    return values[min(location.depth, len(values) - 1)]


_MAX_PROPERTIES = 2_000
_MAX_ITEMS = 1_000
_MAX_ATTEMPTS = 30
_MAX_MISSES = 24
_OPTIONAL_CHANCES = (0.9, 0.7, 0.4, 0.2, 0.1)  # of an optional property, by depth
_MAX_OPTIONAL = (20, 8, 4, 2)  # optional properties of one object, by depth
_TEXT: Json = {"type": "string"}
