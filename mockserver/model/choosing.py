"""Which of the offered tools a text asks for, in its order, with which of its words: by names and descriptions.

Workers, roles, options and labels are chosen by the same score, as tools without parameters. Knows words and JSON
Schema's properties, nothing of earlier calls.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import islice, pairwise
from math import log
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Tool, find_toolset
from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily, lazy_property, remember
from mockserver.model.arguments import find_mentions
from mockserver.model.hosted import list_allowed
from mockserver.model.vocabulary import (
    Keys,
    asks_to_read,
    find_keys,
    find_leading_word,
    find_roots,
    is_action,
    is_verb,
    keep_ends,
    make_vocabulary,
    read_word_list,
    split_words,
    stem,
    weigh_word,
)

THRESHOLD = 0.7
_ALONE = 0.5  # for the only tool: clients offer one because they need it


class Utterance:
    """What a user says: its words, what every tool is compared with, and the text as it is `written`."""

    def __init__(self, words: Sequence[str], written: str) -> None:
        self.words = words
        self.written = written
        self.exact = frozenset(words)
        self.keys: Keys = frozenset().union(*map(find_keys, self.exact))

    @lazy_property
    def meant(self) -> Keys:
        return frozenset().union(*[find_roots(word) - {stem(word)} for word in self.exact])

    @lazy_property
    def leading(self) -> str:
        return find_leading_word(self.words)

    @lazy_property
    def is_action(self) -> bool:
        return is_action(self.leading)

    @lazy_property
    def verbs(self) -> Sequence[str]:
        return [word for word in self.words[:4] if is_action(word)]

    @lazy_property
    def head(self) -> Keys:
        return find_keys(next((word for word in self.words if weigh_word(word) > _FAINT), ""))


class Word(NamedTuple):
    """A word of a tool, what it weighs among the offered tools, and what it is compared by."""

    word: str
    share: float
    keys: Keys


class Offer(Struct, frozen=True, eq=False):
    """What a text is compared with of a tool, the one `at` this place: its names, and what tells it from the others."""

    at: int
    tool: Tool
    properties: Mapping[str, Json]
    names: tuple[str, ...]
    name: tuple[Word, ...]
    description: tuple[Word, ...]
    parameters: Keys
    keys: Keys  # of its name and its description
    actions: tuple[Word, ...]  # words of its name that order an action
    verb: str
    weight: float  # of its name
    weight_of_purpose: float  # of its description without the words of parameters
    is_colleague: bool

    @property
    def does_anything(self) -> bool:
        return self.is_colleague or self.tool.kind.startswith("computer")

    @property
    def runs_code(self) -> bool:
        """Whether one word of what it is good for is enough."""
        return self.tool.kind.startswith("code_interpreter")

    def score(self, said: Utterance) -> float:
        """Return how well the tool fits what the user says, by words alone; 0 if they have nothing in common."""
        by_words = self._score_name(said) + self._score_description(said.keys)
        if not by_words:
            return 0.0
        score = by_words + self._score_verb(said)
        named = min(2, len(self.parameters & said.keys)) * _WEIGHTS["parameter"]
        return score + named if score >= _PROMISING else score

    def _score_name(self, said: Utterance) -> float:
        """Return the share of the name that the text says.

        Light words count only if they are the whole name and come first.
        """
        met = [word for word in self.name if not word.keys.isdisjoint(said.keys)]
        if not met or (len(met) < len(self.name) and max([weigh_word(word.word) for word in met]) < 0.3):
            return 0.0
        if max([weigh_word(word.word) for word in self.name]) < _FAINT and not _begin_with(said, met):
            return 0.0
        shares = [
            word.share * (1 if word.word in said.exact or stem(word.word) in said.meant else _WEIGHTS["synonym"])
            for word in met
        ]
        return sum(shares) / self.weight * (_WEIGHTS["called a tool"] if said.exact & {"tool", "function"} else 1)

    def _score_description(self, heard: Keys) -> float:
        """Return what the text says of the description, of a short one as a share; at most a fixed weight."""
        met = [word for word in self.description if not word.keys.isdisjoint(heard)]
        score = _WEIGHTS["description"] * sum([word.share for word in met])
        if met and self.weight_of_purpose < _SHORT_DESCRIPTION:
            share = sum([word.share for word in met if word.keys.isdisjoint(self.parameters)])
            score = max(score, _WEIGHTS["short description"] * share / max(1, self.weight_of_purpose))
        return min(_WEIGHTS["description at most"], score)

    def _score_verb(self, said: Utterance) -> float:
        """Return what the verb of the text says for or against the tool."""
        own = self.actions or (self.name[:1] if said.is_action else ())
        verbs = said.verbs if self.actions else [said.leading]
        other = own and verbs and all(one.keys.isdisjoint(find_keys(verb)) for one in own for verb in verbs)
        reads = asks_to_read(self.verb)
        if other or (said.is_action and reads and find_keys(said.leading).isdisjoint(find_keys(self.verb))):
            return _WEIGHTS["other verb"]
        if said.leading and _begin_with(said, [word for word in self.name if word.share > 0.2]):
            return _WEIGHTS["same verb"]
        if _ASKING.isdisjoint(said.words[:1]):
            return 0.0
        if not reads and _TELLING.isdisjoint([word.word for word in self.name]):
            return _WEIGHTS["acts"] if own else 0.0
        is_head = any(not word.keys.isdisjoint(said.head) for word in self.name)
        return _WEIGHTS["tells what is named first" if is_head else "tells"]


def _begin_with(said: Utterance, words: Sequence[Word]) -> bool:
    """Return whether one of the words leads what is said."""
    first = find_roots(said.leading)
    return any(not find_roots(word.word).isdisjoint(first) for word in words)


class Offers:
    """Tools as texts are compared with them; of more than `_MOST_ALIKE` only those that share most words with a text.

    `hints` add to the descriptions, by names: of instructions, or what a label commonly means.
    """

    def __init__(self, tools: Sequence[Tool], hints: Mapping[str, str] = {}) -> None:
        self.tools = tools
        self.hints = hints
        self._every = [*_read_offers([_Reading(tool, hints.get(tool.name, "")) for tool in tools])]
        self._having: dict[str, list[Offer]] = {}
        for offer in self._every:
            for key in offer.keys:
                self._having.setdefault(key, []).append(offer)

    def select(self, without: Iterable[str], hints: Mapping[str, str] = {}) -> "Offers":
        """Return the tools but those of these names, with more hints."""
        names = frozenset(without)
        return _select(self, names, tuple(hints.items())) if names or hints else self

    @lazy_property
    def work(self) -> "Offers":
        """The tools without those that end a turn."""
        return self.select(tool.name for tool in self.ending)

    @lazy_property
    def ending(self) -> Sequence[Tool]:
        """The tools that end a turn: those that say so, or else those named as classes where others are not."""
        shapes = [tool for tool in self.tools if _SHAPE.fullmatch(tool.name)]
        results = [tool for tool in shapes if not _begins_with_verb(tool.name)] if len(shapes) < len(self.tools) else []
        return [tool for tool in self.tools if _read_end(tool)] or results

    @lazy_property
    def answering(self) -> Sequence[Tool]:
        """The tools that take the answer itself: those that say so, or a lone class that is not an action."""
        said = [tool for tool in self.tools if _read_end(tool) == "answer"]
        return said or [tool for tool in self.tools if len(self.tools) == 1 and _is_shape_of_answer(tool)]

    @lazy_property
    def colleagues(self) -> Sequence[Tool]:
        """The tools that hand a conversation over."""
        return [offer.tool for offer in self._every if offer.is_colleague]

    @lazy_property
    def sources(self) -> Sequence[tuple[Tool, frozenset[str]]]:
        """The tools that need nothing, with the stems of what they give: the current location."""
        free = [tool for tool in self.tools if tool.kind == "function" and not list_properties(tool)]
        named = ((tool, [stem(word) for word in split_words(tool.name) if not is_verb(word)]) for tool in free)
        return [(tool, frozenset(nouns)) for tool, nouns in named if len(nouns) > 1]

    def find_named(self, text: str) -> list[tuple[int, Tool]]:
        """Return the tools that a text names, and where."""
        small = text.lower()
        found = list[tuple[int, Tool]]()
        for offer in dict.fromkeys([offer for name, offer in self._names if name in small]):
            place = re.search("|".join(map(_make_name_pattern, offer.names)), text, re.IGNORECASE)
            found += [(place.start(), offer.tool)] if place else []
        return found

    @lazy_property
    def _names(self) -> Sequence[tuple[str, Offer]]:
        return [(name.lower(), offer) for offer in self._every for name in offer.names]

    def list_alike(self, said: Utterance) -> Sequence[Offer]:
        """Return the offers that share a word with what is said, in their order."""
        near = {offer.at: offer for key in said.keys & self._having.keys() for offer in self._having[key]}
        if len(near) > _MOST_ALIKE:
            met = [(len(offer.keys & said.keys), -at) for at, offer in near.items()]
            return [near[-at] for at in sorted([at for _, at in nlargest(_MOST_ALIKE, met)], reverse=True)]
        return [near[at] for at in sorted(near)]

    def find_best(
        self, said: Utterance, *, least: float, against: Callable[[Offer], float] = lambda offer: 0
    ) -> Tool | None:
        """Return the tool that fits best what the user says, of equals the first; None if none fits well enough.

        Values are looked for only where they can decide. `against` adds what speaks for or against an offer.
        """
        scored = [(score := offer.score(said), score + against(offer), offer) for offer in self.list_alike(said)]
        highest = max([total for _, total, _ in scored], default=0.0)
        close = [each for each in scored if each[1] >= max(least, highest) - _WEIGHTS["arguments"]]
        if len(close) == 1 and close[0][1] >= least:
            return close[0][2].tool
        best = None
        for score, total, offer in close:
            if score >= _PROMISING:  # values support a tool, but are never enough
                mentioned = find_mentions(said.written)
                total += mentioned.measure_evidence(offer.properties) * _WEIGHTS["arguments"]
            if total > least or (total == least and best is None):
                best = offer.tool
                least = total
        return best


def find_offers(tools: Sequence[Tool]) -> Offers:
    """Return these tools as texts are compared with them; equal ones are read once."""
    return find_toolset(tools if isinstance(tools, tuple) else tuple(tools)).work_out(Offers)


@remember(64)
def _select(offers: Offers, without: frozenset[str], hints: tuple[tuple[str, str], ...]) -> Offers:
    tools = [tool for tool in offers.tools if tool.name not in without]
    return Offers(tools, {**offers.hints, **dict(hints)})


class _Reading:
    """The words of a tool, before it is known how many tools have each of them.

    Of a tool that does not say what it is for, the values that it takes are read, too.
    """

    def __init__(self, tool: Tool, hint: str) -> None:
        options = tool.options or {}
        self.tool = tool
        self.properties = list_properties(tool)
        self.names = (
            str(options.get("server_label") or tool.name)[:MAX_DESCRIPTION],
            *list_allowed(tool)[:_MOST_WORDS],
        )
        space, own = _split_namespace(self.names[0])
        enums = (
            []
            if tool.description
            else [each.get("enum") for each in self.properties.values() if isinstance(each, Mapping)]
        )
        choices = (each for values in enums if isinstance(values, list) for each in values if isinstance(each, str))
        self.choices = " ".join(islice(choices, _MOST_WORDS))[:MAX_DESCRIPTION]
        hint = f"{options.get('server_description') or ''} {hint}"[:MAX_DESCRIPTION]
        purpose = " ".join(read_word_list("tool_purposes").get(tool.kind.partition("_preview")[0], ()))
        about = f"{tool.description[:MAX_DESCRIPTION]} {purpose} {' '.join(self.names[1:])}"
        about = _ASIDE.sub(" ", about)[:MAX_DESCRIPTION]
        self.name = tuple(dict.fromkeys(split_words(own)))[:_MOST_WORDS]
        self.about = split_words(f"{space} {about} {self.choices} {hint}")[:_MOST_WORDS]


def _read_offers(tools: Sequence[_Reading]) -> Iterator[Offer]:
    """Yield the tools with the words that tell them apart. The more there are, the fewer words of each are read."""
    most = max(_FEWEST_WORDS, min(_MOST_WORDS, _MOST_READ // (len(tools) or 1)))
    read = [(tool, tool.name[:most], tuple(dict.fromkeys(tool.about[:most]))) for tool in tools]
    held = Counter[str]()
    for _, name, about in read:
        held.update(frozenset().union(*map(find_keys, (*name, *about))))
    rarity = {key: 1 - log(count) / log(1 + len(tools)) for key, count in held.items()}

    def weigh(word: str, scale: float = 1) -> Word:
        met = find_keys(word)
        share = weigh_word(word) * max((rarity[key] for key in met if not key.startswith("~")), default=1.0)
        return Word(word, share * scale, met)

    for at, (tool, name, about) in enumerate(read):
        properties = islice(tool.properties, most * _PROPERTIES)
        said = (word for each in properties for word in split_words(each[:MAX_DESCRIPTION])[:most])
        parameters = frozenset().union(*map(find_keys, said))
        own = frozenset().union(*map(find_keys, name))
        telling = [word for word in about if weigh_word(word) >= 0.6]
        scale = _WEIGHTS["word of a choice"] if tool.choices else 1
        titled = tuple([weigh(word) for word in name if weigh_word(word)])
        described = tuple(
            [
                weigh(word, _WEIGHTS["word of a parameter"] if find_keys(word) & parameters else scale)
                for word in telling
                if not find_keys(word) & own
            ]
        )
        yield Offer(
            at=at,
            tool=tool.tool,
            properties=tool.properties,
            names=tool.names,
            name=titled,
            description=described,
            parameters=parameters,
            keys=own.union(*map(find_keys, telling)),
            actions=tuple([word for word in titled if is_action(word.word)]),
            verb=next((word for word in name if is_verb(word)), ""),
            weight=sum([word.share for word in titled]),
            weight_of_purpose=sum([word.share for word in described if word.keys.isdisjoint(parameters)]),
            is_colleague=HANDOFF.match(tool.names[0]) is not None,
        )


def _split_namespace(name: str) -> tuple[str, str]:
    """Split a name into its namespace and the rest, which says what the tool is: `mcp__github__`, `create_issue`."""
    pieces = [piece for piece in _NAMESPACE.split(name) if piece]
    own = 1 if pieces and any(weigh_word(word) > _FAINT for word in split_words(pieces[-1])) else 2
    return " ".join(pieces[:-own]), " ".join(pieces[-own:])


def _make_name_pattern(name: str) -> str:
    """Return a pattern that finds a name.

    An everyday word is a name only with a sign of it: `search(`, the search tool.
    """
    written = re.escape(name)
    if len(split_words(name)) > 1 or not name.isalpha():
        return rf"(?<!\w){written}(?!\w)"
    return rf"`{written}`|(?<!\w){written}(?:\(|['\"`]?\s+(?:tool|function|server)\b)"


def list_properties(tool: Tool) -> Mapping[str, Json]:
    """Return the schemas of a tool's parameters by name, each with the definition that it refers to."""
    whole = tool.parameters if isinstance(tool.parameters, dict) else {}
    properties = whole.get("properties")
    if not isinstance(properties, dict):
        return {}
    if not isinstance(known := whole.get("$defs"), dict):
        return properties

    def resolve(inner: Json) -> Json:
        reference = inner.get("$ref") if isinstance(inner, dict) else None
        return known.get(str(reference).removeprefix("#/$defs/"), inner) if reference else inner

    return {name: resolve(inner) for name, inner in properties.items()}


