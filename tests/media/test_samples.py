"""Formats of samples, and speech that is found in them."""

from array import array

import pytest

from mockserver.media.samples import FORMATS, PCM
from mockserver.media.speech_detection import SpeechBorder, SpeechDetector
from mockserver.media.tone import RATE, read_tone, write_tone

# Codes of G.711 and their samples, from the tables of ITU-T G.711 in 16 bits.
ULAW = {0x00: -32_124, 0x7F: 0, 0x80: 32_124, 0xFF: 0, 0xF0: 120, 0xE0: 372, 0x8F: 16_764}
ALAW = {0xD5: 8, 0x55: -8, 0xAA: 32_256, 0x2A: -32_256, 0xC5: 264, 0x80: 5_504}


@pytest.mark.parametrize(("name", "known"), [("audio/pcmu", ULAW), ("audio/pcma", ALAW)])
def test_telephones_have_the_levels_of_the_standard(name: str, known: dict[int, int]) -> None:
    assert FORMATS[name].read_levels(bytes(known)).tolist() == [*known.values()]


@pytest.mark.parametrize("name", ["audio/pcmu", "audio/pcma"])
def test_what_was_coded_is_the_same_when_coded_again(name: str) -> None:
    form = FORMATS[name]
    levels = form.read_levels(bytes(range(256)))
    samples = b"".join(level.to_bytes(2, "little", signed=True) * 3 for level in levels)
    assert form.read_levels(form.encode(samples)) == levels


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("text", ["a", "What is the weather in Oslo?", "Zoë 北京 🎈", "x" * 2_000])
def test_a_tone_survives_every_format(name: str, text: str) -> None:
    form, sound = FORMATS[name], write_tone(text)
    coded = form.encode(sound)
    assert read_tone(form.decode(coded)) == text
    assert abs(form.measure(len(coded)) - PCM.measure(len(sound))) <= 1
    assert not any(form.read_levels(form.encode(bytes(6_000)))) or name == "audio/pcma"
    assert form.encode(bytes(6 * 100)) == form.silence * (300 if form.width == 2 else 100)


def beep(level: int, milliseconds: int) -> bytes:
    return array("h", [level, -level] * (RATE // 1000 * milliseconds // 2)).tobytes()


def find(sound: bytes, *, piece: int = 0, threshold: float = 0.5, position: int = 0) -> list[SpeechBorder]:
    detector = SpeechDetector(PCM, threshold=threshold, silence=200, position=position)
    pieces = [sound[at : at + piece] for at in range(0, len(sound), piece)] if piece else [sound]
    return [border for each in pieces for border in detector.feed(each)]


SPOKEN = beep(0, 1000) + beep(1000, 400) + beep(0, 100) + beep(1000, 400) + beep(0, 1000)
BORDERS = [SpeechBorder(is_start=True, at=1000), SpeechBorder(is_start=False, at=2100)]


@pytest.mark.parametrize("piece", [0, 1, 7, 960, 5_000])
def test_speech_ends_after_a_silence_wherever_the_sound_is_cut(piece: int) -> None:
    assert find(SPOKEN if piece != 1 else SPOKEN[:60_000], piece=piece) == (BORDERS if piece != 1 else BORDERS[:1])


def test_positions_go_on_from_what_came_before() -> None:
    assert [border.at for border in find(SPOKEN, position=500)] == [1500, 2600]


@pytest.mark.parametrize(("threshold", "found"), [(0.0, True), (0.5, True), (0.7, False), (1.0, False)])
def test_what_is_too_quiet_is_no_speech(threshold: float, found: bool) -> None:
    assert bool(find(SPOKEN, threshold=threshold)) is found
    assert not find(beep(0, 2000), threshold=0.1)
