"""An English question or order taken apart: what kind it is, what it is about, what somebody wants to do.

Knows sentences alone, and English by its form: it has no dictionary.
"""

import re
from collections.abc import Callable

from mockserver.model.languages import ENGLISH, LETTERS, UNSPACED, frequent
from mockserver.model.vocabulary import vocabulary

SIGNS = " \t\n.,;:!?¿¡。，！？；：؟\"'`*#-–—…()[]{}<>«»„“”‘’「」『』/\\|"
LONGEST = 100  # characters of a subject


def question(ask: str) -> tuple[str, str, str]:
    """The kind of question as a topic names it, its subject, and what somebody wants to do."""
    plain = _POLITE.sub("", ask.translate(_UNQUOTED).strip(), count=1)
    condition = _CONDITION.match(plain)
    if condition is not None and _INTERROGATIVE.match(plain, condition.end()):
        plain = plain[condition.end() :]
    asked = _INTERROGATIVE.match(plain)
    if asked is None:
        return _ordered(plain)
    kind = next(name for name in _KINDS if asked[name] is not None)
    return _KINDS[kind](plain[asked.end() :], asked)


def is_order(sentence: str) -> bool:
    """Whether a sentence tells somebody to do something."""
    return _ORDER.match(sentence) is not None


def telling_words(text: str, language: str) -> tuple[str, ...]:
    """The words of a text that say something, each once."""
    if language in UNSPACED:
        return (text,) if text else ()
    known = frequent(language)
    return tuple(dict.fromkeys(word for word in _WORD.findall(text) if len(word) > 2 and word.lower() not in known))[:8]


