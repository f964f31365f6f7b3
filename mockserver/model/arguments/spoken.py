"""The free text that a request carries: what to search for, what to say, what to do."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from mockserver.model.arguments.properties import Property
from mockserver.model.arguments.scoring import ROLE_OF, score
from mockserver.model.arguments.values import Mention
from mockserver.model.vocabulary import (
    heading_of,
    parts,
    prepositions,
    singular,
    truth,
    vocabulary,
    word_list,
    word_set,
)

_WORD = re.compile(r"[^\W_]+(?:['’](?:t|s|re|ve|ll|d|m)\b)?|[°€$£][CFK]?|(?<![^\W\d_])[+*/-]")
_MOST_CHOICES, _MOST_HINTS = 300, 20
Place = tuple[int, int]


@lru_cache(maxsize=32)
def _index(text: str) -> tuple[tuple[tuple[str, int, int], ...], Mapping[str, list[int]]]:
    """The words of a text with their places, and where each singular stands among them."""
    words = tuple((singular(found[0]), found.start(), found.end()) for found in _WORD.finditer(text))
    places: dict[str, list[int]] = {}
    for at, (word, _, _) in enumerate(words):
        places.setdefault(word, []).append(at)
    return words, places


def chosen(text: str, prop: Property) -> Iterator[tuple[int, Mention]]:
    """The values of an enumeration that the text says, each with its points."""
    for choice in prop.choices[:_MOST_CHOICES]:
        if isinstance(choice, str) and choice:
            for points, (start, end) in _spoken(text, choice):
                mention = Mention("choice", choice, start, end)
                yield points + _around(text, mention, prop), mention


def _spoken(text: str, choice: str) -> Iterator[tuple[int, Place]]:
    pieces = parts(choice) or (choice.lower(),)
    exact = list(_runs(text, pieces))
    if len(choice) == 1:
        exact = [(start, end) for start, end in exact if text[start:end] == choice and not choice.islower()]
    elif not exact and len(pieces) > 1:
        exact = list(_runs(text, ("".join(pieces),)))
    common = len(pieces) == 1 and pieces[0] in word_set("common")
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
    yield from word_list("choices").get(lowered, ())
    yield from (name for name, code in heading_of("languages").items() if lowered in (code, f"{code}-{code}"))
    if len(choice) == 3 and choice.isupper():
        yield from (name for name, code in heading_of("currencies").items() if code == choice)


def _begun(text: str, piece: str) -> Iterator[Place]:
    """Words that begin as a value does, or the other way round: "descending" for desc, "temp" for temporary."""
    words, places = _index(text)
    for word, at in places.items():
        short, long = sorted((word, piece), key=len)
        if 4 <= len(short) >= len(long) - 7 and long.startswith(short) and word not in word_set("common"):
            yield words[at[0]][1], words[at[0]][2]


def _around(text: str, mention: Mention, prop: Property) -> int:
    """For the property's name close by, or a preposition that fits; against a negation."""
    before = re.findall(r"[\w'’]+", text[max(0, mention.start - 40) : mention.start].lower())[-4:]
    after = re.findall(r"[\w'’]+", text[mention.end : mention.end + 20].lower())[:2]
    near = {singular(word) for word in (*before, *after)}
    told = ROLE_OF.get(prepositions(text).get(before[-1], ""), "") if before else ""
    points = 14 if near & set(prop.words) else 0
    points += (25 if told == prop.role else -22) if prop.role in ("from", "to") and told in ("from", "to") else 0
    return points - (40 if before[-1:] and before[-1] in ("not", "no", "nicht", "without", "non") else 0)


def hinted(text: str, prop: Property) -> Iterator[Mention]:
    """The examples of a description that the text says, as it says them."""
    for hint in sorted(prop.hints)[:_MOST_HINTS]:
        for start, end in _runs(text, parts(hint) or (hint,)):
            yield Mention("words", text[start:end], start, end)


def beside(mention: Mention, prop: Property) -> Mention | None:
    """The rest of a phrase that begins or ends with the property's name: "namespace prod", "the web app"."""
    words = mention.value.split(" ") if mention.kind in ("words", "name") and isinstance(mention.value, str) else ()
    if not 1 < len(words) < 6 or len(prop.words[-1]) < 3:
        return None
    if singular(words[0]) == prop.words[-1]:
        start = mention.start + len(words[0]) + 1
        return Mention("words", " ".join(words[1:]), start, mention.end) if len(words[1]) > 1 else None
    if (
        mention.kind == "words"
        and _heads(singular(words[-1]), prop)
        and (mention.unit == "the" or (mention.cue in ("in", "as") and len(words) == 2))
        and prop.semantic_type != "person"
    ):
        end = mention.end - len(words[-1]) - 1
        return Mention("words", " ".join(words[:-1]), mention.start, end)
    return None


