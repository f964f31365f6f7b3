"""The size of an image, and the tokens that it costs in a prompt."""

from base64 import b64decode
from collections.abc import Callable, Mapping

from mockserver.core.json import Json

IMAGES = ("image_url", "input_image", "image")  # types of message parts that hold an image
_READ = 65_536  # bytes that are read: the header is near the start
_PER_PART = 85  # tokens of a part that is no image
_IMAGE, _TILE, _SIDE, _SHORTEST, _LONGEST = 85, 170, 512, 768, 2048  # tokens, tokens, then pixels
_USUAL_IMAGE = (1024, 1024)  # assumed for images given by URL

Size = tuple[int, int]  # width and height in pixels


def part_tokens(part: Mapping[str, Json]) -> int:
    """Return the tokens of a non-text part: an image by its size, anything else a fixed number."""
    image = part.get("image_url")
    if not isinstance(image, Mapping):
        return _PER_PART
    if image.get("detail") == "low":
        return _IMAGE
    url = image.get("url")
    return image_tokens(*(size_of(url) if isinstance(url, str) else None) or _USUAL_IMAGE)


def image_tokens(width: int, height: int) -> int:
    """Return the tokens of a detailed image: scaled to 2048, then to a shorter side of 768, then in tiles."""
    longest = max(width, height, 1)
    if longest > _LONGEST:
        width, height = width * _LONGEST // longest, height * _LONGEST // longest
    shortest = max(min(width, height), 1)
    if shortest > _SHORTEST:
        width, height = width * _SHORTEST // shortest, height * _SHORTEST // shortest
    return _IMAGE + _TILE * -(-max(width, 1) // _SIDE) * -(-max(height, 1) // _SIDE)


def size_of(url: str) -> Size | None:
    """Return the size of the PNG, JPEG, GIF or WebP in a data URL, or None if unknown."""
    head, comma, _ = url[:_READ].partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    start = len(head) + 1
    letters = url[start : start + _READ * 4 // 3]
    try:
        read = b64decode(letters[: len(letters) // 4 * 4])
    except ValueError:
        return None
    size = next((size(read) for magic, size in _KINDS.items() if read.startswith(magic)), None)
    return size if size and min(size) > 0 else None


def _png(read: bytes) -> Size | None:
    return (_big(read[16:20]), _big(read[20:24])) if read[12:16] == b"IHDR" and len(read) >= 24 else None


def _gif(read: bytes) -> Size | None:
    return (_little(read[6:8]), _little(read[8:10])) if len(read) >= 10 else None


def _jpeg(read: bytes) -> Size | None:
    """Return the size in the frame header, found by skipping the segments before it."""
    at = 2
    while at + 9 <= len(read) and read[at] == 0xFF:
        marker, length = read[at + 1], _big(read[at + 2 : at + 4])
        if marker == 0xFF:  # filling
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(read[at + 7 : at + 9]), _big(read[at + 5 : at + 7])
        else:
            at += 2 + max(length, 2)
    return None


def _webp(read: bytes) -> Size | None:
    if read[8:12] != b"WEBP" or len(read) < 30:
        return None
    match read[12:16]:
        case b"VP8X":
            return _little(read[24:27]) + 1, _little(read[27:30]) + 1
        case b"VP8L":
            both = _little(read[21:25])
            return (both & 0x3FFF) + 1, (both >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(read[26:28]) & 0x3FFF, _little(read[28:30]) & 0x3FFF
    return None


def _big(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def _little(octets: bytes) -> int:
    return int.from_bytes(octets, "little")


# The first bytes of each file format.
_KINDS: Mapping[bytes, Callable[[bytes], Size | None]] = {
    b"\x89PNG\r\n\x1a\n": _png,
    b"GIF8": _gif,
    b"\xff\xd8": _jpeg,
    b"RIFF": _webp,
}
