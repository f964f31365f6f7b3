"""What a prompt orders word for word: exact words, an option, a result, a rating, one value, code.

Each order is a function that returns None if the prompt does not order it.
"""

import re

from mockserver.core.lazy import lazy_pattern
from mockserver.core.seed import Random
from mockserver.model.arguments import mentions
from mockserver.model.arithmetic import compute
from mockserver.model.choices import choose
from mockserver.model.fillers import capitalized, english
from mockserver.model.form import NUMBER, Request, kind_of_writing
from mockserver.model.loose import shape_of
from mockserver.model.prose import Speaker
from mockserver.model.schema.scalars import known_text
from mockserver.model.topic import ENGLISH, SENTENCE, content_words, requested_language
from mockserver.model.triggers import trigger_set, trigger_words
from mockserver.model.vocabulary import (
    singular,
)


def obey(request: Request, rng: Random) -> str | None:
    """Return what a prompt orders word for word, or the option, code or result that it asks for; None for nothing."""
    orders = (choose,) if request.found else (greet, dictate, rephrase, write_code, choose, rate, calculate, find_value)
    triggers = trigger_words(request.text) | (trigger_words(request.rules) & trigger_set("of_rules"))
    if request.topic.language != ENGLISH:
        triggers |= {"choices", "+"}  # the words with which other languages choose and add are not listed
    for order in orders:
        if not trigger_set(order.__name__).isdisjoint(triggers) and (answer := order(request, rng)) is not None:
            return answer
    return None


def greet(request: Request, rng: Random) -> str | None:
    kind = find_courtesy(request.text)
    if kind == "greetings" and (named := _INTRODUCED.search(request.text)):
        return f"Hello {named[1]}! How can I help you today?"
    return english(kind)[rng.randrange(len(english(kind)))] if kind else None


def find_courtesy(text: str) -> str:
    """Return the list of replies to a text that only greets, thanks or takes leave; "" for another text."""
    found = _COURTESY.fullmatch(text[:120])
    return next((kind for kind, said in found.groupdict().items() if said), "") if found else ""


def dictate(request: Request, rng: Random) -> str | None:
    """The exact words that are ordered: `say hello`, `reply with exactly: OK`, `repeat after me ...`."""
    ordered = _find_dictation(request.rules)
    if ordered is None or not (ordered["quoted"] or "exactly" in ordered[0].lower()):
        ordered = _find_dictation(request.text)
    if ordered is None or requested_language(ordered[0]) not in (None, ENGLISH):
        return None
    if ordered["quoted"] is not None:
        return str(ordered["quoted"][1:-1].strip())
    what = _NOTHING_ELSE.split(ordered["what"], maxsplit=1)[0].strip()
    if not ordered[0].removesuffix(ordered["what"]).rstrip().endswith(":"):
        what = _MANNER.sub("", what).strip(" ,") or what
    return (what[:-1] if what.endswith(".") and not what.endswith("..") else what) or None


def _find_dictation(text: str) -> re.Match[str] | None:
    """The first order to say exact words that no condition holds back; `if you can read this` is met."""
    unmet = _MET.sub(lambda condition: " " * len(condition[0]), text)
    for found in filter(_is_word_for_word, _ORDER.finditer(text)):
        before = unmet[max(0, found.start() - 200) : found.start()]
        if not _CONDITION.search(before) and not _IF.match(unmet, found.end()):
            return found
    return None


def _is_word_for_word(ordered: re.Match[str]) -> bool:
    """Whether an order gives the exact words, and not what they should be about or look like."""
    if ordered["quoted"] is not None:
        return True
    first = (re.match(r"[^\s,.!?:]+", ordered["what"]) or [""])[0].lower()
    has_colon = ordered[0].removesuffix(ordered["what"]).rstrip().endswith(":")
    if has_colon and _VERBATIM.search(ordered["how"] or ""):
        return True
    is_description = first in trigger_set("describing") or _DESCRIBED.match(ordered["what"])
    if is_description or (not has_colon and _SEVERAL.match(ordered["what"])):
        return _WORD_ALONE.search(f"{ordered['how']} {ordered['what']}") is not None
    is_saying = ordered["verb"].lower() in ("say", "repeat", "echo", "copy")
    return is_saying or bool(_EXACT.search(f"{ordered['before'] or ''} {ordered['how'] or ''}"))


