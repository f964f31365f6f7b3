"""What a tokenizer is, and the one that needs no vocabulary: chunks, `max_tokens`, usage and logprobs agree through it.

The estimate stands in for a table of 200,000 entries: one pattern says where such a table cuts, and how long a piece of
each script gets. Its sizes are fitted to o200k_base, whose counts it meets within about 8 % on whole texts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
from typing import Protocol

# "token", "word", "char", a size in characters, or the exact list of pieces.
Chunks = str | int | tuple[str, ...]

UNFINISHED = "\ufffd"  # what is read where a text ends within a character
_CACHED_LENGTH = 2048  # characters; the cache must stay small whatever comes in
_CACHED_LONG = 65_536  # characters of a text that is remembered until it has been told: it is counted, then cut
_COUNTED_LENGTH = 200_000  # characters; counting more would keep others waiting


class Token(str):
    """A token of a true vocabulary: the text that it adds, and beside it its number and its bytes.

    The text is empty where the token ends within a character: the token that ends the character shows it.
    """

    __slots__ = ("number", "raw")
    number: int
    raw: bytes

    def __new__(cls, text: str, number: int, raw: bytes) -> "Token":
        """A token; `raw` need not be whole UTF-8."""
        token = super().__new__(cls, text)
        token.number, token.raw = number, raw
        return token


class Tokenizer(Protocol):
    """A way to split texts. The tokens of a text join to it, and their number is its count."""

    @property
    def name(self) -> str:
        """What it is called in the settings."""

    @property
    def exact(self) -> bool:
        """Whether its counts are those of a model."""

    def split(self, text: str) -> tuple[str, ...]:
        """The tokens of a text."""

    def count(self, text: str) -> int:
        """How many tokens a text has."""

    def read(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """The tokens with these numbers: one for each, known or not."""


class Approximate:
    """The estimate: fast, without a vocabulary, the same everywhere."""

    name, exact = "approx", False

    def split(self, text: str) -> tuple[str, ...]:
        """The tokens of a text; joined they give exactly the text."""
        if len(text) <= _CACHED_LENGTH:
            return _remembered(text)
        return _remembered_long(text) if len(text) <= _CACHED_LONG else tuple(_TOKEN.findall(text))

    def count(self, text: str) -> int:
        """How many tokens a text has; of a huge one, as many as its first part lets expect."""
        if len(text) <= _COUNTED_LENGTH:
            return len(self.split(text))
        return len(self.split(text[:_COUNTED_LENGTH])) * len(text) // _COUNTED_LENGTH

    def read(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """Tokens that are known by their numbers alone."""
        return tuple(map(token_of, numbers))


APPROX = Approximate()
split, count = APPROX.split, APPROX.count


def cut(tokens: Sequence[str], chunks: Chunks) -> tuple[str, ...]:
    """The pieces in which a stream sends these tokens; joined they give exactly their text."""
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


def weighed(tokens: Sequence[str], chunks: Chunks) -> Iterable[tuple[str, int]]:
    """The same pieces, each with the number of tokens that end within it."""
    pieces = cut(tokens, chunks)
    if chunks == "token" and len(pieces) == len(tokens):
        return zip(pieces, repeat(1), strict=False)
    return ((piece, span.stop - span.start) for piece, span in zip(pieces, spans(pieces, tokens), strict=True))


def spans(pieces: Iterable[str], tokens: Sequence[str]) -> Iterator[slice]:
    """For each piece of a text the tokens that end within it; one without text goes with the one after it."""
    at, end, length = 0, 0, 0
    for piece in pieces:
        first, length = at, length + len(piece)
        while at < len(tokens) and end + len(tokens[at]) <= length and (tokens[at] or end < length):
            end += len(tokens[at])
            at += 1
        yield slice(first, at)


def ended(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Tokens after which no further one comes: the last shows that the character it is of has no end."""
    last = tokens[-1] if tokens else None
    if isinstance(last, Token) and not last:
        return (*tokens[:-1], Token(UNFINISHED, last.number, last.raw))
    return tokens


def raw(token: str) -> bytes:
    """The bytes of a token: not whole UTF-8 where a character has several tokens."""
    return token.raw if isinstance(token, Token) else token.encode()


def spelled(token: str) -> str:
    """A token by itself, as it is told: bytes that are no whole character are written out (`\\xf0\\x9f`)."""
    return token.raw.decode("utf-8", "backslashreplace") if isinstance(token, Token) else token


