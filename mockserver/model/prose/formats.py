"""Answers in the format that a prompt orders: exact words, an option, a sum, a rating, a list, a number of words.

Each format is a function that returns None if the prompt does not order it.
"""

import ast
import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cache

from mockserver.core.lazy import lazy_pattern
from mockserver.core.seed import Random
from mockserver.model.fillers import english, word_lists
from mockserver.model.prose.form import NUMBER, Request, kind_of_writing, trigger_set, trigger_words
from mockserver.model.prose.topic import ENGLISH, SENTENCE, content_words, requested_language
from mockserver.model.vocabulary import singular, stem, truth, words


def computed(text: str, *, bare: bool) -> str | None:
    text = _as_signs(text[:4000])
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


def _as_signs(text: str) -> str:
    for spoken, signs in _spoken():
        text = spoken.sub(signs, text)
    return text


def _is_question(text: str, found: re.Match[str]) -> bool:
    """Whether a sum is the question, and not a date or a number of some thing."""
    before, behind = text[max(0, found.start() - 40) : found.start()], text[found.end() : found.end() + 8]
    alone = before.rstrip()[-1:] in ("", ".", "!", "?", ":") and not behind[:3].strip(" =?.\n")
    if alone or _CUE.search(before) or behind.lstrip().startswith(("=", "equals")):
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
_PERCENT = lazy_pattern(r" / 100 \* ")
_TWO = r"(-?[\d.]{1,20}) (?:and|to|by|with|from) (-?[\d.]{1,20}\b)"


@cache
def _spoken() -> tuple[tuple[re.Pattern[str], str], ...]:
    """What is said in words, and in signs."""
    table = (
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
        (r"(?<=\d) (?:is )?(?:greater|larger|bigger|more|higher) than (?=[-\d(])", " > "),
        (r"(?<=\d) (?:is )?(?:less|smaller|fewer|lower) than (?=[-\d(])", " < "),
        (r"(?<=\d) (?:is )?equals?(?: to)? (?=[-\d(])", " = "),
    )
    return tuple((re.compile(f"(?i){spoken}"), signs) for spoken, signs in table)


_NUMERAL = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,10})?(?![\d,])|\d{1,20}(?:\.\d{1,10})?"
_SUM = lazy_pattern(
    rf"(?<![\w.])[-( ]{{0,8}}(?:{_NUMERAL})(?:[ )]{{0,8}}[-+*/][-( ]{{0,8}}(?:{_NUMERAL})"
    rf"){{1,20}}[ )]{{0,8}}(?![\w/-])"
)
_SUPERFLUOUS = lazy_pattern(r",|(?<![\d.,])0+(?=\d)")
_OPERAND = rf"[-(]{{0,4}}(?:{_NUMERAL})(?:[ )]{{0,3}}[-+*/][-( ]{{0,3}}(?:{_NUMERAL})){{0,10}}[)]{{0,4}}"
_COMPARED = lazy_pattern(rf"(?i)({_OPERAND})\s*(==|!=|[<>]=|[<>=≠≤≥])\s*({_OPERAND})")
_COMPARISONS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    **dict.fromkeys(("=", "=="), operator.eq),
    **dict.fromkeys(("!=", "≠"), operator.ne),
    **dict.fromkeys((">=", "≥"), operator.ge),
    **dict.fromkeys(("<=", "≤"), operator.le),
    ">": operator.gt,
    "<": operator.lt,
}
_DENIAL = lazy_pattern(r"(?i)\b(?:not|no|never|none|cannot|\w+n't|false)\b")
_SPACED = lazy_pattern(r"[+*]|\s[-/]\s")
_CUE = lazy_pattern(
    r"(?i)(?:what(?:'s| is| are| does)|how much is|calculate|compute|evaluate|solve|result of|value of|"
    r"work out|equals?|math:?|simplify|sum:?)\s*:?\s*(?:an?\s|the\s)?$"
)


