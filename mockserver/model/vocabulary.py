"""Words: how names and texts are split into them, their stems and weights, and word lists.

Knows no tools and no properties. Word lists are read when they are first needed.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from itertools import repeat
from math import floor
from pathlib import Path
from typing import Any, TypeVar

from mockserver.core.lazy import compile_lazily, remember
from mockserver.core.seed import Random

Keys = frozenset[str]  # a stem and its groups of synonyms: words with a common key mean the same


def make_vocabulary(words: str) -> frozenset[str]:
    """Return the words of a text that separates them by blanks."""
    return frozenset(words.split())


def keep_ends(text: str, head: int, tail: int) -> str:
    """Return the text, or its first `head` and last `tail` characters on lines of their own."""
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[len(text) - tail :]}"


def fold(text: str) -> str:
    """Return a text in small letters, as a pattern that ignores case sees it; such a pattern is three times as slow."""
    return (text if text.isascii() else text.translate(_FOLDED)).lower()


_FOLDED = str.maketrans("ſıİ", "sii")


def cut_excerpt(text: str, most: int = 10_000) -> str:
    """Return at most this many characters of a text, most of them from its end.

    Long runs of blanks are shortened: patterns with several `\\s*` would try all ways to divide them.
    """
    head = most // 5
    tail = most * 4 // 5
    if len(text) > 4 * most and (read := _join_ends(text[: 2 * head], text[len(text) - 2 * tail :])) is not None:
        return read
    return keep_ends((_shorten_blanks if len(text) <= 4 * most else _shorten_blanks.__wrapped__)(text), head, tail)


@remember(32)
def _join_ends(first: str, last: str) -> str | None:
    """Return the excerpt of a text that begins and ends so; None if what is not blank of that is too short."""
    head = len(first) // 2
    tail = len(last) // 2
    first = _shorten_blanks(first)
    last = _shorten_blanks(last.lstrip())
    return f"{first[:head]}\n{last[len(last) - tail :]}" if len(first) > head and len(last) >= tail else None


@remember(32)
def _shorten_blanks(text: str) -> str:
    has_runs = len(text) - len(" ".join(text.split())) >= 20  # the pattern would look at each letter
    return _BLANKS.sub(r"\1", text) if has_runs else text


_BLANKS = compile_lazily(r"(\s{20})\s+")
NUMBER_WORDS = (
    "thirteen|fourteen|eighteen|nineteen|seventeen|fifteen|sixteen|hundred|eleven|twelve|twenty|thirty|single|three"
    "|seven|eight|fifty|forty|four|five|nine|one|two|six|ten|an|a"
)
RULING = ("system", "developer")  # roles of messages whose orders hold for the whole conversation


def read_number(word: str) -> int:
    """Return what a number in digits or one of NUMBER_WORDS means."""
    known = {"a": 1, "an": 1, "single": 1, "hundred": 100}
    word = fold(word)
    return int(word) if word.isdecimal() else known.get(word) or int(read_headings("numbers")[word])


@cache
def read_word_list(name: str) -> Mapping[str, tuple[str, ...]]:
    """Read `word_lists/<name>.txt`: lines of `heading: words`, continued by indented lines; `#` begins a comment.

    Commas separate the entries of a line that has any, blanks those of the others.
    """
    text = (Path(__file__).parent / "word_lists" / f"{name}.txt").read_text(encoding="utf-8")
    lines = re.sub(r"\n +", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    found: dict[str, tuple[str, ...]] = {}
    for line in lines:
        heading, _, entries = line.partition(": ")
        found[heading] = tuple(filter(None, map(str.strip, entries.split("," if "," in entries else None))))
    return found


@cache
def read_word_set(name: str) -> frozenset[str]:
    """Return one of the sets of words in `word_lists/sets.txt`."""
    return frozenset(read_word_list("sets")[name])


def read_truth(word: str) -> bool | None:
    """Return what `yes` or `disabled` means; None for a word that is neither true nor false."""
    word = word.lower()
    return True if word in read_word_set("yes") else False if word in read_word_set("no") else None


@cache
def read_headings(name: str) -> Mapping[str, str]:
    """Return the heading of each word in a list; of a word with several, the last."""
    return {word: heading for heading, words in read_word_list(name).items() for word in words}


@cache
def read_points(name: str) -> Mapping[str, Mapping[str, int]]:
    """Return a list of points, `place: in 35 at 22`, by heading and word; the heading `-` is the empty text."""
    return {
        heading.strip("-"): dict(zip(words[::2], map(int, words[1::2]), strict=True))
        for heading, words in read_word_list(name).items()
    }


@cache
def read_synonyms(name: str) -> Mapping[str, frozenset[str]]:
    """Return the groups that each word of a list of synonyms is in, by their first words."""
    return _collect((word, group) for group, words in read_word_list(name).items() for word in words)


def _collect(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for key, value in pairs:
        found.setdefault(key, set()).add(value)
    return {key: frozenset(values) for key, values in found.items()}


@cache
def list_words_between_phrases(language: str) -> frozenset[str]:
    """Return the words that part phrases of a text from each other: articles, prepositions and other small words."""
    return read_word_set("stops") | read_word_set("articles") | frozenset(read_prepositions(language))


@cache
def read_prepositions(language: str) -> Mapping[str, str]:
    """Return the prepositions of a language and of English, each with its meaning in English."""
    headings = [heading.split() for heading in read_word_list("prepositions")]
    return {
        word: meaning
        for code in ("en", language)
        for spoken, meaning in headings
        if spoken == code
        for word in read_word_list("prepositions")[f"{code} {meaning}"]
    }


def split_pieces(text: str) -> list[str]:
    """Split an identifier or a text into words, numbers and signs: `findOrder_2` has three."""
    return (_ASCII_PIECE if text.isascii() else _PIECE).findall(text)


def _remember_short(make: Callable[[str], tuple[str, ...]]) -> Callable[[str], tuple[str, ...]]:
    """Keep what is made of short texts, which come again: names, descriptions, sentences."""
    known = remember(4096)(make)
    return wraps(make)(lambda text: known(text) if len(text) < _LONGEST_REMEMBERED else make(text))


@_remember_short
def split_name(name: str) -> tuple[str, ...]:
    """Return the words of a name in the singular: `fromCity` and `from_cities` are from and city."""
    return tuple([find_singular(piece) for piece in split_pieces(name) if piece not in _SIGNS])


@remember(8192)
def is_person(word: str) -> bool:
    """Return whether a word says what somebody is: guest, author, people."""
    one = find_singular(word)
    return read_headings("semantic_types").get(one) == "person" or one in read_word_list("property_synonyms")["people"]


@remember(8192)
def find_singular(word: str) -> str:
    """Return a word in lower case without its plural ending: "Cities" is "city", "address" stays."""
    word = word.lower()
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@_remember_short
def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text or an identifier in lower case and without accents.

    Scripts without blanks are cut into pairs of characters.
    """
    said = list[str]()
    for piece in split_pieces(_simplify(text)):
        if not piece.isascii() and UNSPACED_LETTER.match(piece):
            said += (piece[at : at + 2] for at in range(max(1, len(piece) - 1)))
        else:
            said.append(piece[:_LONGEST_WORD].lower())
    return tuple(said)


