"""Where the values of a JSON text stand, so that some can be replaced and all else stays as it was written.

Gives no value back but the texts.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # known to all but its stub

from mockserver.config.types import JsonPath, Step

Key = str | int
Edit = tuple[int, int, str]  # from where to where, and what stands there instead


@dataclass(slots=True)
class Place:
    """Where a value stands: a text with what it says, an object or a list with what is within it, or none of these.

    `inner` has an object's members, or a list's by number; `names` where an object's names stand.
    """

    start: int
    end: int = 0
    said: str | None = None
    inner: "list[tuple[Key, Place]] | None" = None
    names: "list[Place] | None" = None


def placed(text: str) -> Place | None:
    """Where all that a JSON text holds stands; None where it is none, or is deeper than Python's clients read."""
    try:
        json.loads(text, strict=False)  # much quicker to say no
        return _Reading(text).root()
    except (ValueError, RecursionError):
        return None


def found(root: Place, path: JsonPath) -> list[Place]:
    """The places that a path leads to, each once."""
    reached = [root]
    for step in path:
        among = _everything(reached) if step.deep else reached
        reached = [place for outer in among for place in _children(outer, step)]
    return reached


def at(root: Place, keys: Iterable[Key]) -> Place | None:
    """The place that names and numbers lead to; of a name that stands twice, the last."""
    place: Place | None = root
    for key in keys:
        place = next((inner for name, inner in reversed((place and place.inner) or ()) if name == key), None)
    return place


def texts(root: Place) -> Iterator[Place]:
    """The texts in it, names included, and what is neither text nor object nor list."""
    for place in _everything([root]):
        yield from place.names or ()
        if place.inner is None:
            yield place


def path_of(root: Place, offset: int) -> str:
    """The JSONPath of the innermost value that stands at an offset."""
    place: Place | None = root
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


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text after these edits; of one within another, only the outer one counts."""
    pieces, reached = [], 0
    for start, end, instead in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if start >= reached:
            pieces += [text[reached:start], instead]
            reached = end
    return "".join((*pieces, text[reached:]))


def written(said: str, text: str) -> str:
    """What a text says as JSON, in the manner of the text that it is to stand in: what is not ASCII escaped, or not."""
    return json.dumps(said, ensure_ascii=text.isascii())


def _children(place: Place, step: Step) -> Iterator[Place]:
    inner = place.inner or []
    if step.key is None:
        yield from (each for _, each in inner)
        return
    key = step.key
    if isinstance(key, int) and key < 0 and place.names is None:
        key += len(inner)
    yield from (each for name, each in inner if name == key)


def _everything(roots: Sequence[Place]) -> Iterator[Place]:
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
        self._open: list[Place] = []

    def root(self) -> Place:
        root = self._value()
        while self._open:
            self._within(self._open[-1])
        if self._next():
            raise ValueError
        return root

    def _within(self, outer: Place) -> None:
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

    def _name(self, outer: Place) -> str:
        if self._next() != '"':
            raise ValueError
        name = self._string()
        if outer.names is not None:
            outer.names.append(name)
        if self._next() != ":":
            raise ValueError
        self._at += 1
        return name.said or ""

    def _value(self) -> Place:
        """The value that begins here; an object or a list stays open."""
        sign = self._next()
        if sign == '"':
            return self._string()
        place = Place(self._at)
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

    def _string(self) -> Place:
        start = self._at
        said, self._at = scanstring(self._text, start + 1, False)
        return Place(start, self._at, said)

    def _next(self) -> str:
        """The next letter that is no blank; empty at the end."""
        blanks = _BLANKS.match(self._text, self._at)
        self._at = blanks.end() if blanks else self._at
        return self._text[self._at : self._at + 1]


_BLANKS = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity")
_PLAIN = re.compile(r"[^\W\d][\w-]*")
