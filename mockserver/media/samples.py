"""Formats in which sound is sent without a file around it: 16-bit samples, and the two codes of telephones (G.711)."""

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from msgspec import Struct

from mockserver.media.tone import RATE, read_levels, write_levels


class SampleFormat(Struct, frozen=True):
    """A format: one channel, at `rate` samples a second, of `width` bytes each. `silence` is a sample without sound."""

    name: str
    rate: int
    width: int
    silence: bytes

    @property
    def bytes_per_second(self) -> int:
        return self.rate * self.width

    def measure(self, size: int) -> int:
        """Return how many whole milliseconds `size` bytes take."""
        return size * 1000 // self.bytes_per_second

    def count_bytes(self, milliseconds: int) -> int:
        """Return how many bytes a number of milliseconds take."""
        return milliseconds * self.rate // 1000 * self.width

    def read_levels(self, data: bytes) -> "array[int]":
        """Return the samples of a sound as numbers from -32768 to 32767, at its own rate."""
        if self.width == 1:
            return array("h", map(_list_levels(self.name).__getitem__, data))
        return read_levels(data)

    def decode(self, data: bytes) -> bytes:
        """Return a sound as 16-bit samples at 24 kHz."""
        return data if self.width == 2 else write_levels(_resample_threefold(self.read_levels(data)))

    def encode(self, samples: bytes) -> bytes:
        """Return 16-bit samples at 24 kHz in this format."""
        if self.width == 2:
            return samples
        codes = _list_codes(self.name)
        levels = PCM.read_levels(samples)
        threes = zip(levels[0::3], levels[1::3], levels[2::3], strict=False)
        return bytes([codes[(one + two + three) // 3 + 32_768 >> 2] for one, two, three in threes])


def _resample_threefold(levels: "array[int]") -> "array[int]":
    """Return three samples for each: those between two lie on a line."""
    tripled = array("h", bytes(6 * len(levels)))
    after = levels[1:] + levels[-1:]
    tripled[0::3] = levels
    tripled[1::3] = array("h", [(2 * one + two) // 3 for one, two in zip(levels, after, strict=True)])
    tripled[2::3] = array("h", [(one + 2 * two) // 3 for one, two in zip(levels, after, strict=True)])
    return tripled


def _read_ulaw(code: int) -> int:
    """Return the sample of a code of the µ-law (ITU-T G.711, table 2a)."""
    code = ~code & 0xFF
    level = (((code & 0x0F) << 3) + 0x84 << (code >> 4 & 0x07)) - 0x84
    return -level if code & 0x80 else level


def _read_alaw(code: int) -> int:
    """Return the sample of a code of the A-law (ITU-T G.711, table 1a)."""
    code ^= 0x55
    level = ((code & 0x0F) << 4) + 8
    segment = code >> 4 & 0x07
    if segment:
        level = level + 0x100 << segment - 1
    return level if code & 0x80 else -level


@cache
def _list_levels(name: str) -> Sequence[int]:
    return [*map({"audio/pcmu": _read_ulaw, "audio/pcma": _read_alaw}[name], range(256))]


@cache
def _list_codes(name: str) -> bytes:
    """Return the code that is nearest to each fourth sample, from the lowest on."""
    levels = _list_levels(name)
    known = {levels[code]: code for code in range(256)}  # of two zeros, the one that silence has
    ordered = sorted(known)
    middles = [(one + two) / 2 for one, two in pairwise(ordered)]
    return bytes([known[ordered[bisect_left(middles, level)]] for level in range(-32_767, 32_768, 4)])


PCM = SampleFormat("audio/pcm", RATE, width=2, silence=b"\0\0")
FORMATS: Mapping[str, SampleFormat] = {
    each.name: each
    for each in (
        PCM,
        SampleFormat("audio/pcmu", 8_000, width=1, silence=b"\xff"),
        SampleFormat("audio/pcma", 8_000, width=1, silence=b"\xd5"),
    )
}