def in_format(request: Request, rng: Random) -> str | None:
    """Return what a prompt orders word for word, or the option, code or result that it asks for; None for nothing."""
    formats = (greeted, dictated, coded, chosen, summed, rated) if not request.found else (chosen,)
    triggers = trigger_words(request.text) | (trigger_words(request.rules) & trigger_set("of_rules"))
    if request.topic.language != ENGLISH:
        triggers |= {"choices", "+"}  # the words with which other languages choose and add are not listed
    for make in formats:
        if not trigger_set(make.__name__).isdisjoint(triggers) and (made := make(request, rng)) is not None:
            return made
    return None


def greeted(request: Request, rng: Random) -> str | None:
    greetings = english("greetings")
    return greetings[rng.randrange(len(greetings))] if is_greeting(request.text) else None


def is_greeting(text: str) -> bool:
    return _GREETING.fullmatch(text[:80]) is not None


_GREETING = lazy_pattern(
    r"(?i)\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day))(?:[\s,]+\w+)?"
    r"(?:\W+how(?:'s| is| are) (?:you|it going)(?: today| doing)?)?\W*"
)


def dictated(request: Request, rng: Random) -> str | None:
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
        not re.match(r"[^(<\[{]*[^\W_]", ordered["what"])
        or first in trigger_set("describing")
        or _DESCRIBED.match(ordered["what"])
        or (":" not in ordered[0] and _SEVERAL.match(ordered["what"]))
    ):
        return _WORD_ALONE.search(f"{ordered['how']} {ordered['what']}") is not None
    is_saying = ordered["verb"].lower() in ("say", "repeat", "echo")
    return is_saying or bool(_EXACT.search(f"{ordered['before'] or ''} {ordered['how'] or ''}"))


_QUOTED = (
    r"\"[^\"\n]{1,2000}\"|“[^”\n]{1,2000}”|«[^»\n]{1,2000}»|`[^`\n]{1,2000}`|"
    r"'[^'\n]{1,2000}'(?!\w)|‘[^’\n]{1,2000}’(?!\w)"
)
_ORDER = lazy_pattern(
    rf"""(?imx)(?:^|(?<=[.!?:;,])|\b(?:please|just|now|only|simply|always|must|then|to|you|and|should))[ \t]*
    (?P<before>(?:(?:please|just|now|only|simply|always|exactly)[ \t]+){{0,3}})
    \b(?P<verb>say|repeat|echo|reply|respond|answer|output|print|return|write|type)\b
    (?P<how>(?:[ \t]+(?:exactly|only|just|simply|nothing[ ]but|verbatim|with|back|
    after[ ]me|this[ ]exact|the[ ]exact|exact|
    the[ ]following|following|to[ ]me|(?:the[ ]|this[ ]|one[ ])?(?:single[ ]|one[ ]|exact[ ])?(?:word|text|phrase|
    string|sentence|words|message|number|letters?|line|token)|saying|this(?=[ \t]*:)|by[ ]saying)\b){{0,6}})
    [ \t]*[:,]?\s*(?:(?P<quoted>{_QUOTED})|(?P<what>[^\s\"“«`][^\n]{{0,2000}}))"""
)
_EXACT = lazy_pattern(
    r"(?i)\b(?:exactly|only|just|simply|nothing but|verbatim|exact|the following|word|text|phrase|string|saying|"
    r"this|number|"
    r"letters?)\b"
)
_WORD_ALONE = lazy_pattern(
    r"(?i)\bthe (?:single |exact |one )?(?:word|text) [^\s,.!?:]+(?:[.!?]+|\s+(?:and|only|alone)\b.*|\s*)\Z"
)
_SEVERAL = lazy_pattern(rf"(?i){NUMBER}[\s-]+[a-z]")
_DESCRIBED = lazy_pattern(r"(?i)\S+(?: or |/)\S+[\s.!?]*$")
_CONDITION = lazy_pattern(r"(?i)\b(?:if|when|whenever|unless|in case|otherwise|once|until)\b[^.!?\n]*\Z")
# How something is to be said, after what is to be said.
_MANNER = lazy_pattern(
    r"(?i)(?:[\s,]++(?>(?:very |more |as )?(?!(?:fami|rep|app|supp|ju|ita|emi|assemb|butterf|dai|week|month|ug|love|"
    r"ear|on|ho|be|je)ly)\w{2,20}ly\b(?:\sto\s[\w ]{2,30})?|(?:in|using|with|as)\s[^.!?\n]{0,40}?\b(?:words?|"
    r"sentences?|lines?|tone|voice|way|manner|style|caps|(?:upper|lower)-?\s?case|capitals|capital letters|punctuation|"
    r"emojis?|characters|letters)\b|like an?\s[\w ]{2,30}|(?:as|if) you[^.!?\n]{0,40})){1,3}[.!?]?$"
)
_NOTHING_ELSE = lazy_pattern(
    r"(?i)(?<=[.!?])\s|,? and (?:nothing|say nothing|do nothing|stop|no)\b|,? nothing (?:else|more)\b|,? without\b|"
    r"\s\(|,? only\b[.!]?$|,? please\b"
)


