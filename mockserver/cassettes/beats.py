"""Events of a stream as lines of a cassette: `{at: 12, data: {"id": "x"}}`; what is not laid out so is kept raw."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from json import JSONDecoder, JSONEncoder

from mockserver.cassettes.bodies import COMPACT, Style, as_json, octets, string, style, tree
from mockserver.cassettes.nodes import Node, Refused
from mockserver.cassettes.notation import Flow, flow, one_line, quoted, word
from mockserver.core.episode import Beat
from mockserver.core.json_text import Json

ENDS = {"lf": "\n", "crlf": "\r\n"}  # of the lines of an event


@dataclass(frozen=True, slots=True)
class Form:
    """How the events of a stream are laid out, but for those that say otherwise."""

    style: Style = COMPACT
    ends: str = "lf"


def form(frames: Sequence[Beat]) -> Form:
    """How the first event that carries JSON is laid out."""
    for _, data in frames:
        ends = "crlf" if data.endswith(b"\r\n\r\n") else "lf"
        if (parts := _parts(data, ENDS[ends])) and (found := _container(parts[1])):
            return Form(found, ends)
    return Form()


def line(beat: Beat, form: Form, *, plain: bool = False) -> Flow:
    """One event; `plain`: raw, however well it is laid out."""
    at, data = beat
    parts = None if plain else _parts(data, ENDS[form.ends])
    if parts is None:
        return Flow(f"{{at: {milliseconds(at)}, {_raw(data)}}}")
    event, text = parts
    named = f", event: {word(event)}" if event is not None else ""
    if text[:1] not in ("{", "[") or (found := as_json(text)) is None or not isinstance(found[0], dict | list):
        return Flow(f"{{at: {milliseconds(at)}{named}, data: {quoted(text)}}}")
    styled = f", style: {quoted(found[1].name or 'compact')}" if found[1] != form.style else ""
    return Flow(f"{{at: {milliseconds(at)}{named}{styled}, data: {flow(found[0])}}}")


def beat(node: Node, form: Form) -> Beat:
    """The event of a line. Raises Refused."""
    table = node.value
    if not isinstance(table, dict) or len(kinds := [kind for kind in _KINDS if kind in table]) != 1:
        raise Refused("an event has one of data, raw and base64", node.spot)
    for key in table:
        if key not in ("at", *kinds) and not (key in ("event", "style") and kinds == ["data"]):
            raise Refused(f'an event has no "{key[:60]}"', (node.keys or {})[key])
    kind, value = kinds[0], table[kinds[0]]
    at = seconds(table["at"]) if "at" in table else 0.0
    if kind == "base64":
        return at, octets(value)
    if kind == "raw":
        return at, _encoded(string(value), value)
    text = value.value if isinstance(value.value, str) else style(table.get("style"), form.style).text(tree(value))
    event = string(table["event"]) if "event" in table else None
    return at, _encoded(_event(event, text, ENDS[form.ends]), value)


def swift(lines: Sequence[str], form: Form) -> Iterator[Beat | None]:
    """What `beat` makes of these lines, much faster; None where a line is not exactly as `line` writes it."""
    ends, written = ENDS[form.ends], _SWIFT.get(form.style)
    for one in lines:
        found = _LINE.fullmatch(one) if written else None
        try:
            text = _swift_text(found[3], written) if found and written else None
            yield (seconds_of(found[1]), _event(found[2], text, ends).encode()) if found and text is not None else None
        except (ValueError, RecursionError):
            yield None


def milliseconds(seconds: float) -> str:
    """A time in milliseconds, with three decimals at most."""
    return f"{max(0.0, seconds) * 1000:.3f}".rstrip("0").rstrip(".")


def seconds(node: Node) -> float:
    """The time that stands in milliseconds."""
    if not (isinstance(node.value, str) and _MILLISECONDS.fullmatch(node.value)):
        raise Refused("milliseconds must stand here, such as 12 or 12.5", node.spot)
    return seconds_of(node.value)


def seconds_of(text: str) -> float:
    """Milliseconds, as they are written, in seconds."""
    return round(float(text) / 1000, 6)


def _parts(data: bytes, end: str) -> tuple[str | None, str] | None:
    """The name and the data of an event that is laid out as all are; None for another."""
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
    """An event of these words, with all that ends it."""
    data = text.replace("\n", f"{end}data: ") if "\n" in text else text
    return f"data: {data}{end}{end}" if event is None else f"event: {event}{end}data: {data}{end}{end}"


def _swift_text(shown: str, written: Callable[[Json], str]) -> str | None:
    """The text of data that are shown so, by way of JSON; None where YAML may see it in another way."""
    if shown.count("{") + shown.count("[") > _DEEP or r"\ud" in shown:
        return None
    parsed = _DECODER.decode(shown)
    if one_line(_SPACED(parsed)) != shown or (len(shown) > _LONG and _has_long_key(parsed)):
        return None
    return parsed if isinstance(parsed, str) else written(parsed)


def _has_long_key(tree: Json) -> bool:
    """Whether a key is longer than YAML takes in a flow."""
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


def _encoded(text: str, node: Node) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("half of a surrogate pair is no text", node.spot) from None


def _no_constant(name: str) -> Json:
    raise ValueError(f"JSON has no {name}")


_KINDS = ("data", "raw", "base64")
_MILLISECONDS = re.compile(r"[0-9]{1,12}+(?:\.[0-9]{1,6}+)?")
_LINE = re.compile(
    r" *+- \{at: ([0-9]{1,12}+(?:\.[0-9]{1,6}+)?)(?:, event: ([A-Za-z][A-Za-z0-9_.-]*+))?, data: ([\[{\"].*)\}"
)
_DEEP, _LONG = 50, 1000
_DECODER = JSONDecoder(parse_constant=_no_constant)
_SPACED = JSONEncoder(ensure_ascii=False).encode
_SWIFT = {
    Style(layout, letters): JSONEncoder(ensure_ascii=letters == "ascii", separators=separators).encode
    for layout, separators in (("compact", (",", ":")), ("spaced", (", ", ": ")))
    for letters in ("", "ascii")
}
