"""The form that a prompt orders for any answer: a list, a length, a label, tags, a last word, or a form to fill in.

An answer is shaped whatever it comes from: the results of tools, the conversation, or made-up sentences.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.json import Json, compact
from mockserver.core.lazy import compile_lazily, remember
from mockserver.core.seed import Random
from mockserver.model.arguments import find_mentions
from mockserver.model.listed_options import list_options
from mockserver.model.orders import NUMBER, Request, find_in_rules, read_word_group
from mockserver.model.prose import SENTENCE, Speaker, list_content_words
from mockserver.model.schema.scalars import draw_known_text
from mockserver.model.shapes import DescribedShape, infer_shape, make_record_schema
from mockserver.model.vocabulary import (
    ENGLISH,
    RULING,
    capitalize,
    cut_excerpt,
    draw_note,
    find_singular,
    fold,
    make_vocabulary,
    read_english,
    read_number,
    split_words,
)


def write_list(request: Request, rng: Random) -> str | None:
    """Return the list that a prompt orders, of what tools returned first; None if it orders none."""
    counted = _find_counted(request.text)
    order = request.text
    points = request.find(_POINTS)
    listed = request.find(_LISTED)
    is_bulleted = listed is not None and listed["bullets"] is not None
    if counted is None and (find_in_rules(_SEPARATED, request.rules) or is_bulleted):
        counted = _find_counted(request.rules)
        order = f"{request.rules}\n{request.text}"
    if not (counted or points or listed or _LIST.search(fold(request.text))):
        return None
    counting = counted or points
    made = [capitalize(f"{key}: {value}" if key else value) for key, value in request.facts]
    made = made or [each for each in (request.found,) if each]
    number = read_number(counting["number"]) if counting else len(made) or rng.randrange(3, 6)
    number = min(max(number, 1), 50)
    about = request.text if order is not request.text else _find_material(order) or request.topic.subject
    named = counted or _EXTRACTED.search(fold(request.text))
    noun = named["noun"] if named and not made else ""
    more = _make_items(noun, number, about=about, rng=rng, fills=counted is not None)[: max(0, number - len(made))]
    items = (made + more)[:number]
    if separated := _SEPARATED.search(order):
        in_row = separated["commas"] or separated["comma"]
        return ", ".join(item.partition(":")[0] for item in items) if in_row else "\n".join(items)
    return "\n".join(f"- {item}" if is_bulleted or points else f"{at}. {item}" for at, item in enumerate(items, 1))


def write_title(request: Request) -> str | None:
    """Return the title that a prompt orders for a chat or a text: its first words that tell anything; else None."""
    order = None if request.found else request.find(_TITLE)
    if order is None:
        return None
    about = _find_material(request.text) if order.string is request.text else request.text
    words = list_content_words(about or request.topic.subject, ENGLISH)[:_LONGEST_TITLE]
    return " ".join(map(capitalize, words)) or None


def write_summary(request: Request) -> str | None:
    """Return the summary of a text that a prompt orders: its first sentences, or as many points; else None."""
    order = None if request.found else request.find(_SUMMARY)
    if order is None or (order.string is not request.text and order["of"] is None):  # of what an agent did, say
        return None
    text = request.text
    if order.string is text:
        after = "".join(re.split(r"[.:?\n]", text[order.end() :], maxsplit=1)[1:])
        text = after if len(after.split()) > _FEW_WORDS else max(text[: order.start()], request.earlier, key=len)
    points = request.find(_POINTS)
    said = [each[0].strip(' "“”') for each in SENTENCE.finditer(text) if len(each[0].split()) > _FEW_WORDS]
    said = [each for each in said if not each.endswith("?")]
    said = said[: read_number(points["number"]) if points else _LONGEST_SUMMARY]
    return "\n".join(f"- {each}" for each in said) if points else " ".join(said) or None


def _find_counted(text: str) -> re.Match[str] | None:
    """Return the list that a text orders: "give me 3 tips".

    What is counted is not a measure, and no text is to be written.
    """
    listed = (each for each in _COUNTED.finditer(fold(text)) if each["noun"].lower() not in read_word_group("measures"))
    found = next(listed, None)
    return None if found is None or _ONE_TEXT.search(fold(text[: found.end()])) else found


def _find_material(text: str) -> str:
    """Return what an order is about: what follows the last colon or a blank line, or is quoted; "" for nothing."""
    found = _MATERIAL.search(text[-_MOST_MATERIAL:])
    return next(filter(None, found.groups()), "").strip() if found else ""


def _make_items(noun: str, number: int, about: str, rng: Random, *, fills: bool) -> list[str]:
    """Return `number` items of a noun; questions, searches and keywords are made of the words in `about`.

    If it has too few words for as many keywords, others are added if that `fills` what was ordered.
    """
    thing = find_singular(noun)
    last = split_words(thing)[-1:] or ("",)
    telling = list_content_words(about, ENGLISH)
    is_reworded = about.endswith("?") and last[0] in read_english("wording", "list_items")
    kind = next((kind for kind in ("question", "query", "keyword") if last[0] in read_english(kind, "list_items")), "")
    kind = "question" if is_reworded else kind
    if last[0] in read_english("name", "list_items"):
        telling = tuple(word for word in telling if word[:1].isupper()) or telling
    if kind == "keyword" and about:
        others = [word for word in read_english("aspects") if word not in telling] if fills or not telling else []
        return [*telling, *others][:number]
    if kind and about:
        templates = read_english(f"{kind}_templates", "list_items")
        subject = " ".join(telling[:5]) or about[:80]
        first = rng.randrange(len(templates))
        pairs = [rng.sample(read_english("aspects"), 2) for _ in range(number)]
        turned = [*templates[first:], *templates[:first], *templates[-1:] * number]
        return [capitalize(each.format(about=subject, a=a, b=b)) for each, (a, b) in zip(turned, pairs, strict=False)]
    if not noun or noun in read_word_group("points"):
        aspects = rng.sample(read_english("aspects"), min(number, len(read_english("aspects"))))
        heads = [*map(str.capitalize, aspects), *(f"Point {at}" for at in range(len(aspects) + 1, number + 1))]
        return [f"{head}: {draw_note(rng)}" for head in heads]
    drawn = (draw_known_text(thing, rng) for _ in range(4 * number))
    known = [*dict.fromkeys(text for text in drawn if text is not None)][:number]
    adjectives = rng.sample(read_english("adjectives"), len(read_english("adjectives")))
    names = [f"{adjective.capitalize()} {thing}" for adjective in adjectives]
    return known if len(known) == number else [f"{name}{turn}" for turn in ("", " 2", " 3") for name in names][:number]


def finish_answer(answer: str, request: Request, rng: Random) -> str:
    """Return an answer of the length, behind the label and in the tags that a prompt orders, or only its number."""
    if found := request.find(_NUMBER_ALONE):
        order = found.string
        is_prose = not request.found and len(answer.split()) > _MOST_AROUND_NUMBER
        number = (
            (None if is_prose else _NUMBER.search(answer))
            or _NUMBER.search(order, order.rfind(".", 0, len(order) - 1) + 1)
            or _NUMBER.search(request.text)  # a number of the prompt is better than a made-up one
            or _NUMBER.search(answer)
        )
        answer = number[0] if number else str(rng.randrange(2, 100))
    return _add_tags(_add_label(_shorten(answer, request), request, rng), request, rng)


def _shorten(answer: str, request: Request) -> str:
    """Return as many of the words or sentences of an answer as a prompt orders."""
    found = request.find(_LENGTH)
    if found is None:
        return answer
    number = read_number(found["number"])
    if found["unit"].lower() == "word":
        if len(answer.split()) <= number:
            return answer
        if number == 1:  # not one of the question
            asked = {*split_words(request.topic.said)}
            told = [word for word in list_content_words(answer, ENGLISH) if asked.isdisjoint(split_words(word))]
            return told[0] if told else answer.split()[0]
        return " ".join(answer.split()[:number]).rstrip(".,;:?!") + "." * (number > 1)
    return "".join(islice((each[0] for each in SENTENCE.finditer(answer)), number)).strip()


def _add_label(answer: str, request: Request, rng: Random) -> str:
    found = request.find(_ORDERED_LABEL)
    label = (found["quoted"] or found["bare"]).strip() if found else ""
    if found is None or f"{label}:" in answer:
        return answer
    if found["begin"]:
        return f"{label}: {answer}"
    first = SENTENCE.search(answer)
    value = first[0].strip() if first else answer
    if _NUMERIC_GAP.match(found.string, found.end()):
        number = _NUMBER.search(value)
        value = number[0] if number else str(rng.randrange(2, 100))
    return f"{label}: {value}" if value == answer else f"{answer}\n\n{label}: {value}"


def _add_tags(answer: str, request: Request, rng: Random) -> str:
    """Return an answer in the tags that a sentence orders, after thoughts in theirs.

    Tags that it only mentions order none.
    """
    orders = [order for order in (request.text, request.rules) if "<" in order]
    tags = (tag for order in orders for clause in _IN_TAGS.finditer(order) for tag in _TAG.finditer(clause[0]))
    names = [*dict.fromkeys(tag["name"] for tag in tags if tag["within"] or tag["closed"])]
    held = {each["name"] for order in orders for each in _HELD.finditer(order)}
    names = [name for name in names if name.lower() not in _HTML and name not in held]
    if not names or "<" in answer or "```" in answer:
        return answer
    thinking = [name for name in names if name.lower() in read_word_group("thinking_tags")]
    plain = [name for name in names if name not in thinking]
    plain = plain if len(plain) > 1 else [name for name in plain if name.lower() not in read_word_group("no_values")]
    wanted = infer_shape(dict.fromkeys(plain, "..."))["properties"]
    given, _ = find_mentions(_IN_TAGS.sub(" ", request.text)).assign(wanted, lambda *_: True)
    thoughts = Speaker(request.topic, rng).write_thoughts()
    texts = [next(thoughts) if name in thinking else str(given.get(name, answer)) for name in names]
    tail = f"\n{answer}" if names[-1] in thinking else ""  # nothing was said of the answer, which follows
    return "\n".join(f"<{name}>{text}</{name}>" for name, text in zip(names, texts, strict=True)) + tail


class Closing(Struct, frozen=True):
    """The call without the sentences that order a last word, that word if it is due, and whether it is all to say."""

    call: Call
    word: str = ""
    alone: bool = False

    def close(self, text: str) -> str:
        if not self.word or text.rstrip().endswith(self.word):
            return text
        return self.word if self.alone else f"{text.rstrip()}\n\n{self.word}"


def find_closing(call: Call) -> Closing:
    """Find `Reply TERMINATE when done` or `End with "over"` in instructions and the user's first and last messages."""
    found: list[tuple[re.Match[str], bool]] = []
    messages = [*call.messages]
    asked = [at for at, message in enumerate(messages) if message.role == "user"]
    ruling = [at for at, message in enumerate(messages) if message.role in RULING]
    for at in sorted({*ruling[:_MOST_RULING], *ruling[-_MOST_RULING:], *asked[:1], *asked[-1:]}):
        for order in _list_closings(cut_excerpt(messages[at].text)):
            found.append((order, at in asked[-1:]))
            messages[at] = replace(messages[at], text=messages[at].text.replace(order[0], " "))
    if not found:
        return Closing(call)
    order, by_user = found[-1]
    last = messages[-1]
    call = replace(call, messages=tuple(messages))
    approves = not order["ending"] and _APPROVING.search(order[0]) is not None
    is_all = any(_SAYS_ALL.search(each[0]) for each, _ in found)
    if not call.turn and (is_all or (approves and "feedback" in order[0])) and not by_user:
        return Closing(call)
    is_idle = last.role == "user" and read_word_group("going_on").issuperset(split_words(last.text[:_LONGEST_IDLE]))
    alone = approves or is_all or (bool(call.turn or by_user) and is_idle)
    return Closing(call, _find_last_word(order).strip(), alone)


