"""An index of many conditions: it finds the few that can hold for a call.

A condition has clauses, which are sets of keys: a call must contain one key of each. Keys are looked up in dicts (whole
values, list elements) and in automata (pieces of text). Each condition is indexed under its rarest clause; one without
clauses is always tried. The result is a superset.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from heapq import merge
from itertools import chain
from typing import Literal, NamedTuple

from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.text import is_unicode
from mockserver.rules.match.conditions import All, Condition, Either, Leaf
from mockserver.rules.match.fields import Field, Read
from mockserver.rules.match.predicates import PLAIN, Lens, find_literals, is_pattern, make_tuple, split_pieces

MIN_PIECE = 3  # shorter pieces occur in almost every text
_WINDOW = 32_768  # bytes given to an automaton at once, which bounds the memory its hits take
_FEW_PIECES = 16  # pieces searched at once in a long text, by vector instructions
_VERY_FEW_PIECES = 4  # pieces searched one by one in a short text
_SHORT_TEXT = 500  # characters of a text that is short
_FEW_CONDITIONS = 8  # conditions that are tried rather than looked up by a field that is costly to read


Value = str | float | bool


class KeyPlace(NamedTuple):
    """Where a key is looked up: in a field's whole value, its elements, or pieces of its normalised text."""

    part: Literal["whole", "element", "piece"]
    field: Field
    lens: Lens


class IndexKey(NamedTuple):
    """A value, and where a call must have it."""

    place: KeyPlace
    value: Value


Clause = frozenset[IndexKey]
Rows = tuple[int, ...]
Find = Callable[[Json], Iterable[Rows]]
Hits = list[tuple[int, int, int]]  # the number of a piece, and where it begins and ends


