"""What a prompt orders word for word: exact words, an option, the word for a case, a rating, a sum, one value, code.

Each order is a function that returns None if the prompt does not order it. Options of all kinds are chosen by `pick`.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import chain, dropwhile

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily, remember
from mockserver.core.seed import Random
from mockserver.model.arguments import find_mentions
from mockserver.model.choosing import find_option, rank_options
from mockserver.model.listed_options import find_hints, list_options, read_numbered
from mockserver.model.passages import denies
from mockserver.model.prose import SENTENCE, Topic, list_content_words, write_sentences
from mockserver.model.schema.scalars import draw_known_text
from mockserver.model.shapes import infer_shape
from mockserver.model.vocabulary import (
    ENGLISH,
    NUMBER_WORDS,
    capitalize,
    find_requested_language,
    find_singular,
    make_vocabulary,
    read_english,
    read_number,
    read_truth,
    read_word_lists,
    split_name,
    split_words,
)

Fact = tuple[str, str]  # what it is about, which may be empty, and what is known of it
NUMBER = rf"(?:[0-9]{{1,4}}|{NUMBER_WORDS})"


class Request(Struct, frozen=True):
    """The last user message, the system prompt and the topic, and what tools returned: facts, and a text of them.

    `earlier`: what the user said before.
    """

    text: str
    rules: str
    topic: Topic
    facts: tuple[Fact, ...] = ()
    found: str = ""
    earlier: str = ""

    def find(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the first match in what the user says, or else in the rules."""
        return pattern.search(self.text) or find_in_rules(pattern, self.rules)


@remember(512)  # a client sends the same rules with each request
def find_in_rules(pattern: re.Pattern[str], rules: str) -> re.Match[str] | None:
    return pattern.search(rules)


@cache
def read_word_group(name: str) -> frozenset[str]:
    """Return a group of words that orders are made of."""
    return frozenset(read_english(name, "formats"))


def obey(request: Request, rng: Random) -> str | None:
    """Return what a prompt orders word for word, or the option, code or result that it asks for; None for nothing."""
    orders = (greet, dictate, rephrase, write_code, choose, rate, calculate, find_value)
    made = (order(request, rng) for order in ((choose,) if request.found else orders))
    return next((answer for answer in made if answer is not None), None)


def greet(request: Request, rng: Random) -> str | None:
    """Return the answer to a greeting, thanks or a goodbye; None for other texts."""
    kind = find_courtesy(request.text)
    return read_english(kind)[rng.randrange(len(read_english(kind)))] if kind else None


def find_courtesy(text: str) -> str:
    """Return the list of replies to a text that only greets, thanks or takes leave; "" for another text."""
    found = _COURTESY.fullmatch(text) if len(text) < _LONGEST_COURTESY else None
    return next((kind for kind, said in found.groupdict().items() if said), "") if found else ""


class Dictation(Struct, frozen=True):
    """An order to say something: the words that order it (`reply with exactly`), what, and whether that is quoted."""

    how: Sequence[str]
    what: str
    is_quoted: bool

    @property
    def gives_the_words(self) -> bool:
        """Whether it gives the exact words, and not what they should be about or look like."""
        first = re.split(r"[\s,.!?:]", self.what, maxsplit=1)[0].lower()
        is_described = first in read_word_group("describing")
        if self.is_quoted or (not is_described and _CAPITALS.fullmatch(self.what)):
            return True
        if is_described or _DESCRIBED.match(self.what):
            return self.how[-1] in ("word", "text", "token") or (self.how[-1] == ":" and self._is_exact)
        return self._is_exact or not read_word_group("repeating").isdisjoint(self.how)

    @property
    def _is_exact(self) -> bool:
        return not read_word_group("exact").isdisjoint(self.how)


def dictate(request: Request, rng: Random) -> str | None:
    """Return the exact words that are ordered: `say hello`, `reply with exactly: OK`, `repeat after me ...`."""
    ordered = _find_dictation(request.rules)
    if ordered is None or not (ordered.is_quoted or "exactly" in ordered.how):
        ordered = _find_dictation(request.text)
    if ordered is None or find_requested_language(" ".join((*ordered.how, ordered.what))) not in (None, ENGLISH):
        return None
    return ordered.what or None


