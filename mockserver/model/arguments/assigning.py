"""Gives the mentions of a text to the properties of an object, the best pairs first, each mention once.

Besides mentions, the words of a text say which of several choices is meant, yes or no, and what to say or search for.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.model.arguments.properties import (
    ENOUGH,
    ENOUGH_FOR_REQUIRED,
    UNTOLD,
    Property,
    in_order,
    item_of,
    read_property,
    score,
    similar,
)
from mockserver.model.arguments.reading import portion_of, read
from mockserver.model.arguments.values import LISTED, Mention
from mockserver.model.budget import spend
from mockserver.model.vocabulary import heading_of, parts, singular, truth, vocabulary, word_list, word_set

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
    item = item_of(match.prop)
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
        ranked = sorted(matches(self._text, self._found, props, among=among), key=lambda match: match.rank)
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
            value = boolean_in(assignment.text, prop)
            if value is not None and assignment.fits(prop.name, value):
                assignment.given[prop.name] = value
        elif _takes_free_text(prop):
            kind = kind_of_text(prop.semantic_type, prop.words)
            assignment.take_text(prop, announced(assignment.text, kind, assignment.used))
    for match in ranked:
        if match.prop.required and match.points >= ENOUGH_FOR_REQUIRED:
            assignment.take(match)
    _fill_required(assignment, ranked, props)
    for group in similar(among or props):
        assignment.reorder(group)


def matches(
    text: str, found: Sequence[Mention], props: Sequence[Property], *, among: Sequence[Property] = ()
) -> Iterator[Candidate]:
    """The pairs of property and mention that speak for each other at all."""
    known = frozenset(word for prop in among or props for word in prop.words)
    heads = frozenset(word for word in known if len(word) > 1) - UNTOLD
    half = _most_looked_at(props) // 2
    looked_at = found if len(found) <= 2 * half else (*found[:half], *found[-half:])  # the middle tells least
    for prop in props:
        if prop.choices:
            yield from (Candidate(points, prop, (mention,)) for points, mention in choices_in(text, prop))
            scored = ((score(each, prop), each) for each in looked_at if each.kind in _KEYED or each.kind == "number")
            yield from (Candidate(points, prop, (mention,)) for points, mention in scored if points > 0)
            continue
        if "array" in prop.types:
            yield from _lists(text, looked_at, prop)
        portion = portion_of(prop.words, known)
        for mention in looked_at:
            points = 62 if mention.kind == portion else score(mention, prop)
            if points > 0 and _is_of_other(mention, heads, prop):
                points -= _AGAINST_OTHERS
            if points > 0 and not (mention.kind == "words" and _is_only_names(mention, heads, prop)):
                yield Candidate(points, prop, (mention,))
        if _takes_text(prop):
            yield from (Candidate(_AN_EXAMPLE, prop, (mention,)) for mention in examples_in(text, prop))
            parts = filter(None, (without_name(each, prop) for each in looked_at))
            yield from (Candidate(_WITH_NAME, prop, (part,)) for part in parts)


def _most_looked_at(props: Sequence[Property]) -> int:
    return max(20, _MOST_PAIRS // max(1, len(props))) // 2 * 2


def _is_of_other(mention: Mention, heads: Collection[str], prop: Property) -> bool:
    counted = singular(mention.unit) if mention.kind == "number" and len(mention.unit) > 3 else ""
    return any(word in heads and word not in prop.words for word in (*mention.before[:1], counted))


def _is_only_names(mention: Mention, heads: Collection[str], prop: Property) -> bool:
    return all(word in heads or word in prop.words for word in map(singular, str(mention.value).split(" ")))


def _lists(text: str, found: Sequence[Mention], prop: Property) -> Iterator[Candidate]:
    item = item_of(prop)
    if "object" in item.types:
        return
    if item.choices:
        scored = [pair for pair in choices_in(text, item) if pair[0] >= ENOUGH]
    else:
        scored = list(items_in(found, item, prop))
        if "string" in item.types:
            if lines := bulleted(text):
                yield Candidate(80, prop, lines, True)
            elif (count := count_of_items(text, found, _nouns(prop))) is not None and count.value > 1:
                # "three colours" says how many there are, not which
                runs = runs_of_items(text, [pair for pair in scored if not pair[1].overlaps(count)], item)
                yield from (Candidate(points, prop, group, True) for points, group in runs if len(group) > 1)
                return
            scored = [pair for pair in scored if pair[1].kind != "words" or not _is_only_names(pair[1], (), prop)]
    yield from (Candidate(points, prop, group, True) for points, group in runs_of_items(text, scored, item))


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
        assignment.take_text(prop, remainder(assignment.text, kind, assignment.used))

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


Place = tuple[int, int]  # where something starts and ends
Scored = tuple[int, Mention]


@lru_cache(maxsize=32)
def _index(text: str) -> tuple[tuple[tuple[str, int, int], ...], Mapping[str, list[int]]]:
    words = tuple((singular(found[0]), found.start(), found.end()) for found in _WORD.finditer(text))
    places: dict[str, list[int]] = {}
    for at, (word, _, _) in enumerate(words):
        places.setdefault(word, []).append(at)
    return words, places


def choices_in(text: str, prop: Property) -> Iterator[Scored]:
    for choice in prop.choices[:_MOST_CHOICES]:
        if isinstance(choice, str) and choice:
            for points, (start, end) in _said(text, choice):
                mention = Mention("choice", choice, start, end)
                yield points - (40 if _DENIED.search(text[max(0, start - 20) : start]) else 0), mention


def _said(text: str, choice: str) -> Iterator[tuple[int, Place]]:
    pieces = parts(choice) or (choice.lower(),)
    exact = list(_runs(text, pieces))
    if len(choice) == 1:
        exact = [(start, end) for start, end in exact if text[start:end] == choice and not choice.islower()]
    elif not exact and len(pieces) > 1:
        exact = list(_runs(text, ("".join(pieces),)))
    common = len(pieces) == 1 and pieces[0] in word_set("common")
    yield from ((36 if common else 62, place) for place in exact[:_MOST_PLACES])
    if exact:
        return
    for other in _other_names(choice):
        run = parts(other) if other[0].isalnum() else (other,)
        yield from ((50, place) for place in list(_runs(text, run))[:_MOST_PLACES])


def _runs(text: str, pieces: tuple[str, ...]) -> Iterator[Place]:
    words, places = _index(text)
    for at in places.get(pieces[0], ())[:50]:
        if tuple(word for word, _, _ in words[at : at + len(pieces)]) == pieces:
            yield words[at][1], words[at + len(pieces) - 1][2]


def _other_names(choice: str) -> Iterator[str]:
    lowered = choice.lower()
    yield from word_list("choices").get(lowered, ())
    yield from (name for name, code in heading_of("language_codes").items() if lowered in (code, f"{code}-{code}"))
    if len(choice) == 3 and choice.isupper():
        yield from (name for name, code in heading_of("currencies").items() if code == choice)


def examples_in(text: str, prop: Property) -> Iterator[Mention]:
    for hint in sorted(prop.hints)[:_MOST_EXAMPLES]:
        for start, end in _runs(text, parts(hint) or (hint,)):
            yield Mention("words", text[start:end], start, end)


def without_name(mention: Mention, prop: Property) -> Mention | None:
    """Return the rest of a phrase that begins or ends with the property's name: "namespace prod", "the web app"."""
    words = mention.value.split(" ") if mention.kind in ("words", "name") and isinstance(mention.value, str) else ()
    if not 1 < len(words) < 6 or len(prop.words[-1]) < 3:
        return None
    if singular(words[0]) == prop.words[-1]:
        start = mention.start + len(words[0]) + 1
        return Mention("words", " ".join(words[1:]), start, mention.end) if len(words[1]) > 1 else None
    last, end = singular(words[-1]), mention.end - len(words[-1]) - 1
    is_name = last == prop.words[-1] or prop.semantic_type == "path" == heading_of("semantic_types").get(last)
    announced = mention.unit == "the" or (mention.cue in ("in", "as") and len(words) == 2)
    if mention.kind != "words" or prop.semantic_type == "person" or not (is_name and announced):
        return None
    return Mention("words", " ".join(words[:-1]), mention.start, end)


