"""Tells what a prompt asks for from what it orders of the form of the reply: `Answer yes or no`, `Respond as JSON`."""

import re
from dataclasses import replace

from mockserver.core.call import Call, Message
from mockserver.core.lazy import lazy_pattern
from mockserver.model.prose.closing import closing
from mockserver.model.shapes import described


def without_reply_form(call: Call) -> Call:
    """Return the call without the sentences of the user that only order a form: they are no requests and no values."""
    names = [tool.name for tool in call.tools]
    asked = closing(call).call.messages
    messages = (
        replace(before, text=_stripped(before.text, after.text, names)) if before.role == "user" else before
        for before, after in zip(call.messages, asked, strict=True)
    )
    return replace(call, messages=tuple[Message, ...](messages))


def _stripped(text: str, without_closing: str, names: list[str]) -> str:
    def blank(found: re.Match[str]) -> str:
        return found[0] if any(name in found[0] for name in names) else f"{found['before']} "

    stripped = _FORM_SENTENCE.sub(blank, without_closing)
    if stripped == text or _WORD.search(stripped):
        return stripped
    shape = described(text) if "{" in text else None
    rests = (shape.rest if shape else "", _FORM.sub(blank, text))
    return next(filter(_WORD.search, rests), text)


_WORD = lazy_pattern(r"[^\W_]{2}")
_TRUTH = r"[\"'`“]?(?:yes|no|true|false)[\"'`”]?"
_OPTION = r"[\"'`“]?(?-i:[A-Z][A-Z_]*|\d{1,2})[\"'`”]?"
_NUMBER = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|fifty)"
_LENGTH = (
    rf"(?:(?:exactly|about|around|at most|at least|only|just|no more than|less than|fewer than|under|up to)\s+){{0,2}}"
    rf"{_NUMBER}[ -](?:(?:short|single|brief|full|simple|bullet)\s+)?"
    r"(?:words?|sentences?|lines?|paragraphs?|bullets?|points?|characters)\b"
)
_ANY_FORM = (
    rf"(?:(?:(?:an?|the|one|valid|plain|raw|single|strict|proper)\s+){{0,3}}"
    r"(?:json|xml|ya?ml|csv|html|markdown|latex|plain text)\b(?!\s+files?\b)"
    rf"|{_TRUTH}\s*(?:/|\||,?\s*or\b)\s*{_TRUTH}(?!\w)"
    rf"|{_OPTION}(?:\s*[,/|]\s*{_OPTION}){{0,12}},?(?:\s*[/|]\s*|\s+or\s+){_OPTION}(?!\w)"
    rf"|{_LENGTH}|(?:the\s+|an?\s+|one\s+)?(?:letters?|numbers?|digits?|words?)\b(?!\s+(?:of|for)\b)"
    r"|(?<=in )(?:(?:upper|lower)[- ]?case|capitals|capital letters|caps|english|german|french|spanish|italian)\b"
    r"|(?:(?<=as )|(?<=in ))an? (?:\w+ )?(?:table|list|checklist)\b"
    r"|(?:briefly|concisely|shortly|in short|in brief)\b|[{<\[])"
)
_ORDERED_FORM = (
    r"(?:(?:reply|respond|answer|output|return|print|write|say|give|format|present|provide|state)"
    r"(?:\s+(?:me|back|it|(?:your|the|an?|this|each)\s+(?:final\s+|whole\s+)?(?:answers?|reply|response|outputs?|results?)))?"
    rf"(?:\s+(?:only|just|simply|exactly|strictly|either|always|with|in|as|using)\b){{0,4}}:?\s+{_ANY_FORM}"
    rf"|(?:in\s+|use\s+|using\s+)?{_LENGTH}(?=\s*(?:[.!?\n]|$|please\b|only\b))"
    r"|(?:keep (?:it|your \w+)|be|stay) (?:very |as )?(?:short|brief|concise|terse)\b)"
)
_FORM = lazy_pattern(
    r"(?im)(?P<before>(?:^|(?<=[.!?;:,]))[ \t]*|\s(?=(?:and|then)\s))"
    rf"(?:(?:and|then|please|but|just|finally|now|always|also|so|only)[, ]{{1,2}}){{0,4}}{_ORDERED_FORM}"
)
_FORM_SENTENCE = lazy_pattern(
    rf"{_FORM.pattern}(?:[^.!?:\n]{{0,200}}\b(?:keys?|fields?|properties|format|schema|shape|like|options?)\b[^.!?:\n]{{0,20}}:"
    r"[^.!?\n]*|[^.!?:\n]*)[.!?:]?"
)
