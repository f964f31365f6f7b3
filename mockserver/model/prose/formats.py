"""Answers in the format that a prompt orders: exact words, an option, a sum, a rating, a list, a number of words.

Each format is a function that returns None if the prompt does not order it.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import islice

from mockserver.core.lazy import lazy_pattern
from mockserver.core.seed import Random
from mockserver.model.arguments import mentions
from mockserver.model.fillers import capitalized, english, word_lists
from mockserver.model.prose.arithmetic import computed
from mockserver.model.prose.choices import chosen
from mockserver.model.prose.form import NUMBER, Request, kind_of_writing
from mockserver.model.prose.lists import material_of
from mockserver.model.prose.orders import trigger_set, trigger_words
from mockserver.model.prose.topic import ENGLISH, SENTENCE, content_words, requested_language
from mockserver.model.schema.scalars import known_text
from mockserver.model.shapes import shape_of
from mockserver.model.vocabulary import number_of, singular, stem, words


def in_format(request: Request, rng: Random) -> str | None:
    """Return what a prompt orders word for word, or the option, code or result that it asks for; None for nothing."""
    formats = (greeted, dictated, transformed, coded, chosen, summed, rated, valued) if not request.found else (chosen,)
    triggers = trigger_words(request.text) | (trigger_words(request.rules) & trigger_set("of_rules"))
    if request.topic.language != ENGLISH:
        triggers |= {"choices", "+"}  # the words with which other languages choose and add are not listed
    for make in formats:
        if not trigger_set(make.__name__).isdisjoint(triggers) and (made := make(request, rng)) is not None:
            return made
    return None


def greeted(request: Request, rng: Random) -> str | None:
    kind = courtesy(request.text)
    if kind == "greetings" and (named := _INTRODUCED.search(request.text)):
        return f"Hello {named[1]}! How can I help you today?"
    return english(kind)[rng.randrange(len(english(kind)))] if kind else None


def courtesy(text: str) -> str:
    """The list of replies to a text that only greets, thanks or takes leave; "" for another text."""
    found = _COURTESY.fullmatch(text[:120])
    return next((kind for kind, said in found.groupdict().items() if said), "") if found else ""


_INTRODUCED = lazy_pattern(r"\b(?:[Mm]y name is|I'm|I am) ([A-Z][\w-]{1,30})\b")
_COURTESY = lazy_pattern(
    r"(?ix)\W*(?:(?:ok|okay|great|perfect|cool|awesome|alright|nice|super|that's\ (?:it|all)|that\ (?:helped|works"
    r"|was\ all))\W+)*(?:(?P<greetings>(?:hi|hello|hey|good\ (?:morning|afternoon|evening"
    r"|day))(?:[\s,]+\w+)?(?:\W+how(?:'s|\ is|\ are)\ (?:you|it\ going)(?:\ today|\ doing)?)?"
    r"|my\ name\ is\ \w+\W+(?:please\ )?greet\ me(?:\ by\ (?:my\ )?name)?)|(?P<farewells>(?:(?:thanks"
    r"|thank\ you)\b[^.!?,]{0,40}\W+)?(?:(?:good)?bye|good\ night|see\ you|farewell|ciao|take\ care|have\ a\ (?:nice"
    r"|good|great)\ \w+)\b[^?\n]{0,40})|(?P<thanks>(?:many\ )?(?:thanks|thank\ you|thx|ty|cheers"
    r"|much\ appreciated)\b(?:(?!\b(?:but|can|could|now|what|how|please|tell|give|write"
    r"|for\ the\b.*\band)\b)[^?\n]){0,60}))\W*"
)


def dictated(request: Request, rng: Random) -> str | None:
    """The exact words that are ordered: `say hello`, `reply with exactly: OK`, `repeat after me ...`."""
    of_rules = filter(_is_word_for_word, _ORDER.finditer(request.rules))
    ordered = next((found for found in of_rules if not _is_conditional(request.rules, found)), None)
    if ordered is None or not (ordered["quoted"] or "exactly" in ordered[0].lower()):
        unmet = _MET.sub(lambda condition: " " * len(condition[0]), request.text)
        of_text = filter(_is_word_for_word, _ORDER.finditer(request.text))
        ordered = next((found for found in of_text if not _is_conditional(unmet, found)), None)
    if ordered is None or requested_language(ordered[0]) not in (None, ENGLISH):
        return None
    if ordered["quoted"] is not None:
        return str(ordered["quoted"][1:-1].strip())
    what = _NOTHING_ELSE.split(ordered["what"], maxsplit=1)[0].strip()
    if not ordered[0].removesuffix(ordered["what"]).rstrip().endswith(":"):
        what = _MANNER.sub("", what).strip(" ,") or what
    if (times := _TIMES.fullmatch(what)) is not None:
        between = "\n" if "line" in what else ", " if "comma" in what else " "
        return between.join([times[1]] * min(number_of(times[2]), 100))
    return (what[:-1] if what.endswith(".") and not what.endswith("..") else what) or None


def _is_conditional(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - 200) : found.start()]
    return _CONDITION.search(before) is not None or _IF.match(text, found.end()) is not None


def _is_word_for_word(ordered: re.Match[str]) -> bool:
    """Whether an order gives the exact words, and not what they should be about or look like."""
    if ordered["quoted"] is not None:
        return True
    first = (re.match(r"[^\s,.!?:]+", ordered["what"]) or [""])[0].lower()
    if ordered[0].removesuffix(ordered["what"]).rstrip().endswith(":") and _VERBATIM.search(ordered["how"] or ""):
        return True
    if (
        not re.match(r"[^(<\[{]*[^\W_]", ordered["what"])
        or first in trigger_set("describing")
        or _DESCRIBED.match(ordered["what"])
        or (":" not in ordered[0] and _SEVERAL.match(ordered["what"]))
    ):
        return _WORD_ALONE.search(f"{ordered['how']} {ordered['what']}") is not None
    is_saying = ordered["verb"].lower() in ("say", "repeat", "echo", "copy")
    return is_saying or bool(_EXACT.search(f"{ordered['before'] or ''} {ordered['how'] or ''}"))


_QUOTED = (
    r"\"[^\"\n]{1,2000}\"|“[^”\n]{1,2000}”|«[^»\n]{1,2000}»|`[^`\n]{1,2000}`|"
    r"'[^'\n]{1,2000}'(?!\w)|‘[^’\n]{1,2000}’(?!\w)"
)
_ORDER = lazy_pattern(
    rf"""(?imx)(?:^|(?<=[.!?:;,])|\b(?:please|just|now|only|simply|always|must|then|to|you|and|should))[ \t]*
    (?P<before>(?:(?:please|just|now|only|simply|always|exactly)[ \t]+){{0,3}})
    \b(?P<verb>say|repeat|echo|copy|reply|respond|answer|output|print|return|write|type)\b
    (?P<how>(?:[ \t]+(?:exactly|only|just|simply|nothing[ ]but|verbatim|unchanged|as[ ]is|with|back|word[ ]for[ ]word|
    after[ ]me|this[ ](?:exact|back)|the[ ][a-z]+[ ](?:word|phrase|words)(?=:)|
    the[ ]exact|exact|
    the[ ]following|following|to[ ]me|(?:the[ ]|this[ ]|one[ ])?(?:single[ ]|one[ ]|exact[ ])?(?:word|text|phrase|
    string|sentence|words|message|number|letters?|line|token)|saying|this(?=[ \t]*:)|by[ ]saying)\b){{0,6}})
    [ \t]*[:,]?\s*(?:(?P<quoted>{_QUOTED})|(?P<what>[^\s\"“«`][^\n]{{0,2000}}))"""
)
_EXACT = lazy_pattern(
    r"(?i)\b(?:exactly|only|just|simply|nothing but|verbatim|exact|the following|word|text|phrase|string|saying|this"
    r"|number|letters?)\b"
)
_TIMES = lazy_pattern(rf"(?i)[\"'`]?(.{{1,200}}?)[\"'`]? ({NUMBER}) times\b[^\n]{{0,60}}")
_VERBATIM = lazy_pattern(r"(?i)\b(?:exactly|verbatim|unchanged|as is|word for word|after me|this|the following)\b")
_WORD_ALONE = lazy_pattern(
    r"(?i)\bthe (?:single |exact |one )?(?:word|text) [^\s,.!?:]+(?:[.!?]+|\s+(?:and|only|alone)\b.*|\s*)\Z"
)
_SEVERAL = lazy_pattern(rf"(?i){NUMBER}[\s-]+[a-z]")
_DESCRIBED = lazy_pattern(r"(?i)\S+(?: or |/)\S+?(?:[.!?]\s|[\s.!?]*$)")
_CONDITION = lazy_pattern(r"(?i)\b(?:if|when|whenever|unless|in case|otherwise|once|until)\b[^.!?\n]*\Z")
_IF = lazy_pattern(r"(?i)[\s,]{0,3}(?:if|when|whenever|unless|in case|where)\b")
# Conditions that hold, as the prompt has arrived: `if you can read this`.
_MET = lazy_pattern(
    r"(?i)\b(?:if|when|whenever|once|as soon as) you(?: can| are|'re| have|'ve|'d)?(?: all)? "
    r"(?:hear|read|see|understand|understood|receive|received|get|got|ready|there|awake|alive|online|listening|working)"
    r"\b(?: (?:me|this|it|that|my))?(?: (?:message|text|request|prompt|note))?"
)
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


def transformed(request: Request, rng: Random) -> str | None:
    """A text of the prompt in capitals, sorted, reversed, split, or as numbers that are counted."""
    for order, change in _CHANGES:
        if (found := order.search(request.text)) is None:
            continue
        said = material_of(request.text[found.end() :]) or material_of(request.text)
        if made := change(said, found):
            return made
    return None


def _sorted(said: str, found: re.Match[str]) -> str:
    listed = [part.strip(" .") for part in re.split(r"[,;\n]", said) if part.strip(" .")]
    numeric = all(map(_NUMERAL_ALONE.fullmatch, listed))
    ordered = sorted(listed, key=float if numeric else str.lower, reverse="desc" in found.string.lower())
    return (", " if "comma" in found.string or "one per line" not in found.string else "\n").join(ordered)


def _whole(said: str) -> str:
    return f"{capitalized(said).rstrip('.!')}." if said else ""


def _last_question(found: re.Match[str]) -> str:
    """The last question of a conversation, without who asks it."""
    asked = [line for line in SENTENCE.findall(found.string) if line.endswith("?")]
    return capitalized(asked[-1].rpartition(": ")[2].strip()) if asked else ""


def _counted_off(found: re.Match[str]) -> str:
    first, last = int(found[1] or 1), int(found[2])
    step = 1 if first <= last else -1
    between = ", " if "comma" in found.string else "\n"
    return between.join(map(str, islice(range(first, last + step, step), 200)))


_CHANGING = r"(?i)\b(?:convert|turn|change|make|put|rewrite|transform|write|spell)\b[^.:\n]{0,60}\b"
_CHANGES: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], str]], ...] = (
    (
        lazy_pattern(
            rf"{_CHANGING}(?:upper ?-?case|(?:all )?caps|capital letters|capitals)\b|\buppercase (?:this|the)\b"
        ),
        lambda said, _: said.upper(),
    ),
    (lazy_pattern(rf"{_CHANGING}lower ?-?case\b|\blowercase (?:this|the)\b"), lambda said, _: said.lower()),
    (lazy_pattern(rf"{_CHANGING}title ?-?case\b|\bcapitali[sz]e\b"), lambda said, _: said.title()),
    (
        lazy_pattern(r"(?i)\b(?:standalone (?:question|query)|rephrase the (?:\w+[ -]){0,3}question)\b"),
        lambda _, found: _last_question(found),
    ),
    (
        lazy_pattern(r"(?i)\b(?:only|just) the (?:corrected|fixed|revised|improved|edited|polished) \w+"),
        lambda said, _: _whole(said),
    ),
    (lazy_pattern(r"(?i)\bsort\b"), _sorted),
    (
        lazy_pattern(r"(?i)\bsplit\b[^.:\n]{0,40}\bsentences?\b"),
        lambda said, _: "\n".join(s.strip() for s in SENTENCE.findall(said)),
    ),
    (lazy_pattern(r"(?i)\breverse (?:the|this)\b"), lambda said, _: said[::-1]),
    (lazy_pattern(r"(?i)\bslugif|\bslug\b"), lambda said, _: "-".join(words(said))),
    (lazy_pattern(r"(?i)\bcount the words\b"), lambda said, _: f"{len(said.split())} words" if said else ""),
    (
        lazy_pattern(
            r"(?i)(?:\bcount (?:down |up )?from (\d{1,4}) (?:down |up )?"
            r"|\A(?:please )?count (?=to \d{1,4}\W*(?:\Z|please\b|separated\b|one\b|each\b)))to (\d{1,4})\b"
        ),
        lambda _, found: _counted_off(found),
    ),
)
_NUMERAL_ALONE = lazy_pattern(r"-?\d+(?:\.\d+)?")


