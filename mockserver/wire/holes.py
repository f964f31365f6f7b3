"""Holes for numbers that count on through a stream: those of its events, or of the tokens so far."""

from collections.abc import Iterable
from itertools import islice

HOLE = b"\0"  # JSON has no such byte


def fill_holes(data: bytes, numbers: Iterable[int]) -> bytes:
    """Return bytes with the first of the numbers in their holes; there may be more of them."""
    plain = data.replace(b"%", b"%%")
    form = plain.replace(HOLE, b"%d")  # which is longer by the number of holes
    return form % tuple(islice(numbers, len(form) - len(plain)))
