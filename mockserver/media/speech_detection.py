"""Finds where somebody speaks in a sound that comes bit by bit: by its energy, as OpenAI's `server_vad` does.

Positions are counted in bytes and told in milliseconds since the beginning, so no clock has a say.
"""

from collections.abc import Iterator
from operator import mul

from msgspec import Struct

from mockserver.media.samples import SampleFormat

STEP = 20  # milliseconds that are loud or silent as a whole


class SpeechBorder(Struct, frozen=True):
    """Where somebody begins to speak, or has been silent for long enough, in milliseconds."""

    is_start: bool
    at: int


class SpeechDetector:
    """Follows one sound, from a `position` on.

    `threshold`, from 0 to 1, is how loud speech is; after `silence` milliseconds below that, it is over.
    """

    def __init__(self, sound: SampleFormat, *, threshold: float, silence: int, position: int = 0) -> None:
        self._sound = sound
        self._silence = silence
        level = 32_768 * 10 ** (4 * threshold - 4)  # 0.5: 40 dB below the loudest
        self._energy = level * level
        self._unread = b""
        self._position = position
        self._silent_since = position
        self.is_speech = False

    def feed(self, data: bytes) -> Iterator[SpeechBorder]:
        """Yield the borders of speech up to the end of these bytes, which go on from those before."""
        data = self._unread + data
        size = self._sound.count_bytes(STEP)
        whole = len(data) // size * size
        self._unread = data[whole:]
        levels = self._sound.read_levels(data[:whole])
        count = size // self._sound.width
        for start in range(0, len(levels), count):
            step = levels[start : start + count]
            border = self._take(is_loud=sum(map(mul, step, step)) >= self._energy * count)
            if border is not None:
                yield border

    def _take(self, *, is_loud: bool) -> SpeechBorder | None:
        began = self._position
        self._position = self._position + STEP
        if is_loud:
            self._silent_since = self._position
            if not self.is_speech:
                self.is_speech = True
                return SpeechBorder(is_start=True, at=began)
        elif self.is_speech and self._position - self._silent_since >= self._silence:
            self.is_speech = False
            return SpeechBorder(is_start=False, at=self._position)
        return None
