"""Gives the mentions of a text to the properties of an object, the best pairs first, each mention once."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.model.arguments.free_text import find_announced, find_remainder, kind_of_text
from mockserver.model.arguments.properties import (
    ENOUGH,
    ENOUGH_FOR_REQUIRED,
    UNTOLD,
    Property,
    group_similar,
    in_order,
    read_item,
    read_property,
    score,
)
from mockserver.model.arguments.reading import find_portion, read
from mockserver.model.arguments.values import Mention
from mockserver.model.arguments.wording import (
    find_boolean,
    find_bulleted,
    find_choices,
    find_count_of_items,
    find_examples,
    find_items,
    find_runs_of_items,
    remove_name,
)
from mockserver.model.budget import spend
from mockserver.model.vocabulary import heading_of, singular, truth, vocabulary

Fits = Callable[[str, Json], bool]  # whether the property of this name may have this value
WHOLE = "answer"  # the name of a value that is no property


class Candidate(Struct, frozen=True):
    """A mention that may become the value of a property, with its points; several mentions make a list."""

    points: int
    prop: Property
    mentions: tuple[Mention, ...]
    is_list: bool = False

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Sorts the best first: by points, then by the order of the text, then of the schema."""
        first = self.mentions[0]
        return (first.source, -self.points, first.start, self.prop.order)


class Assignment(Struct):
    """The values that properties have so far, and the mentions that are used."""

    text: str
    fits: Fits
    given: dict[str, Json] = {}
    used: list[Mention] = []
    matches: dict[str, Candidate] = {}

    def take(self, match: Candidate) -> bool:
        """Give a property its value, unless it has one, its mentions are used or no form of them fits."""
        name = match.prop.name
        if name in self.given or any(self._is_used(mention, match.prop) for mention in match.mentions):
            return False
        value = self._fitting(match.prop, _values_of(self.text, match))
        if value is None:
            return False
        self.given[name], self.matches[name] = value, match
        self.used.extend(match.mentions)
        return True

    def take_text(self, prop: Property, place: tuple[int, int] | None) -> None:
        if place and self.fits(prop.name, self.text[slice(*place)]):
            self.given[prop.name] = self.text[slice(*place)]
            self.used.append(Mention("free", self.text[slice(*place)], *place))

    def reorder(self, group: Sequence[Property]) -> None:
        """Give similar properties, such as `first` and `second`, their values in the order of the text."""
        taken = [self.matches[prop.name] for prop in group if prop.name in self.matches]
        if len(taken) < 2 or any(each.is_list or each.mentions[0].kind in _KEYED for each in taken):
            return
        ordered = in_order([(match.prop, match.mentions[0]) for match in taken])
        found = {prop.name: self._fitting(prop, values(self.text, mention, prop)) for prop, mention in ordered}
        if None not in found.values():
            self.given |= found

    def _fitting(self, prop: Property, candidates: Iterable[Json]) -> Json:
        return next((value for value in candidates if self.fits(prop.name, value)), None)

    def _is_used(self, mention: Mention, prop: Property) -> bool:
        used: Iterable[Mention] = self.used
        if prop.semantic_type == "currency" and mention.kind in _AMOUNTS:
            used = (other for other in self.used if other.kind in _AMOUNTS)
        return any(map(mention.overlaps, used))


def _values_of(text: str, match: Candidate) -> Iterator[Json]:
    if not match.is_list:
        yield from values(text, match.mentions[0], match.prop)
        return
    item = read_item(match.prop)
    found = [next(values(text, mention, item), None) for mention in match.mentions]
    yield [value for value in found if value is not None]


def read_properties(properties: Mapping[str, Json], required: Collection[str] = ()) -> tuple[Property, ...]:
    needed = frozenset(required).intersection(properties)
    if len(properties) > _MOST_CACHED:
        affordable = spend(_STEPS_OF_PROPERTY * len(properties))
        return tuple(_read_properties(properties, needed)) if affordable else ()
    written = to_json(properties, inf_nan_mode="constants")
    reading = _known_properties if len(written) <= _LONGEST_CACHED else _known_properties.__wrapped__
    return reading(written, needed)


