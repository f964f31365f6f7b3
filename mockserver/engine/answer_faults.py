"""Faults of what an answer says: tool calls that a client cannot carry out. Each turns a draft into another.

Faults of how an answer is sent are no concern of the engine.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from mockserver.core.call import Call, Json, ToolCall
from mockserver.core.faults import Faults, option
from mockserver.core.plan import Part, ToolUse
from mockserver.engine.draft import Draft


@dataclass(frozen=True, slots=True)
class BadToolArguments:
    """The arguments of tool calls are not what the tool takes."""

    how: Literal["truncated", "trailing_comma", "wrong_types", "empty"] = option(
        "truncated",
        "word",
        "what is wrong with them: the last bracket missing, a comma too many, values of other types, none at all",
        among=("truncated", "trailing_comma", "wrong_types", "empty"),
    )

    def __call__(self, draft: Draft, call: Call) -> Draft:
        """The draft with other arguments; free text for a tool that takes it stays."""
        return _called(draft, lambda made: replace(made, arguments=_SPOILT[self.how](made.arguments)))


@dataclass(frozen=True, slots=True)
class UnknownTool:
    """Tool calls name a tool that the request does not offer."""

    def __call__(self, draft: Draft, call: Call) -> Draft:
        """The draft with other names of tools."""
        offered = {tool.name for tool in call.tools}
        return _called(draft, lambda made: replace(made, name=_unknown(made.name, offered)))


def _called(draft: Draft, change: Callable[[ToolCall], ToolCall]) -> Draft:
    choices = (replace(choice, parts=tuple(_parts(choice.parts, change))) for choice in draft.choices)
    return replace(draft, choices=tuple(choices))


def _parts(parts: tuple[Part, ...], change: Callable[[ToolCall], ToolCall]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, ToolUse) and part.call.kind != "custom":
            cut = "token" if isinstance(part.chunks, tuple) else part.chunks
            yield ToolUse(change(part.call), cut)
        else:
            yield part


def _unknown(name: str, offered: set[str]) -> str:
    name += "_2"
    return _unknown(name, offered) if name in offered else name


def _truncated(arguments: str) -> str:
    return arguments.rstrip()[:-1]


def _trailing_comma(arguments: str) -> str:
    inner, end = arguments.rstrip()[:-1], arguments.rstrip()[-1:]
    return f"{inner},{end}"


def _wrong_types(arguments: str) -> str:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return _truncated(arguments)
    wrong = {key: _wrong(each) for key, each in value.items()} if isinstance(value, dict) else str(value)
    return json.dumps(wrong, separators=(",", ":"))


def _wrong(value: Json) -> Json:
    """A value of another type."""
    match value:
        case str():
            return [value]
        case bool() | None:
            return "maybe"
        case int() | float():
            return f"about {value}"
    return 0


_SPOILT: Mapping[str, Callable[[str], str]] = {
    "truncated": _truncated,
    "trailing_comma": _trailing_comma,
    "wrong_types": _wrong_types,
    "empty": lambda _: "",
}

ANSWER_FAULTS: Faults = {"bad_tool_arguments": BadToolArguments, "unknown_tool": UnknownTool}
