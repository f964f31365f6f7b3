"""Tokenizers: chunks, `max_tokens`, usage and logprobs all use the same one, so that they agree.

The default needs no vocabulary. One regular expression estimates where o200k_base would split a text; on whole texts
its counts are within about 8 %. Images cost tokens by their size.
"""

import re
import sys
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from itertools import chain, repeat
from struct import unpack
from typing import Protocol

from mockserver.core.json import Json
from mockserver.core.lazy import Memo

# "token", "word", "char", a size in characters, or the exact list of pieces.
Chunks = str | int | tuple[str, ...]

UNFINISHED = "\ufffd"  # shown where a text ends within a character
HUGE = 65_536  # characters; a longer text is never kept in tokens, and its count is an estimate
_SAMPLES = 16  # parts of a longer text that are counted
_SAMPLED_LENGTH = 1_024  # characters of each
_GOLDEN = 618  # thousandths


class Token(str):
    """A token of a published vocabulary: the text that it adds, its number and its bytes.

    The text is empty if the token ends within a character; the token that completes the character has it.
    """

    __slots__ = ("number", "raw")
    number: int
    raw: bytes

    def __new__(cls, text: str, number: int, raw: bytes) -> "Token":
        token = super().__new__(cls, text)
        token.number = number
        token.raw = raw
        return token


class Tokenizer(Protocol):
    """Splits texts into tokens, which join to the text; their number is its count."""

    @property
    def name(self) -> str:
        """Its name in the settings."""

    @property
    def exact(self) -> bool:
        """Whether its counts are those of a model."""

    def split(self, text: str) -> tuple[str, ...]:
        """Return the tokens of a text."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""

    def read(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """Return the tokens with these numbers: one for each, known or not."""

    def __hash__(self) -> int:
        """Return a number for it as a key."""


def cut(tokens: Sequence[str], chunks: Chunks) -> tuple[str, ...]:
    match chunks:
        case "token":
            return tuple(tokens) if all(tokens) else tuple(filter(None, tokens))
        case "word":
            return tuple(_WORD.findall("".join(tokens)))
        case "char":
            return tuple("".join(tokens))
        case int() if chunks > 0:
            text = "".join(tokens)
            return tuple(text[i : i + chunks] for i in range(0, len(text), chunks))
        case tuple():
            return chunks
    raise ValueError(f"unknown way to cut: {chunks!r}")


def weigh_pieces(tokens: Sequence[str], chunks: Chunks) -> Iterable[tuple[str, int]]:
    """Return the pieces that `cut` returns, each with the number of tokens that end within it."""
    pieces = cut(tokens, chunks)
    if chunks == "token" and len(pieces) == len(tokens):
        return zip(pieces, repeat(1), strict=False)
    return ((piece, span.stop - span.start) for piece, span in zip(pieces, slice_tokens(pieces, tokens), strict=True))


def slice_tokens(pieces: Iterable[str], tokens: Sequence[str]) -> Iterator[slice]:
    """Yield for each piece of a text the tokens that end within it; an empty one goes with the next."""
    at = 0
    end = 0
    length = 0
    for piece in pieces:
        first = at
        length = length + len(piece)
        while at < len(tokens) and end + len(tokens[at]) <= length and (tokens[at] or end < length):
            end += len(tokens[at])
            at += 1
        yield slice(first, at)


def end_tokens(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tokens of a text that ends here: an incomplete last character is shown as U+FFFD."""
    last = tokens[-1] if tokens else None
    if isinstance(last, Token) and not last:
        return (*tokens[:-1], Token(UNFINISHED, last.number, last.raw))
    return tokens


def encode_token(token: str) -> bytes:
    """Return the bytes of a token, which may be part of a UTF-8 character."""
    return token.raw if isinstance(token, Token) else token.encode()


