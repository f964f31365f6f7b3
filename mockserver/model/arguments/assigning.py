"""Gives the mentions of a text to the properties of an object, the best pairs first, each mention once.

What takes free text gets the words that the text announces, or what is left of them.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from itertools import islice
from typing import NamedTuple

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily, remember
from mockserver.model.arguments.evidence import (
    ENOUGH,
    ENOUGH_FOR_REQUIRED,
    Hits,
    Mention,
    Property,
    ask_for_parts,
    find_hits,
    measures_in_words,
    read_property,
    score,
)
from mockserver.model.arguments.mentions import LISTED, read
from mockserver.model.budget import spend
from mockserver.model.prose import list_content_words
from mockserver.model.vocabulary import (
    ENGLISH,
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
Place = tuple[int, int]  # where something starts and ends


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
        if name in self.given:
            return False
        is_currency = match.prop.semantic_type == "currency"  # an amount of money says two things
        for other in self.used:
            if is_currency and other.kind not in ("currency", "money"):
                continue
            for mention in match.mentions:
                if mention.start < other.end and other.start < mention.end:
                    return False
        for value in _list_values(self.text, match):
            if value is not None and self.fits(name, value):
                self.given[name] = value
                self.used.extend(match.mentions)
                if not match.is_list:
                    self.places[name] = match.mentions[0]
                return True
        return False

    def sort_similar(self, props: Sequence[Property]) -> None:
        """Give properties that differ in a letter or a number, as a and b, their values in the order of the text."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for prop in props:
            if prop.series and prop.name in self.places:
                groups.setdefault(prop.series, []).append(prop.name)
        for names in map(sorted, groups.values()):
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


def read_properties(properties: Mapping[str, Json], owner: str = "") -> Sequence[Property]:
    """Return what an object's properties ask for; equal ones get the same sequence, where it is kept."""
    if len(properties) > _FEW_PROPERTIES and not spend(_STEPS_OF_PROPERTY * len(properties)):
        return ()
    written = to_json(properties, inf_nan_mode="constants")
    reading = _read_known_properties if len(written) <= _LONGEST_CACHED else _read_known_properties.__wrapped__
    return reading(written, owner if "name" in properties else "")


@remember(1024)
def _read_known_properties(written: bytes, owner: str) -> Sequence[Property]:
    """Read properties of which `written` is the JSON: the same ones come with each request, as new objects."""
    listed = enumerate(json.loads(written).items())
    return ask_for_parts(
        [read_property(name, schema, at, owner=owner if name == "name" else "") for at, (name, schema) in listed]
    )