@remember(64)  # instructions come again and again
def _list_closings(text: str) -> Sequence[re.Match[str]]:
    """Return the sentences of a text that order a last word."""
    orders = [order for each in _SENTENCE_WITH_QUOTES.findall(text) if (order := _CLOSING.fullmatch(each))]
    due = [each for each in orders if each["ending"] or WHEN_DONE.search(each[0].replace(_find_last_word(each), ""))]
    return [each for each in due if not _FAILING.search(each[0]) and not _ORDERED_LABEL.search(each[0])]


def _find_last_word(order: re.Match[str]) -> str:
    return order["quoted"] or order["bare"]


def remove_form(call: Call) -> Call:
    """Return the call without the user's sentences that only order a form: they ask for nothing and name no value."""
    names = [*(tool.name for tool in call.tools), "tool", "function"]
    messages = find_closing(call).call.messages
    texts = [_strip_form(each.text, names) if each.role == "user" else each.text for each in messages]
    kept = [text if _TWO_LETTERS.search(text) else old.text for text, old in zip(texts, call.messages, strict=True)]
    return replace(call, messages=tuple(replace(each, text=text) for each, text in zip(messages, kept, strict=True)))


def _strip_form(text: str, names: Sequence[str]) -> str:
    """Return a text without sentences that only order a form; if none is left, what follows the forms."""
    text = cut_manual(text)
    if _list_form_words().isdisjoint(_TOKEN.findall(text.lower())):
        return text
    rest = (
        _make_form_pattern()
        .sub(lambda found: found[0] if any(name in found[0] for name in names) else " ", text)
        .strip()
    )
    return rest if _TWO_LETTERS.search(rest) else _make_form_pattern().sub(r"\g<rest>", text)


