"""Which of the offered tools a text asks for, in its order, with which of its words, and how well each fits.

Knows words and JSON Schema's properties, nothing of earlier calls.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log

from mockserver.core.call import Tool
from mockserver.core.json import Json
from mockserver.model.arguments import NOTHING, Mentions, mentions
from mockserver.model.tools.hosted import allowed
from mockserver.model.vocabulary import (
    Keys,
    ends,
    is_action,
    is_verb,
    keys,
    leading,
    reads,
    roots,
    stem,
    vocabulary,
    weight,
    words,
)

THRESHOLD = 0.7


@dataclass(frozen=True, slots=True)
class OfferedTool:
    tool: Tool
    name: Mapping[str, float]
    description: Mapping[str, float]
    parameters: frozenset[str]
    spelling: re.Pattern[str]
    verb: str


def offered_tools(tools: Sequence[Tool], hints: Mapping[str, str]) -> tuple[OfferedTool, ...]:
    """Return the tools with the words that tell them apart; `hints` adds to the descriptions, by names."""
    titles = [_without_namespace(_title(tool)) for tool in tools]
    names = [tuple(dict.fromkeys(words(own))) for _, own in titles]
    about = [
        tuple(dict.fromkeys(words(f"{space} {_description(tool)} {hints.get(tool.name, '')}")[:_MOST_WORDS]))
        for tool, (space, _) in zip(tools, titles, strict=True)
    ]
    held: dict[str, int] = {}
    for each in zip(names, about, strict=True):
        for key in frozenset().union(*(keys(word) for part in each for word in part)):
            held[key] = held.get(key, 0) + 1
    rarity = {key: 1 - log(count) / log(1 + len(tools)) for key, count in held.items()}
    return tuple(_offered(*each, rarity) for each in zip(tools, names, about, strict=True))


def _offered(tool: Tool, name: Sequence[str], about: Sequence[str], rarity: Mapping[str, float]) -> OfferedTool:
    properties = properties_of(tool)
    parameters = frozenset().union(*(keys(word) for each in properties for word in words(each)))
    earlier_call = frozenset().union(*map(keys, name))

    def weighed(word: str) -> float:
        return weight(word) * max((rarity[key] for key in keys(word) if not key.startswith("~")), default=1.0)

    return OfferedTool(
        tool,
        {word: weighed(word) for word in name if weight(word)},
        {
            word: weighed(word) * (_WEIGHTS["word of a parameter"] if keys(word) & parameters else 1)
            for word in about
            if weight(word) >= 0.6 and not keys(word) & earlier_call
        },
        parameters,
        re.compile("|".join(map(_spelling, (_title(tool), *_server_tools(tool)))), re.IGNORECASE),
        next((word for word in name if is_verb(word)), ""),
    )


def _without_namespace(name: str) -> tuple[str, str]:
    """The namespace of a name, and the rest of it, which says what the tool is: `mcp__github__`, `create_issue`."""
    pieces = [piece for piece in re.split(r"__|[./:]", name) if piece]
    own = 1 if pieces and any(weight(word) > _FAINT for word in words(pieces[-1])) else 2
    return " ".join(pieces[:-own]), " ".join(pieces[-own:])


def named_at(offered: OfferedTool, text: str) -> int | None:
    found = offered.spelling.search(text)
    return found.start() if found else None


def fitness(offered: OfferedTool, said: Sequence[str], mentioned: Mentions) -> float:
    """Return how well a tool fits what the user says, by words and values; THRESHOLD is enough."""
    heard = frozenset().union(*map(keys, said))
    by_words = _name_said(offered, said, heard) + _description_said(offered, said, heard)
    if not by_words:
        return 0.0
    score = by_words + _verb_said(offered, said)
    if score < _PROMISING:  # parameters support a tool, but are never enough
        return score
    named = min(2, len(offered.parameters & heard)) * _WEIGHTS["parameter"]
    return score + named + mentioned.evidence(properties_of(offered.tool)) * _WEIGHTS["arguments"]


def _name_said(offered: OfferedTool, said: Sequence[str], heard: Keys) -> float:
    """The share of the name that the text says. Light words count only if they are the whole name and come first."""
    met = {word: share for word, share in offered.name.items() if keys(word) & heard}
    if not met or (len(met) < len(offered.name) and all(weight(word) < 0.3 for word in met)):
        return 0.0
    first = roots(leading(said))
    if all(weight(word) < _FAINT for word in offered.name) and not any(roots(word) & first for word in met):
        return 0.0
    exact = frozenset(said)
    meant = frozenset().union(*(roots(word) - {stem(word)} for word in said))
    shares = (
        share * (1 if word in exact or stem(word) in meant else _WEIGHTS["synonym"]) for word, share in met.items()
    )
    whole = sum(offered.name.values())
    return sum(shares) / whole * (_WEIGHTS["called a tool"] if exact & {"tool", "function"} else 1)


def _description_said(offered: OfferedTool, said: Sequence[str], heard: Keys) -> float:
    """What the text says of the description, of a short one as a share; at most a fixed weight."""
    own = {word: share for word, share in offered.description.items() if not keys(word) & offered.parameters}
    whole = sum(own.values())
    score = _WEIGHTS["description"] * sum(share for word, share in offered.description.items() if keys(word) & heard)
    if whole < _SHORT_DESCRIPTION:
        met = sum(own[word] for word in own if keys(word) & heard)
        score = max(score, _WEIGHTS["short description"] * met / max(1, whole))
    return min(_WEIGHTS["description at most"], score)


def _verb_said(offered: OfferedTool, said: Sequence[str]) -> float:
    """What the verb of the text says for or against a tool."""
    first = leading(said)
    own = [word for word in offered.name if is_action(word)]
    verbs = [word for word in said[:4] if is_action(word)]
    if not own and is_action(first):
        own, verbs = [*offered.name][:1], [first]
    other = own and verbs and not any(keys(one) & keys(verb) for one in own for verb in verbs)
    if other or (is_action(first) and reads(offered.verb) and not keys(first) & keys(offered.verb)):
        return _WEIGHTS["other verb"]
    same_arguments = any(first and roots(word) & roots(first) and share > 0.45 for word, share in offered.name.items())
    return _WEIGHTS["same verb"] if same_arguments else 0.0


def _description(tool: Tool) -> str:
    purpose = _PURPOSES.get(tool.kind.partition("_preview")[0], "")
    about = str(tool.options.get("server_description") or "")[:_LONGEST]
    names = " ".join(_server_tools(tool))
    return _ASIDE.sub(" ", f"{tool.description[:_LONGEST]} {purpose} {names} {about}")[:_LONGEST]


def _title(tool: Tool) -> str:
    label = tool.options.get("server_label")
    return label[:_LONGEST] if isinstance(label, str) and label else tool.name


def _server_tools(tool: Tool) -> Sequence[str]:
    return [name[:_LONGEST] for name in allowed(tool)[:_MOST_WORDS]]


def properties_of(tool: Tool) -> Mapping[str, Json]:
    properties = tool.parameters.get("properties") if isinstance(tool.parameters, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def required_of(tool: Tool) -> frozenset[str]:
    required = tool.parameters.get("required") if isinstance(tool.parameters, Mapping) else None
    return frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else frozenset()


def _spelling(name: str) -> str:
    """A pattern that finds a name; an everyday word is a name only with a sign of it: `search(`, the search tool."""
    written = re.escape(name)
    if len(words(name)) > 1 or not name.isalpha():
        return rf"(?<!\w){written}(?!\w)"
    return rf"`{written}`|(?<!\w){written}(?:\(|['\"`]?\s+(?:tool|function|server)\b)"


_PROMISING = 0.2  # score from which arguments are worth looking for
_FAINT = 0.5  # weight of words that tell less than most verbs
_SHORT_DESCRIPTION = 2.5  # weight of a description that one or two words tell
_MOST_WORDS, _LONGEST = 80, 900  # words and characters of a description: it begins with what the tool does
_WEIGHTS = {
    "synonym": 0.95,
    "called a tool": 1.25,
    "description": 0.4,
    "short description": 0.75,
    "description at most": 0.8,
    "word of a parameter": 0.5,  # other tools may take the same values
    "parameter": 0.1,
    "arguments": 0.25,
    "other verb": -0.35,
    "same verb": 0.25,
}
_ASIDE = re.compile(
    r"\((?:e\.?g\.?|i\.?e\.?|for example|such as|like)[^)]*\)|\b(?:e\.g\.|for example|such as|for instance)[^.;\n]*"
    r"|\b(?:do not|don't|never|not for)\b[^.;\n]*",
    re.IGNORECASE,
)
# What the provider's own tools are for.
_PURPOSES: Mapping[str, str] = {
    "web_search": "search the web internet online news latest google",
    "file_search": "search find uploaded files documents knowledge base",
    "code_interpreter": "run python code script calculate plot chart analyze csv",
    "image_generation": "generate draw create image picture illustration logo",
    **dict.fromkeys(
        ("computer", "computer_use"), "click browser open screenshot scroll type navigate website page button form"
    ),
    **dict.fromkeys(("shell", "local_shell"), "run shell terminal command bash directory"),
    "apply_patch": "patch fix edit change file code bug",
}


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a text, from `start` up to `end`, with quoted parts blanked; `written` has them.

    `denied` is what the clause does not want; `later` says that it waits for the clause before it; `idle` that it asks
    for nothing: it thanks, greets, reports, or asks about the tools themselves; `first` that a sentence begins with it.
    """

    text: str
    written: str
    start: int
    end: int
    denied: str = ""
    later: bool = False
    idle: bool = False
    first: bool = True


def clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a text, in order; of a long one those at both ends."""
    found = tuple(_clause(text, *piece) for piece in _pieces(unquoted(text)) if piece[0].strip())
    return found if len(found) <= 2 * _MOST_AT_AN_END else (*found[:_MOST_AT_AN_END], *found[-_MOST_AT_AN_END:])


def unquoted(text: str) -> str:
    return _QUOTED.sub(lambda found: found[0] if _NAME.fullmatch(found[0][1:-1]) else " " * len(found[0]), text)


def _pieces(text: str) -> Iterator[tuple[str, int, str]]:
    start, joint = 0, "."
    for found in _JOINT.finditer(text):
        yield text[start : found.start()], start, joint
        start, joint = found.end(), found[0]
    yield text[start:], start, joint


def _clause(text: str, piece: str, start: int, joint: str) -> Clause:
    wanted, denied = _split_denial(piece)
    later = _LATER.search(joint) is not None or _BEGINS_LATER.match(piece) is not None
    first = not joint[:1].isalpha() and joint[:1] not in ",，、"
    end = start + len(piece)
    return Clause(wanted, text[start:end], start, end, denied, later, _IDLE.search(piece) is not None, first)


def _split_denial(piece: str) -> tuple[str, str]:
    """What a piece wants and what it denies: all that follows a word of denial, up to a word such as `just`."""
    found = _DENIAL.search(piece)
    if found is None:
        return piece, ""
    rest = piece[found.end() :]
    turned = _TURN.search(rest)
    if turned is None:
        return piece[: found.start()], rest
    return piece[: found.start()] + " " + rest[turned.end() :], rest[: turned.start()]


_MOST_AT_AN_END = 16
_NAME = re.compile(r"\w{1,64}")
_QUOTED = re.compile(
    r'```[^`]*```|`[^`\n]*`|"[^"\n]*"|“[^“”\n]*”|«[^«»\n]*»|「[^「」\n]*」|(?<!\w)\'[^\'\n]{2,200}\'(?!\w)'
)
_JOINT = re.compile(
    r"[.!?;:](?=\s|$)[.!?]*|[。！？；，、]|\n+|,|\s-\s|[—–]"
    r"|\b(?:and\s+then|and\s+also|and\s+finally|as\s+well\s+as|after\s+that|and|then|also|afterwards|finally|but)\b",
    re.IGNORECASE,
)
_LATER = re.compile(r"then|after|finally", re.IGNORECASE)
_BEGINS_LATER = re.compile(r"\s*(?:next|once|after|afterwards|lastly|when\s+(?:you|that|it|this))\b", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:"
    r"(?<!\bI )(?<!\bwe )(?<!\bthey )(?:do\s+not|don'?t|don’t)(?!\s+(?:know|forget|have|hesitate|worry|mind|you))"
    r"|(?:I|we)\s+(?:do\s+not|don'?t|don’t)\s+(?:want|need|like)(?:\s+you)?(?:\s+to)?"
    r"|never|without|no\s+need\s+to|not\s+to|avoid|instead\s+of|rather\s+than|stop(?=\s+\w+ing\b)|skip|refrain\s+from|not"
    r"|except|no)\b",
    re.IGNORECASE,
)
_TURN = re.compile(r"\b(?:just|instead|simply|rather|only)\b", re.IGNORECASE)
_IDLE = re.compile(
    r"^\s*(?:(?:many\s+)?thanks|thank\s+you|thx|great|perfect|awesome|cool|got\s+it)\b"
    r"|\b(?:what|which)\s+(?:tools|functions)\b|\bwhat\s+can\s+you\s+do\b|\bhow\s+(?:does|do)\b.{0,60}\bwork\b"
    r"|\bwhat\s+(?:does|do|is|are)\b.{0,60}\b(?:tools?|functions?)\b|\bdo\s+you\s+have\b.{0,60}\b(?:tools?|functions?)\b"
    r"|\bwho\s+are\s+you\b|\bhow\s+are\s+you\b"
    r"|\b(?:do|did|would)\s+you\s+(?:\w+\s+)?(?:like|love|hate|enjoy|prefer|believe|dream|feel)\b"
    r"|\byour\s+(?:own\s+)?favou?rite\b"
    r"|^\s*(?:I|we|he|she|they)(?:['’]ve|\s+have|\s+had)?\s+(?:already\s+|just\s+)?(?:(?!need)\w{2,20}ed|read|got|bought|sent|made)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool that a text asks for, the words that ask for it, and whether it waits for the request before it."""

    tool: Tool
    text: str
    later: bool = False


