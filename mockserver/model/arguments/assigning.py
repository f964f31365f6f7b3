"""Gives the mentions of a text to the properties of an object, the best pairs first, each mention once.

What takes free text gets the words that the text announces, or what is left of them.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from itertools import islice

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily, remember
from mockserver.model.arguments.evidence import (
    ENOUGH,
    ENOUGH_FOR_REQUIRED,
    UNTOLD,
    Mention,
    Property,
    ask_for_parts,
    measures_in_words,
    read_item,
    read_property,
    score,
)
from mockserver.model.arguments.mentions import LISTED, read
from mockserver.model.budget import spend
from mockserver.model.vocabulary import (
    find_singular,
    make_vocabulary,
    read_headings,
    read_truth,
    read_word_list,
    read_word_lists,
    read_word_set,
    split_name,
    weigh_word,
)

Fits = Callable[[str, Json], bool]  # whether the property of this name may have this value
WHOLE = "answer"  # the name of a value that is not a property
Scored = tuple[int, Mention]


class Candidate(Struct, frozen=True):
    """A mention that may become the value of a property, with its points; several mentions make a list."""

    points: int
    prop: Property
    mentions: tuple[Mention, ...]
    is_list: bool = False

    @property
    def is_one(self) -> bool:
        """Whether it is one thing in passing, and no list."""
        return self.is_list and len(self.mentions) == 1

    @property
    def rank(self) -> tuple[int, int, int]:
        """Sorts the best first: by points, then by the order of the text, then of the schema."""
        return (-self.points, self.mentions[0].start, self.prop.order)


class Assignment(Struct):
    """The values that properties have so far, and the mentions that are used."""

    text: str
    fits: Fits
    given: dict[str, Json] = {}
    used: list[Mention] = []
    places: dict[str, Mention] = {}  # of single values

    def take(self, match: Candidate) -> bool:
        """Give a property its value, unless it has one, its mentions are used or no form of them fits."""
        name = match.prop.name
        used = self.used
        if match.prop.semantic_type == "currency":  # an amount of money says two things
            used = [other for other in used if other.kind in ("currency", "money")]
        if name in self.given or any(mention.overlaps(other) for mention in match.mentions for other in used):
            return False
        value = next((value for value in _list_values(self.text, match) if self.fits(name, value)), None)
        if value is None:
            return False
        self.given[name] = value
        self.used.extend(match.mentions)
        self.places |= {} if match.is_list else {name: match.mentions[0]}
        return True

    def sort_similar(self, props: Sequence[Property]) -> None:
        """Give properties that differ in a letter or a number, as a and b, their values in the order of the text."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for prop in sorted(props, key=lambda prop: prop.name):
            if (
                prop.name in self.places
                and (rest := tuple(word for word in prop.words if not _is_sign(word))) != prop.words
            ):
                groups.setdefault((*prop.types, "", *rest), []).append(prop.name)
        for names in groups.values():
            found = sorted((self.places[name] for name in names), key=lambda mention: mention.start)
            if len(found) == 2 and found[1].cue == "from" != found[0].cue:  # "12 from 50" begins with 50
                found.reverse()
            values = {mention.start: self.given[name] for name in names for mention in (self.places[name],)}
            if len(names) > 1 and all(mention.kind not in ("pair", "member") for mention in found):
                self.given |= {name: values[mention.start] for name, mention in zip(names, found, strict=True)}

    def take_text(self, prop: Property, place: tuple[int, int] | None) -> None:
        if place and self.fits(prop.name, self.text[slice(*place)]):
            self.given[prop.name] = self.text[slice(*place)]
            self.used.append(Mention("free", self.text[slice(*place)], *place))


def _is_sign(word: str) -> bool:
    return (len(word) == 1 and word.isalpha()) or (word.isdecimal() and len(word) < 4)


def read_properties(
    properties: Mapping[str, Json], required: Collection[str] = (), owner: str = ""
) -> Sequence[Property]:
    if len(properties) > _FEW_PROPERTIES and not spend(_STEPS_OF_PROPERTY * len(properties)):
        return ()
    written = to_json(properties, inf_nan_mode="constants")
    reading = _read_known_properties if len(written) <= _LONGEST_CACHED else _read_known_properties.__wrapped__
    return reading(written, frozenset(required).intersection(properties), owner)