def assign(assignment: Assignment, ranked: Sequence[Candidate], props: Sequence[Property]) -> None:
    """Fill properties with what the mentions say clearly, the best candidates first."""
    for match in ranked:
        if match.points < ENOUGH:
            break
        if match.prop.name not in assignment.given:
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
    given = assignment.given
    missing = {prop.name: prop for prop in props}
    ranked = [match for match in ranked if match.prop.name in missing]
    if not ranked and not any(prop.takes_text or prop.item for prop in props):
        return
    ranked = [match for match in ranked if not (match.is_one and _lists_texts(match.prop))]

    def take(matches: Iterable[Candidate]) -> None:
        for match in matches:
            if match.prop.name in missing and assignment.take(match):
                del missing[match.prop.name]

    def take_any(prop: Property, more_than: int) -> None:
        take(match for match in ranked if match.prop is prop and match.points > more_than)

    def take_text(prop: Property, kind: str) -> None:
        assignment.take_text(prop, find_remainder(assignment.text, kind, assignment.used))
        if prop.name in given:
            del missing[prop.name]

    take(match for match in ranked if match.points >= ENOUGH_FOR_REQUIRED)
    for prop in [*missing.values()]:
        if prop.semantic_type == "title":
            take_any(prop, 5)
        if _takes_free_text(prop) and prop.name in missing:
            take_text(prop, _find_kind_of_text(prop))
    for prop in [*missing.values()]:
        takes_order = _lists_texts(prop) and not orders_to_invent(assignment.text)
        place = find_remainder(assignment.text, "question", assignment.used) if takes_order else None
        texts = [assignment.text[slice(*place)]] if place else []
        if place and not _STATEMENTS.isdisjoint(prop.words):  # all that the text says, without labels and questions
            said = [assignment.text[slice(*each)] for each in _split_sentences(assignment.text[:_REACH])]
            said = [_SPEAKER.sub("", each).strip() for each in said if not _IS_ASKED.search(each)]
            texts = [each for each in said if each][:_MOST_STATEMENTS] or texts
        elif prop.item and not _KEYWORDS.isdisjoint(prop.words):
            texts = [*list_content_words(_SPEAKER.sub("", assignment.text[:_REACH]), ENGLISH)]
        if texts and assignment.fits(prop.name, texts):
            given[prop.name] = texts
            del missing[prop.name]
    for numeric in (True, False):
        rest = [prop for prop in missing.values() if prop.numeric == numeric]
        if len(rest) == 1 and not rest[0].choices:  # a phrase is better for a text than a stray word
            take_any(rest[0], 6 if not numeric and rest[0].semantic_type == "" else 0)
    take(m for m in ranked if m.points >= _WEAK and not m.is_list and m.mentions[0].kind in _NAMES)
    rest = [prop for prop in missing.values() if prop.takes_text]
    if len(rest) == 1 and (rest[0].semantic_type == "" or rest[0].semantic_type in _FREE_TEXTS):
        take_text(rest[0], "")


Rankings = dict[tuple[int, int, int], tuple[Sequence[object], Sequence[Candidate]]]  # by identities of what is ranked


