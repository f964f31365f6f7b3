"""Bodies and the events of streams in a cassette: as JSON if that restores the same bytes, else as text or base64.

The layout of JSON has a name of a few words: `spaced ascii newline`. An event is a line such as
`{at: 12, data: {"id": "x"}}`.
"""

import json
import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Iterator, Mapping, Sequence
from json import JSONDecoder, JSONEncoder
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NamedTuple

from msgspec import Struct

from mockserver.cassettes.attachments import LoadFile, is_text
from mockserver.cassettes.yaml_text import (
    Flow,
    JsonLayout,
    Node,
    Refused,
    Verbatim,
    escape_controls,
    put_json,
    quote,
    read_text,
    write_flow,
    write_word,
)
from mockserver.config.source import did_you_mean
from mockserver.config.yaml_reader import resolve
from mockserver.core.episode import RecordedEvent
from mockserver.core.event_stream import CHUNK, close_chunk, make_event, read_message
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
                raise ValueError(f'"{word}" and "{found[kind]}" exclude each other')
            if kind is None:
                hint = did_you_mean(word, (known for words in _WORDS.values() for known in words))
                raise ValueError(f'unknown JSON style "{word[:60]}"{hint}')
            found[kind] = word
        return cls(**found)

    def write(self, tree: Json) -> str:
        pieces: list[str] = []
        put_json(pieces, tree, _LAYOUTS[self.layout], quote=_LETTERS[self.letters])
        return "".join((*pieces, _ENDS[self.end]))


COMPACT = Style()


class StyledJson(Struct, frozen=True):
    """The value of a JSON text, with numbers as they are written, and a style that restores the text or one like it."""

    tree: Any
    style: Style

    def write(self) -> str:
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
    """Return which of these kinds a table has: one of them, with the further keys that it allows. Raises Refused."""
    found = [kind for kind in kinds if isinstance(node.value, dict) and kind in node.value]
    if len(found) != 1:
        raise Refused(f"{what} needs exactly one of {', '.join(kinds)}", node.spot)
    for key in node.value:
        if key != found[0] and key not in kinds[found[0]]:
            raise Refused(f'{what} has no "{key[:60]}"', node.key_spot(key))
    return found[0]


def read_style(node: Node | None, usual: Style = COMPACT) -> Style:
    if node is None:
        return usual
    try:
        return Style.parse(read_text(node))
    except ValueError as error:
        raise Refused(str(error), node.spot) from None


def read_base64(node: Node) -> bytes:
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


# The events of a stream.


def join_data(event: bytes) -> str | None:
    """Return the joined data lines of an event, a line of JSON, or what a message says; None if it has none."""
    if (message := read_message(event)) is not None:
        return message.text
    lines = [event.rstrip(b"\r\n")] if is_json_line(event) else [found[2] for found in _DATA.finditer(event)]
    return b"\n".join(lines).decode("utf-8", "surrogateescape") if lines else None


def replace_data(event: bytes, data: str) -> bytes:
    """Return the event with other data of as many lines; a message has its new length and checksums."""
    if (message := read_message(event)) is not None:
        return message.with_text(data).write()
    if is_json_line(event):
        return data.encode("utf-8", "surrogateescape") + event[len(event.rstrip(b"\r\n")) :]
    lines = iter(data.encode("utf-8", "surrogateescape").split(b"\n"))
    return _DATA.sub(lambda found: found[1] + next(lines, b""), event)


def is_json_line(event: bytes) -> bool:
    """Return whether an event is a line of JSON, as of Ollama's streams, rather than lines with names."""
    return event[:1] == b"{"


_DATA = re.compile(rb"((?:^|(?<=[\r\n]))data:[ ]?)([^\r\n]*+)")


LINE_ENDS = {"lf": "\n", "crlf": "\r\n", "bare": ""}  # of the lines of an event; bare: it is a line of JSON


class EventLayout(Struct, frozen=True):
    """How the events of a stream are laid out, unless one states another style."""

    style: Style = COMPACT
    ends: str = "lf"