@remember(64)
def _find_dictation(text: str) -> Dictation | None:
    """Return the first order to say exact words that no condition holds back; `if you can read this` is met."""
    unmet = _MET.sub(lambda condition: " " * len(condition[0]), text)
    material = range(text.find("\n\n"), text.rfind("\n\n"))  # between the first and the last paragraph
    for saying in _SAYING.finditer(text):
        at = end = saying.end()
        while (word := _NEXT.match(text, at)) and word[1].lower() in read_word_group("dictating"):
            at = word.end()
            end = end if word[1].lower() in _LEADING and text[at : at + 1] != ":" else at
        what = _WHAT.match(text, end)
        if what is None or saying.start() in material:
            continue
        how = (*_list_words(text[saying.start() : end]), *what["colon"])
        before = re.split(r"[.!?\n]", unmet[max(0, saying.start() - 200) : saying.start()])[-1]
        behind = unmet[what.end() :].lstrip(" ,").split(maxsplit=1)[:1]
        if not read_word_group("conditions").isdisjoint((*_list_words(before), *map(str.lower, behind))):
            continue
        if saying["denies"] and {"but", "except", "than"}.isdisjoint(how):
            continue
        said = what["what"]
        if is_quoted := what["quoted"] is not None:
            said = said[1:-1].strip()
        else:
            said = _NOTHING_ELSE.split(said, maxsplit=1)[0].strip()
            said = said[:-1] if said.endswith(".") and not said.endswith("..") else said
        found = Dictation(how, said, is_quoted)
        if found.gives_the_words:
            return found
    return None


def _list_words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def rephrase(request: Request, rng: Random) -> str | None:
    """Return the last question of a conversation as a question of its own, which retrieval begins with."""
    asked = [line for line in SENTENCE.findall(request.text) if line.endswith("?")]
    return capitalize(asked[-1].rpartition(": ")[2].strip()) if asked and request.find(_STANDALONE) else None


def calculate(request: Request, rng: Random) -> str | None:
    """Return the result of the sum in a request; None if there is no sum in it."""
    return compute(request.text)


def rate(request: Request, rng: Random) -> str | None:
    """Return a number within the bounds that graders are given: `on a scale of 1 to 5`, `Rating: [[5]]`."""
    bounds = request.find(_BOUNDS)
    if bounds is None or (bounds["of"] and _RATINGS.isdisjoint(split_words(bounds.string))):
        return None
    low, high = sorted((int(bounds["low"]), int(bounds["high"])))
    number = rng.randrange(low, high + 1)
    marked = request.find(_MARKED)
    if marked is None:
        reason = f"\n{next(write_sentences(request.topic, rng))}" if request.find(_REASON_BELOW) else ""
        return f"{number}{reason}"
    return f"{marked['mark']} {number}" if marked["mark"] else f"{marked['label']}[[{number}]]"


def find_value(request: Request, rng: Random) -> str | None:
    """Return only the value of a name, `reply with only the city`, from the prompt where it says one."""
    found = request.find(_VALUE_ALONE)
    name = next(filter(None, found.groups()), "").lower().removesuffix(" name") if found else ""
    if (
        found is None
        or name in read_word_group("no_values")
        or ({*name.split()} - {"code"}) & read_word_group("no_values")
    ):
        return None
    material = request.text.replace(found[0], " ") if found.string is request.text else request.text
    given, _ = find_mentions(material).assign({name.replace(" ", "_"): infer_shape("...", name)}, lambda *_: True)
    return str(next(iter(given.values()))) if given else draw_known_text(name, rng)


# Options


