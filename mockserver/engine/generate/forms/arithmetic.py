"""Sums that a prompt sets: whole and decimal numbers with plus, minus, times and divided by."""

import re
from fractions import Fraction
from math import isqrt

from mockserver.core.seed import Random
from mockserver.engine.generate.forms.asked import Asked


def computed(asked: Asked, rng: Random) -> str | None:
    """The result of the sum that the prompt asks for."""
    if (found := _NAMED.search(asked.text[:_MOST_READ])) is not None:
        return _named(found, bare=any(_BARE.search(order) for order in asked.both))
    text = _in_signs(asked.text[:_MOST_READ])
    found = next((found for found in _SUM.finditer(text) if _is_asked(text, found)), None)
    if found is None:
        return None
    try:
        result = _shown(_Sum(found[0]).value())
    except ZeroDivisionError:
        return "That cannot be computed: it divides by zero."
    except ValueError:
        return None
    return result if any(_BARE.search(order) for order in asked.both) else f"{' '.join(found[0].split())} = {result}"


def _named(found: re.Match[str], *, bare: bool) -> str | None:
    """The result of a share, a root or a power that is told in words."""
    first, second = (Fraction(found[name]) if found[name] else Fraction(0) for name in ("percent", "of"))
    if found["percent"]:
        result = first * second / 100
    elif found["root"]:
        result = Fraction(found["root"]) ** 1
        root = isqrt(result.numerator)
        result = Fraction(root) if root * root == result.numerator else Fraction(str(round(float(result) ** 0.5, 6)))
    else:
        result = Fraction(found["base"]) ** int(found["power"] or _POWERS[found["named"].lower()])
    return _shown(result) if bare else f"{' '.join(found['sum'].split())} = {_shown(result)}"


def _in_signs(text: str) -> str:
    """The text with its operators as signs."""
    for words, written in _SPOKEN:
        text = words.sub(written, text)
    return text


def _is_asked(text: str, found: re.Match[str]) -> bool:
    """Whether a sum is the question, rather than a date or a number of some thing."""
    before, behind = text[max(0, found.start() - 40) : found.start()], text[found.end() : found.end() + 3]
    alone = not before.strip() and not behind.strip(" =?.\n")
    return alone or bool(_CUE.search(before)) or behind.lstrip().startswith("=") or _ends_a_question(found[0], behind)


def _ends_a_question(found: str, behind: str) -> bool:
    """Whether a question ends with the sum; `on 5/12?` asks for a day."""
    return behind.lstrip().startswith(("?", "？", "؟")) and _SPACED.search(found) is not None


class _Sum:
    """Reads a sum from left to right: products bind stronger, brackets strongest."""

    __slots__ = ("_at", "_tokens")

    def __init__(self, text: str) -> None:
        self._tokens = [*_TOKEN.findall(text.replace(",", "")), ""]
        self._at = 0

    def value(self) -> Fraction:
        result = self._terms(0)
        if self._tokens[self._at]:
            raise ValueError(self._tokens[self._at])
        return result

    def _terms(self, level: int) -> Fraction:
        total = self._factors(level)
        while (sign := self._tokens[self._at]) in ("+", "-"):
            self._at += 1
            other = self._factors(level)
            total = total + other if sign == "+" else total - other
        return total

    def _factors(self, level: int) -> Fraction:
        product = self._operand(level)
        while (sign := self._tokens[self._at]) in ("*", "/"):
            self._at += 1
            other = self._operand(level)
            product = product * other if sign == "*" else product / other
        return product

    def _operand(self, level: int) -> Fraction:
        next_one = self._tokens[self._at]
        self._at += 1
        if next_one == "-":
            return -self._operand(level + 1)
        if next_one == "(" and level < _DEEPEST:
            inner = self._terms(level + 1)
            self._at += 1
            if self._tokens[self._at - 1] != ")":
                raise ValueError("bracket")
            return inner
        if level > _DEEPEST:
            raise ValueError("too deep")
        return Fraction(next_one)  # ValueError where it is no number


