"""Sentences on a topic, as many as are wanted, in its language. Knows words and sentences, no calls."""

from collections.abc import Iterator

from mockserver.core.seed import Random
from mockserver.engine.generate import english
from mockserver.engine.generate.languages import ENGLISH, LANGUAGES, UNSPACED, Language, lexicon
from mockserver.engine.generate.topic import Topic


def sentences(topic: Topic, rng: Random, *, opened: bool = True) -> Iterator[str]:
    """Sentences without end; the first answers the topic's question where the text is `opened`."""
    speaker = Speaker(topic, rng)
    if opened:
        yield speaker.opener()
    while True:
        yield from speaker.middles()


def closer(topic: Topic, rng: Random) -> str:
    """A sentence that ends an answer; empty where the language has none."""
    return Speaker(topic, rng).said(_pick(english.CLOSERS, rng)) if topic.language == ENGLISH else ""


def thoughts(topic: Topic, rng: Random) -> Iterator[str]:
    """What goes through a mind that is to answer, without end."""
    speaker = Speaker(topic, rng)
    if topic.language != ENGLISH:
        yield from sentences(topic, rng)
    if topic.subject:
        yield speaker.said(english.THOUGHTS[0])
    while True:
        yield from speaker.all_of(english.THOUGHTS[1:])


def blank(topic: Topic) -> str:
    """What stands between two sentences."""
    return "" if topic.language in UNSPACED else " "


class Speaker:
    """Fills sentences in, one random stream for all that it says."""

    __slots__ = ("_aspects", "_filled", "_rng", "_topic", "_written")

    def __init__(self, topic: Topic, rng: Random) -> None:
        self._topic, self._rng, self._written = topic, rng, _written(topic)
        aspects, several = self._written.aspects or english.ASPECTS, topic.several
        self._aspects = rng.sample(aspects, _ASPECTS)  # a text keeps to a few
        self._filled = {verb: forms[several] for verb, forms in english.VERBS.items()}
        self._filled |= {
            "topic": topic.subject,
            "Topic": _capital(topic.subject),
            "said": topic.said,
            "Said": _capital(topic.said),
            "act": topic.act,
        }

    def opener(self) -> str:
        """A sentence that answers the question, or says what the answer is about."""
        topic = self._topic
        if topic.language == ENGLISH:
            kind = topic.kind if topic.kind in english.OPENERS else "tell"
            return self.said(_pick(english.OPENERS[kind if self._told(kind) else ""], self._rng))
        openers = self._written.openers
        return self.said(_pick(openers if topic.subject and openers else self._written.middles, self._rng))

    def middles(self) -> Iterator[str]:
        """Every sentence that can go on with the topic once, in some order."""
        yield from self.all_of(english.MIDDLES if self._topic.language == ENGLISH else self._written.middles)

    def all_of(self, written: tuple[str, ...]) -> Iterator[str]:
        """Every sentence of these that the topic allows once, in some order."""
        order = list(written)
        for left in range(len(order), 0, -1):
            chosen = order.pop(self._rng.randrange(left))
            if self._topic.subject or "{topic}" not in chosen:
                yield self.said(chosen)

    def said(self, sentence: str) -> str:
        """One sentence with its gaps filled."""
        if not sentence:
            return self._made_up()
        rng, filled, aspects = self._rng, self._filled, self._aspects
        at = rng.randrange(len(aspects))
        filled["a"] = aspects[at]
        filled["b"] = aspects[at - rng.randrange(1, len(aspects))]
        if self._topic.language == ENGLISH:
            filled["A"] = _capital(filled["a"])
            filled["word"] = _pick(self._topic.words or ("this",), rng)
            for gap, choices in _RARE:
                if gap in sentence:
                    filled[gap[1:-1]] = _pick(choices, rng)
        return sentence.format_map(filled)

    def _told(self, kind: str) -> bool:
        """Whether the topic has what the openers of its kind speak of."""
        return bool(
            self._topic.act if kind in ("how", "do") else self._topic.said if kind == "why" else self._topic.subject
        )

    def _made_up(self) -> str:
        """A sentence of a language's words, where nobody has written any for it."""
        words = lexicon(self._written.locale)
        made = [_pick(words, self._rng) for _ in range(self._rng.randrange(5, 12))]
        if self._topic.subject:
            made.insert(self._rng.randrange(2, 4), f"“{self._topic.subject}”")
        return _capital(" ".join(made)) + _FULL_STOPS.get(self._topic.language, ".")


def _written(topic: Topic) -> Language:
    """What is written down of the topic's language; where that is nothing, gaps to be filled with its words."""
    if topic.language == ENGLISH:
        return _NOTHING_WRITTEN
    language = LANGUAGES[topic.language]
    return language if language.middles else Language("", "", middles=("",), locale=language.locale)


def _pick(choices: tuple[str, ...], rng: Random) -> str:
    return choices[rng.randrange(len(choices))]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_NOTHING_WRITTEN = Language("", "")
_ASPECTS = 5
_FULL_STOPS = {"hy": "։", "bn": "।"}
_RARE = (
    ("{time}", english.TIMES),
    ("{place}", english.PLACES),
    ("{person}", english.PERSONS),
    ("{number}", tuple(map(str, (*range(2, 12), 15, 20, 24, 30, 40, 60, 100)))),
)
