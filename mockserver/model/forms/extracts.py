"""What is to be taken out of a text that the prompt gives: addresses, links, numbers, dates, names, key words.

Knows how such things are written, no text in particular.
"""

import re
from collections.abc import Callable, Iterable

from mockserver.core.seed import Random
from mockserver.model.forms.prompt import NUMBER, Asked, number_of
from mockserver.model.languages import ENGLISH, frequent, language_of


def extracted(asked: Asked, rng: Random) -> str | None:
    """Every thing of the kind that is to be found, each once, a line for each."""
    ordered = _ORDER.search(asked.text)
    if ordered is None:
        return None
    find = next(_KINDS[kind] for kind in _KINDS if ordered[kind])
    text = asked.text[: ordered.start()] + "\n" + asked.text[ordered.end() :]
    found = list(dict.fromkeys(find(text)))[:_MOST]
    if ordered["number"]:
        found = found[: number_of(ordered["number"])]
    if not found:
        return None
    between = ", " if any(_IN_A_ROW.search(order) for order in asked.both) else "\n"
    return between.join(found)


def ordered_anew(asked: Asked, rng: Random) -> str | None:
    """A list of numbers or words in order, or a text backwards."""
    if (found := _REVERSED.search(asked.text)) is not None:
        return next(part for part in found.groups() if part)[::-1]
    if (found := _SORTED.search(asked.text)) is None:
        return None
    items = [item.strip(" .\"'`[]") for item in re.split(r"[,;\n]|\s+and\s+", found["items"])]
    items = [item for item in items if item]
    if len(items) < 2:
        return None
    numeric = all(_NUMBER.fullmatch(item) for item in items)
    made = sorted(items, key=float) if numeric else sorted(items, key=lambda item: (item.casefold(), item))
    return ", ".join(reversed(made) if _DOWN.search(asked.text) else made)


def counted(asked: Asked, rng: Random) -> str | None:
    """How many letters, signs or words a text has, or how often a letter stands in it; or the numbers up to one."""
    up = _COUNT_UP.fullmatch(asked.text.strip())
    if up is not None and 0 < int(up[2]) - int(up[1] or 1) <= _MOST_COUNTED:
        return ", ".join(map(str, range(int(up[1] or 1), int(up[2]) + 1)))
    found = _COUNTED.search(asked.text)
    if found is None:
        return None
    text = next(part for part in (found["double"], found["single"], found["bare"]) if part)
    if found["letter"]:
        return str(text.lower().count(found["letter"].lower()))
    if found["what"].lower().startswith("word"):
        return str(len(text.split()))
    return str(sum(sign.isalpha() for sign in text) if found["what"].lower().startswith("letter") else len(text))


def _all(pattern: str) -> Callable[[str], Iterable[str]]:
    compiled = re.compile(pattern)
    return lambda text: (found[0].rstrip(".,;:") for found in compiled.finditer(text[:_MOST_READ]))


def _names(text: str) -> Iterable[str]:
    """Words in capitals, several in a row as one; not the word that merely opens a sentence."""
    common = frequent(ENGLISH)
    for found in _NAME.finditer(text[:_MOST_READ]):
        if found[0].lower() not in common:
            yield found[0]


def _key_words(text: str) -> Iterable[str]:
    """The words that say something, the long ones first."""
    common = frequent(language_of(text)) if language_of(text) != ENGLISH else frequent(ENGLISH)
    words = dict.fromkeys(word for word in _LONG_WORD.findall(text[:_MOST_READ]) if word.lower() not in common)
    return sorted(words, key=lambda word: -len(word))[:_FEW]


