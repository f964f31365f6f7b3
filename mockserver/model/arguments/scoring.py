"""How well a mention suits a property, in points: tables of features and their weights, and functions that add them.

`kind_points.txt` weighs the kind of a mention, `preposition_points.txt` the word before it; the other tables stand at
the end.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from mockserver.core.lazy import lazy_pattern
from mockserver.model.arguments.properties import Property
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
    """The kind of a mention; of words that stand in the list of the property's type, the name of that list."""
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
