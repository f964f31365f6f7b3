"""YAML text to values and the spots where they stand, straight from the parser's events.

No tree of nodes is composed, so neither depth nor aliases can exhaust the machine. It must not know files or errors:
what is wrong comes back as problems.
"""

import gc
import re
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from mockserver.core.call import Json
from mockserver.positions.scalars import as_float, resolve
from mockserver.positions.syntax import BARE_BRACES, BARE_STAR, explain

MAX_DEPTH = 100
MAX_ALIASED = 200_000  # values that the aliases of a file may repeat, all together
MAX_PROBLEMS = 100

Inner = Any  # None, a list of spots, or by key where the key stands and the spot of its value
Spot = tuple[int, int, Inner]  # line and column, from 0
Problem = tuple[str, int, int]  # words, line and column, from 0
NOWHERE: Spot = (0, 0, None)

_Found = tuple[Json, Spot]
_Keys = dict[str, tuple[int, int, Spot]]


def parse(text: str, *, binary: bool = False) -> tuple[Json, Spot, Sequence[Problem]]:
    """The value of the one document in `text`, where its parts stand, and everything that is wrong with it.

    `binary`: the tag of that name may stand in it, and gives bytes.
    """
    if problem := unprintable(text):
        return None, NOWHERE, (problem,)
    with collector_at_rest():
        parser = _Parser(text, binary=binary)
        data, spot = parser.document()
    return data, spot, parser.problems


def unprintable(text: str) -> Problem | None:
    """The first character that may not stand in YAML, if there is one."""
    if (found := _FORBIDDEN.search(text)) is None:
        return None
    lines = (text[: found.start()] + "|").splitlines()
    return _forbidden(found[0]), len(lines) - 1, len(lines[-1]) - 1


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Without garbage collection, which would walk what grows again and again: longer than the work itself."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Stop(Exception):  # noqa: N818  # a signal
    """Reading on makes no sense."""


