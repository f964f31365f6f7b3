"""Splits a text into clauses: what they ask for, what they deny and what comes later. Knows no tools."""

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clause:
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


def clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a text, in order; of a long one those at both ends."""
    found = tuple(_clause(text, *piece) for piece in _pieces(unquoted(text)) if piece[0].strip())
    return found if len(found) <= 2 * _MOST_AT_AN_END else (*found[:_MOST_AT_AN_END], *found[-_MOST_AT_AN_END:])


def unquoted(text: str) -> str:
    """Return the text with blanks for what stands in quotes or fences: it asks for nothing. Names stay."""
    return _QUOTED.sub(lambda found: found[0] if _NAME.fullmatch(found[0][1:-1]) else " " * len(found[0]), text)


def _pieces(text: str) -> Iterator[tuple[str, int, str]]:
    """The pieces between signs and conjunctions, where they start, and what precedes them."""
    start, joint = 0, "."
    for found in _JOINT.finditer(text):
        yield text[start : found.start()], start, joint
        start, joint = found.end(), found[0]
    yield text[start:], start, joint


def _clause(text: str, piece: str, start: int, joint: str) -> Clause:
    wanted, denied = _split_denial(piece)
    later = _LATER.search(joint) is not None or _BEGINS_LATER.match(piece) is not None
    first = not joint[:1].isalpha() and joint[:1] not in ",，、"
    end = start + len(piece)
    return Clause(wanted, text[start:end], start, end, denied, later, _IDLE.search(piece) is not None, first)


def _split_denial(piece: str) -> tuple[str, str]:
    """What a piece wants and what it denies: all that follows a word of denial, up to a word such as `just`."""
    found = _DENIAL.search(piece)
    if found is None:
        return piece, ""
    rest = piece[found.end() :]
    turned = _TURN.search(rest)
    if turned is None:
        return piece[: found.start()], rest
    return piece[: found.start()] + " " + rest[turned.end() :], rest[: turned.start()]


_MOST_AT_AN_END = 16
_NAME = re.compile(r"\w{1,64}")
_QUOTED = re.compile(
    r'```[^`]*```|`[^`\n]*`|"[^"\n]*"|“[^“”\n]*”|«[^«»\n]*»|「[^「」\n]*」|(?<!\w)\'[^\'\n]{2,200}\'(?!\w)'
)
_JOINT = re.compile(
    r"[.!?;:](?=\s|$)[.!?]*|[。！？；，、]|\n+|,|\s-\s|[—–]"
    r"|\b(?:and\s+then|and\s+also|and\s+finally|as\s+well\s+as|after\s+that|and|then|also|afterwards|finally|but)\b",
    re.IGNORECASE,
)
_LATER = re.compile(r"then|after|finally", re.IGNORECASE)
_BEGINS_LATER = re.compile(r"\s*(?:next|once|after|afterwards|lastly|when\s+(?:you|that|it|this))\b", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:"
    r"(?<!\bI )(?<!\bwe )(?<!\bthey )(?:do\s+not|don'?t|don’t)(?!\s+(?:know|forget|have|hesitate|worry|mind|you))"
    r"|(?:I|we)\s+(?:do\s+not|don'?t|don’t)\s+(?:want|need|like)(?:\s+you)?(?:\s+to)?"
    r"|never|without|no\s+need\s+to|not\s+to|avoid|instead\s+of|rather\s+than|stop(?=\s+\w+ing\b)|skip|refrain\s+from|not"
    r"|except|no)\b",
    re.IGNORECASE,
)
_TURN = re.compile(r"\b(?:just|instead|simply|rather|only)\b", re.IGNORECASE)
_IDLE = re.compile(
    r"^\s*(?:(?:many\s+)?thanks|thank\s+you|thx|great|perfect|awesome|cool|got\s+it)\b"
    r"|\b(?:what|which)\s+(?:tools|functions)\b|\bwhat\s+can\s+you\s+do\b|\bhow\s+(?:does|do)\b.{0,60}\bwork\b"
    r"|\bwhat\s+(?:does|do|is|are)\b.{0,60}\b(?:tools?|functions?)\b|\bdo\s+you\s+have\b.{0,60}\b(?:tools?|functions?)\b"
    r"|\bwho\s+are\s+you\b|\bhow\s+are\s+you\b"
    r"|\b(?:do|did|would)\s+you\s+(?:\w+\s+)?(?:like|love|hate|enjoy|prefer|believe|dream|feel)\b"
    r"|\byour\s+(?:own\s+)?favou?rite\b"
    r"|^\s*(?:I|we|he|she|they)(?:['’]ve|\s+have|\s+had)?\s+(?:already\s+|just\s+)?(?:(?!need)\w{2,20}ed|read|got|bought|sent|made)\b",
    re.IGNORECASE,
)
