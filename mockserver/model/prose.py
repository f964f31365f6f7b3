"""Text on what a prompt is about: topic and language, and sentences, lorem ipsum, words, Markdown or reasoning on it.

A language is detected by script, then by stop words; English by default. English sentences come from templates, those
of other languages are random words.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, cycle, islice, repeat, takewhile
from math import floor
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily, remember
from mockserver.core.plan import Part, Reasoning, Text, blame_rule
from mockserver.core.seed import Random, Seed
from mockserver.core.tokens import count, split
from mockserver.model.budget import MAX_TEXT_TOKENS
from mockserver.model.vocabulary import (
    ENGLISH,
    LETTERS,
    UNSPACED,
    capitalize,
    cut_excerpt,
    draw_aspects,
    draw_note,
    draw_sentence,
    draw_word,
    find_language,
    find_language_in_rules,
    find_requested_language,
    find_words,
    pick,
    read_english,
    read_languages,
    read_lexicon,
    read_stop_words,
    read_word_lists,
)

SIGNS = " \t\n.,;:!?¿¡。，！？；：؟\"'`*#-–—…()[]{}<>«»„“”‘’「」『』/\\|"


class Topic(Struct, frozen=True):
    """What a prompt is about.

    `kind` is the question (what, how, why, yes, when, where, who, count), `tell` or `do` for an order, or `state`.
    `subject` is a noun phrase, `act` what somebody wants to do, `said` the question without its
    sign; each may be empty.
    """

    text: str
    language: str  # of the answer
    kind: str = ""
    subject: str = ""
    act: str = ""
    said: str = ""
    words: tuple[str, ...] = ()


def read_topic(text: str, rules: str = "") -> Topic:
    """Return what a text is about, to be answered in the language that it, or the rules, ask for."""
    return _read_topic(cut_excerpt(text), cut_excerpt(rules))


@remember(256)
def _read_topic(text: str, rules: str) -> Topic:
    spoken = find_language(text)
    return _make_topic(text, spoken, find_requested_language(text) or find_language_in_rules(rules) or spoken)


def read_english_topic(text: str) -> Topic:
    """Return what an English text of printable characters is about, without a double blank."""
    return _make_topic(text, ENGLISH, ENGLISH)


def _make_topic(text: str, spoken: str, language: str) -> Topic:
    request = _find_request(text)
    kind, subject, act = (
        _read_question(request) if spoken == ENGLISH else _Question("tell", _trim_request(request, spoken))
    )
    words = (
        tuple(subject.split(" and ")) if kind == "state" and subject else list_content_words(subject or request, spoken)
    )
    return Topic(
        text,
        language,
        kind=kind,
        subject=subject[:_MAX_SUBJECT],
        act=act[:_MAX_SUBJECT],
        said=request.rstrip(SIGNS),
        words=words,
    )


class _Question(NamedTuple):
    """The kind of a question as a topic names it, its subject, and what somebody wants to do."""

    kind: str
    subject: str = ""
    act: str = ""


def _read_question(request: str) -> _Question:
    """Read a question in English."""
    plain = (_QUOTES.sub("", request) if _QUOTES.search(request) else request).strip()
    first = _FIRST_LETTERS.match(plain)
    if first is not None and first[0].lower() in _list_openings():  # most statements end here
        plain = plain[polite.end() :] if (polite := _POLITE.match(plain)) else plain
        if found := _make_question_pattern().match(plain):
            return _read_asked(str(found.lastgroup), plain[found.end() :])
        if telling := _make_telling_pattern().match(plain):
            return _Question("tell", _read_phrase(plain[telling.end() :]))
        if is_order(plain):
            return _Question("do", act=_read_phrase(plain[:1].lower() + plain[1:]))
    return _Question("state", " and ".join(list_content_words(plain, ENGLISH)[-2:]))


def _read_asked(kind: str, rest: str) -> _Question:
    """Read what follows the first words of a question of a kind."""
    if kind == "how":
        return _Question(kind, act=_read_phrase(rest))
    if kind != "why" and (being := _BEING.match(rest)):
        return _Question(kind, _read_phrase(rest[being.end() :]))
    return _Question(kind, "".join(list_content_words(rest, ENGLISH)[:1]))


def is_order(sentence: str) -> bool:
    """Return whether a sentence begins with a verb that orders something."""
    first = _FIRST_WORD.match(sentence)
    return first is not None and first[1].lower() in _read_orders()


def list_content_words(text: str, language: str) -> tuple[str, ...]:
    """Return the words of a text that are neither stop words nor endless, each once, at most eight."""
    if language in UNSPACED:
        return (text,) if text else ()
    silent = read_stop_words(language)
    found: dict[str, None] = {}
    for word in find_words(_WORD, text):
        if word.lower() not in silent and 2 < len(word) <= _MAX_WORD:
            found[word] = None
            if len(found) == 8:
                break
    return tuple(found)


def _find_request(text: str) -> str:
    """Return the sentence that asks: the last question, the first order, or the first sentence that says anything."""
    bare = text.rstrip(".!?")
    if bare and bare.isascii() and not _ENDS.search(bare):  # most texts are a single sentence
        sentence = text.strip()
        return "" if len(sentence) < 2 or _EMPTY.match(sentence) else sentence
    sentences: list[str] = [found.strip() for found in SENTENCE.findall(text)]
    telling = [found for found in sentences if len(found) > 1 and not _EMPTY.match(found)]
    if len(telling) < 2:
        return telling[0] if telling else ""
    questions = (_cut_lead(found) for found in reversed(telling) if found.endswith(QUESTION_SIGNS))
    orders = (found for found in telling if is_order(found))
    return next(questions, None) or next(orders, None) or telling[0]


def _cut_lead(question: str) -> str:
    """Return a question without what leads to it: `The query is as follows: When did it open?`"""
    *_, rest = question.rpartition(": ")
    first = _FIRST_LETTERS.match(rest)
    return rest if first is not None and first[0].lower() in _list_openings() else question


def _trim_request(request: str, language: str) -> str:
    silent = read_stop_words(language)
    clause = _CLAUSE.split(request.strip(SIGNS), maxsplit=1)[0]
    if language in UNSPACED:
        return clause[:24]
    words = clause.split()[:14]
    while words and words[0].strip(SIGNS).lower() in silent:
        words.pop(0)
    while words and words[-1].strip(SIGNS).lower() in silent:
        words.pop()
    return " ".join(words[:8]).strip(SIGNS)


def _read_phrase(rest: str) -> str:
    clause = _CLAUSE.split(rest, maxsplit=1)[0].strip(SIGNS)
    words = [_TURNED.get(word.lower(), word) for word in clause.split()[:10]]
    return " ".join(words).strip(SIGNS)


@cache
def _read_orders() -> frozenset[str]:
    return frozenset(read_english("verbs", "orders"))


@cache
def _list_openings() -> frozenset[str]:
    """Return the first words of questions, of orders, and of what stands before them."""
    words = [word for name in ("polite", "verbs", "telling") for word in read_english(name, "orders")]
    asked = [word for kind in read_word_lists("english")["questions"] for word in read_english(kind, "questions")]
    return frozenset(first[0] for first in map(_FIRST_LETTERS.match, (*words, *asked)) if first)


@cache
def _make_question_pattern() -> re.Pattern[str]:
    """Return a pattern of how questions begin, with a group for each kind."""
    kinds = read_word_lists("english")["questions"]
    groups = [f"(?P<{kind}>(?:{'|'.join(read_english(kind, 'questions'))})\\b)" for kind in kinds]
    return re.compile(rf"(?i)(?:{'|'.join(groups)})\s*")


@cache
def _make_telling_pattern() -> re.Pattern[str]:
    verbs = "|".join(read_english("telling", "orders"))
    return re.compile(rf"(?i)(?:{verbs})\b\s*(?:[^.,:;?!\n]{{0,60}}?\babout\s+|(?:me|us|to me)\s+(?:(?:of|on)\s+)?)?")


QUESTION_SIGNS = ("?", "？", "؟")
SENTENCE = compile_lazily(r"(?:[^.!?\n。！？؟।]++|[.](?=\S))++[.!?。！？؟।]*+")
_ENDS = compile_lazily(r"[.!?\n]")
_MAX_SUBJECT = 100  # characters
_MAX_WORD = 40
_WORD = compile_lazily(f"[{LETTERS}]+(?:[-'’][{LETTERS}]+)*")
_QUOTES = compile_lazily(r'["“”„«»`*#\[\]{}<>]')
_EMPTY = compile_lazily(r"(?i)(?:hi|hello|hey|hallo|hola|bonjour|thanks|thank you|ok|okay|please)?[\W\d_]*\Z")
_FIRST_WORD = compile_lazily(r"(?i)(?:please\s+)?([a-z]+)\b")
_FIRST_LETTERS = compile_lazily(r"(?i)[a-z]+")
_CLAUSE = compile_lazily(
    r"[,;:()\n?!？！，。；：、؟，]|\. |\s[-–—]\s|"
    r"\s(?:because|since|so that|please|(?:in|using|with) (?:[a-z]+ ){0,3}\w+ (?:word|sentence)s?)\b"
)
_POLITE = compile_lazily(
    r"""(?ix)(?:(?:please|now|hi|hello|hey|so|and|also|then|in\ (?:exactly\ )?\w+\ (?:words?|sentences?)(?=,)|
    (?:can|could|would|will)\ you(?:\ please)?|i(?:'d|\ would)?\ (?:want|need|like)\ (?:you\ )?to(?:\ know)?|
    do\ you\ know|let's|help\ me(?:\ to|\ with)?|tell\ me(?=\ (?:what|how|why|when|where|who|which|if|whether)\b)|
    (?:answer|reply|respond)\b[^:?!.\n]{0,60}(?=:)|
    (?:context|user|question|q|task|query|input|human):)(?:[\s,!:.]+|\Z)){1,6}"""
)
_BEING = compile_lazily(r"(?i)(?:is|are|was|were|['’]s)\s+")
_TURNED = {"my": "your", "your": "my", "our": "your", "i": "you", "me": "you", "mine": "yours", "myself": "yourself"}


Piece = tuple[str, int]  # of a text, with its tokens: 0 if nobody counted them


# Generators


def write_prose(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Write prose on the prompt's subject, in its language: about `options["tokens"]` tokens, or a few sentences."""
    about = find_topic(call)
    text, tokens = write_text_on(about, call, rng=seed.stream("prose"), options=options)
    if call.prompts or about.language != ENGLISH:
        return _draft(find_separator_after_prompt(call) + text)
    return DraftChoice((Text(text),), tokens=tokens)


def write_lorem(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Write Lorem ipsum, as long as `prose` would be."""
    rng = seed.stream("lorem")
    tokens = _choose_length(call, rng, options)
    latin = ((draw_sentence(rng, "la"), 0) for _ in repeat(None))
    text, _ = _keep_within_limit(*_write_paragraphs(latin, rng, between=" ", tokens=tokens), call, options)
    return _draft(find_separator_after_prompt(call) + text)


def write_words(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Write random English words: about `options["tokens"]` tokens."""
    rng = seed.stream("words")
    pieces = list[str]()
    tokens = _choose_length(call, rng, options)
    while tokens > 0:
        pieces.append(" " * bool(pieces) + draw_word(rng))
        tokens -= count(pieces[-1])
    return _draft("".join(pieces))


def echo(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Repeat the last user message."""
    return DraftChoice((Text(call.last_user),))


def write_markdown(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Write headings, lists, a table and code in Markdown on the prompt's subject: about `options["tokens"]` tokens."""
    rng = seed.stream("markdown")
    about = find_topic(call)
    wanted = _choose_length(call, rng, {"tokens": 200, **options})
    title = about.subject or "a short document"
    text = f"# {title[:1].upper()}{title[1:]}"
    said = write_sentences(about, rng)
    for block in cycle(_BLOCKS):
        if count(text) >= wanted:
            break
        text += "\n\n" + _write_block(block, said, rng)
    return _draft(text)


def _draft(text: str) -> DraftChoice:
    return DraftChoice((Text(text),))


def make_reasoning(call: Call, seed: Seed) -> tuple[Reasoning, ...]:
    """Return the reasoning before an answer, if the request asks for effort.

    More effort makes it longer, up to half of the tokens that the client allows.
    """
    length = _MAX_REASONING.get(call.options.effort or "none", _MAX_REASONING["medium"])
    most = length if call.options.max_tokens is None else min(length, call.options.max_tokens // 2)
    return (Reasoning(_write_thought(call, seed, most)),) if most > 0 else ()


def spend_reasoning(call: Call, thoughts: tuple[Part, ...]) -> Call:
    """Return the call with `max_tokens` less what its reasoning has used."""
    if not thoughts or call.options.max_tokens is None:
        return call
    spent = sum(count(part.text) for part in thoughts if isinstance(part, Reasoning))
    return call.limit_tokens(max(call.options.max_tokens - spent, 0))


def find_topic(call: Call) -> Topic:
    """Return what the user's last message, or the prompt to continue, is about."""
    return read_topic(call.prompts[0].text) if call.prompts else read_topic(call.last_user, call.system)


def write_text_on(about: Topic, call: Call, rng: Random, options: Mapping[str, Json]) -> Piece:
    wanted = _choose_length(call, rng, options)
    continues = bool(call.prompts) and about.kind == "state"
    begin: Begin = "openers"
    if continues:
        about = replace(about, subject="")
        begin = "endings" if call.prompts[0].text.rstrip()[-1:].isalnum() else "middles"
    spoken = Speaker(about, rng).write_sentences(begin)
    return _keep_within_limit(*_write_paragraphs(spoken, rng, between=find_blank(about), tokens=wanted), call, options)


def find_separator_after_prompt(call: Call) -> str:
    """Return what separates a prompt from the text that continues it: a blank, unless the prompt ends with one."""
    return " " if call.prompts and call.prompts[0].text[-1:].strip() else ""


def _keep_within_limit(texts: list[str], counts: list[int], call: Call, options: Mapping[str, Json]) -> Piece:
    """Return the texts that fit into the request's limit, but always the first; all if a length is stated."""
    most = call.options.max_tokens
    tokens = sum(counts)
    is_stated = "tokens" in options or call.options.ignore_eos or call.options.min_tokens
    if most is not None and tokens > most and not is_stated:
        fitting = max(1, sum(1 for _ in takewhile(lambda total: total <= most, accumulate(counts))))
        return "".join(texts[:fitting]), sum(counts[:fitting])
    return "".join(texts), tokens


def _choose_length(call: Call, rng: Random, options: Mapping[str, Json]) -> int:
    wanted = call.options
    natural = 20 + rng.randbelow(60)
    if wanted.verbosity is not None or wanted.effort is not None:
        natural = int(natural * _VERBOSITY.get(wanted.verbosity or "", 1) * _EFFORT.get(wanted.effort, 1))
    if wanted.ignore_eos and wanted.max_tokens is not None:
        natural = min(wanted.max_tokens + 1, MAX_TEXT_TOKENS)  # it does not end, but is cut
    least = wanted.min_tokens
    natural = max(natural, min(least + least // 8, MAX_TEXT_TOKENS))  # other tokenizers may count fewer
    tokens = options.get("tokens", natural)
    if type(tokens) is not int or not 0 < tokens <= MAX_TEXT_TOKENS:
        raise blame_rule(f"generate: tokens must be a number from 1 to {MAX_TEXT_TOKENS}, not {tokens!r}")
    return tokens


def _write_paragraphs(
    sentences: Iterator[Piece], rng: Random, between: str, tokens: int
) -> tuple[list[str], list[int]]:
    """Return sentences of about `tokens` tokens in all, each after its separator, and how many tokens each has."""
    before = ""
    left = 0  # sentences to the end of the paragraph
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
        left = left - 1 if left else 3 + rng.randbelow(4)
        before = between if left else "\n\n"
    return texts, counts


def _write_thought(call: Call, seed: Seed, most: int) -> str:
    """Write reasoning of at most `most` tokens, in whole sentences if one fits."""
    about = find_topic(call)
    between = find_blank(about)
    text = ""
    for made in islice(Speaker(about, seed.stream("reasoning")).write_thoughts(), most):
        longer = text + between + made if text else made
        if count(longer) > most:
            break
        text = longer
    return text or "".join(split(made)[:most])


def _write_block(template: str, said: Iterator[str], rng: Random) -> str:
    fillings: Mapping[str, Callable[[], str]] = {
        "sentence": lambda: next(said),
        "note": lambda: draw_note(rng),
        "aspect": lambda: pick(read_english("aspects"), rng),
        "Aspect": lambda: pick(read_english("aspects"), rng).capitalize(),
    }
    return _GAP.sub(lambda gap: fillings[gap[1]](), template)


_VERBOSITY: Mapping[str, float] = {"low": 0.5, "medium": 1, "high": 2.5}
_EFFORT: Mapping[str | None, float] = {"minimal": 0.8, "high": 1.25, "xhigh": 1.5, "max": 1.5}
_MAX_REASONING = {"none": 0, "minimal": 0, "low": 40, "medium": 90, "high": 180, "xhigh": 280, "max": 400}
_GAP = compile_lazily(r"\{(\w+)\}")
_BLOCKS = (
    "{sentence} {sentence}",
    "## {Aspect}\n\n- **{Aspect}**: {note}\n- **{Aspect}**: {note}\n- **{Aspect}**: {note}",
    "1. {sentence}\n2. {sentence}\n3. {sentence}",
    "| Aspect | Note |\n| --- | --- |\n| {Aspect} | {note} |\n| {Aspect} | {note} |\n| {Aspect} | {note} |",
    "### {Aspect}\n\n```python\ndef {aspect}(value):\n    return value\n```",
    "> {sentence}\n\nSee [{aspect}](https://example.com/more) and `{aspect}`.",
)


def write_sentences(topic: Topic, rng: Random) -> Iterator[str]:
    """Yield sentences on a topic without end."""
    return (text for text, _ in Speaker(topic, rng).write_sentences())


def find_blank(topic: Topic) -> str:
    """Return what separates sentences and words in the language of a topic: a blank, or nothing."""
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


def parse_sentence(source: str) -> Sentence:
    """Parse a sentence with gaps such as `{topic}`, and count its tokens but for gaps."""
    first, *others = source.split(" ")
    tokens = 0
    counted = list[Gap]()
    for piece in (first, *[f" {other}" for other in others]):
        before, *gap = _GAP.split(piece)
        if not gap:
            tokens += count(piece)
        elif gap[0] in _ASPECTS:  # each of them is one token
            tokens += count(before + read_english("aspects")[0] + gap[1])
        else:
            counted.append(Gap(gap[0], _make_counter(before, gap[1])))
    return Sentence(_GAP.sub(r"%(\1)s", source.replace("%", "%%")), tokens, counted)


_ASPECTS = ("a", "b")


def _make_counter(before: str, after: str) -> Callable[[str], int]:
    def count_filled(filling: str) -> int:
        if filling != filling.strip():  # a blank at its edge goes with another token
            return _UNKNOWN
        return count(f"{before}{filling}{after}")

    return remember(64)(count_filled)


_UNKNOWN = -(1 << 30)  # tokens: no sum with it is positive


class Speaker:
    """Makes sentences on a topic that keep to the same few aspects."""

    __slots__ = ("_aspects", "_fillings", "_gaps", "_rng", "_topic")

    def __init__(self, topic: Topic, rng: Random) -> None:
        self._topic = topic
        self._rng = rng
        self._aspects = draw_aspects(rng)
        fillings = self._fillings = {"topic": topic.subject} if topic.subject else {}
        if topic.said:
            fillings["said"] = topic.said
            fillings["Said"] = capitalize(topic.said)
        if topic.act:
            fillings["act"] = topic.act
        self._gaps = frozenset(fillings)

    def write_sentences(self, begin: Begin = "openers") -> Iterator[Piece]:
        """Return sentences without end."""
        if self._topic.language != ENGLISH:
            return self._write_foreign(opened=begin == "openers")
        first = _list_beginnings(self._gaps, self._topic.kind, begin)
        return self.speak(pick(first, self._rng) if first else None)

    def write_thoughts(self) -> Iterator[str]:
        """Yield sentences of reasoning without end, those in English in the order of their list."""
        if self._topic.language != ENGLISH:
            yield from (text for text, _ in self.write_sentences())
        while True:
            yield from (next(self.speak(each))[0] for each in _list_sayable(self._gaps, "thoughts"))

    def speak(self, sentence: Sentence | None = None) -> Iterator[Piece]:
        """Yield a sentence with its gaps filled, then others without end: none comes back before all were said."""
        fillings = self._fillings
        aspects = self._aspects
        random = self._rng.random
        words = self._topic.words or ("this",)
        middles = _list_sayable(self._gaps, "middles")
        left: list[Sentence] = []
        while True:
            if sentence is None:
                left = left or [*middles]
                sentence = left.pop(floor(random() * len(left)))
            at = floor(random() * 4)  # from here on as `draw_two`, which takes twice as long
            other = at + 1 + floor(random() * (4 - at))
            if random() < 0.5:
                fillings["a"] = aspects[other]
                fillings["b"] = aspects[at]
            else:
                fillings["a"] = aspects[at]
                fillings["b"] = aspects[other]
            drawn = random()
            tokens = sentence.tokens
            if sentence.counted:
                fillings["word"] = words[floor(drawn * len(words))]
                fillings["A"] = fillings["a"].capitalize()
                for gap in sentence.counted:
                    tokens += gap.count(fillings[gap.name])
                tokens = max(tokens, 0)
            yield sentence.text % fillings, tokens
            sentence = None

    def _write_foreign(self, *, opened: bool) -> Iterator[Piece]:
        topic = self._topic
        rng = self._rng
        random = self._rng.random
        words = read_lexicon(topic.language)
        subject = topic.subject if opened else ""
        between = find_blank(topic)
        full_stop = read_languages()[topic.language].get("full_stop", ".")
        while True:
            made = [words[floor(random() * len(words))] for _ in range(5 + rng.randbelow(7))]
            if subject:
                made.insert(2 + rng.randbelow(2), f"“{subject}”")
                subject = ""
            yield capitalize(between.join(made)) + full_stop, 0


@cache
def _list_beginnings(gaps: frozenset[str], kind: str, begin: Begin) -> Sequence[Sentence]:
    if begin == "openers":
        return _list_sayable(gaps, kind, "openers") or _list_sayable(gaps, "any", "openers")
    return _list_sayable(gaps, begin) if begin == "endings" else ()


@cache
def _list_sayable(gaps: frozenset[str], name: str, group: str = "") -> Sequence[Sentence]:
    """Return the sentences of a list whose gaps can be filled."""
    listed = map(parse_sentence, read_english(name, group))
    return [each for each in listed if {gap.name for gap in each.counted} <= gaps | {"A", "word"}]