def spell_token(token: str) -> str:
    """Return a token as logprobs show it: incomplete characters are escaped (`\\xf0\\x9f`)."""
    return token.raw.decode("utf-8", "backslashreplace") if isinstance(token, Token) else token


def find_token_id(token: str) -> int:
    """Return the number of a token; without a vocabulary it is a hash of the token."""
    if isinstance(token, Token):
        return token.number
    named = _NAMED.fullmatch(token)
    if named is not None:
        return int(named[1])
    return int.from_bytes(blake2b(token.encode("utf-8", "replace"), digest_size=8).digest()) % _VOCABULARY


def make_placeholder(number: int) -> str:
    """Return the placeholder of a token number: `<|123|>`, which is one token with that number."""
    return f"<|{number}|>"


_NAMED = re.compile(r"<\|(-?[0-9]{1,40})\|>")
_VOCABULARY = 200_000

# Character classes are written out: what \w means changes with the Unicode of each Python version.
_LATIN = r"A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff"
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PARTICLES = "我你他到就也都很去上来的一是了在不和有这這为為以用中及"  # most often a token of their own
# The ten blocks of Indic scripts have the same layout: these are the signs that attach to the letter before them.
_INDIC_SIGNS = "".join(
    rf"\u{block:04x}-\u{block + 3:04x}\u{block + 0x3C:04x}\u{block + 0x3E:04x}-\u{block + 0x4D:04x}"
    rf"\u{block + 0x51:04x}-\u{block + 0x57:04x}\u{block + 0x62:04x}\u{block + 0x63:04x}"
    for block in range(0x900, 0xE00, 0x80)
)
_MARKS = (  # never split from the character before
    r"\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670"
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff"
) + _INDIC_SIGNS

# Letters, how many of them begin a word's first token, and how many make each further one.
_SCRIPTS = (
    (r"\u0400-\u052f", 5, 4),  # Cyrillic
    (r"\u0370-\u03ff\u1f00-\u1fff", 4, 2),  # Greek
    (r"\u0590-\u05ff", 3, 2),  # Hebrew
    (r"\u0600-\u06ff", 4, 2),  # Arabic
    (r"\u0900-\u0dff", 3, 2),  # Devanagari to Sinhala
    (r"\u0e00-\u0eff", 2, 2),  # Thai, Lao
    (r"\uac00-\ud7a3\u1100-\u11ff", 2, 1),  # Hangul
)


def _make_script_pattern(letters: str, first: int, further: int) -> str:
    marks = f"[{_MARKS}]{{0,4}}"
    return rf"[ ]?(?<![{letters}])[{letters}]{{1,{first}}}{marks} | [{letters}]{{1,{further}}}{marks}"


# Words of Latin letters with accents get shorter pieces.
_ACCENTED = rf"""
          [ ]?(?=[A-Za-z]{{0,24}}[^\x00-\x7f]) (?:
              (?=[{_LATIN}]{{0,24}}[\u0180-\u02af\u1e00-\u1eff\u0300-\u036f]) [{_LATIN}]{{1,2}}[\u0300-\u036f]{{0,4}}
            | (?=[{_LATIN}]{{0,24}}[\u0100-\u017f]) [{_LATIN}]{{1,4}}
            | (?=[A-Za-z]{{0,24}}[\u00c0-\u00ff]) [{_LATIN}]{{1,5}})
        |"""
_OTHER_SCRIPTS = rf"""
    | [{_PARTICLES}] | [{_HAN}](?:(?![{_PARTICLES}])[{_HAN}])? | [\u3040-\u30ff]{{1,2}}
    | (?=[ ]?[\u0370-\ud7ff]) (?:{" | ".join(_make_script_pattern(*row) for row in _SCRIPTS)})
    | [ ]?[\u00a1-\u00bf\u2000-\u2bff][{_MARKS}]{{0,8}} | \S[{_MARKS}]{{0,8}}"""