@remember(4096)
def find_keys(word: str) -> Keys:
    """Return what a word is compared by; nothing for a word that says nothing."""
    if word in read_word_set("silent") or (len(word) == 1 and word.isascii() and word not in _SIGNS):
        return frozenset()
    meant = find_roots(word)
    return meant | {group for each in meant for group in _read_synonym_groups().get(each, ())}


@remember(4096)
def find_roots(word: str) -> Keys:
    """Return the stem of a word, and of each English word that it translates to."""
    return frozenset({stem(word), *_read_translations().get(word, ())})


@remember(4096)
def weigh_word(word: str) -> float:
    """Return how much a word tells of what is wanted, from 0 to 1: `weather` more than `send`, that more than `get`."""
    if not find_keys(word):
        return 0.0
    return min(_read_weights().get(root, 1.0) for root in find_roots(word))


def is_verb(word: str) -> bool:
    """Return whether a word says what to do, even if no more than to look at something."""
    return is_action(word) or asks_to_read(word)


def asks_to_read(word: str) -> bool:
    """Return whether a verb asks to read something, and not to change it."""
    return not _read_reading_stems().isdisjoint(find_roots(word))


def is_action(word: str) -> bool:
    """Return whether a word has the weight of verbs that order an action."""
    return weigh_word(word) == _WEIGHT_OF_ACTION


