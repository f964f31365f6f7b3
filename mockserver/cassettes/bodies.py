"""The YAML that cassettes use, and bodies in it: as JSON if that restores the same bytes, else as text or base64.

YAML has no aliases, tags or repeated keys here, and scalars stay as they are written: `1.50` is not `1.5`. The layout
of JSON has a name of a few words: `spaced ascii newline`.
"""

import json
import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Iterator, Mapping
from json.encoder import encode_basestring, encode_basestring_ascii
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

from mockserver.config.source import did_you_mean
from mockserver.config.yaml_reader import LOADER, explain, find_unprintable, resolve, shorten
from mockserver.core.json import Json

MAX_DEPTH = 100

Spot = tuple[int, int]  # line and column in the document, from 0


class Refused(Exception):  # noqa: N818  # the caller says in which file
    """What is wrong with a document, and where."""

    def __init__(self, words: str, spot: Spot) -> None:
        super().__init__(words)
        self.words = words
        self.spot = spot


class Node(Struct):
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
        words, line, column = find_unprintable(text) or (f"not YAML: {error}", 0, 0)
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
            raise Refused("a key must be a string", _spot(key))
        if name in table:
            raise Refused(f'duplicate key "{shorten(name)}"', _spot(key))
        keys[name] = _spot(key)
        table[name] = _node(next(events), events, depth)
    return Node(table, _spot(event), keys=keys)


def _spot(event: Any) -> Spot:
    mark = event.start_mark
    return mark.line, mark.column


MAX_JSON_DEPTH = 60  # of JSON that is shown as JSON


class Verbatim(str):
    """A number of JSON as it was written, which gets no quotes."""

    __slots__ = ()


class Style(Struct, frozen=True):
    layout: str = "compact"
    letters: str = ""
    end: str = ""

    @property
    def name(self) -> str:
        return " ".join(word for word in (self.layout, self.letters, self.end) if word not in ("", "compact"))

    @classmethod
    def named(cls, name: str) -> "Style":
        """The style of these words. Raises ValueError."""
        found: dict[str, str] = {}
        for word in name.split():
            kind = next((kind for kind, words in _WORDS.items() if word in words), None)
            if kind in found:
                raise ValueError(f'"{word}" and "{found[kind]}" exclude each other')
            if kind is None:
                hint = did_you_mean(word, (known for words in _WORDS.values() for known in words))
                raise ValueError(f'unknown JSON style "{word[:60]}"{hint}')
            found[kind] = word
        return cls(**found)

    def text(self, tree: Json) -> str:
        return "".join(_pieces(tree, _LAYOUTS[self.layout], _LETTERS[self.letters], "\n")) + _ENDS[self.end]


COMPACT = Style()


