"""How well a mention suits a property, in points: by the name it is given, its kind, its cue, its neighbours."""

from functools import lru_cache

from mockserver.model.arguments.phrases import PROPER, STREETS, TOWNS, YEARS, is_calling, is_kind, is_measure, kind_for
from mockserver.model.arguments.properties import Wanted
from mockserver.model.arguments.semantic_types import CUE_ROLES, CUED, FITNESS, MEASURES, NATURES, SYNONYMS
from mockserver.model.arguments.values import Mention
from mockserver.model.arguments.words import CUES, REQUESTS, STOPS, listed, parts, stem

LEADING = frozenset(CUES["en"])
UNTOLD = frozenset(listed("id name number value is has to from the of key code type string text"))
_PARTING = (LEADING | {"and", "or", "but"}) - {"as", "of", "to", "per"}
_NUMBERS = frozenset(("number", "money", "ordinal"))


def context(mention: Mention, want: Wanted) -> int:
    """The points for words beside a mention that the property is named by."""
    if not mention.before and not mention.after:
        return 0
    telling = _telling(want.words)
    best = 0
    for near, step, top in ((mention.before, 10, 42), (mention.after, 14, 40)):
        for distance, word in enumerate(near[:4]):
            if near is mention.after and word in _PARTING:
                break  # what follows is said of something else
            if hit := _hit(word, telling):
                best = max(best, int((top - step * distance) * hit))
    return best


