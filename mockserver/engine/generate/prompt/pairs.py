"""Values that a text gives by name: JSON fragments, call notation, and `key: value` or `key=value`."""

import json
import re
from collections.abc import Iterator

from mockserver.core.call import Json
from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.numbers import value_of


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
