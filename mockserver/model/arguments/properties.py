"""What a property asks for, and how well a mention suits it, in points: the one table of evidence.

`kind_points.txt` weighs the kind of a mention, `preposition_points.txt` the word before it; the other tables stand at
the end.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.model.arguments.values import Mention
from mockserver.model.vocabulary import (
    heading_of,
    is_verb,
    parts,
    points,
    prepositions_of,
    singular,
    synonyms,
    vocabulary,
    word_set,
)


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
    required: bool = False

    @property
    def format(self) -> str:
        return str(self.schema.get("format") or "")

    @property
    def numeric(self) -> bool:
        return bool(self.types) and set(self.types) <= {"integer", "number", "null"}


def read_property(name: str, schema: Json, order: int, *, required: bool = False) -> Property:
    """Read a property; alternatives of `anyOf` and `oneOf` are taken together."""
    flat = _flat(schema if isinstance(schema, Mapping) else {})
    types = _types(flat)
    words, roles = parts(name) or (singular(name),), heading_of("roles")
    described = " ".join(str(flat.get(key) or "") for key in ("title", "description"))[:600]
    return Property(
        name=name,
        order=order,
        schema=flat,
        types=types,
        words=words,
        semantic_type=_semantic_type(flat, types, words, described),
        role=next(filter(None, map(roles.get, words)), ""),
        choices=_choices(flat),
        hints=frozenset(_hints(described)),
        required=required,
    )


def read_item(list_: Property) -> Property:
    """Return what an array asks for as its items; they have the name of the array."""
    items = list_.schema.get("items")
    first = list_.schema.get("prefixItems")
    items = items if isinstance(items, Mapping) else first[0] if isinstance(first, list) and first else {}
    return read_property(list_.name, items, list_.order, required=list_.required)


def _flat(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    for key in ("anyOf", "oneOf"):
        options = [option for option in schema.get(key) or () if isinstance(option, Mapping)]
        if not options:
            continue
        real = [option for option in options if option.get("type") != "null"] or options
        types = [kind for option in real for kind in _types(option)]
        choices = [choice for option in real for choice in _choices(option)]
        merged = {**real[0], **{k: v for k, v in schema.items() if k != key}, "type": list(dict.fromkeys(types))}
        return {**merged, "enum": choices} if choices else merged
    return schema


def _types(schema: Mapping[str, Json]) -> tuple[str, ...]:
    stated = schema.get("type")
    if isinstance(stated, str):
        return (stated,)
    if isinstance(stated, list) and stated:
        return tuple(kind for kind in stated if isinstance(kind, str) and kind != "null")
    hints = {"properties": "object", "items": "array", "minimum": "number", "maximum": "number", "format": "string"}
    return tuple(kind for key, kind in hints.items() if key in schema)[:1]


def _choices(schema: Mapping[str, Json]) -> tuple[Json, ...]:
    if "const" in schema:
        return (schema["const"],)
    listed = schema.get("enum")
    return tuple(choice for choice in listed if choice is not None) if isinstance(listed, list) else ()


_FORMATS = {"date": "date", "time": "time", "date-time": "datetime", "duration": "duration", "email": "email"}
_FORMATS |= {"idn-email": "email", "uri": "url", "iri": "url", "uri-reference": "url", "hostname": "host"}
_FORMATS |= {"ipv4": "ip", "ipv6": "ip", "uuid": "uuid", "phone": "phone", "url": "url"}


def _semantic_type(schema: Mapping[str, Json], types: tuple[str, ...], words: tuple[str, ...], described: str) -> str:
    if isinstance(form := schema.get("format"), str) and form in _FORMATS:
        return _FORMATS[form]
    numeric = bool(types) and set(types) <= {"integer", "number"}
    types_of = heading_of("semantic_types")
    known = [_adapted(types_of[word], numeric=numeric) for word in words if word in types_of]
    if words[-2:] in (("check", "in"), ("check", "out")):
        return "date"
    if named := _PERSONAL.get(words[:2]):
        return named
    named = "job" if "job" in known else next((semantic_type for semantic_type in reversed(known) if semantic_type), "")
    if numeric:
        return named or _described(described, numeric=True)
    if words[-1] == "code" and len(words) > 1 and named == "code" and "source" not in words:
        return next((semantic_type for semantic_type in known[:-1] if semantic_type), "id")
    if named in ("", "name", "title", "quantity") and len(known) > 1 and "job" not in known:
        named = next((semantic_type for semantic_type in reversed(known) if semantic_type not in ("", "name")), named)
    if not named and words[-1] in ("start", "end", "begin", "until", "due", "since", "deadline"):
        return _described(described, numeric=False) or "moment"
    return named or _described(described, numeric=False)


_NUMERIC = vocabulary(
    "money percent quantity number limit age year weight height temperature days duration id time date"
)
# What a semantic type becomes for a property whose type is a number.
_AS_NUMBER = {"person": "quantity", "place": "", "title": "quantity", "text": "number", "query": "", "unit": "quantity"}
_AS_STRING = {"quantity": "", "number": "", "limit": "", "days": ""}
_PERSONAL: dict[tuple[str, ...], str] = {
    **dict.fromkeys((("first", "name"), ("given", "name")), "forename"),
    **dict.fromkeys((("last", "name"), ("family", "name")), "surname"),
}


def _adapted(semantic_type: str, *, numeric: bool) -> str:
    if numeric:
        semantic_type = _AS_NUMBER.get(semantic_type, semantic_type)
        return semantic_type if semantic_type in _NUMERIC else ""
    return _AS_STRING.get(semantic_type, semantic_type)


def _described(described: str, *, numeric: bool) -> str:
    words = parts(re.split(r"e\.g|such as|for example|\(", described)[0])[:8]
    types_of = heading_of("semantic_types")
    known = (_adapted(types_of[word], numeric=numeric) for word in words if word in types_of and len(word) > 2)
    return next((each for each in known if each and each not in _VAGUE), "")


_VAGUE = vocabulary("query text number title name")
_EXAMPLES = lazy_pattern(
    r"(?:e\.?g\.?|such as|for example|like|one of|i\.e\.|either|:|\()[,:]?\s*([^.()]{2,200})", re.IGNORECASE
)


def _hints(described: str) -> Iterator[str]:
    for found in _EXAMPLES.finditer(described):
        for example in re.split(r",\s*(?:or |and )?|\s+(?:or|and)\s+|[/|;]\s*", found[1]):
            example = example.strip(" '\"`“”‘’").lower()
            if 1 < len(example) < 40:
                yield example


Taken = tuple[Property, Mention]


def group_similar(props: Iterable[Property]) -> list[tuple[Property, ...]]:
    """Return the groups of properties that differ only in a letter, a number or such a word, each in its order."""
    groups: dict[tuple[str, ...], list[tuple[int, Property]]] = {}
    for prop in props:
        for family, rank, rest in _readings(prop):
            groups.setdefault((family, *prop.types, "", *rest), []).append((rank, prop))
    return [
        tuple(prop for _, prop in sorted(group, key=lambda pair: (pair[0], pair[1].order)))
        for group in groups.values()
        if len(group) > 1
    ]


def in_order(taken: Sequence[Taken]) -> list[Taken]:
    """Give the mentions of a group to its properties in the order of the text: "15 from 40" begins with 40."""
    mentions = sorted((mention for _, mention in taken), key=lambda mention: mention.start)
    if len(mentions) == 2 and mentions[1].cue == "from" and mentions[0].cue != "from":
        mentions.reverse()
    return [(prop, mention) for (prop, _), mention in zip(taken, mentions, strict=True)]


def _readings(prop: Property) -> Iterable[tuple[str, int, tuple[str, ...]]]:
    for at, word in enumerate(prop.words):
        rest = (*prop.words[:at], *prop.words[at + 1 :])
        if len(word) == 1 and word.isalpha():
            yield "letter", ord(word), rest
        elif word.isdecimal() and len(word) < 4:
            yield "number", int(word), rest


ENOUGH, ENOUGH_FOR_REQUIRED = 30, 20
UNTOLD = vocabulary("id name number value is has to from the of key code type string text")


def score(mention: Mention, prop: Property) -> int:
    """Return the points of a mention for a property; below ENOUGH it does not count."""
    if mention.kind in _KEYED:
        return _by_key(mention, prop)
    if mention.kind == "json":
        return _json(mention, prop)
    if mention.kind in _NUMBERS and (
        prop.numeric or not prop.types or prop.types == ("string",) or prop.semantic_type in _TYPES_OF_NUMBERS
    ):
        return _number(mention, prop)
    if mention.kind == "one":
        return 12 if prop.numeric and set(prop.words) & {"quantity", "qty", "amount", "count"} else 0
    if mention.kind == "duration" and (prop.numeric or prop.semantic_type == "duration"):
        near = context(mention, prop)
        return next((weight + int(near * share) for weight, share, holds in _DURATIONS if holds(mention, prop)), near)
    if prop.numeric or (prop.types and "string" not in prop.types):
        return 0
    return _text(mention, prop)


def _text(mention: Mention, prop: Property) -> int:
    semantic_type = prop.semantic_type
    if mention.kind == "email" and not _ADDRESSED.isdisjoint(prop.words[-1:]):
        return 60
    near = context(mention, prop) if mention.unit != "lead" else 0
    if semantic_type == "" and mention.kind in ("unit", "currency") and not prop.role:
        return 0
    if semantic_type == "text" and mention.unit == "counted" and mention.kind in ("name", "words"):
        return 0 if is_measure(str(mention.value)) else 34
    fitness = _kind_points(mention, prop)
    if fitness is None:
        return near - 15 if mention.kind in _NAMED_BY_NEIGHBOURS and near > 30 else 0
    preposition = points("preposition_points").get(semantic_type, {}).get(mention.cue, 0)
    features = sum(weight for weight, holds in _features(mention.kind, semantic_type) if holds(mention, prop))
    return fitness + near + role(mention, prop) + preposition + features


def _kind_points(mention: Mention, prop: Property) -> int | None:
    if prop.semantic_type == "job" and mention.kind in ("words", "name") and is_calling(str(mention.value)):
        return 28
    table = points("kind_points")
    return table.get(prop.semantic_type, table[""]).get(_kind(mention, prop))


@lru_cache(maxsize=1024)
def _features(kind: str, semantic_type: str) -> Sequence[tuple[int, "Holds"]]:
    return [
        (weight, holds)
        for weight, kinds, semantic_types, holds in _FEATURES
        if kind in kinds.split() and (not semantic_types or semantic_type in semantic_types.split())
    ]


def context(mention: Mention, prop: Property) -> int:
    telling, best = _telling(prop.words), 0
    for near, step, top in ((mention.before, 10, 42), (mention.after, 14, 40)):
        for distance, word in enumerate(near):
            if near is mention.after and _parts_clauses(word):
                break  # what follows is about something else
            best = max(best, int((top - step * distance) * _hit(word, telling)))
    return best


def _parts_clauses(word: str) -> bool:
    return word in ("and", "or", "but") or (_leads(word) and word not in ("as", "of", "to", "per"))


@lru_cache(maxsize=1024)
def _telling(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in UNTOLD) or words


@lru_cache(maxsize=16_384)
def _hit(word: str, telling: tuple[str, ...]) -> float:
    hits = (1.0 if word == name else 0.75 for name in telling if len(name) > 1 and len(word) > 1 and alike(word, name))
    return max(hits, default=0)


@lru_cache(maxsize=4096)
def alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) >= 4 and long.startswith(short[: max(4, len(short) - 2)]) and len(long) - len(short) <= 4:
        return True
    groups = synonyms("property_synonyms")
    return one == other or not groups.get(one, frozenset()).isdisjoint(groups.get(other, ()))


def role(mention: Mention, prop: Property) -> int:
    if prop.role == "from" and not mention.cue and mention.kind not in _NUMBERS:
        return 8
    said = ROLE_OF.get(mention.cue, "")
    if not prop.role or not said:
        return 0
    return 25 if prop.role == said else -22 if {prop.role, said} == {"from", "to"} else 0


def _kind(mention: Mention, prop: Property) -> str:
    """Return the kind of a mention; for a word of a list of the property's type, the name of that list."""
    if mention.kind not in ("name", "words", "quoted", "id") or not isinstance(mention.value, str):
        return mention.kind
    word = mention.value.lower()
    if prop.semantic_type in _LISTED_TYPES:
        return prop.semantic_type if word in heading_of(_LISTED_TYPES[prop.semantic_type]) else "other"
    if prop.semantic_type == "color":
        return "hue" if word in word_set("colors") else mention.kind
    if prop.semantic_type in ("country", "place", "state", "nationality", "person"):
        return _region(word, mention.kind, prop)
    if prop.semantic_type == "ticker":
        return "ticker" if mention.value.isupper() and len(word) <= 5 else mention.kind
    return mention.kind