def list_required(tool: Tool) -> frozenset[str]:
    """Return the names of a tool's required parameters."""
    required = tool.parameters.get("required") if isinstance(tool.parameters, dict) else None
    return frozenset([name for name in required if isinstance(name, str)] if isinstance(required, list) else ())


_PROMISING = 0.2  # score from which arguments are worth looking for
_FAINT = 0.5  # weight of words that tell less than most verbs
_SHORT_DESCRIPTION = 2.5  # weight of a description that one or two words tell
_MOST_WORDS = 80  # words of a description: it begins with what the tool does
MAX_DESCRIPTION = 900  # characters of one
_FEWEST_WORDS = 4  # words of a tool
_MOST_READ = 20_000  # words of all tools together
_PROPERTIES = 4  # for each word that is read of a tool
_MOST_ALIKE = 64  # tools that are compared with a clause
_NAMESPACE = compile_lazily(r"__|[./:]|-(?=[^\W_]*_)|(?<=[a-z])-(?=[A-Z])")  # Plugin-get_function
_WEIGHTS = {
    "synonym": 0.95,
    "called a tool": 1.25,
    "description": 0.4,
    "short description": 0.75,
    "description at most": 0.8,
    "word of a parameter": 0.5,  # other tools may take the same values
    "word of a choice": 1.5,
    "parameter": 0.1,
    "arguments": 0.25,
    "other verb": -0.35,
    "same verb": 0.25,
    "tells": 0.1,  # what is asked for
    "tells what is named first": 0.2,
    "acts": -0.2,  # where something is asked for
}
_ASKING = make_vocabulary("what where when who which how is are has did do does my")
_TELLING = make_vocabulary("status detail details info information history lookup track tracker")
_ASIDE = compile_lazily(
    r"\((?:e\.?g\.?|i\.?e\.?|for example|such as|like)[^)]*\)|\b(?:e\.g\.|for example|such as|for instance)[^.;\n]*"
    r"|\b(?:do not|don't|never|not for)\b[^.;\n]*",
    re.IGNORECASE,
)

