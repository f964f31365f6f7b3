"""Words as they tell tools apart: reduced to stems, joined with their synonyms, weighed by how much they say.

Knows English endings and the words of interfaces, no tools and no calls. Scripts without blanks are cut into pairs of
characters.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from unicodedata import combining, normalize

from mockserver.engine.generate.tools.foreign import foreign
from mockserver.engine.generate.tools.synonyms import SYNONYMS

Keys = frozenset[str]  # a stem, and the groups of synonyms that it is in: words with a common key mean the same


def words(text: str) -> tuple[str, ...]:
    """The words of a text or of an identifier, in order, in lower case and without accents; `findOrder_2` has 3."""
    return _known_words(text) if len(text) < _SHORT else tuple(_words(text))


@lru_cache(maxsize=4096)
def keys(word: str) -> Keys:
    """What a word is compared by; empty where it says nothing."""
    if word in _SILENT or (len(word) == 1 and word.isascii() and word not in _SIGNS):
        return frozenset()
    meant = roots(word)
    return meant | {group for each in meant for group in _groups().get(each, ())}


def roots(word: str) -> Keys:
    """The stem of a word, and of each English word that it stands for."""
    return frozenset({stem(word), *_meanings().get(word, ())})


@lru_cache(maxsize=4096)
def weight(word: str) -> float:
    """How much a word tells of what is asked for, from 0 to 1: `weather` more than `send`, that more than `get`."""
    if not keys(word):
        return 0.0
    return min(_weights().get(root, 1.0) for root in roots(word))


def is_deed(word: str) -> bool:
    """Whether a word says what is done, even if no more than that something is looked at."""
    return is_action(word) or reads(word)


def reads(word: str) -> bool:
    """Whether a word asks for what is there, rather than for something to be done with it."""
    return not _READING.isdisjoint(roots(word))


def is_action(word: str) -> bool:
    """Whether a word says what is done, rather than with what."""
    return weight(word) == _WEIGHT_OF_ACTION


def leading(said: Sequence[str]) -> str:
    """The first word that tells anything, if it may be what is to be done: not `schedule` of `my schedule`."""
    at = next((at for at, word in enumerate(said) if keys(word)), None)
    return "" if at is None or (at and said[at - 1] in _DETERMINERS) else said[at]


def stem(word: str) -> str:
    """A word without its ending: `bookings`, `booking` and `book` have one stem."""
    for _ in range(3):
        shorter = _without_ending(word)
        if shorter == word:
            break
        word = shorter
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 2 and word[-1] == "y":
        word = word[:-1] + "i"
    return word[:-1] if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "aeiou" else word


@lru_cache(maxsize=4096)
def _known_words(text: str) -> tuple[str, ...]:
    """The same for names and descriptions, which come with every request of a client."""
    return tuple(_words(text))


def _words(text: str) -> Iterator[str]:
    for found in _PIECE.finditer(_plain(text)):
        piece = found[0]
        if _UNSPACED.match(piece):
            yield from (piece[at : at + 2] for at in range(max(1, len(piece) - 1)))
        else:
            yield piece.lower()


def _plain(text: str) -> str:
    """A text without accents, and with one word for what takes several: `3 times 4` is no time."""
    bare = text.replace("’", "'")
    if not bare.isascii():
        bare = normalize("NFC", "".join(sign for sign in normalize("NFKD", bare) if not combining(sign)))
    for phrase, word in _PHRASES:
        bare = phrase.sub(word, bare)
    return bare


def _without_ending(word: str) -> str:
    for ending, instead, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word[: -len(ending)] + instead
    return word


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """The groups that each stem is in."""
    found: dict[str, tuple[str, ...]] = {}
    for group in SYNONYMS:
        for word in group.split():
            found[stem(word)] = (*found.get(stem(word), ()), "~" + group.split()[0])
    return found


@cache
def _meanings() -> dict[str, tuple[str, ...]]:
    """The stems of the English words that each foreign one stands for, which has no English endings itself."""
    found: dict[str, tuple[str, ...]] = {}
    for word, english in foreign():
        for piece in _words(word):
            found[piece] = (*found.get(piece, ()), stem(english))
    return found


@cache
def _weights() -> dict[str, float]:
    return {stem(word): weight for weight, listed in _LIGHT.items() for word in listed.split()}


_SHORT = 1_000
_BEFORE_A_NOUN = "a an the my your our his her their its this that these any some of what which whose s"
_DETERMINERS = frozenset(_BEFORE_A_NOUN.split())
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PIECE = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
    r"|[^\W\d_A-Za-z\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[+*×÷]"
)
# What is said in several words or signs, and the word that stands for it.
_PHRASES = tuple(
    (re.compile(phrase), word)
    for phrase, word in (
        (r"(?<=[A-Za-z])'(?:s|re|ll|ve|d|m)\b", ""),
        (r"\b[eE]-(?=mail)", "e"),
        (r"\b(?=(?:[Ee]?mail|[Mm]essage|[Tt]ext)\s+(?:it|them|him|her|me|us|the|[A-Z]\w|\S{1,64}@))", "send "),
        (r"(?<=\d )(?:times|x)(?= \d)", "×"),
        (r"\b[Ll]ook(?:ing|ed)?\s+up\b", "lookup"),
        (r"\b[Hh]ow\s+(?:much|many)\b(?=[^.?!\n]{0,24}\d[^.?!\n]{0,30}\b(?:in|to)\b)", "convert"),
        (r"\b[Hh]ow\s+many\s+\w{1,20}\s+(?:is|are|are\s+in|are\s+there\s+in|in)(?=\s+(?:an?\s|\d))", "convert"),
        (r"\b[Hh]ow\s+much\s+(?:money|cash)\b", "balance money"),
        (r"\b[Hh]ow\s+much\s+(?:is|are|does|do|for)\b", "price"),
        (r"\b[Gg]et\s+(?:from|to)\b", "route"),
        (r"\b[Mm]oney\s+back\b", "refund"),
        (r"\b[Ll]og(?:ging)?[\s-]+in\b", "login"),
        (r"\b[Ss]ign(?:ing)?[\s-]+up\b", "register"),
        (r"\b[Ss]et(?:ting)?[\s-]+up\b", "create"),
        (r"\b[Pp]ut\s+on\b", "play"),
        (r"\b[Hh]ow\s+(?:do|does|would|can)\s+(?:you|I|we|one)\s+say\b", "translate"),
        (r"(?<!\S)(?:[\w./-]{0,64}/)?\*{1,2}(?:/\*)?\.\w{1,8}\b", " glob file pattern "),
        (r"\bhttps?://\S+", " url "),
        (r"(?<!\S)~?/[\w.-]+(?:/[\w.-]*)*", " file "),
        (r"\b[\w-]{1,64}\.(?:txt|md|py|csv|json|ya?ml|log|pdf|html?|js|ts|toml|ini|xml|xlsx?|docx?)\b", " file "),
    )
)
_SIGNS = "+*×÷"

# An ending, what stands in its place, and how many characters there must be before it.
_ENDINGS = (
    ("news", "news", 0),
    ("ification", "ify", 2),
    ("ologists", "olog", 2),
    ("ologist", "olog", 2),
    ("ology", "olog", 2),
    ("version", "vert", 3),
    ("ysis", "yz", 3),
    ("yse", "yz", 3),
    ("yze", "yz", 3),
    ("ations", "", 4),
    ("ation", "", 4),
    ("ators", "", 4),
    ("ator", "", 4),
    ("ate", "", 4),
    ("ating", "", 4),
    ("ated", "", 4),
    ("ising", "iz", 4),
    ("izing", "iz", 4),
    ("ise", "iz", 4),
    ("ize", "iz", 4),
    ("ions", "", 4),
    ("ion", "", 4),
    ("ments", "", 3),
    ("ment", "", 3),
    ("ings", "", 3),
    ("ing", "", 3),
    ("ies", "y", 2),
    ("ied", "y", 2),
    ("ery", "", 4),
    ("ches", "ch", 2),
    ("shes", "sh", 2),
    ("sses", "ss", 2),
    ("xes", "x", 2),
    ("ed", "", 3),
    ("ers", "", 4),
    ("er", "", 4),
    ("or", "", 5),
    ("ss", "ss", 0),
    ("us", "us", 0),
    ("is", "is", 0),
    ("s", "", 2),
)

_WEIGHT_OF_ACTION = 0.6
# Words of interfaces that tell little, by how much they tell; all others tell everything.
_LIGHT = {
    0.1: "tool function api current data info information detail result value given specific agent assistant service "
    "system request response call use handoff delegate handle main new latest simple general helper handler "
    "execute perform process provide ask question answer return based available local preview thing stuff item object",
    0.15: "get fetch retrieve obtain show display view see tell give check read list web internet online database db "
    "knowledge base",
    0.3: "search find lookup look query browse seek set",
    0.4: "text message run turn switch",
    _WEIGHT_OF_ACTION: "create make generate build register insert delete remove erase drop cancel update change "
    "modify edit send write save store schedule plan draw buy purchase start stop open close add post submit upload "
    "download move copy transfer assign approve reject rename publish",
}

_READING_WORDS = (
    "get fetch retrieve obtain show display view see check read list search find lookup look query browse seek track "
    "count describe inspect examine"
)
_READING = frozenset(map(stem, _READING_WORDS.split()))

# Words that tell nothing of what is asked for.
_SAYING_NOTHING = (
    "a an the this that these those it its i you he she we they me him her us them my your his our their mine yours is "
    "are was were be been being am do does did done doing have has had having can could will would shall should may "
    "might must and or but if so as than too very just only also then there here what which who whom whose when why "
    "how to of in on at by for from with about into over under out up down off not no yes ok okay please thanks thank "
    "hello hi hey want wants need needs like let lets some any all each every both more most other such own same again "
    "now well really quite s t re ve ll d m don doesn didn isn aren won ing one ones something anything someone "
    "anyone everything using used via per between after before during while because until against without within e g "
    "eg etc ie sure kindly maybe perhaps going go gets got help know think many much long back"
)
_SILENT = frozenset(_SAYING_NOTHING.split())
