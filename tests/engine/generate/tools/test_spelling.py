"""Words with a slip of the keyboard."""

import pytest

from mockserver.model.wording import mended


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("wether", "weather"),
        ("wheather", "weather"),
        ("waether", "weather"),
        ("weathee", "weathee"),
        ("weather", "weather"),
        ("feather", "feather"),
        ("adress", "address"),
        ("at", "at"),
        ("", ""),
    ],
)
def test_one_slip_is_read_as_the_known_word(word: str, meant: str) -> None:
    said = (word,) if word else ()
    assert mended(said, {"weather", "address", "cat"}) == ((meant,) if meant else ())