@remember(1024)
def _read_known_properties(written: bytes, required: frozenset[str], owner: str) -> Sequence[Property]:
    """Read properties of which `written` is the JSON: the same ones come with each request, as new objects."""
    listed = enumerate(json.loads(written).items())
    return ask_for_parts(
        [
            read_property(name, schema, at, required=name in required, owner=owner if name == "name" else "")
            for at, (name, schema) in listed
        ]
    )


def assign(assignment: Assignment, ranked: Sequence[Candidate], props: Sequence[Property]) -> None:
    """Fill properties with what the mentions say clearly, the best candidates first."""
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
            assignment.take_text(prop, find_announced(assignment.text, _find_kind_of_text(prop), assignment.used))


def assign_required(assignment: Assignment, ranked: Sequence[Candidate], props: Sequence[Property]) -> None:
    """Fill properties that are required on weaker evidence too, down to the phrase that is left."""
    names = {prop.name for prop in props}
    ranked = [match for match in ranked if match.prop.name in names and not (_lists_texts(match.prop) and match.is_one)]
    for match in ranked:
        if match.points >= ENOUGH_FOR_REQUIRED:
            assignment.take(match)

    def list_missing() -> list[Property]:
        return [prop for prop in props if prop.name not in assignment.given]

    def take_any(prop: Property, more_than: int) -> None:
        any(assignment.take(match) for match in ranked if match.prop is prop and match.points > more_than)

    for prop in list_missing():
        if prop.semantic_type == "title":
            take_any(prop, 5)
        if _takes_free_text(prop) and prop.name not in assignment.given:
            assignment.take_text(prop, find_remainder(assignment.text, _find_kind_of_text(prop), assignment.used))
    for prop in list_missing():
        takes_order = _lists_texts(prop) and not orders_to_invent(assignment.text)
        place = find_remainder(assignment.text, "question", assignment.used) if takes_order else None
        if place and assignment.fits(prop.name, [assignment.text[slice(*place)]]):
            assignment.given[prop.name] = [assignment.text[slice(*place)]]
    for numeric in (True, False):
        rest = [prop for prop in list_missing() if prop.numeric == numeric]
        if len(rest) == 1 and not rest[0].choices:  # a phrase is better for a text than a stray word
            take_any(rest[0], 6 if not numeric and rest[0].semantic_type == "" else 0)
    for match in ranked:
        if match.mentions[0].kind in _NAMES and match.points >= _WEAK and not match.is_list:
            assignment.take(match)
    rest = [prop for prop in list_missing() if prop.takes_text]
    if len(rest) == 1 and (rest[0].semantic_type == "" or rest[0].semantic_type in _FREE_TEXTS):
        assignment.take_text(rest[0], find_remainder(assignment.text, "", assignment.used))