def boolean_in(text: str, prop: Property) -> bool | None:
    """Return what the text says of a property that is true or false; None where it says nothing."""
    words = [word for word in prop.words if word not in _AUXILIARY] or list(prop.words)
    place = next(_named(text, words), None)
    return None if place is None else _is_affirmed(text, place)


def _named(text: str, words: list[str]) -> Iterator[Place]:
    tokens, places = _index(text)
    first = [at for word, found in places.items() if _is_form(word, words[0]) for at in found[:5]]
    for at in sorted(first):
        run = [word for word, _, _ in tokens[at : at + len(words)]]
        if len(run) == len(words) and all(map(_is_form, run, words)):
            yield tokens[at][1], tokens[at + len(words) - 1][2]
    if len(words) > 1 and (joined := "".join(words)) in places:
        yield tokens[places[joined][0]][1:]


@lru_cache(maxsize=8192)
def _is_form(word: str, name: str) -> bool:
    short, long = sorted((word, name), key=len)
    return word == name or (
        len(short) >= 4 and long.startswith(short[: max(4, len(short) - 1)]) and len(long) - len(short) <= 4
    )


def _is_affirmed(text: str, place: Place) -> bool:
    """True, unless a negation precedes the name in its clause or a no follows it."""
    after = _STATED.match(text[place[1] : place[1] + 30])
    if after and "." not in after[0] and (stated := truth(after[1])) is not None:
        return stated
    clause = _CLAUSES.split(text[max(0, place[0] - 40) : place[0]].lower())[-1]
    words = [word.replace("’", "'") for word in re.findall(r"[\w'’]+", clause)[-4:]]
    said = (word for word in reversed(words) if word in word_set("negations") | word_set("affirmations"))
    return next(said, "yes") not in word_set("negations")


