"""What a prompt is about: its question, the subject of it, and the words that an answer picks up.

Knows texts alone. In English a question is taken apart; in other languages a subject is what the frequent words leave.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from mockserver.model.languages import ENGLISH, UNSPACED, frequent, language_asked, language_of
from mockserver.model.prose.questions import LONGEST, SIGNS, is_order, question, telling_words
from mockserver.model.vocabulary import excerpt


@dataclass(frozen=True, slots=True)
class Topic:
    """A prompt as an answer needs to know it.

    `kind` is the question: what, how, why, yes, when, where, who, count, tell and do where something
    is ordered, or state where nothing is.
    `subject` is a noun phrase, `act` what somebody wants to do, `said` the question without its sign; each
    may be empty.
    """

    text: str
    language: str
    kind: str = ""
    subject: str = ""
    act: str = ""
    said: str = ""
    words: tuple[str, ...] = ()
    several: bool = False  # whether the subject is more than one thing, as far as its form tells


def topic(text: str, wish: str = "") -> Topic:
    """What a text is about; `wish` is what else may name a language for the answer."""
    return _topic(excerpt(text), excerpt(wish))


@lru_cache(maxsize=256)
def _topic(text: str, wish: str) -> Topic:
    ask = _ask(text)
    spoken = language_of(text)
    language = language_asked(text) or language_asked(wish) or spoken
    if spoken == ENGLISH:
        kind, subject, act = question(ask)
    else:
        kind, subject, act = "tell", _trimmed(ask, spoken), ""
    return Topic(
        text, language, kind, subject, act, ask.rstrip(SIGNS), telling_words(subject or ask, spoken), _several(subject)
    )


def _several(subject: str) -> bool:
    head = _PREPOSITION.split(subject, maxsplit=1)[0]
    last = head.rsplit(" ", 1)[-1].lower()
    return " and " in head or (last.endswith("s") and not last.endswith(("ss", "us", "is", "'s", "ics", "ness")))


def _ask(text: str) -> str:
    """The sentence that asks: the last question, or the first order, or the first sentence that says anything."""
    sentences: list[str] = [found.strip() for found in _SENTENCE.findall(text)]
    telling = [found for found in sentences if len(found) > 1 and not _EMPTY.fullmatch(found)]
    if len(telling) < 2:
        return telling[0] if telling else ""
    questions = (found for found in reversed(telling) if found.endswith(_QUESTION_SIGNS))
    orders = (found for found in telling if is_order(found))
    return next(questions, None) or next(orders, None) or telling[0]


def _trimmed(ask: str, language: str) -> str:
    """What stands between the frequent words at both ends of a sentence."""
    if language in UNSPACED:
        return _between(_CLAUSE_ANYWHERE.split(ask.strip(SIGNS), maxsplit=1)[0], language)
    known, words = frequent(language), _CLAUSE_ANYWHERE.split(ask.strip(SIGNS), maxsplit=1)[0].split()[:14]
    while words and words[0].strip(SIGNS).lower() in known:
        words.pop(0)
    while words and words[-1].strip(SIGNS).lower() in known:
        words.pop()
    return " ".join(words[:8])[:LONGEST].strip(SIGNS)


def _between(text: str, language: str) -> str:
    """The same where no blanks part the words."""
    known = sorted(frequent(language), key=lambda word: (-len(word), word))
    rest, before = text, None
    while rest != before:
        before = rest
        for word in known:
            if len(word) < len(rest):
                rest = rest.removeprefix(word).removesuffix(word) if len(word) > 1 else rest.removesuffix(word)
    return rest[:_LONGEST_UNSPACED].strip(SIGNS)


_QUESTION_SIGNS = ("?", "？", "؟")
_PREPOSITION = re.compile(r" (?:of|in|on|to|for|from|with|at|by|about|between|near|under) ")
_SENTENCE = re.compile(r"(?:[^.!?\n。！？؟।]|[.](?=[^\s]))+[.!?。！？؟।]*")
_EMPTY = re.compile(r"(?i)(?:hi|hello|hey|hallo|hola|bonjour|thanks|thank you|ok|okay|please)?[\W\d_]*")
_CLAUSE_ANYWHERE = re.compile(r"[,;:()\n?!？！，。；：、؟，]|\. |\s[-–—]\s")
_LONGEST_UNSPACED = 24
