"""Which of the offered tools a text asks for, in its order, with which of its words: by names and descriptions.

Workers, roles and options are chosen by the same score, as tools without parameters. Knows words and JSON Schema's
properties, nothing of earlier calls.
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

from mockserver.core.call import Tool
from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily, remember
from mockserver.model.arguments import Mentions, find_mentions
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


class Word(NamedTuple):
    """A word of a tool, what it weighs among the offered tools, and what it is compared by."""

    word: str
    share: float
    keys: Keys


class Offer(Struct, frozen=True):
    """What a text is compared with of the tool at a place: its names, and the words that tell it from the others."""

    at: int
    names: tuple[str, ...]
    name: tuple[Word, ...]
    description: tuple[Word, ...]
    parameters: Keys
    verb: str
    does_anything: bool  # a colleague or a computer, which can do anything
    runs_code: bool  # one word of what that is good for is enough
    keys: Keys  # of its name and its description


class Offers:
    """Tools as a text is compared with them; of more than `_MOST_ALIKE` only those that share most words with it."""

    def __init__(self, tools: Sequence[Tool], hints: Mapping[str, str] = {}) -> None:
        """`hints` adds to the descriptions, by names."""
        self.tools = tools
        self._offers = _read_offers(tuple(_read_tool(tool, hints.get(tool.name, "")) for tool in tools))

    def find_named(self, text: str) -> list[tuple[int, Tool]]:
        """Return the tools that a text names, and where."""
        small = text.lower()
        found = list[tuple[int, Tool]]()
        for offer in self._offers:
            if any(name.lower() in small for name in offer.names):
                place = re.search("|".join(map(_make_name_pattern, offer.names)), text, re.IGNORECASE)
                found += [(place.start(), self.tools[offer.at])] if place else []
        return found

    def list_alike(self, said: "Utterance") -> list[Offer]:
        """Return the offers that share a word with what is said, in their order."""
        met = [(len(offer.keys & said.keys), -offer.at, offer) for offer in self._offers]
        nearest = nlargest(_MOST_ALIKE, (each for each in met if each[0]))
        return sorted((offer for *_, offer in nearest), key=lambda offer: offer.at)

    def find_best(
        self,
        said: "Utterance",
        mentioned: Mentions,
        *,
        least: float,
        against: Callable[[Offer], float] = lambda offer: 0,
    ) -> Tool | None:
        """Return the tool that fits best what the user says, of equals the first; None if none fits well enough.

        Values are looked for only where they can decide. `against` adds what speaks for or against an offer.
        """
        scored = [(offer, score_words(offer, said)) for offer in self.list_alike(said)]
        rated = {offer.at: (score, score + against(offer)) for offer, score in scored}
        highest = max((total for _, total in rated.values()), default=0)
        close = {at: each for at, each in rated.items() if each[1] >= max(least, highest) - _WEIGHTS["arguments"]}
        totals = {}
        for at, (score, total) in close.items():
            is_sure = len(close) == 1 and total >= least
            if score >= _PROMISING and not is_sure:  # values support a tool, but are never enough
                total += mentioned.measure_evidence(list_properties(self.tools[at])) * _WEIGHTS["arguments"]
            totals[at] = total
        found = max(totals, key=totals.__getitem__, default=None)
        return None if found is None or totals[found] < least else self.tools[found]


def score_words(offer: Offer, said: "Utterance") -> float:
    """Return how well a tool fits what the user says, by words alone; 0 if they have nothing in common."""
    by_words = _score_name(offer, said) + _score_description(offer, said.keys)
    if not by_words:
        return 0.0
    score = by_words + _score_verb(offer, said)
    named = min(2, len(offer.parameters & said.keys)) * _WEIGHTS["parameter"]
    return score + named if score >= _PROMISING else score


class _ReadTool(NamedTuple):
    """All that is read of a tool. The same tools come with each request of a client, so they are read once."""

    names: tuple[str, ...]
    kind: str
    description: str
    hint: str  # of instructions, or what the tool's server says of itself
    properties: tuple[str, ...]
    choices: str  # the values that it takes, of a tool that does not say what it is for


def _read_tool(tool: Tool, hint: str) -> _ReadTool:
    options = tool.options or {}
    properties = list_properties(tool)
    listed = (
        () if tool.description else (inner.get("enum") for inner in properties.values() if isinstance(inner, Mapping))
    )
    choices = (each for values in listed if isinstance(values, list) for each in values if isinstance(each, str))
    return _ReadTool(
        names=(str(options.get("server_label") or tool.name)[:_MAX_DESCRIPTION], *list_allowed(tool)[:_MOST_WORDS]),
        kind=tool.kind,
        description=tool.description[:_MAX_DESCRIPTION],
        hint=f"{options.get('server_description') or ''} {hint}"[:_MAX_DESCRIPTION],
        properties=tuple(islice(properties, _MOST_WORDS * _PROPERTIES)),
        choices=" ".join(islice(choices, _MOST_WORDS))[:_MAX_DESCRIPTION],
    )


@remember(64)
def _read_offers(tools: tuple[_ReadTool, ...]) -> Sequence[Offer]:
    """Read the words that tell tools apart. The more there are, the fewer words of each are read."""
    most = max(_FEWEST_WORDS, min(_MOST_WORDS, _MOST_READ // (len(tools) or 1)))
    titles = [_split_namespace(tool.names[0]) for tool in tools]
    names = [tuple(dict.fromkeys(split_words(own)))[:most] for _, own in titles]
    about = [
        tuple(dict.fromkeys(split_words(f"{space} {_describe(tool)} {tool.choices} {tool.hint}")[:most]))
        for tool, (space, _) in zip(tools, titles, strict=True)
    ]
    held = Counter[str]()
    for each in zip(names, about, strict=True):
        held.update(frozenset().union(*(find_keys(word) for part in each for word in part)))
    rarity = {key: 1 - log(count) / log(1 + len(tools)) for key, count in held.items()}

    def weigh(word: str, scale: float = 1) -> Word:
        met = find_keys(word)
        share = weigh_word(word) * max((rarity[key] for key in met if not key.startswith("~")), default=1.0)
        return Word(word, share * scale, met)

    offers = []
    for at, (tool, name, told) in enumerate(zip(tools, names, about, strict=True)):
        properties = islice(tool.properties, most * _PROPERTIES)
        parameters = frozenset().union(
            *(find_keys(word) for each in properties for word in split_words(each[:_MAX_DESCRIPTION])[:most])
        )
        own = frozenset().union(*map(find_keys, name))
        scale = _WEIGHTS["word of a choice"] if tool.choices else 1
        offer = Offer(
            at=at,
            names=tool.names,
            name=tuple(weigh(word) for word in name if weigh_word(word)),
            description=tuple(
                weigh(word, _WEIGHTS["word of a parameter"] if find_keys(word) & parameters else scale)
                for word in told
                if weigh_word(word) >= 0.6 and not find_keys(word) & own
            ),
            parameters=parameters,
            verb=next((word for word in name if is_verb(word)), ""),
            does_anything=bool(HANDOFF.match(tool.names[0])) or tool.kind.startswith("computer"),
            runs_code=tool.kind.startswith("code_interpreter"),
            keys=own.union(*(find_keys(word) for word in told if weigh_word(word) >= 0.6)),
        )
        offers.append(offer)
    return offers


def _split_namespace(name: str) -> tuple[str, str]:
    """Split a name into its namespace and the rest, which says what the tool is: `mcp__github__`, `create_issue`."""
    pieces = [piece for piece in _NAMESPACE.split(name) if piece]
    own = 1 if pieces and any(weigh_word(word) > _FAINT for word in split_words(pieces[-1])) else 2
    return " ".join(pieces[:-own]), " ".join(pieces[-own:])


def _describe(tool: _ReadTool) -> str:
    purpose = " ".join(read_word_list("tool_purposes").get(tool.kind.partition("_preview")[0], ()))
    return _ASIDE.sub(" ", f"{tool.description} {purpose} {' '.join(tool.names[1:])}")[:_MAX_DESCRIPTION]


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
    whole = tool.parameters if isinstance(tool.parameters, Mapping) else {}
    properties = whole.get("properties")
    known = whole.get("$defs")
    if not isinstance(properties, Mapping) or not isinstance(known, Mapping):
        return properties if isinstance(properties, Mapping) else {}

    def resolve(inner: Json) -> Json:
        reference = inner.get("$ref") if isinstance(inner, Mapping) else None
        return known.get(str(reference).removeprefix("#/$defs/"), inner) if reference else inner

    return {name: resolve(inner) for name, inner in properties.items()}


def list_required(tool: Tool) -> frozenset[str]:
    """Return the names of a tool's required parameters."""
    required = tool.parameters.get("required") if isinstance(tool.parameters, Mapping) else None
    return frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else frozenset()


