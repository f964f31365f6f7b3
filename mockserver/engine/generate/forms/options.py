"""Answers out of a choice that the prompt gives: labels, letters, yes or no."""

import re

from mockserver.core.seed import Random
from mockserver.engine.generate.forms.asked import Asked


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
