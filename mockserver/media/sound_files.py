"""Speech as files: WAV, FLAC, MP3, Opus and AAC, or bare samples; and what was said in a file of any kind.

WAV and FLAC hold the tone. Writing the others' sound takes an encoder: they are silent, and their tags have the text.
"""

import re
import struct
from array import array
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from struct import pack, unpack_from

from msgspec import Struct
from msgspec.structs import replace

from mockserver.media.tone import (
    BEAT,
    MAX_HEARD,
    RATE,
    measure_speech,
    read_levels,
    read_tone,
    write_levels,
    write_tone,
)

MARK = b"mockserver-transcript="  # in front of the text, which is in base64
_MARKED = re.compile(re.escape(MARK) + rb"([A-Za-z0-9+/]*={0,2});")
_READ = 1 << 20  # bytes in which the mark is looked for
HEARD = 2 * MAX_HEARD + _READ  # bytes in which all that is heard in a file is found
MAX_SECONDS = 300  # of a file that is played in a conversation
_PLAIN_CODES = (1, 0xFFFE)  # of WAV files whose samples are numbers


class Speech(Struct, frozen=True):
    """What is said, in which voice, and how fast."""

    text: str
    voice: str = "alloy"
    speed: float = 1.0

    @property
    def seconds(self) -> float:
        return measure_speech(self.text, self.speed)

    @property
    def samples(self) -> bytes:
        return write_tone(self.text, self.voice, speed=self.speed)

    @property
    def mark(self) -> bytes:
        """The text as the tags of a file have it."""
        return MARK + b64encode(self.text.encode("utf-8", "replace")) + b";"

    def count(self, seconds: float) -> int:
        """Return how many frames of this length it takes."""
        return max(1, round(self.seconds / seconds))


def hear(data: bytes) -> str | None:
    """Return what is said in a file of any kind, or in bare samples; None if nobody here has said it."""
    if marked := _MARKED.search(data[:_READ]):
        try:
            return b64decode(marked[1]).decode("utf-8", "replace")
        except Error:
            return None
    wave = find_wave(data)
    return read_tone(data if wave is None else wave.samples)


class Wave(Struct, frozen=True):
    """The samples of a WAV file, what they are, and how many bytes make a second.

    `length` are the bytes of all samples: of a large file, `samples` are the first ones.
    """

    samples: bytes
    length: int = 0
    bytes_a_second: int = 2 * RATE
    code: int = 1  # PCM
    channels: int = 1
    rate: int = RATE
    bits: int = 16

    @property
    def seconds(self) -> float:
        return self.length / self.bytes_a_second


