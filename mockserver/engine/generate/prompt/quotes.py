"""Quoted strings of any script and quote style, and code in backticks. One pass, no backtracking."""

import re
from collections.abc import Iterator

from mockserver.engine.generate.prompt.mention import Mention

_CLOSING = {'"': '"', "“": "”", "„": "“”", "«": "»", "‹": "›", "「": "」", "『": "』", "《": "》", "‘": "’", "‚": "‘’"}
_CLOSING |= {"'": "'", "`": "`", "»": "«"}
_STOPS = {
    mark: re.compile(rf"[{closing}{'‘' if mark == '‘' else ''}]|\\.|\n\n", re.DOTALL)
    for mark, closing in _CLOSING.items()
}
_LONGEST = 4_000
_MOST_FAILURES = 12  # after so many marks that nothing closes, they are not looked at any more


def quoted(text: str) -> Iterator[Mention]:
    """What stands in quotes or backticks, in order; an apostrophe is no quote, and a quote that never ends none."""
    at, failed = 0, dict.fromkeys(_CLOSING, 0)
    while at < len(text):
        mark = text[at]
        if mark not in _CLOSING or failed[mark] > _MOST_FAILURES or not _opens(text, at):
            at += 1
            continue
        found = _fenced(text, at) if text.startswith("```", at) else _between(text, at)
        if found is None:
            failed[mark] += 1
            at += 1
        else:
            yield found
            at = found.end


def _opens(text: str, at: int) -> bool:
    """Whether a mark may begin a quotation: straight ones and apostrophes not within or after a word."""
    if text[at] not in "'\"‘’»":
        return True
    glued = at > 0 and (text[at - 1].isalnum() or text[at - 1] in "'\"")
    return not glued and at + 1 < len(text) and not (text[at] in "'‘»" and text[at + 1].isspace())


def _fenced(text: str, at: int) -> Mention | None:
    close = text.find("```", at + 3)
    if close < 0:
        return None
    first, _, rest = text[at + 3 : close].partition("\n")
    tag, body = (first.strip(), rest) if rest and len(first.split()) <= 1 else ("", text[at + 3 : close])
    return Mention("code", body.strip("\n"), close - len(body), close + 3, unit=tag.lower())


def _between(text: str, at: int) -> Mention | None:
    mark = text[at]
    for found in _STOPS[mark].finditer(text, at + 1, at + _LONGEST):
        end = found.start()
        if found[0] == "\n\n" or (text[end] not in _CLOSING[mark]) or (mark in "'‘" and _starts(text, end)):
            if found[0].startswith("\\"):
                continue
            return None
        if _closes(text, end):
            kind = "code" if mark == "`" else "quoted"
            return Mention(kind, text[at + 1 : end], at, end + 1) if end > at + 1 else None
    return None


def _starts(text: str, at: int) -> bool:
    """Whether an apostrophe begins something rather than ends it; a quotation that meets one was none."""
    return text[at - 1].isspace() and at + 1 < len(text) and text[at + 1].isalnum()


def _closes(text: str, at: int) -> bool:
    """Whether a mark ends a quotation: an apostrophe before a letter does not."""
    return text[at] not in "'’" or not (at + 1 < len(text) and text[at + 1].isalnum())
