"""Tables: which properties they have, and a value for each. Knows the keywords for objects, no other type."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from mockserver.core.json import Json
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.patterns.sampling import sample
from mockserver.model.schema.document import DeadEndError
from mockserver.model.schema.formats import word
from mockserver.model.schema.hints import evidence_within, shown, spoken
from mockserver.model.schema.making import Making, Place, possible
from mockserver.model.schema.parts import EXCLUDED, Parts, identity, least, most, named, of_item, required, tuple_length


def table(making: Making, parts: Parts, place: Place) -> dict[str, Json]:
    """An object that the parts allow: its properties in the order of the schema. Raises DeadEndError."""
    at_least, at_most = least(parts, "minProperties"), most(parts, "maxProperties")
    if at_least > _MOST_PROPERTIES:
        raise DeadEndError(
            f"an object of {at_least:,} properties is not made, only up to {_MOST_PROPERTIES:,}", "minProperties"
        )
    return _Table(making, parts, place, (at_least, _MOST_PROPERTIES if at_most is None else at_most)).made()


def _too_many(demanded: int, allowed: int | None) -> DeadEndError:
    if allowed is not None:
        return DeadEndError("more properties are required than are allowed", "maxProperties")
    why = f"{demanded:,} properties are required, and an object is made of up to {_MOST_PROPERTIES:,}"
    return DeadEndError(why, "required")


@dataclass(slots=True)
class _Table:
    making: Making
    parts: Parts
    place: Place
    sizes: tuple[int, int]

    def made(self) -> dict[str, Json]:
        demanded = self._with_dependents(required(self.parts))
        if len(demanded) > self.sizes[1]:
            raise _too_many(len(demanded), most(self.parts, "maxProperties"))
        self._check_names(demanded)
        spoken_of = named(self.parts)
        chosen = self._chosen(spoken_of, demanded)
        names = [name for name in spoken_of if name in chosen]
        names += [name for name in chosen if name not in spoken_of]
        made = self._filled(names, demanded)
        self._widen(made, spoken_of)
        return made

    def _check_names(self, demanded: Sequence[str]) -> None:
        allowed = self._name_schemas()
        for name in demanded if allowed else ():
            if not self.making.fits(allowed, name):
                raise DeadEndError(f"the property {name!r} is required, and its name is not allowed", "propertyNames")

    def _chosen(self, spoken_of: Sequence[str], demanded: Sequence[str]) -> dict[str, None]:
        """The names of the properties to make: the demanded ones, and by chance some others, within the limits."""
        chosen = dict.fromkeys(demanded)
        if self.making.generous(self.place):
            further = _MOST_OPTIONAL[min(self.place.depth, len(_MOST_OPTIONAL) - 1)]
            wanted = (name for name in spoken_of if name not in demanded and self._wanted(name))
            for name in islice(wanted, further):
                added = [one for one in self._with_dependents((name,)) if one not in chosen]
                if len(chosen) + len(added) <= self.sizes[1]:
                    chosen |= dict.fromkeys(added)
        return chosen

    def _wanted(self, name: str) -> bool:
        """Whether an optional property is made: by chance, but only what is spoken of where the prompt has its say."""
        told = evidence_within(self.making, self.making.alternatives.of_property(self.parts, name)) > 0
        if told or spoken(self.parts):
            return told
        chance = _CHANCES[min(self.place.depth, len(_CHANCES) - 1)]
        return self.making.fraction(self.place.below(name, name), "optional") < chance and self._may_be_called(name)

    def _filled(self, names: Sequence[str], demanded: Collection[str]) -> dict[str, Json]:
        """A value for each name; what cannot be made is left out where it may be."""
        made: dict[str, Json] = {}
        for name in names:
            if name not in demanded and spoken(self.parts) and not self._wanted(name):
                continue  # another property took what the prompt says
            try:
                made[name] = self._value(name)
            except DeadEndError:
                if name in demanded or any(name in self._with_dependents((other,)) for other in made):
                    raise
        return made

    def _value(self, name: str) -> Json:
        schemas = self.making.alternatives.of_property(self.parts, name)
        if False in schemas:
            raise DeadEndError(f"the property {name!r} is required, and nothing is allowed there", "required")
        return self.making.make(schemas, self.place.below(name, name))

    def _with_dependents(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names with all that must stand beside them."""
        found = dict.fromkeys(names)
        left = list(names)
        while left:
            name = left.pop()
            for part in self.parts:
                for keyword in ("dependentRequired", "dependencies"):
                    beside = part.get(keyword, {}).get(name, ())
                    new = [one for one in beside if one not in found] if isinstance(beside, list) else []
                    found |= dict.fromkeys(new)
                    left += new
        return tuple(found)

    def _widen(self, made: dict[str, Json], spoken_of: Sequence[str]) -> None:
        """Add properties up to the least number; to what is a map by its nature, a few."""
        wanted = self.sizes[0]
        if not spoken_of and not made and self._is_map() and self.making.generous(self.place):
            wanted = max(wanted, 1 + int(self.making.fraction(self.place, "size") * 2))
        wanted = min(wanted, self.sizes[1])
        for name in self._further_names(made, spoken_of) if len(made) < wanted else ():
            try:
                made[name] = self._value(name)
            except DeadEndError:
                continue
            if len(made) >= wanted:
                return
        if len(made) < self.sizes[0]:
            raise DeadEndError(f"no {self.sizes[0]:,} properties were found that are allowed", "minProperties")

    def _further_names(self, made: Collection[str], spoken_of: Sequence[str]) -> Iterator[str]:
        """Names for more properties: those that are spoken of, those of patterns, and free ones."""
        yield from (name for name in spoken_of if name not in made and self._alone(name))
        patterns = [pattern for part in self.parts for pattern in part.get("patternProperties", ())]
        at = misses = 0
        while misses < _MORE_NAMES:
            name = self._name(patterns, at)
            fits = name is not None and name not in made and name not in spoken_of and self._may_be_called(name)
            at, misses = at + 1, 0 if fits else misses + 1
            if fits and name is not None:
                yield name

    def _alone(self, name: str) -> bool:
        return len(self._with_dependents((name,))) == 1 and self._may_be_called(name)

    def _name(self, patterns: Sequence[str], at: int) -> str | None:
        """The next name to try: for a pattern, as `propertyNames` says, or any word."""
        rng = self.making.stream(self.place, f"name {at}")
        wanted = self._name_schemas()
        if wanted and at % 2 == 0:
            try:
                name = self.making.make(
                    (*wanted, _TEXT), Place(f"{self.place.pointer}/~name {at}", (), self.place.depth)
                )
            except DeadEndError:
                return None
            return name if isinstance(name, str) else None
        if patterns and at % 3 != 2:
            return sample(patterns[at % len(patterns)], rng)
        return word(rng) if at < _MORE_NAMES else f"{word(rng)}_{at}"

    def _may_be_called(self, name: str) -> bool:
        """Whether a property of this name may stand in the table at all."""
        if possible(self.making, self.making.alternatives.of_property(self.parts, name)) is None:
            return False
        return self.making.fits(self._name_schemas(), name)

    def _name_schemas(self) -> tuple[Json, ...]:
        return tuple(part["propertyNames"] for part in self.parts if "propertyNames" in part)

    def _is_map(self) -> bool:
        return any(
            (bool(part.get("additionalProperties")) and part["additionalProperties"] is not True)
            or bool(part.get("patternProperties"))
            for part in self.parts
        )


