"""What a text mentions, what a property asks for, and how well they suit each other: the one table of evidence.

`kind_points.txt` weighs the kind of a mention, `preposition_points.txt` the word before it, `trait_points.txt` what is
remarkable besides; the other tables stand at the end.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily, remember
from mockserver.model.vocabulary import (
    find_singular,
    is_verb,
    make_vocabulary,
    read_headings,
    read_points,
    read_prepositions,
    read_synonyms,
    read_word_set,
    split_name,
)


class Mention(Struct, frozen=True):
    """A value in a text, from `start` up to `end`; `key` is its name in the text, if it has one."""

    kind: (
        str  # number, money, quoted, date, time, datetime, duration, email, url, id, name, words, pair, member, json...
    )
    value: Json
    start: int
    end: int
    key: str = ""
    unit: str = ""  # of a number: a unit, a currency's code, "%", "#"; of words: "the", "lead", "label" or "counted"
    cue: str = ""  # the preposition before it, in English
    before: tuple[str, ...] = ()  # the words before it in its clause, in the singular, nearest first
    after: tuple[str, ...] = ()  # the words after it
    parts: "tuple[Mention, ...]" = ()  # what is in it, and may be wanted alone

    def overlaps(self, other: "Mention") -> bool:
        return self.start < other.end and other.start < self.end


class Property(Struct, frozen=True):
    """A property; `semantic_type` says what it holds (place, person, money...), `role` whether that is from or to."""

    name: str
    order: int
    schema: Mapping[str, Json]
    types: tuple[str, ...]
    words: tuple[str, ...]
    semantic_type: str
    role: str
    choices: tuple[Json, ...]  # the allowed values, where the schema lists them
    hints: frozenset[str]  # examples in the description, in lower case
    telling: tuple[str, ...]  # the words by which neighbours of a mention name it
    series: tuple[str, ...]  # what it has in common with those that differ in a letter or a number, as a and b
    heads: frozenset[str]  # the words that say that what follows is another property's
    keys: frozenset[str]  # of the telling words: a word that shares none is not like any of them
    numeric: bool
    format: str
    takes_text: bool
    scorers: "Mapping[str, Scorer]"  # by the kind of a mention; those of other kinds do not suit it
    weights: "Weights"
    item: "Property | None" = None  # what an array asks for as its items; they have the name of the array


class Weights(Struct, frozen=True):
    """The points of what a text mentions for one semantic type."""

    kinds: Mapping[str, int]
    prepositions: Mapping[str, int]
    traits: Mapping[str, Mapping[str, int]]  # by the kind of the mention that has them
    lists: Sequence[tuple[str, Collection[str]]]  # of words that are of a kind of their own
    unlisted: str = ""  # the kind of all other words


def ask_for_parts(props: Sequence[Property]) -> Sequence[Property]:
    """Return the properties; each of those that together ask for what one mention says asks for a part of it."""
    known = frozenset(word for prop in props for word in prop.words)
    return props if known.isdisjoint(_PARTS) else [_ask_for_part(prop, known) for prop in props]


def _ask_for_part(prop: Property, known: frozenset[str]) -> Property:
    asked = (part for word in prop.words for part, beside in _PARTS.get(word, {}).items() if known & beside)
    return replace(prop, scorers={**prop.scorers, **dict.fromkeys(asked, _score_part)})


def read_property(name: str, schema: Json, order: int, *, owner: str = "", is_item: bool = False) -> Property:
    """Read a property; alternatives of `anyOf` and `oneOf` are taken together.

    `owner` is what has it: the name of a recipe is not a person's.
    """
    flat = _flatten(schema if isinstance(schema, Mapping) else {})
    types = _list_types(flat)
    words = split_name(name) or (find_singular(name),)
    roles = read_headings("roles")
    described = " ".join(str(flat.get(key) or "") for key in ("title", "description"))[:600]
    semantic_type = _find_semantic_type(flat, types, words=(*_list_named(owner), *words), described=described)
    choices = _list_choices(flat)
    form = str(flat.get("format") or "")
    role = next(filter(None, map(roles.get, words)), "")
    common = [word for word in words if not _is_sign(word)]
    telling = tuple(word for word in words if word not in UNTOLD) or tuple(words)
    return Property(
        name=name,
        order=order,
        schema=flat,
        types=types,
        words=words,
        semantic_type=semantic_type,
        role=role,
        choices=choices,
        hints=frozenset(_find_hints(described)),
        telling=telling,
        series=(*types, "", *common) if len(common) < len(words) else (),
        heads=frozenset(word for word in words if len(word) > 1) - UNTOLD,
        keys=frozenset[str]().union(*map(list_keys, telling)),
        numeric=bool(types) and set(types) <= {"integer", "number", "null"},
        format=form,
        takes_text=("string" in types or not types) and not choices and not form,
        scorers=_choose_scorers(types, semantic_type, words=words, role=role),
        weights=_weigh(semantic_type),
        item=_read_item(name, flat, order) if "array" in types and not is_item else None,
    )


def _is_sign(word: str) -> bool:
    return (len(word) == 1 and word.isalpha()) or (word.isdecimal() and len(word) < 4)


def _read_item(name: str, schema: Mapping[str, Json], order: int) -> Property:
    items = schema.get("items")
    first = schema.get("prefixItems")
    items = items if isinstance(items, Mapping) else first[0] if isinstance(first, list) and first else {}
    return read_property(name, items, order, is_item=True)


def _list_named(owner: str) -> list[str]:
    """Return the word for an owner whose name is of a kind of its own."""
    return [word for word in split_name(owner)[-1:] if read_headings("semantic_types").get(word) in _NAMED_TYPES]


def _flatten(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    for key in ("anyOf", "oneOf"):
        options = [option for option in schema.get(key) or () if isinstance(option, Mapping)]
        if not options:
            continue
        real = [option for option in options if option.get("type") != "null"] or options
        types = [kind for option in real for kind in _list_types(option)]
        choices = [choice for option in real for choice in _list_choices(option)]
        merged = {**real[0], **{k: v for k, v in schema.items() if k != key}, "type": list(dict.fromkeys(types))}
        return {**merged, "enum": choices} if choices else merged
    return schema


def _list_types(schema: Mapping[str, Json]) -> tuple[str, ...]:
    stated = schema.get("type")
    if isinstance(stated, str):
        return (stated,)
    if isinstance(stated, list) and stated:
        return tuple(kind for kind in stated if isinstance(kind, str) and kind != "null")
    hints = {"properties": "object", "items": "array", "minimum": "number", "maximum": "number", "format": "string"}
    return tuple(kind for key, kind in hints.items() if key in schema)[:1]


def _list_choices(schema: Mapping[str, Json]) -> tuple[Json, ...]:
    if "const" in schema:
        return (schema["const"],)
    listed = schema.get("enum")
    return tuple(choice for choice in listed if choice is not None) if isinstance(listed, list) else ()


def _find_semantic_type(schema: Mapping[str, Json], types: Sequence[str], words: Sequence[str], described: str) -> str:
    """Return what a property holds: by its format, else by the last known word of its name, else by its description."""
    if isinstance(form := schema.get("format"), str) and form in read_headings("formats"):
        return read_headings("formats")[form]
    numeric = bool(types) and set(types) <= {"integer", "number"}
    if named := _PERSONAL.get(tuple(words[:2])):
        return named
    types_of = read_headings("semantic_types")
    if "of" in words[1:-1] and types_of.get(words[0]) in _HEADS:  # the time of a day is a time
        words = words[:1]
    known = [_adapt(types_of[word], numeric=numeric) for word in words if word in types_of]
    named = "job" if "job" in known else next((each for each in reversed(known) if each), "")
    if named in _VAGUE_NAMES and len(known) > 1 and not numeric:  # the name of a city is a place
        named = next((each for each in reversed(known) if each not in ("", "name", "code")), named)
    if not named and words[-1] in ("start", "end", "begin", "until", "due", "since", "deadline"):
        named = "moment"
    if "reason" in words and "reasoning" in split_name(described):
        return "opinion"
    if named or not described:
        return named
    words = split_name(re.split(r"e\.g|such as|for example|\(", described)[0])[:8]
    told = (_adapt(types_of[word], numeric=numeric) for word in words if word in types_of and len(word) > 2)
    return next((each for each in told if each and each not in _VAGUE), "")


def _adapt(semantic_type: str, *, numeric: bool) -> str:
    if not numeric:
        return "" if semantic_type in ("quantity", "number", "limit") else semantic_type
    semantic_type = _AS_NUMBER.get(semantic_type, semantic_type)
    return semantic_type if semantic_type in _NUMERIC else ""


def _find_hints(described: str) -> Iterator[str]:
    for found in _EXAMPLES.finditer(described):
        for example in re.split(r",\s*(?:or |and )?|\s+(?:or|and)\s+|[/|;]\s*", found[1]):
            example = example.strip(" '\"`“”‘’").lower()
            if 1 < len(example) < 40:
                yield example


# Points

ENOUGH = 30
ENOUGH_FOR_REQUIRED = 20
UNTOLD = make_vocabulary("id name number value is has to from the of key code type string text")


Hits = Mapping[str, float]  # the words around mentions that name a property, and how well
Scorer = Callable[[Mention, Property, Hits], int]


def score(mention: Mention, prop: Property, hits: Hits) -> int:
    """Return the points of a mention for a property; below ENOUGH it does not count."""
    return prop.scorers[mention.kind](mention, prop, hits) if mention.kind in prop.scorers else 0


def _choose_scorers(types: Sequence[str], semantic_type: str, words: Sequence[str], role: str) -> Mapping[str, Scorer]:
    """Return what scores the kinds of mentions that may suit a property."""
    numeric = bool(types) and set(types) <= {"integer", "number", "null"}
    found: dict[str, Scorer] = {}
    if not numeric and (not types or "string" in types):
        found |= dict.fromkeys((*_weigh(semantic_type).kinds, *_NAMED_BY_NEIGHBOURS, *_WORDED), _score_text)
        if not semantic_type and not role:
            del found["unit"], found["currency"]
        if words[-1] in _ADDRESSED:
            found["email"] = lambda mention, prop, hits: 60
    if numeric or semantic_type == "duration":
        found["duration"] = _score_duration
    if numeric or not types or semantic_type in _TYPES_OF_NUMBERS or tuple(types) == ("string",):
        found |= dict.fromkeys(("number", "money", "ordinal"), _score_number)
    if numeric and not _COUNTS.isdisjoint(words):
        found["one"] = lambda mention, prop, hits: 12
    if not types or not {"array", "object"}.isdisjoint(types):
        found["json"] = _score_json
    return found | dict.fromkeys(("pair", "member"), _score_key)


@remember(256)
def _weigh(semantic_type: str) -> Weights:
    points = read_points("kind_points")
    traits: dict[str, dict[str, int]] = {}
    for heading, by_trait in read_points("trait_points").items():
        kinds, _, named = heading.partition(" > ")
        types = [name.removeprefix("none") for name in named.removeprefix("not ").split()]
        if not types or (semantic_type in types) is not named.startswith("not "):
            for kind in kinds.split():
                traits[kind] = {**traits.get(kind, {}), **by_trait}
    lists = [(kind, read()) for kind, types, read in _LISTS if semantic_type in types]
    unlisted = "other" if semantic_type in ("language", "currency", "unit") else ""
    return Weights(
        points.get(semantic_type, points[""]),
        prepositions=read_points("preposition_points").get(semantic_type, {}),
        traits=traits,
        lists=lists,
        unlisted=unlisted,
    )


def find_hits(words: Collection[str], props: Sequence[Property]) -> Sequence[Hits]:
    """Return, for each property, which of these words name it, and how well, up to 1."""
    heard = frozenset[str]().union(*map(list_keys, words))
    return [
        {} if prop.keys.isdisjoint(heard) else {word: hit for word in words if (hit := _score_hit(word, prop.telling))}
        for prop in props
    ]


def _score_part(mention: Mention, prop: Property, hits: Hits) -> int:
    return 62 + _score_role(mention, prop) + 10 * (mention.unit == "counted")


def _score_duration(mention: Mention, prop: Property, hits: Hits) -> int:
    unit = mention.unit.removesuffix("s")
    if unit and any(are_alike(word, unit) for word in prop.words if len(word) > 1):
        return 60
    timed = prop.semantic_type in _TYPES_OF_TIME or not _SPANS.isdisjoint(prop.words)
    return 50 * timed + _score_neighbours(mention, hits)


def _score_text(mention: Mention, prop: Property, hits: Hits) -> int:
    near = _score_neighbours(mention, hits) if hits and mention.unit != "lead" else 0
    kind = mention.kind
    weights = prop.weights
    value = mention.value
    refined = _refine_kind(kind, value, prop) if kind in _WORDED and isinstance(value, str) else kind
    fitness = weights.kinds.get(refined)
    traits = _list_traits(mention) if kind in weights.traits else ()
    if prop.semantic_type == "job" and kind in ("words", "name") and _is_calling(str(value)):
        fitness = 28
    elif prop.semantic_type == "text" and "thing" in traits:
        fitness = 34  # the description of an item of an order
    if fitness is None:
        return near - 15 if kind in _NAMED_BY_NEIGHBOURS and near > 30 else 0
    total = fitness + near
    if prop.role:
        total += _score_role(mention, prop)
    if mention.cue in weights.prepositions:
        total += weights.prepositions[mention.cue]
    for trait in traits:
        if trait in weights.traits[kind]:
            total += weights.traits[kind][trait]
    if prop.hints and kind in _WORDED and str(value).lower() in prop.hints:
        total += 35
    return total


def _refine_kind(kind: str, value: str, prop: Property) -> str:
    """Return the kind of a word in a list that matters to the property; of others the kind of the mention."""
    weights = prop.weights
    if prop.semantic_type == "ticker":
        return "ticker" if value.isupper() and len(value) <= 5 else kind
    if not weights.lists:
        return kind
    word = value.lower()
    for listed, words in weights.lists:
        if word in words:
            return listed
    return weights.unlisted or kind


def _list_traits(mention: Mention) -> Sequence[str]:
    """Return what is remarkable of a mention and the words around it: names of `trait_points.txt`."""
    unit = mention.unit
    value = str(mention.value)
    first = mention.before[0] if mention.before else ""
    next_ = mention.after[0] if mention.after else ""
    found = [unit]
    if mention.kind == "words":
        if value in _VERBS_OF_SUBJECTS:
            found.append("verb")
        if unit == "the":
            if next_ == "of":
                found.append("of")
            if not mention.cue and first in read_word_set("requests") and first not in _MAKING:
                found.append("object")
        if not unit and not mention.cue and next_ in ("is", "was", "has", "lives"):
            found.append("is")  # without an article they are what a sentence says something of: jason is 25
    if unit == "counted" and not is_measure(value.lower()):
        found.append("thing")
    if next_ == "by":
        found.append("by")
    if mention.kind == "name":
        acts = bool(next_) and not mention.cue and (next_ in _VERBS_OF_SUBJECTS or is_verb(next_))
        if acts:
            found.append("subject")
        if " " in value:
            if not mention.cue:
                found.append("long")
            if not first and not acts:
                found.append("opens")
        if next_ and mention.cue and next_ not in read_word_set("stops") and next_ not in read_prepositions("en"):
            found.append("describes")  # only the noun after it: in the Olympic final
        if value[-4:-2] == ", ":
            found.append("state")
    return found


def _is_calling(words: str) -> bool:
    """Return whether words sound like a profession; a name may end as one does, so those with capitals are listed."""
    return bool(_CALLING.search(words)) or not read_word_set("callings").isdisjoint(words.lower().split())


def _score_neighbours(mention: Mention, hits: Hits) -> int:
    best = 0
    top = 42
    for word in mention.before:
        if word in hits:
            best = max(best, int(top * hits[word]))
        top -= 10
    top = 40
    for word in mention.after:
        if _separates_clauses(word):
            break  # what follows is about something else
        if word in hits:
            best = max(best, int(top * hits[word]))
        top -= 14
    return best


@remember(4096)
def _separates_clauses(word: str) -> bool:
    return word in ("and", "or", "but") or (word in read_prepositions("en") and word not in ("as", "of", "to", "per"))


@remember(16_384)
def _score_hit(word: str, telling: tuple[str, ...]) -> float:
    hits = (
        1.0 if word == name else 0.75 for name in telling if len(name) > 1 and len(word) > 1 and are_alike(word, name)
    )
    return max(hits, default=0)


@remember(4096)
def list_keys(word: str) -> frozenset[str]:
    """Return what a word shares with all words that are alike: how it begins, and the groups of its synonyms."""
    return read_synonyms("property_synonyms").get(word, frozenset()) | {f"{word[:4]}-"}


@remember(4096)
def are_alike(one: str, other: str) -> bool:
    """Return whether two words have one stem, or mean the same of a property."""
    short, long = sorted((one, other), key=len)
    if len(short) >= 4 and long.startswith(short[: max(4, len(short) - 2)]) and len(long) - len(short) <= 4:
        return True
    groups = read_synonyms("property_synonyms")
    return one == other or not groups.get(one, frozenset()).isdisjoint(groups.get(other, ()))


def _score_role(mention: Mention, prop: Property) -> int:
    if prop.role == "from" and not mention.cue and mention.kind not in _NUMBERS:
        return 8
    said = read_headings("cue_roles").get(mention.cue, "")
    if not prop.role or not said:
        return 0
    return 25 if prop.role == said else -22 if {prop.role, said} == {"from", "to"} else 0


def _score_key(mention: Mention, prop: Property, hits: Hits) -> int:
    key = split_name(mention.key)
    if not key or key[0] == "for" or (prop.semantic_type in ("forename", "surname") and key == ("name",)):
        return 0  # "for rent: a flat" says no rent, and a name is more than its half
    if "".join(key) == "".join(prop.words):
        return 100 + 5 * (mention.kind == "member")
    is_same = len(prop.words) == len(key) and all(map(are_alike, key, prop.words))
    shorter = set(key) <= set(prop.words) or set(prop.words) <= set(key)
    shared = shorter and (key[-1] == prop.words[-1] or (key[0] in prop.words and key[0] not in UNTOLD))
    if not (is_same or shared or (prop.role and key == (prop.role,))):
        return 0
    return 80 + 5 * (mention.kind == "member")


def _score_json(mention: Mention, prop: Property, hits: Hits) -> int:
    if isinstance(mention.value, list):
        return 60 if "array" in prop.types or not prop.types else 0
    properties = prop.schema.get("properties")
    if "object" not in prop.types or not isinstance(mention.value, dict):
        return 0
    known = mention.value.keys() & properties if isinstance(properties, dict) else ()
    return 60 + len(known) if known or not properties else 0


def _score_number(mention: Mention, prop: Property, hits: Hits) -> int:
    near = _score_neighbours(mention, hits) if hits else 0
    semantic_type = prop.semantic_type
    if prop.types == ("string",) and semantic_type not in _COUNTED_AS_TEXT:
        if mention.unit and _measures(mention, prop):
            return 50 + near // 2
        if semantic_type in _NEVER_NUMBERS:
            return 0
        return (near + 12 if near >= 24 else 0) + (32 if mention.unit == "#" and semantic_type == "id" else 0)
    if (clear := _weigh_clear_number(mention, prop)) is not None:
        weight, share = clear
        return weight + int(near * share) + (_score_role(mention, prop) if prop.role else 0)
    total = near + _weigh_plain_number(mention, semantic_type)
    if semantic_type in ("quantity", "limit") and not prop.role and mention.cue in read_headings("cue_roles"):
        total -= 16
    for_role = _score_role(mention, prop) if prop.role else 0
    return total + for_role + (8 if for_role > 0 else 0) if total > 0 else total


def _weigh_clear_number(mention: Mention, prop: Property) -> tuple[int, float] | None:
    """Return the points of a number whose unit or property says what it is, and the share of the neighbours'."""
    semantic_type = prop.semantic_type
    unit = mention.unit
    is_money = mention.kind == "money"
    if unit and not {unit.lower(), find_singular(unit)}.isdisjoint(prop.words):
        return 70, 0
    if semantic_type == "currency":
        return 0, 0
    if is_money and "amount" in prop.words:
        return 48, 0.5
    if is_money and "rate" in prop.words:
        return 32, 0
    if is_money and semantic_type == "money":
        return 58, 0.5
    if unit == "#" and semantic_type == "id":
        return 45, 0.5
    if unit == "#" or is_money:
        return -5, 1
    if unit and _measures(mention, prop):
        return 50, 0.5
    if semantic_type == "number" or (semantic_type == "quantity" and not _PLAIN.isdisjoint(prop.words)):
        return 34, 0.5
    return None


