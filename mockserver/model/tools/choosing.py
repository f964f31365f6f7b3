"""Which of the offered tools a text asks for, in its order, and with which of its words.

Knows nothing of what was called before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mockserver.core.call import Tool
from mockserver.model.arguments import NOTHING, Mentions, mentions
from mockserver.model.tools.clauses import Clause, Mood, clauses, mood, needs_the_world, ordered, reported, wanting
from mockserver.model.tools.offers import THRESHOLD, Offer, fitness, named_at, offers, properties_of, required_of
from mockserver.model.tools.transcript import runner
from mockserver.model.vocabulary import Keys, keys, leading, mended, reads, roots, stem, weight, words


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a clause stands: the head of its sentence, the clause before it, and all that was written, with quotes."""

    head: Clause
    before: Clause
    text: str


def named(clause: Clause, offered: Sequence[Offer]) -> tuple[Tool, ...]:
    """The tools that a clause names as they are written, in its order."""
    if clause.idle:
        return ()
    places = ((named_at(offer, clause.text), place) for place, offer in enumerate(offered))
    return tuple(offered[place].tool for _, place in sorted((at, place) for at, place in places if at is not None))


def described(clause: Clause, offered: Sequence[Offer], setting: Setting) -> tuple[Tool, ...]:
    """The tool that a clause describes best, if it does so well."""
    own = words(clause.text)
    if clause.idle or not any(map(keys, own)):
        return ()
    own = mended(own, {word for offer in offered for word in offer.name})
    said = (*own, *words(setting.before.text)) if refers(clause.text) else own
    mentioned = mentions(setting.text[clause.start : clause.end])
    likely = [
        (offer, fitness(offer, said, mentioned), -at)
        for at, offer in _likely(offered, said)
        if said == own or fitness(offer, own, mentioned)
    ]
    against = _against(clause, own, [offer for offer, *_ in likely], setting)
    scored = [(score - against.penalty(offer) + against.support(offer, mentioned), at) for offer, score, at in likely]
    score, at = max(scored, default=(0.0, 0))
    return (offered[-at].tool,) if score >= THRESHOLD - _ease(clause.text) else ()


def refers(text: str) -> bool:
    """Whether a text speaks of what was said or found before it: `cancel it`, `send the result`."""
    return _POINTS_BACK.search(text) is not None


def denied(clause: Clause, offered: Sequence[Offer]) -> Iterator[str]:
    """The names of the tools that a clause does not want."""
    if not clause.denied:
        return
    said, every = words(clause.denied), _ANY_TOOL.match(clause.denied) is not None
    against = _Against("order", leading(said), "", (), _holders(leading(said), offered))
    for offer in offered:
        fits = fitness(offer, said, NOTHING) - against.penalty(offer) >= THRESHOLD - 0.1
        if every or fits or named_at(offer, clause.denied) is not None:
            yield offer.tool.name


def _likely(offered: Sequence[Offer], said: Sequence[str]) -> list[tuple[int, Offer]]:
    """The tools whose words fit best, each with its place: only for these is it worth to look for arguments."""
    ranked = sorted(enumerate(offered), key=lambda each: (-fitness(each[1], said, NOTHING), each[0]))
    return ranked[:_MOST_LIKELY]


