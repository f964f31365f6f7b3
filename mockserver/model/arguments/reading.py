"""Reads the values mentioned in a text, each with the words around it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from msgspec.structs import replace

from mockserver.core.lazy import lazy_pattern
from mockserver.model.arguments.quantities import (
    find_durations,
    find_moments,
    find_numbers,
    find_times,
    may_have_quantities,
    pieces,
)
from mockserver.model.arguments.values import (
    LISTED,
    Mention,
    find_fragments,
    find_literals,
    find_pairs,
    find_quoted,
    find_statements,
    read_members,
)
from mockserver.model.vocabulary import (
    heading_of,
    language_of_prepositions,
    prepositions_of,
    singular,
    vocabulary,
    word_set,
    words_between_phrases,
)

_MOST_MENTIONS = 400  # of one text


@lru_cache(maxsize=64)
def read(text: str) -> tuple[Mention, ...]:
    """Return what a text mentions, in order. Mentions may overlap: a pair and the number in it."""
    claimed, may_count = bytearray(len(text)), may_have_quantities(text)
    strict = list(_claimed(find_fragments(text), claimed))
    inner = [member for fragment in strict for member in read_members(text, fragment)]
    forms = [find_quoted(text), find_literals(text, sure=True)]
    forms += [find_moments(text), find_durations(text), find_times(text)] if may_count else []
    forms += [find_literals(text, sure=False)]
    forms += [find_numbers(text)] if may_count else []
    strict += _claimed(chain.from_iterable(forms), claimed)
    inner += [part for mention in strict for part in _within(text, mention)]
    free = tuple(find_phrases(text, claimed))
    whole = sorted((*strict, *free), key=lambda m: m.start)
    named = (*find_pairs(text), *find_statements(text), *find_portions(text, whole))
    found = sorted((*whole, *inner, *named), key=lambda m: (m.start, -m.end, m.kind))
    if len(found) > _MOST_MENTIONS:  # the middle tells least
        found = found[: _MOST_MENTIONS // 2] + found[-_MOST_MENTIONS // 2 :]
    return tuple(_in_context(text, found))


def _within(text: str, mention: Mention) -> Iterator[Mention]:
    """The date and the time of a moment, and the numbers of a formula, which properties may want alone."""
    if mention.kind == "datetime":
        yield from pieces(mention, text)
    elif mention.kind == "expression" or (mention.kind == "date" and text.startswith("in ", mention.start)):
        for number in find_numbers(text[mention.start : mention.end]):
            yield replace(number, start=number.start + mention.start, end=number.end + mention.start)


def _claimed(found: Iterable[Mention], claimed: bytearray) -> Iterator[Mention]:
    for mention in found:
        if not any(claimed[mention.start : mention.end]):
            claimed[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            yield mention


_WORD = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)*|#|\d|[.!?;,:()\n]")
_ENDS = frozenset(".!?;\n()")
_WIDE = frozenset(("pair", "member", "json"))
_REACH = 70  # characters on either side


def _in_context(text: str, found: Sequence[Mention]) -> Iterator[Mention]:
    leading = prepositions_of(language_of_prepositions(text))
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


_STATE = lazy_pattern(r"(?P<city>.+), (?P<code>[A-Z]{2})")
_HOUSE = lazy_pattern(r"(?P<number>\d{1,5}[A-Za-z]?) (?P<street>[A-Z0-9].+)")
_ZIP = lazy_pattern(r" (\d{5}(?:-\d{4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})(?!\w)")


def find_portions(text: str, found: Iterable[Mention]) -> Iterator[Mention]:
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


def find_portion(words: Sequence[str], beside: Collection[str]) -> str:
    """Return which part of a value a property asks for, where another property asks for the rest."""
    return next((part for word in words for other, part in _SPLIT.get(word, {}).items() if other in beside), "")


_SPLIT = {
    "number": {"street": "house"},
    "street": {"number": "street"},
    "make": {"model": "forename"},
    "brand": {"model": "forename"},
    "model": {"make": "surname", "brand": "surname"},
}


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
    first, _, rest = str(words.value).partition(" ")
    if rest and (first in word_set("colors") or first.lower() in word_set("nationalities")):
        cut = words.start + len(first)
        yield Mention("words", first, words.start, cut, cue=words.cue)
        yield Mention("words", rest, cut + 1, words.end, unit=words.unit)


_TOKEN = lazy_pattern(
    r"(?:Dr|Mrs?|Ms|Prof|St)\.|[^\W\d_]\.(?= ?[^\W\d_a-z])"
    r"|(?<![^\W_ldLD]['’])[^\W_](?:[\w&-]|(?<!\b[ldLD])['’](?!s\b)(?=\w))*"
)
_LINKS = vocabulary("of the de la del van von der den di da du le al bin y")
_LINKS_BUT_GERMAN = _LINKS - {"von", "der", "den"}
_CJK = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PIECE = lazy_pattern(r"[\u30a0-\u30ff\u3400-\u9fffー]{1,12}|[\uac00-\ud7af]{1,12}")
_LEFT = lazy_pattern(r"^(?:请问|请|查询|查一下|告诉我|帮我|我想|在|从|到|去)+")

_OF = frozenset("の的")
_ANNOUNCING = vocabulary("in at from for with about of on")
_POLITE = vocabulary("i sie ihr ihre ihnen usted lei")  # have capitals and are no names
_SUBJECT = lazy_pattern(  # what follows the subject of a sentence
    r" (?:is|was|are|were|has|had|have|does|did|will|can|would|should|and|or|got|won|beat|took|made|said|ran|came|went"
    r"|bought|sold|wrote|met|left|led|lost|spent|paid|gave|sent|who|which|ist|hat|war|est|a|es|tiene|vive|[^\w\0]|[A-Z]"
    r"|\w{1,20}(?:ed|[^s]s)\b|weather\b|please\b)"
)
_ENGLISH_ARTICLES = vocabulary(
    "the a an my our your his her its their this that these those some any all each every next last die das ein eine"
    " mein"
)

Token = re.Match[str]


def find_phrases(text: str, claimed: bytearray) -> Iterator[Mention]:
    """The names (capitalised) and other phrases of a text, outside of what other values claim."""
    last = 0
    for mention in _phrases(text, claimed):
        if mention.start >= last:  # the state after a city belongs to it
            yield mention
            last = mention.end


def _phrases(text: str, claimed: bytearray) -> Iterator[Mention]:
    stops = words_between_phrases(language_of_prepositions(text))
    links = _LINKS_BUT_GERMAN if "von" in stops else _LINKS
    text = "".join("\0" if taken else char for char, taken in zip(text, claimed, strict=True)) if any(claimed) else text
    run: list[Token] = []
    for found in _TOKEN.finditer(text):
        broken = run and text[run[-1].end() : found.start()] not in (" ", "  ")
        ending = found[0].lower() in stops and not _in_name(text, found, run[-1] if run and not broken else None)
        if run and (broken or (ending and not (found[0] in links and _links(text, run, found)))):
            yield from _parted(text, run)
            run = []
        if run or not ending:
            run.append(found)
    yield from _parted(text, run) if run else ()


def _in_name(text: str, found: Token, last: Token | None) -> bool:
    """Whether a small word is part of a name: the "Los" of Los Angeles, the "Nous" of Chez Nous."""
    word = found[0]
    if not _titled(word) or word.lower().partition("'")[0] in _POLITE:
        return False
    if _opens(text, found.start()):
        return word.lower() in word_set("articles") - _ENGLISH_ARTICLES and _precedes_name(text, found)
    return bool(last and _capital(last[0]) and not _opens(text, last.start())) or _precedes_name(text, found)


def _precedes_name(text: str, found: Token) -> bool:
    following = _TOKEN.match(text, found.end() + 1) if text[found.end() : found.end() + 1] == " " else None
    return following is not None and _titled(following[0])


def _titled(word: str) -> bool:
    return _capital(word) and (len(word) == 1 or not word.isupper())


def _links(text: str, run: list[Token], found: Token) -> bool:
    """Whether a word such as "of" is inside a name: "Bank of America"."""
    if not _capital(run[-1][0]):
        return False
    rest = text[found.end() + 1 : found.end() + 2]
    follows = text[found.end() : found.end() + 1] == " "
    return follows and (rest.isupper() or text[found.end() + 1 : found.end() + 5].lower() == "the ")


def _capital(word: str) -> bool:
    return word[0].isupper()


def _parted(text: str, run: list[Token]) -> Iterator[Mention]:
    while run and (run[-1][0] in _LINKS):
        run = run[:-1]
    if not run:
        return
    if _CJK.match(run[0][0]):
        yield from _unspaced(run)
        return
    run = run[_requests(text, run) :]
    if len(run) > 1 and _AUXILIARY.search(text, max(0, run[0].start() - 30), run[0].start()):
        run = run[:-1] if _TO_END.match(text, run[-1].end()) else run  # how much does a red apple cost?
    if len(run) > 1 and _called(text, run[0]) and _capital(run[1][0]):
        run = run[1:]
    part: list[Token] = []
    for token in run:
        if part and _capital(token[0]) != _capital(part[0][0]) and token[0] not in _LINKS and not token[0].isdigit():
            yield _made(text, part)
            part = []
        part.append(token)
    if part:
        yield _made(text, part)


def _called(text: str, token: Token) -> bool:
    return _opens(text, token.start()) and heading_of("semantic_types").get(singular(token[0])) == "person"


def _requests(text: str, run: list[Token]) -> int:
    """The number of words at the beginning of a run that only ask for something."""
    count = 0
    if _begins(text, run[0].start()):
        while count < len(run) and _requesting(text, run, count):
            count += 1
    elif run[0][0].islower() and _PRONOUN.search(text, max(0, run[0].start() - 6), run[0].start()):
        return 1  # "I need flour"
    elif run[0][0] in word_set("requests") and not _announced(text, run[0].start()):
        return 1  # "and book", "please call": a verb in mid-sentence
    return count


_PRONOUN = lazy_pattern(r"(?i)(?<![\w'’])(?:i|we|you|they|he|she) $")
_AUXILIARY = lazy_pattern(r"(?i)\b(?:do|does|did) (?:(?:an?|the|my|your|our|this|that|these|those|one) )?$")
_IDIOM = lazy_pattern(
    r"(?i)\b(?:in (?:stock|total|detail|general|advance|use|progress|full|short|person)|for sale|on time)$"
)
_TO_END = lazy_pattern(r"\s*(?:[?.!]|$)")


def _requesting(text: str, run: list[Token], count: int) -> bool:
    word = run[count][0]
    if word.lower() not in word_set("requests") or not _capital(word):
        return word.lower() in word_set("requests")
    is_name = word == "New" and len(run) > 1 and _titled(run[1][0])
    return not count and not is_name and _opens(text, run[0].start())


def _announced(text: str, start: int) -> bool:
    before = text[max(0, start - 12) : start].split()
    return bool(before) and before[-1].lower() in word_set("articles") | _ANNOUNCING


def _begins(text: str, start: int) -> bool:
    before = text[max(0, start - 16) : start].rstrip(" ")
    last = before.rsplit(None, 1)[-1].lower().strip(",") if before.strip() else ""
    return not before.strip() or before[-1] in ".!?:\n,;-*•" or last in ("please", "you", "and", "then", "to", "bitte")


def _opens(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" ")
    return not before or before[-1] in ".!?:\n-*•"


def _made(text: str, part: list[Token]) -> Mention:
    start, end = part[0].start(), part[-1].end()
    kind = "name" if _capital(part[0][0]) else "words"
    state = re.compile(r", [A-Z]{2}\b").match(text, end) if kind == "name" else None
    end = state.end() if state else end
    before = text[max(0, start - 12) : start].rsplit(None, 1)
    if _IDIOM.search(text, max(0, start - 5), end):
        return Mention(kind, text[start:end], start, end, unit="label")
    leading = "the" if before and before[-1].lower() in word_set("articles") else "lead" if _is_lead(text, part) else ""
    return Mention(kind, text[start:end], start, end, unit=leading)


def _is_lead(text: str, part: list[Token]) -> bool:
    """Whether a lone capital at the beginning of a sentence is as likely a verb: "Grep for", but not "Ann lives in"."""
    if len(part) > 1 or not _capital(part[0][0]) or not _opens(text, part[0].start()):
        return False
    after = text[part[0].end() : part[0].end() + 24]
    return after[:1] == " " and after[1:2] not in ("", " ") and not _SUBJECT.match(after)


def _unspaced(run: list[Token]) -> Iterator[Mention]:
    """Words of a script without spaces: runs of ideographs or katakana between hiragana and particles."""
    for token in run:
        for found in _PIECE.finditer(token[0]):
            for piece in re.finditer(r"[^的是和与在从到去了吗呢]+", found[0]):
                lead = _LEFT.match(piece[0])
                start = token.start() + found.start() + piece.start() + (lead.end() if lead else 0)
                end = token.start() + found.start() + piece.end()
                if end > start:
                    cue = "of" if token.string[end : end + 1] in _OF else ""
                    yield Mention("name", token.string[start:end], start, end, cue=cue)