def _heads(word: str, prop: Property) -> bool:
    """Whether a word is what the property is called, or another word for a path."""
    return word == prop.words[-1] or (prop.semantic_type == "path" == heading_of("semantic_types").get(word))


def affirmed(text: str, prop: Property) -> tuple[bool, Place] | None:
    """What the text says of a property that is true or false, if anything, and where."""
    words = [word for word in prop.words if word not in _AUXILIARY] or list(prop.words)
    for place, at in _named(text, words):
        return _sense(text, place, at), place
    return None


_AUXILIARY = vocabulary("is has should include enable enabled use with do allow needs need want be are only")
_AUXILIARY |= {singular(word) for word in _AUXILIARY}


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
    if after and "." not in after[0] and (meant := truth(after[1])) is not None:
        return meant
    clause = re.split(r"[.;!?\n,:]|\band\b|\bbut\b|\bund\b", text[max(0, place[0] - 40) : place[0]].lower())[-1]
    for word in reversed(re.findall(r"[\w'’]+", clause)[-4:]):
        word = word.replace("’", "'")
        if word in word_set("negations"):
            return False
        if word in word_set("affirmations"):
            return True
    return True


_REACH = 4_000
_POLITE = re.compile(
    r"^(?:(?:hi|hey|hello|ok(?:ay)?|so|well|now|please|pls|kindly|just|also|then|and|first|next|finally|dear"
    r" \w{1,20})\b[,!. ]*"
    r"|(?:can|could|would|will) (?:you|u|we)(?: please)?\b ?|i(?:'d| would) (?:like|love)(?: you)? to |i"
    r" (?:want|need)(?: you)? to "
    r"|i(?:'d| would) like (?!to )|i (?:want|need) (?!to |you )"
    r"|(?:i(?:'m| am) )?(?:looking|trying) to |help me (?:to )?|let'?s |use the [\w-]{1,40} tool to |call"
    r" [\w-]{1,40} to )+",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:search|look|browse|google|query|scan)(?: (?:the )?(?:web|internet|docs?|documentation|database"
    r"|wiki(?:pedia)?|online|through|"
    r"knowledge base|\w{1,15}))? (?:for|up|about|on) (?:information (?:on|about) )?(?:the (?:term|phrase|keyword) )?"
    r"|(?:look up|find out|find me|find|google|search|lookup|research|investigate|explain|describe|define|show"
    r" me|get me|list|fetch)"
    r" (?:all |some |any )?(?:(?:information|info|details|news|papers|articles|documents|posts|results) (?:on"
    r"|about|for|regarding) )?"
    r"|(?:tell me|give me|i want to know|what do you know|what is known|write(?: me)?(?: an?)? [\w ]{1,30}?|ask)"
    r"(?: (?:more|everything|something|all))? (?:about|on|regarding) "
    r"|(?:suche?|finde|cherche[rz]?|trouve[rz]?|busca|buscar|cerca) (?:nach |moi |me |mir )?",
    re.IGNORECASE,
)
_SAYING = re.compile(
    r"(?:\b(?:e-?mail|write|text|message|notify|inform|tell|remind|let)\b[^;:\n]{1,80}? that\b|\b(?:say(?:ing"
    r"|s)?|tell(?:ing|s)?(?: \w{1,20}){1,3}?|stat(?:ing|es)|explain(?:ing)?|inform(?:ing)?(?: \w{1,20}){1,2}?"
    r"|writing|announc(?:ing|e)"
    r"|reminding(?: \w{1,20}){1,2}?|let (?:\w{1,20} ){1,3}?know|remind(?: \w{1,20}){1,2}?|text(?: [\w+"
    r" ()-]{1,30}?)|message(?: \w{1,20}){1,2}?"
    r"|notify(?: \w{1,20}){1,3}?|reads?|write(?: \w{1,20}){0,3}?) that\b"
    r"|\b(?:saying|says|stating|reads|reading|dass|diciendo que|disant que|que diga)\b|\bsay\b"
    r"|\bwith (?:the )?(?:message|text|body|content|comment|note)\b)[ :,]{0,3}",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"\b(?:remind|tell|ask|remember|reminder|task|todo|goal|want|need)\b(?: me| us| him| her| \w{1,20})?(?: is)?"
    r" to ",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(?:because|since|as|due to|owing to|weil|parce que|porque)\b(?: of)? ", re.IGNORECASE)
_ABOUT = re.compile(r"\b(?:about|regarding|concerning|on the topic of|über|sobre)\b ", re.IGNORECASE)
_COLON = re.compile(r"[:：](?=\s)\s*(?=\S)")
_VERB = re.compile(
    r"^(?:calculate|compute|evaluate|solve|work out|simplify|what(?:'s| is)|how much is|run|execute|translate"
    r"|summari[sz]e|analy[sz]e|"
    r"classify|echo|say|repeat|print|play|draw|generate|create|make|write|add|post|remember|note|save|send|ask"
    r"|answer|do|plan|"
    r"rechne|berechne|übersetze|traduis|traduce|tell me|show me|give me|check|get|book|buy|order|open|start"
    r"|schedule)\b(?: me\b| us\b)?"
    r"(?: the| an?)?(?: following)?(?: (?:command|text|code|expression|sentence|word|phrase|query|question"
    r"|message|note|task|todo|(?:image|picture|photo|drawing|painting|illustration) of))?"
    r" (?:the )?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。？！])(?:\s+|$)|\n{1,4}")
_TAIL = re.compile(
    r"(?:[,;]? (?:please|pls|thanks?(?: you)?|for me|now|asap|right away|bitte|por favor|s'il vous plaît))+$",
    re.IGNORECASE,
)

_ORDERS: dict[str, tuple[re.Pattern[str], ...]] = {
    "text": (_SAYING, _COLON, _TELLING, _REASON),
    "message": (_SAYING, _COLON, _TELLING, _REASON),
    "reason": (_REASON, _SAYING),
    "task": (_TELLING, _COLON, _SAYING),
    "topic": (_ABOUT, _COLON, _ASKING),
    "query": (_ASKING, _ABOUT, _COLON),
    "expression": (_COLON, _VERB),
    "title": (_COLON, _ABOUT, _TELLING),
    "code": (_COLON,),
    "command": (_COLON, _VERB),
    "": (_COLON, _SAYING, _ASKING, _ABOUT),
}
_TOPICS = vocabulary("topic subject theme about interest")
_TASKS = vocabulary("task todo goal objective reminder")


RestPlace = tuple[int, int]


def order_of(semantic_type: str, words: Iterable[str]) -> str:
    """Which kind of free text a property takes: text, reason, task, topic, query, expression..."""
    named = set(words)
    if named & {"reason", "cause", "justification"}:
        return "reason"
    if named & _TASKS:
        return "task"
    if named & _TOPICS:
        return "topic"
    if named & {"question"}:
        return "question"
    if semantic_type == "text" and named & {"text", "input", "content", "sentence", "phrase", "paragraph", "document"}:
        return "text"
    return "message" if semantic_type == "text" else semantic_type


def phrase(text: str, order: str, used: Iterable[Mention]) -> RestPlace | None:
    """Where the free text stands, cut before what is used already; None where nothing announces it."""
    taken = sorted((mention.start, mention.end) for mention in used)
    for cue in _ORDERS.get(order, ()):
        for start, end in _sentences(text[:_REACH]):
            polite = start + _courtesy(text[start:end])
            found = cue.search(text, polite, end) if cue not in (_ASKING, _VERB) else cue.match(text[polite:end])
            if found is None:
                continue
            begin = found.end() if cue not in (_ASKING, _VERB) else polite + found.end()
            end = _end(text, begin) if cue is _COLON else end
            place = _trimmed(text, (begin, end), taken, whole=order in ("message", "text") and cue in (_COLON, _SAYING))
            if place:
                return place
    return None


def _courtesy(sentence: str) -> int:
    """How long the words are that only ask kindly."""
    found = _POLITE.match(sentence)
    return found.end() if found else 0


def remainder(text: str, order: str, used: Iterable[Mention]) -> RestPlace | None:
    """The object of the first request: what is left of its sentence; a question is taken whole."""
    taken = sorted((mention.start, mention.end) for mention in used)
    for start, end in _sentences(text[:_REACH]):
        polite = start + _courtesy(text[start:end])
        if order in ("query", "question", "message", "text", "task", "topic", "") and (
            order == "question" or text[start:end].rstrip().endswith(("?", "？"))
        ):
            begin, stop = (start if polite == start or order == "question" else polite), end
            place = (
                (begin, stop) if not taken or order == "question" else _trimmed(text, (begin, stop), taken, whole=False)
            )
        else:
            verb = _VERB.match(text[polite:end])
            place = _trimmed(text, (polite + (verb.end() if verb else 0), end), taken, whole=False)
        if place and text[slice(*place)].lower() not in word_set("requests"):
            return place
    return None


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _SENTENCE.finditer(text):
        if text[start : found.start()].strip():
            yield start, found.start()
        start = found.end()
    if text[start:].strip():
        yield start, len(text)


def _end(text: str, begin: int) -> int:
    """Where a text after a colon ends: at its sentence if more sentences of the request follow, else with the text."""
    rest = text[begin : begin + _REACH]
    following = re.search(
        r"[.!?]\s+(?=(?:set|assign|add|make|mark|use|please|send|then|also|tag|label|give|put|it|with)\b)",
        rest,
        re.IGNORECASE,
    )
    blank = rest.find("\n\n")
    ends = [found for found in (following.start() if following else -1, blank) if found >= 0]
    return begin + min(ends, default=len(rest))


def _trimmed(text: str, place: RestPlace, taken: list[RestPlace], *, whole: bool) -> RestPlace | None:
    """The place without what is used at its ends, courtesy, quotes and marks of the sentence."""
    begin, end = place
    cut = end
    for start, stop in taken:
        if start <= begin < stop:
            begin = stop
        elif begin < start < cut and not whole:
            cut = start
    piece = text[begin:cut]
    if cut < end:
        piece = _LEADING.sub("", piece.rstrip(" $€£¥#\"'“‘«"))
    piece = _TAIL.sub("", piece.rstrip())
    if not whole or piece.count(".") + piece.count("!") + piece.count("?") == 0:
        piece = _TAIL.sub("", piece.rstrip(" \n.!?。？！,;:"))
    lead = len(piece) - len(piece.lstrip(" \n,;:\"'“”"))
    piece = piece.rstrip(" \n\"'“”")
    return (begin + lead, begin + len(piece)) if len(piece) > lead + 1 else None


_LEADING = re.compile(
    r"(?:[\s,;(]{1,3}(?:in|at|from|to|for|with|by|about|on|as|into|under|over|below|above|than|less|more|at"
    r"|most|least|up|of|the|an?|and|or"
    r"|nach|von|für|auf|ins?|in|à|en|de|al|costing|max(?:imum)?|min(?:imum)?|limit|published|after|before"
    r"|since|until|set|titled|called|named))+$",
    re.IGNORECASE,
)


Scored = tuple[int, Mention]

LISTED = re.compile(
    r"\s{0,3}(?:,|;|&|\+|/|、|，|\band\b|\bor\b|\bund\b|\bet\b|\by\b|\be\b|\bplus\b|\bas well as\b"
    r"|\n\s{0,8}(?:[-*•]|\d{1,3}[.)]))"
    r"[\s,]{0,3}(?:and |und |et |y |e |or )?(?:an? |the |some |to |in |for |from |with )?",
    re.IGNORECASE,
)
_BULLETS = re.compile(r"^[ \t]{0,12}(?:[-*•]|\d{1,3}[.)])[ \t]{1,4}(\S[^\n]{0,500})$", re.MULTILINE)
_SPLIT = re.compile(r"\s*(?:,|;|、|，)\s*(?:and |und |et |y )?|\s+(?:and|und|et|y|&)\s+")
_MOST_ITEMS = 100
_GROUPED = vocabulary(
    "number money quoted name words email url id channel date path phone ip host uuid address version color"
)


def enumerated(text: str, scored: Sequence[Scored], item: Property) -> Iterator[tuple[int, tuple[Mention, ...]]]:
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


def candidates(found: Sequence[Mention], item: Property, named: Property) -> Iterator[Scored]:
    """The mentions that may be items, with their points."""
    for said in found:
        if said.kind not in _GROUPED:
            continue
        mention = beside(said, named) or said
        points = max(score(mention, item), score(mention, named))
        numeric = item.numeric and mention.kind in ("number", "money")
        wordy = (
            "string" in item.types
            and item.semantic_type in ("", "title", "text", "query")
            and mention.kind in ("words", "name")
        )
        if points >= 10 or (wordy and points > -10) or (numeric and item.semantic_type in ("number", "")):
            yield max(points, 10), mention


def after_key(text: str, pair: Mention) -> tuple[Mention, ...]:
    """The items of `key: a, b and c`."""
    line = text[pair.start :].partition("\n")[0][:2_000]
    ended = re.search(r"[.;](?:\s|$)|, [\w ]{1,30}:", line)
    line = (line[: ended.start()] if ended else line).strip("[]() ")
    pieces = [piece.strip(" '\"") for piece in _SPLIT.split(line)]
    return tuple(
        Mention("quoted", piece, pair.start, pair.start + len(line)) for piece in pieces[:_MOST_ITEMS] if piece
    )


def bulleted(text: str) -> tuple[Mention, ...]:
    """The lines of a list with bullets or numbers."""
    found = list(_BULLETS.finditer(text))[:_MOST_ITEMS]
    return tuple(Mention("quoted", line[1].strip(), *line.span(1)) for line in found) if len(found) > 1 else ()