def valued(request: Request, rng: Random) -> str | None:
    """Only the value of a name: `reply with only the city`, from the prompt where it says one."""
    found = _VALUE_ALONE.search(request.text) or _VALUE_ALONE.search(request.rules)
    name = next(filter(None, found.groups()), "").lower().removesuffix(" name") if found else ""
    if found is None or name in trigger_set("no_values") or ({*name.split()} - {"code"}) & trigger_set("no_values"):
        return None
    material = request.text.replace(found[0], " ") if found.string is request.text else request.text
    given, _ = mentions(material).assigned({name.replace(" ", "_"): shape_of("...", name)}, lambda *_: True)
    return str(next(iter(given.values()))) if given else known_text(name, rng)


_VALUE_ALONE = lazy_pattern(
    r"(?i)\b(?:reply|respond|answer|react|output|return|give|provide|print|tell me)\b[^.\n]{0,40}?"
    r" (?:(?:only|just|exactly|nothing but)(?: with)? (?:the|an?|one|its|their|your)? ?([a-z][a-z -]{2,30}?)"
    r"|(?:the|an?|one) ([a-z][a-z -]{2,30}?),? only)(?=[.,;:\n]|$| for\b| of\b| in\b| from\b| and\b)"
)


def summed(request: Request, rng: Random) -> str | None:
    result = computed(request.text, bare=True)
    return result if result is None or request.matches(_BARE_RESULT) else computed(request.text, bare=False)


