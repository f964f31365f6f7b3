"""Films, as another program decodes them."""

import io

import av
import pytest

from mockserver.media.film import FRAMES_A_SECOND, LONGEST, MAX_SIDE, read_seconds, write_film
from mockserver.media.picture import Color

TEAL, BLACK, WHITE = Color(0, 128, 128), Color(0, 0, 0), Color(255, 255, 255)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1080, 1920), (854, 480), (16, 16), (48, 16), (2, 2)])
@pytest.mark.parametrize("color", [TEAL, BLACK, WHITE, Color(250, 230, 10)])
def test_each_frame_has_one_color(width: int, height: int, color: Color) -> None:
    count = 0
    with av.open(io.BytesIO(write_film(color, width, height, 0.5)), "r") as file:
        stream = file.streams.video[0]
        assert (stream.width, stream.height) == (width, height)
        assert stream.average_rate == FRAMES_A_SECOND
        for frame in file.decode(video=0):
            plane = frame.reformat(format="rgb24", src_colorspace="ITU709").planes[0]
            data = bytes(plane)
            lines = [data[start : start + width * 3] for start in range(0, height * plane.line_size, plane.line_size)]
            assert len(set(lines)) == 1
            pixels = {tuple(lines[0][at : at + 3]) for at in range(0, width * 3, 3)}
            assert len(pixels) == 1
            assert all(abs(found - wanted) <= 3 for found, wanted in zip(pixels.pop(), color, strict=True))
            count += 1
    assert count == FRAMES_A_SECOND / 2


@pytest.mark.parametrize(("seconds", "shown"), [(4, 4.0), (8.5, 8.5), (1_000_000, LONGEST), (0, 1 / FRAMES_A_SECOND)])
def test_the_length(seconds: float, shown: float) -> None:
    data = write_film(TEAL, 16, 16, seconds)
    with av.open(io.BytesIO(data), "r") as file:
        assert file.duration is not None
        assert file.duration / av.time_base == pytest.approx(shown, abs=0.001)
        assert file.streams.video[0].frames == round(shown * FRAMES_A_SECOND)


def test_a_film_is_small_and_its_size_is_bounded() -> None:
    assert len(write_film(TEAL, 1280, 720, 8)) < 10_000
    with av.open(io.BytesIO(write_film(TEAL, 1 << 20, 3, 0.1)), "r") as file:
        stream = file.streams.video[0]
        assert (stream.width, stream.height) == (MAX_SIDE, 2)


@pytest.mark.parametrize(
    ("stated", "read"),
    [("8", 8), ("6s", 6), (4.5, 4.5), (None, 5), ("long", 5), ("nan", 5), ("inf", 5), ([], 5)],
)
def test_lengths_are_read(stated: object, read: float) -> None:
    assert read_seconds(stated, 5) == read
