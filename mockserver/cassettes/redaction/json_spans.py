"""Edit the values of JSON texts in place, leaving all else as it was written; also texts split across events."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from json.decoder import scanstring  # type: ignore[attr-defined]  # known to all but its stub

from mockserver.config.types import JsonPath, Step
from mockserver.core.json import Json

Key = str | int
Edit = tuple[int, int, str]  # start, end, replacement


@dataclass(slots=True)
class JsonSpan:
    """The place of a value in a text.

    `text`: of a string; `inner`: the members of an object, or of a list by number; `names`: the places of an object's
    names.
    """

    start: int
    end: int = 0
    text: str | None = None
    inner: "list[tuple[Key, JsonSpan]] | None" = None
    names: "list[JsonSpan] | None" = None


def parse_spans(text: str) -> JsonSpan | None:
    """The root of a JSON text; None if it is not JSON, or is too deep for Python's json."""
    try:
        json.loads(text, strict=False)  # much quicker at refusing
        return _Parser(text).root()
    except (ValueError, RecursionError):
        return None


def find_spans(root: JsonSpan, path: JsonPath) -> list[JsonSpan]:
    """The values that a path matches, each once."""
    reached = [root]
    for step in path:
        among = _everything(reached) if step.deep else reached
        reached = [place for outer in among for place in _children(outer, step)]
    return reached


def span_at(root: JsonSpan, keys: Iterable[Key]) -> JsonSpan | None:
    """The value at these names and numbers; of a repeated name, the last."""
    place: JsonSpan | None = root
    for key in keys:
        place = next((inner for name, inner in reversed((place and place.inner) or ()) if name == key), None)
    return place


def text_spans(root: JsonSpan) -> Iterator[JsonSpan]:
    """All scalars, and the names of objects."""
    for place in _everything([root]):
        yield from place.names or ()
        if place.inner is None:
            yield place


def path_of(root: JsonSpan, offset: int) -> str:
    """The JSONPath of the innermost value at an offset."""
    place: JsonSpan | None = root
    shown = "$"
    while place and place.inner:
        members = (member for member in place.inner if member[1].start <= offset < member[1].end)
        name, place = next(members, ("", None))
        shown += shown_key(name) if place else ""
    return shown


def shown_key(key: Key) -> str:
    """A step of a JSONPath."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text after these edits; an edit within another one is ignored."""
    pieces, reached = [], 0
    for start, end, instead in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if start >= reached:
            pieces += [text[reached:start], instead]
            reached = end
    return "".join((*pieces, text[reached:]))


def json_string(value: str, text: str) -> str:
    """A JSON string for insertion into a text: with non-ASCII characters escaped if that text escapes them."""
    return json.dumps(value, ensure_ascii=text.isascii())


def _children(place: JsonSpan, step: Step) -> Iterator[JsonSpan]:
    inner = place.inner or []
    if step.key is None:
        yield from (each for _, each in inner)
        return
    key = step.key
    if isinstance(key, int) and key < 0 and place.names is None:
        key += len(inner)
    yield from (each for name, each in inner if name == key)


def _everything(roots: Sequence[JsonSpan]) -> Iterator[JsonSpan]:
    """These and all values within them, each once, in the order of the text."""
    reached = -1
    for root in sorted(roots, key=lambda place: (place.start, -place.end)):
        if root.start < reached:  # within the one before
            continue
        reached = root.end
        waiting = [root]
        while waiting:
            place = waiting.pop()
            yield place
            waiting += [inner for _, inner in reversed(place.inner or ())]


