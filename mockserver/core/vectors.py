"""Vectors of which most numbers are among a few, as text and as bytes without making each number."""

from collections.abc import Iterator, Mapping, Sequence
from struct import Struct, pack
from typing import Any

from msgspec.json import encode


class PaletteVector(Sequence[float]):
    """Numbers out of a palette of up to 256, as pictures have one of colours: each byte is an index in it.

    `others` are the numbers that are not in the palette, by their place.
    """

    __slots__ = ("_indexes", "_others", "_palette")

    def __init__(self, palette: Sequence[float], indexes: bytes, others: Mapping[int, float]) -> None:
        self._palette = palette
        self._indexes = indexes
        self._others = others

    def __len__(self) -> int:
        return len(self._indexes)

    def __iter__(self) -> Iterator[float]:
        numbers = [self._palette[index] for index in self._indexes]
        for at, number in self._others.items():
            numbers[at] = number
        return iter(numbers)

    def __getitem__(self, at: Any) -> Any:
        return [*self][at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]  # a list has none either

    def write_json(self) -> bytes:
        """Return a JSON list of the numbers."""
        written = encode([*self._palette, *self._others.values()])[1:-1].split(b",")
        numbers = [written[index] for index in self._indexes]
        for at, number in zip(self._others, written[len(self._palette) :], strict=True):
            numbers[at] = number
        return b"[" + b",".join(numbers) + b"]"

    def pack(self) -> bytearray:
        """Return the numbers as little-endian floats of 32 bits."""
        palette = pack(f"<{len(self._palette)}f", *self._palette)
        found = bytearray(_FLOAT.size * len(self))
        for octet in range(_FLOAT.size):  # one octet of all numbers at once
            found[octet :: _FLOAT.size] = self._indexes.translate(palette[octet :: _FLOAT.size].ljust(256, b"\0"))
        write = _FLOAT.pack_into
        size = _FLOAT.size
        for at, number in self._others.items():
            write(found, size * at, number)
        return found


_FLOAT = Struct("<f")
