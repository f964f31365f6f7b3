"""Answers out of what a conversation says: the sentence of a context, or of an earlier turn, that a question asks for.

A sentence answers a question if it has nearly all the words that say something, its names and numbers among them, and
says more than the question does. Knows conversations, no wire shape.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from mockserver.core.call import Call
from mockserver.model.prose.language import ENGLISH, UNSPACED, language_of, stop_words
from mockserver.model.prose.topic import QUESTION_SIGNS, SENTENCE, SIGNS, Topic, is_order
from mockserver.model.vocabulary import excerpt, stem, vocabulary, words


def passage(call: Call, about: Topic) -> str | None:
    """The sentence that answers the question, as the one who answers says it; None where nothing said does."""
    asked = _asked(about)
    if asked is None:
        return None
    sentences = tuple(islice(_sentences(call), _MOST_SENTENCES))
    if (name := _name(about.said, sentences)) is not None:
        return name
    found = _best(asked, sentences) if asked.keys else None
    if found is not None:
        return _confirmed(about, found)
    return _unknown(call)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence that states something; `own` if the one who asks said it."""

    text: str
    own: bool
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Question:
    """What an answer has to have: `needed` all of it, of `keys` the most."""

    kind: str
    person: str  # whose affairs are asked about: mine, yours or nobody's
    keys: frozenset[str]
    needed: frozenset[str]


def _asked(about: Topic) -> _Question | None:
    """The question, if it is one about a third party or about the one who asks."""
    is_question = about.kind in _QUESTIONS if about.kind != "tell" else _is_question(about)
    said = _IDLE.sub("", _LABEL.sub("", _BEGUN.split(about.said)[-1]))
    if not is_question or len(said) > _LONGEST_QUESTION:
        return None
    keys = _keys(said)
    rest = said.lstrip(SIGNS).partition(" ")[2]
    named = _keys(" ".join(_NAMED.findall(rest)))
    person = "mine" if _MINE.search(said) else "yours" if _YOURS.search(said) else ""
    return _Question(about.kind, person, keys, named & keys)


def _is_question(about: Topic) -> bool:
    """Whether the sentence that asks ends as questions do, in a language that is not taken apart."""
    at = about.text.rfind(about.said)
    return about.text[at + len(about.said) :].lstrip(" \t\"'”»)").startswith(QUESTION_SIGNS)


def _sentences(call: Call) -> Iterator[_Sentence]:
    """What the conversation states, the last first; what rules order is no statement."""
    read = 0
    for message in reversed(call.messages):
        if message.role in ("tool", "function") or read > _MOST_READ:
            continue
        text = excerpt(message.text, _LONGEST_TEXT)
        read += len(text)
        ruling = message.role in ("system", "developer")
        for found in SENTENCE.finditer(_BEGUN.sub(r"\n\g<0>", text)):
            said = _LABEL.sub("", found[0].strip(), count=1).strip()
            if _states(said, ruling=ruling):
                yield _Sentence(said, message.role == "user", _keys(said))


def _states(said: str, *, ruling: bool) -> bool:
    if len(said) < _SHORTEST or said.endswith((*QUESTION_SIGNS, ":")) or is_order(said) or _RULE.match(said):
        return False
    return not (ruling and _YOURS.search(said))


def _best(asked: _Question, sentences: Sequence[_Sentence]) -> _Sentence | None:
    """The sentence that has most of what is asked for, rare words before common ones; the first of equals."""
    spread = Counter(key for sentence in sentences for key in sentence.keys)
    weights = {key: 1 / (1 + spread[key] / 8) for key in sorted(asked.keys)}
    total = sum(weights.values())
    best, most = None, 0.0
    for sentence in sentences:
        if not _fits(asked, sentence):
            continue
        share = sum(weights[key] for key in sorted(asked.keys & sentence.keys)) / total
        if share >= _ENOUGH and share + _suits(asked.kind, sentence.text) > most:
            best, most = sentence, share + _suits(asked.kind, sentence.text)
    return best


def _fits(asked: _Question, sentence: _Sentence) -> bool:
    """Whether a sentence can be an answer: it has the names that are asked about, and says more than was asked."""
    if not asked.needed <= sentence.keys or (asked.kind != "yes" and not sentence.keys - asked.keys):
        return False
    mine = _MINE.search(sentence.text) is not None
    if asked.person == "mine" and (len(asked.keys & sentence.keys) < _PLENTY or sentence.own):
        return sentence.own and mine
    return mine and not sentence.own if asked.person == "yours" else True


def _suits(kind: str, text: str) -> float:
    """A little for a number, a time or a name where one is wanted."""
    wanted = _WANTED.get(kind)
    return _LITTLE if wanted is not None and wanted.search(text, 1) else 0.0


def _confirmed(about: Topic, found: _Sentence) -> str:
    """The sentence as an answer: turned to the one who said it, with yes or no before it where that is asked."""
    told = _turned(found.text) if found.own and _MINE.search(found.text) else found.text
    told = told if told.endswith(_ENDS) else told + "."
    if about.kind != "yes":
        return told
    return f"{'No' if _DENIAL.search(found.text) else 'Yes'}. {told}"


def _turned(text: str) -> str:
    """What somebody says of himself, as it is said to him."""
    turned = _PERSONS.sub(lambda found: _TURNED[found[0].lower()], text)
    return turned[:1].upper() + turned[1:]


def _name(said: str, sentences: Sequence[_Sentence]) -> str | None:
    """The name of the one who asks for it, where it was told."""
    if not _MY_NAME.search(said):
        return None
    told = (_I_AM.search(sentence.text) for sentence in sentences if sentence.own)
    found = next((name for name in told if name is not None), None)
    return None if found is None else f"Your name is {found[1]}."


