"""What a prompt is about: its question or order, the subject, and the words that an answer picks up."""

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from mockserver.model.fillers import english
from mockserver.model.prose.language import ENGLISH, LETTERS, UNSPACED, language_of, requested_language, stop_words
from mockserver.model.vocabulary import excerpt

SIGNS = " \t\n.,;:!?¿¡。，！？；：؟\"'`*#-–—…()[]{}<>«»„“”‘’「」『』/\\|"


@dataclass(frozen=True, slots=True)
class Topic:
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


def topic(text: str, rules: str = "") -> Topic:
    """What a text is about; `rules` may name a language for the answer too."""
    return _topic(excerpt(text), excerpt(rules))


@lru_cache(maxsize=256)
def _topic(text: str, rules: str) -> Topic:
    request, spoken = _request(text), language_of(text)
    language = requested_language(text) or requested_language(rules) or spoken
    kind, subject, act = question(request) if spoken == ENGLISH else ("tell", _trimmed(request, spoken), "")
    words = content_words(subject or request, spoken)
    return Topic(text, language, kind, subject[:_MAX_SUBJECT], act[:_MAX_SUBJECT], request.rstrip(SIGNS), words)


def question(request: str) -> tuple[str, str, str]:
    """The kind of an English question as a topic names it, its subject, and what somebody wants to do."""
    plain = _POLITE.sub("", request.translate(_UNQUOTED).strip(), count=1)
    found = _INTERROGATIVE.match(plain)
    if found is None:
        return _ordered(plain)
    rest = plain[found.end() :]
    kind = str(found.lastgroup)
    if kind == "how":
        return kind, "", _phrase(rest)
    being = _BEING.match(rest)
    if being is not None and kind != "why":
        return kind, _phrase(rest[being.end() :]), ""
    return kind, "".join(content_words(rest, ENGLISH)[:1]), ""


def _ordered(plain: str) -> tuple[str, str, str]:
    """The same of a sentence that is no question: an order to tell or to do something, or a statement."""
    if (telling := _telling().match(plain)) is not None:
        return "tell", _phrase(plain[telling.end() :]), ""
    if is_order(plain):
        return "do", "", _phrase(plain[:1].lower() + plain[1:])
    return "state", " and ".join(content_words(plain, ENGLISH)[-2:]), ""


def is_order(sentence: str) -> bool:
    """Whether a sentence tells somebody to do something."""
    return _order().match(sentence) is not None


def content_words(text: str, language: str) -> tuple[str, ...]:
    """The words of a text that are neither stop words nor endless, each once, at most eight."""
    if language in UNSPACED:
        return (text,) if text else ()
    silent = stop_words(language)
    found = (word for word in _WORD.findall(text) if 2 < len(word) <= _MAX_WORD and word.lower() not in silent)
    return tuple(dict.fromkeys(found))[:8]


def _request(text: str) -> str:
    """The sentence that asks: the last question, or the first order, or the first sentence that says anything."""
    sentences: list[str] = [found.strip() for found in SENTENCE.findall(text)]
    telling = [found for found in sentences if len(found) > 1 and not _EMPTY.fullmatch(found)]
    if len(telling) < 2:
        return telling[0] if telling else ""
    questions = (found for found in reversed(telling) if found.endswith(QUESTION_SIGNS))
    orders = (found for found in telling if is_order(found))
    return next(questions, None) or next(orders, None) or telling[0]


def _trimmed(request: str, language: str) -> str:
    """What stands between the stop words at both ends of a sentence."""
    silent, clause = stop_words(language), _CLAUSE.split(request.strip(SIGNS), maxsplit=1)[0]
    if language in UNSPACED:
        return clause[:24]
    words = clause.split()[:14]
    while words and words[0].strip(SIGNS).lower() in silent:
        words.pop(0)
    while words and words[-1].strip(SIGNS).lower() in silent:
        words.pop()
    return " ".join(words[:8]).strip(SIGNS)


def _phrase(rest: str) -> str:
    """The words up to where a clause ends, as the one who answers says them."""
    clause = _CLAUSE.split(rest, maxsplit=1)[0].strip(SIGNS)
    words = [_TURNED.get(word.lower(), word) for word in clause.split()[:10]]
    return " ".join(words).strip(SIGNS)


@cache
def _order() -> re.Pattern[str]:
    return re.compile(rf"(?i)(?:please\s+)?(?:{'|'.join(english('verbs', 'orders'))})\b")


@cache
def _telling() -> re.Pattern[str]:
    verbs = "|".join(english("telling", "orders"))
    return re.compile(rf"(?i)(?:{verbs})\b\s*(?:[^.,:;?!\n]{{0,60}}?\babout\s+|(?:me|us|to me)\s+)?")


QUESTION_SIGNS = ("?", "？", "؟")
SENTENCE = re.compile(r"(?:[^.!?\n。！？؟।]|[.](?=[^\s]))+[.!?。！？؟।]*")
_MAX_SUBJECT = 100  # characters
_MAX_WORD = 40
_WORD = re.compile(f"[{LETTERS}]+(?:[-'’][{LETTERS}]+)*")
_UNQUOTED = str.maketrans("", "", '"“”„«»`*#[]{}<>')
_EMPTY = re.compile(r"(?i)(?:hi|hello|hey|hallo|hola|bonjour|thanks|thank you|ok|okay|please)?[\W\d_]*")
_CLAUSE = re.compile(
    r"[,;:()\n?!？！，。；：、؟，]|\. |\s[-–—]\s|"
    r"\s(?:because|since|so that|please|in (?:exactly )?\w+ (?:word|sentence)s?)\b"
)
_POLITE = re.compile(
    r"""(?ix)\A(?:(?:please|now|hi|hello|hey|so|and|also|then|in\ (?:exactly\ )?\w+\ (?:words?|sentences?)(?=,)|
    (?:can|could|would|will)\ you(?:\ please)?|i(?:'d|\ would)?\ (?:want|need|like)\ (?:you\ )?to(?:\ know)?|
    do\ you\ know|let's|help\ me(?:\ to|\ with)?|tell\ me(?=\ (?:what|how|why|when|where|who|which|if|whether)\b)|
    (?:answer|reply|respond)\b[^:?!.\n]{0,60}(?=:)|
    (?:context|user|question|q|task|query|input|human):)(?:[\s,!:.]+|\Z)){1,6}"""
)
_INTERROGATIVE = re.compile(
    r"""(?ix)(?:
    (?P<count>how\s+(?:many|much|old|far|long|big|tall|often|high|deep|heavy|fast)\b) |
    (?P<how>how\s+(?:do|can|could|should|would|to|might|did)\b\s*(?:(?:i|you|we|one|they)\b)?) |
    (?P<what>(?:what|which|how)\b) | (?P<why>why\b) | (?P<when>when\b|at\ what\ time\b) | (?P<where>where\b) |
    (?P<who>who(?:m|se)?\b) |
    (?P<yes>(?:is|are|was|were|do|does|did|can|could|will|would|should|shall|may|has|have|had|if|whether|am)\b)
    )\s*"""
)
_BEING = re.compile(r"(?i)(?:is|are|was|were|['’]s)\s+")
_TURNED = {"my": "your", "your": "my", "our": "your", "i": "you", "me": "you", "mine": "yours", "myself": "yourself"}
