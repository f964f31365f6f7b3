"""What a prompt is about: its question, the subject of it, and the words that an answer picks up.

Knows texts alone. In English a question is taken apart; in other languages a subject is what the frequent words leave.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from mockserver.engine.generate.languages import ENGLISH, LETTERS, UNSPACED, common, language_asked, language_of
from mockserver.engine.generate.vocabulary import vocabulary


@dataclass(frozen=True, slots=True)
class Topic:
    """A prompt as an answer needs to know it.

    `kind` is the question: what, how, why, yes, when, where, who, count, tell and do where something
    is ordered, or state where nothing is.
    `subject` is a noun phrase, `act` what somebody wants to do, `said` the question without its sign; each
    may be empty.
    """

    text: str
    language: str
    kind: str = ""
    subject: str = ""
    act: str = ""
    said: str = ""
    words: tuple[str, ...] = ()
    several: bool = False  # whether the subject is more than one thing, as far as its form tells


def excerpt(text: str, most: int = 10_000) -> str:
    """A text as far as it is read: of a huge one, its beginning and its end."""
    return text if len(text) <= most else text[: most // 5] + "\n" + text[-most * 4 // 5 :]


def topic(text: str, wish: str = "") -> Topic:
    """What a text is about; `wish` is what else may name a language for the answer."""
    return _topic(excerpt(text), excerpt(wish))


@lru_cache(maxsize=256)
def _topic(text: str, wish: str) -> Topic:
    ask = _ask(text)
    spoken = language_of(text)
    language = language_asked(text) or language_asked(wish) or spoken
    if spoken == ENGLISH:
        kind, subject, act = _english(ask)
    else:
        kind, subject, act = "tell", _trimmed(ask, spoken), ""
    return Topic(
        text, language, kind, subject, act, ask.rstrip(_SIGNS), _words(subject or ask, spoken), _several(subject)
    )


def _several(subject: str) -> bool:
    head = _PREPOSITION.split(subject, maxsplit=1)[0]
    last = head.rsplit(" ", 1)[-1].lower()
    return " and " in head or (last.endswith("s") and not last.endswith(("ss", "us", "is", "'s", "ics", "ness")))


def _ask(text: str) -> str:
    """The sentence that asks: the last question, or the first order, or the first sentence that says anything."""
    sentences: list[str] = [found.strip() for found in _SENTENCE.findall(text)]
    telling = [found for found in sentences if len(found) > 1 and not _EMPTY.fullmatch(found)]
    if len(telling) < 2:
        return telling[0] if telling else ""
    questions = (found for found in reversed(telling) if found.endswith(_QUESTION_SIGNS))
    orders = (found for found in telling if _ORDER.match(found))
    return next(questions, None) or next(orders, None) or telling[0]


def _english(ask: str) -> tuple[str, str, str]:
    """The kind of question, its subject, and what somebody wants to do."""
    plain = _POLITE.sub("", ask.translate(_UNQUOTED).strip(), count=1)
    asked = _INTERROGATIVE.match(plain)
    if asked is None:
        return _ordered(plain)
    kind = next(name for name in _KINDS if asked[name] is not None)
    return _KINDS[kind](plain[asked.end() :], asked)


def _of_way(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
    """How to do something, or how something is done."""
    if asked["whose"] or asked["how"].lower().endswith("to"):
        return "how", _noun(_WITHOUT_VERB.sub("", rest, count=1)), _phrase(rest, 10)
    return "what", _noun(_LAST_VERB.sub("", _phrase(rest, 8))), ""


def _of_number(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
    return "count", _noun(_WITHIN.split(_AUXILIARY.sub("", rest, count=1), maxsplit=1)[0]), ""


def _of_person(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
    told = _AUXILIARY.sub("", rest, count=1)
    return "who", _noun(told if told != rest else _WITHOUT_VERB.sub("", rest, count=1)), ""


def _of_thing(kind: str) -> "Callable[[str, re.Match[str]], tuple[str, str, str]]":
    def found(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
        auxiliary = _AUXILIARY.match(rest)
        if auxiliary is None:
            return kind, "the " + _noun(_WITHIN.split(rest, maxsplit=1)[0]) if rest else "", ""
        short = kind == "why" or (kind != "what" and not _BEING.match(auxiliary[0]))
        return kind, _of_rest(rest[auxiliary.end() :], auxiliary, short=short), ""

    return found


def _of_truth(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
    """Whether something is so."""
    one = _ONE.match(rest)
    return "yes", _of_rest(rest[one.end() :], one, short=True) if one else "", ""


def _of_rest(rest: str, before: re.Match[str], *, short: bool) -> str:
    """The subject after an auxiliary verb: a verb follows what somebody does, and may where it is `short`."""
    if before["whose"]:
        return _noun(_LEANING.sub("", _WITHOUT_VERB.sub("", rest, count=1), count=1))
    if before[0].lower().split()[-1:] in (["it"], ["there"]):
        return _keywords(rest)
    return _first_noun(rest) if short else _noun(rest)


def _ordered(plain: str) -> tuple[str, str, str]:
    """The same of a sentence that is no question: an order to tell or to do something, or a mere statement."""
    told = _TELLING.match(plain)
    if told is not None:
        return "tell", _noun(plain[told.end() :]), ""
    if _ORDER.match(plain):
        return "do", _noun(_WITHOUT_VERB.sub("", plain, count=1)), _phrase(plain[:1].lower() + plain[1:], 10)
    stated = _WITHIN.split(plain, maxsplit=1)[0]
    return "state", _keywords(plain) if _LEANING.match(stated) else _noun(stated), ""


def _first_noun(rest: str) -> str:
    """Its first word, or two where one leads to the next: a verb may follow, which nobody here can tell."""
    words = rest.split(maxsplit=2)
    return _noun(" ".join(words[: 2 if words and words[0].lower() in _LEADING else 1]))


def _noun(rest: str) -> str:
    """The subject with which a rest of a sentence begins; nothing where it begins with one that stands for another."""
    phrase = _phrase(rest, 8)
    if _PRONOUN.match(phrase) or len(phrase) < 2:
        return _keywords(phrase)
    first, blank, more = phrase.partition(" ")
    plain = first.lower() if first.lower() in common(ENGLISH) and first != "I" else first
    return plain + blank + more


def _keywords(phrase: str) -> str:
    return " and ".join(_words(phrase, ENGLISH)[-2:])


def _phrase(rest: str, most: int) -> str:
    """The words up to where a clause ends, seen from the one who answers."""
    clause = _CLAUSE.split(rest, maxsplit=1)[0].strip(_SIGNS)
    words = [_TURNED.get(word.lower(), word) for word in clause.split()[:most]]
    while words and words[-1].lower() in _LOOSE:
        words.pop()
    return " ".join(words)[:_LONGEST].strip(_SIGNS)


def _trimmed(ask: str, language: str) -> str:
    """What stands between the frequent words at both ends of a sentence."""
    if language in UNSPACED:
        return _between(_CLAUSE_ANYWHERE.split(ask.strip(_SIGNS), maxsplit=1)[0], language)
    known, words = common(language), _CLAUSE_ANYWHERE.split(ask.strip(_SIGNS), maxsplit=1)[0].split()[:14]
    while words and words[0].strip(_SIGNS).lower() in known:
        words.pop(0)
    while words and words[-1].strip(_SIGNS).lower() in known:
        words.pop()
    return " ".join(words[:8])[:_LONGEST].strip(_SIGNS)


def _between(text: str, language: str) -> str:
    """The same where no blanks part the words."""
    known = sorted(common(language), key=lambda word: (-len(word), word))
    rest, before = text, None
    while rest != before:
        before = rest
        for word in known:
            if len(word) < len(rest):
                rest = rest.removeprefix(word).removesuffix(word) if len(word) > 1 else rest.removesuffix(word)
    return rest[:_LONGEST_UNSPACED].strip(_SIGNS)


def _words(text: str, language: str) -> tuple[str, ...]:
    """The words of a text that say something, each once."""
    if language in UNSPACED:
        return (text,) if text else ()
    known = common(language)
    return tuple(dict.fromkeys(word for word in _WORD.findall(text) if len(word) > 2 and word.lower() not in known))[:8]


_SIGNS = " \t\n.,;:!?¿¡。，！？；：؟\"'`*#-–—…()[]{}<>«»„“”‘’「」『』/\\|"
_QUESTION_SIGNS = ("?", "？", "؟")
_UNQUOTED = str.maketrans("", "", '"“”„«»`*#[]{}<>')
_WORD = re.compile(f"[{LETTERS}]+(?:[-'’][{LETTERS}]+)*")
_PREPOSITION = re.compile(r" (?:of|in|on|to|for|from|with|at|by|about|between|near|under) ")
_SENTENCE = re.compile(r"(?:[^.!?\n。！？؟।]|[.](?=[^\s]))+[.!?。！？؟।]*")
_EMPTY = re.compile(r"(?i)(?:hi|hello|hey|hallo|hola|bonjour|thanks|thank you|ok|okay|please)?[\W\d_]*")
_LONGEST, _LONGEST_UNSPACED = 100, 24

_POLITE = re.compile(
    r"(?i)\A(?:(?:please|kindly|now|hi|hello|hey|ok|okay|so|and|also|then|just|well|thanks|in short|briefly|"
    r"(?:can|could|would|will) you(?: please)?|i (?:want|need|would like|'d like) (?:you )?to(?: know)?|"
    r"i'd like (?:you )?to|"
    r"do you know|let's|let us|help me(?: to)?|help me with|answer (?:the|this|"
    r"my)?(?: following)? questions?|you should|your task is to|your job is to|tell me(?= (?:what|how|why|"
    r"when|where|who|which|if|whether)\b)|context:|user:|question:|q:|task:|query:|input:|"
    r"human:)(?:[\s,!:.]+|\Z)){1,6}"
)
_INTERROGATIVE = re.compile(
    r"(?ix)(?:"
    r"(?P<count>how\s+(?:many|much|old|far|long|big|tall|often|high|deep|heavy|fast)\b) | "
    r"(?P<how>how\s+(?:do|does|can|could|should|would|to|might|did)\b)\s*(?P<whose>(?:i|you|we|one|someone|"
    r"they)\b)? | "
    r"(?P<what>(?:what|which|how)(?:'s|’s|\b)(?:\s+(?:kind|kinds|sort|type|types)\s+of)?) | "
    r"(?P<why>why\b) | (?P<when>when\b|at\ what\ time\b) | (?P<where>where(?:'s)?\b) | (?P<who>who(?:'s|m|se)?\b) | "
    r"(?P<yes>(?:is|are|was|were|do|does|did|can|could|will|would|should|shall|may|has|have|had|if|whether|am)\b)"
    r")\s*"
)
_AUXILIARIES = r"is|are|was|were|am|do|does|did|can|could|will|would|should|shall|may|has|have|had|might|must"
_AUXILIARY = re.compile(
    rf"(?i)\A(?:(?:{_AUXILIARIES}|'s|about|happens to|it|there)\b\s*){{1,3}}(?P<whose>(?:i|you|we|they|one)\b\s*)?"
)
_ONE = re.compile(r"(?i)\A(?:(?:it|there)\b\s*|(?P<whose>(?:i|you|we|they|one)\b\s*))?")
_BEING = re.compile(r"(?i)(?:is|are|was|were|'s)\b")
_LEANING = re.compile(r"(?i)\A(?:in|on|at|for|to|with|from|into|of|about)\s+")
_LEADING = vocabulary("a an the my your our his her their this that these those some any all")
_WITHIN = re.compile(rf"(?i)\s(?:{_AUXILIARIES})\b")
_LAST_VERB = re.compile(
    r"(?i) (?:work|happen|mean|look|differ|function|begin|start|end|feel|compare|affect)(?: like)?$"
)
_KINDS: "dict[str, Callable[[str, re.Match[str]], tuple[str, str, str]]]" = {
    "count": _of_number,
    "how": _of_way,
    "who": _of_person,
    "yes": _of_truth,
    **{kind: _of_thing(kind) for kind in ("what", "why", "when", "where")},
}
_WITHOUT_VERB = re.compile(r"(?i)\A(?:to )?(?:[a-z]+ (?:up|out|off|down|on) |[a-z]+ )(?:me |us |for )?")
_KIND_OF_TEXT = (
    r"story|poem|haiku|limerick|essay|paragraphs?|sentences?|list|joke|article|summary|e-?mail|letter|"
    r"overview|introduction|"
    r"explanation|description|report|blog post|post|tweet|song|speech|names?|titles?|slogans?|ideas?|"
    r"reasons?|examples?|facts?|"
    r"tips?|ways?|steps?|words?|bullet points?|bullets|points|information|details?|something|anything|"
    r"everything|more|a bit|"
    r"table|outline|plan|review|headline|tagline|questions?|things?|pros and cons|short story|text"
)
_TELLING = re.compile(
    rf"(?ix)(?:tell|teach|write|explain|describe|discuss|summari[sz]e|outline|talk|introduce|define|give|"
    rf"list|name|show|compare|"
    rf"compose|draft|say|think|elaborate|provide|suggest|recommend|generate|create|brainstorm|make|present|"
    rf"report|share|sum\ up)\b"
    rf"\s*(?:(?:me|us|him|her|them|up|to\ me|you)\b\s*)?(?:(?:in|using)\ \w+\ \w+\s+)?"
    rf"(?:(?:(?:a|an|the|some|any|one|two|three|four|five|six|seven|eight|nine|ten|twelve|\d{{1,3}})\b\s*)?"
    rf"(?:(?:very|short|brief|long|detailed|simple|funny|good|quick|concise|nice|interesting|creative|"
    rf"numbered|markdown|"
    rf"bulleted|best|top|main|key|little|one-sentence|two-sentence|\d+-word|bullet)\b\s*){{0,4}}"
    rf"(?:(?:{_KIND_OF_TEXT})\b\s*)?(?:(?:for|to)\ (?:(?:a|an|my|the|our|some)\ )?(?:{_KIND_OF_TEXT}|"
    rf"\w+)\ (?=about|on|regarding))?"
    rf"(?:(?:really|very|nice|interesting|funny|short)\ )?(?:(?:about|on|of|for|to|that|regarding|describing|"
    rf"called|named|with|comparing)\b\s*)?)?"
    rf"(?:(?:how|why|what|where|when|who)\s+(?:is\s+|are\s+|to\s+)?)?"
)
_ORDER = re.compile(
    r"(?i)(?:please\s+)?(?:tell|write|explain|describe|summari[sz]e|list|name|compare|give|show|create|"
    r"generate|make|find|"
    r"translate|classify|extract|analy[sz]e|review|rewrite|suggest|recommend|plan|build|implement|calculate|"
    r"compute|convert|"
    r"book|buy|order|send|search|check|help|fix|improve|choose|pick|say|repeat|reply|respond|answer|draft|"
    r"compose|design|look|"
    r"get|set|add|remove|delete|update|open|close|run|start|stop|call|schedule|remind|play|turn|sort|solve|"
    r"count|identify|"
    r"rate|define|outline|discuss|prepare|provide|return|output|print|install|configure|teach|tell|think|ask|read)\b"
)
_CLAUSE = re.compile(
    r"(?i)[,;:()\n?!]|\. |\s[-–—]\s|\s(?:and then|and (?:write|give|tell|explain|list|make|return|reply|"
    r"answer|respond|also)|please|"
    r"using|so that|because|since|if|when|while|but|which|who|"
    r"(?:in|with|within|under|at most|as) (?:a|an|one|two|three|four|five|six|ten|\d{1,4}|exactly|about|"
    r"at most|less|fewer|json|markdown|"
    r"bullet|simple|plain|detail|short|german|french|spanish|italian|english|portuguese|japanese|chinese|"
    r"examples?)\b|step by step|"
    r"for (?:me|us)|to (?:me|us|a (?:child|beginner|kid))|like i(?:'m| am))\b"
)
_CLAUSE_ANYWHERE = re.compile(r"[,;:()\n?!？！，。；：、؟，]|\. |\s[-–—]\s")
_PRONOUN = re.compile(r"(?i)(?:you|it|this|that|these|those|i|we|they|he|she|there|me|us|them)(?:$|\b)")
_TURNED = {"my": "your", "your": "my", "our": "your", "i": "you", "me": "you", "mine": "yours", "myself": "yourself"}
_LOOSE = vocabulary(
    "a an the of in on at for to with by from and or is are was were be been do does did as than about into that it"
)
