"""What `anyOf`, `oneOf`, `if`, `not` and dependent schemas leave to choose, each as options of schemas that then hold.

Knows how each keyword is met, not which option is taken.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from mockserver.core.call import Json
from mockserver.engine.generate.instances.compiled import Compiled
from mockserver.engine.generate.instances.dead_end import DeadEndError
from mockserver.engine.generate.instances.negation import opposites
from mockserver.engine.generate.instances.parts import Parts

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