@cache
def _list_form_words() -> frozenset[str]:
    return read_word_group("answering") | read_word_group("units") | {"keep", "be", "stay"}


@cache
def _make_form_pattern() -> re.Pattern[str]:
    """Return a pattern of sentences such as "Answer in one word", "Respond as JSON with ...", "Keep it short"."""
    group = {
        name: "|".join(sorted(read_word_group(name), key=lambda word: (-len(word), word)))
        for name in ("answering", "form_fillers", "forms", "choices", "units")
    }
    fillers = rf"(?:(?:{group['form_fillers']}|with|only|just|either|exactly|simply|strictly)\b[ :]+)*"
    counted = rf"{NUMBER}[ -](?:\w+ )?(?:{group['units']})\b"
    choice = rf"(?:{group['choices']})(?: or |/| ?\| ?|, ?)(?:{group['choices']})\b"
    form = rf"(?:{group['forms']})\b(?! (?:of|for|files?)\b)"
    return re.compile(
        rf"(?i)(?:^|(?<=[.!?:;\n]))\s*(?:(?:and|then|please|but|finally|always|also)\b[ ,]*)*"
        rf"(?:(?:{group['answering']}) {fillers}(?:{form}|{choice}|{counted}|[{{<])"
        rf"|{fillers}{counted}(?=[^.!?\n]{{0,30}}(?:[.!?]|$))"
        r"|(?:keep|be|stay)\b[^.!?\n]{0,30}\b(?:short|brief|concise)\b)"
        r"(?P<rest>(?:\{[^{}]{0,2000}\}|\b(?:keys?|fields?|properties|format|schema|shape|like|options?):\s"
        r"|```[^`]{0,4000}```|[^.!?:;\n]|[.:](?=\S))*[.!?:;]*\s*)",
        re.MULTILINE,
    )