_MOST_PROPERTIES = 2_000
_CHANCES = (0.9, 0.7, 0.4, 0.2, 0.1)  # of an optional property, by depth
_MOST_OPTIONAL = (20, 8, 4, 2)  # of one object, by depth
_MORE_NAMES = 24
_TEXT: Json = {"type": "string"}


def row(making: Making, parts: Parts, place: Place) -> list[Json]:
    """An array that the parts allow. Raises DeadEndError."""
    at_least, at_most = least(parts, "minItems"), most(parts, "maxItems")
    if at_least > _MOST_ITEMS:
        raise DeadEndError(f"a list of {at_least:,} items is not made, only up to {_MOST_ITEMS:,}", "minItems")
    if at_most is not None and at_least > at_most:
        raise DeadEndError(f"no list has {at_least:,} items and no more than {at_most:,}", "minItems")
    return _Row(making, parts, place, (at_least, _MOST_ITEMS if at_most is None else at_most)).made()


@dataclass(slots=True)
class _Row:
    making: Making
    parts: Parts
    place: Place
    sizes: tuple[int, int]

    def made(self) -> list[Json]:
        said = self._sets()
        wanted = self._contained()
        fixed = tuple_length(self.parts)
        length = self._length(fixed, said, len(wanted))
        places = self._placed(wanted, fixed, length)
        made: list[Json] = []
        seen: set[Json] = set()
        for at in range(length):
            if at < len(said):
                self.making.said = said[at]
            try:
                value = self._item(at, (*of_item(self.parts, at), *places.get(at, self._kept_out())), seen)
            except DeadEndError:
                if at < self.sizes[0] or at in places:
                    raise
                break
            made.append(value)
        return made

    def _length(self, fixed: int, said: Sequence[Mentions], wanted: int) -> int:
        """How many items there are: a few, unless limits or the prompt say otherwise."""
        length = max(self.sizes[0], wanted)
        open_ended = possible(self.making, of_item(self.parts, fixed)) is not None
        if self.making.generous(self.place):
            natural = fixed or 1 + int(self.making.fraction(self.place, "length") * max(1, 3 - self.place.depth // 2))
            length = max(length, len(said) if len(said) > 1 else natural)
        if not open_ended:
            if fixed < length and fixed < self.sizes[0]:
                raise DeadEndError(
                    f"no more than {fixed} items are allowed, and {self.sizes[0]} are demanded", "minItems"
                )
            length = min(length, fixed)
        return min(length, self.sizes[1])

    def _sets(self) -> tuple[Mentions, ...]:
        """What the prompt says of each of several objects."""
        if self.making.said is NOTHING or self.place.tries:
            return ()
        item = possible(self.making, of_item(self.parts, tuple_length(self.parts)))
        if not item or not named(item):
            return ()
        properties = shown(self.making, item)
        sets = self.making.said.sets(properties, listed=True)
        return sets if len(sets) > 1 else ()

    def _contained(self) -> list[Json]:
        """The schemas that `contains` demands, each as often as it must be met."""
        return [part["contains"] for part in self.parts if "contains" in part for _ in range(_times(part))]

    def _placed(self, wanted: Sequence[Json], fixed: int, length: int) -> Mapping[int, tuple[Json, ...]]:
        """Which demanded schema is met at which place: behind those with schemas of their own, if there is room."""
        if len(wanted) > length:
            raise DeadEndError(f"more items are demanded than the {self.sizes[1]:,} that there may be", "contains")
        start = fixed if length - fixed >= len(wanted) else length - len(wanted)
        return {start + at: (schema,) for at, schema in enumerate(wanted)}

    def _kept_out(self) -> tuple[Json, ...]:
        """What further items must not be, so that no more meet `contains` than may."""
        return tuple(
            self.making.alternatives.negated(part["contains"])
            for part in self.parts
            if "maxContains" in part and "contains" in part
        )

    def _item(self, at: int, schemas: Sequence[Json], seen: set[Json]) -> Json:
        """An item that is not there yet, where all must differ."""
        place = self.place.below(str(at), "")
        if not any(part.get("uniqueItems") is True for part in self.parts):
            return self.making.make(schemas, place)
        refused: list[Json] = []
        for tries in range(_MOST_TRIES):
            extra = ({EXCLUDED: list(refused)},) if refused else ()
            try:
                value = self.making.make((*schemas, *extra), place.again(tries))
            except DeadEndError:
                if refused:
                    break
                raise
            key = identity(value)
            if key not in seen:
                seen.add(key)
                return value
            refused.append(value)
        raise DeadEndError("no further item was found that differs from the others", "uniqueItems")


def _times(part: Mapping[str, Json]) -> int:
    return min(int(part.get("minContains", 1)), _MOST_ITEMS + 1)


_MOST_ITEMS = 1_000
_MOST_TRIES = 30
