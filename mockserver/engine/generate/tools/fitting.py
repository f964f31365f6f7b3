"""Which of the offered tools one clause asks for, by its words, its mood and where it stands.

Knows clauses and offers, not what the other clauses ask for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mockserver.core.call import Tool
from mockserver.engine.generate.prompt import NOTHING, Mentions, mentions
from mockserver.engine.generate.tools.clauses import Clause
from mockserver.engine.generate.tools.moods import Mood, mood, needs_the_world, ordered, reported, wanting
from mockserver.engine.generate.tools.offers import THRESHOLD, Offer, fitness, named_at, properties_of, required_of
from mockserver.engine.generate.tools.spelling import mended
from mockserver.engine.generate.tools.wording import keys, leading, reads, roots, stem, weight, words


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