def find_leading_word(said: Sequence[str]) -> str:
    """Return the first word that tells anything, if it may be a verb: not `schedule` of `my schedule`."""
    at = next((at for at, word in enumerate(said) if find_keys(word)), None)
    return "" if at is None or (at and said[at - 1] in read_word_set("determiners")) else said[at]


@remember(4096)
def stem(word: str) -> str:
    """Return a word without its ending: `bookings`, `booking` and `book` have one stem."""
    if word.isdecimal():
        return word
    for _ in range(3):
        shorter = _strip_ending(word)
        if shorter == word:
            break
        word = shorter
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 2 and word[-1] == "y":
        word = word[:-1] + "i"
    return word[:-1] if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "aeiou" else word


def _strip_ending(word: str) -> str:
    for ending, replacement, least in _read_endings():
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word[: -len(ending)] + replacement
    return word


def _simplify(text: str) -> str:
    bare = text.replace("’", "'")
    if not bare.isascii():
        from unicodedata import combining, normalize  # half a megabyte that servers of ASCII texts do without

        bare = normalize("NFC", "".join(sign for sign in normalize("NFKD", bare) if not combining(sign)))
    small = bare.lower()
    for sign, phrase, word in _read_phrases():
        if sign in small:  # a pattern takes a hundred times as long
            bare = phrase.sub(word, bare)
    return bare


@cache
def _read_phrases() -> Sequence[tuple[str, re.Pattern[str], str]]:
    return [(sign, re.compile(phrase), word) for sign, phrase, word in read_word_lists("patterns")["phrases"]]


@cache
def _read_synonym_groups() -> Mapping[str, frozenset[str]]:
    return _collect(
        (stem(word), f"~{name}") for name, group in read_word_list("tool_synonyms").items() for word in group
    )


@cache
def _read_translations() -> Mapping[str, frozenset[str]]:
    translations = read_word_list("translations").items()
    return _collect(
        (piece, stem(english))
        for english, foreign in translations
        for word in foreign
        for piece in ((word,) if word.isascii() else split_words(word))
    )


@cache
def _read_weights() -> Mapping[str, float]:
    return {stem(word): float(weight) for weight, words in read_word_list("word_weights").items() for word in words}


@cache
def _read_reading_stems() -> frozenset[str]:
    return frozenset(map(stem, read_word_set("reading")))


@cache
def _read_endings() -> tuple[tuple[str, str, int], ...]:
    return tuple((ending, "".join(rest), int(least)) for ending, (least, *rest) in read_word_list("suffixes").items())


_LONGEST_REMEMBERED = 1_000  # characters
_LONGEST_WORD = 100  # characters that are compared; words are kept in caches
_WEIGHT_OF_ACTION = 0.6
_SIGNS = "+*×÷"
_ASIAN = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
UNSPACED_LETTER = compile_lazily(f"[{_ASIAN}]")
_NO_CAPITAL = rf"[^\W\d_A-Z{_ASIAN}]"
_ASCII_PIECE = compile_lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[+*]")  # the same, compiled in a tenth of the time
_PIECE = compile_lazily(rf"[{_ASIAN}]+|[A-Z]+(?!{_NO_CAPITAL})|[A-Z]?{_NO_CAPITAL}+|\d+|[{_SIGNS}]")


# Languages


def find_words(words: re.Pattern[str], text: str) -> list[str]:
    """Find all words of a text; of most texts these are just runs of ASCII letters."""
    if text.isascii() and "'" not in text and "-" not in text:
        return text.encode().translate(LETTERS_ALONE).decode().split()
    return words.findall(text)


