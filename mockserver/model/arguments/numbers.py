"""Numbers as people write them: digits in the styles of several countries, words, percentages, amounts, measures."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from math import isinf

from mockserver.model.arguments.values import Mention
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
_FRACTION = re.compile(r"(?<![\w./])(?:(\d{1,6}) )?(\d{1,6})/([1-9]\d{0,5})(?![\w/])|([½¼¾⅓⅔])")
_UNIT = re.compile(r"[ -]?(%|percent\b|per ?cent\b|[°º] ?[CFK]?\b|[€£$¥]|[^\W\d_]{1,20}/[a-z]{1,3}\b|[^\W\d_]{1,20})")
_WORD = re.compile(r"[^\W\d_]{2,12}")

_COINS = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "₿": "BTC"}
_COINS |= {"CA$": "CAD", "AU$": "AUD", "NZ$": "NZD", "HK$": "HKD", "R$": "BRL", "CHF": "CHF", "kr": "SEK"}
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "mio": 1e6, "b": 1e9, "bn": 1e9}
_SCALES |= {"billion": 1e9, "mrd": 1e9, "trillion": 1e12}
_HALVES = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}


def numbers(text: str) -> Iterator[Mention]:
    """The numbers of a text; a whole one is an int. Amounts of money have kind `money` and the currency as unit."""
    yield from _fractions(text)
    for found in _NUMBER.finditer(text):
        yield from _read(text, found)
    yield from _in_words(text)


def value_of(digits: str) -> int | float:
    """The number that digits with separators of any country stand for. Raises OverflowError where it is too large."""
    digits = re.sub(r"['’\u00a0\u202f ]", "", digits)
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}", digits):
        digits = digits.replace(".", "").replace(",", ".")
    digits = digits.replace(",", ".")
    if digits.isdecimal():
        return int(digits)
    return _whole(float(digits))


def _whole(number: float) -> int | float:
    if isinf(number):
        raise OverflowError
    return int(number) if number == number // 1 and abs(number) < 1e15 else number


def _read(text: str, found: re.Match[str]) -> Iterator[Mention]:
    """A number, and what it is measured in as a mention of its own."""
    try:
        number = value_of(found["digits"])
    except OverflowError:
        return
    scale = (found["scale"] or "").strip().lower()
    number = _whole(round(number * _SCALES[scale], 6)) if scale in _SCALES else number
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
    """The word after a number, unless it is one that says nothing: the "and" of "3 and 4"."""
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


def _fractions(text: str) -> Iterator[Mention]:
    for found in _FRACTION.finditer(text):
        whole, upper, lower, sign = found.groups()
        number = _HALVES[sign] if sign else int(whole or 0) + int(upper) / int(lower)
        yield Mention("number", _whole(number), found.start(), found.end())


def _in_words(text: str) -> Iterator[Mention]:
    """Numbers in words: runs of them are added up, "two hundred and five" is 205."""
    run: list[re.Match[str]] = []
    for found in _WORD.finditer(text):
        word = found[0].lower()
        if run and word == "and" and run[-1][0].lower() in _TIMES:
            continue
        if run and not _joined(text, run[-1].end(), found.start()):
            yield from _summed(text, run)
            run = []
        if word in _VALUES or (word in _TIMES and (run or word == "dozen")):
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
            group += _VALUES[word]
        elif _TIMES[word] >= 1000:
            total, group = total + max(group, 1) * _TIMES[word], 0
        else:
            group = max(group, 1) * _TIMES[word]
    unit = _unit_at(text, run[-1].end())
    where = (run[0].start(), run[-1].end())
    yield from _measured(total + group, where, unit[1] if unit else "", unit.span(1) if unit else where)


_VALUES: dict[str, int] = {
    word: number
    for line in (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen twenty",
        "null - zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "zéro - deux trois quatre cinq six sept huit neuf dix onze douze",
        "cero - dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "zero - due tre quattro cinque sei sette otto nove dieci undici dodici",
        "zero - dois três quatro cinco seis sete oito nove dez onze doze",
    )
    for number, word in enumerate(line.split())
    if word not in ("-", "null", "sei", "once", "sette", "due", "elf")
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_TIMES: dict[str, int] = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 10**9}


_STATE = re.compile(r"(?P<city>.+), (?P<code>[A-Z]{2})")
_HOUSE = re.compile(r"(?P<number>\d{1,5}[A-Za-z]?) (?P<street>[A-Z0-9].+)")
_ZIP = re.compile(r" (\d{5}(?:-\d{4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})(?!\w)")


def portions(text: str, found: Iterable[Mention]) -> Iterator[Mention]:
    """The parts of mentions that are values of their own, and names that are continued by an id."""
    last: Mention | None = None
    for mention in found:
        if mention.kind == "name":
            yield from _of_name(text, mention)
        elif mention.kind == "words":
            yield from _of_words(mention)
            if text[max(0, mention.start - 3) : mention.start].lower().lstrip() in ("a ", "an "):
                yield Mention("one", 1, mention.start - 2, mention.start - 1)
        elif mention.kind == "address" and (house := _HOUSE.fullmatch(str(mention.value))):
            cut = mention.start + house.start("street")
            yield Mention("house", house["number"], mention.start, mention.start + house.end("number"))
            yield Mention("street", house["street"], cut, mention.end)
        if last and last.kind == "name" and mention.kind == "id" and text[last.end : mention.start] == " ":
            yield Mention("name", text[last.start : mention.end], last.start, mention.end, unit=last.unit)
        elif last and mention.kind == "words" and _is_short(last) and text[last.end : mention.start] == " ":
            yield Mention("words", text[last.start : mention.end], last.start, mention.end)
        last = mention


def portion_of(words: Sequence[str], beside: Collection[str]) -> str:
    """Which part of a whole a property asks for, where another asks for the rest; none where it asks for a whole."""
    return next((_SPLIT[word, other] for word in words for other in _OTHERS.get(word, ()) if other in beside), "")


_SPLIT = {
    ("number", "street"): "house",
    ("street", "number"): "street",
    ("make", "model"): "forename",
    ("model", "make"): "surname",
    ("brand", "model"): "forename",
    ("model", "brand"): "surname",
}
_OTHERS = {"number": ("street",), "street": ("number",), "make": ("model",), "model": ("make", "brand")}
_OTHERS |= {"brand": ("model",)}


def _of_name(text: str, name: Mention) -> Iterator[Mention]:
    """The city and the state of "Springfield, IL", and the postal code behind it; the two halves of a name."""
    if state := _STATE.fullmatch(text, name.start, name.end):
        yield replace(name, value=state["city"], end=state.end("city"))
        yield Mention("state", state["code"], *state.span("code"))
        if code := _ZIP.match(text, name.end):
            yield Mention("zip", code[1], *code.span(1))
    elif text.find(" ", name.start, name.end) > 0 and name.unit != "lead":
        cut, last = text.index(" ", name.start), text.rindex(" ", name.start, name.end)
        yield Mention("forename", text[name.start : cut], name.start, cut)
        yield Mention("surname", text[last + 1 : name.end], last + 1, name.end)


def _is_short(mention: Mention) -> bool:
    """Whether a name is an abbreviation that goes with what follows: an HR manager."""
    return mention.kind == "name" and mention.value.isupper() and len(mention.value) < 5


def _of_words(words: Mention) -> Iterator[Mention]:
    """A colour that stands before what has it."""
    first, _, rest = str(words.value).partition(" ")
    if rest and (first in word_set("colors") or first.lower() in word_set("nationalities")):
        cut = words.start + len(first)
        yield Mention("words", first, words.start, cut, cue=words.cue)
        yield Mention("words", rest, cut + 1, words.end, unit=words.unit)
