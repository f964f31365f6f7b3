"""Gives the mentions of a text to the properties of an object: the best pairs first, each mention once."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.model.arguments import spoken
from mockserver.model.arguments.dates import iso_duration
from mockserver.model.arguments.properties import Property, in_order, item_of, peers, read_property
from mockserver.model.arguments.reading import portion_of, read
from mockserver.model.arguments.scoring import ENOUGH, ENOUGH_FOR_REQUIRED, UNTOLD, score
from mockserver.model.arguments.spoken import (
    affirmed,
    after_key,
    beside,
    bulleted,
    candidates,
    chosen,
    enumerated,
    hinted,
)
from mockserver.model.arguments.values import Mention
from mockserver.model.vocabulary import heading_of, singular, truth, vocabulary

Fits = Callable[[str, Json], bool]  # whether the property of this name may have this value

_FEW = 60  # properties
_MOST_PAIRS = 12_000  # of a mention and a property that are looked at
_HINTED, _NAMED = 48, 44  # points of an example that the description gives, of a phrase with the property's name in it
_WEAK = 8  # points from which a name is better than none, for what must be given
_ELSEWHERE = 24  # points against what the word before gives to another property
_TOLD = frozenset(("pair", "member", "argument"))
_NAMING = vocabulary("name quoted id slug channel uuid host ip")
_FREE = vocabulary("text query code command expression title")


@dataclass(frozen=True, slots=True)
class Match:
    """What may become the value of a property, in points; several mentions make a list."""

    points: int
    prop: Property
    mentions: tuple[Mention, ...]
    many: bool = False

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """What sorts the best first: points, then the order of the text, then of the schema."""
        first = self.mentions[0]
        return (first.source, -self.points, first.start, self.prop.order)


@dataclass(slots=True)
class Assignment:
    """What the properties have so far."""

    text: str
    fits: Fits
    given: dict[str, Json] = field(default_factory=dict)
    used: list[Mention] = field(default_factory=list)
    taken: dict[str, Match] = field(default_factory=dict)  # where values came from

    def take(self, match: Match) -> bool:
        """Give a property its value, unless it has one, its mentions are used or no form of them fits."""
        if match.prop.name in self.given or any(self._is_used(mention, match.prop) for mention in match.mentions):
            return False
        for value in _values(self.text, match):
            if self.fits(match.prop.name, value):
                self.given[match.prop.name] = value
                self.used.extend(match.mentions)
                self.taken[match.prop.name] = match
                return True
        return False

    def settle(self, group: Sequence[Property]) -> None:
        """Let properties that are alike but for their place have what they got in the order of the text."""
        got = [self.taken[prop.name] for prop in group if prop.name in self.taken]
        if len(got) < 2 or any(match.many or match.mentions[0].kind in _TOLD or _is_named(match) for match in got):
            return
        anew = {}
        for prop, mention in in_order([(match.prop, match.mentions[0]) for match in got]):
            value = next((value for value in values(self.text, mention, prop) if self.fits(prop.name, value)), None)
            if value is None:
                return
            anew[prop.name] = value
        self.given |= anew

    def _is_used(self, mention: Mention, prop: Property) -> bool:
        if prop.semantic_type == "currency" and mention.kind in ("currency", "money"):
            return any(mention.overlaps(other) and other.kind in ("currency", "money") for other in self.used)
        return any(mention.overlaps(other) for other in self.used)


def _is_named(match: Match) -> bool:
    """Whether the word before says which property is meant."""
    return bool(set(match.mentions[0].before[:1]) & set(match.prop.words[-1:]) - UNTOLD)


def _values(text: str, match: Match) -> Iterator[Json]:
    if not match.many:
        yield from values(text, match.mentions[0], match.prop)
        return
    item = item_of(match.prop)
    made = [next(values(text, mention, item), None) for mention in match.mentions]
    yield [value for value in made if value is not None]


def read_properties(properties: Mapping[str, Json], required: Collection[str] = ()) -> tuple[Property, ...]:
    """What each property asks for, in the schema's order; of few properties that is found out once."""
    needed = frozenset(required).intersection(properties)
    if len(properties) > _FEW:
        return tuple(_read_properties(properties, needed))
    return _known_properties(to_json(properties, inf_nan_mode="constants"), needed)


