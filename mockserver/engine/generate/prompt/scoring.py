"""How well a mention suits a property, in points: by the name it is given, its kind, its cue, its neighbours."""

import re
from functools import lru_cache

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.natures import CUE_ROLES, CUED, FITNESS, MEASURES, NATURES, SYNONYMS
from mockserver.engine.generate.prompt.numbers import CURRENCIES
from mockserver.engine.generate.prompt.places import COUNTRIES, NATIONALITIES, STATES
from mockserver.engine.generate.prompt.vocabulary import COLORS, LANGUAGES
from mockserver.engine.generate.prompt.wanted import Wanted
from mockserver.engine.generate.prompt.words import CUES, REQUESTS, STOPS, listed, parts, stem

ENOUGH, ENOUGH_FOR_REQUIRED = 30, 20
_GIVEN = frozenset(("pair", "member", "argument"))
_NUMBERS = frozenset(("number", "money", "ordinal"))
_LEADING = frozenset(CUES["en"])
_PARTING = (_LEADING | {"and", "or", "but"}) - {"as", "of", "to", "per"}
_MOMENTS = frozenset(("date", "time", "datetime"))
UNTOLD = frozenset(listed("id name number value is has to from the of key code type string text"))


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
    return _string(mention, want)


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
    if key and len(want.words) == len(key) and all(_alike(a, b) for a, b in zip(key, want.words, strict=True)):
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


