"""Speech without a voice: a soft tone that carries its text, so that what was said can be heard again.

Two frequencies are the bits of the text, a cycle or two of a sine in a 1,200th of a second. They survive telephones
(G.711). What time is left, as speech takes longer, a hum in the pitch of the voice fills, in four beats a second.
"""

import re
from array import array
from binascii import crc_hqx
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from math import pi, sin
from struct import pack
from typing import NamedTuple

RATE = 24_000  # samples a second, of two bytes each, the lower one first
LETTERS_A_SECOND = 15
SHORTEST = 0.2  # seconds
MAX_HEARD = 120 * RATE  # samples
MAX_SOUNDS = 200  # in a recording
MAX_READ = 2 * MAX_HEARD  # samples of tones
_BIT = 20  # samples
_LOUDNESS = 3_000
_BEGINNING = b"\xa5\x5a"
_HEAD = 4  # bytes: the beginning with the length
_TAIL = 2  # bytes of the check sum
_PAUSE = bytes(2 * 240)
BEAT = RATE // 4  # samples
_GAP = re.compile(rb"[\x00\xff]{120,}")  # of high bytes: samples close to zero


def read_levels(data: bytes) -> "array[int]":
    """Return 16-bit samples as numbers from -32768 to 32767."""
    levels = array("h", data[: len(data) // 2 * 2])
    if _IS_BIG_ENDIAN:
        levels.byteswap()
    return levels


def write_levels(levels: "array[int]") -> bytes:
    """Return numbers as 16-bit samples."""
    if _IS_BIG_ENDIAN:
        levels = levels[:]
        levels.byteswap()
    return levels.tobytes()


def write_tone(text: str, voice: str = "alloy", *, speed: float = 1.0) -> bytes:
    """Return the samples of a tone that carries a text, as long as speech takes."""
    said = text.encode("utf-8", "replace")[:0xFFFF]
    head = _BEGINNING + pack(">H", len(said))
    bits = b"".join([_BYTES[byte] for byte in head + said + pack(">H", crc_hqx(said, 0))])
    carried = _PAUSE + bits + _PAUSE
    left = 2 * round(measure_speech(text, speed) * RATE) - len(carried) - len(_PAUSE)
    beat = _make_beat(voice)
    hum = (beat * (left // len(beat) + 1))[: left - left % 2] if left > 0 else b""
    return carried + hum + _PAUSE


def measure_speech(text: str, speed: float = 1.0) -> float:
    """Return how many seconds it takes to say a text."""
    return max(len(text) / LETTERS_A_SECOND / speed, SHORTEST)


def read_tone(samples: bytes) -> str | None:
    """Return the texts that the tones in these samples carry, one behind the other; None without such a tone."""
    levels = read_levels(samples[: 2 * MAX_HEARD])
    found = list[str]()
    end = 0
    left = MAX_READ
    for start in _find_starts(samples):
        if start < end or left <= 0:  # inside of what was read before
            continue
        tone = _read_from(levels, start)
        if tone is not None:
            end = tone.end
            left = left - (tone.end - start)
            found += () if tone.text is None else (tone.text,)
    return " ".join(found) if found else None


class _Tone(NamedTuple):
    """The text of a tone, None if its check sum is wrong, and the sample behind it."""

    text: str | None
    end: int


def _find_starts(samples: bytes) -> Iterator[int]:
    """Yield where a sound begins after a silence; what comes first may be cut off."""
    yield 0
    for gap in islice(_GAP.finditer(samples[1 : 2 * MAX_HEARD : 2]), MAX_SOUNDS):
        yield gap.end()


def _read_from(levels: "array[int]", start: int) -> _Tone | None:
    """Return the tone that begins about here; None if none does."""
    for begun in range(max(start - _SLACK, 0), start + _SLACK):
        if _read_bytes(levels, begun, len(_BEGINNING)) == _BEGINNING:
            break
    else:
        return None
    size = int.from_bytes(_read_bytes(levels, begun, _HEAD)[2:], "big")
    whole = _read_bytes(levels, begun, _HEAD + size + _TAIL)
    said = whole[_HEAD : _HEAD + size]
    check = whole[_HEAD + size :]
    is_right = check == pack(">H", crc_hqx(said, 0))
    return _Tone(said.decode("utf-8", "replace") if is_right else None, begun + len(whole) * 8 * _BIT)


_SLACK = 8  # samples by which a start may be missed


def _read_bytes(levels: "array[int]", start: int, count: int) -> bytes:
    """Return the bytes that are coded from `start` on, or fewer if the sound ends before."""
    found = bytearray()
    for at in range(start, min(start + count * 8 * _BIT, len(levels) - 8 * _BIT + 1), 8 * _BIT):
        byte = 0
        for bit in range(at, at + 8 * _BIT, _BIT):
            # A slow cycle rises in its first half and falls in its second; a fast one does both in each half.
            slow = sum(levels[bit : bit + _BIT // 2]) - sum(levels[bit + _BIT // 2 : bit + _BIT])
            quarters = [sum(levels[at : at + _BIT // 4]) for at in range(bit, bit + _BIT, _BIT // 4)]
            fast = quarters[0] - quarters[1] + quarters[2] - quarters[3]
            byte = byte << 1 | (fast > slow)
        found.append(byte)
    return bytes(found)


@lru_cache(maxsize=32)
def _make_beat(voice: str) -> bytes:
    """Return a quarter of a second of hum, which swells and fades, in the pitch of a voice."""
    pitch = 120 + 4 * (sha256(voice.encode("utf-8", "replace")).digest()[0] % 40)  # hertz: whole cycles in a beat
    loud = [sin(pi * at / BEAT) * sin(2 * pi * pitch * at / RATE) * _LOUDNESS / 4 for at in range(BEAT)]
    return pack(f"<{BEAT}h", *map(round, loud))


def _make_bit(cycles: int) -> bytes:
    levels = [round(_LOUDNESS * sin(2 * pi * cycles * at / _BIT)) for at in range(_BIT)]
    return pack(f"<{_BIT}h", *levels)


_BITS = {"0": _make_bit(1), "1": _make_bit(2)}
_BYTES = tuple([b"".join([_BITS[bit] for bit in f"{byte:08b}"]) for byte in range(256)])
_IS_BIG_ENDIAN = array("h", [1]).tobytes() == b"\0\1"
