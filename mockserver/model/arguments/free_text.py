"""Where a text has words to search for or to say: what a request announces, or what is left of it."""

import re
from collections.abc import Iterable, Iterator

from mockserver.core.lazy import lazy_pattern
from mockserver.model.arguments.values import Mention
from mockserver.model.vocabulary import vocabulary, word_set

Place = tuple[int, int]  # where something starts and ends


def find_announced(text: str, kind: str, used: Iterable[Mention]) -> Place | None:
    """Return where free text of a kind stands, cut before used mentions; None where nothing announces it."""
    taken = sorted((mention.start, mention.end) for mention in used)
    for cue in _CUES.get(kind, ()):
        for start, end in _sentences(text[:_REACH]):
            polite = _after_courtesy(text, start, end)
            at_start = cue in (_ASKING, _VERB)
            found = cue.match(text[polite:end]) if at_start else cue.search(text, polite, end)
            if found is None:
                continue
            begin = polite + found.end() if at_start else found.end()
            whole = kind in ("message", "text") and cue in (_COLON, _SAYING)
            end = _end_after_colon(text, begin) if cue is _COLON else end
            if place := _trim(text, (begin, end), taken, whole=whole):
                return place
    return None


def find_remainder(text: str, kind: str, used: Iterable[Mention]) -> Place | None:
    """Return the object of the first request: the rest of its sentence; of a question, all of it."""
    taken = sorted((mention.start, mention.end) for mention in used)
    for start, end in _sentences(text[:_REACH]):
        polite = _after_courtesy(text, start, end)
        verb = _VERB.match(text[polite:end])
        asks = kind in _QUESTIONS and text[start:end].rstrip().endswith(("?", "？"))
        place: Place | None
        if kind == "question" or (asks and not taken):
            asked = _ASKED_OF.search(text, start, end) if kind == "" else None
            place = asked.span(1) if asked else (start if kind == "question" else polite, end)
        else:
            begin = polite + (verb.end() if verb and not asks else 0)
            place = _trim(text, (begin, end), taken, whole=False)
        if place and text[slice(*place)].lower() not in word_set("requests") | _POINTING:
            return place
    return None


_ASKED_OF = lazy_pattern(r"\bthe \w{1,30} (?:of|for) (?:the |an? )?([^?\n]{1,80})[?？]\s*$")


def _after_courtesy(text: str, start: int, end: int) -> int:
    found = _POLITE.match(text[start:end])
    return start + (found.end() if found else 0)


def _sentences(text: str) -> Iterator[Place]:
    """Where the sentences of a text stand; JSON has none."""
    start = len(text) if text.lstrip()[:1] in ("{", "[") else 0
    for found in _SENTENCE.finditer(text):
        if text[start : found.start()].strip():
            yield start, found.start()
        start = found.end()
    if text[start:].strip():
        yield start, len(text)


def _end_after_colon(text: str, begin: int) -> int:
    """Where a text after a colon ends: before a blank line or a sentence that requests more, else with the text."""
    rest = text[begin : begin + _REACH]
    ends = (found.start() for found in (_NEXT_REQUEST.search(rest), _BLANK_LINE.search(rest)) if found)
    return begin + min(ends, default=len(rest))


def _trim(text: str, place: Place, taken: list[Place], *, whole: bool) -> Place | None:
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
    lead = len(piece) - len(piece.lstrip(" \n,;:.!?\"'“”"))
    piece = piece.rstrip(" \n\"'“”")
    return (begin + lead, begin + len(piece)) if len(piece) > lead + 1 else None