class Utterance:
    """Words that a user says, with what every tool is compared with."""

    def __init__(self, said: Sequence[str]) -> None:
        self.words = said
        self.exact = frozenset(said)
        self.keys: Keys = frozenset().union(*map(find_keys, self.exact))
        self.meant: Keys = frozenset().union(*(find_roots(word) - {stem(word)} for word in self.exact))
        self.leading = find_leading_word(said)
        self.first = find_roots(self.leading)
        self.is_action = is_action(self.leading)
        self.head = find_keys(next((word for word in said if weigh_word(word) > _FAINT), ""))
        self.verbs = [word for word in said[:4] if is_action(word)]


def _score_name(offer: Offer, said: Utterance) -> float:
    """Return the share of the name that the text says.

    Light words count only if they are the whole name and come first.
    """
    met = [word for word in offer.name if word.keys & said.keys]
    if not met or (len(met) < len(offer.name) and all(weigh_word(word.word) < 0.3 for word in met)):
        return 0.0
    faint = all(weigh_word(word.word) < _FAINT for word in offer.name)
    if faint and not any(find_roots(word.word) & said.first for word in met):
        return 0.0
    shares = (
        word.share * (1 if word.word in said.exact or stem(word.word) in said.meant else _WEIGHTS["synonym"])
        for word in met
    )
    whole = sum(word.share for word in offer.name)
    return sum(shares) / whole * (_WEIGHTS["called a tool"] if said.exact & {"tool", "function"} else 1)