def rephrase(request: Request, rng: Random) -> str | None:
    """The last question of a conversation as a question of its own, which retrieval begins with."""
    if not request.matches(_STANDALONE):
        return None
    asked = [line for line in SENTENCE.findall(request.text) if line.endswith("?")]
    return capitalized(asked[-1].rpartition(": ")[2].strip()) if asked else None


def write_code(request: Request, rng: Random) -> str | None:
    """A stub in the language that is asked for; fenced unless nothing else may be written."""
    alone = _CODE_ALONE.search(request.rules) or _CODE_ALONE.search(request.text)
    wanted = (sentence.strip() for sentence in SENTENCE.findall(request.text) if _MAKING.match(sentence))
    kinds = ((sentence, kind_of_writing(sentence)) for sentence in wanted)
    said = next((sentence for sentence, kind in kinds if kind and kind["code"]), None)
    if said is None:
        if alone is None or (alone.string is request.text and not _LANGUAGES.search(request.text.lower())):
            return None
        said = request.text
    names = _LANGUAGES.findall(said.lower()) or _LANGUAGES.findall(request.rules.lower()) or ["python"]
    language = {"js": "javascript", "ts": "typescript", "golang": "go"}.get(names[0], names[0])
    language = "bash" if "shell" in language or language == "zsh" else "sql" if "sql" in language else language
    purpose, signed = _PURPOSE.search(said), _SIGNATURE.search(said)
    about = content_words(purpose[1] if purpose else said, ENGLISH)
    called = [word for word in about if not _SAID_OF_CODE.fullmatch(word)]
    name = (signed[1] or signed[3]) if signed else "_".join([*map(singular, called[:1]), *map(str.lower, called[1:3])])
    table = english(language, "code") or english("python", "code")
    text = table[0].format(name=name or "main", about=" ".join(said.split()).rstrip(".?!")[:100]).strip()
    given = signed[2] if signed else None
    text = text.replace("*values", given).replace("return values", f"return {given.split(',')[0]}") if given else text
    return text if alone else f"```{language}\n{text}\n```"


def calculate(request: Request, rng: Random) -> str | None:
    return compute(request.text, bare=request.matches(_BARE_RESULT))


def rate(request: Request, rng: Random) -> str | None:
    """A number within the bounds that graders are given: `on a scale of 1 to 5`, `Rating: [[5]]`."""
    bounds = _BOUNDS.search(request.text) or _BOUNDS.search(request.rules)
    if bounds is None:
        return None
    low, high = sorted((int(bounds[1]), int(bounds[2])))
    number = str(rng.randrange(low, high + 1))
    if (marked := next(filter(None, map(_MARKED.search, (request.text, request.rules))), None)) is not None:
        return f"{marked[1]}[[{number}]]"
    return f"{number}\n{Speaker(request.topic, rng).opening()}" if request.matches(_WITH_REASON) else number