def chosen(request: Request, rng: Random) -> str | None:
    """One of the options that the prompt or the rules allow: if possible the true one, or the one that is named."""
    lettered = _lettered(request.text)
    for text in (request.text, request.rules):
        marks: list[str] = list(dict.fromkeys(re.findall(r"\[\[\w{1,20}\]\]", text)))
        if len(marks) > 1:
            return marks[rng.randrange(len(marks))]
        options, rest = options_in(text)
        if options:
            said = request.found or (request.text if text is request.rules else rest)
            return _picked({option: lettered.get(option, option) for option in options}, said, request, rng)
    if len(lettered) < 2:
        return None
    letter = _picked(lettered, request.found, request, rng)
    return letter if request.matches(_LETTER_ALONE) else f"{letter}) {lettered[letter]}"


def _picked(options: Mapping[str, str], said: str, request: Request, rng: Random) -> str:
    truths = {truth(option): option for option in options}
    if truths.keys() == {True, False} and (is_true := _judged(said, request)) is not None:
        return truths[is_true]
    result, spoken = computed(request.text, bare=True), set(re.findall(r"[\w+-]+", said.lower()))
    right = [option for option, text in options.items() if text == result]
    named = [option for option in options if option.lower() in spoken and truth(option) is None and len(option) > 1]
    found = right or named
    return found[0] if len(found) == 1 else [*options][rng.randrange(len(options))]


def _judged(said: str, request: Request) -> bool | None:
    """Whether a comparison holds, `2+2 = 5`, or what tools returned says so; None where nothing is known."""
    found = _COMPARED.search(_as_signs(said[:4000]))
    if found is not None:
        with suppress(SyntaxError, ValueError, ZeroDivisionError):
            one, other = (
                _value(ast.parse(_SUPERFLUOUS.sub("", side).strip(), mode="eval")) for side in found.group(1, 3)
            )
            return _COMPARISONS[found[2]](one, other)
    if not request.found:
        return None
    stated = (truth(value) for _, value in request.facts)
    return next((value for value in stated if value is not None), not _DENIAL.search(request.found))


def _lettered(text: str) -> dict[str, str]:
    """The options of a text by their letters, `A) red B) green`, if they begin with A and miss none."""
    found = [((each[1] or each[2])[0], each[3].strip(" ,;\t")) for each in _LETTERED.finditer(text)]
    letters = "".join(letter for letter, _ in found).upper()
    first = max(letters.rfind("A"), 0)
    run = {letter: _CONJUNCTION.sub("", line) for letter, line in found[first:]}
    return run if "ABCDEFGH".startswith(letters[first:]) else {}


def options_in(text: str) -> tuple[list[str], str]:
    """Return the options that a text lists, and the text without their list."""
    for cue in _cues():
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