@dataclass(frozen=True, slots=True)
class _Against:
    """What speaks against tools: what is asked about is not to be done, nor what was done already.

    Where the verb of an order is in the names of some tools (`holders`), the others are not meant. What is to be told
    in words is no tool's work; a colleague or a computer is asked soon.
    """

    mood: Mood
    verb: str
    reported: str
    told: Sequence[str]
    holders: frozenset[str]

    def penalty(self, offer: Offer) -> float:
        """The points that a tool must be better by."""
        return self._of_telling(offer) + self._of_mood(offer)

    def support(self, offer: Offer, mentioned: Mentions) -> float:
        """The points for the one tool that has the verb in its name, where all is said that it has to be told."""
        if self.holders != {offer.tool.name} or not required_of(offer.tool):
            return 0.0
        properties = properties_of(offer.tool)
        needed = {name: properties[name] for name in sorted(required_of(offer.tool)) if name in properties}
        return _ALL_SAID if mentioned.evidence(needed) == 1 else 0.0

    def _of_mood(self, offer: Offer) -> float:
        if self.mood == "report":
            return _NEVER if stem(self.reported) in map(stem, offer.name) else _OTHERWISE
        if self.mood == "question":
            return _OTHERWISE if offer.deed and not reads(offer.deed) else 0.0
        return _OTHERWISE if self.holders and offer.tool.name not in self.holders else 0.0

    def _of_telling(self, offer: Offer) -> float:
        if _HANDOFF.match(offer.tool.name) or offer.tool.kind.startswith("computer"):
            return -0.3
        own = frozenset().union(*map(keys, offer.name))
        forms = [word for word in self.told if word in _FORMS] or self.told
        if not forms or any(keys(word) & own for word in forms):
            return 0.0
        return _NEVER if forms[0] in _REASONS else 0.6


def _against(clause: Clause, own: Sequence[str], offered: Sequence[Offer], setting: Setting) -> _Against:
    how = mood(clause.text)
    verb = leading(words(ordered(clause.text))) if how == "order" else ""
    told = [*_reasons(clause.text, own), *_told(own, words(setting.head.text))]
    return _Against(how, verb, reported(clause.text), told, _holders(verb, offered))


def _reasons(text: str, own: Sequence[str]) -> list[str]:
    """The word that asks for the reason or the way of what is so anywhere: `why`, `how do birds fly`."""
    if needs_the_world(text) or own[0] not in _REASONS:
        return []
    return [own[0]] if own[0] == "why" or _IN_GENERAL.match(text) else []


def _holders(verb: str, offered: Sequence[Offer]) -> frozenset[str]:
    """The tools that have a verb in their names, if it is one that tells something."""
    if weight(verb) <= _LIGHT:
        return frozenset()
    meant = roots(verb)
    return frozenset(offer.tool.name for offer in offered if any(meant & roots(word) for word in offer.name))


def _told(own: Sequence[str], head: Sequence[str]) -> list[str]:
    """The words that ask for a text to be composed or explained; a clause without a verb goes on with its sentence."""
    first = next((word for word in own if keys(word)), "")
    asking = own if weight(first) < 1 else (*head[:_FIRST_WORDS], *own)
    return [word for word in asking[: 2 * _FIRST_WORDS] if word in _COMPOSED]


def _ease(text: str) -> float:
    """How much less is enough where a model could not know the answer by itself."""
    return 0.2 if needs_the_world(text) and (mood(text) == "question" or wanting(text)) else 0.0


_MOST_LIKELY = 12
_FIRST_WORDS = 5
_OTHERWISE, _NEVER, _ALL_SAID = 0.3, 1.5, 0.3
_LIGHT = 0.5  # weight of verbs that name no tool
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
_REASONS = ("why", "how")
_IN_GENERAL = re.compile(r"\s*how\s+(?:do|does|did)\s+(?!I\b|we\b|you\b|one\b)", re.IGNORECASE)
_COMPOSING = (
    "explain describe define compose history write discuss opinion meaning mean means difference teach compare rewrite "
    "rephrase brainstorm"
)
_FORMS = frozenset(("poem", "story", "joke", "essay", "haiku", "song", "limerick", "riddle"))
_COMPOSED = _FORMS.union(_COMPOSING.split())


@dataclass(frozen=True, slots=True)
class Wish:
    """One tool that is asked for, the words that ask for it, and whether it is to wait for what stands before it."""

    tool: Tool
    text: str
    later: bool = False


