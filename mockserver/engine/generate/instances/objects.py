"""Tables: which properties they have, and a value for each. Knows the keywords for objects, no other type."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from mockserver.core.call import Json
from mockserver.engine.generate.instances.dead_end import DeadEndError
from mockserver.engine.generate.instances.formats import word
from mockserver.engine.generate.instances.making import Making, Place, possible
from mockserver.engine.generate.instances.parts import Parts, least, most, named, required
from mockserver.engine.generate.instances.saying import evidence_within, spoken
from mockserver.engine.generate.patterns.writing import matching


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
            return matching(patterns[at % len(patterns)], rng)
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
