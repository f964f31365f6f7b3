"""Parts what somebody says into clauses: what is asked for, what is not wanted, and what is to come later.

Knows English words for order and denial, no tools.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a text, from `start` up to `end`, quoted parts blanked.

    `denied` is what the piece says is not wanted; `later` says that it comes after what stands before it; `idle` that
    it asks for nothing: it thanks, greets, or asks about the tools themselves; `first` that a sentence begins with it.
    """

    text: str
    start: int
    end: int
    denied: str = ""
    later: bool = False
    idle: bool = False
    first: bool = True


def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a text, in order; of a long one those at its two ends."""
    found = [_clause(*piece) for piece in _pieces(unquoted(text)) if piece[0].strip()]
    return tuple(found if len(found) <= 2 * _MOST_AT_AN_END else _ends(found))


def _ends(found: Sequence[Clause]) -> list[Clause]:
    return [*found[:_MOST_AT_AN_END], *found[-_MOST_AT_AN_END:]]


def unquoted(text: str) -> str:
    """The text, what stands in quotes or fences replaced by blanks: it is said of, not asked for. Names stay."""
    return _QUOTED.sub(lambda found: found[0] if _NAME.fullmatch(found[0][1:-1]) else " " * len(found[0]), text)


def _pieces(text: str) -> Iterator[tuple[str, int, str]]:
    """Pieces between signs and joining words, where they start, and what stands before them."""
    start, joint = 0, "."
    for found in _JOINT.finditer(text):
        yield text[start : found.start()], start, joint
        start, joint = found.end(), found[0]
    yield text[start:], start, joint


def _clause(piece: str, start: int, joint: str) -> Clause:
    wanted, denied = _parted(piece)
    later = _LATER.search(joint) is not None or _BEGINS_LATER.match(piece) is not None
    first = not joint[:1].isalpha() and joint[:1] not in ",，、"
    return Clause(wanted, start, start + len(piece), denied, later, _IDLE.search(piece) is not None, first)


def _parted(piece: str) -> tuple[str, str]:
    """What a piece wants and what it denies: all that follows a word of denial, up to `just` and its kin."""
    found = _DENIAL.search(piece)
    if found is None:
        return piece, ""
    rest = piece[found.end() :]
    turned = _TURN.search(rest)
    if turned is None:
        return piece[: found.start()], rest
    return piece[: found.start()] + " " + rest[turned.end() :], rest[: turned.start()]


_MOST_AT_AN_END = 200
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
    r"|\byour\s+(?:own\s+)?favou?rite\b",
    re.IGNORECASE,
)