def count_of_items(text: str, found: Sequence[Mention], nouns: Collection[str]) -> Mention | None:
    """Find where a text says how many items it wants: `4 tasks`, `five European capitals`.

    Without a noun, it may be a number of anything.
    """
    for mention in found:
        if mention.kind == "number" and isinstance(mention.value, int):
            end = mention.end
            for word in _next_words(text, end):
                end, one = end + 1 + len(word), singular(word.lower())
                if any(_is_form(one, noun) for noun in nouns) or (not nouns and one != word.lower()):
                    return Mention("count", mention.value, mention.start, end)
    return None


def _next_words(text: str, at: int) -> list[str]:
    following = _NEXT_WORDS.match(text, at)
    return following[0].split() if following else []


_NEXT_WORDS = lazy_pattern(r"(?: [\w-]{1,30}){1,3}")


def runs_of_items(text: str, scored: Sequence[Scored], item: Property) -> Iterator[tuple[int, tuple[Mention, ...]]]:
    """Groups of mentions that stand one after the other, with the points of each group."""
    run: list[Scored] = []
    for points, mention in sorted(scored, key=lambda pair: (pair[1].start, -pair[0])):
        if run and mention.start < run[-1][1].end:
            continue
        if run and not _follows(text, run[-1][1], mention, item):
            yield _group(run)
            run = []
        run.append((points, mention))
    if run:
        yield _group(run)


def _follows(text: str, last: Mention, mention: Mention, item: Property) -> bool:
    if item.numeric and item.semantic_type in ("number", "", "quantity") and mention.start - last.end < 30:
        return True
    return LISTED.fullmatch(text, last.end, mention.start) is not None