def read_languages() -> Mapping[str, Mapping[str, str]]:
    """Return the languages by code: names, stop words, locale ..."""
    return read_word_lists("languages")


@cache
def read_stop_words(code: str) -> frozenset[str]:
    return frozenset(read_languages()[code]["stop_words"].split())


@cache
def read_lexicon(code: str) -> tuple[str, ...]:
    """Return Faker's words of a language, or its stop words and a few others if Faker has none."""
    language = read_languages()[code]
    if "locale" in language:
        return list_faker_words(language["locale"])
    return (*language["words"].split(), *language["stop_words"].split())


def find_language(text: str) -> str:
    """Return the code of a text's language, by its script or its stop words."""
    sample = text[:_READ]
    if not sample.isascii() and (code := _find_language_by_script(sample)):
        return code
    return _find_language_by_stop_words(_list_spoken_words(sample)[:_MAX_WORDS])


def find_requested_language(text: str) -> str | None:
    """Return the code of the language that a text names for its answer, or None."""
    if _index_codes_by_name().keys().isdisjoint(_list_spoken_words(text)):
        return None
    found = _make_language_pattern().search(text.lower())
    return None if found is None else _index_codes_by_name()[found[1]]


find_language_in_rules = remember(64)(find_requested_language)  # the same rules come again and again


@remember(16)
def _list_spoken_words(text: str) -> Sequence[str]:
    return find_words(_SPOKEN_WORD, text.lower())


def _find_language_by_script(sample: str) -> str | None:
    """Return the language of the script that fills most of a text; some letters tell languages of one script apart."""
    latin = len(_LATIN.findall(sample))
    for script, weight, codes in _list_scripts():
        if (count := len(script.findall(sample))) and count * weight >= latin:
            return next(code for code, letters in codes.items() if not letters or not set(letters).isdisjoint(sample))
    return None


@cache
def _list_scripts() -> Sequence[tuple[re.Pattern[str], int, Mapping[str, str]]]:
    """Return scripts with how many Latin letters one letter counts for, and their languages with their own letters."""
    listed = read_word_lists("scripts")["scripts"]
    return [(re.compile(f"[{each['letters']}]"), each["counts"], each["languages"]) for each in listed]


def _find_language_by_stop_words(words: Sequence[str]) -> str:
    if sum(map(_weigh_stop_words().get, words, repeat(0))) >= 0:  # no other language has more than English
        return ENGLISH
    votes = Counter([code for word in words for code in _index_codes_by_stop_word().get(word, ())])
    best = max(votes, key=votes.__getitem__)  # the first of equals
    english = votes[ENGLISH]
    is_clear = votes[best] > 1 + english or (votes[best] > english and len(words) <= 4)
    return best if is_clear and votes[best] * 6 >= len(words) else ENGLISH


@cache
def _weigh_stop_words() -> dict[str, int]:
    """Return for each stop word 1 if it is English alone, -1 if it is foreign alone, 0 if it is both."""
    codes = _index_codes_by_stop_word().items()
    return {word: (ENGLISH in known) - (known != (ENGLISH,)) for word, known in codes}


@cache
def list_foreign_words() -> frozenset[str]:
    """Return the stop words of other languages that are not English, and the names of languages."""
    return frozenset(word for word, leaning in _weigh_stop_words().items() if leaning < 0).union(_index_codes_by_name())


@cache
def _index_codes_by_stop_word() -> dict[str, tuple[str, ...]]:
    of_script = {code for *_, codes in _list_scripts() for code in codes} - {"vi"}
    codes: dict[str, tuple[str, ...]] = {}
    for code in (code for code in read_languages() if code not in of_script):
        for word in sorted(read_stop_words(code)):
            codes[word] = (*codes.get(word, ()), code)
    return codes


@cache
def _index_codes_by_name() -> dict[str, str]:
    return {name: code for code, language in read_languages().items() for name in language["names"].split()}


