"""The form that a prompt orders for any answer: tags, a label, a length, a list, capitals, or only its number.

An answer is shaped whatever it comes from: the results of tools, the conversation, or made-up sentences.
"""

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import chain, islice

from msgspec import Struct

from mockserver.core.lazy import lazy_pattern
from mockserver.core.seed import Random
from mockserver.model.arguments import mentions
from mockserver.model.fillers import capitalized, english, note, pick
from mockserver.model.prose.generators import Speaker, blank, sentences
from mockserver.model.prose.lists import items, material_of, separated, written
from mockserver.model.prose.orders import COUNTING_WORDS, is_triggered, label_in, trigger_set, trigger_words
from mockserver.model.prose.topic import SENTENCE, Topic
from mockserver.model.vocabulary import NUMBER_WORDS, folded, number_of, singular

Fact = tuple[str, str]  # what it is about, which may be empty, and what is known of it


class Request(Struct, frozen=True):
    """The last user message, the system prompt and the topic, and what tools returned: facts, and a text of them."""

    text: str
    rules: str
    topic: Topic
    facts: tuple[Fact, ...] = ()
    found: str = ""

    def matches(self, pattern: re.Pattern[str]) -> bool:
        return pattern.search(self.text) is not None or pattern.search(self.rules) is not None


class Length(Struct, frozen=True):
    """A number of words, sentences, lines, paragraphs or items; `bound` is `exactly`, `most`, `fewer` or empty."""

    number: int
    unit: str
    bound: str = ""


@lru_cache(maxsize=256)
def length_of(order: str) -> Length | None:
    """Return the length that a text orders: "in at most 8 words", "3 bullet points"."""
    if not (is_triggered("measured", order) and _MEASURED.search(folded(order))):
        return None
    for found in _LENGTH.finditer(order):
        before = [word for word in found["before"].lower().split() if word not in ("a", "the", "an")]
        lead = order[max(0, found.start() - 2) : found.start()].rstrip(" ")
        starts = not before and (not lead or lead[-1] in ".!?;:,\n()—-")
        is_last = _END.match(order, found.end()) is not None
        unit = singular(found["unit"].split()[0].lower()).partition("-")[0]
        is_vague = found["number"].lower() in ("a", "an") and "single" not in found[0].lower()
        if unit == "word" and is_vague and before[-1:] != ["in"]:
            continue
        if starts or is_last or found["joint"] == "-" or (before and before[-1] in trigger_set("before_lengths")):
            bound = next((name for word in before if (name := _BOUNDS.get(word))), "")
            return Length(number_of(found["number"]), _UNITS.get(unit, unit), bound)
    return None


NUMBER = rf"(?:[0-9]{{1,4}}|{NUMBER_WORDS})"
OF_LENGTH = (
    r"(?:(?:very|short|brief|single|full|complete|simple|concise|clear|plain|key|main|numbered|different"
    r"|bullet(?=[ -])|more|or|less|fewer|english|long)[ -]){0,2}%s(?:words?(?!\s+(?:of|for|problem|count)\b)"
    r"|sentences?|lines?|paragraphs?|bullets?(?:[ -]points?)?|points?|items)\b"
)
_MEASURE = rf"\b(?P<number>{NUMBER})(?P<joint>[ -]){OF_LENGTH % '(?P<unit>'})"
_MEASURED = lazy_pattern(_MEASURE)
_LENGTH = lazy_pattern(rf"(?i)(?P<before>(?:\b[a-z]+ +){{0,4}}){_MEASURE}")
_BOUNDS = {"exactly": "exactly", "most": "most", "more": "most", "max": "most", "maximum": "most", "within": "most"}
_BOUNDS |= {"up": "most", "fewer": "fewer", "less": "fewer", "under": "fewer", "below": "fewer"}
_UNITS = {"bullet": "item", "point": "item"}
_END = lazy_pattern(
    r"(?i)\s*(?:only|please|max(?:imum)?|long|or (?:less|fewer)|at most|answers?|repl(?:y|ies))?\s*(?:[:.!\n]|\Z)"
)


