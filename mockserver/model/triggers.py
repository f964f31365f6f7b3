"""Whether a prompt orders anything of its answer, so that readers of orders need not look at the others.

A reader of orders finds nothing in a text without one of its trigger words.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from mockserver.core.call import Call
from mockserver.core.lazy import lazy_pattern
from mockserver.model.fillers import english, word_lists
from mockserver.model.topic import LETTERS_ALONE, foreign_words, requested_language
from mockserver.model.vocabulary import NUMBER_WORDS, RULING, excerpt


@cache
def trigger_set(name: str) -> frozenset[str]:
    """The words without which no prompt orders a format."""
    return frozenset(english(name, "formats"))


@lru_cache(maxsize=256)
def trigger_words(text: str) -> frozenset[str]:
    lowered = text.lower()
    words = lowered.encode("ascii", "replace").translate(LETTERS_ALONE).decode().split()
    return frozenset((*words, *_SIGNS.intersection(lowered), *_OPERATOR.findall(lowered)))


def is_triggered(name: str, text: str) -> bool:
    return not trigger_set(name).isdisjoint(trigger_words(text))


_SIGNS = frozenset("%0123456789")
_OPERATOR = lazy_pattern(r"[-+*/=÷×](?= ?[0-9(])")


def plain_orders(text: str) -> str:
    """Return a text with its orders in plain words: "your whole answer must be: X" is "reply with exactly: X"."""
    may_reword = is_triggered("reworded", text) or not text.isascii()  # which may spell such a word with an `ſ`
    if may_reword and any(map(text.lower().__contains__, _UNUSUAL)):
        for unusual, plain in _plain_orders():
            text = unusual.sub(plain, text)
    return text


_UNUSUAL = ("nothing", "anything", "should", "must", "has to", "have to", "will be", "iso", "needs to")


@cache
def _plain_orders() -> Sequence[tuple[re.Pattern[str], str]]:
    return [(re.compile(f"(?i){unusual}"), plain) for unusual, plain in word_lists("patterns")["plain_orders"]]


def orders_nothing(call: Call) -> bool:
    """Whether none of the readers of orders would find one, so that they need not look."""
    said = [] if call.prompts else _said_by_user(call)
    return bool(said) and not (any(map(may_order, said)) or may_order(call.system, ruling=True))


def plain_english(call: Call) -> str | None:
    """Return what the user says last, in a call that surely orders nothing and is in English alone; most are so."""
    said: list[str] = []
    rules: list[str] = []
    for message in call.messages:
        if message.role == "user":
            said.append(message.text)
        elif message.role in RULING:
            rules.append(message.text)
    if not said or call.options.ignore_eos or (call.messages[-1].role != "user" and not _said_by_user(call)):
        return None
    if not _is_plain(said[-1]) or (len(said) > 1 and not _is_plain(said[0])):
        return None
    ruled = "\n".join(rules)
    return said[-1] if len(ruled) <= _LONGEST_PLAIN and _rules_nothing(ruled) else None  # which is remembered


def _said_by_user(call: Call) -> Sequence[str]:
    """Return the last and the first text of the user; none if the last message is not theirs, or the answer is cut."""
    if call.options.ignore_eos or call.last_turn is None or call.last_turn.role != "user":
        return ()
    said = [message.text for message in call.messages if message.role == "user"]
    return said if len(said) == 1 else (said[-1], said[0])


def may_order(text: str, *, ruling: bool = False) -> bool:
    """Whether a text may order anything of its answer: False only if all readers of orders would find none.

    `ruling`: it is the system prompt, in which fewer words order something.
    """
    return len(text) > _LONGEST_PLAIN or _may_order(text, ruling)


@lru_cache(maxsize=64)  # as the same come again and again
def _rules_nothing(text: str) -> bool:
    """Whether a system prompt orders nothing of an answer, nor another language."""
    return not may_order(text, ruling=True) and requested_language(excerpt(text)) is None


def _is_plain(text: str) -> bool:
    """Whether a prompt has neither a word nor a sign that an order needs, nor a word of another language."""
    if len(text) > _LONGEST_PLAIN or not text.isascii() or "  " in text:
        return False
    said = text.encode().translate(_HARMLESS)
    if b"{" in said or b"\n " in said:  # which may be `5 words`
        return False
    return _marked_words().isdisjoint(said.decode().split())


@cache
def _marked_words() -> frozenset[str]:
    foreign = foreign_words()
    return foreign.union([word.rpartition("'")[2] for word in foreign], _ordering_words(False), trigger_set("reworded"))


@lru_cache(maxsize=256)
def _may_order(text: str, ruling: bool) -> bool:
    ordering, order = _ordering_words(ruling), plain_orders(excerpt(text))
    return (
        not (ordering.isdisjoint(trigger_words(text)) and ordering.isdisjoint(trigger_words(order)))
        or ("{" in order or "<" in order or _COUNTING.search(order) is not None or label_in(order) is not None)
        or not (order.isascii() or _FOLDED.isdisjoint(order))
    )


@cache
def _ordering_words(ruling: bool) -> frozenset[str]:
    return COUNTING_WORDS.union({"json"}, *map(trigger_set, _OF_ANY if ruling else (*_OF_ANY, *_OF_PROMPTS)))


COUNTING_WORDS = frozenset(NUMBER_WORDS.split("|")) - {"a", "an", "one", "single"}  # with these no list counts
# Small letters; a blank; \n for a digit, \t for a sign that orders nothing, and { for all others.
_SIGN = {**dict.fromkeys(b"!\"#$&'(),.;>?@[\\]^_`|}~", 9), **dict.fromkeys(b"0123456789", 10), 32: 32}
_HARMLESS = bytes(ord(chr(at).lower()) if LETTERS_ALONE[at] != 32 else _SIGN.get(at, ord("{")) for at in range(256))
_COUNTING = lazy_pattern(r"[0-9]\s+(?:-|[^\W\d])")
_FOLDED = frozenset("ſıİ")  # which patterns take for `s` and `i`
_LONGEST_PLAIN = 10_000  # characters: readers take excerpts of longer texts
_OF_ANY = (
    *("notations", "cases", "closing", "next_speaker", "of_rules", "measured", "listed", "number_alone", "enclosed"),
)
_OF_PROMPTS = ("greet", "dictate", "rephrase", "write_code", "choose", "calculate", "rate", "find_value")


def label_in(order: str) -> re.Match[str] | None:
    return _LABEL.search(order) if ":" in order else None


_LABEL = lazy_pattern(
    r"\b(?i:(?P<begin>begin|start|prefix|precede)|end|finish|conclude|close|put|write|give|report|state|place|provide"
    r"|be)\b(?:[^\n]{0,80}?\b(?i:with|after|behind|template|format|line|by|as)\b)?(?i:\s+(?:the|a|line|words?|label"
    r"|phrase|following|template|prefix)\b)*:?\s*(?:[\"'`“*]{1,2}(?P<quoted>[A-Za-z][\w ]{0,30}):(?:[\"'`”*]"
    r"|\s?(?:[<\[{]|[XYZ]\b|\.\.|…|_))|(?P<bare>(?!JSON|XML|NOTE)[A-Z][A-Z ]{2,30}):)"
)
