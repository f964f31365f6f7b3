"""Stream events as lines of YAML: `{at: 12, data: {"id": "x"}}`, or raw if they have another layout."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from json import JSONDecoder, JSONEncoder
from json.encoder import encode_basestring

from msgspec import Struct

from mockserver.cassettes.bodies import (
    COMPACT,
    Node,
    Refused,
    Style,
    Verbatim,
    as_json,
    encoded,
    no_constant,
    read_base64,
    read_json,
    read_kind,
    read_style,
    read_text,
)
from mockserver.core.episode import RecordedEvent
from mockserver.core.json import Json


def data_of(event: bytes) -> str | None:
    """The joined data lines of an event; None if it has none."""
    lines = [found[2] for found in _DATA.finditer(event)]
    return b"\n".join(lines).decode("utf-8", "surrogateescape") if lines else None


def with_data(event: bytes, data: str) -> bytes:
    """The event with other data of as many lines."""
    lines = iter(data.encode("utf-8", "surrogateescape").split(b"\n"))
    return _DATA.sub(lambda found: found[1] + next(lines, b""), event)


_DATA = re.compile(rb"((?:^|(?<=[\r\n]))data:[ ]?)([^\r\n]*+)")


class Flow(str):
    """Text that is YAML already, on one line."""

    __slots__ = ()


def yaml_lines(table: Mapping[str, Json]) -> list[str]:
    written: list[str] = []
    _entries(written, table, 0, "")
    return written


def quoted(text: str) -> str:
    return escaped_controls(encode_basestring(text))


def flow(tree: Json) -> Flow:
    return Flow(escaped_controls(_ONE_LINE.text(tree)))


def word(text: str) -> str:
    """A text without quotes if it is a plain word, safe in a flow."""
    return text if _WORD.fullmatch(text) and text.lower() not in _KEYWORDS else quoted(text)


def scalar(text: str) -> str:
    """A text on one line, quoted if necessary."""
    if len(text) <= _MAX_KEYWORD and text.lower() in _KEYWORDS:
        return quoted(text)
    if _PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("'", "''") + "'" if '"' in text and _VISIBLE.fullmatch(text) else quoted(text)


def escaped_controls(text: str) -> str:
    """What a YAML file may not hold, or takes for the end of a line, as escapes."""
    plain = text.isascii() and "\x7f" not in text
    return text if plain else _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _entries(written: list[str], table: Mapping[str, Json], indent: int, lead: str) -> None:
    for key, value in table.items():
        _put(written, f"{lead}{scalar(key)}:", value, indent)
        lead = " " * indent


def _items(written: list[str], items: Sequence[Json], indent: int) -> None:
    lead = " " * indent + "-"
    for item in items:
        if isinstance(item, Mapping) and item:
            _entries(written, item, indent + 2, lead + " ")
        else:
            _put(written, lead, item, indent)


def _put(written: list[str], lead: str, value: Json, indent: int) -> None:
    """A value after its key or dash (`lead`), which is in column `indent`."""
    if isinstance(value, str) and not isinstance(value, Verbatim | Flow):
        if "\n" in value and not _NOT_IN_BLOCK.search(value) and value.strip("\n"):
            _block(written, lead, value, indent + 2)
        else:
            written.append(f"{lead} {scalar(value)}")
    elif isinstance(value, Mapping) and value:
        written.append(lead)
        _entries(written, value, indent + 2, " " * (indent + 2))
    elif isinstance(value, list | tuple) and not all(isinstance(item, Verbatim) for item in value):
        written.append(lead)
        _items(written, value, indent + 2)
    else:
        written.append(f"{lead} {value if isinstance(value, Flow) else flow(value)}")


def _block(written: list[str], lead: str, text: str, indent: int) -> None:
    mark = "2" if text[0] in " \t\n" else ""
    chomp = "-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else ""
    written.append(f"{lead} |{mark}{chomp}")
    begin = " " * indent
    written.extend(begin + line if line else "" for line in text.removesuffix("\n").split("\n"))


_ONE_LINE = Style("spaced")
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


ENDS = {"lf": "\n", "crlf": "\r\n"}  # of the lines of an event


class Layout(Struct, frozen=True):
    """How the events of a stream are laid out, unless one states another style."""

    style: Style = COMPACT
    ends: str = "lf"


def layout_of(frames: Sequence[RecordedEvent]) -> Layout:
    """The layout of the first event with JSON."""
    for _, data in frames:
        ends = "crlf" if data.endswith(b"\r\n\r\n") else "lf"
        if (parts := _parts(data, ENDS[ends])) and (found := _container(parts[1])):
            return Layout(found, ends)
    return Layout()


def event_line(recorded: RecordedEvent, form: Layout, *, plain: bool = False) -> Flow:
    at, data = recorded
    parts = None if plain else _parts(data, ENDS[form.ends])
    if parts is None:
        return Flow(f"{{at: {milliseconds(at)}, {_raw(data)}}}")
    event, text = parts
    named = f", event: {word(event)}" if event is not None else ""
    if text[:1] not in ("{", "[") or (found := as_json(text)) is None or not isinstance(found[0], dict | list):
        return Flow(f"{{at: {milliseconds(at)}{named}, data: {quoted(text)}}}")
    styled = f", style: {quoted(found[1].name or 'compact')}" if found[1] != form.style else ""
    return Flow(f"{{at: {milliseconds(at)}{named}{styled}, data: {flow(found[0])}}}")


def read_event(node: Node, form: Layout) -> RecordedEvent:
    """The event of a line. Raises Refused."""
    kind = read_kind(node, "an event", _KINDS)
    table, value = node.value, node.value[kind]
    at = seconds(table["at"]) if "at" in table else 0.0
    if kind == "base64":
        return at, read_base64(value)
    if kind == "raw":
        return at, encoded(read_text(value), value)
    is_text = isinstance(value.value, str)
    text = value.value if is_text else read_style(table.get("style"), form.style).text(read_json(value))
    event = read_text(table["event"]) if "event" in table else None
    return at, encoded(_event(event, text, ENDS[form.ends]), value)


def read_events_fast(lines: Sequence[str], form: Layout) -> Iterator[RecordedEvent | None]:
    """What `read_event` makes of these lines, much faster; None for a line that `event_line` would not write."""
    ends, written = ENDS[form.ends], _ENCODERS.get(form.style)
    for one in lines:
        found = _LINE.fullmatch(one) if written else None
        try:
            text = _fast_text(found[3], written) if found and written else None
            yield (seconds_of(found[1]), _event(found[2], text, ends).encode()) if found and text is not None else None
        except (ValueError, RecursionError):
            yield None


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds, with at most three decimals."""
    return f"{max(0.0, seconds) * 1000:.3f}".rstrip("0").rstrip(".")