def find_value(request: Request, rng: Random) -> str | None:
    """Only the value of a name: `reply with only the city`, from the prompt where it says one."""
    found = _VALUE_ALONE.search(request.text) or _VALUE_ALONE.search(request.rules)
    name = next(filter(None, found.groups()), "").lower().removesuffix(" name") if found else ""
    if found is None or name in trigger_set("no_values") or ({*name.split()} - {"code"}) & trigger_set("no_values"):
        return None
    material = request.text.replace(found[0], " ") if found.string is request.text else request.text
    given, _ = mentions(material).assigned({name.replace(" ", "_"): shape_of("...", name)}, lambda *_: True)
    return str(next(iter(given.values()))) if given else known_text(name, rng)


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
_VERBATIM = lazy_pattern(r"(?i)\b(?:exactly|verbatim|unchanged|as is|word for word|after me|this|the following)\b")
_WORD_ALONE = lazy_pattern(
    r"(?i)\bthe (?:single |exact |one )?(?:word|text) [^\s,.!?:]+(?:[.!?]+|\s+(?:and|only|alone)\b.*|\s*)\Z"
)
_SEVERAL = lazy_pattern(rf"(?i){NUMBER}[\s-]+[a-z]")
_DESCRIBED = lazy_pattern(r"(?i)(?![^(<\[{]*[^\W_])|\S+(?: or |/)\S+?(?:[.!?]\s|[\s.!?]*$)")
_CONDITION = lazy_pattern(r"(?i)\b(?:if|when|whenever|unless|in case|otherwise|once|until)\b[^.!?\n]*\Z")
_IF = lazy_pattern(r"(?i)[\s,]{0,3}(?:if|when|whenever|unless|in case|where)\b")
# Conditions that hold, as the prompt has arrived: `if you can read this`.
_MET = lazy_pattern(
    r"(?i)\b(?:if|when|whenever|once) you(?: can| are|'re| have)?(?: all)? "
    r"(?:hear|read|see|understand|understood|receive|received|get|got|ready|there|alive|online|working)"
    r"\b(?: (?:me|this|it|that|my))?(?: (?:message|text|request|prompt))?"
)
# How something is to be said, after what is to be said.
_MANNER = lazy_pattern(
    r"(?i)(?:[\s,]++(?>(?:very |more |as )?(?!(?:fami|rep|app|supp|ju|ita|emi|assemb|butterf|dai|week|month|ug|love|"
    r"ear|on|ho|be|je)ly)\w{2,20}ly\b(?:\sto\s[\w ]{2,30})?|(?:in|using|with|as)\s[^.!?\n]{0,40}?\b(?:words?|"
    r"sentences?|lines?|tone|voice|way|manner|style|punctuation|emojis?|characters|letters)\b"
    r"|like an?\s[\w ]{2,30}|(?:as|if) you[^.!?\n]{0,40})){1,3}[.!?]?$"
)
_NOTHING_ELSE = lazy_pattern(
    r"(?i)(?<=[.!?])\s|,? and (?:nothing|say nothing|do nothing|stop|no)\b|,? nothing (?:else|more)\b|,? without\b|"
    r"\s\(|,? only\b[.!]?$|,? please\b"
)
_STANDALONE = lazy_pattern(r"(?i)\b(?:standalone (?:question|query)|rephrase the (?:\w+[ -]){0,3}question)\b")
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
_LANGUAGES = lazy_pattern(
    r"\b(python|javascript|typescript|js|ts|java|rust|golang|ruby|php|bash|zsh|shell|powershell|\w{0,10}sql|sqlite"
    r"|html|css|regex|dockerfile|(?<=in )(?:go|c))\b(?![+#])"
)
_SIGNATURE = lazy_pattern(
    r"(?:\b(?:called|named) )?`?\b([A-Za-z_]\w{1,60})\(([\w, ]{1,80})\)|(?i:\b(?:called|named) )`?([A-Za-z_]\w{1,60})"
)
_PURPOSE = lazy_pattern(r"(?i)\b(?:that|which|to|for)\s+([^.?!\n]{3,200})")
_SAID_OF_CODE = lazy_pattern(
    r"(?i)write|create|implement|generate|make|build|code|functions?|scripts?|programs?|class|quer(?:y|ies)|method"
    r"|please|called|named|snippet|python|javascript|typescript|java|rust|ruby|php|bash|shell|sql|give|show"
)
_BARE_RESULT = lazy_pattern(
    r"(?i)\b(?:only|just)\b[^.\n]{0,30}\b(?:number|result|answer|value|digits?|integer)\b|\bnumber only\b|"
    r"\bsingle number\b|\bno (?:explanation|words|text)\b"
)
_BOUNDS = lazy_pattern(
    r"(?i)\b(?:(?:number|integer|score|rating|rate|rank|value|scale|grade)\b[^.\n]{0,80}?\b(?:between|from|of)\s+|"
    r"score\b[^.\n]{0,40}?\()(\d{1,6})\s*(?:and|to|-|–)\s*(\d{1,6})\b"
)
_WITH_REASON = lazy_pattern(r"(?i)\bon a (?:separate|new|second) line\b[^.\n]{0,40}\b(?:reason|expla|justif)")
_MARKED = lazy_pattern(r"((?:[A-Z]\w{2,20}: )?)\[\[\d{1,3}\]\]")
_VALUE_ALONE = lazy_pattern(
    r"(?i)\b(?:reply|respond|answer|output|return|give|provide|print|tell me)\b[^.\n]{0,40}?"
    r" (?:(?:only|just|exactly|nothing but)(?: with)? (?:the|an?|one|its|their|your)? ?([a-z][a-z -]{2,30}?)"
    r"|(?:the|an?|one) ([a-z][a-z -]{2,30}?),? only)(?=[.,;:\n]|$| for\b| of\b| in\b| from\b| and\b)"
)