def decide(request: Request) -> str | None:
    """Return the word for the case that holds, `If it is good, reply APPROVED, otherwise REVISE`; None for no cases.

    The case is the one that approves, else the one whose condition fits the text best, else the other one.
    """
    for order in (request.text, request.rules):
        outcomes = _list_outcomes(order)
        spoken = {(each["quoted"] or each["caps"]).strip(): each for each in outcomes}
        is_rating = all(map(str.isdecimal, spoken)) and not _RATINGS.isdisjoint(split_words(order))
        if not spoken or is_rating or (len(spoken) < 2 and not _is_of_others(order)):
            continue
        if outcomes[-1].end() - outcomes[0].start() > _LONGEST_ORDER:  # words of a manual, not the cases of one order
            continue
        cut = max(order.rfind(sign, 0, outcomes[0].start()) for sign in ".!?\n") + 1
        rest = f"{order[:cut]} {order[outcomes[-1].end() :]}" if order is request.text else request.text
        conditions = {}
        for at, (word, each) in enumerate(spoken.items()):
            before = order[outcomes[at - 1].end() if at else cut : each.start()]
            after = order[each.end() : outcomes[at + 1].start() if at + 1 < len(outcomes) else len(order)]
            conditions[word] = before if _CASE.search(before) else _CLAUSE_END.split(after, maxsplit=1)[0]
        stated = {word: said for word, said in conditions.items() if not _is_of_others(said)}
        told = {word: said if word in stated else f"{said} {word}" for word, said in conditions.items()}
        approving = next((word for word, said in told.items() if _APPROVED.search(said)), None)
        fitting = find_option(request.found or rest, stated)
        if approving is None and len(spoken) < 2 and fitting is None:
            return None
        other = next((word for word in conditions if word not in stated), next(iter(spoken)))
        return approving or fitting or other
    return None


@remember(64)  # a client sends the same rules with each request
def _list_outcomes(text: str) -> Sequence[re.Match[str]]:
    """Return the words that a text orders for several cases."""
    outcomes = _OUTCOME.finditer(text) if len(_CASE.findall(text)) > 1 else ()
    return [*dropwhile(lambda each: not each["ordered"], outcomes)]


def _is_of_others(said: str) -> bool:
    """Return whether a text speaks of the cases that no other condition covers."""
    return any(case["other"] for case in _CASE.finditer(said))


def choose(request: Request, rng: Random) -> str | None:
    """Return one of the options that the prompt or the rules allow: the true one if possible, or the one named."""
    if (number := _choose_number(request, rng)) is not None:
        return number
    lettered = _find_lettered(request.text)
    for text in (request.text, request.rules):
        marks: list[str] = list(dict.fromkeys(re.findall(r"\[\[\w{1,20}\]\]", text)))
        if len(marks) > 1 and not _MARKED.search(text):
            return marks[rng.randrange(len(marks))]
        for listing in list_options(text)[:1]:
            rest = text[: listing.start] + " " + text[listing.end :]
            hinted = find_hints(listing.names, f"{request.rules}\n{request.text}"[-5_000:])
            told = dict.fromkeys(listing.names, "") | (hinted if len(hinted) > 1 else {})
            said = request.found or (request.text if text is request.rules else rest)
            return pick(lettered or told, said, request=request, rng=rng)
    if len(lettered) < 2:
        grades = request.find(_GRADES)
        return rng.choice(re.findall(r"[A-Z]", grades["letters"])) if grades and request.find(_GRADE_ALONE) else None
    letter = pick(lettered, request.found, request=request, rng=rng)
    return letter if request.find(_LETTER_ALONE) else f"{letter}) {lettered[letter]}"


def pick(options: Mapping[str, str], said: str, *, request: Request, rng: Random) -> str:
    """Return the option that is true, is the result, is named, or fits best what is said; else any."""
    truths = {read_truth(option): option for option in options}
    if truths.keys() == {True, False} and (is_true := _is_true(request)) is not None:
        return truths[is_true]
    result = compute(request.text)
    spoken = set(re.findall(r"[\w+-]+", said.lower()))
    right = [option for option, text in options.items() if text == result]
    named = [
        option for option in options if option.lower() in spoken and read_truth(option) is None and len(option) > 1
    ]
    found = right or named
    if not found and (fitting := find_option(said, options)) is not None:
        return fitting
    return found[0] if len(found) == 1 else [*options][rng.randrange(len(options))]


def _choose_number(request: Request, rng: Random) -> str | None:
    """Return the number of the passage that fits best, or of all that fit: `Doc: 9, Relevance: 7`, `[2] > [1]`."""
    shown = _RANKING.search(request.text)
    said = request.text.replace(shown[0], " ") if shown else request.text
    said = f"{request.earlier}\n{said}" if shown and shown["arrow"] else said  # each passage may be a message
    options, rest = read_numbered(said)
    if len(options) < 2 or not (shown or request.find(_NUMBER_OF_ONE)):
        return None
    if shown is None:
        return pick(options, rest, request=request, rng=rng)
    ranked = rank_options(rest, options)
    if shown["arrow"]:
        return " > ".join(f"[{at}]" for at in dict.fromkeys((*ranked, *options)))
    lines = enumerate(ranked or [*options][:1])
    return "\n".join(f"{shown['doc']}{at}{shown['relevance']}{max(1, 9 - place)}" for place, at in lines)