def as_yaml(body: bytes, *, plain: bool = False) -> Mapping[str, Json]:
    """A body as a table: json and its style, text, or base64; `plain`: never as JSON."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode("ascii")}
    if not plain and (found := as_json(text)) is not None:
        tree, style = found
        return {"json": tree, **({"style": style.name} if style.name else {})}
    return {"base64": b64encode(body).decode("ascii")} if _ODD.search(text) else {"text": text}


def as_json(text: str) -> tuple[Json, Style] | None:
    """The JSON of a text and the style that restores it, if there is one."""
    try:
        tree = _DECODER.decode(text)
        if not _too_deep(tree):
            return next(((tree, style) for style in likely_styles(text) if style.text(tree) == text), None)
    except (ValueError, RecursionError):
        pass
    return None


def read_body(node: Node) -> bytes:
    """The bytes of a body. Raises Refused."""
    kind = read_kind(node, "a body", _KINDS)
    value = node.value[kind]
    if kind == "base64":
        return read_base64(value)
    text = read_text(value) if kind == "text" else read_style(node.value.get("style")).text(read_json(value))
    return encoded(text, value)


def read_kind(node: Node, what: str, kinds: Mapping[str, tuple[str, ...]]) -> str:
    """Which of these kinds a table has: one of them, with the further keys that it allows. Raises Refused."""
    found = [kind for kind in kinds if isinstance(node.value, dict) and kind in node.value]
    if len(found) != 1:
        raise Refused(f"{what} has one of {', '.join(kinds)}", node.spot)
    for key in node.value:
        if key != found[0] and key not in kinds[found[0]]:
            raise Refused(f'{what} has no "{key[:60]}"', (node.keys or {})[key])
    return found[0]


def read_style(node: Node | None, usual: Style = COMPACT) -> Style:
    if node is None:
        return usual
    try:
        return Style.named(read_text(node))
    except ValueError as error:
        raise Refused(str(error), node.spot) from None


def read_text(node: Node) -> str:
    if not isinstance(node.value, str):
        raise Refused("write a text here", node.spot)
    return node.value


def read_base64(node: Node) -> bytes:
    try:
        return b64decode("".join(read_text(node).split()), validate=True)
    except (Error, ValueError):
        raise Refused("this is not valid base64", node.spot) from None


def read_json(node: Node) -> Json:
    """The JSON of a node, with numbers as they are written."""
    value = node.value
    if isinstance(value, dict):
        return {key: read_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [read_json(inner) for inner in value]
    return _scalar(node) if node.bare else value


def _scalar(node: Node) -> Json:
    text: str = node.value
    if text[:1] in _NUMERAL and _NUMBER.fullmatch(text):
        return Verbatim(text)
    try:
        value = resolve(text)
        return Verbatim(json.dumps(value, allow_nan=False)) if isinstance(value, int | float) else value
    except ValueError:
        raise Refused("JSON has no such number", node.spot) from None


def encoded(text: str, node: Node) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("half of a surrogate pair is not valid text", node.spot) from None


def _pieces(tree: Json, layout: tuple[str, str, str], quote: Callable[[str], str], line: str) -> Iterator[str]:
    """JSON piece by piece; `line`: the start of a line at this depth, for layouts with lines."""
    if isinstance(tree, str):
        yield tree if type(tree) is Verbatim else quote(tree)
    elif isinstance(tree, dict | list):
        yield from _collection(tree, layout, quote, line)
    else:
        yield json.dumps(tree)


def _collection(
    tree: dict[str, Json] | list[Json], layout: tuple[str, str, str], quote: Callable[[str], str], line: str
) -> Iterator[str]:
    indent, comma, colon = layout
    opening, closing = "{}" if isinstance(tree, dict) else "[]"
    inner = line + indent
    between = opening + (inner if indent else "")
    for item in tree:
        yield between
        if isinstance(tree, dict):
            yield quote(item)
            yield colon
            item = tree[item]
        yield from _pieces(item, layout, quote, inner)
        between = comma + (inner if indent else "")
    yield (line if indent else "") + closing if tree else opening + closing


def likely_styles(text: str) -> Iterator[Style]:
    """The styles that a text may have, the most likely first."""
    end = "newline" if text.endswith("\n") else ""
    bare = text.removesuffix("\n")
    if found := _INDENTED.match(bare):
        layouts: tuple[str, ...] = tuple(name for name, (indent, _, _) in _LAYOUTS.items() if indent == found[1])
    else:
        layouts = ("spaced", "compact") if _SPACED.search(bare[:2000]) else ("compact", "spaced")
    letters = [name for name in _LETTERS if name != "slashes" or r"\/" in text]
    if r"\u" in text:
        letters.sort(key=lambda name: name == "")
    yield from (Style(layout, letter, end) for layout in layouts for letter in letters)


def _too_deep(tree: Json, depth: int = 0) -> bool:
    if not isinstance(tree, dict | list):
        return False
    inner = tree.values() if isinstance(tree, dict) else tree
    return depth >= MAX_JSON_DEPTH or any(_too_deep(item, depth + 1) for item in inner)


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("repeated key")
    return table


def no_constant(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")


_HTML = re.compile("[<>&\u2028\u2029]")
_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=Verbatim, parse_int=Verbatim, parse_constant=no_constant
)
_LAYOUTS: dict[str, tuple[str, str, str]] = {  # indentation, between items, after a key
    "compact": ("", ",", ":"),
    "spaced": ("", ", ", ": "),
    "indent2": ("  ", ",", ": "),
    "indent4": ("    ", ",", ": "),
    "tabs": ("\t", ",", ": "),
}
_LETTERS: dict[str, Callable[[str], str]] = {  # how strings are written
    "": encode_basestring,
    "ascii": encode_basestring_ascii,
    # as Go does, and PHP
    "html": lambda text: _HTML.sub(lambda found: f"\\u{ord(found[0]):04x}", encode_basestring(text)),
    "slashes": lambda text: encode_basestring_ascii(text).replace("/", r"\/"),
}
_ENDS = {"": "", "newline": "\n"}
_WORDS: dict[str, tuple[str, ...]] = {
    "layout": tuple(_LAYOUTS),
    "letters": tuple(_LETTERS)[1:],
    "end": tuple(_ENDS)[1:],
}
_KINDS = {"json": ("style",), "text": (), "base64": ()}
_NUMERAL = frozenset("-0123456789")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
_INDENTED = re.compile(r"[\[{]\n([ \t]+)")
_SPACED = re.compile(r'": |, ["{\[\d]')
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