# Every repetition is bounded, so that any text takes linear time. Rulers are written as a sign and then a repetition of
# it, as `re` does not enter a branch that begins with another sign than the text.
_PATTERN = r"""
    # Most words are one token: short ones in any language, longer ones unless they end as few English words do.
      [ ][a-z]{{1,12}}+(?![{latin}{marks}'])(?:(?<![aiou])(?<!en)|(?<=[ ][a-z])|(?<=[ ][a-z]{{2}})|(?<=[ ][a-z]{{3}})
      |(?<=[ ][a-z]{{4}}))
    | [a-z]{{1,4}}+(?![{latin}{marks}'])
    # Punctuation: with the name that follows it, as rulers, in clusters. Digits in threes.
    | [_.(\#?&<][A-Za-z][a-z]{{0,5}} | [/-][a-z]{{1,4}}
    | [ ]?(?:--{{3,15}}|=={{3,15}}|\*\*{{3,15}}|\#\#{{3,15}}|__{{3,15}}|\.\.{{3,15}})
    | [ ]?+[!-/:-@\[-`{{-~]{{1,3}}+[\r\n]{{0,4}}+
    | [0-9]{{1,3}}
    # Words of Latin letters. Those that are not English get shorter pieces: by their letters, or by how they end.
    | (?=[ ]?[{latin}]) (?:{accented}
          [ ]?(?=[A-Z]?[a-z]{{3,24}}+(?:(?<=[aiou])|(?<=en))(?![A-Za-z])) [A-Za-z]{{1,5}}
        | (?<=[a-z])[a-z]{{1,4}}
        | (?:[ ](?:[a-z]{{1,12}}|[A-Z][a-z]{{1,7}}) | [A-Z]?[a-z]{{1,7}}) (?:'[a-z]{{1,2}}(?![a-z]))?
        | [ ]?[A-Z]{{1,3}}(?![a-z]) | [ ]?[A-Z]
        | [ ]?[{latin}]{{1,4}})
    # White space; its last blank goes with the next word.
    | \s{{0,64}}[\r\n]{{1,16}} | \s{{1,64}}(?!\S)
    # Other scripts, and the rest.
    {others} | \S | \s{{1,64}} | .
    """
_WORD = re.compile(r"\s*\S+|\s+")


@cache
def _make_token_pattern(*, is_ascii: bool) -> re.Pattern[str]:
    """Return the pattern of a token. Without letters that ASCII texts lack, it compiles in a fraction of the time."""
    if is_ascii:
        pattern = _PATTERN.format(latin="A-Za-z", marks="", accented="", others="")
    else:
        pattern = _PATTERN.format(latin=_LATIN, marks=r"\u0300-\u036f", accented=_ACCENTED, others=_OTHER_SCRIPTS)
    return re.compile(pattern, re.VERBOSE | re.DOTALL)


class _Counts(Memo[str, int]):
    """How many tokens texts have; that of a huge one is extrapolated from parts of it."""

    def __missing__(self, text: str) -> int:
        counted = _count(text) if len(text) <= HUGE else _estimate(text)
        return self.keep(text, counted, sys.getsizeof(text))


class _Splits(Memo[str, tuple[str, ...]]):
    """The tokens of texts."""

    def __missing__(self, text: str) -> tuple[str, ...]:
        tokens = _split(text)
        return self.keep(text, tokens, sys.getsizeof(text) + _TOKEN_SIZE * len(tokens))


def _count(text: str) -> int:
    spoken = text.rstrip(" ")  # the blanks at the end are tokens of their own, unless they follow other white space
    first, *words = spoken.split(" ")  # a blank between two words always begins a token
    try:
        return _IN_FIRST_WORD[first] + sum(map(_in_word, words)) - (len(spoken) - len(text)) // _BLANKS
    except KeyError:
        return len(_match_tokens(text))


