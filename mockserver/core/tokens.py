"""The one rule for splitting and counting tokens, so that chunks, `max_tokens`, usage and logprobs agree."""

import re
from functools import lru_cache

# "token", "word", "char", a size in characters, or the exact list of pieces.
Chunks = str | int | tuple[str, ...]

_PIECE = re.compile(
    r"'(?:[sdmtSDMT]|ll|ve|re|LL|VE|RE)"
    r"|[^\w\s]?[^\W\d_]+"
    r"|\s?[^\W\d_]+"
    r"|\d{1,3}"
    r"|\s?[^\w\s]+[\r\n]*|_+"
    r"|\s*[\r\n]+|\s+(?=\S)|\s+"
)
_WORD = re.compile(r"\s*\S+|\s+")
_LETTERS_PER_TOKEN = 7


@lru_cache(maxsize=4096)
def split(text: str) -> tuple[str, ...]:
    """The tokens of a text; joined they give exactly the text."""
    pieces: list[str] = []
    for piece in _PIECE.findall(text):
        if len(piece) <= _LETTERS_PER_TOKEN + 1:
            pieces.append(piece)
        else:
            pieces.extend(piece[i : i + _LETTERS_PER_TOKEN] for i in range(0, len(piece), _LETTERS_PER_TOKEN))
    return tuple(pieces)


def count(text: str) -> int:
    """How many tokens a text has."""
    return len(split(text))


def cut(text: str, chunks: Chunks) -> tuple[str, ...]:
    """The pieces in which a stream sends a text; joined they give exactly the text."""
    match chunks:
        case "token":
            return split(text)
        case "word":
            return tuple(_WORD.findall(text))
        case "char":
            return tuple(text)
        case int():
            return tuple(text[i : i + chunks] for i in range(0, len(text), chunks))
        case tuple():
            return chunks
    raise ValueError(f"unknown way to cut: {chunks!r}")
