"""Where the values of a JSON text stand, so that some can be replaced and all else stays as it was written.

Gives no value back but the texts.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from json.decoder import scanstring  # type: ignore[attr-defined]  # known to all but its stub

from mockserver.config.types import JsonPath, Step
from mockserver.core.json import Json

Key = str | int
Edit = tuple[int, int, str]  # from where to where, and what stands there instead


@dataclass(slots=True)
class JsonSpan:
    """Where a value stands: a text with what it says, an object or a list with what is within it, or none of these.

    `inner` has an object's members, or a list's by number; `names` where an object's names stand.
    """

    start: int
    end: int = 0
    said: str | None = None
    inner: "list[tuple[Key, JsonSpan]] | None" = None
    names: "list[JsonSpan] | None" = None


def parse_spans(text: str) -> JsonSpan | None:
    """Where all that a JSON text holds stands; None where it is none, or is deeper than Python's clients read."""
    try:
        json.loads(text, strict=False)  # much quicker to say no
        return _Reading(text).root()
    except (ValueError, RecursionError):
        return None


def find_spans(root: JsonSpan, path: JsonPath) -> list[JsonSpan]:
    """The places that a path leads to, each once."""
    reached = [root]
    for step in path:
        among = _everything(reached) if step.deep else reached
        reached = [place for outer in among for place in _children(outer, step)]
    return reached


def span_at(root: JsonSpan, keys: Iterable[Key]) -> JsonSpan | None:
    """The place that names and numbers lead to; of a name that stands twice, the last."""
    place: JsonSpan | None = root
    for key in keys:
        place = next((inner for name, inner in reversed((place and place.inner) or ()) if name == key), None)
    return place


def text_spans(root: JsonSpan) -> Iterator[JsonSpan]:
    """The texts in it, names included, and what is neither text nor object nor list."""
    for place in _everything([root]):
        yield from place.names or ()
        if place.inner is None:
            yield place


def path_of(root: JsonSpan, offset: int) -> str:
    """The JSONPath of the innermost value that stands at an offset."""
    place: JsonSpan | None = root
    shown = "$"
    while place and place.inner:
        members = (member for member in place.inner if member[1].start <= offset < member[1].end)
        name, place = next(members, ("", None))
        shown += shown_key(name) if place else ""
    return shown


def shown_key(key: Key) -> str:
    """A name or number as JSONPath has it."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text after these edits; of one within another, only the outer one counts."""
    pieces, reached = [], 0
    for start, end, instead in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if start >= reached:
            pieces += [text[reached:start], instead]
            reached = end
    return "".join((*pieces, text[reached:]))


def json_string(said: str, text: str) -> str:
    """What a text says as JSON, in the manner of the text that it is to stand in: what is not ASCII escaped, or not."""
    return json.dumps(said, ensure_ascii=text.isascii())


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
    """These and all within them, each once, in the order of the text."""
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


class _Reading:
    """One reading of a text, from its beginning to its end. Raises ValueError."""

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
        """The next member of what is open, or its end."""
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
        return name.said or ""

    def _value(self) -> JsonSpan:
        """The value that begins here; an object or a list stays open."""
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
        said, self._at = scanstring(self._text, start + 1, False)
        return JsonSpan(start, self._at, said)

    def _next(self) -> str:
        """The next letter that is no blank; empty at the end."""
        blanks = _BLANKS.match(self._text, self._at)
        self._at = blanks.end() if blanks else self._at
        return self._text[self._at : self._at + 1]


_BLANKS = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity")
_PLAIN = re.compile(r"[^\W\d][\w-]*")


Path = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a text: the number of its event, where it stands in that event's JSON, and what it says."""

    event: int
    path: Path
    said: str


