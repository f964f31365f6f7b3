"""Which kind of thing words are: a country, a colour, a profession, a measure, or only the name of a kind of thing."""

import re
from functools import lru_cache

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.natures import MEASURES, NATURES
from mockserver.engine.generate.prompt.numbers import CURRENCIES
from mockserver.engine.generate.prompt.places import COUNTRIES, NATIONALITIES, STATES
from mockserver.engine.generate.prompt.vocabulary import COLORS, LANGUAGES
from mockserver.engine.generate.prompt.wanted import Wanted
from mockserver.engine.generate.prompt.words import listed, stem


def kind_for(mention: Mention, nature: str, want: Wanted) -> str:
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
    return want.nature == "place" and not set(want.words) & TOWNS


TOWNS = frozenset(listed("city town village capital stadt ville ciudad città cidade station airport"))
STREETS = frozenset(listed("street address"))
_CALLING = re.compile(r"(?:er|or|ist|ian|eer|ant|man|yst|chef|head|chief|nurse|intern|cook|clerk|ceo|cto|cfo|lead)$")

_CALLINGS = frozenset(
    listed(
        "head chief manager engineer director developer lead officer analyst assistant president consultant designer"
        " specialist scientist architect nurse teacher professor supervisor coordinator representative accountant vp"
        " ceo cto cfo intern technician"
    )
)


@lru_cache(maxsize=2048)
def is_calling(words: str) -> bool:
    """Whether words sound like a profession: designer, project manager, pianist."""
    said = words.lower().split(" ")
    if words[0].isupper():  # a name may end as a profession does
        return len(said) < 6 and not _CALLINGS.isdisjoint(said)
    return len(said) < 4 and _CALLING.search(words) is not None


def is_measure(words: str) -> bool:
    """Whether what is counted tells only how many there are: "5 results"."""
    word = stem(words.split(" ")[0])
    told = NATURES.get(word) in ("limit", "quantity", "days", "duration", "percent", "year")
    return told or word in YEARS or words in MEASURES


@lru_cache(maxsize=2048)
def is_kind(words: str) -> bool:
    """Whether words only name a kind of thing: an address, the customer."""
    return all(NATURES.get(stem(word)) in PROPER for word in words.split(" "))


PROPER = frozenset(listed("place person org name country state"))

YEARS = frozenset(listed("year years año años ans an jahre jahr anni anno jaar anos ano lat лет"))