def find_layout(frames: Sequence[RecordedEvent]) -> EventLayout:
    """Return the layout of the first event with JSON."""
    for _, data in frames:
        ends = "bare" if is_json_line(data) else "crlf" if data.endswith(b"\r\n\r\n") else "lf"
        lines = EventText.read(data, LINE_ENDS[ends])
        found = parse_json(lines.data) if lines is not None and lines.data[:1] in ("{", "[") else None
        if found is not None:
            return EventLayout(found.style, ends)
    return EventLayout()


def write_event(recorded: RecordedEvent, layout: EventLayout, *, plain: bool = False) -> Flow:
    at, data = recorded
    if not plain and (written := _write_message(at, data)) is not None:
        return written
    lines = None if plain else EventText.read(data, LINE_ENDS[layout.ends])
    if lines is None:
        return Flow(f"{{at: {write_milliseconds(at)}, {_write_raw(data)}}}")
    named = f", event: {write_word(lines.event)}" if lines.event is not None else ""
    found = parse_json(lines.data) if lines.data[:1] in ("{", "[") else None
    if found is None:
        return Flow(f"{{at: {write_milliseconds(at)}{named}, data: {quote(lines.data)}}}")
    styled = f", style: {quote(found.style.name or 'compact')}" if found.style != layout.style else ""
    return Flow(f"{{at: {write_milliseconds(at)}{named}{styled}, data: {write_flow(found.tree)}}}")


def _write_message(at: float, data: bytes) -> Flow | None:
    """Return a message of an event stream as a line with its type and what it says, if that restores it."""
    message = read_message(data)
    if message is None or message.kind not in ("event", "exception"):
        return None
    found = parse_json(message.text)
    if found is None or not isinstance(found.tree, dict) or _TYPE_NAME.fullmatch(message.name) is None:
        return None
    if _make_message(message.kind, message.name, message.text, message.padding) != data:
        return None
    styled = f", style: {quote(found.style.name)}" if found.style != COMPACT else ""
    padded = "" if message.padding is None else f", padding: {quote(message.padding)}"
    kind = f"{message.kind}: {message.name}"
    return Flow(f"{{at: {write_milliseconds(at)}, {kind}{padded}{styled}, payload: {write_flow(found.tree)}}}")


def _make_message(kind: str, name: str, text: str, padding: str | None) -> bytes:
    """Return the bytes of an event or an exception; a chunk holds the text."""
    data = text.encode("utf-8", "surrogateescape")
    payload = close_chunk(data, padding) if name == CHUNK and kind == "event" else data
    return make_event(name, payload, f":{kind}-type").write()


def _read_message(table: Mapping[str, Node], value: Node) -> bytes:
    text = read_style(table.get("style")).write(read_json(value))
    padding = read_text(table["padding"]) if "padding" in table else None
    kind = next((kind for kind in ("event", "exception") if kind in table), None)
    if kind is None:
        raise Refused("a payload needs an event or an exception", value.spot)
    encode_text(text, value)
    return _make_message(kind, read_text(table[kind]), text, padding)


def read_event(node: Node, layout: EventLayout) -> RecordedEvent:
    """Return the event of a line. Raises Refused."""
    kind = read_kind(node, "an event", _EVENT_KINDS)
    table, value = node.value, node.value[kind]
    at = read_seconds(table["at"]) if "at" in table else 0.0
    if kind == "base64":
        return at, read_base64(value)
    if kind == "payload":
        return at, _read_message(table, value)
    if kind == "raw":
        return at, encode_text(read_text(value), value)
    is_text = isinstance(value.value, str)
    text = value.value if is_text else read_style(table.get("style"), layout.style).write(read_json(value))
    event = read_text(table["event"]) if "event" in table else None
    return at, encode_text(EventText(event, text).write(LINE_ENDS[layout.ends]), value)


def read_events_fast(lines: Sequence[str], layout: EventLayout) -> tuple[RecordedEvent, ...] | None:
    """Return what `read_event` makes of these lines; None if one of them is not just as `write_event` writes it.

    Long streams are most of what cassettes hold, and with this one of 100 events loads four times as fast: in 1.3 ms
    instead of 5.6 ms. What YAML might read in another way is left to YAML.
    """
    encode = _ENCODERS.get(layout.style)
    if encode is None:
        return None
    events, end = list[RecordedEvent](), LINE_ENDS[layout.ends]
    try:
        for line in lines:
            found = _LINE.fullmatch(line)
            text = None if found is None else _read_data_fast(found[3], encode)
            if found is None or text is None:
                return None
            events.append((parse_milliseconds(found[1]), EventText(found[2], text).write(end).encode()))
    except (ValueError, RecursionError):
        return None
    return tuple(events)