def token_id(token: str) -> int:
    """The number of a token; in a vocabulary that nobody has, the same for the same token, everywhere."""
    if isinstance(token, Token):
        return token.number
    named = _NAMED.fullmatch(token)
    if named is not None:
        return int(named[1])
    return int.from_bytes(blake2b(token.encode("utf-8", "replace"), digest_size=8).digest()) % _VOCABULARY


def token_of(number: int) -> str:
    """How a token reads that is known by its number alone: `<|123|>`, one token whose number is 123."""
    return f"<|{number}|>"


_NAMED = re.compile(r"<\|(-?[0-9]{1,40})\|>")
_VOCABULARY = 200_000

# Character classes are written out: what \w means changes with the Unicode of each Python version.
_LATIN = r"A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff"
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PARTICLES = "我你他到就也都很去上来的一是了在不和有这這为為以用中及"  # most often a token of their own
# The ten blocks of India's scripts are laid out alike: these are the signs that lean on the letter before them.
_INDIC_SIGNS = "".join(
    rf"\u{block:04x}-\u{block + 3:04x}\u{block + 0x3C:04x}\u{block + 0x3E:04x}-\u{block + 0x4D:04x}"
    rf"\u{block + 0x51:04x}-\u{block + 0x57:04x}\u{block + 0x62:04x}\u{block + 0x63:04x}"
    for block in range(0x900, 0xE00, 0x80)
)
_MARKS = (  # what must not be parted from the character before it
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


def _script(letters: str, first: int, further: int) -> str:
    marks = f"[{_MARKS}]{{0,4}}"
    return rf"[ ]?(?<![{letters}])[{letters}]{{1,{first}}}{marks} | [{letters}]{{1,{further}}}{marks}"


# Every repetition is bounded, so that no text, however odd, takes more than linear time.
_TOKEN = re.compile(
    rf"""
    # Most words are short, and one token in any language.
      [ ]?[a-z]{{1,4}}(?![{_LATIN}\u0300-\u036f'])
    # Signs: with the name they cling to, as rulers, in clusters. Digits in threes.
    | [_.(\#?&<][A-Za-z][a-z]{{0,5}} | [/-][a-z]{{1,4}}
    | [ ]?(?:-{{4,16}}|={{4,16}}|\*{{4,16}}|\#{{4,16}}|_{{4,16}}|\.{{4,16}})
    | [ ]?[!-/:-@\[-`{{-~]{{1,3}}[\r\n]{{0,4}}
    | [0-9]{{1,3}}
    # Words of Latin letters. Those that are not English get shorter pieces: by their letters, or by how they end.
    | (?=[ ]?[{_LATIN}]) (?:
          [ ]?(?=[A-Za-z]{{0,24}}[^\x00-\x7f]) (?:
              (?=[{_LATIN}]{{0,24}}[\u0180-\u02af\u1e00-\u1eff\u0300-\u036f]) [{_LATIN}]{{1,2}}[\u0300-\u036f]{{0,4}}
            | (?=[{_LATIN}]{{0,24}}[\u0100-\u017f]) [{_LATIN}]{{1,4}}
            | (?=[A-Za-z]{{0,24}}[\u00c0-\u00ff]) [{_LATIN}]{{1,5}})
        | [ ]?(?=[A-Z]?[a-z]{{3,24}}(?:(?<=[aiou])|(?<=en))(?![A-Za-z])) [A-Za-z]{{1,5}}
        | (?<=[a-z])[a-z]{{1,4}}
        | (?:[ ](?:[a-z]{{1,12}}|[A-Z][a-z]{{1,7}}) | [A-Z]?[a-z]{{1,7}}) (?:'[a-z]{{1,2}}(?![a-z]))?
        | [ ]?[A-Z]{{1,3}}(?![a-z]) | [ ]?[A-Z]
        | [ ]?[{_LATIN}]{{1,4}})
    # White space, whose last blank goes with the next word.
    | \s{{0,64}}[\r\n]{{1,16}} | \s{{1,64}}(?!\S)
    # Other scripts, and all that is left.
    | [{_PARTICLES}] | [{_HAN}](?:(?![{_PARTICLES}])[{_HAN}])? | [\u3040-\u30ff]{{1,2}}
    | (?=[ ]?[\u0370-\ud7ff]) (?:{" | ".join(_script(*row) for row in _SCRIPTS)})
    | [ ]?[\u00a1-\u00bf\u2000-\u2bff][{_MARKS}]{{0,8}} | \S[{_MARKS}]{{0,8}} | \s{{1,64}} | .
    """,
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"\s*\S+|\s+")
_remembered = lru_cache(maxsize=1024)(lambda text: tuple(_TOKEN.findall(text)))
_remembered_long = lru_cache(maxsize=16)(lambda text: tuple(_TOKEN.findall(text)))
