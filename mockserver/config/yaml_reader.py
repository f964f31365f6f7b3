"""Parse YAML into values and their positions, from the parser's events.

It builds no tree of nodes, so neither depth nor aliases can exhaust memory. It raises no errors of ours, but returns
problems.
"""

import gc
import re
import sys
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf, nan
from typing import Any, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from mockserver.core.json import Json


def resolve(text: str) -> Json:
    """Return the value of an unquoted scalar. Raises ValueError for an integer of thousands of digits."""
    if text and text[0] not in _OPENS:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _BASED.fullmatch(text):
        if len(text) > _MAX_DIGITS:
            raise ValueError("too many digits")
        return int(text, 0)
    return text


def convert_to_float(value: int) -> float:
    """Convert an integer to a float; it is infinite beyond the range of floats, as `1e999` is."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


_MAX_DIGITS = 1000  # characters of a number to another base; a decimal one is bounded by Python itself
_OPENS = frozenset("~nNtTfF+-.0123456789")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((sign + word for sign in ("", "+") for word in (".inf", ".Inf", ".INF")), inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
}


class YamlProblem(NamedTuple):
    """What is wrong with a document, and the line and column of it, from 0."""

    words: str
    line: int
    column: int


BARE_STAR = 'text that starts with "*" needs quotes'
BARE_BRACES = 'text that starts with "{{" needs quotes'


def explain(error: Any, text: str) -> YamlProblem:
    """Explain a MarkedYAMLError in plain words."""
    complaint = f"{error.context}: {error.problem}"
    about, words = next(
        (rule[1:] for rule in _PHRASES if rule[0] in complaint), (_get_problem_mark, f"invalid YAML: {error.problem}")
    )
    mark = about(error)
    lines = text.splitlines()
    if (torn := _find_torn_quote(text, lines, mark)) is not None:
        return torn
    if mark.line >= len(lines) or (mark.line == len(lines) - 1 and mark.column >= len(lines[-1])):
        return _explain_end(error, lines)
    line = lines[mark.line]
    if callable(words):
        words = words(line[: mark.column], line[mark.column :])
    opened = error.context_mark.line + 1 if error.context_mark else mark.line + 1
    return YamlProblem(words.replace("LINE", f"line {opened}"), mark.line, mark.column)


def _find_torn_quote(text: str, lines: Sequence[str], mark: Any) -> YamlProblem | None:
    """Return the quote that is not closed where it should be, if the mistake at `mark` follows from that.

    The text in it goes on to the next quote, and has swallowed keys on its way.
    """
    torn = None
    with suppress(yaml.MarkedYAMLError):
        for token in yaml.scan(text, Loader=LOADER):
            start = token.start_mark
            if (start.line, start.column) >= (mark.line, mark.column):
                break
            if isinstance(token, yaml.ScalarToken) and token.style in _QUOTES:
                torn = token
    if torn is None or torn.end_mark.line != mark.line:
        return None
    start = torn.start_mark
    end = torn.end_mark
    swallowed = [*lines[start.line + 1 : end.line], lines[end.line][: end.column - 1]]
    if end.line == start.line or not any(map(_KEY.match, swallowed)):
        return None
    words = f"this quote is closed only by the one at {end.line + 1}:{end.column}; close it where its text ends"
    return YamlProblem(words, start.line, start.column)


_QUOTES = ("'", '"')
_KEY = re.compile(r"\s*(?:- +)*[\w.-]+:(?:\s|$)")


def _explain_end(error: Any, lines: list[str]) -> YamlProblem:
    """Explain that the file ends too early, and point at what is still open."""
    mark = _get_context_mark(error)
    if mark.line >= len(lines):
        return YamlProblem("unexpected end of the file", len(lines) - 1, len(lines[-1]))
    opening = lines[mark.line][mark.column : mark.column + 1]
    return YamlProblem(f'this "{opening}" is never closed', mark.line, mark.column)


def _get_problem_mark(error: Any) -> Any:
    return error.problem_mark


def _get_context_mark(error: Any) -> Any:
    return error.context_mark or error.problem_mark


def _explain_start(before: str, after: str) -> str:
    if after.startswith("\t"):
        return _TAB
    return f'text that starts with "{after[:1]}" needs quotes'


def _explain_open_table(before: str, after: str) -> str:
    if "{{" in before or after.startswith("{{"):
        return "text with {{ }} needs quotes inside the braces of a table"
    if _is_after_quote(before, after):
        return _AFTER_QUOTE
    return 'a "," or "}" is missing before this, for the "{" of LINE'


def _explain_open_list(before: str, after: str) -> str:
    return (
        _AFTER_QUOTE if _is_after_quote(before, after) else 'a "," or "]" is missing before this, for the "[" of LINE'
    )


def _is_after_quote(before: str, after: str) -> bool:
    """Return whether text goes on right behind a quote, as in `'it's'`."""
    return before.endswith(_QUOTES) and after[:1].isalnum()


def _explain_misfit(before: str, after: str) -> str:
    if "{{" in before and "}" in before:
        return BARE_BRACES
    if before.rstrip().endswith(('"', "'")):
        return _AFTER_QUOTE
    if after.startswith(("]", "}")):
        opening = "[" if after[0] == "]" else "{"
        return f'this "{after[0]}" has no matching "{opening}"'
    if not before.strip():
        return "this line is not indented like the lines of its table"
    return "this is not allowed here; check the quotes and the indentation of this line and the one above"


_AFTER_QUOTE = "text after a closing quote; put the whole value in one pair of quotes"
_TAB = "a tab is not allowed here: indent YAML with spaces"
_COLON = 'this ":" is not allowed here: put text that contains ": " in quotes, or fix the indentation'
_INDENT = 'this line is not indented like the "-" above it'

# Part of the parser's message, the mark to point at, and our words; the first match wins.
MAX_DEPTH = 100
TOO_DEEP = f"this is nested more than {MAX_DEPTH} levels deep; flatten it"
_PHRASES: tuple[tuple[str, Callable[[Any], Any], str | Callable[[str, str], str]], ...] = (
    ("maximum nesting depth", _get_problem_mark, TOO_DEEP),  # PyYAML has a limit of its own since 6.0.4
    ("scanning an alias", _get_context_mark, BARE_STAR),
    ("scanning an anchor", _get_context_mark, 'text that starts with "&" needs quotes'),
    ("scanning a tag", _get_context_mark, 'text that starts with "!" needs quotes'),
    ("parsing a tag", _get_context_mark, 'text that starts with "!" needs quotes'),
    ("undefined tag handle", _get_context_mark, 'text that starts with "!" needs quotes'),
    ("scanning a directive", _get_context_mark, 'text that starts with "%" needs quotes'),
    ("incompatible YAML document", _get_problem_mark, "only YAML 1.1 and 1.2 are supported"),
    ("tab character", _get_problem_mark, _TAB),
    ("cannot start any token", _get_problem_mark, _explain_start),
    ("mapping values are not allowed", _get_problem_mark, _COLON),
    (
        "sequence entries are not allowed",
        _get_problem_mark,
        'a list cannot start here: put its "-" on a line of its own',
    ),
    ("parsing a flow sequence", _get_problem_mark, _explain_open_list),
    ("parsing a flow mapping", _get_problem_mark, _explain_open_table),
    ("unexpected end of stream", _get_context_mark, "this quote is never closed"),
    ("unexpected document", _get_context_mark, "this quote is never closed"),
    (
        "Unicode character escape",  # json.dumps writes characters beyond U+FFFF so
        _get_problem_mark,
        "YAML has no halves of characters such as \\ud83d; write the character itself, or \\U0001F600",
    ),
    ("escape", _get_problem_mark, 'unknown escape; write "\\\\" for a backslash, or use single quotes'),
    (
        "scanning a block scalar",
        _get_context_mark,
        'the line must end after "|" or ">"; start the text on the next line',
    ),
    ("scanning a simple key", _get_context_mark, 'this line is not "key: value"; is a ":" missing?'),
    ("node content", _get_problem_mark, "a value is missing before this; text that starts with this needs quotes"),
    ("parsing a block mapping", _get_problem_mark, _explain_misfit),
    ("parsing a block collection", _get_problem_mark, _INDENT),
    ("document start", _get_problem_mark, "this line is not indented like the first one"),
)


MAX_ALIASED = 200_000  # values that the aliases of a file may repeat, all together
MAX_PROBLEMS = 100

Inner = Any  # None, a list with the Spot of each element, or a dict with the KeySpot of each key


class Spot(NamedTuple):
    """The line and column of a value, from 0, and where the parts of it stand."""

    line: int
    column: int
    inner: Inner


class KeySpot(NamedTuple):
    """The line and column of a key, from 0, and where its value stands."""

    line: int
    column: int
    value: Spot


NOWHERE = Spot(0, 0, None)

_Found = tuple[Json, Spot]


class ParsedYaml(NamedTuple):
    """The value of a document, the position of every part, and every problem."""

    data: Json
    spot: Spot
    problems: Sequence[YamlProblem]


def parse(text: str, *, foreign: bool = False, most: int = sys.maxsize) -> ParsedYaml:
    """Parse the document in `text`.

    `foreign`: accept the tags of other tools: `!!binary` and, as Ruby writes it, `!binary` give bytes, and an object of
    Python gives the value that it was made of; none is ever created. `most`: values, after which nothing is read.
    """
    if problem := find_unprintable(text):
        return ParsedYaml(None, NOWHERE, (problem,))
    with pause_collector():
        parser = _Parser(text, foreign=foreign, most=most)
        data, spot = parser.parse_document()
    return ParsedYaml(data, spot, parser.problems)


def find_unprintable(text: str) -> YamlProblem | None:
    if (found := _FORBIDDEN.search(text)) is None:
        return None
    lines = (text[: found.start()] + "|").splitlines()
    return YamlProblem(_explain_forbidden(found[0]), len(lines) - 1, len(lines[-1]) - 1)


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause garbage collection, which would walk the growing data again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Stop(Exception):  # noqa: N818  # a signal
    """Stop parsing."""


class _Parser:
    def __init__(self, text: str, *, foreign: bool, most: int) -> None:
        self.text = text
        self.foreign = foreign
        self.most = most
        self.events: Iterator[Any] = iter(LOADER(text).get_event, None)
        self.problems: list[YamlProblem] = []
        self.anchors: dict[str, tuple[Json, Spot, int] | None] = {}  # None while it is being read
        self.values = 0
        self.aliased = 0

    def parse_document(self) -> _Found:
        found: _Found = (None, NOWHERE)
        try:
            next(self.events)  # the stream's start
            if isinstance(next(self.events), DocumentStartEvent):
                found = self.parse_value(next(self.events), 0)
                next(self.events)  # the document's end
                if isinstance(after := next(self.events), DocumentStartEvent):
                    self.refuse(
                        "a second document starts here, but a file can hold only one; join them, or split the file",
                        after,
                    )
        except yaml.MarkedYAMLError as error:
            problem = explain(error, self.text)
            if all(known.line != problem.line for known in self.problems):
                self.problems.append(problem)
        except _Stop:
            pass
        return found

    def parse_value(self, event: Any, depth: int) -> _Found:
        if type(event) is AliasEvent:
            return self.resolve_alias(event)
        anchor = event.anchor
        before = self.values
        self.values += 1
        if self.values > self.most:
            self.refuse(f"this has more than {self.most:,} values; split it", event)
            raise _Stop
        if anchor is None:
            return self.parse_unanchored(event, depth)
        self.anchors[anchor] = None
        value, spot = self.parse_unanchored(event, depth)
        self.anchors[anchor] = (value, spot, self.values - before)
        return value, spot

    def parse_unanchored(self, event: Any, depth: int) -> _Found:
        if type(event) is ScalarEvent:
            return self.parse_scalar(event)
        if depth >= MAX_DEPTH:
            self.refuse(TOO_DEEP, event)
            raise _Stop
        if type(event) is MappingStartEvent:
            return self.parse_mapping(event, depth + 1)
        return self.parse_sequence(event, depth + 1)

    def resolve_alias(self, event: Any) -> _Found:
        name = event.anchor
        anchored = self.anchors.get(name)
        if anchored is None:
            self.refuse(BARE_STAR if name not in self.anchors else f'"*{name}" is inside "&{name}" itself', event)
            return None, NOWHERE
        value, spot, size = anchored
        self.values += size
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            self.refuse(f"the aliases in this file expand to more than {MAX_ALIASED:,} values; use fewer", event)
            raise _Stop
        return value, spot

    def parse_scalar(self, event: Any) -> _Found:
        mark = event.start_mark
        spot = Spot(mark.line, mark.column, None)
        if event.tag is None:
            return (self.resolve_scalar(event) if event.implicit[0] else event.value), spot
        if event.tag in ("!", _TAG + "str") or self.is_python(event.tag):
            return event.value, spot
        if self.foreign and event.tag in _BINARY and (data := _decode_base64(event.value)) is not None:
            return data, spot
        wanted = _SCALARS.get(event.tag)
        value = self.resolve_scalar(event)
        if wanted is float and type(value) is int:
            value = convert_to_float(value)
        if wanted is None or type(value) is not wanted:
            self.refuse(_explain_tag(event.tag), event)
        return value, spot

    def resolve_scalar(self, event: Any) -> Json:
        try:
            return resolve(event.value)
        except (ValueError, OverflowError):
            self.refuse("this number has too many digits; put it in quotes if it is text", event)
            return None

    def parse_sequence(self, event: Any, depth: int) -> _Found:
        self.check_tag(event, "seq")
        values: list[Json] = []
        spots: list[Spot] = []
        while type(item := next(self.events)) is not SequenceEndEvent:
            value, spot = self.parse_value(item, depth)
            values.append(value)
            spots.append(spot)
        if len(values) == 1 and self.is_python(event.tag):  # the name of a header, as aiohttp has it
            return values[0], spots[0]
        return values, Spot(event.start_mark.line, event.start_mark.column, spots)

    def parse_mapping(self, event: Any, depth: int) -> _Found:
        self.check_tag(event, "map")
        table: dict[str, Json] = {}
        spots: dict[str, KeySpot] = {}
        merged: list[_Found] = []
        while type(key := next(self.events)) is not MappingEndEvent:
            name = self.parse_key(key, depth)
            value, spot = self.parse_value(next(self.events), depth)
            if name == "<<" and key.implicit[0]:
                merged += self.list_merged(key, value, spot)
            elif name in spots:
                self.refuse(f'duplicate key "{shorten(name)}"; it is already on line {spots[name].line + 1}', key)
            else:
                table[name] = value
                spots[name] = KeySpot(key.start_mark.line, key.start_mark.column, spot)
        for value, spot in merged:
            table = {**value, **table}
            spots = {**spot.inner, **spots}
        return table, Spot(event.start_mark.line, event.start_mark.column, spots)

    def parse_key(self, event: Any, depth: int) -> str:
        """Parse a key as it is written: `404: …` has the key "404"."""
        if type(event) is ScalarEvent and event.tag is None and event.anchor is None:
            return str(event.value)
        value, _ = self.parse_value(event, depth)
        if not isinstance(value, str):
            self.refuse(BARE_BRACES if isinstance(value, dict) else "a key must be a string", event)
        return str(value)

    def list_merged(self, event: Any, value: Json, spot: Spot) -> Sequence[_Found]:
        """Return the tables that `<<` merges; earlier ones win."""
        if isinstance(value, dict):
            return ((value, spot),)
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return tuple(zip(value, spot.inner, strict=True))
        self.refuse('"<<" expects a table or a list of tables', event)
        return ()

    def check_tag(self, event: Any, kind: str) -> None:
        if event.tag not in (None, "!", _TAG + kind) and not self.is_python(event.tag):
            self.refuse(_explain_tag(event.tag), event)

    def is_python(self, tag: str | None) -> bool:
        return self.foreign and tag is not None and tag.startswith(_TAG + "python/")

    def refuse(self, words: str, event: Any) -> None:
        self.problems.append(YamlProblem(words, event.start_mark.line, event.start_mark.column))
        if len(self.problems) >= MAX_PROBLEMS:
            raise _Stop


def shorten(name: str) -> str:
    return name if len(name) <= 60 else name[:60] + "…"


def _explain_tag(tag: str) -> str:
    return f'the tag "{shorten(tag.replace(_TAG, "!!"))}" is not allowed here; remove it'


def _decode_base64(text: str) -> bytes | None:
    try:
        return a2b_base64("".join(text.split()))
    except ValueError:
        return None


def _explain_forbidden(character: str) -> str:
    code = ord(character)
    escape = f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"
    return f'the character U+{code:04X} is not allowed in YAML; write "{escape}" in double quotes'


LOADER = getattr(yaml, "CLoader", yaml.Loader)  # libyaml, if installed, is ten times as fast
_TAG = "tag:yaml.org,2002:"
_BINARY = (_TAG + "binary", "!binary")
_SCALARS = {_TAG + "null": type(None), _TAG + "bool": bool, _TAG + "int": int, _TAG + "float": float}
# What YAML 1.2 calls not printable.
_FORBIDDEN = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