def _is_true(request: Request) -> bool | None:
    """Return whether what tools returned says so; without results, nothing is harmful, and all else unknown: None."""
    stated = (read_truth(value) for _, value in request.facts)
    unknown = False if request.find(_ALARM) else None
    seen = not denies(request.found) if request.found else unknown
    return next((value for value in stated if value is not None), seen)


def _find_lettered(text: str) -> dict[str, str]:
    """Return the options of a text by their letters, `A) red B) green`, if they begin with A and miss none."""
    found = [((each[1] or each[2])[0], each[3].strip(" ,;\t")) for each in _LETTERED.finditer(text)]
    letters = "".join(letter for letter, _ in found).upper()
    first = max(letters.rfind("A"), 0)
    run = {letter: re.sub(r"(?i),? (?:or|and)$", "", line) for letter, line in found[first:]}
    return run if "ABCDEFGH".startswith(letters[first:]) else {}


_LONGEST_COURTESY = 120  # characters
_LONGEST_ORDER = 2_000  # characters
_COURTESY = compile_lazily(  # characters
    r"(?i)\W*(?:(?:ok|okay|great|perfect|cool|nice|that's (?:it|all)|that helped)\W+)*"
    r"(?:(?P<greetings>(?:hi|hello|hey|good (?:morning|afternoon|evening|day))(?:[\s,]+\w+)?"
    r"(?:\W+how(?:'s| is| are) (?:you|it going)(?: today)?)?)|(?P<farewells>(?:(?:thanks|thank you)\b[^.!?,]{0,40}\W+)?"
    r"(?:(?:good)?bye|good night|see you)\b[^?\n]{0,40})"
    r"|(?P<thanks>(?:many )?(?:thanks|thank you|thx|cheers)\b(?:(?!\b(?:but|can|what|how|tell"
    r"|give)\b)[^?\n]){0,60}))\W*"
)
_SAYING = compile_lazily(
    r"(?im)(?:^|(?<=[.!?:;,])|\b(?:please|just|now|only|simply|always|must|then|to|you|and|should|exactly"
    r"|(?P<denies>not|never|don['’]t)))[ \t]*\b(?:say|repeat|echo|copy|reply|respond|answer|output|print|return"
    r"|write|type"
    r"|(?:your|the) (?:\w{1,10} )?(?:response|answer|reply|output) (?:must|should|has to|will) (?:only )?be)(?!\w)"
)
_ALARM = compile_lazily(r"(?i)\b(?:blocked|flagged|harmful|unsafe|toxic|malicious|jailbreak|violates?)\b[^.\n]{0,60}\?")
_LEADING = frozenset({"the", "this", "is", "single", "one"})  # of what is to be said, unless "word" follows
_NEXT = compile_lazily(r"[ \t]+([A-Za-z]+)\b(?!['’])")
_WHAT = compile_lazily(
    r"[ \t]*(?P<colon>[:,]?)\s*(?P<what>(?P<quoted>\"[^\"\n]{1,2000}\"|“[^”\n]{1,2000}”|«[^»\n]{1,2000}»"
    r"|`[^`\n]{1,2000}`|'[^'\n]{1,2000}'(?!\w)|‘[^’\n]{1,2000}’(?!\w))|[^\s\"“«`][^\n]{0,2000})"
)
_CAPITALS = compile_lazily(r"[A-Z][A-Z_]{1,19}")
_DESCRIBED = compile_lazily(
    r"(?i)(?:[\w-]+ ){0,4}(?:questions?|code)\b"
    rf"|(?![^(<\[{{]*[^\W_])|\S+(?: or |/)\S+?(?:[.!?]\s|[\s.!?]*$)|{NUMBER}[\s-]+[a-z]"
)
_MET = compile_lazily(
    r"(?i)\b(?:if|when) you(?: can| are| have)? (?:hear|read|see|understand|understood|received?|get|got|ready)\b"
    r"(?: (?:me|this|it|that))?(?: (?:message|text|prompt))?"
)
_NOTHING_ELSE = compile_lazily(
    r"(?i)(?<=[.!?])\s|,? and (?:nothing|stop|no)\b|,? nothing (?:else|more)\b|,? without\b|\s\(|,? only\b[.!]?$"
    r"|,? please\b| unless\b| to (?:confirm|acknowledge|continue|proceed)\b"
)
_STANDALONE = compile_lazily(
    r"(?i)\b(?:(?:standalone|improved|better|step-back) (?:question|query)|rephrase the (?:\w+[ -]){0,3}question)\b"
)
_BOUNDS = compile_lazily(
    r"(?im)\b(?:(?:number|integer|score|rating|rate|rank|value|scale|grade)\b[^.\n]{0,80}?\b(?:between|from|of)\s+|"
    r"score\b[^.\n]{0,40}?\(|^(?P<of>\w{3,20}) \()(?P<low>\d{1,6})\s*(?:and|to|-|–)\s*(?P<high>\d{1,6})\b"
)
_MARKED = compile_lazily(
    r"(?P<label>(?:[A-Z]\w{2,20}: )?)\[\[(?:\d{1,3}|rating|score)\]\]"
    r"|(?P<mark>\[[A-Z]{3,20}\]) \(an? (?:integer|number)"
)
_REASON_BELOW = compile_lazily(
    r"(?i)\bon (?:a|the) (?:separate|new|next|second) line,? (?:provide|give|write|explain)[^.\n]{0,20}\breason"
)
_VALUE_ALONE = compile_lazily(
    r"(?i)\b(?:reply|respond|answer|output|return|give|provide|print|tell me)\b[^.\n]{0,40}? (?:(?:only|just|exactly)"
    r"(?: with)? (?:the|an?|one)? ?([a-z][a-z -]{2,30}?)|(?:the|an?|one) ([a-z][a-z -]{2,30}?),? only)"
    r"(?=[.,;:\n]|$| (?:for|of|in|from|and)\b)"
)
_RATINGS = make_vocabulary("score scores rate rating scale")
_CASE = compile_lazily(
    r"(?i)\b(?:(?P<other>otherwise|(?<!nothing )else|in (?:all|any) other cases?|if not?)|if|when|whenever|unless)\b"
)
_CLAUSE_END = compile_lazily(r"[.;!\n]|,\s+(?:and|else|or)\b|\band\b")
_APPROVED = compile_lazily(
    r"(?i)\b(?:good|complete|correct|right|fine|harmless|ok|acceptable|satisf\w+|ready|approved?|passes|yes|accurate"
    r"|no (?:more |further |major )?(?:changes?|comments?|issues?|problems?))\b"
)
_OUTCOME = compile_lazily(
    r"(?:\b(?P<ordered>(?i:reply|respond|say|answer|return|output|print|write|use|give)\b(?i:\s+(?:with|only|just|exactly"
    r"|simply|the|words?|phrase|a|single)\b){0,5}\s*:?\s*)|(?:[,;.]|\b(?i:else|otherwise|and|or))\s+)(?:[\"'`“]"
    r"(?P<quoted>[^\"'`”\n]{1,40})[\"'`”]|(?P<caps>(?!I\b|A\b|JSON\b)[A-Z][A-Z_]*|\d{1,2})(?![\w']))"
    r"(?=\s*(?:[^\w\s]|\Z)|\s*\n|\s+(?i:if|when|whenever|unless|for|else|otherwise|in|and|or)\b)"  # it ends a clause
)
_LETTERED = compile_lazily(
    r"(?m)(?:^[ \t]*\(?([A-Ha-h])[).:]|(?<=[\s,;?!.:])\(?([A-H][).]|[a-h]\)))[ \t]+([^\n]{1,200}?)"
    r"(?=[,;?!.]?\s+\(?(?:[A-H][).]|[a-h]\))\s|[?!.]\s|[?!.]?$)"
)
_NUMBER_OF_ONE = compile_lazily(
    r"(?i)\b(?:only|just|return|output|give)\b[^.\n]{0,40}\b(?:number|index|id|digit|choice)\b"
    r"|\b(?:number|index|id) only\b"
)
_RANKING = compile_lazily(
    r"(?P<arrow>\[\d{1,3}\] > \[\d{1,3}\])[^\n]*"
    r"|(?P<doc>\b[A-Z]\w{2,8}: )\d{1,3}(?P<relevance>, [A-Z]\w{3,9}: )\d{1,2}\b"
)
_GRADES = compile_lazily(r"\((?P<letters>[A-Z](?:(?:, ?| ?/ ?| or |, or )[A-Z]){1,10})\)")
_GRADE_ALONE = compile_lazily(
    r"(?i)\b(?:only|just|single)\b[^.\n]{0,30}\b(?:letter|grade)\b|\b(?:letter|grade)s? only\b"
)
_LETTER_ALONE = compile_lazily(r"(?i)\bletters?\b|\bonly (?:a |the |one )?(?:single )?(?:choice|option)\b")