def _score_description(offer: Offer, heard: Keys) -> float:
    """Return what the text says of the description, of a short one as a share; at most a fixed weight."""
    own = [word for word in offer.description if not word.keys & offer.parameters]
    whole = sum(word.share for word in own)
    score = _WEIGHTS["description"] * sum(word.share for word in offer.description if word.keys & heard)
    if whole < _SHORT_DESCRIPTION:
        met = sum(word.share for word in own if word.keys & heard)
        score = max(score, _WEIGHTS["short description"] * met / max(1, whole))
    return min(_WEIGHTS["description at most"], score)


def _score_verb(offer: Offer, said: Utterance) -> float:
    """Return what the verb of the text says for or against a tool."""
    own = [word for word in offer.name if is_action(word.word)]
    verbs = said.verbs
    if not own and said.is_action:
        own = [*offer.name[:1]]
        verbs = [said.leading]
    other = own and verbs and not any(one.keys & find_keys(verb) for one in own for verb in verbs)
    if other or (said.is_action and asks_to_read(offer.verb) and not find_keys(said.leading) & find_keys(offer.verb)):
        return _WEIGHTS["other verb"]
    if said.leading and any(find_roots(word.word) & said.first for word in offer.name if word.share > 0.45):
        return _WEIGHTS["same verb"]
    if _ASKING.isdisjoint(said.words[:1]):
        return 0.0
    tells = asks_to_read(offer.verb) or not _TELLING.isdisjoint(word.word for word in offer.name)
    if not tells:
        return _WEIGHTS["acts"] if own else 0.0
    is_head = any(word.keys & said.head for word in offer.name)
    return _WEIGHTS["tells what is named first" if is_head else "tells"]


