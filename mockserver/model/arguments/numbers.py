"""Numbers as people write them: digits in the styles of several countries, words, percentages, amounts, measures."""

import re
from collections.abc import Iterator
from functools import cache

from mockserver.model.arguments.values import Mention, value_of, whole_if_equal
from mockserver.model.vocabulary import heading_of, prepositions_of, word_set

_DIGITS = (
    r"(?:\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?(?!\d)|\d{1,3}(?:\.\d{3}){1,5},\d{1,9}|\d{1,3}(?:\.\d{3}){2,5}(?!\d)"
    r"|\d{1,3}(?:['’\u00a0\u202f ]\d{3}(?!\d)){1,5}(?:[.,]\d{1,9})?"
    r"|\d{1,30}(?:[.,]\d{1,20})?(?:[eE][+-]?\d{1,3})?|\.\d{1,9})"
)
_FIRST = r"(?<![\w.,])(?<!\d[/:-])"
_SIGN = r"(?:(?<![\w)])[-−+](?=[\d.$€£]))?"
_COIN = r"[$€£¥₹₽₩₿]|(?:US|CA|AU|NZ|HK)\$|R\$|CHF|kr"
_NUMBER = re.compile(
    rf"{_FIRST}(?P<sign>{_SIGN})(?P<coin>{_COIN})?[ ]?(?P<hash>\#|№ ?)?(?P<digits>{_DIGITS})"
    r"(?P<scale>[ ]?(?:million|billion|thousand|trillion|mio|mrd)\b|(?:[kK]|[mM]n?|bn|[MB])(?![\w]))?"
    r"(?P<ordinal>st|nd|rd|th|º|ª|er|ème)?(?P<glued>[^\W\d_]{1,12}|[°º]\s?[CFK]?|%|[€£$¥])?(?![\w]|/\d)"
)
_UNIT = re.compile(r"[ -]?(%|percent\b|per ?cent\b|[°º] ?[CFK]?\b|[€£$¥]|[^\W\d_]{1,20}/[a-z]{1,3}\b|[^\W\d_]{1,20})")
_WORD = re.compile(r"[^\W\d_]{2,12}")

_COINS = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "₿": "BTC"}
_COINS |= {"CA$": "CAD", "AU$": "AUD", "NZ$": "NZD", "HK$": "HKD", "R$": "BRL", "CHF": "CHF", "kr": "SEK"}
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "mio": 1e6, "b": 1e9, "bn": 1e9}
_SCALES |= {"billion": 1e9, "mrd": 1e9, "trillion": 1e12}


def numbers(text: str) -> Iterator[Mention]:
    """The numbers of a text; whole ones are ints. Amounts of money have kind `money` and the currency as unit."""
    for found in _NUMBER.finditer(text):
        yield from _read(text, found)
    yield from _in_words(text)


def _read(text: str, found: re.Match[str]) -> Iterator[Mention]:
    """A number, and its unit or currency as another mention."""
    try:
        number = value_of(found["digits"])
    except OverflowError:
        return
    scale = (found["scale"] or "").strip().lower()
    number = whole_if_equal(round(number * _SCALES[scale], 6)) if scale in _SCALES else number
    number = -number if found["sign"] in ("-", "−") else number
    unit, start, end = found["glued"] or "", found.start() + found[0].startswith(" "), found.end()
    place = (end - len(unit), end)
    if not unit and not found["ordinal"] and (after := _unit_at(text, end)):
        unit, place = after[1], after.span(1)
    end = min(end, place[0]) if unit not in ("%", "") else end
    if coin := found["coin"]:
        start = found.end("coin")
        yield Mention("money", number, start, end, unit=_COINS[coin])
        yield Mention("currency", _COINS[coin], found.start("coin"), start)
    elif found["hash"] or found["ordinal"]:
        kind = "ordinal" if found["ordinal"] else "number"
        yield Mention(kind, number, start, end, unit="#" if found["hash"] else "")
    else:
        yield from _measured(number, (start, end), unit, place)


def _unit_at(text: str, end: int) -> re.Match[str] | None:
    """The word after a number, unless it says nothing: the "and" of "3 and 4"."""
    after = _UNIT.match(text, end)
    return None if after is None or after[1].lower() in _no_units() else after


@cache
def _no_units() -> frozenset[str]:
    leading = word_set("stops") | word_set("articles") | frozenset(prepositions_of("en"))
    return leading - frozenset(heading_of("units"))


def _measured(number: int | float, where: tuple[int, int], unit: str, place: tuple[int, int]) -> Iterator[Mention]:
    code = _COINS.get(unit) or heading_of("currencies").get(unit.lower())
    if code:
        yield Mention("money", number, *where, unit=code)
        yield Mention("currency", code, *place)
        return
    yield Mention("number", number, *where, unit=_plain(unit))
    if unit.lower() in heading_of("units") and unit != "%":
        yield Mention("unit", unit, *place)


def _plain(unit: str) -> str:
    return "%" if unit.lower().startswith(("percent", "per cent")) else unit.replace("º", "°")


def _in_words(text: str) -> Iterator[Mention]:
    """Numbers in words; runs of them are summed: "two hundred and five" is 205."""
    run: list[re.Match[str]] = []
    for found in _WORD.finditer(text):
        word = found[0].lower()
        if run and word == "and" and run[-1][0].lower() in _TIMES:
            continue
        if run and not _joined(text, run[-1].end(), found.start()):
            yield from _summed(text, run)
            run = []
        if word in WORDS or (word in _TIMES and (run or word == "dozen")):
            run.append(found)
        elif run:
            yield from _summed(text, run)
            run = []
    yield from _summed(text, run) if run else ()


def _joined(text: str, end: int, start: int) -> bool:
    return text[end:start] in (" ", "-") or text[end:start].strip() == "and"


def _summed(text: str, run: list[re.Match[str]]) -> Iterator[Mention]:
    total = group = 0
    for found in run:
        word = found[0].lower()
        if word not in _TIMES:
            group += WORDS[word]
        elif _TIMES[word] >= 1000:
            total, group = total + max(group, 1) * _TIMES[word], 0
        else:
            group = max(group, 1) * _TIMES[word]
    unit = _unit_at(text, run[-1].end())
    where = (run[0].start(), run[-1].end())
    yield from _measured(total + group, where, unit[1] if unit else "", unit.span(1) if unit else where)


WORDS = {word: int(number) for word, number in heading_of("numbers").items()}
_TIMES: dict[str, int] = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 10**9}