@cache
def _cues() -> tuple[re.Pattern[str], ...]:
    nouns = "word|role|worker|agent|speaker|member|label|category|class|option|letter|choice|name|verdict"
    return tuple(
        re.compile(rf"(?i){cue}")
        for cue in (
            rf"\b(?:(?:choose|pick|select)(?: only| just| exactly)? (?:one|[^.\[:\n]{{1,60}}? (?:from|between))|"
            rf"one of|among|options|categories|labels|classes|choices|possible values|"
            rf"(?:label|category|class|sentiment) only)\b"
            rf"[^:\[\n]{{0,40}}(?::\s*[\[(]?|\[)\s*({_ITEMS})",
            r"((?<!\w)(?:ja|sí|si|oui|sim|да|はい|是|tak|evet|vâng|iya|네|예)[\"'”」』]?\s*"
            r"(?:oder|o|ou|of|lub|czy|veya|eller|или|または|还是|或|또는|、|/|,)\s*[\"'“「『]?"
            r"(?:nein|no|non|não|nee|nie|nej|hayır|нет|いいえ|否|不是|tidak|아니요|아니오)(?![\w]))",
            rf"\b(?:answer|reply|respond|return|output|say|choose|pick|select|write|print)\b(?: (?:with|only|just|"
            rf"either|"
            rf"exactly|simply|one of|in|using|between|a|single|word|the (?:next |correct |right |best |"
            rf"single )*(?:{nouns}))"
            rf"){{0,6}}:?\s+({_WORDS})"
            rf"(?=[\s.!?,)\"]*(?:$|\n|[.!?):]|and nothing|only|for|to|based|depending))",
            rf"\b(?:classify|categori[sz]e|label|tag|mark|rate)\b[^\n:]{{0,120}}?\b(?:as|into|either)\b"
            rf"(?: one of| either| the)?:?\s+({_WORDS})",
            rf"((?<![\w\"'-]){_YES}(?:\s*/\s*|\s*,?\s+or\s+|\s*\|\s*){_NO}(?![\w\"'-]))",
        )
    )


_HEADED = lazy_pattern(
    r"(?i)\b(?:options|categories|labels|classes|choices|participants|agents|roles|speakers|members|"
    r"one of(?: the following)?(?: \w+)?)[^\n:]{0,40}:[ \t]*\n"
    r"((?:[ \t]*(?:[-*•]|\d{1,2}[.)])[^\n]{1,120}(?:\n|$)){2,30})"
)
_BULLETS = lazy_pattern(r"(?:[-*•]|\d{1,2}[.)])[ \t]*([^\n]+)")
_LETTERED = lazy_pattern(
    r"(?m)(?:^[ \t]*\(?([A-Ha-h])[).:]|(?<=[\s,;?!.:])\(?([A-H][).]|[a-h]\)))[ \t]+([^\n]{1,200}?)"
    r"(?=[,;?!.]?\s+\(?(?:[A-H][).]|[a-h]\))\s|[?!.]\s|[?!.]?$)"
)
_CONJUNCTION = lazy_pattern(r"(?i),? (?:or|and)$")
_LETTER_ALONE = lazy_pattern(r"(?i)\bletters?\b")
_SEPARATOR = lazy_pattern(
    r"(?i)\s*,\s*(?:or\s+|and\s+)?|\s*[/|、]\s*|\s+(?:or|and|oder|o|ou|of|lub|czy|veya|eller|или)\s+|または|还是|或|또는"
)
_LABEL = lazy_pattern(r"[\w+-]+(?: [\w+-]+){0,3}")


def summed(request: Request, rng: Random) -> str | None:
    return computed(request.text, bare=request.matches(_BARE_RESULT))


def rated(request: Request, rng: Random) -> str | None:
    bounds = _BOUNDS.search(request.text) or _BOUNDS.search(request.rules)
    if bounds is None:
        return None
    low, high = sorted((int(bounds[1]), int(bounds[2])))
    return str(rng.randrange(low, high + 1))


_BARE_RESULT = lazy_pattern(
    r"(?i)\b(?:only|just)\b[^.\n]{0,30}\b(?:number|result|answer|value|digits?|integer)\b|\bnumber only\b|"
    r"\bsingle number\b|\bno (?:explanation|words|text)\b"
)
_BOUNDS = lazy_pattern(
    r"(?i)\b(?:(?:number|integer|score|rating|rate|rank|value|scale|grade)\b[^.\n]{0,80}?\b(?:between|from|of)\s+|"
    r"score\b[^.\n]{0,40}?\()(\d{1,6})\s*(?:and|to|-|–)\s*(\d{1,6})\b"
)


