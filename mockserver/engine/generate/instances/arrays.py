"""Lists: how long they are, and a value for each place. Knows the keywords for arrays, no other type."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mockserver.core.call import Json
from mockserver.engine.generate.instances.dead_end import DeadEndError
from mockserver.engine.generate.instances.making import Making, Place, possible
from mockserver.engine.generate.instances.parts import (
    EXCLUDED,
    Parts,
    identity,
    least,
    most,
    named,
    of_item,
    tuple_length,
)
from mockserver.engine.generate.instances.saying import shown
from mockserver.engine.generate.prompt import NOTHING, Mentions


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
