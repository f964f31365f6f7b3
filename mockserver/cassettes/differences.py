"""How a request differs from a recorded one, field by field, in lines for people.

What requests say is shown cut and escaped, so that none can write lines of its own into a report.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mockserver.cassettes.matching import SAID, View, alike
from mockserver.core.call import Json, fingerprint
from mockserver.core.json_text import parsed

MOST_LINES = 8
SHOWN = 60  # characters of a value
CONTEXT = 16  # characters of a text that stay on either side of what differs


@dataclass(frozen=True, slots=True)
class Difference:
    """One place that differs: `field` is the field of the body that it is in, `where` the whole path."""

    field: str
    where: str
    recorded: str | None  # as it is shown; None: nothing stands there
    asked: str | None

    def __str__(self) -> str:
        if self.recorded is None or self.asked is None:
            whose, there = ("asked", self.asked) if self.recorded is None else ("recorded", self.recorded)
            return f"{self.where}: only {whose}" + (f": {there}" if there else "")
        return f"{self.where}: recorded {self.recorded} | asked {self.asked}"


def differences(recorded: View, asked: View) -> tuple[Difference, ...]:
    """Every place that differs: what was said first, then tools, then the other fields in the order of the request."""
    names = dict.fromkeys((*SAID, "tools", *asked, *recorded))
    return tuple(found for name in names for found in _of_field(name, recorded.get(name), asked.get(name)))


def _of_field(name: str, one: Json, other: Json) -> Iterable[Difference]:
    if fingerprint(one) == fingerprint(other):
        return ()
    where = plain(name[:SHOWN])
    if name == "tools":  # none are as good as an empty list of them
        one, other = one or [], other or []
    return tuple(_Walk(name).between(where, one, other)) or (Difference(name, where, shown(one), shown(other)),)


def lines(found: Sequence[Difference]) -> Iterator[str]:
    """A line for each, up to as many as are read."""
    yield from map(str, found[:MOST_LINES])
    if len(found) > MOST_LINES:
        yield f"... and {len(found) - MOST_LINES} more"


def shown(value: Json) -> str:
    """A value as JSON on one line: cut, and with every character escaped that would not show as itself."""
    if isinstance(value, str):
        value = value if len(value) <= SHOWN else f"{value[: SHOWN - 1]}…"
    text = ""
    for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
        text += piece
        if len(text) > SHOWN + 2:
            text = f"{text[: SHOWN + 1]}…"
            break
    return plain(text)


def plain(text: str) -> str:
    """A text on one line, in which every character shows as itself or is escaped."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Walks through two values of one field at once."""

    field: str

    def between(self, where: str, one: Json, other: Json) -> Iterator[Difference]:
        if one == other and type(one) is type(other):
            return
        one, other = _read(one), _read(other)
        if one is None or other is None:
            yield self._only(where, one, other)
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            for key in dict.fromkeys((*other, *one)):
                inner = where if key == "content" else f"{where}.{plain(key[:SHOWN])}"
                yield from self.between(inner, one.get(key), other.get(key))
        elif isinstance(one, list) and isinstance(other, list):
            mine, theirs = _by_name(one), _by_name(other)
            walk = self._listed(where, one, other) if mine is None or theirs is None else self._named(mine, theirs)
            yield from walk
        elif isinstance(one, str) and isinstance(other, str):
            yield Difference(self.field, where, *_spans(one, other))
        else:
            yield Difference(self.field, where, shown(one), shown(other))

    def _only(self, where: str, one: Json, other: Json) -> Difference:
        return Difference(self.field, where, _said(one), _said(other))

    def _named(self, one: Mapping[str, Json], other: Mapping[str, Json]) -> Iterator[Difference]:
        """Tools, which are told apart by their names: their order says nothing."""
        for name in dict.fromkeys((*other, *one)):
            where = f"tool {plain(name[:SHOWN])}"
            if name not in one or name not in other:
                yield Difference(self.field, where, "" if name in one else None, "" if name in other else None)
            else:
                yield from self.between(where, one[name], other[name])
        if list(one) != list(other) and one == other:
            yield Difference(self.field, "the order of tools", shown(list(one)), shown(list(other)))

    def _listed(self, where: str, one: list[Json], other: list[Json]) -> Iterator[Difference]:
        """Two lists, whose equal entries at both ends are left out; between them entries stand against each other."""
        front, back = _ends(one, other)
        pairs = max(len(one), len(other)) - front - back
        for at in range(front, front + pairs):
            mine = one[at] if at < len(one) - back else None
            theirs = other[at] if at < len(other) - back else None
            yield from self.between(_entry(where, at, mine if theirs is None else theirs), mine, theirs)


def _entry(where: str, at: int, entry: Json) -> str:
    role = entry.get("role") or entry.get("type") if isinstance(entry, Mapping) else None
    return f"{where}[{at}]" + (f" ({plain(role[:SHOWN])})" if isinstance(role, str) else "")


def _ends(one: list[Json], other: list[Json]) -> tuple[int, int]:
    """How many entries are equal from the front, and how many from the back of what is left."""
    fewer = min(len(one), len(other))
    front = next((at for at in range(fewer) if one[at] != other[at]), fewer)
    left = fewer - front
    return front, next((at for at in range(left) if one[-1 - at] != other[-1 - at]), left)


def _read(value: Json) -> Json:
    """A schema that stands as text is looked into; one part of text that stands alone is its text."""
    if isinstance(value, str) and value.startswith("{"):
        inner = parsed(value)
        return inner if isinstance(inner, dict) else value
    match value:
        case [{"type": "text" | "input_text" | "output_text", "text": str(text)}]:
            return text
    return value


def _by_name(entries: Iterable[Json]) -> dict[str, Json] | None:
    """Tools by their names; None where these are none, or two of one name."""
    found: dict[str, Json] = {}
    for entry in entries:
        inner = entry.get("function") or entry.get("custom") or entry if isinstance(entry, Mapping) else {}
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(name, str) or name in found or "role" in entry or "call_id" in entry:
            return None
        found[name] = inner
    return found


def _said(value: Json) -> str | None:
    """A value that the other side has not: of a message, what it says."""
    if value is None:
        return None
    content = value.get("content") if isinstance(value, Mapping) else None
    content = _read(content)
    return shown(content if isinstance(content, str) else value)


def _spans(one: str, other: str) -> tuple[str, str]:
    """Where two texts differ, with a little of what stands around it."""
    front = alike(one, other)
    back = alike(one[front:][::-1], other[front:][::-1])
    start = max(0, front - CONTEXT) if front > CONTEXT + 2 else 0
    return _span(one, start, back), _span(other, start, back)


def _span(text: str, start: int, back: int) -> str:
    end = len(text) if back <= CONTEXT + 2 else len(text) - back + CONTEXT
    cut = text[start : max(end, start)]
    after = "…" if end < len(text) or len(cut) > SHOWN else ""
    return plain(json.dumps(("…" if start else "") + cut[:SHOWN] + after, ensure_ascii=False))
