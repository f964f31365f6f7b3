"""Names and phrases: runs of words between articles, prepositions, verbs of request and other values."""

import re
from collections.abc import Iterator

from mockserver.model.arguments.values import Mention
from mockserver.model.vocabulary import heading_of, prepositions, singular, vocabulary, word_set

_TOKEN = re.compile(
    r"(?:Dr|Mrs?|Ms|Prof|St)\.|[^\W\d_]\.(?= ?[^\W\d_a-z])"
    r"|(?<![^\W_ldLD]['’])[^\W_](?:[\w&-]|(?<!\b[ldLD])['’](?!s\b)(?=\w))*"
)
_LINKS = vocabulary("of the de la del van von der den di da du le al bin y")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PIECE = re.compile(r"[\u30a0-\u30ff\u3400-\u9fffー]{1,12}|[\uac00-\ud7af]{1,12}")
_LEFT = re.compile(r"^(?:请问|请|查询|查一下|告诉我|帮我|我想|在|从|到|去)+")

_OF = frozenset("の的")
_ANNOUNCING = vocabulary("in at from for with about of on")
_POLITE = vocabulary("i sie ihr ihre ihnen usted lei")  # have capitals and are no names
_SUBJECT = re.compile(  # what follows the subject of a sentence
    r" (?:is|was|are|were|has|had|have|does|did|will|can|would|should|and|or|got|won|beat|took|made|said|ran|came|went"
    r"|bought|sold|wrote|met|left|led|lost|spent|paid|gave|sent|who|which|ist|hat|war|est|a|es|tiene|vive|[^\w\0]|[A-Z]"
    r"|\w{1,20}(?:ed|[^s]s)\b|weather\b|please\b)"
)
_ENGLISH_ARTICLES = vocabulary(
    "the a an my our your his her its their this that these those some any all each every next last die das ein eine"
    " mein"
)

Token = re.Match[str]


def phrases(text: str, claimed: bytearray) -> Iterator[Mention]:
    """The names (capitalised) and other phrases of a text, outside of what other values claim."""
    last = 0
    for mention in _phrases(text, claimed):
        if mention.start >= last:  # the state after a city belongs to it
            yield mention
            last = mention.end


def _phrases(text: str, claimed: bytearray) -> Iterator[Mention]:
    stops = word_set("stops") | word_set("articles") | frozenset(prepositions(text))
    links = _LINKS - {"von", "der", "den"} if "von" in stops else _LINKS
    text = "".join("\0" if taken else char for char, taken in zip(text, claimed, strict=True)) if any(claimed) else text
    run: list[Token] = []
    for found in _TOKEN.finditer(text):
        broken = run and text[run[-1].end() : found.start()] not in (" ", "  ")
        ending = found[0].lower() in stops and not _of_name(text, found, run[-1] if run and not broken else None)
        if run and (broken or (ending and not (found[0] in links and _links(text, run, found)))):
            yield from _parted(text, run)
            run = []
        if run or not ending:
            run.append(found)
    yield from _parted(text, run) if run else ()


def _of_name(text: str, found: Token, last: Token | None) -> bool:
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
    """The names of a run, and the words between them."""
    while run and (run[-1][0] in _LINKS):
        run = run[:-1]
    if not run:
        return
    if _CJK.match(run[0][0]):
        yield from _unspaced(run)
        return
    run = run[_requests(text, run) :]
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
    """Whether a word that opens a sentence only says what somebody is: "Patient John Smith"."""
    return _opens(text, token.start()) and heading_of("semantic_types").get(singular(token[0])) == "person"


def _requests(text: str, run: list[Token]) -> int:
    """The number of words at the beginning of a run that only ask for something."""
    count = 0
    if _begins(text, run[0].start()):
        while count < len(run) and _requesting(text, run, count):
            count += 1
    elif run[0][0] in word_set("requests") and not _announced(text, run[0].start()):
        return 1  # "and book", "please call": a verb in mid-sentence
    return count


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
    """Whether a sentence begins at a place, not only a clause."""
    before = text[max(0, start - 4) : start].rstrip(" ")
    return not before or before[-1] in ".!?:\n-*•"


def _made(text: str, part: list[Token]) -> Mention:
    start, end = part[0].start(), part[-1].end()
    kind = "name" if _capital(part[0][0]) else "words"
    state = re.compile(r", [A-Z]{2}\b").match(text, end) if kind == "name" else None
    end = state.end() if state else end
    before = text[max(0, start - 12) : start].rsplit(None, 1)
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
