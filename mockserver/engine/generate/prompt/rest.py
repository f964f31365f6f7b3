"""The free text that a request carries: what to search for, what to say, what to do."""

import re
from collections.abc import Iterable, Iterator

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.words import REQUESTS, listed

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
_TOPICS = frozenset(listed("topic subject theme about interest"))
_TASKS = frozenset(listed("task todo goal objective reminder"))


Place = tuple[int, int]


def order_of(nature: str, words: Iterable[str]) -> str:
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
    if nature == "text" and named & {"text", "input", "content", "sentence", "phrase", "paragraph", "document"}:
        return "text"
    return "message" if nature == "text" else nature


def phrase(text: str, order: str, used: Iterable[Mention]) -> Place | None:
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


def remainder(text: str, order: str, used: Iterable[Mention]) -> Place | None:
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
        if place and text[slice(*place)].lower() not in REQUESTS:
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


def _trimmed(text: str, place: Place, taken: list[Place], *, whole: bool) -> Place | None:
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
