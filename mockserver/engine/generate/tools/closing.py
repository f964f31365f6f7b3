"""Tools that end a turn rather than do work in it: those by which frameworks take a final answer.

Knows names and descriptions, no conversation.
"""

import re
from collections.abc import Sequence

from mockserver.core.call import Tool
from mockserver.engine.generate.tools.wording import stem, words


def closing(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """The tools that end a turn, by what they say of themselves; or else those named as things among deeds."""
    said = tuple(filter(_says_so, tools))
    if said or len(tools) < 2:
        return said
    shapes = tuple(tool for tool in tools if _SHAPE.fullmatch(tool.name) and not _is_deed(tool.name))
    deeds = tuple(tool for tool in tools if not _SHAPE.fullmatch(tool.name))
    return shapes if deeds else ()


def _says_so(tool: Tool) -> bool:
    named = words(tool.name)
    if tool.kind != "function" or not named:
        return False
    telling = _ENDING.intersection(named) or named in _WHOLE
    return bool(telling) or _ENDS.search(tool.description[:_LONGEST]) is not None


def _is_deed(name: str) -> bool:
    return stem(words(name)[0]) in _VERBS


_LONGEST = 900  # characters of a description
_ENDING = frozenset({"final", "finish", "finalize", "terminate", "conclude", "completion"})
_WHOLE = frozenset(
    {("respond",), ("answer",), ("submit",), ("reply",), ("output",), ("done",), ("complete", "task"), ("task", "done")}
    | {(verb, what) for verb in ("submit", "give", "return") for what in ("answer", "result", "output", "response")}
)
_ENDS = re.compile(
    r"\bends?\s+(?:this|the)\s+(?:conversation|run|task)\b|\bfinal\s+(?:answer|response|result|output)\b", re.I
)
_SHAPE = re.compile(r"[A-Z][a-z0-9]+(?:[A-Z]\w*)?")  # a class: WeatherReport
_DEEDS = (
    "get fetch search find look check list show read write create make add delete remove update set send book cancel "
    "buy order pay run execute compute calculate convert translate open close start stop multiply divide sum subtract "
    "query ask call transfer move copy lookup schedule reserve submit generate draw play save load edit"
)
_VERBS = frozenset(map(stem, _DEEDS.split()))
