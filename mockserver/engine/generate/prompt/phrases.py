"""Names and phrases: runs of words between articles, prepositions, verbs of request and what is read already."""

import re
from collections.abc import Iterator

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.words import ARTICLES, REQUESTS, STOPS, cues, listed

_TOKEN = re.compile(
    r"(?:Dr|Mrs?|Ms|Prof|St)\.|[^\W\d_]\.(?= ?[^\W\d_a-z])"
    r"|(?<![^\W_ldLD]['’])[^\W_](?:[\w&-]|(?<!\b[ldLD])['’](?!s\b)(?=\w))*"
)
_LINKS = frozenset(listed("of the de la del van von der den di da du le al bin y"))
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PIECE = re.compile(r"[\u30a0-\u30ff\u3400-\u9fffー]{1,12}|[\uac00-\ud7af]{1,12}")
_LEFT = re.compile(r"^(?:请问|请|查询|查一下|告诉我|帮我|我想|在|从|到|去)+")

_OF = frozenset("の的")

Token = re.Match[str]


def phrases(text: str, claimed: bytearray) -> Iterator[Mention]:
    """The names (capitalised) and other phrases of a text, none of them across what is claimed."""
    last = 0
    for mention in _phrases(text, claimed):
        if mention.start >= last:  # the state after a city is read with it
            yield mention
            last = mention.end


def _phrases(text: str, claimed: bytearray) -> Iterator[Mention]:
    stops = STOPS | ARTICLES | frozenset(cues(text))
    links = _LINKS - {"von", "der", "den"} if "von" in stops else _LINKS
    text = "".join("\0" if taken else char for char, taken in zip(text, claimed, strict=True)) if any(claimed) else text
    run: list[Token] = []
    for found in _TOKEN.finditer(text):
        broken = run and text[run[-1].end() : found.start()] not in (" ", "  ")
        ending = found[0].lower() in stops
        if run and (broken or (ending and not (found[0] in links and _links(text, run, found)))):
            yield from _parted(text, run)
            run = []
        if run or not ending:
            run.append(found)
    yield from _parted(text, run) if run else ()


def _links(text: str, run: list[Token], found: Token) -> bool:
    """Whether a word such as "of" stands within a name: "Bank of America"."""
    if not _capital(run[-1][0]):
        return False
    rest = text[found.end() + 1 : found.end() + 2]
    follows = text[found.end() : found.end() + 1] == " "
    return follows and (rest.isupper() or text[found.end() + 1 : found.end() + 5].lower() == "the ")


def _capital(word: str) -> bool:
    return word[0].isupper()


def _parted(text: str, run: list[Token]) -> Iterator[Mention]:
    """The names of a run, and what stands between them."""
    while run and (run[-1][0] in _LINKS):
        run = run[:-1]
    if run and _CJK.match(run[0][0]):
        yield from _unspaced(run)
        return
    run = run[_requests(text, run) :]
    part: list[Token] = []
    for token in run:
        if part and _capital(token[0]) != _capital(part[0][0]) and token[0] not in _LINKS and not token[0].isdigit():
            yield _made(text, part)
            part = []
        part.append(token)
    if part:
        yield _made(text, part)


def _requests(text: str, run: list[Token]) -> int:
    """How many words at the beginning of a sentence only ask for something."""
    count = 0
    if _begins(text, run[0].start()):
        while count < len(run) and run[count][0].lower() in REQUESTS and (count == 0 or not _capital(run[count][0])):
            count += 1
        if not count and _capital(run[0][0]) and _opens(text, run[0].start()) and _lone_verb(text, run):
            return 1
    elif run[0][0] in REQUESTS and not _announced(text, run[0].start()):
        return 1  # "and book", "please call": a verb in mid-sentence
    return count


def _announced(text: str, start: int) -> bool:
    before = text[max(0, start - 12) : start].split()
    return bool(before) and before[-1].lower() in ARTICLES | {"in", "at", "from", "for", "with", "about", "of", "on"}


def _begins(text: str, start: int) -> bool:
    before = text[max(0, start - 16) : start].rstrip(" ")
    last = before.rsplit(None, 1)[-1].lower().strip(",") if before.strip() else ""
    return not before.strip() or before[-1] in ".!?:\n,;-*•" or last in ("please", "you", "and", "then", "to", "bitte")


def _opens(text: str, start: int) -> bool:
    """Whether a sentence begins at a place, not only a clause."""
    before = text[max(0, start - 4) : start].rstrip(" ")
    return not before or before[-1] in ".!?:\n-*•"


def _lone_verb(text: str, run: list[Token]) -> bool:
    """Whether a capitalised first word is rather a verb: a small word follows that begins its object."""
    if text[run[0].end() : run[0].end() + 1] != " ":
        return False
    following = _TOKEN.match(text, run[0].end() + 1)
    if len(run) > 1:
        return not _capital(run[1][0]) and len(run) == 2 and run[0][0].lower() in REQUESTS
    word = following[0].lower() if following else ""
    return word in ARTICLES or word.isdigit() or word in ("me", "us", "it", "them", "that", "in", "about")


def _made(text: str, part: list[Token]) -> Mention:
    start, end = part[0].start(), part[-1].end()
    kind = "name" if _capital(part[0][0]) else "words"
    state = re.compile(r", [A-Z]{2}\b").match(text, end) if kind == "name" else None
    end = state.end() if state else end
    before = text[max(0, start - 12) : start].rsplit(None, 1)
    return Mention(kind, text[start:end], start, end, unit="the" if before and before[-1].lower() in ARTICLES else "")


def _unspaced(run: list[Token]) -> Iterator[Mention]:
    """Words of a script without spaces: runs of ideographs or katakana, which hiragana and particles part."""
    for token in run:
        for found in _PIECE.finditer(token[0]):
            for piece in re.finditer(r"[^的是和与在从到去了吗呢]+", found[0]):
                lead = _LEFT.match(piece[0])
                start = token.start() + found.start() + piece.start() + (lead.end() if lead else 0)
                end = token.start() + found.start() + piece.end()
                if end > start:
                    cue = "of" if token.string[end : end + 1] in _OF else ""
                    yield Mention("name", token.string[start:end], start, end, cue=cue)
