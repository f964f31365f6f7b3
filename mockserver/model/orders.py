"""What phrases order of an answer in words: exact words, an option, a result, a list, a length, a last word.

`obey` answers with what a prompt orders word for word. Other answers, whatever they come from, are made as long as
ordered (`shape_answer`), put behind a label or into tags (`finish_answer`), and closed with a word (`find_closing`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Tool
from mockserver.core.lazy import lazy_pattern
from mockserver.core.seed import Random
from mockserver.model.arguments import mentions
from mockserver.model.arithmetic import comparison_holds, computed
from mockserver.model.choosing import best
from mockserver.model.fillers import capitalized, english, note, pick
from mockserver.model.prose import Speaker, blank, sentences
from mockserver.model.schema.scalars import known_text
from mockserver.model.shapes import find_shape, shape_of
from mockserver.model.topic import ENGLISH, SENTENCE, Topic, content_words, requested_language, stop_words
from mockserver.model.triggers import COUNTING_WORDS, is_triggered, label_in, trigger_set, trigger_words
from mockserver.model.vocabulary import (
    NUMBER_WORDS,
    RULING,
    excerpt,
    folded,
    keys,
    number_of,
    singular,
    truth,
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


def obey(request: Request, rng: Random) -> str | None:
    """Return what a prompt orders word for word, or the option, code or result that it asks for; None for nothing."""
    orders = (choose,) if request.found else (greet, dictate, rephrase, write_code, choose, calculate, rate, find_value)
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


def kind_of_writing(text: str) -> re.Match[str] | None:
    """Return the first word that says what is to be written; its group is `code` or `prose`."""
    return _WRITING.search(folded(text))


def calculate(request: Request, rng: Random) -> str | None:
    return computed(request.text, bare=request.matches(_BARE_RESULT))


def rate(request: Request, rng: Random) -> str | None:
    """A number within the bounds that graders are given: `on a scale of 1 to 5`, `Rating: [[5]]`."""
    bounds = _BOUNDS.search(request.text) or _BOUNDS.search(request.rules)
    if bounds is None:
        return None
    low, high = sorted((int(bounds[1]), int(bounds[2])))
    number = str(rng.randrange(low, high + 1))
    marked = next(filter(None, map(_MARKED.search, (request.text, request.rules))), None)
    return number if marked is None else f"{marked[1]}[[{number}]]"


def find_value(request: Request, rng: Random) -> str | None:
    """Only the value of a name: `reply with only the city`, from the prompt where it says one."""
    found = _VALUE_ALONE.search(request.text) or _VALUE_ALONE.search(request.rules)
    name = next(filter(None, found.groups()), "").lower().removesuffix(" name") if found else ""
    if found is None or name in trigger_set("no_values") or ({*name.split()} - {"code"}) & trigger_set("no_values"):
        return None
    material = request.text.replace(found[0], " ") if found.string is request.text else request.text
    given, _ = mentions(material).assigned({name.replace(" ", "_"): shape_of("...", name)}, lambda *_: True)
    return str(next(iter(given.values()))) if given else known_text(name, rng)


def decide(text: str, rules: str, found: str | None) -> str | None:
    """Return the word for the case that holds, `If it is good, reply APPROVED, otherwise REVISE`; None for no cases.

    The case is the one whose condition shares most words with the text, else the one that approves, else the other one.
    """
    for order in (text, rules):
        outcomes = [*_OUTCOME.finditer(order)] if is_triggered("cases", order) and len(_CASE.findall(order)) > 1 else []
        spoken = {(each["quoted"] or each["caps"]).strip(): each for each in outcomes}
        if not outcomes or (len(spoken) < 2 and not _OTHERWISE.search(order)):
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
    result, spoken = computed(request.text, bare=True), set(re.findall(r"[\w+-]+", said.lower()))
    right = [option for option, text in options.items() if text == result]
    named = [option for option in options if option.lower() in spoken and truth(option) is None and len(option) > 1]
    found = right or named
    if not found and (fitting := best(said, [Tool(option, text) for option, text in options.items()], {})):
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
        for order in _closing_orders(messages[at]):
            found.append((order, at in asked[-1:]))
            messages[at] = replace(messages[at], text=messages[at].text.replace(order[0], " "))
    if not found:
        return Closing(call)
    order, by_user = found[-1]
    word = (order["quoted"] or order["bare"]).strip()
    approves = _APPROVING.search(order[0]) is not None
    if approves and not call.turn and _OF_FEEDBACK.search(order[0]):
        return Closing(replace(call, messages=tuple(messages)))
    is_idle = messages[-1].role == "user" and _GOING_ON.fullmatch(messages[-1].text) is not None
    alone = (bool(call.turn or by_user) and is_idle) or (approves and not order["ending"])
    return Closing(replace(call, messages=tuple(messages)), word, alone)


def _closing_orders(message: Message) -> Iterator[re.Match[str]]:
    text = excerpt(message.text)
    if not (is_triggered("closing", text) and _WORD_GIVEN.search(text)):
        return
    for sentence in filter(_WORD_GIVEN.search, _SENTENCE_WITH_QUOTES.findall(text)):
        order = _CLOSING.fullmatch(sentence)
        is_due = order and (order["ending"] or WHEN_DONE.search(sentence)) and not _FAILING.search(sentence)
        if order and is_due and not label_in(sentence):
            yield order


def without_form(call: Call) -> Call:
    """Return the call without the sentences of the user that only order a form: they are no requests and no values."""
    names = [tool.name for tool in call.tools]
    asked = find_closing(call).call.messages
    messages = (
        replace(before, text=_without_form(before.text, after.text, names)) if before.role == "user" else before
        for before, after in zip(call.messages, asked, strict=True)
    )
    return replace(call, messages=tuple[Message, ...](messages))


def _without_form(text: str, without_closing: str, names: list[str]) -> str:
    def blank_form(found: re.Match[str]) -> str:
        return found[0] if any(name in found[0] for name in names) else f"{found['before']} "

    stripped = _FORM_SENTENCE.sub(blank_form, without_closing)
    if stripped == text or _TWO_LETTERS.search(stripped):
        return stripped
    shape = find_shape(text) if "{" in text else None
    rests = (shape.rest if shape else "", _FORM.sub(blank_form, text))
    return next(filter(_TWO_LETTERS.search, rests), text)


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
_WRITING = lazy_pattern(
    r"\b(?:(?P<code>(?:functions?|scripts?|programs?|class(?:es)?|methods?|code|snippets?|query|(?<=sql )queries"
    r"|regex(?:es)?|regular expressions?|one-liners?|algorithms?|commands?|components?|sql statements?|(?:html|css"
    r"|web) (?:pages?|forms?|files?)|unit tests?|dockerfile|endpoints?|decorators?)(?! of\b)|in (?:python|javascript"
    r"|typescript|java|rust|golang|go|ruby|php|bash|sql|kotlin|swift|c\+\+|c#|c)(?=[\s.?!,:]|$))|(?P<prose>e-?mails?"
    r"|letters?|story|stories|tales?|poems?|essays?|songs?|speech|blog|articles?|posts?|paragraphs?|notes?|reviews?"
    r"|summary|novels?|dialogue|toast|message|report|apology|invitation))\b"
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
_MARKED = lazy_pattern(r"((?:[A-Z]\w{2,20}: )?)\[\[\d{1,3}\]\]")
_VALUE_ALONE = lazy_pattern(
    r"(?i)\b(?:reply|respond|answer|output|return|give|provide|print|tell me)\b[^.\n]{0,40}?"
    r" (?:(?:only|just|exactly|nothing but)(?: with)? (?:the|an?|one|its|their|your)? ?([a-z][a-z -]{2,30}?)"
    r"|(?:the|an?|one) ([a-z][a-z -]{2,30}?),? only)(?=[.,;:\n]|$| for\b| of\b| in\b| from\b| and\b)"
)

_CASE = lazy_pattern(r"(?i)\b(?:if|when|whenever|unless|otherwise|else|in (?:all|any) other cases?|in which case)\b")
_OTHERWISE = lazy_pattern(r"(?i)\b(?:otherwise|else|in (?:all|any) other cases?|if not|if no)\b")
_CLAUSE_END = lazy_pattern(r"[.;!\n]|,\s+(?:and|else|or)\b|\band\b")
_APPROVED = lazy_pattern(
    r"(?i)\b(?:good|complete|correct|right|fine|harmless|ok|okay|acceptable|satisf\w+|ready|approved?|passes|clean"
    r"|yes|accurate|no (?:more |further )?(?:changes?|comments?|issues?|problems?|improvements?))\b"
)
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
_LETTER_ALONE = lazy_pattern(r"(?i)\bletters?\b")
_SEPARATOR = lazy_pattern(
    r"(?i)\s*,\s*(?:or\s+|and\s+)?|\s*[/|、]\s*|\s+(?:or|and|oder|o|ou|of|lub|czy|veya|eller|или)\s+|または|还是|或|또는"
)
_LABEL = lazy_pattern(r"[\w+-]+(?: [\w+-]+){0,3}")
_DENIAL = lazy_pattern(r"(?i)\b(?:not|no|never|none|cannot|\w+n't|false)\b")

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
_BULLETED = lazy_pattern(r"(?i)\bbullet(?:s|ed)?\b")
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

_MOST_RULING = 5  # instructions that are read at the beginning, and at the end
_SENTENCE_WITH_QUOTES = lazy_pattern(r"(?:[^.!?\n]|[.!?](?=[\"'`”’*])){1,1000}[.!?]?")
_WORD_GIVEN = lazy_pattern(r"[\"'`“‘*<\[]|[A-Z][A-Z0-9_]{2}")  # what an order cannot do without
_CLOSING = lazy_pattern(
    r"""(?x)[^\n]*?\b(?:(?i:(?P<ending>end|finish|conclude|close|sign[ ]off)(?:\s+(?:your|the|every|each|all|this|it|of
    |final|last|whole|messages?|answers?|repl(?:y|ies)|responses?|outputs?|turns?|conversation|report|work|task)\b){0,5}
    \s+(?:with|by\s\w{3,9}ing))|(?i:repl(?:y|ying)|respond|say|answer|output|print|writ(?:e|ing)|return|send|add|append
    |includ(?:e|ing)|type|use|emit|state|put)(?:ing)?)
    (?i:\s+(?:with|back|only|just|exactly|simply|the|a|an|single|word|words|keyword|phrase|token|string|message|text
    |marker|line|saying|out|code|signal)\b){0,5}\s*[:,]?\s*
    (?:(?:["'`“‘*]{1,2})(?P<quoted>[^"'`”’*\n]{0,60}[^\W\d_][^"'`”’*\n]{0,60})["'`”’*]{1,2}
    |(?P<bare>(?!(?:JSON|XML|HTML|SQL|CSV|YAML|URL|API)\b)[A-Z][A-Z0-9_]{2,40}\b|<[\w|/-]{2,30}>
    |\[[A-Z][A-Z_ ]{2,30}\]))
    [^\n]*"""
)
_DONE = (
    r"(?:done|finish\w*|complet\w*|ends?|ended|solved|satisf\w*|resolved|ready|over|addressed|fulfil\w*|accomplish\w*"
    r"|nothing (?:else|more)|nothing to \w+|no (?:more|further|comments?|changes?|issues)|answered|approv\w*|correct"
    r"|acceptable|good|happy|(?:has|have) been \w+)"
)
WHEN_DONE = lazy_pattern(
    r"(?i)\b(?:after|once) (?:you(?:'ve| have)?|\w+ing)\b|"
    rf"\b(?:when|once|after|if|as soon as|until|unless|before|only when)\b[^.\n]{{0,120}}?\b{_DONE}\b|"
    r"\b(?:in|at) the (?:very )?end\b|\bto (?:end|signal|indicate|show|finish|terminate|mark|close)\b|"
    r"\bthen (?:say|write|print|output|reply|respond)\b|\b(?:last|final) (?:line|message|reply|response|answer|word)\b"
)
_FAILING = lazy_pattern(
    r"(?i)\b(?:when|once|if)\b[^,.\n]{0,80}?\b(?:not|cannot|can't|unable|unsure|don't|doesn't|isn't|aren't|fails?|"
    r"(?:user|customer|caller|human) (?:says?|asks?|wants?|is|has))\b"
)
_OF_FEEDBACK = lazy_pattern(r"(?i)\b(?:feedbacks?|addressed|comments have)\b")
_APPROVING = lazy_pattern(
    r"(?i)\b(?:feedbacks?|nothing to \w+|no (?:comments?|changes?|issues)|satisf\w+|approv\w+|addressed|correct"
    r"|acceptable|good|happy)\b"
)
_GOING_ON = lazy_pattern(
    r"(?i)\W*(?:(?:please|ok|okay|continue|go on|proceed|keep going|carry on|thanks?|thank you|great|good|perfect|"
    r"otherwise|the|with|task|working|work|keep|on|next|step|and|all)\b\W*)*"
)

_TWO_LETTERS = lazy_pattern(r"[^\W_]{2}")
_TRUTH = r"[\"'`“]?(?:yes|no|true|false)[\"'`”]?"
_OPTION = r"[\"'`“]?(?-i:[A-Z][A-Z_]*|\d{1,2})[\"'`”]?"
_SO_LONG = (
    rf"(?:(?:exactly|about|around|at most|at least|only|just|no more than|less than|fewer than|under|up to)\s+){{0,2}}"
    rf"{NUMBER}[ -]{OF_LENGTH % ''}"
)
_ANY_FORM = (
    rf"(?:(?:(?:an?|the|one|valid|plain|raw|single|strict|proper)\s+){{0,3}}"
    r"(?:json|xml|ya?ml|csv|html|markdown|latex|plain text)\b(?!\s+files?\b)"
    rf"|{_TRUTH}\s*(?:/|\||,?\s*or\b)\s*{_TRUTH}(?!\w)"
    rf"|{_OPTION}(?:\s*[,/|]\s*{_OPTION}){{0,12}},?(?:\s*[/|]\s*|\s+or\s+){_OPTION}(?!\w)"
    rf"|{_SO_LONG}|(?:the\s+|an?\s+|one\s+)?(?:letters?|numbers?|digits?|words?)\b(?!\s+(?:of|for)\b)"
    r"|(?<=in )(?:english|german|french|spanish|italian)\b"
    r"|(?:(?<=as )|(?<=in ))an? (?:\w+ )?(?:table|list|checklist)\b"
    r"|(?:briefly|concisely|shortly|in short|in brief)\b|[{<\[])"
)
_ORDERED_FORM = (
    r"(?:(?:reply|respond|answer|output|return|print|write|say|give|format|present|provide|state)(?:\s+(?:me|back|it"
    r"|(?:your|the|an?|this|each)\s+(?:final\s+|whole\s+)?(?:answers?|reply|response|outputs?|results?)))?"
    rf"(?:\s+(?:only|just|simply|exactly|strictly|either|always|with|in|as|using)\b){{0,4}}:?\s+{_ANY_FORM}"
    rf"|(?:in\s+|use\s+|using\s+)?{_SO_LONG}(?=\s*(?:[.!?\n]|$|please\b|only\b))"
    r"|(?:reply|respond|answer|output|return|print|say|give)(?: me| with)? (?:only|just) the \w+(?=\s*(?:[.!?\n]|$))"
    r"|(?-i:\(?[A-D]\)\s)|(?:keep (?:it|your \w+)|be|stay) (?:very |as )?(?:short|brief|concise|terse)\b)"
)
_FORM = lazy_pattern(
    r"(?im)(?P<before>(?:^|(?<=[.!?;:,]))[ \t]*|\s(?=(?:and|then)\s))"
    rf"(?:(?:and|then|please|but|just|finally|now|always|also|so|only)[, ]{{1,2}}){{0,4}}{_ORDERED_FORM}"
)
_FORM_SENTENCE = lazy_pattern(
    rf"{_FORM.pattern}(?:[^.!?:\n]{{0,200}}\b(?:keys?|fields?|properties|format|schema|shape|like"
    rf"|options?)\b[^.!?:\n]{{0,20}}:"
    r"[^.!?\n]*|[^.!?:\n]*)[.!?:]?"
)