@lru_cache(maxsize=1024)
def _known_properties(written: bytes, required: frozenset[str]) -> tuple[Property, ...]:
    """The same for properties that come with every request of a client, each time as new objects."""
    return tuple(_read_properties(json.loads(written), required))


def _read_properties(properties: Mapping[str, Json], required: frozenset[str]) -> Iterator[Property]:
    for order, (name, schema) in enumerate(properties.items()):
        yield read_property(name, schema, order, required=name in required)


class Evidence:
    """What the mentions of a text say of properties: the candidates, the best first; those asked for again are kept."""

    __slots__ = ("_found", "_kept", "_room", "_text")

    def __init__(self, text: str, found: Sequence[Mention]) -> None:
        self._text, self._found, self._room = text, found, _MOST_KEPT
        self._kept: dict[tuple[int, int], tuple[Sequence[Property], Sequence[Property], Sequence[Candidate]]] = {}

    def rank(self, props: Sequence[Property], among: Sequence[Property] = ()) -> Sequence[Candidate]:
        """Return the candidates for properties, which may be some `among` others; none where that is too much work."""
        if not spend(len(props) * min(len(self._found), _most_looked_at(props))):
            return ()
        key = (id(props), id(among))  # which are kept with what is known of them
        if key in self._kept:
            return self._kept[key][2]
        ranked = sorted(find_candidates(self._text, self._found, props, among=among), key=lambda match: match.rank)
        if len(ranked) < self._room:
            self._room -= len(ranked)
            self._kept[key] = props, among, ranked
        return ranked


def assign(
    assignment: Assignment, evidence: Evidence, props: Sequence[Property], *, among: Sequence[Property] = ()
) -> None:
    """Fill properties, which may be some `among` others, with what the mentions say."""
    ranked = evidence.rank(props, among)
    for match in ranked:
        if match.points >= ENOUGH:
            assignment.take(match)
    for prop in props:
        if prop.name in assignment.given:
            continue
        if "boolean" in prop.types:
            value = find_boolean(assignment.text, prop)
            if value is not None and assignment.fits(prop.name, value):
                assignment.given[prop.name] = value
        elif _takes_free_text(prop):
            kind = kind_of_text(prop.semantic_type, prop.words)
            assignment.take_text(prop, find_announced(assignment.text, kind, assignment.used))
    for match in ranked:
        if match.prop.required and match.points >= ENOUGH_FOR_REQUIRED:
            assignment.take(match)
    _fill_required(assignment, ranked, props)
    for group in group_similar(among or props):
        assignment.reorder(group)


def find_candidates(
    text: str, found: Sequence[Mention], props: Sequence[Property], *, among: Sequence[Property] = ()
) -> Iterator[Candidate]:
    """The pairs of property and mention that speak for each other at all."""
    known = frozenset(word for prop in among or props for word in prop.words)
    heads = frozenset(word for word in known if len(word) > 1) - UNTOLD
    half = _most_looked_at(props) // 2
    looked_at = found if len(found) <= 2 * half else (*found[:half], *found[-half:])  # the middle tells least
    for prop in props:
        if prop.choices:
            yield from (Candidate(points, prop, (mention,)) for points, mention in find_choices(text, prop))
            scored = ((score(each, prop), each) for each in looked_at if each.kind in _KEYED or each.kind == "number")
            yield from (Candidate(points, prop, (mention,)) for points, mention in scored if points > 0)
            continue
        if "array" in prop.types:
            yield from _lists(text, looked_at, prop)
        portion = find_portion(prop.words, known)
        for mention in looked_at:
            points = 62 if mention.kind == portion else score(mention, prop)
            if points > 0 and _is_of_other(mention, heads, prop):
                points -= _AGAINST_OTHERS
            if points > 0 and not (mention.kind == "words" and _is_only_names(mention, heads, prop)):
                yield Candidate(points, prop, (mention,))
        if _takes_text(prop):
            yield from (Candidate(_AN_EXAMPLE, prop, (mention,)) for mention in find_examples(text, prop))
            parts = filter(None, (remove_name(each, prop) for each in looked_at))
            yield from (Candidate(_WITH_NAME, prop, (part,)) for part in parts)


