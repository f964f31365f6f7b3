"""Choices between what a prompt lists: an option, a letter, a number, or the word for the case that holds."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from mockserver.core.call import Tool
from mockserver.core.lazy import lazy_pattern
from mockserver.core.seed import Random
from mockserver.model.arithmetic import comparison_holds, compute
from mockserver.model.choosing import find_best
from mockserver.model.form import Request
from mockserver.model.topic import ENGLISH, stop_words
from mockserver.model.triggers import is_triggered
from mockserver.model.vocabulary import (
    keys,
    truth,
    words,
)


def decide(text: str, rules: str, found: str | None) -> str | None:
    """Return the word for the case that holds, `If it is good, reply APPROVED, otherwise REVISE`; None for no cases.

    The case is the one whose condition shares most words with the text, else the one that approves, else the other one.
    """
    for order in (text, rules):
        outcomes = [*_OUTCOME.finditer(order)] if is_triggered("cases", order) and len(_CASE.findall(order)) > 1 else []
        spoken = {(each["quoted"] or each["caps"]).strip(): each for each in outcomes}
        if not outcomes or (len(spoken) < 2 and not _OTHERWISE.search(order)):
            continue
        if all(map(str.isdecimal, spoken)) and _RATED.search(order):  # what each number of a scale means
            continue
        if outcomes[-1].end() - outcomes[0].start() > _LONGEST_ORDER:  # words of a manual, not the cases of one order
            continue
        cut = max(order.rfind(sign, 0, outcomes[0].start()) for sign in ".!?\n") + 1
        material = found or (text if order is rules else f"{order[:cut]} {order[outcomes[-1].end() :]}")
        conditions = {}
        for at, (word, each) in enumerate(spoken.items()):
            before = order[outcomes[at - 1].end() if at else cut : each.start()]
            after = order[each.end() : outcomes[at + 1].start() if at + 1 < len(outcomes) else len(order)]
            conditions[word] = before if _CASE.search(before) else _CLAUSE_END.split(after, maxsplit=1)[0]
        fitness = {
            word: count_shared_words(said, material) for word, said in conditions.items() if not _OTHERWISE.search(said)
        }
        best = max(fitness, key=lambda word: fitness[word], default=None)
        approving = next((word for word, said in conditions.items() if _APPROVED.search(said)), None)
        if approving is None and len(spoken) < 2 and not (best and fitness[best]):
            return None
        rest = next((word for word in conditions if word not in fitness), None)
        return best if best and fitness[best] and not approving else approving or rest or next(iter(spoken))
    return None


def count_shared_words(one: str, other: str) -> int:
    return len(_telling_words(one) & _telling_words(other))


@lru_cache(maxsize=64)
def _telling_words(text: str) -> frozenset[str]:
    return frozenset(key for word in words(text) if word not in stop_words(ENGLISH) for key in keys(word))


def choose(request: Request, rng: Random) -> str | None:
    """One of the options that the prompt or the rules allow: if possible the true one, or the one that is named."""
    if (number := _choose_number(request, rng)) is not None:
        return number
    lettered = _lettered_options(request.text)
    for text in (request.text, request.rules):
        marks: list[str] = list(dict.fromkeys(re.findall(r"\[\[\w{1,20}\]\]", text)))
        if len(marks) > 1:
            return marks[rng.randrange(len(marks))]
        options, rest = find_options(text)
        if options:
            said = request.found or (request.text if text is request.rules else rest)
            hinted = _with_hints(options, f"{request.rules}\n{request.text}"[-5_000:])
            return _pick(lettered or hinted, said, request, rng)
    if len(lettered) < 2:
        return None
    letter = _pick(lettered, request.found, request, rng)
    return letter if request.matches(_LETTER_ALONE) else f"{letter}) {lettered[letter]}"


def _with_hints(options: Sequence[str], text: str) -> dict[str, str]:
    """Options with what a text says of them, `billing: invoices and refunds`, where it says something of several."""
    found = {
        option: re.search(rf"(?<!\w){re.escape(option)}\W{{0,4}}[:(–-]\s*([^\n.;)]{{3,200}})", text)
        for option in options
    }
    several = sum(each is not None for each in found.values()) > 1
    return {option: f"{option} {each[1]}" if each and several else option for option, each in found.items()}


def _choose_number(request: Request, rng: Random) -> str | None:
    """The number of the passage that fits best, or the numbers of all by rank, as the prompt shows it: `[2] > [1]`."""
    text, shown = request.text, _RANKING.search(request.text)
    said = text.replace(shown[0], " ") if shown else text
    pattern = next((each for each in (_NUMBERED, _NUMBERED_BLOCK) if each.search(said)), _NUMBERED_IN_ROW)
    options, rest = {line[1]: line[2] for line in pattern.finditer(said)}, pattern.sub("", said)
    if len(options) < 2 or not (shown or request.matches(_NUMBER_OF_ONE)):
        return None
    ranked = sorted(options, key=lambda at: -count_shared_words(rest, options[at]))
    if shown is None:
        return _pick(options, rest, request, rng)
    if shown["arrow"]:
        return " > ".join(f"[{at}]" for at in ranked)
    relevant = [at for at in ranked if count_shared_words(rest, options[at])] or ranked[:1]
    return "\n".join(f"{shown['doc']}{at}{shown['relevance']}{max(1, 9 - place)}" for place, at in enumerate(relevant))


def _pick(options: Mapping[str, str], said: str, request: Request, rng: Random) -> str:
    truths = {truth(option): option for option in options}
    if truths.keys() == {True, False} and (is_true := _is_true(said, request)) is not None:
        return truths[is_true]
    result, spoken = compute(request.text, bare=True), set(re.findall(r"[\w+-]+", said.lower()))
    right = [option for option, text in options.items() if text == result]
    named = [option for option in options if option.lower() in spoken and truth(option) is None and len(option) > 1]
    found = right or named
    if not found and (fitting := find_best(said, [Tool(option, text) for option, text in options.items()], {})):
        return fitting.name
    return found[0] if len(found) == 1 else [*options][rng.randrange(len(options))]


def _is_true(said: str, request: Request) -> bool | None:
    """Whether a comparison holds, `2+2 = 5`, or what tools returned says so; None where nothing is known."""
    if (holds := comparison_holds(said)) is not None or not request.found:
        return holds
    stated = (truth(value) for _, value in request.facts)
    return next((value for value in stated if value is not None), not _DENIAL.search(request.found))


def _lettered_options(text: str) -> dict[str, str]:
    """The options of a text by their letters, `A) red B) green`, if they begin with A and miss none."""
    found = [((each[1] or each[2])[0], each[3].strip(" ,;\t")) for each in _LETTERED.finditer(text)]
    letters = "".join(letter for letter, _ in found).upper()
    first = max(letters.rfind("A"), 0)
    run = {letter: _CONJUNCTION.sub("", line) for letter, line in found[first:]}
    return run if "ABCDEFGH".startswith(letters[first:]) else {}


def find_options(text: str) -> tuple[list[str], str]:
    """Return the options that a text lists, and the text without their list."""
    for cue in _cues():
        for found in cue.finditer(text):
            listed = [part.strip().strip(_AROUND).strip() for part in _SEPARATOR.split(found[1])]
            listed = [each for each in listed if each]
            if len(listed) > 1 and all(map(_LABEL.fullmatch, listed)):
                return listed, text[: found.start()] + " " + text[found.end() :]
    for found in _HEADED.finditer(text):
        lines = [line.group(1).strip().strip("\"'`*") for line in _BULLETS.finditer(found[1])]
        if len(lines) > 1:
            labels = [line.partition(":")[0].strip(" *\"'`") for line in lines]
            return labels, text[: found.start()] + " " + text[found.end() :]
    return [], text


_CASE = lazy_pattern(r"(?i)\b(?:if|when|whenever|unless|otherwise|else|in (?:all|any) other cases?|in which case)\b")
_OTHERWISE = lazy_pattern(r"(?i)\b(?:otherwise|else|in (?:all|any) other cases?|if not|if no)\b")
_CLAUSE_END = lazy_pattern(r"[.;!\n]|,\s+(?:and|else|or)\b|\band\b")
_APPROVED = lazy_pattern(
    r"(?i)\b(?:good|complete|correct|right|fine|harmless|ok|okay|acceptable|satisf\w+|ready|approved?|passes|clean"
    r"|yes|accurate|no (?:more |further )?(?:changes?|comments?|issues?|problems?|improvements?))\b"
)
_RATED = lazy_pattern(r"(?i)\b(?:scores?|rat(?:e|ing)|scale)\b")
_LONGEST_ORDER = 2_000  # characters
_OUTCOME = lazy_pattern(
    r"(?:\b(?i:reply|respond|say|answer|return|output|print|write|flag|use|give)\b(?i:\s+(?:with|only|just|exactly"
    r"|simply|the|word|back|a|single)\b){0,5}\s*:?\s*|(?:[,;.]|\b(?i:else|otherwise|and|or))\s+)(?:[\"'`“](?P<quoted>["
    r"^\"'`”\n]{1,40})[\"'`”]|(?P<caps>(?!I\b|A\b|JSON\b)[A-Z][A-Z_]*|\d{1,2})(?![\w']))"
)
_AROUND = "\"'`“”‘’「」『』*()[]<>."
_WORD = r"[\"'`“‘]?[\w+-]+[\"'`”’]?"
_WORDS = rf"{_WORD}(?:(?:\s*,\s*(?:or\s+|and\s+)?|\s*/\s*|\s*\|\s*|\s+or\s+){_WORD}){{1,30}}"
_ITEM = r"[\"'`“‘]?[\w+-]+(?: [\w+-]+){0,2}[\"'`”’]?"
_ITEMS = rf"{_ITEM}(?:(?:\s*,\s*(?:or\s+|and\s+)?|\s*[/|]\s*|\s+or\s+|\s+and\s+){_ITEM}){{1,30}}"
_YES, _NO = (rf"(?:\"(?:{said})\"|'(?:{said})'|(?:{said}))" for said in ("yes|true", "no|false"))


@cache
def _cues() -> tuple[re.Pattern[str], ...]:
    nouns = "word|role|worker|agent|speaker|member|label|category|class|option|letter|choice|name|verdict"
    return tuple(
        re.compile(rf"(?i){cue}")
        for cue in (
            rf"\b(?:(?:choose|pick|select)(?: only| just| exactly)? (?:one|[^.\[:\n]{{1,60}}? (?:from|between))"
            rf"|one of|among|options|categories|labels|classes|choices|possible values|(?:label|category|class"
            rf"|sentiment) only)\b[^:\[\n]{{0,40}}(?::\s*[\[({{]?|[\[{{])\s*({_ITEMS})",
            r"((?<!\w)(?:ja|sí|si|oui|sim|да|はい|是|tak|evet|vâng|iya|네|예)[\"'”」』]?\s*"
            r"(?:oder|o|ou|of|lub|czy|veya|eller|или|または|还是|或|또는|、|/|,)\s*[\"'“「『]?"
            r"(?:nein|no|non|não|nee|nie|nej|hayır|нет|いいえ|否|不是|tidak|아니요|아니오)(?![\w]))",
            rf"\b(?:answer|reply|respond|return|output|say|choose|pick|select|write|print)\b(?: (?:with|only|just"
            rf"|either|exactly|simply|one of|in|using|between|a|single|word|the (?:next |correct |right |best "
            rf"|single )*(?:{nouns}))){{0,6}}:?\s+({_WORDS})(?=[\s.!?,)\"]*(?:$|\n|[.!?):]|and nothing|only|for|to"
            rf"|based|depending))",
            rf"\b(?:classify|categori[sz]e|label|tag|mark|rate|score|grade|judge)\b[^\n:]{{0,120}}?\b(?:as|into"
            rf"|either)\b(?: one of| either| the)*:?\s+({_WORDS})",
            r"\b(?:whether|between|either)\b[^\n\"']{0,20}((?:[\"'][\w ]{1,40}[\"'](?:\s*,\s*(?:or )?"
            r"|\s+or\s+)?){2,12})",
            rf"\b(?:who|which)\b[^:\n?]{{0,40}}:\s*({_ITEMS})(?=\?)",
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
_NUMBERED = lazy_pattern(
    r"(?im)^[ \t]*(?:\[|\(|#|(?:passage|doc|document|option|candidate|choice|item|title)s?\s)?(\d{1,3})[\].):]{1,2}[ "
    r"\t]+([^\n]{1,500})$"
)
_NUMBERED_BLOCK = lazy_pattern(r"(?im)^(?:passage|doc|document)s? (\d{1,3}):\n(?!<)([^\n]{1,500})$")
_NUMBERED_IN_ROW = lazy_pattern(r"\[(\d{1,3})\] ([^\[\n]{1,500})")
_NUMBER_OF_ONE = lazy_pattern(
    r"(?i)\b(?:only|just|return|output|give)\b[^.\n]{0,40}\b(?:number|index|id|digit)\b|\b(?:number|index|id"
    r"|digit) only\b"
)
_RANKING = lazy_pattern(
    r"(?P<arrow>\[\d{1,3}\] > \[\d{1,3}\])[^\n]*"
    r"|(?P<doc>\b[A-Z]\w{2,8}: )\d{1,3}(?P<relevance>, [A-Z]\w{3,9}: )\d{1,2}\b"
)
_CONJUNCTION = lazy_pattern(r"(?i),? (?:or|and)$")
_LETTER_ALONE = lazy_pattern(r"(?i)\bletters?\b|\bonly (?:a |the |one )?(?:single )?(?:choice|option)\b")
_SEPARATOR = lazy_pattern(
    r"(?i)\s*,\s*(?:or\s+|and\s+)?|\s*[/|、]\s*|\s+(?:or|and|oder|o|ou|of|lub|czy|veya|eller|или)\s+|または|还是|或|또는"
)
_LABEL = lazy_pattern(r"[\w+-]+(?: [\w+-]+){0,3}")
_DENIAL = lazy_pattern(r"(?i)\b(?:not|no|never|none|cannot|\w+n't|false)\b")
