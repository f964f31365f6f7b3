"""Answers in the form that a prompt asks for: its own words, an option, a sum, a list, code, verses.

Knows general shapes of orders, no prompt in particular; whatever has none of them is answered in prose.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from mockserver.core.seed import Random
from mockserver.model.forms.code import coded
from mockserver.model.forms.exact import chosen, computed, dictated
from mockserver.model.forms.extracts import counted, extracted, ordered_anew
from mockserver.model.forms.lists import listed, tabled
from mockserver.model.forms.pieces import (
    GREETING_WORDS,
    letter,
    measured,
    one_word,
    rated,
    repeated,
    small_talk,
    summed_up,
    titled,
    told_story,
    versed,
)
from mockserver.model.forms.prompt import Asked
from mockserver.model.languages import ENGLISH
from mockserver.model.prose.topic import Topic
from mockserver.model.vocabulary import excerpt, vocabulary

Form = Callable[[Asked, Random], str | None]
Forms = tuple[tuple[frozenset[str], Form], ...]


def formed(topic: Topic, rules: str, rng: Random) -> str | None:
    """The text that a prompt asks for by its form; None where any prose will do, or a text of some length."""
    return _first(FORMS, topic, rules, rng)


def shaped(topic: Topic, rules: str, rng: Random) -> str | None:
    """So many items, sentences or words, as a prompt orders them of whatever is said; None where it does not."""
    return _first(SHAPES, topic, rules, rng)


def _first(forms: Forms, topic: Topic, rules: str, rng: Random) -> str | None:
    asked = Asked(topic.text, excerpt(rules), topic)
    words = _words(asked.text) | (_words(asked.rules) & _BINDING)
    if topic.language != ENGLISH:
        words |= _FOREIGN
    if _TRIGGERS.isdisjoint(words):
        return None
    for triggers, form in forms:
        if not triggers.isdisjoint(words) and (made := form(asked, rng)) is not None:
            return made
    return None


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


_WORD = re.compile(r"[a-z]+|[0-9]|[-+*/=÷×^](?= ?[0-9(])")
_FOREIGN = frozenset({"hello", "choices", "+"})  # what other languages greet, choose and add with is not listed here

# Each form, and the words without which no prompt orders it: most prompts order none, and are not searched.
FORMS: Forms = tuple(
    (frozenset(triggers.split()), form)
    for triggers, form in (
        (GREETING_WORDS, small_talk),
        ("say repeat echo reply respond answer output print return write type", dictated),
        (
            "+ - * / ÷ × plus minus times multiplied divided add sum multiply product divide subtract over x "
            "^ percent of root squared cubed power", computed),
        (
            "one among choose select pick options categories labels classes choices or yes true answer reply respond "
            "return output verdict judge "
         "classify categorize categorise label tag sentiment category class letter b", chosen),
        (
            "function functions code script scripts program programs snippet query queries method class component "
            "algorithm "
         "implementation liner tests test endpoint command regex python javascript typescript java golang rust "
         "ruby php swift "
         "kotlin sql bash shell html css", coded),
        ("extract find list identify pull pick get return give show", extracted),
        ("reverse sort", ordered_anew),
        ("many count", counted),
        ("table tabular csv values", tabled),
        ("word", one_word),
        ("number integer score rating rate rank value scale grade", rated),
        ("title headline slogan tagline caption name subject", titled),
        ("haiku poem limerick verse song sonnet rhyme lyrics", versed),
        ("story tale joke fable", told_story),
        ("email mail letter message memo", letter),
        ("summarize summarise summary tl tldr sum condense shorten takeaway takeaways", summed_up),
        ("rewrite rephrase paraphrase correct proofread fix improve polish edit reformat", repeated),
    )
)  # fmt: skip
SHAPES: Forms = tuple(
    (frozenset(triggers.split()), form)
    for triggers, form in (
        (
            "list name bullet bullets bulleted numbered step checklist comma one two three four five six seven eight "
            "nine "
            "ten twelve "
         "fifteen twenty thirty fifty 0 1 2 3 4 5 6 7 8 9", listed),
        ("sentence sentences paragraph paragraphs words word", measured),
    )
)  # fmt: skip
_TRIGGERS = frozenset().union(*(triggers for triggers, _ in (*FORMS, *SHAPES)))
# What rules for a whole conversation may order: its form, not its matter.
_BINDING = vocabulary(
    "one among choose select pick options categories labels classes choices yes true answer reply respond "
    "return output classify "
    "categorize label sentiment word number integer score rating title bullet bullets bulleted sentence "
    "sentences words summarize summarise "
    "summary"
)
