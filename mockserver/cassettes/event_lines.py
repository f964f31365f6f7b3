"""The events of a stream in a cassette, a line each: `{at: 12, data: {"id": "x"}}`."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from json import JSONDecoder, JSONEncoder
from typing import NamedTuple

from msgspec import Struct

from mockserver.cassettes.bodies import (
    COMPACT,
    Style,
    encode_text,
    parse_json,
    read_base64,
    read_json,
    read_kind,
    read_style,
    refuse_constant,
)
from mockserver.cassettes.yaml_text import (
    Flow,
    Node,
    Refused,
    escape_controls,
    quote,
    read_text,
    write_flow,
    write_word,
)
from mockserver.core.episode import RecordedEvent
from mockserver.core.event_stream import CHUNK, close_chunk, make_event, read_message
from mockserver.core.json import Json


def join_data(event: bytes) -> str | None:
    """Return the data of an event: its data lines joined, a line of JSON, or the text of a message; or None."""
    if (message := read_message(event)) is not None:
        return message.text
    lines = [event.rstrip(b"\r\n")] if is_json_line(event) else [found[2] for found in _DATA.finditer(event)]
    return b"\n".join(lines).decode("utf-8", "surrogateescape") if lines else None


def replace_data(event: bytes, data: str) -> bytes:
    """Return the event with other data of as many lines; a message has its new length and checksums."""
    if (message := read_message(event)) is not None:
        return message.replace_text(data).write()
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
    """Return the line of an event; `plain`: with its bytes as they are, not its data as JSON."""
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
    """Return a message of an event stream as a line with its type and its JSON, if that restores it."""
    message = read_message(data)
    if message is None or message.kind not in ("event", "exception"):
        return None
    found = parse_json(message.text)
    if found is None or not isinstance(found.tree, dict) or _TYPE_NAME.fullmatch(message.name) is None:
        return None
    if _make_message(message.kind, message.name, text=message.text, padding=message.padding) != data:
        return None
    styled = f", style: {quote(found.style.name)}" if found.style != COMPACT else ""
    padded = "" if message.padding is None else f", padding: {quote(message.padding)}"
    kind = f"{message.kind}: {message.name}"
    return Flow(f"{{at: {write_milliseconds(at)}, {kind}{padded}{styled}, payload: {write_flow(found.tree)}}}")


def _make_message(kind: str, name: str, *, text: str, padding: str | None) -> bytes:
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
    return _make_message(kind, read_text(table[kind]), text=text, padding=padding)


def read_event(node: Node, layout: EventLayout) -> RecordedEvent:
    """Return the event of a line. Raises Refused."""
    kind = read_kind(node, "an event", _EVENT_KINDS)
    table = node.value
    value = node.value[kind]
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
    """Return the events that `read_event` makes of these lines; None if one is not just as `write_event` writes it.

    Most of a cassette is long streams, and with this one of 100 events loads four times as fast: in 1.3 ms instead of
    5.6 ms. Lines that YAML might read in another way are left to YAML.
    """
    encode = _ENCODERS.get(layout.style)
    if encode is None:
        return None
    events = list[RecordedEvent]()
    end = LINE_ENDS[layout.ends]
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
    """Return the seconds of a node with milliseconds. Raises Refused."""
    if not (isinstance(node.value, str) and _MILLISECONDS.fullmatch(node.value)):
        raise Refused("write milliseconds here, such as 12 or 12.5", node.spot)
    return parse_milliseconds(node.value)


def parse_milliseconds(text: str) -> float:
    """Return milliseconds as seconds, rounded to microseconds."""
    return round(float(text) / 1000, 6)


class EventText(NamedTuple):
    """An event in lines of the usual layout: its name, if it has one, and its joined data."""

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
        name = None
        rest = text
        if text.startswith("event: "):
            name, _, rest = text[7:].partition(end)
        if not rest.startswith("data: ") or not rest.endswith(end * 2):
            return None
        lines = cls(name, rest[6 : -len(end) * 2].replace(f"{end}data: ", "\n"))
        return lines if lines.write(end) == text and "\r" not in lines.data else None

    def write(self, end: str) -> str:
        """Return the event as it was recorded, with the line ends of its provider (`end`) and data of any lines.

        What `core/frames.py` writes always ends the line of the name with LF, and data of one line.
        """
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
_DEEP = 50
_LONG = 1000
_PLAIN_DECODER = JSONDecoder(parse_constant=refuse_constant)
_write_spaced = JSONEncoder(ensure_ascii=False).encode
_ENCODERS = {
    Style(layout, letters): JSONEncoder(ensure_ascii=letters == "ascii", separators=separators).encode
    for layout, separators in (("compact", (",", ":")), ("spaced", (", ", ": ")))
    for letters in ("", "ascii")
}
