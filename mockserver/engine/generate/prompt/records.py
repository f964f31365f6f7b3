"""Parts a text into the records it lists: "2 apples and 3 pears", "Ann (designer), Bob (developer)", line by line."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mockserver.engine.generate.prompt.assigning import Match, matches
from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.wanted import Wanted

Place = tuple[int, int]

_ENDS = r"\n+|;\s{0,4}|(?<=[.!?])\s{1,4}"
_AND = r"\s(?:and|und|et|y|e|en|plus|then)\s|\s?[&+]\s"
_LEVELS = tuple(
    map(
        re.compile,
        (
            r"\n+",
            rf"{_ENDS}",
            rf"{_ENDS}|,?{_AND}",
            rf"{_ENDS}|,?{_AND}|,\s{{1,4}}|:\s{{1,4}}",
        ),
    )
)
_BRACKETS = re.compile(r"\([^()\n]{0,200}\)")
_MOST_PIECES = 80
_LIKELY = 2  # points from which a mention may be part of a record


@dataclass(frozen=True, slots=True)
class Record:
    """Where one object of several is spoken of, and what it takes there by the names of its properties."""

    place: Place
    taken: tuple[tuple[str, Mention], ...]

    @property
    def names(self) -> frozenset[str]:
        """The properties that it has."""
        return frozenset(name for name, _ in self.taken)


def records(text: str, found: Sequence[Mention], asked: Sequence[Wanted], *, strict: bool = False) -> list[Record]:
    """The records of a text, two at least, or none: the parting in which most is told of each.

    Where they are to be `strict`, all tell the same, and there is nothing that the text tells once for all.
    """
    if len(asked) < 2 or len(found) < 4:
        return []
    scalar = [want for want in asked if not set(want.types) & {"array", "object"}]
    ranked = sorted(
        (match for match in matches(text, found, scalar) if match.points >= (1 if match.want.numeric else _LIKELY)),
        key=lambda match: match.rank,
    )
    if not _may_repeat(ranked):
        return []
    partings = [_records(pieces, ranked) for pieces in _partings(text)]
    told = max(partings, key=lambda parting: sum(len(record.taken) for record in parting), default=[])
    if strict and told and not _alike(told, ranked):
        return []
    return told


def _may_repeat(ranked: Sequence[Match]) -> bool:
    """Whether two properties at least have more than one mention each."""
    places = {(match.want.name, match.mentions[0].start) for match in ranked}
    return sum(count > 1 for count in Counter(name for name, _ in places).values()) > 1


def _partings(text: str) -> Iterator[list[Place]]:
    """The text in pieces, by lines first, then by sentences, at last by commas; none where it stays whole."""
    whole = _BRACKETS.sub(lambda found: "(" + "x" * (len(found[0]) - 2) + ")", text)
    before = 1
    for level in _LEVELS:
        pieces = _pieces(whole, level)
        if before < len(pieces) <= _MOST_PIECES:
            yield pieces
        before = max(before, len(pieces))


def _pieces(text: str, level: re.Pattern[str]) -> list[Place]:
    ends = [found.span() for found in level.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(text)]
    return [(start, stop) for start, stop in zip(starts, stops, strict=True) if text[start:stop].strip()]


def _records(pieces: Sequence[Place], ranked: Sequence[Match]) -> list[Record]:
    by_piece: list[list[Match]] = [[] for _ in pieces]
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


def _taken(within: Sequence[Match]) -> tuple[tuple[str, Mention], ...]:
    """What the properties take of one piece, the best first, each place once."""
    taken: dict[str, Mention] = {}
    for match in sorted(within, key=lambda match: match.rank):
        mention = match.mentions[0]
        if match.want.name not in taken and not any(mention.overlaps(other) for other in taken.values()):
            taken[match.want.name] = mention
    return tuple(taken.items())


def _alike(told: Sequence[Record], ranked: Sequence[Match]) -> bool:
    names = told[0].names
    spoken = {name for name, _ in _taken([match for match in ranked if match.points >= 20])}
    return spoken <= names and all(record.names == names for record in told)
