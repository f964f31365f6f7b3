"""How faults are described: the options that each takes, and the positions in an answer where one can befall it.

The words of rules files are here, so that those who read the files need not know what a fault does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Where = Literal["at_start", "after_frames", "after_tokens", "after_bytes", "in_tool_arguments", "before_done"]
Kind = Literal["count", "difference", "duration", "media type", "pointer", "position", "reason", "speed", "word"]
Faults = Mapping[str, Any]  # the class of each fault, a dataclass, by name


@dataclass(frozen=True, slots=True)
class Position:
    """A place in an answer; `count` is how many frames, tokens or bytes stand before it."""

    where: Where
    count: int = 0


@dataclass(frozen=True, slots=True)
class Option:
    """What can be said of a fault: the kind of value, what it means, and the words or positions that it may be."""

    field: str
    name: str
    kind: Kind
    about: str
    default: Any
    among: tuple[str, ...] = ()


def option(default: Any, kind: Kind, about: str, *, among: tuple[str, ...] = ()) -> Any:
    """A field of a fault that rules may set; one whose name Python keeps for itself ends in an underscore."""
    return field(default=default, metadata={"option": (kind, about, among)})


def position(where: Where, count: int = 0, *, among: tuple[str, ...] = ()) -> Any:
    """The field of a fault that says where it befalls an answer, if rules do not say so; at first all can be told."""
    return option(Position(where, count), "position", "", among=among or tuple(POSITIONS))


def options(fault: type[Any]) -> tuple[Option, ...]:
    """What can be said of a fault, in the order in which its fields stand."""
    stated = [(each, each.metadata["option"]) for each in fields(fault) if "option" in each.metadata]
    return tuple(
        Option(each.name, each.name.rstrip("_"), kind, about, each.default, among)
        for each, (kind, about, among) in stated
    )


def counts(where: str) -> bool:
    """Whether a position is said with a number."""
    return where.startswith("after_")


# Where a fault can befall an answer.
POSITIONS: Mapping[str, str] = {
    "after_tokens": "after so many tokens; in a plain body at their share of the bytes",
    "after_frames": "after so many events of a stream; a plain body counts as one",
    "after_bytes": "after so many bytes of the body",
    "before_done": "before the last event (chat: `[DONE]`); in a plain body before the last byte",
    "in_tool_arguments": "amid the arguments of a tool call; nowhere, if there is none",
    "at_start": "before anything of the body",
}
