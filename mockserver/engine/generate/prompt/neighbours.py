"""What the words around a mention tell: which property is meant, from or to, or that something else is."""

from functools import lru_cache

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.natures import CUE_ROLES, NATURES, SYNONYMS
from mockserver.engine.generate.prompt.wanted import Wanted
from mockserver.engine.generate.prompt.words import CUES, listed

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