# Sums


def compute(text: str) -> str | None:
    """Return the result of the sum that a text asks for; None where it asks for none."""
    wanted = parse_sum(text)
    try:
        return None if wanted is None else _write_result(_evaluate(wanted))
    except ZeroDivisionError:
        return "That cannot be computed: it divides by zero."
    except ValueError:
        return None


def parse_sum(text: str) -> ast.expr | None:
    """Return the sum that a text asks for as Python reads it; None where it asks for none."""
    found = find_sum(text)
    with suppress(SyntaxError):
        return None if found is None else ast.parse(_SUPERFLUOUS.sub("", found).strip(), mode="eval").body
    return None


def find_sum(text: str) -> str | None:
    """Return the sum that a text asks for, in digits and signs; None where it asks for none.

    `3 + 4` for `3 plus 4`, `three plus four` and `add 3 and 4`.
    """
    text = _SPOKEN_NUMBER.sub(lambda word: str(read_number(word[0])), text[:4_000])
    if _NUMBERS.search(text) is None:
        return None
    for spoken, sign in _list_spoken_signs():
        text = spoken.sub(sign, text)
    asked = (found[0] for found in _SUM.finditer(text) if _is_question(text, found))
    return next(asked, None) or next(_list_named_sums(text), None)


def _list_named_sums(text: str) -> Iterator[str]:
    """Yield the sums that a text names before their numbers, `the sum of 3 and 4`, and says no more about."""
    if _SUM_NAME.search(text) is None:
        return
    for pattern, sign, order in _compile_named_sums():
        for found in pattern.finditer(text):
            numbers = [number.replace(",", "") for number in _OF_NAMED_SUM.findall(found["numbers"])]
            if order == "backwards":
                numbers.reverse()
            elif order == "greatest":
                numbers.sort(key=float, reverse=True)
            yield f" {sign} ".join(numbers)


