"""The generators of text, of a plausible or stated length: prose, lorem ipsum, words, echo, Markdown, reasoning.

English sentences come from templates, those of other languages are random words.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain, cycle, islice, repeat, takewhile
from math import floor

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Failure, Part, Reasoning, Text
from mockserver.core.seed import Random, Seed
from mockserver.core.tokens import count, split
from mockserver.model.budget import MAX_TEXT_TOKENS
from mockserver.model.fillers import capitalized, english, note, pick, sentence, some_aspects, word
from mockserver.model.prose.topic import ENGLISH, UNSPACED, Topic, languages, lexicon, topic

Piece = tuple[str, int]  # of a text, with its tokens
# A sentence with `%(topic)s` for the gap `topic`; its tokens but for words with gaps, and what counts these, by gap.
Sentence = tuple[str, int, Sequence[tuple[str, Callable[[str], int]]]]


def prose(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Prose on the prompt's subject, in its language: about `options["tokens"]` tokens, or a few sentences."""
    text, _ = text_on(topic_of(call), call, seed.stream("prose"), options)
    return _draft(separator_after_prompt(call) + text)


def lorem(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Lorem ipsum, as long as `prose` would be."""
    rng = seed.stream("lorem")
    tokens = _length(call, rng, options)
    latin = ((sentence(rng, "la"), 0) for _ in repeat(None))
    text, _ = _limited(*_paragraphs(latin, rng, " ", tokens), call, options)
    return _draft(separator_after_prompt(call) + text)


def words(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Random English words: about `options["tokens"]` tokens."""
    rng = seed.stream("words")
    pieces, tokens = list[str](), _length(call, rng, options)
    while tokens > 0:
        pieces.append(" " * bool(pieces) + word(rng))
        tokens -= count(pieces[-1])
    return _draft("".join(pieces))


def echo(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """The last user message."""
    return DraftChoice((Text(call.last_user),))


def markdown(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Headings, lists, a table and code in Markdown on the prompt's subject: about `options["tokens"]` tokens."""
    rng, about = seed.stream("markdown"), topic_of(call)
    wanted = _length(call, rng, {"tokens": 200, **options})
    title = about.subject or "a short document"
    text = f"# {title[:1].upper()}{title[1:]}"
    said = sentences(about, rng)
    for block in cycle(_BLOCKS):
        if count(text) >= wanted:
            break
        text += "\n\n" + _block(block, said, rng)
    return _draft(text)


def _draft(text: str) -> DraftChoice:
    return DraftChoice((Text(text),))


def reasoning(call: Call, seed: Seed) -> tuple[Reasoning, ...]:
    """Return the reasoning before an answer, if the request asks for effort.

    More effort makes it longer, up to half of the tokens that the client allows.
    """
    length = _MAX_REASONING.get(call.options.effort or "none", _MAX_REASONING["medium"])
    most = length if call.options.max_tokens is None else min(length, call.options.max_tokens // 2)
    return (Reasoning(_thought(call, seed, most)),) if most > 0 else ()


def less_reasoning(call: Call, thoughts: tuple[Part, ...]) -> Call:
    """Return the call with `max_tokens` less what its reasoning has used."""
    if not thoughts or call.options.max_tokens is None:
        return call
    spent = sum(count(part.text) for part in thoughts if isinstance(part, Reasoning))
    return call.limited(max(call.options.max_tokens - spent, 0))


def topic_of(call: Call) -> Topic:
    return topic(call.prompts[0].text) if call.prompts else topic(call.last_user, call.system)


def text_on(about: Topic, call: Call, rng: Random, options: Mapping[str, Json]) -> Piece:
    wanted = _length(call, rng, options)
    continues = bool(call.prompts) and about.kind == "state"
    speaker = Speaker(replace(about, subject="") if continues else about, rng)
    has_begun = continues and call.prompts[0].text.rstrip()[-1:].isalnum()
    first = speaker.ending() if has_begun else speaker.sentence() if continues else speaker.opening()
    spoken = chain((first,), iter(speaker.sentence, None))  # a generator would take longer
    return _limited(*_paragraphs(spoken, rng, blank(about), wanted), call, options)


def separator_after_prompt(call: Call) -> str:
    """Return what separates a prompt from the text that continues it: a blank, unless the prompt ends with one."""
    return " " if call.prompts and call.prompts[0].text[-1:].strip() else ""


def _limited(texts: list[str], counts: list[int], call: Call, options: Mapping[str, Json]) -> Piece:
    """The texts that fit into the request's limit, but always the first; all if a length is stated."""
    most = call.options.max_tokens
    if "tokens" not in options and most is not None and not call.options.ignore_eos:
        fitting = max(1, sum(1 for _ in takewhile(lambda total: total <= most, accumulate(counts))))
        texts, counts = texts[:fitting], counts[:fitting]
    return "".join(texts), sum(counts)


def _length(call: Call, rng: Random, options: Mapping[str, Json]) -> int:
    wanted = call.options
    natural = int((20 + rng.below(60)) * _VERBOSITY.get(wanted.verbosity or "", 1) * _EFFORT.get(wanted.effort, 1))
    if wanted.ignore_eos and wanted.max_tokens is not None:
        natural = min(wanted.max_tokens + 1, MAX_TEXT_TOKENS)  # it does not end, but is cut
    tokens = options.get("tokens", natural)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 < tokens <= MAX_TEXT_TOKENS:
        raise Failure("server_error", f"generate: tokens must be a number from 1 to {MAX_TEXT_TOKENS}, not {tokens!r}")
    return tokens


def _paragraphs(sentences: Iterator[Piece], rng: Random, between: str, tokens: int) -> tuple[list[str], list[int]]:
    """Return sentences of about so many tokens, each with what separates it from the one before, and their tokens."""
    before, left = "", -1  # sentences to the end of the paragraph
    texts: list[str] = []  # annotated: `list[str]()` takes twenty times as long
    counts: list[int] = []
    for text, known in sentences:
        texts.append(before + text)
        weight = known or count(texts[-1].lstrip("\n"))  # the blank line is part of the full stop's token
        counts.append(weight)
        tokens -= weight
        if tokens <= 0:
            break
        left = left if left >= 0 else 3 + rng.below(4)
        before = between if left else "\n\n"
        left -= 1
    return texts, counts


def _thought(call: Call, seed: Seed, most: int) -> str:
    """Reasoning of at most so many tokens, in whole sentences if one fits."""
    about = topic_of(call)
    between, text = blank(about), ""
    for made in islice(Speaker(about, seed.stream("reasoning")).thoughts(), most):
        longer = text + between + made if text else made
        if count(longer) > most:
            break
        text = longer
    return text or "".join(split(made)[:most])


def _block(template: str, said: Iterator[str], rng: Random) -> str:
    fillers: Mapping[str, Callable[[], str]] = {
        "sentence": lambda: next(said),
        "note": lambda: note(rng),
        "aspect": lambda: pick(english("aspects"), rng),
        "Aspect": lambda: pick(english("aspects"), rng).capitalize(),
    }
    return _GAP.sub(lambda gap: fillers[gap[1]](), template)


_VERBOSITY: Mapping[str, float] = {"low": 0.5, "medium": 1, "high": 2.5}
_EFFORT: Mapping[str | None, float] = {"minimal": 0.8, "high": 1.25, "xhigh": 1.5, "max": 1.5}
_MAX_REASONING = {"none": 0, "minimal": 0, "low": 40, "medium": 90, "high": 180, "xhigh": 280, "max": 400}
_GAP = lazy_pattern(r"\{(\w+)\}")
_BLOCKS = (
    "{sentence} {sentence}",
    "## {Aspect}\n\n- **{Aspect}**: {note}\n- **{Aspect}**: {note}\n- **{Aspect}**: {note}",
    "1. {sentence}\n2. {sentence}\n3. {sentence}",
    "| Aspect | Note |\n| --- | --- |\n| {Aspect} | {note} |\n| {Aspect} | {note} |\n| {Aspect} | {note} |",
    "### {Aspect}\n\n```python\ndef {aspect}(value):\n    return value\n```",
    "> {sentence}\n\nSee [{aspect}](https://example.com/more) and `{aspect}`.",
)


def sentences(topic: Topic, rng: Random, *, opened: bool = True) -> Iterator[str]:
    return (text for text, _ in Speaker(topic, rng).sentences(opened=opened))


def blank(topic: Topic) -> str:
    return "" if topic.language in UNSPACED else " "


def sentence_of(source: str) -> Sentence:
    first, *words = source.split(" ")
    split = [_GAP.split(first), *[_GAP.split(f" {word}") for word in words]]
    others = [(word[1], _counter(*word)) for word in (word for word in split if len(word) > 1)]
    tokens = sum([count(word[0]) for word in split if len(word) == 1])
    return _GAP.sub(r"%(\1)s", source.replace("%", "%%")), tokens, others


def _counter(before: str, gap: str, after: str) -> Callable[[str], int]:
    most = None if gap in _OF_ASPECTS else 64  # fillings that are remembered; there are not so many aspects
    return lru_cache(maxsize=most)(lambda filling: count(f"{before}{filling}{after}"))


class Speaker:
    """Makes sentences on a topic that keep to the same few aspects, each with its tokens: 0 if nobody counted them."""

    __slots__ = ("_aspects", "_fillings", "_gaps", "_is_english", "_is_exact", "_left", "_rng", "_topic", "_words")

    def __init__(self, topic: Topic, rng: Random) -> None:
        self._topic, self._rng, self._aspects, self._words = topic, rng, some_aspects(rng), topic.words or ("this",)
        self._is_english = topic.language == ENGLISH
        self._left: list[Sentence] = []
        self._fillings = {"topic": topic.subject} if topic.subject else {}
        if topic.said:
            self._fillings |= {"said": topic.said, "Said": capitalized(topic.said)}
        if topic.act:
            self._fillings["act"] = topic.act
        self._gaps = frozenset(self._fillings)
        edges = [topic.subject, topic.said, topic.act, self._words[0]]
        self._is_exact = [*map(str.strip, edges)] == edges  # or a blank would go with another token

    def opening(self) -> Piece:
        """Return a first sentence."""
        if not self._is_english:
            return self._foreign(opened=True), 0
        openers = _sayable(self._gaps, self._topic.kind, "openers") or _sayable(self._gaps, "any", "openers")
        return self.filled(pick(openers, self._rng))

    def ending(self) -> Piece:
        """Return the end of a sentence that the prompt has begun."""
        return self.filled(pick(_sayable(self._gaps, "endings"), self._rng)) if self._is_english else self.sentence()

    def sentence(self) -> Piece:
        """Return a sentence that may follow any other."""
        if not self._is_english:
            return self._foreign(opened=False), 0
        left = self._left = self._left or [*_sayable(self._gaps, "middles")]
        return self.filled(left.pop(floor(self._rng.random() * len(left))))

    def sentences(self, *, opened: bool = True) -> Iterator[Piece]:
        """Yield sentences without end."""
        if opened:
            yield self.opening()
        while True:
            yield self.sentence()

    def thoughts(self) -> Iterator[str]:
        if not self._is_english:
            yield from (text for text, _ in self.sentences())
        while True:
            yield from (self.filled(each)[0] for each in _sayable(self._gaps, "thoughts"))

    def filled(self, sentence: Sentence) -> Piece:
        fillings, aspects, words, random = self._fillings, self._aspects, self._words, self._rng.random
        at = floor(random() * 4)  # from here on as `two_of`, which takes twice as long
        other = at + 1 + floor(random() * (4 - at))
        one, two = (aspects[other], aspects[at]) if random() < 0.5 else (aspects[at], aspects[other])
        fillings["a"], fillings["b"], fillings["A"] = one, two, _capitals()[one]
        fillings["word"] = words[floor(random() * len(words))]
        text, tokens, others = sentence
        for gap, tokens_of in others:
            tokens += tokens_of(fillings[gap])
        return text % fillings, tokens if self._is_exact else 0

    def _foreign(self, *, opened: bool) -> str:
        topic, rng, words = self._topic, self._rng, lexicon(self._topic.language)
        made = [pick(words, rng) for _ in range(rng.randrange(5, 12))]
        if opened and topic.subject:
            made.insert(rng.randrange(2, 4), f"“{topic.subject}”")
        return capitalized(blank(topic).join(made)) + languages()[topic.language].get("full_stop", ".")


@cache
def _capitals() -> Mapping[str, str]:
    return {aspect: aspect.capitalize() for aspect in english("aspects")}


_OF_ASPECTS = {"a", "b", "A"}  # gaps


@cache
def _sayable(gaps: frozenset[str], name: str, group: str = "") -> tuple[Sentence, ...]:
    """Return the sentences of a list whose gaps can be filled."""
    listed = map(sentence_of, english(name, group))
    return tuple([each for each in listed if {gap for gap, _ in each[2]} <= gaps | _OF_ASPECTS | {"word"}])
