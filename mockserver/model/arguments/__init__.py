"""Values mentioned in a text, of one object or of several, and how they become the values of properties.

`mentions` finds them: numbers, quoted texts, dates, names, pairs, JSON. `assigning` gives them to properties, by the
points of `evidence`. Knows texts and JSON Schema's types, no tools.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.json import Json, compact, try_parse
from mockserver.core.lazy import compile_lazily, remember
from mockserver.model.arguments.assigning import (
    INVENT,
    WHOLE,
    Assignment,
    Candidate,
    Fits,
    Rankings,
    assign,
    assign_required,
    find_count_of_items,
    orders_one_list,
    orders_to_invent,
    rank_candidates,
    read_properties,
)
from mockserver.model.arguments.evidence import ENOUGH_FOR_REQUIRED, Mention, Property
from mockserver.model.arguments.mentions import read
from mockserver.model.vocabulary import keep_ends, make_vocabulary, split_name, split_words

__all__ = ["NOTHING", "WHOLE", "Fits", "Mention", "Mentions", "find_mentions"]

_MAX_FIRST_TEXT = 20_000  # characters read of the first text
_LATER = 20_000  # characters read of all others together
_DENSE = 8_000  # characters read of a text with more digits and signs than words: each may be a mention
_MOST_PROPERTIES = 1_000  # of an object that get values from a text
_TAIL = 0.4  # share of these characters that is read at the end of a long text


class Mentions(Struct, frozen=True):
    """The values of a text, in its order; `used` are those that properties have already."""

    text: str = ""
    found: tuple[Mention, ...] = ()
    used: tuple[Mention, ...] = ()
    sparse: bool = False  # for arguments: what nobody says is left out
    is_settled: bool = False  # work was done: of an answer and more work, the answer is due
    later: "tuple[Mentions, ...]" = ()  # of other texts, for properties that this one leaves empty
    rankings: Rankings = {}  # of this text, for properties that are looked up again

    def assign(
        self, properties: Mapping[str, Json], fits: Fits, *, required: Collection[str] = (), owner: str = ""
    ) -> "tuple[dict[str, Json], Mentions]":
        """Return what the text says of an object's properties, and the mentions that are left.

        `properties` holds a schema by name, `$ref` and `allOf` resolved, in the alternatives of `anyOf` too. A value
        has the type of its schema and passes `fits`. Properties that the text does not mention are absent; for
        `required` ones weaker evidence is enough, down to the phrase that is left. `owner` is the object's own name.
        """
        if not self.text or not properties:
            return {}, self
        properties = _take_first(properties)
        assignment = Assignment(self.text, fits, used=list(self.used))
        props = read_properties(properties, owner)
        ranked = self._rank(props, among=props)
        assign(assignment, ranked, props)
        later = tuple([other._add_more(properties, assignment) for other in self.later])
        missing = [prop for prop in props if prop.name in required and prop.name not in assignment.given]
        if missing:  # only now: clear values of a later text are better than weak ones of the first
            assign_required(assignment, ranked, missing)
        assignment.sort_similar(props)
        return assignment.given, replace(self._mark_used(assignment.used), later=later)

    def _add_more(self, properties: Mapping[str, Json], earlier: Assignment) -> "Mentions":
        """Add what this text says clearly of the properties that earlier texts leave empty; no text is taken twice."""

        def fits(name: str, value: Json) -> bool:
            return earlier.fits(name, value) and not (isinstance(value, str) and value in earlier.given.values())

        rest = {name: schema for name, schema in properties.items() if name not in earlier.given}
        own = Assignment(self.text, fits, used=list(self.used))
        props = read_properties(rest)
        ranked = self._rank(props, among=read_properties(properties))
        assign(own, ranked, props)
        for match in ranked:  # of a text that is but one value, weaker evidence is enough
            first = match.mentions[0]
            if match.points >= ENOUGH_FOR_REQUIRED and first.end - first.start == len(self.text):
                own.take(match)
        earlier.given |= own.given
        return self._mark_used(own.used)

    def _rank(self, props: Sequence[Property], among: Sequence[Property]) -> Sequence[Candidate]:
        return rank_candidates(self.text, self.found, props=props, among=among, known=self.rankings)

    def _mark_used(self, used: Sequence[Mention]) -> "Mentions":
        if not used and not self.used:
            return self
        return replace(self, found=_list_left(self.found, used), used=tuple(used))

    def add_stated(self, values: Mapping[str, Json]) -> "Mentions":
        """Add values for properties by their names, as if the text ended with them."""
        end = len(self.text)
        stated = (
            Mention("member", value, start=end + at, end=end + at + 1, key=key)
            for at, (key, value) in enumerate(values.items())
        )
        found = (*self.found, *stated)
        return replace(self, text=self.text or " ", found=found) if values else self

    def find_count(self, name: str) -> "tuple[int | None, Mentions]":
        """Return how many items the text wants of the list with this name, "4 tasks", and the mentions without that."""
        place = find_count_of_items(self.text, self.found, split_name(name)[-1:])
        if place is None and (orders_one_list(self.text) or _ANY_LIST.issuperset(split_name(name))):
            ordered = find_count_of_items(self.text, self.found, ())
            place = ordered if ordered and _IS_MADE.search(self.text, 0, ordered.start) else None
        if place is None:
            return None, self
        return place.value, replace(self, found=_list_left(self.found, [place]))

    def drop_phrases(self) -> "Mentions":
        """Return the values of the texts for an item that is to be made up: phrases are about all of the list."""
        found = tuple(mention for mention in self.found if mention.kind != "words")
        return replace(self, text=" ", found=found, later=tuple(other.drop_phrases() for other in self.later))

    def drop_words(self, words: frozenset[str]) -> "Mentions":
        """Return the values of the texts without the names and phrases that consist of these words."""
        later = tuple([other.drop_words(words) for other in self.later])
        found = [
            each
            for each in self.found
            if each.kind not in ("name", "words") or not words.issuperset(split_words(each.value))
        ]
        return replace(self, found=tuple(found), later=later)

    @property
    def orders_to_invent(self) -> bool:
        return orders_to_invent(self.text)

    def measure_evidence(self, properties: Mapping[str, Json]) -> float:
        """Return the share of an object's properties that the text mentions, from 0 to 1."""
        given, _ = replace(self, later=()).assign(properties, lambda name, value: True)
        return len(given) / min(len(properties), _MOST_PROPERTIES) if properties else 0.0

    def split(self, properties: Mapping[str, Json], *, listed: bool = False) -> "tuple[Mentions, ...]":
        """Return a set of mentions for each object that the text mentions; at least one set.

        Objects that are `listed`, as items of one list, may have different properties.
        """
        if _SEVERAL.search(self.text) is None:
            return (self,)
        properties = _take_first(properties)
        sets = [ObjectMentions(part) for part in _list_json_objects(self.found, properties)]
        if not sets:
            props = read_properties(properties)
            scalar = [prop for prop in props if {"array", "object"}.isdisjoint(prop.types)]
            ranked = self._rank(props if len(scalar) == len(props) else scalar, among=())
            sets = split_objects(self.text, self.found, ranked, alone=len(properties) < 2, listed=listed)
        if not sets:
            return (self,)
        return tuple(replace(self, found=each.own, used=(*self.used, *each.others)) for each in sets)