@lru_cache(maxsize=4096)
def _alike(one: str, other: str) -> bool:
    """Whether two stems are of one word or mean the same."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    if len(short) >= 4 and long.startswith(short[: max(4, len(short) - 2)]) and len(long) - len(short) <= 4:
        return True
    return any(one in group and other in group for group in SYNONYMS)


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
    hits = (
        1.0 if word == name else 0.75 for name in telling if len(name) > 1 and len(word) > 1 and _alike(word, name)
    )
    return max(hits, default=0)


def _number(mention: Mention, want: Wanted) -> int:
    near = context(mention, want)
    nature, unit = want.nature, mention.unit.lower()
    measured = MEASURES.get(unit)
    if want.types == ("string",) and nature not in ("quantity", "money", "currency"):
        return (near + 12 if near >= 24 else 0) + (32 if unit == "#" and nature == "id" else 0)
    if unit and (unit in want.words or stem(unit) in want.words):
        return 70
    if len(unit) > 3 and any(len(word) > 3 and _alike(stem(unit), word) for word in want.words):
        return 62
    if nature == "currency":
        return 45 if mention.kind == "money" else 0
    if mention.kind == "money" and "amount" in want.words:
        return 48 + near // 2
    if mention.kind == "money" and "rate" in want.words:
        return 32
    if mention.kind == "money":
        return (
            58 + near // 2 + _role(mention, want)
            if nature == "money"
            else 30
            if nature in ("number", "")
            else near - 10
        )
    if unit == "#":
        return 45 + near // 2 if nature == "id" else near - 5
    if measured and measured == nature:
        return 50 + near // 2 + _role(mention, want)
    if nature == "number" or (nature == "quantity" and set(want.words) & {"amount", "number", "num"}):
        return 34 + near // 2 - (4 if mention.kind == "ordinal" else 0)
    points = near + _by_nature(mention, nature)
    if measured and nature not in ("money", "", "quantity") and near < 40:
        points -= 12
    if _of_other(mention, want) and near < 25:
        points -= 25
    role = _role(mention, want)
    points -= 16 if nature in ("quantity", "limit") and not want.role and CUE_ROLES.get(mention.cue) else 0
    return points + (role + (8 if role > 0 else 0) if points > 0 else 0)


def _by_nature(mention: Mention, nature: str) -> int:
    value, unit = mention.value, mention.unit.lower()
    if nature == "quantity":
        return 32 if mention.kind == "number" and unit not in MEASURES and _whole(value) else 8
    if nature == "year":
        return 36 if _whole(value) and 1500 <= value <= 2200 else -30
    if nature == "age":
        return (
            32
            if set(mention.after[:2]) & {"old", "year"} or unit in _YEARS
            else 22
            if unit == "" and _whole(value) and 0 < value < 120
            else -10
        )
    if nature == "limit":
        return 30 if set(mention.before[:2]) & {"top", "first", "most", "last", "limit", "latest"} else 14
    if nature == "money":
        return 16 if not unit or unit not in MEASURES else -10
    if nature == "percent":
        return 30 if unit == "%" else 8
    return {"temperature": 10, "id": 8, "height": 6, "weight": 6}.get(nature, 2)


def _whole(value: object) -> bool:
    return isinstance(value, int)


def _of_other(mention: Mention, want: Wanted) -> bool:
    """Whether the word before says that the number is something else: "user id 42", "page 3"."""
    head = mention.before[0] if mention.before else ""
    nature = "" if head in _LEADING else NATURES.get(head, "")
    return (
        bool(nature) and nature not in ("query", "text", "", want.nature, "number", "title") and want.nature != "number"
    )


def _duration(mention: Mention, want: Wanted) -> int:
    near = context(mention, want)
    if mention.unit and any(_alike(word, mention.unit.removesuffix("s")) for word in want.words if len(word) > 1):
        return 60
    if want.nature == "days" and mention.unit.startswith(("d", "w")):
        return 50
    if want.nature in ("duration", "days") or set(want.words) & {"second", "minute", "hour"}:
        return 50 + near // 2
    return 45 + near // 2 if want.nature == "time" else near - 10 if want.nature else near


def _string(mention: Mention, want: Wanted) -> int:
    nature = _nature_of(mention, want)
    if mention.kind in _MOMENTS and nature not in ("date", "time", "datetime", "moment"):
        return context(mention, want) + (15 + _role(mention, want) if want.role else 0) if nature == "" else 0
    fitness = FITNESS.get(nature, FITNESS[""])
    points = fitness.get(_kind(mention, nature, want))
    if nature == "text" and mention.unit == "counted" and mention.kind in ("name", "words"):
        return 0 if _is_measure(str(mention.value)) else _COUNTED["title"] + 16
    if nature == "job" and mention.kind in ("words", "name") and _is_calling(str(mention.value)):
        points = 30 if " " in str(mention.value) else 26
    if mention.kind == "address" and nature == "place":
        points = 58 if set(want.words) & _STREETS else -20 if set(want.words) & _TOWNS else 28
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
        points -= 14 if mention.after and mention.after[0] not in STOPS and mention.after[0] not in _LEADING else 0
    points += _by_place(mention, nature)
    if nature == "place" and mention.kind == "name" and not near and set(want.words) & _STREETS:
        points -= 14
    if nature == "place" and mention.kind == "name" and mention.cue and _is_described(mention):
        points -= 8
    if nature in _PROPER and mention.kind in ("words", "name") and _is_kind(str(mention.value)):
        points -= 30
    if nature in ("person", "name") and mention.kind == "name" and not mention.cue and set(mention.after[:1]) & _DOING:
        points += 14
    elif nature in ("person", "name") and mention.kind == "name" and not mention.before and " " in str(mention.value):
        points += 10
    if nature == "org" and mention.kind == "name" and not mention.cue and set(mention.after[:1]) & _DOING:
        points += 14
    if nature == "title" and mention.kind == "words" and _is_object(mention):
        points += 20
    if mention.kind == "words":
        points += (
            8
            if mention.unit in ("the", "counted")
            else -4
            if mention.value.endswith("ing")
            else 0
        )
    if (
        mention.kind in ("name", "words")
        and not (cued > 0 or near or hinted)
        and nature not in ("title", "name", "person")
    ):
        points -= 4
    return points + max(cued, 0) + min(cued, 0) + near + hinted + _role(mention, want) - _elsewhere(mention, want, near)


def _by_place(mention: Mention, nature: str) -> int:
    """For what a number counts, where a thing is asked for; against headings and what may be a verb."""
    if mention.unit == "counted":
        other = 0 if mention.kind == "words" else -30
        return other if _is_measure(str(mention.value).lower()) else _COUNTED.get(nature, other)
    return _AGAINST.get(mention.unit, 0)


def _is_measure(words: str) -> bool:
    """Whether what is counted tells only how many there are: "5 results"."""
    word = stem(words.split(" ")[0])
    told = NATURES.get(word) in ("limit", "quantity", "days", "duration", "percent", "year")
    return told or word in _YEARS or words in MEASURES


_YEARS = frozenset(listed("year years año años ans an jahre jahr anni anno jaar anos ano lat лет"))
_COUNTED = {"title": 18, "name": 22, "": 10}
_AGAINST = {"label": -30, "lead": -20}


@lru_cache(maxsize=2048)
def _is_kind(words: str) -> bool:
    """Whether words only name a kind of thing: an address, the customer."""
    return all(NATURES.get(stem(word)) in _PROPER for word in words.split(" "))


_PROPER = frozenset(listed("place person org name country state"))


def _is_described(mention: Mention) -> bool:
    """Whether a name only describes the noun behind it: the Olympic final."""
    return bool(mention.after) and mention.after[0] not in STOPS and mention.after[0] not in _LEADING


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


def _kind(mention: Mention, nature: str, want: Wanted) -> str:
    """The kind of a mention, words looked up in the list that the nature has."""
    if mention.kind not in ("name", "words", "quoted", "id") or not isinstance(mention.value, str):
        return mention.kind
    word = mention.value.lower()
    if nature == "language":
        return "language" if word in LANGUAGES else "other"
    if nature == "currency":
        return "currency" if word in CURRENCIES else "other"
    if nature == "color":
        return "hue" if word in COLORS else mention.kind
    if nature == "unit":
        return "unit" if word in MEASURES else "other"
    if nature in ("country", "place", "state", "nationality", "person"):
        return _region(word, mention.kind, want)
    if nature == "ticker":
        return "ticker" if mention.value.isupper() and 1 <= len(word) <= 5 else mention.kind
    return mention.kind


def _region(word: str, kind: str, want: Wanted) -> str:
    """The kind of a mention where countries, their states and their people are told from other names."""
    code = len(word) == 2 and kind == "state"
    if word in COUNTRIES and not (want.nature == "state" and word in STATES):
        return "country" if not _is_wide(want) else kind
    if code or word in STATES:
        return "state" if not _is_wide(want) else kind
    return "nationality" if word in NATIONALITIES else kind


def _is_wide(want: Wanted) -> bool:
    """Whether any place will do: a location may be a country as well."""
    return want.nature == "place" and not set(want.words) & _TOWNS


_TOWNS = frozenset(listed("city town village capital stadt ville ciudad città cidade station airport"))
_STREETS = frozenset(listed("street address"))
_CALLING = re.compile(r"(?:er|or|ist|ian|eer|ant|man|yst|chef|head|chief|nurse|intern|cook|clerk|ceo|cto|cfo|lead)$")

_CALLINGS = frozenset(
    listed(
        "head chief manager engineer director developer lead officer analyst assistant president consultant designer"
        " specialist scientist architect nurse teacher professor supervisor coordinator representative accountant vp ceo"
        " cto cfo intern technician"
    )
)


@lru_cache(maxsize=2048)
def _is_calling(words: str) -> bool:
    """Whether words sound like a profession: designer, project manager, pianist."""
    said = words.lower().split(" ")
    if words[0].isupper():  # a name may end as a profession does
        return len(said) < 6 and not _CALLINGS.isdisjoint(said)
    return len(said) < 4 and _CALLING.search(words) is not None


def _role(mention: Mention, want: Wanted) -> int:
    """For or against, where the property is from or to something and the preposition tells which."""
    told = CUE_ROLES.get(mention.cue, "")
    if want.role == "from" and not mention.cue and mention.kind not in _NUMBERS:
        return 8
    if not want.role or not told:
        return 0
    return 25 if want.role == told else -22 if {want.role, told} == {"from", "to"} else 0


def _elsewhere(mention: Mention, want: Wanted, near: int) -> int:
    """Against a name that the word before it gives to something else: "company Initech" is no city."""
    if near or not mention.before or mention.kind not in ("name", "quoted", "words"):
        return 0
    head = NATURES.get(mention.before[0], "")
    natures = {want.nature, "", "name", "number", "quantity", "query", "text"}
    return 12 if head not in natures and mention.before[0] not in want.words and not mention.cue else 0