def coded(request: Request, rng: Random) -> str | None:
    """Code or a shell command; fenced unless nothing else may be written."""
    alone = _CODE_ALONE.search(request.rules) or _CODE_ALONE.search(request.text)
    wanted = (sentence.strip() for sentence in SENTENCE.findall(request.text) if _MAKING.match(sentence))
    kinds = ((sentence, kind_of_writing(sentence)) for sentence in wanted)
    said = next((sentence for sentence, kind in kinds if kind and kind["code"]), None)
    if said is None:
        if alone is None or alone.string is request.text:
            return None
        said = request.text
    names = _LANGUAGES.findall(said.lower()) or _LANGUAGES.findall(request.rules.lower()) or ["python"]
    language = {"js": "javascript", "ts": "typescript", "golang": "go"}.get(names[0], names[0])
    if re.search(r"(?i)\bcommands?\b", alone[0] if alone else said) or language in _SHELLS:
        text, language = _command(said), "bash"
    else:
        purpose = _PURPOSE.search(said)
        called = [
            word
            for word in content_words(purpose[1] if purpose else said, ENGLISH)
            if not _SAID_OF_CODE.fullmatch(word)
        ]
        name = [singular(word) for word in called[:1]] + [word.lower() for word in called[1:3]]
        table = english(language, "code") or english("python", "code")
        text = table[0].format(name="_".join(name) or "main", about=" ".join(said.split()).rstrip(".?!")[:100]).strip()
    return text if alone else f"```{language}\n{text}\n```"


def _command(said: str) -> str:
    spoken = {stem(word) for word in words(said)}
    table = word_lists("english")["commands"]
    stems = {command: {stem(word) for word in known.split()} for command, known in table.items()}
    held = Counter(word for known in stems.values() for word in known)
    fitness = {command: sum(1 / held[word] for word in known & spoken) for command, known in stems.items()}
    best = max(fitness, key=lambda command: fitness[command])
    if not fitness[best]:
        return f"echo {json.dumps(' '.join(said.split())[:100])}"
    path, quoted, kind = _PATH.search(said), _QUOTED_WORD.search(said), _KIND_OF_FILE.search(said)
    named = {"path": path[0] if path else "file.txt", "word": quoted[1] or quoted["named"] if quoted else "text"}
    return str(best).format(**named, kind=kind[1].lower() if kind else "txt")


_MAKING = lazy_pattern(
    r"(?i)\W*(?:(?:please|now|then|and|can you|could you|would you|i want you to|help me)\s+){0,3}"
    r"(?:write|create|implement|generate|make|build|code|develop|program|give me|show me|provide|i need|"
    r"what(?:'s| is) the)\b"
)
_CODE_ALONE = lazy_pattern(
    r"(?i)\b(?:only|just|solely|nothing but)\b[^.\n]{0,30}\b(?:code|commands?|scripts?)\b|\b(?:code|command) only\b"
)
_LANGUAGES = lazy_pattern(
    r"\b(python|javascript|typescript|js|ts|java|rust|golang|ruby|php|bash|zsh|shell|powershell|sql|html|css|"
    r"regex|dockerfile"
    r"|(?<=in )(?:go|c))\b(?![+#])"
)
_SHELLS = ("bash", "zsh", "shell", "powershell")
_PURPOSE = lazy_pattern(r"(?i)\b(?:that|which|to|for)\s+([^.?!\n]{3,200})")
_SAID_OF_CODE = lazy_pattern(
    r"(?i)write|create|implement|generate|make|build|code|functions?|scripts?|programs?|class|quer(?:y|ies)|"
    r"method|please|"
    r"snippet|python|javascript|typescript|java|rust|ruby|php|bash|shell|sql|give|show"
)
_PATH = lazy_pattern(r"(?<![\w/])(?:~?/)?[\w-]+(?:/[\w.-]+)*\.\w{1,5}\b|(?<!\w)~?/[\w./-]+")
_QUOTED_WORD = lazy_pattern(r"[\"'`“]([^\"'`”\n]{1,60})[\"'`”]|(?:containing|for|named|called) (?P<named>\w+)")
_KIND_OF_FILE = lazy_pattern(r"(?i)\b(?:\.)?(json|py|python|txt|csv|md|log|pdf|jpg|png|ya?ml|html|js) files?\b")