def _region(word: str, kind: str, prop: Property) -> str:
    """The kind of a mention where countries, their states and their people differ from other names."""
    if word in word_set("countries") and not (prop.semantic_type == "state" and word in word_set("states")):
        return "country"
    return "nationality" if word in word_set("nationalities") else kind


@lru_cache(maxsize=2048)
def is_calling(words: str) -> bool:
    """Whether words sound like a profession: designer, project manager, pianist."""
    said = words.lower().split(" ")
    if words[0].isupper():  # a name may end as a profession does
        return len(said) < 6 and not word_set("callings").isdisjoint(said)
    return len(said) < 4 and _CALLING.search(words) is not None


def is_measure(words: str) -> bool:
    """Whether what is counted only says how many there are: "5 results"."""
    word = singular(words.split(" ")[0])
    measures = heading_of("semantic_types").get(word) in _TYPES_OF_MEASURES
    return measures or word in _YEARS or words in heading_of("units")


def _is_example(mention: Mention, prop: Property) -> bool:
    return isinstance(mention.value, str) and mention.value.lower() in prop.hints


def _describes(mention: Mention, prop: Property) -> bool:
    """Whether a name only describes the noun after it: in the Olympic final."""
    after = mention.after[0] if mention.cue and mention.after else ""
    return bool(after) and after not in word_set("stops") and not _leads(after)


