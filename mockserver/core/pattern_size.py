"""Estimates the size of a regular expression whose repeats are written out, as a compiler does: `a{9}` is nine `a`."""

import re

from mockserver.core.lazy import compile_lazily

BOUNDLESS = 1 << 62
LARGEST = 100_000  # elements of a rule's pattern: some 30 MB once it is compiled


def check_size(pattern: str) -> str:
    """Return the pattern. Raises ValueError if it is too large to compile."""
    if estimate_size(pattern) > LARGEST:
        raise ValueError("it is too large, or repeats too much")
    return pattern


def estimate_size(pattern: str) -> int:
    """Return about how many elements a pattern has; of a verbose one, the larger of both readings.

    BOUNDLESS if only parts are verbose and something repeats: finding the comments would take a parser. So it is for
    a pattern that would take long to read.
    """
    if len(pattern) > 2 * LARGEST:
        return BOUNDLESS
    pattern = _COMMENT.sub(_keep_group, pattern)
    if not _VERBOSE.search(pattern):
        return _estimate_plain(pattern)
    if _VERBOSE_IN_PARTS.search(pattern) and "{" in pattern:
        return BOUNDLESS
    return max(_estimate_plain(pattern), _estimate_plain(_SKIPPED.sub(_keep_group, pattern)))


def _keep_group(found: "re.Match[str]") -> str:
    return found["kept"] or ""


def _estimate_plain(pattern: str) -> int:
    sizes = [0]
    last = 0
    for piece in _PIECE.finditer(pattern):
        if piece[0] == "(":
            sizes.append(0)
        elif piece[0] == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif piece["least"]:
            times = int(piece["least"][:9])
            sizes[-1] += last * (times - 1)
            last = min(last * times, BOUNDLESS)
        else:
            last = 1
            sizes[-1] += 1
    return min(sum(sizes), BOUNDLESS)


_ONE = r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]?"  # an escape, or a class of characters
_PIECE = compile_lazily(_ONE + r"|\{(?P<least>\d+)(?:,\d*)?\}|.", re.DOTALL)
_VERBOSE = compile_lazily(r"\(\?[A-Za-z0-9]*x")
_VERBOSE_IN_PARTS = compile_lazily(r"\(\?[A-Za-z0-9]*(?:x[A-Za-z0-9]*[-:]|-[A-Za-z0-9]*x)")
# Ignored, even between an element and its count: comments in brackets; in a verbose pattern whitespace and comments.
_COMMENT = compile_lazily(rf"(?P<kept>{_ONE})|\(\?\#[^)]*+\)?", re.DOTALL)
_SKIPPED = compile_lazily(rf"(?P<kept>{_ONE})|\s+|\#[^\n]*+\n?", re.DOTALL)
