r"""The forms in which a known value may be written.

These are: as it is, in URLs, in JSON, in hexadecimal, as a list of numbers, in base64 and in base64 of that, each with
any of its letters escaped: `%73`, `%2573`, `\u0073`, `\\u0073`, `\x73`, `&#115;`, `&#x73;`, `&lowbar;` or `=73`.
"""

import json
import re
from array import array
from base64 import b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from msgspec import Struct

MIN_BASE64 = 6  # letters of base64 that identify a value


def list_spellings(value: str) -> Iterator[bytes]:
    """Yield the forms of a value in which case does not matter, some perhaps twice."""
    for form in dict.fromkeys(_spell(value)):
        yield form.encode("utf-8", "surrogatepass")
        if _is_latin(form):
            yield form.encode("latin-1")
    for text in _list_texts(value):
        data = text.encode("utf-8", "replace")
        yield from (data.hex(*between).encode() for between in ((), (" ",), (":",)))
        yield from (between.join(map(str, data)).encode() for between in (",", ", "))


def list_base64_cores(value: str) -> Iterator[bytes]:
    """Yield the letters that a value has in base64, and in base64 of that, wherever it begins in a longer text."""
    for text in _list_texts(value):
        for once in _list_cores(text.encode("utf-8", "replace")):
            yield once
            yield from _list_cores(once)


def _spell(value: str) -> Iterator[str]:
    """Yield a value as it is, in URLs and in JSON, and each of these within another."""
    for text in _list_texts(value):
        once = dict.fromkeys((text, *_write(text)))
        yield from once
        for form in once:
            yield from _write(form) if form is not text else ()


def _write(text: str) -> Iterator[str]:
    if _SAME_EVERYWHERE.fullmatch(text):
        return
    yield quote_plus(text, errors="replace")
    for safe in ("", "/", _COMPONENT, _ADDRESS):
        yield (quoted := quote(text, safe=safe, errors="replace"))
        yield _PERCENT.sub(lambda found: found[0].lower(), quoted)
    for ascii_only in (True, False):
        yield (once := json.dumps(text, ensure_ascii=ascii_only)[1:-1])
        yield once.replace("/", "\\/")


def _list_texts(value: str) -> Iterator[str]:
    yield value
    if _is_latin(value):  # the bytes of a header, which may be UTF-8
        yield value.encode("latin-1").decode("utf-8", "replace")


def _is_latin(text: str) -> bool:
    return not text.isascii() and all(ord(letter) < 256 for letter in text)


