"""Sums that a prompt sets: whole and decimal numbers with plus, minus, times and divided by."""

import re
from fractions import Fraction
from math import isqrt

from mockserver.core.seed import Random
from mockserver.model.forms.prompt import Asked
from mockserver.model.languages import ENGLISH, LANGUAGES, language_asked
from mockserver.model.vocabulary import vocabulary


def dictated(asked: Asked, rng: Random) -> str | None:
    """What is to be said word for word: `say hello`, `reply with exactly: OK`, `repeat after me ...`."""
    ordered = next((found for found in _ORDER.finditer(asked.rules) if _word_for_word(found)), None)
    if ordered is None or not _always(ordered):
        ordered = next((found for found in _ORDER.finditer(asked.text) if _word_for_word(found)), None)
    if ordered is None:
        return None
    if _GREETING.match(ordered["what"] or "") and (code := language_asked(asked.text)) not in (None, ENGLISH):
        return LANGUAGES[code or ""].greeting
    return _words(ordered)


def _always(ordered: re.Match[str]) -> bool:
    """Whether rules that hold for every prompt say so plainly."""
    return ordered["quoted"] is not None or "exactly" in ordered[0].lower()


def _word_for_word(ordered: re.Match[str]) -> bool:
    """Whether an order tells the very words, rather than what they should be about or look like."""
    if ordered["quoted"] is not None:
        return True
    if not _LETTER.search(ordered["what"]):
        return False
    first = (_FIRST_WORD.match(ordered["what"]) or [""])[0].lower()
    if first in _DESCRIBING or _DESCRIBED.match(ordered["what"]):
        return False
    said = ordered["verb"].lower() in _SAYING
    return said or bool(_EXACT.search(f"{ordered['before'] or ''} {ordered['how'] or ''}"))


def _words(ordered: re.Match[str]) -> str:
    if ordered["quoted"] is not None:
        return ordered["quoted"][1:-1].strip()
    what = _NOTHING_ELSE.split(ordered["what"], maxsplit=1)[0].strip()
    return what[:-1] if what.endswith(".") and not what.endswith("..") else what


_QUOTED = (
    r"\"[^\"\n]{1,2000}\"|“[^”\n]{1,2000}”|«[^»\n]{1,2000}»|`[^`\n]{1,2000}`|'[^'\n]{1,2000}'(?!\w)|"
    r"‘[^’\n]{1,2000}’(?!\w)"
)
_ORDER = re.compile(
    r"(?im)(?:^|(?<=[.!?:;,])|\b(?:please|just|now|only|simply|always|must|then|to|you|and|should))[ \t]*"
    r"(?P<before>(?:(?:please|just|now|only|simply|always|exactly)[ \t]+){0,3})"
    r"\b(?P<verb>say|repeat|echo|reply|respond|answer|output|print|return|write|type)\b"
    r"(?P<how>(?:[ \t]+(?:exactly|only|just|simply|verbatim|with|back|after me|this exact|the exact|exact|"
    r"the following|following|"
    r"to me|(?:the |this |one )?(?:single |one |exact )?(?:word|text|phrase|string|sentence|words|message|"
    r"number|letters?|line|token)|"
    r"saying|this(?=[ \t]*:)|by saying)\b){0,6})"
    rf"[ \t]*[:,]?\s*(?:(?P<quoted>{_QUOTED})|(?P<what>[^\s\"“«`][^\n]{{0,2000}}))"
)
_EXACT = re.compile(
    r"(?i)\b(?:exactly|only|just|simply|verbatim|exact|the following|word|text|phrase|string|saying|this|"
    r"number|letters?)\b"
)
_SAYING = frozenset({"say", "repeat", "echo"})
_LETTER = re.compile(r"[^\W_]")
_FIRST_WORD = re.compile(r"[^\s,.!?:]+")
_DESCRIBING = vocabulary(
    "question questions "
    "a an the one your something anything nothing what why how who which where when if whether more no yes "
    "json yaml xml csv "
    "markdown html code valid in as and or to about for with from using based according once either it that "
    "these those "
    "each every all only any some me us them him her two three four five true false so on of at by unless "
    "until after "
    "first twice myself yourself here there not"
)
_DESCRIBED = re.compile(r"(?i)\S+(?: or |/)\S+[\s.!?]*$")
_NOTHING_ELSE = re.compile(
    r"(?i)(?<=[.!?])\s|,? and (?:nothing|say nothing|do nothing|stop|no)\b|,? nothing (?:else|more)\b|"
    r",? without\b|\s\(|,? only\b[.!]?$|,? please\b"
)
_GREETING = re.compile(r"(?i)(?:hello|hi|good (?:morning|day|evening|afternoon))\b")


def chosen(asked: Asked, rng: Random) -> str | None:
    """One of the options that the prompt or the rules allow: the one that the rest of the prompt names, if it does."""
    for text in asked.both:
        marks: list[str] = list(dict.fromkeys(_MARKS.findall(text)))
        if len(marks) > 1:
            return marks[rng.randrange(len(marks))]
        options, rest = _options(text)
        if options:
            spoken = asked.text if text is asked.rules else rest
            return _picked(options, spoken, rng)
    return lettered(asked, rng)


def lettered(asked: Asked, rng: Random) -> str | None:
    """One of several lettered lines: the letter alone where that is asked for."""
    lines = _LETTERED.findall(asked.text)
    if len(lines) < 2:
        return None
    letter, text = lines[rng.randrange(len(lines))]
    alone = any(_LETTER_ALONE.search(ordering) for ordering in asked.both)
    return letter if alone else f"{letter}) {text.strip()}"