def shaped(request: Request, rng: Random) -> str | None:
    """Return an answer of the length, or the list, that a prompt orders; None if it orders none."""
    length = length_of(request.text) or length_of(request.rules)
    made = _listed(request, length, rng)
    if made is not None or length is None:
        return made
    number = min(length.number - (length.bound == "fewer"), 3000)
    said = [found[0].strip() for found in SENTENCE.finditer(request.found)] if request.found else []
    match length.unit:
        case "word" if number == 1:
            return _one_word(request, rng)
        case "word":
            return _in_words(request, said, (number, length.bound), rng)
        case "paragraph":
            lengths = ((at, rng.randrange(3, 5)) for at in range(min(number, 20)))
            return "\n\n".join(_sentences(request, said * (not at), each, rng, opened=not at) for at, each in lengths)
    return _sentences(request, said, min(number, 50), rng, between="\n" * (length.unit == "line"))


def _one_word(request: Request, rng: Random) -> str:
    known = trigger_words(request.text)
    values = [word for _, value in request.facts for word in value.split()[:1] if word.lower() not in known]
    if values:
        return values[0].strip(".,;:!?")
    proper = [word for word in request.topic.words if word[:1].isupper()]
    return capitalized(pick(proper or english("aspects"), rng))


def _sentences(
    request: Request, said: Sequence[str], number: int, rng: Random, *, between: str = "", opened: bool = True
) -> str:
    made = sentences(request.topic, rng, opened=opened and not said)
    more = (found[0].strip() for each in made for found in SENTENCE.finditer(each))
    return (between or blank(request.topic)).join(islice(chain(said, more), number))


def _in_words(request: Request, said: Sequence[str], length: tuple[int, str], rng: Random) -> str:
    """About as many words; whole sentences of at most so many, if one fits."""
    number, bound = length
    if bound in ("most", "fewer"):
        short = [f"{capitalized(request.topic.subject)}: {note(rng)}."] if request.topic.subject else []
        openers = islice(sentences(request.topic, rng), 8)
        fitting = (
            each for each in (*said, *openers, *short, f"{note(rng).capitalize()}.") if len(each.split()) <= number
        )
        if (first := next(fitting, None)) is not None:
            return first
    words = (word for sentence in chain(said, sentences(request.topic, rng)) for word in sentence.split())
    taken = list(islice(words, number))
    exactly = bound == "exactly"
    loose = 0 if exactly else next((at for at in (1, 2) if at < len(taken) and taken[-at - 1].endswith(".")), 0)
    return " ".join(taken[: len(taken) - loose]).rstrip(".,;:?!") + "."


def kind_of_writing(text: str) -> re.Match[str] | None:
    """Return the first word that says what is to be written; its group is `code` or `prose`."""
    return _WRITING.search(folded(text))


_WRITING = lazy_pattern(
    r"\b(?:(?P<code>(?:functions?|scripts?|programs?|class(?:es)?|methods?|code|snippets?|query|(?<=sql )queries"
    r"|regex(?:es)?|regular expressions?|one-liners?|algorithms?|commands?|components?|sql statements?|(?:html|css"
    r"|web) (?:pages?|forms?|files?)|unit tests?|dockerfile|endpoints?|decorators?)(?! of\b)|in (?:python|javascript"
    r"|typescript|java|rust|golang|go|ruby|php|bash|sql|kotlin|swift|c\+\+|c#|c)(?=[\s.?!,:]|$))|(?P<prose>e-?mails?"
    r"|letters?|story|stories|tales?|poems?|essays?|songs?|speech|blog|articles?|posts?|paragraphs?|notes?|reviews?"
    r"|summary|novels?|dialogue|toast|message|report|apology|invitation))\b"
)


def _listed(request: Request, length: Length | None, rng: Random) -> str | None:
    counted, order = _counted(request.text), request.text
    is_bulleted = any(is_triggered("listed", text) and _BULLETED.search(text) for text in (request.text, request.rules))
    if counted is None and (separated(request.rules) or is_bulleted):
        counted, order = _counted(request.rules), f"{request.rules}\n{request.text}"
    points = length is not None and length.unit == "item"
    is_list = is_triggered("listed", request.text) and _LIST.search(folded(request.text))
    if not (counted or points or is_list or _BULLETED.search(request.rules)):
        return None
    number = min((number_of(counted["number"]) if counted else length.number if length and points else 0) or 1, 50)
    if not counted and not points:
        number = len(request.facts) or rng.randrange(3, 6)
    made = [capitalized(f"{key}: {value}" if key else value) for key, value in request.facts]
    about = (
        request.text
        if order is not request.text
        else material_of(order) or request.topic.subject or (_ABOUT.findall(order) or [""])[-1]
    )
    noun = counted["noun"].lower() if counted and not made else ""
    made += items(noun, number, about, rng)[: max(0, number - len(made))]
    return written(made[:number], order, bulleted=is_bulleted or points)


