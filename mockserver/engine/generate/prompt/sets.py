"""Parts the mentions of a text where it speaks of several objects of one kind: "in Paris and in London"."""

from collections.abc import Mapping, Sequence

from mockserver.core.call import Json
from mockserver.engine.generate.prompt.assigning import Match, matches, wants
from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.scoring import ENOUGH
from mockserver.engine.generate.prompt.wanted import Wanted

_MOST_SETS = 32


def parted(text: str, found: Sequence[Mention], properties: Mapping[str, Json]) -> list[tuple[Mention, ...]]:
    """The mentions of each object, what they share in all of them; one set where nothing repeats."""
    asked = wants(properties)
    return _calls(found) or _objects(found, properties) or _repeated(text, found, asked) or [tuple(found)]


def _calls(found: Sequence[Mention]) -> list[tuple[Mention, ...]]:
    """One set for each of several calls in call notation."""
    starts = [m for m in found if m.kind == "argument"]
    groups: list[list[Mention]] = []
    for mention in starts:
        first = not groups or mention.cue != groups[-1][-1].cue or any(mention.key == m.key for m in groups[-1])
        if first:
            groups.append([])
        groups[-1].append(mention)
    if len(groups) < 2 or len({group[0].cue for group in groups}) > 1:
        return []
    return [tuple(group) for group in groups[:_MOST_SETS]]


def _objects(found: Sequence[Mention], properties: Mapping[str, Json]) -> list[tuple[Mention, ...]]:
    """One set for each object of a JSON array, and for each of several objects."""
    fragments = [m for m in found if m.kind == "json"]
    listed = [m for m in fragments if isinstance(m.value, list) and m.value and all(isinstance(v, dict) for v in m.value)]
    objects = [(m, v) for m in listed for v in m.value] or [(m, m.value) for m in fragments if isinstance(m.value, dict)]
    told = [(m, v) for m, v in objects if set(v) & set(properties)]
    if len(told) < 2:
        return []
    return [
        tuple(Mention("member", value, m.start, m.start + 1 + i, key=key) for i, (key, value) in enumerate(v.items()))
        for m, v in told[:_MOST_SETS]
    ]


def _repeated(text: str, found: Sequence[Mention], asked: Sequence[Wanted]) -> list[tuple[Mention, ...]]:
    scalar = [want for want in asked if not set(want.types) & {"array", "object", "boolean"}]
    series = _series(text, [match for match in matches(text, found, scalar) if match.points >= ENOUGH - 8])
    longest = max(series, key=len, default=())
    if len(longest) < 2:
        return []
    repeated = [run for run in series if len(run) == len(longest)]
    anchors = min(repeated, key=lambda run: run[0].start)
    sharing = [m for m in found if not any(m.overlaps(other) for run in repeated for other in run)]
    first = min(run[0].start for run in repeated)
    bounds = [first, *(anchor.start for anchor in anchors[1:]), len(text) + 1]
    return [
        tuple(sorted((*sharing, *(run[at] for run in repeated)), key=lambda m: (m.start, -m.end)))
        for at in range(min(len(bounds) - 1, _MOST_SETS))
    ]


def _series(text: str, found: Sequence[Match]) -> list[tuple[Mention, ...]]:
    """For each property the mentions that would do for it equally well, where no other property has a claim to them."""
    best: dict[tuple[int, int], Match] = {}
    for match in found:
        place = (match.mentions[0].start, match.mentions[0].end)
        if place not in best or match.points > best[place].points:
            best[place] = match
    claims = _shared_out(list(best.values()))
    series = []
    for matched in claims.values():
        top = max(match.points for match in matched)
        alike = [match for match in matched if match.points >= top - 14 and _like(match, matched)]
        ordered = _apart([match.mentions[0] for match in sorted(alike, key=lambda m: m.mentions[0].start)])
        if len(ordered) > 1 and _coordinated(text, ordered):
            series.append(tuple(ordered))
    return series


def _shared_out(found: Sequence[Match]) -> dict[str, list[Match]]:
    claims: dict[str, list[Match]] = {}
    for match in found:
        claims.setdefault(match.want.name, []).append(match)
    return claims


def _like(match: Match, matched: Sequence[Match]) -> bool:
    top = max(matched, key=lambda other: other.points)
    return match.mentions[0].kind == top.mentions[0].kind and match.mentions[0].source == top.mentions[0].source


def _apart(ordered: Sequence[Mention]) -> list[Mention]:
    kept: list[Mention] = []
    for mention in ordered:
        if not kept or (mention.start >= kept[-1].end and mention.value not in [m.value for m in kept]):
            kept.append(mention)
    return kept


def _coordinated(text: str, ordered: Sequence[Mention]) -> bool:
    """Whether between all of them stand only words that join: and, or, commas, with little else."""
    return all(_joins(text[one.end : other.start]) for one, other in zip(ordered, ordered[1:], strict=False))


def _joins(between: str) -> bool:
    words = between.lower().replace(",", " , ").replace("\n", " , ").replace(";", " , ").replace("?", " , ").replace(".", " , ").split()
    return len(words) <= 14 and any(word in _JOINING for word in words)


_JOINING = frozenset(", and or und oder et ou y e o & plus then vs versus with".split())
