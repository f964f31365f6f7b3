"""Answers in the format that a prompt orders: exact words, an option, a sum, a rating, a list, a number of words.

Each format is a function that returns None if the prompt does not order it.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice

from mockserver.core.seed import Random
from mockserver.model.fillers import english, note, pick
from mockserver.model.prose.generators import blank, sentences
from mockserver.model.prose.topic import ENGLISH, Topic, requested_language
from mockserver.model.schema.scalars import known_text
from mockserver.model.vocabulary import excerpt, singular


def computed(text: str, *, bare: bool) -> str | None:
    text = text[:4000]
    for words, signs in _SPOKEN:
        text = words.sub(signs, text)
    found = next((found for found in _SUM.finditer(text) if _is_question(text, found)), None)
    if found is None:
        return None
    try:
        result = _shown(_value(ast.parse(_SUPERFLUOUS.sub("", found[0]).strip(), mode="eval")))
    except ZeroDivisionError:
        return "That cannot be computed: it divides by zero."
    except (SyntaxError, ValueError):
        return None
    return result if bare else f"{_PERCENT.sub('% of ', ' '.join(found[0].split()))} = {result}"


def _is_question(text: str, found: re.Match[str]) -> bool:
    """Whether a sum is the question, and not a date or a number of some thing."""
    before, behind = text[max(0, found.start() - 40) : found.start()], text[found.end() : found.end() + 3]
    alone = not before.strip() and not behind.strip(" =?.\n")
    if alone or _CUE.search(before) or behind.lstrip().startswith("="):
        return True
    return behind.lstrip().startswith(("?", "？", "؟")) and _SPACED.search(found[0]) is not None  # but not `on 5/12?`


def _value(node: ast.AST) -> Fraction:
    match node:
        case ast.Expression(body=body):
            return _value(body)
        case ast.Constant(value=int() | float() as number):
            return Fraction(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left), _value(right))
    raise ValueError(ast.dump(node))


def _shown(result: Fraction) -> str:
    if result.denominator == 1:
        return str(result.numerator)
    scaled = round(result * 10**10)
    whole, part = divmod(abs(scaled), 10**10)
    return ("-" if scaled < 0 else "") + f"{whole}.{part:010d}".rstrip("0").rstrip(".")


_OPERATORS: Mapping[type, Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_ONE = r"(\d{1,15}(?:\.\d{1,10})?)"
_PERCENTAGE = r"(?:%|per ?cent(?:age)?\b)"
_PERCENT = re.compile(r" / 100 \* ")
_TWO = r"(-?[\d.]{1,20}) (?:and|to|by|with|from) (-?[\d.]{1,20}\b)"
_SPOKEN = tuple(
    (re.compile(f"(?i){words}"), signs)
    for words, signs in (
        (r"(?<=\d)\s+(?:plus|added to)\s+(?=[-\d(])", " + "),
        (r"(?<=\d)\s+(?:minus)\s+(?=[-\d(])", " - "),
        (r"(?<=\d)\s+(?:times|multiplied by|x)\s+(?=[-\d(])|(?<=\d)\s?×\s?(?=[-\d(])|(?<=\d)x(?=\d)", " * "),
        (r"(?<=\d)\s+(?:divided by|over)\s+(?=[-\d(])|(?<=\d)\s?÷\s?(?=[-\d(])", " / "),
        (rf"\bwhat {_PERCENTAGE} of {_ONE} is {_ONE}", r"what is \2 / \1 * 100"),
        (rf"\b(?:increase|raise) {_ONE} by {_ONE}\s?{_PERCENTAGE}", r"what is \1 * (100 + \2) / 100"),
        (rf"\b(?:decrease|reduce|lower|discount) {_ONE} by {_ONE}\s?{_PERCENTAGE}", r"what is \1 * (100 - \2) / 100"),
        (rf"{_ONE}\s?{_PERCENTAGE} off (?:of )?[$€£]?{_ONE}", r"what is \2 * (100 - \1) / 100"),
        (rf"(?<=\d)\s?{_PERCENTAGE} (?:[a-z]{{2,12}} )?(?:of|on) (?:a )?[$€£]?(?=\d)", " / 100 * "),
        (rf"\b(?:add|(?:the )?sum of) {_TWO}", r"what is \1 + \2"),
        (rf"\b(?:multiply|(?:the )?product of) {_TWO}", r"what is \1 * \2"),
        (rf"\bdivide {_TWO}", r"what is \1 / \2"),
        (rf"\bsubtract {_TWO}", r"what is \2 - \1"),
        ("−", "-"),
    )
)
_NUMERAL = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,10})?(?![\d,])|\d{1,20}(?:\.\d{1,10})?"
_SUM = re.compile(
    rf"(?<![\w.])[-( ]{{0,8}}(?:{_NUMERAL})(?:[ )]{{0,8}}[-+*/][-( ]{{0,8}}(?:{_NUMERAL})"
    rf"){{1,20}}[ )]{{0,8}}(?![\w/-])"
)
_SUPERFLUOUS = re.compile(r",|(?<![\d.,])0+(?=\d)")
_SPACED = re.compile(r"[+*]|\s[-/]\s")
_CUE = re.compile(
    r"(?i)(?:what(?:'s| is| are| does)|how much is|calculate|compute|evaluate|solve|result of|value of|"
    r"work out|equals?|math:?|simplify|sum:?)\s*:?\s*(?:an?\s|the\s)?$"
)


@dataclass(frozen=True, slots=True)
class FormatRequest:
    """The last user message, the system prompt and the topic: what may order a format."""

    text: str
    rules: str
    topic: Topic

    def matches(self, pattern: re.Pattern[str]) -> bool:
        return pattern.search(self.text) is not None or pattern.search(self.rules) is not None


FormatWriter = Callable[[FormatRequest, Random], str | None]


def in_format(topic: Topic, rules: str, rng: Random) -> str | None:
    return _first((greeted, dictated, summed, chosen, rated), topic, rules, rng)


def of_length(topic: Topic, rules: str, rng: Random) -> str | None:
    return _first((listed, measured), topic, rules, rng)


def _first(formats: tuple[FormatWriter, ...], topic: Topic, rules: str, rng: Random) -> str | None:
    request = FormatRequest(topic.text, excerpt(rules), topic)
    words = trigger_words(request.text) | (trigger_words(request.rules) & word_set("of_rules"))
    if topic.language != ENGLISH:
        words |= {"choices", "+"}  # the words with which other languages choose and add are not listed
    for make in formats:
        if not word_set(make.__name__).isdisjoint(words) and (made := make(request, rng)) is not None:
            return made
    return None


@lru_cache(maxsize=256)
def trigger_words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+|[0-9]|[-+*/=÷×](?= ?[0-9(])|%", text.lower()))


def in_tags(text: str, orders: Iterable[str]) -> str:
    """Return the text in the tags that one of the orders wants."""
    tags = [found["name"] for order in orders for found in _TAGS.finditer(order)]
    if not tags or "<" in text or "```" in text:
        return text
    return f"<{tags[-1]}>{text}</{tags[-1]}>"  # what is thought aloud comes first, the answer last


@cache
def word_set(name: str) -> frozenset[str]:
    return frozenset(english(name, "formats"))


def greeted(request: FormatRequest, rng: Random) -> str | None:
    greetings = english("greetings")
    return greetings[rng.randrange(len(greetings))] if _GREETING.fullmatch(request.text[:80]) else None


_GREETING = re.compile(
    r"(?i)\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day))(?:[\s,]+\w+)?"
    r"(?:\W+how(?:'s| is| are) (?:you|it going)(?: today| doing)?)?\W*"
)


def dictated(request: FormatRequest, rng: Random) -> str | None:
    """The exact words that are ordered: `say hello`, `reply with exactly: OK`, `repeat after me ...`."""
    of_rules = filter(_is_word_for_word, _ORDER.finditer(request.rules))
    ordered = next((found for found in of_rules if not _CONDITION.search(_before(request.rules, found))), None)
    if ordered is None or not (ordered["quoted"] or "exactly" in ordered[0].lower()):
        ordered = next(filter(_is_word_for_word, _ORDER.finditer(request.text)), None)
    if ordered is None or requested_language(ordered[0]) not in (None, ENGLISH):
        return None
    if ordered["quoted"] is not None:
        return str(ordered["quoted"][1:-1].strip())
    what = _NOTHING_ELSE.split(ordered["what"], maxsplit=1)[0].strip()
    if not ordered[0].removesuffix(ordered["what"]).rstrip().endswith(":"):
        what = _MANNER.sub("", what).strip(" ,") or what
    return what[:-1] if what.endswith(".") and not what.endswith("..") else what


def _before(text: str, found: re.Match[str]) -> str:
    return text[max(0, found.start() - 200) : found.start()]


def _is_word_for_word(ordered: re.Match[str]) -> bool:
    """Whether an order gives the exact words, and not what they should be about or look like."""
    if ordered["quoted"] is not None:
        return True
    first = (re.match(r"[^\s,.!?:]+", ordered["what"]) or [""])[0].lower()
    if (
        not re.search(r"[^\W_]", ordered["what"])
        or first in word_set("describing")
        or _DESCRIBED.match(ordered["what"])
        or (":" not in ordered[0] and _SEVERAL.match(ordered["what"]))
    ):
        return False
    is_saying = ordered["verb"].lower() in ("say", "repeat", "echo")
    return is_saying or bool(_EXACT.search(f"{ordered['before'] or ''} {ordered['how'] or ''}"))


_QUOTED = (
    r"\"[^\"\n]{1,2000}\"|“[^”\n]{1,2000}”|«[^»\n]{1,2000}»|`[^`\n]{1,2000}`|"
    r"'[^'\n]{1,2000}'(?!\w)|‘[^’\n]{1,2000}’(?!\w)"
)
_ORDER = re.compile(
    rf"""(?imx)(?:^|(?<=[.!?:;,])|\b(?:please|just|now|only|simply|always|must|then|to|you|and|should))[ \t]*
    (?P<before>(?:(?:please|just|now|only|simply|always|exactly)[ \t]+){{0,3}})
    \b(?P<verb>say|repeat|echo|reply|respond|answer|output|print|return|write|type)\b
    (?P<how>(?:[ \t]+(?:exactly|only|just|simply|verbatim|with|back|after[ ]me|this[ ]exact|the[ ]exact|exact|
    the[ ]following|following|to[ ]me|(?:the[ ]|this[ ]|one[ ])?(?:single[ ]|one[ ]|exact[ ])?(?:word|text|phrase|
    string|sentence|words|message|number|letters?|line|token)|saying|this(?=[ \t]*:)|by[ ]saying)\b){{0,6}})
    [ \t]*[:,]?\s*(?:(?P<quoted>{_QUOTED})|(?P<what>[^\s\"“«`][^\n]{{0,2000}}))"""
)
_EXACT = re.compile(
    r"(?i)\b(?:exactly|only|just|simply|verbatim|exact|the following|word|text|phrase|string|saying|this|number|"
    r"letters?)\b"
)
_DESCRIBED = re.compile(r"(?i)\S+(?: or |/)\S+[\s.!?]*$")
_CONDITION = re.compile(r"(?i)\b(?:if|when|whenever|unless|in case|otherwise|once|until)\b[^.!?\n]*\Z")
# How something is to be said, after what is to be said.
_MANNER = re.compile(
    r"(?i)(?:[\s,]++(?>(?:very |more |as )?(?!(?:fami|rep|app|supp|ju|ita|emi|assemb|butterf|dai|week|month|ug|love|"
    r"ear|on|ho|be|je)ly)\w{2,20}ly\b(?:\sto\s[\w ]{2,30})?|(?:in|using|with|as)\s[^.!?\n]{0,40}?\b(?:words?|"
    r"sentences?|lines?|tone|voice|way|manner|style|caps|(?:upper|lower)-?\s?case|capitals|capital letters|punctuation|"
    r"emojis?|characters|letters)\b|like an?\s[\w ]{2,30}|(?:as|if) you[^.!?\n]{0,40})){1,3}[.!?]?$"
)
_NOTHING_ELSE = re.compile(
    r"(?i)(?<=[.!?])\s|,? and (?:nothing|say nothing|do nothing|stop|no)\b|,? nothing (?:else|more)\b|,? without\b|"
    r"\s\(|,? only\b[.!]?$|,? please\b"
)


def chosen(request: FormatRequest, rng: Random) -> str | None:
    """One of the options that the prompt or the rules allow: the one that the rest of the prompt names, if it does."""
    for text in (request.text, request.rules):
        marks: list[str] = list(dict.fromkeys(re.findall(r"\[\[\w{1,20}\]\]", text)))
        if len(marks) > 1:
            return marks[rng.randrange(len(marks))]
        options, rest = options_in(text)
        if options:
            return _picked(options, request.text if text is request.rules else rest, rng)
    lines = _LETTERED.findall(request.text)
    if len(lines) < 2:
        return None
    letter, line = lines[rng.randrange(len(lines))]
    return letter if request.matches(_LETTER_ALONE) else f"{letter}) {line.strip()}"


def _picked(options: list[str], spoken: str, rng: Random) -> str:
    words = set(re.findall(r"[\w+-]+", spoken.lower()))
    named = [option for option in options if option.lower() in words and option.lower() not in ("yes", "no")]
    return named[0] if len(named) == 1 else options[rng.randrange(len(options))]


def options_in(text: str) -> tuple[list[str], str]:
    for cue in _CUES:
        for found in cue.finditer(text):
            parts = [part.strip().strip(_AROUND).strip() for part in _SEPARATOR.split(found[1])]
            parts = [part for part in parts if part]
            if len(parts) > 1 and all(_LABEL.fullmatch(part) for part in parts):
                return parts, text[: found.start()] + " " + text[found.end() :]
    for found in _HEADED.finditer(text):
        lines = [line.group(1).strip().strip("\"'`*") for line in _BULLETS.finditer(found[1])]
        if len(lines) > 1:
            labels = [line.partition(":")[0].strip(" *\"'`") for line in lines]
            return labels, text[: found.start()] + " " + text[found.end() :]
    return [], text


_AROUND = "\"'`“”‘’「」『』*()[]<>."
_WORD = r"[\"'`“‘]?[\w+-]+[\"'`”’]?"
_WORDS = rf"{_WORD}(?:(?:\s*,\s*(?:or\s+|and\s+)?|\s*/\s*|\s*\|\s*|\s+or\s+){_WORD}){{1,30}}"
_ITEM = r"[\"'`“‘]?[\w+-]+(?: [\w+-]+){0,2}[\"'`”’]?"
_ITEMS = rf"{_ITEM}(?:(?:\s*,\s*(?:or\s+|and\s+)?|\s*[/|]\s*|\s+or\s+|\s+and\s+){_ITEM}){{1,30}}"
_YES, _NO = (rf"(?:\"(?:{words})\"|'(?:{words})'|(?:{words}))" for words in ("yes|true", "no|false"))
_CUES = tuple(
    re.compile(rf"(?i){cue}")
    for cue in (
        rf"\b(?:(?:choose|pick|select)(?: only| just| exactly)? (?:one|[^.\[:\n]{{1,60}}? (?:from|between))|"
        rf"one of|among|options|categories|labels|classes|choices|possible values|"
        rf"(?:label|category|class|sentiment) only)\b"
        rf"[^:\[\n]{{0,40}}(?::\s*[\[(]?|\[)\s*({_ITEMS})",
        r"((?<!\w)(?:ja|sí|si|oui|sim|да|はい|是|tak|evet|vâng|iya|네|예)[\"'”」』]?\s*"
        r"(?:oder|o|ou|of|lub|czy|veya|eller|или|または|还是|或|또는|、|/|,)\s*[\"'“「『]?"
        r"(?:nein|no|non|não|nee|nie|nej|hayır|нет|いいえ|否|不是|tidak|아니요|아니오)(?![\w]))",
        rf"\b(?:answer|reply|respond|return|output|say|choose|pick|select|write|print)\b(?: (?:with|only|just|either|"
        rf"exactly|simply|one of|in|using|between|the word|a|single|word)){{0,6}}:?\s+({_WORDS})"
        rf"(?=[\s.!?,)\"]*(?:$|\n|[.!?)]|and nothing|only|for|to|based|depending))",
        rf"\b(?:classify|categori[sz]e|label|tag|mark|rate)\b[^\n:]{{0,120}}?\b(?:as|into|either)\b"
        rf"(?: one of| either| the)?:?\s+({_WORDS})",
        rf"((?<![\w\"'-]){_YES}(?:\s*/\s*|\s*,?\s+or\s+|\s*\|\s*){_NO}(?![\w\"'-]))",
    )
)
_HEADED = re.compile(
    r"(?i)\b(?:options|categories|labels|classes|choices|participants|agents|roles|speakers|members|"
    r"one of(?: the following)?(?: \w+)?)[^\n:]{0,40}:[ \t]*\n"
    r"((?:[ \t]*(?:[-*•]|\d{1,2}[.)])[^\n]{1,120}(?:\n|$)){2,30})"
)
_BULLETS = re.compile(r"(?:[-*•]|\d{1,2}[.)])[ \t]*([^\n]+)")
_LETTERED = re.compile(r"(?m)^[ \t]*\(?([A-F])[).:][ \t]+([^\n]{1,200})$")
_LETTER_ALONE = re.compile(r"(?i)\bletters?\b")
_SEPARATOR = re.compile(
    r"(?i)\s*,\s*(?:or\s+|and\s+)?|\s*[/|、]\s*|\s+(?:or|and|oder|o|ou|of|lub|czy|veya|eller|или)\s+|または|还是|或|또는"
)
_LABEL = re.compile(r"[\w+-]+(?: [\w+-]+){0,3}")


def summed(request: FormatRequest, rng: Random) -> str | None:
    return computed(request.text, bare=request.matches(_BARE_RESULT))


def rated(request: FormatRequest, rng: Random) -> str | None:
    bounds = _BOUNDS.search(request.text) or _BOUNDS.search(request.rules)
    if bounds is None:
        return None
    low, high = sorted((int(bounds[1]), int(bounds[2])))
    return str(rng.randrange(low, high + 1))


_BARE_RESULT = re.compile(
    r"(?i)\b(?:only|just)\b[^.\n]{0,30}\b(?:number|result|answer|value|digits?|integer)\b|\bnumber only\b|"
    r"\bsingle number\b|\bno (?:explanation|words|text)\b"
)
_BOUNDS = re.compile(
    r"(?i)\b(?:(?:number|integer|score|rating|rate|rank|value|scale|grade)\b[^.\n]{0,80}?\b(?:between|from|of)\s+|"
    r"score\b[^.\n]{0,40}?\()(\d{1,6})\s*(?:and|to|-|–)\s*(\d{1,6})\b"
)


_ONE_TO_FIFTEEN = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_NUMBERS = {name: number for number, name in enumerate(_ONE_TO_FIFTEEN.split(), 1)}
_NUMBERS |= {"a": 1, "an": 1, "single": 1, "twenty": 20, "thirty": 30, "fifty": 50, "a hundred": 100, "hundred": 100}
_NUMBER = rf"(?:[0-9]{{1,4}}|{'|'.join(re.escape(name) for name in sorted(_NUMBERS, key=len, reverse=True))})"
_IN_A_ROW = re.compile(r"(?i)\bcomma[- ](?:separated|delimited)|separated by commas|\bin (?:one|a) line\b")


_SEVERAL = re.compile(rf"(?i){_NUMBER}[\s-]+[a-z]")


def number_of(word: str) -> int:
    return int(word) if word.isascii() and word.isdigit() else _NUMBERS[word.lower()]


def listed(request: FormatRequest, rng: Random) -> str | None:
    found = (found for found in _COUNTED.finditer(request.text) if found["noun"].lower() not in word_set("measures"))
    counted = next(found, None)
    if counted is None and not _LIST.search(request.text) and not _BULLETED.search(request.rules):
        return None
    points = counted or _POINTS.search(request.text) or _POINTS.search(request.rules)
    number = min(number_of(points["number"]) or 1, 50) if points else rng.randrange(3, 6)
    items = _items(counted["noun"].lower() if counted else "", number, rng)
    if request.matches(_IN_A_ROW):
        return ", ".join(item.partition(":")[0] for item in items)
    bulleted = request.matches(_BULLETED)
    return "\n".join(f"- {item}" if bulleted else f"{at}. {item}" for at, item in enumerate(items, 1))


def _items(noun: str, number: int, rng: Random) -> list[str]:
    if not noun or noun in word_set("points"):
        aspects = rng.sample(english("aspects"), min(number, len(english("aspects"))))
        items = [f"{aspect.capitalize()}: {note(rng)}" for aspect in aspects]
        return items + [f"Point {at}: {note(rng)}" for at in range(len(items) + 1, number + 1)]
    thing = noun[:-1] if noun in word_set("ending_in_ie") else singular(noun)
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


_COUNTED = re.compile(
    rf"""(?ix)\b(?:list|give|name|write|suggest|provide|tell|show|generate|create|brainstorm|find|what\ are|what're|
    top|best|come\ up\ with|recommend|mention|share|propose|return|output|identify|make|produce|outline|think\ of|state|
    describe|explain|which|need|want|offer)\b[^.?!\n]{{0,40}}?\b(?P<number>(?!(?:a|an|one|single)\b){_NUMBER})\s+
    (?:(?:different|simple|good|great|main|key|short|best|top|new|creative|common|popular|important|interesting|
    possible|random|quick|unique|more|other|of\ the|the|most|bullet|numbered|concise|famous|fun|practical)\s+){{0,3}}
    (?P<noun>[a-z][a-z-]{{2,30}}s|people|children|fish)\b"""
)
_LIST = re.compile(
    r"(?i)\b(?:bullet(?:ed)? (?:points?|list)|bullets\b|numbered list|an? (?:short |brief )?list of|as a list|"
    r"in a list|list form|step[- ]by[- ]step|shopping list|checklist|to-?do list|comma[- ]separated(?: list)?)\b|"
    r"^\s*(?:please )?list\b"
)
_POINTS = re.compile(
    rf"(?i)\b(?P<number>{_NUMBER})\s+(?:[a-z]+\s+){{0,2}}?(?:bullet(?:[- ]points?|s|ed)?|points|items)\b"
)
_BULLETED = re.compile(r"(?i)\bbullet(?:s|ed)?\b")


def measured(request: FormatRequest, rng: Random) -> str | None:
    if request.matches(_ONE_WORD):
        proper = [word for word in request.topic.words if word[:1].isupper()]
        return pick(proper or english("aspects"), rng).capitalize()
    for order in (request.text, request.rules):
        if number := _number(_IN_SENTENCES, order):
            return _joined(request, rng, min(number, 50))
        if number := _number(_IN_PARAGRAPHS, order):
            lengths = ((at, rng.randrange(3, 5)) for at in range(min(number, 20)))
            return "\n\n".join(_joined(request, rng, length, opened=not at) for at, length in lengths)
        if number := _number(_IN_WORDS, order):
            fewer = _FEWER.search(order) is not None
            return _in_words(request, rng, min(number - fewer, 3000))
    return None


def shortened(text: str, *orders: str) -> str:
    """Return the first words of what a result says, if an order allows so few."""
    most = next((1 if _ONE_WORD.search(order) else _number(_IN_WORDS, order) for order in orders if "word" in order), 0)
    words = (text.partition(": ")[2] or text).split() if 0 < most < len(text.split()) else []
    return " ".join(words[:most]).rstrip(".,;:") or text


def _joined(request: FormatRequest, rng: Random, number: int, *, opened: bool = True) -> str:
    return blank(request.topic).join(islice(sentences(request.topic, rng, opened=opened), number))


def _in_words(request: FormatRequest, rng: Random, number: int) -> str:
    """A number of words, less one or two that would begin another sentence."""
    words = (word for sentence in sentences(request.topic, rng) for word in sentence.split())
    taken = list(islice(words, number))
    exactly = request.matches(_EXACTLY)
    loose = 0 if exactly else next((at for at in (1, 2) if at < len(taken) and taken[-at - 1].endswith(".")), 0)
    return " ".join(taken[: len(taken) - loose]).rstrip(".,;:?!") + "."


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return number_of(next(part for part in found.groups() if part)) if found else 0


_EXACTLY = re.compile(r"(?i)\bexactly\b")
_ONE_WORD = re.compile(
    r"(?i)\b(?:(?:in|with|using|use|only|just|answer|reply|respond|output|return)(?: exactly| only| just| with)*\s+"
    r"(?:one|a single|1|a one)[- ]word\b|one[- ]word (?:answer|reply|response)|single[- ]word)"
)
_ABOUT = (
    r"(?:exactly|about|around|at most|only|just|no more than|under|less than|fewer than|up to|max(?:imum)?(?: of)?|"
    r"within|approximately|roughly)?\s*"
)
_FEWER = re.compile(r"(?i)\b(?:(?:fewer|less) than|under)\b")
_IN_SENTENCES = re.compile(
    rf"(?i)\b(?:in|with|write|use|using|give(?: me)?|say|answer|to|of|one)\s+{_ABOUT}"
    rf"(?:a |an )?({_NUMBER})[- ](?:\w+ )?sentences?\b|\b({_NUMBER})[- ]sentence\b|"
    r"\b(a) (?:short |brief |single )?sentence\b"
)
_IN_PARAGRAPHS = re.compile(rf"(?i)\b({_NUMBER})[- ](?:(?!words?\b|sentences?\b|lines?\b)\w+ )?paragraphs?\b")
_IN_WORDS = re.compile(
    rf"(?i)\b(?:in|with|write|use|using|of|about|to|than|give(?: me)?)\s+{_ABOUT}((?!(?:an?|one)\b){_NUMBER}) words\b|"
    rf"\b((?!(?:an?|one)\b){_NUMBER})[- ]words?\b(?! (?:answer|reply))"
)

_TAGS = re.compile(
    r"(?i)\b(?:answer|respond|response|reply|output|return|put|wrap|enclose|provide|place|write|give)\b[^.\n]{0,60}?"
    r"\b(?:in|inside|within|between|with|using)\s+(?:the\s+|these\s+|an?\s+)?"
    r"[`'\"]?<(?P<name>[a-z][\w-]{0,30})>(?:[\s.…]{0,9}</(?P=name)>|[`'\"]?\s+(?:xml\s+)?tags?\b)"
)
