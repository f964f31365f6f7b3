"""Endless sentences on a topic in its language: English ones from templates, others of random words."""

from collections.abc import Iterator, Sequence
from functools import cache
from string import Formatter

from mockserver.core.seed import Random
from mockserver.model.fillers import capitalized, english, pick, some_aspects, two_of
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
        self._aspects = some_aspects(rng)
        filled = {"topic": topic.subject, "said": topic.said, "act": topic.act}
        filled |= {"Topic": capitalized(topic.subject), "Said": capitalized(topic.said)}
        self._filled = {gap: text for gap, text in filled.items() if text}

    def sentences(self, *, opened: bool = True) -> Iterator[str]:
        """Yield sentences without end; if `opened`, the first answers the question."""
        if self._topic.language != ENGLISH:
            yield from self._foreign(opened=opened)
        if opened:
            yield self.opener()
        while True:
            left = self._sayable(english("middles"))
            while left:
                yield self.filled(left.pop(int(self._rng.random() * len(left))))

    def ended(self) -> Iterator[str]:
        """Yield the end of a sentence that has begun, then sentences without end."""
        if self._topic.language == ENGLISH:
            yield self.filled(pick(english("endings"), self._rng))
        yield from self.sentences(opened=False)

    def thoughts(self) -> Iterator[str]:
        """Yield what a model thinks before it answers, without end."""
        if self._topic.language != ENGLISH:
            yield from self.sentences()
        while True:
            yield from map(self.filled, self._sayable(english("thoughts")))

    def opener(self) -> str:
        """Return a sentence that answers the question, or says what the answer is about."""
        openers = self._sayable(english(self._topic.kind, "openers")) or english("any", "openers")
        return self.filled(pick(openers, self._rng))

    def filled(self, template: str) -> str:
        """Return a template with its gaps filled."""
        first, second = two_of(self._aspects, self._rng)
        word = pick(self._topic.words or ("this",), self._rng)
        return template.format(**self._filled, a=first, b=second, A=capitalized(first), word=word)

    def _sayable(self, templates: Sequence[str]) -> list[str]:
        """The templates for which the topic says enough."""
        return [template for template in templates if _gaps(template) <= self._filled.keys() | _ALWAYS]

    def _foreign(self, *, opened: bool) -> Iterator[str]:
        topic, rng, words = self._topic, self._rng, lexicon(self._topic.language)
        while True:
            made = [pick(words, rng) for _ in range(rng.randrange(5, 12))]
            if opened and topic.subject:
                made.insert(rng.randrange(2, 4), f"“{topic.subject}”")
            opened = False
            yield capitalized(blank(topic).join(made)) + languages()[topic.language].get("full_stop", ".")


@cache
def _gaps(template: str) -> frozenset[str]:
    return frozenset(gap for _, gap, _, _ in Formatter().parse(template) if gap)


_ALWAYS = frozenset({"a", "b", "A", "word"})
