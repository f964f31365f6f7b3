"""What tables, lists and plain values need of those who make them: a place, chance, values for what is within."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mockserver.core.json import Json
from mockserver.core.seed import Random
from mockserver.model.arguments import Mentions
from mockserver.model.schema.alternatives import Alternatives
from mockserver.model.schema.document import DeadEndError
from mockserver.model.schema.parts import Parts


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands in the instance."""

    pointer: str = ""
    hints: tuple[str, ...] = ()  # what it is called and described as, the most telling first
    depth: int = 0
    tries: int = 0  # how often what was made here, or around it, has been refused

    def below(self, step: str, name: str) -> "Place":
        """The place of a property, or of an item, that is called `name`."""
        escaped = step.replace("~", "~0").replace("/", "~1")
        return Place(f"{self.pointer}/{escaped}", (name,) if name else self.hints, self.depth + 1, self.tries)

    def again(self, tries: int) -> "Place":
        """The same place after so many more refusals."""
        return Place(self.pointer, self.hints, self.depth, self.tries + tries) if tries else self


class Making(Protocol):
    """One instance in the making."""

    alternatives: Alternatives
    said: Mentions  # what the prompt says and has not been taken yet

    def make(self, schemas: Sequence[Json], place: Place) -> Json:
        """A value that all the schemas allow. Raises DeadEndError."""

    def stream(self, place: Place, label: str) -> Random:
        """A stream of chance of its own."""

    def fraction(self, place: Place, label: str) -> float:
        """A number from 0 up to 1 of its own, which costs less than a stream."""

    def generous(self, place: Place) -> bool:
        """Whether more than the least is made here."""

    def fits(self, schemas: Sequence[Json], value: Json) -> bool:
        """Whether all the schemas allow a value."""


def possible(making: Making, schemas: Sequence[Json]) -> Parts | None:
    """The parts of schemas; None where they allow nothing."""
    try:
        return making.alternatives.flat(schemas)
    except DeadEndError:
        return None
