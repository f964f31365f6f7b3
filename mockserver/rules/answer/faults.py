"""Compiles the faults of a rule: which, where and how often. Defines the faults that change an answer's content.

The faults of delivery are passed in; only their names and options are known here.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.source import suggest
from mockserver.config.tables import Table
from mockserver.config.validation_errors import validate_table
from mockserver.core.action import POSITIONS, Faults, Position, Settable, list_options
from mockserver.core.call import Call, ToolCall
from mockserver.core.draft import Draft, FaultSpec
from mockserver.core.json import Json
from mockserver.core.plan import Part, Text, ToolUse
from mockserver.core.text import show_value
from mockserver.kinds import THEN_KEYS
from mockserver.rules.schema import ContentSpec, ThenSpec, make_fault_table
from mockserver.rules.templates import CompileContext

ArgumentMistake = Literal["truncated", "trailing_comma", "wrong_types", "empty"]


class BadToolArguments(Struct, frozen=True):
    """Send wrong tool arguments."""

    how: Annotated[
        ArgumentMistake,
        Settable(
            "word",
            "the mistake: last bracket missing, extra comma, wrong types, no arguments",
            get_args(ArgumentMistake),
        ),
    ] = "truncated"

    def __call__(self, draft: Draft, call: Call) -> Draft:
        return _change_calls(draft, lambda made: replace(made, arguments=_SPOILT[self.how](made.arguments)))


class UnknownTool(Struct, frozen=True):
    """Call a tool that the request does not offer."""

    def __call__(self, draft: Draft, call: Call) -> Draft:
        offered = {tool.name for tool in call.tools}
        return _change_calls(draft, lambda made: replace(made, name=_make_unknown(made.name, offered)))


class BreaksSchema(Struct, frozen=True):
    """Send a structured result with wrong types (MCP)."""

    def __call__(self, draft: Draft, call: Call) -> Draft:
        choices = [replace(choice, parts=tuple(map(_break_value, choice.parts))) for choice in draft.choices]
        return replace(draft, choices=tuple(choices))


def _break_value(part: Part) -> Part:
    """Return a value with wrong types, and any other part as it is."""
    return replace(part, text=_spoil_types(part.text)) if isinstance(part, Text) and part.is_json else part


def _change_calls(draft: Draft, change: Callable[[ToolCall], ToolCall]) -> Draft:
    choices = (replace(choice, parts=tuple(_change_parts(choice.parts, change))) for choice in draft.choices)
    return replace(draft, choices=tuple(choices))


def _change_parts(parts: tuple[Part, ...], change: Callable[[ToolCall], ToolCall]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, ToolUse) and part.call.kind != "custom":
            cut = "token" if isinstance(part.chunks, tuple) else part.chunks
            yield ToolUse(change(part.call), cut)
        else:
            yield part


def _make_unknown(name: str, offered: set[str]) -> str:
    name += "_2"
    return _make_unknown(name, offered) if name in offered else name


def _truncate(arguments: str) -> str:
    return arguments.rstrip()[:-1]


def _spoil_types(arguments: str) -> str:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return _truncate(arguments)
    wrong = {key: _spoil_value(each) for key, each in value.items()} if isinstance(value, dict) else str(value)
    return json.dumps(wrong, separators=(",", ":"))


def _spoil_value(value: Json) -> Json:
    match value:
        case str():
            return [value]
        case bool() | None:
            return "maybe"
        case int() | float():
            return f"about {value}"
    return 0


_SPOILT: Mapping[str, Callable[[str], str]] = {
    "truncated": _truncate,
    "trailing_comma": lambda arguments: f"{_truncate(arguments)},{arguments.rstrip()[-1:]}",
    "wrong_types": _spoil_types,
    "empty": lambda _: "",
}

ANSWER_FAULTS: Faults = {
    "bad_tool_arguments": BadToolArguments,
    "unknown_tool": UnknownTool,
    "breaks_schema": BreaksSchema,
}


ON_TOOL_CALLS = (
    "bad_tool_arguments",
    "unknown_tool",
    "in_tool_arguments",
)  # faults and positions that need a tool call
_WRITTEN = "a fault is a name, or a table with one name: {cut: {after_tokens: 3}}"


def compile_faults(then: ThenSpec, context: CompileContext) -> tuple[FaultSpec, ...]:
    made = (_compile_fault(item, then, context.at("faults", at)) for at, item in enumerate(then.faults or ()))
    return tuple(found for found in made if found is not None)


def find_order_dependence(then: ThenSpec) -> Iterator[str]:
    for item in (item for _, inner in then.walk() for item in inner.faults or ()):
        for name, stated in item.items() if isinstance(item, Mapping) else ():
            keys = stated if isinstance(stated, Mapping) else ()
            yield from (f"{key} of the fault {name}" for key in ("probability", "times") if key in keys)


def _compile_fault(item: Json, then: ThenSpec, context: CompileContext) -> FaultSpec | None:
    if isinstance(item, Mapping) and len(item) == 1:
        ((name, stated),) = item.items()
    else:
        name = item
        stated = {}
    if not isinstance(name, str):
        context.refuse(_WRITTEN if isinstance(item, Mapping | list) else f"{_WRITTEN}, not {show_value(item)}")
        return None
    faults = {**context.faults, **ANSWER_FAULTS}
    here = context.at(name) if isinstance(item, Mapping) else context
    if name not in faults:
        refuse = here.refuse_key if isinstance(item, Mapping) else here.refuse
        refuse(f'unknown fault "{name[:60]}"{suggest(name, faults)}')
        return None
    table = _check_table(name, faults[name], stated=stated, context=here)
    if table is None:
        return None
    for place in [name, *stated]:
        if place in ON_TOOL_CALLS and not _may_call(then):
            (here.at(place) if place in stated else here).refuse_key(
                f'"{place}" does not apply to this answer: it calls no tool'
            )
    spec = _make_spec(name, faults[name], table=table, context=here)
    if (then.progress or then.log) and _counts_tokens(spec.change_actions):
        stated_at = here.at("after_tokens") if "after_tokens" in stated else here
        stated_at.refuse_key(
            f'"{name}" cannot count tokens beside progress or log, as all of them are in one event; use after_frames'
        )
    return replace(spec, path=context.inside)


def _counts_tokens(fault: Any) -> bool:
    places = (
        [getattr(fault, each.field) for each in list_options(type(fault)) if each.kind == "position"] if fault else []
    )
    return any(place.where == "after_tokens" for place in places)


def _make_spec(name: str, fault: Any, table: Table, context: CompileContext) -> FaultSpec:
    given = {key: getattr(table, key) for key in type(table).model_fields if key in table.model_fields_set}
    places = [key for key in given if key in POSITIONS]
    if len(places) > 1:
        context.at(places[1]).refuse_key(f'use "{places[0]}" or "{places[1]}", not both')
    made = fault(**_make_fields(fault, given))
    chance = given.get("probability")
    times = given.get("times")
    changes_draft = name in ANSWER_FAULTS
    return FaultSpec(
        name,
        context.label,
        change_actions=None if changes_draft else made,
        change_draft=made if changes_draft else None,
        probability=chance,
        times=times,
    )


def _check_table(name: str, fault: Any, stated: Json, context: CompileContext) -> Table | None:
    if isinstance(stated, Mapping) and (misplaced := _find_misplaced(name, fault, stated)):
        context.at(misplaced[0]).refuse_key(misplaced[1])
        return None
    return validate_table(make_fault_table(name, fault), stated, whole=f'"{name}"', add=context.add)


def _find_misplaced(name: str, fault: Any, stated: Mapping[str, Json]) -> tuple[str, str] | None:
    places = next((each.among for each in list_options(fault) if each.kind == "position"), ())
    wrong = next((key for key in stated if key in POSITIONS and key not in places), None)
    if wrong is None:
        return None
    instead = f"; it accepts {', '.join(places)}" if places else ": it affects the whole answer"
    return wrong, f'"{wrong}" does not apply to {name}{instead}'


def _make_fields(fault: Any, given: Mapping[str, Json]) -> dict[str, Json]:
    fields: dict[str, Json] = {}
    for each in list_options(fault):
        if each.kind != "position":
            fields |= {each.field: given[each.field]} if each.field in given else {}
        elif place := next((key for key in given if key in POSITIONS), None):
            fields[each.field] = Position(place, 0 if given[place] is True else given[place])  # type: ignore[arg-type]
    return fields


def _may_call(content: ContentSpec) -> bool:
    if isinstance(content, ThenSpec):
        if content.choices is not None:
            return any(map(_may_call, content.choices))
        if {"error", "echo", *THEN_KEYS} & content.model_fields_set:
            return False
    called = content.tool_calls or content.items
    parts = any(part.tool_call is not None or part.item is not None for part in content.parts or ())
    return bool(called) or parts or not {"text", "json_", "refusal", "parts"} & content.model_fields_set
