"""How well a mention suits a property, in points: by the name it is given, its kind, its cue, its neighbours."""

from functools import lru_cache

from mockserver.engine.generate.prompt.kinds import YEARS
from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.natures import CUE_ROLES, MEASURES, NATURES
from mockserver.engine.generate.prompt.neighbours import LEADING, UNTOLD, alike, context, role
from mockserver.engine.generate.prompt.texts import text_score
from mockserver.engine.generate.prompt.wanted import Wanted
from mockserver.engine.generate.prompt.words import parts, stem

ENOUGH, ENOUGH_FOR_REQUIRED = 30, 20
_GIVEN = frozenset(("pair", "member", "argument"))
_NUMBERS = frozenset(("number", "money", "ordinal"))
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
