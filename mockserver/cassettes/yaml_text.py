"""The YAML that cassettes use: a strict reader, which knows the place of everything, and a writer.

YAML has no aliases, tags or repeated keys here, and scalars stay as they are written: `1.50` is not `1.5`. So neither
PyYAML's loaders nor the reader of rules files (`config/yaml_reader.py`) fit, which resolve scalars. This one, on top of
PyYAML's parser in C, also takes 0.45 of the time of CSafeLoader to read a cassette of 1,000 episodes, and keeps places.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

import yaml
from msgspec import Struct
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

from mockserver.config.yaml_reader import LOADER, MAX_DEPTH, TOO_DEEP, YamlProblem, explain, find_unprintable, shorten
from mockserver.core.json import Json

Spot = tuple[int, int]  # line and column in the document, from 0


class Refused(Exception):  # noqa: N818  # the caller says in which file
    """A mistake in a document: its message, and where it is."""

    def __init__(self, words: str, spot: Spot) -> None:
        super().__init__(words)
        self.words = words
        self.spot = spot


class Node(Struct):
    """A scalar as its text, a list of nodes, or a table of them; `bare`: a scalar without quotes.

    It keeps the parser's events, as places are asked for only where there is a mistake.
    """

    value: Any
    event: Any
    bare: bool = False
    keys: Mapping[str, Any] = {}  # the events of the keys of a table

    @property
    def spot(self) -> Spot:
        return _find_spot(self.event)

    def find_key_spot(self, key: str) -> Spot:
        """Return where a key of a table is."""
        return _find_spot(self.keys[key])


def parse(text: str) -> Node | None:
    """Return the only document of a text; None if it is empty. Raises Refused."""
    loader = LOADER(text)
    try:
        return _read_document(loader.get_event)
    except yaml.MarkedYAMLError as error:
        problem = explain(error, text)
        raise Refused(problem.words, (problem.line, problem.column)) from None
    except yaml.YAMLError as error:
        problem = find_unprintable(text) or YamlProblem(f"not YAML: {error}", 0, 0)
        raise Refused(problem.words, (problem.line, problem.column)) from None
    finally:
        loader.dispose()


def _read_document(next_event: Callable[[], Any]) -> Node | None:
    found = None
    next_event()  # the stream's start
    if type(event := next_event()) is DocumentStartEvent:
        found = _read_node(next_event(), next_event, 0)
        while type(event) is not DocumentEndEvent:
            event = next_event()
        event = next_event()
    if type(event) is not StreamEndEvent:
        raise Refused('a document begins with "---" on a line of its own', _find_spot(event))
    empty = found is not None and found.bare and found.value == ""
    return None if empty else found


def _read_node(event: Any, next_event: Callable[[], Any], depth: int) -> Node:
    kind = type(event)
    if kind is AliasEvent:
        raise Refused("aliases (*) are not allowed in a cassette; write the value itself", _find_spot(event))
    if event.tag is not None and not (kind is ScalarEvent and event.tag == "!" and event.implicit[1]):
        raise Refused("tags (!) are not allowed in a cassette; remove this one", _find_spot(event))
    if event.anchor is not None:
        raise Refused("anchors (&) are not allowed in a cassette; remove this one", _find_spot(event))
    if kind is ScalarEvent:
        return Node(event.value, event, event.implicit[0])
    if depth >= MAX_DEPTH:
        raise Refused(TOO_DEEP, _find_spot(event))
    if kind is MappingStartEvent:
        return _read_table(event, next_event, depth + 1)
    items = []
    while type(item := next_event()) is not SequenceEndEvent:
        items.append(_read_node(item, next_event, depth + 1))
    return Node(items, event)


def _read_table(event: Any, next_event: Callable[[], Any], depth: int) -> Node:
    table: dict[str, Node] = {}
    keys: dict[str, Any] = {}
    while type(key := next_event()) is not MappingEndEvent:
        name = _read_node(key, next_event, depth).value
        if not isinstance(name, str):
            raise Refused("a key must be a string", _find_spot(key))
        if name in table:
            raise Refused(f'duplicate key "{shorten(name)}"', _find_spot(key))
        keys[name] = key
        table[name] = _read_node(next_event(), next_event, depth)
    return Node(table, event, keys=keys)


def _find_spot(event: Any) -> Spot:
    return event.start_mark.line, event.start_mark.column


def read_text(node: Node) -> str:
    """Return the text of a scalar. Raises Refused for a list or a table."""
    if not isinstance(node.value, str):
        raise Refused("write a text here", node.spot)
    return node.value


class Verbatim(str):
    """A number of JSON as it was written, which gets no quotes."""

    __slots__ = ()


class Flow(str):
    """Text that is YAML already, on one line."""

    __slots__ = ()


def write_yaml(table: Mapping[str, Json]) -> list[str]:
    """Return the lines of a table."""
    written: list[str] = []
    _put_table(written, table, indent=0, lead="")
    return written


def quote(text: str) -> str:
    """Return a text in double quotes."""
    return escape_controls(encode_basestring(text))


def write_flow(tree: Json) -> Flow:
    """Return a value on one line, which is JSON as well."""
    pieces: list[str] = []
    put_json(pieces, tree, JsonLayout(comma=", ", colon=": "), quote=encode_basestring)
    return Flow(escape_controls("".join(pieces)))


def write_word(text: str) -> str:
    """Return a text without quotes if it is a plain word, safe in a flow."""
    return text if _WORD.fullmatch(text) and text.lower() not in _KEYWORDS else quote(text)


def write_scalar(text: str) -> str:
    """Return a text on one line, quoted if necessary."""
    if len(text) <= _MAX_KEYWORD and text.lower() in _KEYWORDS:
        return quote(text)
    if _PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("'", "''") + "'" if '"' in text and _VISIBLE.fullmatch(text) else quote(text)


def escape_controls(text: str) -> str:
    """Return a text with escapes for what a YAML file may not hold, or takes for the end of a line."""
    plain = text.isascii() and "\x7f" not in text
    return text if plain else _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _put_table(written: list[str], table: Mapping[str, Json], *, indent: int, lead: str) -> None:
    for key, value in table.items():
        _put_value(written, value, indent=indent, lead=f"{lead}{write_scalar(key)}:")
        lead = " " * indent


def _put_list(written: list[str], items: Sequence[Json], *, indent: int) -> None:
    lead = " " * indent + "-"
    for item in items:
        if isinstance(item, Mapping) and item:
            _put_table(written, item, indent=indent + 2, lead=lead + " ")
        else:
            _put_value(written, item, indent=indent, lead=lead)


def _put_value(written: list[str], value: Json, *, indent: int, lead: str) -> None:
    """Append a value after its key or dash (`lead`), which is in column `indent`."""
    if isinstance(value, str) and not isinstance(value, Verbatim | Flow):
        if "\n" in value and not _NOT_IN_BLOCK.search(value) and value.strip("\n"):
            _put_block(written, value, indent=indent + 2, lead=lead)
        else:
            written.append(f"{lead} {write_scalar(value)}")
    elif isinstance(value, Mapping) and value:
        written.append(lead)
        _put_table(written, value, indent=indent + 2, lead=" " * (indent + 2))
    elif isinstance(value, list | tuple) and not all(isinstance(item, Verbatim) for item in value):
        written.append(lead)
        _put_list(written, value, indent=indent + 2)
    else:
        written.append(f"{lead} {value if isinstance(value, Flow) else write_flow(value)}")


def _put_block(written: list[str], text: str, *, indent: int, lead: str) -> None:
    mark = "2" if text[0] in " \t\n" else ""
    chomp = "-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else ""
    written.append(f"{lead} |{mark}{chomp}")
    begin = " " * indent
    written.extend(begin + line if line else "" for line in text.removesuffix("\n").split("\n"))


class JsonLayout(Struct, frozen=True):
    """How JSON is laid out: what each level is indented by, if it has lines, and what separates items and keys."""

    indent: str = ""
    comma: str = ","
    colon: str = ":"


def put_json(
    pieces: list[str], tree: Json, layout: JsonLayout, *, quote: Callable[[str], str], line: str = "\n"
) -> None:
    """Append JSON piece by piece; `quote` writes a text, `line` is the start of a line at this depth."""
    if isinstance(tree, str):
        pieces.append(tree if type(tree) is Verbatim else quote(tree))
    elif not isinstance(tree, dict | list):
        pieces.append(json.dumps(tree))
    elif not tree:
        pieces.append("{}" if isinstance(tree, dict) else "[]")
    else:
        opening, closing = "{}" if isinstance(tree, dict) else "[]"
        inner = line + layout.indent
        start, end = (inner, line) if layout.indent else ("", "")
        between = opening + start
        for item in tree:
            pieces.append(between)
            if isinstance(tree, dict):
                pieces += (quote(item), layout.colon)
                item = tree[item]
            put_json(pieces, item, layout, quote=quote, line=inner)
            between = layout.comma + start
        pieces.append(end + closing)


_WORD = re.compile(r"[A-Za-z][\w.-]*+", re.ASCII)
_BEYOND = "\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff"  # invisible, or ending a line, besides controls
_INVISIBLE = "\x00-\x1f" + _BEYOND
# A letter or a slash, then anything that does not end a plain scalar or a line and is visible.
_PLAIN = re.compile(rf"(?:[^\W\d_{_INVISIBLE}]|/)(?:[^:# {_INVISIBLE}]|:(?=\S)|#| (?=[^#\s]))*+")
_VISIBLE = re.compile(rf"[^\\{_INVISIBLE}]*+")
_UNSAFE = re.compile(f"[{_BEYOND}]")
_NOT_IN_BLOCK = re.compile(f"[\x00-\x08\x0b-\x1f{_BEYOND}]")
_KEYWORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))
_MAX_KEYWORD = 5
