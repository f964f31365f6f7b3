"""One instance in the making: follows the schema down, tries alternatives, and takes what was said first.

Every value has its own chance by its place, so that one property more shifts no other. Work is counted, and ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from mockserver.core.json import Json
from mockserver.core.seed import Random, Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.schema.alternatives import Alternatives, Option
from mockserver.model.schema.compiled import Compiled
from mockserver.model.schema.containers import row, table
from mockserver.model.schema.document import DeadEndError, ExhaustedError, Heights
from mockserver.model.schema.hints import evidence, with_said
from mockserver.model.schema.making import Making, Place
from mockserver.model.schema.names import natural_range
from mockserver.model.schema.parts import Parts, hinted, kinds, refused, same
from mockserver.model.schema.scalars import number, text


def ordered(making: Making, heights: Heights, place: Place, options: Sequence[Option]) -> Sequence[Option]:
    """Alternatives by chance, null last: before them what the prompt speaks of; deep down what ends soonest."""
    if not making.generous(place):
        return sorted(options, key=lambda option: max(map(heights.of, option), default=0))
    telling = [option for option in options if not _is_null(option)]
    turned = [*_turned(making, place, telling), *(option for option in options if _is_null(option))]
    if making.said is NOTHING or place.tries:
        return turned
    return sorted(turned, key=lambda option: -evidence(making, option[:1]))


def after_trouble(place: Place, options: Sequence[Option]) -> Sequence[Option]:
    """Alternatives as they stand, later ones first where the earlier have been refused."""
    turn = place.tries % max(1, len(options))
    return [*options[turn:], *options[:turn]]


def kinds_in_order(making: Making, parts: Parts, place: Place) -> Sequence[str]:
    """The types to try, the most telling first; null only at the end, or where an end must be found."""
    allowed = kinds(parts)
    if any("type" in part for part in parts):
        found = sorted(allowed, key=lambda kind: (kind == "null") == making.generous(place))
    else:
        found = [kind for kind in hinted(parts) if kind in allowed]
    turn = place.tries // 2 % len(found) if found else 0  # each type has a second try
    return [*found[turn:], *found[:turn]]


def _turned(making: Making, place: Place, options: Sequence[Option]) -> Sequence[Option]:
    if len(options) < _FEWEST:
        return options
    turn = (int(making.fraction(place, "alternative") * len(options)) + place.tries) % len(options)
    return [*options[turn:], *options[:turn]]


def _is_null(option: Option) -> bool:
    schema: Json = option[0] if option else True
    if not isinstance(schema, Mapping):
        return False
    return schema.get("type") in ("null", ["null"]) or ("const" in schema and schema["const"] is None)


_FEWEST = 2


@dataclass(slots=True)
class Work:
    """What may still be done for one instance."""

    left: int

    def spend(self, steps: int) -> None:
        """Do so many steps more. Raises ExhaustedError."""
        self.left -= steps
        if self.left < 0:
            raise ExhaustedError


@dataclass(slots=True)
class Maker:
    """Makes one instance. `troubles` counts, by JSON pointer, how often a value was refused there."""

    compiled: Compiled
    seed: Seed
    said: Mentions
    work: Work
    troubles: Mapping[str, int] = field(default_factory=dict)
    lean: bool = False  # nothing is made that need not be
    alternatives: Alternatives = field(init=False)

    def __post_init__(self) -> None:
        self.alternatives = Alternatives(self.compiled, self.work.spend)

    def make(self, schemas: Sequence[Json], place: Place) -> Json:
        """A value that all the schemas allow. Raises DeadEndError."""
        self.work.spend(1)
        place = place.again(self.troubles.get(place.pointer, 0))
        parts = self.alternatives.flat(schemas)
        if place.depth > _DEEPEST:
            raise DeadEndError(f"it leads more than {_DEEPEST} levels deep", self._pointer(parts))
        place = Place(place.pointer, (*place.hints, *_notes(parts)), place.depth, place.tries)
        for value in self._noted(parts, place):
            if self._allowed(schemas, parts, value):
                return value
        said, told = self.said, with_said(self, parts, place, trouble=self.troubles)
        if told is not parts:
            try:
                return self._first_of(told, schemas, place)
            except DeadEndError:
                self.said = said
        return self._first_of(parts, schemas, place)

    def _first_of(self, parts: Parts, schemas: Sequence[Json], place: Place) -> Json:
        """A value by the first of the alternatives that leads to one."""
        first: DeadEndError | None = None
        said = self.said
        order = partial(self._ordered, place)
        for settled in islice(self.alternatives.settled(parts, order), _MOST_ALTERNATIVES):
            try:
                return self._value(settled, schemas, place)
            except DeadEndError as error:
                first = first or self._located(error, settled)
                self.said = said
        raise first or DeadEndError("none of the alternatives can be met", self._pointer(parts))

    def _value(self, parts: Parts, schemas: Sequence[Json], place: Place) -> Json:
        values = self.alternatives.listed(parts)
        if values is not None:
            return self._one_of(values, schemas, place)
        failed: DeadEndError | None = None
        for kind in kinds_in_order(self, parts, place):
            try:
                return self._of_kind(kind, parts, place)
            except DeadEndError as error:
                failed = failed or error
        raise failed or DeadEndError("no type is left that is allowed", "type")

    def _of_kind(self, kind: str, parts: Parts, place: Place) -> Json:
        match kind:
            case "object":
                return table(self, with_said(self, parts, place, trouble=self.troubles), place)
            case "array":
                return row(self, parts, place)
            case "string":
                made = text(parts, place.hints, partial(self._attempt, place))
                self.work.spend(len(made) // _CHARACTERS_OF_ONE_STEP)
                return made
            case "number" | "integer":
                low, high = natural_range(place.hints)
                high += (high - low) * 10 * place.tries
                return number(parts, (low, high), self.stream(place, "number"), whole=kind == "integer")
            case "boolean":
                value = self.fraction(place, "boolean") < 0.5
                return not value if refused(parts, value) else value
        return None

    def _attempt(self, place: Place, attempt: int) -> Random:
        """A stream for a text that is tried again; each attempt is dearer than the one before."""
        self.work.spend(10 * attempt)
        return self.stream(place, f"text {attempt}")

    def _one_of(self, values: Sequence[Json], schemas: Sequence[Json], place: Place) -> Json:
        """One of the listed values, by chance; the first from there on that all else allows."""
        start = int(self.fraction(place, "one of") * len(values))
        for at in range(min(len(values), _MOST_LISTED)):
            self.work.spend(1)
            value = values[(start + at) % len(values)]
            if len(values) == 1 or self.fits(schemas, value):
                return value
        raise DeadEndError("none of the listed values is allowed", "enum")

    def _noted(self, parts: Parts, place: Place) -> Sequence[Json]:
        """The default and examples of the schema, while nothing speaks against them and the prompt has no say."""
        if place.tries or self.lean:
            return ()
        found: list[Json] = [part["default"] for part in parts if "default" in part]
        for part in parts:
            examples = part.get("examples")
            if isinstance(examples, list) and examples:
                start = int(self.fraction(place, "example") * len(examples))
                found += [*examples[start:], *examples[:start]][:_MOST_EXAMPLES]
        return () if found and evidence(self, parts) > 0 else found

    def _allowed(self, schemas: Sequence[Json], parts: Parts, value: Json) -> bool:
        values = self.alternatives.listed(parts)
        if values is not None and not any(same(value, other) for other in values):
            return False
        return not refused(parts, value) and self.fits(schemas, value)

    def fits(self, schemas: Sequence[Json], value: Json) -> bool:
        """Whether all the schemas allow a value."""
        return all(self.compiled.allows(schema, value) for schema in schemas)

    def _ordered(self, place: Place, keyword: str, options: Sequence[Option]) -> Sequence[Option]:
        if keyword in ("anyOf", "oneOf"):
            return ordered(self, self.compiled.heights, place, options)
        return after_trouble(place, options)

    def generous(self, place: Place) -> bool:
        """Whether more than the least is made here."""
        return not self.lean and place.depth <= _DEEP

    def stream(self, place: Place, label: str) -> Random:
        """A stream of chance of its own."""
        return self.seed.stream(label, place.pointer, str(place.tries))

    def fraction(self, place: Place, label: str) -> float:
        """A number from 0 up to 1 of its own, which costs less than a stream."""
        return self.seed.fraction(label, place.pointer, str(place.tries))

    def _located(self, error: DeadEndError, parts: Parts) -> DeadEndError:
        """The error with the place of the keyword that it names."""
        if error.pointer.startswith("#"):
            return error
        pointers = self.compiled.document.pointers
        stating = next((part for part in parts if error.pointer in part and id(part) in pointers), None)
        if stating is None:
            return DeadEndError(error.why, self._pointer(parts))
        return DeadEndError(error.why, f"{self.compiled.document.pointer(stating)}/{error.pointer}")

    def _pointer(self, parts: Parts) -> str:
        """Where the first of the parts stands."""
        pointers = self.compiled.document.pointers
        return next((pointers[id(part)] for part in parts if id(part) in pointers), "#")


def _notes(parts: Parts) -> tuple[str, ...]:
    """What the schema calls the value, and says of it."""
    notes = [part.get(keyword) for keyword in ("title", "description") for part in parts]
    return tuple(note[:_LONGEST_NOTE] for note in notes if isinstance(note, str))


_DEEP, _DEEPEST = 4, 40  # from where on nothing optional is made; where making ends
_MOST_ALTERNATIVES = 16
_CHARACTERS_OF_ONE_STEP = 50
_MOST_LISTED = 50
_MOST_EXAMPLES = 4
_LONGEST_NOTE = 80
