"""The YAML that cassettes use: tables, lists and scalars with their places; no aliases, tags or repeated keys.

Scalars stay as they are written: `1.50` is not `1.5`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from mockserver.config.yaml_reader import LOADER, explain, unprintable

MAX_DEPTH = 100

Spot = tuple[int, int]  # line and column in the document, from 0


class Refused(Exception):  # noqa: N818  # the caller says in which file
    """What is wrong with a document, and where."""

    def __init__(self, words: str, spot: Spot) -> None:
        super().__init__(words)
        self.words = words
        self.spot = spot


@dataclass(slots=True)
class Node:
    """A scalar as its text, a list of nodes, or a table of them; `bare`: a scalar without quotes."""

    value: Any
    spot: Spot
    bare: bool = False
    keys: dict[str, Spot] | None = None  # the places of the keys of a table


def parse(text: str) -> Node | None:
    """The only document of a text; None if it is empty. Raises Refused."""
    try:
        return _document(yaml.parse(text, Loader=LOADER))
    except yaml.MarkedYAMLError as error:
        words, line, column = explain(error, text)
        raise Refused(words, (line, column)) from None
    except yaml.YAMLError as error:
        words, line, column = unprintable(text) or (f"not YAML: {error}", 0, 0)
        raise Refused(words, (line, column)) from None


def _document(events: Iterator[Any]) -> Node | None:
    found = None
    next(events)  # the stream's start
    if type(event := next(events)) is DocumentStartEvent:
        found = _node(next(events), events, 0)
        while type(event) is not DocumentEndEvent:
            event = next(events)
        event = next(events)
    if type(event) is not StreamEndEvent:
        raise Refused('a document begins with "---" on a line of its own', _spot(event))
    empty = found is not None and found.bare and found.value == ""
    return None if empty else found


def _node(event: Any, events: Iterator[Any], depth: int) -> Node:
    if type(event) is AliasEvent:
        raise Refused("aliases (*) are not allowed in a cassette; write the value itself", _spot(event))
    if event.tag is not None and not (type(event) is ScalarEvent and event.tag == "!" and event.implicit[1]):
        raise Refused("tags (!) are not allowed in a cassette; remove it", _spot(event))
    if event.anchor is not None:
        raise Refused("anchors (&) are not allowed in a cassette; remove it", _spot(event))
    if type(event) is ScalarEvent:
        return Node(event.value, _spot(event), event.implicit[0])
    if depth >= MAX_DEPTH:
        raise Refused(f"this is nested more than {MAX_DEPTH} levels deep", _spot(event))
    if type(event) is MappingStartEvent:
        return _table(event, events, depth + 1)
    items = []
    while type(item := next(events)) is not SequenceEndEvent:
        items.append(_node(item, events, depth + 1))
    return Node(items, _spot(event))


def _table(event: Any, events: Iterator[Any], depth: int) -> Node:
    table: dict[str, Node] = {}
    keys: dict[str, Spot] = {}
    while type(key := next(events)) is not MappingEndEvent:
        name = _node(key, events, depth).value
        if not isinstance(name, str):
            raise Refused("a key must be a text", _spot(key))
        if name in table:
            shown = name if len(name) <= 60 else name[:60] + "…"
            raise Refused(f'duplicate key "{shown}"', _spot(key))
        keys[name] = _spot(key)
        table[name] = _node(next(events), events, depth)
    return Node(table, _spot(event), keys=keys)


def _spot(event: Any) -> Spot:
    mark = event.start_mark
    return mark.line, mark.column
