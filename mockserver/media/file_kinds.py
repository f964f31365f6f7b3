"""What a file is, by the bytes that it begins with."""

from mockserver.core.tokens import find_image_size

PICTURES = ("image/png", "image/jpeg", "image/webp")  # the types of images that OpenAI edits
_HEAD = 64 << 10  # bytes in which a picture tells its size


def recognize(data: bytes) -> str | None:
    """Return the media type of a file, None if it begins like nothing known."""
    for at, beginning, media_type in _BEGINNINGS:
        if data.startswith(beginning, at):
            return media_type
    return "audio/mpeg" if _is_mpeg_frame(data) else None


def find_picture_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of a picture in pixels; None if it is not one, or if its head is torn."""
    return find_image_size(data[:_HEAD])


def is_sound(media_type: str) -> bool:
    """Return whether such a file can have sound: films have."""
    return media_type.startswith(("audio/", "video/"))


def _is_mpeg_frame(data: bytes) -> bool:
    """Return whether a frame of MPEG audio or ADTS begins here: eleven bits, then a version and a layer."""
    return len(data) > 2 and data[0] == 0xFF and data[1] & 0xE0 == 0xE0 and data[1] & 0x18 != 0x08 and data[2] < 0xF0


# Where a file has which bytes, and what it is then; the first that fits.
_BEGINNINGS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (8, b"WEBP", "image/webp"),
    (0, b"GIF8", "image/gif"),
    (0, b"<svg", "image/svg+xml"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypmif1", "image/heif"),
    (4, b"ftypavif", "image/avif"),
    (8, b"WAVE", "audio/wav"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (8, b"AIFF", "audio/aiff"),
    (0, b"#!AMR", "audio/amr"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"\0\0\1\xba", "video/mpeg"),
    (0, b"\0\0\1\xb3", "video/mpeg"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
)
