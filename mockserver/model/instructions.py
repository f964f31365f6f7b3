"""What instructions say of the offered tools: which are always called, never, last, or one before another."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from mockserver.core.call import Call, Tool
from mockserver.core.lazy import lazy_pattern
from mockserver.model.choosing import HANDOFF, blank_quotes
from mockserver.model.form import WHEN_DONE
from mockserver.model.vocabulary import RULING, ends, keys, stem, weight, words


class Pair(Struct, frozen=True):
    """The first tool is called before the second, whenever the one that causes it is called."""

    first: str
    second: str
    cause: str


class Instructions(Struct):
    """Names of tools that are called in every turn, in order; never; once the work is done; and pairs of them.

    `hints` say when to call a tool.
    """

    always: list[str] = []
    never: set[str] = set()
    last: list[str] = []
    pairs: list[Pair] = []
    hints: dict[str, str] = {}


def read_instructions(call: Call, tools: Sequence[Tool]) -> Instructions:
    texts, left = list[str](), _LONGEST_SYSTEM
    for message in call.messages:
        if message.role in RULING and left > 0:
            texts.append(ends(message.text, _LONGEST_END, _LONGEST_END)[:left])
            left -= len(texts[-1])
    return _read_instructions("\n".join(texts), tuple(tool.name for tool in tools)) if texts else Instructions()


@lru_cache(maxsize=32)  # as the same come with each request of a client
def _read_instructions(text: str, names: tuple[str, ...]) -> Instructions:
    told, spoken = Instructions(), {*words(text)}
    known = [name for name in names if name.lower() in text.lower() or {*words(name)} <= spoken][:_MOST_NAMED]
    for sentence in islice(filter(str.strip, _END.split(blank_quotes(text))), _MOST_SENTENCES):
        found = _find_named(sentence, known)
        conditional, joint = _CONDITION.search(sentence), _JOINT.search(sentence)
        if not conditional and (denied := _FORBIDDEN.search(sentence)):
            told.never.update(names if denied["all"] and not found else found)
        elif _HANDING_OVER.search(sentence) and WHEN_DONE.search(sentence):
            told.last += [name for name in _find_receiving(sentence, names) if name not in told.last][:1]
        elif len(found) == 2 and joint:
            told.pairs += [_read_pair(sentence, joint, found)] if len(told.pairs) < _MOST_ORDERS else []
        elif not conditional and _OBLIGATION.search(sentence):
            told.always += [name for name in found if name not in told.always][: _MOST_ORDERS - len(told.always)]
        else:
            told.hints |= {name: f"{told.hints.get(name, '')} {sentence}"[:_LONGEST_HINT] for name in found}
    return told


def _find_receiving(sentence: str, names: Sequence[str]) -> Iterator[str]:
    """The tools that hand over to somebody whom a sentence names."""
    said = {*words(sentence)}
    handing = ((name, HANDOFF.match(name)) for name in names)
    return (name for name, verb in handing if verb and {*words(name[verb.end() :])} <= said)


def _read_pair(sentence: str, joint: re.Match[str], found: Sequence[str]) -> Pair:
    is_before, leads = joint[0].lower() == "before", not words(sentence[: joint.start()])
    first, second = found if is_before != leads else reversed(found)
    return Pair(first, second, cause=second if is_before else first)


def _find_named(sentence: str, known: Sequence[str]) -> list[str]:
    """The tools that a sentence names, in its order: as they are written, or by all words of a name of several."""
    if not known:
        return []
    lowered, heard = sentence.lower(), frozenset().union(*map(keys, words(sentence)))
    is_called, places = _CALLING.search(sentence) is not None, dict[str, int]()
    for name in known:
        told = [word for word in words(name) if keys(word)]
        written = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.I) if name.lower() in lowered else None
        if written and (not name.isalpha() or (is_called and (name[0].islower() or written[0][0].isupper()))):
            places[name] = written.start()
        elif len(told) > 1 and not any(
            (keys(word) if weight(word) < 0.5 else {stem(word)}).isdisjoint(heard) for word in told
        ):
            places[name] = lowered.find(told[0][:3])
    return sorted(places, key=places.__getitem__)


_LONGEST_END, _LONGEST_SYSTEM, _LONGEST_HINT = 20_000, 100_000, 900  # characters
_MOST_SENTENCES, _MOST_NAMED, _MOST_ORDERS = 2_000, 100, 64  # sentences, tools that they name, tools always called
_END = lazy_pattern(r"(?<=[.!?])\s+|\n+|;\s")
_FORBIDDEN = lazy_pattern(
    r"(?i)\b(?:never|do\s+not|don't|must\s+not|may\s+not|cannot|should\s+not|shouldn't|avoid)\b[^.]{0,20}?"
    r"\b(?:call|use|invoke|run|using|calling)\b(?P<all>\s+(?:any|the|your|these)?\s*(?:of\s+the\s+)?(?:tools?|functions?)"
    r"(?:\s+calls?)?\s*[.!]?\s*$)?"
)
_CONDITION = lazy_pattern(
    r"(?i)\b(?:if|when|whenever|only|unless|in\s+case|where|questions?|requests?|as\s+needed|asks?|about|more\s+than|"
    r"twice|until|without)\b"
)
_JOINT = lazy_pattern(r"(?i)\b(?:before|after)\b")
_HANDING_OVER = lazy_pattern(
    r"(?i)\b(?:hand|transfer|delegate|escalate|pass|return|report|go|switch)\w*\b[^.]{0,40}?\b(?:to|back)\b"
)
_OBLIGATION = lazy_pattern(
    r"(?i)\b(?:always|must|first|before|begin|start|make\s+sure|need\s+to|have\s+to|required|step\s*\d|shall"
    r"|every\s+(?:single\s+)?(?:answer|call|conversation|item|message|reply|response|step|task|time|turn|user))\b"
)
_CALLING = lazy_pattern(
    r"(?i)\b(?:call|use|invoke|run|consult|query|execute|tool|function|calling|using|search|check|look)\b"
)