class _Parser:
    """Parses a text once. Raises ValueError."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._open: list[JsonSpan] = []

    def root(self) -> JsonSpan:
        root = self._value()
        while self._open:
            self._within(self._open[-1])
        if self._next():
            raise ValueError
        return root

    def _within(self, outer: JsonSpan) -> None:
        """The next member of the innermost open value, or its end."""
        inner = outer.inner
        assert inner is not None  # noqa: S101  # only objects and lists are open
        is_object = self._text[outer.start] == "{"
        sign = self._next()
        if sign == ("}" if is_object else "]"):
            self._at += 1
            outer.end = self._at
            self._open.pop()
            return
        if inner:
            if sign != ",":
                raise ValueError
            self._at += 1
        name: Key = self._name(outer) if is_object else len(inner)
        inner.append((name, self._value()))

    def _name(self, outer: JsonSpan) -> str:
        if self._next() != '"':
            raise ValueError
        name = self._string()
        if outer.names is not None:
            outer.names.append(name)
        if self._next() != ":":
            raise ValueError
        self._at += 1
        return name.text or ""

    def _value(self) -> JsonSpan:
        """The value that begins here; an object or a list is left open."""
        sign = self._next()
        if sign == '"':
            return self._string()
        place = JsonSpan(self._at)
        if sign in ("{", "["):
            self._at += 1
            place.inner, place.names = [], [] if sign == "{" else None
            self._open.append(place)
            return place
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise ValueError
        self._at = place.end = word.end()
        return place

    def _string(self) -> JsonSpan:
        start = self._at
        text, self._at = scanstring(self._text, start + 1, False)
        return JsonSpan(start, self._at, text)

    def _next(self) -> str:
        """The next character that is not blank; empty at the end."""
        blanks = _BLANKS.match(self._text, self._at)
        self._at = blanks.end() if blanks else self._at
        return self._text[self._at : self._at + 1]


_BLANKS = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity")
_PLAIN = re.compile(r"[^\W\d][\w-]*")


Path = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a text in the JSON of an event."""

    event: int  # its number
    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class JoinedText:
    """A text that is split into pieces."""

    pieces: tuple[Fragment, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(piece.text for piece in self.pieces)

    def edited(self, edits: Sequence[Edit]) -> Iterator[Fragment]:
        """The pieces that change by edits of the whole text, which are in order; replacements go to the first piece."""
        start = first = 0
        for piece in self.pieces:
            end = start + len(piece.text)
            while first < len(edits) and edits[first][1] <= start:
                first += 1
            within = list[Edit]()
            for left, right, instead in islice(edits, first, None):
                if left >= end:
                    break
                within.append((max(left, start) - start, min(right, end) - start, instead if left >= start else ""))
            if within:
                yield Fragment(piece.event, piece.path, apply_edits(piece.text, within))
            start = end


def joined_deltas(events: Sequence[str | None]) -> tuple[JoinedText, ...]:
    """The texts that are split across events, or across the tokens of a plain body (a single event)."""
    found: dict[Path, list[Fragment]] = {}
    for number, data in enumerate(events):
        value = _parsed(data)
        outer = tuple(str(value.get(name)) for name in _OF_EVENT) if isinstance(value, Mapping) else ()
        for joined, path, text in _texts(value):
            found.setdefault((*outer, *joined), []).append(Fragment(number, path, text))
    return tuple(JoinedText(tuple(pieces)) for pieces in found.values() if len(pieces) > 1)


def with_fragments(data: str, pieces: Sequence[Fragment]) -> str:
    """The JSON of an event with other pieces. What repeats a token next to it is removed."""
    root = parse_spans(data)
    if root is None:
        return data
    edits = list[Edit]()
    for piece in pieces:
        if place := span_at(root, piece.path):
            edits.append((place.start, place.end, json_string(piece.text, data)))
            edits += _repetitions(root, piece.path)
    return apply_edits(data, edits)


def _parsed(data: str | None) -> Json:
    if data is None or not any(word in data for word in _WORDS):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _texts(value: Json) -> Iterator[tuple[Path, Path, str]]:
    """Each piece of a text in an event: which text it belongs to, its path and itself."""
    waiting: list[tuple[Path, Path, Json]] = [((), (), value)]
    while waiting:
        joined, path, inner = waiting.pop()
        if isinstance(inner, str) and _is_piece(path):
            yield joined, path, inner
        elif isinstance(inner, Mapping):
            waiting += [((*joined, key), (*path, key), each) for key, each in reversed(tuple(inner.items()))]
        elif isinstance(inner, list):
            every = "logprobs" in path
            waiting += [
                ((*joined, "*" if every else _number(each, index)), (*path, index), each)
                for index, each in reversed(tuple(enumerate(inner)))
            ]


def _number(value: Json, index: int) -> int | str:
    """The index of an item: as it states, or by its position."""
    stated = value.get("index") if isinstance(value, Mapping) else None
    return f"#{stated}" if isinstance(stated, int) else index


def _is_piece(path: Path) -> bool:
    if "logprobs" in path:
        return "top_logprobs" not in path and (path[-1] == "token" or path[-2:-1] == ("tokens",))
    return path[-1:] == ("delta",) or (path[-1:] == ("text",) and "choices" in path) or _is_within_delta(path)


def _is_within_delta(path: Path) -> bool:
    return "delta" in path and path[-1] not in _NOT_SPLIT


def _repetitions(root: JsonSpan, path: Path) -> Iterator[Edit]:
    """What repeats a token next to it: its bytes, and the alternatives."""
    if "logprobs" not in path:
        return
    *outer, last = path
    holder = (*outer[:-1],) if isinstance(last, int) else (*outer,)  # of a list of tokens, or of one
    for name, instead in (("bytes", "null"), ("top_logprobs", "null" if isinstance(last, int) else "[]")):
        if (place := span_at(root, (*holder, name))) is not None:
            yield place.start, place.end, instead


_WORDS = ('"delta"', '"text"', '"logprobs"')
_OF_EVENT = ("type", "item_id", "output_index", "content_index", "summary_index", "index")
_NOT_SPLIT = ("role", "type", "id", "item_id", "name", "object", "model", "status", "stop_reason")
