"""What a prompt is about: its question or order, the subject, and the words that an answer picks up.

An English question is taken apart by its form, without a dictionary; in other languages the subject is what the stop
words at both ends leave.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

from mockserver.model.fillers import english
from mockserver.model.prose.language import ENGLISH, LETTERS, UNSPACED, language_of, requested_language, stop_words
from mockserver.model.vocabulary import excerpt, vocabulary

SIGNS = " \t\n.,;:!?¿¡。，！？；：؟\"'`*#-–—…()[]{}<>«»„“”‘’「」『』/\\|"
Found = tuple[str, str, str]  # kind, subject, act


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
    plural: bool = False


def topic(text: str, rules: str = "") -> Topic:
    """What a text is about; `rules` may name a language for the answer too."""
    return _topic(excerpt(text), excerpt(rules))


@lru_cache(maxsize=256)
def _topic(text: str, rules: str) -> Topic:
    request, spoken = _request(text), language_of(text)
    language = requested_language(text) or requested_language(rules) or spoken
    kind, subject, act = question(request) if spoken == ENGLISH else ("tell", _trimmed(request, spoken), "")
    words = content_words(subject or request, spoken)
    return Topic(text, language, kind, subject, act, request.rstrip(SIGNS), words, _is_plural(subject))


def question(request: str) -> Found:
    """The kind of an English question as a topic names it, its subject, and what somebody wants to do."""
    plain = _POLITE.sub("", request.translate(_UNQUOTED).strip(), count=1)
    condition = _CONDITION.match(plain)
    if condition is not None and _INTERROGATIVE.match(plain, condition.end()):
        plain = plain[condition.end() :]
    found = _INTERROGATIVE.match(plain)
    if found is None:
        return _ordered(plain)
    kind = next(name for name in _KINDS if found[name] is not None)
    return _KINDS[kind](plain[found.end() :], found)


def is_order(sentence: str) -> bool:
    """Whether a sentence tells somebody to do something."""
    return _order().match(sentence) is not None


def content_words(text: str, language: str) -> tuple[str, ...]:
    """The words of a text that are no stop words, each once, at most eight."""
    if language in UNSPACED:
        return (text,) if text else ()
    silent = stop_words(language)
    return tuple(dict.fromkeys(word for word in _WORD.findall(text) if len(word) > 2 and word.lower() not in silent))[
        :8
    ]


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
    silent, clause = stop_words(language), _CLAUSE_ANYWHERE.split(request.strip(SIGNS), maxsplit=1)[0]
    if language in UNSPACED:
        return _between(clause, sorted(silent, key=lambda word: (-len(word), word)))
    words = clause.split()[:14]
    while words and words[0].strip(SIGNS).lower() in silent:
        words.pop(0)
    while words and words[-1].strip(SIGNS).lower() in silent:
        words.pop()
    return " ".join(words[:8])[:_MAX_SUBJECT].strip(SIGNS)


def _between(rest: str, silent: list[str]) -> str:
    """The same where no blanks part the words."""
    before = None
    while rest != before:
        before = rest
        for word in silent:
            if len(word) < len(rest):
                rest = rest.removeprefix(word).removesuffix(word) if len(word) > 1 else rest.removesuffix(word)
    return rest[:24].strip(SIGNS)


def _is_plural(subject: str) -> bool:
    head = _PREPOSITION.split(subject, maxsplit=1)[0]
    last = head.rsplit(" ", 1)[-1].lower()
    return " and " in head or (last.endswith("s") and not last.endswith(("ss", "us", "is", "'s", "ics", "ness")))


def _of_way(rest: str, asked: re.Match[str]) -> Found:
    """How to do something, or how something is done."""
    if asked["whose"] or asked["how"].lower().endswith("to"):
        return "how", _noun(_WITHOUT_VERB.sub("", rest, count=1)), _phrase(rest, 10)
    return "what", _noun(_LAST_VERB.sub("", _phrase(rest, 8))), ""


def _of_number(rest: str, asked: re.Match[str]) -> Found:
    auxiliary = _AUXILIARY.match(rest)
    if auxiliary is None:
        return "count", _noun(_WITHIN.split(rest, maxsplit=1)[0]), ""
    return "count", _of_rest(rest[auxiliary.end() :], auxiliary, short=not _BEING.match(auxiliary[0])), ""


def _of_person(rest: str, asked: re.Match[str]) -> Found:
    after = _AUXILIARY.sub("", rest, count=1)
    return "who", _noun(after if after != rest else _WITHOUT_VERB.sub("", rest, count=1)), ""


def _of_thing(kind: str) -> Callable[[str, re.Match[str]], Found]:
    def found(rest: str, asked: re.Match[str]) -> Found:
        auxiliary = _AUXILIARY.match(rest)
        if auxiliary is None:
            return kind, _specified(rest, asked), ""
        short = kind == "why" or not _BEING.match(auxiliary[0])
        return kind, _of_rest(_MORE.sub("", rest[auxiliary.end() :], count=1), auxiliary, short=short), ""

    return found


def _of_truth(rest: str, asked: re.Match[str]) -> Found:
    """Whether something is so."""
    one = _ONE.match(rest)
    return "yes", _of_rest(rest[one.end() :], one, short=True) if one else "", ""


def _specified(rest: str, asked: re.Match[str]) -> str:
    """What `which lamp` asks for: one of the lamps; but `what a lamp is` asks for the thing itself."""
    named, *verb = _WITHIN.split(_MORE.sub("", rest, count=1), maxsplit=1)
    if _LEANING.match(named):
        return _noun(_LEANING.sub("", named, count=1))
    noun = _noun(_LIKE.sub("", named))
    itself = asked[0].endswith(("'s ", "’s ")) or (verb and not verb[0].strip(SIGNS))
    return noun if itself or not noun else f"the {noun}"


def _of_rest(rest: str, before: re.Match[str], *, short: bool) -> str:
    """The subject after an auxiliary verb; one word of it where a verb may follow (`short`)."""
    if before["whose"]:
        if " " not in rest.strip(SIGNS):
            return ""  # a verb alone: `where do I live`
        return _noun(_LEANING.sub("", _WITHOUT_VERB.sub("", rest, count=1), count=1))
    if before[0].lower().split()[-1:] in (["it"], ["there"]):
        return _keywords(rest)
    rest = _LEANING.sub("", rest, count=1)
    return _first_noun(rest) if short else _noun(rest)


def _ordered(plain: str) -> Found:
    """The same of a sentence that is no question: an order to tell or to do something, or a statement."""
    translated = _TRANSLATING.match(plain)
    if translated is not None:
        return "do", _LONE_QUOTE.sub("", _INTO.sub("", plain[translated.end() :])).strip(SIGNS)[:_MAX_SUBJECT], ""
    told = _telling().match(plain)
    if told is not None:
        return "tell", _noun(plain[told.end() :]), ""
    if is_order(plain):
        return "do", _noun(_WITHOUT_VERB.sub("", plain, count=1)), _phrase(plain[:1].lower() + plain[1:], 10)
    stated = _WITHIN.split(plain, maxsplit=1)[0]
    return "state", _keywords(plain) if _LEANING.match(stated) else _noun(stated), ""


def _first_noun(rest: str) -> str:
    """Its first word, or two after an article: a verb may follow."""
    words = rest.split(maxsplit=2)
    return _noun(" ".join(words[: 2 if words and words[0].lower() in _LEADING else 1]))


def _noun(rest: str) -> str:
    """The subject with which a rest of a sentence begins; its key words where it begins with a pronoun."""
    phrase = _phrase(rest, 8)
    if _PRONOUN.match(phrase) or len(phrase) < 2:
        return _keywords(phrase)
    first, blank, more = phrase.partition(" ")
    plain = first.lower() if first.lower() in stop_words(ENGLISH) and first != "I" else first
    return plain + blank + more


def _keywords(phrase: str) -> str:
    return " and ".join(content_words(phrase, ENGLISH)[-2:])


def _phrase(rest: str, most: int) -> str:
    """The words up to where a clause ends, as the one who answers says them."""
    clause = _LONE_QUOTE.sub("", _CLAUSE.split(rest, maxsplit=1)[0]).strip(SIGNS)
    words = [_TURNED.get(word.lower(), word) for word in clause.split()[:most]]
    while words and words[-1].lower() in _LOOSE:
        words.pop()
    return " ".join(words)[:_MAX_SUBJECT].strip(SIGNS)


@cache
def _order() -> re.Pattern[str]:
    return re.compile(rf"(?i)(?:please\s+)?(?:{'|'.join(english('verbs', 'orders'))})\b")


@cache
def _telling() -> re.Pattern[str]:
    """An order to tell something, up to what it is to be about."""
    verbs, texts = ("|".join(english(name, "orders")) for name in ("telling", "texts"))
    return re.compile(
        rf"""(?ix)(?:{verbs})\b\s*(?:(?:me|us|him|her|them|up|to\ me|you)\b\s*)?(?:(?:in|using)\ \w+\ \w+\s+)?
        (?:(?:(?:a|an|the|some|any|one|two|three|four|five|six|seven|eight|nine|ten|twelve|\d{{1,3}})\b\s*)?
        (?:(?:very|short|brief|long|detailed|simple|funny|good|quick|concise|nice|interesting|creative|numbered|
    markdown|
        bulleted|best|top|main|key|little|one-sentence|two-sentence|\d+-word|bullet)\b\s*){{0,4}}
        (?:{texts})\b\s*(?:(?:for|to)\ (?:(?:a|an|my|the|our|some)\ )?(?:{texts}|\w+)[ ]
        (?=about|on|regarding|asking|requesting|saying|telling|explaining|that))?)?
        (?:(?:really|very|nice|interesting|funny|short)\ )?(?:(?:about|on|of|for|to|that|regarding|describing|
    announcing|
        called|named|with|comparing|saying|telling|explaining|(?:asking|requesting)(?:\ for|\ to)?)\b\s*)?
        (?:(?:how|why|what|where|when|who)\s+(?:is\s+|are\s+|to\s+)?)?"""
    )


QUESTION_SIGNS = ("?", "？", "؟")
SENTENCE = re.compile(r"(?:[^.!?\n。！？؟।]|[.](?=[^\s]))+[.!?。！？؟।]*")
_MAX_SUBJECT = 100  # characters
_WORD = re.compile(f"[{LETTERS}]+(?:[-'’][{LETTERS}]+)*")
_UNQUOTED = str.maketrans("", "", '"“”„«»`*#[]{}<>')
_PREPOSITION = re.compile(r" (?:of|in|on|to|for|from|with|at|by|about|between|near|under) ")
_EMPTY = re.compile(r"(?i)(?:hi|hello|hey|hallo|hola|bonjour|thanks|thank you|ok|okay|please)?[\W\d_]*")
_CLAUSE_ANYWHERE = re.compile(r"[,;:()\n?!？！，。；：、؟，]|\. |\s[-–—]\s")
_POLITE = re.compile(
    r"""(?ix)\A(?:(?:in\ (?:exactly\ |about\ |at\ most\ |under\ |only\ )?\w+\ (?:words?|sentences?|paragraphs?|
    lines?)(?=,)|
    please|kindly|now|hi|hello|hey|ok|okay|so|and|also|then|just|well|thanks|in\ short|briefly|
    (?:can|could|would|will)\ you(?:\ please)?|i\ (?:want|need|would\ like|'d\ like)\ (?:you\ )?to(?:\ know)?|
    i'd\ like\ (?:you\ )?to|do\ you\ know|let's|let\ us|help\ me(?:\ to)?|help\ me\ with|
    answer\ (?:the|this|my)?(?:\ following)?\ questions?|
    (?:only\ |just\ )?(?:answer|reply|respond|output|return)\b[^:?!.\n]{0,60}(?=:)|you\ should|your\ task\ is\ to|
    your\ job\ is\ to|tell\ me(?=\ (?:what|how|why|when|where|who|which|if|whether)\b)|
    context:|user:|question:|q:|task:|query:|input:|human:)(?:[\s,!:.]+|\Z)){1,6}"""
)
_INTERROGATIVE = re.compile(
    r"""(?ix)(?:
    (?P<count>how\s+(?:many|much|old|far|long|big|tall|often|high|deep|heavy|fast)\b) |
    (?P<how>how\s+(?:do|does|can|could|should|would|to|might|did)\b)\s*(?P<whose>(?:i|you|we|one|someone|they)\b)? |
    (?P<what>(?:what|which|how)(?:'s|’s|\b)(?:\s+(?:kind|kinds|sort|type|types)\s+of)?) |
    (?P<why>why\b) | (?P<when>when\b|at\ what\ time\b) | (?P<where>where(?:'s)?\b) | (?P<who>who(?:'s|m|se)?\b) |
    (?P<yes>(?:is|are|was|were|do|does|did|can|could|will|would|should|shall|may|has|have|had|if|whether|am)\b)
    )\s*"""
)
_KINDS: dict[str, Callable[[str, re.Match[str]], Found]] = {
    "count": _of_number,
    "how": _of_way,
    "who": _of_person,
    "yes": _of_truth,
    **{kind: _of_thing(kind) for kind in ("what", "why", "when", "where")},
}
_CONDITION = re.compile(
    r"(?i)(?:if|when|since|because|given|assuming|suppose|after|before|while)\b[^?\n]{1,200},\s*(?:then\s+)?"
)
_TRANSLATING = re.compile(
    r"(?i)translate\b(?:\s+(?:the|this|these|following|given|text|sentences?|words?|phrases?|message|below|for me))*"
    r"(?:\s+(?:from|into|to)\s+\w+)*\s*:?\s*"
)
_INTO = re.compile(r"(?i)\s+(?:from \w+\s+)?(?:in)?to \w+\W*$")
_AUXILIARIES = r"is|are|was|were|am|do|does|did|can|could|will|would|should|shall|may|has|have|had|might|must"
_AUXILIARY = re.compile(
    rf"(?i)\A(?:(?:{_AUXILIARIES}|'s|about|happens to|it|there)\b\s*){{1,3}}(?P<whose>(?:i|you|we|they|one)\b\s*)?"
)
_ONE = re.compile(r"(?i)\A(?:(?:it|there)\b\s*|(?P<whose>(?:i|you|we|they|one)\b\s*))?")
_LIKE = re.compile(r"(?i) like\b")
_MORE = re.compile(r"(?i)\A(?:(?:more|less|most|least) \w+|\w{3,}er|better|best|worse|worst)[,:]? +")
_BEING = re.compile(r"(?i)(?:is|are|was|were|'s)\b")
_LEANING = re.compile(r"(?i)\A(?:in|on|at|for|to|with|from|into|of|about)\s+")
_LEADING = vocabulary("a an the my your our his her their this that these those some any all")
_WITHIN = re.compile(rf"(?i)\s(?:{_AUXILIARIES})\b")
_LAST_VERB = re.compile(
    r"(?i) (?:work|happen|mean|look|differ|function|begin|start|end|feel|compare|affect)(?: like)?$"
)
_WITHOUT_VERB = re.compile(r"(?i)\A(?:to )?(?:[a-z]+ (?:up|out|off|down|on) |[a-z]+ )(?:me |us |for )?")
_CLAUSE = re.compile(
    r"""(?ix)[,;:()\n?!]|\.\ |\s[-–—]\s|\s(?:and\ then|
    and\ (?:write|give|tell|explain|list|make|return|reply|answer|respond|also)|please|using|so\ that|because|since|if|
    when|while|but|which|who|(?:in|with|within|under|at\ most|as)\ (?:a|an|one|two|three|four|five|six|ten|\d{1,4}|
    exactly|
    about|at\ most|less|fewer|json|markdown|bullet|simple|plain|detail|short|german|french|spanish|italian|english|
    portuguese|japanese|chinese|examples?)\b|step\ by\ step|for\ (?:me|us)|to\ (?:me|us|an?\ (?:[\w-]+\ )?(?:child|
    beginner|
    kid|toddler|teenager|student|lay(?:man|person)|[\w-]*year[-\ ]olds?))|like\ i(?:'m|\ am))\b"""
)
_LONE_QUOTE = re.compile(r"(?<!\w)['‘]|['’](?!\w)")
_PRONOUN = re.compile(
    r"(?i)(?:(?:you|it|that|those|i|we|they|he|she|there|me|us|them)\b|"
    r"(?:this|these)\b(?! (?!(?:is|are|was|were|to|in|on|for|as|and|or|true|right|correct|wrong|good|bad|"
    r"okay|possible|safe|real|work|works|mean|means)\b)[a-z]{3}))"
)
_TURNED = {"my": "your", "your": "my", "our": "your", "i": "you", "me": "you", "mine": "yours", "myself": "yourself"}
_LOOSE = vocabulary(
    "a an the of in on at for to with by from and or is are was were be been am do does did as than about into that it"
)