def find_wave(data: bytes, total: int | None = None) -> Wave | None:
    """Return the sound of a WAV file (RIFF), however long it says it is; None if it is not such a file.

    `data` may be the beginning of a file of `total` bytes.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return None
    at = 12
    wave = Wave(b"")
    try:
        while True:
            name, size = unpack_from("<4sI", data, at)
            if name == b"fmt ":
                code, channels, rate, bytes_a_second, _, bits = unpack_from("<HHIIHH", data, at + 8)
                wave = Wave(
                    b"",
                    0,
                    bytes_a_second=bytes_a_second or 2 * RATE,
                    code=code,
                    channels=channels,
                    rate=rate,
                    bits=bits,
                )
            if name == b"data":
                length = min(size, (total or len(data)) - at - 8)
                return replace(wave, samples=data[at + 8 : at + 8 + size], length=length)
            at += 8 + size + size % 2
    except struct.error:
        return None


@lru_cache(maxsize=8)
def read_samples(data: bytes) -> bytes | None:
    """Return the first channel of a WAV file as 16-bit samples at 24 kHz; None if it has no 16-bit samples."""
    wave = find_wave(data)
    if wave is None or wave.code not in _PLAIN_CODES or wave.bits != 16 or not wave.channels or not wave.rate:
        return None
    return resample(wave.samples, wave.rate, wave.channels)


def resample(samples: bytes, rate: int, channels: int = 1) -> bytes:
    """Return the first channel of 16-bit samples at 24 kHz, each on the line between the two that are nearest."""
    levels = read_levels(samples)[::channels][: rate * MAX_SECONDS]
    if rate != RATE:
        count = len(levels) * RATE // rate
        after = levels[1:] + levels[-1:]
        places = (divmod(at * rate, RATE) for at in range(count))  # a sound of minutes has millions
        levels = array("h", [levels[at] + (after[at] - levels[at]) * part // RATE for at, part in places])
    return write_levels(levels)


def write_wav(speech: Speech) -> bytes:
    return write_wav_file(speech.samples)


def write_wav_file(samples: bytes, rate: int = RATE) -> bytes:
    """Return 16-bit samples as a WAV file."""
    layout = pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    content = b"WAVE" + layout + pack("<4sI", b"data", len(samples)) + samples
    return pack("<4sI", b"RIFF", len(content)) + content


# FLAC (RFC 9639)


def write_flac(speech: Speech) -> bytes:
    """Return a FLAC whose samples are not compressed."""
    samples = speech.samples
    count = len(samples) // 2
    info = pack(">HH", _BLOCK, _BLOCK) + bytes(6) + (RATE << 44 | 15 << 36 | count).to_bytes(8, "big") + bytes(16)
    comments = _list_comments(speech)
    blocks = (samples[at : at + 2 * _BLOCK] for at in range(0, len(samples), 2 * _BLOCK))
    frames = [_write_flac_frame(number, block) for number, block in enumerate(blocks)]
    head = b"fLaC" + b"\0" + len(info).to_bytes(3, "big") + info + b"\x84" + len(comments).to_bytes(3, "big") + comments
    return head + b"".join(frames)


_BLOCK = BEAT  # samples: as the hum is the same in each beat, most blocks are written once


def _write_flac_frame(number: int, block: bytes) -> bytes:
    head = b"\xff\xf8\x77\x08" + chr(number).encode() + pack(">H", len(block) // 2 - 1)  # 24 kHz, a stated length
    head += bytes((_check(_CRC_8, head, 8),))
    subframe = _write_subframe(block)
    check = _append_zeros(_check(_CRC_16, head, 16), len(subframe.data)) ^ subframe.check
    return head + subframe.data + pack(">H", check)


class _Subframe(Struct, frozen=True):
    """The samples of a frame, with their check sum."""

    data: bytes
    check: int


@lru_cache(maxsize=4)
def _write_subframe(block: bytes) -> _Subframe:
    swapped = bytearray(block)
    # the higher byte first
    swapped[::2] = block[1::2]
    swapped[1::2] = block[::2]
    data = b"\x02" + bytes(swapped)  # the type of a subframe whose samples are not compressed
    return _Subframe(data, _check(_CRC_16, data, 16))


def _append_zeros(check: int, count: int) -> int:
    """Return a check sum of 16 bits after `count` zeros; after other data, XOR it with the check sum of that."""
    passed = 0
    for bit, moved in enumerate(_list_passed_bits(count)):
        passed ^= moved if check >> bit & 1 else 0
    return passed


@lru_cache(maxsize=4)
def _list_passed_bits(count: int) -> Sequence[int]:
    return [_check(_CRC_16, pack(">H", 1 << bit) + bytes(count - 2), 16) for bit in range(16)]


# MP3 (ISO/IEC 13818-3, layer III) behind an ID3 tag (https://id3.org/id3v2.3.0)


def write_mp3(speech: Speech) -> bytes:
    frame = b"\xff\xf3\x44\xc4" + bytes(92)  # 24 kHz, mono, 32 kbit/s; without main data it is silent
    return _write_id3(speech) + frame * speech.count(576 / RATE)


def _write_id3(speech: Speech) -> bytes:
    comment = b"\0eng\0" + speech.mark
    tag = b"COMM" + pack(">IH", len(comment), 0) + comment
    size = bytes([len(tag) >> shift & 0x7F for shift in (21, 14, 7, 0)])  # seven bits a byte
    return b"ID3\x03\0\0" + size + tag


# AAC in ADTS frames (ISO/IEC 14496-3) behind an ID3 tag


def write_aac(speech: Speech) -> bytes:
    silence = b"\x00\xc8\x00\x80\x23\x80"
    size = 7 + len(silence)
    head = bytes((0xFF, 0xF1, 0x58, 0x40 | size >> 11, size >> 3 & 0xFF, (size & 7) << 5 | 0x1F, 0xFC))
    return _write_id3(speech) + (head + silence) * speech.count(1024 / RATE)


# Opus (RFC 7845) in Ogg (RFC 3533)


def write_opus(speech: Speech) -> bytes:
    head = b"OpusHead" + pack("<BBHIHB", 1, 1, _SKIPPED, RATE, 0, 0)
    pages = [_write_page(0, head, flag=2, played=0), _write_page(1, b"OpusTags" + _list_comments(speech), played=0)]
    count = speech.count(0.02)
    for number in range(count):
        flag = 4 if number == count - 1 else 0
        pages.append(_write_page(number + 2, b"\xf8\xff\xfe", flag=flag, played=_SKIPPED + (number + 1) * 960))
    return b"".join(pages)


_SKIPPED = 312  # samples of 48 kHz, which decoders leave out


def _write_page(number: int, packet: bytes, *, played: int, flag: int = 0) -> bytes:
    """Return a page with one packet; `flag` tells the first (2) and the last page (4)."""
    lacing = b"\xff" * (len(packet) // 255) + bytes((len(packet) % 255,))
    head = pack("<4sBBQIIIB", b"OggS", 0, flag, played, 1, number, 0, len(lacing))
    page = head + lacing + packet
    return page[:22] + pack("<I", _check(_CRC_32, page, 32)) + page[26:]


def _list_comments(speech: Speech) -> bytes:
    """Return Vorbis comments (https://xiph.org/vorbis/doc/v-comment.html) with the text."""
    name = b"mockserver"
    comment = speech.mark
    return pack("<I", len(name)) + name + pack("<II", 1, len(comment)) + comment


def _make_table(polynomial: int, width: int) -> Sequence[int]:
    top = 1 << width - 1
    mask = (1 << width) - 1
    table = []
    for byte in range(256):
        value = byte << width - 8
        for _ in range(8):
            value = (value << 1 ^ polynomial if value & top else value << 1) & mask
        table.append(value)
    return table


def _check(table: Sequence[int], data: bytes, width: int) -> int:
    """Return the check sum of data, the highest bit first, from zero on."""
    value = 0
    mask = (1 << width) - 1
    shift = width - 8
    for byte in data:
        value = (value << 8 ^ table[value >> shift ^ byte]) & mask
    return value


_CRC_8 = _make_table(0x07, 8)
_CRC_16 = _make_table(0x8005, 16)
_CRC_32 = _make_table(0x04C11DB7, 32)


class SoundFormat(Struct, frozen=True):
    """A format of sound files: its media type, and how speech is written in it."""

    media_type: str
    write: Callable[[Speech], bytes]


SOUND_FORMATS: Mapping[str, SoundFormat] = {
    "mp3": SoundFormat("audio/mpeg", write_mp3),
    "opus": SoundFormat("audio/opus", write_opus),
    "aac": SoundFormat("audio/aac", write_aac),
    "flac": SoundFormat("audio/flac", write_flac),
    "wav": SoundFormat("audio/wav", write_wav),
    "pcm": SoundFormat("audio/pcm", lambda speech: speech.samples),
}