def _unknown(call: Call) -> str | None:
    """What is to be said when the answer is not there, where the prompt says so."""
    for message in reversed(call.messages):
        if message.role != "tool" and (found := _NOT_KNOWN.search(excerpt(message.text, _LONGEST_TEXT))):
            return str(found["quoted"] or "I don't know.").strip("\"'“”‘’`")
    return None


def _keys(text: str) -> frozenset[str]:
    """What a text's words are compared by; the frequent ones say nothing."""
    language = language_of(text)
    silent = stop_words(ENGLISH) | _SILENT | (stop_words(language) if language != ENGLISH else frozenset())
    if language in UNSPACED:
        text = "".join(sign for sign in text if sign not in _KANA)
    return frozenset(stem(word) for word in words(text.replace("'s ", " ")) if word not in silent)


_QUESTIONS = vocabulary("what how why when where who count yes")
_ENDS = (".", "!", "。", "！", "।", "…")
_MOST_SENTENCES, _MOST_READ, _LONGEST_TEXT, _LONGEST_QUESTION, _SHORTEST = 2000, 100_000, 40_000, 300, 4
_ENOUGH, _LITTLE, _PLENTY = 0.66, 0.1, 2
_LABELS = (
    r"(?:context|documents?|passage|text|sources?|answer|facts?|content|question|query|user|human|kontext|contexte|contexto|"
    r"contesto|frage|antwort|pregunta|respuesta|réponse|domanda|risposta|pergunta|resposta|контекст|вопрос|ответ|文脈|質問|上下文|问题)"
    r"(?:\s?\[?\d{1,3}\]?)?\s?[:：]"
)
_LABEL = re.compile(rf"(?i)\A(?:[-*•>#|\s]{{1,8}}|\d{{1,2}}[.)]\s|</?[\w-]{{1,30}}[^<>\n]{{0,80}}>|{_LABELS}){{1,8}}")
_BEGUN = re.compile(rf"(?i)(?<!\w){_LABELS}")
_RULE = re.compile(
    r"(?i)(?:(?:always|never|only|do not|don't|if|when|you|your|use|be|keep|remember to|make sure|please|note that you|"
    r"question|frage|pregunta|query|user|human)\b)"
)
_YOURS = re.compile(r"(?i)\b(?:you|your|yours|yourself)\b")
_MINE = re.compile(r"(?i)(?<![\w'])(?:i|i'm|i've|i’m|my|mine|me|we|our)(?![\w])")
_MY_NAME = re.compile(r"(?i)\b(?:my (?:first |full )?name|who (?:am|i am|i'm)(?: i)?\b|i am called|my name is)")
_I_AM = re.compile(
    r"(?:\b[Mm]y (?:first |full )?name(?: is|'s|’s)|\b[Cc]all me|\b[Tt]his is|"
    r"(?i:\bi'm|\bi am|\bi’m|\bim)(?: called| named)?)"
    r"\s+((?:[^\W\d_a-z][\w'’-]{0,30})(?:\s[^\W\d_a-z][\w'’-]{0,30}){0,2}|(?<=me )\w{2,20}|(?<=is )\w{2,20})"
)
_NAMED = re.compile(r"\b(?:[^\W\d_a-z][\w'’-]{0,40}|\w{0,20}\d[\w.,]{0,20})")
_PERSONS = re.compile(r"(?i)(?<![\w'])(?:i am|i'm|i’m|i was|i've|i’ve|i'll|i|my|mine|me|myself|we are|we|our)(?!\w)")
_TURNED = {
    "i am": "you are", "i'm": "you are", "i’m": "you are", "i was": "you were", "i've": "you have", "i’ve": "you have",
    "i'll": "you will", "i": "you", "my": "your", "mine": "yours", "me": "you", "myself": "yourself",
    "we are": "you are", "we": "you", "our": "your",
}  # fmt: skip
_DENIAL = re.compile(r"(?i)\b(?:not|no|never|cannot|without|isn't|aren't|doesn't|don't|won't|can't)\b")
_NOT_KNOWN = re.compile(
    r"(?i)\b(?:if|when|unless)\b[^.\n]{0,80}?\b(?:answer|context|information|document|know|sure|found|find|there|text|present|"
    r"relevant|mentioned|contain)\w*\b[^\n]{0,100}?\b(?:say|reply|respond|answer|state|write|return|output)\b"
    r"(?:\s+(?:with|only|just|exactly|simply|that|so)){0,3}\s*[:,]?\s*"
    r"(?:(?P<quoted>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|“[^”\n]{1,200}”|`[^`\n]{1,200}`)|"
    r"you (?:do not|don't|don’t) know|i (?:do not|don't|don’t) know)"
)
_IDLE = re.compile(r"(?i)\A(?:and|so|but|then|okay|ok)\b[\s,]*|\b(?:according to|based on) (?:the|this) \w+,?")
_WANTED = {
    "count": re.compile(r"\d"),
    "when": re.compile(r"\d|(?i:day|night|morning|week|month|year)"),
    "who": re.compile(r"(?<=\s)[^\W\d_a-z][a-z]"),
    "where": re.compile(r"(?i)\b(?:in|at|near|on|from)\b"),
}
_SILENT = vocabulary(
    "many much tall old long far big high deep heavy fast often kind sort type name called mean means "
    "exactly currently today right please know tell"
)
_KANA = frozenset("のはをがにでとへもやかですますくださいこれそれあれどこなになん何誰什么的是了吗在有请？。、")