def _of_way(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
    """How to do something, or how something is done."""
    if asked["whose"] or asked["how"].lower().endswith("to"):
        return "how", _noun(_WITHOUT_VERB.sub("", rest, count=1)), _phrase(rest, 10)
    return "what", _noun(_LAST_VERB.sub("", _phrase(rest, 8))), ""


def _of_number(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
    auxiliary = _AUXILIARY.match(rest)
    if auxiliary is None:
        return "count", _noun(_WITHIN.split(rest, maxsplit=1)[0]), ""
    return "count", _of_rest(rest[auxiliary.end() :], auxiliary, short=not _BEING.match(auxiliary[0])), ""


def _of_person(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
    told = _AUXILIARY.sub("", rest, count=1)
    return "who", _noun(told if told != rest else _WITHOUT_VERB.sub("", rest, count=1)), ""


def _of_thing(kind: str) -> "Callable[[str, re.Match[str]], tuple[str, str, str]]":
    def found(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
        auxiliary = _AUXILIARY.match(rest)
        if auxiliary is None:
            return kind, _specified(rest, asked), ""
        short = kind == "why" or not _BEING.match(auxiliary[0])
        return kind, _of_rest(_MORE.sub("", rest[auxiliary.end() :], count=1), auxiliary, short=short), ""

    return found


def _specified(rest: str, asked: re.Match[str]) -> str:
    """What `which lamp` asks for: one of the lamps; but `what a lamp is` asks for the thing itself."""
    named, *verb = _WITHIN.split(_MORE.sub("", rest, count=1), maxsplit=1)
    if _LEANING.match(named):
        return _noun(_LEANING.sub("", named, count=1))
    noun = _noun(_LIKE.sub("", named))
    itself = asked[0].endswith(("'s ", "’s ")) or (verb and not verb[0].strip(SIGNS))
    return noun if itself or not noun else f"the {noun}"


def _of_truth(rest: str, asked: re.Match[str]) -> tuple[str, str, str]:
    """Whether something is so."""
    one = _ONE.match(rest)
    return "yes", _of_rest(rest[one.end() :], one, short=True) if one else "", ""


def _of_rest(rest: str, before: re.Match[str], *, short: bool) -> str:
    """The subject after an auxiliary verb: a verb follows what somebody does, and may where it is `short`."""
    if before["whose"] and " " not in rest.strip(SIGNS):
        return ""  # a verb alone: `where do I live`
    if before["whose"]:
        return _noun(_LEANING.sub("", _WITHOUT_VERB.sub("", rest, count=1), count=1))
    if before[0].lower().split()[-1:] in (["it"], ["there"]):
        return _keywords(rest)
    rest = _LEANING.sub("", rest, count=1)
    return _first_noun(rest) if short else _noun(rest)


def _ordered(plain: str) -> tuple[str, str, str]:
    """The same of a sentence that is no question: an order to tell or to do something, or a mere statement."""
    translated = _TRANSLATING.match(plain)
    if translated is not None:
        return "do", _LONE_QUOTE.sub("", _INTO.sub("", plain[translated.end() :])).strip(SIGNS)[:LONGEST], ""
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
    plain = first.lower() if first.lower() in frequent(ENGLISH) and first != "I" else first
    return plain + blank + more


def _keywords(phrase: str) -> str:
    return " and ".join(telling_words(phrase, ENGLISH)[-2:])


def _phrase(rest: str, most: int) -> str:
    """The words up to where a clause ends, seen from the one who answers."""
    clause = _LONE_QUOTE.sub("", _CLAUSE.split(rest, maxsplit=1)[0]).strip(SIGNS)
    words = [_TURNED.get(word.lower(), word) for word in clause.split()[:most]]
    while words and words[-1].lower() in _LOOSE:
        words.pop()
    return " ".join(words)[:LONGEST].strip(SIGNS)


_WORD = re.compile(f"[{LETTERS}]+(?:[-'’][{LETTERS}]+)*")
_UNQUOTED = str.maketrans("", "", '"“”„«»`*#[]{}<>')

_POLITE = re.compile(
    r"(?i)\A(?:(?:in (?:exactly |about |at most |under |only )?\w+ (?:words?|sentences?|paragraphs?|lines?)(?=,)|"
    r"please|kindly|now|hi|hello|hey|ok|okay|so|and|also|then|just|well|thanks|in short|briefly|"
    r"(?:can|could|would|will) you(?: please)?|i (?:want|need|would like|'d like) (?:you )?to(?: know)?|"
    r"i'd like (?:you )?to|"
    r"do you know|let's|let us|help me(?: to)?|help me with|answer (?:the|this|"
    r"my)?(?: following)? questions?|(?:only |just )?"
    r"(?:answer|reply|respond|output|return)\b[^:?!.\n]{0,60}(?=:)|you should|"
    r"your task is to|your job is to|tell me(?= (?:what|how|why|"
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
_SPACED_KINDS = _KIND_OF_TEXT.replace(" ", r"\ ")
_TELLING = re.compile(
    rf"(?ix)(?:tell|teach|write|explain|describe|discuss|summari[sz]e|outline|talk|introduce|define|give|"
    rf"list|name|show|compare|"
    rf"compose|draft|say|think|elaborate|provide|suggest|recommend|generate|create|brainstorm|make|present|"
    rf"report|share|sum\ up)\b"
    rf"\s*(?:(?:me|us|him|her|them|up|to\ me|you)\b\s*)?(?:(?:in|using)\ \w+\ \w+\s+)?"
    rf"(?:(?:(?:a|an|the|some|any|one|two|three|four|five|six|seven|eight|nine|ten|twelve|\d{{1,3}})\b\s*)?"
    rf"(?:(?:very|short|brief|long|detailed|simple|funny|good|quick|concise|nice|interesting|creative|"
    rf"numbered|markdown|bulleted|best|top|main|key|little|one-sentence|two-sentence|\d+-word|bullet)\b\s*){{0,4}}"
    rf"(?:{_SPACED_KINDS})\b\s*(?:(?:for|to)\ (?:(?:a|an|my|the|our|some)\ )?(?:{_SPACED_KINDS}|"
    rf"\w+)\ (?=about|on|regarding|asking|requesting|saying|telling|explaining|that))?)?"
    rf"(?:(?:really|very|nice|interesting|funny|short)\ )?(?:(?:about|on|of|for|to|that|regarding|describing|"
    rf"announcing|called|named|with|comparing|saying|telling|explaining|(?:asking|requesting)(?:\ for|\ to)?)\b\s*)?"
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
    r"go|visit|click|press|type|enter|draw|roll|use|take|try|move|change|replace|download|upload|follow|"
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
    r"for (?:me|us)|to (?:me|us|an? (?:[\w-]+ )?(?:child|beginner|kid|toddler|teenager|student|lay(?:man|person)|"
    r"[\w-]*year[- ]olds?))|like i(?:'m| am))\b"
)
_LONE_QUOTE = re.compile(r"(?<!\w)['‘]|['’](?!\w)")
_PRONOUN = re.compile(
    r"(?i)(?:(?:you|it|that|those|i|we|they|he|she|there|me|us|them)\b|"
    r"(?:this|these)\b(?! (?!(?:is|are|was|were|to|in|on|for|as|and|or|true|right|correct|wrong|good|bad|"
    r"okay|possible|safe|real|work|works|mean|means)\b)[a-z]{3}))"
)
_TURNED = {"my": "your", "your": "my", "our": "your", "i": "you", "me": "you", "mine": "yours", "myself": "yourself"}
_LOOSE = vocabulary(
    "a an the of in on at for to with by from and or is are was were be been do does did as than about into that it"
)