def tool_requests(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> tuple[ToolRequest, ...]:
    """Return what a text asks for, in its order; a tool more than once, where several places ask for it."""
    text = ends(text, _LONGEST_END, _LONGEST_END)
    offered, found = offered_tools(tools, hints), clauses(text)
    unwanted = frozenset(name for clause in found for name in denied(clause, offered))
    kept = tuple(each for each in offered if each.tool.name not in unwanted)
    return tuple(_merged(_requests(text, found, kept)))


def best(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> Tool | None:
    """Return the tool that fits a text best, however badly; None where none has anything to do with it."""
    text = ends(text, _LONGEST_END, _LONGEST_END)
    said, mentioned = words(text), mentions(text)
    return _likeliest([(fitness(each, said, mentioned), each) for each in offered_tools(tools, hints)], 0.01)


def _likeliest(scored: Sequence[tuple[float, OfferedTool]], least: float) -> Tool | None:
    score, at = max(((score, -at) for at, (score, _) in enumerate(scored)), default=(0.0, 0))
    return scored[-at][1].tool if score >= least else None


def is_follow_up(text: str) -> bool:
    """Whether a text only adds to an earlier request: `and in Rome?`"""
    return len(text) < 80 and _FOLLOWING.match(text) is not None


def refers_back(text: str) -> bool:
    return _POINTS_BACK.search(text) is not None


def denied(clause: Clause, offered: Sequence[OfferedTool]) -> Iterator[str]:
    """The names of the tools that a clause does not want."""
    said, every = words(clause.denied), _ANY_TOOL.match(clause.denied) is not None
    for each in offered if clause.denied else ():
        if every or fitness(each, said, NOTHING) >= THRESHOLD - 0.1 or named_at(each, clause.denied) is not None:
            yield each.tool.name


Heard = tuple[Clause, tuple[Tool, ...]]  # a clause, and the tools that it asks for


def _requests(text: str, found: Sequence[Clause], offered: Sequence[OfferedTool]) -> Iterator[ToolRequest]:
    heard = [each for sentence in _sentences(found) for each in _heard(sentence, offered)]
    asking = [at for at, (_, tools) in enumerate(heard) if tools]
    for place, at in enumerate(asking):
        begin = at if place else max(0, at - _MOST_AROUND)
        end = asking[place + 1] if place + 1 < len(asking) else min(len(heard), at + _MOST_AROUND)
        clause, tools = heard[at]
        written = _written(text, [clause for clause, _ in heard[begin:end]])
        later = bool(place) and (clause.later or refers_back(clause.text))
        yield from (ToolRequest(tool, written, later) for tool in tools)


def _sentences(found: Sequence[Clause]) -> Iterator[list[Clause]]:
    begins = [at for at, clause in enumerate(found) if clause.first or not at]
    return ([*found[one:other]] for one, other in pairwise((*begins, len(found))))


def _heard(sentence: Sequence[Clause], offered: Sequence[OfferedTool]) -> list[Heard]:
    """What a sentence asks for: by its clauses, or, where they are only items of a list, as a whole."""
    heard = [
        (clause, named(clause, offered) or described(clause, offered, sentence[0], before))
        for before, clause in pairwise((sentence[0], *sentence))
    ]
    joined = " , ".join(clause.text for clause in sentence)
    if len(heard) > 1 and not any(tools for _, tools in heard) and len(joined) <= _LONGEST_SENTENCE:
        idle = any(clause.idle for clause in sentence)
        written = " , ".join(clause.written for clause in sentence)
        whole = replace(sentence[0], text=joined, written=written, idle=idle)
        heard[0] = (sentence[0], described(whole, offered, whole, whole))
    return heard


def named(clause: Clause, offered: Sequence[OfferedTool]) -> tuple[Tool, ...]:
    """Return the tools that a clause names as they are written, in its order."""
    places = [] if clause.idle else [(named_at(each, clause.text), at) for at, each in enumerate(offered)]
    return tuple(offered[at].tool for _, at in sorted((place, at) for place, at in places if place is not None))


def described(clause: Clause, offered: Sequence[OfferedTool], head: Clause, before: Clause) -> tuple[Tool, ...]:
    """Return the tool that a clause describes best, if it does so well.

    `head` is the first clause of its sentence, `before` the clause before it.
    """
    own = words(clause.text)
    if clause.idle or not any(map(keys, own)):
        return ()
    said = (*own, *words(before.text)) if refers_back(clause.text) else own
    mentioned, composed = mentions(clause.written), _composed(clause, own, head)
    likely = (each for each in offered if said == own or fitness(each, own, mentioned))
    scored = [(fitness(each, said, mentioned) + _without_tools(each, composed), each) for each in likely]
    tool = _likeliest(scored, THRESHOLD)
    return () if tool is None else (tool,)


def _without_tools(offered: OfferedTool, composed: Sequence[str]) -> float:
    """What speaks against a tool where a text asks for a text; colleagues and computers do anything."""
    if _HANDOFF.match(offered.tool.name) or offered.tool.kind.startswith("computer"):
        return _PENALTIES["does anything"]
    if not composed or any(keys(word) & keys(other) for word in composed for other in offered.name):
        return 0.0
    return _PENALTIES["explains" if composed[0] in ("why", "how") else "composes"]


def _composed(clause: Clause, own: Sequence[str], head: Clause) -> Sequence[str]:
    """The words that ask for a text or an explanation; a clause without a verb continues its sentence."""
    if own[0] == "why" or _IN_GENERAL.match(clause.text):
        return own[:1]
    first = next((word for word in own if keys(word)), "")
    asking = own if weight(first) < 1 else (*words(head.text)[:_FIRST_WORDS], *own)
    found = [word for word in asking[: 2 * _FIRST_WORDS] if word in _COMPOSED]
    return [word for word in found if word in _FORMS] or found


def _written(text: str, found: Sequence[Clause]) -> str:
    until = [min(clause.start, before.end + _LONGEST_JOINT) for before, clause in pairwise(found)]
    pieces = (
        text[clause.start : end]
        for clause, end in zip(found, [*until, found[-1].end], strict=True)
        if not clause.denied
    )
    return _LOOSE.sub("", "".join(pieces)).strip() or found[0].text.strip()


def _merged(found: Iterable[ToolRequest]) -> list[ToolRequest]:
    joined: list[ToolRequest] = []
    for request in found:
        last = joined[-1] if joined else request
        by_name = request.tool.name in request.text and request.tool.name in last.text
        if not joined or request.later or by_name or request.tool is not last.tool:
            joined.append(request)
        else:
            joined[-1] = replace(last, text=f"{last.text} {request.text}")
    return joined


_LONGEST_END, _LONGEST_SENTENCE, _LONGEST_JOINT = 8_000, 240, 40  # characters
_MOST_AROUND, _FIRST_WORDS = 10, 5
_PENALTIES = {"does anything": 0.3, "composes": -0.6, "explains": -1.5}
_FORMS = vocabulary("poem story joke essay haiku song limerick riddle")
_COMPOSED = _FORMS | vocabulary(
    "explain describe define compose history write discuss opinion meaning mean means difference teach compare rewrite"
    " rephrase brainstorm"
)
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
