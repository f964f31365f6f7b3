"""Sentences on a topic, as many as are wanted, in its language. Knows words and sentences, no calls."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from string import Formatter
from typing import TypeVar

from mockserver.core.seed import Random
from mockserver.model.languages import ENGLISH, LANGUAGES, UNSPACED, english, lexicon
from mockserver.model.languages.language import Language
from mockserver.model.prose.topic import Topic

T = TypeVar("T")


def sentences(topic: Topic, rng: Random, *, opened: bool = True) -> Iterator[str]:
    """Sentences without end; the first answers the topic's question where the text is `opened`."""
    return Speaker(topic, rng).sentences(opened=opened)


def blank(topic: Topic) -> str:
    """What stands between two sentences."""
    return "" if topic.language in UNSPACED else " "


def pick(choices: Sequence[T], rng: Random) -> T:
    """One of several."""
    return choices[int(rng.random() * len(choices))]  # `randrange` takes five times as long


class Speaker:
    """Fills sentences in, one random stream for all that it says."""

    __slots__ = ("_aspects", "_filled", "_rng", "_topic", "_written")

    def __init__(self, topic: Topic, rng: Random) -> None:
        self._topic, self._rng, self._written = topic, rng, _written(topic)
        self._aspects = _some(self._written.aspects or english.ASPECTS, rng)  # a text keeps to a few
        self._filled = {
            **_VERBS[topic.several],
            "topic": topic.subject,
            "Topic": _capital(topic.subject),
            "said": topic.said,
            "Said": _capital(topic.said),
            "act": topic.act,
        }

    def sentences(self, *, opened: bool = True) -> Iterator[str]:
        """Sentences without end; the first answers the question where the text is `opened`."""
        if opened:
            yield self.opener()
        while True:
            yield from self.middles()

    def ended(self) -> Iterator[str]:
        """The end of a sentence that has begun, then sentences without end."""
        if self._topic.language == ENGLISH:
            yield self.said(pick(english.ENDINGS, self._rng))
        yield from self.sentences(opened=False)

    def closer(self) -> str:
        """A sentence that ends an answer; empty where the language has none."""
        return self.said(pick(english.CLOSERS, self._rng)) if self._topic.language == ENGLISH else ""

    def thoughts(self) -> Iterator[str]:
        """What goes through a mind that is to answer, without end."""
        if self._topic.language != ENGLISH:
            yield from self.sentences()
        if self._topic.subject:
            yield self.said(english.THOUGHTS[0])
        while True:
            yield from (self.said(thought) for thought in english.THOUGHTS[1:])

    def opener(self) -> str:
        """A sentence that answers the question, or says what the answer is about."""
        topic = self._topic
        if topic.language == ENGLISH:
            return self.said(pick(self._openers(), self._rng))
        openers = self._written.openers
        return self.said(pick(openers if topic.subject and openers else self._written.middles, self._rng))

    def middles(self) -> Iterator[str]:
        """Every sentence that can go on with the topic once, in some order."""
        yield from self.all_of(english.MIDDLES if self._topic.language == ENGLISH else self._written.middles)

    def all_of(self, written: tuple[str, ...]) -> Iterator[str]:
        """Every sentence of these that the topic allows once, in some order."""
        order = list(written)
        while order:
            chosen = order.pop(int(self._rng.random() * len(order)))
            if self._topic.subject or "{topic}" not in chosen:
                yield self.said(chosen)

    def said(self, sentence: str) -> str:
        """One sentence with its gaps filled."""
        if not sentence:
            return self._made_up()
        rng, filled, aspects = self._rng, self._filled, self._aspects
        at = int(rng.random() * (len(aspects) - 1))
        filled["a"], filled["b"] = aspects[at], aspects[at + 1 + int(rng.random() * (len(aspects) - 1 - at))]
        if rng.random() < 0.5:
            filled["a"], filled["b"] = filled["b"], filled["a"]
        if self._topic.language == ENGLISH:
            filled["A"] = _capital(filled["a"])
            filled["word"] = pick(self._topic.words or ("this",), rng)
            if not _COMMON.issuperset(_gaps(sentence)):
                filled |= {
                    gap: pick(choices, rng) for gap, choices in _RARE if gap in _gaps(sentence) and gap not in filled
                }
        return sentence.format_map(filled)

    def _openers(self) -> tuple[str, ...]:
        """The openers of the topic's kind of question that speak of nothing which the topic lacks."""
        topic = self._topic
        of_matter = topic.kind == "state" and not _FROM_SOMEBODY.match(topic.said)
        kind = "tell" if of_matter or topic.kind not in english.OPENERS else topic.kind
        bare = tuple(opener for opener in english.OPENERS[kind] if _gaps(opener).isdisjoint(_OF_TOPIC))
        return english.OPENERS[kind] if self._told(kind) else bare or english.OPENERS[""]

    def _told(self, kind: str) -> bool:
        """Whether the topic has what the openers of its kind speak of."""
        return bool(
            self._topic.act if kind in ("how", "do") else self._topic.said if kind == "why" else self._topic.subject
        )

    def _made_up(self) -> str:
        """A sentence of a language's words, where nobody has written any for it."""
        words = lexicon(self._written.locale)
        made = [pick(words, self._rng) for _ in range(self._rng.randrange(5, 12))]
        if self._topic.subject:
            made.insert(self._rng.randrange(2, 4), f"“{self._topic.subject}”")
        return _capital(" ".join(made)) + _FULL_STOPS.get(self._topic.language, ".")


def _written(topic: Topic) -> Language:
    """What is written down of the topic's language; where that is nothing, gaps to be filled with its words."""
    if topic.language == ENGLISH:
        return _NOTHING_WRITTEN
    language = LANGUAGES[topic.language]
    return language if language.middles else Language("", "", middles=("",), locale=language.locale)


def _some(aspects: tuple[str, ...], rng: Random) -> list[str]:
    """A few aspects in some order."""
    left = list(aspects)
    return [left.pop(int(rng.random() * len(left))) for _ in range(min(_ASPECTS, len(left)))]


@cache
def _gaps(sentence: str) -> frozenset[str]:
    return frozenset(gap for _, gap, _, _ in Formatter().parse(sentence) if gap)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_FROM_SOMEBODY = re.compile(
    r"(?i)(?:i|i'm|im|i've|we|we're|he|she|they|it|it's|my|our|there|that|you|yesterday|today)\b."
)
_OF_TOPIC = frozenset({"topic", "Topic", "act", "said", "Said"})
_NOTHING_WRITTEN = Language("", "")
_ASPECTS = 5
_FULL_STOPS = {"hy": "։", "bn": "।"}
_VERBS = tuple({verb: forms[several] for verb, forms in english.VERBS.items()} for several in (False, True))
_COMMON = frozenset({"topic", "Topic", "said", "Said", "act", "a", "b", "A", "word", *english.VERBS})
_RARE = (
    ("time", english.TIMES),
    ("place", english.PLACES),
    ("person", english.PERSONS),
    ("number", tuple(map(str, (*range(2, 12), 15, 20, 24, 30, 40, 60, 100)))),
)
