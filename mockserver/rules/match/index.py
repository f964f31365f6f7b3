"""An index of many conditions: it finds the few that can hold for a call.

A condition has clauses, which are sets of keys: a call must contain one key of each. Keys are looked up in dicts (whole
values, list elements) and in automata (pieces of text). Each condition is indexed under its rarest clause; one without
clauses is always tried. The result is a superset.

It reads a dozen predicates so that rules of any kind are indexed: of 1,000 rules on texts, patterns, models and system
prompts, a call is left with 2 to try, which takes an eightieth of the time for all; of 16, half of it.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from heapq import merge
from itertools import chain
from typing import Literal, NamedTuple

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.text import is_unicode
from mockserver.rules.match.conditions import All, Check, Condition, Either, Leaf, compile_check
from mockserver.rules.match.fields import Field, Read
from mockserver.rules.match.predicates import PLAIN, Lens, is_pattern, make_tuple, split_pieces
from mockserver.rules.match.regexes import find_literals

MIN_PIECE = 3  # shorter pieces occur in almost every text
_WINDOW = 32_768  # bytes given to an automaton at once, which bounds the memory its hits take
_FEW_PIECES = 16  # pieces searched at once in a long text, by vector instructions
_VERY_FEW_PIECES = 4  # pieces searched one by one in a short text
_SHORT_TEXT = 500  # characters of a text that is short
_FEW_CONDITIONS = 8  # conditions that are tried rather than looked up by a field that is costly to read
_VERY_FEW_CONDITIONS = 2  # the same, by any field


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


class ClauseCost(NamedTuple):
    """What it costs to look a condition up by a clause; the least is the best.

    Preferred are keys that few conditions share, of fields that are cheap to read and that many conditions can be
    looked up by; then long values, then a dict over an automaton.
    """

    sharers: int  # conditions that have its keys, too
    minus_readers: int  # the fewest conditions that can be looked up by one of its fields, negated
    minus_length: int  # of its shortest value, negated
    is_slow: bool  # an automaton is needed


class ClauseWeight(NamedTuple):
    """How rare the keys of a clause seem by themselves; the greatest is the rarest."""

    shortest: int  # length of a value
    is_quick: bool  # to look up: no automaton is needed


Clause = frozenset[IndexKey]
_NO_CLAUSE: Clause = frozenset()
Rows = tuple[int, ...]
Find = Callable[[Json], Rows]
Hits = list[tuple[int, int, int]]  # the number of a piece, and where it begins and ends


class Remainder(Struct, frozen=True, dict=True):
    """What is left to check of a condition for calls that meet one of its clauses."""

    condition: Condition
    clause: Clause

    @lazy_property
    def check(self) -> Check:
        return compile_check(_leave_out(self.condition, self.clause))


class RuleIndex:
    """Finds which of many conditions can hold for a call; `left` is what remains to be checked of each of them."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        choices = [tuple(list_clauses(condition)) for condition in conditions]
        costs = _rate_clauses(choices)
        chosen = [min(clauses, key=costs.__getitem__, default=_NO_CLAUSE) for clauses in choices]
        unread = _find_unread_fields(chosen)
        self.left: list[Condition | Remainder] = [*conditions]
        always = list[int]()
        tables: dict[KeyPlace, dict[Value, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row, clause in enumerate(chosen):
            if not clause or any(key.place.field in unread for key in clause):
                always.append(row)
                continue
            self.left[row] = Remainder(conditions[row], clause)
            for key in clause:
                tables[key.place][key.value].append(row)
        self._always = tuple(always)
        self._apart = self._always if len(always) > _FEW_CONDITIONS else ()  # too many to be found with each value
        self._finders = _make_finders(tables, () if self._apart else self._always)

    def find_candidates(self, call: Call) -> Iterable[int]:
        """Return the numbers of all conditions that may hold, ascending, without duplicates."""
        rows: Rows = ()
        for read, find in self._finders:
            found = find(read(call))
            if found:
                rows = _unite((rows, found)) if rows else found
        return merge(self._apart, rows) if self._apart else rows or self._always


class FewIndex:
    """No index: trying a few conditions is faster than indexing them."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self.left: Sequence[Condition | Remainder] = conditions
        self._all = range(len(conditions))

    def find_candidates(self, call: Call) -> Iterable[int]:
        return self._all


class JoinedIndex:
    """Two indexes as one: the conditions of the first, followed by those of the other."""

    def __init__(self, first: "Index", other: "Index") -> None:
        self.left: Sequence[Condition | Remainder] = (*first.left, *other.left)
        self._first = first
        self._size = len(first.left)
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


def _rate_clauses(choices: Sequence[Sequence[Clause]]) -> Mapping[Clause, ClauseCost]:
    """Return what it costs to look a condition up by one of the clauses that each has."""
    times = Counter(chain.from_iterable(choices))
    sharers = Counter[IndexKey]()
    readers = Counter[Field]()
    for clause, count in times.items():
        for key in clause:
            sharers[key] += count
        for field in _list_fields(clause):
            readers[field] += count
    costs = dict[Clause, ClauseCost]()
    for clause in times:
        weight = _weigh(clause)
        shared = sum([sharers[key] + _FEW_CONDITIONS * key.place.field.costly for key in clause])
        fewest_readers = min([readers[field] for field in _list_fields(clause)])
        costs[clause] = ClauseCost(shared, -fewest_readers, minus_length=-weight.shortest, is_slow=not weight.is_quick)
    return costs


def _list_fields(clause: Clause) -> Set[Field]:
    return {key.place.field for key in clause}


def _find_unread_fields(chosen: Sequence[Clause]) -> Set[Field]:
    """Return the fields by which so few conditions are looked up that it takes less to try these."""
    counts = Counter(field for clause in chosen for field in _list_fields(clause))
    few = {True: _FEW_CONDITIONS, False: _VERY_FEW_CONDITIONS}
    return {field for field, count in counts.items() if count <= few[field.costly]}


def _leave_out(condition: Condition, clause: Clause) -> Condition:
    """Return a condition without what one of its clauses, which is met, says already."""
    match condition:
        case Leaf() if _is_settled(condition, clause):
            return All()
        case All(parts):
            return All(tuple([_leave_out(part, clause) for part in parts]))
    return condition


def _is_settled(leaf: Leaf, clause: Clause) -> bool:
    """Return whether a clause says all that a leaf asks for: that a text is one of some, or contains one."""
    if leaf.negative or clause not in _list_clauses_of_leaf(leaf) or any(type(key.value) is not str for key in clause):
        return False
    if all(key.place.part == "whole" for key in clause):
        return True
    if leaf.predicate == "glob":
        first, *pieces, last = split_pieces(leaf.expected)
        return len(pieces) == 1 and not (first or last or leaf.lens.squeeze)
    return leaf.predicate == "contains" and len(make_tuple(leaf.expected)) == 1 and not leaf.lens.squeeze


def _weigh(clause: Clause) -> ClauseWeight:
    lengths = [len(key.value) if isinstance(key.value, str) else 1 for key in clause]
    return ClauseWeight(min(lengths), all(key.place.part != "piece" for key in clause))


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


def _make_finders(
    tables: Mapping[KeyPlace, Mapping[Value, Sequence[int]]], always: Sequence[int]
) -> Sequence[tuple[Read, Find]]:
    """Return the fields to read, each with what finds the conditions for its value, and those that are always tried."""
    finders: dict[Read, list[Find]] = defaultdict(list)
    for place, table in tables.items():
        rows = {value: _unite((always, found)) for value, found in table.items()}
        finders[place.field.read].append(_make_finder(place, rows))
    return tuple([(read, _join_finders(finds)) for read, finds in finders.items()])


def _join_finders(finders: Sequence[Find]) -> Find:
    if len(finders) == 1:
        return finders[0]
    return lambda value: _unite([find(value) for find in finders])


def _unite(found: Sequence[Sequence[int]]) -> Rows:
    """Return the numbers of all that were found, ascending, without duplicates."""
    return tuple(sorted({*chain(*found)}))


def _make_finder(place: KeyPlace, rows: Mapping[Value, Rows]) -> Find:
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

    def find(value: Json) -> Rows:
        if isinstance(value, str):
            if len(value) > longest:
                return ()
            if lens is not None:
                value = lens(value)
        elif not isinstance(value, (int, float)):  # a union takes longer
            return ()
        return rows.get(value, ())

    return find


def _find_elements(rows: Mapping[Json, Rows], lens: Lens, value: Json) -> Rows:
    if not value or not isinstance(value, list | tuple):
        return ()
    return _unite([rows.get(lens(element), ()) for element in value if isinstance(element, str)])


def _make_piece_finder(rows: Mapping[Json, Rows], lens: Lens | None) -> Find:
    import ahocorasick_rs  # imported only if there are pieces to look for

    few = [(str(piece), found) for piece, found in rows.items()] if len(rows) <= _VERY_FEW_PIECES else []
    sought = [str(piece).encode("utf-8", "replace") for piece in rows]
    found = tuple(rows.values())
    search = ahocorasick_rs.BytesAhoCorasick(sought).find_matches_as_indexes  # half as fast for str
    search_windows = _make_window_search(sought, search)

    def find(value: Json) -> Rows:
        if not isinstance(value, str):
            return ()
        text = value if lens is None else lens(value)
        if few and len(text) <= _SHORT_TEXT:
            return _unite([rows for piece, rows in few if piece in text])
        data = text.encode("utf-8", "surrogatepass")
        hits = search(data, overlapping=True) if len(data) <= _WINDOW else search_windows(data)
        if len(hits) == 1:
            return found[hits[0][0]]
        return _unite([found[piece] for piece in {hit[0] for hit in hits}]) if hits else ()

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
