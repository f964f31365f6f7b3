"""Edits the values of JSON texts, also texts that are split across events."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

from msgspec import Struct

from mockserver.cassettes.bodies import COMPACT, StyledJson, guess_styles, parse_json
from mockserver.cassettes.yaml_text import Verbatim
from mockserver.config.errors import CassetteError
from mockserver.config.types import JsonPath
from mockserver.core.json import Json, try_parse

Key = str | int
EventTexts = tuple[str | None, ...]  # the data of each event
Path = tuple[Key, ...]


class Edit(NamedTuple):
    """A change of a text, or of bytes: what replaces the part between two positions."""

    start: int
    end: int
    instead: str


def read_json(text: str) -> StyledJson | None:
    """Return a JSON text in its style, or one like it; None if it is invalid.

    Raises CassetteError if an object repeats a key: its value would hide the others.
    """
    try:
        return parse_json(text) or StyledJson(_LENIENT.decode(text), next(guess_styles(text), COMPACT))
    except (ValueError, RecursionError):
        return None


def edit_path(tree: Json, path: JsonPath, change: Callable[[Json], Json]) -> Json:
    """Return the tree with every value changed that the path matches."""
    if not path:
        return change(tree)
    step = path[0]

    def edit(inner: Json, *, matches: bool) -> Json:
        inner = edit_path(inner, path[1:], change) if matches else inner
        return edit_path(inner, path, change) if step.deep else inner

    if isinstance(tree, dict):
        return {key: edit(inner, matches=step.key in (None, key)) for key, inner in tree.items()}
    if isinstance(tree, list):
        wanted = step.key + len(tree) if isinstance(step.key, int) and step.key < 0 else step.key
        return [edit(inner, matches=wanted in (None, at)) for at, inner in enumerate(tree)]
    return tree


def map_scalars(tree: Json, change: Callable[[Json], Json], *, keys: bool = False) -> Json:
    """Return the tree with every scalar changed; `keys`: the names in objects too."""
    if isinstance(tree, dict):
        changed = dict[str, Json]()
        for key, inner in tree.items():
            name = _find_unused(change(key), changed) if keys else key
            changed[name] = map_scalars(inner, change, keys=keys)
        return changed
    return [map_scalars(inner, change, keys=keys) for inner in tree] if isinstance(tree, list) else change(tree)


def _find_unused(name: str, taken: Mapping[str, Json]) -> str:
    numbered = (f"{name} {number}" for number in count(2))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def find_path(tree: Json, value: str) -> str | None:
    """Return the JSONPath of the first text that contains a value as JSON writes it; of a name, that of its object."""
    waiting = [("$", tree)]
    while waiting:
        path, place = waiting.pop()
        texts = place if isinstance(place, dict) else (place,)
        if any(value in _escape(text) for text in texts):
            return path
        if isinstance(place, dict | list):
            members = place.items() if isinstance(place, dict) else enumerate(place)
            waiting += reversed([(path + _write_step(key), inner) for key, inner in members])
    return None


def _escape(text: Json) -> str:
    return json.dumps(text, ensure_ascii=False) if isinstance(text, str) else ""


def _write_step(key: Key) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the text after these edits, which are in order and do not overlap."""
    pieces = []
    reached = 0
    for start, end, instead in edits:
        pieces += [text[reached:start], instead]
        reached = end
    return "".join((*pieces, text[reached:]))


