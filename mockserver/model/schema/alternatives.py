"""Which alternatives of `anyOf`, `oneOf`, `if` and `not` can hold together, found one after the other, best first.

Rules out what is impossible at first sight; makes no values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from mockserver.core.json import Json
from mockserver.model.schema.compile import CompiledSchema
from mockserver.model.schema.document import UnsatisfiableError
from mockserver.model.schema.keywords import (
    Parts,
    allowed_types,
    flatten,
    has_type,
    listed_values,
    lower_limit,
    negations,
    property_names,
    property_schemas,
    required_names,
    upper_limit,
)

Option = tuple[Json, ...]  # schemas that must hold together if this alternative is taken
Order = Callable[[str, Sequence[Option]], Sequence[Option]]  # sorts the options of a keyword


@dataclass(frozen=True, slots=True)
class SchemaChoice:
    """A keyword that leaves a choice, and the pointer to it."""

    keyword: str
    options: tuple[Option, ...]
    pointer: str
    unless: Json = False  # no choice is needed where this schema cannot hold anyway


@dataclass(slots=True)
class Alternatives:
    """The ways in which parts of a compiled schema can hold together. Schemas made up here are made once."""

    compiled: CompiledSchema
    spend: Callable[[int], None]  # takes the steps of a search; raises WorkLimitError after too many
    _counted: set[tuple[object, ...]] = field(default_factory=set)  # parts whose listed values were counted as work

    def choices(self, parts: Parts) -> Iterator[SchemaChoice]:
        """The choices that parts leave, in their order."""
        for part in parts:
            for keyword in _CHOICE_KEYWORDS:
                if keyword in part:
                    yield from self._choices_of(part, keyword)

    def _choices_of(self, part: Mapping[str, Json], keyword: str) -> Iterator[SchemaChoice]:
        document, stated = self.compiled.document, part[keyword]
        known = id(part) in document.pointers
        pointer = f"{document.pointers[id(part)]}/{keyword}" if known else document.pointer(stated)
        match keyword:
            case "anyOf":
                yield SchemaChoice(keyword, tuple((option,) for option in stated), pointer)
            case "oneOf":
                yield SchemaChoice(keyword, tuple(map(partial(self._only, stated), range(len(stated)))), pointer)
            case "not":
                yield SchemaChoice(keyword, self._violations(stated), pointer, stated)
            case "dependentSchemas" | "dependencies":
                for name, schema in stated.items():
                    if not isinstance(schema, list):
                        absent = self._once(("without", name), {"properties": {name: False}})
                        yield SchemaChoice(keyword, ((schema,), (absent,)), f"{pointer}/{name}")
            case "if" if "then" in part or "else" in part:
                met = (stated, part.get("then", True))
                yield SchemaChoice(keyword, (met, (self.negated(stated), part.get("else", True))), pointer)

    def _only(self, options: Sequence[Json], at: int) -> Option:
        """One option and, if they are few, none of the others."""
        others = options if len(options) <= _MAX_EXCLUDED_OPTIONS else ()
        return (options[at], *(self.negated(other) for index, other in enumerate(others) if index != at))

    def negated(self, schema: Json) -> Json:
        """The schema within a `not`, the same object each time."""
        if isinstance(schema, bool):
            return not schema
        return self._once(("not", id(schema)), {"not": schema})

    def _once(self, key: tuple[object, ...], made: Json) -> Json:
        """The same object each time; it keeps what it is made of alive, so that no other object gets its identity."""
        return self.compiled.memory.setdefault(key, made)

    def _violations(self, schema: Json) -> tuple[Option, ...]:
        key = ("against", identity_of(schema))
        memory = self.compiled.memory
        if key not in memory:
            try:
                ways = tuple(way for part in self.flatten((schema,)) for way in negations(part))
            except UnsatisfiableError:
                ways = ((),)
            memory[key] = schema, ways
        return memory[key][1]  # type: ignore[no-any-return]

    def flatten(self, schemas: Sequence[Json]) -> Parts:
        """Add all that schemas refer to. Raises UnsatisfiableError."""
        key = tuple(map(identity_of, schemas))
        memory = self.compiled.memory
        if key not in memory:
            if len(memory) > _MAX_MEMORY:
                memory.clear()
            found: Parts | UnsatisfiableError
            try:
                found = flatten(self.compiled.document, schemas)
            except UnsatisfiableError as error:
                found = error
            memory[key] = schemas, found  # with the schemas, so that no other object gets their identity
        found = memory[key][1]
        if isinstance(found, UnsatisfiableError):
            raise found
        return found

    def property_schemas(self, parts: Parts, name: str) -> tuple[Json, ...]:
        """All schemas for the property of this name; matching many patterns counts as work."""
        patterns = sum(len(part["patternProperties"]) for part in parts if "patternProperties" in part)
        self.spend(patterns // _PATTERNS_PER_STEP + len(parts) // _PARTS_PER_STEP)
        return property_schemas(parts, name)

    def listed_values(self, parts: Parts) -> list[Json] | None:
        """The listed values of an allowed type; None if none are listed."""
        key = ("listed", *map(id, parts))
        memory = self.compiled.memory
        if key not in memory:
            values, allowed = listed_values(parts), allowed_types(parts)
            kept = None if values is None else [value for value in values if has_type(value, allowed)]
            memory[key] = parts, kept, len(values or ()) // _VALUES_PER_STEP
        _, found, steps = memory[key]
        if steps and key not in self._counted:
            self._counted.add(key)
            self.spend(steps)  # even if remembered: the work must not depend on earlier requests
        return found  # type: ignore[no-any-return]

    def combinations(self, parts: Parts, order: Order) -> Iterator[Parts]:
        """The parts with one option of each choice among them. Raises UnsatisfiableError if there is no way."""
        if not self.possible(parts):
            raise self._conflict(parts)
        left: list[tuple[Parts, Option, tuple[SchemaChoice, ...]]] = [(parts, (), tuple(self.choices(parts)))]
        found, stuck = False, None
        while left:
            self.spend(1 + len(left[-1][0]) // _PARTS_PER_STEP)
            parts, option, choices = left.pop()
            widened = self._with_option(parts, option)
            if widened is None:
                continue
            choices = (*choices, *self.choices(widened[len(parts) :])) if option else choices
            choices = self._needed(widened, choices)
            if not choices:
                found = True
                yield widened
                continue
            stuck = choices[0]
            options = order(stuck.keyword, stuck.options)
            left += [(widened, option, choices[1:]) for option in reversed(options)]
        if not found:
            raise UnsatisfiableError("none of the alternatives can be met", stuck.pointer if stuck else "#")

    def possible(self, parts: Parts, depth: int = 2, *, fresh: Parts | None = None) -> bool:
        """Whether nothing rules out a value at first sight, some levels down; only `fresh` parts may conflict."""
        self.spend(1 + len(parts) // _PARTS_PER_STEP)
        allowed = allowed_types(parts)
        if not allowed:
            return False
        values = self.listed_values(parts)
        if values is not None:
            return any(_may_be(parts, value) for value in values[:_MAX_VALUES])
        if len(allowed) > 1 or depth <= 0:
            return True
        return not _limits_cross(parts, allowed[0]) and (
            allowed[0] != "object" or self._object_possible(parts, _affected_names(parts, fresh), depth)
        )

    def _object_possible(self, parts: Parts, names: Sequence[str], depth: int) -> bool:
        for name in names:
            try:
                inner = self.flatten(self.property_schemas(parts, name))
            except UnsatisfiableError:
                return False
            if len(inner) > 1 and not self.possible(inner, depth - 1):
                return False
        return True

    def _with_option(self, parts: Parts, option: Option) -> Parts | None:
        if not option:
            return parts
        try:
            more = self.flatten(option)
        except UnsatisfiableError:
            return None
        seen = {id(part) for part in parts}
        fresh = tuple(part for part in more if id(part) not in seen)
        return (*parts, *fresh) if self.possible((*parts, *fresh), fresh=fresh) else None

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

    def _needed(self, parts: Parts, choices: Sequence[SchemaChoice]) -> tuple[SchemaChoice, ...]:
        """The choices from the first that must be made: a `not` that cannot hold anyway demands nothing."""
        for at, choice in enumerate(choices):
            if choice.unless is False or self._may_hold(parts, choice.unless):
                return tuple(choices[at:])
        return ()

    def _may_hold(self, parts: Parts, schema: Json) -> bool:
        try:
            more = self.flatten((schema,))
        except UnsatisfiableError:
            return False
        if any("anyOf" in part or "oneOf" in part for part in more):
            return True
        return self.possible((*parts, *more), depth=3)


def identity_of(schema: Json) -> int | bool:
    """A key that no other live schema has."""
    return schema if isinstance(schema, bool) else id(schema) + 2  # 0 and 1 would equal the booleans


def _affected_names(parts: Parts, fresh: Parts | None) -> Sequence[str]:
    """The required properties that fresh parts say something about."""
    names = required_names(parts)
    if fresh is None or any(keyword in part for part in fresh for keyword in _BEYOND_NAMES):
        return names
    affected = {*required_names(fresh), *property_names(fresh)}
    return [name for name in names if name in affected]


def _may_be(parts: Parts, value: Json) -> bool:
    """Whether a listed value meets the limits that are quick to check."""
    if isinstance(value, Mapping):
        return all(name in value for name in required_names(parts))
    if isinstance(value, str):
        longest = upper_limit(parts, "maxLength")
        return lower_limit(parts, "minLength") <= len(value) and (longest is None or len(value) <= longest)
    return True


def _limits_cross(parts: Parts, kind: str) -> bool:
    size = _SIZES.get(kind)
    limit = upper_limit(parts, f"max{size}") if size else None
    return limit is not None and lower_limit(parts, f"min{size}") > limit


_SIZES = {"string": "Length", "array": "Items", "object": "Properties"}
_CHOICE_KEYWORDS = ("anyOf", "oneOf", "if", "not", "dependentSchemas", "dependencies")
_BEYOND_NAMES = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_MAX_EXCLUDED_OPTIONS = 40
_MAX_VALUES = 200  # of an enumeration that are checked beforehand
_MAX_MEMORY = 4_000
_PARTS_PER_STEP, _PATTERNS_PER_STEP, _VALUES_PER_STEP = 40, 10, 200
