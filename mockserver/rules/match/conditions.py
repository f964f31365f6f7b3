"""Conditions: a tree of leaves that each test one field, joined by `All` and `Either`; and an index of many.

The tree has no `not`: negation is pushed down to the leaves, so that each result can be read by itself. The tree
explains a condition; a single function, compiled from the tree on first use, tells whether it holds.

The index finds the few conditions that can hold for a call. A condition has clauses, which are sets of keys: a call
must contain one key of each. Keys are looked up in dicts (whole values, list elements) and in automata (pieces of
text). Each condition is indexed under its rarest clause; one without clauses is always tried. The result is a superset.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import chain, groupby
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.exchange import ConditionResult
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.text import is_unicode
from mockserver.rules.match.fields import Field, Read, find_nested_param
from mockserver.rules.match.predicates import PLAIN, Lens, Test, find_literals, is_pattern, make_tuple, split_pieces

Groups = Mapping[str, str]
NO_GROUPS: Groups = MappingProxyType({})
Check = Callable[[Call], bool | Groups]  # as a Test: groups mean that it holds


class _Node(Struct, frozen=True, dict=True):
    """A part of the tree, with the function that tests calls for it."""

    @lazy_property
    def check(self) -> Check:
        return compile_check(self)  # type: ignore[arg-type]  # every node is a Condition

    def holds(self, call: Call) -> Groups | None:
        """Return the named groups of the condition's patterns (often none) if it holds, else None.

        Raises RuleError if a pattern exceeds its time limit.
        """
        found = self.check(call)
        if found is True:
            return NO_GROUPS
        return found or None


class Leaf(_Node, frozen=True):
    """One predicate applied to one field. An `implied` leaf was not written by the user."""

    field: Field
    predicate: str
    expected: Json
    test: Test
    lens: Lens = PLAIN
    negative: bool = False
    implied: bool = False

    @property
    def leaves(self) -> tuple["Leaf", ...]:
        return (self,)

    @property
    def uses(self) -> frozenset[str]:
        return frozenset((self.field.family,))

    def explain(self, call: Call) -> tuple[ConditionResult, ...]:
        """Return what was expected, what was found and whether it held; a pattern that times out does not hold."""
        actual = self.field.read(call)
        ok = self._holds_for(actual)
        if ok and self.implied:
            return ()
        predicate = f"not {self.predicate}" if self.negative else self.predicate
        ignoring = ("ignore_case",) * self.lens.fold + ("ignore_space",) * self.lens.squeeze
        nested = "" if ok or actual is not None else find_nested_param(self.field.name, call)
        return (
            ConditionResult(
                self.field.name,
                predicate,
                expected=self.expected,
                actual=actual,
                ok=ok,
                ignoring=ignoring,
                elsewhere=nested,
            ),
        )

    def count_held(self, call: Call) -> tuple[int, int]:
        """Return how many conditions hold, and how many there are."""
        ok = self._holds_for(self.field.read(call))
        return (0, 0) if ok and self.implied else (int(ok), 1)

    def negate(self) -> "Leaf":
        test = self.test
        return replace(self, test=lambda actual: not test(actual), negative=not self.negative)

    def _holds_for(self, actual: Json) -> bool:
        try:
            return bool(self.test(actual))
        except RuleError:
            return False


class _Joined(_Node, frozen=True):
    parts: tuple["Condition", ...] = ()

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    @property
    def uses(self) -> frozenset[str]:
        return frozenset(leaf.field.family for leaf in self.leaves)


class All(_Joined, frozen=True):
    """Holds if every part holds; without parts, it always holds."""

    def explain(self, call: Call) -> tuple[ConditionResult, ...]:
        return tuple(result for part in self.parts for result in part.explain(call))

    def count_held(self, call: Call) -> tuple[int, int]:
        held = total = 0
        for part in self.parts:
            part_held, part_total = part.count_held(call)
            held += part_held
            total += part_total
        return held, total

    def negate(self) -> "Condition":
        return Either(tuple(part.negate() for part in self.parts))


class Either(_Joined, frozen=True):
    """Holds if at least one part holds; without parts, it never holds."""

    def explain(self, call: Call) -> tuple[ConditionResult, ...]:
        nearest = self._find_nearest(call)
        return () if nearest is None else nearest.explain(call)

    def count_held(self, call: Call) -> tuple[int, int]:
        nearest = self._find_nearest(call)
        return (0, 1) if nearest is None else nearest.count_held(call)

    def negate(self) -> "Condition":
        return All(tuple(part.negate() for part in self.parts))

    def _find_nearest(self, call: Call) -> "Condition | None":
        return max(self.parts, key=lambda part: measure_nearness(part, call), default=None)


Condition = Leaf | All | Either


def compile_check(condition: Condition) -> Check:
    """Return the function that tests a call for a condition: each leaf costs one read and one test."""
    match condition:
        case Leaf():
            read, test = _make_step(condition)
            return lambda call: test(read(call))
        case All():
            return _check_all(tuple(map(_make_step, _put_cheap_first(_flatten(condition)))))
    return _check_any(tuple(map(_make_step, condition.parts)))


_Step = tuple[Callable[[Call], Any], Callable[[Any], bool | Groups]]  # what is read, and its test


def _check_all(steps: tuple[_Step, ...]) -> Check:
    def check(call: Call) -> bool | Groups:
        groups = None
        for read, test in steps:
            found = test(read(call))
            if found is True:
                continue
            if not found:
                return False
            groups = found if groups is None else {**groups, **found}
        return True if groups is None else groups

    return check


def _check_any(steps: tuple[_Step, ...]) -> Check:
    def check(call: Call) -> bool | Groups:
        for read, test in steps:
            if found := test(read(call)):
                return found
        return False

    return check


def _make_step(condition: Condition) -> _Step:
    if not isinstance(condition, Leaf):
        return (lambda call: call), condition.check
    needs_text = condition.predicate == "holds" and condition.field.needs
    return _read_if_needed(condition.field) if needs_text else condition.field.read, _choose_test(condition)


def _read_if_needed(field: Field) -> Read:
    """Return a reader of a true-or-false field that reads nothing if the value cannot be true."""
    read = field.read
    needs = field.needs

    def read_if_needed(call: Call) -> Json:
        written = call.written
        if written is not None and written.find(needs) < 0 and written.find(_ESCAPED_ASCII) < 0:
            return None
        return read(call)

    return read_if_needed


def _choose_test(leaf: Leaf) -> Callable[[Any], bool | Groups]:
    """Return the test of a leaf; if the text must be one of several, their set is the test."""
    in_set = leaf.predicate == "in" and leaf.field.kind == "text" and leaf.lens == PLAIN and not leaf.negative
    if in_set and all(isinstance(value, str) and not is_pattern(value) for value in leaf.expected):
        return frozenset(leaf.expected).__contains__
    return leaf.test


_ESCAPED_ASCII = b"\\u00"


def _flatten(condition: All) -> Iterator[Leaf | Either]:
    for part in condition.parts:
        if isinstance(part, All):
            yield from _flatten(part)
        else:
            yield part


def _put_cheap_first(parts: Iterable[Leaf | Either]) -> Iterator[Leaf | Either]:
    """Put costly conditions behind cheap ones, but move none past a pattern, which may raise."""
    for patterns, grouped in groupby(parts, key=_has_pattern):
        run = list(grouped)
        yield from run if patterns else sorted(run, key=_is_costly)


def _has_pattern(part: Leaf | Either) -> bool:
    return any(leaf.predicate == "regex" for leaf in part.leaves)


def _is_costly(part: Leaf | Either) -> bool:
    return any(leaf.field.costly or leaf.predicate == "schema" for leaf in part.leaves)


def mark_implied(condition: Condition) -> Condition:
    """Mark a condition as not written by the user: reports mention it only if it fails."""
    match condition:
        case Leaf():
            return replace(condition, implied=True)
        case All(parts) | Either(parts):
            return type(condition)(tuple(map(mark_implied, parts)))


def measure_nearness(condition: Condition, call: Call) -> float:
    """Return the share of a condition that holds, from 0 to 1."""
    held, total = condition.count_held(call)
    return held / total if total else 1.0


MIN_PIECE = 3  # shorter pieces occur in almost every text
_WINDOW = 32_768  # bytes given to an automaton at once, which bounds the memory its hits take
_FEW_PIECES = 16  # pieces searched at once in a long text, by vector instructions
_VERY_FEW_PIECES = 4  # pieces searched one by one in a short text
_SHORT = 500  # characters of a text that is short
_FEW = 8  # conditions that are tried rather than looked up by a field that is costly to read


class IndexField(NamedTuple):
    """Where to look up a key: in a field's whole value, its elements, or pieces of its normalised text."""

    how: str  # whole | element | piece
    field: Field
    lens: Lens


