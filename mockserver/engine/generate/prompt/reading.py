"""Reads a text once: what has a form of its own, then names and phrases between the words that carry no value."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from mockserver.engine.generate.prompt.durations import durations
from mockserver.engine.generate.prompt.lists import LISTED
from mockserver.engine.generate.prompt.literals import literals
from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.moments import moments, pieces, times
from mockserver.engine.generate.prompt.natures import MEASURES, SYNONYMS
from mockserver.engine.generate.prompt.numbers import numbers
from mockserver.engine.generate.prompt.pairs import calls, fragments, members, pairs
from mockserver.engine.generate.prompt.phrases import phrases
from mockserver.engine.generate.prompt.portions import portions
from mockserver.engine.generate.prompt.quotes import quoted
from mockserver.engine.generate.prompt.statements import statements
from mockserver.engine.generate.prompt.words import ARTICLES, cues, stem

_MOST = 400  # mentions of one text


@lru_cache(maxsize=64)
def read(text: str) -> tuple[Mention, ...]:
    """What a text mentions, in order. Mentions may overlap: a pair and the number in it, a text and a name in it."""
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
    named = (*calls(text), *pairs(text), *statements(text), *portions(text, whole))
    found = sorted((*whole, *inner, *named), key=lambda m: (m.start, -m.end, m.kind))
    if len(found) > _MOST:  # both ends tell more than the middle
        found = found[: _MOST // 2] + found[-_MOST // 2 :]
    return tuple(_in_context(text, found))


def _within(text: str, mention: Mention) -> Iterator[Mention]:
    """The date and time of a moment, the numbers of a sum: they may be asked for alone."""
    if mention.kind == "datetime":
        yield from pieces(mention, text)
    elif mention.kind == "expression" or (mention.kind == "date" and text.startswith("in ", mention.start)):
        for number in numbers(text[mention.start : mention.end]):
            yield replace(number, start=number.start + mention.start, end=number.end + mention.start)


def _claimed(found: Iterable[Mention], claimed: bytearray) -> Iterator[Mention]:
    """The mentions whose place is still free, which they take."""
    for mention in found:
        if not any(claimed[mention.start : mention.end]):
            claimed[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            yield mention


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|#|\d|[.!?;,:()\n]")
_ENDS = frozenset(".!?;\n()")
_WIDE = frozenset(("pair", "member", "argument", "none", "json"))
_REACH = 70  # characters that are looked at on either side


def _in_context(text: str, found: Sequence[Mention]) -> Iterator[Mention]:
    """The mentions with the words around them."""
    leading = cues(text)
    whole = text
    for mention in found:
        if mention.kind == "address":  # its words tell nothing of what stands beside it
            blank = " " * (mention.end - mention.start)
            text = text[: mention.start] + blank + text[mention.end :]
    last: Mention | None = None
    labels = _labels(whole, found)
    for mention in found:
        before = _before(text, mention.start)
        cue = mention.cue or _cue(before, leading)
        near = tuple(stem(word) for word in before if word.lower() not in ARTICLES)
        if (mention.end in labels and mention.kind == "words") or (not cue and _is_heading(whole, mention)):
            mention = replace(mention, unit="label")
        made = replace(mention, cue=cue, before=near[:4], after=_after(text, mention.end))
        if last and last.end <= made.start:
            made = _joined(whole, last, made)
        yield made
        if made.kind not in _WIDE and (last is None or made.end > last.end):  # what stands within it follows nothing
            last = made


def _labels(text: str, found: Iterable[Mention]) -> frozenset[int]:
    """Where words end that only say what the number after them is: the "bug" of "bug 552"."""
    numbered = (
        m
        for m in found
        if m.kind in ("number", "id") and text[m.start - 1 : m.start] == " " and m.unit.lower() not in MEASURES
    )
    return frozenset(mention.start - 1 for mention in numbered)


def _is_heading(text: str, mention: Mention) -> bool:
    """Whether words only announce what follows: "Contacts: Mia, Leo"."""
    return mention.kind in ("name", "words") and text[mention.end : mention.end + 1] == ":"


def _is_of(word: str, group: str) -> bool:
    return any(word in words and group in words for words in SYNONYMS)


def _joined(text: str, last: Mention, mention: Mention) -> Mention:
    """A mention with what the one before it tells: both of "in Paris and London" are in, apples are counted."""
    gap = text[last.end : mention.start]
    if (
        last.kind in ("number", "unit", "duration")
        and mention.kind in ("words", "name")
        and gap in (" ", " of ", " x ", "x ", " × ")
    ):
        people = mention.kind == "words" and any(_is_of(stem(word), "people") for word in str(mention.value).split())
        return mention if people or isinstance(last.value, float) else replace(mention, unit="counted")
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


def _cue(before: list[str], leading: dict[str, str]) -> str:
    """The preposition that leads to a place, articles between them skipped."""
    for word in before[:3]:
        if word.lower() in leading:
            return leading[word.lower()]
        if word.lower() not in ARTICLES:
            break
    return ""


def _after(text: str, end: int) -> tuple[str, ...]:
    words: list[str] = []
    for word in _WORD.findall(text, end, end + 40):
        if word in _ENDS or word in ",:" or word.isdigit():
            break
        words.append(word)
    return tuple(stem(word) for word in words[:3])
