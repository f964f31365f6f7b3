"""Agent loops without a server: a row of the corpus becomes calls, each gets a result, until the answer is text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Tool, ToolCall, ToolChoice
from mockserver.core.json import Json
from mockserver.core.plan import ToolUse
from mockserver.core.seed import Seed
from mockserver.model.tool_uses import list_tool_uses
from tests.kit.calls import call

CORPUS = Path(__file__).parents[1] / "corpus"
Row = Mapping[str, Any]
_FORMATS = ("date", "date-time", "email")
_TYPES = ("string", "integer", "number", "boolean", "object", "array")


def rows(name: str) -> list[Row]:
    found: list[Row] = yaml.load((CORPUS / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    return found


def catalogue() -> dict[str, Tool]:
    listed: dict[str, Row] = yaml.load((CORPUS / "offered.yaml").read_text(), yaml.CSafeLoader)
    return {name: Tool(name, each["about"], read_schema(each["takes"])) for name, each in listed.items()}


def read_schema(takes: Mapping[str, Any]) -> Json:
    """An object's schema: `!` ends names that are required; a kind is a type, a format, choices or a description."""
    properties = {name.rstrip("!"): _property(kind) for name, kind in takes.items()}
    required = [name[:-1] for name in takes if name.endswith("!")]
    return {"type": "object", "properties": properties, "required": required} if takes else None


def _property(kind: Any) -> Json:
    if isinstance(kind, dict):
        return read_schema(kind)
    if isinstance(kind, list):
        item = read_schema(kind[0]) if isinstance(kind[0], dict) else None
        return {"type": "array", "items": item} if item else {"type": "string", "enum": kind}
    if kind == "strings":
        return {"type": "array", "items": {"type": "string"}}
    if kind in _FORMATS:
        return {"type": "string", "format": kind}
    return {"type": kind} if kind in _TYPES else {"type": "string", "description": kind}


def make_call_of_row(row: Row, tools: Mapping[str, Tool]) -> Call:
    system = [Message("system", row["system"])] if "system" in row else []
    offered = tuple(tools[name] for name in row["tools"])
    return replace(call(*system, row["say"]), tools=offered, tool_choice=ToolChoice(row.get("choice", "auto")))


def rounds(
    first: Call, *, result: Callable[[ToolCall], str] = lambda made: '{"ok": true}', most: int = 12, until: str = ""
) -> Iterator[tuple[ToolCall, ...]]:
    """The calls of each answer, until there are none, or until one of the tool that ends the turn."""
    turn = first
    for at in range(most):
        made = uses(turn, Seed(at))
        if not made:
            return
        yield made
        if any(each.name == until for each in made):
            return
        turn = replace(turn, messages=(*turn.messages, *_list_results(made, at, result)))


def uses(turn: Call, seed: Seed) -> tuple[ToolCall, ...]:
    return tuple(use.call for use in list_tool_uses(turn, seed) if isinstance(use, ToolUse))


def _list_results(made: Sequence[ToolCall], at: int, result: Callable[[ToolCall], str]) -> Iterator[Message]:
    signed = tuple(replace(each, id=f"call_{at}_{place}") for place, each in enumerate(made))
    yield Message("assistant", tool_calls=signed)
    for each in signed:
        yield Message("tool", result(each), tool_call_id=each.id)