def _counted(text: str) -> re.Match[str] | None:
    """The list that a text orders, "give me 3 tips": what is counted is no measure, and no text is to be written."""
    if trigger_words(text).isdisjoint(COUNTING_WORDS.union("0123456789")):
        return None
    listed = (each for each in _COUNTED.finditer(folded(text)) if each["noun"].lower() not in trigger_set("measures"))
    found = next(listed, None)
    writing = kind_of_writing(text) if found else None
    if found is None or _ONE_TEXT.match(found[0]) or (writing and writing.start() <= found.start("noun")):
        return None
    return found


_ONE_TEXT = lazy_pattern(
    r"(?i)(?:write|create|make|produce|generate)\b(?: me)? (?:an?|my|our) (?!(?:\w+ )?(?:list|set|table|outline|"
    r"plan|number)\b)"
)
_COUNTED = lazy_pattern(
    rf"""(?x)\b(?:list|give|name|write|suggest|provide|tell|show|generate|create|brainstorm|find|what\ are|what're|
    top|best|come\ up\ with|recommend|mention|share|propose|return|output|identify|make|produce|outline|think\ of|state|
    describe|explain|which|need|want|offer|rewrite|rephrase|reformulate|paraphrase|break|split|extract|draft|add|exactly)
    \b[^.?!\n]{{0,60}}?\b(?P<number>(?!(?:a|an|one|single)\b){NUMBER})\s+
    (?:(?:of\ the|(?!(?:of|in|to|and|or|for|from)\b)[a-z-]{{2,20}})\s+){{0,3}}?
    (?P<noun>(?:[a-z]+-)?[a-z]{{2,30}}s|people|children|fish)\b"""
)
_LIST = lazy_pattern(
    r"\b(?:bullet(?:ed)? (?:points?|list)|bullets\b|numbered (?:list|steps)|an? (?:short |brief )?list of"
    r"|as a list|in a list|list form|step[- ]by[- ]step (?!in)|shopping list|checklist|to-?do list"
    r"|comma[- ]separated(?: list)?)\b|^\s*(?:please )?list\b"
)
_ABOUT = lazy_pattern(r"(?i)\b(?:for|about|on) ([^.\n]{3,80})")
_BULLETED = lazy_pattern(r"(?i)\bbullet(?:s|ed)?\b")


def finished(answer: str, request: Request, rng: Random) -> str:
    """Return an answer in the case, behind the label and in the tags that a prompt orders, or only its number."""
    for order in (request.text, request.rules):
        if is_triggered("number_alone", order) and _NUMBER_ALONE.search(folded(order)):
            number = _NUMBER.search(answer) or _NUMBER.search(order, order.rfind(".", 0, len(order) - 1) + 1)
            answer = number[0] if number else str(rng.randrange(2, 100))
        elif is_triggered("letter_case", order) and (upper := _upper_case(order)) is not None:
            answer = answer.upper() if upper else answer.lower()
    return _in_tags(_between(_labelled(answer, request, rng), request), request, rng)


def _upper_case(order: str) -> bool | None:
    """Whether an order wants capitals or small letters; None for neither: a question about them wants none."""
    clauses = (clause for clause in _CLAUSE.findall(order) if not clause.endswith("?"))
    found = next(filter(None, map(_CASE.match, clauses)), None)
    return None if found is None else found["upper"] is not None


def _labelled(answer: str, request: Request, rng: Random) -> str:
    found = label_in(request.text) or label_in(request.rules)
    label = (found["quoted"] or found["bare"]).strip() if found else ""
    if found is None or f"{label}:" in answer:
        return answer
    if found["begin"]:
        return f"{label}: {answer}"
    first = SENTENCE.search(answer.rpartition(" = ")[2])
    value = first[0].strip() if first else answer
    if _NUMERIC_GAP.match(found.string, found.end()):
        number = _NUMBER.search(value)
        value = number[0] if number else str(rng.randrange(2, 100))
    return f"{answer}\n\n{label}: {value}"


def _between(answer: str, request: Request) -> str:
    """An answer that begins with a text, or stands between marks, where a prompt orders that."""
    for order in filter(partial(is_triggered, "enclosed"), (request.text, request.rules)):
        if "\\boxed" in order and "\\boxed" not in answer:
            number = _NUMBER.search(answer.rpartition(" = ")[2])
            answer = f"{answer}\n\n\\boxed{{{number[0] if number else answer.partition('.')[0]}}}"
        if (begin := _BEGIN.search(order)) and not answer.startswith(begin[1]):
            answer = f"{begin[1]} {answer}"
        if marks := _MARKS.search(order):
            answer = f"{marks[1]}\n{answer}\n{marks[1]}"
    return answer