def _shown(result: Fraction) -> str:
    """A number as people write it, rounded where it would not end."""
    if result.denominator == 1:
        return str(result.numerator)
    scaled = round(result * 10**_PLACES)
    whole, part = divmod(abs(scaled), 10**_PLACES)
    return ("-" if scaled < 0 else "") + f"{whole}.{part:0{_PLACES}d}".rstrip("0").rstrip(".")


_MOST_READ = 4000
_DEEPEST = 20
_PLACES = 10
_TIMES = "times|multiplied by|x|mal|fois|por|vezes|per|maal|gånger|razy|умножить на"
_BY = "divided by|over|geteilt durch|divisé par|dividido (?:por|entre)|diviso|gedeeld door|разделить на"
_SPOKEN = (
    (re.compile(r"(?i)(?<=\d)\s+(?:plus|added to|más|mas|mais|più|плюс)\s+(?=[-\d(])"), " + "),
    (re.compile(r"(?i)(?<=\d)\s+(?:minus|menos|moins|meno|минус|min)\s+(?=[-\d(])"), " - "),
    (
        re.compile(rf"(?i)(?<=\d)\s+(?:{_TIMES})\s+(?=[-\d(])|(?<=\d)\s?×\s?(?=[-\d(])|(?<=\d)x(?=\d)"),
        " * ",
    ),
    (
        re.compile(rf"(?i)(?<=\d)\s+(?:{_BY})\s+(?=[-\d(])|(?<=\d)\s?÷\s?(?=[-\d(])"),
        " / ",
    ),
    (
        re.compile(r"(?i)\b(?:add|(?:the )?sum of) (-?[\d.]{1,20}) (?:and|to|with) (-?[\d.]{1,20}\b)"),
        r"what is \1 + \2",
    ),
    (
        re.compile(r"(?i)\b(?:multiply|(?:the )?product of) (-?[\d.]{1,20}) (?:and|by|with) (-?[\d.]{1,20}\b)"),
        r"what is \1 * \2",
    ),
    (re.compile(r"(?i)\bdivide (-?[\d.]{1,20}) by (-?[\d.]{1,20}\b)"), r"what is \1 / \2"),
    (re.compile(r"(?i)\bsubtract (-?[\d.]{1,20}) from (-?[\d.]{1,20}\b)"), r"what is \2 - \1"),
    (re.compile("−"), "-"),
)
_NUMERAL = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,10})?(?![\d,])|\d{1,20}(?:\.\d{1,10})?"
_SUM = re.compile(
    rf"(?<![\w.])[-( ]{{0,8}}(?:{_NUMERAL})(?:[ )]{{0,8}}[-+*/][-( ]{{0,8}}(?:{_NUMERAL})"
    rf"){{1,20}}[ )]{{0,8}}(?![\w/-])"
)
_POWERS = {"squared": 2, "cubed": 3}
_NAMED = re.compile(
    r"(?i)\b(?:what(?:'s| is)|how much is|calculate|compute|find|evaluate)\s+(?P<sum>"
    r"(?P<percent>\d{1,6}(?:\.\d{1,4})?)\s*(?:%|percent) of (?P<of>\d{1,12}(?:\.\d{1,4})?)|"
    r"(?:the )?square root of (?P<root>\d{1,12})|"
    r"(?P<base>\d{1,6})(?: (?P<named>squared|cubed)|\s?(?:\^|\*\*| to the power of )\s?(?P<power>\d{1,2})))(?![\w%])"
)
_SPACED = re.compile(r"[+*]|\s[-/]\s")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[-+*/()]")
_CUE = re.compile(
    r"(?i)(?:what(?:'s| is| are| does)|how much is|calculate|compute|evaluate|solve|result of|value of|"
    r"work out|equals?|math:?|simplify|sum:?)\s*:?\s*$"
)
_BARE = re.compile(
    r"(?i)\b(?:only|just)\b[^.\n]{0,30}\b(?:number|result|answer|value|digits?|integer)\b|\bnumber only\b|"
    r"\bsingle number\b|\bno (?:explanation|words|text)\b"
)