def _group(run: Sequence[Scored]) -> tuple[int, tuple[Mention, ...]]:
    best = max(points for points, _ in run)
    return best + (24 if len(run) > 1 else 0), tuple(mention for _, mention in run)


def items_in(found: Sequence[Mention], item: Property, prop: Property) -> Iterator[Scored]:
    for said in found:
        if said.kind not in _KINDS_OF_ITEMS:
            continue
        mention = without_name(said, prop) or said
        points = max(score(mention, item), score(mention, prop))
        plain = item.semantic_type in ("", "number") and item.numeric and mention.kind in ("number", "money")
        wordy = "string" in item.types and item.semantic_type in ("", "title", "text", "query")
        if points >= 10 or plain or (wordy and mention.kind in ("words", "name") and points > -10):
            yield max(points, 10), mention


def bulleted(text: str) -> tuple[Mention, ...]:
    """Return the lines of a list with bullets or numbers, if there are several."""
    found = list(_BULLETS.finditer(text))[:_MOST_ITEMS]
    return tuple(Mention("quoted", line[1].strip(), *line.span(1)) for line in found) if len(found) > 1 else ()


_MOST_CHOICES, _MOST_EXAMPLES, _MOST_PLACES, _MOST_ITEMS = 300, 20, 20, 100
_WORD = lazy_pattern(r"[^\W_]+(?:['’](?:t|s|re|ve|ll|d|m)\b)?|[°€$£][CFK]?|(?<![^\W\d_])[+*/-]")
_STATED = lazy_pattern(r"\s*(?:is|are|was|to|[:=]|set to|should be|turned)?\s*([^\W\d_]+)")
_DENIED = lazy_pattern(r"(?i)\b(?:not|no|nicht|without|non)\W+$")
_CLAUSES = lazy_pattern(r"[.;!?\n,:]|\band\b|\bbut\b|\bund\b")
_AUXILIARY = vocabulary("is has should include enable enabled use with do allow needs need want be are only")
_BULLETS = lazy_pattern(r"^[ \t]{0,12}(?:[-*•]|\d{1,3}[.)])[ \t]{1,4}(\S[^\n]{0,500})$", re.MULTILINE)
_KINDS_OF_ITEMS = vocabulary(
    "number money quoted name words email url id channel date path phone ip host uuid address version color"
)


def kind_of_text(semantic_type: str, words: Iterable[str]) -> str:
    """Return which kind of free text a property takes: text, message, reason, task, topic, query, expression..."""
    named = set(words)
    kind = next((kind for kind, words in _KINDS.items() if named & words), "")
    if kind or semantic_type != "text":
        return kind or semantic_type
    return "message" if named.isdisjoint(_WHOLE_TEXTS) else "text"


def announced(text: str, kind: str, used: Iterable[Mention]) -> Place | None:
    """Return where free text of a kind stands, cut before used mentions; None where nothing announces it."""
    taken = sorted((mention.start, mention.end) for mention in used)
    for cue in _CUES.get(kind, ()):
        for start, end in _sentences(text[:_REACH]):
            polite = _after_courtesy(text, start, end)
            at_start = cue in (_ASKING, _VERB)
            found = cue.match(text[polite:end]) if at_start else cue.search(text, polite, end)
            if found is None:
                continue
            begin = polite + found.end() if at_start else found.end()
            whole = kind in ("message", "text") and cue in (_COLON, _SAYING)
            end = _end_after_colon(text, begin) if cue is _COLON else end
            if place := _trimmed(text, (begin, end), taken, whole=whole):
                return place
    return None