def _in_tags(answer: str, request: Request, rng: Random) -> str:
    names = [
        found["name"] for order in (request.text, request.rules) if "<" in order for found in _TAGS.finditer(order)
    ]
    names = [*dict.fromkeys(names)]
    thinking = [name for name in names if name.lower() in trigger_set("thinking_tags")]
    tags = [*thinking, *[name for name in names if name not in thinking][-1:]]
    if not tags or "<" in answer or "```" in answer:
        return answer
    given, _ = mentions(request.text).assigned({tags[-1]: {"type": "string"}}, lambda *_: True)
    if not thinking and given and tags[-1].lower() not in trigger_set("no_values"):
        answer = str(given[tags[-1]])
    thoughts = Speaker(request.topic, rng).thoughts()
    texts = [next(thoughts) if name in thinking and name != tags[-1] else answer for name in tags]
    if tags[-1] in thinking:  # nothing was said of the answer, which follows
        texts[-1], tail = next(thoughts), f"\n{answer}"
    else:
        tail = ""
    return "\n".join(f"<{name}>{text}</{name}>" for name, text in zip(tags, texts, strict=True)) + tail


_CLAUSE = lazy_pattern(r"[^.!?:\n]+(?:[.!?:\n]|$)")
_CASE = lazy_pattern(
    r"(?i)\W*(?:(?:please|now|and|then|always|just|only|but|hello|hi|hey)[\s,]+){0,3}(?:(?:answer|reply|respond|write"
    r"|say|speak|output|print|use|return|explain|describe|give|name|tell|type|keep)\b(?:(?!\b(?:keywords?|names?"
    r"|constants?|headings?|titles?|variables?|initials?|why|when|how|who|whether|what)\b).){0,80}?\b(?:in|use|using"
    r"|only|with)\s+(?:only\s+)?|in\s+|(?=all[ -]))(?:all[ -]?)?(?:(?P<upper>upper[- ]?case|caps\b|capitals\b"
    r"|capital letters|block letters)|lower[- ]?case|small letters)\b"
)
_NUMBER_ALONE = lazy_pattern(
    r"\b(?:only|just|solely|nothing but)\b[^.,\n]{0,30}\b(?:number|digits?|integer|numeral)\b(?! of)|"
    r"\b(?:numbers?|digits?|integers?) only\b|"
    r"\b(?:as|with|is) (?:a|one) (?:single |plain |bare )?(?:number|integer)\b(?! (?:of|from|between))"
)
_NUMBER = lazy_pattern(r"(?:(?<!\w)-)?\d+(?:[.,]\d+)*")
_NUMERIC_GAP = lazy_pattern(r"\s?[<\[{]?(?:(?:the|a|your|final) )?(?:number|score|rating|integer|value|result|\d)")
_BEGIN = lazy_pattern(
    r"(?i)\b(?:begin|start|open)\b[^.\n\"'“]{0,40}\b(?:with|by saying)\b[^.\n\"'“]{0,20}[\"'“]([^\"“”\n:<]{2,60}?)[\"”"
    r"'](?!\w)"
)
_MARKS = lazy_pattern(
    r"(?i)\bbetween (?:two |the )?[\"'`]?([#*=~|@$%-]{2,10})[\"'`]?(?: and \S{2,12})?(?: markers?| signs?| lines?"
    r"| delimiters?)?\b"
)
_TAGS = lazy_pattern(
    r"(?i)\b(?:answer|respon[ds]e?|reply|output|return|put|wrap|enclose|provide|place|write|give|think|reason"
    r"|reasoning|thoughts?|plan|explain|show|analy[sz]e|analysis|reflect|use|using|begin|start|and"
    r"|then)\b[^.\n<]{0,80}?[`'\"]?<(?P<name>(?!(?:div|span|p|b|i|a|br|ul|li|h\d|html|table|td|tr|code|script"
    r"|button)>)[a-z][\w-]{0,30})>(?:[\s.…]{0,9}(?:and\s+)?</(?P=name)>|[`'\"]?\s+(?:xml\s+)?(?:tags?|blocks?)\b)"
)
