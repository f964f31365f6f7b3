"""Tools as they are offered together: the words by which each is told from the others, and how well it fits a text.

Knows words and JSON Schema's properties, neither the conversation nor what was called before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from mockserver.core.call import Tool
from mockserver.core.json import Json
from mockserver.model.arguments import Mentions
from mockserver.model.tools.hosted import allowed
from mockserver.model.vocabulary import Keys, is_action, is_verb, keys, leading, reads, roots, stem, weight, words


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool, and its words with their weights: of its name, of its description, and of its parameters.

    `spelled` finds the name as it is written, where it is no everyday word; `choices` are the words of its enums;
    `deed` is the word of the name that says what is done, if one does.
    """

    tool: Tool
    name: Mapping[str, float]
    description: Mapping[str, float]
    parameters: frozenset[str]
    choices: frozenset[str]
    spelled: re.Pattern[str]
    deed: str


def offers(tools: Sequence[Tool], hints: Mapping[str, str]) -> tuple[Offer, ...]:
    """The tools as they are offered; `hints` holds what the conversation says of a tool beside its description."""
    parted = [_parted(_title(tool)) for tool in tools]
    described = [
        f"{space} {_description(tool)} {hints.get(tool.name, '')}"
        for tool, (space, _) in zip(tools, parted, strict=True)
    ]
    names = [_distinct(words(own)) for _, own in parted]
    telling = [_distinct(words(text)[:_MOST_WORDS]) for text in described]
    held: dict[str, int] = {}
    for name, about in zip(names, telling, strict=True):
        for key in sorted(frozenset().union(*map(keys, (*name, *about)))):
            held[key] = held.get(key, 0) + 1
    rarity = {key: 1 - log(count) / log(1 + len(tools)) for key, count in held.items()}
    return tuple(_offer(*each, rarity) for each in zip(tools, names, telling, strict=True))


def _offer(tool: Tool, name: Sequence[str], about: Sequence[str], rarity: Mapping[str, float]) -> Offer:
    properties = properties_of(tool)
    parameters = frozenset().union(*(keys(word) for each in properties for word in words(each)))
    known = frozenset().union(*map(keys, name))
    return Offer(
        tool,
        {word: weight(word) * _rarity(word, rarity) for word in name if weight(word)},
        {
            word: weight(word) * _rarity(word, rarity) * (_OF_PARAMETER if keys(word) & parameters else 1)
            for word in about
            if weight(word) >= 0.6 and not keys(word) & known
        },
        parameters,
        frozenset(_choices(properties)),
        _spelling(tool),
        next((word for word in name if is_verb(word)), ""),
    )


def _parted(name: str) -> tuple[str, str]:
    """The namespace of a name, and the rest of it, which says what the tool is: `mcp__github__`, `create_issue`."""
    pieces = [piece for piece in _SPACED.split(name) if piece]
    own = 1 if pieces and any(weight(word) > _FAINT for word in words(pieces[-1])) else 2
    return " ".join(pieces[:-own]), " ".join(pieces[-own:])


def _rarity(word: str, rarity: Mapping[str, float]) -> float:
    return max((rarity[key] for key in keys(word) if not key.startswith("~")), default=1.0)


def named_at(offer: Offer, text: str) -> int | None:
    """Where a text names the tool as it is written, if it does."""
    found = offer.spelled.search(text)
    return found.start() if found else None


def fitness(offer: Offer, said: Sequence[str], mentioned: Mentions) -> float:
    """How well a tool fits what is said, by its words and by the values that are mentioned; THRESHOLD is enough."""
    heard = frozenset().union(*map(keys, (*said, *_compounds(said))))
    by_name, by_words = _by_name(offer, said, heard), _by_description(offer, said, heard)
    if not by_name and not by_words:
        return 0.0
    score = by_name + by_words - _otherwise(offer, said)
    if score < _PROMISING:
        return score
    return score + _by_parameters(offer, heard, mentioned)


def _compounds(said: Sequence[str]) -> Iterator[str]:
    """Two words that follow each other as one: `roll back` may name a rollback."""
    for one, other in pairwise(said):
        if one.isalpha() and other.isalpha() and one.isascii() and 5 < len(one + other) < 16:
            yield one + other


def _by_name(offer: Offer, said: Sequence[str], heard: Keys) -> float:
    """The share of the name that is said. Light words tell only where they are the whole name, and lead."""
    whole = sum(offer.name.values())
    met = {word: share for word, share in offer.name.items() if keys(word) & heard}
    if not met or (len(met) < len(offer.name) and all(weight(word) < 0.3 for word in met)):
        return 0.0
    first = roots(leading(said))
    if all(weight(word) < _FAINT for word in offer.name) and not any(roots(word) & first for word in met):
        return 0.0
    exact = frozenset(said)
    meant = frozenset().union(*(roots(word) - {stem(word)} for word in said))
    closeness = sum(share * (1 if word in exact or stem(word) in meant else 0.95) for word, share in met.items())
    return closeness / whole * (_CALLED_A_TOOL if exact & {"tool", "function"} else 1)


def _by_description(offer: Offer, said: Sequence[str], heard: Keys) -> float:
    """What is said of the description, or of it all where it has few words; a listed value counts as a word of it."""
    met = sum(share for word, share in offer.description.items() if keys(word) & heard)
    own = {word: share for word, share in offer.description.items() if not keys(word) & offer.parameters}
    whole = sum(own.values())
    share = 0.75 * sum(own[word] for word in own if keys(word) & heard) / max(1, whole) if whole < _FEW_WORDS else 0.0
    chosen = _CHOSEN if any({word, stem(word)} & offer.choices for word in said if weight(word) > _LIGHTEST) else 0.0
    return min(0.8, max(0.4 * met, share) + chosen + _by_values(offer, said))


