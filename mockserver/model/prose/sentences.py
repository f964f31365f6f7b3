"""Endless sentences on a topic in its language: English ones from templates, others of random words."""

import re
from collections.abc import Iterator
from functools import cache
from string import Formatter

from mockserver.core.seed import Random
from mockserver.model.fillers import capitalized, english, pick, some_aspects, two_of, word_lists
from mockserver.model.prose.language import ENGLISH, UNSPACED, languages, lexicon
from mockserver.model.prose.topic import Topic


def sentences(topic: Topic, rng: Random, *, opened: bool = True) -> Iterator[str]:
    """Yield sentences without end; if `opened`, the first answers the topic's question."""
    return Speaker(topic, rng).sentences(opened=opened)


def blank(topic: Topic) -> str:
    """Return what separates two sentences."""
    return "" if topic.language in UNSPACED else " "


class Speaker:
    """Makes the sentences of one text, from one random stream."""

    __slots__ = ("_aspects", "_filled", "_rng", "_topic")

    def __init__(self, topic: Topic, rng: Random) -> None:
        self._topic, self._rng = topic, rng
        if topic.language == ENGLISH:
            self._aspects = some_aspects(rng)
            self._filled = {
                **_verbs(topic.plural),
                "topic": topic.subject,
                "Topic": capitalized(topic.subject),
                "said": topic.said,
                "Said": capitalized(topic.said),
                "act": topic.act,
            }

    def sentences(self, *, opened: bool = True) -> Iterator[str]:
        """Yield sentences without end; if `opened`, the first answers the question."""
        if self._topic.language != ENGLISH:
            yield from self._foreign(opened=opened)
        if opened:
            yield self.opener()
        while True:
            yield from self._shuffled(english("middles"))

    def ended(self) -> Iterator[str]:
        """Yield the end of a sentence that has begun, then sentences without end."""
        if self._topic.language == ENGLISH:
            yield self.filled(pick(english("endings"), self._rng))
        yield from self.sentences(opened=False)

    def closer(self) -> str:
        """Return a sentence that ends an answer; an empty text in other languages than English."""
        return self.filled(pick(english("closers"), self._rng)) if self._topic.language == ENGLISH else ""

    def thoughts(self) -> Iterator[str]:
        """Yield what a model thinks before it answers, without end."""
        if self._topic.language != ENGLISH:
            yield from self.sentences()
        about, *others = english("thoughts")
        if self._topic.subject:
            yield self.filled(about)
        while True:
            yield from map(self.filled, others)

    def opener(self) -> str:
        """Return a sentence that answers the question, or says what the answer is about."""
        topic = self._topic
        of_matter = topic.kind == "state" and not _FROM_SOMEBODY.match(topic.said)
        kind = "tell" if of_matter or not english(topic.kind, "openers") else topic.kind
        openers = english(kind, "openers")
        needed = topic.act if kind in ("how", "do") else topic.said if kind == "why" else topic.subject
        if not needed:
            openers = tuple(opener for opener in openers if _gaps(opener).isdisjoint(_OF_TOPIC))
        return self.filled(pick(openers or english("any", "openers"), self._rng))

    def filled(self, template: str) -> str:
        """Return a template with its gaps filled."""
        rng, filled = self._rng, self._filled
        filled["a"], filled["b"] = two_of(self._aspects, rng)
        filled["A"] = capitalized(filled["a"])
        filled["word"] = pick(self._topic.words or ("this",), rng)
        gaps = _gaps(template)
        if not filled.keys() >= gaps:
            filled |= {gap: pick(choices, rng) for gap, choices in _rare() if gap in gaps and gap not in filled}
        return template.format_map(filled)

    def _shuffled(self, templates: tuple[str, ...]) -> Iterator[str]:
        """Every sentence that the topic allows once, in some order."""
        left = list(templates)
        while left:
            chosen = left.pop(int(self._rng.random() * len(left)))
            if self._topic.subject or "{topic}" not in chosen:
                yield self.filled(chosen)

    def _foreign(self, *, opened: bool) -> Iterator[str]:
        """Sentences of a language's words without end; if `opened`, the first names the subject."""
        topic, rng, words = self._topic, self._rng, lexicon(self._topic.language)
        while True:
            made = [pick(words, rng) for _ in range(rng.randrange(5, 12))]
            if opened and topic.subject:
                made.insert(rng.randrange(2, 4), f"“{topic.subject}”")
            opened = False
            yield capitalized(blank(topic).join(made)) + languages()[topic.language].full_stop


@cache
def _gaps(template: str) -> frozenset[str]:
    return frozenset(gap for _, gap, _, _ in Formatter().parse(template) if gap)


@cache
def _verbs(plural: bool) -> dict[str, str]:
    return {verb: forms[plural] for verb, forms in word_lists("english")["verbs"].items()}


@cache
def _rare() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Gaps that few templates have, with what fills them."""
    numbers = tuple(map(str, (*range(2, 12), 15, 20, 24, 30, 40, 60, 100)))
    return (
        ("time", english("times")),
        ("place", english("places")),
        ("person", english("persons")),
        ("number", numbers),
    )


_FROM_SOMEBODY = re.compile(
    r"(?i)(?:i|i'm|im|i've|we|we're|he|she|they|it|it's|my|our|there|that|you|yesterday|today)\b."
)
_OF_TOPIC = frozenset({"topic", "Topic", "act", "said", "Said"})
