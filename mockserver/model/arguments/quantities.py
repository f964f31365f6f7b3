"""Numbers, amounts of money and measures; dates, times and durations, relative ones counted from the frozen clock."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from math import isinf

from mockserver.core.lazy import compile_lazily, remember
from mockserver.core.seed import FROZEN_AT
from mockserver.model.arguments.evidence import Mention
from mockserver.model.vocabulary import fold, make_vocabulary, read_headings, read_prepositions, read_word_set

TODAY = datetime.fromtimestamp(FROZEN_AT, UTC).date()
WORDS = {word: int(number) for word, number in read_headings("numbers").items()}
_TIMES: dict[str, int] = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 10**9}
_COINS = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "₿": "BTC"}
_COINS |= {"CA$": "CAD", "AU$": "AUD", "R$": "BRL", "CHF": "CHF", "kr": "SEK"}
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9}
_DIGITS = (
    r"(?:\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?(?!\d)|\d{1,3}(?:\.\d{3}){1,5},\d{1,9}|\d{1,3}(?:\.\d{3}){2,5}(?!\d)"
    r"|\d{1,3}(?:['’\u00a0\u202f ]\d{3}(?!\d)){1,5}(?:[.,]\d{1,9})?"
    r"|\d{1,30}(?:[.,]\d{1,20})?(?:[eE][+-]?\d{1,3})?|\.\d{1,9})"
)
_NUMBER = compile_lazily(
    r"(?<![\w.,])(?<!\d[/:-])(?P<sign>(?:(?<![\w)])[-−+](?=[\d.$€£]))?)"
    r"(?P<coin>[$€£¥₹₽₩₿]|(?:US|CA|AU)\$|R\$|CHF|kr)?[ ]?(?P<hash>\#|№ ?)?"
    rf"(?P<digits>{_DIGITS})(?P<scale>[ ]?(?:million|billion|thousand)\b|(?:[kK]|[mM]n?|bn|[MB])(?![\w]))?"
    r"(?P<ordinal>st|nd|rd|th)?(?P<glued>[^\W\d_]{1,12}|[°º]\s?[CFK]?|%|[€£$¥])?(?![\w]|/\d)"
)
_UNIT = compile_lazily(
    r"[ -]?(%|percent\b|per ?cent\b|[°º] ?[CFK]?\b|[€£$¥]|[^\W\d_]{1,20}/[a-z]{1,3}\b|[^\W\d_]{1,20})"
)
_WORD = compile_lazily(r"[^\W\d_]{2,12}")
_DIGIT = compile_lazily(r"\d")
_MARKS = {
    "mixed": compile_lazily(r"[^\W\d]\d|\d[^\W\d]|-\d|\d-"),
    "date": compile_lazily(r"\d[-/.年]\d"),
    "clock": compile_lazily(r"(?i)\d ?(?:[:hap]|uhr)"),
    "span": compile_lazily(r"(?i)\d[ -]?[hds]"),
}
_NUMERIC = make_vocabulary("foreign digit")
_DATE = make_vocabulary("foreign date")
_SPANS = "day days week weeks month months year years"
_CLOCK = make_vocabulary("foreign clock noon midday midnight")
_ANY_WORD = compile_lazily(r"[^\W\d_]+")


@remember(16)
def list_signs(text: str) -> frozenset[str]:
    """Return what a text is made of: its characters, its words in small letters, and whether it has certain others.

    `digit`: any; `mixed`: one beside a letter, a dash or an underscore; `date`, `clock`, `span`: digits as in
    2025-03-03, 15:30 or 3pm, 2h; `foreign`: characters of other scripts, which may have none of these and still say a
    number or a day.
    """
    signs = {*text, *_ANY_WORD.findall(text.lower())}
    if _DIGIT.search(text):
        signs.add("digit")
        signs |= {sign for sign, pattern in _MARKS.items() if pattern.search(text)}
    return frozenset(signs if text.isascii() else (*signs, "foreign"))


@cache
def _list_cues(*names: str, others: str = "") -> frozenset[str]:
    """Return the last words of the phrases in lists of words, and others."""
    spoken = (_ANY_WORD.findall(phrase) for name in names for phrase in read_headings(name))
    return make_vocabulary(f"foreign {others}").union(words[-1] for words in spoken if words and len(words[-1]) > 1)


def find_numbers(text: str) -> Iterator[Mention]:
    """Yield the numbers of a text; whole ones are ints. Amounts of money have kind `money` and the currency as unit."""
    for found in _NUMBER.finditer(text) if not _NUMERIC.isdisjoint(list_signs(text)) else ():
        with suppress(OverflowError):
            yield from _read_number(text, found, parse_number(found["digits"]))
    if not _list_cues("numbers", others="dozen").isdisjoint(list_signs(text)):
        yield from _find_numbers_in_words(text)


def _read_number(text: str, found: re.Match[str], number: int | float) -> Iterator[Mention]:
    scale = (found["scale"] or "").strip().lower()
    number = _make_whole(round(number * _SCALES[scale], 6)) if scale in _SCALES else number
    number = -number if found["sign"] in ("-", "−") else number
    unit = found["glued"] or ""
    start = found.start() + found[0].startswith(" ")
    end = found.end()
    place = (end - len(unit), end)
    if not unit and not found["ordinal"] and (after := _find_unit(text, end)):
        unit = after[1]
        place = after.span(1)
    end = min(end, place[0]) if unit not in ("%", "") else end
    if coin := found["coin"]:
        yield Mention("money", number, start=found.end("coin"), end=end, unit=_COINS[coin])
        yield Mention("currency", _COINS[coin], *found.span("coin"))
    elif found["hash"] or found["ordinal"]:
        kind = "ordinal" if found["ordinal"] else "number"
        yield Mention(kind, number, start=start, end=end, unit="#" if found["hash"] else "")
    else:
        yield from _make_unit_mentions(number, (start, end), unit=unit, place=place)


def _find_unit(text: str, end: int) -> re.Match[str] | None:
    after = _UNIT.match(text, end)
    return None if after is None or after[1].lower() in _list_non_units() else after


@cache
def _list_non_units() -> frozenset[str]:
    leading = read_word_set("stops") | read_word_set("articles") | frozenset(read_prepositions("en"))
    return leading - frozenset(read_headings("units"))


def _make_unit_mentions(
    number: int | float, where: tuple[int, int], unit: str, place: tuple[int, int]
) -> Iterator[Mention]:
    if code := _COINS.get(unit) or read_headings("currencies").get(unit.lower()):
        yield Mention("money", number, *where, unit=code)
        yield Mention("currency", code, *place)
        return
    plain = "%" if unit.lower().startswith(("percent", "per cent")) else unit.replace("º", "°")
    yield Mention("number", number, *where, unit=plain)
    if unit.lower() in read_headings("units") and unit != "%":
        yield Mention("unit", unit, *place)


def _find_numbers_in_words(text: str) -> Iterator[Mention]:
    """Yield the numbers in words; runs of them are summed: "two hundred and five" is 205."""
    run: list[re.Match[str]] = []
    for found in _WORD.finditer(text):
        word = found[0].lower()
        if run and word == "and" and run[-1][0].lower() in _TIMES:
            continue
        between = text[run[-1].end() : found.start()] if run else " "
        counts = word in WORDS or (word in _TIMES and (run or word == "dozen"))
        if run and not (counts and (between in (" ", "-") or between.strip() == "and")):
            yield from _sum_words(text, run)
            run = []
            counts = word in WORDS or word == "dozen"
        if counts:
            run.append(found)
    yield from _sum_words(text, run) if run else ()


def _sum_words(text: str, run: Sequence[re.Match[str]]) -> Iterator[Mention]:
    total = group = 0
    for found in run:
        word = found[0].lower()
        if word not in _TIMES:
            group += WORDS[word]
        elif _TIMES[word] >= 1000:
            total = total + max(group, 1) * _TIMES[word]
            group = 0
        else:
            group = max(group, 1) * _TIMES[word]
    unit = _find_unit(text, run[-1].end())
    where = (run[0].start(), run[-1].end())
    yield from _make_unit_mentions(
        total + group, where, unit=unit[1] if unit else "", place=unit.span(1) if unit else where
    )


def parse_number(digits: str) -> int | float:
    """Return the number that digits with separators of any country mean. Raise OverflowError where it is too large."""
    if digits.isdecimal():
        return int(digits)
    digits = re.sub(r"['’\u00a0\u202f ]", "", digits)
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}", digits):
        digits = digits.replace(".", "").replace(",", ".")
    digits = digits.replace(",", ".")
    if digits.isdecimal():
        return int(digits)
    return _make_whole(float(digits))


def _make_whole(number: float) -> int | float:
    """Return an int for a whole number. Raise OverflowError for infinity."""
    if isinf(number):
        raise OverflowError
    return int(number) if number == number // 1 and abs(number) < 1e15 else number


def find_moments(text: str) -> Iterator[Mention]:
    """Yield the dates of a text, after those with a time, which have both as parts; and the times that "at" makes sure.

    A date is `2025-03-03`, a time `15:30` (with seconds if they are given), both `2025-03-03T15:30:00Z`.
    """
    dates = sorted(_find_dates(text), key=lambda m: (m.start, -m.end))
    for found in _STAMP.finditer(text) if not _DATE.isdisjoint(list_signs(text)) else ():
        day, minute, second, zone = found.groups()
        zone = "Z" if zone in (None, "UTC") else f"{zone[:3]}:{zone[-2:]}" if len(zone) > 3 else zone
        start, end = found.span()
        parts = (
            Mention("date", day, start=start, end=start + 10),
            Mention("time", minute + (second or ""), start=start + 11, end=end),
        )
        with suppress(ValueError):
            datetime.fromisoformat(f"{day}T{minute}")
            yield Mention("datetime", f"{day}T{minute}{second or ':00'}{zone}", start=start, end=end, parts=parts)
    whole = [day for at, day in enumerate(dates) if not at or not day.overlaps(dates[at - 1])]
    spoken = [*find_times(text)]
    for one, other in pairwise(sorted((*whole, *spoken), key=lambda m: m.start) if dates and spoken else ()):
        if one.kind != other.kind and _JOINT.fullmatch(text, one.end, other.start):  # tomorrow at 3pm
            day, time = (one.value, other.value) if one.kind == "date" else (other.value, one.value)
            seconds = "" if time.count(":") == 2 else ":00"
            yield Mention("datetime", f"{day}T{time}{seconds}Z", start=one.start, end=other.end, parts=(one, other))
    yield from dates
    yield from (time for time in spoken if _AT.search(text, max(0, time.start - 6), time.start))


def _join_headings(name: str) -> str:
    return "|".join(sorted(read_headings(name), key=len, reverse=True))


_AT = compile_lazily(r"(?i)(?:\bat|\bum|à|@|\balle|\blas) $")
_JOINT = compile_lazily(r"(?i),? ?(?:at|um|à|a las|alle|às|@|from|von|on)? ?")
_STAMP = compile_lazily(
    r"(?<![\w-])(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?[ ]?(Z|UTC|[+-]\d{2}:?\d{2})?(?!\w)"
)
_M = rf"(?P<month>{_join_headings('months')})\b\.?"
_D = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|ª|\.)?"
_Y = r"(?P<year>\d{4})"
_DATES_IN_DIGITS, _DATES_WITH_MONTHS = (
    tuple(compile_lazily(rf"(?i){form}") for form in forms)
    for forms in (
        (
            rf"(?<![\w-]){_Y}[-/.年](?P<month>\d{{1,2}})[-/.月](?P<day>\d{{1,2}})(?:日|(?![\w-]))",
            r"(?<![\w/.-])(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4}|\d{2})(?![\w/])",
            rf"(?<![\w.-])(?P<day>\d{{1,2}})[.-](?P<month>\d{{1,2}})[.-]{_Y}(?![\w-])",
        ),
        (
            rf"(?<!\w){_D}[ -](?:of |de |di )?{_M}(?:[, -]{{1,2}}(?:de |del )?{_Y})?(?!\w)",
            rf"(?<!\w){_M} (?:the )?{_D}(?:,? {_Y})?(?![\w:])",
            rf"(?<!\w){_M},? {_Y}(?!\w)",
        ),
    )
)
_DAYS_OF = {"day": 1, "week": 7, "month": 30, "year": 365}
_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|ten)"
_RELATIVE = compile_lazily(
    rf"(?i)(?<!\w)(?:(?P<named>{_join_headings('days')})"
    rf"|(?P<which>next |this |last |coming |nächsten |kommenden )?(?P<weekday>{_join_headings('weekdays')})"
    rf"|in (?P<count>{_COUNT}) (?P<span>day|week|month|year)s?|(?P<back>{_COUNT}) (?P<ago>day|week|month|year)s? ago"
    r"|next (?P<next>week|month|year))(?!\w)|(?P<joined>今日|明日|昨日|今天|明天|昨天)"
)


def _find_dates(text: str) -> Iterator[Mention]:
    text = _fold(text)
    stated = dict[int, str]()
    signs = list_signs(text)
    forms = () if _DATE.isdisjoint(signs) else _DATES_IN_DIGITS
    for form in forms if _list_cues("months").isdisjoint(signs) else (*forms, *_DATES_WITH_MONTHS):
        for found in form.finditer(text):
            if day := _read_day(found.groupdict()):
                stated[found.start()] = day.isoformat()
                yield Mention("date", day.isoformat(), *found.span())
    relative = _list_cues("days", "weekdays", others=_SPANS)
    for found in _RELATIVE.finditer(text) if not relative.isdisjoint(signs) else ():
        following = range(found.end(), found.end() + 4)  # Friday, 2026-11-27
        same = next((stated[at] for at in following if at in stated), None)
        yield Mention("date", same or (TODAY + timedelta(_count_days(found))).isoformat(), *found.span())


def _read_day(groups: dict[str, str | None]) -> date | None:
    """Return the next such day, where no year is given; 03/04/2025 is in March, as in America."""
    month, year, day = (groups.get(part) or "" for part in ("month", "year", "day"))
    at = int(read_headings("months").get(month.lower(), month))
    number = int(day or 1)
    at, number = (number, at) if at > 12 else (at, number)
    with suppress(ValueError):
        if year:
            return date(int(year) + 2000 * (len(year) < 4), at, number)
        this = date(TODAY.year, at, number)
        return this if this >= TODAY else date(TODAY.year + 1, at, number)
    return None


def _count_days(found: re.Match[str]) -> int:
    """Return how many days from today a relative date is."""
    if found["weekday"]:
        ahead = (int(read_headings("weekdays")[found["weekday"].lower()]) - TODAY.weekday()) % 7 or 7
        which = (found["which"] or "").strip().lower()
        is_later = which in ("next", "nächsten") and ahead < 7 - TODAY.weekday()
        return ahead - 7 if which == "last" else ahead + 7 * is_later
    if found["next"]:
        return _DAYS_OF[found["next"].lower()]
    if count := found["count"] or found["back"]:
        days = int(_read_count(count)) * _DAYS_OF[(found["span"] or found["ago"]).lower()]
        return days if found["span"] else -days
    return int(read_headings("days")[found[0].lower()])


def _fold(text: str) -> str:
    """Return a text with the letters that patterns take for s and i as these, each in its place."""
    return text if text.isascii() else text.translate(_FOLDED)


_FOLDED = str.maketrans("ſıİ", "siI")
_TIME = compile_lazily(
    r"(?i)(?<![\w:.])(?:(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::(?P<second>\d{2}))?[ ]?(?P<half>[ap]\.?m\b\.?)"
    r"|(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?::(?P<second24>[0-5]\d))?(?![\w:])"
    r"|(?P<spoken>[01]?\d|2[0-3])(?:[ ]?h(?P<after>[0-5]\d)?| Uhr(?: (?P<uhr>[0-5]\d))?)(?!\w)"
    r"|(?P<noon>noon|midday)\b|(?P<midnight>midnight)\b)"
)


def find_times(text: str) -> Iterator[Mention]:
    """Yield the times of day of a text; `2h30` may as well be a duration."""
    for found in _TIME.finditer(_fold(text)) if not _CLOCK.isdisjoint(list_signs(text)) else ():
        if (time := _read_time(found)) is not None:
            yield Mention("time", time, *found.span(), unit="h" if found["spoken"] else "")


def _read_time(found: re.Match[str]) -> str | None:
    if found["noon"] or found["midnight"]:
        return "12:00" if found["noon"] else "00:00"
    hour = int(found["hour"] or found["hour24"] or found["spoken"])
    minute = int(found["minute"] or found["minute24"] or found["after"] or found["uhr"] or 0)
    if half := found["half"]:
        if not 0 < hour < 13 or minute > 59:
            return None
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    second = found["second"] or found["second24"]
    return f"{hour:02}:{minute:02}" + (f":{second}" if second else "")


_AMOUNT = r"\d{1,6}(?:\.\d{1,4})?"
_AMOUNT_WORD = r"an?|one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|half an?|zwei|drei"
_DURATION = compile_lazily(
    rf"(?i)(?<![\w.-])(?:{_AMOUNT}[ -]?|(?:{_AMOUNT_WORD})[ -])(?:{_join_headings('seconds')})(?![^\W\d_])"
    rf"(?:,? ?(?:and |und )?(?:a half\b|\d{{1,6}}[ ]?(?:{_join_headings('seconds')}|m)(?!\w))|(?<=h)\d\d(?!\w))?"
)
_PIECE = compile_lazily(rf"(?i)(?:({_AMOUNT})[ -]?|({_AMOUNT_WORD})[ -])({_join_headings('seconds')}|m)(?![^\W\d_])")


def find_durations(text: str) -> Iterator[Mention]:
    """Yield the durations of a text in seconds; those with a single unit have it as unit."""
    for found in (
        _DURATION.finditer(_fold(text)) if not _list_cues("seconds", others="span").isdisjoint(list_signs(text)) else ()
    ):
        counted = [(_read_count(digits or word), unit.lower()) for digits, word, unit in _PIECE.findall(found[0])]
        lengths = [60 if unit == "m" else int(read_headings("seconds")[unit]) for _, unit in counted]
        total = sum(count * length for (count, _), length in zip(counted, lengths, strict=True))
        rest = "half" if found[0].endswith("half") else found[0][-2:] if found[0][-1].isdigit() else ""  # 2h30
        total += lengths[0] / 2 if rest == "half" else int(rest or 0) * 60
        if total:
            unit = counted[0][1] if len(counted) == 1 and not rest else ""
            yield Mention("duration", _make_whole(total), *found.span(), unit=unit)


def _read_count(word: str) -> float:
    word = fold(word)
    return 0.5 if word.startswith("half") else 1 if word in ("a", "an") else WORDS.get(word) or float(word)
