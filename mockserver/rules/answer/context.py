"""Where one stands in a rule while it is compiled: what the rule says of itself, and a way to complain right there."""

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
        """The context below this one. Of a rule there are many: `replace` would take three times as long."""
        path = (*self.path, *steps)
        return CompileContext(self.mistakes, self.templates, self.rule, path, self.groups, self.profiles, self.faults)

    @property
    def label(self) -> str:
        """The path inside the rule, as a label for its random streams: moving the rule changes nothing."""
        return "/".join(map(str, self.path[2:]))

    @property
    def inside(self) -> str:
        """The path inside the rule's `then`, as reports show it: `one_of[0].steps[2]`."""
        steps = [step for step in self.path[3:] if step != "then"]
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")

    def text(self, source: str) -> Compiled[str]:
        """The compiled for the text that stands here, which may be a template."""
        return self.templates.compile(source, self)

    def refuse(self, message: str) -> None:
        """Note a mistake in the value that stands here."""
        self.mistakes.add(message, self.path)

    def refuse_key(self, message: str) -> None:
        """Note a mistake in the key that stands here."""
        self.mistakes.add(message, self.path, key=True)

    def refuse_template(self, text: str) -> None:
        """Note a mistake if the text looks like a template, as none can stand here."""
        if is_template(text):
            self.refuse("no template can stand here: this is sent as it is")

    def refuse_line(self, message: str, line: int) -> None:
        """Note a mistake in one line (from 1) of the text that stands here."""
        self.mistakes.add_place(message, self.mistakes.document.inside(self.path, line))

    def where(self) -> Where:
        """How each line of the text that stands here is called; the document itself is not kept for that."""
        document = self.mistakes.document
        start, first = document.place(self.path), document.inside(self.path, 1)
        if start is None or first is None:
            known_as = f"{document.file} {self.rule}"
            return lambda _: known_as
        file, at, is_block = start.file, first.line, first.line > start.line
        return lambda line: f"{file}:{at + line - 1 if is_block else at}"


def json_text(value: Json, context: CompileContext) -> Compiled[str]:
    """The compiled for the JSON text of a value; what JSON cannot say is told to `context`."""
    json_bytes(value, context)
    return json_value(value, context).into(_dumped)


def json_value(value: Json, context: CompileContext) -> Compiled[Json]:
    """The compiled for a value, its texts rendered; a text stays a text, whatever it comes to."""
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
            context.refuse("JSON has no number like this; write null or a text")
            return constant(None)
    return constant(value)


def json_bytes(value: Json, context: CompileContext) -> bytes:
    """The JSON of a value as it stands, nothing in it being a template."""
    try:
        return to_json(value)
    except (PydanticSerializationError, ValueError) as error:
        context.refuse(f"this cannot be JSON: {str(error)[:80]}")
        return b"null"


def _dumped(value: Json) -> str:
    return to_json(value).decode()