def _refuse_repeats(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise CassetteError("scrub: an object in a JSON body has a key twice, so that not all of it can be redacted")
    return made


_LENIENT = json.JSONDecoder(
    object_pairs_hook=_refuse_repeats, parse_float=Verbatim, parse_int=Verbatim, parse_constant=Verbatim, strict=False
)
_PLAIN = re.compile(r"[^\W\d][\w-]*")


class Fragment(Struct, frozen=True):
    event: int  # its number
    path: Path
    text: str


class JoinedText(Struct, frozen=True):
    """A text that is split into pieces."""

    pieces: tuple[Fragment, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def apply(self, edits: Sequence[Edit]) -> Iterator[Fragment]:
        """Yield the pieces that edits of the whole text change, in order; replacements go to the first piece."""
        start = 0
        first = 0
        for piece in self.pieces:
            end = start + len(piece.text)
            while first < len(edits) and edits[first].end <= start:
                first += 1
            within = list[Edit]()
            for left, right, instead in islice(edits, first, None):
                if left >= end:
                    break
                instead = instead if left >= start else ""
                within.append(Edit(max(left, start) - start, min(right, end) - start, instead))
            if within:
                yield Fragment(piece.event, piece.path, apply_edits(piece.text, within))
            start = end


def join_deltas(events: Sequence[str | None]) -> tuple[JoinedText, ...]:
    """Return the texts that are split across events, or across the tokens of a plain body (a single event)."""
    found: dict[Path, list[Fragment]] = {}
    for number, data in enumerate(events):
        value = try_parse(data) if data is not None and any(word in data for word in _WORDS) else None
        if data and data[0] not in '{["':  # no JSON, or a number: the events may be one text
            found.setdefault((), []).append(Fragment(number, (), data))
        outer = tuple(str(value.get(name)) for name in _EVENT_IDENTITY) if isinstance(value, Mapping) else ()
        for piece in _list_pieces(value):
            found.setdefault((*outer, *piece.joined), []).append(Fragment(number, piece.path, piece.text))
    return tuple(JoinedText(tuple(pieces)) for pieces in found.values() if len(pieces) > 1)


def edit_split_texts(events: EventTexts, find: Callable[[str], Sequence[Edit]]) -> EventTexts:
    """Return the events with edits of the texts that are split across several; `find` returns those of one text."""
    pieces: dict[int, list[Fragment]] = defaultdict(list)
    for joined in join_deltas(events):
        for piece in joined.apply(edits) if (edits := find(joined.text)) else ():
            pieces[piece.event].append(piece)
    return tuple(
        replace_fragments(data, pieces[number]) if data is not None and number in pieces else data
        for number, data in enumerate(events)
    )


def replace_fragments(data: str, pieces: Sequence[Fragment]) -> str:
    """Return the JSON of an event with other pieces, or null if it is too deep.

    What repeats a token next to it is removed.
    """
    if not pieces[0].path:
        return pieces[0].text
    found = read_json(data)
    if found is None:
        return data
    for piece in pieces:
        *outer, last = piece.path
        holder = _find_value(found.tree, outer)
        holder[last] = piece.text
        if "logprobs" in outer:
            token = _find_value(found.tree, outer[:-1]) if isinstance(last, int) else holder
            repeated: dict[str, Json] = {"bytes": None, "top_logprobs": None if isinstance(last, int) else []}
            token |= {name: instead for name, instead in repeated.items() if name in token}
    try:
        return found.write()
    except RecursionError:
        return "null"


def _find_value(tree: Any, path: Sequence[Key]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


class _Piece(NamedTuple):
    """A piece of a text in an event: its path there, and `joined`, which is equal for all pieces of one text."""

    joined: Path
    path: Path
    text: str


def _list_pieces(value: Json) -> Iterator[_Piece]:
    """Yield each piece of a text in an event."""
    waiting: list[tuple[Path, Path, Json]] = [((), (), value)]
    while waiting:
        joined, path, inner = waiting.pop()
        if isinstance(inner, str) and _is_piece(path):
            yield _Piece(joined, path, inner)
        elif isinstance(inner, Mapping):
            waiting += [((*joined, key), (*path, key), each) for key, each in reversed(tuple(inner.items()))]
        elif isinstance(inner, list):
            every = "logprobs" in path or not path  # of a list of events in one body, all belong together
            waiting += [
                ((*joined, "*" if every else _find_number(each, index)), (*path, index), each)
                for index, each in reversed(tuple(enumerate(inner)))
            ]


def _find_number(value: Json, index: int) -> int | str:
    """Return the index of an item: as it states, or by its position."""
    stated = value.get("index") if isinstance(value, Mapping) else None
    return f"#{stated}" if isinstance(stated, int) else index


def _is_piece(path: Path) -> bool:
    if "logprobs" in path:
        return "top_logprobs" not in path and (path[-1] == "token" or path[-2:-1] == ("tokens",))
    if path[-1:] in (("delta",), ("completion",)) or (path[-1:] == ("text",) and not _HOLD_PIECES.isdisjoint(path)):
        return True
    if path in _OLLAMA_TEXTS:
        return True
    return "delta" in path and path[-1] not in _NOT_SPLIT


_HOLD_PIECES = frozenset(("choices", "candidates"))
_OLLAMA_TEXTS = (("message", "content"), ("message", "thinking"), ("response",), ("thinking",))  # of Ollama's streams
_WORDS = ('"delta"', '"text"', '"completion"', '"logprobs"', '"done"')
_EVENT_IDENTITY = ("type", "item_id", "output_index", "content_index", "summary_index", "index", "contentBlockIndex")
_NOT_SPLIT = ("role", "type", "id", "item_id", "name", "object", "model", "status", "stop_reason")
