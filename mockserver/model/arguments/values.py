"""Values that a text shows by their form (URLs, ids, paths, quoted texts) or gives by name (pairs, calls, JSON).

Every pattern has bounded repetitions, so that each character of a text costs a bounded number of steps.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from math import isinf

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.model.fillers import word_lists
from mockserver.model.vocabulary import vocabulary, word_set


class Mention(Struct, frozen=True):
    """A value in a text, from `start` up to `end`; `key` is its name in the text, if it has one."""

    kind: str  # number, quoted, date, time, datetime, duration, email, url, id, name, words, pair, argument, json...
    value: Json
    start: int
    end: int
    key: str = ""
    unit: str = ""  # of a number: a unit, a currency's code, "%", "#"; of words: "the", "lead", "label" or "counted"
    cue: str = ""  # the preposition before it, in English; of an argument, the name of the function
    before: tuple[str, ...] = ()  # the words before it in its clause, in the singular, nearest first
    after: tuple[str, ...] = ()  # the words after it
    source: int = 0  # which of the texts it stands in

    def overlaps(self, other: "Mention") -> bool:
        return self.start < other.end and other.start < self.end


_QUOTED = lazy_pattern(
    r"```(?:(?P<tag>[\w+-]*)[ \t]*\n)?(?P<fenced>(?:[^`]|`(?!``))+)```|`(?P<code>[^`\n]{1,2000})`"
    r"|(?<![\w\"'\\])\"((?:[^\"\\\n]|\\.|\n(?!\n)){1,4000})\""
    r"|(?<![\w\"'])'(?=\S)((?:[^'\n]|(?<=\w)'(?=\w)){1,300})'(?!\w)"
    r"|‘(?=\S)((?:[^‘’\n]|’(?=\w)){1,300})’(?!\w)|[„“]([^„“”]{1,4000})[“”]|«([^«»]{1,4000})»|»(?=\S)([^«»]{1,4000})«"
    r"|‹([^‹›]{1,4000})›|「([^「」]{1,4000})」|『([^『』]{1,4000})』|《([^《》]{1,4000})》|‚([^‚‘’]{1,300})[‘’]"
)


_QUOTES = frozenset("`\"'‘„“«»‹「『《‚")


def find_quoted(text: str) -> Iterator[Mention]:
    """The texts in quotes or backticks, in order; apostrophes and quotes without an end are none."""
    for found in _QUOTED.finditer(text) if not _QUOTES.isdisjoint(text) else ():
        if found["fenced"]:
            start = found.start("fenced")
            yield Mention("code", found["fenced"].strip("\n"), start, found.end(), unit=(found["tag"] or "").lower())
        else:
            kind = "code" if found["code"] else "quoted"
            yield Mention(kind, str(found[found.lastindex or 0]), *found.span())


@cache
def _scanners() -> Sequence[tuple[str, re.Pattern[str]]]:
    return [(kind, re.compile(pattern)) for kind, pattern in word_lists("patterns")["literals"]]


_DATED = lazy_pattern(r"\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}-\d{1,2}-\d{4}")
_SURE = frozenset(("url", "email", "uuid", "path"))
_DIGITS = "0123456789"
_NEEDS = {
    "url": ":",
    "email": "@",
    "path": "/.\\",
    "slug": "/",
    "channel": "#@",
    "host": (".", "localhost"),
}  # signs without which a text has none of the kind
_TRAILING = ".,;:!?)]}'"


def find_literals(text: str, *, sure: bool) -> Iterator[Mention]:
    """The values that their form shows, kind by kind; of overlapping ones the first counts.

    Those that are `sure` are read before dates and durations, the others after them.
    """
    for kind, scanner in _scanners():
        if (kind in _SURE) != sure or not any(mark in text for mark in _NEEDS.get(kind, _DIGITS)):
            continue
        for found in scanner.finditer(text):
            value = _ended(found[0]) if kind == "url" else found[0].rstrip() if kind == "path" else found[0]
            if kind in ("expression", "id") and (_DATED.fullmatch(value) or _unpaired(value)):
                continue
            if kind == "expression" and re.fullmatch(r"\d+-\d+|-?\d+/\d+|[\d.-]+", value):
                continue
            yield Mention(kind, value, found.start(), found.start() + len(value))


def _ended(url: str) -> str:
    """A URL without the punctuation of the sentence around it."""
    while url and url[-1] in _TRAILING and not (url[-1] == ")" and url.count("(") >= url.count(")")):
        url = url[:-1]
    return url


def _unpaired(value: str) -> bool:
    return value.count("(") != value.count(")")


def _finite(written: str) -> float:
    number = float(written)
    if number - number != 0:
        raise ValueError(written)
    return number


_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).raw_decode
_MOST_TRIES, _MOST_MEMBERS, _DEEPEST = 48, 200, 24
_BRACKET = lazy_pattern(r"[\[{]")
_PLACEHOLDER = lazy_pattern(r"<[^<>]{1,200}>")  # of an example: "<your reason>"


def find_fragments(text: str) -> Iterator[Mention]:
    """The outermost JSON objects and arrays of a text, unless they are nested too deeply."""
    at = 0
    for _ in range(_MOST_TRIES):
        opening = _BRACKET.search(text, at)
        if opening is None:
            return
        at = opening.end()
        with suppress(ValueError, RecursionError):
            value, end = _decode(text, opening.start())
            if _depth(value) <= _DEEPEST:
                yield Mention("json", value, opening.start(), end)
            at = end


def _depth(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def read_members(text: str, fragment: Mention) -> Iterator[Mention]:
    waiting, at, left = [fragment.value], fragment.start, _MOST_MEMBERS
    while waiting and left:
        value = waiting.pop(0)
        pairs = value.items() if isinstance(value, dict) else ()
        for key, inner in list(pairs)[:left]:
            left -= 1
            place = text.find(json.dumps(key, ensure_ascii=False), at, fragment.end)
            if place >= 0:
                at = place + len(key) + 2
            if place >= 0 and not (isinstance(inner, str) and _PLACEHOLDER.fullmatch(inner)):
                yield Mention("member", inner, place, at, key=key)
            waiting.append(inner)


_PAIR = lazy_pattern(
    r"(?<![\w/.-])(?P<key>[^\W\d_][\w-]{0,40}(?: [\w-]{1,30}){0,3}?)(?P<mark>[ ]?=(?!=)|\**:\**(?!//|\d|:)"
    r"|：)[ \t]{0,4}(?P<value>[^\s,;][^\n;]{0,500})"
)
_END_OF_VALUE = lazy_pattern(r"[.!?](?=\s|$)|,(?=\s)|;|\)(?!\S)")


def find_pairs(text: str) -> Iterator[Mention]:
    """The values after a colon or an equals sign: up to the next pair, comma or end of sentence."""
    at = 0 if any(map(text.__contains__, ":=：")) else len(text)
    while found := _PAIR.search(text, at):
        start = found.start("value")
        end = start + len(_written_value(found["value"], found["mark"]))
        at = max(end, found.end("mark"))
        written = text[start:end].strip().strip("*_`").strip()
        if written:
            begin = text.index(written, start)
            yield Mention("pair", _unquoted(written), begin, begin + len(written), key=found["key"])


def _unquoted(written: str) -> str:
    is_quoted = len(written) > 2 and _CLOSING.get(written[0]) == written[-1]
    return written[1:-1].strip() if is_quoted else written


_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "「": "」"}


def _written_value(rest: str, mark: str) -> str:
    close = rest.find(_CLOSING[rest[0]], 1) if rest[0] in _CLOSING else -1
    if close > 0:
        return rest[: close + 1]
    if "=" in mark:
        rest = re.split(r"[\s&,;)]", rest, maxsplit=1)[0]
    ended = _END_OF_VALUE.search(rest)
    return rest[: ended.start()] if ended else rest


_BEING = r"(?:is|are|was|were|ist|war|est|es|è)"
_OWNING = (
    r"(?:[Tt]he|[Mm]y|[Ii]ts|[Hh]is|[Hh]er|[Oo]ur|[Tt]heir|[Yy]our|[Dd]er|[Dd]ie|[Dd]as|[Mm]eine?|[Ll][ae]|[Ee]l"
    r"|[Mm]i)"
)
_SAID = lazy_pattern(
    rf"(?<!\w){_OWNING} (?P<key>[^\W\d_A-Z][\w-]{{1,30}}(?: [^\W\d_A-Z][\w-]{{1,30}}){{0,2}}?) {_BEING} (?:that of )?"
    r"(?=(?P<value>[\"'“«]?(?:[A-Z0-9$€£#+-]|[^\W\d_a-z])[^\n;!?]{0,200}))"
)
_WHAT = lazy_pattern(
    rf"(?<![\w.])(?P<value>[A-Z][\w'’.-]{{0,30}}(?: [A-Z][\w'’.-]{{0,30}}){{0,4}}) {_BEING} "
    r"(?:the|an?|our|my|its|their) (?P<key>[a-z][\w-]{1,30})(?= (?:of|for|in|at|and|on|with|who|that|from)\b|[.,;!?]|$)"
)
_BECOME = lazy_pattern(  # "order 13 is shipped": how something is
    r"(?P<what>\b[Ii]ts \w{1,30}|\w) (?:is|are|was|were|has been|have been) (?:now |currently |still "
    r"|already )?(?P<value>[a-z]{3,20})(?=[.,;!]|$|\n| (?:and|but|since|by|on|at)\b)"
)
_END_OF_CLAUSE = lazy_pattern(
    r"\.(?=\s|$)|,(?=\s)|\)(?!\S)| (?:and|but|with|from|who|which|because|while|in|on|for|at|by|as|und|et|y|where)\b"
)
_NOBODY = vocabulary("it this that he she they we you what who where there here which today")


def find_statements(text: str) -> Iterator[Mention]:
    """The names and numbers that sentences give to what they name: "my city is Rome", "Rome is the capital"."""
    for found in _SAID.finditer(text):
        start = found.start("value")
        ended = _END_OF_CLAUSE.search(found["value"])
        value = (found["value"][: ended.start()] if ended else found["value"]).rstrip(" .")
        if value:
            yield Mention("pair", value.strip("\"'“”«»"), start, start + len(value), key=found["key"])
    for found in _BECOME.finditer(text):
        if len(found["what"]) == 1 and found["value"] not in word_set("stops") | word_set("articles"):
            yield Mention("pair", found["value"], *found.span("value"), key="status")
    for found in _WHAT.finditer(text):
        if found["value"].lower() not in _NOBODY:
            yield Mention("pair", found["value"], *found.span("value"), key=found["key"])


def value_of(digits: str) -> int | float:
    """Return the number that digits with separators of any country mean. Raise OverflowError where it is too large."""
    digits = re.sub(r"['’\u00a0\u202f ]", "", digits)
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}", digits):
        digits = digits.replace(".", "").replace(",", ".")
    digits = digits.replace(",", ".")
    if digits.isdecimal():
        return int(digits)
    return whole_if_equal(float(digits))


def whole_if_equal(number: float) -> int | float:
    """Return an int for a whole number. Raise OverflowError for infinity."""
    if isinf(number):
        raise OverflowError
    return int(number) if number == number // 1 and abs(number) < 1e15 else number


LISTED = lazy_pattern(  # what stands between the items of a list
    r"\s{0,3}(?:,|;|&|\+|/|、|，|\band\b|\bor\b|\bund\b|\bet\b|\by\b|\be\b|\bplus\b|\bas well as\b|\n\s{0,8}(?:[-*•]"
    r"|\d{1,3}[.)]))[\s,]{0,3}(?:and |und |et |y |e |or )?(?:an? |the |some |to |in |for |from |with )?",
    re.IGNORECASE,
)