def cut_manual(text: str) -> str:
    """Return what stands before the manual of a coding agent, which has headings of its own and orders only forms."""
    manual = _MANUAL.search(text)
    return text[: manual.start()] if manual else text


_LENGTH = compile_lazily(
    r"(?i)\b(?:in|with|under|exactly|most|than|max|within|to|an?|only|write|give|concise,|short,|brief,) "
    r"(?:\d{1,2} ?(?:-|–|to) ?)?"
    rf"(?P<number>(?!an? (?!single\b)){NUMBER})[ -](?:(?:short|single|brief|complete) )?"
    r"(?P<unit>word(?!s? (?:of|for|problem|count)\b)|sentence)s?\b"
)
_POINTS = compile_lazily(rf"(?i)\b(?P<number>{NUMBER})[ -](?:\w+[ -])?(?:bullets?|points|items)\b")
_ONE_TEXT = compile_lazily(
    r"\b(?:write|create|make|produce|generate|tell)\b(?: me)? (?:an?|my|our) (?!(?:\w+ )?(?:list|set|table|outline"
    r"|plan|number)\b)"
)
_COUNTED = compile_lazily(
    r"\b(?:list|give|name|write|suggest|provide|tell|show|generate|create|brainstorm|what are|top|come up with|propose"
    r"|set ?up|make|produce|rewrite|rephrase|paraphrase|break|split|extract)\b[^.?!\n]{0,60}?\b"
    rf"(?P<number>(?!(?:a|an|one|single)\b){NUMBER})\s+"
    r"(?:(?:of the|(?!(?:of|in|to|and|or|for|from)\b)[a-z-]{2,20})\s+){0,3}?(?P<noun>(?:[a-z]+-)?[a-z]{2,30}s|people)\b"
)
_LIST = compile_lazily(
    r"\b(?:bullet(?:ed)? (?:points?|list)|bullets\b|numbered (?:list|steps)|an? (?:short )?list of"
    r"|(?:as a (?:numbered )?|in a |comma[- ]separated )list|step[- ]by[- ]step (?!in)|checklist)\b"
    r"|^\s*(?:please )?list\b"
)
_LISTED = compile_lazily(r"(?i)(?P<bullets>\bbullet(?:s|ed)?\b|\bmarkdown list\b)|(?<!in )\ba numbered list\b")
_EXTRACTED = compile_lazily(r"\bextract (?:all |any )?(?:of )?(?:the )?(?P<noun>(?:[a-z]+ )?[a-z]{3,20}s)\b")
_LONGEST_TITLE = 5  # words
_TITLE = compile_lazily(
    r"(?i)\b(?:generate|create|write|give|provide|suggest|make|come up with)\b[^.\n]{0,60}"
    r"\b(?:title|headline|commit message)\b(?! (?:and|of|case)\b)"
)
_LONGEST_SUMMARY = 2  # sentences
_FEW_WORDS = 2  # with which nothing is told
_SUMMARY = compile_lazily(
    r"(?i)(?:(?:^|[.!?:\n]\s*|\b(?:please|you|is to|must|should|will)\s)summari[sz]e\b|\btl;?dr\b|(?<!not )"
    r"\b(?:generate|create|write|give|provide|produce|make)\b[^.\n]{0,40}\bsummary\b)(?P<of>[^.\n]{0,40}?\b(?:texts?|documents?"
    r"|articles?|messages?|conversations?|transcripts?|emails?|passages?|content|input|following|user)\b)?"
)
_MOST_MATERIAL = 4_000  # characters
_MATERIAL = compile_lazily(
    r"-{8,}\n((?:(?!-{8})[^\n]*\n){1,40})-{8,}|"
    r"[:：][ \t]*\n?[\"'“]?([^\s:\"'“”][^:：\n]{0,2000}?)[\"'”]?(?:\s+[A-Z][\w ()]{0,40}:)?\s*\Z"
    r"|\n\n([^\n]{2,2000})\s*\Z|[\"“]([^\"“”\n]{2,2000})[\"”]"
)
_SEPARATED = compile_lazily(
    r"(?i)\b(?:separated|delimited)\s+(?:by|with)\s+(?:an?\s+|single\s+)*(?:new ?lines?|line breaks?"
    r"|(?P<commas>commas?))|\b(?:newline|(?P<comma>comma))[- ]separated\b|\b(?:one|each|every one)(?: \w+)? (?:per line"
    r"|(?:on|in) (?:a|its|their) (?:new|own|separate) line)\b"
)
_NUMBER_ALONE = compile_lazily(
    r"(?i)\b(?:only|just|nothing but)\b[^.,\n]{0,30}\b(?:number|digits?|integer)\b(?! of)"
    r"|\b(?:numbers?|digits?|integers?) only\b"
    r"|\b(?:as|with) (?:a|one) (?:single )?(?:number|integer)\b(?! (?:of|from|between))"
)
_MOST_AROUND_NUMBER = 4  # words with which a number is no prose
_NUMBER = compile_lazily(r"(?:(?<!\w)-)?\d+(?:[.,]\d+)*")
_NUMERIC_GAP = compile_lazily(r"\s?[<\[{]?(?:(?:the|a|your|final) )?(?:number|score|rating|integer|value|result|\d)")
_ORDERED_LABEL = compile_lazily(
    r"\b(?i:(?P<begin>begin|start|prefix)|end|finish|conclude|put|write|give|report|state|provide|be)\b"
    r"(?:[^\n]{0,80}?\b(?i:with|behind|template|form|format|line|by|as)\b)?(?i:\s+(?:the|a|line|words?|label|phrase"
    r"|following)\b)*"
    r":?\s*(?:[\"'`“*]{1,2}(?P<quoted>[A-Za-z][\w ]{0,30}):(?:[\"'`”*]|\s?(?:[<\[{$]|[XYZ]\b|\.\.|…|_))"
    r"|(?P<bare>(?!JSON|XML|NOTE)[A-Z][A-Z ]{2,30}(?=:)|[A-Z]\w{2,20}(?=: ?\$)):)"
)
_HTML = make_vocabulary("div span p b i a br ul li h1 h2 h3 html table td tr code script button")
_TAG = compile_lazily(
    r"(?i)(?P<within>(?:\b(?:in|into|inside|within|between|and|tags|elements)|,)\s[`'\"]?)?<(?P<name>[a-z][\w-]{0,30})>"
    r"(?P<closed>[\s.…]{0,9}(?:and\s+)?</|[`'\"]?\s+(?:xml\s+)?(?:tags?|blocks?)\b)?"
)
_HELD = compile_lazily(  # what the prompt itself has in tags, and not a gap
    r"(?m)^<(?P<name>[A-Za-z][\w-]{0,30})>\n(?![\W\d]|(?i:your|the|an?)\b)[^<>\n]{20,}\n(?:[^<]{0,2000})</(?P=name)>"
)
_IN_TAGS = compile_lazily(
    r"(?i)(?:^|[.!?:;,>\n]\s{0,3}|\b(?:you|must|should|please|always|then|and|first|to)\s)(?:-\s)?(?:first\s|then\s)?"
    r"(?:answer|respond|reply|output|return|put|wrap|enclose|extract|provide|place|write|give|think|reason|plan"
    r"|use(?! the\b)|begin|start)\b[^.!?\n<]{0,80}<[a-z][\w-]{0,30}>(?:[^.!?\n]|\.{3}){0,200}"
)
_LONGEST_IDLE = 200  # characters of a message that only asks to go on
_MOST_RULING = 5  # instructions that are read at the beginning, and at the end
_SENTENCE_WITH_QUOTES = compile_lazily(r"(?:[^.!?\n]|[.!?](?=[\"'`”’*])){1,1000}[.!?]?")
_CLOSING = compile_lazily(
    r"""(?x)[^\n]*?\b(?:(?i:(?P<ending>end|finish|conclude|close|sign[ ]off)(?:\s+\w+){0,4}?\s+(?:with|by\s\w{3,9}ing))
    |(?i:repl(?:y|ying)|respond|say|answer|output|print|writ(?:e|ing)|return|send|add|append|includ(?:e|ing)
    |use)(?:ing)?)
    (?i:\s+(?:with|back|only|just|exactly|simply|the|a|an|single|word|words|keyword|phrase|token|string|message|text
    |marker|line|saying|out)\b){0,5}\s*[:,]?\s*
    (?:(?:["'`“‘*]{1,2})(?P<quoted>[^"'`”’*\n]{0,60}[^\W\d_][^"'`”’*\n]{0,60})["'`”’*]{1,2}
    |(?P<bare>(?!(?:JSON|XML|HTML|SQL|CSV|YAML|URL|API)\b)[A-Z][A-Z0-9_]{2,40}\b|<[\w|/-]{2,30}>))[^\n]*"""
)
_DONE = (
    r"(?:done|ready|finish\w*|complet\w*|ends?|ended|solved|satisf\w*|resolved|over|addressed|approv\w*|good"
    r"|nothing (?:else|more|to \w+)|no (?:more|further|comments?|changes?|issues))"
)
WHEN_DONE = compile_lazily(
    r"(?i)\b(?:after|once) (?:you(?:'ve| have)?|\w+ing)\b"
    rf"|\b(?:when|once|after|if|as soon as|until|unless|before)\b[^.\n]{{0,120}}?\b{_DONE}\b"
    r"|\b(?:in|at) the (?:very )?end\b|\bto (?:end|signal|indicate|finish)\b|\b(?:last|final) (?:line|message|word)\b"
)
_FAILING = compile_lazily(
    r"(?i)\b(?:when|once|if)\b[^,.\n]{0,80}?\b(?:not|cannot|can't|unable|don't|isn't|fails?|insufficient"
    r"|(?:user|customer|human) (?:says?|asks?|wants?))\b"
)
_APPROVING = compile_lazily(
    r"(?i)\b(?:feedbacks?|nothing to \w+|no (?:comments?|changes?|issues)|satisf\w+|approv\w+|addressed|good)\b"
)
_SAYS_ALL = compile_lazily(
    r"(?i)\b(?:only (?:reply|respond|say|answer|output|send)|(?:reply|respond|answer) with (?:only )?a single word)\b"
)
_TWO_LETTERS = compile_lazily(r"[^\W_]{2}")
_TOKEN = compile_lazily(r"[\w'-]+|[^\w\s]")


