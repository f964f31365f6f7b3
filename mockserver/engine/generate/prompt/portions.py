"""What stands within a mention and may be asked for by itself: a street's number, a state's code, a colour.

Knows single mentions and words, no schemas.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.places import NATIONALITIES
from mockserver.engine.generate.prompt.vocabulary import COLORS

_STATE = re.compile(r"(?P<city>.+), (?P<code>[A-Z]{2})")
_HOUSE = re.compile(r"(?P<number>\d{1,5}[A-Za-z]?) (?P<street>[A-Z0-9].+)")
_ZIP = re.compile(r" (\d{5}(?:-\d{4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})(?!\w)")


def portions(text: str, found: Iterable[Mention]) -> Iterator[Mention]:
    """The parts of mentions that are values of their own, and names that are continued by an id."""
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
    """Which part of a whole a property asks for, where another asks for the rest; none where it asks for a whole."""
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
    """The city and the state of "Springfield, IL", and the postal code behind it; the two halves of a name."""
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
    """Whether a name is an abbreviation that goes with what follows: an HR manager."""
    return mention.kind == "name" and mention.value.isupper() and len(mention.value) < 5


def _of_words(words: Mention) -> Iterator[Mention]:
    """A colour that stands before what has it."""
    first, _, rest = str(words.value).partition(" ")
    if rest and (first in COLORS or first.lower() in NATIONALITIES):
        cut = words.start + len(first)
        yield Mention("words", first, words.start, cut, cue=words.cue)
        yield Mention("words", rest, cut + 1, words.end, unit=words.unit)
