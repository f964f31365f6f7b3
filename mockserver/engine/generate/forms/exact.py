"""Answers that the prompt spells out: the words that are to be said, and nothing else."""

import re

from mockserver.core.seed import Random
from mockserver.engine.generate.forms.asked import Asked
from mockserver.engine.generate.languages import ENGLISH, LANGUAGES, language_asked
from mockserver.engine.generate.vocabulary import vocabulary


def dictated(asked: Asked, rng: Random) -> str | None:
    """What is to be said word for word: `say hello`, `reply with exactly: OK`, `repeat after me ...`."""
    ordered = next((found for found in _ORDER.finditer(asked.rules) if _word_for_word(found)), None)
    if ordered is None or not _always(ordered):
        ordered = next((found for found in _ORDER.finditer(asked.text) if _word_for_word(found)), None)
    if ordered is None:
        return None
    if _GREETING.match(ordered["what"] or "") and (code := language_asked(asked.text)) not in (None, ENGLISH):
        return LANGUAGES[code or ""].greeting
    return _words(ordered)


def _always(ordered: re.Match[str]) -> bool:
    """Whether rules that hold for every prompt say so plainly."""
    return ordered["quoted"] is not None or "exactly" in ordered[0].lower()


def _word_for_word(ordered: re.Match[str]) -> bool:
    """Whether an order tells the very words, rather than what they should be about or look like."""
    if ordered["quoted"] is not None:
        return True
    if not _LETTER.search(ordered["what"]):
        return False
    first = (_FIRST_WORD.match(ordered["what"]) or [""])[0].lower()
    if first in _DESCRIBING or _DESCRIBED.match(ordered["what"]):
        return False
    said = ordered["verb"].lower() in _SAYING
    return said or bool(_EXACT.search(f"{ordered['before'] or ''} {ordered['how'] or ''}"))


def _words(ordered: re.Match[str]) -> str:
    if ordered["quoted"] is not None:
        return ordered["quoted"][1:-1].strip()
    what = _NOTHING_ELSE.split(ordered["what"], maxsplit=1)[0].strip()
    return what[:-1] if what.endswith(".") and not what.endswith("..") else what


_QUOTED = (
    r"\"[^\"\n]{1,2000}\"|“[^”\n]{1,2000}”|«[^»\n]{1,2000}»|`[^`\n]{1,2000}`|'[^'\n]{1,2000}'(?!\w)|"
    r"‘[^’\n]{1,2000}’(?!\w)"
)
_ORDER = re.compile(
    r"(?im)(?:^|(?<=[.!?:;,])|\b(?:please|just|now|only|simply|always|must|then|to|you|and|should))[ \t]*"
    r"(?P<before>(?:(?:please|just|now|only|simply|always|exactly)[ \t]+){0,3})"
    r"\b(?P<verb>say|repeat|echo|reply|respond|answer|output|print|return|write|type)\b"
    r"(?P<how>(?:[ \t]+(?:exactly|only|just|simply|verbatim|with|back|after me|this exact|the exact|exact|"
    r"the following|following|"
    r"to me|(?:the |this |one )?(?:single |one |exact )?(?:word|text|phrase|string|sentence|words|message|"
    r"number|letters?|line|token)|"
    r"saying|this(?=[ \t]*:)|by saying)\b){0,6})"
    rf"[ \t]*[:,]?\s*(?:(?P<quoted>{_QUOTED})|(?P<what>[^\s\"“«`][^\n]{{0,2000}}))"
)
_EXACT = re.compile(
    r"(?i)\b(?:exactly|only|just|simply|verbatim|exact|the following|word|text|phrase|string|saying|this|"
    r"number|letters?)\b"
)
_SAYING = frozenset({"say", "repeat", "echo"})
_LETTER = re.compile(r"[^\W_]")
_FIRST_WORD = re.compile(r"[^\s,.!?:]+")
_DESCRIBING = vocabulary(
    "question questions "
    "a an the one your something anything nothing what why how who which where when if whether more no yes "
    "json yaml xml csv "
    "markdown html code valid in as and or to about for with from using based according once either it that "
    "these those "
    "each every all only any some me us them him her two three four five true false so on of at by unless "
    "until after "
    "first twice myself yourself here there not"
)
_DESCRIBED = re.compile(r"(?i)\S+(?: or |/)\S+[\s.!?]*$")
_NOTHING_ELSE = re.compile(
    r"(?i)(?<=[.!?])\s|,? and (?:nothing|say nothing|do nothing|stop|no)\b|,? nothing (?:else|more)\b|"
    r",? without\b|\s\(|,? only\b[.!]?$|,? please\b"
)
_GREETING = re.compile(r"(?i)(?:hello|hi|good (?:morning|day|evening|afternoon))\b")
