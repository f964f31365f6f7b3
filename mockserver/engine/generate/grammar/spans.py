"""Texts of a grammar that stand in a prompt as they are: among its quoted phrases, and anywhere from word to word."""

import re
from collections.abc import Iterator

from mockserver.core.call import Json
from mockserver.engine.generate.grammar.bnf import Grammar
from mockserver.engine.generate.grammar.recognition import MOST_STEPS, Reading, reading
from mockserver.engine.generate.prompt import Mention, Mentions

_MOST_PHRASES = 24
_LONGEST = 2_000  # characters of a phrase
_READ = 4_000  # characters of a prompt
_MOST_PLACES = 200


def phrases(said: Mentions) -> Iterator[str]:
    """What the prompt mentions, as it is written and without its quotes, the longest first."""
    found = (form for mention in said.found[:_MOST_PHRASES] for form in _forms(mention, said.text))
    texts = dict.fromkeys(text for text in found if isinstance(text, str) and 0 < len(text) <= _LONGEST)
    yield from sorted(texts, key=len, reverse=True)


def _forms(mention: Mention, text: str) -> Iterator[Json]:
    raw = text[mention.start : mention.end]
    yield from (mention.value, raw)
    if mention.kind == "expression":
        yield "".join(raw.split())


def best_phrase(grammar: Grammar, said: Mentions) -> tuple[str, int]:
    """The phrase with the most tokens that the grammar derives, and their number: 0 where there is none.

    Raises SlowError.
    """
    best, most, steps = "", 0, MOST_STEPS
    for phrase in phrases(said):
        found = reading(grammar, phrase, steps=steps)
        steps = found.left
        if found.tokens > most and found.end == len(phrase):
            best, most = phrase, found.tokens
    return best, most


def best_span(grammar: Grammar, text: str) -> tuple[str, int]:
    """The same for any part of a text."""
    text, best, most, steps = text[:_READ], "", 0, MOST_STEPS
    for place in [*_WORD_START.finditer(text)][:_MOST_PLACES]:
        found = reading(grammar, text, place.start(), steps)
        steps = found.left
        if found.tokens > most and _ends_a_word(text, found):
            best, most = text[place.start() : found.end].strip(), found.tokens
    return best, most


def _ends_a_word(text: str, found: Reading) -> bool:
    end = found.end or 0
    return not (text[end - 1 : end].isalnum() and text[end : end + 1].isalnum())


_WORD_START = re.compile(r"(?<!\w)\w|(?<![^\s\w])[^\s\w]")
