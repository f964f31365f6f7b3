"""What a text says of enumerations and of yes or no: words of the value, or of the property itself."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from mockserver.core.call import Json
from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.natures import CUE_ROLES, NATURES
from mockserver.engine.generate.prompt.numbers import CURRENCIES
from mockserver.engine.generate.prompt.vocabulary import AFFIRMATIONS, COMMON, LANGUAGES, NEGATIONS, SPOKEN, TRUTHS
from mockserver.engine.generate.prompt.wanted import Wanted
from mockserver.engine.generate.prompt.words import cues, listed, parts, stem

_WORD = re.compile(r"[^\W_]+(?:['’](?:t|s|re|ve|ll|d|m)\b)?|[°€$£][CFK]?|(?<![^\W\d_])[+*/-]")
_MOST_CHOICES, _MOST_HINTS = 300, 20
Place = tuple[int, int]


@lru_cache(maxsize=32)
def _index(text: str) -> tuple[tuple[tuple[str, int, int], ...], Mapping[str, list[int]]]:
    """The words of a text with their places, and where each stem stands among them."""
    words = tuple((stem(found[0]), found.start(), found.end()) for found in _WORD.finditer(text))
    places: dict[str, list[int]] = {}
    for at, (word, _, _) in enumerate(words):
        places.setdefault(word, []).append(at)
    return words, places


def chosen(text: str, want: Wanted) -> Iterator[tuple[int, Mention]]:
    """The values of an enumeration that the text says, each with its points."""
    for choice in want.choices[:_MOST_CHOICES]:
        if isinstance(choice, str) and choice:
            for points, (start, end) in _spoken(text, choice):
                mention = Mention("choice", choice, start, end)
                yield points + _around(text, mention, want), mention


def _spoken(text: str, choice: str) -> Iterator[tuple[int, Place]]:
    pieces = parts(choice) or (choice.lower(),)
    exact = list(_runs(text, pieces))
    if len(choice) == 1:
        exact = [(start, end) for start, end in exact if text[start:end] == choice and not choice.islower()]
    elif not exact and len(pieces) > 1:
        exact = list(_runs(text, ("".join(pieces),)))
    common = len(pieces) == 1 and pieces[0] in COMMON
    yield from ((36 if common else 62, place) for place in exact[:20])
    if not exact:
        yield from (
            (50, place)
            for other in _others(choice)
            for place in list(_runs(text, parts(other) if other[0].isalnum() else (other,)))[:20]
        )
    if not exact and len(pieces) == 1 and len(choice) >= 3 and not common:
        yield from ((46, place) for place in _begun(text, pieces[0]))


def _runs(text: str, pieces: tuple[str, ...]) -> Iterator[Place]:
    """Where words stand one after the other."""
    words, places = _index(text)
    for at in places.get(pieces[0], ())[:50]:
        if tuple(word for word, _, _ in words[at : at + len(pieces)]) == pieces:
            yield words[at][1], words[at + len(pieces) - 1][2]


def _others(choice: str) -> Iterator[str]:
    lowered = choice.lower()
    yield from SPOKEN.get(lowered, ())
    yield from (name for name, code in LANGUAGES.items() if lowered in (code, f"{code}-{code}"))
    if len(choice) == 3 and choice.isupper():
        yield from (name for name, code in CURRENCIES.items() if code == choice)


def _begun(text: str, piece: str) -> Iterator[Place]:
    """Words that begin as a value does, or the other way round: "descending" for desc, "temp" for temporary."""
    words, places = _index(text)
    for word, at in places.items():
        short, long = sorted((word, piece), key=len)
        if len(short) >= 4 and long.startswith(short) and word not in COMMON and len(long) - len(short) <= 7:
            yield words[at[0]][1], words[at[0]][2]


def _around(text: str, mention: Mention, want: Wanted) -> int:
    """For the property's name close by, or a preposition that fits; against a negation."""
    before = re.findall(r"[\w'’]+", text[max(0, mention.start - 40) : mention.start].lower())[-4:]
    after = re.findall(r"[\w'’]+", text[mention.end : mention.end + 20].lower())[:2]
    near = {stem(word) for word in (*before, *after)}
    told = CUE_ROLES.get(cues(text).get(before[-1], ""), "") if before else ""
    points = 14 if near & set(want.words) else 0
    points += (25 if told == want.role else -22) if want.role in ("from", "to") and told in ("from", "to") else 0
    return points - (40 if before[-1:] and before[-1] in ("not", "no", "nicht", "without", "non") else 0)


