"""What the words of a text say of a property besides mentions: choices, examples, yes or no, lists."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from mockserver.core.lazy import lazy_pattern
from mockserver.model.arguments.properties import (
    Property,
    score,
)
from mockserver.model.arguments.values import LISTED, Mention
from mockserver.model.vocabulary import heading_of, parts, singular, truth, vocabulary, word_list, word_set

Place = tuple[int, int]  # where something starts and ends
Scored = tuple[int, Mention]


@lru_cache(maxsize=32)
def _index(text: str) -> tuple[tuple[tuple[str, int, int], ...], Mapping[str, list[int]]]:
    words = tuple((singular(found[0]), found.start(), found.end()) for found in _WORD.finditer(text))
    places: dict[str, list[int]] = {}
    for at, (word, _, _) in enumerate(words):
        places.setdefault(word, []).append(at)
    return words, places


def find_choices(text: str, prop: Property) -> Iterator[Scored]:
    for choice in prop.choices[:_MOST_CHOICES]:
        if isinstance(choice, str) and choice:
            for points, (start, end) in _said(text, choice):
                mention = Mention("choice", choice, start, end)
                yield points - (40 if _DENIED.search(text[max(0, start - 20) : start]) else 0), mention


def _said(text: str, choice: str) -> Iterator[tuple[int, Place]]:
    pieces = parts(choice) or (choice.lower(),)
    exact = list(_runs(text, pieces))
    if len(choice) == 1:
        exact = [(start, end) for start, end in exact if text[start:end] == choice and not choice.islower()]
    elif not exact and len(pieces) > 1:
        exact = list(_runs(text, ("".join(pieces),)))
    common = len(pieces) == 1 and pieces[0] in word_set("common")
    yield from ((36 if common else 62, place) for place in exact[:_MOST_PLACES])
    if exact:
        return
    for other in _other_names(choice):
        run = parts(other) if other[0].isalnum() else (other,)
        yield from ((50, place) for place in list(_runs(text, run))[:_MOST_PLACES])


def _runs(text: str, pieces: tuple[str, ...]) -> Iterator[Place]:
    words, places = _index(text)
    for at in places.get(pieces[0], ())[:50]:
        if tuple(word for word, _, _ in words[at : at + len(pieces)]) == pieces:
            yield words[at][1], words[at + len(pieces) - 1][2]


def _other_names(choice: str) -> Iterator[str]:
    lowered = choice.lower()
    yield from word_list("choices").get(lowered, ())
    yield from (name for name, code in heading_of("language_codes").items() if lowered in (code, f"{code}-{code}"))
    if len(choice) == 3 and choice.isupper():
        yield from (name for name, code in heading_of("currencies").items() if code == choice)


def find_examples(text: str, prop: Property) -> Iterator[Mention]:
    for hint in sorted(prop.hints)[:_MOST_EXAMPLES]:
        for start, end in _runs(text, parts(hint) or (hint,)):
            yield Mention("words", text[start:end], start, end)


def remove_name(mention: Mention, prop: Property) -> Mention | None:
    """Return the rest of a phrase that begins or ends with the property's name: "namespace prod", "the web app"."""
    words = mention.value.split(" ") if mention.kind in ("words", "name") and isinstance(mention.value, str) else ()
    if not 1 < len(words) < 6 or len(prop.words[-1]) < 3:
        return None
    if singular(words[0]) == prop.words[-1]:
        start = mention.start + len(words[0]) + 1
        return Mention("words", " ".join(words[1:]), start, mention.end) if len(words[1]) > 1 else None
    last, end = singular(words[-1]), mention.end - len(words[-1]) - 1
    is_name = last == prop.words[-1] or prop.semantic_type == "path" == heading_of("semantic_types").get(last)
    announced = mention.unit == "the" or (mention.cue in ("in", "as") and len(words) == 2)
    if mention.kind != "words" or prop.semantic_type == "person" or not (is_name and announced):
        return None
    return Mention("words", " ".join(words[:-1]), mention.start, end)


def find_boolean(text: str, prop: Property) -> bool | None:
    """Return what the text says of a property that is true or false; None where it says nothing."""
    words = [word for word in prop.words if word not in _AUXILIARY] or list(prop.words)
    place = next(_named(text, words), None)
    return None if place is None else _is_affirmed(text, place)


def _named(text: str, words: list[str]) -> Iterator[Place]:
    tokens, places = _index(text)
    first = [at for word, found in places.items() if _is_form(word, words[0]) for at in found[:5]]
    for at in sorted(first):
        run = [word for word, _, _ in tokens[at : at + len(words)]]
        if len(run) == len(words) and all(map(_is_form, run, words)):
            yield tokens[at][1], tokens[at + len(words) - 1][2]
    if len(words) > 1 and (joined := "".join(words)) in places:
        yield tokens[places[joined][0]][1:]


