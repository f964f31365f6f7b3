"""Properties that differ only in their place among others, such as city_a and city_b: what they get keeps its order."""

from collections.abc import Iterable, Sequence

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.wanted import Wanted
from mockserver.engine.generate.prompt.words import listed

Taken = tuple[Wanted, Mention]


def peers(asked: Iterable[Wanted]) -> list[tuple[Wanted, ...]]:
    """The groups of properties that are alike but for a letter, a number or such a word; each in its order."""
    groups: dict[tuple[str, ...], list[tuple[int, Wanted]]] = {}
    for want in asked:
        for family, rank, rest in _readings(want):
            groups.setdefault((family, *want.types, "", *rest), []).append((rank, want))
    return [
        tuple(want for _, want in sorted(group, key=lambda pair: (pair[0], pair[1].order)))
        for group in groups.values()
        if len(group) > 1
    ]


def in_order(taken: Sequence[Taken]) -> list[Taken]:
    """What the properties of a group have, told out anew by where it stands: "15 from 40" begins with 40."""
    mentions = sorted((mention for _, mention in taken), key=lambda mention: mention.start)
    if len(mentions) == 2 and mentions[1].cue == "from" and mentions[0].cue != "from":
        mentions.reverse()
    return [(want, mention) for (want, _), mention in zip(taken, mentions, strict=True)]


def _readings(want: Wanted) -> Iterable[tuple[str, int, tuple[str, ...]]]:
    """The family of the word that tells a property's place, the place, and the words beside it."""
    for at, word in enumerate(want.words):
        rest = (*want.words[:at], *want.words[at + 1 :])
        if len(word) == 1 and word.isalpha():
            yield "letter", ord(word), rest
        elif word.isdecimal() and len(word) < 4:
            yield "number", int(word), rest
        elif word in _PLACES:
            yield *_PLACES[word], rest


_FAMILIES = (
    "first second third fourth fifth", "one two three four five", "left right", "lhs rhs", "source target",
    "minuend subtrahend", "dividend divisor", "numerator denominator", "home away", "start end", "origin destination",
    "winner loser", "base exponent", "opens closes", "open close", "opening closing", "old new", "from to",
)  # fmt: skip
_PLACES = {word: (family, rank) for family in _FAMILIES for rank, word in enumerate(listed(family))}
