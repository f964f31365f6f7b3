"""The state of one instance while it is generated: chance, a budget of work, and what the prompt says."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mockserver.core.json import Json
from mockserver.core.seed import Random, Seed
from mockserver.model.arguments import Mentions
from mockserver.model.schema.alternatives import Alternatives
from mockserver.model.schema.compiled import CompiledSchema
from mockserver.model.schema.document import UnsatisfiableError, WorkLimitError, escape
from mockserver.model.schema.keywords import Parts


@dataclass(frozen=True, slots=True)
class Location:
    """Where a value is in the instance."""

    pointer: str = ""
    hints: tuple[str, ...] = ()  # its names and descriptions, the most telling first
    depth: int = 0
    rejections: int = 0  # how often values here or around have been rejected

    def below(self, step: str, name: str) -> "Location":
        """The location of a property, or of an item, which has no `name`."""
        hints = (name,) if name else self.hints
        return Location(f"{self.pointer}/{escape(step)}", hints, self.depth + 1, self.rejections)

    def after(self, rejections: int) -> "Location":
        """The same location after further rejections."""
        return Location(self.pointer, self.hints, self.depth, self.rejections + rejections) if rejections else self


@dataclass(slots=True)
class WorkBudget:
    """The steps that one instance may still cost."""

    left: int

    def spend(self, steps: int) -> None:
        """Raises WorkLimitError."""
        self.left -= steps
        if self.left < 0:
            raise WorkLimitError


@dataclass(slots=True)
class Generation(ABC):
    """What generating an object, an array or a plain value needs to know, and `make` for the values within.

    Each location has its own random stream, so that an added property changes no other.
    """

    compiled: CompiledSchema
    seed: Seed
    said: Mentions  # what the prompt says and no value has used yet
    work: WorkBudget
    rejections: Mapping[str, int] = field(default_factory=dict)  # by JSON pointer
    minimal: bool = False  # leave out all that is optional
    alternatives: Alternatives = field(init=False)

    def __post_init__(self) -> None:
        self.alternatives = Alternatives(self.compiled, self.work.spend)

    @abstractmethod
    def make(self, schemas: Sequence[Json], location: Location) -> Json:
        """Make a value that all the schemas allow. Raises UnsatisfiableError."""

    def possible(self, schemas: Sequence[Json]) -> Parts | None:
        """The schemas, flattened; None if they allow nothing."""
        try:
            return self.alternatives.flatten(schemas)
        except UnsatisfiableError:
            return None

    def fits(self, schemas: Sequence[Json], value: Json) -> bool:
        """Whether all the schemas allow a value."""
        return all(self.compiled.allows(schema, value) for schema in schemas)

    def generous(self, location: Location) -> bool:
        """Whether optional things are made here."""
        return not self.minimal and location.depth <= _MAX_OPTIONAL_DEPTH

    def stream(self, location: Location, label: str) -> Random:
        """A random stream for one location and purpose."""
        return self.seed.stream(label, location.pointer, str(location.rejections))

    def fraction(self, location: Location, label: str) -> float:
        """A random number from 0 to 1; cheaper than a stream."""
        return self.seed.fraction(label, location.pointer, str(location.rejections))


_MAX_OPTIONAL_DEPTH = 4
