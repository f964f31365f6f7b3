"""The words for what an answer says, and careful ways to read JSON that anybody may have sent."""

from collections.abc import Mapping
from dataclasses import dataclass

from mockserver.core.json_text import Json

NOTHING: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True)
class Used:
    """A call of a tool; `text` is its arguments or, of a custom one, its input."""

    name: str
    text: str
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a choice: reasoning, text and refusal have a text, a call what is used, an item its table."""

    kind: str  # reasoning | text | refusal | call | item
    text: str = ""
    used: Used | None = None
    item: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """One choice: its parts in the order of the wire, why it ended, what stands beside it."""

    parts: tuple[Part, ...] = ()
    finish: str = ""  # in the words of chat
    annotations: tuple[Mapping[str, Json], ...] = ()
    filters: Mapping[str, Json] | None = None

    def joined(self, kind: str) -> str:
        """All texts of one kind."""
        return "".join(part.text for part in self.parts if part.kind == kind)

    @property
    def calls(self) -> tuple[Used, ...]:
        """The tools that are called."""
        return tuple(part.used for part in self.parts if part.used is not None)


@dataclass(frozen=True, slots=True)
class Told:
    """An answer. `error` is what its envelope holds, `broken` that it came after the answer had begun.

    `whole`: the end of the stream was seen, as it is of every plain answer.
    """

    choices: tuple[Said, ...] = ()
    status: int = 200
    model: str = ""
    usage: Mapping[str, Json] | None = None
    error: Json = None
    body: Json = None  # of an error, whole: JSON, or text where it is none
    broken: bool = False
    whole: bool = True
    prompt_filters: Mapping[str, Json] | None = None


def table(value: Json) -> Mapping[str, Json]:
    """The value where it is a table, else an empty one."""
    return value if isinstance(value, Mapping) else NOTHING


def rows(value: Json) -> list[Mapping[str, Json]]:
    """The tables of a list; none where it is no list."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def text(value: Json) -> str:
    """The value where it is text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: Json, otherwise: int = 0) -> int:
    """The value where it is a whole number."""
    return value if isinstance(value, int) else otherwise


def spoken(kind: str, words: str) -> tuple[Part, ...]:
    """A part for some words; none for no words."""
    return (Part(kind, words),) if words else ()
