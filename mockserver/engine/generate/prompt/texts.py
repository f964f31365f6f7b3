"""How well a mention suits a property that takes text, in points: by its kind, its place in the sentence, its form."""

from mockserver.engine.generate.prompt.kinds import PROPER, STREETS, TOWNS, is_calling, is_kind, is_measure, kind_for
from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.natures import CUED, FITNESS
from mockserver.engine.generate.prompt.neighbours import LEADING, context, elsewhere, role
from mockserver.engine.generate.prompt.wanted import Wanted
from mockserver.engine.generate.prompt.words import REQUESTS, STOPS, listed

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
