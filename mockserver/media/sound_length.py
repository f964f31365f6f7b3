"""How long the sound of a file plays: WAV and FLAC say it, Opus and AAC are counted, others are taken for 32 kbit/s."""

from mockserver.media.sound_files import find_wave

_BYTES_A_SECOND = 4_000
_OPUS_RATE = 48_000  # positions in Opus are counted at this rate, whatever is played
_ADTS_RATES = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350)
_ADTS_SAMPLES = 1_024  # of a frame
_ADTS_HEAD = 7  # bytes


def measure(data: bytes, total: int | None = None) -> float:
    """Return about how many seconds a file of `total` bytes plays, which begins with `data`."""
    size = len(data) if total is None else total
    wave = find_wave(data, size)
    if wave is not None:
        return wave.seconds
    if data.startswith(b"fLaC"):
        return _read_flac(data) or size / _BYTES_A_SECOND
    tag = _find_id3_end(data)
    if tag < size:  # else it is not a tag, or there is nothing behind it
        data = data[tag:]
        size = size - tag
    here = _read_opus(data) if data.startswith(b"OggS") else _count_adts(data)
    return here * size / len(data) if here else size / _BYTES_A_SECOND


def _read_flac(data: bytes) -> float:
    """Return the seconds that the head of a FLAC states (RFC 9639, section 8.2); 0 if it states none."""
    stated = int.from_bytes(data[18:26], "big")
    rate = stated >> 44
    count = stated & (1 << 36) - 1
    return count / rate if rate else 0


def _read_opus(data: bytes) -> float:
    """Return the seconds up to the last page of an Opus (RFC 7845, section 4); 0 for another sound in Ogg."""
    last = data.rfind(b"OggS")
    if data[28:36] != b"OpusHead" or len(data) < max(last + 14, 40):
        return 0
    skipped, played = (int.from_bytes(data[at : at + size], "little") for at, size in ((38, 2), (last + 6, 8)))
    return max(0, played - skipped) / _OPUS_RATE


def _count_adts(data: bytes) -> float:
    """Return the seconds of the frames of AAC in ADTS (ISO/IEC 14496-3); 0 without any."""
    at = 0
    seconds = 0.0
    while len(data) >= at + _ADTS_HEAD and data[at] == 0xFF and data[at + 1] & 0xF6 == 0xF0:
        rate = data[at + 2] >> 2 & 0xF
        length = int.from_bytes(data[at + 3 : at + 6], "big") >> 5 & 0x1FFF
        if rate >= len(_ADTS_RATES) or length < _ADTS_HEAD:
            break
        seconds += _ADTS_SAMPLES / _ADTS_RATES[rate]
        at += length
    return seconds


def _find_id3_end(data: bytes) -> int:
    """Return where a tag at the beginning ends (https://id3.org/id3v2.3.0): its size has seven bits a byte."""
    if not data.startswith(b"ID3") or len(data) < 10:
        return 0
    size = 0
    for byte in data[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size