def rated(request: Request, rng: Random) -> str | None:
    if (digits := _DIGITS.search(request.text)) is not None:
        return str(rng.randrange(10 ** (number_of(digits[1]) - 1), 10 ** number_of(digits[1])))
    if (grades := _GRADES.search(request.text) or _GRADES.search(request.rules)) is not None:
        return chr(rng.randrange(*sorted((ord(grades[1]), ord(grades[2])))))
    bounds = _BOUNDS.search(request.text) or _BOUNDS.search(request.rules)
    if bounds is None:
        return None
    low, high = sorted((int(bounds[1]), int(bounds[2])))
    return str(rng.randrange(low, high + 1))


_DIGITS = lazy_pattern(
    r"(?i)\b(?:generate|give|output|return|create|pick|make)\b[^.\n]{0,30}\b([2-9]|two|three|four|five|six"
    r"|eight)[- ]digit\b"
)
_GRADES = lazy_pattern(r"\b(?i:rate|grade|score|mark)\b[^.\n]{0,40}\bfrom ([A-F]) to ([A-F])\b")
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
        if alone is None or (alone.string is request.text and not _LANGUAGES.search(request.text.lower())):
            return None
        said = request.text
    names = _LANGUAGES.findall(said.lower()) or _LANGUAGES.findall(request.rules.lower()) or ["python"]
    language = {"js": "javascript", "ts": "typescript", "golang": "go", "postgresql": "sql"}.get(names[0], names[0])
    if re.search(r"(?i)\bcommands?\b", alone[0] if alone else said) or language in _SHELLS:
        text, language = _command(said), "bash"
    else:
        text = _stub(said, language)
    return text if alone else f"```{language}\n{text}\n```"


