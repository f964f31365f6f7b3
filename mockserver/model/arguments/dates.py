"""Dates, times and durations; relative ones count from the frozen clock."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from mockserver.core.seed import FROZEN_AT
from mockserver.model.arguments.values import Mention

TODAY = datetime.fromtimestamp(FROZEN_AT, UTC).date()


def moments(text: str) -> Iterator[Mention]:
    """The dates and times of a text, those with both first.

    A date is `2025-03-03`, a time `15:30` (with seconds if they are given), both `2025-03-03T15:30:00Z`.
    """
    dates = sorted((*_dates(text), *_relative(text)), key=lambda m: (m.start, -m.end))
    found = list(times(text))
    yield from _stamps(text)
    yield from _together(text, dates, found)
    yield from dates
    yield from (time for time in found if _AT.search(text, max(0, time.start - 6), time.start))


_STAMP = re.compile(
    r"(?<![\w-])(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?[ ]?(Z|UTC|[+-]\d{2}:?\d{2})?(?!\w)"
)


def _stamps(text: str) -> Iterator[Mention]:
    for found in _STAMP.finditer(text):
        day, minute, second, zone = found.groups()
        if _valid_time(minute) and _iso(day):
            zone = "Z" if zone in (None, "UTC") else zone
            zone = f"{zone[:3]}:{zone[3:]}" if len(zone) == 5 else zone
            yield Mention("datetime", f"{day}T{minute}{second or ':00'}{zone}", found.start(), found.end())


def _valid_time(minute: str) -> bool:
    return int(minute[:2]) < 24 and int(minute[3:5]) < 60


def _iso(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


_MONTH_NAMES = (
    "january jan januar janvier enero gennaio janeiro", "february feb februar février febrero febbraio fevereiro",
    "march mar märz mars marzo março", "april apr avril abril aprile", "may mai mayo maggio maio",
    "june jun juni juin junio giugno junho", "july jul juli juillet julio luglio julho",
    "august aug août agosto", "september sept sep septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro", "november nov novembre noviembre novembro",
    "december dec dezember dez décembre diciembre dicembre dezembro",
)  # fmt: skip
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_M = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_D = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|ª|\.)?"
_Y = r"(?P<year>\d{4})"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<![\w-]){_Y}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?![\w-])",
        r"(?<![\w/.-])(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4}|\d{2})(?![\w/])",
        rf"(?<![\w.-])(?P<day>\d{{1,2}})[.-](?P<month>\d{{1,2}})[.-]{_Y}(?![\w-])",
        rf"(?<!\w){_D}[ -](?:of |de |di )?{_M}(?:[, -]{{1,2}}(?:de |del )?{_Y})?(?!\w)",
        rf"(?<!\w){_M} (?:the )?{_D}(?:,? {_Y})?(?![\w:])",
        r"(?<!\w)(?P<year>\d{4})年(?P<month>\d{1,2})月(?P<day>\d{1,2})日",
        rf"(?<!\w){_M},? (?P<year>\d{{4}})(?!\w)",
    )
)


def _dates(text: str) -> Iterator[Mention]:
    if not any(digit in text for digit in "0123456789"):
        return
    for form in _FORMS:
        for found in form.finditer(text):
            if day := _day(found.groupdict()):
                yield Mention("date", day.isoformat(), found.start(), found.end())


def _day(groups: dict[str, str | None]) -> date | None:
    """The next such day, where no year is given; 03/04/2025 is in March, as in America."""
    month_name, year = groups["month"] or "", int(groups.get("year") or 0)
    month = _MONTHS.get(month_name.lower()) or int(month_name if month_name.isdigit() else 0)
    day = int(groups.get("day") or 1)
    month, day = (day, month) if month > 12 else (month, day)
    try:
        if year:
            return date(year + 2000 if year < 100 else year, month, day)
        this = date(TODAY.year, month, day)
        return this if this >= TODAY else date(TODAY.year + 1, month, day)
    except ValueError:
        return None


_WEEKDAY_NAMES = (
    "monday montag lundi lunes lunedì segunda-feira", "tuesday dienstag mardi martes martedì",
    "wednesday mittwoch mercredi miércoles mercoledì", "thursday donnerstag jeudi jueves giovedì",
    "friday freitag vendredi viernes venerdì", "saturday samstag samedi sábado sabato",
    "sunday sonntag dimanche domingo domenica",
)  # fmt: skip
_WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAY_NAMES) for name in names.split()}
_DAYS = {
    **dict.fromkeys(
        ("today", "tonight", "this evening", "heute", "aujourd'hui", "hoy", "oggi", "hoje", "今日", "今天"), 0
    ),
    **dict.fromkeys(("tomorrow", "demain", "mañana", "domani", "amanhã", "明日", "明天"), 1),
    **dict.fromkeys(("yesterday", "gestern", "hier", "ayer", "ieri", "ontem", "昨日", "昨天"), -1),
    **dict.fromkeys(("the day after tomorrow", "day after tomorrow", "übermorgen"), 2),
    "morgen": 1,
    "next week": 7,
    "last week": -7,
}
_RELATIVE = re.compile(
    r"(?<!\w)(?:(?P<named>" + "|".join(sorted(_DAYS, key=len, reverse=True)) + r")"
    r"|(?P<which>next |this |last |coming |on |nächsten |kommenden )?(?P<weekday>" + "|".join(_WEEKDAYS) + r")"
    r"|in (?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|ten) (?P<span>day|week|month|year)s?"
    r"|(?P<back>\d{1,3}|an?|one|two|three|four|five|six|seven|ten) (?P<ago>day|week|month|year)s? ago"
    r"|next (?P<next>month|year))(?!\w)|今日|明日|昨日|今天|明天|昨天",
    re.IGNORECASE,
)
SMALL = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_SPANS = {"day": 1, "week": 7, "month": 30, "year": 365}


def _relative(text: str) -> Iterator[Mention]:
    for found in _RELATIVE.finditer(text):
        yield Mention("date", (TODAY + timedelta(_distance(found))).isoformat(), *_bare(found))


def _bare(found: re.Match[str]) -> tuple[int, int]:
    """Where a relative date stands, without "on" before it."""
    skipped = len(found["which"]) if found["which"] and found["which"].lower() == "on " else 0
    return found.start() + skipped, found.end()


def _distance(found: re.Match[str]) -> int:
    """The days from today to a relative date; "next Friday" is in next week."""
    if found["weekday"]:
        ahead = (_WEEKDAYS[found["weekday"].lower()] - TODAY.weekday()) % 7 or 7
        which = (found["which"] or "").strip().lower()
        monday = 7 - TODAY.weekday()
        return (
            ahead - 7 if which == "last" else ahead + 7 if which in ("next", "nächsten") and ahead < monday else ahead
        )
    if found["next"]:
        return _SPANS[found["next"].lower()]
    count = (found["count"] or found["back"] or "").lower()
    if count:
        days = _SPANS[(found["span"] or found["ago"]).lower()] * (SMALL.get(count) or int(count or 0))
        return days if found["span"] else -days
    return _DAYS[found[0].lower()]


_TIME = re.compile(
    r"(?<![\w:.])(?:(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::(?P<second>\d{2}))?[ ]?(?P<half>[ap]\.?m\b\.?)"
    r"|(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?::(?P<second24>[0-5]\d))?(?![\w:])"
    r"|(?P<french>[01]?\d|2[0-3])[ ]?(?:h(?P<after>[0-5]\d)?|Uhr(?: (?P<uhr>[0-5]\d))?)(?!\w)"
    r"|(?P<named>noon|midday|midnight|mittag|mitternacht|midi|minuit|mediodía|medianoche)\b"
    r"|(?P<past>half past|quarter past|quarter to) (?P<of>\w{1,6})"
    r"|(?P<clock>\w{1,6}) o['’]clock)",
    re.IGNORECASE,
)
_NAMED = {"midnight": "00:00", "mitternacht": "00:00", "minuit": "00:00", "medianoche": "00:00"}
_HOUR_NAMES = "one two three four five six seven eight nine ten eleven twelve"
_HOURS = {name: hour for hour, name in enumerate(_HOUR_NAMES.split(), 1)}


def times(text: str) -> Iterator[Mention]:
    """The times of day of a text; `2h30` may as well be a duration."""
    for found in _TIME.finditer(text):
        if read := _time(found):
            yield Mention("time", read, found.start(), found.end(), unit="h" if found["french"] else "")


def _time(found: re.Match[str]) -> str | None:
    if found["named"]:
        return _NAMED.get(found["named"].lower(), "12:00")
    if words := found["of"] or found["clock"]:
        hour = _HOURS.get(words.lower()) or (int(words) if words.isdigit() and int(words) < 24 else None)
        if hour is None:
            return None
        minutes = {"half past": 30, "quarter past": 15, "quarter to": -15}.get((found["past"] or "").lower(), 0)
        return f"{(hour * 60 + minutes) // 60 % 24:02}:{minutes % 60:02}"
    if found["half"]:
        hour = int(found["hour"])
        if not 0 < hour < 13 or int(found["minute"] or 0) > 59:
            return None
        hour = hour % 12 + (12 if found["half"].lower().startswith("p") else 0)
    else:
        hour = int(found["hour24"] or found["french"])
    minute = int(found["minute"] or found["minute24"] or found["after"] or found["uhr"] or 0)
    second = found["second"] or found["second24"]
    return f"{hour:02}:{minute:02}" + (f":{second}" if second else "")


def pieces(moment: Mention, text: str) -> Iterator[Mention]:
    """The date and the time of a mention that has both, each with its place."""
    written = text[moment.start : moment.end]
    stamp = _STAMP.match(written)
    if stamp:
        yield Mention("date", stamp[1], moment.start, moment.start + 10)
        yield Mention("time", stamp[2] + (stamp[3] or ""), moment.start + 11, moment.end)
        return
    dates = sorted((*_dates(written), *_relative(written)), key=lambda m: (m.start, -m.end))
    for part in (*dates[:1], *times(written)):
        yield Mention(part.kind, part.value, part.start + moment.start, part.end + moment.start)


_AT = re.compile(r"(?:\bat|\bum|à|@|\balle|\blas) $", re.IGNORECASE)
_BETWEEN = re.compile(r",? ?(?:at|um|à|a las|alle|às|@|from|von|um)? ?", re.IGNORECASE)


def _together(text: str, dates: list[Mention], times: list[Mention]) -> Iterator[Mention]:
    """Dates with a time next to them: "tomorrow at 3pm", "15:30 on Friday"."""
    starts = {time.start: time for time in times}
    ends = {time.end: time for time in times}
    for day in dates:
        joint = _BETWEEN.match(text, day.end)
        time = starts.get(joint.end()) if joint else None
        if time is None:
            before = next(
                (ends[day.start - len(gap)] for gap in (" on ", " ", ", ") if _is_at(text, day, gap, ends)), None
            )
            time = before
        if time is not None:
            seconds = "" if time.value.count(":") == 2 else ":00"
            stamp = f"{day.value}T{time.value}{seconds}Z"
            yield Mention("datetime", stamp, min(day.start, time.start), max(day.end, time.end))


def _is_at(text: str, day: Mention, gap: str, ends: dict[int, Mention]) -> bool:
    return text.startswith(gap, day.start - len(gap)) and day.start - len(gap) in ends


def iso_duration(seconds: float) -> str:
    """Write a duration as ISO 8601: 9000 seconds are PT2H30M."""
    days, rest = divmod(round(seconds), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    time = "".join(f"{n}{sign}" for n, sign in ((hours, "H"), (minutes, "M"), (left, "S")) if n)
    return "P" + (f"{days}D" if days else "") + ("T" + time if time else "") if days or time else "PT0S"


_UNITS = {
    word: seconds
    for seconds, words in {
        1: "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos",
        60: "min mins minute minutes minuten minuto minutos minuti",
        3_600: "h hr hrs hour hours stunde stunden heure heures hora horas ora ore",
        86_400: "d day days tag tage jour jours día días giorni",
        604_800: "week weeks woche wochen semaine semaines semana semanas",
    }.items()
    for word in words.split()
}
_COUNT = r"\d{1,6}(?:\.\d{1,4})?|an?|one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|half an?"
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_COUNTED = rf"\d{{1,6}}(?:\.\d{{1,4}})?[ -]?|(?:{_COUNT})[ -]"
_DURATION = re.compile(
    rf"(?<![\w.-])(?:(?:{_COUNTED})(?:{_UNIT})(?![^\W\d_])(?:,? ?(?:and )?(?:a half\b|\d{{1,6}}[ ]?(?:{_UNIT}"
    rf"|m)(?!\w)|\d{{2}}(?!\w)))?"
    r"|P(?=[\dT])(?:\d{1,5}[YMWD]){0,4}(?:T(?:\d{1,6}[HMS]){1,3})?\b)",
    re.IGNORECASE,
)
_PIECES = re.compile(
    rf"(?:(?P<count>\d{{1,6}}(?:\.\d{{1,4}})?)[ -]?|(?P<word>{_COUNT})[ -])(?P<unit>{_UNIT}|m)(?![^\W\d_])",
    re.IGNORECASE,
)
_ISO_PIECES = re.compile(r"(\d+)([WDHMS])")
_ISO_UNITS = {"W": 604_800, "D": 86_400, "H": 3_600, "M": 60, "S": 1}


def durations(text: str) -> Iterator[Mention]:
    """The durations of a text in seconds; those with a single unit have it as unit."""
    for found in _DURATION.finditer(text):
        seconds, unit = _seconds(found[0])
        if seconds:
            yield Mention("duration", seconds, found.start(), found.end(), unit=unit)


def _seconds(text: str) -> tuple[int | float, str]:
    """The seconds of a duration, and its unit if it has a single one."""
    if text[0] == "P":
        return sum(int(count) * _ISO_UNITS[unit] for count, unit in _ISO_PIECES.findall(text)), ""
    pieces = [(_count(found["count"] or found["word"]), found["unit"].lower()) for found in _PIECES.finditer(text)]
    pieces = [(count, "min" if unit == "m" else unit) for count, unit in pieces]
    total = sum(count * _UNITS[unit] for count, unit in pieces)
    if text.lower().endswith("a half"):
        total += _UNITS[pieces[0][1]] / 2
    elif text[-1].isdigit():
        total += int(text[-2:]) * _UNITS[pieces[-1][1]] / 60
    total = int(total) if total == int(total) else total
    return total, pieces[0][1] if len(pieces) == 1 and total == pieces[0][0] * _UNITS[pieces[0][1]] else ""


def _count(word: str) -> float:
    word = word.lower()
    more = {"eight": 8, "nine": 9, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "sixty": 60}
    if word.startswith("half"):
        return 0.5
    return SMALL.get(word) or more.get(word) or float(word)
