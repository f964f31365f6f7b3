"""What a text mentions, what a property asks for, and how well they suit each other: the one table of evidence.

`kind_points.txt` weighs the kind of a mention, `preposition_points.txt` the word before it; the other tables stand at
the end.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

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
    numeric: bool
    required: bool = False
    part: str = ""  # the kind of a part of a mention that it asks for, as neighbours ask for the other parts

    @property
    def format(self) -> str:
        return str(self.schema.get("format") or "")

    @property
    def takes_text(self) -> bool:
        return ("string" in self.types or not self.types) and not self.choices and not self.format


def ask_for_parts(props: Sequence[Property]) -> Sequence[Property]:
    """Return the properties; each of those that together ask for what one mention says asks for a part of it."""
    known = frozenset(word for prop in props for word in prop.words)
    return props if known.isdisjoint(_PARTS) else [_ask_for_part(prop, known) for prop in props]


def _ask_for_part(prop: Property, known: frozenset[str]) -> Property:
    asked = (part for word in prop.words for part, beside in _PARTS.get(word, {}).items() if known & beside)
    return replace(prop, part=next(asked, ""))


def read_property(name: str, schema: Json, order: int, *, required: bool = False, owner: str = "") -> Property:
    """Read a property; alternatives of `anyOf` and `oneOf` are taken together.

    `owner` is what has it: the name of a recipe is not a person's.
    """
    flat = _flatten(schema if isinstance(schema, Mapping) else {})
    types = _list_types(flat)
    words = split_name(name) or (find_singular(name),)
    roles = read_headings("roles")
    described = " ".join(str(flat.get(key) or "") for key in ("title", "description"))[:600]
    return Property(
        name=name,
        order=order,
        schema=flat,
        types=types,
        words=words,
        semantic_type=_find_semantic_type(flat, types, words=(*_list_named(owner), *words), described=described),
        role=next(filter(None, map(roles.get, words)), ""),
        choices=_list_choices(flat),
        hints=frozenset(_find_hints(described)),
        telling=tuple(word for word in words if word not in UNTOLD) or tuple(words),
        numeric=bool(types) and set(types) <= {"integer", "number", "null"},
        required=required,
    )


def _list_named(owner: str) -> list[str]:
    """Return the word for an owner whose name is of a kind of its own."""
    return [word for word in split_name(owner)[-1:] if read_headings("semantic_types").get(word) in _NAMED_TYPES]


def read_item(list_: Property) -> Property:
    """Return what an array asks for as its items; they have the name of the array."""
    items = list_.schema.get("items")
    first = list_.schema.get("prefixItems")
    items = items if isinstance(items, Mapping) else first[0] if isinstance(first, list) and first else {}
    return read_property(list_.name, items, list_.order, required=list_.required)


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
_FOR_PART = 62
UNTOLD = make_vocabulary("id name number value is has to from the of key code type string text")


def score(mention: Mention, prop: Property) -> int:
    """Return the points of a mention for a property; below ENOUGH it does not count."""
    if mention.kind in ("pair", "member"):
        return _score_key(mention, prop)
    if mention.kind == prop.part:
        return _FOR_PART + _score_role(mention, prop) + 10 * (mention.unit == "counted")
    if mention.kind == "json":
        return _score_json(mention, prop)
    if mention.kind == "one":
        return 12 if prop.numeric and not _COUNTS.isdisjoint(prop.words) else 0
    takes_numbers = prop.numeric or not prop.types or prop.semantic_type in _TYPES_OF_NUMBERS
    if mention.kind in _NUMBERS and (takes_numbers or prop.types == ("string",)):
        return _score_number(mention, prop)
    if mention.kind == "duration" and (prop.numeric or prop.semantic_type == "duration"):
        unit = mention.unit.removesuffix("s")
        if unit and any(are_alike(word, unit) for word in prop.words if len(word) > 1):
            return 60
        timed = prop.semantic_type in _TYPES_OF_TIME or not _SPANS.isdisjoint(prop.words)
        return 50 * timed + _score_neighbours(mention, prop)
    if prop.numeric or (prop.types and "string" not in prop.types):
        return 0
    return _score_text(mention, prop)


def _score_text(mention: Mention, prop: Property) -> int:
    kind = mention.kind
    if kind == "email" and prop.words[-1] in _ADDRESSED:
        return 60
    near = _score_neighbours(mention, prop) if mention.unit != "lead" else 0
    if not prop.semantic_type and kind in ("unit", "currency") and not prop.role:
        return 0
    table = read_points("kind_points")
    fitness = table.get(prop.semantic_type, table[""]).get(_refine_kind(mention, prop))
    if prop.semantic_type == "job" and kind in ("words", "name") and _is_calling(str(mention.value)):
        fitness = 28
    if prop.semantic_type == "text" and kind in ("words", "name") and _is_counted(mention, prop):
        fitness = 34  # the description of an item of an order
    if fitness is None:
        return near - 15 if kind in _NAMED_BY_NEIGHBOURS and near > 30 else 0
    preposition = read_points("preposition_points").get(prop.semantic_type, {}).get(mention.cue, 0)
    features = sum(weight for weight, holds in _list_features(kind, prop.semantic_type) if holds(mention, prop))
    return fitness + near + _score_role(mention, prop) + preposition + features


@remember(1024)
def _list_features(kind: str, semantic_type: str) -> Sequence[tuple[int, "Holds"]]:
    return [
        (weight, holds)
        for weight, kinds, semantic_types, holds in _FEATURES
        if kind in kinds and (not semantic_types or semantic_type in semantic_types)
    ]


def _refine_kind(mention: Mention, prop: Property) -> str:
    """Return the kind of a mention; for a word of a list of the property's type, the name of that list."""
    if mention.kind not in ("name", "words", "quoted", "id") or not isinstance(mention.value, str):
        return mention.kind
    word = mention.value.lower()
    semantic_type = prop.semantic_type
    if semantic_type in _LISTED_TYPES:
        return semantic_type if word in read_headings(_LISTED_TYPES[semantic_type]) else "other"
    if semantic_type == "color":
        return "hue" if word in read_word_set("colors") else mention.kind
    if semantic_type in ("country", "place", "state", "nationality", "person"):
        if semantic_type in ("place", "state") and word in read_word_set("states"):
            return "state"
        if word in read_word_set("countries"):
            return "country"
        return "nationality" if word in read_word_set("nationalities") else mention.kind
    if semantic_type == "ticker" and mention.value.isupper() and len(word) <= 5:
        return "ticker"
    return mention.kind


