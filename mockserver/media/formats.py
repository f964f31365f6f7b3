"""Pictures as files: PNG, JPEG, WebP, GIF and SVG, whose bytes depend on no library."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from struct import pack
from zlib import adler32, crc32

from msgspec import Struct

from mockserver.media.picture import TILE, Color, Picture


class _Bits:
    """Collects bits, the lowest first, as DEFLATE, WebP and GIF do."""

    def __init__(self) -> None:
        self._value = self._count = 0
        self._bytes = bytearray()

    def add(self, value: int, count: int) -> None:
        self._value |= value << self._count
        whole, self._count = divmod(self._count + count, 8)
        if whole:
            self._bytes += (self._value & (1 << 8 * whole) - 1).to_bytes(whole, "little")
            self._value >>= 8 * whole

    def add_code(self, code: int, count: int) -> None:
        """Add bits of which the highest comes first, as in a Huffman code."""
        self.add(int(f"{code:0{count}b}"[::-1], 2), count)

    def finish(self) -> bytes:
        return bytes(self._bytes) + (bytes((self._value & 0xFF,)) if self._count else b"")


# PNG (https://www.w3.org/TR/png-3/)


def write_png(picture: Picture) -> bytes:
    """Return a PNG with a palette of two colours: one bit for each pixel."""
    header = pack(">IIBBBBB", picture.width, picture.height, 1, 3, 0, 0, 0)
    palette = bytes((*picture.ground, *picture.ink))
    clear = _write_chunk(b"tRNS", b"\x00\xff") if picture.is_transparent else b""
    lines = [_pack_line(tiles, picture) for tiles in picture.list_lines()]
    raw = b"".join([_filter_line(line, above) for line, above in zip(lines, (b"", *lines), strict=False)])
    chunks = (
        _write_chunk(b"IHDR", header),
        _write_chunk(b"PLTE", palette),
        clear,
        _write_chunk(b"IDAT", compress(raw)),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + _write_chunk(b"IEND", b"")


def _filter_line(line: bytes, above: bytes) -> bytes:
    """Return a line with the number of its filter: 2 adds the line above."""
    return b"\x02" + bytes(len(line)) if line == above else b"\x00" + line


def _pack_line(tiles: int, picture: Picture) -> bytes:
    """Return a line of pixels, a bit each; a tile is a byte."""
    return bytes([0xFF if tiles >> at & 1 else 0 for at in reversed(range(picture.columns))])


def _write_chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))


def compress(data: bytes) -> bytes:
    """Return data in the form of RFC 1950, with the runs of a byte shortened. Compressors differ between machines."""
    bits = _Bits()
    bits.add(0b011, 3)  # the last block, with the fixed codes of RFC 1951
    for run in _RUN.finditer(data):
        byte = run[1][0]
        _add_literal(byte, bits)
        left = len(run[0]) - 1
        while left >= _SHORTEST_RUN:
            length = min(left, _LONGEST_RUN) if left - _LONGEST_RUN not in (1, 2) else _LONGEST_RUN - _SHORTEST_RUN
            _add_repeat(length, bits)
            left -= length
        for _ in range(left):
            _add_literal(byte, bits)
    _add_length_symbol(256, bits)
    return b"\x78\x01" + bits.finish() + pack(">I", adler32(data))


_SHORTEST_RUN = 3  # bytes that one code repeats
_LONGEST_RUN = 258


_RUN = re.compile(rb"(.)\1*", re.DOTALL)


def _add_literal(byte: int, bits: _Bits) -> None:
    if byte < 144:  # RFC 1951, section 3.2.6
        bits.add_code(0x30 + byte, 8)
    else:
        bits.add_code(0x190 + byte - 144, 9)


def _add_length_symbol(symbol: int, bits: _Bits) -> None:
    if symbol < 280:  # the same section
        bits.add_code(symbol - 256, 7)
    else:
        bits.add_code(0xC0 + symbol - 280, 8)


def _add_repeat(length: int, bits: _Bits) -> None:
    """Add the code that repeats the byte before so often."""
    if length == _LONGEST_RUN:
        _add_length_symbol(285, bits)
    else:
        extra = max(0, (length - _SHORTEST_RUN).bit_length() - 3)
        above = length - _SHORTEST_RUN
        _add_length_symbol(257 + 4 * extra + (above >> extra), bits)
        bits.add(above & (1 << extra) - 1, extra)
    bits.add_code(0, 5)  # one byte back


# JPEG (https://www.w3.org/Graphics/JPEG/itu-t81.pdf)


def write_jpeg(picture: Picture) -> bytes:
    """Return a JPEG whose blocks are the tiles: each has one colour, hence no detail to code."""
    size = pack(">BHHB", 8, picture.height, picture.width, 3)
    frame = size + b"".join([bytes((component, 0x11, 0)) for component in (1, 2, 3)])
    scan = bytes((3, 1, 0, 2, 0, 3, 0, 0, 63, 0))
    return b"".join(
        (
            b"\xff\xd8",
            _segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"),
            _segment(0xDB, b"\0" + bytes((TILE,)) * 64),
            _segment(0xC0, frame),
            _segment(0xC4, b"\0" + _count_lengths(_DC_CODES) + bytes(range(len(_DC_CODES)))),
            _segment(0xC4, b"\x10" + _count_lengths((_END_OF_BLOCK,)) + b"\0"),
            _segment(0xDA, scan),
            _scan(picture),
            b"\xff\xd9",
        )
    )


_DC_CODES = ("00", "010", "011", "100", "101", "110", "1110", "11110", "111110", "1111110")  # by how many bits follow
_END_OF_BLOCK = "0"


def _segment(marker: int, data: bytes) -> bytes:
    return pack(">BBH", 0xFF, marker, len(data) + 2) + data


def _count_lengths(codes: Sequence[str]) -> bytes:
    """Return how many codes there are of each length from 1 to 16."""
    lengths = [len(code) for code in codes]
    return bytes([lengths.count(length) for length in range(1, 17)])


def _scan(picture: Picture) -> bytes:
    """Return the coded blocks: the difference of each component from the block before."""
    colors = [_convert_to_luma(color) for color in (picture.ground, picture.ink)]
    steps = {(before, now): _encode_step(colors[before], colors[now]) for before in (0, 1) for now in (0, 1)}
    tiles = [row >> at & 1 for row in picture.rows for at in reversed(range(picture.columns))]
    first = _encode_step((0, 0, 0), colors[tiles[0]])
    bits = first + "".join([steps[step] for step in pairwise(tiles)])
    bits += "1" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")


def _convert_to_luma(color: Color) -> tuple[int, int, int]:
    """Return a colour as the levels of brightness, blue and red around zero (JFIF 1.02, in whole numbers)."""
    red, green, blue = color
    return (
        (299 * red + 587 * green + 114 * blue + 500) // 1000 - 128,
        min((-168_736 * red - 331_264 * green + 500_000 * blue + 500_000) // 1_000_000, 127),
        min((500_000 * red - 418_688 * green - 81_312 * blue + 500_000) // 1_000_000, 127),
    )


def _encode_step(before: Sequence[int], now: Sequence[int]) -> str:
    return "".join([_encode_difference(new - old) + _END_OF_BLOCK for old, new in zip(before, now, strict=True)])


def _encode_difference(difference: int) -> str:
    count = abs(difference).bit_length()
    if not count:
        return _DC_CODES[0]
    value = difference if difference > 0 else difference + (1 << count) - 1
    return f"{_DC_CODES[count]}{value:0{count}b}"


# WebP, lossless (RFC 9649, section 3)


def write_webp(picture: Picture) -> bytes:
    """Return a lossless WebP with a palette of two colours, in which eight pixels, hence a tile's line, are one."""
    bits = _Bits()
    bits.add(picture.width - 1, 14)
    bits.add(picture.height - 1, 14)
    bits.add(int(picture.is_transparent), 1)
    bits.add(0, 3)  # the version
    bits.add(0b111, 3)  # a transform follows: colours by their index
    bits.add(1, 8)  # the last index
    _add_palette(picture, bits)
    bits.add(0, 1)  # no other transform
    bits.add(0, 2)  # neither a cache of colours nor several codes
    green = _PrefixCode((0, 255))
    for code in (green, *[_PrefixCode((0,))] * 4):
        code.describe(bits)
    for tiles in picture.list_lines():
        bits.add_code(tiles, picture.columns)
    data = b"\x2f" + bits.finish()
    data += b"\0" * (len(data) % 2)
    chunk = b"WEBPVP8L" + pack("<I", len(data)) + data
    return b"RIFF" + pack("<I", len(chunk)) + chunk