def _split(text: str) -> tuple[str, ...]:
    spoken = text.rstrip(" ")
    first, *words = spoken.split(" ")
    blanks = [text[at : at + _BLANKS] for at in range(len(spoken), len(text), _BLANKS)]
    try:
        return tuple(chain(_FIRST_WORD_TOKENS[first], *map(_WORD_TOKENS.__getitem__, words), blanks))
    except KeyError:
        return _match_tokens(text)


def _estimate(text: str) -> int:
    """Return about how many tokens a huge text has, by those of parts of it."""
    size = len(text)
    counted = 0
    for number in range(_SAMPLES):
        start = (size - _SAMPLED_LENGTH) * (number * _GOLDEN % 1000) // 1000  # spread, but in step with no period
        counted += _count_in_part(text, start, start + _SAMPLED_LENGTH)
    return counted * size // (_SAMPLES * _SAMPLED_LENGTH)


def _match_tokens(text: str) -> tuple[str, ...]:
    return tuple(_make_token_pattern(is_ascii=text.isascii()).findall(text))


def _count_in_part(text: str, start: int, end: int) -> int:
    """Return how many tokens are found from one place of a text to another, where it may lie within a word."""
    tokens = _make_token_pattern(is_ascii=text.isascii()).findall
    first, *words = text[start:end].split(" ")
    with suppress(KeyError):
        if not first[-1:].isspace():
            return len(tokens(text, start, start + len(first))) + sum(map(_in_word, words))
    return len(tokens(text, start, end))


class _WordTokens(dict[str, tuple[str, ...]]):
    """The tokens of words that begin a text or follow a blank. Raises KeyError for one that ends with white space."""

    def __init__(self, before: str) -> None:
        self._before = before

    def __missing__(self, word: str) -> tuple[str, ...]:
        if word[-1:].isspace() or (self._before and not word):
            raise KeyError(word)
        if word.isdecimal() and word.isascii():
            return (*self._before, *[word[at : at + 3] for at in range(0, len(word), 3)])
        found = _match_tokens(self._before + word)
        if len(word) <= _LONGEST_WORD:
            if len(self) >= _MAX_WORDS:
                self.clear()
            self[word] = found
        return found


class _InWords(dict[str, int]):
    """How many tokens words have. Raises KeyError for one that ends with white space."""

    def __init__(self, tokens: _WordTokens, before: int) -> None:
        self._tokens = tokens
        self._before = before

    def __missing__(self, word: str) -> int:
        if word.isdecimal() and word.isascii():
            return self._before + (len(word) + 2) // 3
        count = len(self._tokens[word])
        if len(word) <= _LONGEST_WORD:
            if len(self) >= _MAX_WORDS:
                self.clear()
            self[word] = count
        return count


_LONGEST_WORD = 64
_MAX_WORDS = 8_192
_FIRST_WORD_TOKENS = _WordTokens("")
_WORD_TOKENS = _WordTokens(" ")
_IN_FIRST_WORD = _InWords(_FIRST_WORD_TOKENS, 0)
_in_word = _InWords(_WORD_TOKENS, 1).__getitem__
_BLANKS = 64  # the most that are one token
_TOKEN_SIZE = 64  # bytes, about
_COUNTS = _Counts(most=1 << 22)
_SPLITS = _Splits(most=1 << 23)