@lru_cache(maxsize=8192)
def _is_form(word: str, name: str) -> bool:
    short, long = sorted((word, name), key=len)
    return word == name or (
        len(short) >= 4 and long.startswith(short[: max(4, len(short) - 1)]) and len(long) - len(short) <= 4
    )


def _is_affirmed(text: str, place: Place) -> bool:
    """True, unless a negation precedes the name in its clause or a no follows it."""
    after = _STATED.match(text[place[1] : place[1] + 30])
    if after and "." not in after[0] and (stated := truth(after[1])) is not None:
        return stated
    clause = _CLAUSES.split(text[max(0, place[0] - 40) : place[0]].lower())[-1]
    words = [word.replace("’", "'") for word in re.findall(r"[\w'’]+", clause)[-4:]]
    said = (word for word in reversed(words) if word in word_set("negations") | word_set("affirmations"))
    return next(said, "yes") not in word_set("negations")


def find_count_of_items(text: str, found: Sequence[Mention], nouns: Collection[str]) -> Mention | None:
    """Find where a text says how many items it wants: `4 tasks`, `five European capitals`.

    Without a noun, it may be a number of anything.
    """
    for mention in found:
        if mention.kind == "number" and isinstance(mention.value, int):
            end = mention.end
            for word in _next_words(text, end):
                end, one = end + 1 + len(word), singular(word.lower())
                if any(_is_form(one, noun) for noun in nouns) or (not nouns and one != word.lower()):
                    return Mention("count", mention.value, mention.start, end)
    return None


def _next_words(text: str, at: int) -> list[str]:
    following = _NEXT_WORDS.match(text, at)
    return following[0].split() if following else []


_NEXT_WORDS = lazy_pattern(r"(?: [\w-]{1,30}){1,3}")


def find_runs_of_items(
    text: str, scored: Sequence[Scored], item: Property
) -> Iterator[tuple[int, tuple[Mention, ...]]]:
    """Groups of mentions that stand one after the other, with the points of each group."""
    run: list[Scored] = []
    for points, mention in sorted(scored, key=lambda pair: (pair[1].start, -pair[0])):
        if run and mention.start < run[-1][1].end:
            continue
        if run and not _follows(text, run[-1][1], mention, item):
            yield _group(run)
            run = []
        run.append((points, mention))
    if run:
        yield _group(run)


def _follows(text: str, last: Mention, mention: Mention, item: Property) -> bool:
    if item.numeric and item.semantic_type in ("number", "", "quantity") and mention.start - last.end < 30:
        return True
    return LISTED.fullmatch(text, last.end, mention.start) is not None


def _group(run: Sequence[Scored]) -> tuple[int, tuple[Mention, ...]]:
    best = max(points for points, _ in run)
    return best + (24 if len(run) > 1 else 0), tuple(mention for _, mention in run)


def find_items(found: Sequence[Mention], item: Property, prop: Property) -> Iterator[Scored]:
    for said in found:
        if said.kind not in _KINDS_OF_ITEMS:
            continue
        mention = remove_name(said, prop) or said
        points = max(score(mention, item), score(mention, prop))
        plain = item.semantic_type in ("", "number") and item.numeric and mention.kind in ("number", "money")
        wordy = "string" in item.types and item.semantic_type in ("", "title", "text", "query")
        if points >= 10 or plain or (wordy and mention.kind in ("words", "name") and points > -10):
            yield max(points, 10), mention


def find_bulleted(text: str) -> tuple[Mention, ...]:
    """Return the lines of a list with bullets or numbers, if there are several."""
    found = list(_BULLETS.finditer(text))[:_MOST_ITEMS]
    return tuple(Mention("quoted", line[1].strip(), *line.span(1)) for line in found) if len(found) > 1 else ()


_MOST_CHOICES, _MOST_EXAMPLES, _MOST_PLACES, _MOST_ITEMS = 300, 20, 20, 100
_WORD = lazy_pattern(r"[^\W_]+(?:['’](?:t|s|re|ve|ll|d|m)\b)?|[°€$£][CFK]?|(?<![^\W\d_])[+*/-]")
_STATED = lazy_pattern(r"\s*(?:is|are|was|to|[:=]|set to|should be|turned)?\s*([^\W\d_]+)")
_DENIED = lazy_pattern(r"(?i)\b(?:not|no|nicht|without|non)\W+$")
_CLAUSES = lazy_pattern(r"[.;!?\n,:]|\band\b|\bbut\b|\bund\b")
_AUXILIARY = vocabulary("is has should include enable enabled use with do allow needs need want be are only")
_BULLETS = lazy_pattern(r"^[ \t]{0,12}(?:[-*•]|\d{1,3}[.)])[ \t]{1,4}(\S[^\n]{0,500})$", re.MULTILINE)
_KINDS_OF_ITEMS = vocabulary(
    "number money quoted name words email url id channel date path phone ip host uuid address version color"
)
