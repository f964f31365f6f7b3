"""Generates one instance: follows the schema down, tries alternatives, and takes what the prompt says first."""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from mockserver.core.json import Json
from mockserver.core.seed import Random
from mockserver.model.arguments import NOTHING
from mockserver.model.schema.alternatives import Option
from mockserver.model.schema.containers import make_array, make_object
from mockserver.model.schema.document import UnsatisfiableError
from mockserver.model.schema.generation import Generation, Location
from mockserver.model.schema.keywords import Parts, allowed_types, implied_types, is_excluded, json_key
from mockserver.model.schema.plausible import natural_range
from mockserver.model.schema.prompt_values import evidence, with_prompt_values
from mockserver.model.schema.scalars import make_number, make_text

T = TypeVar("T")


class Generator(Generation):
    """Generates one instance within its budget of work."""

    __slots__ = ()

    def make(self, schemas: Sequence[Json], location: Location) -> Json:
        """Make a value that all the schemas allow. Raises UnsatisfiableError."""
        self.work.spend(1)
        location = location.after(self.rejections.get(location.pointer, 0))
        parts = self.alternatives.flatten(schemas)
        if location.depth > _MAX_DEPTH:
            raise UnsatisfiableError(f"it leads more than {_MAX_DEPTH} levels deep", self._pointer(parts))
        hints = (*location.hints, *_descriptions(parts))
        location = Location(location.pointer, hints, location.depth, location.rejections)
        for value in self._default_and_examples(parts, location):
            if self._allowed(schemas, parts, value):
                return value
        said, widened = self.said, with_prompt_values(self, parts, location)
        if widened is not parts:
            try:
                return self._first_possible(widened, schemas, location)
            except UnsatisfiableError:
                self.said = said
        return self._first_possible(parts, schemas, location)

    def _first_possible(self, parts: Parts, schemas: Sequence[Json], location: Location) -> Json:
        first: UnsatisfiableError | None = None
        said = self.said
        order = partial(self.order_options, location)
        for combination in islice(self.alternatives.combinations(parts, order), _MAX_COMBINATIONS):
            try:
                return self._value(combination, schemas, location)
            except UnsatisfiableError as error:
                first = first or self._with_pointer(error, combination)
                self.said = said
        raise first or UnsatisfiableError("none of the alternatives can be met", self._pointer(parts))

    def _value(self, parts: Parts, schemas: Sequence[Json], location: Location) -> Json:
        values = self.alternatives.listed_values(parts)
        if values is not None:
            return self._listed_value(values, schemas, location)
        failed: UnsatisfiableError | None = None
        for kind in self.order_types(parts, location):
            try:
                return self._value_of_type(kind, parts, location)
            except UnsatisfiableError as error:
                failed = failed or error
        raise failed or UnsatisfiableError("no type is left that is allowed", "type")

    def _value_of_type(self, kind: str, parts: Parts, location: Location) -> Json:
        match kind:
            case "object":
                return make_object(self, with_prompt_values(self, parts, location), location)
            case "array":
                return make_array(self, parts, location)
            case "string":
                text = make_text(parts, location.hints, partial(self._attempt, location))
                self.work.spend(len(text) // _CHARACTERS_PER_STEP)
                return text
            case "number" | "integer":
                low, high = natural_range(location.hints)
                high += (high - low) * 10 * location.rejections
                for attempt in ("", *map(str, range(_MAX_NUMBERS))):
                    rng = self.stream(location, f"number{attempt}")
                    number = make_number(parts, (low, high), rng, whole=kind == "integer")
                    if not is_excluded(parts, number):
                        break
                return number
            case "boolean":
                value = self.fraction(location, "boolean") < 0.5
                return not value if is_excluded(parts, value) else value
        return None

    def _attempt(self, location: Location, attempt: int) -> Random:
        """A stream for one more text; each attempt costs more than the one before."""
        self.work.spend(10 * attempt)
        return self.stream(location, f"text {attempt}")

    def _listed_value(self, values: Sequence[Json], schemas: Sequence[Json], location: Location) -> Json:
        """The first listed value from a random one on that the schemas allow."""
        start = int(self.fraction(location, "one of") * len(values))
        for at in range(min(len(values), _MAX_LISTED)):
            self.work.spend(1)
            value = values[(start + at) % len(values)]
            if (len(values) == 1 and not self.alternatives.strict) or self.fits(schemas, value):
                return value
        raise UnsatisfiableError("none of the listed values is allowed", "enum")

    def _default_and_examples(self, parts: Parts, location: Location) -> Sequence[Json]:
        """The default and examples of the schema, unless they were rejected or the prompt says more."""
        if location.rejections or self.minimal:
            return ()
        found: list[Json] = [part["default"] for part in parts if "default" in part]
        for part in parts:
            examples = part.get("examples")
            if isinstance(examples, list) and examples:
                start = int(self.fraction(location, "example") * len(examples))
                found += [*examples[start:], *examples[:start]][:_MAX_EXAMPLES]
        return () if found and evidence(self, parts) > 0 else found

    def _allowed(self, schemas: Sequence[Json], parts: Parts, value: Json) -> bool:
        values = self.alternatives.listed_values(parts)
        if values is not None and json_key(value) not in map(json_key, values):
            return False
        return not is_excluded(parts, value) and self.fits(schemas, value)

    def order_options(self, location: Location, keyword: str, options: Sequence[Option]) -> Sequence[Option]:
        """Sort the options of a keyword: what the prompt mentions first, null last; deep down what ends soonest."""
        if keyword not in ("anyOf", "oneOf"):
            return _rotated(options, location.rejections)
        if not self.generous(location):
            depth = self.compiled.min_depths.of
            return sorted(options, key=lambda option: depth(option[0]))
        others = [option for option in options if not _is_null(option)]
        chance = int(self.fraction(location, "alternative") * len(others)) if len(others) > 1 else 0
        ordered = [*_rotated(others, chance + location.rejections), *(option for option in options if _is_null(option))]
        if self.said is NOTHING or location.rejections:
            return ordered
        return sorted(ordered, key=lambda option: -evidence(self, option[:1]))

    def order_types(self, parts: Parts, location: Location) -> Sequence[str]:
        """The types to try: null last, or first where the value must end; implied ones first if none is stated."""
        allowed = allowed_types(parts)
        if any("type" in part for part in parts):
            found = sorted(allowed, key=lambda kind: (kind == "null") == self.generous(location))
        else:
            found = [kind for kind in implied_types(parts) if kind in allowed]
        return _rotated(found, location.rejections // 2)  # try each type twice

    def _with_pointer(self, error: UnsatisfiableError, parts: Parts) -> UnsatisfiableError:
        if error.pointer.startswith("#"):
            return error
        pointers = self.compiled.document.pointers
        stating = next((part for part in parts if error.pointer in part and id(part) in pointers), None)
        if stating is None:
            return UnsatisfiableError(error.why, self._pointer(parts))
        return UnsatisfiableError(error.why, f"{pointers[id(stating)]}/{error.pointer}")

    def _pointer(self, parts: Parts) -> str:
        pointers = self.compiled.document.pointers
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


_MAX_DEPTH = 40
_MAX_COMBINATIONS = 16
_MAX_LISTED = 50
_MAX_NUMBERS = 4  # made again if they are excluded
_MAX_EXAMPLES = 4
_MAX_DESCRIPTION = 80
_CHARACTERS_PER_STEP = 50
