"""What of two texts is a number, a date or an id that changes with every run: a pattern for the setting scrub."""

import re


def varying(one: str, other: str) -> str | None:
    """What finds all in which two texts differ; None where they differ in anything else than such words."""
    mine, theirs = _WORD.findall(one), _WORD.findall(other)
    if len(mine) != len(theirs):
        return None
    found = [
        _pattern(before, word, changed)
        for before, word, changed in zip(("", *mine), mine, theirs, strict=False)
        if word != changed
    ]
    told = dict.fromkeys(pattern for pattern in found if pattern)
    return "|".join(told) if found and all(found) and len(told) <= _MOST else None


def _pattern(before: str, one: str, other: str) -> str | None:
    """What finds both of two words; a number by itself is found behind the word before it alone."""
    if _ID.fullmatch(one) and _ID.fullmatch(other):
        return _IDS
    shape = _shape(one)
    if shape != _shape(other) or shape == _escaped(one):
        return None
    return shape if shape != _NUMBER else f"{_escaped(before)} {shape}" if before.isalpha() else None


def _shape(word: str) -> str:
    return _DIGITS.sub(lambda _: _NUMBER, _escaped(word))


def _escaped(word: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", word)


_MOST = 3
_NUMBER = r"\d+"
_DIGITS, _SPECIAL = re.compile(r"\d+"), re.compile(r"[.+]")
_WORD = re.compile(r"\w(?:[\w.:/+-]*\w)?")
_ID = re.compile(r"(?=.*\d)[0-9a-fA-F-]{16,}")
_IDS = "[0-9a-fA-F-]{16,}"