def _is_calling(words: str) -> bool:
    """Return whether words sound like a profession; a name may end as one does, so those with capitals are listed."""
    return bool(_CALLING.search(words)) or not read_word_set("callings").isdisjoint(words.lower().split())


def _score_neighbours(mention: Mention, prop: Property) -> int:
    best = 0
    for near, step, top in ((mention.before, 10, 42), (mention.after, 14, 40)):
        for word in near:
            if near is mention.after and _separates_clauses(word):
                break  # what follows is about something else
            best = max(best, int(top * _score_hit(word, prop.telling)))
            top -= step
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


def _score_key(mention: Mention, prop: Property) -> int:
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


def _score_json(mention: Mention, prop: Property) -> int:
    if isinstance(mention.value, list):
        return 60 if "array" in prop.types or not prop.types else 0
    properties = prop.schema.get("properties")
    if "object" not in prop.types or not isinstance(mention.value, dict):
        return 0
    known = mention.value.keys() & properties if isinstance(properties, dict) else ()
    return 60 + len(known) if known or not properties else 0


def _score_number(mention: Mention, prop: Property) -> int:
    near = _score_neighbours(mention, prop)
    semantic_type = prop.semantic_type
    if prop.types == ("string",) and semantic_type not in _COUNTED_AS_TEXT:
        if measures_in_words(mention, prop):
            return 50 + near // 2
        if semantic_type in _NEVER_NUMBERS:
            return 0
        return (near + 12 if near >= 24 else 0) + (32 if mention.unit == "#" and semantic_type == "id" else 0)
    for weight, share, holds in _CLEAR_NUMBERS:
        if holds(mention, prop):
            return weight + int(near * share) + _score_role(mention, prop)
    total = near + next((weight for weight, holds in _NUMBER_TYPES.get(semantic_type, ()) if holds(mention)), 2)
    if semantic_type in ("quantity", "limit") and not prop.role and mention.cue in read_headings("cue_roles"):
        total -= 16
    for_role = _score_role(mention, prop)
    return total + for_role + (8 if for_role > 0 else 0) if total > 0 else total


def is_measure(words: str) -> bool:
    """Return whether what is counted only says how many there are: "5 results"."""
    word = find_singular(words.split(" ")[0])
    return read_headings("semantic_types").get(word) in _TYPES_OF_MEASURES or words in read_headings("units")


def _is_subject(mention: Mention, prop: Property) -> bool:
    verb = mention.after[0] if mention.after and not mention.cue else ""
    return verb in _VERBS_OF_SUBJECTS or (bool(verb) and is_verb(verb))


def _is_named_in_small_letters(mention: Mention, prop: Property) -> bool:
    """Return whether words without an article are what a sentence says something of: jason is 25."""
    return mention.unit == "" and not mention.cue and mention.after[:1] in (("is",), ("was",), ("has",), ("lives",))


def _opens(mention: Mention, prop: Property) -> bool:
    return not mention.before and " " in str(mention.value) and not _is_subject(mention, prop)


def _describes(mention: Mention, prop: Property) -> bool:
    """Return whether a name only describes the noun after it: in the Olympic final."""
    after = mention.after[0] if mention.cue and mention.after else ""
    return bool(after) and after not in read_word_set("stops") and after not in read_prepositions("en")


def _is_object(mention: Mention, prop: Property) -> bool:
    verb = mention.before[0] if mention.before else ""
    return mention.unit == "the" and not mention.cue and verb in read_word_set("requests") and verb not in _MAKING


def _is_counted(mention: Mention, prop: Property) -> bool:
    return mention.unit == "counted" and not is_measure(str(mention.value).lower())