def rank_candidates(
    text: str, found: Sequence[Mention], props: Sequence[Property], among: Sequence[Property] = ()
) -> Sequence[Candidate]:
    """Return the pairs of property and mention that speak for each other, best first; none if that is too much work."""
    half = max(20, _MOST_PAIRS // max(1, len(props))) // 2
    looked_at = found if len(found) <= 2 * half else (*found[:half], *found[-half:])  # the middle tells least
    if not spend(len(props) * len(looked_at)):
        return ()
    heads = frozenset(word for prop in among or props for word in prop.words if len(word) > 1) - UNTOLD
    every = (match for prop in props for match in _find_candidates(text, looked_at, prop=prop, heads=heads))
    return sorted(every, key=lambda match: match.rank)


def _find_candidates(
    text: str, found: Sequence[Mention], prop: Property, heads: Collection[str]
) -> Iterator[Candidate]:
    if prop.choices:
        yield from (Candidate(points, prop, (mention,)) for points, mention in find_choices(text, prop))
        found = [each for each in found if each.kind in _NAMED_VALUES]
    if "array" in prop.types:
        yield from _find_lists(text, found, prop)
    for mention in found:
        points = score(mention, prop)
        if points > 0 and any(word in heads and word not in prop.words for word in mention.before[:1]):
            points -= _AGAINST_OTHERS
        if points > 0 and not (mention.kind == "words" and _is_only_names(mention, (*heads, *prop.words))):
            yield Candidate(points, prop, (mention,))
    if prop.takes_text:
        for hint in sorted(prop.hints)[:_MOST_EXAMPLES]:
            places = _find_runs(text, split_name(hint) or (hint,))
            yield from (Candidate(48, prop, (Mention("words", text[slice(*at)], *at),)) for at in places)
        rests = filter(None, (_remove_name(each, prop) for each in found))
        yield from (Candidate(44, prop, (rest,)) for rest in rests)


def _is_only_names(mention: Mention, names: Collection[str]) -> bool:
    said = str(mention.value).lower().split(" ")
    return {find_singular(word) for word in said if weigh_word(word) > _FAINT}.issubset(names) and find_singular(
        said[-1]
    ) in names


def _remove_name(mention: Mention, prop: Property) -> Mention | None:
    """Return the rest of a phrase that begins or ends with the property's name: "namespace prod", "the web app"."""
    words = mention.value.split(" ") if mention.kind in ("words", "name") and isinstance(mention.value, str) else ()
    if not 1 < len(words) < 6 or len(prop.words[-1]) < 3:
        return None
    if find_singular(words[0]) == prop.words[-1] and len(words[1]) > 1:
        return Mention("words", " ".join(words[1:]), start=mention.start + len(words[0]) + 1, end=mention.end)
    if all(weigh_word(word) <= _FAINT for word in map(str.lower, words[:-1])):  # "my current location" names none
        return None
    announced = mention.unit == "the" or (mention.cue in ("in", "as") and len(words) == 2)
    if mention.kind != "words" or not announced:
        return None
    end = mention.end - len(words[-1]) - 1
    is_named = find_singular(words[-1]) == prop.words[-1]
    return Mention("words", " ".join(words[:-1]), start=mention.start, end=end) if is_named else None


def orders_to_invent(text: str) -> bool:
    """Return whether a text asks for something new, `generate a recipe`, and not for what it says."""
    return _INVENTS.match(text) is not None and _SOURCE.search(text) is None


def orders_one_list(text: str) -> bool:
    """Return whether the list, whatever its name, is what a text asks for: `generate a list of 3 ideas`."""
    return orders_to_invent(text) and " list of " in text


def _lists_texts(prop: Property) -> bool:
    """Return whether a property is a list of sentences, such as the steps of a plan."""
    return "array" in prop.types and not _SENTENCES.isdisjoint(prop.words) and read_item(prop).takes_text


def _takes_free_text(prop: Property) -> bool:
    return prop.takes_text and prop.semantic_type in _FREE_TEXTS


def _find_kind_of_text(prop: Property) -> str:
    """Return which kind of free text a property takes: text, message, reason, task, topic, query, expression..."""
    named = set(prop.words)
    kind = next((kind for kind, words in _KINDS_OF_TEXT.items() if named & words), "")
    return kind or prop.semantic_type


# Words of the text itself


@remember(32)
def _index_words(text: str) -> tuple[tuple[tuple[str, int, int], ...], Mapping[str, list[int]]]:
    words = tuple((find_singular(found[0]), found.start(), found.end()) for found in _WORD.finditer(text))
    places: dict[str, list[int]] = {}
    for at, (word, _, _) in enumerate(words):
        places.setdefault(word, []).append(at)
    return words, places


def _find_runs(text: str, pieces: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    words, places = _index_words(text)
    for at in places.get(pieces[0], ())[:_MOST_PLACES]:
        if tuple(word for word, _, _ in words[at : at + len(pieces)]) == pieces:
            yield words[at][1], words[at + len(pieces) - 1][2]


def find_choices(text: str, prop: Property) -> Iterator[Scored]:
    for choice in prop.choices[:_MOST_CHOICES]:
        for points, (start, end) in _find_choice(text, choice) if isinstance(choice, str) and choice else ():
            denied = _DENIED.search(text[max(0, start - 20) : start])
            yield points - (40 if denied else 0), Mention("choice", choice, start=start, end=end)


def _find_choice(text: str, choice: str) -> Iterator[tuple[int, tuple[int, int]]]:
    pieces = split_name(choice) or (choice.lower(),)
    exact = [*_find_runs(text, pieces)] or [*_find_runs(text, ("".join(pieces),))]
    if len(choice) == 1:
        exact = [at for at in exact if text[slice(*at)] == choice and not choice.islower()]
    common = len(pieces) == 1 and pieces[0] in read_word_set("common")
    yield from ((36 if common else 62, place) for place in exact)
    for other in () if exact else _list_other_names(choice):
        yield from ((50, place) for place in _find_runs(text, split_name(other) if other[0].isalnum() else (other,)))


@remember(4096)
def _list_other_names(choice: str) -> Sequence[str]:
    lowered = choice.lower()
    languages = [name for name, code in read_headings("language_codes").items() if lowered in (code, f"{code}-{code}")]
    is_currency = len(choice) == 3 and choice.isupper()
    coins = [name for name, code in read_headings("currencies").items() if code == choice] if is_currency else []
    return (*read_word_list("choices").get(lowered, ()), *languages, *coins)


def find_boolean(text: str, prop: Property) -> bool | None:
    """Return what the text says of a property that is true or false; None where it says nothing."""
    words = tuple(word for word in prop.words if word not in _AUXILIARY) or prop.words
    places = (*_find_runs(text, words), *_find_runs(text, ("".join(words),)))
    if not places:
        tokens = _index_words(text)[0]
        length = len(words)
        starts = range(len(tokens) - length + 1)
        alike = (at for at in starts if all(map(_is_form, [word for word, _, _ in tokens[at : at + length]], words)))
        places = tuple((tokens[at][1], tokens[at + length - 1][2]) for at in islice(alike, 1))
    if not places:
        return None
    start, end = places[0]
    after = _STATED.match(text[end : end + 30])
    if after and "." not in after[0] and (stated := read_truth(after[1])) is not None:
        return stated
    clause = _CLAUSES.split(text[max(0, start - 40) : start].lower())[-1]
    before = [word.replace("’", "'") for word in re.findall(r"[\w'’]+", clause)[-4:]]
    said = (word for word in reversed(before) if word in read_word_set("negations") | read_word_set("affirmations"))
    return next(said, "yes") not in read_word_set("negations")


@remember(8192)
def _is_form(word: str, name: str) -> bool:
    short, long = sorted((word, name), key=len)
    return word == name or (
        len(short) >= 4 and long.startswith(short[: max(4, len(short) - 1)]) and len(long) - len(short) <= 4
    )


# Lists


def _find_lists(text: str, found: Sequence[Mention], prop: Property) -> Iterator[Candidate]:
    item = read_item(prop)
    if "object" in item.types:
        return
    if item.choices:
        scored = [pair for pair in find_choices(text, item) if pair[0] >= ENOUGH]
    else:
        scored = [*_find_items(found, item, prop)]
        if "string" in item.types:
            lines = [*_BULLETS.finditer(text)][:_MOST_ITEMS]
            if len(lines) > 1:
                yield Candidate(
                    80,
                    prop,
                    mentions=tuple(Mention("quoted", each[1].strip(), *each.span(1)) for each in lines),
                    is_list=True,
                )
            any_list = prop.name == WHOLE or orders_one_list(text)
            count = find_count_of_items(text, found, () if any_list else prop.words[-1:])
            if count is not None and count.value > 1:  # "three colours" says how many there are, not which
                scored = [pair for pair in scored if not pair[1].overlaps(count)]
                yield from (each for each in _group_items(text, scored, prop=prop, item=item) if len(each.mentions) > 1)
                return
    yield from _group_items(text, scored, prop=prop, item=item)


def _find_items(found: Sequence[Mention], item: Property, prop: Property) -> Iterator[Scored]:
    for mention in found:
        if mention.kind in _KINDS_OF_ITEMS and mention.unit != "label":
            points = score(mention, item)
            plain = item.numeric and item.semantic_type in ("", "number") and mention.kind in ("number", "money")
            wordy = "string" in item.types and item.semantic_type in ("", "title", "text", "query")
            if points >= 10 or plain or (wordy and mention.kind in ("words", "name") and points > -10):
                yield max(points, 10), mention


def _group_items(text: str, scored: Sequence[Scored], prop: Property, item: Property) -> Iterator[Candidate]:
    """Yield mentions that stand one after the other, with the points of each group."""
    runs: list[list[Scored]] = []
    for points, mention in sorted(scored, key=lambda pair: (pair[1].start, -pair[0])):
        last = runs[-1][-1][1] if runs else None
        if last and mention.start < last.end:
            continue
        near = last and item.numeric and item.semantic_type in ("number", "") and mention.start - last.end < 30
        if last and (near or LISTED.fullmatch(text, last.end, mention.start)):
            runs[-1].append((points, mention))
        else:
            runs.append([(points, mention)])
    for run in runs:
        best = max(points for points, _ in run)
        yield Candidate(best + 24 * (len(run) > 1), prop, tuple(mention for _, mention in run), is_list=True)


def find_count_of_items(text: str, found: Sequence[Mention], nouns: Collection[str]) -> Mention | None:
    """Find where a text says how many items it wants: `4 tasks`, `five European capitals`; without a noun, of any."""
    for mention in found:
        if mention.kind == "number" and isinstance(mention.value, int):
            end = mention.end
            following = _NEXT_WORDS.match(text, mention.end)
            for word in following[0].split() if following else ():
                end = end + 1 + len(word)
                one = find_singular(word.lower())
                if any(_is_form(one, noun) for noun in nouns) or (not nouns and one != word.lower()):
                    return Mention("count", mention.value, start=mention.start, end=end)
    return None


# Values


def _list_values(text: str, match: Candidate) -> Iterator[Json]:
    if not match.is_list:
        yield from convert(text, match.mentions[0], match.prop)
        return
    item = read_item(match.prop)
    found = [next(convert(text, mention, item), None) for mention in match.mentions]
    yield [value for value in found if value is not None]


def convert(text: str, mention: Mention, prop: Property) -> Iterator[Json]:
    """Yield the values of a property's types that a mention can stand for, the likeliest first."""
    for kind in prop.types or ("any",):
        match kind:
            case "any" if isinstance(mention.value, dict | list):
                yield mention.value
            case "string" | "any":
                yield from _convert_to_string(text, mention, prop)
            case "integer" | "number":
                yield from _convert_to_number(mention, prop, whole=kind == "integer")
            case "boolean":
                value = read_truth(mention.value) if isinstance(mention.value, str) else mention.value
                yield from [value] if isinstance(value, bool) else ()
            case "object" if isinstance(mention.value, Mapping):
                yield mention.value
            case "array" if isinstance(mention.value, list):
                yield mention.value


def _convert_to_string(text: str, mention: Mention, prop: Property) -> Iterator[str]:
    match mention.kind:
        case "date" | "datetime" | "time":
            yield from _convert_to_moment(mention, prop)
        case "duration" if prop.format == "duration":
            yield to_json(timedelta(seconds=mention.value)).decode().strip('"')
        case "money" if prop.semantic_type == "currency":
            yield mention.unit
        case "name" | "words" if prop.semantic_type == "currency":
            yield read_headings("currencies").get(str(mention.value).lower()) or str(mention.value)
        case _ if isinstance(mention.value, str):
            if mention.kind in _WRITTEN and prop.format:
                yield from (str(each) for each in _read_within(mention.value, prop))
            yield mention.value
        case _ if not isinstance(mention.value, dict | list | bool):
            unit = text.find(mention.unit, mention.end) if measures_in_words(mention, prop) else -1
            end = max(mention.end, unit + len(mention.unit)) if unit >= 0 else mention.end
            written = str(mention.value) if mention.kind == "member" else text[mention.start : end].strip()
            yield written.lstrip("#№ ") if mention.unit == "#" else written


def _convert_to_moment(mention: Mention, prop: Property) -> Iterator[str]:
    day, _, time = mention.value.partition("T") if mention.kind != "time" else ("", "", mention.value)
    if prop.semantic_type == "date" and day:
        yield day
    elif prop.semantic_type == "datetime" and mention.kind == "date" and prop.format:
        yield f"{day}T00:00:00Z"
    elif prop.semantic_type == "time" and mention.kind in ("time", "datetime"):
        time = time.rstrip("Z")
        has_seconds = time.count(":") > 1
        if prop.format:
            yield from (f"{time if has_seconds else f'{time}:00'}{zone}" for zone in ("Z", ""))
        yield time.removesuffix(":00") if has_seconds else time
    else:
        yield mention.value


def _convert_to_number(mention: Mention, prop: Property, *, whole: bool) -> Iterator[int | float]:
    number = mention.value
    if mention.kind == "duration":
        number = _convert_duration(mention, prop)
    elif isinstance(number, str) and mention.kind in _WRITTEN:
        yield from _read_within(number, prop)
        return
    elif isinstance(number, bool) or not isinstance(number, int | float):
        return
    if whole and isinstance(number, float) and number == int(number):
        number = int(number)
    if mention.unit == "%" and "percent" not in "".join(prop.words) and prop.schema.get("maximum") == 1:
        yield round(number / 100, 9)
    if not (whole and isinstance(number, float)):
        yield number


def _convert_duration(mention: Mention, prop: Property) -> float:
    """Return a duration in the unit that the property's name or description says, else as it is said."""
    about = str(prop.schema.get("description") or "").lower()
    unit = next((word for word in reversed(prop.words) if word in _SECONDS), None)
    unit = unit or next((word for word in ("millisecond", "second", "minute", "hour", "day") if word in about), None)
    said = mention.unit.lower()
    amount = mention.value / (_SECONDS.get(unit or said) or _SECONDS.get(said[:-1]) or 1)
    return int(amount) if amount == int(amount) else float(round(amount, 6))


def _read_within(written: str, prop: Property) -> Iterator[Json]:
    for mention in read(written[:500]):
        if mention.kind not in _WRITTEN and mention.kind not in ("name", "words"):
            yield from convert(written, mention, prop)


_FEW_PROPERTIES = 60  # properties that are read in no time
_LONGEST_CACHED = 20_000  # bytes of those that are remembered
_STEPS_OF_PROPERTY = 4  # what reading a property costs, as compared with a pair
_MOST_PAIRS = 12_000  # of a mention and a property that are looked at
_MOST_CHOICES = 300
_MOST_EXAMPLES = 20
_MOST_PLACES = 20
_MOST_ITEMS = 100
_WEAK = 8  # points from which a name is better than nothing for a required property
_AGAINST_OTHERS = 24  # points against a mention with the name of another property before it
_FAINT = 0.1  # weight of adjectives that tell nothing
_NAMED_VALUES = make_vocabulary("pair member number")
_WRITTEN = make_vocabulary("pair member quoted")
_NAMES = make_vocabulary("name quoted id slug channel uuid host ip")
_FREE_TEXTS = make_vocabulary("text query code command expression title")
INVENT = r"(?:create|generate|invent|produce|suggest|propose|make up|come up with)\s+"
_INVENTS = compile_lazily(rf"(?i)\s*(?:please\s+)?{INVENT}")
_SOURCE = compile_lazily(r"(?i)\b(?:following|below|given|based on|from)\b|\n")
_SENTENCES = make_vocabulary("step task todo goal plan question query objective action")
_KINDS_OF_TEXT = {
    "reason": make_vocabulary("reason cause justification"),
    "task": make_vocabulary("task todo goal objective reminder"),
    "topic": make_vocabulary("topic subject theme about interest"),
    "question": make_vocabulary("question"),
}
_WORD = compile_lazily(r"[^\W_]+(?:['’](?:t|s|re|ve|ll|d|m)\b)?|[°€$£][CFK]?|(?<![^\W\d_])[+*/-]")
_STATED = compile_lazily(r"\s*(?:is|are|was|to|[:=]|set to|should be|turned)?\s*([^\W\d_]+)")
_DENIED = compile_lazily(r"(?i)\b(?:not|no|nicht|without|non)\W+$")
_CLAUSES = compile_lazily(r"[.;!?\n,:]|\band\b|\bbut\b|\bund\b")
_AUXILIARY = make_vocabulary("is has should include enable enabled use with do allow needs need want be are only")
_BULLETS = compile_lazily(r"(?m)^[ \t]{0,12}(?:[-*•]|\d{1,3}[.)])[ \t]{1,4}(\S[^\n]{0,500})$")
_NEXT_WORDS = compile_lazily(r"(?: [\w-]{1,30}){1,3}")
_KINDS_OF_ITEMS = make_vocabulary(
    "number money quoted name words email url id channel date path phone ip host uuid address version color hue"
)
_SECONDS: Mapping[str, float] = {
    **dict.fromkeys(("ms", "millisecond", "millis"), 0.001),
    **dict.fromkeys(("s", "sec", "second"), 1),
    **dict.fromkeys(("min", "mins", "minute"), 60),
    **dict.fromkeys(("h", "hr", "hour"), 3_600),
    "day": 86_400,
    "week": 604_800,
}


Place = tuple[int, int]  # where something starts and ends


# Free text


def find_announced(text: str, kind: str, used: Iterable[Mention]) -> Place | None:
    """Return where free text of a kind stands, cut before used mentions; None where nothing announces it."""
    taken = _sort_places(used)
    sentences = [*_split_sentences(text[:_REACH])]
    for cue in read_word_lists("patterns")["announced"].get(kind, ()):
        pattern = _read_announcements()[cue]
        for start, end in sentences:
            found = (pattern.match if cue == "asking" else pattern.search)(text, start, end)
            if found is None:
                continue
            begin = found.end()
            whole = kind in ("message", "text") and cue in ("colon", "saying")
            end = _find_end_after_colon(text, begin) if cue == "colon" else end
            if place := _trim(text, (begin, end), taken, whole=whole):
                return place
    return None


def find_remainder(text: str, kind: str, used: Iterable[Mention]) -> Place | None:
    """Return the object of the first request: the rest of its sentence; of a question, all of it."""
    taken = _sort_places(used)
    for start, end in _split_sentences(text[:_REACH]):
        verb = _LEADING_VERB.match(text, start, end)
        asks = kind in _QUESTIONS and text[start:end].rstrip().endswith(("?", "？"))
        place: Place | None
        if kind == "question" or (asks and not taken):
            place = start, end
        else:
            place = _trim(text, (verb.end() if verb and not asks else start, end), taken, whole=False)
        if place and text[slice(*place)].lower() not in read_word_set("requests") | _POINTING:
            return place
    return None


def _sort_places(used: Iterable[Mention]) -> list[Place]:
    return sorted((mention.start, mention.end) for mention in used)


def _split_sentences(text: str) -> Iterator[Place]:
    """Yield where the sentences of a text stand, without what is only polite; JSON has none."""
    start = len(text) if text.lstrip()[:1] in ("{", "[") else 0
    for end, following in (*(found.span() for found in _SENTENCE.finditer(text)), (len(text), len(text))):
        if text[start:end].strip():
            polite = _read_announcements()["polite"].match(text, start, end)
            yield polite.end() if polite else start, end
        start = following


@cache
def _read_announcements() -> Mapping[str, re.Pattern[str]]:
    return {
        cue: re.compile(source, re.IGNORECASE) for cue, source in read_word_lists("patterns")["announcements"].items()
    }


def _find_end_after_colon(text: str, begin: int) -> int:
    """Return where a text after a colon ends.

    It ends before a blank line or a sentence that requests more, else with the whole text.
    """
    rest = text[begin : begin + _REACH]
    following = _NEXT_REQUEST.search(rest)
    return begin + len(rest[: following.start() if following else None].partition("\n\n")[0])


def _trim(text: str, place: Place, taken: list[Place], *, whole: bool) -> Place | None:
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


_REACH = 4_000  # characters
_POINTING = make_vocabulary("it this that them these those")
_QUESTION_WORDS = make_vocabulary("what what's who when where why how which is are was were can could will would")
_LEADING_VERB = compile_lazily(
    r"(?:what is|how much is|show me|give me|tell me|"
    rf"{'|'.join(sorted(read_word_set('requests') - _QUESTION_WORDS))})\b"
    r"(?: me\b| us\b)?(?: the| an?)?(?: following)?(?: (?:command|text|code|expression|sentence|word|phrase|query"
    r"|question|message|note|task|todo|(?:image|picture|photo|drawing|painting|illustration) of))? (?:the )?",
    re.IGNORECASE,
)
_SENTENCE = compile_lazily(r"(?<=[.!?。？！])(?:\s+|$)|\n{1,4}")
_TAIL = compile_lazily(
    r"(?:[,;]? (?:please|pls|thanks?(?: you)?|for me|now|asap|right away|bitte|por favor|s'il vous plaît))+$",
    re.IGNORECASE,
)
_QUESTIONS = ("query", "message", "text", "task", "topic", "")
_NEXT_REQUEST = compile_lazily(
    r"[.!?]\s+(?=(?:set|assign|add|make|mark|use|please|send|then|also|tag|label|give|put|it|with)\b)", re.IGNORECASE
)
_LEADING = compile_lazily(
    r"(?:[\s,;(]{1,3}(?:in|at|from|to|for|with|by|about|on|as|into|under|over|below|above|than|less|more|at|most"
    r"|least|up|of|the|an?|and|or|nach|von|für|auf|ins?|in|à|en|de|al|costing|max(?:imum)?|min(?:imum)?|limit"
    r"|published|after|before|since|until|set|titled|called|named))+$",
    re.IGNORECASE,
)
