"""Which language a text is in, or asks for, and what is known of it. Knows texts, no calls.

Told by script, then by frequent words; English wherever nothing else is plain.
"""

import re
from functools import cache

from mockserver.model.languages.eastern import EASTERN
from mockserver.model.languages.language import Language
from mockserver.model.languages.western import WESTERN
from mockserver.model.languages.world import WORLD

LANGUAGES: dict[str, Language] = {**WESTERN, **EASTERN, **WORLD}
ENGLISH = "en"
UNSPACED = frozenset({"zh", "zh-TW", "ja", "th"})  # written without blanks between words


def language_of(text: str) -> str:
    """The code of the language that a text is in."""
    sample = text[:_LOOKED_AT]
    if not sample.isascii() and (code := _by_script(sample)):
        return code
    return _by_words(_WORDS.findall(sample.lower())[:_MOST_WORDS])


def language_asked(text: str) -> str | None:
    """The code of the language in which a text wants its answer, if it names one."""
    lowered = text.lower()
    if _names().isdisjoint(_WORDS.findall(lowered)):
        return None
    named = _wanted().search(lowered)
    return None if named is None else _by_name()[named[1]]


@cache
def frequent(code: str) -> frozenset[str]:
    """The frequent words of a language."""
    return frozenset((_ENGLISH if code == ENGLISH else LANGUAGES[code].common).split())


@cache
def lexicon(locale: str) -> tuple[str, ...]:
    """The words that Faker has for a locale."""
    from importlib import import_module  # the module takes 0.1 s, which a server of rules alone need not pay

    return tuple(import_module(f"faker.providers.lorem.{locale}").Provider.word_list)


def _by_script(sample: str) -> str | None:
    """The language of a script that fills most of a text; the words decide where several languages share it."""
    latin = len(_LATIN.findall(sample))
    for script, codes, weight in _SCRIPTS:
        if (found := len(script.findall(sample))) and found * weight >= latin:
            return next((code for mark, code in codes if mark is None or mark.search(sample)), None)
    return None


def _by_words(words: list[str]) -> str:
    votes: dict[str, int] = {}
    voters = _voters()
    for word in words:
        if word in voters:
            for code in voters[word]:
                votes[code] = votes.get(code, 0) + 1
    if not votes:
        return ENGLISH
    best = max(votes, key=lambda code: (votes[code], code == ENGLISH))  # among equals the first to be met
    plain = votes[best] > 1 + votes.get(ENGLISH, 0) or (votes[best] > votes.get(ENGLISH, 0) and len(words) <= _FEW)
    return best if plain and votes[best] * 6 >= len(words) else ENGLISH


@cache
def _voters() -> dict[str, tuple[str, ...]]:
    """The languages of Latin letters that use a word."""
    voters: dict[str, tuple[str, ...]] = {}
    for code in (ENGLISH, *(code for code in LANGUAGES if code not in _TOLD_BY_SCRIPT)):
        for word in sorted(frequent(code)):
            voters[word] = (*voters.get(word, ()), code)
    return voters


@cache
def _by_name() -> dict[str, str]:
    named = {name: code for code, language in LANGUAGES.items() for name in language.names.split()}
    return {"english": ENGLISH, **named}


@cache
def _names() -> frozenset[str]:
    return frozenset(_by_name())


@cache
def _wanted() -> re.Pattern[str]:
    names = "|".join(sorted(_by_name(), key=lambda name: (-len(name), name)))
    return re.compile(
        rf"(?:{_ORDERING})[^.!?\n]{{0,120}}?\b(?:in(?:to)?|to|auf|en|em)\s+(?:(?:the|simple|simplified|plain|formal|"
        rf"only)\s+)?({names})\b"
    )


def _chars(ranges: str) -> re.Pattern[str]:
    return re.compile(f"[{ranges}]")


_ORDERING = (
    r"answer|repl[yi]|respond|writ|translat|sa[yi]|speak|talk|explain|output|summari|tell|give|describ|list|"
    r"greet|generat|"
    r"communicat|antwort|schreib|répond|écri|escrib|scriv|rispond"
)
_LOOKED_AT = 1000  # characters
_MOST_WORDS = 120
_FEW = 4
LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u2c00-\u2fff\u3040-\ud7ff\uf900-\ufdff"
_WORDS = re.compile(f"[{LETTERS}]+(?:['’][{LETTERS}]+)?")
_LATIN = _chars("A-Za-z\u00c0-\u024f")
_ANY = None
# The letters of a script; its languages, each with the letters that mark it; and how many Latin letters one counts for.
_SCRIPTS = (
    (_chars("\u3040-\u30ff"), ((_ANY, "ja"),), 4),
    (_chars("\uac00-\ud7a3"), ((_ANY, "ko"),), 3),
    (
        _chars("\u4e00-\u9fff"),
        (
            (_chars("這個們來對說時會學國為麼請問寫給讓開關點還過灣資訊與應該樣"), "zh-TW"),
            (_ANY, "zh"),
        ),
        3,
    ),
    (
        _chars("\u0400-\u04ff"),
        ((_chars("іїєґІЇЄҐ"), "uk"), (_chars("ѓќѕџљњјЃЌЅЏЉЊЈ"), "mk"), (_ANY, "ru")),
        1,
    ),
    (_chars("\u0600-\u06ff"), ((_chars("پچژگکی"), "fa"), (_ANY, "ar")), 1),
    (_chars("\u0590-\u05ff"), ((_ANY, "he"),), 1),
    (_chars("\u0900-\u097f"), ((_ANY, "hi"),), 1),
    (_chars("\u0980-\u09ff"), ((_ANY, "bn"),), 1),
    (_chars("\u0e00-\u0e7f"), ((_ANY, "th"),), 1),
    (_chars("\u0370-\u03ff"), ((_ANY, "el"),), 1),
    (_chars("\u0530-\u058f"), ((_ANY, "hy"),), 1),
    (_chars("ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ"), ((_ANY, "vi"),), 8),
)  # fmt: skip
_TOLD_BY_SCRIPT = frozenset(code for _, codes, _ in _SCRIPTS for _, code in codes) - {"vi"}
_ENGLISH = """
a an the and or but if of to in on at by for from with without about into over under is are was were be been am do does
did done have has had can could will would shall should may might must not no yes it its this that these those there
here i me my mine you your yours he him his she her we us our they them their what which who whom whose when where why
how as than then so very too also just only please tell give show write explain describe list name make let help want
need get some any all each every more most much many few other another such same hello hi hey thanks thank good what's
it's i'm i'd don't can't let's between within using use used me out up down again now one like know once upon ago
"""
