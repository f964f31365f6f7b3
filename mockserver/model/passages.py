"""Prose, or answers from the conversation: the sentence that answers a question, and what tools returned.

A sentence answers a question if it has most of its content words, all its names and numbers, and says more than it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice

from msgspec import Struct

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json, try_parse
from mockserver.core.lazy import compile_lazily, remember
from mockserver.core.plan import Text
from mockserver.core.seed import Random, Seed
from mockserver.model.prose import QUESTION_SIGNS, SENTENCE, SIGNS, Topic, is_order, read_english_topic, write_text_on
from mockserver.model.vocabulary import (
    ENGLISH,
    LETTERS_ALONE,
    RULING,
    UNSPACED,
    cut_excerpt,
    find_language,
    fold,
    list_foreign_words,
    make_vocabulary,
    read_english,
    read_stop_words,
    read_word_set,
    split_words,
    stem,
)


class _Statement(Struct, frozen=True):
    """A sentence that states something; `own` if the user said it."""

    text: str
    own: bool
    keys: frozenset[str]


def write_plain_prose(call: Call, seed: Seed) -> DraftChoice | None:
    """Return what `write_prose_on` does, in English; None if a call may want something else, or more."""
    asked = call.options
    said = ""
    if call.tools or call.prompts or asked.prefill or asked.effort is not None or asked.response_format != "text":
        return None
    if asked.ignore_eos or asked.min_tokens or not call.messages or call.messages[-1].role != "user":
        return None
    for message in call.messages:
        text = message.text
        if message.parts or message.tool_calls or "\n" in text or "<" in text or "[[" in text:
            return None
        is_ruling = message.role in RULING
        if (is_ruling or message.role == "user") and not (_is_plain_rule if is_ruling else _is_plain)(text):
            return None
        said = text if message.role == "user" else said
    return write_prose_on(read_english_topic(said), call, seed.stream("prose"))


def _is_plain(text: str) -> bool:
    """Return whether a text has neither a word nor a sign that an order needs, nor a word of another language."""
    if not 0 < len(text) <= _LONGEST_PLAIN or not text.isascii() or "  " in text:
        return False
    said = text.encode().translate(_HARMLESS)
    if b"{" in said or b"\n " in said:  # a sign or a digit, as in `5 words`
        return False
    return _list_marked_words().isdisjoint(said.decode().split())


_is_plain_rule = remember(64)(_is_plain)  # the same texts come again and again


@cache
def _list_marked_words() -> frozenset[str]:
    foreign = list_foreign_words()
    return foreign.union([word.rpartition("'")[2] for word in foreign], read_english("ordering", "formats"))


def write_prose_on(about: Topic, call: Call, rng: Random) -> DraftChoice:
    """Return what the conversation says of a topic, or prose."""
    found = find_passage(call, about)
    if found:
        return DraftChoice((Text(found),))
    text, tokens = write_text_on(about, call, rng=rng, options={})
    return DraftChoice((Text(text),), tokens=tokens if about.language == ENGLISH else None)


def find_passage(call: Call, about: Topic) -> str | None:
    """Return the sentence that answers the question, as said to the user; None if no sentence does."""
    is_question = about.kind in _QUESTIONS if about.kind != "tell" else _ends_as_question(about)
    lowered = about.said.lower()
    if not is_question and "you" not in lowered and "who" not in lowered:  # nor does it ask for a name
        return None
    said = _LABELLED.split(about.said)[-1] if _has_colon(about.said) else about.said
    said = _IDLE.sub("", _cut_label(said))
    if len(said) > 300 or not (is_question or _YOUR_NAME.search(said)):
        return None
    sentences = tuple(islice(_list_statements(call), 2000))
    if (name := _answer_name(about.said, call, sentences)) is not None:
        return name
    found = _choose_best(said, sentences, yes=about.kind == "yes") if sentences else None
    return _find_not_known(call) if found is None else _answer(about, found)


def find_citation(call: Call) -> Text | None:
    """Quote the sentence of a document that fits the question best, if there are places of it that can be cited."""
    files = (part.get("file") for message in call.messages for part in message.parts)
    places = (file.get("citable") for file in files if isinstance(file, Mapping))
    citable = [place for found in places if isinstance(found, tuple) for place in found]  # no client sends a tuple
    if not citable:
        return None
    asked = _find_keys(call.last_user[:_MOST_ASKED])
    best = max(citable, key=lambda place: len(asked & _find_keys(place["cited_text"])))
    return Text(best["cited_text"], annotations=(best,))


_MOST_ASKED = 2000  # characters


def _ends_as_question(about: Topic) -> bool:
    """Return whether the request ends with a question mark, in a language that is not taken apart."""
    at = about.text.rfind(about.said)
    return about.text[at + len(about.said) :].lstrip(" \t\"'”»)").startswith(QUESTION_SIGNS)


def _list_statements(call: Call) -> Iterator[_Statement]:
    read = 0
    for message in reversed(call.messages):
        if message.role in ("tool", "function") or read > 100_000:
            continue
        text = cut_excerpt(message.text, _MAX_TEXT)
        read += len(text)
        by_system = message.role in RULING
        own = message.role == "user"
        if _has_colon(text) and _LABELLED.search(text):  # a context that is given with a question
            text = _LABELLED.sub(r"\n\g<0>", text)
            own = False
        for found in SENTENCE.finditer(text):
            said = _cut_label(found[0].strip()).strip()
            if _is_statement(said) and not (by_system and _YOURS.search(said)):
                yield _Statement(said, own, _find_keys(said))


def _has_colon(text: str) -> bool:
    """Return whether a text may have labels."""
    return ":" in text or "：" in text


def _cut_label(said: str) -> str:
    """Return a sentence without what labels it or makes it an item of a list."""
    return said if said[:1].isalpha() and not _has_colon(said) else _LABEL.sub("", said)


def _is_statement(said: str) -> bool:
    return len(said) > 3 and not (said.endswith((*QUESTION_SIGNS, ":")) or is_order(said) or _RULE.match(said))


def _choose_best(said: str, sentences: Sequence[_Statement], *, yes: bool) -> _Statement | None:
    keys = _find_keys(said)
    mine = _MINE.search(said) is not None
    needed = keys & _find_keys(" ".join(_NAMED.findall(said.lstrip(SIGNS).partition(" ")[2])))
    fitting = [
        sentence
        for sentence in sentences
        if needed <= sentence.keys
        and len(keys & sentence.keys) > 0.65 * len(keys)
        and (yes or sentence.keys - keys)
        and (not mine or _answers_mine(sentence, keys))
    ]
    return max(fitting, key=lambda sentence: len(keys & sentence.keys), default=None)


def _answers_mine(sentence: _Statement, keys: frozenset[str]) -> bool:
    mine = _MINE.search(sentence.text) is not None
    return mine if sentence.own else not mine and len(keys & sentence.keys) > 1


def _answer(about: Topic, found: _Statement) -> str:
    """Return the sentence, in the second person if the user said it of himself, after yes or no if that is asked."""
    text = found.text
    if found.own and _MINE.search(text):
        text = _PERSONS.sub(lambda person: _TURNED[fold(person[0])], text)
        text = text[:1].upper() + text[1:]
    text = text if text.endswith((".", "!", "。", "！", "।", "…")) else text + "."
    if about.kind != "yes":
        return text
    return f"{'No' if denies(found.text) else 'Yes'}. {text}"


def denies(text: str) -> bool:
    """Return whether a text has a word that denies: not, never, false ..."""
    return _DENIAL.search(text) is not None


def _answer_name(said: str, call: Call, sentences: Sequence[_Statement]) -> str | None:
    if _YOUR_NAME.search(said):
        found = _YOU_ARE.search("\n".join(each.text[:_MAX_TEXT] for each in call.messages if each.role in RULING))
        return f"My name is {found[1]}." if found else None
    if not _MY_NAME.search(said):
        return None
    names = (_I_AM.search(sentence.text) for sentence in sentences if sentence.own)
    found = next((name for name in names if name is not None), None)
    return None if found is None else f"Your name is {found[1]}."


def _find_not_known(call: Call) -> str | None:
    """Return the words that the prompt orders for a question that it does not answer; None if it orders none."""
    texts = (cut_excerpt(each.text, _MAX_TEXT) for each in reversed(call.messages) if each.role != "tool")
    return next((said for text in texts if (said := _read_not_known(text)) is not None), None)


@remember(64)  # instructions come again and again
def _read_not_known(text: str) -> str | None:
    found = _NOT_KNOWN.search(text)
    return str(found["quoted"] or found["first"] or "I don't know.").strip("\"'“”‘’`") if found else None


def _find_keys(text: str) -> frozenset[str]:
    language = find_language(text)
    silent = read_stop_words(ENGLISH) | read_stop_words(language) | read_word_set("asking")
    if language in UNSPACED:
        text = "".join(sign for sign in text if sign not in _KANA)
    return frozenset(stem(word) for word in split_words(text.replace("'s ", " ")) if word not in silent)


# Small letters; a blank; \\n for a digit, \\t for a sign that orders nothing, and { for all others.
_SIGN = {**dict.fromkeys(b"!\"#$&'(),.;>?@[\\]^_`|}~", 9), **dict.fromkeys(b"0123456789", 10), 32: 32}
_HARMLESS = bytes(ord(chr(at).lower()) if LETTERS_ALONE[at] != 32 else _SIGN.get(at, ord("{")) for at in range(256))
_LONGEST_PLAIN = 10_000  # characters
_QUESTIONS = make_vocabulary("what how why when where who count yes")
_MAX_TEXT = 40_000  # characters
_LABELS = (
    r"(?:context|documents?|passage|text|sources?|answer|facts?|content|question|query|user|human|kontext|contexte"
    r"|contexto|contesto|frage|antwort|pregunta|respuesta|réponse|domanda|risposta|pergunta|resposta|контекст|вопрос"
    r"|ответ|文脈|質問|上下文|问题)(?:\s?\[?\d{1,3}\]?)?\s?[:：]"
)
_LABEL = compile_lazily(
    rf"(?i)\A(?:[-*•>#|\s]{{1,8}}|\d{{1,2}}[.)]\s|</?[\w-]{{1,30}}[^<>\n]{{0,80}}>|{_LABELS}){{1,8}}"
)
_LABELLED = compile_lazily(rf"(?i)(?<!\w){_LABELS}")
_RULE = compile_lazily(
    r"(?i)(?:(?:always|never|only|do not|don't|if|when|you|your|use|be|keep|remember to|make sure|please|note that you|"
    r"question|frage|pregunta|query|user|human)\b)"
)
_YOURS = compile_lazily(r"(?i)\b(?:you|your|yours|yourself)\b")
_MINE = compile_lazily(r"(?i)(?<![\w'])(?:i|i'm|i've|i’m|my|mine|me|we|our)(?![\w])")
_MY_NAME = compile_lazily(r"(?i)\b(?:my (?:first |full )?name|who (?:am|i am|i'm)(?: i)?\b)")
_YOUR_NAME = compile_lazily(
    r"(?i)\b(?:your name|introduce yourself|what are you called|who are you|who am i (?:talking|speaking) (?:to"
    r"|with))\b"
)
_YOU_ARE = compile_lazily(
    r"\b(?:[Yy]our name is|[Yy]ou are(?: called| named)?)\s+([A-Z][\w'-]{1,30}(?:\s[A-Z][\w'-]{1,30})?)\b"
)
_I_AM = compile_lazily(
    r"(?:\b[Mm]y (?:first |full )?name(?: is|'s|’s)|\b[Cc]all me|\b[Tt]his is|(?i:\bi'm|\bi am|\bi’m|\bim)(?: called"
    r"| named)?)\s+((?:[^\W\d_a-z][\w'’-]{0,30})(?:\s[^\W\d_a-z][\w'’-]{0,30}){0,2}|(?<=me )\w{2,20}|(?<=is )\w{2,20})"
)
_NAMED = compile_lazily(r"\b(?:[^\W\d_a-z][\w'’-]{0,40}|\w{0,20}\d[\w.,]{0,20})")
_PERSONS = compile_lazily(
    r"(?i)(?<![\w'])(?:i am|i'm|i’m|i was|i've|i’ve|i'll|i|my|mine|me|myself|we are|we|our)(?!\w)"
)
_TURNED = {
    "i am": "you are", "i'm": "you are", "i’m": "you are", "i was": "you were", "i've": "you have", "i’ve": "you have",
    "i'll": "you will", "i": "you", "my": "your", "mine": "yours", "me": "you", "myself": "yourself",
    "we are": "you are", "we": "you", "our": "your",
}  # fmt: skip
_DENIAL = compile_lazily(r"(?i)\b(?:not|no|never|none|cannot|without|\w+n't|false)\b")
_NOT_KNOWN = compile_lazily(
    r"(?i)\b(?:if|when|unless)\b[^.\n]{0,80}?\b(?:answer|context|information|document|know|sure|found|find|there|text"
    r"|relevant|mentioned|contain)\w*\b[^\n]{0,100}?\b(?:say|reply|respond|answer|state|write|return|output)\b"
    r"(?:\s+(?:with|only|just|exactly|simply|that|so)){0,3}\s*[:,]?\s*(?:(?P<quoted>\"[^\"\n]{1,200}\""
    r"|'[^'\n]{1,200}'|“[^”\n]{1,200}”)|(?:you|i) (?:do not|don['’]t) know)"
    r"|\b(?:say|reply|respond|answer|return)\b\s*(?P<first>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}')\s(?:if|when|unless)\b"
)
_IDLE = compile_lazily(r"(?i)\A(?:and|so|but|then|okay|ok)\b[\s,]*|\b(?:according to|based on) (?:the|this) \w+,?")
_KANA = frozenset("のはをがにでとへもやかですますくださいこれそれあれどこなになん何誰什么的是了吗在有请？。、")


def describe_results(call: Call) -> str | None:
    """Return a text made of the results since the last user message, or None if there are none."""
    calls = {made.id: made for message in call.messages for made in message.tool_calls}
    pairs = [
        (calls.get(result.tool_call_id or "") or ToolCall("", result.name or "", ""), result)
        for result in _list_results(call)
    ]
    pairs = [(made, result) for made, result in pairs if not _HANDOVER.match(made.name)]
    if not pairs:
        return None
    sentences = [_write_result_sentence(made, result) for made, result in pairs[:_MAX_RESULTS]]
    if len(pairs) > _MAX_RESULTS:
        sentences.append(f"({len(pairs) - _MAX_RESULTS} more)")
    sentences = list(dict.fromkeys(sentences))
    return ("\n\n" if any("\n" in sentence for sentence in sentences) else " ").join(sentences)


def list_facts(call: Call) -> tuple[tuple[str, str], ...]:
    """Return what the results since the last user message say: names, which may be empty, and values."""
    values = (try_parse(text, text) for text in list_result_texts(call))
    return tuple(islice((pair for value in values for pair in _list_named(value)), _MAX_LEAVES))


def _list_named(value: Json, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    inner = (
        value.items()
        if isinstance(value, Mapping)
        else ((name, item) for item in value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inner if depth <= _MAX_DEPTH else ():
        yield from _list_named(each, " ".join(_WORD.findall(key)) or key, depth + 1)
    if isinstance(value, str) and not name:
        yield from (("", piece.strip(" .")) for piece in _PIECES.split(value[:_MAX_SAID]) if piece.strip(" ."))
    elif not isinstance(value, Mapping | list):
        yield name, _write_scalar(value)


def list_result_texts(call: Call) -> tuple[str, ...]:
    """Return the texts of the results since the last user message, cut to what is read of them."""
    return tuple(result.text[:_MAX_RESULT] for result in _list_results(call)[:_MAX_RESULTS])


def _list_results(call: Call) -> tuple[Message, ...]:
    return tuple(message for message in call.since_user if message.role in ("tool", "function"))


def _write_result_sentence(made: ToolCall, result: Message) -> str:
    text = result.text[:_MAX_RESULT].strip()
    subject = _name_subject(made)
    if len(text) > _MAX_LINE and "\n" in text:
        return f"{subject}:\n\n{_cut(text)}"
    spoken = ", ".join(islice(_list_leaves(try_parse(text, text)), _MAX_LEAVES))
    text = f"{subject}: {_cut(spoken) or ('an image' if result.parts else '–')}"
    return text if text.endswith((".", "!", "?", "…", "。", "！", "？", "।")) else text + "."


def _name_subject(made: ToolCall) -> str:
    verb, *rest = _WORD.findall(made.name[:_MAX_NAME]) or ["result"]
    words = " ".join(rest if rest and verb.lower() in _VERBS else (verb, *rest))
    arguments = try_parse(made.arguments)
    values = islice(arguments.values(), 2) if isinstance(arguments, Mapping) else ()
    shown = [_write_scalar(value) for value in values if isinstance(value, str | int | float)]
    shown = [value for value in shown if 0 < len(value) <= _MAX_NAME]
    return words[:1].upper() + words[1:] + (f" ({', '.join(shown)})" if shown else "")


def _list_leaves(value: Json, depth: int = 0) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        yield "…"
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            nested = isinstance(inner, Mapping | list)
            leaves = ", ".join(islice(_list_leaves(inner, depth + 1), _MAX_LEAVES)) or "none"
            yield f"{' '.join(_WORD.findall(key)) or key}{':' * nested} {leaves}"
    elif isinstance(value, list):
        for at, item in enumerate(value, 1):
            mark = f"({at}) " if isinstance(item, Mapping) and len(value) > 1 else ""
            yield mark + ", ".join(islice(_list_leaves(item, depth + 1), _MAX_LEAVES))
    elif value != "":
        yield _write_scalar(value)


def _write_scalar(value: Json) -> str:
    if isinstance(value, str):
        return " ".join(value[:_MAX_SAID].split())
    return {True: "yes", False: "no", None: "none"}[value] if isinstance(value, bool | None) else json.dumps(value)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SAID else text[:_MAX_SAID].rstrip() + "…"


_MAX_RESULTS = 16
_MAX_LEAVES = 24
_MAX_DEPTH = 4
_MAX_NAME = 60  # characters
_MAX_LINE = 300  # characters
_MAX_SAID = 2000  # characters
_MAX_RESULT = 100_000  # characters
_WORD = compile_lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W0-9_A-Za-z]+")
_VERBS = make_vocabulary("get fetch search lookup look find list read query retrieve check show load")
_PIECES = compile_lazily(r"[,;\n]|\.\s")
_HANDOVER = compile_lazily(r"(?i)\A(?:transfer|hand_?(?:off|over)|delegate|escalate|switch)_?(?:back_?)?to(?:_|[A-Z])")