NOTHING = Mentions()
_ANY_LIST = make_vocabulary("data element entry item list object result value")
_IS_MADE = compile_lazily(rf"(?i)\b{INVENT}(?:a list of\s+)?$")


def find_mentions(*texts: str) -> Mentions:
    """Return the values in texts, the most important text first; of a very long one both ends are read."""
    said = [text for text in texts if text.strip()]
    if not said:
        return NOTHING
    share = _LATER // max(1, len(said) - 1)
    first, *later = [
        _read(_keep_both_ends(said[0], _MAX_FIRST_TEXT)),
        *(_read(_keep_both_ends(text, share)) for text in said[1:]),
    ]
    return replace(first, later=tuple(later)) if later else first


@remember(8)  # the texts of one request, which are asked again and again
def _read(text: str) -> Mentions:
    return Mentions(text, read(text))


def _keep_both_ends(text: str, most: int) -> str:
    """Return a text, or both ends of a long one: the beginning says what to do, the end what with."""
    most = min(most, _DENSE) if len(text) > _DENSE and _is_dense(text[:_MAX_FIRST_TEXT]) else most
    tail = int(most * _TAIL)
    return keep_ends(text, most - tail, tail)


def _is_dense(text: str) -> bool:
    return sum(map(str.isalpha, text)) + text.count(" ") < 0.55 * len(text)


def _take_first(properties: Mapping[str, Json]) -> Mapping[str, Json]:
    few = len(properties) <= _MOST_PROPERTIES
    return properties if few else dict(islice(properties.items(), _MOST_PROPERTIES))