def _is_subject(mention: Mention, prop: Property) -> bool:
    verb = mention.after[0] if mention.after and not mention.cue else ""
    return verb in _VERBS_OF_SUBJECTS or (bool(verb) and mention.kind == "name" and is_verb(verb))


def _opens(mention: Mention, prop: Property) -> bool:
    return not mention.before and " " in str(mention.value) and not _is_subject(mention, prop)


def _is_object(mention: Mention, prop: Property) -> bool:
    verb = mention.before[0] if mention.before else ""
    return mention.unit == "the" and not mention.cue and verb in word_set("requests") and verb not in _MAKING


def _is_counted(mention: Mention, prop: Property) -> bool:
    return mention.unit == "counted" and not is_measure(str(mention.value).lower())


def _leads(word: str) -> bool:
    return word in prepositions_of("en")


def _by_key(mention: Mention, prop: Property) -> int:
    key = parts(mention.key)
    if not key or key[0] == "for" or (prop.semantic_type in ("forename", "surname") and key == ("name",)):
        return 0  # "for rent: a flat" says no rent, and a name is more than its half
    if (
        key[-1] not in (*prop.words, *heading_of("semantic_types"))
        and mention.key.split()[-1].istitle()
        and len(key) > 1
    ):
        return 0  # "Project Apollo: …" names the project
    if "".join(key) != "".join(prop.words) and not _is_alike(key, prop):
        return 0
    return (100 if "".join(key) == "".join(prop.words) else 80) + 5 * (mention.kind == "member")