def _is_in_unit(mention: Mention, prop: Property) -> bool:
    return bool(mention.unit) and not {mention.unit.lower(), find_singular(mention.unit)}.isdisjoint(prop.words)


def measures_in_words(mention: Mention, prop: Property) -> bool:
    """Return whether a number with its unit is what a text holds: 6 feet are a height.

    Years without their unit are an age.
    """
    return _measures(mention, prop) and prop.semantic_type not in _COUNTED_AS_TEXT


def _measures(mention: Mention, prop: Property) -> bool:
    return read_headings("units").get(mention.unit.lower()) == prop.semantic_type != ""


def _is_plain_number(mention: Mention, prop: Property) -> bool:
    plain = not {"amount", "number", "num"}.isdisjoint(prop.words)
    return prop.semantic_type == "number" or (prop.semantic_type == "quantity" and plain)


def _is_whole(mention: Mention, least: float = float("-inf"), most: float = float("inf")) -> bool:
    return isinstance(mention.value, int) and least <= mention.value <= most


Holds = Callable[[Mention, Property], bool]
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
    "city": {"city": make_vocabulary("state province")},
    "town": {"city": make_vocabulary("state province")},
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
_LISTED_TYPES = {"language": "language_codes", "currency": "currencies", "unit": "units"}
_TYPES_OF_TIME = make_vocabulary("duration days time")
_SPANS = make_vocabulary("second minute hour")
_TYPES_OF_NUMBERS = make_vocabulary("quantity money currency id")
_COUNTS = make_vocabulary("quantity qty amount count")
_THINGS = ("", "title", "text", "place")
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
# For texts, every row that holds is added: points, kinds of the mention, types of the property, condition.
_FEATURES: tuple[tuple[int, frozenset[str], frozenset[str], Holds], ...] = tuple(
    (weight, make_vocabulary(kinds), make_vocabulary(semantic_types), holds)
    for weight, kinds, semantic_types, holds in (
        (35, "name words quoted id", "", lambda mention, prop: str(mention.value).lower() in prop.hints),
        (-50, "words", "", lambda mention, prop: mention.value in _VERBS_OF_SUBJECTS),
        (-30, "words", "", lambda mention, prop: mention.unit == "the" and mention.after[:1] == ("of",)),
        (-30, "name words", "", lambda mention, prop: mention.unit == "label"),
        (-20, "name", "", lambda mention, prop: mention.unit == "lead"),
        (8, "words", "", lambda mention, prop: mention.unit in ("the", "counted")),
        (20, "name words", "title name", _is_counted),
        (-30, "name", "", lambda mention, prop: mention.unit == "counted" and prop.semantic_type not in _THINGS),
        (10, "name words", "", lambda mention, prop: not prop.semantic_type and _is_counted(mention, prop)),
        (20, "words", "title", _is_object),
        (10, "quoted", "title", lambda mention, prop: mention.after[:1] == ("by",)),
        (10, "name", "title", lambda mention, prop: not mention.cue and " " in str(mention.value)),
        (14, "name", "person name title", _is_subject),
        (8, "name", "org", _is_subject),
        (20, "words", "person name", _is_named_in_small_letters),
        (10, "name", "person name", _opens),
        (-8, "name", "place title", _describes),
        (-40, "name", "person name org title", lambda mention, prop: str(mention.value)[-4:-2] == ", "),
    )
)
# For numbers, the first row that holds: points, share of the points for neighbours, condition.
_CLEAR_NUMBERS: tuple[tuple[int, float, Holds], ...] = (
    (70, 0, _is_in_unit),
    (0, 0, lambda mention, prop: prop.semantic_type == "currency"),
    (48, 0.5, lambda mention, prop: mention.kind == "money" and "amount" in prop.words),
    (32, 0, lambda mention, prop: mention.kind == "money" and "rate" in prop.words),
    (58, 0.5, lambda mention, prop: mention.kind == "money" and prop.semantic_type == "money"),
    (45, 0.5, lambda mention, prop: mention.unit == "#" and prop.semantic_type == "id"),
    (-5, 1, lambda mention, prop: mention.unit == "#" or mention.kind == "money"),
    (50, 0.5, _measures),
    (34, 0.5, _is_plain_number),
)
# For other numbers, by the semantic type of the property, the first row that holds is added; without one, 2 points.
_NUMBER_TYPES: dict[str, tuple[tuple[int, Callable[[Mention], bool]], ...]] = {
    "quantity": ((32, lambda mention: mention.kind == "number" and _is_whole(mention)),),
    "year": ((36, lambda mention: _is_whole(mention, 1500, 2200)), (-30, lambda mention: True)),
    "age": ((32, lambda mention: not {"old", "year"}.isdisjoint((*mention.after[:2], find_singular(mention.unit)))),
            (22, lambda mention: not mention.unit and _is_whole(mention, 1, 119))),
    "money": ((32, lambda mention: mention.cue == "at" and not mention.unit), (14, lambda mention: True)),
    **dict.fromkeys(("limit", "percent"), ((14, lambda mention: True),)),
}  # fmt: skip
