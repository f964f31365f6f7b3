"""Which of the offered tools a text asks for, in its order, and with which of its words.

Knows nothing of what was called before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mockserver.core.call import Tool
from mockserver.engine.generate.prompt import NOTHING, mentions
from mockserver.engine.generate.tools.clauses import Clause, clauses
from mockserver.engine.generate.tools.moods import mood, needs_the_world, ordered, reported
from mockserver.engine.generate.tools.offers import THRESHOLD, Offer, fitness, leading, named_at, offers
from mockserver.engine.generate.tools.wording import keys, reads, stem, weight, words


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
    denied = frozenset(name for clause in found for name in _denied(clause, offered))
    kept = tuple(offer for offer in offered if offer.tool.name not in denied)
    return tuple(_joined(_asked(whole, found, kept)))


def best(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> Tool | None:
    """The tool that fits a text best, however badly; None where none has anything to do with it."""
    whole = _ends(text)
    said, mentioned = words(whole), mentions(whole)
    scored = [(fitness(offer, said, mentioned), -at, offer.tool) for at, offer in enumerate(offers(tools, hints))]
    score, _, tool = max(scored, key=lambda each: each[:2], default=(0.0, 0, None))
    return tool if score > 0 else None


def follow_up(text: str) -> bool:
    """Whether a text only adds to what was asked before: `and in Rome?`"""
    return len(text) < 80 and _FOLLOWING.match(text) is not None


def refers(text: str) -> bool:
    """Whether a text speaks of what was said or found before it: `cancel it`, `send the result`."""
    return _POINTS_BACK.search(text) is not None


def _ends(text: str) -> str:
    """A text, or of a long one its beginning and its end, where requests stand."""
    return text if len(text) <= 2 * _LONGEST_END else text[:_LONGEST_END] + "\n" + text[-_LONGEST_END:]


@dataclass(frozen=True, slots=True)
class _Setting:
    """Where a clause stands: the head of its sentence, and the clause before it."""

    head: Clause
    before: Clause


@dataclass(frozen=True, slots=True)
class _Heard:
    """A clause, and the tools that it asks for."""

    clause: Clause
    tools: tuple[Tool, ...]


def _asked(text: str, found: Sequence[Clause], offered: Sequence[Offer]) -> Iterator[Wish]:
    """One wish for each tool of each clause; clauses that ask for none belong to the wish before them."""
    heard, head = list[_Heard](), found[0] if found else Clause("", 0, 0)
    for before, clause in zip((head, *found), found, strict=False):
        head = clause if clause.first else head
        heard.append(_Heard(clause, _tools_of(clause, offered, _Setting(head, before))))
    asking = [at for at, each in enumerate(heard) if each.tools]
    for place, at in enumerate(asking):
        own = heard[at if place else 0 : asking[place + 1] if place + 1 < len(asking) else None]
        clause = heard[at].clause
        later = bool(place) and (clause.later or refers(clause.text))
        for tool in heard[at].tools:
            yield Wish(tool, _said_in(text, [each.clause for each in own]), later)


def _said_in(text: str, found: Sequence[Clause]) -> str:
    """What stands in clauses that follow each other, as it is written, but for those that deny something."""
    ends = [*(clause.start for clause in found[1:]), found[-1].end]
    pieces = (text[clause.start : end] for clause, end in zip(found, ends, strict=True) if not clause.denied)
    return _LOOSE.sub("", "".join(pieces)).strip() or found[0].text.strip()


def _joined(asked: Iterator[Wish]) -> Iterator[Wish]:
    """The wishes, those for one tool that follow each other as one."""
    before: Wish | None = None
    for wish in asked:
        if before is not None and before.tool.name == wish.tool.name and not wish.later:
            before = replace(before, text=f"{before.text} {wish.text}")
            continue
        if before is not None:
            yield before
        before = wish
    if before is not None:
        yield before


def _tools_of(clause: Clause, offered: Sequence[Offer], setting: _Setting) -> tuple[Tool, ...]:
    """The tools that a clause names, in its order, or else the one that it describes best, if it does so well."""
    if clause.idle:
        return ()
    named = sorted(
        (at, place) for place, offer in enumerate(offered) if (at := named_at(offer, clause.text)) is not None
    )
    if named:
        return tuple(offered[place].tool for _, place in named)
    own = words(clause.text)
    if not any(map(keys, own)):
        return ()
    said = (*own, *words(setting.before.text)) if refers(clause.text) else own
    mentioned, told = mentions(clause.text), _told(own, words(setting.head.text))
    likely = [
        (offer, fitness(offer, said, mentioned) - _margin(offer, told), -at)
        for at, offer in _likely(offered, said)
        if said == own or fitness(offer, own, mentioned)
    ]
    against = _Against(clause.text, [offer for offer, *_ in likely])
    scored = [(score - against.penalty(offer), at) for offer, score, at in likely]
    score, at = max(scored, default=(0.0, 0))
    return (offered[-at].tool,) if score >= THRESHOLD - _ease(clause.text) else ()


class _Against:
    """What the mood of a clause says against tools: what is asked about is not to be done, nor what was done already.

    Where the verb of an order names one of the tools, the others are not meant.
    """

    def __init__(self, text: str, offered: Sequence[Offer]) -> None:
        self._mood = mood(text)
        self._reported = stem(reported(text))
        verb = leading(words(ordered(text))) if self._mood == "order" else ""
        self._verb = stem(verb) if weight(verb) > _LIGHT else ""
        self._named = {offer.tool.name for offer in offered if self._verb in map(stem, offer.name)}

    def penalty(self, offer: Offer) -> float:
        """The points that a tool must be better by."""
        if self._mood == "report" and self._reported in map(stem, offer.name):
            return 1.0
        if self._mood == "report":
            return 0.3
        if self._mood == "question" and offer.deed and not reads(offer.deed):
            return 0.3
        return 0.3 if self._named and offer.tool.name not in self._named else 0.0


def _ease(text: str) -> float:
    """How much less is enough where a model could not know the answer by itself."""
    return 0.2 if needs_the_world(text) and mood(text) != "report" else 0.0


def _likely(offered: Sequence[Offer], said: Sequence[str]) -> list[tuple[int, Offer]]:
    """The tools whose words fit best, each with its place: only for these is it worth to look for arguments."""
    ranked = sorted(enumerate(offered), key=lambda each: (-fitness(each[1], said, NOTHING), each[0]))
    return ranked[:_MOST_LIKELY]


def _told(own: Sequence[str], head: Sequence[str]) -> list[str]:
    """The words that ask for a text to be composed or explained; a clause without a verb goes on with its sentence."""
    first = next((word for word in own if keys(word)), "")
    asking = own if weight(first) < 1 else (*head[:_FIRST_WORDS], *own)
    return [word for word in asking[: 2 * _FIRST_WORDS] if word in _COMPOSED]


def _margin(offer: Offer, told: Sequence[str]) -> float:
    """What a tool must do better by: a text that is to be told is prose; a colleague or a computer is asked soon."""
    if _HANDOFF.match(offer.tool.name) or offer.tool.kind.startswith("computer"):
        return -0.3
    own = frozenset().union(*map(keys, offer.name))
    return 0.6 if told and not any(keys(word) & own for word in told) else 0.0


def _denied(clause: Clause, offered: Sequence[Offer]) -> Iterator[str]:
    """The names of the tools that a clause does not want."""
    if not clause.denied:
        return
    said = words(clause.denied)
    for offer in offered:
        if named_at(offer, clause.denied) is not None or fitness(offer, said, mentions("")) >= THRESHOLD - 0.1:
            yield offer.tool.name


_MOST_LIKELY = 12
_LIGHT = 0.5  # weight of verbs that name no tool
_FIRST_WORDS = 5
_LONGEST_END = 8_000
_POINTS_BACK = re.compile(r"\b(?:it|its|them|their|that|those|this|the\s+results?|the\s+answer|there)\b", re.IGNORECASE)
_LOOSE = re.compile(r"[\s,;:]*(?:\b(?:and|then|also|but|finally)\s*)*$", re.IGNORECASE)
_FOLLOWING = re.compile(r"\s*(?:and|what\s+about|how\s+about|same\s+for|now|also)\b", re.IGNORECASE)
_HANDOFF = re.compile(r"(?:transfer|handoff|hand_off|delegate|escalate|route)_?(?:to)?_", re.IGNORECASE)
_COMPOSING = (
    "explain describe define poem story joke essay haiku compose history write discuss opinion why meaning mean means "
    "difference teach song limerick riddle"
)
_COMPOSED = frozenset(_COMPOSING.split())
