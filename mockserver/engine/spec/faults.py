"""Faults as the author of a rules file writes them: a table for each, made from what the fault says of itself."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, create_model
from pydantic_core import PydanticCustomError

from mockserver.core.call import Json
from mockserver.core.faults import POSITIONS, Faults, Kind, Option, counts, options
from mockserver.core.reasons import REASONS
from mockserver.engine.spec.table import Table, Whole
from mockserver.kinds.amounts import Duration, Share

MOST_EVENTS = 10_000  # that come at once
BESIDE: Mapping[str, str] = {
    "probability": "how often it befalls a call, by seed; a retry draws anew",
    "times": "how many calls of the rule it befalls in a namespace, then no more",
}


@cache
def fault_table(name: str, fault: Any) -> type[Table]:
    """The table that may stand behind the name of a fault."""
    fields: dict[str, Any] = {
        "probability": (Share | None, Field(None, description=BESIDE["probability"])),
        "times": (Annotated[int, Field(ge=1)] | None, Field(None, description=BESIDE["times"])),
    }
    for each in options(fault):
        if each.kind == "position":
            fields |= {where: _place(where) for where in each.among}
        else:
            kind = TYPES[each.kind](each)
            fields[each.field] = (kind | None, Field(None, alias=each.name, description=each.about))
    table = create_model(f"{name}_fault", __base__=Table, __doc__=fault.__doc__, **fields)
    table.example = f"{{{name}: {{{_example(fault)}}}}}"
    return table


def _place(where: str) -> tuple[Any, Any]:
    kind: Any = Whole if counts(where) else Literal[True]
    return (kind | None if counts(where) else Literal[True] | None, Field(None, description=POSITIONS[where]))


def _example(fault: Any) -> str:
    given = {each.kind: each for each in options(fault)}
    if "position" in given:
        return "after_tokens: 3" if "after_tokens" in given["position"].among else "at_start: true"
    return next((f"{each.name}: {each.default}" for each in given.values()), "times: 1")


def fault_schema(faults: Faults) -> dict[str, Json]:
    """The JSON Schema of one item of a rule's `faults`."""
    tables = {name: fault_table(name, fault) for name, fault in faults.items()}
    named = {"enum": list(tables), "description": "a fault as it is by itself"}
    properties = {name: table.model_json_schema(by_alias=True) for name, table in tables.items()}
    told = {"type": "object", "properties": properties, "minProperties": 1, "maxProperties": 1}
    return {"anyOf": [named, {**told, "additionalProperties": False}]}


def _media_type(text: str) -> str:
    if text.isascii() and text.isprintable() and text.strip() == text and text:
        return text
    raise PydanticCustomError("expected", "a type such as text/html")


def _pointer(text: str) -> str:
    if text.startswith("/") and len(text) > 1:
        return text
    raise PydanticCustomError("expected", "a JSON Pointer such as /choices/0/delta")


def _difference(number: int) -> int:
    if number:
        return number
    raise PydanticCustomError("expected", "a number that is not 0")


# What a value of each kind must be.
TYPES: Mapping[Kind, Callable[[Option], Any]] = {
    "count": lambda _: Annotated[int, Field(ge=1, le=MOST_EVENTS)],
    "difference": lambda _: Annotated[int, AfterValidator(_difference)],
    "duration": lambda _: Duration,
    "media type": lambda _: Annotated[str, AfterValidator(_media_type)],
    "pointer": lambda _: Annotated[str, AfterValidator(_pointer)],
    "reason": lambda _: Literal[tuple(REASONS)],
    "speed": lambda _: Annotated[float, Field(gt=0, allow_inf_nan=False)],
    "word": lambda each: Literal[each.among],
}