def rank_candidates(
    text: str,
    found: Sequence[Mention],
    props: Sequence[Property],
    among: Sequence[Property] = (),
    known: Rankings | None = None,
) -> Sequence[Candidate]:
    """Return the pairs of property and mention that speak for each other, best first; none if that is too much work.

    `among`: all properties of the object, where some have their values. `known` has what was ranked before.
    """
    half = max(20, _MOST_PAIRS // max(1, len(props))) // 2
    looked_at = found if len(found) <= 2 * half else (*found[:half], *found[-half:])  # the middle tells least
    if not spend(len(props) * len(looked_at)):
        return ()
    known = {} if known is None else known
    key = (id(found), id(props), id(among or props))
    before = known.get(key)
    if before is not None:
        return before[1]
    heads = {word for prop in among or props for word in prop.heads}
    around = {word for mention in looked_at for word in (*mention.before, *mention.after)}
    candidates: list[Candidate] = []
    for prop, hits in zip(props, find_hits(around, props), strict=True):
        candidates += _find_candidates(text, looked_at, prop=prop, hits=hits, heads=heads)
    candidates.sort(key=lambda match: (-match.points, match.mentions[0].start, match.prop.order))
    if len(candidates) <= _MOST_KEPT:
        if len(known) >= _MOST_RANKINGS:
            known.clear()
        known[key] = (found, props, among), candidates  # nothing else gets their identity
    return candidates


def _find_candidates(
    text: str, found: Sequence[Mention], prop: Property, hits: Hits, heads: Collection[str]
) -> list[Candidate]:
    candidates: list[Candidate] = []
    if prop.choices:
        candidates += [Candidate(points, prop, (mention,)) for points, mention in find_choices(text, prop)]
        found = [each for each in found if each.kind in _NAMED_VALUES]
    if prop.item is not None:
        candidates += _find_lists(text, found, prop=prop, item=prop.item, hits=hits)
    scorers = prop.scorers
    for mention in found:
        if mention.kind not in scorers:
            continue
        points = scorers[mention.kind](mention, prop, hits)
        if points > 0 and mention.before and mention.before[0] in heads and mention.before[0] not in prop.words:
            points -= _AGAINST_OTHERS
        if points > 0 and not (mention.kind in ("words", "name") and _is_only_names(mention, {*heads, *prop.words})):
            candidates.append(Candidate(points, prop, (mention,)))
    if prop.takes_text:
        for hint in sorted(prop.hints)[:_MOST_EXAMPLES] if prop.hints else ():
            places = _find_runs(text, split_name(hint) or (hint,))
            candidates += [Candidate(48, prop, (Mention("words", text[slice(*at)], *at),)) for at in places]
        for mention in found:
            if mention.kind in ("words", "name") and isinstance(mention.value, str) and " " in mention.value:
                rest = _remove_name(mention, mention.value.split(" "), prop)
                candidates += [] if rest is None else [Candidate(44, prop, (rest,))]
    return candidates


def _is_only_names(mention: Mention, names: Collection[str]) -> bool:
    said = str(mention.value).lower().split(" ")
    if find_singular(said[-1]) not in names:
        return False
    return {find_singular(word) for word in said if weigh_word(word) > _FAINT}.issubset(names)


def _remove_name(mention: Mention, words: Sequence[str], prop: Property) -> Mention | None:
    """Return the rest of a phrase that begins or ends with the property's name: "namespace prod", "the web app"."""
    if len(words) > 5 or len(prop.words[-1]) < 3:
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
    return not _SENTENCES.isdisjoint(prop.words) and bool(prop.item and prop.item.takes_text)


def _takes_free_text(prop: Property) -> bool:
    return prop.takes_text and prop.semantic_type in _FREE_TEXTS


def _find_kind_of_text(prop: Property) -> str:
    """Return which kind of free text a property takes: text, message, reason, task, topic, query, expression..."""
    named = set(prop.words)
    kind = next((kind for kind, words in _KINDS_OF_TEXT.items() if named & words), "")
    return kind or prop.semantic_type


# Words of the text itself


Words = tuple[str, ...]  # in the singular


@remember(32)
def _index_words(text: str) -> tuple[Sequence[tuple[str, int, int]], Mapping[str, Sequence[int]]]:
    words = [(find_singular(found[0]), *found.span()) for found in _WORD.finditer(text)]
    places: dict[str, list[int]] = {}
    for at, (word, _, _) in enumerate(words):
        if word in places:
            places[word] += [at]
        else:
            places[word] = [at]
    return words, places


def _find_runs(text: str, pieces: Words) -> list[Place]:
    words, places = _index_words(text)
    if pieces[0] not in places:
        return []
    last = len(pieces) - 1
    return [
        (words[at][1], words[at + last][2])
        for at in places[pieces[0]][:_MOST_PLACES]
        if tuple([word for word, _, _ in words[at : at + last + 1]]) == pieces
    ]


class SpokenChoice(NamedTuple):
    """The ways to name an allowed value: its own name, joined or not, and other names for it."""

    own: Sequence[Words]
    others: Sequence[Words]
    begins: frozenset[str]  # the first words of all of them
    is_common: bool


@remember(4096)
def _read_choice(choice: str) -> SpokenChoice:
    pieces = split_name(choice) or (choice.lower(),)
    others = [split_name(other) if other[0].isalnum() else (other,) for other in _list_other_names(choice)]
    own = (pieces, ("".join(pieces),))
    is_common = len(pieces) == 1 and pieces[0] in read_word_set("common")
    begins = frozenset(words[0] for words in (*own, *others))
    return SpokenChoice(own, others=others, begins=begins, is_common=is_common)


def find_choices(text: str, prop: Property) -> Iterator[Scored]:
    """Yield where a text names the allowed values of a property."""
    known = _index_words(text)[1]
    for choice in prop.choices[:_MOST_CHOICES]:
        if not isinstance(choice, str) or not choice:
            continue
        spoken = _read_choice(choice)
        if not spoken.begins.isdisjoint(known):
            for points, (start, end) in _find_choice(text, choice, spoken):
                denied = _DENIED.search(text[max(0, start - 20) : start])
                yield points - (40 if denied else 0), Mention("choice", choice, start=start, end=end)


def _find_choice(text: str, choice: str, spoken: SpokenChoice) -> Iterator[tuple[int, Place]]:
    exact: list[Place] = next(filter(None, (_find_runs(text, words) for words in spoken.own)), [])
    if len(choice) == 1:
        exact = [at for at in exact if text[slice(*at)] == choice and not choice.islower()]
    yield from ((36 if spoken.is_common else 62, place) for place in exact)
    for other in () if exact else spoken.others:
        yield from ((50, place) for place in _find_runs(text, other))


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
        last = len(words) - 1
        begin = words[0][:_STEM]
        starts = [at for at, (word, _, _) in enumerate(tokens[: len(tokens) - last]) if word[:_STEM] == begin]
        alike = (at for at in starts if all(map(_is_form, [word for word, _, _ in tokens[at : at + last + 1]], words)))
        places = tuple((tokens[at][1], tokens[at + last][2]) for at in islice(alike, 1))
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
        len(short) >= _STEM and long.startswith(short[: max(_STEM, len(short) - 1)]) and len(long) - len(short) <= 4
    )