def _is_alike(key: tuple[str, ...], prop: Property) -> bool:
    if (len(prop.words) == len(key) and all(map(alike, key, prop.words))) or (prop.role and key == (prop.role,)):
        return True
    shorter = set(key) <= set(prop.words) or set(prop.words) <= set(key)
    return shorter and (key[-1] == prop.words[-1] or (key[0] in prop.words and key[0] not in UNTOLD))


def _json(mention: Mention, prop: Property) -> int:
    if isinstance(mention.value, list):
        return 60 if "array" in prop.types or not prop.types else 0
    properties = prop.schema.get("properties")
    if "object" not in prop.types or not isinstance(mention.value, dict):
        return 0
    known = mention.value.keys() & properties if isinstance(properties, dict) else ()
    return 60 + len(known) if known or not properties else 0


def _number(mention: Mention, prop: Property) -> int:
    near, semantic_type = context(mention, prop), prop.semantic_type
    if prop.types == ("string",) and semantic_type not in ("quantity", "money", "currency"):
        return (near + 12 if near >= 24 else 0) + (32 if mention.unit == "#" and semantic_type == "id" else 0)
    for weight, share, with_role, holds in _CLEAR_NUMBERS:
        if holds(mention, prop):
            return weight + int(near * share) + with_role * role(mention, prop)
    total = near + next((weight for weight, holds in _NUMBER_TYPES.get(semantic_type, ()) if holds(mention)), 2)
    if _is_measured(mention) and semantic_type not in ("money", "", "quantity") and near < 40:
        total -= 12
    if semantic_type in ("quantity", "limit") and not prop.role and ROLE_OF.get(mention.cue):
        total -= 16
    for_role = role(mention, prop)
    return total + for_role + (8 if for_role > 0 else 0) if total > 0 else total