def _by_values(offer: Offer, said: Sequence[str]) -> float:
    """What the kinds of values that are given say, where hardly any other tool takes them."""
    return max(
        (_TELLING_VALUES[kind] for kind in said if kind in _TELLING_VALUES and kind in offer.parameters), default=0.0
    )


def _by_parameters(offer: Offer, heard: Keys, mentioned: Mentions) -> float:
    """Names of parameters, and values that could be arguments: they support, and never suffice."""
    named = 0.1 * min(2, len(offer.parameters & heard))
    return named + 0.25 * mentioned.evidence(properties_of(offer.tool))


def _otherwise(offer: Offer, said: Sequence[str]) -> float:
    """What speaks against it: another deed is asked for than the tool does; the very deed speaks for it."""
    doing = [word for word in offer.name if is_action(word)]
    asked = [word for word in said[:4] if is_action(word)]
    first = leading(said)
    if not doing and is_action(first):
        doing, asked = [*offer.name][:1], [first]
    if doing and asked and not any(keys(one) & keys(other) for one in doing for other in asked):
        return 0.35
    if is_action(first) and reads(offer.deed) and not keys(first) & keys(offer.deed):
        return 0.35
    said_first = [
        share for word, share in offer.name.items() if first and roots(word) & roots(first) and share > _TELLING
    ]
    return -0.25 if said_first else 0.0


def _description(tool: Tool) -> str:
    """What is said of a tool, without examples and without what it is not for."""
    said = _OWN.get(tool.kind.partition("_preview")[0], "")
    told = str(tool.options.get("server_description") or "")[:_LONGEST]
    own = " ".join(_own_tools(tool))
    return _ASIDE.sub(" ", f"{tool.description[:_LONGEST]} {said} {own} {told}")[:_LONGEST]


def _title(tool: Tool) -> str:
    """What a tool is called: an MCP server by its label."""
    label = tool.options.get("server_label")
    return label[:_LONGEST] if isinstance(label, str) and label else tool.name


def _own_tools(tool: Tool) -> Sequence[str]:
    """The tools that are known behind one: those of an MCP server."""
    return [name[:_LONGEST] for name in allowed(tool)[:_MOST_WORDS]]


def properties_of(tool: Tool) -> Mapping[str, Json]:
    """The schemas of a tool's parameters by their names."""
    properties = tool.parameters.get("properties") if isinstance(tool.parameters, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def required_of(tool: Tool) -> frozenset[str]:
    """The names of the parameters that a tool cannot do without."""
    required = tool.parameters.get("required") if isinstance(tool.parameters, Mapping) else None
    return frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else frozenset()


def _choices(properties: Mapping[str, Json]) -> Iterator[str]:
    for schema in properties.values():
        listed = schema.get("enum") if isinstance(schema, Mapping) else None
        for value in listed if isinstance(listed, list) else ():
            if isinstance(value, str):
                yield from (stem(word) if weight(word) > _FAINT else word for word in words(value) if _tells(word))


def _tells(word: str) -> bool:
    """Whether a word tells something as it is: `running`, though `run` is a word of any interface."""
    return weight(word) > _FAINT or (weight(word) > _LIGHTEST and len(word) > _SHORT)


def _spelling(tool: Tool) -> re.Pattern[str]:
    """What finds the name, or that of a tool behind it."""
    return re.compile("|".join(map(_spelled, (_title(tool), *_own_tools(tool)))), re.IGNORECASE)


def _spelled(name: str) -> str:
    """An everyday word is a name only with a sign of it: `search(`, the search tool."""
    written = re.escape(name)
    if len(words(name)) > 1 or not name.isalpha():
        return rf"(?<!\w){written}(?!\w)"
    return rf"`{written}`|(?<!\w){written}(?:\(|['\"`]?\s+(?:tool|function|server)\b)"


def _distinct(found: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))


THRESHOLD = 0.7
_TELLING = 0.45
_FAINT = 0.5  # weight of a word that tells less than a deed does
_TELLING_VALUES = {"url": 0.5}
_LIGHTEST, _SHORT = 0.3, 4
_FEW_WORDS = 2.5  # weight of a description that is told by one or two words
_CHOSEN = 0.4
_OF_PARAMETER = 0.5  # of a word of the description that names a parameter: others of its tools may take the like
_SPACED = re.compile(r"__|[./:]")
_CALLED_A_TOOL = 1.25
_PROMISING = 0.2
_MOST_WORDS = 80
_LONGEST = 900  # characters of a description: it begins with what the tool does
_ASIDE = re.compile(
    r"\((?:e\.?g\.?|i\.?e\.?|for example|such as|like)[^)]*\)|\b(?:e\.g\.|for example|such as|for instance)[^.;\n]*"
    r"|\b(?:do not|don't|never|not for)\b[^.;\n]*",
    re.IGNORECASE,
)
# What the provider's own tools are for.
_OWN: Mapping[str, str] = {
    "web_search": "search the web internet online news latest google",
    "file_search": "search find uploaded files documents knowledge base",
    "code_interpreter": "run python code script calculate plot chart analyze csv",
    "image_generation": "generate draw create image picture illustration logo",
    "computer_use": "click browser open screenshot scroll type navigate website page button form",
    "computer": "click browser open screenshot scroll type navigate website page button form",
    "local_shell": "run shell terminal command bash directory",
    "shell": "run shell terminal command bash directory",
    "apply_patch": "patch fix edit change file code bug",
}
