"""Tell random texts, such as keys, from words, names and examples."""

import re


def is_random(text: str) -> bool:
    """Return whether it may be a key: various letters and digits, hardly any words, and not an example."""
    return _DIGIT.search(text) is not None and _LETTER.search(text) is not None and is_token(text)


def is_token(text: str) -> bool:
    """Return whether it may be a key that can consist of letters alone."""
    return len(set(text)) >= _KINDS and _count_word_letters(text) < len(text) / 2 and not is_fake(text)


def is_password(text: str) -> bool:
    """Return whether it may be a real password: letters and digits, and neither an example nor code."""
    mixed = _DIGIT.search(text) is not None and _LETTER.search(text) is not None
    return mixed and not _CODE.search(text) and _count_word_letters(text) < len(text) / 2 and not is_fake(text)


def is_fake(text: str) -> bool:
    """Return whether it is an example by its words, or a repeated or consecutive row of letters."""
    small = text.lower()
    if _ANYWHERE.search(small) or _REPEATED.search(small):
        return True
    return len(set(small)) < _KINDS - 2 or not _ALONE.isdisjoint(_NEITHER.split(small))


def _count_word_letters(text: str) -> int:
    """Return how many of its letters belong to what may be words."""
    words = (found[0] for found in _WORD.finditer(text))
    return sum(len(word) for word in words if len(_VOWEL.findall(word)) >= len(word) * 0.3)


_KINDS = 8  # different letters in any random text
_DIGIT = re.compile("[0-9]")
_LETTER = re.compile("[A-Za-z]")
_WORD = re.compile("[A-Z]?[a-z]{4,}+|[A-Z]{5,}+")
_VOWEL = re.compile("[aeiouyAEIOUY]")
_NEITHER = re.compile("[^a-z0-9]+")
_REPEATED = re.compile(r"(.)\1{4}")
_CODE = re.compile(r"[(\[{]|^[$%<*#]|^\w+\.\w+\.")
_ALONE = frozenset(
    (
        "test", "tests", "fake", "demo", "mock", "mocked", "your", "todo", "here", "some", "foo", "bar",
        "wrong", "invalid", "bad",
    )
)  # fmt: skip
_ANYWHERE = re.compile(
    r"example|placeholder|change_?me|redacted|masked|dummy|sample|insert|replace|scrubbed|<api_key>"
    r"|your[-_]?(?:api|key|token|secret|pass|own|open|azure|access|service|project)|notreal|not[-_]a[-_]real"
    r"|01234567|12345678|87654321|98765432|abcdefgh|20\d\d-\d\d-\d\d|abc123|0a1b2c3d|a1b2c3d4|deadbeef|qwerty|asdfgh|password|letmein|hunter2"
    r"|dxnlcjpwyxnz|qwxhzgrpbjpvc"  # user:pass and Aladdin:open in base64
)
