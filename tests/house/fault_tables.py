"""What the documentation's tables say of faults: a head and rows of each."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from mockserver.core.action import POSITIONS, Option, counts, options
from mockserver.delivery.faults import FAULTS
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.schema import BESIDE
from mockserver.testing.fault_matrix import BAD, OUTCOMES

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def faults() -> Table:
    """Every fault, its default position and its options."""
    rows = [
        (f"`{name}`", (fault.__doc__ or "").partition("\n")[0], _usual_place(fault), ". ".join(_more(fault)))
        for name, fault in {**FAULTS, **ANSWER_FAULTS}.items()
    ]
    return ("fault", "what it does", "default position", "options (with defaults)"), rows


def positions() -> Table:
    """Every position."""
    rows = [(f"`{where}: {3 if counts(where) else 'true'}`", about) for where, about in POSITIONS.items()]
    return ("position", "meaning"), rows


def how_often() -> Table:
    """The options that every fault has."""
    return ("key", "meaning"), [(f"`{key}`", about) for key, about in BESIDE.items()]


def outcomes() -> Table:
    """Every outcome of a run."""
    rows = [(f"`{word}`", about, "bad" if word in BAD else "") for word, about in OUTCOMES.items()]
    return ("outcome", "what happened", "verdict"), rows


def _usual_place(fault: type[Any]) -> str:
    place = next((each.default for each in options(fault) if each.kind == "position"), None)
    return "" if place is None else f"`{place.where}: {place.count if counts(place.where) else 'true'}`"


def _more(fault: type[Any]) -> Iterator[str]:
    for each in options(fault):
        if each.kind != "position":
            words = f" ({', '.join(f'`{word}`' for word in each.among)})" if each.among else ""
            yield f"`{each.name}{_usual(each)}`: {each.about}{words}"


def _usual(each: Option) -> str:
    """The default of an option, unless its description says it."""
    match each.kind, each.default:
        case _, None | 0.0 | math.inf:
            return ""
        case "duration", seconds:
            return f": {seconds * 1000:g}ms"
        case _, float(number):
            return f": {number:g}"
    return f": {each.default}"
