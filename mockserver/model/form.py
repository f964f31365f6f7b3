"""The form that a prompt orders for any answer: a length, a list, a label, tags, or only its number.

An answer is shaped whatever it comes from: the results of tools, the conversation, or made-up sentences.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.lazy import lazy_pattern
from mockserver.core.seed import Random
from mockserver.model.arguments import mentions
from mockserver.model.fillers import capitalized, english, note, pick
from mockserver.model.prose import Speaker, blank, sentences
from mockserver.model.schema.scalars import known_text
from mockserver.model.topic import ENGLISH, SENTENCE, Topic, content_words
from mockserver.model.triggers import COUNTING_WORDS, is_triggered, label_in, trigger_set, trigger_words
from mockserver.model.vocabulary import (
    NUMBER_WORDS,
    folded,
    number_of,
    singular,
    vocabulary,
    words,
)

Fact = tuple[str, str]  # what it is about, which may be empty, and what is known of it
NUMBER = rf"(?:[0-9]{{1,4}}|{NUMBER_WORDS})"


class Request(Struct, frozen=True):
    """The last user message, the system prompt and the topic, and what tools returned: facts, and a text of them."""

    text: str
    rules: str
    topic: Topic
    facts: tuple[Fact, ...] = ()
    found: str = ""

    def matches(self, pattern: re.Pattern[str]) -> bool:
        return pattern.search(self.text) is not None or pattern.search(self.rules) is not None


def kind_of_writing(text: str) -> re.Match[str] | None:
    """Return the first word that says what is to be written; its group is `code` or `prose`."""
    return _WRITING.search(folded(text))


class Length(Struct, frozen=True):
    """A number of words, sentences, lines, paragraphs or items; `bound` is `exactly`, `most`, `fewer` or empty."""

    number: int
    unit: str
    bound: str = ""


@lru_cache(maxsize=256)
def find_length(order: str) -> Length | None:
    """Return the length that a text orders: "in at most 8 words", "3 bullet points"."""
    if not (is_triggered("measured", order) and _MEASURED.search(folded(order))):
        return None
    for found in _LENGTH.finditer(order):
        before = [word for word in found["before"].lower().split() if word not in ("a", "the", "an")]
        lead = order[max(0, found.start() - 2) : found.start()].rstrip(" ")
        starts = not before and (not lead or lead[-1] in ".!?;:,\n()—-")
        is_last = _LAST.match(order, found.end()) is not None
        unit = singular(found["unit"].split()[0].lower()).partition("-")[0]
        is_vague = found["number"].lower() in ("a", "an") and "single" not in found[0].lower()
        if unit == "word" and is_vague and before[-1:] != ["in"]:
            continue
        if starts or is_last or found["joint"] == "-" or (before and before[-1] in trigger_set("before_lengths")):
            bound = next((name for word in before if (name := _BOUND_WORDS.get(word))), "")
            return Length(number_of(found["number"]), {"bullet": "item", "point": "item"}.get(unit, unit), bound)
    return None


def shape_answer(request: Request, rng: Random) -> str | None:
    """Return an answer of the length, or the list, that a prompt orders; None if it orders none."""
    length = find_length(request.text) or find_length(request.rules)
    made = _write_list(request, length, rng)
    if made is not None or length is None:
        return made
    number = min(length.number - (length.bound == "fewer"), 3000)
    said = [found[0].strip() for found in SENTENCE.finditer(request.found)] if request.found else []
    match length.unit:
        case "word" if number == 1:
            return _write_word(request, rng)
        case "word":
            return _write_words(request, said, replace(length, number=number), rng)
        case "paragraph":
            lengths = ((at, rng.randrange(3, 5)) for at in range(min(number, 20)))
            texts = (_write_sentences(request, said * (not at), each, rng, opened=not at) for at, each in lengths)
            return "\n\n".join(texts)
    return _write_sentences(request, said, min(number, 50), rng, between="\n" * (length.unit == "line"))


def _write_word(request: Request, rng: Random) -> str:
    known = trigger_words(request.text)
    values = [word for _, value in request.facts for word in value.split()[:1] if word.lower() not in known]
    if values:
        return values[0].strip(".,;:!?")
    proper = [word for word in request.topic.words if word[:1].isupper()]
    return capitalized(pick(proper or english("aspects"), rng))


def _write_sentences(
    request: Request, said: Sequence[str], number: int, rng: Random, *, between: str = "", opened: bool = True
) -> str:
    made = sentences(request.topic, rng, opened=opened and not said)
    more = (found[0].strip() for each in made for found in SENTENCE.finditer(each))
    return (between or blank(request.topic)).join(islice(chain(said, more), number))


def _write_words(request: Request, said: Sequence[str], length: Length, rng: Random) -> str:
    """About as many words; whole sentences of at most so many, if one fits."""
    if length.bound in ("most", "fewer"):
        short = [f"{capitalized(request.topic.subject)}: {note(rng)}."] if request.topic.subject else []
        openers = islice(sentences(request.topic, rng), 8)
        candidates = (*said, *openers, *short, f"{note(rng).capitalize()}.")
        if fitting := [each for each in candidates if len(each.split()) <= length.number]:
            return fitting[0]
    spoken = (word for sentence in chain(said, sentences(request.topic, rng)) for word in sentence.split())
    taken = list(islice(spoken, length.number))
    is_exact = length.bound == "exactly"
    loose = 0 if is_exact else next((at for at in (1, 2) if at < len(taken) and taken[-at - 1].endswith(".")), 0)
    return " ".join(taken[: len(taken) - loose]).rstrip(".,;:?!") + "."


def _write_list(request: Request, length: Length | None, rng: Random) -> str | None:
    counted, order = _find_counted(request.text), request.text
    is_bulleted = any(is_triggered("listed", text) and _BULLETED.search(text) for text in (request.text, request.rules))
    if counted is None and (_SEPARATED.search(request.rules) or is_bulleted):
        counted, order = _find_counted(request.rules), f"{request.rules}\n{request.text}"
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
        else find_material(order) or request.topic.subject or (_ABOUT.findall(order) or [""])[-1]
    )
    noun = counted["noun"].lower() if counted and not made else ""
    items = (made + make_items(noun, number, about, rng)[: max(0, number - len(made))])[:number]
    if not _NUMBERED_LIST.search(order) and (separated := _SEPARATED.search(order)):
        in_row = separated["commas"] or separated["comma"]
        return ", ".join(item.partition(":")[0] for item in items) if in_row else "\n".join(items)
    bulleted = is_bulleted or points
    return "\n".join(f"- {item}" if bulleted else f"{at}. {item}" for at, item in enumerate(items, 1))


def _find_counted(text: str) -> re.Match[str] | None:
    """The list that a text orders, "give me 3 tips": what is counted is no measure, and no text is to be written."""
    if trigger_words(text).isdisjoint(COUNTING_WORDS.union("0123456789")):
        return None
    listed = (each for each in _COUNTED.finditer(folded(text)) if each["noun"].lower() not in trigger_set("measures"))
    found = next(listed, None)
    writing = kind_of_writing(text) if found else None
    if found is None or _ONE_TEXT.match(found[0]) or (writing and writing.start() <= found.start("noun")):
        return None
    return found


def find_material(text: str) -> str:
    """Return what an order is about: what follows the last colon or a blank line, or is quoted; "" for nothing."""
    found = _MATERIAL.search(text[-_MOST_MATERIAL:])
    return next(filter(None, found.groups()), "").strip() if found else ""


def make_items(noun: str, number: int, about: str, rng: Random) -> list[str]:
    """Return so many items of a noun; questions, searches and keywords are made of a text."""
    thing = singular(noun)
    last = words(thing)[-1:] or ("",)
    kind = next((kind for kind in ("question", "query", "keyword") if last[0] in english(kind, "list_items")), "")
    if about.endswith("?") and last[0] in english("wording", "list_items"):
        kind = "question"
    if kind and about:
        return _make_of_text(kind, number, about, rng)
    if not noun or noun in english("points", "formats"):
        aspects = rng.sample(english("aspects"), min(number, len(english("aspects"))))
        made = [f"{aspect.capitalize()}: {note(rng)}" for aspect in aspects]
        return made + [f"Point {at}: {note(rng)}" for at in range(len(made) + 1, number + 1)]
    known: dict[str, None] = {}
    for _ in range(4 * number):
        if (text := known_text(thing, rng)) is None or len(known) == number:
            break
        known[text] = None
    if len(known) == number:
        return [*known]
    adjectives = rng.sample(english("adjectives"), len(english("adjectives")))
    names = [f"{adjective.capitalize()} {thing}" for adjective in adjectives]
    return [f"{name}{turn}" for turn in ("", " 2", " 3") for name in names][:number]


def _make_of_text(kind: str, number: int, about: str, rng: Random) -> list[str]:
    telling = content_words(about, ENGLISH)
    if kind == "keyword":
        return [*telling, *(word for word in english("aspects") if word not in telling)][:number]
    templates, subject = english(f"{kind}_templates", "list_items"), " ".join(telling[:5]) or about[:80]
    first, made = rng.randrange(len(templates)), []
    for at in range(number):
        one, other = rng.sample(english("aspects"), 2)
        template = templates[(first + at) % len(templates)] if at < len(templates) else templates[-1]
        made.append(capitalized(template.format(about=subject, a=one, b=other)))
    return made


def finish_answer(answer: str, request: Request, rng: Random) -> str:
    """Return an answer behind the label and in the tags that a prompt orders, or only its number."""
    for order in (request.text, request.rules):
        if is_triggered("number_alone", order) and _NUMBER_ALONE.search(folded(order)):
            number = _NUMBER.search(answer) or _NUMBER.search(order, order.rfind(".", 0, len(order) - 1) + 1)
            answer = number[0] if number else str(rng.randrange(2, 100))
    answer = _with_label(answer, request, rng)
    if request.matches(_BOXED) and "\\boxed" not in answer:
        number = _NUMBER.search(answer.rpartition(" = ")[2])
        answer = f"{answer}\n\n\\boxed{{{number[0] if number else answer.partition('.')[0]}}}"
    return _in_tags(answer, request, rng)


def _with_label(answer: str, request: Request, rng: Random) -> str:
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


def _in_tags(answer: str, request: Request, rng: Random) -> str:
    """An answer in the tags that a sentence orders, after thoughts in theirs; tags that it only mentions order none."""
    orders = [order for order in (request.text, request.rules) if "<" in order]
    tags = (tag for order in orders for clause in _IN_TAGS.finditer(order) for tag in _TAG.finditer(clause[0]))
    names = [*dict.fromkeys(tag["name"] for tag in tags if tag["within"] or tag["closed"])]
    names = [name for name in names if name.lower() not in _HTML]
    thinking = [name for name in names if name.lower() in trigger_set("thinking_tags")]
    names = [*thinking, *[name for name in names if name not in thinking][-1:]]
    if not names or "<" in answer or "```" in answer:
        return answer
    given, _ = mentions(request.text).assigned({names[-1]: {"type": "string"}}, lambda *_: True)
    if not thinking and given and names[-1].lower() not in trigger_set("no_values"):
        answer = str(given[names[-1]])
    thoughts = Speaker(request.topic, rng).thoughts()
    texts = [next(thoughts) if name in thinking else answer for name in names]
    tail = f"\n{answer}" if names[-1] in thinking else ""  # nothing was said of the answer, which follows
    return "\n".join(f"<{name}>{text}</{name}>" for name, text in zip(names, texts, strict=True)) + tail


_WRITING = lazy_pattern(
    r"\b(?:(?P<code>(?:functions?|scripts?|programs?|class(?:es)?|methods?|code|snippets?|query|(?<=sql )queries"
    r"|regex(?:es)?|regular expressions?|one-liners?|algorithms?|commands?|components?|sql statements?|(?:html|css"
    r"|web) (?:pages?|forms?|files?)|unit tests?|dockerfile|endpoints?|decorators?)(?! of\b)|in (?:python|javascript"
    r"|typescript|java|rust|golang|go|ruby|php|bash|sql|kotlin|swift|c\+\+|c#|c)(?=[\s.?!,:]|$))|(?P<prose>e-?mails?"
    r"|letters?|story|stories|tales?|poems?|essays?|songs?|speech|blog|articles?|posts?|paragraphs?|notes?|reviews?"
    r"|summary|novels?|dialogue|toast|message|report|apology|invitation))\b"
)
OF_LENGTH = (
    r"(?:(?:very|short|brief|single|full|complete|simple|concise|clear|plain|key|main|numbered|different"
    r"|bullet(?=[ -])|more|or|less|fewer|english|long)[ -]){0,2}%s(?:words?(?!\s+(?:of|for|problem|count)\b)"
    r"|sentences?|lines?|paragraphs?|bullets?(?:[ -]points?)?|points?|items)\b"
)
_MEASURE = rf"\b(?P<number>{NUMBER})(?P<joint>[ -]){OF_LENGTH % '(?P<unit>'})"
_MEASURED = lazy_pattern(_MEASURE)
_LENGTH = lazy_pattern(rf"(?i)(?P<before>(?:\b[a-z]+ +){{0,4}}){_MEASURE}")
_BOUND_WORDS = {"exactly": "exactly", "most": "most", "more": "most", "max": "most", "maximum": "most"}
_BOUND_WORDS |= {"within": "most", "up": "most", "fewer": "fewer", "less": "fewer", "under": "fewer", "below": "fewer"}
_LAST = lazy_pattern(
    r"(?i)\s*(?:only|please|max(?:imum)?|long|or (?:less|fewer)|at most|answers?|repl(?:y|ies))?\s*(?:[:.!\n]|\Z)"
)
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
    r"|as a (?:numbered )?list|in a list|list form|step[- ]by[- ]step (?!in)|shopping list|checklist|to-?do list"
    r"|comma[- ]separated(?: list)?)\b|^\s*(?:please )?list\b"
)
_ABOUT = lazy_pattern(r"(?i)\b(?:for|about|on|objective:) ([^.\n]{3,80})")
_BULLETED = lazy_pattern(r"(?i)\bbullet(?:s|ed)?\b|\bmarkdown list\b")
_NUMBERED_LIST = lazy_pattern(r"(?i)\bnumbered (?:list|steps)\b")
_MOST_MATERIAL = 4_000  # characters
_MATERIAL = lazy_pattern(
    r"[:：][ \t]*\n?[\"'“]?([^\s:\"'“”][^:：\n]{0,2000}?)[\"'”]?(?:\s+[A-Z][\w ()]{0,40}:)?\s*\Z"
    r"|\n\n([^\n]{2,2000})\s*\Z|[\"“]([^\"“”\n]{2,2000})[\"”]"
)
_EACH_ITEM = r"(?:each|every|one)(?: \w+)?"
_SEPARATED = lazy_pattern(
    r"(?i)\b(?:separated|delimited)\s+(?:by|with|using)\s+(?:an?\s+|single\s+)*(?:new ?lines?|line breaks?|\\n"
    r"|(?P<commas>commas?))|\b(?:newline|(?P<comma>comma))[- ](?:separated|delimited)\b"
    rf"|\b{_EACH_ITEM} (?:on|in) (?:a|its|their) (?:new|own|separate) lines?\b|\b(?:one|each) (?:\w+ )?per line\b"
    r"|\bon (?:separate|new|individual) lines\b"
)
_NUMBER_ALONE = lazy_pattern(
    r"\b(?:only|just|solely|nothing but)\b[^.,\n]{0,30}\b(?:number|digits?|integer|numeral)\b(?! of)|"
    r"\b(?:numbers?|digits?|integers?) only\b|"
    r"\b(?:as|with|is) (?:a|one) (?:single |plain |bare )?(?:number|integer)\b(?! (?:of|from|between))"
)
_NUMBER = lazy_pattern(r"(?:(?<!\w)-)?\d+(?:[.,]\d+)*")
_NUMERIC_GAP = lazy_pattern(r"\s?[<\[{]?(?:(?:the|a|your|final) )?(?:number|score|rating|integer|value|result|\d)")
_BOXED = lazy_pattern(r"\\boxed")
_HTML = vocabulary("div span p b i a br ul li h1 h2 h3 html table td tr code script button")
_TAG = lazy_pattern(
    r"(?i)(?P<within>\b(?:in|into|inside|within|between|and)\s[`'\"]?)?<(?P<name>[a-z][\w-]{0,30})>"
    r"(?P<closed>[\s.…]{0,9}(?:and\s+)?</|[`'\"]?\s+(?:xml\s+)?(?:tags?|blocks?)\b)?"
)
_IN_TAGS = lazy_pattern(
    r"(?i)(?:^|[.!?:;,\n]\s{0,3}|\b(?:you|must|should|please|always|then|and|first|now|to)\s)(?:-\s)?(?:first\s|then\s)?"
    r"(?:answer|respond|reply|output|return|put|wrap|enclose|provide|place|write|give|think|reason|plan|explain|show"
    r"|analy[sz]e|reflect|use(?! the\b)|begin|start)\b[^.!?\n<]{0,80}<[a-z][\w-]{0,30}>(?:[^.!?\n]|\.{3}){0,200}"
)