def _list_cores(data: bytes) -> Iterator[bytes]:
    """Yield the letters of base64 that data has at each of its three possible offsets."""
    for before in range(3):
        letters = b64encode(b"\0" * before + data)
        core = letters[(0, 2, 3)[before] : (before + len(data)) * 4 // 3]
        if len(core) >= MIN_BASE64:
            yield from dict.fromkeys((core, core.translate(_URL_SAFE)))


_COMPONENT = "!'()*"  # not escaped by JavaScript's encodeURIComponent, unlike Python
_ADDRESS = ";,/?:@&=+$!'()*#"  # not escaped by encodeURI
_SAME_EVERYWHERE = re.compile(r"[A-Za-z0-9_.~-]*+")
_PERCENT = re.compile("%[0-9A-F]{2}")
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class View(Struct, frozen=True):
    """A text, or that of `outer` without one layer of escapes, with the place of each escape here and in `outer`."""

    data: bytes
    outer: "View | None" = None
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()
    lefts: Sequence[int] = ()
    rights: Sequence[int] = ()

    def find_span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a span of this view begins and ends in the original text; no escape is split."""
        if self.outer is None:
            return start, end
        first = bisect_right(self.starts, start) - 1
        last = bisect_left(self.starts, end) - 1
        if first >= 0:
            start = self.lefts[first] if start < self.ends[first] else self.rights[first] + start - self.ends[first]
        if last >= 0:
            end = self.rights[last] + max(0, end - self.ends[last])
        return self.outer.find_span(start, end)

    def unescape(self, escape: "Escape") -> "View | None":
        """Return a view without these escapes, or None if the text has no such escapes."""
        if escape.letter not in self.data or escape.sign.search(self.data) is None:
            return None
        made = bytearray()
        reached = 0
        starts, ends, lefts, rights = (array("I") for _ in range(4))
        for match in escape.pattern.finditer(self.data):
            if (meant := escape.meaning(match)) is not None:
                made += self.data[reached : match.start()]
                starts.append(len(made))
                made += meant
                reached = match.end()
                ends.append(len(made))
                lefts.append(match.start())
                rights.append(reached)
        return (
            View(bytes(made + self.data[reached:]), self, starts=starts, ends=ends, lefts=lefts, rights=rights)
            if starts
            else None
        )


def has_escapes(data: bytes) -> bool:
    """Return whether bytes may have escapes of letters."""
    for letter, search in _SIGNS:  # noqa: SIM110  # any() takes three times as long
        if letter in data and search(data):
            return True
    return False


def list_views(data: bytes) -> Iterator[View]:
    """Yield the data, then without its escapes, layer by layer."""
    view = View(data)
    yield view
    for _ in range(MAX_NESTED):
        before = view
        for escape in ESCAPES:
            if inner := view.unescape(escape):
                view = inner
                yield view
        if view is before:
            return


def _read_hexadecimal(match: re.Match[bytes]) -> bytes:
    return bytes((int(match[1], 16),)) if match[1] else b""


def _read_backslashed(match: re.Match[bytes]) -> bytes | None:
    return _read_hexadecimal(match) or match[2]


def _read_entity(match: re.Match[bytes]) -> bytes | None:
    from html import unescape  # large, and hardly ever needed

    letter = unescape(f"&{match[1].decode()};")
    return letter.encode() if len(letter) == 1 and letter.isascii() else None


class Escape(NamedTuple):
    """A kind of escapes: the letter that each begins with, a quick sign of them, and what each match means."""

    letter: bytes
    sign: re.Pattern[bytes]
    pattern: re.Pattern[bytes]
    meaning: Callable[[re.Match[bytes]], bytes | None]


MAX_NESTED = 3  # kinds of escapes within others; those of one kind within each other are taken off at once
_BACKSLASH = re.compile(rb"\\(?:(?:u00|x)[2-7]|/)")
_BACKSLASHES = re.compile(rb"\\++(?:(?:u00|x)([2-7][0-9a-fA-F])|(/))?")  # all, so that none is read twice
_PERCENT_SIGN = re.compile(rb"%(?:25)*([2-7][0-9a-fA-F]|0[aAdD])")
_AMPERSAND = re.compile(rb"&(?:amp;)*(#[xX]0*[2-7][0-9a-fA-F]|#0*[0-9]{2,3}|[A-Za-z]{2,24}(?=;));?")
_EQUALS = re.compile(rb"=(?:([2-7][0-9a-fA-F])|(?:\r|\\{1,64}r)?(?:\n|\\{1,64}n))")  # quoted-printable
# Escapes of ASCII letters alone, as others have few forms.
ESCAPES = (
    Escape(b"\\", sign=_BACKSLASH, pattern=_BACKSLASHES, meaning=_read_backslashed),
    Escape(b"%", sign=_PERCENT_SIGN, pattern=_PERCENT_SIGN, meaning=_read_hexadecimal),
    Escape(b"&", sign=_AMPERSAND, pattern=_AMPERSAND, meaning=_read_entity),
    Escape(b"=", sign=_EQUALS, pattern=_EQUALS, meaning=_read_hexadecimal),
)
# As numbers, which are found in bytes nine times as fast as letters.
_SIGNS = tuple((escape.letter[0], escape.sign.search) for escape in ESCAPES)