def _is_measured(mention: Mention) -> bool:
    return mention.unit.lower() in heading_of("units")


def _is_in_unit(mention: Mention, prop: Property) -> bool:
    return bool(mention.unit) and not {mention.unit.lower(), singular(mention.unit)}.isdisjoint(prop.words)


def _measures(mention: Mention, prop: Property) -> bool:
    return heading_of("units").get(mention.unit.lower()) == prop.semantic_type


def _is_plain_number(mention: Mention, prop: Property) -> bool:
    return prop.semantic_type == "number" or (
        prop.semantic_type == "quantity" and not {"amount", "number", "num"}.isdisjoint(prop.words)
    )


def _is_old(mention: Mention) -> bool:
    return not {"old", "year"}.isdisjoint(mention.after[:2]) or mention.unit.lower() in _YEARS


def _whole(mention: Mention, least: float = float("-inf"), most: float = float("inf")) -> bool:
    return isinstance(mention.value, int) and least <= mention.value <= most


def _is_duration_in_unit(mention: Mention, prop: Property) -> bool:
    unit = mention.unit.removesuffix("s")
    return bool(unit) and any(alike(word, unit) for word in prop.words if len(word) > 1)


Holds = Callable[[Mention, Property], bool]

ROLE_OF = {
    **dict.fromkeys(("from", "since", "between", "over"), "from"),
    **dict.fromkeys(("to", "into", "until", "under"), "to"),
    "about": "about",
    "named": "named",
}
_KEYED = vocabulary("pair member")
_ADDRESSED = vocabulary("to recipient cc bcc address receiver sender")
_NUMBERS = vocabulary("number money ordinal")
_NAMED_BY_NEIGHBOURS = vocabulary("number id quoted name channel version")
_LISTED_TYPES = {"language": "language_codes", "currency": "currencies", "unit": "units"}
_TYPES_OF_TIME = vocabulary("duration days time")
_SPANS = vocabulary("second minute hour")
_TYPES_OF_NUMBERS = vocabulary("quantity money currency id")
_TYPES_OF_MEASURES = vocabulary("limit quantity days duration percent year")
_YEARS = vocabulary("year years año años ans an jahre jahr anni anno jaar anos ano lat лет")
_MAKING = vocabulary("create make add new open schedule book start set write send post generate file get")
_VERBS_OF_SUBJECTS = vocabulary(
    "is was are live work has ha lives works from teach run own lead say said joined plays earn"
)
_CALLING = lazy_pattern(r"(?:er|or|ist|ian|eer|ant|man|yst|chef|head|chief|nurse|intern|cook|clerk|ceo|cto|cfo|lead)$")