def seconds(node: Node) -> float:
    if not (isinstance(node.value, str) and _MILLISECONDS.fullmatch(node.value)):
        raise Refused("write milliseconds here, such as 12 or 12.5", node.spot)
    return seconds_of(node.value)


def seconds_of(text: str) -> float:
    return round(float(text) / 1000, 6)


def _parts(data: bytes, end: str) -> tuple[str | None, str] | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    event, rest = None, text
    if text.startswith("event: "):
        event, _, rest = text[7:].partition(end)
    if not rest.startswith("data: ") or not rest.endswith(end * 2):
        return None
    said = rest[6 : -len(end) * 2].replace(f"{end}data: ", "\n")
    return (event, said) if _event(event, said, end) == text and "\r" not in said else None


def _event(event: str | None, text: str, end: str) -> str:
    data = text.replace("\n", f"{end}data: ") if "\n" in text else text
    return f"data: {data}{end}{end}" if event is None else f"event: {event}{end}data: {data}{end}{end}"


def _fast_text(shown: str, written: Callable[[Json], str]) -> str | None:
    """The data of an event, parsed as JSON; None if YAML might read it differently."""
    if shown.count("{") + shown.count("[") > _DEEP or r"\ud" in shown:
        return None
    parsed = _DECODER.decode(shown)
    if escaped_controls(_SPACED(parsed)) != shown or (len(shown) > _LONG and _has_long_key(parsed)):
        return None
    return parsed if isinstance(parsed, str) else written(parsed)


def _has_long_key(tree: Json) -> bool:
    """Whether a key is longer than YAML allows in a flow."""
    if isinstance(tree, dict):
        return any(len(key) > _LONG // 8 or _has_long_key(inner) for key, inner in tree.items())
    return isinstance(tree, list) and any(_has_long_key(inner) for inner in tree)


def _container(text: str) -> Style | None:
    found = as_json(text) if text[:1] in ("{", "[") else None
    return found[1] if found else None


def _raw(data: bytes) -> str:
    try:
        return f"raw: {quoted(data.decode('utf-8'))}"
    except UnicodeDecodeError:
        return f"base64: {quoted(b64encode(data).decode('ascii'))}"


_KINDS = {"data": ("at", "event", "style"), "raw": ("at",), "base64": ("at",)}
_MILLISECONDS = re.compile(r"[0-9]{1,12}+(?:\.[0-9]{1,6}+)?")
_LINE = re.compile(
    r" *+- \{at: ([0-9]{1,12}+(?:\.[0-9]{1,6}+)?)(?:, event: ([A-Za-z][A-Za-z0-9_.-]*+))?, data: ([\[{\"].*)\}"
)
_DEEP, _LONG = 50, 1000
_DECODER = JSONDecoder(parse_constant=no_constant)
_SPACED = JSONEncoder(ensure_ascii=False).encode
_ENCODERS = {
    Style(layout, letters): JSONEncoder(ensure_ascii=letters == "ascii", separators=separators).encode
    for layout, separators in (("compact", (",", ":")), ("spaced", (", ", ": ")))
    for letters in ("", "ascii")
}