def remainder(text: str, kind: str, used: Iterable[Mention]) -> Place | None:
    """Return the object of the first request: the rest of its sentence; of a question, all of it."""
    taken = sorted((mention.start, mention.end) for mention in used)
    for start, end in _sentences(text[:_REACH]):
        polite = _after_courtesy(text, start, end)
        verb = _VERB.match(text[polite:end])
        asks = kind in _QUESTIONS and text[start:end].rstrip().endswith(("?", "？"))
        place: Place | None
        if kind == "question" or (asks and not taken):
            asked = _ASKED_OF.search(text, start, end) if kind == "" else None
            place = asked.span(1) if asked else (start if kind == "question" else polite, end)
        else:
            begin = polite + (verb.end() if verb and not asks else 0)
            place = _trimmed(text, (begin, end), taken, whole=False)
        if place and text[slice(*place)].lower() not in word_set("requests"):
            return place
    return None


_ASKED_OF = lazy_pattern(r"\bthe \w{1,30} (?:of|for) (?:the |an? )?([^?\n]{1,80})[?？]\s*$")


def _after_courtesy(text: str, start: int, end: int) -> int:
    found = _POLITE.match(text[start:end])
    return start + (found.end() if found else 0)


def _sentences(text: str) -> Iterator[Place]:
    start = 0
    for found in _SENTENCE.finditer(text):
        if text[start : found.start()].strip():
            yield start, found.start()
        start = found.end()
    if text[start:].strip():
        yield start, len(text)


def _end_after_colon(text: str, begin: int) -> int:
    """Where a text after a colon ends: before a blank line or a sentence that requests more, else with the text."""
    rest = text[begin : begin + _REACH]
    ends = (found.start() for found in (_NEXT_REQUEST.search(rest), _BLANK_LINE.search(rest)) if found)
    return begin + min(ends, default=len(rest))


def _trimmed(text: str, place: Place, taken: list[Place], *, whole: bool) -> Place | None:
    begin, end = place
    cut = end
    for start, stop in taken:
        if start <= begin < stop:
            begin = stop
        elif begin < start < cut and not whole:
            cut = start
    piece = text[begin:cut]
    if cut < end:
        piece = _LEADING.sub("", piece.rstrip(" $€£¥#\"'“‘«"))
    piece = _TAIL.sub("", piece.rstrip())
    if not whole or piece.count(".") + piece.count("!") + piece.count("?") == 0:
        piece = _TAIL.sub("", piece.rstrip(" \n.!?。？！,;:"))
    lead = len(piece) - len(piece.lstrip(" \n,;:.!?\"'“”"))
    piece = piece.rstrip(" \n\"'“”")
    return (begin + lead, begin + len(piece)) if len(piece) > lead + 1 else None


