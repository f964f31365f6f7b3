"""Sizes of images, from headers made by hand after the formats' specifications."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.tokens import read_image_size

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\x40\0\0\0\xf0\x08\x06\0\0\0"
GIF = b"GIF89a\x40\x01\xf0\x00\xf7\0\0"
_JFIF = b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"
_FRAME = b"\xff\xc0\0\x11\x08\0\xf0\x01\x40\3\1\x22\0"
JPEG = _JFIF + b"\xff\xdb\0\5\0\0\0" + _FRAME
PADDED_JPEG = _JFIF + b"\xff\xff\xff" + _FRAME[1:]
PROGRESSIVE = _JFIF + _FRAME.replace(b"\xc0", b"\xc2", 1)
_RIFF = b"RIFF\0\0\0\0WEBP"
EXTENDED = _RIFF + b"VP8X\n\0\0\0\0\0\0\0" + b"\x3f\1\0\xef\0\0"
LOSSLESS = _RIFF + b"VP8L\0\0\0\0\x2f" + (319 | 239 << 14).to_bytes(4, "little") + b"\0" * 8
LOSSY = _RIFF + b"VP8 \0\0\0\0\0\0\0\x9d\1\x2a\x40\1\xf0\0" + b"\0" * 8


def url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


@pytest.mark.parametrize(
    "content",
    [PNG, GIF, JPEG, PADDED_JPEG, PROGRESSIVE, EXTENDED, LOSSLESS, LOSSY, PNG + b"\0" * 1_000_000],
    ids=["png", "gif", "jpeg", "padded", "progressive", "extended", "lossless", "lossy", "long"],
)
def test_sizes(content: bytes) -> None:
    assert read_image_size(url("image/any", content)) == (320, 240)


@pytest.mark.parametrize(
    "given",
    [
        "",
        "https://example.com/a.png",
        "data:image/png,raw",
        "data:image/png;base64,",
        "data:image/png;base64,!!!",
        url("image/png", PNG[:20]),
        url("image/png", PNG.replace(b"\1\x40", b"\0\0")),
        url("image/gif", GIF[:8]),
        url("image/jpeg", JPEG[:30]),
        url("image/jpeg", b"\xff\xd8\xff\xd9"),
        url("image/jpeg", b"\xff\xd8" + b"\xff\xe0\0\0" * 20_000),
        url("image/webp", _RIFF + b"VP8?" + b"\0" * 30),
        url("image/webp", _RIFF),
        url("audio/wav", b"RIFF\0\0\0\0WAVE" + b"\0" * 30),
        url("text/plain", b"hello"),
    ],
)
def test_what_has_no_size(given: str) -> None:
    assert read_image_size(given) is None


@given(st.sampled_from([PNG, GIF, JPEG, EXTENDED, LOSSLESS, LOSSY]), st.integers(0, 40), st.binary(max_size=40))
def test_no_bytes_are_too_odd(content: bytes, at: int, instead: bytes) -> None:
    size = read_image_size(url("image/any", content[:at] + instead))
    assert size is None or min(size) > 0
