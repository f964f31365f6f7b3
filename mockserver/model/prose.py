"""The generators of text, of a plausible or stated length: prose, lorem ipsum, words, echo, Markdown, reasoning.

English sentences come from templates, those of other languages are random words.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, cycle, islice, repeat, takewhile
from math import floor
from typing import Literal

from msgspec import Struct
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
from mockserver.model.topic import ENGLISH, UNSPACED, Topic, languages, lexicon, topic

Piece = tuple[str, int]  # of a text, with its tokens: 0 if nobody counted them


def prose(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Prose on the prompt's subject, in its language: about `options["tokens"]` tokens, or a few sentences."""
    about = find_topic(call)
    text, tokens = write_text_on(about, call, seed.stream("prose"), options)
    if call.prompts or about.language != ENGLISH:
        return _draft(separator_after_prompt(call) + text)
    return DraftChoice((Text(text),), tokens=tokens)


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
    rng, about = seed.stream("markdown"), find_topic(call)
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


def make_reasoning(call: Call, seed: Seed) -> tuple[Reasoning, ...]:
    """Return the reasoning before an answer, if the request asks for effort.

    More effort makes it longer, up to half of the tokens that the client allows.
    """
    length = _MAX_REASONING.get(call.options.effort or "none", _MAX_REASONING["medium"])
    most = length if call.options.max_tokens is None else min(length, call.options.max_tokens // 2)
    return (Reasoning(_thought(call, seed, most)),) if most > 0 else ()


def spend_reasoning(call: Call, thoughts: tuple[Part, ...]) -> Call:
    """Return the call with `max_tokens` less what its reasoning has used."""
    if not thoughts or call.options.max_tokens is None:
        return call
    spent = sum(count(part.text) for part in thoughts if isinstance(part, Reasoning))
    return call.limit_tokens(max(call.options.max_tokens - spent, 0))


def find_topic(call: Call) -> Topic:
    return topic(call.prompts[0].text) if call.prompts else topic(call.last_user, call.system)


def write_text_on(about: Topic, call: Call, rng: Random, options: Mapping[str, Json]) -> Piece:
    wanted = _length(call, rng, options)
    continues = bool(call.prompts) and about.kind == "state"
    begin: Begin = "openers"
    if continues:
        about = replace(about, subject="")
        begin = "endings" if call.prompts[0].text.rstrip()[-1:].isalnum() else "middles"
    spoken = Speaker(about, rng).sentences(begin)
    return _limited(*_paragraphs(spoken, rng, blank(about), wanted), call, options)


def separator_after_prompt(call: Call) -> str:
    """Return what separates a prompt from the text that continues it: a blank, unless the prompt ends with one."""
    return " " if call.prompts and call.prompts[0].text[-1:].strip() else ""


def _limited(texts: list[str], counts: list[int], call: Call, options: Mapping[str, Json]) -> Piece:
    """The texts that fit into the request's limit, but always the first; all if a length is stated."""
    most, tokens = call.options.max_tokens, sum(counts)
    if most is not None and tokens > most and "tokens" not in options and not call.options.ignore_eos:
        fitting = max(1, sum(1 for _ in takewhile(lambda total: total <= most, accumulate(counts))))
        return "".join(texts[:fitting]), sum(counts[:fitting])
    return "".join(texts), tokens


def _length(call: Call, rng: Random, options: Mapping[str, Json]) -> int:
    wanted, natural = call.options, 20 + rng.below(60)
    if wanted.verbosity is not None or wanted.effort is not None:
        natural = int(natural * _VERBOSITY.get(wanted.verbosity or "", 1) * _EFFORT.get(wanted.effort, 1))
    if wanted.ignore_eos and wanted.max_tokens is not None:
        natural = min(wanted.max_tokens + 1, MAX_TEXT_TOKENS)  # it does not end, but is cut
    tokens = options.get("tokens", natural)
    if type(tokens) is not int or not 0 < tokens <= MAX_TEXT_TOKENS:
        raise Failure("server_error", f"generate: tokens must be a number from 1 to {MAX_TEXT_TOKENS}, not {tokens!r}")
    return tokens


def _paragraphs(sentences: Iterator[Piece], rng: Random, between: str, tokens: int) -> tuple[list[str], list[int]]:
    """Return sentences of about so many tokens, each with what separates it from the one before, and their tokens."""
    before, left = "", 0  # sentences to the end of the paragraph
    texts: list[str] = []  # annotated: `list[str]()` takes twenty times as long
    counts: list[int] = []
    for text, known in sentences:
        text = before + text
        weight = known or count(text.lstrip("\n"))  # the blank line is part of the full stop's token
        texts.append(text)
        counts.append(weight)
        tokens -= weight
        if tokens <= 0:
            break
        left = left - 1 if left else 3 + rng.below(4)
        before = between if left else "\n\n"
    return texts, counts


def _thought(call: Call, seed: Seed, most: int) -> str:
    """Reasoning of at most so many tokens, in whole sentences if one fits."""
    about = find_topic(call)
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
    return (text for text, _ in Speaker(topic, rng).sentences("openers" if opened else "middles"))


def blank(topic: Topic) -> str:
    return "" if topic.language in UNSPACED else " "


Begin = Literal["openers", "endings", "middles"]  # the list that the first sentence is of; an ending continues a prompt


class Sentence(Struct, frozen=True):
    """A sentence with `%(topic)s` for the gap `topic`; its tokens but for words with gaps that need to be counted."""

    text: str
    tokens: int
    counted: Sequence["Gap"]


class Gap(Struct, frozen=True):
    """A gap in a sentence; `count` returns the tokens of its word with a filling."""

    name: str
    count: Callable[[str], int]


def sentence_of(source: str) -> Sentence:
    first, *others = source.split(" ")
    tokens, counted = 0, list[Gap]()
    for piece in (first, *[f" {other}" for other in others]):
        before, *gap = _GAP.split(piece)
        if not gap:
            tokens += count(piece)
        elif gap[0] in _ASPECTS:  # each of them is one token
            tokens += count(before + english("aspects")[0] + gap[1])
        else:
            counted.append(Gap(gap[0], _counter(before, gap[1])))
    return Sentence(_GAP.sub(r"%(\1)s", source.replace("%", "%%")), tokens, counted)


_ASPECTS = ("a", "b")


def _counter(before: str, after: str) -> Callable[[str], int]:
    def count_filled(filling: str) -> int:
        if filling != filling.strip():  # a blank at its edge goes with another token
            return _UNKNOWN
        return count(f"{before}{filling}{after}")

    return lru_cache(maxsize=64)(count_filled)


_UNKNOWN = -(1 << 30)  # tokens: no sum with it is positive


class Speaker:
    """Makes sentences on a topic that keep to the same few aspects."""

    __slots__ = ("_aspects", "_fillings", "_gaps", "_rng", "_topic")

    def __init__(self, topic: Topic, rng: Random) -> None:
        self._topic, self._rng, self._aspects = topic, rng, some_aspects(rng)
        fillings = self._fillings = {"topic": topic.subject} if topic.subject else {}
        if topic.said:
            fillings["said"], fillings["Said"] = topic.said, capitalized(topic.said)
        if topic.act:
            fillings["act"] = topic.act
        self._gaps = frozenset(fillings)

    def sentences(self, begin: Begin = "openers") -> Iterator[Piece]:
        """Return sentences without end."""
        if self._topic.language != ENGLISH:
            return self._foreign(opened=begin == "openers")
        first = _beginnings(self._gaps, self._topic.kind, begin)
        return self.speak(pick(first, self._rng) if first else None)

    def opening(self) -> str:
        """Return a first sentence."""
        return next(self.sentences())[0]

    def thoughts(self) -> Iterator[str]:
        """Yield sentences of reasoning without end, those in English in the order of their list."""
        if self._topic.language != ENGLISH:
            yield from (text for text, _ in self.sentences())
        while True:
            yield from (next(self.speak(each))[0] for each in _sayable(self._gaps, "thoughts"))

    def speak(self, sentence: Sentence | None = None) -> Iterator[Piece]:
        """Yield a sentence with its gaps filled, then others without end: none comes back before all were said."""
        fillings, aspects, random = self._fillings, self._aspects, self._rng.random
        words, middles = self._topic.words or ("this",), _sayable(self._gaps, "middles")
        left: list[Sentence] = []
        while True:
            if sentence is None:
                left = left or [*middles]
                sentence = left.pop(floor(random() * len(left)))
            at = floor(random() * 4)  # from here on as `two_of`, which takes twice as long
            other = at + 1 + floor(random() * (4 - at))
            if random() < 0.5:
                fillings["a"], fillings["b"] = aspects[other], aspects[at]
            else:
                fillings["a"], fillings["b"] = aspects[at], aspects[other]
            drawn, tokens = random(), sentence.tokens
            if sentence.counted:
                fillings["word"] = words[floor(drawn * len(words))]
                fillings["A"] = fillings["a"].capitalize()
                for gap in sentence.counted:
                    tokens += gap.count(fillings[gap.name])
                tokens = max(tokens, 0)
            yield sentence.text % fillings, tokens
            sentence = None

    def _foreign(self, *, opened: bool) -> Iterator[Piece]:
        topic, rng, random = self._topic, self._rng, self._rng.random
        words, subject = lexicon(topic.language), topic.subject if opened else ""
        between, full_stop = blank(topic), languages()[topic.language].get("full_stop", ".")
        while True:
            made = [words[floor(random() * len(words))] for _ in range(5 + rng.below(7))]
            if subject:
                made.insert(2 + rng.below(2), f"“{subject}”")
                subject = ""
            yield capitalized(between.join(made)) + full_stop, 0


@cache
def _beginnings(gaps: frozenset[str], kind: str, begin: Begin) -> Sequence[Sentence]:
    if begin == "openers":
        return _sayable(gaps, kind, "openers") or _sayable(gaps, "any", "openers")
    return _sayable(gaps, begin) if begin == "endings" else ()


@cache
def _sayable(gaps: frozenset[str], name: str, group: str = "") -> Sequence[Sentence]:
    """Return the sentences of a list whose gaps can be filled."""
    listed = map(sentence_of, english(name, group))
    return [each for each in listed if {gap.name for gap in each.counted} <= gaps | {"A", "word"}]
