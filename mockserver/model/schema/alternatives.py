"""Which alternatives of `anyOf`, `oneOf`, `if` and `not` can hold together; found one after the other, best first.

Knows what makes alternatives impossible at first sight, and makes no value.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from mockserver.core.json import Json
from mockserver.model.schema.compiled import Compiled
from mockserver.model.schema.document import DeadEndError
from mockserver.model.schema.parts import (
    Parts,
    flat,
    kinds,
    least,
    listed,
    most,
    named,
    of_kind,
    of_property,
    opposites,
    required,
)

Option = tuple[Json, ...]  # schemas that hold together if this alternative is taken


@dataclass(frozen=True, slots=True)
class Choice:
    """A keyword whose schema leaves a choice, and where it stands."""

    keyword: str
    options: tuple[Option, ...]
    pointer: str
    unless: Json = False  # the choice need not be made where this schema cannot hold anyway


@dataclass(slots=True)
class Choices:
    """The choices of a compiled schema's parts. What is made up for them is the same object each time."""

    compiled: Compiled
    flat: Callable[[Sequence[Json]], Parts]

    def of(self, parts: Parts) -> Iterator[Choice]:
        """The choices that parts leave, in the order of the parts."""
        for part in parts:
            for keyword in _CHOOSING:
                if keyword in part:
                    yield from self._of_keyword(part, keyword)

    def _of_keyword(self, part: Mapping[str, Json], keyword: str) -> Iterator[Choice]:
        pointers = self.compiled.document.pointers
        pointer = (
            f"{pointers[id(part)]}/{keyword}" if id(part) in pointers else self.compiled.document.pointer(part[keyword])
        )
        match keyword:
            case "anyOf":
                yield Choice(keyword, tuple((option,) for option in part[keyword]), pointer)
            case "oneOf":
                options = part[keyword]
                yield Choice(keyword, tuple(map(partial(self._only, options), range(len(options)))), pointer)
            case "not":
                yield Choice(keyword, self._against(part[keyword]), pointer, part[keyword])
            case "dependentSchemas" | "dependencies":
                for name, schema in part[keyword].items():
                    if not isinstance(schema, list):
                        yield Choice(keyword, ((schema,), (self._without(name),)), f"{pointer}/{name}")
            case "if" if "then" in part or "else" in part:
                met = (part["if"], part.get("then", True))
                yield Choice(keyword, (met, (self.negated(part["if"]), part.get("else", True))), pointer)

    def _only(self, options: Sequence[Json], at: int) -> Option:
        """One option, and none of the others, as far as they are few."""
        others = options if len(options) <= _MOST_OTHERS else ()
        return (options[at], *(self.negated(other) for index, other in enumerate(others) if index != at))

    def negated(self, schema: Json) -> Json:
        """The schema with `not` before it, the same each time."""
        if isinstance(schema, bool):
            return not schema
        key = ("not", id(schema))
        memory = self.compiled.memory
        if key not in memory:
            memory[key] = schema, {"not": schema}
        return memory[key][1]

    def _without(self, name: str) -> Json:
        """What keeps an object from having a property, the same each time."""
        return self.compiled.memory.setdefault(("without", name), {"properties": {name: False}})

    def _against(self, schema: Json) -> tuple[Option, ...]:
        """Ways in which a schema does not hold."""
        key = ("against", identity_of(schema))
        memory = self.compiled.memory
        if key not in memory:
            memory[key] = schema, self._ways(schema)
        return memory[key][1]  # type: ignore[no-any-return]

    def _ways(self, schema: Json) -> tuple[Option, ...]:
        try:
            ways = [way for part in self.flat((schema,)) for way in opposites(part)]
        except DeadEndError:
            return ((),)
        return tuple(ways)


def identity_of(schema: Json) -> int | bool:
    """What tells one schema from all others that are alive: a boolean is only itself."""
    return schema if isinstance(schema, bool) else id(schema) + 2  # 0 and 1 would equal the booleans


_CHOOSING = ("anyOf", "oneOf", "if", "not", "dependentSchemas", "dependencies")
_MOST_OTHERS = 40  # alternatives up to which each of the others is excluded by words


Order = Callable[[str, Sequence[Option]], Sequence[Option]]  # puts the options of a keyword into the order of trial