def _is_question(text: str, found: re.Match[str]) -> bool:
    """Return whether a sum is the question, and not a date or a number of some thing."""
    before = text[max(0, found.start() - 40) : found.start()]
    behind = text[found.end() :].lstrip()
    alone = before.rstrip()[-1:] in ("", ".", "!", "?", ":") and not behind[:3].strip(" =?.\n")
    asked = behind.startswith(("?", "？", "؟")) and _SPACED.search(found[0])  # but not `on 5/12?`
    return bool(alone or _CUE.search(before) or behind.startswith(("=", "equals")) or asked)


def _evaluate(node: ast.AST) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as number):
            return Fraction(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_evaluate(left), _evaluate(right))
    raise ValueError(ast.dump(node))


def _write_result(result: Fraction) -> str:
    if result.denominator == 1:
        return str(result.numerator)
    scaled = round(result * 10**10)
    whole, part = divmod(abs(scaled), 10**10)
    return ("-" if scaled < 0 else "") + f"{whole}.{part:010d}".rstrip("0").rstrip(".")


@cache
def _list_spoken_signs() -> Sequence[tuple[re.Pattern[str], str]]:
    """Return what is said in words, and in signs."""
    return [(compile_lazily(f"(?i){spoken}"), signs) for spoken, signs in read_word_lists("patterns")["spoken_sums"]]


@cache
def _compile_named_sums() -> Sequence[tuple[re.Pattern[str], str, str]]:
    """Return patterns of sums whose numbers follow a name, each with its sign and the order of its numbers."""
    return [
        (
            compile_lazily(
                rf"(?i){name.replace('@', _ORDERED)} "
                rf"(?P<numbers>{_NAMED_NUMBER}(?:(?:{joint})\s*{_NAMED_NUMBER}){{1,20}})"
                r"[\"'”’)]?(?=\s*(?:\n|$)|\s?[.?!;](?:\s|$))(?![\s.!;]*(?:then|and|next|now|finally|after)\b)"
            ),
            sign,
            order,
        )
        for name, joint, sign, order in read_word_lists("patterns")["named_sums"]
    ]


