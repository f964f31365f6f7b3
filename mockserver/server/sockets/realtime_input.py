"""The sound that a client of a Realtime session has sent, until it becomes an item of the conversation."""

from msgspec import Struct

from mockserver.core.plan import Failure
from mockserver.dialects._parse import Body
from mockserver.media.samples import FORMATS, PCM
from mockserver.media.speech_detection import SpeechBorder, SpeechDetector

LEAST_COMMITTED = 100  # milliseconds
MAX_BUFFERED = 32_000_000  # bytes
MEANT_SILENCE = 500  # milliseconds after which `semantic_vad` takes a turn to be over
# what `semantic_vad` does not state
USUAL_THRESHOLD = 0.5
USUAL_PREFIX = 300


class OngoingSpeech(Struct, frozen=True):
    """Speech that goes on: where it began, in milliseconds, and the id of the item that it will be."""

    start: int
    item_id: str


class Silence(Struct, frozen=True):
    """Sound in which nobody spoke for as long as the session waits; `start` and `end` are milliseconds."""

    start: int
    end: int
    audio: bytes


class InputBuffer:
    """The sound of a client. Positions are milliseconds of all sound that it ever sent, so that no clock matters."""

    def __init__(self, stated: Body) -> None:
        self.sound = PCM
        self.speech: OngoingSpeech | None = None
        self._data = bytearray()
        self._before = 0
        self._answered: int | None = None  # the position at which the last answer ends, if nobody has spoken since
        self._stated: Body = {}
        self.configure(stated)

    def configure(self, stated: Body) -> None:
        """Take the sound in the format, and with the turns, that the session states for its input."""
        if stated == self._stated:
            return
        sound = FORMATS[stated["format"]["type"]]
        position = self.position
        if sound is not self.sound:
            self.sound = sound
            self._before = sound.count_bytes(position)
            self._data.clear()
        self._stated = stated
        self.speech = None
        self._detector = self._make_detector(position)

    def _make_detector(self, position: int) -> SpeechDetector | None:
        detection = self._stated["turn_detection"]
        if detection is None:
            return None
        silence = detection.get("silence_duration_ms", MEANT_SILENCE)
        threshold = detection.get("threshold", USUAL_THRESHOLD)
        return SpeechDetector(self.sound, threshold=threshold, silence=silence, position=position)

    @property
    def position(self) -> int:
        """The position at which the sound ends."""
        return self.sound.measure(self._before + len(self._data))

    @property
    def size(self) -> int:
        """The bytes of sound that it holds."""
        return len(self._data)

    @property
    def prefix(self) -> int:
        """The milliseconds before the beginning of speech that belong to it."""
        padding: int = (self._stated["turn_detection"] or {}).get("prefix_padding_ms", USUAL_PREFIX)
        return padding

    def append(self, audio: bytes) -> list[SpeechBorder]:
        """Add sound, and return where speech begins and ends in it. Raises Failure if the buffer is full."""
        self._data += audio
        excess = len(self._data) - MAX_BUFFERED
        if excess > 0 and self._detector is None:
            del self._data[-len(audio) :]
            message = f"The input audio buffer may have at most {MAX_BUFFERED:,} bytes. Commit or clear it."
            raise Failure("bad_parameter", message, code="input_audio_buffer_full", param="audio")
        if excess > 0:
            self._drop(excess + -excess % self.sound.width)
        return [] if self._detector is None else [*self._detector.feed(audio)]

    def note_answer(self, length: int) -> None:
        """Note that an answer that lasts `length` milliseconds is played from now on."""
        self._answered = self.position + length

    def take_silence(self) -> Silence | None:
        """Take the sound since the last answer, if nobody has spoken for as long as the session waits; or None."""
        timeout = (self._stated["turn_detection"] or {}).get("idle_timeout_ms")
        if timeout is None or self._answered is None or self.speech is not None:
            return None
        start = self._answered
        end = self._answered + timeout
        return Silence(start, end, self.take_speech(start, end)) if self.position >= end else None

    def clear(self) -> None:
        """Forget the sound, and the speech in it."""
        self._drop(len(self._data))
        self._end_speech()

    def take_all(self) -> bytes:
        """Take all sound out of the buffer. Raises Failure if that is less than a turn may have."""
        length = len(self._data) * 1000 / self.sound.bytes_per_second
        if length < LEAST_COMMITTED:
            message = (
                "Error committing input audio buffer: buffer too small. Expected at least "
                f"{LEAST_COMMITTED}ms of audio, but buffer only has {length:.2f}ms of audio."
            )
            raise Failure("bad_parameter", message, code="input_audio_buffer_commit_empty")
        taken = bytes(self._data)
        self.clear()
        return taken

    def take_speech(self, start: int, end: int) -> bytes:
        """Take the sound between two positions out of the buffer, and drop what comes before."""
        first, last = (max(self.sound.count_bytes(at) - self._before, 0) for at in (start, end))
        taken = bytes(self._data[first:last])
        self._drop(last)
        self.speech = None
        self._answered = None
        return taken

    def _drop(self, size: int) -> None:
        self._before += min(size, len(self._data))
        del self._data[:size]

    def _end_speech(self) -> None:
        self.speech = None
        self._answered = None
        if self._detector is not None:
            self._detector.is_speech = False