class ApproximateTokenizer:
    """Estimates tokens: fast, without a vocabulary, the same everywhere."""

    name = "approx"
    exact = False

    def __init__(self) -> None:
        self.count: Callable[[str], int] = _COUNTS.__getitem__  # no function of Python's for a text that is known

    def split(self, text: str) -> tuple[str, ...]:
        if len(text) <= HUGE:
            return _SPLITS[text]
        found = _make_token_pattern(is_ascii=text.isascii()).finditer(text)
        return tuple([each[0] for each in found])  # in steps, between which other threads run

    def read(self, numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(map(make_placeholder, numbers))


APPROX = ApproximateTokenizer()
split = APPROX.split
count = APPROX.count

IMAGES = ("image_url", "input_image", "image")  # types of message parts that hold an image
_READ = 65_536  # bytes that are read: the header is near the start
_PER_PART = 85  # tokens of a part that is not an image
_IMAGE = 85  # tokens
_TILE = 170  # tokens
_SIDE = 512  # pixels, as all sides
_SHORTER_SIDE = 768
_LONGER_SIDE = 2048
_USUAL_IMAGE = (1024, 1024)  # assumed for images given by URL

Size = tuple[int, int]  # width and height in pixels


def count_part_tokens(part: Mapping[str, Json]) -> int:
    """Return about how many tokens a part of a message takes that is not text, as OpenAI counts images."""
    image = part.get("image_url")
    if not isinstance(image, Mapping):
        return _PER_PART
    if image.get("detail") == "low":
        return _IMAGE
    url = image.get("url")
    return count_image_tokens(*(read_image_size(url) if isinstance(url, str) else None) or _USUAL_IMAGE)


def count_image_tokens(width: int, height: int) -> int:
    """Return how many tokens OpenAI counts for an image of this size in pixels, seen in detail."""
    longest = max(width, height, 1)
    if longest > _LONGER_SIDE:
        width = width * _LONGER_SIDE // longest
        height = height * _LONGER_SIDE // longest
    shortest = max(min(width, height), 1)
    if shortest > _SHORTER_SIDE:
        width = width * _SHORTER_SIDE // shortest
        height = height * _SHORTER_SIDE // shortest
    return _IMAGE + _TILE * -(-max(width, 1) // _SIDE) * -(-max(height, 1) // _SIDE)


def read_image_size(url: str) -> Size | None:
    """Return the size of the PNG, JPEG, GIF or WebP in a data URL, or None if unknown."""
    head, comma, _ = url[:_READ].partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    start = len(head) + 1
    letters = url[start : start + _READ * 4 // 3]
    try:
        read = b64decode(letters[: len(letters) // 4 * 4])
    except ValueError:
        return None
    return find_image_size(read)


def find_image_size(read: bytes) -> Size | None:
    """Return the size of a PNG, JPEG, GIF or WebP that begins like this, or None if unknown."""
    size = next((size(read) for magic, size in _KINDS.items() if read.startswith(magic)), None)
    return size if size and min(size) > 0 else None


def _read_png(read: bytes) -> Size | None:
    return unpack(">II", read[16:24]) if read[12:16] == b"IHDR" and len(read) >= 24 else None


def _read_gif(read: bytes) -> Size | None:
    return unpack("<HH", read[6:10]) if len(read) >= 10 else None


def _read_jpeg(read: bytes) -> Size | None:
    at = 2
    while at + 9 <= len(read) and read[at] == 0xFF:
        marker = read[at + 1]
        length = int.from_bytes(read[at + 2 : at + 4])
        if marker == 0xFF:  # filling
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(read[at + 7 : at + 9]), int.from_bytes(read[at + 5 : at + 7])
        else:
            at += 2 + max(length, 2)
    return None


def _read_webp(read: bytes) -> Size | None:
    if read[8:12] != b"WEBP" or len(read) < 30:
        return None
    match read[12:16]:
        case b"VP8X":
            return int.from_bytes(read[24:27], "little") + 1, int.from_bytes(read[27:30], "little") + 1
        case b"VP8L":
            both = int.from_bytes(read[21:25], "little")
            return (both & 0x3FFF) + 1, (both >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = unpack("<HH", read[26:30])
            return width & 0x3FFF, height & 0x3FFF
    return None


# The first bytes of each file format.
_KINDS: Mapping[bytes, Callable[[bytes], Size | None]] = {
    b"\x89PNG\r\n\x1a\n": _read_png,
    b"GIF8": _read_gif,
    b"\xff\xd8": _read_jpeg,
    b"RIFF": _read_webp,
}