_REACH = 4_000  # characters
_POINTING = vocabulary("it this that them these those")
_POLITE = lazy_pattern(
    r"^(?:(?:hi|hey|hello|ok(?:ay)?|so|well|now|please|pls|kindly|just|also|then|and|first|next|finally)\b[,!. ]*"
    r"|(?:can|could|would|will) (?:you|u|we)(?: please)?\b ?|i(?:'d| would)? (?:like|love|want|need)(?: you)? (?:to )?"
    r"|(?:i(?:'m| am) )?(?:looking|trying) to |help me (?:to )?|let'?s |(?:use the|call) [\w-]{1,40} (?:tool )?to )+",
    re.IGNORECASE,
)
_ASKING = lazy_pattern(
    r"(?:search|look|browse|google|query|scan|check)(?: (?:(?:in|through|on|at|into) )?(?:the |our |my |your "
    r"|this )?[\w-]{1,15}(?: (?!for|up|about|on)\w{1,15})?)? (?:for|up|about|on) (?:information on )?|(?:look up"
    r"|find out|find me|find|google|search|lookup|explain|describe|define|show me|get me|list|fetch) (?:all |some "
    r"|any )?(?:(?:information|info|details|news|papers|articles|documents) (?:on|about|for) )?|(?:tell me|give me"
    r"|what do you know|write(?: me)?(?: an?)? [\w ]{1,30}?|ask)(?: (?:more|everything|all))? about |(?:suche?|finde"
    r"|cherche[rz]?|trouve[rz]?|busca|buscar|cerca) (?:nach |moi |me |mir )?",
    re.IGNORECASE,
)
_SAYING = lazy_pattern(
    r"(?:\b(?:e-?mail|write|text|message|notify|inform|tell|remind|let)\b[^;:\n]{1,80}? that\b|\b(?:say|tell|stat"
    r"|explain|writ|announc|read)(?:s|es|ing)? that\b|\b(?:saying|says|say|stating|reads|reading|dass|diciendo que"
    r"|disant que|que diga)\b|\bwith (?:the )?(?:message|text|body|content|comment|note)\b)[ :,]{0,3}",
    re.IGNORECASE,
)
_TELLING = lazy_pattern(
    r"\b(?:remind|tell|ask|remember|reminder|task|todo|goal|want|need)\b(?: \w{1,20})?(?: is)? to ", re.IGNORECASE
)
_REASON = lazy_pattern(r"\b(?:because|since|as|due to|owing to|weil|parce que|porque)\b(?: of)? ", re.IGNORECASE)
_ABOUT = lazy_pattern(r"\b(?:about|regarding|concerning|on the topic of|über|sobre)\b ", re.IGNORECASE)
_COLON = lazy_pattern(r"[:：](?=\s)\s*(?=\S)")
_QUESTION_WORDS = vocabulary("what what's who when where why how which is are was were can could will would")
_VERB = lazy_pattern(
    rf"^(?:what is|how much is|show me|give me|tell me|{'|'.join(sorted(word_set('requests') - _QUESTION_WORDS))})\b"
    r"(?: me\b| us\b)?(?: the| an?)?(?: following)?(?: (?:command|text|code|expression|sentence|word|phrase|query"
    r"|question|message|note|task|todo|(?:image|picture|photo|drawing|painting|illustration) of))? (?:the )?",
    re.IGNORECASE,
)
_SENTENCE = lazy_pattern(r"(?<=[.!?。？！])(?:\s+|$)|\n{1,4}")
_TAIL = lazy_pattern(
    r"(?:[,;]? (?:please|pls|thanks?(?: you)?|for me|now|asap|right away|bitte|por favor|s'il vous plaît))+$",
    re.IGNORECASE,
)
_CUES: dict[str, tuple[re.Pattern[str], ...]] = {
    "text": (_SAYING, _COLON, _TELLING, _REASON),
    "message": (_SAYING, _COLON, _TELLING, _REASON),
    "reason": (_REASON, _SAYING),
    "task": (_TELLING, _COLON, _SAYING),
    "topic": (_ABOUT, _COLON, _ASKING),
    "query": (_ASKING, _ABOUT, _COLON),
    "title": (_COLON, _ABOUT, _TELLING),
}
_QUESTIONS = ("query", "message", "text", "task", "topic", "")
_BLANK_LINE = lazy_pattern(r"\n\n")
_NEXT_REQUEST = lazy_pattern(
    r"[.!?]\s+(?=(?:set|assign|add|make|mark|use|please|send|then|also|tag|label|give|put|it|with)\b)", re.IGNORECASE
)
_LEADING = lazy_pattern(
    r"(?:[\s,;(]{1,3}(?:in|at|from|to|for|with|by|about|on|as|into|under|over|below|above|than|less|more|at|most"
    r"|least|up|of|the|an?|and|or|nach|von|für|auf|ins?|in|à|en|de|al|costing|max(?:imum)?|min(?:imum)?|limit"
    r"|published|after|before|since|until|set|titled|called|named))+$",
    re.IGNORECASE,
)
