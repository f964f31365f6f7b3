"""Films: MP4 files in which nothing moves, as H.264 that every player reads, though no encoder is at hand.

The first frame is one macroblock of plain samples, from which all others are predicted without a difference; the
frames after it repeat the one before. So a film takes a few kilobytes.
"""

import re
from math import isfinite
from struct import pack

from mockserver.core.json import Json
from mockserver.media.picture import Color

FRAMES_A_SECOND = 24
LONGEST = 60.0  # seconds
MAX_SIDE = 4096  # pixels
_BLOCK = 16  # pixels of a macroblock's side
_TICKS = 1000  # of the clock, a second
_MATRIX = pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)  # nothing is turned or moved


def write_film(color: Color, width: int, height: int, seconds: float) -> bytes:
    """Return an MP4 of one colour, of a size in pixels (even numbers) and a length; both are bounded."""
    width, height = (min(max(side, 2), MAX_SIDE) // 2 * 2 for side in (width, height))
    count = max(round(min(seconds, LONGEST) * FRAMES_A_SECOND), 1)
    columns, lines = -(-width // _BLOCK), -(-height // _BLOCK)
    sequence = _write_sequence(width, height, columns=columns, lines=lines)
    picture = _write_unit(0x68, _code(0) + _code(0) + "00" + _code(0) * 3 + "000" + "111" + "100")
    first = _write_first_frame(color, columns=columns, lines=lines)
    frames = [first, *[_write_repeat(number, columns * lines) for number in range(1, count)]]
    samples = [pack(">I", len(frame)) + frame for frame in frames]
    kinds = _write_box(b"ftyp", b"isom", pack(">I", 0x200), b"isomiso2avc1mp41")
    movie = _write_movie(samples, sequence, picture, width=width, height=height, offset=0)
    start = len(kinds) + len(movie) + 8
    movie = _write_movie(samples, sequence, picture, width=width, height=height, offset=start)
    return kinds + movie + _write_box(b"mdat", *samples)


def read_seconds(stated: Json, usual: float) -> float:
    """Return a length that is stated as a number or as a text; the usual one if it is neither."""
    try:
        read = float(str(stated).removesuffix("s"))
    except ValueError:
        return float(usual)
    return read if isfinite(read) else float(usual)


# H.264 (https://www.itu.int/rec/T-REC-H.264): its frames, as bits.


def _code(number: int) -> str:
    """Return a number in the code of Exp-Golomb."""
    bits = f"{number + 1:b}"
    return "0" * (len(bits) - 1) + bits


def _write_unit(head: int, bits: str) -> bytes:
    """Return a unit of a stream: bits with their end, in which three bytes never look like the start of another."""
    bits += "1"
    bits += "0" * (-len(bits) % 8)
    data = int(bits, 2).to_bytes(len(bits) // 8, "big")
    return bytes((head,)) + _LIKE_A_START.sub(b"\0\0\3", data)


_LIKE_A_START = re.compile(rb"\0\0(?=[\0-\3])")


def _write_sequence(width: int, height: int, *, columns: int, lines: int) -> bytes:
    """Return what holds for the whole stream: the baseline profile at level 5.1, and the size."""
    right, bottom = (columns * _BLOCK - width) // 2, (lines * _BLOCK - height) // 2
    crop = "1" + _code(0) + _code(right) + _code(0) + _code(bottom) if right or bottom else "0"
    size = _code(columns - 1) + _code(lines - 1)
    order = _code(0) + _code(0) + _code(2)  # frames are shown as they come
    return _write_unit(0x67, f"{0x42C033:024b}{order}{_code(1)}0{size}11{crop}0")


def _write_first_frame(color: Color, *, columns: int, lines: int) -> bytes:
    head = _code(0) + _code(7) + _code(0) + "0000" + _code(0) + "00" + _code(0) + _code(1)
    bits = head + _code(25)  # a macroblock of samples, which begin with a byte
    bits += "0" * (-len(bits) % 8)
    luma, blue, red = _convert(color)
    samples = bytes((luma,)) * 256 + bytes((blue,)) * 64 + bytes((red,)) * 64
    # The others: predicted by the mean of what is around, no change, no coefficient. How that none is written depends
    # on the neighbours: that with samples counts as full.
    usual, beside_samples = "00100" + "11" + "1", "00100" + "11" + "000011"
    blocks = [beside_samples if at in (1, columns) else usual for at in range(1, columns * lines)]
    return _write_unit(0x65, bits + "".join([f"{byte:08b}" for byte in samples]) + "".join(blocks))


def _write_repeat(number: int, blocks: int) -> bytes:
    """Return a frame that is the one before."""
    head = _code(0) + _code(5) + _code(0) + f"{number % 16:04b}" + "000" + _code(0) + _code(1)
    return _write_unit(0x41, head + _code(blocks))


def _convert(color: Color) -> tuple[int, int, int]:
    """Return a colour as brightness, blue and red (ITU-R BT.709)."""
    red, green, blue = (part / 255 for part in color)
    luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return (
        round(16 + 219 * luma),
        round(128 + 224 * (blue - luma) / 1.8556),
        round(128 + 224 * (red - luma) / 1.5748),
    )


# MP4 (ISO/IEC 14496-12): boxes within boxes.


def _write_box(kind: bytes, *contents: bytes) -> bytes:
    data = b"".join(contents)
    return pack(">I", len(data) + 8) + kind + data


def _write_full_box(kind: bytes, *contents: bytes, flags: int = 0) -> bytes:
    return _write_box(kind, pack(">I", flags), *contents)


def _write_movie(
    samples: list[bytes], sequence: bytes, picture: bytes, *, width: int, height: int, offset: int
) -> bytes:
    """Return what says how to read the frames, which begin at this offset in the file."""
    count = len(samples)
    scale = FRAMES_A_SECOND * _TICKS
    length = count * _TICKS
    entry = _write_box(
        b"avc1",
        pack(">6xH16xHHIIIH31xBHh", 1, width, height, 0x480000, 0x480000, 0, 1, 0, 24, -1),
        _write_box(b"avcC", b"\1\x42\xc0\x33\xff\xe1", _measure(sequence), b"\1", _measure(picture)),
    )
    table = _write_box(
        b"stbl",
        _write_full_box(b"stsd", pack(">I", 1), entry),
        _write_full_box(b"stts", pack(">III", 1, count, _TICKS)),
        _write_full_box(b"stss", pack(">II", 1, 1)),
        _write_full_box(b"stsc", pack(">IIII", 1, 1, count, 1)),
        _write_full_box(b"stsz", pack(">II", 0, count), *[pack(">I", len(sample)) for sample in samples]),
        _write_full_box(b"stco", pack(">II", 1, offset)),
    )
    data = _write_box(b"dinf", _write_full_box(b"dref", pack(">I", 1), _write_full_box(b"url ", flags=1)))
    media = _write_box(
        b"mdia",
        _write_full_box(b"mdhd", pack(">IIIIHH", 0, 0, scale, length, 0x55C4, 0)),
        _write_full_box(b"hdlr", pack(">I4s12x", 0, b"vide"), b"VideoHandler\0"),
        _write_box(b"minf", _write_full_box(b"vmhd", bytes(8), flags=1), data, table),
    )
    size = pack(">II", width << 16, height << 16)
    track = _write_full_box(b"tkhd", pack(">IIIII8xHHHH", 0, 0, 1, 0, length, 0, 0, 0, 0), _MATRIX, size, flags=3)
    head = pack(">IIIIIH10x", 0, 0, scale, length, 0x10000, 0x100)
    return _write_box(
        b"moov",
        _write_full_box(b"mvhd", head, _MATRIX, bytes(24), pack(">I", 2)),
        _write_box(b"trak", track, media),
    )


def _measure(unit: bytes) -> bytes:
    """Return a unit after its length."""
    return pack(">H", len(unit)) + unit