def _most_looked_at(props: Sequence[Property]) -> int:
    return max(20, _MOST_PAIRS // max(1, len(props))) // 2 * 2


def _is_of_other(mention: Mention, heads: Collection[str], prop: Property) -> bool:
    counted = singular(mention.unit) if mention.kind == "number" and len(mention.unit) > 3 else ""
    return any(word in heads and word not in prop.words for word in (*mention.before[:1], counted))


def _is_only_names(mention: Mention, heads: Collection[str], prop: Property) -> bool:
    return all(word in heads or word in prop.words for word in map(singular, str(mention.value).split(" ")))


def _lists(text: str, found: Sequence[Mention], prop: Property) -> Iterator[Candidate]:
    item = read_item(prop)
    if "object" in item.types:
        return
    if item.choices:
        scored = [pair for pair in find_choices(text, item) if pair[0] >= ENOUGH]
    else:
        scored = list(find_items(found, item, prop))
        if "string" in item.types:
            if lines := find_bulleted(text):
                yield Candidate(80, prop, lines, True)
            elif (count := find_count_of_items(text, found, _nouns(prop))) is not None and count.value > 1:
                # "three colours" says how many there are, not which
                runs = find_runs_of_items(text, [pair for pair in scored if not pair[1].overlaps(count)], item)
                yield from (Candidate(points, prop, group, True) for points, group in runs if len(group) > 1)
                return
            scored = [pair for pair in scored if pair[1].kind != "words" or not _is_only_names(pair[1], (), prop)]
    yield from (Candidate(points, prop, group, True) for points, group in find_runs_of_items(text, scored, item))


def _nouns(prop: Property) -> tuple[str, ...]:
    return () if prop.name == WHOLE else prop.words[-1:]


def _takes_text(prop: Property) -> bool:
    return ("string" in prop.types or not prop.types) and not prop.choices and not prop.format


def _takes_free_text(prop: Property) -> bool:
    return _takes_text(prop) and prop.semantic_type in _FREE_TEXTS


def _fill_required(assignment: Assignment, ranked: Sequence[Candidate], props: Sequence[Property]) -> None:
    def take_any(prop: Property, more_than: int) -> bool:
        return any(assignment.take(match) for match in ranked if match.prop is prop and match.points > more_than)

    def take_rest(prop: Property, kind: str) -> None:
        assignment.take_text(prop, find_remainder(assignment.text, kind, assignment.used))

    def left(props: Iterable[Property]) -> list[Property]:
        return [prop for prop in props if prop.name not in assignment.given]

    missing = left(prop for prop in props if prop.required)
    for prop in missing:
        if prop.semantic_type == "title" and take_any(prop, 5):
            continue
        if _takes_free_text(prop):
            take_rest(prop, kind_of_text(prop.semantic_type, prop.words))
    for numeric in (True, False):
        rest = left(prop for prop in missing if prop.numeric == numeric)
        if len(rest) == 1 and not rest[0].choices:  # a phrase is better for a text than a stray word
            take_any(rest[0], 6 if not numeric and rest[0].semantic_type == "" else 0)
    for match in ranked:
        if match.prop in missing and match.mentions[0].kind in _NAMES and match.points >= _WEAK and not match.is_list:
            assignment.take(match)
    rest = left(filter(_takes_text, missing))
    if len(rest) == 1 and (rest[0].semantic_type == "" or rest[0].semantic_type in _FREE_TEXTS):
        take_rest(rest[0], "")


def values(text: str, mention: Mention, prop: Property) -> Iterator[Json]:
    """The values of a property's types that a mention can stand for, the likeliest first."""
    if not prop.types:
        yield from [mention.value] if isinstance(mention.value, dict | list) else _as_string(text, mention, prop)
    for kind in prop.types:
        match kind:
            case "string":
                yield from _as_string(text, mention, prop)
            case "integer" | "number":
                yield from _as_number(mention, prop, whole=kind == "integer")
            case "boolean":
                value = truth(mention.value) if isinstance(mention.value, str) else mention.value
                if isinstance(value, bool):
                    yield value
            case "object" if isinstance(mention.value, Mapping):
                yield mention.value
            case "array" if isinstance(mention.value, list):
                yield mention.value


def _as_string(text: str, mention: Mention, prop: Property) -> Iterator[str]:
    match mention.kind:
        case "date" | "datetime" | "time":
            yield from _as_moment(mention, prop)
        case "duration" if prop.format == "duration":
            yield to_json(timedelta(seconds=mention.value)).decode().strip('"')
        case "money" if prop.semantic_type == "currency":
            yield mention.unit
        case "name" | "words" if prop.semantic_type == "currency":
            yield heading_of("currencies").get(str(mention.value).lower()) or str(mention.value)
        case _ if isinstance(mention.value, str):
            if mention.kind in _WRITTEN and prop.format:
                yield from _within(mention.value, prop)
            yield mention.value
        case _ if not isinstance(mention.value, dict | list | bool):
            written = str(mention.value) if mention.kind == "member" else text[mention.start : mention.end].strip()
            yield written.lstrip("#№ ") if mention.unit == "#" else written


def _as_moment(mention: Mention, prop: Property) -> Iterator[str]:
    day, _, time = mention.value.partition("T") if mention.kind != "time" else ("", "", mention.value)
    if prop.semantic_type == "date" and day:
        yield day
    elif prop.semantic_type == "datetime" and mention.kind == "date" and prop.format:
        yield f"{day}T00:00:00Z"
    elif prop.semantic_type == "time" and mention.kind in ("time", "datetime"):
        time = time.rstrip("Z")
        has_seconds = time.count(":") > 1
        if prop.format:
            full = time if has_seconds else f"{time}:00"
            yield from (f"{full}Z", full)
        yield time.removesuffix(":00") if has_seconds else time
    else:
        yield mention.value


def _as_number(mention: Mention, prop: Property, *, whole: bool) -> Iterator[int | float]:
    number = mention.value
    if mention.kind == "duration":
        number = _in_unit(mention, prop)
    elif isinstance(number, str) and mention.kind in _WRITTEN:
        yield from _within(number, prop)
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
    about = str(prop.schema.get("description") or "").lower()
    unit = next((word for word in reversed(prop.words) if word in _SECONDS), None)
    unit = unit or next((word for word in ("millisecond", "second", "minute", "hour", "day") if word in about), None)
    said = mention.unit.lower()
    amount = mention.value / (_SECONDS.get(unit or said) or _SECONDS.get(said[:-1]) or 1)
    return int(amount) if amount == int(amount) else float(round(amount, 6))


def _within(written: str, prop: Property) -> Iterator[Json]:
    for mention in read(written[:500]):
        if mention.kind not in _WRITTEN and mention.kind not in ("name", "words"):
            yield from values(written, mention, prop)


_MOST_CACHED, _LONGEST_CACHED = 60, 20_000  # properties, and bytes of them as JSON
_STEPS_OF_PROPERTY = 4  # what reading a property costs, as compared with a pair
_MOST_PAIRS = 12_000  # of a mention and a property that are looked at
_MOST_KEPT = 5_000  # candidates that are kept of a text
_AN_EXAMPLE, _WITH_NAME = 48, 44  # points of an example of the description, of a phrase with the property's name
_WEAK = 8  # points from which a name is better than nothing for a required property
_AGAINST_OTHERS = 24  # points against a mention with the name of another property before it
_KEYED = vocabulary("pair member")
_WRITTEN = _KEYED | {"quoted"}
_AMOUNTS = ("currency", "money")
_NAMES = vocabulary("name quoted id slug channel uuid host ip")
_FREE_TEXTS = vocabulary("text query code command expression title")
_SECONDS: Mapping[str, float] = {
    **dict.fromkeys(("ms", "millisecond", "millis"), 0.001),
    **dict.fromkeys(("s", "sec", "second"), 1),
    **dict.fromkeys(("min", "mins", "minute"), 60),
    **dict.fromkeys(("h", "hr", "hour"), 3_600),
    "day": 86_400,
    "week": 604_800,
}