# Forms to fill in


@remember(64)  # instructions come again and again
def find_form(text: str) -> DescribedShape | None:
    """Return the form that a text orders, such as `name|age`, `Name: <name>`, `<a>what it holds</a>` or YAML."""
    if (in_yaml := _find_yaml(text)) is not None:
        return in_yaml
    if (cue := _SHOWING.search(text)) and (shown := _ELEMENTS.match(text, cue.end())):
        notes = {leaf["name"]: " ".join(leaf["note"].split()) for leaf in _LEAF.finditer(shown[0])}
        blank = _LEAF.sub(r"<\g<name>>\0</\g<name>>", shown[0].strip())
        return _describe(blank, [*notes], text=text[: cue.start()] + text[shown.end() :], notes=notes)
    found = _FORM.search(text)
    form = next(filter(None, found.groups()), "").rstrip(" .") if found else ""
    if found is None or "://" in form:
        return None
    gap = _PLACEHOLDER if _PLACEHOLDER.search(form) else _FIELD
    names = [name[0].strip("<>{}[] ") for name in gap.finditer(form)]
    rest = text[: found.start()] + text[found.end() :]
    return _describe(gap.sub("\0", form), names, rest) if len(names) > 1 else None


def _find_yaml(text: str) -> DescribedShape | None:
    """Return the last example in YAML that a text shows as the format of the answer."""
    shown = [*islice(_YAML.finditer(text), _MOST_EXAMPLES)] if "```y" in text else []
    if not shown:
        return None
    from mockserver.config.yaml_reader import parse  # few prompts need it

    for found in reversed(shown):
        read = parse(found["shown"])
        if isinstance(read.data, Mapping) and read.data and not read.problems:
            return DescribedShape(infer_shape(read.data), text[: found.start()] + text[found.end() :], _write_yaml)
    return None