_REACH = 4_000
_POLITE = lazy_pattern(
    r"^(?:(?:hi|hey|hello|ok(?:ay)?|so|well|now|please|pls|kindly|just|also|then|and|first|next|finally)\b[,!. ]*"
    r"|(?:can|could|would|will) (?:you|u|we)(?: please)?\b ?|i(?:'d| would)? (?:like|love|want|need)(?: you)? (?:to )?"
    r"|(?:i(?:'m| am) )?(?:looking|trying) to |help me (?:to )?|let'?s |(?:use the|call) [\w-]{1,40} (?:tool )?to )+",
    re.IGNORECASE,
)
_ASKING = lazy_pattern(
    r"(?:search|look|browse|google|query|scan|check)(?: (?:(?:in|through|on|at|into) )?(?:the |our |my |your "
    r"|this )?[\w-]{1,15}(?: (?!for|up|about|on)\w{1,15})?)? (?:for|up|about|on) (?:information on )?|(?:look up"
    r"|find out|find me|find|google|search|lookup|explain|describe|define|show me|get me|list|fetch) (?:all |some "
    r"|any )?(?:(?:information|info|details|news|papers|articles|documents) (?:on|about|for) )?|(?:tell me|give me"
    r"|what do you know|write(?: me)?(?: an?)? [\w ]{1,30}?|ask)(?: (?:more|everything|all))? about |(?:suche?|finde"
    r"|cherche[rz]?|trouve[rz]?|busca|buscar|cerca) (?:nach |moi |me |mir )?",
    re.IGNORECASE,
)
_SAYING = lazy_pattern(
    r"(?:\b(?:e-?mail|write|text|message|notify|inform|tell|remind|let)\b[^;:\n]{1,80}? that\b|\b(?:say|tell|stat"
    r"|explain|writ|announc|read)(?:s|es|ing)? that\b|\b(?:saying|says|say|stating|reads|reading|dass|diciendo que"
    r"|disant que|que diga)\b|\bwith (?:the )?(?:message|text|body|content|comment|note)\b)[ :,]{0,3}",
    re.IGNORECASE,
)
_TELLING = lazy_pattern(
    r"\b(?:remind|tell|ask|remember|reminder|task|todo|goal|want|need)\b(?: \w{1,20})?(?: is)? to ", re.IGNORECASE
)
_REASON = lazy_pattern(r"\b(?:because|since|as|due to|owing to|weil|parce que|porque)\b(?: of)? ", re.IGNORECASE)
_ABOUT = lazy_pattern(r"\b(?:about|regarding|concerning|on the topic of|über|sobre)\b ", re.IGNORECASE)
_COLON = lazy_pattern(r"[:：](?=\s)\s*(?=\S)")
_QUESTION_WORDS = vocabulary("what what's who when where why how which is are was were can could will would")
_VERB = lazy_pattern(
    rf"^(?:what is|how much is|show me|give me|tell me|{'|'.join(sorted(word_set('requests') - _QUESTION_WORDS))})\b"
    r"(?: me\b| us\b)?(?: the| an?)?(?: following)?(?: (?:command|text|code|expression|sentence|word|phrase|query"
    r"|question|message|note|task|todo|(?:image|picture|photo|drawing|painting|illustration) of))? (?:the )?",
    re.IGNORECASE,
)
_SENTENCE = lazy_pattern(r"(?<=[.!?。？！])(?:\s+|$)|\n{1,4}")
_TAIL = lazy_pattern(
    r"(?:[,;]? (?:please|pls|thanks?(?: you)?|for me|now|asap|right away|bitte|por favor|s'il vous plaît))+$",
    re.IGNORECASE,
)

_CUES: dict[str, tuple[re.Pattern[str], ...]] = {
    "text": (_SAYING, _COLON, _TELLING, _REASON),
    "message": (_SAYING, _COLON, _TELLING, _REASON),
    "reason": (_REASON, _SAYING),
    "task": (_TELLING, _COLON, _SAYING),
    "topic": (_ABOUT, _COLON, _ASKING),
    "query": (_ASKING, _ABOUT, _COLON),
    "title": (_COLON, _ABOUT, _TELLING),
}
_KINDS = {
    "reason": vocabulary("reason cause justification"),
    "task": vocabulary("task todo goal objective reminder"),
    "topic": vocabulary("topic subject theme about interest"),
    "question": vocabulary("question"),
}
_WHOLE_TEXTS = vocabulary("text input content sentence phrase paragraph document")
_QUESTIONS = ("query", "message", "text", "task", "topic", "")
_BLANK_LINE = lazy_pattern(r"\n\n")
_NEXT_REQUEST = lazy_pattern(
    r"[.!?]\s+(?=(?:set|assign|add|make|mark|use|please|send|then|also|tag|label|give|put|it|with)\b)", re.IGNORECASE
)
_LEADING = lazy_pattern(
    r"(?:[\s,;(]{1,3}(?:in|at|from|to|for|with|by|about|on|as|into|under|over|below|above|than|less|more|at|most"
    r"|least|up|of|the|an?|and|or|nach|von|für|auf|ins?|in|à|en|de|al|costing|max(?:imum)?|min(?:imum)?|limit"
    r"|published|after|before|since|until|set|titled|called|named))+$",
    re.IGNORECASE,
)