class _Parser:
    def __init__(self, text: str, *, binary: bool) -> None:
        self.text = text
        self.binary = binary
        self.events: Iterator[Any] = yaml.parse(text, Loader=LOADER)
        self.problems: list[Problem] = []
        self.anchors: dict[str, tuple[Json, Spot, int] | None] = {}  # None while it is being read
        self.values = 0
        self.aliased = 0

    def document(self) -> _Found:
        found: _Found = (None, NOWHERE)
        try:
            next(self.events)  # the stream's start
            if isinstance(next(self.events), DocumentStartEvent):
                found = self.value(next(self.events), 0)
                next(self.events)  # the document's end
                self.end(next(self.events))
        except yaml.MarkedYAMLError as error:
            self.complain(explain(error, self.text))
        except _Stop:
            pass
        return found

    def end(self, event: Any) -> None:
        if isinstance(event, DocumentStartEvent):
            self.refuse("a second document starts here; a file holds one: join the two, or make two files", event)

    def complain(self, problem: Problem) -> None:
        """Syntax that breaks where something is wrong already is one mistake, not two."""
        if all(line != problem[1] for _, line, _ in self.problems):
            self.problems.append(problem)

    def value(self, event: Any, depth: int) -> _Found:
        if type(event) is AliasEvent:
            return self.alias(event)
        anchor, before = event.anchor, self.values
        self.values += 1
        if anchor is None:
            return self.plain(event, depth)
        self.anchors[anchor] = None
        value, spot = self.plain(event, depth)
        self.anchors[anchor] = (value, spot, self.values - before)
        return value, spot

    def plain(self, event: Any, depth: int) -> _Found:
        if type(event) is ScalarEvent:
            return self.scalar(event)
        if depth >= MAX_DEPTH:
            self.refuse(f"this stands more than {MAX_DEPTH} levels deep; make it flatter", event)
            raise _Stop
        if type(event) is MappingStartEvent:
            return self.mapping(event, depth + 1)
        return self.sequence(event, depth + 1)

    def alias(self, event: Any) -> _Found:
        name = event.anchor
        anchored = self.anchors.get(name)
        if anchored is None:
            self.refuse(BARE_STAR if name not in self.anchors else f'"*{name}" stands inside "&{name}" itself', event)
            return None, NOWHERE
        value, spot, size = anchored
        self.values += size
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            self.refuse(f"the aliases of this file repeat more than {MAX_ALIASED:,} values; write fewer", event)
            raise _Stop
        return value, spot

    def scalar(self, event: Any) -> _Found:
        mark = event.start_mark
        spot = (mark.line, mark.column, None)
        if event.tag is None:
            return (self.resolved(event) if event.implicit[0] else event.value), spot
        if event.tag in ("!", _TAG + "str"):
            return event.value, spot
        if self.binary and event.tag == _TAG + "binary" and (data := _decoded(event.value)) is not None:
            return data, spot
        wanted = _SCALARS.get(event.tag)
        value = self.resolved(event)
        if wanted is float and type(value) is int:
            value = as_float(value)
        if wanted is None or type(value) is not wanted:
            self.refuse(_unfit(event.tag), event)
        return value, spot

    def resolved(self, event: Any) -> Json:
        try:
            return resolve(event.value)
        except (ValueError, OverflowError):
            self.refuse("this number has too many digits; put it in quotes if it is a text", event)
            return None

    def sequence(self, event: Any, depth: int) -> _Found:
        self.check_tag(event, "seq")
        values: list[Json] = []
        spots: list[Spot] = []
        while type(item := next(self.events)) is not SequenceEndEvent:
            value, spot = self.value(item, depth)
            values.append(value)
            spots.append(spot)
        return values, (event.start_mark.line, event.start_mark.column, spots)

    def mapping(self, event: Any, depth: int) -> _Found:
        self.check_tag(event, "map")
        table: dict[str, Json] = {}
        spots: _Keys = {}
        merged: list[_Found] = []
        while type(key := next(self.events)) is not MappingEndEvent:
            name = self.key(key, depth)
            value, spot = self.value(next(self.events), depth)
            if name == "<<" and key.implicit[0]:
                merged += self.merged(key, value, spot)
            elif name in spots:
                self.refuse(f'duplicate key "{_short(name)}"; line {spots[name][0] + 1} has it already', key)
            else:
                table[name] = value
                spots[name] = (key.start_mark.line, key.start_mark.column, spot)
        for value, spot in merged:
            table = {**value, **table}
            spots = {**spot[2], **spots}
        return table, (event.start_mark.line, event.start_mark.column, spots)

    def key(self, event: Any, depth: int) -> str:
        """A key as it is written: `404: …` has the key "404"."""
        if type(event) is ScalarEvent and event.tag is None and event.anchor is None:
            return str(event.value)
        value, _ = self.value(event, depth)
        if not isinstance(value, str):
            self.refuse(BARE_BRACES if isinstance(value, dict) else "a key must be a text", event)
        return str(value)

    def merged(self, event: Any, value: Json, spot: Spot) -> Sequence[_Found]:
        """The tables that `<<` pulls in, the strongest first."""
        if isinstance(value, dict):
            return ((value, spot),)
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return tuple(zip(value, spot[2], strict=True))
        self.refuse('"<<" takes a table, or a list of tables', event)
        return ()

    def check_tag(self, event: Any, kind: str) -> None:
        if event.tag not in (None, "!", _TAG + kind):
            self.refuse(_unfit(event.tag), event)

    def refuse(self, words: str, event: Any) -> None:
        self.problems.append((words, event.start_mark.line, event.start_mark.column))
        if len(self.problems) >= MAX_PROBLEMS:
            raise _Stop


def _short(name: str) -> str:
    return name if len(name) <= 60 else name[:60] + "…"


def _unfit(tag: str) -> str:
    return f'the tag "{_short(tag.replace(_TAG, "!!"))}" does not fit here; leave it out'


def _decoded(text: str) -> bytes | None:
    """The bytes that a text has in base64; None where it is none."""
    try:
        return a2b_base64("".join(text.split()))
    except ValueError:
        return None


def _forbidden(character: str) -> str:
    code = ord(character)
    escape = f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"
    return f'the character U+{code:04X} may not stand in YAML; write "{escape}" in double quotes'


LOADER = getattr(yaml, "CLoader", yaml.Loader)  # libyaml where it is there, ten times the speed
_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + "null": type(None), _TAG + "bool": bool, _TAG + "int": int, _TAG + "float": float}
# What YAML 1.2 calls not printable.
_FORBIDDEN = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