# Tools that end a turn


def _read_end(tool: Tool) -> str:
    """Return what a tool says that it ends with: the `answer` itself, which it takes, the `turn`, or "" for nothing."""
    if tool.kind != "function":
        return ""
    named = split_words(tool.name)
    description = tool.description[:MAX_DESCRIPTION]
    ends_with = _ENDS.search(description) or (named not in _WHOLE and _OUTPUT.search(description))
    if not _ANSWERING.isdisjoint(named) or ends_with:
        return "answer"
    return "turn" if named in _WHOLE or not _ENDING.isdisjoint(named) or _OUTPUT.search(description) else ""


def _is_shape_of_answer(tool: Tool) -> bool:
    if not list_properties(tool) or not _SHAPE.fullmatch(tool.name) or _begins_with_verb(tool.name):
        return False
    description = tool.description[:MAX_DESCRIPTION]
    about = split_words(description)
    return not (about and is_verb(about[0])) and _ACTS.search(description) is None


def _begins_with_verb(name: str) -> bool:
    first = split_words(name)[0]
    return is_verb(first) or first in ("book", "order", "multiply", "divide", "query", "reserve")


_ANSWERING = frozenset({"final", "successful"})  # final_answer, mark_task_7_successful
_ENDING = frozenset({"final", "finish", "finalize", "terminate", "conclude", "completion"})
_NAMES = "respond answer submit reply output done complete_task task_done structured_output"
_WHOLE = frozenset(
    {tuple(name.split("_")) for name in _NAMES.split()}
    | {(verb, what) for verb in ("submit", "give", "return") for what in ("answer", "result", "output", "response")}
)
_ENDS = compile_lazily(
    r"\bends?\s+(?:this|the)\s+(?:conversation|run|task)\b|\bfinal\s+(?:answer|response|result|output)\b", re.IGNORECASE
)
_OUTPUT = compile_lazily(
    r"(?i)\bstructured\s+(?:output|response)\b|^(?:respond|answer|reply)\s+(?:with|in|as)\s+an?\s+json\b"
)
_SHAPE = compile_lazily(r"[A-Z][a-z0-9]+(?:[A-Z]\w*)?")  # a class: WeatherReport
_ACTS = compile_lazily(r"\b(?:useful|(?:use|call)\s+(?:this|it|when|for|to)|tool|function|api)\b", re.IGNORECASE)


