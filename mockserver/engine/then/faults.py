"""The faults that a rule wants: which, where, how often; and when one befalls a call.

The engine's own change what an answer says. Of the others, which its caller hands in, it knows names and options only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from mockserver.core.call import Json
from mockserver.core.faults import POSITIONS, Position, options
from mockserver.engine.answer_faults import ANSWER_FAULTS
from mockserver.engine.draft import Affliction
from mockserver.engine.nearest import shown
from mockserver.engine.spec.complaints import complaints
from mockserver.engine.spec.faults import fault_table
from mockserver.engine.spec.models import ContentSpec, ThenSpec
from mockserver.engine.spec.table import Table
from mockserver.engine.then.site import Site
from mockserver.positions import did_you_mean

ON_TOOL_CALLS = (*ANSWER_FAULTS, "in_tool_arguments")  # all that a fault can spoil of what is said
_WRITTEN = "a fault is a name, or one name with its table: {cut: {after_tokens: 3}}"


def compile_faults(then: ThenSpec, site: Site) -> tuple[Affliction, ...]:
    """The faults of a `then`; whatever is wrong with them is told to `site`."""
    made = (_affliction(item, then, site.at("faults", at)) for at, item in enumerate(then.faults or ()))
    return tuple(found for found in made if found is not None)


def counting(then: ThenSpec) -> Iterator[str]:
    """What in the faults of a `then`, and of those inside it, depends on the order in which calls arrive."""
    for item in then.faults or ():
        for name, stated in item.items() if isinstance(item, Mapping) else ():
            keys = stated if isinstance(stated, Mapping) else ()
            yield from (f"{key} of the fault {name}" for key in ("probability", "times") if key in keys)
    for inner in (*(then.steps or ()), *(branch.then for branch in then.one_of or ())):
        yield from counting(inner)


def _affliction(item: Json, then: ThenSpec, site: Site) -> Affliction | None:
    if isinstance(item, Mapping) and len(item) == 1:
        ((name, stated),) = item.items()
    else:
        name, stated = item, {}
    if not isinstance(name, str):
        site.refuse(_WRITTEN if isinstance(item, Mapping | list) else f"{_WRITTEN}, not {shown(item)}")
        return None
    faults = {**site.faults, **ANSWER_FAULTS}
    here = site.at(name) if isinstance(item, Mapping) else site
    if name not in faults:
        hint = did_you_mean(name, faults) or f"; it is one of {', '.join(faults)}"
        (here.refuse_key if isinstance(item, Mapping) else here.refuse)(f'unknown fault "{name[:60]}"{hint}')
        return None
    table = _checked(name, faults[name], stated, here)
    if table is None:
        return None
    for place in [name, *stated]:
        if place in ON_TOOL_CALLS and not _may_call(then):
            (here.at(place) if place in stated else here).refuse_key(
                f'"{place}" cannot befall this answer: it calls no tool'
            )
    return replace(_stated(name, faults[name], table, here), path=site.inside)


def _stated(name: str, fault: Any, table: Table, site: Site) -> Affliction:
    given = {key: getattr(table, key) for key in type(table).model_fields if key in table.model_fields_set}
    places = [key for key in given if key in POSITIONS]
    if len(places) > 1:
        site.at(places[1]).refuse_key(f'"{places[0]}" and "{places[1]}" are two positions; keep one')
    made = fault(**_fields(fault, given))
    chance, times = given.get("probability"), given.get("times")
    change, bend = (made, None) if name in ANSWER_FAULTS else (None, made)
    return Affliction(name, site.label, bend, change, probability=chance, times=times)


def _checked(name: str, fault: Any, stated: Json, site: Site) -> Table | None:
    """The table of a fault, or None where something is wrong with it."""
    if isinstance(stated, Mapping) and (misplaced := _misplaced(name, fault, stated)):
        site.at(misplaced[0]).refuse_key(misplaced[1])
        return None
    table = fault_table(name, fault)
    try:
        return table.model_validate(stated)
    except ValidationError as error:
        for complaint in complaints(error, table, f'"{name}"'):
            site.mistakes.add(complaint.message, (*site.path, *complaint.path), key=complaint.key)
        return None


def _misplaced(name: str, fault: Any, stated: Mapping[str, Json]) -> tuple[str, str] | None:
    """A position that the fault cannot have, and why."""
    places = next((each.among for each in options(fault) if each.kind == "position"), ())
    wrong = next((key for key in stated if key in POSITIONS and key not in places), None)
    if wrong is None:
        return None
    instead = f"; it takes {', '.join(places)}" if places else ": it is about the whole answer"
    return wrong, f'"{wrong}" cannot apply to {name}{instead}'


def _fields(fault: Any, given: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a fault from the keys of its table."""
    fields: dict[str, Json] = {}
    for each in options(fault):
        if each.kind != "position":
            fields |= {each.field: given[each.field]} if each.field in given else {}
        elif place := next((key for key in given if key in POSITIONS), None):
            fields[each.field] = Position(place, 0 if given[place] is True else given[place])  # type: ignore[arg-type]
    return fields


def _may_call(content: ContentSpec) -> bool:
    """Whether an answer may call a tool, as far as its keys tell."""
    if isinstance(content, ThenSpec):
        if content.choices is not None:
            return any(map(_may_call, content.choices))
        if {"error", "embedding", "moderation", "echo"} & content.model_fields_set:
            return False
    called = content.tool_calls or content.items
    parts = any(part.tool_call is not None or part.item is not None for part in content.parts or ())
    return bool(called) or parts or not {"text", "json_", "refusal", "parts"} & content.model_fields_set
