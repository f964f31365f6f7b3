"""Tools as they are offered together: the words by which each is told from the others, and how well it fits a text.

Knows words and JSON Schema's properties, neither the conversation nor what was called before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

from mockserver.core.call import Json, Tool
from mockserver.engine.generate.prompt import Mentions
from mockserver.engine.generate.tools.mcp import allowed
from mockserver.engine.generate.tools.wording import Keys, is_action, keys, stem, weight, words


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool, and its words with their weights: of its name, of its description, and of its parameters.

    `spelled` finds the name as it is written, where it is no everyday word; `choices` are the words of its enums.
    """

    tool: Tool
    name: Mapping[str, float]
    description: Mapping[str, float]
    parameters: frozenset[str]
    choices: frozenset[str]
    spelled: re.Pattern[str]


def offers(tools: Sequence[Tool], hints: Mapping[str, str]) -> tuple[Offer, ...]:
    """The tools as they are offered; `hints` holds what the conversation says of a tool beside its description."""
    described = [_description(tool) + " " + hints.get(tool.name, "") for tool in tools]
    names = [_distinct(words(_title(tool))) for tool in tools]
    telling = [_distinct(words(text)[:_MOST_WORDS]) for text in described]
    held: dict[str, int] = {}
    for name, about in zip(names, telling, strict=True):
        for key in sorted(frozenset().union(*map(keys, (*name, *about)))):
            held[key] = held.get(key, 0) + 1
    rarity = {key: log(1 + len(tools) / count) / log(1 + len(tools)) for key, count in held.items()}
    return tuple(_offer(*each, rarity) for each in zip(tools, names, telling, strict=True))


def _offer(tool: Tool, name: Sequence[str], about: Sequence[str], rarity: Mapping[str, float]) -> Offer:
    properties = properties_of(tool)
    parameters = frozenset().union(*(keys(word) for each in properties for word in words(each)))
    known = frozenset().union(parameters, *map(keys, name))
    return Offer(
        tool,
        {word: weight(word) * _rarity(word, rarity) for word in name if weight(word)},
        {
            word: weight(word) * _rarity(word, rarity)
            for word in about
            if weight(word) >= 0.6 and not keys(word) & known
        },
        parameters,
        frozenset(_choices(properties)),
        _spelling(tool),
    )


def _rarity(word: str, rarity: Mapping[str, float]) -> float:
    return max((rarity[key] for key in keys(word) if not key.startswith("~")), default=1.0)


def named_at(offer: Offer, text: str) -> int | None:
    """Where a text names the tool as it is written, if it does."""
    found = offer.spelled.search(text)
    return found.start() if found else None


def fitness(offer: Offer, said: Sequence[str], mentioned: Mentions) -> float:
    """How well a tool fits what is said, by its words and by the values that are mentioned; THRESHOLD is enough."""
    heard = frozenset().union(*map(keys, said))
    by_name, by_words = _by_name(offer, said, heard), _by_description(offer, heard)
    if not by_name and not by_words:
        return 0.0
    score = by_name + by_words - _otherwise(offer, said)
    if score < _PROMISING:
        return score
    return score + _by_parameters(offer, said, heard, mentioned)


def _by_name(offer: Offer, said: Sequence[str], heard: Keys) -> float:
    """The share of the name that is said. One light word alone says nothing, unless it is the whole name."""
    whole = sum(offer.name.values())
    met = {word: share for word, share in offer.name.items() if keys(word) & heard}
    if not met or (len(met) < len(offer.name) and all(weight(word) < 0.3 for word in met)):
        return 0.0
    exact = frozenset(said)
    closeness = sum(share * (1 if word in exact else 0.95) for word, share in met.items())
    return closeness / whole * (_CALLED_A_TOOL if exact & {"tool", "function"} else 1)


def _by_description(offer: Offer, heard: Keys) -> float:
    met = sum(share for word, share in offer.description.items() if keys(word) & heard)
    return min(0.8, 0.4 * met)


def _by_parameters(offer: Offer, said: Sequence[str], heard: Keys, mentioned: Mentions) -> float:
    """Names of parameters, words of enums, and values that could be arguments: they support, and never suffice."""
    named = 0.1 * min(2, len(offer.parameters & heard))
    chosen = 0.25 if offer.choices & frozenset(said) else 0.0
    properties = properties_of(offer.tool)
    return named + chosen + 0.25 * mentioned.evidence(properties)


def _otherwise(offer: Offer, said: Sequence[str]) -> float:
    """What speaks against it: another deed is asked for than the tool does; the very deed speaks for it."""
    doing = [word for word in offer.name if is_action(word)]
    asked = [word for word in said[:4] if is_action(word)]
    first = next((word for word in said if keys(word)), "")
    if not doing and is_action(first):
        doing, asked = [*offer.name][:1], [first]
    if doing and asked and not any(keys(one) & keys(other) for one in doing for other in asked):
        return 0.35
    word, share = next(iter(offer.name.items()), ("", 0.0))
    return -0.25 if share > _TELLING and stem(first) == stem(word) else 0.0


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
                yield from (word for word in words(value) if keys(word))


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
_TELLING = 0.65
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
