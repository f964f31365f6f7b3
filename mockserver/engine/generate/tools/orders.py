"""What instructions say of tools: which are called in every turn, which go with others, which are never called.

Knows the texts of instructions and the tools that are offered, not what the user asks for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mockserver.core.call import Call, Tool
from mockserver.engine.generate.excerpt import ends
from mockserver.engine.generate.tools.clauses import unquoted
from mockserver.engine.generate.tools.wording import keys, stem, weight, words


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tools of which one is called before the other, whenever `cause` (one of the two) is called."""

    first: Tool
    second: Tool
    cause: str


@dataclass(frozen=True, slots=True)
class Orders:
    """`always` are called in every turn, in this order; `never` may not be; `hints` say when a tool is to be called."""

    always: tuple[Tool, ...] = ()
    pairs: tuple[Pair, ...] = ()
    never: frozenset[str] = frozenset()
    hints: Mapping[str, str] = field(default_factory=dict)


def orders(call: Call, tools: Sequence[Tool]) -> Orders:
    """What the instructions of a call order of these tools."""
    found = [_Order(sentence, named) for sentence in _sentences(call) if (named := tuple(_named(sentence, tools)))]
    pairs = tuple(pair for order in found if order.kind == "pair" for pair in _pairs(order))
    return Orders(
        always=_once(tool for order in found if order.kind == "always" for tool in order.tools),
        pairs=pairs,
        never=frozenset(tool.name for order in found if order.kind == "never" for tool in order.tools)
        | _all(call, tools),
        hints=_hints(order for order in found if order.kind == "hint"),
    )


def _all(call: Call, tools: Sequence[Tool]) -> frozenset[str]:
    """The names of all tools, where none may be called at all."""
    forbidden = any(_NO_TOOLS.search(sentence) and not _CONDITION.search(sentence) for sentence in _sentences(call))
    return frozenset(tool.name for tool in tools) if forbidden else frozenset()


@dataclass(frozen=True, slots=True)
class _Order:
    """A sentence, and the tools that it names."""

    sentence: str
    tools: tuple[Tool, ...]

    @property
    def kind(self) -> Literal["never", "pair", "always", "hint"]:
        """What the sentence means for its tools."""
        if _FORBIDDEN.search(self.sentence):
            return "hint" if _CONDITION.search(self.sentence) else "never"
        if len(self.tools) == 2 and _JOINT.search(self.sentence):
            return "pair"
        obliged = _OBLIGATION.search(self.sentence) and not _CONDITION.search(self.sentence)
        return "always" if obliged else "hint"


def _pairs(order: _Order) -> Iterator[Pair]:
    joint = _JOINT.search(order.sentence)
    one, other = order.tools
    if joint is None:
        return
    leading = not words(order.sentence[: joint.start()])
    before = joint[0].lower() == "before"
    first, second = (one, other) if before != leading else (other, one)
    yield Pair(first, second, cause=(second if before else first).name)


def _hints(found: Iterable[_Order]) -> dict[str, str]:
    hints: dict[str, str] = {}
    for order in found:
        for tool in order.tools:
            hints[tool.name] = f"{hints.get(tool.name, '')} {order.sentence}"
    return hints


def _sentences(call: Call) -> Iterator[str]:
    """The sentences of all instructions, of long ones those at the beginning and at the end."""
    for message in call.messages:
        if message.role in ("system", "developer"):
            text = ends(message.text, _LONGEST_END, _LONGEST_END)
            yield from (sentence for sentence in _END.split(unquoted(text)) if sentence.strip())


def _named(sentence: str, tools: Sequence[Tool]) -> Iterator[Tool]:
    """The tools that a sentence names, in its order: as written, or by all the words of their names."""
    said = words(sentence)
    heard = frozenset().union(*map(keys, said))
    places = [(at, index) for index, tool in enumerate(tools) if (at := _place(tool, sentence, said)) is not None]
    for _, index in sorted(places):
        if heard:
            yield tools[index]


def _place(tool: Tool, sentence: str, said: Sequence[str]) -> int | None:
    """Where a sentence names a tool, in characters."""
    written = re.search(rf"(?<!\w){re.escape(tool.name)}(?!\w)", sentence, re.IGNORECASE)
    if written and (not tool.name.isalpha() or _CALLING.search(sentence)):
        return written.start()
    parts = [word for word in words(tool.name) if keys(word)]
    roots = [keys(part) if weight(part) < 0.5 else keys(part) & {stem(part)} for part in parts]
    if len(parts) < 2 or not all(any(root & keys(word) for word in said) for root in roots):
        return None
    return sentence.lower().find(parts[0][:3])


def _once(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    return tuple({tool.name: tool for tool in tools}.values())


_LONGEST_END = 20_000
_END = re.compile(r"(?<=[.!?])\s+|\n+|;\s")
_FORBIDDEN = re.compile(
    r"\b(?:never|do\s+not|don't|must\s+not|may\s+not|cannot|should\s+not|shouldn't|avoid)\b[^.]{0,20}?"
    r"\b(?:call|use|invoke|run|us|calling|using|invoking|running)\b",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"\b(?:never|do\s+not|don't|must\s+not|may\s+not|cannot|should\s+not|shouldn't)\s+(?:call|use|invoke|run)\s+"
    r"(?:any|the|your|these)?\s*(?:of\s+the\s+|of\s+your\s+)?(?:tools|functions|tool\s+calls?|tool|function)\s*[.!]?\s*$",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|only|unless|in\s+case|where|questions?|requests?|as\s+needed|asks?|about|more\s+than|"
    r"twice|until|without)\b",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\b(?:before|after)\b", re.IGNORECASE)
_OBLIGATION = re.compile(
    r"\b(?:always|must|first|before|begin|start|make\s+sure|need\s+to|have\s+to|required|every|step\s*\d|shall)\b",
    re.IGNORECASE,
)
_CALLING = re.compile(
    r"\b(?:call|use|invoke|run|consult|query|execute|tool|function|calling|using|invoking|running|search|check|look)\b",
    re.IGNORECASE,
)