# Clauses


class Clause(Struct, frozen=True):
    """A piece of a text, from `start` up to `end`, with quoted parts blanked; `written` has them.

    `joint` stands before it, `denied` is what it does not want; `idle` says that it asks for nothing: it thanks,
    greets, reports, or asks about the tools themselves.
    """

    text: str
    written: str
    start: int
    end: int
    joint: str = "."
    denied: str = ""
    idle: bool = False

    @property
    def is_first(self) -> bool:
        """Whether a sentence begins with it."""
        return not self.joint[0].isalpha() and self.joint[0] not in ",，、"

    @property
    def waits(self) -> bool:
        """Whether it is to be done after the clause before it."""
        joint = self.joint.lower()
        return any(word in joint for word in _LATER) or _BEGINS_LATER.match(self.text) is not None


def split_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a text, in order; of a long one those at both ends."""
    blanked = blank_quotes(text)
    found = list[Clause]()
    joint = "."
    start = 0
    for sign in (*_JOINT.finditer(blanked), None):
        end = sign.start() if sign else len(text)
        piece = blanked[start:end]
        if piece.strip():
            wanted, denied = _split_denial(piece)
            written = text[start:end]
            idle = _IDLE.search(piece) is not None
            found.append(Clause(wanted, written, start=start, end=end, joint=joint, denied=denied, idle=idle))
        start, joint = (sign.end(), sign[0]) if sign else (end, "")
    return tuple(found if len(found) <= 2 * _MOST_AT_AN_END else found[:_MOST_AT_AN_END] + found[-_MOST_AT_AN_END:])


def blank_quotes(text: str) -> str:
    """Return a text with blanks in place of what it quotes, unless that is a name."""
    return _QUOTED.sub(lambda found: found[0] if _NAME.fullmatch(found[0][1:-1]) else " " * len(found[0]), text)


def _split_denial(piece: str) -> tuple[str, str]:
    """Return what a piece wants and what it denies: all that follows a word of denial, up to a word such as `just`."""
    found = _DENIAL.search(piece)
    if found is None:
        return piece, ""
    rest = piece[found.end() :]
    turned = _TURN.search(rest)
    if turned is None:
        return piece[: found.start()], rest
    return piece[: found.start()] + " " + rest[turned.end() :], rest[: turned.start()]


_MOST_AT_AN_END = 16
_NAME = compile_lazily(r"\w{1,64}")
_QUOTED = compile_lazily(
    r'```[^`]*```|`[^`\n]*`|"[^"\n]*"|“[^“”\n]*”|«[^«»\n]*»|「[^「」\n]*」|(?<!\w)\'[^\'\n]{2,200}\'(?!\w)'
)
_JOINT = compile_lazily(
    r"[.!?;:](?=\s|$)[.!?]*|[。！？；，、]|\n+|,|\s-\s|[—–]"
    r"|\b(?:and\s+then|and\s+also|and\s+finally|as\s+well\s+as|after\s+that|and|then|also|afterwards|finally|but)\b",
    re.IGNORECASE,
)
_LATER = ("then", "after", "finally")
_BEGINS_LATER = compile_lazily(r"\s*(?:next|once|after|afterwards|lastly|when\s+(?:you|that|it|this))\b", re.IGNORECASE)
_DENIAL = compile_lazily(
    r"(?i)\b(?:(?<!\bI )(?<!\bwe )(?<!\bthey )(?:do\s+not|don['’]?t)(?!\s+(?:know|forget|have|hesitate|worry|mind|you))"
    r"|(?:I|we)\s+(?:do\s+not|don['’]?t)\s+(?:want|need|like)(?:\s+you)?(?:\s+to)?|never|without|no\s+need\s+to"
    r"|avoid|instead\s+of|rather\s+than|stop(?=\s+\w+ing\b)|skip|refrain\s+from|not(?:\s+to)?|except|no)\b"
)
_TURN = compile_lazily(r"\b(?:just|instead|simply|rather|only)\b", re.IGNORECASE)
_IDLE = compile_lazily(
    r"(?i)^\s*(?:(?:many\s+)?thanks|thank\s+you|thx|great|perfect|awesome|cool|got\s+it)\b|\bwhat\s+can\s+you\s+do\b"
    r"|\b(?:what|which)(?:\s+(?:of|the|your|are))*\s+(?:tools|functions)\b"
    r"|\b(?:list|do\s+you\s+have|you\s+have\s+access\s+to)\b.{0,40}\b(?:tools|functions)\b"
    r"|\b(?:explain|describe)\b.{0,40}\b(?:tools?|functions?)\b"
    r"|\bhow\s+(?:does"
    r"|do)\b.{0,60}\bwork\b"
    r"|\b(?:who|how)\s+are\s+you\b|\b(?:do|did|would)\s+you\s+(?:\w+\s+)?(?:like|love|hate|enjoy|prefer|believe|feel)\b"
    r"|\byour\s+(?:own\s+)?favou?rite\b|^\s*(?:I|we|he|she|they)(?:['’]ve|\s+have|\s+had)?\s+(?:already\s+|just\s+)?"
    r"(?:(?!need)\w{2,20}ed|read|got|bought|sent|made)\b|\bwhat\s+(?:does|do)\s+\w+_\w+\s+do\b"
)


class ToolRequest(Struct, frozen=True):
    """A tool that a text asks for, the words that ask for it, and whether it waits for the request before it."""

    tool: Tool
    text: str
    later: bool = False


def find_tool_requests(text: str, offers: Offers) -> Sequence[ToolRequest]:
    """Return what a text asks for, in its order; a tool more than once, where several places ask for it."""
    text = keep_ends(text, _LONGEST_END, _LONGEST_END)
    clauses = split_clauses(text)
    offers = offers.select(name for clause in clauses if clause.denied for name in _list_denied(clause.denied, offers))
    begins = [at for at, clause in enumerate(clauses) if clause.is_first or not at]
    sentences = [clauses[one:other] for one, other in pairwise((*begins, len(clauses)))]
    asked = [tools for sentence in sentences for tools in _list_asked(sentence, offers)]
    asking = [at for at, wanted in enumerate(asked) if wanted]
    found = list[ToolRequest]()
    for place, at in enumerate(asking):
        begin = at if place else max(0, at - _MOST_AROUND)
        end = asking[place + 1] if place + 1 < len(asking) else min(len(clauses), at + _MOST_AROUND)
        written = _join_clauses(text, clauses[begin:end])
        later = bool(place) and (clauses[at].waits or refers_back(clauses[at].text))
        for tool in asked[at]:
            last = found[-1] if found else None
            again = last is not None and tool.name in last.text and _names_again(tool, written)
            if last is None or later or tool is not last.tool or again:
                found.append(ToolRequest(tool, written, later))
            else:  # more about the same
                joint = "." if clauses[at].is_first else ","
                found[-1] = replace(last, text=f"{last.text}{joint} {written}")
    return [each for request in found for each in _split_nested(request, offers)]


def _split_nested(request: ToolRequest, offers: Offers) -> Sequence[ToolRequest]:
    """Return what has to be known first, and what is asked of that: the temperature in the capital of France."""
    nested = _NESTED.search(request.text)
    outer = None if nested is None else _hear(request.text[: nested.start()])
    if nested is None or outer is None or offers.find_best(outer, least=THRESHOLD) is not request.tool:
        return (request,)
    inner = offers.find_best(_hear(nested["inner"]), least=THRESHOLD)
    if inner is None or inner is request.tool:
        return (request,)
    return (
        replace(request, tool=inner, text=nested["inner"]),
        replace(request, text=outer.written, later=True),
    )


def _names_again(tool: Tool, text: str) -> bool:
    """Return whether a text orders another call of a tool, and does not only say what to do the one with."""
    return (
        re.search(rf"(?<!with the )(?<!using the )(?<!with )(?<!using )(?<!\w){re.escape(tool.name)}", text) is not None
    )


def find_best(text: str, offers: Offers) -> Tool | None:
    """Return the tool that fits a text best, however badly; None where none has anything to do with it."""
    return offers.find_best(_hear(keep_ends(text, _LONGEST_END, _LONGEST_END)), least=0.01)


@remember(8)  # the texts of one request, for which several things are chosen
def _hear(text: str) -> Utterance:
    return Utterance(split_words(text), text)


def find_option(text: str, options: Mapping[str, str]) -> str | None:
    """Return the option, worker or label that fits a text best, by its description and what it commonly means."""
    found = find_best(text, _read_options(tuple(options.items())))
    return None if found is None else found.name


@remember(64)
def _read_options(options: tuple[tuple[str, str], ...]) -> Offers:
    return Offers([Tool(name, about) for name, about in options], find_meanings(name for name, _ in options))


def rank_options(text: str, options: Mapping[str, str]) -> list[str]:
    """Return the options that have to do with a text by their descriptions, those that fit it best first."""
    offers = Offers([Tool(name, about) for name, about in options.items()])
    said = Utterance(split_words(text), text)
    scores = {offer.tool.name: offer.score(said) for offer in offers.list_alike(said)}
    return sorted(scores, key=lambda name: -scores[name])


def find_meanings(names: Iterable[str]) -> Mapping[str, str]:
    """Return what names that are labels commonly mean: `transfer_to_billing` has to do with invoices."""
    known = read_word_list("labels")
    return {name: " ".join(word for label in split_words(name) for word in known.get(label, ())) for name in names}


def is_follow_up(text: str) -> bool:
    """Return whether a text only adds to an earlier request: `and in Rome?`"""
    return len(text) < 80 and _FOLLOWING.match(text) is not None


def refers_back(text: str) -> bool:
    """Return whether a text points at something said before: "it", "the result"."""
    return POINTS_BACK.search(text) is not None


def _list_denied(denied: str, offers: Offers) -> Iterator[str]:
    """Yield the names of the tools that a clause does not want."""
    if _ANY_TOOL.match(denied):
        yield from (tool.name for tool in offers.tools)
        return
    said = Utterance(split_words(denied), denied)
    yield from (offer.tool.name for offer in offers.list_alike(said) if offer.score(said) >= THRESHOLD - 0.1)
    yield from (tool.name for _, tool in offers.find_named(denied))


def _list_asked(sentence: Sequence[Clause], offers: Offers) -> list[list[Tool]]:
    """Return what each clause of a sentence asks for: the tools that it names, in its order, or the one it describes.

    Where no clause asks for anything, as they are only items of a list, the first may as the whole sentence.
    """
    asked = list[list[Tool]]()
    before = None
    for clause in sentence:
        named = [] if clause.idle else sorted(offers.find_named(clause.text), key=lambda each: each[0])
        asked.append([tool for _, tool in named] or _find_described(clause, offers, head=sentence[0], before=before))
        before = clause
    if len(sentence) > 1 and not any(asked):
        joined = " , ".join([clause.text for clause in sentence])
        written = " , ".join([clause.written for clause in sentence])
        idle = any(clause.idle for clause in sentence)
        whole = replace(sentence[0], text=joined, written=written, idle=idle)
        asked[0] = _find_described(whole, offers, head=whole) if len(joined) <= _LONGEST_SENTENCE else []
    return asked


def _find_described(clause: Clause, offers: Offers, head: Clause, before: Clause | None = None) -> list[Tool]:
    """Return the tool that a clause describes best, if it does so well.

    `head` is the first clause of its sentence, `before` the clause before it, which it may point at.
    """
    if clause.idle:
        return []
    own = split_words(clause.text)
    if find_leading_word(own) in ("run", "execute"):  # what is run may be quoted, and so blank
        own = (*own, "command")
    said = alone = Utterance(own, clause.written)
    if not alone.keys:
        return []
    if before is not None and refers_back(clause.text):
        said = Utterance((*own, *split_words(before.text)), f"{before.written}, {clause.written}")
    composed = _list_composing_words(clause, own, head)

    def weigh_against(offer: Offer) -> float:
        """Return what speaks against a tool: the clause itself has nothing to do with it, or asks for a text."""
        if said is not alone and not offer.score(alone):
            return _UNFIT
        if offer.does_anything:
            return _PENALTIES["does anything"]
        if not composed or any(find_keys(word) & other.keys for word in composed for other in offer.name):
            return _PENALTIES["runs code"] if offer.runs_code else 0.0
        return _PENALTIES["explains" if composed[0] in ("why", "how") else "composes"]

    tool = offers.find_best(said, least=THRESHOLD if len(offers.tools) > 1 else _ALONE, against=weigh_against)
    return [] if tool is None else [tool]


def _list_composing_words(clause: Clause, own: Sequence[str], head: Clause) -> Sequence[str]:
    """Return the words that ask for a text or an explanation; a clause without a verb continues its sentence."""
    if own[0] == "why" or _IN_GENERAL.match(clause.text):
        return own[:1]
    first = next((word for word in own if find_keys(word)), "")
    asking = own if weigh_word(first) < 1 else (*split_words(head.text)[:_FIRST_WORDS], *own)
    if _COMPOSED.isdisjoint(asking):
        return ()
    pairs = pairwise(("", *asking[: 2 * _FIRST_WORDS]))
    found = [word for before, word in pairs if word in _COMPOSED and (before, word) != _AVERAGE]
    return [word for word in found if word in _FORMS] or found


def _join_clauses(text: str, found: Sequence[Clause]) -> str:
    """Return what clauses say, with what joins them, without those that deny something."""
    until = [min(clause.start, before.end + _LONGEST_JOINT) for before, clause in pairwise(found)]
    pieces = (
        text[clause.start : end]
        for clause, end in zip(found, [*until, found[-1].end], strict=True)
        if not clause.denied
    )
    return _LOOSE.sub("", "".join(pieces)).strip() or found[0].text.strip()


_LONGEST_END = 8_000  # characters
_LONGEST_SENTENCE = 240  # characters
_LONGEST_JOINT = 40  # characters
_MOST_AROUND = 10  # characters
_FIRST_WORDS = 5
_UNFIT = -10.0  # for what the words of the clause itself do not speak
_PENALTIES = {"does anything": 0.3, "runs code": 0.3, "composes": -0.6, "explains": -1.5}
_FORMS = make_vocabulary("poem story joke essay haiku song limerick riddle")
_COMPOSED = _FORMS | make_vocabulary(
    "explain describe define compose history write discuss opinion meaning mean means difference teach rewrite"
    " rephrase brainstorm"
)
_AVERAGE = ("the", "mean")  # a number, not an explanation
POINTS_BACK = compile_lazily(
    r"(?i)\b(?:it|its|them|their|those|the\s+(?:results?|answer|output|sum|product)|that(?!\s+(?:I|you|we|he|she|they|the|my|it|is|are)\b)"
    r"|the\s+(?:\w{2,12}est|best|first|last|top|second)(?:\s+(?:one|result|option|match|of\s+them)\b|(?=\s+for\s"
    r"|\s*(?:[.,!]|$)))"
    r"|whichever|this(?!\s+(?:week|month|year|morning|afternoon|evening|weekend|summer|winter|spring|fall|\w+day)\b)"
    r"|(?<!is\s)(?<!are\s)(?<!hey\s)(?<!hi\s)(?<!hello\s)there)\b"
)
_ANY_TOOL = compile_lazily(
    r"(?i)\W*(?:(?:(?:use|call|using|calling|run)\s+)?(?:(?:any|the|your|a)\s+)?(?:tools?|functions?)(?:\s+calls?)?"
    r"|(?:use|call|using|calling|run|running)\s+(?:it|them|that|this))"
    r"\s*(?:for\s+this|here|please|at\s+all|yet|now|again)?\s*$"
)
HANDOFF = compile_lazily(
    r"(?:\w{1,40}[-.])?(?:(?:transfer|route)_?to|handoff|hand_?off(?:_?to)?|(?:delegate|escalate)(?:_?to)?)_",
    re.IGNORECASE,
)
_IN_GENERAL = compile_lazily(r"\s*how\s+(?:do|does|did)\s+(?!I\b|we\b|you\b|one\b)", re.IGNORECASE)
_NESTED = compile_lazily(r"\s(?:of|in|for|at)\s+(?P<inner>the\s+[a-z]\w*\s+(?:of|in|for)\s[^\n]{1,200})")
_LOOSE = compile_lazily(r"[\s,;:]*(?:\b(?:and|then|also|but|finally)\s*)*$", re.IGNORECASE)
_FOLLOWING = compile_lazily(r"\s*(?:and|what\s+about|how\s+about|same\s+for|now|also)\b", re.IGNORECASE)
