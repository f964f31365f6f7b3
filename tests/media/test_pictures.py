"""Pictures, as another program decodes them."""

import io
from hashlib import sha256
from xml.etree import ElementTree
from zlib import decompress

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.seed import Seed
from mockserver.media.formats import FORMATS, compress, write_png, write_svg
from mockserver.media.picture import TILE, Color, Picture, draw, find_color

SIZES = [(1024, 1024), (1536, 1024), (250, 100), (16, 16), (5, 3), (1, 1)]
Pixel = tuple[int, int, int, int]


def decode(data: bytes) -> tuple[int, int, bytes]:
    """Return the size of a picture, and four bytes for each of its pixels."""
    with av.open(io.BytesIO(data), "r") as file:
        frame = next(file.decode(video=0)).reformat(format="rgba")
        plane = frame.planes[0]
        width, height, rows = frame.width, frame.height, bytes(plane)
        lines = [rows[line * plane.line_size :][: width * 4] for line in range(height)]
        return width, height, b"".join(lines)


def find_pixel(data: bytes, width: int, x: int, y: int) -> Pixel:
    red, green, blue, alpha = data[(y * width + x) * 4 :][:4]
    return red, green, blue, alpha


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "gif"])
@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("words", ["A red cat", "", "many words " * 200])
def test_decoders_see_each_tile(kind: str, width: int, height: int, words: str) -> None:
    picture = draw(words, width, height, Seed())
    found_width, found_height, pixels = decode(FORMATS[kind].write(picture))
    assert (found_width, found_height) == (width, height)
    near = 4 if kind == "jpeg" else 0  # which keeps colours as brightness and two differences
    for x, y in [(0, 0), (width - 1, height - 1), (width // 2, height // 2), (width // 3, height // 4)]:
        inked = picture.rows[y // TILE] >> (picture.columns - 1 - x // TILE) & 1
        expected = (*(picture.ink if inked else picture.ground), 255)
        for found, wanted in zip(find_pixel(pixels, width, x, y), expected, strict=True):
            assert abs(found - wanted) <= near


@pytest.mark.parametrize("kind", ["png", "webp", "gif"])
def test_nothing_is_behind_the_words_of_a_transparent_picture(kind: str) -> None:
    picture = draw("teal", 128, 64, Seed(), is_transparent=True)
    _, _, pixels = decode(FORMATS[kind].write(picture))
    assert find_pixel(pixels, 128, 0, 0)[3] == 0
    assert set(pixels[3::4]) == {0, 255}


def test_an_svg_has_the_words_and_the_colors() -> None:
    root = ElementTree.fromstring(write_svg(draw("a <blue> & sea", 64, 32, Seed())))  # our own
    texts = [each.text for each in root.iter() if each.text]
    assert texts == ["a <blue> & sea"]
    assert root.attrib == {"width": "64", "height": "32"}
    assert {each.get("fill") for each in root.iter()} >= {"#143cdc", "#ffffff"}


def test_an_svg_has_no_characters_that_xml_forbids() -> None:
    ElementTree.fromstring(write_svg(draw("a\0b\x08\ud800\uffff", 16, 16, Seed())))  # our own


def test_colors_come_from_the_prompt() -> None:
    assert draw("a teal sea", 64, 64, Seed()).ground == find_color("teal") == Color(0, 128, 128)
    both = draw("Black on yellow", 64, 64, Seed())
    assert (both.ground, both.ink) == (find_color("black"), find_color("yellow"))
    unnamed = draw("a sea", 64, 64, Seed())
    assert unnamed == draw("a sea", 64, 64, Seed())
    assert unnamed.ground != draw("a sea", 64, 64, Seed(1)).ground
    assert draw("a teal sea", 64, 64, Seed(), color=Color(1, 2, 3)).ground == (1, 2, 3)


@pytest.mark.parametrize(
    ("name", "color"),
    [("#088", Color(0, 136, 136)), ("#008080", Color(0, 128, 128)), (" Teal ", Color(0, 128, 128))],
)
def test_names_and_codes_of_colors(name: str, color: Color) -> None:
    assert find_color(name) == color


@pytest.mark.parametrize("name", ["", "no color", "#", "#12", "#1234567", "abc", "#xyz"])
def test_what_names_no_color(name: str) -> None:
    assert find_color(name) is None


def test_words_are_as_large_as_they_fit_and_none_is_lost_without_need() -> None:
    def count_ink(picture: Picture) -> int:
        return sum(row.bit_count() for row in picture.rows)

    assert count_ink(draw("cat", 1024, 1024, Seed())) > count_ink(draw("cat", 256, 256, Seed()))
    assert count_ink(draw("", 1024, 1024, Seed())) == 0
    assert count_ink(draw("日本", 1024, 1024, Seed())) > 0


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=1), st.integers(1, 700)), max_size=9))
def test_what_is_compressed_comes_back(runs: list[tuple[bytes, int]]) -> None:
    data = b"".join([byte * count for byte, count in runs])
    assert decompress(compress(data)) == data


def test_the_bytes_never_change() -> None:
    picture = draw("A red cat on a white sofa", 512, 256, Seed())
    digests = {kind: sha256(form.write(picture)).hexdigest()[:16] for kind, form in FORMATS.items()}
    assert digests == {
        "png": "7b7ad979a6604e2f",
        "jpeg": "d1c69a39ff8f3306",
        "webp": "34dc369c820a4298",
        "gif": "56233be7a1e4b24c",
        "svg": "c03fd8ac39a107c7",
    }


def test_a_large_picture_is_a_small_file() -> None:
    assert len(write_png(draw("A red cat", 4096, 4096, Seed()))) < 100_000
