"""The language that a text is in or asks for: detected by script, then by stop words; English by default."""

import re
from collections.abc import Mapping
from functools import cache

from mockserver.model import fillers

ENGLISH = "en"
UNSPACED = frozenset({"zh", "zh-TW", "ja", "th"})  # written without blanks between words


def languages() -> Mapping[str, Mapping[str, str]]:
    """Return every known language by its code; `languages.toml` says what it has."""
    return fillers.word_lists("languages")


@cache
def stop_words(code: str) -> frozenset[str]:
    """Return the frequent words of a language."""
    return frozenset(languages()[code]["stop_words"].split())


@cache
def lexicon(code: str) -> tuple[str, ...]:
    """Return Faker's words of a language, or its stop words and a few others if Faker has none."""
    language = languages()[code]
    if "locale" in language:
        return fillers.lexicon(language["locale"])
    return (*language["words"].split(), *language["stop_words"].split())


def language_of(text: str) -> str:
    """Return the code of the language that a text is in."""
    sample = text[:_READ]
    if not sample.isascii() and (code := _by_script(sample)):
        return code
    return _by_stop_words(_WORD.findall(sample.lower())[:_MAX_WORDS])


def requested_language(text: str) -> str | None:
    """Return the code of the language that a text names for its answer, or None."""
    lowered = text.lower()
    if _codes_by_name().keys().isdisjoint(_WORD.findall(lowered)):
        return None
    found = _request().search(lowered)
    return None if found is None else _codes_by_name()[found[1]]


def _by_script(sample: str) -> str | None:
    """The language of the script that fills most of a text; some letters tell languages of one script apart."""
    latin = len(_LATIN.findall(sample))
    for script, codes, weight in _SCRIPTS:
        if (count := len(script.findall(sample))) and count * weight >= latin:
            return next(code for code, letters in codes.items() if not letters or not set(letters).isdisjoint(sample))
    return None


def _by_stop_words(words: list[str]) -> str:
    votes: dict[str, int] = {}
    for word in words:
        for code in _codes_by_stop_word().get(word, ()):
            votes[code] = votes.get(code, 0) + 1
    if not votes:
        return ENGLISH
    best = max(votes, key=lambda code: (votes[code], code == ENGLISH))  # the first of equals
    english = votes.get(ENGLISH, 0)
    is_clear = votes[best] > 1 + english or (votes[best] > english and len(words) <= 4)
    return best if is_clear and votes[best] * 6 >= len(words) else ENGLISH


@cache
def _codes_by_stop_word() -> dict[str, tuple[str, ...]]:
    of_script = {code for _, codes, _ in _SCRIPTS for code in codes} - {"vi"}
    codes: dict[str, tuple[str, ...]] = {}
    for code in (code for code in languages() if code not in of_script):
        for word in sorted(stop_words(code)):
            codes[word] = (*codes.get(word, ()), code)
    return codes


@cache
def _codes_by_name() -> dict[str, str]:
    return {name: code for code, language in languages().items() for name in language["names"].split()}


@cache
def _request() -> re.Pattern[str]:
    names = "|".join(sorted(_codes_by_name(), key=lambda name: (-len(name), name)))
    return re.compile(
        r"(?:answer|repl[yi]|respond|writ|translat|sa[yi]|speak|talk|explain|output|summari|tell|give|describ|list|greet|"
        r"generat|communicat|antwort|schreib|répond|écri|escrib|scriv|rispond)[^.!?\n]{0,120}?\b(?:in(?:to)?|to|auf|en|em)\s+"
        rf"(?:(?:the|simple|simplified|plain|formal|only)\s+)?({names})\b"
    )


def _letters(ranges: str) -> re.Pattern[str]:
    return re.compile(f"[{ranges}]")


_READ = 1000  # characters
_MAX_WORDS = 120
LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u2c00-\u2fff\u3040-\ud7ff\uf900-\ufdff"
_WORD = re.compile(f"[{LETTERS}]+(?:['’][{LETTERS}]+)?")
_LATIN = _letters("A-Za-z\u00c0-\u024f")
# The letters of a script; its languages, each with the letters that only it has; how many Latin letters one counts for.
_SCRIPTS: tuple[tuple[re.Pattern[str], dict[str, str], int], ...] = (
    (_letters("\u3040-\u30ff"), {"ja": ""}, 4),
    (_letters("\uac00-\ud7a3"), {"ko": ""}, 3),
    (_letters("\u4e00-\u9fff"), {"zh-TW": "這個們來對說時會學國為麼請問寫給讓開關點還過灣資訊與應該樣", "zh": ""}, 3),
    (_letters("\u0400-\u04ff"), {"uk": "іїєґІЇЄҐ", "mk": "ѓќѕџљњјЃЌЅЏЉЊЈ", "ru": ""}, 1),
    (_letters("\u0600-\u06ff"), {"fa": "پچژگکی", "ar": ""}, 1),
    (_letters("\u0590-\u05ff"), {"he": ""}, 1),
    (_letters("\u0900-\u097f"), {"hi": ""}, 1),
    (_letters("\u0980-\u09ff"), {"bn": ""}, 1),
    (_letters("\u0e00-\u0e7f"), {"th": ""}, 1),
    (_letters("\u0370-\u03ff"), {"el": ""}, 1),
    (_letters("\u0530-\u058f"), {"hy": ""}, 1),
    (_letters("ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửựỳỵỷỹ"), {"vi": ""}, 8),
)
