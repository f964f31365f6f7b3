"""What a prompt wants of any answer: capitals, tags around it, the words with which an agent that thinks in text ends.

Knows orders and texts; what is within the frame is made elsewhere.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mockserver.model.prose.topic import Topic


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user said last, the rules that stand before the conversation, and what it is all about."""

    text: str
    rules: str
    topic: Topic

    @property
    def both(self) -> tuple[str, str]:
        """The texts that may order something; the user's own comes first."""
        return self.text, self.rules


NUMBERS = {
    name: number
    for number, name in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
        ],
        1,
    )
} | {"a": 1, "an": 1, "single": 1, "twenty": 20, "thirty": 30, "fifty": 50, "a hundred": 100, "hundred": 100}
NUMBER = rf"(?:\d{{1,4}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"


def number_of(word: str) -> int:
    """The number that digits or a word name."""
    return int(word) if word.isascii() and word.isdigit() else NUMBERS[word.lower()]


def framed(text: str, orders: Iterable[str]) -> str:
    """The text in the frame that one of the orders wants; the text itself where none does."""
    for order in orders:
        if (case := _CASE.search(order)) is not None and "```" not in text:
            return text.upper() if case["upper"] else text.lower()
        if _STEPS.search(order) and _FINAL.search(order):
            return f"I now know the final answer.\nFinal Answer: {text}"
        tags = [found["name"] for found in _TAGS.finditer(order)]
        if tags and "<" not in text and "```" not in text:
            return f"<{tags[-1]}>{text}</{tags[-1]}>"  # what is thought aloud comes first, the answer last
    return text


_CASE = re.compile(
    r"(?i)\b(?:answer|respond|reply|write|output|speak|give|say|return|use|only)\b[^.\n:]{0,60}?\b(?:in|all|using|only)\s+"
    r"(?:(?P<upper>(?:all )?(?:upper[- ]?case|capitals?|capital letters|caps)\b)|(?:all )?lower[- ]?case\b)"
)
_STEPS = re.compile(r"(?m)^[ \t]{0,8}(?:Thought|Action)[ \t]{0,8}:")
_FINAL = re.compile(r"(?m)^[ \t]{0,8}Final Answer[ \t]{0,8}:(?![ \t]{0,8}$)")
_TAGS = re.compile(
    r"(?i)\b(?:answer|respond|response|reply|output|return|put|wrap|enclose|provide|place|write|give)\b[^.\n]{0,60}?"
    r"\b(?:in|inside|within|between|with|using)\s+"
    r"(?:the\s+|these\s+|an?\s+)?[`'\"]?<(?P<name>[a-z][\w-]{0,30})>(?:[\s.…]{0,9}</(?P=name)>|[`'\"]?\s+(?:xml\s+)?tags?\b)"
)