def _write_yaml(value: Json) -> str:
    """Return a table as lines; what is in it as JSON, which is YAML, too."""
    members = value.items() if isinstance(value, Mapping) else ()
    lines = "".join(f"{name}: {compact(inner)}\n" for name, inner in members)
    return f"```yaml\n{lines}```"


def _describe(blank: str, names: Sequence[str], text: str, notes: Mapping[str, str] = {}) -> DescribedShape | None:
    """Return a form with a zero byte for each gap; options that the text lists are those of the first free gap."""
    if blank.count("\0") != len(names) or not names:
        return None
    listed = next(iter(list_options(text)), None)
    options, rest = (listed.names, text[: listed.start] + " " + text[listed.end :]) if listed else ([], text)
    wanted = infer_shape({name: notes.get(name, "...") for name in names})["properties"]
    thoughts = read_word_group("thinking_tags")
    free = [name for name in names if wanted[name] == {"type": "string"} and name.lower() not in thoughts]
    wanted |= {name: {"type": "string", "enum": options} for name in free[: bool(options)]}

    def write(value: Json) -> str:
        gaps = (value[name] for name in names)
        return re.sub("\0", lambda _: each if isinstance(each := next(gaps), str) else compact(each), blank)

    return DescribedShape(make_record_schema(wanted), rest, write)