def _weigh_plain_number(mention: Mention, semantic_type: str) -> int:
    whole = mention.value if isinstance(mention.value, int) else -1
    match semantic_type:
        case "quantity" if mention.kind == "number" and isinstance(mention.value, int):
            return 32
        case "year":
            return 36 if 1500 <= whole <= 2200 else -30
        case "age" if not {"old", "year"}.isdisjoint((*mention.after[:2], find_singular(mention.unit))):
            return 32
        case "age" if not mention.unit and 1 <= whole <= 119:
            return 22
        case "money":
            return 32 if mention.cue == "at" and not mention.unit else 14
        case "limit" | "percent":
            return 14
    return 2


def is_measure(words: str) -> bool:
    """Return whether what is counted only says how many there are: "5 results"."""
    word = find_singular(words.split(" ")[0])
    return read_headings("semantic_types").get(word) in _TYPES_OF_MEASURES or words in read_headings("units")


def measures_in_words(mention: Mention, prop: Property) -> bool:
    """Return whether a number with its unit is what a text holds: 6 feet are a height.

    Years without their unit are an age.
    """
    return _measures(mention, prop) and prop.semantic_type not in _COUNTED_AS_TEXT


def _measures(mention: Mention, prop: Property) -> bool:
    return read_headings("units").get(mention.unit.lower()) == prop.semantic_type != ""


