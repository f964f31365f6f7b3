"""Which alternatives of `anyOf`, `oneOf` and `if` can hold together, found one after the other, best first.

Rules out what is impossible at first sight; makes no values. Only if `strict`, `not` and overlaps are avoided too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mockserver.core.json import Json
from mockserver.model.schema.compiled import CompiledSchema
from mockserver.model.schema.document import UnsatisfiableError
from mockserver.model.schema.keywords import (
    EXCLUDED,
    Part,
    Parts,
    allowed_types,
    flatten,
    has_type,
    listed_values,
    negations,
    property_schemas,
    required_names,
)

Option = tuple[Json, ...]  # schemas that must hold together if this alternative is taken
Choice = tuple[Part, str, tuple[Option, ...]]  # a keyword of a part, and its options
Order = Callable[[str, Sequence[Option]], Sequence[Option]]  # sorts the options of a keyword


@dataclass(slots=True)
class Alternatives:
    """The ways in which parts of a compiled schema can hold together."""

    compiled: CompiledSchema
    spend: Callable[[int], None]  # takes the steps of a search; raises WorkLimitError after too many
    strict: bool = False  # whether `not`, the other options of `oneOf` and an unmet `if` are choices of what to violate

    def flatten(self, schemas: Sequence[Json]) -> Parts:
        """Add all that schemas refer to. Raises UnsatisfiableError."""
        key = tuple(map(identity_of, schemas))
        memory = self.compiled.memory
        if key not in memory:
            if len(memory) > _MAX_MEMORY:
                memory.clear()
            memory[key] = schemas, flatten(self.compiled.document, schemas)  # no other object gets their identity
        return memory[key][1]  # type: ignore[no-any-return]

    def property_schemas(self, parts: Parts, name: str) -> tuple[Json, ...]:
        """All schemas for the property of this name; matching many patterns counts as work."""
        patterns = sum(len(part["patternProperties"]) for part in parts if "patternProperties" in part)
        self.spend(patterns // _PATTERNS_PER_STEP + len(parts) // _PARTS_PER_STEP)
        return property_schemas(parts, name)

    def listed_values(self, parts: Parts) -> list[Json] | None:
        """The listed values of an allowed type; None if none are listed. Many of them count as work."""
        values = listed_values(parts)
        if values is None:
            return None
        self.spend((len(values) + sum(len(part.get(EXCLUDED, ())) for part in parts)) // _VALUES_PER_STEP)
        allowed = allowed_types(parts)
        return [value for value in values if has_type(value, allowed)]

    def combinations(self, parts: Parts, order: Order) -> Iterator[Parts]:
        """The parts with one option of each choice among them. Raises UnsatisfiableError if there is no way."""
        if not self.possible(parts):
            raise self._conflict(parts)
        left: list[tuple[Parts, Option, tuple[Choice, ...]]] = [(parts, (), tuple(self._choices(parts)))]
        found, stuck = False, "#"
        while left:
            self.spend(1 + len(left[-1][0]) // _PARTS_PER_STEP)
            parts, option, further = left.pop()
            widened = self._with_option(parts, option)
            if widened is None:
                continue
            further = (*further, *self._choices(widened[len(parts) :]))
            if not further:
                found = True
                yield widened
                continue
            part, keyword, options = further[0]
            stuck = f"{self.compiled.document.pointer(part)}/{keyword}"
            left += [(widened, option, further[1:]) for option in reversed(order(keyword, options))]
        if not found:
            raise UnsatisfiableError("none of the alternatives can be met", stuck)

    def _choices(self, parts: Parts) -> Iterator[Choice]:
        for part, keyword, options in choices(parts):
            if self.strict and keyword == "oneOf" and len(options) <= _MAX_EXCLUDED_OPTIONS:
                self.spend(len(options) ** 2 // _PARTS_PER_STEP)
                nots = [{"not": option} for (option,) in options]
                options = tuple((*option, *nots[:at], *nots[at + 1 :]) for at, option in enumerate(options))
            elif self.strict and keyword == "if":
                options = (options[0], (*options[1], {"not": part["if"]}))
            yield part, keyword, options
        for part in parts if self.strict else ():
            if "not" in part:
                yield part, "not", self._violations(part["not"])

    def _violations(self, schema: Json) -> tuple[Option, ...]:
        try:
            ways = tuple(way for part in self.flatten((schema,)) for way in negations(part))
        except UnsatisfiableError:
            return ((),)
        self.spend(len(ways) // _PARTS_PER_STEP)
        return ways

    def possible(self, parts: Parts, depth: int = 2) -> bool:
        """Whether nothing rules out a value at first sight, some levels down."""
        self.spend(1 + len(parts) // _PARTS_PER_STEP)
        allowed, values = allowed_types(parts), self.listed_values(parts)
        if not allowed or values == []:
            return False
        if values or allowed != ("object",) or depth <= 0:
            return True
        return all(self._property_possible(parts, name, depth) for name in required_names(parts))

    def _property_possible(self, parts: Parts, name: str, depth: int) -> bool:
        try:
            inner = self.flatten(self.property_schemas(parts, name))
        except UnsatisfiableError:
            return False
        return len(inner) < 2 or self.possible(inner, depth - 1)

    def _with_option(self, parts: Parts, option: Option) -> Parts | None:
        if not option:
            return parts
        try:
            more = self.flatten(option)
        except UnsatisfiableError:
            return None
        seen = {id(part) for part in parts}
        fresh = tuple(part for part in more if id(part) not in seen)
        return (*parts, *fresh) if self.possible((*parts, *fresh)) else None

    def _conflict(self, parts: Parts) -> UnsatisfiableError:
        pointer = self.compiled.document.pointer(parts[0]) if parts else "#"
        for name in required_names(parts):
            try:
                inner = self.flatten(self.property_schemas(parts, name))
            except UnsatisfiableError:
                return UnsatisfiableError(f"the property {name!r} is required, and nothing is allowed there", pointer)
            if len(inner) > 1 and not self.possible(inner):
                return self._conflict(inner)
        return UnsatisfiableError("what is demanded excludes each other", pointer)


def choices(parts: Parts) -> Iterator[Choice]:
    """The choices that parts leave, in their order."""
    for part in parts:
        for keyword in ("anyOf", "oneOf"):
            if keyword in part:
                yield part, keyword, tuple((option,) for option in part[keyword])
        if "if" in part and ("then" in part or "else" in part):
            yield part, "if", ((part["if"], part.get("then", True)), (part.get("else", True),))
        for keyword in ("dependentSchemas", "dependencies"):
            for schema in part.get(keyword, {}).values():
                if not isinstance(schema, list):
                    yield part, keyword, ((schema,), ())


def identity_of(schema: Json) -> int | bool:
    """A key that no other live schema has."""
    return schema if isinstance(schema, bool) else id(schema) + 2  # 0 and 1 would equal the booleans


_MAX_EXCLUDED_OPTIONS = 40
_MAX_MEMORY = 4_000
_PARTS_PER_STEP, _PATTERNS_PER_STEP, _VALUES_PER_STEP = 40, 10, 50
