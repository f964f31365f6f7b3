"""Values that a text gives by name: JSON fragments, call notation, and `key: value` or `key=value`."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from mockserver.core.json import Json
from mockserver.model.arguments.dates import durations, moments, pieces, times
from mockserver.model.arguments.numbers import numbers, portions, value_of
from mockserver.model.arguments.phrases import phrases
from mockserver.model.arguments.spoken import LISTED
from mockserver.model.arguments.values import Mention, literals, quoted
from mockserver.model.vocabulary import heading_of, prepositions, singular, synonyms, vocabulary, word_set


def _finite(written: str) -> float:
    number = float(written)
    if number - number != 0:
        raise ValueError(written)
    return number


_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).raw_decode
_MOST_FRAGMENTS, _MOST_MEMBERS, _DEEPEST = 16, 200, 24
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.){0,4000}+"?|[][{}]')  # a quote that never ends is read once all the same


def fragments(text: str) -> Iterator[Mention]:
    """The JSON objects and arrays of a text, outermost only; found by pairing brackets once."""
    tried = 0
    for start, end in _balanced(text):
        if tried == _MOST_FRAGMENTS:
            return
        tried += 1
        try:
            value, _ = _decode(text[start:end])
        except (ValueError, RecursionError):
            continue
        yield Mention("json", value, start, end)


def _balanced(text: str) -> Iterator[tuple[int, int]]:
    """Where brackets open and close at the outermost level, not too deep within."""
    stack: list[tuple[str, int]] = []
    deepest = 0
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark in "[{":
            stack.append((mark, found.start()))
            deepest = max(deepest, len(stack))
        elif mark in "]}" and stack and stack[-1][0] + mark in ("[]", "{}"):
            _, start = stack.pop()
            if not stack:
                if deepest <= _DEEPEST:
                    yield start, found.end()
                deepest = 0
        elif mark in "]}":
            stack.clear()


def members(text: str, fragment: Mention) -> Iterator[Mention]:
    """The values of a JSON object by their keys, and of the objects within it."""
    waiting, at, left = [fragment.value], fragment.start, _MOST_MEMBERS
    while waiting and left:
        value = waiting.pop(0)
        pairs = value.items() if isinstance(value, dict) else ()
        for key, inner in list(pairs)[:left]:
            left -= 1
            place = text.find(json.dumps(key, ensure_ascii=False), at, fragment.end)
            if place >= 0:
                at = place + len(key) + 2
                yield Mention("member", inner, place, at, key=key)
            waiting.append(inner)


_CALL = re.compile(r"(?<![\w.])([A-Za-z_][\w.]{0,60})\(")
_SEPARATOR = re.compile(r"\"(?:[^\"\\]|\\.){0,1000}+\"|'(?:[^'\\]|\\.){0,1000}+'|[][(){},]")
_LONGEST, _MOST_NESTED = 2_000, 8


def calls(text: str) -> Iterator[Mention]:
    """The arguments of calls such as `lookup(3)`: `key` is the parameter, or `#0` and so on by position.

    `cue` is the name of what is called.
    """
    at = 0
    while found := _CALL.search(text, at):
        at = found.end()
        for position, (start, end) in enumerate(_arguments(text, at)):
            key, value, start = _argument(text, start, end)
            kind = "argument" if value is not None else "none"
            if kind == "argument" and value not in ("s", "es"):
                yield Mention(kind, value, start, end, key=key or f"#{position}", cue=found[1].rpartition(".")[2])
            at = max(at, end)


def _arguments(text: str, start: int) -> list[tuple[int, int]]:
    """Where the arguments stand, up to the bracket that closes; none if nothing closes."""
    depth, pieces = 0, list[tuple[int, int]]()
    for found in _SEPARATOR.finditer(text, start, start + _LONGEST):
        mark = found[0]
        if mark in "([{":
            depth += 1
            if depth > _MOST_NESTED:
                return []
        elif mark in ")]}" and depth:
            depth -= 1
        elif (mark == ")" or mark == ",") and not depth:
            pieces.append((start, found.start()))
            start = found.end()
            if mark == ")":
                return [piece for piece in pieces if text[slice(*piece)].strip()]
    return []


def _argument(text: str, start: int, end: int) -> tuple[str, Json, int]:
    named = _NAMED.match(text, start, end)
    start = named.end() if named else start + len(text[start:end]) - len(text[start:end].lstrip())
    return (named[1] if named else ""), literal(text[start:end].strip()), start


_NAMED = re.compile(r"\s*([A-Za-z_]\w{0,60})\s*[=:]\s*(?!=)")
_BARE = re.compile(r"[-+]?\d[\d,._]*(?:e[+-]?\d+)?", re.IGNORECASE)
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "True": True, "False": False}


def literal(written: str) -> Json:
    """The value that is written: JSON, a constant, a quotation, a number, else the text itself; None for none."""
    if written in _CONSTANTS:
        return _CONSTANTS[written]
    if len(written) > 1 and written[0] in "'\"" and written[-1] == written[0]:
        return written[1:-1]
    if written[:1] in ("[", "{"):
        for form in (written, written.replace("'", '"')):
            try:
                return _decode(form)[0]
            except (ValueError, RecursionError):
                continue
    if _BARE.fullmatch(written):
        try:
            return value_of(written.lstrip("+-")) * (-1 if written[0] == "-" else 1)
        except (ValueError, OverflowError):
            return written
    return written or None


_PAIR = re.compile(
    r"(?<![\w/.-])(?P<key>[^\W\d_][\w-]{0,40}(?: [\w-]{1,30}){0,3}?)(?P<mark>[ ]?=(?!=)|\**:\**(?!//|\d|:)|：)"
    r"[ \t]{0,4}"
    r"(?P<value>[^\s,;][^\n;]{0,500})"
)
_ANOTHER = re.compile(r"[,;.]? (?:and )?[^\W\d_][\w-]{0,40}(?: [\w-]{1,30}){0,2}[:=]")
_SENTENCE = re.compile(r"[.!?](?=\s|$)|,(?=\s)|;|\)(?!\S)")


def pairs(text: str) -> Iterator[Mention]:
    """The values after a colon or an equals sign: up to the next pair, comma or end of sentence."""
    at = 0
    while found := _PAIR.search(text, at):
        start = found.start("value")
        end = start + len(_value(found["value"], found["mark"]))
        at = max(end, found.end("mark"))
        written = text[start:end].strip().strip("*_`").strip()
        if written:
            begin = text.index(written, start)
            yield Mention("pair", _unquoted(written), begin, begin + len(written), key=found["key"])


def _unquoted(written: str) -> str:
    marks = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "「": "」"}
    return written[1:-1].strip() if len(written) > 2 and marks.get(written[0]) == written[-1] else written


def _value(rest: str, mark: str) -> str:
    if rest[0] in "\"'“‘«「":
        closed = {"“": "”", "‘": "’", "«": "»", "「": "」"}.get(rest[0], rest[0])
        close = rest.find(closed, 1)
        if close > 0:
            return rest[: close + 1]
    if "=" in mark:
        rest = re.split(r"[\s&,;)]", rest, maxsplit=1)[0]
    another = _ANOTHER.search(rest)
    rest = rest[: another.start()] if another else rest
    ended = _SENTENCE.search(rest)
    return rest[: ended.start()] if ended else rest


_BEING = r"(?:is|are|was|were|ist|war|est|es|è)"
_OWNING = (
    r"(?:[Tt]he|[Mm]y|[Ii]ts|[Hh]is|[Hh]er|[Oo]ur|[Tt]heir|[Yy]our|[Dd]er|[Dd]ie|[Dd]as|[Mm]eine?|[Ll][ae]|[Ee]l"
    r"|[Mm]i)"
)
_SAID = re.compile(
    rf"(?<!\w){_OWNING} (?P<key>[^\W\d_A-Z][\w-]{{1,30}}(?: [^\W\d_A-Z][\w-]{{1,30}}){{0,2}}?) {_BEING} (?:that of )?"
    r"(?=(?P<value>[\"'“«]?(?:[A-Z0-9$€£#+-]|[^\W\d_a-z])[^\n;!?]{0,200}))"
)
_WHAT = re.compile(
    rf"(?<![\w.])(?P<value>[A-Z][\w'’.-]{{0,30}}(?: [A-Z][\w'’.-]{{0,30}}){{0,4}}) {_BEING} "
    r"(?:the|an?|our|my|its|their) (?P<key>[a-z][\w-]{1,30})(?= (?:of|for|in|at|and|on|with|who|that|from)\b|[.,;!?]|$)"
)
_END = re.compile(
    r"\.(?=\s|$)|,(?=\s)|\)(?!\S)| (?:and|but|with|from|who|which|because|while|in|on|for|at|by|as|und|et|y|where)\b"
)
_NOBODY = vocabulary("it this that he she they we you what who where there here which today")


def statements(text: str) -> Iterator[Mention]:
    """The values that sentences give to what they name, up to the next clause; names and numbers only."""
    for found in _SAID.finditer(text):
        start = found.start("value")
        ended = _END.search(found["value"])
        value = (found["value"][: ended.start()] if ended else found["value"]).rstrip(" .")
        if value:
            yield Mention("pair", value.strip("\"'“”«»"), start, start + len(value), key=found["key"])
    for found in _WHAT.finditer(text):
        if found["value"].lower() not in _NOBODY:
            yield Mention("pair", found["value"], *found.span("value"), key=found["key"])


_MOST = 400  # mentions of one text


@lru_cache(maxsize=64)
def read(text: str) -> tuple[Mention, ...]:
    """What a text mentions, in order. Mentions may overlap: a pair and the number in it, a text and a name in it."""
    claimed = bytearray(len(text))
    strict = list(_claimed(fragments(text), claimed))
    inner = [member for fragment in strict for member in members(text, fragment)]
    forms = (
        quoted(text),
        literals(text, sure=True),
        moments(text),
        durations(text),
        times(text),
        literals(text, sure=False),
        numbers(text),
    )
    strict += _claimed(chain.from_iterable(forms), claimed)
    inner += [part for mention in strict for part in _within(text, mention)]
    free = tuple(phrases(text, claimed))
    whole = sorted((*strict, *free), key=lambda m: m.start)
    named = (*calls(text), *pairs(text), *statements(text), *portions(text, whole))
    found = sorted((*whole, *inner, *named), key=lambda m: (m.start, -m.end, m.kind))
    if len(found) > _MOST:  # both ends tell more than the middle
        found = found[: _MOST // 2] + found[-_MOST // 2 :]
    return tuple(_in_context(text, found))


def _within(text: str, mention: Mention) -> Iterator[Mention]:
    """The date and time of a moment, the numbers of a sum: they may be asked for alone."""
    if mention.kind == "datetime":
        yield from pieces(mention, text)
    elif mention.kind == "expression" or (mention.kind == "date" and text.startswith("in ", mention.start)):
        for number in numbers(text[mention.start : mention.end]):
            yield replace(number, start=number.start + mention.start, end=number.end + mention.start)


def _claimed(found: Iterable[Mention], claimed: bytearray) -> Iterator[Mention]:
    """The mentions whose place is still free, which they take."""
    for mention in found:
        if not any(claimed[mention.start : mention.end]):
            claimed[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            yield mention


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|#|\d|[.!?;,:()\n]")
_ENDS = frozenset(".!?;\n()")
_WIDE = frozenset(("pair", "member", "argument", "none", "json"))
_REACH = 70  # characters that are looked at on either side


def _in_context(text: str, found: Sequence[Mention]) -> Iterator[Mention]:
    """The mentions with the words around them."""
    leading = prepositions(text)
    whole = text
    for mention in found:
        if mention.kind == "address":  # its words tell nothing of what stands beside it
            blank = " " * (mention.end - mention.start)
            text = text[: mention.start] + blank + text[mention.end :]
    last: Mention | None = None
    labels = _labels(whole, found)
    for mention in found:
        before = _before(text, mention.start)
        cue = mention.cue or _cue(before, leading)
        near = tuple(singular(word) for word in before if word.lower() not in word_set("articles"))
        if (mention.end in labels and mention.kind == "words") or (not cue and _is_heading(whole, mention)):
            mention = replace(mention, unit="label")
        made = replace(mention, cue=cue, before=near[:4], after=_after(text, mention.end))
        if last and last.end <= made.start:
            made = _joined(whole, last, made)
        yield made
        if made.kind not in _WIDE and (last is None or made.end > last.end):  # what stands within it follows nothing
            last = made


def _labels(text: str, found: Iterable[Mention]) -> frozenset[int]:
    """Where words end that only say what the number after them is: the "bug" of "bug 552"."""
    numbered = (
        m
        for m in found
        if m.kind in ("number", "id") and text[m.start - 1 : m.start] == " "
        if m.unit.lower() not in heading_of("units")
    )
    return frozenset(mention.start - 1 for mention in numbered)


def _is_heading(text: str, mention: Mention) -> bool:
    """Whether words only announce what follows: "Contacts: Mia, Leo"."""
    return mention.kind in ("name", "words") and text[mention.end : mention.end + 1] == ":"


def _is_people(word: str) -> bool:
    return "people" in synonyms("property_synonyms").get(singular(word), ())


def _joined(text: str, last: Mention, mention: Mention) -> Mention:
    """A mention with what the one before it tells: both of "in Paris and London" are in, apples are counted."""
    gap = text[last.end : mention.start]
    if (
        last.kind in ("number", "unit", "duration")
        and mention.kind in ("words", "name")
        and gap in (" ", " of ", " x ", "x ", " × ")
    ):
        people = mention.kind == "words" and any(map(_is_people, str(mention.value).split()))
        return mention if people or isinstance(last.value, float) else replace(mention, unit="counted")
    if last.kind == mention.kind and not mention.cue and LISTED.fullmatch(text, last.end, mention.start):
        return replace(mention, cue="until" if last.cue == "between" else last.cue, before=last.before)
    return mention


def _before(text: str, start: int) -> list[str]:
    """The words before a place in its clause, nearest first."""
    words = _WORD.findall(text, max(0, start - _REACH), start)
    clause: list[str] = []
    for word in reversed(words):
        if word in _ENDS or word.isdigit() or word == ",":
            break
        if word not in ":#":
            clause.append(word)
    return clause[:5]


def _cue(before: list[str], leading: Mapping[str, str]) -> str:
    """The preposition that leads to a place, articles between them skipped."""
    for word in before[:3]:
        if word.lower() in leading:
            return leading[word.lower()]
        if word.lower() not in word_set("articles"):
            break
    return ""


def _after(text: str, end: int) -> tuple[str, ...]:
    words: list[str] = []
    for word in _WORD.findall(text, end, end + 40):
        if word in _ENDS or word in ",:" or word.isdigit():
            break
        words.append(word)
    return tuple(singular(word) for word in words[:3])