_PROMISING = 0.2  # score from which arguments are worth looking for
_FAINT = 0.5  # weight of words that tell less than most verbs
_SHORT_DESCRIPTION = 2.5  # weight of a description that one or two words tell
_MOST_WORDS = 80  # words of a description: it begins with what the tool does
_MAX_DESCRIPTION = 900  # characters of one
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


class Clause(Struct, frozen=True):
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
            clause = Clause(
                text=wanted,
                written=text[start:end],
                start=start,
                end=end,
                denied=denied,
                later=any(map(joint.lower().__contains__, _LATER)) or _BEGINS_LATER.match(piece) is not None,
                idle=_IDLE.search(piece) is not None,
                first=not joint[:1].isalpha() and joint[:1] not in ",，、",
            )
            found.append(clause)
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
    r"|\b(?:what|which|explain|describe|do\s+you\s+have|you\s+have\s+access\s+to)\b.{0,60}\b(?:tools?|functions?)\b"
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


def find_tool_requests(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> tuple[ToolRequest, ...]:
    """Return what a text asks for, in its order; a tool more than once, where several places ask for it."""
    text = keep_ends(text, _LONGEST_END, _LONGEST_END)
    offers = Offers(tools, hints)
    clauses = split_clauses(text)
    if unwanted := {name for clause in clauses if clause.denied for name in _list_denied_names(clause.denied, offers)}:
        offers = Offers([tool for tool in tools if tool.name not in unwanted], hints)
    begins = [at for at, clause in enumerate(clauses) if clause.first or not at]
    sentences = (clauses[one:other] for one, other in pairwise((*begins, len(clauses))))
    asked = [tools for sentence in sentences for tools in _list_asked(sentence, offers)]
    asking = [at for at, wanted in enumerate(asked) if wanted]
    found = list[ToolRequest]()
    for place, at in enumerate(asking):
        begin = at if place else max(0, at - _MOST_AROUND)
        end = asking[place + 1] if place + 1 < len(asking) else min(len(clauses), at + _MOST_AROUND)
        written = _join_clauses(text, clauses[begin:end])
        later = bool(place) and (clauses[at].later or refers_back(clauses[at].text))
        for tool in asked[at]:
            last = found[-1] if found else None
            if last is None or later or tool is not last.tool or (tool.name in written and tool.name in last.text):
                found.append(ToolRequest(tool, written, later))
            else:  # more about the same
                found[-1] = replace(last, text=f"{last.text}, {written}")
    return tuple(found)


def find_best(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> Tool | None:
    """Return the tool that fits a text best, however badly; None where none has anything to do with it."""
    text = keep_ends(text, _LONGEST_END, _LONGEST_END)
    return Offers(tools, hints).find_best(Utterance(split_words(text)), find_mentions(text), least=0.01)


def find_option(text: str, options: Mapping[str, str]) -> str | None:
    """Return the option, worker or label that fits a text best, by its description and what it commonly means."""
    tools = [Tool(name, said) for name, said in options.items()]
    found = find_best(text, tools, find_meanings(options))
    return None if found is None else found.name


def rank_options(text: str, options: Mapping[str, str]) -> list[str]:
    """Return the options that have to do with a text by their descriptions, those that fit it best first."""
    offers = Offers([Tool(name, about) for name, about in options.items()])
    said = Utterance(split_words(text))
    scores = {offers.tools[each.at].name: score_words(each, said) for each in offers.list_alike(said)}
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


def _list_denied_names(denied: str, offers: Offers) -> Iterator[str]:
    """Yield the names of the tools that a clause does not want."""
    if _ANY_TOOL.match(denied):
        yield from (tool.name for tool in offers.tools)
        return
    said = Utterance(split_words(denied))
    alike = (each for each in offers.list_alike(said) if score_words(each, said) >= THRESHOLD - 0.1)
    yield from (offers.tools[each.at].name for each in alike)
    yield from (tool.name for _, tool in offers.find_named(denied))


def _list_asked(sentence: Sequence[Clause], offers: Offers) -> list[list[Tool]]:
    """Yield what each clause of a sentence asks for: the tools that it names, in its order, or the one it describes.

    Where no clause asks for anything, as they are only items of a list, the first may as the whole sentence.
    """
    asked = list[list[Tool]]()
    for before, clause in pairwise((sentence[0], *sentence)):
        named = [] if clause.idle else sorted(offers.find_named(clause.text), key=lambda each: each[0])
        asked.append([tool for _, tool in named] or _find_described(clause, offers, head=sentence[0], before=before))
    joined = " , ".join(clause.text for clause in sentence)
    if len(asked) > 1 and not any(asked) and len(joined) <= _LONGEST_SENTENCE:
        idle = any(clause.idle for clause in sentence)
        written = " , ".join(clause.written for clause in sentence)
        whole = replace(sentence[0], text=joined, written=written, idle=idle)
        asked[0] = _find_described(whole, offers, head=whole, before=whole)
    return asked


def _find_described(clause: Clause, offers: Offers, head: Clause, before: Clause) -> list[Tool]:
    """Return the tool that a clause describes best, if it does so well.

    `head` is the first clause of its sentence, `before` the clause before it.
    """
    own = split_words(clause.text)
    if find_leading_word(own) in ("run", "execute"):  # what is run may be quoted, and so blank
        own = (*own, "command")
    if clause.idle or not any(map(find_keys, own)):
        return []
    alone = Utterance(own)
    composed = _list_composing_words(clause, own, head)
    said = Utterance((*own, *split_words(before.text))) if refers_back(clause.text) else alone

    def weigh_against(offer: Offer) -> float:
        """Return what speaks against a tool: the clause itself has nothing to do with it, or asks for a text."""
        if said is not alone and not score_words(offer, alone):
            return _UNFIT
        if offer.does_anything:
            return _PENALTIES["does anything"]
        if not composed or any(find_keys(word) & other.keys for word in composed for other in offer.name):
            return _PENALTIES["runs code"] if offer.runs_code else 0.0
        return _PENALTIES["explains" if composed[0] in ("why", "how") else "composes"]

    written = clause.written if said is alone else f"{before.written}, {clause.written}"
    tool = offers.find_best(said, find_mentions(written), least=THRESHOLD, against=weigh_against)
    return [] if tool is None else [tool]


def _list_composing_words(clause: Clause, own: Sequence[str], head: Clause) -> Sequence[str]:
    """Return the words that ask for a text or an explanation; a clause without a verb continues its sentence."""
    if own[0] == "why" or _IN_GENERAL.match(clause.text):
        return own[:1]
    first = next((word for word in own if find_keys(word)), "")
    asking = own if weigh_word(first) < 1 else (*split_words(head.text)[:_FIRST_WORDS], *own)
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
    r"(?i)\W*(?:(?:use|call|using|calling|run)\s+)?(?:(?:any|the|your|a)\s+)?(?:tools?|functions?)"
    r"(?:\s+calls?)?\s*(?:for\s+this|here|please|at\s+all)?\s*$"
)
HANDOFF = compile_lazily(
    r"(?:(?:transfer|route)_?to|handoff|hand_?off(?:_?to)?|(?:delegate|escalate)(?:_?to)?)_", re.IGNORECASE
)
_IN_GENERAL = compile_lazily(r"\s*how\s+(?:do|does|did)\s+(?!I\b|we\b|you\b|one\b)", re.IGNORECASE)
_LOOSE = compile_lazily(r"[\s,;:]*(?:\b(?:and|then|also|but|finally)\s*)*$", re.IGNORECASE)
_FOLLOWING = compile_lazily(r"\s*(?:and|what\s+about|how\s+about|same\s+for|now|also)\b", re.IGNORECASE)