def write_milliseconds(seconds: float) -> str:
    """Return seconds as milliseconds, with at most three decimals."""
    return f"{max(0.0, seconds) * 1000:.3f}".rstrip("0").rstrip(".")


def read_seconds(node: Node) -> float:
    if not (isinstance(node.value, str) and _MILLISECONDS.fullmatch(node.value)):
        raise Refused("write milliseconds here, such as 12 or 12.5", node.spot)
    return parse_milliseconds(node.value)


def parse_milliseconds(text: str) -> float:
    return round(float(text) / 1000, 6)


class EventText(NamedTuple):
    """What an event says in lines of the usual layout: its name, if it has one, and its joined data."""

    event: str | None
    data: str

    @classmethod
    def read(cls, event: bytes, end: str) -> "EventText | None":
        """Return the lines of an event, each of which has this end; None if they would not restore it."""
        try:
            text = event.decode("utf-8")
        except UnicodeDecodeError:
            return None
        if not end:
            data = text.removesuffix("\n")
            return cls(None, data) if text[:1] == "{" and data != text and not {"\n", "\r"} & {*data} else None
        name, rest = None, text
        if text.startswith("event: "):
            name, _, rest = text[7:].partition(end)
        if not rest.startswith("data: ") or not rest.endswith(end * 2):
            return None
        lines = cls(name, rest[6 : -len(end) * 2].replace(f"{end}data: ", "\n"))
        return lines if lines.write(end) == text and "\r" not in lines.data else None

    def write(self, end: str) -> str:
        """Return the event, whose provider ended its lines so; `delivery/script.py` only writes the usual ends."""
        if not end:
            return f"{self.data}\n"
        data = self.data.replace("\n", f"{end}data: ") if "\n" in self.data else self.data
        return f"data: {data}{end}{end}" if self.event is None else f"event: {self.event}{end}data: {data}{end}{end}"


def _read_data_fast(shown: str, encode: Callable[[Json], str]) -> str | None:
    """Return the data of an event, parsed as JSON; None if YAML might read it differently."""
    if shown.count("{") + shown.count("[") > _DEEP or r"\ud" in shown:
        return None
    parsed = _PLAIN_DECODER.decode(shown)
    if escape_controls(_write_spaced(parsed)) != shown or (len(shown) > _LONG and _has_long_key(parsed)):
        return None
    return parsed if isinstance(parsed, str) else encode(parsed)


def _has_long_key(tree: Json) -> bool:
    """Return whether a key is longer than YAML allows in a flow."""
    if isinstance(tree, dict):
        return any(len(key) > _LONG // 8 or _has_long_key(inner) for key, inner in tree.items())
    return isinstance(tree, list) and any(_has_long_key(inner) for inner in tree)


def _write_raw(data: bytes) -> str:
    try:
        return f"raw: {quote(data.decode('utf-8'))}"
    except UnicodeDecodeError:
        return f"base64: {quote(b64encode(data).decode('ascii'))}"


_EVENT_KINDS = {
    "data": ("at", "event", "style"),
    "payload": ("at", "event", "exception", "padding", "style"),  # of a message of Amazon's event streams
    "raw": ("at",),
    "base64": ("at",),
}
_TYPE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*+")
_MILLISECONDS = re.compile(r"[0-9]{1,12}+(?:\.[0-9]{1,6}+)?")
_LINE = re.compile(
    r" *+- \{at: ([0-9]{1,12}+(?:\.[0-9]{1,6}+)?)(?:, event: ([A-Za-z][A-Za-z0-9_.-]*+))?, data: ([\[{\"].*)\}"
)
_DEEP, _LONG = 50, 1000
_PLAIN_DECODER = JSONDecoder(parse_constant=refuse_constant)
_write_spaced = JSONEncoder(ensure_ascii=False).encode
_ENCODERS = {
    Style(layout, letters): JSONEncoder(ensure_ascii=letters == "ascii", separators=separators).encode
    for layout, separators in (("compact", (",", ":")), ("spaced", (", ", ": ")))
    for letters in ("", "ascii")
}