_MOST_EXAMPLES = 8
_MANUAL = compile_lazily(
    r"(?<=\n)#{1,3} [^\n]{0,40}\b(?i:workflow|rules|instructions|guidelines|requirements|format|boundaries)\b"
    r"[^\n]{0,40}\n"
)
_YAML = compile_lazily(  # Return your response in this format:
    r"(?i)\b(?:format|return|output|respond|answer|reply|structure|as shown|like this)\b[^`]{0,200}:\s*```ya?ml\n"
    r"(?P<shown>(?:[^`]|`(?!``)){1,4000})```"
)
_SHOWING = compile_lazily(
    r"(?i)\b(?:format|structure|template|like this|as follows)\b[^\n<]{0,60}:?[ \t]*\n\s*(?=<[a-z][\w-]{0,30}>)"
)
_ELEMENTS = compile_lazily(r"(?s)(?:<(?P<name>[A-Za-z][\w-]{0,30})>.{0,2000}?</(?P=name)>\s*){1,12}")
_LEAF = compile_lazily(r"<(?P<name>[A-Za-z][\w-]{0,30})>(?P<note>[^<>]{0,500})</(?P=name)>")
_PLACEHOLDER = compile_lazily(r"<[^<>\n]{1,60}>|\{[\w ]{1,60}\}|\[[\w ]{1,60}\]")
_FIELD = compile_lazily(r"[A-Za-z][\w -]{0,30}(?=\s?[|;/]|$)")
_FORM = compile_lazily(
    r"(?i)\b(?:format|form|template|pattern)\b(?: of| is| like)?\s?(?:[:=]\s?)?(?:\"([^\"\n]{3,200})\""
    r"|'([^'\n]{3,200})'|`([^`\n]{3,200})`|(?<=[:=] )([\w-]{2,30}(?:\s?[|;/]\s?[\w-]{2,30}){1,6})(?=[.\s]|$)"
    r"|(?<=[:=] )([^\n]{0,60}<[^\n]{1,200})|(?<=:\n)((?:[^\n]{0,60}(?:<[^<>\n]{1,60}>|\[[\w ]{1,60}\])[^\n]{0,60}(?:\n"
    r"|$)){1,12}))"
)
