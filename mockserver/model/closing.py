"""Sentences that only order how to reply: with which word an agent ends once its work is done, and in which form."""

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Message
from mockserver.core.lazy import lazy_pattern
from mockserver.model.form import NUMBER, OF_LENGTH
from mockserver.model.shapes import find_shape
from mockserver.model.triggers import is_triggered, label_in
from mockserver.model.vocabulary import (
    RULING,
    excerpt,
)


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

    if not (is_triggered("form", text) or ")" in text):
        return without_closing
    stripped = _FORM_SENTENCE.sub(blank_form, without_closing)
    if stripped == text or _TWO_LETTERS.search(stripped):
        return stripped
    shape = find_shape(text) if "{" in text else None
    rests = (shape.rest if shape else "", _FORM.sub(blank_form, text))
    return next(filter(_TWO_LETTERS.search, rests), text)


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
_FORM_AND_BEFORE = (
    r"(?im)(?P<before>(?:^|(?<=[.!?;:,]))[ \t]*|\s(?=(?:and|then)\s))"
    rf"(?:(?:and|then|please|but|just|finally|now|always|also|so|only)[, ]{{1,2}}){{0,4}}{_ORDERED_FORM}"
)
_FORM = lazy_pattern(_FORM_AND_BEFORE)
_FORM_SENTENCE = lazy_pattern(
    rf"{_FORM_AND_BEFORE}(?:[^.!?:\n]{{0,200}}\b(?:keys?|fields?|properties|format|schema|shape|like"
    rf"|options?)\b[^.!?:\n]{{0,20}}:"
    r"[^.!?\n]*|[^.!?:\n]*)[.!?:]?"
)