def _picked(options: list[str], spoken: str, rng: Random) -> str:
    """One of the options by chance, unless the text names just one of them."""
    words = set(_WORD.findall(spoken.lower()))
    named = [option for option in options if option.lower() in words and option.lower() not in ("yes", "no")]
    return named[0] if len(named) == 1 else options[rng.randrange(len(options))]


def _options(text: str) -> tuple[list[str], str]:
    """The options of a text, and what else it says."""
    for cue in _CUES:
        for found in cue.finditer(text):
            options = _parted(found[1])
            if len(options) > 1:
                return options, text[: found.start()] + " " + text[found.end() :]
    for found in _HEADED.finditer(text):
        lines = [line.group(1).strip().strip("\"'`*") for line in _BULLETS.finditer(found[1])]
        labels = [line.partition(":")[0].strip(" *\"'`") for line in lines]
        if len(labels) > 1:
            return labels, text[: found.start()] + " " + text[found.end() :]
    return [], text


def _parted(listed: str) -> list[str]:
    """The options of a list, or none where one of them is no short label."""
    parts = [part.strip().strip("\"'`“”‘’「」『』*()[]<>.").strip() for part in _SEPARATOR.split(listed)]
    parts = [part for part in parts if part]
    return parts if all(_LABEL.fullmatch(part) for part in parts) else []


_ITEM = r"[\"'`“‘]?[\w+-]+(?: [\w+-]+){0,2}[\"'`”’]?"
_LISTED = rf"{_ITEM}(?:(?:\s*,\s*(?:or\s+|and\s+)?|\s*[/|]\s*|\s+or\s+|\s+and\s+){_ITEM}){{1,30}}"
_WORD_LISTED = r"[\"'`“‘]?[\w+-]+[\"'`”’]?"
_WORDS_LISTED = rf"{_WORD_LISTED}(?:(?:\s*,\s*(?:or\s+|and\s+)?|\s*/\s*|\s*\|\s*|\s+or\s+){_WORD_LISTED}){{1,30}}"
_YES, _NO = (rf"(?:\"(?:{words})\"|'(?:{words})'|(?:{words}))" for words in ("yes|true", "no|false"))
_CUES = (
    re.compile(rf"(?i)\b(?:choose|pick|select)(?: only| just| exactly)? one\b[^:\n]{{0,30}}:\s*({_LISTED})"),
    re.compile(
        r"(?i)((?<!\w)(?:ja|sí|si|oui|sim|да|はい|是|tak|evet|vâng|iya|네|예)[\"'”」』]?\s*"
        r"(?:oder|o|ou|of|lub|czy|veya|eller|или|または|还是|或|또는|、|/|,)\s*[\"'“「『]?"
        r"(?:nein|no|non|não|nee|nie|nej|hayır|нет|いいえ|否|不是|tidak|아니요|아니오)(?![\w]))"),
    re.compile(
        rf"(?i)\b(?:one of|among|choose from|select from|pick from|from)(?: the| these| following| labels?|"
        rf" options?| categories|"
               rf" classes| values| words| choices){{0,4}}\s*(?::\s*[\[(]?|[\[(])\s*({_LISTED})"),
    re.compile(
        rf"(?i)\b(?:options|categories|labels|classes|choices|possible (?:values|answers|"
        rf"labels))\b[^:\n]{{0,40}}:\s*[\[(]?({_LISTED})"),
    re.compile(
        rf"(?i)\b(?:answer|reply|respond|return|output|say|choose|pick|select|write|print)\b(?: (?:with|only|"
        rf"just|either|exactly|simply|"
               rf"one of|in|using|between|the word|a|single|word)){{0,6}}:?\s+({_WORDS_LISTED})(?=[\s.!?,)\"]*(?:$|"
               rf"\n|"
               rf"[.!?)]|and nothing|only|for|to|based|depending))"),
    re.compile(
        rf"(?i)\b(?:classify|categori[sz]e|label|tag|mark|rate)\b[^\n:]{{0,120}}?\b(?:as|into|"
        rf"either)\b(?: one of| either| the)?:?\s+({_WORDS_LISTED})"),
    re.compile(rf"(?i)\b(?:sentiment|category|class|label)\b[^\n]{{0,40}}?\(({_WORDS_LISTED})\)"),
    re.compile(
        rf"(?i)((?<![\w\"'-]){_YES}(?:\s*/\s*|\s*,?\s+or\s+|\s*\|\s*){_NO}(?![\w\"'-]))"),
)  # fmt: skip
_HEADED = re.compile(
    r"(?i)\b(?:options|categories|labels|classes|choices|"
    r"one of(?: the following)?(?: \w+)?)[^\n:]{0,40}:[ \t]*\n((?:[ \t]*(?:[-*•]|"
    r"\d{1,2}[.)])[^\n]{1,120}(?:\n|$)){2,30})"
)
_BULLETS = re.compile(r"(?:[-*•]|\d{1,2}[.)])[ \t]*([^\n]+)")
_LETTERED = re.compile(r"(?m)^[ \t]*\(?([A-F])[).:][ \t]+([^\n]{1,200})$")
_LETTER_ALONE = re.compile(r"(?i)\bletters?\b")
_MARKS = re.compile(r"\[\[\w{1,20}\]\]")
_SEPARATOR = re.compile(
    r"(?i)\s*,\s*(?:or\s+|and\s+)?|\s*[/|、]\s*|"
    r"\s+(?:or|and|oder|o|ou|of|lub|czy|veya|eller|или)\s+|または|还是|或|또는"
)
_LABEL = re.compile(r"[\w+-]+(?: [\w+-]+){0,3}")
_WORD = re.compile(r"[\w+-]+")


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