class IndexKey(NamedTuple):
    look: IndexField
    value: str | float | bool


Clause = frozenset[IndexKey]
Rows = tuple[int, ...]
Find = Callable[[Json], Iterable[Rows]]


class RuleIndex:
    """Finds which of many conditions can hold for a call."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        clauses = [tuple(list_clauses(condition)) for condition in conditions]
        keys = tuple(chain.from_iterable(chain.from_iterable(clauses)))
        common = Counter(keys)
        costly = [key for key in keys if key.look.field.costly]
        common.update(dict.fromkeys(costly, _FEW))  # as if this many more conditions shared them
        fields = Counter(key.look.field for key in costly)
        tried = {field for field, count in fields.items() if count <= _FEW}  # they are not read for the index
        tables: dict[IndexField, dict[str | float | bool, list[int]]] = defaultdict(lambda: defaultdict(list))
        always = []
        for row, choices in enumerate(clauses):
            if tried:
                choices = tuple(clause for clause in choices if tried.isdisjoint(key.look.field for key in clause))
            if not choices:
                always.append(row)
                continue
            for look, value in min(choices, key=partial(_rate_cost, common)):
                tables[look][value].append(row)
        self._always = tuple(always)
        finders: dict[Read, list[Find]] = defaultdict(list)
        for look, table in tables.items():
            finders[look.field.read].append(_make_finder(look, table))
        self._finders = tuple([(read, _join_finders(finds)) for read, finds in finders.items()])

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
        return sorted((*always, *rows)) if len(always) <= _FEW else merge(always, rows)


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
        case Leaf(negative=False, implied=True):  # one for very many rules
            known = _OF_IMPLIED.get(id(condition))
            if known is None or known[0] is not condition:
                known = _OF_IMPLIED[id(condition)] = condition, tuple(_list_anchors(condition))
            yield from known[1]
        case Leaf(negative=False):
            yield from _list_anchors(condition)
        case All(parts):
            for part in parts:
                yield from list_clauses(part)
        case Either(branches):
            rarest = [max(list_clauses(branch), key=_weigh, default=None) for branch in branches]
            if branches and None not in rarest:
                yield frozenset(chain.from_iterable(clause for clause in rarest if clause))


_OF_IMPLIED: dict[int, tuple[Leaf, tuple[Clause, ...]]] = {}  # by the id of the condition


def _list_anchors(leaf: Leaf) -> Iterator[Clause]:
    anchor = ANCHORS.get(leaf.predicate)
    if anchor:
        yield from (clause for clause in anchor(leaf) if clause)


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
    return frozenset(key.value for key in whole) if whole and all(key.look.how == "whole" for key in whole) else None


def _rate_cost(common: Counter[IndexKey], clause: Clause) -> tuple[int, int, bool]:
    # Prefer keys that few rules share, then long values, then a dict over an automaton.
    shortest, is_quick = _weigh(clause)
    return sum([common[key] for key in clause]), -shortest, not is_quick


def _weigh(clause: Clause) -> tuple[int, bool]:
    lengths = [len(key.value) if isinstance(key.value, str) else 1 for key in clause]
    return min(lengths), all(key.look.how != "piece" for key in clause)


def _anchor_whole(leaf: Leaf) -> Iterator[Clause]:
    if isinstance(leaf.expected, str | int | float):
        yield frozenset([_make_whole_key(leaf, leaf.expected)])


def _make_whole_key(leaf: Leaf, value: str | float) -> IndexKey:
    seen = leaf.lens(value) if isinstance(value, str) else value
    return IndexKey(IndexField("whole", leaf.field, leaf.lens), seen)


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
            yield frozenset([IndexKey(IndexField("element", leaf.field, leaf.lens), leaf.lens(value))])


def _make_piece_clause(leaf: Leaf, text: str) -> Clause:
    # Squeezing changes only white space, so a single word can be looked up in the original text.
    words = leaf.lens(text).split() if leaf.lens.squeeze else [leaf.lens(text)]
    longest = max(words, key=len, default="")
    if len(longest) < MIN_PIECE or not is_unicode(longest):
        return frozenset()
    return frozenset([IndexKey(IndexField("piece", leaf.field, Lens(fold=leaf.lens.fold)), longest)])


def _join_finders(finders: Sequence[Find]) -> Find:
    if len(finders) == 1:
        return finders[0]
    return lambda value: [rows for find in finders for rows in find(value)]


def _make_finder(look: IndexField, table: Mapping[Json, list[int]]) -> Find:
    rows = {value: tuple(dict.fromkeys(found)) for value, found in table.items()}
    lens = None if look.lens == PLAIN else look.lens
    match look.how:
        case "whole":
            return _make_whole_finder(rows, lens)
        case "element":
            return partial(_find_elements, rows, look.lens)
    return _make_piece_finder(rows, lens)


def _make_whole_finder(rows: Mapping[Json, Rows], lens: Lens | None) -> Find:
    longest = max(len(str(value)) for value in rows)
    if lens is not None and lens.squeeze:  # which makes texts shorter; a folded text is no shorter
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
    look = ahocorasick_rs.BytesAhoCorasick(sought).find_matches_as_indexes  # that of str is half as fast
    # This one leaves out hits that overlap, but where there are none it is twenty times as fast.
    first = ahocorasick_rs.BytesAhoCorasick(sought[:_FEW_PIECES], ahocorasick_rs.MatchKind.LeftmostFirst)
    holds_any = first.find_matches_as_indexes if len(sought) <= _FEW_PIECES else len
    overlap = max(map(len, sought)) - 1

    def find(value: Json) -> Iterable[Rows]:
        if not isinstance(value, str):
            return ()
        text = value if lens is None else lens(value)
        if few and len(text) <= _SHORT:
            held: list[Rows] = []
            for piece, its_rows in few:
                if piece in text:
                    held.append(its_rows)
            return held
        data = text.encode("utf-8", "replace")
        if len(data) <= _WINDOW:
            hits = look(data, overlapping=True)
        else:
            windows = (data[at : at + _WINDOW + overlap] for at in range(0, len(data), _WINDOW))
            hits = [hit for window in filter(holds_any, windows) for hit in look(window, overlapping=True)]
        if len(hits) < 2:
            return (found[hits[0][0]],) if hits else ()
        return [found[piece] for piece in {hit[0] for hit in hits}]

    return find


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
