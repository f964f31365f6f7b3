"""Bodies in a cassette: as JSON if that restores the same bytes, else as text or base64.

The layout of JSON has a name of a few words: `spaced ascii newline`.
"""

import json
import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Iterator, Mapping
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from msgspec import Struct

from mockserver.cassettes.attachments import LoadFile, is_text
from mockserver.cassettes.yaml_text import (
    JsonLayout,
    Node,
    Refused,
    Verbatim,
    put_json,
    read_text,
)
from mockserver.config.source import did_you_mean
from mockserver.config.yaml_reader import resolve
from mockserver.core.json import Json

MAX_JSON_DEPTH = 60  # of JSON that is shown as JSON


class Style(Struct, frozen=True):
    """How a JSON text is written: the layout, the escapes of its texts, and what follows it."""

    layout: str = "compact"
    letters: str = ""
    end: str = ""

    @property
    def name(self) -> str:
        return " ".join(word for word in (self.layout, self.letters, self.end) if word not in ("", "compact"))

    @classmethod
    def parse(cls, name: str) -> "Style":
        """Return the style of these words. Raises ValueError."""
        found: dict[str, str] = {}
        for word in name.split():
            kind = next((kind for kind, words in _WORDS.items() if word in words), None)
            if kind in found:
                raise ValueError(f'write "{word}" or "{found[kind]}", not both')
            if kind is None:
                hint = did_you_mean(word, (known for words in _WORDS.values() for known in words))
                raise ValueError(f'unknown JSON style "{word[:60]}"{hint}')
            found[kind] = word
        return cls(**found)

    def write(self, tree: Json) -> str:
        """Return a value as JSON in this style."""
        pieces: list[str] = []
        put_json(pieces, tree, _LAYOUTS[self.layout], quote=_LETTERS[self.letters])
        return "".join((*pieces, _ENDS[self.end]))


COMPACT = Style()


class StyledJson(Struct, frozen=True):
    """The value of a JSON text, with numbers as they are written, and a style that restores the text or one like it."""

    tree: Any
    style: Style

    def write(self) -> str:
        """Return the JSON text."""
        return self.style.write(self.tree)


def write_body(body: bytes, *, plain: bool = False) -> Mapping[str, Json]:
    """Return a body as a table: json and its style, text, or base64; `plain`: never as JSON."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode("ascii")}
    if not plain and (found := parse_json(text)) is not None:
        return {"json": found.tree, **({"style": found.style.name} if found.style.name else {})}
    return {"text": text} if is_text(body) else {"base64": b64encode(body).decode("ascii")}


def parse_json(text: str) -> StyledJson | None:
    """Return the JSON of a text in the style that restores it, if there is one."""
    try:
        tree = _DECODER.decode(text)
        if not _is_too_deep(tree):
            found = (StyledJson(tree, style) for style in guess_styles(text))
            return next((styled for styled in found if styled.write() == text), None)
    except (ValueError, RecursionError):
        pass
    return None


def read_body(node: Node, load_file: LoadFile | None = None) -> bytes:
    """Return the bytes of a body, which may be in a file. Raises Refused."""
    kind = read_kind(node, "a body", _KINDS if load_file is None else {**_KINDS, "file": ()})
    value = node.value[kind]
    if kind == "file" and load_file is not None:
        try:
            return load_file(read_text(value))
        except ValueError as why:
            raise Refused(str(why), value.spot) from None
    if kind == "base64":
        return read_base64(value)
    text = read_text(value) if kind == "text" else read_style(node.value.get("style")).write(read_json(value))
    return encode_text(text, value)


def read_kind(node: Node, what: str, kinds: Mapping[str, tuple[str, ...]]) -> str:
    """Return which of these kinds is a key of a table, beside which only some others may stand. Raises Refused."""
    found = [kind for kind in kinds if isinstance(node.value, dict) and kind in node.value]
    if len(found) != 1:
        raise Refused(f"{what} needs exactly one of {', '.join(kinds)}", node.spot)
    for key in node.value:
        if key != found[0] and key not in kinds[found[0]]:
            raise Refused(f'{what} has no "{key[:60]}"', node.find_key_spot(key))
    return found[0]


def read_style(node: Node | None, usual: Style = COMPACT) -> Style:
    """Return the style that a node names, or the usual one without a node. Raises Refused."""
    if node is None:
        return usual
    try:
        return Style.parse(read_text(node))
    except ValueError as error:
        raise Refused(str(error), node.spot) from None


def read_base64(node: Node) -> bytes:
    """Return the bytes of a text in base64. Raises Refused."""
    try:
        return b64decode("".join(read_text(node).split()), validate=True)
    except (Error, ValueError):
        raise Refused("this is not valid base64", node.spot) from None


def read_json(node: Node) -> Json:
    """Return the JSON of a node, with numbers as they are written."""
    value = node.value
    if isinstance(value, dict):
        return {key: read_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [read_json(inner) for inner in value]
    return _read_scalar(node) if node.bare else value


def _read_scalar(node: Node) -> Json:
    text: str = node.value
    if text[:1] in _NUMERAL and _NUMBER.fullmatch(text):
        return Verbatim(text)
    try:
        value = resolve(text)
        return Verbatim(json.dumps(value, allow_nan=False)) if isinstance(value, int | float) else value
    except ValueError:
        raise Refused("JSON has no such number", node.spot) from None


def encode_text(text: str, node: Node) -> bytes:
    """Return a text in UTF-8. Raises Refused, at a node, for half of a character."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("half of a surrogate pair is not valid text", node.spot) from None


def guess_styles(text: str) -> Iterator[Style]:
    """Yield the styles that a text may have, the most likely first."""
    end = "newline" if text.endswith("\n") else ""
    bare = text.removesuffix("\n")
    if found := _INDENTED.match(bare):
        layouts: tuple[str, ...] = tuple(name for name, layout in _LAYOUTS.items() if layout.indent == found[1])
    else:
        layouts = ("spaced", "compact") if _SPACED.search(bare[:2000]) else ("compact", "spaced")
    letters = [name for name in _LETTERS if name != "slashes" or r"\/" in text]
    if r"\u" in text:
        letters.sort(key=lambda name: name == "")
    yield from (Style(layout, letter, end) for layout in layouts for letter in letters)


def _is_too_deep(tree: Json, depth: int = 0) -> bool:
    if not isinstance(tree, dict | list):
        return False
    inner = tree.values() if isinstance(tree, dict) else tree
    return depth >= MAX_JSON_DEPTH or any(_is_too_deep(item, depth + 1) for item in inner)


def _make_table(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("repeated key")
    return table


def refuse_constant(name: str) -> Any:
    """Raise ValueError for what Python reads in JSON although it is not: NaN, Infinity."""
    raise ValueError(f"JSON has no {name}")


_HTML = re.compile("[<>&\u2028\u2029]")
_DECODER = json.JSONDecoder(
    object_pairs_hook=_make_table, parse_float=Verbatim, parse_int=Verbatim, parse_constant=refuse_constant
)
_LAYOUTS = {
    "compact": JsonLayout("", ",", ":"),
    "spaced": JsonLayout("", ", ", ": "),
    "indent2": JsonLayout("  ", ",", ": "),
    "indent4": JsonLayout("    ", ",", ": "),
    "tabs": JsonLayout("\t", ",", ": "),
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
