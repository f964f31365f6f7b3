"""Changed histories that Gemini refuses: lost thought signatures, and changed ones.

A signature vouches only for itself: clients may complete the arguments of a call, and Google's other models accept it.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from mockserver.core.call import Call
from mockserver.core.plan import Failure
from mockserver.core.seal import SealError
from mockserver.core.validation import HistoryProblem
from mockserver.dialects._parse import Body, clip
from mockserver.dialects._replay import Problems, ReplayRule, make_history_check
from mockserver.wire.gemini import SIGNATURE


class _PlacedPart(NamedTuple):
    """A part: the place of its content, its own place in that, and itself."""

    at: int
    place: int
    part: Body


def _find_unsigned(call: Call, contents: Sequence[Body]) -> Problems:
    """Yield the first call of each step since the last user message, if it has no signature."""
    asked = [at for at, content in enumerate(contents) if _is_of_user(content)]
    for parts in _group_steps(contents, asked[-1] if asked else 0):
        first = next((each for each in parts if "functionCall" in each.part), None)
        if first is not None and "thoughtSignature" not in first.part:
            name = clip(first.part["functionCall"]["name"])
            failure = Failure("bad_parameter", _MISSING.format(name, first.at + 1))
            yield HistoryProblem(failure, _write_place(first.at, first.place), _KEEP)


def _is_of_user(content: Body) -> bool:
    return content.get("role") != "model" and any("functionResponse" not in part for part in _list_parts(content))


def _list_parts(content: Body) -> Sequence[Body]:
    return content.get("parts") or ()


def _group_steps(contents: Sequence[Body], start: int) -> Iterator[list[_PlacedPart]]:
    """Yield the parts of each turn of the model, which consists of its consecutive contents."""
    turns = groupby(range(start, len(contents)), key=lambda at: contents[at].get("role") == "model")
    for of_model, places in turns:
        if of_model:
            yield [
                _PlacedPart(at, place, part) for at in places for place, part in enumerate(_list_parts(contents[at]))
            ]


def _find_corrupted(call: Call, contents: Sequence[Body]) -> Problems:
    for at, content in enumerate(contents):
        for index, part in enumerate(_list_parts(content)):
            try:
                SIGNATURE.open(part.get("thoughtSignature") or _NONE)
            except SealError:
                text = "Invalid" if _NEWEST.match(call.model) else "Corrupted"
                yield HistoryProblem(
                    Failure("bad_parameter", f"{text} thought signature."), _write_place(at, index), _KEEP
                )


def _find_contents(call: Call) -> Sequence[Body] | None:
    """Return the contents if they have calls or signatures."""
    contents: Sequence[Body] = call.raw.get("contents") or ()
    for content in contents:
        for part in _list_parts(content):
            if "functionCall" in part or "thoughtSignature" in part:
                return contents
    return None


def _write_place(at: int, index: int) -> str:
    return f"contents[{at}].parts[{index}]"


_NONE = "skip_thought_signature_validator"  # passes instead of any signature
_KEEP = "send each part of an answer back unchanged, with its `thoughtSignature`"
_MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:{}` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more "
    "details."
)
# Gemini 3 and later, and the names that lead to the newest.
_SINCE_3 = re.compile(r"gemini-(?:(?:[3-9]|[1-9][0-9])(?![0-9])|[a-z-]+-latest)")
# Those that are known to say "Invalid"; others say "Corrupted".
_NEWEST = re.compile(r"gemini-(?:3\.[7-9]|[4-9]|[1-9][0-9])(?![0-9])")

HISTORY = make_history_check(_find_contents, ReplayRule(_find_unsigned, models=_SINCE_3), ReplayRule(_find_corrupted))
