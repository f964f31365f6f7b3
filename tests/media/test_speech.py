"""Speech as tones and files: what is said is heard, and another program plays it."""

import io
from hashlib import sha256
from random import Random
from time import monotonic

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.media.sound_files import (
    _CRC_16,
    SOUND_FORMATS,
    Speech,
    _append_zeros,
    _check,
    _write_subframe,
    hear,
    write_flac,
)
from mockserver.media.sound_length import measure
from mockserver.media.tone import MAX_SOUNDS, RATE, read_tone, write_tone

SAID = ["Hello there, how are you?", "Grüße, 日本 🎉", "", "a", "long " * 500]


@pytest.mark.parametrize("text", SAID)
@pytest.mark.parametrize("kind", SOUND_FORMATS)
def test_what_is_said_is_heard(kind: str, text: str) -> None:
    assert hear(SOUND_FORMATS[kind].write(Speech(text))) == text


@pytest.mark.parametrize("text", SAID)
@pytest.mark.parametrize("kind", [kind for kind in SOUND_FORMATS if kind != "pcm"])
def test_players_play_it_for_as_long_as_it_takes_to_say(kind: str, text: str) -> None:
    speech = Speech(text, speed=1.5)
    with av.open(io.BytesIO(SOUND_FORMATS[kind].write(speech)), "r") as file:
        rate = file.streams.audio[0].rate
        seconds = sum(frame.samples for frame in file.decode(audio=0)) / rate
    assert seconds == pytest.approx(speech.seconds, abs=0.05)


@given(st.text(max_size=80), st.sampled_from([0.25, 1.0, 4.0]), st.integers(0, 50))
def test_a_tone_is_heard_wherever_it_begins(text: str, speed: float, before: int) -> None:
    assert read_tone(bytes(2 * before) + write_tone(text, speed=speed)) == text


def test_tones_behind_one_another_are_heard_in_turn() -> None:
    both = write_tone("Good morning.", "onyx") + bytes(4_000) + write_tone("And good night.", "coral")
    assert read_tone(both) == "Good morning. And good night."


def test_each_voice_has_its_pitch_and_each_speed_its_length() -> None:
    alloy, onyx = write_tone("Hello there", "alloy"), write_tone("Hello there", "onyx")
    assert len(alloy) == len(onyx) == 2 * round(11 / 15 * RATE)
    assert alloy != onyx
    assert len(write_tone("Hello there, all of you", speed=2.0)) == 2 * round(23 / 30 * RATE)


@pytest.mark.parametrize(
    "sound",
    [b"", b"x", bytes(RATE), write_tone("cut off")[:4_000], Random(1).randbytes(RATE), b"RIFF", b"RIFF....WAVE"],
    ids=["nothing", "byte", "silence", "half", "noise", "no wave", "empty wave"],
)
def test_nobody_speaks_in_other_sounds(sound: bytes) -> None:
    assert hear(sound) is None


def test_many_sounds_take_no_longer_than_a_few() -> None:
    pauses = (bytes(260) + b"\x00\x30" * 3) * (MAX_SOUNDS + 10)
    assert read_tone(pauses + write_tone("Too late")) is None


def test_many_tones_that_claim_to_be_long_are_read_once() -> None:
    said = write_tone("\uffff" * 9_000, speed=4.0)[480:]  # without the pause
    claim = said[: 4 * 8 * 40]  # the beginning, and a length that the rest lacks
    before = monotonic()
    assert read_tone((bytes(400) + claim) * MAX_SOUNDS + said[4 * 8 * 40 : 4_000_000]) is None
    assert monotonic() - before < 10


@pytest.mark.parametrize("kind", ["wav", "flac", "opus", "aac", "mp3"])
@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_the_length_of_a_file(kind: str, speed: float) -> None:
    speech = Speech("x" * 300, speed=speed)
    data = SOUND_FORMATS[kind].write(speech)
    assert measure(data) == pytest.approx(speech.seconds, abs=0.1)
    assert measure(data[: len(data) // 2], len(data)) == pytest.approx(speech.seconds, rel=0.05)


def test_the_length_of_what_is_no_known_file() -> None:
    assert measure(bytes(8_000)) == 2.0
    assert measure(b"") == 0
    for kind in ("wav", "flac", "opus", "aac"):
        data = SOUND_FORMATS[kind].write(Speech("torn"))
        assert all(measure(data[:size]) >= 0 for size in range(120))


def test_the_bytes_never_change() -> None:
    speech = Speech("The same bytes everywhere.", voice="sage", speed=1.25)
    digests = {kind: sha256(form.write(speech)).hexdigest()[:16] for kind, form in SOUND_FORMATS.items()}
    assert digests == {
        "mp3": "ae16371cd95d906d",
        "opus": "dbe85752d9e1e66f",
        "aac": "bf575fe304399bc9",
        "flac": "f2cad091ad037573",
        "wav": "026d14512d9be4c1",
        "pcm": "65ae375ebec9fce7",
    }


def test_long_speech_checks_most_blocks_of_a_flac_once() -> None:
    """Its hum is the same in each beat: ten times as much of it is hardly more work."""
    _write_subframe.cache_clear()
    write_flac(Speech("Hello there", speed=0.01))  # 73 seconds
    assert _write_subframe.cache_info().misses < 20


@given(st.binary(min_size=2, max_size=40), st.binary(min_size=2, max_size=40))
def test_check_sums_of_parts_are_joined(head: bytes, rest: bytes) -> None:
    joined = _append_zeros(_check(_CRC_16, head, 16), len(rest)) ^ _check(_CRC_16, rest, 16)
    assert joined == _check(_CRC_16, head + rest, 16)