_OPERATORS: Mapping[type, Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_NUMBERS = compile_lazily(r"\d\D+\d")  # a sum needs two
_NUMERAL = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,10})?(?![\d,])|\d{1,20}(?:\.\d{1,10})?"
_SUM = compile_lazily(  # the 5 of GPT-5 is not of one
    rf"(?<![\w.])(?<!\w-)[-( ]{{0,8}}(?:{_NUMERAL})(?:[ )]{{0,8}}[-+*/][-( ]{{0,8}}(?:{_NUMERAL})"
    rf"){{1,20}}[ )]{{0,8}}(?![\w/-])"
)
_NAMED_NUMBER = rf"[$€£]?-?(?:{_NUMERAL})"
_OF_NAMED_SUM = compile_lazily(rf"(?<!\d)-?(?:{_NUMERAL})")
_ORDERED = r"(?:^|(?<=[.!?:;\n]) ?|\b(?:please|to|you|calculate|compute|find|the|just|now) )"
_SUM_NAME = compile_lazily(r"(?i)\b(?:sum|total|add|subtract|difference|product|multiply|divide|quotient)\b")
_SIGN_NAME = "plus|minus|times|multiplied by|divided by"
_ENGLISH_NUMBER = rf"(?:(?!single\b|an?\b|hundred\b){NUMBER_WORDS})"
_SPOKEN_NUMBER = compile_lazily(
    rf"(?i)(?<![\w-]){_ENGLISH_NUMBER}(?=\s+(?:{_SIGN_NAME})\s)"
    rf"|(?:(?<=plus )|(?<=minus )|(?<=times )|(?<=multiplied by )|(?<=divided by )){_ENGLISH_NUMBER}(?![\w-])"
)
_SUPERFLUOUS = compile_lazily(r",|(?<![\d.,])0+(?=\d)")
_SPACED = compile_lazily(r"[+*]|\s[-/]\s")
_CUE = compile_lazily(
    r"(?i)(?:what(?:'s| is| are| does)|how much is|calculate|compute|evaluate|solve|result of|value of|equals?):?\s*$"
)


# Code: stubs, as programs parse or run what they get


def write_code(request: Request, rng: Random) -> str | None:
    """Return SQL, or a stub in the language that a prompt asks for, fenced unless only code may be written."""
    said = next((each for each in _CODE.finditer(request.text) if each["ordered"]), None)
    alone = request.find(_CODE_ALONE)
    spoken = request.find(_LANGUAGES)
    named = spoken[1].lower() if spoken else "python"
    if request.find(_SQL_ORDERED) or (alone and "sql" in named):
        return write_sql(request.text, request.rules)
    if said is None and (alone is None or spoken is None):
        return None
    language = _ALIASES.get(named, named)
    stub = write_stub(language, request.text)
    return stub if alone else f"```{language}\n{stub}\n```"


def write_stub(language: str, text: str) -> str:
    """Return a stub of what a text orders, in a language or the one of files that end so: Python for unknown ones."""
    language = _ALIASES.get(language, language)
    signed = _SIGNATURE.search(text)
    silent = read_english("said_of_code", "formats")
    about = [word for word in list_content_words(text, ENGLISH) if word.lower() not in silent]
    name = signed[1] if signed else "_".join([*map(find_singular, about[:1]), *about[1:3]])
    form = (read_english(language, "code") or read_english("python", "code"))[0]
    stub = form.format(name=name or "main", about=" ".join(text.split()).rstrip(".?!")[:_MAX_REPEATED]).strip()
    if signed:
        stub = stub.replace("*values", signed[2]).replace("return values", f"return {signed[2].split(',')[0]}")
    return stub