def _list_left(found: Sequence[Mention], used: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return the mentions that share no character with those that are used."""
    for other in used:
        start, end = other.start, other.end
        found = [mention for mention in found if mention.end <= start or end <= mention.start]
    return tuple(found)


# Several objects


Place = tuple[int, int]
Part = tuple[Mention, ...]


class ObjectMentions(NamedTuple):
    """The mentions of one object of a text, and those that other objects claim."""

    own: Part
    others: Part = ()


def split_objects(
    text: str, found: Sequence[Mention], ranked: Sequence[Candidate], *, alone: bool, listed: bool
) -> list[ObjectMentions]:
    """Return the mentions of each object, with those that all share; nothing where nothing repeats.

    Objects of a list (`listed`) may have different properties. `alone`: they have only one.
    """
    records = [] if alone else _find_records(text, found, ranked, listed=listed)
    claimed = records or _find_repeats(text, ranked)
    every = [claim for claims in claimed for claim in claims]
    shared = [mention for mention in found if not any(map(mention.overlaps, every))]
    sets = list[ObjectMentions]()
    for claims in claimed[:_MOST_SETS]:
        own = sorted((*shared, *_list_own(claims, found)), key=lambda mention: (mention.start, -mention.end))
        sets.append(ObjectMentions(tuple(own), tuple(claim for claim in every if claim not in claims)))
    return sets


def _list_own(claims: Part, found: Sequence[Mention]) -> Iterator[Mention]:
    """Yield the mentions in a record, or those that are claimed one by one."""
    for claim in claims:
        if claim.kind == "record":
            yield from (mention for mention in found if claim.start <= mention.start and mention.end <= claim.end)
        elif claim.kind != "choice":
            yield claim


def _list_json_objects(found: Sequence[Mention], properties: Mapping[str, Json]) -> list[Part]:
    """Return a set of values for each object of a JSON array, and for each of several objects."""
    fragments = [(mention.start, mention.value) for mention in found if mention.kind == "json"]
    values = [(at, each) for at, value in fragments for each in (value if isinstance(value, list) else [value])]
    objects = [(at, each) for at, each in values if isinstance(each, dict) and not properties.keys().isdisjoint(each)]
    return [
        tuple(
            Mention("member", inner, start=at, end=at + 1, key=key)
            for at, (key, inner) in enumerate(each.items(), start)
        )
        for start, each in objects[: _MOST_SETS * (len(objects) > 1)]
    ]


_BY_SIZE = (
    (compile_lazily(r"(?i)\b(?:cheap|low)(?:est|er)\b"), make_vocabulary("price cost fare amount total fee rate"), 1),
    (
        compile_lazily(r"(?i)\b(?:fast|short|quick|near|clos)est\b"),
        make_vocabulary("duration time minute hour distance"),
        1,
    ),
    (compile_lazily(r"(?i)\b(?:best|top|highest)\b"), make_vocabulary("rating score star rank"), -1),
)


def find_record(result: str, asked: str) -> list[str]:
    """Return, as JSON, the record of a list in JSON that a text asks for, "the cheapest one": else the first."""
    value = try_parse(result)
    lists = [value, *(value.values() if isinstance(value, dict) else ())]
    records = next((each for each in lists if isinstance(each, list) and each and isinstance(each[0], dict)), [])
    if not records or "last" in asked:
        return [compact(each) for each in records[-1:]]

    def measure(record: Json) -> float:
        sizes = [
            inner for key, inner in record.items() if isinstance(inner, int | float) and {*split_name(key)} & names
        ]
        return sign * sizes[0] if sizes else float("inf")

    said = ((names, sign) for cue, names, sign in _BY_SIZE if cue.search(asked))
    names, sign = next(said, (frozenset(), 1))
    return [compact(min((each for each in records if isinstance(each, dict)), key=measure))]


def _find_records(text: str, found: Sequence[Mention], ranked: Sequence[Candidate], *, listed: bool) -> list[Part]:
    """Claim the clauses that each say several properties of one object; none unless at least two do.

    Unless `listed`, all say the same properties, and nothing outside of them is said of all.
    """
    marks = [(0, 0), *(mark.span() for mark in _BREAKS.finditer(text)), (len(text), len(text))]
    pieces = [(one[1], other[0]) for one, other in pairwise(marks) if text[one[1] : other[0]].strip()]
    if len(found) < 4 or not 1 < len(pieces) <= _MOST_PIECES:
        return []
    within: list[list[Candidate]] = [[] for _ in pieces]
    for match in ranked:
        mention = match.mentions[0]
        at = bisect_right(pieces, mention.start, key=lambda piece: piece[0]) - 1
        if match.points >= _RECORD_LIKELY and at >= 0 and mention.end <= pieces[at][1]:
            within[at].append(match)
    taken = [(place, _assign_mentions(matched)) for place, matched in zip(pieces, within, strict=True)]
    records = [(place, names.keys()) for place, names in taken if len(names) > 1][:_MOST_SETS]
    said = _assign_mentions([match for match in ranked if match.points >= 20]).keys()
    alike = all(names == records[0][1] >= said for _, names in records)
    return (
        [(Mention("record", None, *place),) for place, _ in records] if len(records) > 1 and (alike or listed) else []
    )


def _assign_mentions(ranked: Sequence[Candidate]) -> Mapping[str, Mention]:
    """Return the mentions of one piece by property, the best first, each place once."""
    taken: dict[str, Mention] = {}
    for match in ranked:
        mention = match.mentions[0]
        if match.prop.name not in taken and not any(map(mention.overlaps, taken.values())):
            taken[match.prop.name] = mention
    return taken


def _find_repeats(text: str, ranked: Sequence[Candidate]) -> list[Part]:
    """Return the mentions of each object where those of some properties stand in a series: "in Paris and in Rome"."""
    likely = [match for match in ranked if match.points >= _SETS_LIKELY and "boolean" not in match.prop.types]
    series = _list_series(text, likely)
    count = max(map(len, series), default=0)
    repeated = [run for run in series if len(run) == count > 1]
    return [tuple(mention for run in repeated for mention in run[at]) for at in range(count if repeated else 0)]


def _list_series(text: str, found: Sequence[Candidate]) -> list[Sequence[Part]]:
    best: dict[Place, Candidate] = {}
    for match in found:
        place = (match.mentions[0].start, match.mentions[0].end)
        if place not in best or match.points > best[place].points:
            best[place] = match
    claims: dict[str, list[Candidate]] = {}
    for match in best.values():
        claims.setdefault(match.prop.name, []).append(match)
    return [run for matched in claims.values() if (run := _find_run(text, matched, found))]


def _find_run(text: str, matched: Sequence[Candidate], found: Sequence[Candidate]) -> Sequence[Part]:
    """Return the mentions that suit a property as well as the best one, if each is joined to the next.

    Properties that the same mentions suit take turns: each part has one mention for each of them.
    """
    top = max(matched, key=lambda match: match.points)
    best = top.mentions[0]
    ordered = list[Mention]()
    for match in sorted(matched, key=lambda match: match.mentions[0].start):
        mention = match.mentions[0]
        as_well = match.points >= top.points - 14 or (mention.kind in _PLAIN and mention.cue in ("", best.cue))
        apart = not ordered or mention.start >= ordered[-1].end
        if mention.kind == best.kind and as_well and apart and mention.value not in [each.value for each in ordered]:
            ordered.append(mention)
    ordered = ordered[: 4 * _MOST_SETS]
    peers = sum(
        other.mentions[0] == best and other.points >= top.points - 3 and other.prop.role == top.prop.role
        for other in found
    )
    joined = all(_joins(text[one.end : other.start]) for one, other in pairwise(ordered))
    if len(ordered) < 2 * peers or len(ordered) % peers or not joined:
        return ()
    first = ordered[0]  # the others have its preposition, where they have none
    ordered = [each if each.cue else replace(each, cue=first.cue, before=first.before) for each in ordered]
    return [tuple(ordered[at : at + peers]) for at in range(0, len(ordered), peers)]


def _joins(between: str) -> bool:
    """Return whether a conjunction or comma, with little else, stands between two mentions."""
    words = between[:200].lower().translate(_MARKS).split()
    return len(words) <= 14 and not _JOINING.isdisjoint(words)


_BREAKS = compile_lazily(r"\n+|;\s{0,4}|(?<=[.!?])\s{1,4}|,?\s(?:and|und|et|y|e|en|plus|then)\s|\s?[&+]\s|[,:]\s{1,4}")
_SEVERAL = compile_lazily(  # what parts records, or joins what is said of several
    r"(?i)[\n,;&+:|]|[.!?]\s|\b(?:and|or|und|oder|et|ou|y|e|o|en|plus|then|vs|versus|with)\b|[^\x00-\x7f]"
)
_MOST_PIECES = 80
_MOST_SETS = 32
_RECORD_LIKELY = 2  # points from which a mention may belong to a record
_SETS_LIKELY = 8  # points from which it may be one of several
_PLAIN = ("name", "quoted", "number")
_MARKS = str.maketrans(dict.fromkeys(",\n;?.", " , "))
_JOINING = make_vocabulary(", and or und oder et ou y e o & plus then vs versus with")
