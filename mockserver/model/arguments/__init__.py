"""Values mentioned in a text, and how they become the values of properties.

`mentions` finds them: numbers, quoted texts, dates, names, pairs, JSON. `assigning` gives them to properties, by the
points of `evidence`. Knows texts and JSON Schema's types, no tools.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.json import Json
from mockserver.model.arguments.assigning import (
    WHOLE,
    Assignment,
    Fits,
    assign,
    assign_required,
    find_count_of_items,
    rank_candidates,
    read_properties,
)
from mockserver.model.arguments.mentions import read
from mockserver.model.arguments.records import split_objects
from mockserver.model.arguments.values import Mention
from mockserver.model.vocabulary import ends, parts

__all__ = ["NOTHING", "WHOLE", "Fits", "Mention", "Mentions", "mentions"]

_LONGEST, _LATER = 20_000, 20_000  # characters read of the first text, and of all others together
_DENSE = 8_000  # characters read of a text with more digits and signs than words: each may be a mention
_MOST_PROPERTIES = 1_000  # of an object that get values from a text
_TAIL = 0.4  # share of these characters that is read at the end of a long text


class Mentions(Struct, frozen=True):
    """The values of a text, in its order; `used` are those that properties have already."""

    text: str = ""
    found: tuple[Mention, ...] = ()
    used: tuple[Mention, ...] = ()
    sparse: bool = False  # for arguments: what nobody says is left out
    later: "tuple[Mentions, ...]" = ()  # of other texts, for properties that this one leaves empty

    def assigned(
        self, properties: Mapping[str, Json], fits: Fits, *, required: Collection[str] = ()
    ) -> "tuple[dict[str, Json], Mentions]":
        """Return what the text says of an object's properties, and the mentions that are left.

        `properties` holds a schema by name, `$ref` and `allOf` resolved, in the alternatives of `anyOf` too. A value
        has the type of its schema and passes `fits`. Properties that the text does not mention are absent; for
        `required` ones weaker evidence is enough, down to the phrase that is left.
        """
        if not self.text or not properties:
            return {}, self
        properties = _take_first(properties)
        assignment = Assignment(self.text, fits, used=list(self.used))
        props = read_properties(properties, required)
        ranked = rank_candidates(self.text, self.found, props, props)
        assign(assignment, ranked, props)
        later = tuple(other._add_more(properties, assignment) for other in self.later)
        missing = tuple(prop for prop in props if prop.required and prop.name not in assignment.given)
        if missing:  # only now: clear values of a later text are better than weak ones of the first
            assign_required(assignment, ranked, missing)
        assignment.sort_similar(props)
        return assignment.given, replace(self._without(assignment.used), later=later)

    def _add_more(self, properties: Mapping[str, Json], earlier: Assignment) -> "Mentions":
        """Add what this text says clearly of the properties that earlier texts leave empty; no text is taken twice."""

        def fits(name: str, value: Json) -> bool:
            return earlier.fits(name, value) and not (isinstance(value, str) and value in earlier.given.values())

        rest = {name: schema for name, schema in properties.items() if name not in earlier.given}
        own = Assignment(self.text, fits, used=list(self.used))
        props = read_properties(rest)
        assign(own, rank_candidates(self.text, self.found, props, read_properties(properties)), props)
        earlier.given |= own.given
        return self._without(own.used)

    def _without(self, used: Sequence[Mention]) -> "Mentions":
        if not used and not self.used:
            return self
        return replace(self, found=_list_left(self.found, used), used=tuple(used))

    def stating(self, values: Mapping[str, Json]) -> "Mentions":
        """Add values for properties by their names, as if the text ended with them."""
        end = len(self.text)
        stated = (
            Mention("member", value, end + at, end + at + 1, key=key) for at, (key, value) in enumerate(values.items())
        )
        found = (*self.found, *stated)
        return replace(self, text=self.text or " ", found=found) if values else self

    def counted(self, name: str) -> "tuple[int | None, Mentions]":
        """Return how many items the text wants of the list with this name, "4 tasks", and the mentions without that."""
        place = find_count_of_items(self.text, self.found, parts(name)[-1:])
        if place is None:
            return None, self
        return place.value, replace(self, found=_list_left(self.found, [place]))

    def evidence(self, properties: Mapping[str, Json]) -> float:
        """Return the share of an object's properties that the text mentions, from 0 to 1."""
        given, _ = replace(self, later=()).assigned(properties, lambda name, value: True)
        return len(given) / min(len(properties), _MOST_PROPERTIES) if properties else 0.0

    def sets(self, properties: Mapping[str, Json], *, listed: bool = False) -> "tuple[Mentions, ...]":
        """Return a set of mentions for each object that the text mentions; at least one set.

        Objects that are `listed`, as items of one list, may have different properties.
        """
        parts = split_objects(self.text, self.found, _take_first(properties), listed=listed)
        if len(parts) == 1 and parts[0] == (self.found, ()):
            return (self,)
        return tuple(replace(self, found=found, used=(*self.used, *others)) for found, others in parts)


NOTHING = Mentions()


def mentions(*texts: str) -> Mentions:
    """Return the values in texts, the most important text first; of a very long one both ends are read."""
    said = [text for text in texts if text.strip()]
    if not said:
        return NOTHING
    share = _LATER // max(1, len(said) - 1)
    first, *later = [_read(_ends(said[0], _LONGEST)), *(_read(_ends(text, share)) for text in said[1:])]
    return replace(first, later=tuple(later)) if later else first


@lru_cache(maxsize=8)  # the texts of one request, which are asked again and again
def _read(text: str) -> Mentions:
    return Mentions(text, read(text))


def _ends(text: str, most: int) -> str:
    """A text, or both ends of a long one: the beginning says what to do, the end what with."""
    most = min(most, _DENSE) if len(text) > _DENSE and _is_dense(text[:_LONGEST]) else most
    tail = int(most * _TAIL)
    return ends(text, most - tail, tail)


def _is_dense(text: str) -> bool:
    return sum(map(str.isalpha, text)) + text.count(" ") < 0.55 * len(text)


def _take_first(properties: Mapping[str, Json]) -> Mapping[str, Json]:
    few = len(properties) <= _MOST_PROPERTIES
    return properties if few else dict(islice(properties.items(), _MOST_PROPERTIES))


def _list_left(found: tuple[Mention, ...], used: Sequence[Mention]) -> tuple[Mention, ...]:
    return tuple(mention for mention in found if not any(mention.overlaps(other) for other in used))
