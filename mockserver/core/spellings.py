"""How a text may be written where it is carried: as it is, in URLs, in JSON, in base64 among other bytes."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 6  # letters of base64 that are enough to tell a value by


def spellings(value: str) -> Iterator[str]:
    """A value as it is, in URLs and in JSON, and each of these within another; some of them more than once."""
    for text in _texts(value):
        once = dict.fromkeys((text, *_written(text)))
        yield from once
        yield from _escaped(text)
        for form in once:
            yield from _written(form) if form is not text else ()


def in_base64(value: str) -> Iterator[str]:
    """The letters that a value certainly has in base64, at each of the three ways to fall among groups of three."""
    for text in _texts(value):
        for letters in _cores(text.encode("utf-8", "replace")):
            yield from (letters, letters.translate(_URL_SAFE), *_written(letters))


def raw(forms: Iterator[str]) -> Iterator[bytes]:
    """Forms as bytes, in each of the two encodings in which headers and bodies come."""
    for form in dict.fromkeys(forms):
        yield form.encode("utf-8", "surrogatepass")
        if _is_latin(form):
            yield form.encode("latin-1")


def _written(text: str) -> Iterator[str]:
    if _SAME_EVERYWHERE.fullmatch(text):
        return
    yield quote_plus(text, errors="replace")
    for safe in ("", "/", _COMPONENT, _ADDRESS):
        yield (quoted := quote(text, safe=safe, errors="replace"))
        yield _PERCENT.sub(lambda found: found[0].lower(), quoted)
    for ascii_only in (True, False):
        yield (once := json.dumps(text, ensure_ascii=ascii_only)[1:-1])
        yield once.replace("/", "\\/")
        yield _MARKED.sub(lambda found: f"\\u{ord(found[0]):04x}", once)
        yield _MARKED.sub(lambda found: f"\\u{ord(found[0]):04X}", once)


def _escaped(text: str) -> Iterator[str]:
    """A text of which every letter is escaped, though none need be: for a URL, and in JSON."""
    yield "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))
    pairs = text.encode("utf-16-be", "surrogatepass")
    yield "".join(f"\\u{pairs[at]:02x}{pairs[at + 1]:02x}" for at in range(0, len(pairs), 2))


def _texts(value: str) -> Iterator[str]:
    yield value
    if _is_latin(value):  # a header's bytes, which may have been UTF-8
        yield value.encode("latin-1").decode("utf-8", "replace")


def _is_latin(text: str) -> bool:
    return not text.isascii() and all(ord(letter) < 256 for letter in text)


def _cores(data: bytes) -> Iterator[str]:
    for before in range(3):
        letters = b64encode(b"\0" * before + data).decode()
        start = (0, 2, 3)[before]
        whole = (before + len(data)) // 3 * 4 + (0, 1, 2)[(before + len(data)) % 3]
        if whole - start >= SHORTEST:
            yield letters[start:whole]


_COMPONENT = "!'()*"  # what JavaScript's encodeURIComponent leaves as it is, beside what Python does
_ADDRESS = ";,/?:@&=+$!'()*#"  # what encodeURI does
_SAME_EVERYWHERE = re.compile(r"[A-Za-z0-9_.~-]*+")
_PERCENT = re.compile("%[0-9A-F]{2}")
_MARKED = re.compile("[+<>&'`/=]")  # what careful writers of JSON escape, though they need not
_URL_SAFE = str.maketrans("+/", "-_")
