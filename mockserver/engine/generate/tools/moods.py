"""In which mood something is said: an order, a question, a report of what was done; and how much it takes a tool.

Knows English by its form, no tools. What only somebody's own records or this very day can tell, no model knows by
itself.
"""

import re
from typing import Literal

Mood = Literal["order", "question", "report"]


def mood(clause: str) -> Mood:
    """The mood of a clause; `can you …` and `I want to …` are orders."""
    if _ASKED_FOR.match(clause):
        return "order"
    if _QUESTION.match(clause):
        return "question"
    return "report" if _REPORT.match(clause) else "order"


def reported(clause: str) -> str:
    """The deed that somebody reports to have done: `cancelled` of `I have already cancelled it`."""
    found = _DONE.match(clause)
    return found["deed"].lower() if found else ""


def needs_the_world(clause: str) -> bool:
    """Whether something is asked that no model knows by itself: what is somebody's own, or so at present."""
    return _OWN.search(clause) is not None


def wanting(clause: str) -> bool:
    """Whether somebody says what is wanted: `I need …`, `could you …`."""
    return _ASKED_FOR.match(clause) is not None or _WANTING.match(clause) is not None


def ordered(clause: str) -> str:
    """An order from its verb on: without what is polite, or says only that something is wanted."""
    return _BEFORE_AN_ORDER.sub("", clause, count=1)


_COURTESY = (
    r"\s*(?:(?:hey|hi|hello|please|pls|kindly|ok|okay|now|so|well|just|first|next|finally|also|maybe|quick(?:ly)?|"
    r"thanks|good\s+\w{1,9})\b[\s,!.-]*){0,4}"
)
_ASKING = (
    r"(?:(?:can|could|would|will|may)\s+(?:you|u|we|I)\s+(?:(?:please|kindly|just|also|maybe|help\s+me|be\s+so\s+kind\s+"
    r"(?:as\s+)?to)\s+){0,3}"
    r"|(?:I|we)(?:['’]d|\s+would)?\s+(?:really\s+)?(?:want|need|like|love|wish|have)\s+(?:you\s+)?to\s+(?:please\s+)?"
    r"|(?:I|we)(?:['’]d|\s+would)\s+(?:really\s+)?(?:like|love|appreciate)\s+(?:it\s+if\s+you\s+could\s+)?"
    r"|let(?:['’]s|\s+us)\s+|go\s+ahead\s+and\s+|make\s+sure\s+to\s+|help\s+me\s+(?:to\s+)?|you\s+(?:should|must)\s+)"
)
_ASKED_FOR = re.compile(_COURTESY + _ASKING, re.IGNORECASE)
_BEFORE_AN_ORDER = re.compile(_COURTESY + f"(?:{_ASKING})?" + r"(?:please\s+)?", re.IGNORECASE)
_WANTING = re.compile(_COURTESY + r"(?:I|we)(?:['’]d|\s+would)?\s+(?:\w+\s+)?(?:need|want|like)\b", re.IGNORECASE)
_QUESTION = re.compile(
    _COURTESY + r"(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|am|does|did|do\s+(?:I|we|you|they)|"
    r"have\s+(?:I|we|you)|has|should|any|wh?ats|whos|wheres|hows)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    _COURTESY
    + r"(?:I|we|he|she|they|you)(?:['’]ve|\s+have|['’]d|\s+had)?\s+(?:already\s+|just\s+|recently\s+|once\s+)?"
    r"(?P<deed>\w{2,20}ed|sent|bought|made|wrote|written|found|read|set|paid|sold|got|had|took|did|done|ran|drew|drawn|"
    r"spoke|told|gave|put|built|drove|flew|ate|met|went|saw|seen|came|left)\b",
    re.IGNORECASE,
)
_REPORT = re.compile(
    rf"(?:{_DONE.pattern.replace('?P<deed>', '?:')}"
    r"|\s*(?:the|my|our|his|her|their|it|that|this|there)\s*(?:[\w-]{1,30}\s+){0,4}(?:was|were|has\s+been|had\s+been)\b)",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:my|mine|our|ours)\b|\b(?:am|do|did|have|can|should|are|will|must|may)\s+(?:I|we)\b|\bI\s+(?:have|need|want)\b"
    r"|\b(?:today|tonight|tomorrow|yesterday|now|currently|current|latest|recent|upcoming|rn)\b"
    r"|\b(?:this|next|last)\s+(?:week|month|year|morning|afternoon|evening|weekend|hour|\w{3,6}day)\b"
    r"|\bon\s+\w{3,6}day\b|\bis\s+there\b|\bare\s+there\b",
    re.IGNORECASE,
)