def write_code_values(properties: Mapping[str, Json], said: str, context: str) -> dict[str, Json]:
    """Return stubs for the properties that are described as SQL or code, if the text that wants them has no code."""
    made: dict[str, Json] = {}
    for name, inner in properties.items():
        if not isinstance(inner, Mapping) or inner.get("type") != "string":
            continue
        about = f"{name} {inner.get('description', '')}"[:_LONGEST_NOTE]
        if "sql" in split_words(about) and not _HAS_SQL.search(said):
            made[name] = write_sql(said, context)
        elif _COMMAND_MENTION.search(about) and not _HAS_COMMAND.search(said):
            made[name] = write_stub("bash", said.replace('"', "'"))
        elif _CODE_MENTION.search(about) and not _HAS_CODE.search(said):
            made[name] = write_stub("python", said)
    return made


def write_sql(said: str, context: str) -> str:
    """Return a query of the table that a question names, of those that the context or the question itself shows."""
    tables = [table for text in (context, said) for table in _TABLE.findall(text)]
    tables = tables or [table for line in _ROW_OF_NAMES.findall(context) for table in line.split(", ")]
    known = {find_singular(table): table for table in reversed(tables)}
    lines = reversed(_TABLE.sub(" ", said).splitlines())  # the question stands at the end
    named = (known[word] for line in lines for word in split_name(line) if word in known)
    silent = read_english("said_of_code", "formats")
    about = (find_singular(word) for word in list_content_words(said, ENGLISH) if word.lower() not in silent)
    table = next(chain(named, tables, about), "items")
    return " ".join(("SELECT", "COUNT(*)" if "how many" in said.lower() else "*", "FROM", table, "LIMIT 10"))


_MAX_REPEATED = 100  # characters of a prompt that a stub repeats
_LONGEST_NOTE = 300
_SQL_ORDERED = compile_lazily(
    r"(?i)\b(?:generate|write|create|return|produce)\b[^.?!\n]{0,60}\b\w{0,10}sql(?:ite)? quer(?:y|ies)\b"
)
_HAS_SQL = compile_lazily(r"(?is)\bselect\b.{1,200}\bfrom\b|\b(?:insert into|update \w+ set|delete from)\b")
_CODE_MENTION = compile_lazily(
    r"(?i)\bcode (?:block|snippet)s?\b|\b(?:python|source|executable)[ _]code\b|\bcode to (?:run|execute)\b"
)
_COMMAND_MENTION = compile_lazily(r"(?i)\b(?:bash|shell|terminal) commands?\b")
_HAS_COMMAND = compile_lazily(
    r"(?im)[`$|]|--|\./|(?:^|[.:;,]\s+|\b(?:please|then|and|use)\s+)(?:run|execute|ls|cd|pwd|cat|git|grep|echo)\b"
)
_HAS_CODE = compile_lazily(r"[`'\"()=;{}]|\d\s?[-+*/^]")
_TABLE = compile_lazily(r"(?i)\bcreate table (?:if not exists )?[\[\"`]?(\w{1,60})")
_ROW_OF_NAMES = compile_lazily(r"(?m)^(\w{1,60}(?:, \w{1,60}){0,200})$")
_CODE = compile_lazily(  # but not `When did Ada write the first program?`
    r"(?i)\b(?:did|does)\b[^.?!\n]{0,200}\?"
    r"|\b(?P<ordered>write|create|implement|generate|make|give me|show me|provide)\b[^.?!\n]{0,60}?"
    r"\b(?:functions?|scripts?|programs?|class|code|snippet|regex|command|one-liner)\b(?! of\b)"
)
_CODE_ALONE = compile_lazily(
    r"(?i)\b(?:only|just|nothing but|raw)\b[^.\n]{0,30}\b(?:code|commands?|sql|regex|quer(?:y|ies)|functions?)\b"
    r"|\b(?:code|command|sql|query|regex) only\b|\b(?:no|without)\b[^.\n]{0,20} (?:markdown|fences?|backticks)\b"
)
_LANGUAGES = compile_lazily(
    r"(?i)\b(python|javascript|typescript|js|ts|java|rust|golang|ruby|php|bash|shell|\w{0,10}sql|sqlite|html|css|regex"
    r"|dockerfile|(?<=in )(?:go|c))\b(?![+#])"
)
_ALIASES = {
    "js": "javascript", "ts": "typescript", "golang": "go", "shell": "bash", "sh": "bash", "rs": "rust", "rb": "ruby"
}  # fmt: skip
_SIGNATURE = compile_lazily(r"\b([A-Za-z_]\w{1,60})\(([\w, ]{1,80})\)")