_NUMERIC = make_vocabulary(
    "money percent quantity number limit age year weight height temperature days duration id time date"
)
# What a semantic type becomes for a property whose type is a number.
_AS_NUMBER = {"person": "quantity", "place": "", "title": "quantity", "text": "number", "query": "", "unit": "quantity"}
_PERSONAL: Mapping[tuple[str, ...], str] = {
    **dict.fromkeys((("first", "name"), ("given", "name")), "forename"),
    **dict.fromkeys((("last", "name"), ("family", "name")), "surname"),
    **dict.fromkeys((("check", "in"), ("check", "out")), "date"),
}
# The part that a word of a property's name asks for beside other words.
_PARTS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "number": {"house": make_vocabulary("street")},
    "street": {"street": make_vocabulary("number")},
    "make": {"forename": make_vocabulary("model")},
    "brand": {"forename": make_vocabulary("model")},
    "manufacturer": {"forename": make_vocabulary("model")},
    "model": {"rest": make_vocabulary("make brand manufacturer")},
    "city": {"city": make_vocabulary("state province"), "town": make_vocabulary("city")},
    "town": {"city": make_vocabulary("state province"), "town": make_vocabulary("town")},
}
_HEADS = make_vocabulary("time date place person")
_VAGUE = make_vocabulary("query text number title name")
_VAGUE_NAMES = ("", "name", "title", "code")
_EXAMPLES = compile_lazily(
    r"(?i)(?:e\.?g\.?|such as|for example|like|one of|i\.e\.|either|:|\()[,:]?\s*([^.()]{2,200})"
)
_ADDRESSED = make_vocabulary("to recipient cc bcc address receiver sender")
_NUMBERS = make_vocabulary("number money ordinal")
_NAMED_BY_NEIGHBOURS = make_vocabulary("number id quoted name channel version")
_NAMED_TYPES = make_vocabulary("person org place title room")
_TYPES_OF_TIME = make_vocabulary("duration days time")
_SPANS = make_vocabulary("second minute hour")
_TYPES_OF_NUMBERS = make_vocabulary("quantity money currency id")
_COUNTS = make_vocabulary("quantity qty amount count")
_PLAIN = make_vocabulary("amount number num")
_WORDED = ("name", "words", "quoted", "id")
_COUNTED_AS_TEXT = make_vocabulary("quantity money currency year age")  # types whose numbers may be texts
_NEVER_NUMBERS = make_vocabulary("person org country state job forename surname color")
_TYPES_OF_MEASURES = make_vocabulary("limit quantity days duration percent year")
_MAKING = make_vocabulary("create make add new open schedule book start set write send post generate file get")
_VERBS_OF_SUBJECTS = make_vocabulary(
    "is was are live work has ha lives works from teach run own lead say said joined plays earn"
)
_CALLING = compile_lazily(
    r"^[a-z][^A-Z]*(?:er|or|ist|ian|eer|ant|man|yst|chef|head|chief|nurse|intern|cook|clerk|ceo|cto|cfo|lead)$"
)
# Lists of words that are of a kind of their own, for properties of these semantic types.
_LISTS: Sequence[tuple[str, Sequence[str], Callable[[], Collection[str]]]] = (
    ("language", ("language",), partial(read_headings, "language_codes")),
    ("currency", ("currency",), partial(read_headings, "currencies")),
    ("unit", ("unit",), partial(read_headings, "units")),
    ("hue", ("color",), partial(read_word_set, "colors")),
    ("state", ("place", "state"), partial(read_word_set, "states")),
    ("country", ("country", "place", "state", "nationality", "person"), partial(read_word_set, "countries")),
    ("nationality", ("country", "place", "state", "nationality", "person"), partial(read_word_set, "nationalities")),
)
