"""Durations as people write them: 45 minutes, 2h30, an hour and a half, PT2H30M."""

import re
from collections.abc import Iterator

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.moments import SMALL
from mockserver.engine.generate.prompt.words import listed


def iso_duration(seconds: float) -> str:
    """A duration by ISO 8601: 9000 seconds are PT2H30M."""
    days, rest = divmod(round(seconds), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    time = "".join(f"{n}{sign}" for n, sign in ((hours, "H"), (minutes, "M"), (left, "S")) if n)
    return "P" + (f"{days}D" if days else "") + ("T" + time if time else "") if days or time else "PT0S"


_UNITS: dict[str, int] = {
    **dict.fromkeys(listed("s sec secs second seconds sekunde sekunden seconde secondes segundo segundos"), 1),
    **dict.fromkeys(listed("min mins minute minutes minuten minuto minutos minuti"), 60),
    **dict.fromkeys(listed("h hr hrs hour hours stunde stunden heure heures hora horas ora ore"), 3_600),
    **dict.fromkeys(listed("d day days tag tage jour jours día días giorni"), 86_400),
    **dict.fromkeys(listed("week weeks woche wochen semaine semaines semana semanas"), 604_800),
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
    """The durations of a text, each as its seconds; its unit is told where it has but one."""
    for found in _DURATION.finditer(text):
        seconds, unit = _seconds(found[0])
        if seconds:
            yield Mention("duration", seconds, found.start(), found.end(), unit=unit)


def _seconds(text: str) -> tuple[int | float, str]:
    """The seconds of a duration, and its unit where it has but one."""
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
