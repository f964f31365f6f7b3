"""Speech in a chat: the `audio` of a message, whole or in pieces (https://platform.openai.com/docs/guides/audio)."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Options
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Text, Usage
from mockserver.core.seed import Seed
from mockserver.media.sound_files import SOUND_FORMATS, SoundFormat, Speech, read_samples
from mockserver.media.tone import LETTERS_A_SECOND, RATE

TOKENS_A_SECOND = 20
MAX_SECONDS = 300  # that an answer takes; longer ones are spoken faster
PIECE = 12_000  # bytes in one chunk, a quarter of a second of samples: a multiple of 3, so that base64 can be joined
LIFETIME = 3600  # seconds for which a conversation can refer to the sound
SAMPLES = "pcm16"
CHAT_FORMATS: Mapping[str, SoundFormat] = {
    **{name: SOUND_FORMATS[name] for name in ("wav", "aac", "mp3", "flac", "opus")},
    SAMPLES: SOUND_FORMATS["pcm"],
}


class ChatAudio(Struct, frozen=True):
    """What a choice of a chat says, as a file of the format that the request wants."""

    id: str
    transcript: str
    data: bytes
    seconds: float
    expires_at: int

    def write(self) -> dict[str, Json]:
        """Return the `audio` of a message."""
        data = b64encode(self.data).decode()
        return {"id": self.id, "data": data, "expires_at": self.expires_at, "transcript": self.transcript}

    def list_data_deltas(self) -> Iterator[Mapping[str, Json]]:
        """Yield the deltas that follow the transcript: the sound in pieces, then how long it is kept."""
        for at in range(0, len(self.data), PIECE):
            yield {"audio": {"data": b64encode(self.data[at : at + PIECE]).decode()}}
        yield {"audio": {"expires_at": self.expires_at}}


def speak_choice(answer: Answer, index: int, options: Options) -> ChatAudio | None:
    """Return what a choice says; None if the request wants no sound, or the choice has no text."""
    if options.voice is None:
        return None
    texts = [part for part in answer.choices[index].parts if isinstance(part, Text)]
    text = "".join([part.text for part in texts])
    sound = next((part.sound for part in texts if part.sound is not None), None)
    if not text and sound is None:
        return None
    if sound is not None and sound.file is not None:
        samples = read_samples(sound.file) or b""
        data = samples if options.sound_format == SAMPLES else sound.file
        seconds = len(samples) / (2 * RATE)
    else:
        voice = sound.voice if sound is not None else options.voice
        speech = Speech(text, voice, speed=max(1.0, len(text) / LETTERS_A_SECOND / MAX_SECONDS))
        data = CHAT_FORMATS[options.sound_format].write(speech)
        seconds = speech.seconds
    name = "audio_" + Seed().draw_hex(32, "chat audio", answer.id, str(index))
    return ChatAudio(name, text, data=data, seconds=seconds, expires_at=answer.created + LIFETIME)


def count_audio(usage: Usage, seconds: float) -> Usage:
    """Return a usage with the tokens of speech of this length, on top of those of its text, unless a rule states it."""
    if usage.completion_audio:
        return usage
    tokens = ceil(seconds * TOKENS_A_SECOND)
    return replace(usage, completion=usage.completion + tokens, completion_audio=tokens)