@lru_cache(maxsize=1024)
def _known_properties(written: bytes, required: frozenset[str]) -> tuple[Property, ...]:
    """The same of properties that come with every request of a client: by what they say, for each is an object anew."""
    return tuple(_read_properties(json.loads(written), required))


def _read_properties(properties: Mapping[str, Json], required: frozenset[str]) -> Iterator[Property]:
    for order, (name, schema) in enumerate(properties.items()):
        yield read_property(name, schema, order, required=name in required)


def assign(
    assignment: Assignment, found: Sequence[Mention], asked: Sequence[Property], *, among: Sequence[Property] = ()
) -> None:
    """Fill what the mentions tell of the properties, which may be some `among` others."""
    ranked = sorted(matches(assignment.text, found, asked, among=among), key=lambda match: match.rank)
    for match in ranked:
        if match.points >= ENOUGH:
            assignment.take(match)
    _affirm(assignment, asked)
    _fill_free(assignment, asked)
    for match in ranked:
        if match.prop.required and match.points >= ENOUGH_FOR_REQUIRED:
            assignment.take(match)
    _fill_required(assignment, ranked, asked)
    for group in peers(among or asked):
        assignment.settle(group)


def matches(
    text: str, found: Sequence[Mention], asked: Sequence[Property], *, among: Sequence[Property] = ()
) -> Iterator[Match]:
    """The pairs of property and mention that say anything at all for each other."""
    found = _looked_at(found, max(20, _MOST_PAIRS // max(1, len(asked))))
    known = frozenset(word for prop in among or asked for word in prop.words)
    heads = frozenset(word for word in known if len(word) > 1) - UNTOLD
    for prop in asked:
        if prop.choices:
            yield from (Match(points, prop, (mention,)) for points, mention in chosen(text, prop))
            yield from (Match(p, prop, (m,)) for m in found if (p := _choice(m, prop)) > 0)
            continue
        if "array" in prop.types:
            yield from _lists(text, found, prop)
        portion = portion_of(prop.words, known)
        for mention in found:
            points = 62 if mention.kind == portion else score(mention, prop)
            if points > 0 and _of_other(mention, heads, prop):
                points -= _ELSEWHERE
            if points > 0 and not (mention.kind == "words" and _names_only(mention, heads, prop)):
                yield Match(points, prop, (mention,))
        if _takes_text(prop):
            yield from (Match(_HINTED, prop, (mention,)) for mention in hinted(text, prop))
            yield from (Match(_NAMED, prop, (part,)) for m in found if (part := beside(m, prop)))


def _looked_at(found: Sequence[Mention], most: int) -> Sequence[Mention]:
    """As many mentions as can be weighed: what is given by name, then what stands at both ends of the text."""
    if len(found) <= most:
        return found
    named = [mention for mention in found if mention.kind in _TOLD][: most // 2]
    others = [mention for mention in found if mention.kind not in _TOLD]
    left = most - len(named)
    kept = others if len(others) <= left else others[: left // 2] + others[len(others) - left // 2 :]
    return sorted((*named, *kept), key=lambda mention: (mention.start, -mention.end))


def _of_other(mention: Mention, heads: Collection[str], prop: Property) -> bool:
    """Whether the word before a mention, or what it counts, is what another property is called."""
    counted = singular(mention.unit) if mention.kind == "number" and len(mention.unit) > 3 else ""
    return any(word in heads and word not in prop.words for word in (*mention.before[:1], counted))


def _names_only(mention: Mention, heads: Collection[str], prop: Property) -> bool:
    """Whether words say no more than what properties are called."""
    said = str(mention.value).split(" ")
    return all(word in heads or word in prop.words for word in map(singular, said))


def _choice(mention: Mention, prop: Property) -> int:
    """A listed value is only taken from what is said to be it, or from a number."""
    return score(mention, prop) if mention.kind in ("pair", "member", "argument", "number") else 0


def _lists(text: str, found: Sequence[Mention], prop: Property) -> Iterator[Match]:
    item = item_of(prop)
    if "object" in item.types:
        return
    if item.choices:
        said = [(points, mention) for points, mention in chosen(text, item) if points >= ENOUGH]
        for points, group in enumerated(text, said, item):
            yield Match(points, prop, group, many=True)
        return
    for mention in found:
        if mention.kind == "pair" and (points := score(mention, prop)) >= 50 and (pieces := after_key(text, mention)):
            yield Match(points + 5, prop, pieces, many=True)
    if "string" in item.types and (lines := bulleted(text)):
        yield Match(80, prop, lines, many=True)
    for points, group in enumerated(text, list(candidates(found, item, prop)), item):
        yield Match(points, prop, group, many=True)


def _affirm(assignment: Assignment, asked: Iterable[Property]) -> None:
    for prop in asked:
        if prop.name in assignment.given or "boolean" not in prop.types:
            continue
        told = affirmed(assignment.text, prop)
        if told and assignment.fits(prop.name, told[0]):
            assignment.given[prop.name] = told[0]


def _fill_free(assignment: Assignment, asked: Iterable[Property]) -> None:
    """Phrases that the text announces: what to search for, what to say."""
    for prop in asked:
        if prop.name in assignment.given or not _takes_text(prop) or prop.semantic_type not in _FREE:
            continue
        order = spoken.order_of(prop.semantic_type, prop.words)
        _take_place(assignment, prop, spoken.phrase(assignment.text, order, assignment.used))


def _takes_text(prop: Property) -> bool:
    return ("string" in prop.types or not prop.types) and not prop.choices and not prop.format


def _take_place(assignment: Assignment, prop: Property, place: tuple[int, int] | None) -> None:
    if place:
        mention = Mention("free", assignment.text[slice(*place)], *place)
        value = mention.value
        if assignment.fits(prop.name, value):
            assignment.given[prop.name] = value
            assignment.used.append(mention)


def _fill_required(assignment: Assignment, ranked: Sequence[Match], asked: Sequence[Property]) -> None:
    """The weaker evidence that is enough for what must be given."""
    missing = [prop for prop in asked if prop.required and prop.name not in assignment.given]
    for prop in missing:
        if prop.semantic_type == "title" and any(
            assignment.take(match) for match in ranked if match.prop is prop and match.points > 5
        ):
            continue
        if _takes_text(prop) and prop.semantic_type in _FREE:
            order = spoken.order_of(prop.semantic_type, prop.words)
            _take_place(assignment, prop, spoken.remainder(assignment.text, order, assignment.used))
    for numeric in (True, False):
        left = [prop for prop in missing if prop.name not in assignment.given and prop.numeric == numeric]
        if len(left) == 1 and not left[0].choices:
            floor = (
                6 if not numeric and left[0].semantic_type == "" else 0
            )  # a phrase serves it better than a stray word
            _ = any(assignment.take(match) for match in ranked if match.prop is left[0] and match.points > floor)
    for match in ranked:
        if match.prop in missing and match.mentions[0].kind in _NAMING and match.points >= _WEAK and not match.many:
            assignment.take(match)
    left = [prop for prop in missing if prop.name not in assignment.given and _takes_text(prop)]
    if len(left) == 1 and left[0].semantic_type in ("", *_FREE):
        place = spoken.remainder(assignment.text, "", assignment.used)
        _take_place(assignment, left[0], place)


_SECONDS: dict[str, float] = {"ms": 0.001, "millisecond": 0.001, "millis": 0.001, "second": 1, "sec": 1, "s": 1}
_SECONDS |= {
    "minute": 60,
    "min": 60,
    "mins": 60,
    "hour": 3_600,
    "hr": 3_600,
    "h": 3_600,
    "day": 86_400,
    "week": 604_800,
}


def values(text: str, mention: Mention, prop: Property) -> Iterator[Json]:
    """The values that a mention can stand for, the likeliest first."""
    if not prop.types:
        yield mention.value if isinstance(mention.value, dict | list) else next(_as_string(text, mention, prop))
    for kind in prop.types:
        if kind == "string":
            yield from _as_string(text, mention, prop)
        elif kind in ("integer", "number"):
            yield from _as_number(text, mention, prop, whole=kind == "integer")
        elif kind == "boolean":
            yield from _as_boolean(mention)
        elif (kind == "object" and isinstance(mention.value, Mapping)) or (
            kind == "array" and isinstance(mention.value, list)
        ):
            yield mention.value


def _as_string(text: str, mention: Mention, prop: Property) -> Iterator[str]:
    match mention.kind:
        case "date" | "datetime" | "time":
            yield from _as_moment(mention, prop)
        case "duration" if prop.format == "duration":
            yield iso_duration(mention.value)
        case "money" if prop.semantic_type == "currency":
            yield mention.unit
        case "name" | "words" if prop.semantic_type == "currency":
            yield heading_of("currencies").get(str(mention.value).lower()) or str(mention.value)
        case _ if (
            isinstance(mention.value, str) and mention.kind in ("pair", "member", "argument", "quoted") and prop.format
        ):
            yield from _inner(mention.value, prop)
            yield mention.value
        case _ if isinstance(mention.value, str):
            yield mention.value
        case _ if not isinstance(mention.value, dict | list | bool):
            written = text[mention.start : mention.end].strip()
            yield written.lstrip("#№ ") if mention.unit == "#" else written


def _as_moment(mention: Mention, prop: Property) -> Iterator[str]:
    day, _, rest = mention.value.partition("T") if mention.kind != "time" else ("", "", mention.value)
    if prop.semantic_type == "date" and day:
        yield day
    elif prop.semantic_type == "datetime" and mention.kind == "date" and prop.format:
        yield f"{day}T00:00:00Z"
    elif prop.semantic_type == "time" and mention.kind in ("time", "datetime"):
        yield from _as_time(rest.rstrip("Z"), prop)
    else:
        yield mention.value


def _as_time(written: str, prop: Property) -> Iterator[str]:
    if prop.format:
        full = written if written.count(":") > 1 else f"{written}:00"
        yield from (f"{full}Z", full)
    yield written.removesuffix(":00") if written.count(":") > 1 else written


def _as_number(text: str, mention: Mention, prop: Property, *, whole: bool) -> Iterator[int | float]:
    number = mention.value
    if mention.kind == "duration":
        number = _in_unit(mention, prop)
    elif isinstance(number, str) and mention.kind in ("pair", "member", "argument", "quoted"):
        yield from _inner(number, prop)
        return
    elif isinstance(number, bool) or not isinstance(number, int | float):
        return
    if whole and isinstance(number, float) and number == int(number):
        number = int(number)
    if mention.unit == "%" and "percent" not in "".join(prop.words) and prop.schema.get("maximum") == 1:
        yield round(number / 100, 9)
    if not (whole and isinstance(number, float)):
        yield number


def _in_unit(mention: Mention, prop: Property) -> float:
    """A duration in the unit that the property's name or description tells, else in the one that was said."""
    described = str(prop.schema.get("description") or "").lower()
    unit = next((word for word in reversed(prop.words) if word in _SECONDS), None)
    unit = unit or next(
        (word for word in ("millisecond", "second", "minute", "hour", "day") if word in described), None
    )
    said = mention.unit.lower()
    seconds = _SECONDS.get(unit or said) or _SECONDS.get(said[:-1]) or 1
    amount = mention.value / seconds
    return int(amount) if amount == int(amount) else float(round(amount, 6))


def _as_boolean(mention: Mention) -> Iterator[bool]:
    value = truth(mention.value) if isinstance(mention.value, str) else mention.value
    if isinstance(value, bool):
        yield value


def _inner(written: str, prop: Property) -> Iterator[Json]:
    """The values that stand within a text which was given for a property."""
    for mention in read(written[:500]):
        if mention.kind not in ("pair", "quoted", "argument", "member", "name", "words"):
            yield from values(written, mention, prop)
