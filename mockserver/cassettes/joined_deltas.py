"""The texts that an answer tells in pieces: the deltas of its events, the tokens of its logprobs.

A secret that a model repeats stands in no piece; it stands in what the pieces say together.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from mockserver.cassettes.json_spans import Edit, Key, Place, at, edited, placed, written
from mockserver.core.json import Json

Path = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text: the number of its event, where it stands in that event's JSON, and what it says."""

    event: int
    path: Path
    said: str


@dataclass(frozen=True, slots=True)
class Lane:
    """Pieces that say one text together."""

    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """What they say."""
        return "".join(piece.said for piece in self.pieces)

    def without(self, edits: Sequence[Edit]) -> Iterator[Piece]:
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
                yield Piece(piece.event, piece.path, edited(piece.said, within))
            start = end


def lanes(events: Sequence[str | None]) -> tuple[Lane, ...]:
    """The texts that the events of an answer tell in pieces; of a plain answer its body is the only event."""
    found: dict[Path, list[Piece]] = {}
    for number, data in enumerate(events):
        value = _parsed(data)
        outer = tuple(str(value.get(name)) for name in _OF_EVENT) if isinstance(value, Mapping) else ()
        for lane, path, said in _texts(value):
            found.setdefault((*outer, *lane), []).append(Piece(number, path, said))
    return tuple(Lane(tuple(pieces)) for pieces in found.values() if len(pieces) > 1)


def changed(data: str, pieces: Sequence[Piece]) -> str:
    """The JSON of an event with other pieces. Of a token, what tells of it beside goes too."""
    root = placed(data)
    if root is None:
        return data
    edits = list[Edit]()
    for piece in pieces:
        if place := at(root, piece.path):
            edits.append((place.start, place.end, written(piece.said, data)))
            edits += _beside(root, piece.path)
    return edited(data, edits)


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


def _beside(root: Place, path: Path) -> Iterator[Edit]:
    """What tells of a token beside it: its bytes, and what nearly stood there."""
    if "logprobs" not in path:
        return
    *outer, last = path
    holder = (*outer[:-1],) if isinstance(last, int) else (*outer,)  # of a list of tokens, or of one
    for name, instead in (("bytes", "null"), ("top_logprobs", "null" if isinstance(last, int) else "[]")):
        if (place := at(root, (*holder, name))) is not None:
            yield place.start, place.end, instead


_WORDS = ('"delta"', '"text"', '"logprobs"')
_OF_EVENT = ("type", "item_id", "output_index", "content_index", "summary_index", "index")
_SAID_ONCE = ("role", "type", "id", "item_id", "name", "object", "model", "status", "stop_reason")