def _add_palette(picture: Picture, bits: _Bits) -> None:
    """Add the two colours, the second as its difference from the first."""
    ground = (*picture.ground, 0 if picture.is_transparent else 255)
    difference = [(new - old) % 256 for old, new in zip(ground, (*picture.ink, 255), strict=True)]
    bits.add(0, 1)  # no cache of colours
    red, green, blue, alpha = (_PrefixCode(pair) for pair in zip(ground, difference, strict=True))
    for code in (green, red, blue, alpha, _PrefixCode((0,))):
        code.describe(bits)
    for pixel in (ground, difference):
        for code, part in ((green, 1), (red, 0), (blue, 2), (alpha, 3)):
            code.add(pixel[part], bits)


class _PrefixCode:
    """A code of one symbol, which takes no bits, or of two."""

    def __init__(self, symbols: Sequence[int]) -> None:
        self._symbols = sorted(set(symbols))

    def describe(self, bits: _Bits) -> None:
        bits.add(1, 1)  # a code this simple
        bits.add(len(self._symbols) - 1, 1)
        bits.add(1, 1)  # the first symbol has eight bits, too
        for symbol in self._symbols:
            bits.add(symbol, 8)

    def add(self, symbol: int, bits: _Bits) -> None:
        if len(self._symbols) > 1:
            bits.add(self._symbols.index(symbol), 1)