# Lists


def _find_lists(text: str, found: Sequence[Mention], prop: Property, item: Property, hits: Hits) -> Iterator[Candidate]:
    if "object" in item.types:
        return
    if item.choices:
        scored = [pair for pair in find_choices(text, item) if pair[0] >= ENOUGH]
    else:
        scored = [*_find_items(found, item, hits)]
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


def _find_items(found: Sequence[Mention], item: Property, hits: Hits) -> Iterator[Scored]:
    for mention in found:
        if mention.kind in _KINDS_OF_ITEMS and mention.unit != "label":
            points = score(mention, item, hits)
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
    item = match.prop.item
    if not match.is_list or item is None:
        return convert(text, match.mentions[0], match.prop)
    found = [next(convert(text, mention, item), None) for mention in match.mentions]
    return iter([[value for value in found if value is not None]])


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
_MOST_RANKINGS = 64  # of one text
_MOST_KEPT = 200  # candidates of one ranking
_MOST_EXAMPLES = 20
_MOST_PLACES = 20
_MOST_ITEMS = 100
_WEAK = 8  # points from which a name is better than nothing for a required property
_AGAINST_OTHERS = 24  # points against a mention with the name of another property before it
_STEM = 4  # letters
_FAINT = 0.1  # weight of adjectives that tell nothing
_NAMED_VALUES = make_vocabulary("pair member number")
_WRITTEN = make_vocabulary("pair member quoted")
_NAMES = make_vocabulary("name quoted id slug channel uuid host ip")
_FREE_TEXTS = make_vocabulary("text query code command expression title")
INVENT = r"(?:create|generate|invent|produce|suggest|propose|make up|come up with)\s+"
_INVENTS = compile_lazily(rf"(?i)\s*(?:please\s+)?{INVENT}")
_SOURCE = compile_lazily(r"(?i)\b(?:following|below|given|based on|from)\b|\n")
_STATEMENTS = make_vocabulary("statement claim fact truth opinion memory sentence")
_KEYWORDS = make_vocabulary("keyword keyphrase tag hashtag topic")
_MOST_STATEMENTS = 10
_SPEAKER = compile_lazily(r"^[ \t]*[A-Za-z][\w ]{0,20}:(?!/)")
_IS_ASKED = compile_lazily(r"(?i)^\s*(?:question|query|input)\b[^:\n]{0,20}:|[?？]\s*$")
_SENTENCES = _STATEMENTS | make_vocabulary("step task todo goal plan question query objective action")
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
