"""The tools of a request as they are offered together, and how well each fits a text.

Knows words and JSON Schema's properties, neither the conversation nor earlier calls.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from mockserver.core.call import Tool
from mockserver.core.json import Json
from mockserver.model.arguments import Mentions
from mockserver.model.tools.hosted import allowed
from mockserver.model.vocabulary import Keys, is_action, is_verb, keys, leading, reads, roots, stem, weight, words

THRESHOLD = 0.7


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool, and its words with their weights: of its name and of its description.

    `spelling` finds the name as it is written; `parameters` has the keys of their names; `verb` is the word of the name
    that says what the tool does, if one does.
    """

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
    """Return where a text names the tool as it is written."""
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
    """What the request says about a tool, without examples and without what it is not for."""
    purpose = _PURPOSES.get(tool.kind.partition("_preview")[0], "")
    about = str(tool.options.get("server_description") or "")[:_LONGEST]
    names = " ".join(_server_tools(tool))
    return _ASIDE.sub(" ", f"{tool.description[:_LONGEST]} {purpose} {names} {about}")[:_LONGEST]


def _title(tool: Tool) -> str:
    """The name of a tool; of an MCP server, its label."""
    label = tool.options.get("server_label")
    return label[:_LONGEST] if isinstance(label, str) and label else tool.name


def _server_tools(tool: Tool) -> Sequence[str]:
    return [name[:_LONGEST] for name in allowed(tool)[:_MOST_WORDS]]


def properties_of(tool: Tool) -> Mapping[str, Json]:
    """Return the schemas of a tool's parameters by name."""
    properties = tool.parameters.get("properties") if isinstance(tool.parameters, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def required_of(tool: Tool) -> frozenset[str]:
    """Return the names of a tool's required parameters."""
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