@dataclass(slots=True)
class Alternatives:
    """The ways in which a compiled schema's parts can hold together."""

    compiled: Compiled
    spend: Callable[[int], None]  # called with the steps of a search; it raises once there were too many
    _counted: set[tuple[object, ...]] = field(default_factory=set)  # the parts whose listed values were counted as work
    _choices: Choices = field(init=False)

    def __post_init__(self) -> None:
        self._choices = Choices(self.compiled, self.flat)

    def negated(self, schema: Json) -> Json:
        """The schema with `not` before it, the same each time."""
        return self._choices.negated(schema)

    def flat(self, schemas: Sequence[Json]) -> Parts:
        """The schemas with all that they refer to. Raises DeadEndError."""
        key = tuple(map(identity_of, schemas))
        memory = self.compiled.memory
        if key not in memory:
            if len(memory) > _MOST_REMEMBERED:
                memory.clear()
            memory[key] = schemas, self._flat(schemas)  # the schemas too: what is gone may leave its identity to others
        found = memory[key][1]
        if isinstance(found, DeadEndError):
            raise found
        return found  # type: ignore[no-any-return]

    def _flat(self, schemas: Sequence[Json]) -> Parts | DeadEndError:
        try:
            return flat(self.compiled.document, schemas)
        except DeadEndError as error:
            return error

    def of_property(self, parts: Parts, name: str) -> tuple[Json, ...]:
        """All schemas for the property of this name; many patterns to hold it against are work."""
        patterns = sum(len(part["patternProperties"]) for part in parts if "patternProperties" in part)
        self.spend(patterns // _PATTERNS_OF_ONE_STEP + len(parts) // _PARTS_OF_ONE_STEP)
        return of_property(parts, name)

    def listed(self, parts: Parts) -> list[Json] | None:
        """The values of the right type that are listed; None where all are free."""
        key = ("listed", *map(id, parts))
        memory = self.compiled.memory
        if key not in memory:
            values, allowed = listed(parts), kinds(parts)
            kept = None if values is None else [value for value in values if of_kind(value, allowed)]
            memory[key] = parts, kept, len(values or ()) // _VALUES_OF_ONE_STEP
        _, found, steps = memory[key]
        if steps and key not in self._counted:
            self._counted.add(key)
            self.spend(steps)  # also where it is remembered: what a schema comes to must not depend on what came before
        return found  # type: ignore[no-any-return]

    def settled(self, parts: Parts, order: Order) -> Iterator[Parts]:
        """The parts with an alternative of each choice among them. Raises DeadEndError where there is no way at all."""
        if not self.possible(parts):
            raise self._impossible(parts)
        left: list[tuple[Parts, Option, tuple[Choice, ...]]] = [(parts, (), tuple(self._choices.of(parts)))]
        found, stuck = False, None
        while left:
            self.spend(1 + len(left[-1][0]) // _PARTS_OF_ONE_STEP)
            parts, option, choices = left.pop()
            widened = self._widened(parts, option)
            if widened is None:
                continue
            choices = (*choices, *self._choices.of(widened[len(parts) :])) if option else choices
            choices = self._open(widened, choices)
            if not choices:
                found = True
                yield widened
                continue
            stuck = choices[0]
            options = order(stuck.keyword, stuck.options)
            left += [(widened, option, choices[1:]) for option in reversed(options)]
        if not found:
            raise DeadEndError("none of the alternatives can be met", stuck.pointer if stuck else "#")

    def possible(self, parts: Parts, depth: int = 2, *, fresh: Parts | None = None) -> bool:
        """Whether nothing forbids a value at first sight, a few levels down; all parts but the `fresh` ones agree."""
        self.spend(1 + len(parts) // _PARTS_OF_ONE_STEP)
        allowed = kinds(parts)
        if not allowed:
            return False
        values = self.listed(parts)
        if values is not None:
            return any(_may_be(parts, value) for value in values[:_MOST_VALUES])
        if len(allowed) > 1 or depth <= 0:
            return True
        return not _crossed(parts, allowed[0]) and (
            allowed[0] != "object" or self._object_possible(parts, _touched(parts, fresh), depth)
        )

    def _object_possible(self, parts: Parts, names: Sequence[str], depth: int) -> bool:
        for name in names:
            try:
                inner = self.flat(self.of_property(parts, name))
            except DeadEndError:
                return False
            if len(inner) > 1 and not self.possible(inner, depth - 1):
                return False
        return True

    def _widened(self, parts: Parts, option: Option) -> Parts | None:
        if not option:
            return parts
        try:
            more = self.flat(option)
        except DeadEndError:
            return None
        seen = {id(part) for part in parts}
        fresh = tuple(part for part in more if id(part) not in seen)
        return (*parts, *fresh) if self.possible((*parts, *fresh), fresh=fresh) else None

    def _impossible(self, parts: Parts) -> DeadEndError:
        pointer = self.compiled.document.pointer(parts[0]) if parts else "#"
        for name in required(parts):
            try:
                inner = self.flat(self.of_property(parts, name))
            except DeadEndError:
                return DeadEndError(f"the property {name!r} is required, and nothing is allowed there", pointer)
            if len(inner) > 1 and not self.possible(inner):
                return self._impossible(inner)
        return DeadEndError("what is demanded excludes each other", pointer)

    def _open(self, parts: Parts, choices: Sequence[Choice]) -> tuple[Choice, ...]:
        """The choices from the first on that must be made: a `not` that cannot hold anyway demands nothing."""
        for at, choice in enumerate(choices):
            if choice.unless is False or self._may_hold(parts, choice.unless):
                return tuple(choices[at:])
        return ()

    def _may_hold(self, parts: Parts, schema: Json) -> bool:
        try:
            more = self.flat((schema,))
        except DeadEndError:
            return False
        if any("anyOf" in part or "oneOf" in part for part in more):
            return True
        return self.possible((*parts, *more), depth=3)


def _touched(parts: Parts, fresh: Parts | None) -> Sequence[str]:
    """The required properties of which fresh parts say something; all of them where these reach beyond names."""
    names = required(parts)
    if fresh is None or any(keyword in part for part in fresh for keyword in _REACHING):
        return names
    said = {*required(fresh), *named(fresh)}
    return [name for name in names if name in said]


def _may_be(parts: Parts, value: Json) -> bool:
    """Whether a listed value fits limits that are seen at once."""
    if isinstance(value, Mapping):
        return all(name in value for name in required(parts))
    if isinstance(value, str):
        shortest, longest = least(parts, "minLength"), most(parts, "maxLength")
        return len(value) >= shortest and (longest is None or len(value) <= longest)
    return True


def _crossed(parts: Parts, kind: str) -> bool:
    """Whether the lower limit of a type's size lies over the upper one."""
    if kind not in _SIZES:
        return False
    lower, upper = _SIZES[kind]
    limit = most(parts, upper)
    return limit is not None and least(parts, lower) > limit


_SIZES: dict[str, tuple[str, str]] = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_PARTS_OF_ONE_STEP, _PATTERNS_OF_ONE_STEP, _VALUES_OF_ONE_STEP = 40, 10, 200
_REACHING = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_MOST_VALUES = 200  # of an enumeration that are looked at beforehand
_MOST_REMEMBERED = 4_000
