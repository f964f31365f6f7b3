"""Values that a text mentions: numbers, dates, quoted texts, ids, names, phrases, pairs, JSON; and the words around.

Every pattern has bounded repetitions, so that each character of a text costs a bounded number of steps.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, pairwise

from msgspec.structs import replace

from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily, remember
from mockserver.model.arguments import quantities
from mockserver.model.arguments.evidence import Mention
from mockserver.model.shapes import decode
from mockserver.model.vocabulary import (
    UNSPACED_LETTER,
    find_language_by_prepositions,
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
    counts = quantities.may_have_quantities(text)
    fragments = list(_claim(find_fragments(text), claimed))
    strict = [*fragments]
    inner = [member for fragment in fragments for member in _read_members(text, fragment)]
    forms: list[Iterator[Mention]] = [find_quoted(text), find_literals(text, sure=True)]
    forms += [quantities.find_moments(text), quantities.find_durations(text), quantities.find_times(text)] * counts
    forms += [find_literals(text, sure=False), *[quantities.find_numbers(text)] * counts]
    strict += _claim(chain.from_iterable(forms), claimed)
    whole = sorted((*strict, *find_phrases(text, claimed)), key=lambda m: m.start)
    whole += join_names(text, whole)
    inner += [part for each in whole for part in _list_parts(text, each)]
    inner += find_postcodes(text) if counts else ()
    found = sorted((*whole, *inner, *find_pairs(_blank_out(text, fragments))), key=lambda m: (m.start, -m.end, m.kind))
    if len(found) > _MOST_MENTIONS:  # the middle tells least
        found = found[: _MOST_MENTIONS // 2] + found[-_MOST_MENTIONS // 2 :]
    return tuple(_add_context(text, found))


def _blank_out(text: str, found: Iterable[Mention]) -> str:
    for mention in found:
        text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text


def _claim(found: Iterable[Mention], claimed: bytearray) -> Iterator[Mention]:
    for mention in found:
        if not any(claimed[mention.start : mention.end]):
            claimed[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            yield mention


def _list_parts(text: str, whole: Mention) -> Iterator[Mention]:
    """Yield the values in a mention, which properties may want alone: the time of a moment, the city before a state."""
    if whole.kind == "words" and _ONE.search(text, max(0, whole.start - 3), whole.start):
        yield Mention("one", 1, start=whole.start - 2, end=whole.start - 1)
    yield from whole.parts
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
    for found in _POSTCODE.finditer(text):
        yield Mention("zip", found[0], *found.span())


def _read_numbers(text: str, whole: Mention) -> Iterator[Mention]:
    for number in quantities.find_numbers(text[whole.start : whole.end]):
        yield replace(number, start=number.start + whole.start, end=number.end + whole.start)


# By form


def find_quoted(text: str) -> Iterator[Mention]:
    """Yield the texts in quotes or backticks, in order; apostrophes and quotes without an end are none."""
    for found in _QUOTED.finditer(text) if not _QUOTES.isdisjoint(text) else ():
        if found["fenced"]:
            yield Mention("code", found["fenced"].strip("\n"), start=found.start("fenced"), end=found.end())
        else:
            yield Mention("code" if found["code"] else "quoted", str(found[found.lastindex or 0]), *found.span())


@cache
def _make_scanners() -> Sequence[tuple[str, Sequence[str], re.Pattern[str]]]:
    return [(kind, signs, compile_lazily(pattern)) for kind, signs, pattern in read_word_lists("patterns")["literals"]]


def find_literals(text: str, *, sure: bool) -> Iterator[Mention]:
    """Yield the values that their form shows, kind by kind; the `sure` ones are read before dates and durations."""
    has_digit = _DIGIT.search(text) is not None
    for kind, signs, scanner in _make_scanners():
        if (kind in _SURE) != sure or not (any(map(text.__contains__, signs)) if signs else has_digit):
            continue
        for found in scanner.finditer(text):
            value = found[0].rstrip(".,;:!?)]}'" if kind == "url" else " ")
            if not (kind == "expression" and re.fullmatch(r"\d+-\d+|-?\d+/\d+|[\d.-]+", value)):
                yield Mention(kind, value, start=found.start(), end=found.start() + len(value))


def find_fragments(text: str) -> Iterator[Mention]:
    """Yield the outermost JSON objects and arrays of a text, unless they are nested too deeply."""
    at = 0
    for _ in range(_MOST_TRIES):
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
                if not (
                    isinstance(inner, str) and re.fullmatch(r"<[^<>]{1,200}>|[.… ]*", inner)
                ):  # a gap of an example
                    yield Mention("member", inner, start=place, end=at, key=key)
            waiting.append(inner)


# By name


def find_pairs(text: str) -> Iterator[Mention]:
    """Yield the values after a colon or an equals sign, and those that sentences give to a name: "my city is Rome"."""
    at = 0 if any(map(text.__contains__, ":=：")) else len(text)
    while found := _PAIR.search(text, at):
        start = found.start("value")
        end = start + len(_cut_value(found["value"], found["mark"]))
        at = max(end, found.end("mark"))
        if written := text[start:end].strip().strip("*_`").strip():
            begin = text.index(written, start)
            is_quoted = len(written) > 2 and _CLOSING.get(written[0]) == written[-1]
            value = written[1:-1].strip() if is_quoted else written
            yield Mention("pair", value, start=begin, end=begin + len(written), key=found["key"])
    for found in _SAID.finditer(text):
        value = _END_OF_CLAUSE.split(found["value"], maxsplit=1)[0].rstrip(" .")
        if value:
            start = found.start("value")
            yield Mention("pair", value.strip("\"'“”«»"), start=start, end=start + len(value), key=found["key"])
    for found in _BECOME.finditer(text):
        yield Mention("pair", found["value"], *found.span("value"), key="status")
    for found in _SIZE.finditer(text):
        yield from (
            Mention("pair", value, *found.span(key), key=key) for key, value in found.groupdict("").items() if value
        )


def _cut_value(rest: str, mark: str) -> str:
    close = rest.find(_CLOSING[rest[0]], 1) if rest[0] in _CLOSING else -1
    if close > 0:
        return rest[: close + 1]
    rest = re.split(r"[\s&,;)]", rest, maxsplit=1)[0] if "=" in mark else rest
    return _END_OF_VALUE.split(rest, maxsplit=1)[0]


# Names and phrases

Token = re.Match[str]


def find_phrases(text: str, claimed: bytearray) -> Iterator[Mention]:
    """Yield the names (capitalised) and other phrases of a text, outside of what other values claim."""
    last = 0
    for phrase in _list_phrases(text, claimed):
        if phrase.start >= last:  # the state after a city belongs to it
            yield phrase
            last = phrase.end


def _list_phrases(text: str, claimed: bytearray) -> Iterator[Mention]:
    stops = list_words_between_phrases(find_language_by_prepositions(text))
    free = "".join("\0" if taken else char for char, taken in zip(text, claimed, strict=True)) if any(claimed) else text
    run = list[Token]()
    tokens = [*_TOKEN.finditer(free)]
    for token, following in zip(tokens, (*tokens[1:], None), strict=False):
        is_joined = not run or free[run[-1].end() : token.start()] in (" ", "  ")
        is_stop = token[0].lower() in stops and not (
            is_joined and _is_in_name(free, token, following=following, last=run[-1][0] if run else "")
        )
        if run and (is_stop or not is_joined):
            yield from _split_run(free, run)
            run = []
        if not is_stop:
            run.append(token)
    yield from _split_run(free, run) if run else ()


def _is_in_name(text: str, token: Token, following: Token | None, last: str) -> bool:
    """Return whether a small word is inside a name: the "of" of Bank of America, the "Los" of Los Angeles."""
    precedes = following is not None and following[0][0].isupper() and text[token.end() : following.start()] == " "
    if token[0] in _LINKS:
        goes_on = precedes or (token[0] == "of" and _THE_NAME.match(text, token.end()) is not None)
        return goes_on and (last[:1].isupper() or (last, token[0]) == ("of", "the")) and token[0] not in ("von", "der")
    is_titled = token[0].istitle() and token[0].lower() not in _POLITE and not _opens(text, token.start())
    return is_titled and (precedes or last[:1].isupper())


def _split_run(text: str, run: Sequence[Token]) -> Iterator[Mention]:
    """Return the names and other phrases of a run of words, without words before them that only ask for something."""
    if UNSPACED_LETTER.match(run[0][0]):
        yield from _split_unspaced(run)
        return
    opens = _opens(text, run[0].start())
    while run and run[0][0].lower() in read_word_set("requests") and (opens or run[0][0].islower()):
        is_name = run[0][0] == "New" and len(run) > 1 and run[1][0].istitle()
        is_item = len(run) == 1 and _is_item(text, run[0])
        if is_name or is_item or (not opens and _is_announced(text, run[0].start())):
            break
        run = run[1:]
    if run and run[0][0].islower() and _PRONOUN.search(text, max(0, run[0].start() - 6), run[0].start()):
        run = run[1:]  # "I need flour"
    if len(run) > 1 and _DOES.search(text, max(0, run[0].start() - 30), run[0].start()):
        run = run[:-1] if text[run[-1].end() :][:1] in ("", "?") else run  # how much does a red apple cost?
    if len(run) > 1 and opens and run[1][0][0].isupper() and is_person(run[0][0]):
        run = run[1:]  # "Patient Maria Lopez"
    part = list[Token]()
    for token in run:
        if part and token[0][0].isupper() != part[0][0][0].isupper() and not (token[0] in _LINKS or token[0].isdigit()):
            yield _make_phrase(text, part)
            part = []
        part.append(token)
    if part:
        yield _make_phrase(text, part)


def _is_item(text: str, token: Token) -> bool:
    """Return whether a word is one of a list after a colon, and requests nothing there: "tags: refund, order"."""
    before = _BEFORE_ITEM.search(text, max(0, token.start() - _REACH), token.start())
    return before is not None and (before["others"] or _NEXT_ITEM.match(text, token.end())) is not None


def _make_phrase(text: str, part: Sequence[Token]) -> Mention:
    start = part[0].start()
    end = part[-1].end()
    is_name = part[0][0][0].isupper()
    state = _STATE.match(text, end) if is_name else None
    end = state.end() if state else end
    if text[end : end + 1] == ":":  # words that only announce what follows: "Contacts: Mia, Leo"
        unit = "label"
    elif _is_announced(text, start, articles_only=True):
        unit = "the"
    else:
        follows = text[end : end + 20].split(" ")[1:2] if text[end : end + 1] == " " else []
        is_lone = is_name and len(part) == 1 and _opens(text, start) and bool(follows)
        unit = "lead" if is_lone and not _is_verb_of(follows[0]) else ""
    return Mention("name" if is_name else "words", text[start:end], start=start, end=end, unit=unit)


def _is_verb_of(word: str) -> bool:
    """Return whether a word follows the subject of a sentence: "Ann lives in", but not "Grep for"."""
    return word in _VERBS or word[:1].isupper() or word.endswith(("ed", "s")) or not word[:1].isalpha()


def _split_unspaced(run: Sequence[Token]) -> Iterator[Mention]:
    """Yield words of a script without spaces: runs of ideographs or katakana between hiragana and particles."""
    for token in run:
        for found in _PIECE.finditer(token[0]):
            for piece in re.finditer(r"[^的是和与在从到去了吗呢]+", found[0]):
                lead = _ASKING.match(piece[0])
                start = token.start() + found.start() + piece.start() + (lead.end() if lead else 0)
                end = token.start() + found.start() + piece.end()
                if end > start:
                    cue = "of" if token.string[end : end + 1] in ("の", "的") else ""
                    yield Mention("name", token.string[start:end], start=start, end=end, cue=cue)


def _opens(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" ")
    return not before or before[-1] in ".!?:\n-*•"


def _is_announced(text: str, start: int, *, articles_only: bool = False) -> bool:
    before = text[max(0, start - 12) : start].split()
    articles = read_word_set("articles")
    return bool(before) and before[-1].lower() in (articles if articles_only else articles | _ANNOUNCING)


# Context


def _add_context(text: str, found: Sequence[Mention]) -> Iterator[Mention]:
    leading = read_prepositions(find_language_by_prepositions(text))
    around = _blank_out(text, (each for each in found if each.kind == "address"))  # an address says nothing of others
    last: Mention | None = None
    for mention in found:
        before = _read_before(around, mention.start)
        cue = mention.cue or _find_cue(before, leading)
        near = tuple(find_singular(word) for word in before if word.lower() not in read_word_set("articles"))
        made = replace(mention, cue=cue, before=near[:4], after=_read_after(around, mention.end))
        if last:
            made = _join(text, last, made)
        yield made
        if made.kind not in _WIDE and (last is None or made.end > last.end):  # what is inside another follows nothing
            last = made


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


def _read_before(text: str, start: int) -> list[str]:
    clause: list[str] = []
    for word in reversed(_WORD.findall(text, max(0, start - _REACH), start)):
        if word in _ENDS or word.isdigit() or word == ",":
            break
        if word not in ":#":
            clause.append(word)
    return clause[:5]


def _find_cue(before: Sequence[str], leading: Mapping[str, str]) -> str:
    """Return the preposition before a place, with at most articles between them."""
    for word in before[:3]:
        if word.lower() in leading:
            return leading[word.lower()]
        if word.lower() not in read_word_set("articles"):
            break
    return ""


def _read_after(text: str, end: int) -> tuple[str, ...]:
    words: list[str] = []
    for word in _WORD.findall(text, end, end + 40):
        if word in _ENDS or word in ",:" or word.isdigit():
            break
        words.append(find_singular(word))
    return tuple(words[:3])


_MOST_MENTIONS = 400
_MOST_TRIES = 48
_MOST_MEMBERS = 200
_DEEPEST = 24
_REACH = 70
_QUOTED = compile_lazily(
    r"```(?:[\w+-]*[ \t]*\n)?(?P<fenced>(?:[^`]|`(?!``))+)```|`(?P<code>[^`\n]{1,2000})`"
    r"|(?<![\w\"'\\])\"((?:[^\"\\\n]|\\.|\n(?!\n)){1,4000})\""
    r"|(?<![\w\"'])'(?=\S)((?:[^'\n]|(?<=\w)'(?=\w)){1,300})'(?!\w)|‘(?=\S)((?:[^‘’\n]|’(?=\w)){1,300})’(?!\w)"
    r"|[„“]([^„“”]{1,4000})[“”]|«([^«»]{1,4000})»|「([^「」]{1,4000})」|『([^『』]{1,4000})』"
)
_QUOTES = frozenset("`\"'‘„“«「『")
_DIGIT = compile_lazily(r"[0-9]")
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
_STATE = compile_lazily(r", [A-Z]{2}\b")
# The values in a mention, by its kind, in groups that are named as their own kinds.
_PARTS: Mapping[str, re.Pattern[str]] = {
    "name": compile_lazily(
        r"(?P<city>[^\n,]{1,80}?), (?P<state>[A-Z]{2})"
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
_WORD = compile_lazily(r"[^\W\d_]+(?:['’][^\W\d_]+)*|#|\d|[.!?;,:()\n]")
_ENDS = frozenset(".!?;\n()")
_WIDE = frozenset(("pair", "member", "json"))
_COUNTING = (" ", " of ", " x ", "x ", " × ")
LISTED = compile_lazily(  # what stands between the items of a list
    r"(?i)\s{0,3}(?:,|;|&|\+|/|、|，|\b(?:and|or|und|et|y|e|plus|as well as)\b|\n\s{0,8}(?:[-*•]|\d{1,3}[.)]))"
    r"[\s,]{0,3}(?:and |und |et |y |e |or )?(?:an? |the |some |to |in |for |from |with )?"
)