@lru_cache(maxsize=1024)
def _telling(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name that tell what it is."""
    return tuple(word for word in words if word not in UNTOLD) or words


@lru_cache(maxsize=16_384)
def _hit(word: str, telling: tuple[str, ...]) -> float:
    """How well a word is one of those of a name: 0 where it is none."""
    hits = (1.0 if word == name else 0.75 for name in telling if len(name) > 1 and len(word) > 1 and alike(word, name))
    return max(hits, default=0)


@lru_cache(maxsize=4096)
def alike(one: str, other: str) -> bool:
    """Whether two stems are of one word or mean the same."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    if len(short) >= 4 and long.startswith(short[: max(4, len(short) - 2)]) and len(long) - len(short) <= 4:
        return True
    return any(one in group and other in group for group in SYNONYMS)


def role(mention: Mention, want: Wanted) -> int:
    """For or against, where the property is from or to something and the preposition tells which."""
    told = CUE_ROLES.get(mention.cue, "")
    if want.role == "from" and not mention.cue and mention.kind not in _NUMBERS:
        return 8
    if not want.role or not told:
        return 0
    return 25 if want.role == told else -22 if {want.role, told} == {"from", "to"} else 0


def elsewhere(mention: Mention, want: Wanted, near: int) -> int:
    """Against a name that the word before it gives to something else: "company Initech" is no city."""
    if near or not mention.before or mention.kind not in ("name", "quoted", "words"):
        return 0
    head = NATURES.get(mention.before[0], "")
    natures = {want.nature, "", "name", "number", "quantity", "query", "text"}
    return 12 if head not in natures and mention.before[0] not in want.words and not mention.cue else 0


_MOMENTS = frozenset(("date", "time", "datetime"))


def text_score(mention: Mention, want: Wanted) -> int:
    """The points of a mention for a property whose value is a string."""
    nature = _nature_of(mention, want)
    if mention.kind in _MOMENTS and nature not in ("date", "time", "datetime", "moment"):
        return context(mention, want) + (15 + role(mention, want) if want.role else 0) if nature == "" else 0
    fitness = FITNESS.get(nature, FITNESS[""])
    points = fitness.get(kind_for(mention, nature, want))
    if nature == "text" and mention.unit == "counted" and mention.kind in ("name", "words"):
        return 0 if is_measure(str(mention.value)) else _COUNTED["title"] + 16
    if nature == "job" and mention.kind in ("words", "name") and is_calling(str(mention.value)):
        points = 30 if " " in str(mention.value) else 26
    if mention.kind == "address" and nature == "place":
        points = 58 if set(want.words) & STREETS else -20 if set(want.words) & TOWNS else 28
    if nature == "" and mention.kind in ("unit", "currency") and not want.role:
        return 0
    near = context(mention, want) if mention.unit != "lead" else 0
    if points is None:
        return (
            near - 15 if mention.kind in ("number", "id", "quoted", "name", "channel", "version") and near > 30 else 0
        )
    cued = CUED.get(nature, CUED[""] if nature == "" else {}).get(mention.cue, 0)
    hinted = 35 if isinstance(mention.value, str) and mention.value.lower() in want.hints else 0
    if nature == "title" and mention.kind == "name":
        points += 10 if not mention.cue and " " in mention.value else 0
        points -= 14 if mention.after and mention.after[0] not in STOPS and mention.after[0] not in LEADING else 0
    points += _by_place(mention, nature) - _against(mention, want, near)
    if nature in ("person", "name") and mention.kind == "name" and not mention.cue and set(mention.after[:1]) & _DOING:
        points += 14
    elif nature in ("person", "name") and mention.kind == "name" and not mention.before and " " in str(mention.value):
        points += 10
    if nature == "org" and mention.kind == "name" and not mention.cue and set(mention.after[:1]) & _DOING:
        points += 14
    if nature == "title" and mention.kind == "words" and _is_object(mention):
        points += 20
    if mention.kind == "words":
        points += 8 if mention.unit in ("the", "counted") else -4 if mention.value.endswith("ing") else 0
    if (
        mention.kind in ("name", "words")
        and not (cued > 0 or near or hinted)
        and nature not in ("title", "name", "person")
    ):
        points -= 4
    return points + max(cued, 0) + min(cued, 0) + near + hinted + role(mention, want) - elsewhere(mention, want, near)


def _against(mention: Mention, want: Wanted, near: int) -> int:
    """Against names of towns for streets, names that describe a noun, and words that only name a kind of thing."""
    points = 0
    if want.nature == "place" and mention.kind == "name":
        points += 14 if not near and set(want.words) & STREETS else 0
        points += 8 if mention.cue and _is_described(mention) else 0
    if want.nature in PROPER and mention.kind in ("words", "name") and is_kind(str(mention.value)):
        points += 30
    return points


def _by_place(mention: Mention, nature: str) -> int:
    """For what a number counts, where a thing is asked for; against headings and what may be a verb."""
    if mention.unit == "counted":
        other = 0 if mention.kind == "words" else -30
        return other if is_measure(str(mention.value).lower()) else _COUNTED.get(nature, other)
    return _AGAINST.get(mention.unit, 0)


_COUNTED = {"title": 18, "name": 22, "": 10}
_AGAINST = {"label": -30, "lead": -20}


def _is_described(mention: Mention) -> bool:
    """Whether a name only describes the noun behind it: the Olympic final."""
    return bool(mention.after) and mention.after[0] not in STOPS and mention.after[0] not in LEADING


def _is_object(mention: Mention) -> bool:
    """Whether a request is about it: "move my appointment"; what a request makes is named by other words."""
    verb = mention.before[0] if mention.before else ""
    return mention.unit == "the" and not mention.cue and verb in REQUESTS and verb not in _MAKING


_MAKING = frozenset(listed("create make add new open schedule book start set write send post generate file get"))
_DOING = frozenset(listed("is was are live work has ha lives works from teach run own lead say said joined plays earn"))


def _nature_of(mention: Mention, want: Wanted) -> str:
    if want.nature == "unit" and mention.kind in ("words", "name"):
        return "unit"
    return want.nature


ENOUGH, ENOUGH_FOR_REQUIRED = 30, 20
_GIVEN = frozenset(("pair", "member", "argument"))
_BARE = frozenset(("id", "number", "no", "nr"))  # names that leave to the text what has the number


def score(mention: Mention, want: Wanted) -> int:
    """The points of a mention for a property; below ENOUGH it does not count."""
    if mention.kind in _GIVEN:
        return _by_key(mention, want)
    if mention.kind == "json":
        return _json(mention, want)
    if mention.kind in _NUMBERS and "string" in want.types and len(want.types) == 1:
        return _number(mention, want)
    if mention.kind in _NUMBERS and (
        want.numeric or not want.types or want.nature in ("quantity", "money", "currency", "id")
    ):
        return _number(mention, want)
    if mention.kind == "one":
        return 12 if want.numeric and set(want.words) & {"quantity", "qty", "amount", "count"} else 0
    if mention.kind == "duration" and (want.numeric or want.nature == "duration"):
        return _duration(mention, want)
    if want.numeric or (want.types and "string" not in want.types):
        return 0
    return text_score(mention, want)


def _by_key(mention: Mention, want: Wanted) -> int:
    if mention.key.startswith("#"):
        return 90 if mention.key == f"#{want.order}" and want.nature not in ("code", "command", "expression") else 0
    key = _key(mention.key)
    if key[:1] == ("for",) or (want.nature in ("forename", "surname") and key == ("name",)):
        return 0  # "for rent: a flat" says no rent, and a name is more than its half
    bonus = 10 if mention.kind == "argument" else 5 if mention.kind == "member" else 0
    if key == want.words or "".join(key) == "".join(want.words):
        return 100 + bonus
    ends = set(want.words[-1:])
    if key and (ends & set(key[-1:])) and (set(key) <= set(want.words) or set(want.words) <= set(key)):
        return 85 + bonus
    if key and len(want.words) == len(key) and all(alike(a, b) for a, b in zip(key, want.words, strict=True)):
        return 75 + bonus
    shared = set(key) & set(want.words) - UNTOLD
    if shared and key and key[0] in want.words and len(key) <= len(want.words):
        return 70 + bonus
    natures = {NATURES.get(word, "") for word in key} - {"", "title", "text", "query", "name"}
    if want.nature in natures and not want.role:
        return 50 + bonus
    if (
        key
        and want.nature in ("title", "name", "person")
        and NATURES.get(key[-1]) == want.nature
        and want.words[-1] in ("name", "title")
    ):
        return 45
    return 0


@lru_cache(maxsize=512)
def _key(written: str) -> tuple[str, ...]:
    return parts(written)


def _json(mention: Mention, want: Wanted) -> int:
    if isinstance(mention.value, list):
        return 60 if "array" in want.types or not want.types else 0
    shape = want.schema.get("properties")
    if "object" not in want.types or not isinstance(mention.value, dict):
        return 0
    if not isinstance(shape, dict) or not shape:
        return 50
    known = sum(key in shape for key in mention.value)
    return 60 + known if known and known * 2 >= len(mention.value) else 0


def _number(mention: Mention, want: Wanted) -> int:
    near = context(mention, want)
    nature, unit = want.nature, mention.unit.lower()
    measured = MEASURES.get(unit)
    if want.types == ("string",) and nature not in ("quantity", "money", "currency"):
        return (near + 12 if near >= 24 else 0) + (32 if unit == "#" and nature == "id" else 0)
    if unit and (unit in want.words or stem(unit) in want.words):
        return 70
    if len(unit) > 3 and any(len(word) > 3 and alike(stem(unit), word) for word in want.words):
        return 62
    if nature == "currency":
        return 45 if mention.kind == "money" else 0
    if mention.kind == "money" and "amount" in want.words:
        return 48 + near // 2
    if mention.kind == "money" and "rate" in want.words:
        return 32
    if mention.kind == "money":
        return (
            58 + near // 2 + role(mention, want) if nature == "money" else 30 if nature in ("number", "") else near - 10
        )
    if unit == "#":
        return 45 + near // 2 if nature == "id" else near - 5
    if measured and measured == nature:
        return 50 + near // 2 + role(mention, want)
    if nature == "number" or (nature == "quantity" and set(want.words) & {"amount", "number", "num"}):
        return 34 + near // 2 - (4 if mention.kind == "ordinal" else 0)
    points = near + _by_nature(mention, nature)
    if measured and nature not in ("money", "", "quantity") and near < 40:
        points -= 12
    if _of_other(mention, want) and near < 25:
        points -= 25
    told = role(mention, want)
    points -= 16 if nature in ("quantity", "limit") and not want.role and CUE_ROLES.get(mention.cue) else 0
    return points + (told + (8 if told > 0 else 0) if points > 0 else 0)


def _by_nature(mention: Mention, nature: str) -> int:
    value, unit = mention.value, mention.unit.lower()
    if nature == "quantity":
        return 32 if mention.kind == "number" and unit not in MEASURES and _whole(value) else 8
    if nature == "year":
        return 36 if _whole(value) and 1500 <= value <= 2200 else -30
    if nature == "age":
        return (
            32
            if set(mention.after[:2]) & {"old", "year"} or unit in YEARS
            else 22
            if unit == "" and _whole(value) and 0 < value < 120
            else -10
        )
    if nature == "limit":
        return 30 if set(mention.before[:2]) & {"top", "first", "most", "last", "limit", "latest"} else 14
    if nature == "money":
        return (24 if mention.cue in ("at", "for") else 16) if unit not in MEASURES else -10
    if nature == "percent":
        return 30 if unit == "%" else 8
    return {"temperature": 10, "id": 8, "height": 6, "weight": 6}.get(nature, 2)


def _whole(value: object) -> bool:
    return isinstance(value, int)


def _of_other(mention: Mention, want: Wanted) -> bool:
    """Whether the word before says that the number is something else: "user id 42", "page 3"."""
    head = mention.before[0] if mention.before else ""
    nature = "" if head in LEADING or set(want.words) <= _BARE else NATURES.get(head, "")
    return (
        bool(nature) and nature not in ("query", "text", "", want.nature, "number", "title") and want.nature != "number"
    )


def _duration(mention: Mention, want: Wanted) -> int:
    near = context(mention, want)
    if mention.unit and any(alike(word, mention.unit.removesuffix("s")) for word in want.words if len(word) > 1):
        return 60
    if want.nature == "days" and mention.unit.startswith(("d", "w")):
        return 50
    if want.nature in ("duration", "days") or set(want.words) & {"second", "minute", "hour"}:
        return 50 + near // 2
    return 45 + near // 2 if want.nature == "time" else near - 10 if want.nature else near