class RuleIndex:
    """Finds which of many conditions can hold for a call."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        choices = [tuple(list_clauses(condition)) for condition in conditions]
        keys = tuple(chain.from_iterable(chain.from_iterable(choices)))
        sharers = _count_sharers(keys)
        unread = _find_unread_fields(keys)
        always = list[int]()
        tables: dict[KeyPlace, dict[Value, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row, clauses in enumerate(choices):
            if unread:
                clauses = tuple(clause for clause in clauses if unread.isdisjoint(key.place.field for key in clause))
            if not clauses:
                always.append(row)
                continue
            for key in min(clauses, key=partial(_rate_cost, sharers)):
                tables[key.place][key.value].append(row)
        self._always = tuple(always)
        self._finders = _make_finders(tables)

    def find_candidates(self, call: Call) -> Iterable[int]:
        """Return the numbers of all conditions that may hold, ascending, without duplicates."""
        always = self._always
        found: list[Rows] = []  # annotated: `list[Rows]()` is thirty times slower
        for read, find in self._finders:
            value = read(call)
            if value is not None:
                found += find(value)
        if not found:
            return always
        rows = found[0] if len(found) == 1 else sorted({*chain(*found)})
        if not always:
            return rows
        return sorted((*always, *rows)) if len(always) <= _FEW_CONDITIONS else merge(always, rows)


class FewIndex:
    """No index: trying a few conditions is faster than indexing them."""

    def __init__(self, size: int) -> None:
        self._all = range(size)

    def find_candidates(self, call: Call) -> Iterable[int]:
        return self._all


class JoinedIndex:
    """Two indexes as one: `size` conditions of the first, followed by those of the other."""

    def __init__(self, first: "Index", size: int, other: "Index") -> None:
        self._first = first
        self._size = size
        self._other = other

    def find_candidates(self, call: Call) -> Iterator[int]:
        yield from self._first.find_candidates(call)
        yield from (self._size + row for row in self._other.find_candidates(call))


Index = RuleIndex | FewIndex | JoinedIndex


def list_clauses(condition: Condition) -> Iterator[Clause]:
    """Yield sets of keys: the condition can hold only for calls that have at least one key of each set."""
    match condition:
        case Leaf(negative=False):
            yield from _list_clauses_of_leaf(condition)
        case All(parts):
            for part in parts:
                yield from list_clauses(part)
        case Either(branches):
            rarest = [max(list_clauses(branch), key=_weigh, default=None) for branch in branches]
            if branches and None not in rarest:
                yield frozenset(chain.from_iterable(clause for clause in rarest if clause))


def _list_clauses_of_leaf(leaf: Leaf) -> Sequence[Clause]:
    """Return the clauses of a leaf. They are kept with it: very many rules may share one that they imply."""
    known: Sequence[Clause] | None = vars(leaf).get("clauses")
    if known is None:
        anchor = ANCHORS.get(leaf.predicate)
        known = vars(leaf)["clauses"] = [] if anchor is None else [*filter(None, anchor(leaf))]
    return known


def find_pinned(condition: Condition, field: str) -> frozenset[Json] | None:
    """Return the values that the field can have if the condition holds, or None if it can have any."""
    match condition:
        case All(parts):
            known = [values for part in parts if (values := find_pinned(part, field)) is not None]
            return frozenset.intersection(*known) if known else None
        case Either(branches):
            found = [values for branch in branches if (values := find_pinned(branch, field)) is not None]
            return frozenset().union(*found) if found and len(found) == len(branches) else None
    whole = next(list_clauses(condition), frozenset()) if condition.field.name == field else frozenset()
    return frozenset(key.value for key in whole) if whole and all(key.place.part == "whole" for key in whole) else None


def _count_sharers(keys: Sequence[IndexKey]) -> Counter[IndexKey]:
    """Return how many conditions share each key; more, if its field is costly to read."""
    sharers = Counter(keys)
    sharers.update({key: _FEW_CONDITIONS for key in keys if key.place.field.costly})
    return sharers


def _find_unread_fields(keys: Sequence[IndexKey]) -> Set[Field]:
    """Return the costly fields that so few keys look at that the index does not read them."""
    counts = Counter(key.place.field for key in keys if key.place.field.costly)
    return {field for field, count in counts.items() if count <= _FEW_CONDITIONS}


def _rate_cost(sharers: Counter[IndexKey], clause: Clause) -> tuple[int, int, bool]:
    # Prefer keys that few rules share, then long values, then a dict over an automaton.
    shortest, is_quick = _weigh(clause)
    return sum([sharers[key] for key in clause]), -shortest, not is_quick


def _weigh(clause: Clause) -> tuple[int, bool]:
    lengths = [len(key.value) if isinstance(key.value, str) else 1 for key in clause]
    return min(lengths), all(key.place.part != "piece" for key in clause)


def _anchor_whole(leaf: Leaf) -> Iterator[Clause]:
    if isinstance(leaf.expected, str | int | float):
        yield frozenset([_make_whole_key(leaf, leaf.expected)])


def _make_whole_key(leaf: Leaf, value: str | float) -> IndexKey:
    seen = leaf.lens(value) if isinstance(value, str) else value
    return IndexKey(KeyPlace("whole", leaf.field, leaf.lens), seen)


def _anchor_any(leaf: Leaf) -> Iterator[Clause]:
    each = [_make_value_clause(leaf, value) for value in leaf.expected]
    if all(each):
        yield frozenset(chain.from_iterable(each))


def _make_value_clause(leaf: Leaf, value: Json) -> Clause:
    if is_pattern(value):
        return max((clause for clause in _anchor_wildcards(leaf, value) if clause), key=_weigh, default=frozenset())
    return frozenset([_make_whole_key(leaf, value)]) if isinstance(value, str | int | float) else frozenset()


def _anchor_wildcards(leaf: Leaf, pattern: str) -> Iterator[Clause]:
    parts = split_pieces(pattern)
    if len(parts) == 1:
        yield frozenset([_make_whole_key(leaf, parts[0])])
        return
    for part in parts:
        yield _make_piece_clause(leaf, part)


def _anchor_pieces(leaf: Leaf) -> Iterator[Clause]:
    for text in make_tuple(leaf.expected):
        yield _make_piece_clause(leaf, text)


def _anchor_pattern(leaf: Leaf) -> Iterator[Clause]:
    if not leaf.lens.fold:  # a pattern ignores case in its own way
        for text in find_literals(leaf.expected):
            yield _make_piece_clause(leaf, text)


def _anchor_elements(leaf: Leaf) -> Iterator[Clause]:
    for value in make_tuple(leaf.expected):
        if isinstance(value, str) and not is_pattern(value):
            yield frozenset([IndexKey(KeyPlace("element", leaf.field, leaf.lens), leaf.lens(value))])


def _make_piece_clause(leaf: Leaf, text: str) -> Clause:
    # Squeezing changes only white space, so a single word can be looked up in the original text.
    words = leaf.lens(text).split() if leaf.lens.squeeze else [leaf.lens(text)]
    longest = max(words, key=len, default="")
    if len(longest) < MIN_PIECE or not is_unicode(longest):
        return frozenset()
    return frozenset([IndexKey(KeyPlace("piece", leaf.field, Lens(fold=leaf.lens.fold)), longest)])


def _make_finders(tables: Mapping[KeyPlace, Mapping[Value, list[int]]]) -> tuple[tuple[Read, Find], ...]:
    """Return the fields to read, and what finds the conditions for the value of each."""
    finders: dict[Read, list[Find]] = defaultdict(list)
    for place, table in tables.items():
        finders[place.field.read].append(_make_finder(place, table))
    return tuple([(read, _join_finders(finds)) for read, finds in finders.items()])


def _join_finders(finders: Sequence[Find]) -> Find:
    if len(finders) == 1:
        return finders[0]
    return lambda value: [rows for find in finders for rows in find(value)]


def _make_finder(place: KeyPlace, table: Mapping[Value, list[int]]) -> Find:
    rows = {value: tuple(dict.fromkeys(found)) for value, found in table.items()}
    lens = None if place.lens == PLAIN else place.lens
    match place.part:
        case "whole":
            return _make_whole_finder(rows, lens)
        case "element":
            return partial(_find_elements, rows, place.lens)
        case "piece":
            return _make_piece_finder(rows, lens)


def _make_whole_finder(rows: Mapping[Json, Rows], lens: Lens | None) -> Find:
    longest = max(len(str(value)) for value in rows)
    if lens is not None and lens.squeeze:  # squeezing makes texts shorter, folding does not
        longest = sys.maxsize

    def find(value: Json) -> Iterable[Rows]:
        if isinstance(value, str):
            if len(value) > longest:
                return ()
            if lens is not None:
                value = lens(value)
        elif not isinstance(value, (int, float)):  # a union takes longer
            return ()
        found = rows.get(value)
        return () if found is None else (found,)

    return find


def _find_elements(rows: Mapping[Json, Rows], lens: Lens, value: Json) -> Iterable[Rows]:
    if not value or not isinstance(value, list | tuple):
        return ()
    return [found for element in value if isinstance(element, str) and (found := rows.get(lens(element)))]


def _make_piece_finder(rows: Mapping[Json, Rows], lens: Lens | None) -> Find:
    import ahocorasick_rs  # imported only if there are pieces to look for

    few = [(str(piece), found) for piece, found in rows.items()] if len(rows) <= _VERY_FEW_PIECES else []
    sought = [str(piece).encode("utf-8", "replace") for piece in rows]
    found = tuple(rows.values())
    search = ahocorasick_rs.BytesAhoCorasick(sought).find_matches_as_indexes  # half as fast for str
    search_windows = _make_window_search(sought, search)

    def find(value: Json) -> Iterable[Rows]:
        if not isinstance(value, str):
            return ()
        text = value if lens is None else lens(value)
        if few and len(text) <= _SHORT_TEXT:
            held: list[Rows] = []
            for piece, its_rows in few:
                if piece in text:
                    held.append(its_rows)
            return held
        data = text.encode("utf-8", "replace")
        hits = search(data, overlapping=True) if len(data) <= _WINDOW else search_windows(data)
        if len(hits) < 2:
            return (found[hits[0][0]],) if hits else ()
        return [found[piece] for piece in {hit[0] for hit in hits}]

    return find


def _make_window_search(sought: Sequence[bytes], search: Callable[..., Hits]) -> Callable[[bytes], Hits]:
    """Return what searches a long text for pieces, one window after another."""
    from ahocorasick_rs import BytesAhoCorasick, MatchKind

    overlap = max(map(len, sought)) - 1
    may_have_hits: Callable[[bytes], object] | None = None
    if len(sought) <= _FEW_PIECES:
        # This leaves out hits that overlap, but where there are none it is twenty times as fast.
        may_have_hits = BytesAhoCorasick(sought, MatchKind.LeftmostFirst).find_matches_as_indexes

    def search_windows(data: bytes) -> Hits:
        starts = range(0, len(data), _WINDOW)
        windows: Iterable[bytes] = (data[start : start + _WINDOW + overlap] for start in starts)
        if may_have_hits is not None:
            windows = filter(may_have_hits, windows)
        return [hit for window in windows for hit in search(window, overlapping=True)]

    return search_windows


ANCHORS: Mapping[str, Callable[[Leaf], Iterator[Clause]]] = {
    "equals": _anchor_whole,
    "in": _anchor_any,
    "glob": lambda leaf: _anchor_wildcards(leaf, leaf.expected),
    "contains": _anchor_pieces,
    "starts_with": _anchor_pieces,
    "ends_with": _anchor_pieces,
    "regex": _anchor_pattern,
    "includes": _anchor_elements,
}
