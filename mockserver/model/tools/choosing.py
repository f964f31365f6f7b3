"""Which of the offered tools a text asks for, in its order, and with which of its words.

Knows nothing of earlier calls.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mockserver.core.call import Tool
from mockserver.model.arguments import NOTHING, Mentions, mentions
from mockserver.model.tools.clauses import Clause, clauses, mood, needs_the_world, ordered, reported, wanting
from mockserver.model.tools.offers import (
    THRESHOLD,
    OfferedTool,
    fitness,
    named_at,
    offered_tools,
    properties_of,
    required_of,
)
from mockserver.model.vocabulary import ends, keys, leading, reads, roots, stem, vocabulary, weight, words


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool that a text asks for, the words that ask for it, and whether it waits for the request before it."""

    tool: Tool
    text: str
    later: bool = False


def tool_requests(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> tuple[ToolRequest, ...]:
    """Return what a text asks for, in its order; a tool more than once, where several places ask for it."""
    whole = ends(text, _LONGEST_END, _LONGEST_END)
    offered, found = offered_tools(tools, hints), clauses(whole)
    unwanted = frozenset(name for clause in found for name in denied(clause, offered))
    kept = tuple(each for each in offered if each.tool.name not in unwanted)
    return tuple(_merged(_requests(whole, found, kept))) or _for_any_tool(whole, found, kept)


def best(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> Tool | None:
    """Return the tool that fits a text best, however badly; None where none has anything to do with it."""
    return _best(ends(text, _LONGEST_END, _LONGEST_END), offered_tools(tools, hints))


def _best(text: str, offered: Sequence[OfferedTool]) -> Tool | None:
    said, mentioned = words(text), mentions(text)
    scored = [(fitness(each, said, mentioned), -at) for at, each in enumerate(offered)]
    score, at = max(scored, default=(0.0, 0))
    return offered[-at].tool if score > 0 else None


def _for_any_tool(text: str, found: Sequence[Clause], offered: Sequence[OfferedTool]) -> tuple[ToolRequest, ...]:
    """A call of some tool, where the text asks for one without saying which: `use the tool`."""
    if not offered or not any(not clause.idle and _SOME_TOOL.search(clause.text) for clause in found):
        return ()
    return (ToolRequest(_best(text, offered) or offered[0].tool, text),)


def is_follow_up(text: str) -> bool:
    """Whether a text only adds to an earlier request: `and in Rome?`"""
    return len(text) < 80 and _FOLLOWING.match(text) is not None


def named(clause: Clause, offered: Sequence[OfferedTool]) -> tuple[Tool, ...]:
    """Return the tools that a clause names as they are written, in its order."""
    if clause.idle:
        return ()
    places = ((named_at(each, clause.text), place) for place, each in enumerate(offered))
    return tuple(offered[place].tool for _, place in sorted((at, place) for at, place in places if at is not None))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The first clause of a clause's sentence, the clause before it, and the whole text, with quotes."""

    head: Clause
    before: Clause
    text: str


def described(clause: Clause, offered: Sequence[OfferedTool], around: Surroundings) -> tuple[Tool, ...]:
    """Return the tool that a clause describes best, if it does so well."""
    own = words(clause.text)
    if clause.idle or not any(map(keys, own)):
        return ()
    said = (*own, *words(around.before.text)) if refers_back(clause.text) else own
    mentioned = mentions(around.text[clause.start : clause.end])
    ranked = sorted(enumerate(offered), key=lambda each: (-fitness(each[1], said, NOTHING), each[0]))
    likely = [  # only for these is it worth to look for arguments
        (at, each) for at, each in ranked[:_MOST_LIKELY] if said == own or fitness(each, own, mentioned)
    ]
    judge = _judge(clause, own, [each for _, each in likely], around)
    scored = [(fitness(each, said, mentioned) + judge(each, mentioned), -at) for at, each in likely]
    score, at = max(scored, default=(0.0, 0))
    asks_the_world = needs_the_world(clause.text) and (mood(clause.text) == "question" or wanting(clause.text))
    return (offered[-at].tool,) if score + asks_the_world * _WEIGHTS["needs the world"] >= THRESHOLD else ()


def refers_back(text: str) -> bool:
    """Whether a text refers to what stands before it: `cancel it`, `send the result`."""
    return _POINTS_BACK.search(text) is not None


def denied(clause: Clause, offered: Sequence[OfferedTool]) -> Iterator[str]:
    """The names of the tools that a clause does not want."""
    if not clause.denied:
        return
    said, every = words(clause.denied), _ANY_TOOL.match(clause.denied) is not None
    holders = _holders(leading(said), offered)
    for each in offered:
        other = _WEIGHTS["against the mood"] if holders and each.tool.name not in holders else 0.0
        if (
            every
            or fitness(each, said, NOTHING) + other >= THRESHOLD - 0.1
            or named_at(each, clause.denied) is not None
        ):
            yield each.tool.name


def _judge(
    clause: Clause, own: Sequence[str], offered: Sequence[OfferedTool], around: Surroundings
) -> Callable[[OfferedTool, Mentions], float]:
    """What the mood and the verb of a clause say for or against a tool.

    A question wants nothing changed, a report nothing repeated. Where some tools have the verb of an order in their
    names (the holders), the others are not meant. Texts to compose need no tool; colleagues and computers do anything.
    """
    how, done = mood(clause.text), stem(reported(clause.text))
    verb = leading(words(ordered(clause.text))) if how == "order" else ""
    holders, composed = _holders(verb, offered), _composed(clause, own, around)

    def judged(each: OfferedTool, mentioned: Mentions) -> float:
        score = 0.0
        if _HANDOFF.match(each.tool.name) or each.tool.kind.startswith("computer"):
            score += _WEIGHTS["does anything"]
        elif composed and not any(keys(word) & keys(other) for word in composed for other in each.name):
            score += _WEIGHTS["explains" if composed[0] in _REASONS else "composes"]
        if how == "report" and done in map(stem, each.name):
            score += _WEIGHTS["done already"]
        elif (
            how == "report"
            or (how == "question" and each.verb and not reads(each.verb))
            or (how == "order" and holders and each.tool.name not in holders)
        ):
            score += _WEIGHTS["against the mood"]
        if holders == {each.tool.name} and _has_all(each.tool, mentioned):
            score += _WEIGHTS["verb and arguments"]
        return score

    return judged


def _has_all(tool: Tool, mentioned: Mentions) -> bool:
    """Whether a text has all arguments that a tool requires, and there are some."""
    properties = properties_of(tool)
    needed = {name: properties[name] for name in sorted(required_of(tool)) if name in properties}
    return bool(required_of(tool)) and mentioned.evidence(needed) == 1


def _holders(verb: str, offered: Sequence[OfferedTool]) -> frozenset[str]:
    """The tools that have a verb in their names, if it is one that tells something."""
    if weight(verb) <= 0.5:
        return frozenset()
    meant = roots(verb)
    return frozenset(each.tool.name for each in offered if any(meant & roots(word) for word in each.name))


def _composed(clause: Clause, own: Sequence[str], around: Surroundings) -> Sequence[str]:
    """The words that ask for a text or an explanation; a clause without a verb continues its sentence."""
    general = own[0] == "why" or (own[0] == "how" and _IN_GENERAL.match(clause.text))
    reasons = [own[0]] if general and not needs_the_world(clause.text) else []
    first = next((word for word in own if keys(word)), "")
    asking = own if weight(first) < 1 else (*words(around.head.text)[:_FIRST_WORDS], *own)
    found = [*reasons, *(word for word in asking[: 2 * _FIRST_WORDS] if word in _COMPOSED)]
    return [word for word in found if word in _FORMS] or found


@dataclass(frozen=True, slots=True)
class _Heard:
    """A clause, and the tools that it asks for; `bare` if it names one and says no more."""

    clause: Clause
    tools: tuple[Tool, ...]
    bare: bool = False


def _requests(text: str, found: Sequence[Clause], offered: Sequence[OfferedTool]) -> Iterator[ToolRequest]:
    """One request for each tool of each clause; clauses that ask for none belong to the request before them."""
    heard = _governed(
        [each for sentence in _sentences(found, offered) for each in _heard(sentence, offered, text)], text
    )
    asking = [at for at, each in enumerate(heard) if each.tools]
    for place, at in enumerate(asking):
        begin = at if place else max(0, at - _MOST_AROUND)
        end = asking[place + 1] if place + 1 < len(asking) else min(len(heard), at + _MOST_AROUND)
        own = [each.clause for each in heard[begin:end] if not each.bare or each.tools]
        clause = heard[at].clause
        later = bool(place) and (clause.later or refers_back(clause.text))
        for tool in heard[at].tools:
            yield ToolRequest(tool, _written(text, own), later)


def _heard(sentence: Sequence[Clause], offered: Sequence[OfferedTool], text: str) -> list[_Heard]:
    """What a sentence asks for: by its clauses, or, where they are only items of a list, as a whole."""
    heard = list[_Heard]()
    for before, clause in pairwise((sentence[0], *sentence)):
        by_name = named(clause, offered)
        tools = by_name or described(clause, offered, Surroundings(sentence[0], before, text))
        heard.append(_Heard(clause, tools, bool(by_name) and _is_bare(clause, by_name)))
    joined = " , ".join(clause.text for clause in sentence)
    listed = len(heard) > 1 and not any(each.tools for each in heard) and len(joined) <= _LONGEST_SENTENCE
    if listed and mood(joined) != "report":
        idle = any(clause.idle for clause in sentence)
        one = replace(sentence[0], text=joined, end=sentence[-1].end, idle=idle)
        heard[0] = replace(heard[0], tools=described(one, offered, Surroundings(one, one, text)))
    return heard


def _sentences(found: Sequence[Clause], offered: Sequence[OfferedTool]) -> Iterator[list[Clause]]:
    sentence: list[Clause] = []
    for clause in _telling(found, offered):
        if clause.first and sentence:
            yield sentence
            sentence = []
        sentence.append(clause)
    if sentence:
        yield sentence


def _telling(found: Sequence[Clause], offered: Sequence[OfferedTool]) -> Sequence[Clause]:
    """The clauses; of very many those at both ends, and those with the most words of the tools."""
    if len(found) <= _MOST_CLAUSES:
        return found
    earlier_call = frozenset().union(*(keys(word) for each in offered for word in each.name))
    at_ends = {*range(_AT_AN_END), *range(len(found) - _AT_AN_END, len(found))}
    first = {clause.text: at for at, clause in reversed([*enumerate(found)])}
    shared = {
        at: sum(weight(word) for word in words(text) if not earlier_call.isdisjoint(keys(word)))
        for text, at in first.items()
    }
    spelled = {at for at in shared if any(named_at(each, found[at].text) is not None for each in offered)}
    ranked = sorted((at for at in shared if shared[at]), key=lambda at: (at not in spelled, -shared[at], at))
    return [found[at] for at in sorted({*at_ends, *ranked[: _MOST_CLAUSES - 2 * _AT_AN_END]})]


def _is_bare(clause: Clause, tools: Sequence[Tool]) -> bool:
    """Whether a clause only says which tool to use."""
    if len(tools) != 1 or clause.later:
        return False
    before, _, after = clause.text.lower().partition(tools[0].name.lower())
    return len(before.split()) <= 4 and not after.strip(_SIGNS).removesuffix("tool").strip(_SIGNS)


def _governed(heard: list[_Heard], text: str) -> list[_Heard]:
    """The clauses, where one that only names a tool gives it to the clause next to it, if that says what for."""
    for at, each in enumerate(heard):
        neighbour = at - 1 if at else at + 1
        if each.bare and neighbour < len(heard) and _is_for(heard[neighbour], each.tools[0], text):
            heard[neighbour] = replace(heard[neighbour], tools=each.tools)
            heard[at] = replace(each, tools=())
    return heard


def _is_for(heard: _Heard, tool: Tool, text: str) -> bool:
    """Whether a clause says what a tool next to it is to do: it gives it arguments, or describes it."""
    clause = heard.clause
    if heard.bare or clause.idle or not any(map(keys, words(clause.text))):
        return False
    around = Surroundings(clause, clause, text)
    return bool(required_of(tool)) or bool(described(clause, offered_tools((tool,), {}), around))


def _written(text: str, found: Sequence[Clause]) -> str:
    """The text of clauses that follow each other, as it is written, without those that deny something."""
    until = [min(clause.start, before.end + _LONGEST_JOINT) for before, clause in pairwise(found)]
    pieces = (
        text[clause.start : end]
        for clause, end in zip(found, [*until, found[-1].end], strict=True)
        if not clause.denied
    )
    return _LOOSE.sub("", "".join(pieces)).strip() or found[0].text.strip()


def _merged(found: Iterator[ToolRequest]) -> Iterator[ToolRequest]:
    """Join requests for one tool that follow each other, unless each names it and has words of its own."""
    before: ToolRequest | None = None
    for request in found:
        same_arguments = before is not None and before.tool.name == request.tool.name and not request.later
        if before is not None and same_arguments and not (_gives_value(before) and _gives_value(request)):
            before = replace(before, text=f"{before.text} {request.text}")
            continue
        if before is not None:
            yield before
        before = request
    if before is not None:
        yield before


def _gives_value(request: ToolRequest) -> bool:
    """Whether a request names its tool as it is written, and gives it a value."""
    _, name, after = request.text.partition(request.tool.name)
    return bool(name) and _GIVEN.match(after) is not None


_LONGEST_END, _LONGEST_SENTENCE, _LONGEST_JOINT = 8_000, 240, 40  # characters
_MOST_CLAUSES, _AT_AN_END, _MOST_AROUND = 32, 10, 10
_MOST_LIKELY = 12  # tools
_FIRST_WORDS = 5
_WEIGHTS = {
    "needs the world": 0.2,
    "does anything": 0.3,
    "composes": -0.6,
    "explains": -1.5,
    "done already": -1.5,
    "against the mood": -0.3,
    "verb and arguments": 0.3,
}
_REASONS = ("why", "how")
_FORMS = vocabulary("poem story joke essay haiku song limerick riddle")
_COMPOSED = _FORMS | vocabulary(
    "explain describe define compose history write discuss opinion meaning mean means difference teach compare rewrite"
    " rephrase brainstorm"
)
_SIGNS = " `'\"*.!()"
_POINTS_BACK = re.compile(
    r"\b(?:it|its|them|their|those|the\s+results?|the\s+answer|that(?!\s+(?:I|you|we|he|she|they|the|my|it|is|are)\b)"
    r"|this(?!\s+(?:week|month|year|morning|afternoon|evening|weekend|summer|winter|spring|fall|autumn|\w+day)\b)"
    r"|(?<!is\s)(?<!are\s)(?<!hey\s)(?<!hi\s)(?<!hello\s)there)\b",
    re.IGNORECASE,
)
_ANY_TOOL = re.compile(
    r"\W*(?:(?:use|call|using|calling|invoke|invoking|run)\s+)?(?:(?:any|the|your|a|any\s+of\s+the|external)\s+)?"
    r"(?:tools?|functions?)(?:\s+calls?|\s+calling)?\s*(?:for\s+this|here|please|at\s+all)?\s*$",
    re.IGNORECASE,
)
_HANDOFF = re.compile(
    r"(?:(?:transfer|route)_?to|handoff|hand_?off(?:_?to)?|(?:delegate|escalate)(?:_?to)?)_", re.IGNORECASE
)
_IN_GENERAL = re.compile(r"\s*how\s+(?:do|does|did)\s+(?!I\b|we\b|you\b|one\b)", re.IGNORECASE)
_LOOSE = re.compile(r"[\s,;:]*(?:\b(?:and|then|also|but|finally)\s*)*$", re.IGNORECASE)
_FOLLOWING = re.compile(r"\s*(?:and|what\s+about|how\s+about|same\s+for|now|also)\b", re.IGNORECASE)
_GIVEN = re.compile(
    r"[`'\"]?\s*(?:\(\s*\S|(?:tool\s+|function\s+)?(?:for|with|on|in|at|to|of|from|using)\s+\S)", re.IGNORECASE
)
_SOME_TOOL = re.compile(
    r"\b(?:call|use|run|invoke|try|execute)\s+(?:(?:the|your|this|that|a|any|some|one\s+of\s+(?:the|your|these))\s+)"
    r"(?:available\s+|given\s+)?(?:tools?|functions?)\b",
    re.IGNORECASE,
)