# GIF (https://www.w3.org/Graphics/GIF/spec-gif89a.txt)


def write_gif(picture: Picture, frames: int = 1, duration: int = 200) -> bytes:
    """Return a GIF whose frames, `duration` ms each, grow lighter up to the picture: each has its own colours."""
    screen = pack("<HHBBB", picture.width, picture.height, 0x70, 0, 0)
    forever = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0" if frames > 1 else b""
    packed = _compress_codes(picture)
    blocks = b"".join([pack("B", len(part)) + part for part in _cut(packed, 255)]) + b"\0"
    written = [b"GIF89a", screen, forever]
    for number in range(1, frames + 1):
        shown = picture if number == frames else picture.darken(number / frames)
        control = pack("<BBBBHBB", 0x21, 0xF9, 4, 0x09 if picture.is_transparent else 0x04, duration // 10, 0, 0)
        place = pack("<BHHHHB", 0x2C, 0, 0, picture.width, picture.height, 0x80)
        written += [control, place, bytes((*shown.ground, *shown.ink)), pack("B", _CODE_SIZE), blocks]
    return b"".join(written) + b"\x3b"


def _cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def _compress_codes(picture: Picture) -> bytes:
    """Return the pixels in the codes of GIF (LZW), each of which stands for a row of them."""
    bits = _Bits()
    clear = 1 << _CODE_SIZE
    known: dict[int, int] = {}  # by the code of a row without its last pixel, and that pixel
    following = clear + 2
    width = _CODE_SIZE + 1
    row = -1
    bits.add(clear, width)
    for tiles in picture.list_lines():
        for pixel in _list_pixels(tiles, picture):
            if row < 0:
                row = pixel
                continue
            longer = known.get(row << 1 | pixel)
            if longer is not None:
                row = longer
                continue
            bits.add(row, width)
            known[row << 1 | pixel] = following
            if following == 1 << width:
                width += 1
            following += 1
            if following > _MAX_CODES:
                bits.add(clear, width)
                known = {}
                following = clear + 2
                width = _CODE_SIZE + 1
            row = pixel
    bits.add(row, width)
    bits.add(clear + 1, width)  # the end
    return bits.finish()


def _list_pixels(tiles: int, picture: Picture) -> bytes:
    line = b"".join([(b"\1" if tiles >> at & 1 else b"\0") * TILE for at in reversed(range(picture.columns))])
    return line[: picture.width]


_CODE_SIZE = 2  # bits of the smallest codes
_MAX_CODES = 4095


def write_svg(picture: Picture) -> bytes:
    """Return an SVG with a rectangle for each run of tiles (https://www.w3.org/TR/SVG2/)."""
    from html import escape  # slow to import: all of HTML's entities

    size = f'width="{picture.width}" height="{picture.height}"'
    ground = "" if picture.is_transparent else f'<rect {size} fill="{picture.ground.code}"/>'
    path = "".join([f"M{left} {top}h{wide}v{TILE}h-{wide}z" for left, top, wide in _find_rectangles(picture)])
    title = escape(_NOT_IN_XML.sub("", picture.words))
    drawn = f'{ground}<title>{title}</title><path fill="{picture.ink.code}" d="{path}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{drawn}</svg>'.encode("utf-8", "replace")


_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _find_rectangles(picture: Picture) -> Iterator[tuple[int, int, int]]:
    for line, row in enumerate(picture.rows):
        for run in re.finditer("1+", f"{row:0{picture.columns}b}"):
            yield run.start() * TILE, line * TILE, len(run[0]) * TILE


class Format(Struct, frozen=True):
    """A format of pictures: its media type, and how a picture is written in it."""

    media_type: str
    write: Callable[[Picture], bytes]


FORMATS: Mapping[str, Format] = {
    "png": Format("image/png", write_png),
    "jpeg": Format("image/jpeg", write_jpeg),
    "webp": Format("image/webp", write_webp),
    "gif": Format("image/gif", write_gif),
    "svg": Format("image/svg+xml", write_svg),
}
