"""Values that a text mentions: numbers, dates, quoted texts, ids, names, phrases, pairs, JSON; and the words around.

Every pattern has bounded repetitions, so that each character of a text costs a bounded number of steps.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily, remember
from mockserver.model.arguments import quantities
from mockserver.model.arguments.evidence import Mention
from mockserver.model.arguments.quantities import list_signs
from mockserver.model.shapes import decode
from mockserver.model.vocabulary import (
    UNSPACED_LETTER,
    find_language,
    find_singular,
    is_person,
    list_words_between_phrases,
    make_vocabulary,
    read_headings,
    read_prepositions,
    read_word_lists,
    read_word_set,
)


@remember(64)
def read(text: str) -> tuple[Mention, ...]:
    """Return what a text mentions, in order. Mentions may overlap: a pair and the number in it."""
    claimed = bytearray(len(text))
    fragments = _claim(find_fragments(text), claimed)
    forms = (
        *find_quoted(text),
        *find_literals(text, sure=True),
        *quantities.find_moments(text),
        *quantities.find_durations(text),
        *quantities.find_times(text),
        *find_literals(text, sure=False),
        *quantities.find_numbers(text),
    )
    strict = sorted((*fragments, *_claim(forms, claimed)), key=_START)
    whole = sorted((*strict, *find_phrases(text, strict)), key=_START)
    whole += join_names(text, whole)
    inner = [part for each in whole for part in each.parts]
    inner += [member for fragment in fragments for member in _read_members(text, fragment)]
    inner += [part for each in whole if each.kind in _DIVISIBLE for part in _list_parts(text, each)]
    inner += find_postcodes(text)
    found = sorted((*whole, *inner, *find_pairs(_blank_out(text, fragments))), key=attrgetter("kind"))
    found.sort(key=attrgetter("end"), reverse=True)
    found.sort(key=_START)  # of those that start together the longest first, then by kind
    if len(found) > _MOST_MENTIONS:  # the middle tells least
        found = found[: _MOST_MENTIONS // 2] + found[-_MOST_MENTIONS // 2 :]
    return tuple(_add_context(text, found))


def _blank_out(text: str, found: Sequence[Mention], blank: str = " ") -> str:
    """Return a text without mentions, which are in its order and do not overlap; all others keep their places."""
    pieces: list[str] = []
    at = 0
    for mention in found:
        pieces += (text[at : mention.start], blank * (mention.end - mention.start))
        at = mention.end
    return "".join((*pieces, text[at:])) if found else text


def _claim(found: Iterable[Mention], claimed: bytearray) -> list[Mention]:
    """Return the mentions of which no character is claimed by one before, and claim theirs."""
    own: list[Mention] = []
    for mention in found:
        if not any(claimed[mention.start : mention.end]):
            claimed[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            own.append(mention)
    return own


def _list_parts(text: str, whole: Mention) -> Iterator[Mention]:
    """Yield the values in a mention that may be wanted alone: the city before a state, the colour of a thing."""
    if whole.kind == "words" and _ONE.search(text, whole.start - 3, whole.start):
        yield Mention("one", 1, start=whole.start - 2, end=whole.start - 1)
    if whole.kind == "expression" or (whole.kind == "date" and text.startswith("in ", whole.start)):
        yield from _read_numbers(text, whole)
    elif whole.kind == "name" and text.startswith("The ", max(0, whole.start - 4)) and _BY.match(text, whole.end):
        yield Mention(
            "quoted", text[whole.start - 4 : whole.end], start=whole.start - 4, end=whole.end
        )  # the title of a work
    elif whole.kind in _PARTS and (found := _PARTS[whole.kind].fullmatch(text, whole.start, whole.end)):
        for kind, part in found.groupdict().items():
            if part:
                unit = (whole.unit or "the") if kind == "words" else ""  # what has a colour is a thing
                yield Mention(kind, int(part) if part.isdecimal() else part, *found.span(kind), unit=unit)


def join_names(text: str, whole: Sequence[Mention]) -> Sequence[Mention]:
    """Return the names with what continues them: an id, "Sony WH-1000XM5", a number, "Room 12", an abbreviation before.

    "HR manager" is such words.
    """
    return [
        Mention(
            "words" if other.kind == "words" else "name", text[one.start : other.end], start=one.start, end=other.end
        )
        for one, other in pairwise(whole)
        if one.kind == "name"
        and text[one.end : other.start] == " "
        and (
            other.kind == "id"
            or (other.kind == "number" and read_headings("semantic_types").get(one.value.lower()) in ("room", "place"))
            or (other.kind == "words" and str(one.value).isupper() and one.end - one.start < 5)
        )
    ]


def find_postcodes(text: str) -> Iterator[Mention]:
    for found in _POSTCODE.finditer(text) if "digit" in list_signs(text) else ():
        yield Mention("zip", found[0], *found.span())


def _read_numbers(text: str, whole: Mention) -> Iterator[Mention]:
    for number in quantities.find_numbers(text[whole.start : whole.end]):
        yield replace(number, start=number.start + whole.start, end=number.end + whole.start)


# By form


def find_quoted(text: str) -> Iterator[Mention]:
    """Yield the texts in quotes or backticks, in order; apostrophes and quotes without an end are none."""
    for found in _QUOTED.finditer(text) if not _QUOTES.isdisjoint(list_signs(text)) else ():
        if found["fenced"]:
            yield Mention("code", found["fenced"].strip("\n"), start=found.start("fenced"), end=found.end())
        else:
            yield Mention("code" if found["code"] else "quoted", str(found[found.lastindex or 0]), *found.span())


class Scanner(NamedTuple):
    """A pattern of values, and signs: a text that has such values has one of each group."""

    kind: str
    signs: Sequence[frozenset[str]]
    pattern: re.Pattern[str]


@cache
def _list_scanners(*, sure: bool) -> Sequence[Scanner]:
    every = (
        Scanner(kind, [*map(make_vocabulary, signs)], compile_lazily(pattern))
        for kind, signs, pattern in read_word_lists("patterns")["literals"]
    )
    return [each for each in every if (each.kind in _SURE) == sure]


@remember(256)
def _choose_scanners(signs: frozenset[str], *, sure: bool) -> Sequence[Scanner]:
    return [each for each in _list_scanners(sure=sure) if not any(map(signs.isdisjoint, each.signs))]


@cache
def _list_signs_of_literals() -> frozenset[str]:
    scanners = (*_list_scanners(sure=True), *_list_scanners(sure=False))
    return frozenset(sign for each in scanners for group in each.signs for sign in group)


def find_literals(text: str, *, sure: bool) -> Iterator[Mention]:
    """Yield the values that their form shows, kind by kind; the `sure` ones are read before dates and durations."""
    for kind, _, pattern in _choose_scanners(list_signs(text) & _list_signs_of_literals(), sure=sure):
        for found in pattern.finditer(text):
            value = found[0].rstrip(".,;:!?)]}'" if kind == "url" else " ")
            if not (kind == "expression" and re.fullmatch(r"\d+-\d+|-?\d+/\d+|[\d.-]+", value)):
                yield Mention(kind, value, start=found.start(), end=found.start() + len(value))


def find_fragments(text: str) -> Iterator[Mention]:
    """Yield the outermost JSON objects and arrays of a text, unless they are nested too deeply."""
    at = 0
    for _ in range(_MOST_TRIES if not _BRACKETS.isdisjoint(list_signs(text)) else 0):
        opening = _BRACKET.search(text, at)
        if opening is None:
            return
        found = decode(text, opening.start())
        at = found.end if found else opening.end()
        if found and _measure_depth(found.value) <= _DEEPEST:
            yield Mention("json", found.value, start=found.start, end=found.end)


def _measure_depth(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_measure_depth, inner), default=0)


def _read_members(text: str, fragment: Mention) -> Iterator[Mention]:
    waiting = [fragment.value]
    at = fragment.start
    left = _MOST_MEMBERS
    while waiting and left:
        value = waiting.pop(0)
        for key, inner in list(value.items() if isinstance(value, dict) else ())[:left]:
            left -= 1
            place = text.find(json.dumps(key, ensure_ascii=False), at, fragment.end)
            if place >= 0:
                at = place + len(key) + 2
                if not (isinstance(inner, str | list) and _GAPS.fullmatch(json.dumps(inner[:300], ensure_ascii=False))):
                    yield Mention("member", inner, start=place, end=at, key=key)
            waiting.append(inner)


# By name


def find_pairs(text: str) -> Iterator[Mention]:
    """Yield the values after a colon or an equals sign, and those that sentences give to a name: "my city is Rome"."""
    signs = list_signs(text)
    at = 0 if not _MARKS_OF_PAIRS.isdisjoint(signs) else len(text)
    while found := _PAIR.search(text, at):
        start = found.start("value")
        end = start + len(_cut_value(found["value"], found["mark"]))
        at = max(end, found.end("mark"))
        if written := text[start:end].strip().strip("*_`").strip():
            begin = text.index(written, start)
            is_quoted = len(written) > 2 and _CLOSING.get(written[0]) == written[-1]
            value = written[1:-1].strip() if is_quoted else written
            yield Mention("pair", value, start=begin, end=begin + len(written), key=found["key"])
    for found in _SAID.finditer(text) if not _COPULAS.isdisjoint(signs) else ():
        value = _END_OF_CLAUSE.split(found["value"], maxsplit=1)[0].rstrip(" .")
        if value:
            start = found.start("value")
            yield Mention("pair", value.strip("\"'“”«»"), start=start, end=start + len(value), key=found["key"])
    for found in _OF_ITS_KIND.finditer(text) if not _COPULAS.isdisjoint(signs) else ():
        yield Mention("pair", found["value"], *found.span("value"), key=found["key"])
    for found in _BECOME.finditer(text) if "digit" in signs and not _COPULAS.isdisjoint(signs) else ():
        yield Mention("pair", found["value"], *found.span("value"), key="status")
    sizes = _SIZE.finditer(text) if "digit" in signs and not _TIMES.isdisjoint(signs) else ()
    positions = _POSITION.finditer(text) if "digit" in signs and "." in signs else ()
    for found in (*sizes, *positions):
        yield from (
            Mention("pair", value, start=found.start(key), end=found.end(key), key=key)
            for key, value in found.groupdict("").items()
            if value
        )


def _cut_value(rest: str, mark: str) -> str:
    close = rest.find(_CLOSING[rest[0]], 1) if rest[0] in _CLOSING else -1
    if close > 0:
        return rest[: close + 1]
    rest = re.split(r"[\s&,;)]", rest, maxsplit=1)[0] if "=" in mark else rest
    return _END_OF_VALUE.split(rest, maxsplit=1)[0]


# Names and phrases


class PlacedWord(Struct, frozen=True):
    """A word, as it stands and in small letters, and its place."""

    word: str
    small: str
    start: int
    end: int


def find_phrases(text: str, claimed: Sequence[Mention] = ()) -> list[Mention]:
    """Return the names (capitalised) and other phrases of a text, outside of what other values claim."""
    free = _blank_out(text, claimed, "\0")
    phrases: list[Mention] = []
    for run in _list_runs(free):
        for phrase in _split_run(free, run):
            if not phrases or phrase.start >= phrases[-1].end:  # the state after a city belongs to it
                phrases += [phrase]
    return phrases


def _list_runs(text: str) -> list[list[PlacedWord]]:
    """Return the words that follow each other, without the small words between phrases."""
    stops = list_words_between_phrases(find_language(text))
    small = _lower(text)
    places = [found.span() for found in _TOKEN.finditer(text)]
    tokens = [PlacedWord(text[start:end], small[start:end], start, end) for start, end in places]
    runs: list[list[PlacedWord]] = [[]]
    for token, following in zip(tokens, (*tokens[1:], None), strict=False):
        last = runs[-1][-1] if runs[-1] else None
        is_joined = last is None or text[last.end : token.start] in (" ", "  ")
        is_stop = token.small in stops and not (
            is_joined and _is_in_name(text, token, following=following, last=last.word if last else "")
        )
        if last and (is_stop or not is_joined):
            runs += [[]]
        if not is_stop:
            runs[-1] += [token]
    return runs if runs[-1] else runs[:-1]


def _lower(text: str) -> str:
    """Return a text in small letters, each in its place; as it is where one would become two."""
    small = text.lower()
    return small if len(small) == len(text) else text


def _is_in_name(text: str, token: PlacedWord, following: PlacedWord | None, last: str) -> bool:
    """Return whether a small word is inside a name: the "of" of Bank of America, the "Los" of Los Angeles."""
    if token.word == token.small and (not last or last.islower()) and (token.word, last) != ("the", "of"):
        return False
    precedes = following is not None and following.word[0].isupper() and text[token.end : following.start] == " "
    if token.word in _LINKS:
        goes_on = precedes or (token.word == "of" and _THE_NAME.match(text, token.end) is not None)
        return goes_on and (last[:1].isupper() or last == "of") and token.word not in ("von", "der")
    is_titled = token.word.istitle() and token.small not in _POLITE and not _opens(text, token.start)
    return is_titled and (precedes or last[:1].isupper())


def _split_run(text: str, run: list[PlacedWord]) -> Sequence[Mention]:
    """Return the names and other phrases of a run of words, without words before them that only ask for something."""
    if not run[0].word.isascii() and UNSPACED_LETTER.match(run[0].word):
        return [*_split_unspaced(text, run)]
    opens = _opens(text, run[0].start)
    while run and run[0].small in read_word_set("requests") and (opens or run[0].word.islower()):
        is_name = run[0].word == "New" and len(run) > 1 and run[1].word.istitle()
        is_item = len(run) == 1 and _is_item(text, run[0])
        if is_name or is_item or (not opens and _is_announced(text, run[0].start)):
            break
        run = run[1:]
    if run and run[0].word[0].islower() and _PRONOUN.search(text, run[0].start - 6, run[0].start):
        run = run[1:]  # "I need flour"
    if len(run) > 1:
        if text[run[-1].end : run[-1].end + 1] in ("", "?") and _DOES.search(text, run[0].start - 30, run[0].start):
            run = run[:-1]  # how much does a red apple cost?
        elif opens and run[1].word[0].isupper() and is_person(run[0].word):
            run = run[1:]  # "Patient Maria Lopez"
    parts: list[list[PlacedWord]] = []
    for token in run:
        turns = not parts or token.word[0].isupper() != parts[-1][0].word[0].isupper()
        if turns and not (parts and (token.word in _LINKS or token.word.isdigit())):
            parts += [[]]
        parts[-1] += [token]
    return [_make_phrase(text, part) for part in parts]


def _is_item(text: str, token: PlacedWord) -> bool:
    """Return whether a word is one of a list after a colon, and requests nothing there: "tags: refund, order"."""
    before = _BEFORE_ITEM.search(text, token.start - _REACH, token.start)
    return before is not None and (before["others"] or _NEXT_ITEM.match(text, token.end)) is not None


def _make_phrase(text: str, part: Sequence[PlacedWord]) -> Mention:
    start = part[0].start
    end = part[-1].end
    is_name = part[0].word[0].isupper()
    place = _PLACE.match(text, end) if is_name and text[end : end + 1] == "," else None
    if place and (place["state"] or (_is_country(place["country"]) and not _is_country(text[start:end]))):
        end = place.end()  # the city is a part of it
    if text[end : end + 1] == ":":  # words that only announce what follows: "Contacts: Mia, Leo"
        unit = "label"
    elif _is_announced(text, start, articles_only=True):
        unit = "the"
    else:
        follows = text[end : end + 20].split(" ")[1:2] if text[end : end + 1] == " " else []
        is_lone = is_name and len(part) == 1 and _opens(text, start) and bool(follows)
        unit = "lead" if is_lone and not _is_verb_of(follows[0]) else ""
    return Mention("name" if is_name else "words", text[start:end], start=start, end=end, unit=unit)


def _is_country(name: str) -> bool:
    return name.lower() in read_word_set("countries")


def _is_verb_of(word: str) -> bool:
    """Return whether a word follows the subject of a sentence: "Ann lives in", but not "Grep for"."""
    return word in _VERBS or word[:1].isupper() or word.endswith(("ed", "s")) or not word[:1].isalpha()


def _split_unspaced(text: str, run: Sequence[PlacedWord]) -> Iterator[Mention]:
    """Yield words of a script without spaces: runs of ideographs or katakana between hiragana and particles."""
    for token in run:
        for found in _PIECE.finditer(token.word):
            for piece in re.finditer(r"[^的是和与在从到去了吗呢]+", found[0]):
                lead = _ASKING.match(piece[0])
                start = token.start + found.start() + piece.start() + (lead.end() if lead else 0)
                end = token.start + found.start() + piece.end()
                if end > start:
                    cue = "of" if text[end : end + 1] in ("の", "的") else ""
                    yield Mention("name", text[start:end], start=start, end=end, cue=cue)


def _opens(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" ")
    return not before or before[-1] in ".!?:\n-*•"


def _is_announced(text: str, start: int, *, articles_only: bool = False) -> bool:
    before = text[max(0, start - 12) : start].split()
    articles = read_word_set("articles")
    return bool(before) and before[-1].lower() in (articles if articles_only else articles | _ANNOUNCING)


# Context


def _add_context(text: str, found: Sequence[Mention]) -> list[Mention]:
    around = _blank_out(text, [each for each in found if each.kind == "address"])  # it says nothing of others
    surroundings = _Surroundings(around)
    made: list[Mention] = []
    last: Mention | None = None
    for mention in found:
        cue, before = surroundings.read_before(mention.start)
        after = surroundings.read_after(mention.end)
        mention = replace(mention, cue=mention.cue or cue, before=before, after=after)
        if last:
            mention = _join(text, last, mention)
        made += [mention]
        if mention.kind not in _WIDE and (last is None or mention.end > last.end):
            last = mention  # what is inside another follows nothing
    return made


class _Surroundings:
    """The words and marks of a text, by which those before and after a place are found."""

    def __init__(self, text: str) -> None:
        found = [*_WORD.finditer(_lower(text))]
        self.words = [each[0] for each in found]
        self.starts = [each.start() for each in found]
        self.kinds = [each.lastgroup for each in found]  # of marks; None of words
        self.prepositions = read_prepositions(find_language(text))
        self.articles = read_word_set("articles")
        self.before: dict[int, tuple[str, tuple[str, ...]]] = {}
        self.after: dict[int, tuple[str, ...]] = {}

    def read_before(self, place: int) -> tuple[str, tuple[str, ...]]:
        """Return the preposition before a place, in English, with at most articles between, and the words before it."""
        if place in self.before:
            return self.before[place]
        cue = ""
        is_near = True
        near: list[str] = []
        at = bisect_left(self.starts, place)
        left = _MOST_BEFORE
        while at and left and self.starts[at - 1] >= place - _REACH:
            at -= 1
            kind = self.kinds[at]
            if kind == "label":
                continue
            if kind is not None:
                break
            left -= 1
            word = self.words[at][: place - self.starts[at]]
            if is_near and left > _MOST_BEFORE - 4:
                cue = self.prepositions.get(word, "")
                is_near = not cue and word in self.articles
            if word not in self.articles:
                near += [find_singular(word)]
        self.before[place] = cue, tuple(near[:4])
        return self.before[place]

    def read_after(self, place: int) -> tuple[str, ...]:
        """Return the first words after a place, in the singular."""
        if place in self.after:
            return self.after[place]
        near: list[str] = []
        at = bisect_left(self.starts, place)
        if at and (rest := self.words[at - 1][place - self.starts[at - 1] :]) and (rest := rest.lstrip("'’")):
            near += [find_singular(rest)]
        while len(near) < 3 and at < len(self.starts) and self.starts[at] < place + _REACH_AFTER:
            word = self.words[at]
            if self.kinds[at] is not None and word != "#":
                break
            near += [find_singular(word)]
            at += 1
        self.after[place] = tuple(near)
        return self.after[place]


def _join(text: str, last: Mention, mention: Mention) -> Mention:
    """Return a mention with what the one before it says: in "in Paris and London" both have "in"; or with its count."""
    if last.end > mention.start:  # a part says what the whole does
        return replace(mention, unit=last.unit) if last.unit == "counted" and last.end >= mention.end else mention
    gap = text[last.end : mention.start]
    if last.kind in ("number", "unit", "duration") and mention.kind in ("words", "name") and gap in _COUNTING:
        return replace(mention, unit="counted")
    if last.kind == mention.kind and not mention.cue and LISTED.fullmatch(text, last.end, mention.start):
        return replace(mention, cue="until" if last.cue == "between" else last.cue, before=last.before)
    return mention


_MOST_MENTIONS = 400
_MOST_TRIES = 48
_MOST_MEMBERS = 200
_DEEPEST = 24
_REACH = 70
_REACH_AFTER = 40
_MOST_BEFORE = 5  # words
_START = attrgetter("start")
_DIVISIBLE = make_vocabulary("words name expression date address")
_BRACKETS = frozenset("[{")
_MARKS_OF_PAIRS = frozenset(":=：")
_COPULAS = make_vocabulary("is are was were ist est es")
_TIMES = make_vocabulary("x × by")
_QUOTED = compile_lazily(
    r"```(?:[\w+-]*[ \t]*\n)?(?P<fenced>(?:[^`]|`(?!``))+)```|`(?P<code>[^`\n]{1,2000})`"
    r"|(?<![\w\"'\\])\"((?:[^\"\\\n]|\\.|\n(?!\n)){1,4000})\""
    r"|(?<![\w\"'])'(?=\S)((?:[^'\n]|(?<=\w)'(?=\w)){1,300})'(?!\w)|‘(?=\S)((?:[^‘’\n]|’(?=\w)){1,300})’(?!\w)"
    r"|[„“]([^„“”]{1,4000})[“”]|«([^«»]{1,4000})»|「([^「」]{1,4000})」|『([^『』]{1,4000})』"
)
_QUOTES = frozenset("`\"'‘„“«「『")
_SURE = frozenset(("url", "email", "uuid", "path"))
_BRACKET = compile_lazily(r"[\[{]")
_PAIR = compile_lazily(
    r"(?<![\w/.-])(?P<key>[^\W\d_][\w-]{0,40}(?: [\w-]{1,30}){0,3}?)(?P<mark>[ ]?=(?!=)|\**:\**(?!//|\d|:)"
    r"|：)[ \t]{0,4}(?P<value>[^\s,;][^\n;]{0,500})"
)
_END_OF_VALUE = compile_lazily(r"[.!?](?=\s|$)|,(?=\s)|;|\)(?!\S)")
_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "「": "」"}
_BEFORE_ITEM = compile_lazily(r"\w:[ \t]{1,4}(?P<others>[^\n:.!?;]{1,70}(?:,|,? and|,? or)[ ])?$")
_NEXT_ITEM = compile_lazily(r",| and | or ")
_GAPS = compile_lazily(r"\[?(?:\"(?:<[^<>\"]{1,200}>|[.… ]*)\"(?:, )?)+\]?")  # of an example
_OF_ITS_KIND = compile_lazily(  # Paris is a large city in France
    r"(?P<value>\b[A-Z][\w'’-]{0,40}(?: [A-Z][\w'’-]{0,40}){0,3}) (?:is|was) an? (?:[a-z-]{1,20} ){0,2}?"
    r"(?P<key>city|town|country|state|company)\b"
)
_SAID = compile_lazily(
    r"(?<!\w)(?:[Tt]he|[Mm]y|[Ii]ts|[Hh]is|[Hh]er|[Oo]ur|[Tt]heir|[Yy]our|[Mm]eine?|[Ll][ae]|[Ee]l|[Mm]i)"
    r" (?P<key>[^\W\d_A-Z][\w-]{1,30}(?: [^\W\d_A-Z][\w-]{1,30}){0,2}?) (?:is|are|was|were|ist|est|es) (?:that of )?"
    r"(?=(?P<value>[\"'“«]?(?:[A-Z0-9$€£#+-]|[^\W\d_a-z])[^\n;!?]{0,200}))"
)
_SIZE = compile_lazily(  # 800x600, 10 x 20 x 30 cm
    r"(?<![\w.])(?P<width>(?!0x)\d{1,6}(?:\.\d{1,6})?) ?(?:[x×]|by) ?(?P<height>\d{1,6}(?:\.\d{1,6})?)"
    r"(?: ?(?:[x×]|by) ?(?P<depth>\d{1,6}(?:\.\d{1,6})?))?(?!\d| ?[x×.] ?\d)"
    r"(?: ?(?P<unit>[cmk]?m|in|inch(?:es)?|ft|feet|px|pixels)\b)?"
)
_POSITION = compile_lazily(  # 52.5200, 13.4050
    r"(?<![\w.-])(?P<latitude>-?[0-8]?\d\.\d{2,8}), ?(?P<longitude>-?1?\d{1,2}\.\d{2,8})(?![\w.])"
)
_BECOME = compile_lazily(r"\d (?:is|was) (?:now |still )?(?P<value>[a-z]{3,20})(?=[.,;!\n]|$)")  # "order 13 is shipped"
_END_OF_CLAUSE = compile_lazily(
    r"\.(?=\s|$)|,(?=\s)|\)(?!\S)| (?:and|but|with|from|who|which|because|while|in|on|for|at|by|as|und|et|y|where)\b"
)
_TOKEN = compile_lazily(
    r"(?:Dr|Mrs?|Ms|Prof|St)\.|[^\W\d_]\.(?= ?[^\W\d_a-z])"
    r"|(?<![^\W_ldLD]['’])[^\W_](?:[\w&-]|(?<!\b[ldLD])['’](?!s\b)(?=\w))*"
)
_LINKS = make_vocabulary("of the de la del van von der den di da du le al bin y")
_POLITE = make_vocabulary("i i'm sie ihr ihre ihnen usted lei")  # have capitals and are not names
_ANNOUNCING = make_vocabulary("in at from for with about of on")
_VERBS = make_vocabulary(
    "is was are were has had have does did will can would should and or got won beat took made said ran came went"
    " bought sold wrote met left led lost spent paid gave sent who which ist hat war est a es tiene vive weather please"
)
_PRONOUN = compile_lazily(r"(?i)(?<![\w'’])(?:i|we|you|they|he|she) $")
_ONE = compile_lazily(r"(?i)\ban? $")
_DOES = compile_lazily(r"(?i)\b(?:do|does|did) (?:(?:an?|the|my|your|our|this|that|these|those|one) )?$")
_THE_NAME = compile_lazily(r" the [A-Z]")
_BY = compile_lazily(r" by [A-Z]")
_PLACE = compile_lazily(r", (?:(?P<state>[A-Z]{2})\b|(?P<country>[A-Z][\w-]{1,20}(?: [A-Z][\w-]{1,20}){0,3}+))")
# The values in a mention, by its kind, in groups that are named as their own kinds.
_PARTS: Mapping[str, re.Pattern[str]] = {
    "name": compile_lazily(
        r"(?P<city>[^\n,]{1,80}?), (?P<state>[A-Z]{2})"
        r"|(?P<town>[^\n,]{1,80}?), (?P<country>[^\n,]{3,80})"
        r"|(?P<forename>[^\s,]{1,80}) (?P<rest>(?:[^\n,]{1,200} )?(?P<surname>[^\s,]{1,80}))"
    ),
    "words": compile_lazily(rf"(?P<hue>{'|'.join(sorted(read_word_set('colors')))}) (?P<words>[^\n]{{1,400}})"),
    "address": compile_lazily(r"(?P<house>\d{1,5}[A-Za-z]?) (?P<street>[^\n]{1,200})"),
}
_POSTCODE = compile_lazily(  # after a state, before a German city, or by its letters
    r"(?<=\b[A-Z]{2} )\d{5}(?:-\d{4})?(?![\w-])|(?<![\w-])\d{4,5}(?= [A-Z][a-zäöüß])"
    r"|\b(?:[A-Z]\d[A-Z] ?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2})\b"
)
_PIECE = compile_lazily(r"[\u30a0-\u30ff\u3400-\u9fffー]{1,12}|[\uac00-\ud7af]{1,12}")
_ASKING = compile_lazily(r"^(?:请问|请|查询|查一下|告诉我|帮我|我想|在|从|到|去)+")
_WORD = compile_lazily(r"[^\W\d_]+(?:['’][^\W\d_]+)*|(?P<label>[#:])|(?P<end>[\d.!?;,()\n])")
_WIDE = frozenset(("pair", "member", "json"))
_COUNTING = (" ", " of ", " x ", "x ", " × ")
LISTED = compile_lazily(  # what stands between the items of a list
    r"(?i)\s{0,3}(?:,|;|&|\+|/|、|，|\b(?:and|or|und|et|y|e|plus|as well as)\b|\n\s{0,8}(?:[-*•]|\d{1,3}[.)]))"
    r"[\s,]{0,3}(?:and |und |et |y |e |or )?(?:an? |the |some |to |in |for |from |with )?"
)
