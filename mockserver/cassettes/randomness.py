"""Whether a text was made by chance, as keys are, or by a person, as examples and names are."""

import json
import re
from base64 import urlsafe_b64decode


def is_random(text: str) -> bool:
    """Whether it may be a key: letters and digits of many kinds, hardly a word among them, and no example."""
    return _DIGIT.search(text) is not None and _LETTER.search(text) is not None and is_token(text)


def is_token(text: str) -> bool:
    """The same, where letters alone may do."""
    return len(set(text)) >= _KINDS and _in_words(text) < len(text) / 2 and not is_fake(text)


def is_password(text: str) -> bool:
    """Whether it may be a password that is in use: letters and digits, and neither an example nor a line of code."""
    mixed = _DIGIT.search(text) is not None and _LETTER.search(text) is not None
    return mixed and not _CODE.search(text) and _in_words(text) < len(text) / 2 and not is_fake(text)


def is_fake(text: str) -> bool:
    """Whether it says itself that it is an example, or is made of one letter or of a row of them."""
    small = text.lower()
    if _ANYWHERE.search(small) or _REPEATED.search(small):
        return True
    return len(set(small)) < _KINDS - 2 or not _ALONE.isdisjoint(_NEITHER.split(small))


def is_jwt(text: str) -> bool:
    """Whether its first part is the header of a JWT, and the rest not that of all tutorials."""
    head, _, rest = text.partition(".")
    try:
        header = json.loads(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header and not rest.startswith(_TUTORIAL) and not is_fake(rest)


def _in_words(text: str) -> int:
    """How many of its letters stand in what may be words."""
    words = (found[0] for found in _WORD.finditer(text))
    return sum(len(word) for word in words if len(_VOWEL.findall(word)) >= len(word) * 0.3)


_TUTORIAL = "eyJzdWIiOiIxMjM0NTY3ODkw"  # {"sub":"1234567890
_KINDS = 8  # different letters that chance makes at least
_DIGIT, _LETTER = re.compile("[0-9]"), re.compile("[A-Za-z]")
_WORD = re.compile("[A-Z]?[a-z]{4,}+|[A-Z]{5,}+")
_VOWEL = re.compile("[aeiouyAEIOUY]")
_NEITHER = re.compile("[^a-z0-9]+")
_REPEATED = re.compile(r"(.)\1{4}")
_CODE = re.compile(r"[(\[{]|^[$%<*#]|^\w+\.\w+\.")
_ALONE = frozenset(
    (
        "test",
        "tests",
        "fake",
        "demo",
        "mock",
        "mocked",
        "your",
        "todo",
        "here",
        "some",
        "foo",
        "bar",
        "wrong",
        "invalid",
        "bad",
    )
)
_ANYWHERE = re.compile(
    r"example|placeholder|change_?me|redacted|masked|dummy|sample|insert|replace|scrubbed|<api_key>"
    r"|your[-_]?(?:api|key|token|secret|pass|own|open|azure|access|service|project)|notreal|not[-_]a[-_]real"
    r"|01234567|12345678|87654321|98765432|abcdefgh|20\d\d-\d\d-\d\d|abc123|0a1b2c3d|a1b2c3d4|deadbeef|qwerty|asdfgh|password|letmein|hunter2"
    r"|dxnlcjpwyxnz|qwxhzgrpbjpvc"  # user:pass and Aladdin:open in base64
)
