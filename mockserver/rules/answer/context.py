"""CompileContext: the position in a rule while it is compiled, where mistakes are reported."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic_core import PydanticSerializationError, to_json

from mockserver.config.source import Mistakes, Path
from mockserver.config.timing import PROFILES, Profiles
from mockserver.core.action import Faults
from mockserver.core.json import Json
from mockserver.rules.templates import Compiled, Templates, Where, constant, gathered, is_template


@dataclass(frozen=True, slots=True)
class CompileContext:
    """A path into a rules file. `groups` are the named groups of the rule's regular expressions.

    `faults` are those of delivery, by name; `profiles` the timings that have names, None: any name will do.
    """

    mistakes: Mistakes
    templates: Templates
    rule: str
    path: Path = ()
    groups: frozenset[str] = frozenset()
    profiles: Profiles | None = field(default_factory=lambda: PROFILES)
    faults: Faults = field(default_factory=dict)

    def at(self, *steps: str | int) -> "CompileContext":
        """Return the context below this one. Rules make many of them, and `replace` is three times slower."""
        path = (*self.path, *steps)
        return CompileContext(self.mistakes, self.templates, self.rule, path, self.groups, self.profiles, self.faults)

    @property
    def label(self) -> str:
        """Return the path inside the rule: the label of its random streams, which moving the rule does not change."""
        return "/".join(map(str, self.path[2:]))

    @property
    def inside(self) -> str:
        """Return the path inside `then` as reports show it: `one_of[0].steps[2]`."""
        steps = [step for step in self.path[3:] if step != "then"]
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")

    def text(self, source: str) -> Compiled[str]:
        """Compile the text at this position, which may be a template."""
        return self.templates.compile(source, self)

    def refuse(self, message: str) -> None:
        """Report a mistake in the value at this position."""
        self.mistakes.add(message, self.path)

    def refuse_key(self, message: str) -> None:
        """Report a mistake in the key at this position."""
        self.mistakes.add(message, self.path, key=True)

    def refuse_template(self, text: str) -> None:
        """Report a mistake if the text looks like a template, which is not supported here."""
        if is_template(text):
            self.refuse("templates are not supported here: this is sent unchanged")

    def refuse_line(self, message: str, line: int) -> None:
        """Report a mistake in one line (from 1) of the text at this position."""
        self.mistakes.add_place(message, self.mistakes.document.inside(self.path, line))

    def where(self) -> Where:
        """Return a function that maps lines of the text here to file and line, without keeping the document."""
        document = self.mistakes.document
        start, first = document.place(self.path), document.inside(self.path, 1)
        if start is None or first is None:
            known_as = f"{document.file} {self.rule}"
            return lambda _: known_as
        file, at, is_block = start.file, first.line, first.line > start.line
        return lambda line: f"{file}:{at + line - 1 if is_block else at}"


def json_text(value: Json, context: CompileContext) -> Compiled[str]:
    """Compile a value to JSON text; values that JSON cannot express are reported to `context`."""
    json_bytes(value, context)
    return json_value(value, context).into(_dumped)


def json_value(value: Json, context: CompileContext) -> Compiled[Json]:
    """Compile a value with its texts rendered; a rendered text stays a text."""
    match value:
        case str():
            return context.text(value)
        case Mapping():
            names = tuple(map(str, value))
            inner = gathered(json_value(item, context.at(str(name))) for name, item in value.items())
            return inner.into(lambda made: dict(zip(names, made, strict=True)))
        case list() | tuple():
            return gathered(json_value(item, context.at(index)) for index, item in enumerate(value)).into(list)
        case float() if not math.isfinite(value):
            context.refuse("JSON has no such number; write null or a text")
            return constant(None)
    return constant(value)


def json_bytes(value: Json, context: CompileContext) -> bytes:
    """Return the JSON of a value without templates."""
    try:
        return to_json(value)
    except (PydanticSerializationError, ValueError) as error:
        context.refuse(f"this cannot be JSON: {str(error)[:80]}")
        return b"null"


def _dumped(value: Json) -> str:
    return to_json(value).decode()