@dataclass(frozen=True, slots=True)
class JoinedText:
    """Pieces that say one text together."""

    pieces: tuple[Fragment, ...]

    @property
    def text(self) -> str:
        """What they say."""
        return "".join(piece.said for piece in self.pieces)

    def without(self, edits: Sequence[Edit]) -> Iterator[Fragment]:
        """The pieces that change when the whole text is edited: what replaces goes where the replaced began.

        The edits stand in order, none within another.
        """
        start = first = 0
        for piece in self.pieces:
            end = start + len(piece.said)
            while first < len(edits) and edits[first][1] <= start:
                first += 1
            within = list[Edit]()
            for left, right, instead in islice(edits, first, None):
                if left >= end:
                    break
                within.append((max(left, start) - start, min(right, end) - start, instead if left >= start else ""))
            if within:
                yield Fragment(piece.event, piece.path, apply_edits(piece.said, within))
            start = end


def joined_deltas(events: Sequence[str | None]) -> tuple[JoinedText, ...]:
    """The texts that the events of an answer tell in pieces; of a plain answer its body is the only event."""
    found: dict[Path, list[Fragment]] = {}
    for number, data in enumerate(events):
        value = _parsed(data)
        outer = tuple(str(value.get(name)) for name in _OF_EVENT) if isinstance(value, Mapping) else ()
        for lane, path, said in _texts(value):
            found.setdefault((*outer, *lane), []).append(Fragment(number, path, said))
    return tuple(JoinedText(tuple(pieces)) for pieces in found.values() if len(pieces) > 1)


def with_fragments(data: str, pieces: Sequence[Fragment]) -> str:
    """The JSON of an event with other pieces. Of a token, what tells of it beside goes too."""
    root = parse_spans(data)
    if root is None:
        return data
    edits = list[Edit]()
    for piece in pieces:
        if place := span_at(root, piece.path):
            edits.append((place.start, place.end, json_string(piece.said, data)))
            edits += _beside(root, piece.path)
    return apply_edits(data, edits)


def _parsed(data: str | None) -> Json:
    if data is None or not any(word in data for word in _WORDS):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _texts(value: Json) -> Iterator[tuple[Path, Path, str]]:
    """Each piece of a text in an event: the lane that it belongs to, its path and what it says."""
    waiting: list[tuple[Path, Path, Json]] = [((), (), value)]
    while waiting:
        lane, path, inner = waiting.pop()
        if isinstance(inner, str) and _is_piece(path):
            yield lane, path, inner
        elif isinstance(inner, Mapping):
            waiting += [((*lane, key), (*path, key), each) for key, each in reversed(tuple(inner.items()))]
        elif isinstance(inner, list):
            every = "logprobs" in path
            waiting += [
                ((*lane, "*" if every else _number(each, index)), (*path, index), each)
                for index, each in reversed(tuple(enumerate(inner)))
            ]


def _number(value: Json, index: int) -> int | str:
    """Which of a list it is: as it says itself, or by its place."""
    said = value.get("index") if isinstance(value, Mapping) else None
    return f"#{said}" if isinstance(said, int) else index


def _is_piece(path: Path) -> bool:
    if "logprobs" in path:
        return "top_logprobs" not in path and (path[-1] == "token" or path[-2:-1] == ("tokens",))
    return path[-1:] == ("delta",) or (path[-1:] == ("text",) and "choices" in path) or _is_within_delta(path)


def _is_within_delta(path: Path) -> bool:
    return "delta" in path and path[-1] not in _SAID_ONCE


def _beside(root: JsonSpan, path: Path) -> Iterator[Edit]:
    """What tells of a token beside it: its bytes, and what nearly stood there."""
    if "logprobs" not in path:
        return
    *outer, last = path
    holder = (*outer[:-1],) if isinstance(last, int) else (*outer,)  # of a list of tokens, or of one
    for name, instead in (("bytes", "null"), ("top_logprobs", "null" if isinstance(last, int) else "[]")):
        if (place := span_at(root, (*holder, name))) is not None:
            yield place.start, place.end, instead


_WORDS = ('"delta"', '"text"', '"logprobs"')
_OF_EVENT = ("type", "item_id", "output_index", "content_index", "summary_index", "index")
_SAID_ONCE = ("role", "type", "id", "item_id", "name", "object", "model", "status", "stop_reason")