@cache
def _make_language_pattern() -> re.Pattern[str]:
    names = "|".join(sorted(_index_codes_by_name(), key=lambda name: (-len(name), name)))
    return re.compile(
        r"(?:answer|repl[yi]|respond|writ|translat|sa[yi]|speak|talk|explain|output|summari|tell|give|describ|list"
        r"|greet|generat|communicat|antwort|schreib|répond|écri|escrib|scriv|rispond)[^.!?\n]{0,120}?\b(?:in(?:to)?"
        r"|to|auf|en|em)\s+"
        rf"(?:(?:the|simple|simplified|plain|formal|only)\s+)?({names})\b"
    )


ENGLISH = "en"
UNSPACED = frozenset({"zh", "zh-TW", "ja", "th"})  # written without blanks between words
LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u2c00-\u2fff\u3040-\ud7ff\uf900-\ufdff"
LETTERS_ALONE = bytes(at if at < 128 and chr(at).isalpha() else 32 for at in range(256))
_READ = 1000  # characters
_MAX_WORDS = 120
_SPOKEN_WORD = compile_lazily(f"[{LETTERS}]+(?:['’][{LETTERS}]+)?")
_LATIN = compile_lazily("[A-Za-z\u00c0-\u024f]")


T = TypeVar("T")


@cache
def read_word_lists(name: str) -> Mapping[str, Any]:
    """Return the lists of a file in `word_lists`, read when they are first needed."""
    import tomllib
    from pathlib import Path

    return tomllib.loads((Path(__file__).parent / "word_lists" / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def read_english(name: str, group: str = "") -> tuple[str, ...]:
    """Return the English words or sentences of a list; an empty tuple if there is no such list."""
    lists = read_word_lists("english")
    found = (lists[group] if group else lists).get(name, ())
    return tuple(found.split() if isinstance(found, str) else found)


@cache
def list_faker_words(locale: str) -> tuple[str, ...]:
    from importlib import import_module  # the module takes 0.1 s, which a server of rules alone need not pay

    return tuple(import_module(f"faker.providers.lorem.{locale}").Provider.word_list)


def pick(choices: Sequence[T], rng: Random) -> T:
    return choices[floor(rng.random() * len(choices))]  # `randrange` takes five times as long


def draw_word(rng: Random, locale: str = "en_US") -> str:
    words = list_faker_words(locale)
    return words[rng.randbelow(len(words))]


def draw_phrase(rng: Random, length: int) -> str:
    return " ".join(draw_noun(rng) for _ in range(length))


def draw_sentence(rng: Random, locale: str = "en_US") -> str:
    words = [draw_word(rng, locale) for _ in range(5 + rng.randbelow(10))]
    if len(words) > 7:
        words[2 + rng.randbelow(len(words) - 4)] += ","
    words[0] = words[0].capitalize()
    return " ".join(words) + ("?" if rng.random() < 0.06 else ".")


def draw_noun(rng: Random) -> str:
    return pick(read_english("nouns"), rng)


def draw_thing(rng: Random) -> str:
    return f"{pick(read_english('adjectives'), rng)} {pick(read_english('nouns'), rng)}"


def draw_note(rng: Random) -> str:
    notes = read_english("notes")
    return notes[rng.randbelow(len(notes))]


def draw_remark(rng: Random) -> str:
    aspects = draw_aspects(rng)
    remarked = pick(read_english("remarks"), rng)
    first, second = draw_two(aspects, rng)
    rng.random()  # once drawn for a word of the prompt; without it what follows would change
    return remarked.format(a=first, b=second, A=capitalize(first))


def draw_aspects(rng: Random) -> list[str]:
    """Five aspects that a text keeps to."""
    left = list(read_english("aspects"))
    random = rng.random
    return [left.pop(floor(random() * size)) for size in range(len(left), len(left) - 5, -1)]


def draw_two(aspects: Sequence[str], rng: Random) -> tuple[str, str]:
    """Return two different aspects."""
    random = rng.random
    last = len(aspects) - 1
    at = floor(random() * last)
    other = at + 1 + floor(random() * (last - at))
    return (aspects[other], aspects[at]) if random() < 0.5 else (aspects[at], aspects[other])


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
