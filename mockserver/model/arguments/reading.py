"""Reads the values mentioned in a text, each with the words around it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from mockserver.model.arguments.choices import LISTED
from mockserver.model.arguments.dates import durations, moments, pieces, times
from mockserver.model.arguments.numbers import numbers
from mockserver.model.arguments.phrases import phrases
from mockserver.model.arguments.values import Mention, fragments, literals, members, pairs, quoted, statements
from mockserver.model.vocabulary import prepositions, singular, word_set

_MOST_MENTIONS = 400  # of one text


@lru_cache(maxsize=64)
def read(text: str) -> tuple[Mention, ...]:
    """Return what a text mentions, in order. Mentions may overlap: a pair and the number in it."""
    claimed = bytearray(len(text))
    strict = list(_claimed(fragments(text), claimed))
    inner = [member for fragment in strict for member in members(text, fragment)]
    forms = (
        quoted(text),
        literals(text, sure=True),
        moments(text),
        durations(text),
        times(text),
        literals(text, sure=False),
        numbers(text),
    )
    strict += _claimed(chain.from_iterable(forms), claimed)
    inner += [part for mention in strict for part in _within(text, mention)]
    free = tuple(phrases(text, claimed))
    whole = sorted((*strict, *free), key=lambda m: m.start)
    named = (*pairs(text), *statements(text), *portions(text, whole))
    found = sorted((*whole, *inner, *named), key=lambda m: (m.start, -m.end, m.kind))
    if len(found) > _MOST_MENTIONS:  # the middle tells least
        found = found[: _MOST_MENTIONS // 2] + found[-_MOST_MENTIONS // 2 :]
    return tuple(_in_context(text, found))


def _within(text: str, mention: Mention) -> Iterator[Mention]:
    """The date and the time of a moment, and the numbers of a formula, which properties may want alone."""
    if mention.kind == "datetime":
        yield from pieces(mention, text)
    elif mention.kind == "expression" or (mention.kind == "date" and text.startswith("in ", mention.start)):
        for number in numbers(text[mention.start : mention.end]):
            yield replace(number, start=number.start + mention.start, end=number.end + mention.start)


def _claimed(found: Iterable[Mention], claimed: bytearray) -> Iterator[Mention]:
    """The mentions whose place is free; they take it."""
    for mention in found:
        if not any(claimed[mention.start : mention.end]):
            claimed[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            yield mention


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|#|\d|[.!?;,:()\n]")
_ENDS = frozenset(".!?;\n()")
_WIDE = frozenset(("pair", "member", "json"))
_REACH = 70  # characters on either side


def _in_context(text: str, found: Sequence[Mention]) -> Iterator[Mention]:
    """The mentions with the words around them."""
    leading = prepositions(text)
    whole = text
    for mention in found:
        if mention.kind == "address":  # its words say nothing about its neighbours
            blank = " " * (mention.end - mention.start)
            text = text[: mention.start] + blank + text[mention.end :]
    last: Mention | None = None
    for mention in found:
        before = _before(text, mention.start)
        cue = mention.cue or _cue(before, leading)
        near = tuple(singular(word) for word in before if word.lower() not in word_set("articles"))
        if not cue and _is_heading(whole, mention):
            mention = replace(mention, unit="label")
        made = replace(mention, cue=cue, before=near[:4], after=_after(text, mention.end))
        if last and last.end <= made.start:
            made = _joined(whole, last, made)
        yield made
        if made.kind not in _WIDE and (last is None or made.end > last.end):  # what is inside another follows nothing
            last = made


def _is_heading(text: str, mention: Mention) -> bool:
    """Whether words only announce what follows: "Contacts: Mia, Leo"."""
    return mention.kind in ("name", "words") and text[mention.end : mention.end + 1] == ":"


def _joined(text: str, last: Mention, mention: Mention) -> Mention:
    """A mention with what the one before it says: in "in Paris and London" both have "in"; what numbers count."""
    gap = text[last.end : mention.start]
    if (
        last.kind in ("number", "unit", "duration")
        and mention.kind in ("words", "name")
        and gap in (" ", " of ", " x ", "x ", " × ")
    ):
        return mention if isinstance(last.value, float) else replace(mention, unit="counted")
    if last.kind == mention.kind and not mention.cue and LISTED.fullmatch(text, last.end, mention.start):
        return replace(mention, cue="until" if last.cue == "between" else last.cue, before=last.before)
    return mention


def _before(text: str, start: int) -> list[str]:
    """The words before a place in its clause, nearest first."""
    words = _WORD.findall(text, max(0, start - _REACH), start)
    clause: list[str] = []
    for word in reversed(words):
        if word in _ENDS or word.isdigit() or word == ",":
            break
        if word not in ":#":
            clause.append(word)
    return clause[:5]


def _cue(before: list[str], leading: Mapping[str, str]) -> str:
    """The preposition before a place, with at most articles between them."""
    for word in before[:3]:
        if word.lower() in leading:
            return leading[word.lower()]
        if word.lower() not in word_set("articles"):
            break
    return ""


def _after(text: str, end: int) -> tuple[str, ...]:
    words: list[str] = []
    for word in _WORD.findall(text, end, end + 40):
        if word in _ENDS or word in ",:" or word.isdigit():
            break
        words.append(word)
    return tuple(singular(word) for word in words[:3])


_STATE = re.compile(r"(?P<city>.+), (?P<code>[A-Z]{2})")
_HOUSE = re.compile(r"(?P<number>\d{1,5}[A-Za-z]?) (?P<street>[A-Z0-9].+)")
_ZIP = re.compile(r" (\d{5}(?:-\d{4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})(?!\w)")


def portions(text: str, found: Iterable[Mention]) -> Iterator[Mention]:
    """The parts of mentions that are values too, and names that an id continues."""
    last: Mention | None = None
    for mention in found:
        if mention.kind == "name":
            yield from _of_name(text, mention)
        elif mention.kind == "words":
            yield from _of_words(mention)
            if text[max(0, mention.start - 3) : mention.start].lower().lstrip() in ("a ", "an "):
                yield Mention("one", 1, mention.start - 2, mention.start - 1)
        elif mention.kind == "address" and (house := _HOUSE.fullmatch(str(mention.value))):
            cut = mention.start + house.start("street")
            yield Mention("house", house["number"], mention.start, mention.start + house.end("number"))
            yield Mention("street", house["street"], cut, mention.end)
        if last and last.kind == "name" and mention.kind == "id" and text[last.end : mention.start] == " ":
            yield Mention("name", text[last.start : mention.end], last.start, mention.end, unit=last.unit)
        elif last and mention.kind == "words" and _is_short(last) and text[last.end : mention.start] == " ":
            yield Mention("words", text[last.start : mention.end], last.start, mention.end)
        last = mention


def portion_of(words: Sequence[str], beside: Collection[str]) -> str:
    """Return which part of a value a property asks for, where another property asks for the rest."""
    return next((_SPLIT[word, other] for word in words for other in _OTHERS.get(word, ()) if other in beside), "")


_SPLIT = {
    ("number", "street"): "house",
    ("street", "number"): "street",
    ("make", "model"): "forename",
    ("model", "make"): "surname",
    ("brand", "model"): "forename",
    ("model", "brand"): "surname",
}
_OTHERS = {"number": ("street",), "street": ("number",), "make": ("model",), "model": ("make", "brand")}
_OTHERS |= {"brand": ("model",)}


def _of_name(text: str, name: Mention) -> Iterator[Mention]:
    """The city and the state of "Springfield, IL", and the zip code after it; the first and last word of a name."""
    if state := _STATE.fullmatch(text, name.start, name.end):
        yield replace(name, value=state["city"], end=state.end("city"))
        yield Mention("state", state["code"], *state.span("code"))
        if code := _ZIP.match(text, name.end):
            yield Mention("zip", code[1], *code.span(1))
    elif text.find(" ", name.start, name.end) > 0 and name.unit != "lead":
        cut, last = text.index(" ", name.start), text.rindex(" ", name.start, name.end)
        yield Mention("forename", text[name.start : cut], name.start, cut)
        yield Mention("surname", text[last + 1 : name.end], last + 1, name.end)


def _is_short(mention: Mention) -> bool:
    """Whether a name is an abbreviation that belongs to the words after it: an HR manager."""
    return mention.kind == "name" and mention.value.isupper() and len(mention.value) < 5


def _of_words(words: Mention) -> Iterator[Mention]:
    """A colour or nationality, and the words after it."""
    first, _, rest = str(words.value).partition(" ")
    if rest and (first in word_set("colors") or first.lower() in word_set("nationalities")):
        cut = words.start + len(first)
        yield Mention("words", first, words.start, cut, cue=words.cue)
        yield Mention("words", rest, cut + 1, words.end, unit=words.unit)