def _stub(said: str, language: str) -> str:
    purpose, signed = _PURPOSE.search(said), _SIGNATURE.search(said)
    about = content_words(purpose[1] if purpose else said, ENGLISH)
    called = [word for word in about if not _SAID_OF_CODE.fullmatch(word)]
    name = (signed[1] or signed[3]) if signed else "_".join([*map(singular, called[:1]), *map(str.lower, called[1:3])])
    kind = f"{language} class" if re.search(r"(?i)\bclass\b", said) else language
    table = english(kind, "code") or english(language, "code") or english("python", "code")
    text = table[0].format(name=name or "main", about=" ".join(said.split()).rstrip(".?!")[:100]).strip()
    given = signed[2] if signed else None
    return text.replace("*values", given).replace("return values", f"return {given.split(',')[0]}") if given else text


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
    r"(?i)\W*(?:(?:please|now|then|and|can you|could you|would you|i want you to|help me)\s+){0,3}(?:write|create"
    r"|implement|generate|make|build|code|develop|program|give me|show me|provide|i need|what(?:'s| is) the)\b"
)
_CODE_ALONE = lazy_pattern(
    r"(?i)\b(?:only|just|solely|nothing but|raw)\b[^.\n]{0,30}\b(?:code|commands?|scripts?|sql|regex|quer(?:y|ies)"
    r"|functions?|python|javascript|typescript|html|css)\b|\b(?:code|command|sql|query|function|regex|script) only\b"
    r"|\b(?:no|not?(?: use)?|without|avoid)\b(?: any| use| using| code| markdown)* (?:formatting|markdown|fences?"
    r"|backticks|fencing)\b"
)
_SIGNATURE = lazy_pattern(
    r"(?:\b(?:called|named) )?`?\b([A-Za-z_]\w{1,60})\(([\w, ]{1,80})\)|(?i:\b(?:called|named) )`?([A-Za-z_]\w{1,60})"
)
_LANGUAGES = lazy_pattern(
    r"\b(python|javascript|typescript|js|ts|java|rust|golang|ruby|php|bash|zsh|shell|powershell|sql|postgresql|html"
    r"|css|regex|dockerfile|(?<=in )(?:go|c))\b(?![+#])"
)
_SHELLS = ("bash", "zsh", "shell", "powershell")
_PURPOSE = lazy_pattern(r"(?i)\b(?:that|which|to|for)\s+([^.?!\n]{3,200})")
_SAID_OF_CODE = lazy_pattern(
    r"(?i)write|create|implement|generate|make|build|code|functions?|scripts?|programs?|class|quer(?:y|ies)|method"
    r"|please|called|named|snippet|python|javascript|typescript|java|rust|ruby|php|bash|shell|sql|give|show"
)
_PATH = lazy_pattern(r"(?<![\w/])(?:~?/)?[\w-]+(?:/[\w.-]+)*\.\w{1,5}\b|(?<!\w)~?/[\w./-]+")
_QUOTED_WORD = lazy_pattern(r"[\"'`“]([^\"'`”\n]{1,60})[\"'`”]|(?:containing|for|named|called) (?P<named>\w+)")
_KIND_OF_FILE = lazy_pattern(r"(?i)\b(?:\.)?(json|py|python|txt|csv|md|log|pdf|jpg|png|ya?ml|html|js) files?\b")