_MOST, _MOST_READ, _FEW = 100, 20_000, 10
_NAME = re.compile(r"\b[A-Z][\w'’-]{1,30}(?:[ \t]+[A-Z][\w'’-]{1,30}){0,3}")
_LONG_WORD = re.compile(r"[^\W\d_]{4,40}")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,10})?")
_IN_A_ROW = re.compile(r"(?i)\bcomma[- ](?:separated|delimited)|separated by commas|\bin (?:one|a) line\b")
_DOWN = re.compile(
    r"(?i)\b(?:descending|decreasing|reverse|largest first|high(?:est)? to low(?:est)?|largest to smallest)\b"
)
_ORDER = re.compile(
    rf"(?i)\b(?:extract|find|list|identify|pull out|pick out|get|return|give(?: me)?|show(?: me)?)\b"
    rf"(?:\s+(?:out|all|every|each|any|only|just|the|of|me|unique|main|top|key|(?P<number>(?!one\b|an?\b){NUMBER})))*\s+"
    r"(?:(?P<mail>e-?mails?(?: addresse?s?)?)|(?P<link>urls?|links?|web addresses)|(?P<date>dates?)|"
    r"(?P<phone>(?:phone|telephone) numbers?)|(?P<amount>prices?|amounts?|monetary values?)|"
    r"(?P<hashtag>hash-?tags?)|(?P<handle>mentions|handles)|"
    r"(?P<number_>numbers?|integers?|digits)|(?P<words>key ?words?)|"
    r"(?P<name>(?:proper |person |people's |people |personal )?(?:names?|persons|people|entities|named entities)))"
    r"(?:\s+(?:mentioned|found|contained|occurring|that (?:appear|occur)s?))?\s+(?:from|in|of|out of|within)\b"
    r"(?:\s+(?:the|this|that|these|following|given|text|sentence|paragraph|passage|message|string|document|article|"
    r"input|below))*\s*:?"
)
_MOST_COUNTED = 1000
_COUNT_UP = re.compile(r"(?i)(?:please )?count (?:up )?(?:from (\d{1,6}) )?to (\d{1,6})[.!]?")
_COUNTED = re.compile(
    r"(?i)\bhow many\s+(?:(?P<what>letters|characters|words)|(?:times does )?(?:the )?(?:letters? )?[\"'`]?"
    r"(?P<letter>[a-z])"
    r"[\"'`]?(?:'?s| appears?| occurs?)?)\s+(?:are(?: there)?\s+|does\s+)?(?:in|appear in|occur in)\s+"
    r"(?:the (?:word|string|sentence|text|phrase)\s*:?\s*)?"
    r"(?:\"(?P<double>[^\"\n]{1,2000})\"|'(?P<single>[^'\n]{1,2000})'|(?P<bare>[^\W\d_]{2,60})(?=\s*[?.]?\s*$))"
)
_REVERSED = re.compile(
    r"(?i)\breverse\b(?: (?:the|this|following|string|word|text|order of|letters (?:of|in)))*\s*:?\s*"
    r"(?:\"([^\"\n]{1,500})\"|'([^'\n]{1,500})'|“([^”\n]{1,500})”|`([^`\n]{1,500})`)"
)
_SORTED = re.compile(r"(?i)\bsort\b[^:\n]{0,80}:\s*\[?(?P<items>[^\n\]]{1,2000})")
_KINDS: dict[str, Callable[[str], Iterable[str]]] = {
    "mail": _all(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"),
    "link": _all(r"(?:https?://|www\.)[^\s<>\"')\]]{1,500}"),
    "phone": _all(r"(?<![\w.])\+?\(?\d[\d ()./-]{5,20}\d(?!\w)"),
    "date": _all(
        r"\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|"
        r"(?:\d{1,2}(?:st|nd|rd|th)? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
        r"(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? \d{4})?)\b"
    ),
    "amount": _all(
        r"(?:[$€£¥]\s?\d[\d,]{0,15}(?:\.\d{1,4})?|\b\d[\d,]{0,15}(?:\.\d{1,4})?\s?(?:€|\$|£|USD|EUR|dollars|euros))"
    ),
    "hashtag": _all(r"#\w{1,60}"),
    "handle": _all(r"(?<!\w)@\w{1,60}"),
    "number_": _all(r"(?<![\w.])-?\d{1,15}(?:[.,]\d{1,10})?(?!\w)"),
    "words": _key_words,
    "name": _names,
}
