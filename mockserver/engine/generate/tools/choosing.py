"""Which of the offered tools a text asks for, in its order, and with which of its words.

Knows nothing of what was called before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mockserver.core.call import Tool
from mockserver.engine.generate.prompt import mentions
from mockserver.engine.generate.tools.clauses import Clause, clauses
from mockserver.engine.generate.tools.commands import runner
from mockserver.engine.generate.tools.fitting import Setting, denied, described, named, refers
from mockserver.engine.generate.tools.moods import mood
from mockserver.engine.generate.tools.offers import Offer, fitness, named_at, offers, required_of
from mockserver.engine.generate.tools.wording import Keys, keys, weight, words


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
