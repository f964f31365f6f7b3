"""Splits the mentions of a text about several objects of one kind: "in Paris and in London"."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mockserver.core.json import Json
from mockserver.model.arguments.assigning import Candidate, matches, read_properties
from mockserver.model.arguments.properties import Property
from mockserver.model.arguments.values import Mention
from mockserver.model.vocabulary import vocabulary

Place = tuple[int, int]

_LEVELS = tuple(
    map(
        re.compile,
        (r"\n+", r"\n+|;\s{0,4}|(?<=[.!?])\s{1,4}|,?\s(?:and|und|et|y|e|en|plus|then)\s|\s?[&+]\s|[,:]\s{1,4}"),
    )
)
_MOST_PIECES = 80
_LIKELY = 2  # points from which a mention may belong to a record


@dataclass(frozen=True, slots=True)
class Record:
    """The place of one object of several in a text, and its mentions by the names of their properties."""

    place: Place
    taken: tuple[tuple[str, Mention], ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.taken)


def records(text: str, found: Sequence[Mention], props: Sequence[Property], *, strict: bool = False) -> list[Record]:
    """Return the records of a text, at least two or none: of several ways to split it, the one with most values.

    If `strict`, all have the same properties, and nothing outside of them is said of all.
    """
    if len(props) < 2 or len(found) < 4:
        return []
    scalar = [prop for prop in props if not set(prop.types) & {"array", "object"}]
    ranked = sorted(
        (match for match in matches(text, found, scalar) if match.points >= (1 if match.prop.numeric else _LIKELY)),
        key=lambda match: match.rank,
    )
    splits = [_records(pieces, ranked) for pieces in _splits(text)]
    found_records = max(splits, key=lambda split: sum(len(record.taken) for record in split), default=[])
    said = {name for name, _ in _taken([match for match in ranked if match.points >= 20])}
    is_alike = all(record.names == found_records[0].names >= said for record in found_records)
    return found_records if is_alike or not strict else []


def _splits(text: str) -> Iterator[list[Place]]:
    """The text in pieces: by lines, by sentences, by commas; without ways that leave it whole."""
    before = 1
    for level in _LEVELS:
        pieces = _pieces(text, level)
        if before < len(pieces) <= _MOST_PIECES:
            yield pieces
        before = max(before, len(pieces))


def _pieces(text: str, level: re.Pattern[str]) -> list[Place]:
    ends = [found.span() for found in level.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(text)]
    return [(start, stop) for start, stop in zip(starts, stops, strict=True) if text[start:stop].strip()]


def _records(pieces: Sequence[Place], ranked: Sequence[Candidate]) -> list[Record]:
    by_piece: list[list[Candidate]] = [[] for _ in pieces]
    at = 0
    for match in sorted(ranked, key=lambda match: match.mentions[0].start):
        mention = match.mentions[0]
        while at < len(pieces) and pieces[at][1] <= mention.start:
            at += 1
        if at < len(pieces) and pieces[at][0] <= mention.start and mention.end <= pieces[at][1]:
            by_piece[at].append(match)
    made = [Record(place, _taken(within)) for place, within in zip(pieces, by_piece, strict=True)]
    full = [record for record in made if len(record.taken) > 1]
    counted = Counter(name for record in full for name in record.names)
    core = {name for name, count in counted.items() if count > 1}
    full = [record for record in full if len(record.names & core) > 1]
    return full if len(full) > 1 else []


def _taken(within: Sequence[Candidate]) -> tuple[tuple[str, Mention], ...]:
    taken: dict[str, Mention] = {}
    for match in sorted(within, key=lambda match: match.rank):
        mention = match.mentions[0]
        if match.prop.name not in taken and not any(mention.overlaps(other) for other in taken.values()):
            taken[match.prop.name] = mention
    return tuple(taken.items())


_MOST_SETS = 32
_SETS_LIKELY = 8  # points from which a mention may be one of several
_PLAIN = ("name", "quoted", "number")

Part = tuple[Mention, ...]
Series = tuple[Part, ...]  # what each object has for one property, or for similar ones
Parted = tuple[Part, Part]  # the mentions of an object, and those of the others


def object_mentions(
    text: str, found: Sequence[Mention], properties: Mapping[str, Json], *, listed: bool = False
) -> list[Parted]:
    """Return the mentions of each object, with those that all share; one set where nothing repeats.

    Objects of a list (`listed`) may have different properties.
    """
    given = _objects(found, properties)
    if given:
        return [(part, ()) for part in given]
    props = read_properties(properties)
    found_records = records(text, found, props, strict=not listed)
    return _of_records(found_records, found) or _repeated(text, found, props) or [(tuple(found), ())]


def _of_records(found_records: Sequence[Record], found: Sequence[Mention]) -> list[Parted]:
    found_records = found_records[:_MOST_SETS]
    places = [Mention("elsewhere", None, *record.place) for record in found_records]
    outside = [m for m in found if not any(m.overlaps(place) for place in places)]
    return [
        (
            tuple(sorted((*outside, *(m for m in found if _within_place(m, own))), key=lambda m: (m.start, -m.end))),
            tuple(place for place in places if place is not own),
        )
        for own in places
    ]


def _within_place(mention: Mention, place: Mention) -> bool:
    return place.start <= mention.start and mention.end <= place.end


def _objects(found: Sequence[Mention], properties: Mapping[str, Json]) -> list[Part]:
    """One set for each object of a JSON array, and for each of several objects."""
    fragments = [
        (mention.start, value) for mention in found if mention.kind == "json" for value in _within(mention.value)
    ]
    objects = [(start, value) for start, value in fragments if not properties.keys().isdisjoint(value)]
    return [tuple(_members(start, value)) for start, value in objects[:_MOST_SETS]] if len(objects) > 1 else []


def _within(value: Json) -> list[Mapping[str, Json]]:
    return [inner for inner in (value if isinstance(value, list) else [value]) if isinstance(inner, dict)]


def _members(start: int, value: Mapping[str, Json]) -> Iterator[Mention]:
    for at, (key, inner) in enumerate(value.items(), start):
        yield Mention("member", inner, at, at + 1, key=key)


def _repeated(text: str, found: Sequence[Mention], props: Sequence[Property]) -> list[Parted]:
    scalar = [prop for prop in props if not set(prop.types) & {"array", "object", "boolean"}]
    series = _series(text, [match for match in matches(text, found, scalar) if match.points >= _SETS_LIKELY])
    count = max(map(len, series), default=0)
    if count < 2:
        return []
    repeated = [run for run in series if len(run) == count]
    parts = [tuple(mention for run in repeated for mention in run[at]) for at in range(min(count, _MOST_SETS))]
    every = [mention for run in repeated for part in run for mention in part]
    shared = [m for m in found if not any(m.overlaps(other) for other in every)]
    return [
        (
            tuple(sorted((*shared, *(m for m in part if m.kind != "choice")), key=lambda m: (m.start, -m.end))),
            tuple(mention for mention in every if mention not in part),
        )
        for part in parts
    ]


def _series(text: str, found: Sequence[Candidate]) -> list[Series]:
    """For each property the mentions that suit it equally well, and no other property better."""
    best: dict[tuple[int, int], Candidate] = {}
    for match in found:
        place = (match.mentions[0].start, match.mentions[0].end)
        if place not in best or match.points > best[place].points:
            best[place] = match
    claims: dict[str, list[Candidate]] = {}
    for match in best.values():
        claims.setdefault(match.prop.name, []).append(match)
    return [run for matched in claims.values() if (run := _run(text, matched, found))]


def _run(text: str, matched: Sequence[Candidate], found: Sequence[Candidate]) -> Series:
    top = max(matched, key=lambda match: match.points)
    if top.points < 20 and top.prop.semantic_type not in ("id", ""):
        return ()
    alike = [match for match in matched if _suits_as_well(match, top)]
    ordered = _apart([match.mentions[0] for match in sorted(alike, key=lambda m: m.mentions[0].start)])
    peers = sum(
        other.mentions[0] == top.mentions[0] and other.points >= top.points - 3 and other.prop.role == top.prop.role
        for other in found
    )
    if len(ordered) < 2 * peers or len(ordered) % peers or not _coordinated(text, ordered):
        return ()
    first = ordered[0]  # the others have its preposition, where they have none
    ordered = [each if each.cue else replace(each, cue=first.cue, before=first.before) for each in ordered]
    return tuple(tuple(ordered[at : at + peers]) for at in range(0, len(ordered), peers))


def _suits_as_well(match: Candidate, top: Candidate) -> bool:
    """Whether a mention suits as well as the best: it has the same kind, and no other preposition."""
    one, best = match.mentions[0], top.mentions[0]
    same = one.kind == best.kind and one.source == best.source
    return same and (match.points >= top.points - 14 or (one.cue in ("", best.cue) and one.kind in _PLAIN))


def _apart(ordered: Sequence[Mention]) -> list[Mention]:
    kept: list[Mention] = []
    for mention in ordered:
        if not kept or (mention.start >= kept[-1].end and mention.value not in [m.value for m in kept]):
            kept.append(mention)
    return kept[: 4 * _MOST_SETS]


def _coordinated(text: str, ordered: Sequence[Mention]) -> bool:
    return all(_joins(text[one.end : other.start]) for one, other in pairwise(ordered))


_MARKS = str.maketrans(dict.fromkeys(",\n;?.", " , "))


def _joins(between: str) -> bool:
    words = between[:200].lower().translate(_MARKS).split()
    return len(words) <= 14 and not _JOINING.isdisjoint(words)


_JOINING = vocabulary(", and or und oder et ou y e o & plus then vs versus with")