def hinted(text: str, want: Wanted) -> Iterator[Mention]:
    """The examples of a description that the text says, as it says them."""
    for hint in sorted(want.hints)[:_MOST_HINTS]:
        for start, end in _runs(text, parts(hint) or (hint,)):
            yield Mention("words", text[start:end], start, end)


def beside(mention: Mention, want: Wanted) -> Mention | None:
    """The rest of a phrase that begins or ends with the property's name: "namespace prod", "the web app"."""
    words = mention.value.split(" ") if mention.kind in ("words", "name") and isinstance(mention.value, str) else ()
    if not 1 < len(words) < 6 or len(want.words[-1]) < 3:
        return None
    if stem(words[0]) == want.words[-1]:
        start = mention.start + len(words[0]) + 1
        return Mention("words", " ".join(words[1:]), start, mention.end) if len(words[1]) > 1 else None
    if (
        mention.kind == "words"
        and _heads(stem(words[-1]), want)
        and (mention.unit == "the" or (mention.cue in ("in", "as") and len(words) == 2))
        and want.nature != "person"
    ):
        end = mention.end - len(words[-1]) - 1
        return Mention("words", " ".join(words[:-1]), mention.start, end)
    return None


def _heads(word: str, want: Wanted) -> bool:
    """Whether a word is what the property is called, or another word for a path."""
    return word == want.words[-1] or (want.nature == "path" == NATURES.get(word))


def affirmed(text: str, want: Wanted) -> tuple[bool, Place] | None:
    """What the text says of a property that is true or false, if anything, and where."""
    words = [word for word in want.words if word not in _AUXILIARY] or list(want.words)
    for place, at in _named(text, words):
        return _sense(text, place, at), place
    return None


_AUXILIARY = frozenset(listed("is has should include enable enabled use with do allow needs need want be are only"))
_AUXILIARY |= {stem(word) for word in _AUXILIARY}


def _named(text: str, words: list[str]) -> Iterator[tuple[Place, int]]:
    """Where all the words of a name stand together, in any form of them."""
    tokens, places = _index(text)
    first = [at for word, found in places.items() if _form(word, words[0]) for at in found[:5]]
    for at in sorted(first):
        run = [word for word, _, _ in tokens[at : at + len(words)]]
        if len(run) == len(words) and all(_form(word, name) for word, name in zip(run, words, strict=True)):
            yield (tokens[at][1], tokens[at + len(words) - 1][2]), at
    if len(words) > 1 and (joined := "".join(words)) in places:
        at = places[joined][0]
        yield (tokens[at][1], tokens[at][2]), at


@lru_cache(maxsize=8192)
def _form(word: str, name: str) -> bool:
    if word == name:
        return True
    short, long = sorted((word, name), key=len)
    return len(short) >= 4 and long.startswith(short[: max(4, len(short) - 1)]) and len(long) - len(short) <= 4


def _sense(text: str, place: Place, at: int) -> bool:
    """Yes, unless a negation stands before it in the same clause or a no after it."""
    after = re.match(
        r"\s*(?:is|are|was|to|[:=]|set to|should be|turned)?\s*([^\W\d_]+)", text[place[1] : place[1] + 30]
    )
    if after and after[1].lower() in TRUTHS and "." not in after[0]:
        return TRUTHS[after[1].lower()]
    clause = re.split(r"[.;!?\n,:]|\band\b|\bbut\b|\bund\b", text[max(0, place[0] - 40) : place[0]].lower())[-1]
    for word in reversed(re.findall(r"[\w'’]+", clause)[-4:]):
        word = word.replace("’", "'")
        if word in NEGATIONS:
            return False
        if word in AFFIRMATIONS:
            return True
    return True


def truth(text: str, want: Wanted) -> Json:
    """What the text says of a property that is true or false, None where it says nothing."""
    found = affirmed(text, want)
    return None if found is None else found[0]