# For texts, every row that holds is added: points, kinds of the mention, types of the property, condition.
_FEATURES: tuple[tuple[int, str, str, Holds], ...] = (
    (35, "name words quoted id", "", _is_example),
    (-50, "words", "", lambda mention, prop: mention.value in _VERBS_OF_SUBJECTS),
    (-10, "name", "place", lambda mention, prop: prop.words[-1] in ("street", "address")),
    (-30, "words", "", lambda mention, prop: mention.unit == "the" and mention.after[:1] == ("of",)),
    (-30, "name words", "", lambda mention, prop: mention.unit == "label"),
    (-20, "name", "", lambda mention, prop: mention.unit == "lead"),
    (8, "words", "", lambda mention, prop: mention.unit in ("the", "counted")),
    (20, "name words", "title name", _is_counted),
    (10, "name words", "", lambda mention, prop: not prop.semantic_type and _is_counted(mention, prop)),
    (-30, "name", "", lambda mention, prop: mention.unit == "counted" and bool(prop.semantic_type)),
    (10, "name", "title", lambda mention, prop: not mention.cue and " " in mention.value),
    (-8, "name", "place title", _describes),
    (20, "words", "title", _is_object),
    (14, "name", "person name org title", _is_subject),
    (10, "name", "person name", _opens),
)
# For numbers, the first row that holds: points, shares of the points for neighbours and for the role, condition.
_CLEAR_NUMBERS: tuple[tuple[int, float, int, Holds], ...] = (
    (70, 0, 0, _is_in_unit),
    (0, 0, 0, lambda mention, prop: prop.semantic_type == "currency"),
    (48, 0.5, 0, lambda mention, prop: mention.kind == "money" and "amount" in prop.words),
    (32, 0, 0, lambda mention, prop: mention.kind == "money" and "rate" in prop.words),
    (58, 0.5, 1, lambda mention, prop: mention.kind == "money" and prop.semantic_type == "money"),
    (45, 0.5, 0, lambda mention, prop: mention.unit == "#" and prop.semantic_type == "id"),
    (-5, 1, 0, lambda mention, prop: mention.unit == "#" or mention.kind == "money"),
    (50, 0.5, 1, _measures),
    (34, 0.5, 0, _is_plain_number),
)
# For other numbers, by the semantic type of the property, the first row that holds is added; without one, 2 points.
_NUMBER_TYPES: dict[str, tuple[tuple[int, Callable[[Mention], bool]], ...]] = {
    "quantity": ((32, lambda mention: mention.kind == "number" and not _is_measured(mention) and _whole(mention)),),
    "year": ((36, lambda mention: _whole(mention, 1500, 2200)), (-30, lambda mention: True)),
    "age": ((32, _is_old), (22, lambda mention: not mention.unit and _whole(mention, 1, 119))),
    **dict.fromkeys(("limit", "money", "percent"), ((14, lambda mention: True),)),
}
_DURATIONS: tuple[tuple[int, float, Holds], ...] = (
    (60, 0, _is_duration_in_unit),
    (50, 0.5, lambda mention, prop: prop.semantic_type in _TYPES_OF_TIME or not _SPANS.isdisjoint(prop.words)),
)