def wishes(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> tuple[Wish, ...]:
    """The tools that a text asks for, in its order; a tool more than once, where it is asked for in several places."""
    whole = _ends(text)
    offered = offers(tools, hints)
    found = clauses(whole)
    unwanted = frozenset(name for clause in found for name in denied(clause, offered))
    kept = tuple(offer for offer in offered if offer.tool.name not in unwanted)
    if not any(named_at(offer, whole) is not None for offer in kept):
        running = runner(whole, [offer.tool for offer in kept])
        if running is not None:
            return (Wish(running, text),)
    asked = tuple(_joined(_asked(whole, found, kept)))
    return asked or _of_any(whole, found, kept)


def best(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> Tool | None:
    """The tool that fits a text best, however badly; None where none has anything to do with it."""
    return _best(_ends(text), offers(tools, hints))


def _best(text: str, offered: Sequence[Offer]) -> Tool | None:
    said, mentioned = words(text), mentions(text)
    scored = [(fitness(offer, said, mentioned), -at, offer.tool) for at, offer in enumerate(offered)]
    score, _, tool = max(scored, key=lambda each: each[:2], default=(0.0, 0, None))
    return tool if score > 0 else None


def _of_any(text: str, found: Sequence[Clause], offered: Sequence[Offer]) -> tuple[Wish, ...]:
    """A call of some tool, where one is asked for without saying which: `use the tool`."""
    asking = any(not clause.idle and _SOME_TOOL.search(clause.text) for clause in found)
    tool = (_best(text, offered) or next((offer.tool for offer in offered), None)) if asking else None
    return () if tool is None else (Wish(tool, text),)


def follow_up(text: str) -> bool:
    """Whether a text only adds to what was asked before: `and in Rome?`"""
    return len(text) < 80 and _FOLLOWING.match(text) is not None


def _ends(text: str) -> str:
    """A text, or of a long one its beginning and its end, where requests stand."""
    return text if len(text) <= 2 * _LONGEST_END else text[:_LONGEST_END] + "\n" + text[-_LONGEST_END:]


@dataclass(frozen=True, slots=True)
class _Heard:
    """A clause, and the tools that it asks for; `bare` if it names one and says no more."""

    clause: Clause
    tools: tuple[Tool, ...]
    bare: bool = False


def _asked(text: str, found: Sequence[Clause], offered: Sequence[Offer]) -> Iterator[Wish]:
    """One wish for each tool of each clause; clauses that ask for none belong to the wish before them."""
    heard = _governed(list(_heard(text, found, offered)), text)
    asking = [at for at, each in enumerate(heard) if each.tools]
    for place, at in enumerate(asking):
        begin = at if place else max(0, at - _MOST_BESIDE)
        end = asking[place + 1] if place + 1 < len(asking) else min(len(heard), at + _MOST_BESIDE)
        own = [each.clause for each in heard[begin:end] if not each.bare or each.tools]
        clause = heard[at].clause
        later = bool(place) and (clause.later or refers(clause.text))
        for tool in heard[at].tools:
            yield Wish(tool, _said_in(text, own), later)


def _heard(text: str, found: Sequence[Clause], offered: Sequence[Offer]) -> Iterator[_Heard]:
    """What each sentence asks for: by its clauses, or, where they are but items of a list, as a whole."""
    for sentence in _sentences(_telling(found, offered)):
        heard, before = list[_Heard](), sentence[0]
        for clause in sentence:
            by_name = named(clause, offered)
            tools = by_name or described(clause, offered, Setting(sentence[0], before, text))
            heard.append(_Heard(clause, tools, bool(by_name) and _is_bare(clause, by_name)))
            before = clause
        if len(heard) > 1 and not any(each.tools for each in heard):
            heard[0] = replace(heard[0], tools=_of_whole(sentence, offered, text))
        yield from heard


def _telling(found: Sequence[Clause], offered: Sequence[Offer]) -> Sequence[Clause]:
    """The clauses; of very many those at the ends, and those that speak most of what the tools are for."""
    if len(found) <= _MOST_CLAUSES:
        return found
    known = frozenset().union(*(keys(word) for offer in offered for word in offer.name))
    ends = {*range(_AT_AN_END), *range(len(found) - _AT_AN_END, len(found))}
    first = {each.text: at for at, each in reversed([*enumerate(found)])}
    speaking = {at: _shared(each, known) for at, each in enumerate(found) if first[each.text] == at}
    spelled = {at for at in speaking if any(named_at(offer, found[at].text) is not None for offer in offered)}
    ranked = sorted((at for at in speaking if speaking[at]), key=lambda at: (at not in spelled, -speaking[at], at))
    return [found[at] for at in sorted({*ends, *ranked[: _MOST_CLAUSES - 2 * _AT_AN_END]})]


def _shared(clause: Clause, known: Keys) -> float:
    return sum(weight(word) for word in words(clause.text) if not known.isdisjoint(keys(word)))


def _sentences(found: Sequence[Clause]) -> Iterator[list[Clause]]:
    sentence: list[Clause] = []
    for clause in found:
        if clause.first and sentence:
            yield sentence
            sentence = []
        sentence.append(clause)
    if sentence:
        yield sentence


def _of_whole(sentence: Sequence[Clause], offered: Sequence[Offer], text: str) -> tuple[Tool, ...]:
    """What a sentence asks for of which no clause asks for anything."""
    joined = " , ".join(clause.text for clause in sentence)
    if len(joined) > _LONGEST_SENTENCE or mood(joined) == "report":
        return ()
    idle = any(clause.idle for clause in sentence)
    one = replace(sentence[0], text=joined, end=sentence[-1].end, idle=idle)
    return described(one, offered, Setting(one, one, text))


def _is_bare(clause: Clause, tools: Sequence[Tool]) -> bool:
    """Whether a clause says no more than which tool is to be used."""
    if len(tools) != 1 or clause.later:
        return False
    before, _, after = clause.text.lower().partition(tools[0].name.lower())
    return len(before.split()) <= _MOST_BEFORE_A_NAME and not after.strip(_SIGNS).removesuffix("tool").strip(_SIGNS)


def _governed(heard: list[_Heard], text: str) -> list[_Heard]:
    """What is heard, where a clause that only names a tool says which one the clause beside it is for."""
    for at, each in enumerate(heard):
        beside = at - 1 if at else at + 1
        if each.bare and beside < len(heard) and _is_for(heard[beside], each.tools[0], text):
            heard[beside] = replace(heard[beside], tools=each.tools)
            heard[at] = replace(each, tools=())
    return heard


def _is_for(beside: _Heard, tool: Tool, text: str) -> bool:
    """Whether a clause says what a tool beside it is to do: it tells what the tool has to be told, or describes it."""
    clause = beside.clause
    if beside.bare or clause.idle or not any(map(keys, words(clause.text))):
        return False
    return bool(required_of(tool)) or bool(described(clause, offers((tool,), {}), Setting(clause, clause, text)))


def _said_in(text: str, found: Sequence[Clause]) -> str:
    """What stands in clauses that follow each other, as it is written, but for those that deny something."""
    ends = [min(clause.start, before.end + _LONGEST_JOINT) for before, clause in pairwise(found)]
    pieces = (
        text[clause.start : end] for clause, end in zip(found, [*ends, found[-1].end], strict=True) if not clause.denied
    )
    return _LOOSE.sub("", "".join(pieces)).strip() or found[0].text.strip()


def _joined(asked: Iterator[Wish]) -> Iterator[Wish]:
    """The wishes, those for one tool that follow each other as one, unless each names it and has words of its own."""
    before: Wish | None = None
    for wish in asked:
        if before is not None and _go_together(before, wish):
            before = replace(before, text=f"{before.text} {wish.text}")
            continue
        if before is not None:
            yield before
        before = wish
    if before is not None:
        yield before


def _go_together(one: Wish, other: Wish) -> bool:
    return one.tool.name == other.tool.name and not other.later and not (_calls(one) and _calls(other))


def _calls(wish: Wish) -> bool:
    """Whether a wish names its tool as it is written, and gives it a value."""
    _, name, after = wish.text.partition(wish.tool.name)
    return bool(name) and _GIVEN.match(after) is not None


_LONGEST_END = 8_000
_LONGEST_SENTENCE, _LONGEST_JOINT = 240, 40  # characters
_MOST_CLAUSES, _AT_AN_END = 32, 10
_MOST_BESIDE = 10  # clauses
_MOST_BEFORE_A_NAME = 4  # words
_SIGNS = " `'\"*.!()"
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
