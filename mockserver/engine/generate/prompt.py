"""What a prompt says that a value can be made of: numbers, quoted texts, dates, names, pairs, lists, JSON.

Knows text and JSON Schema's words for types, no tools and no calls.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from mockserver.core.call import Json

Fits = Callable[[str, Json], bool]  # whether the property of this name may have this value


@dataclass(frozen=True, slots=True)
class Mention:
    """One value that stands in a text, from `start` up to `end`; `key` is what the text calls it, if it does."""

    kind: str
    value: Json
    start: int
    end: int
    key: str = ""


@dataclass(frozen=True, slots=True)
class Mentions:
    """The values of a text, in its order."""

    text: str = ""
    found: tuple[Mention, ...] = ()

    def assigned(
        self, properties: Mapping[str, Json], fits: Fits, *, required: Collection[str] = ()
    ) -> "tuple[dict[str, Json], Mentions]":
        """What the text says of an object's properties, and the mentions that are left.

        `properties` holds a schema by name, `$ref` and `allOf` resolved, in the alternatives of `anyOf` too. A value has
        the type that its schema wants, and is given only where `fits` allows it. Names for which the text says nothing
        are absent; a `required` one is given weaker evidence, down to the phrase that is left.
        """
        return {}, self

    def evidence(self, properties: Mapping[str, Json]) -> float:
        """How much of an object's properties the text speaks of: 0 for none, 1 for all."""
        return 0.0

    def sets(self, properties: Mapping[str, Json]) -> "tuple[Mentions, ...]":
        """The mentions parted into sets of values, one for each object that the text speaks of; at least one set."""
        return (self,)


NOTHING = Mentions()


def mentions(*texts: str) -> Mentions:
    """What texts mention, the most telling text first."""
    return NOTHING
