"""Audio: speech made of texts, and transcripts of recordings; those of speech from here are right word for word."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Struct

from mockserver.config.source import did_you_mean
from mockserver.config.tables import AsTable, AsText, ByShape, Table, field
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft, Draft, DraftChoice
from mockserver.core.http import Headers
from mockserver.core.plan import Artifact, Sound, Text
from mockserver.core.seed import Seed
from mockserver.kinds.kind import ArtifactKind, Origins, ReadFile, ThenKey
from mockserver.media.sound_files import SOUND_FORMATS, Speech, hear, read_samples, write_wav
from mockserver.media.tone import measure_speech

BESIDE = frozenset(("timing", "faults", "usage", "headers"))
_FILE = re.compile(rf"\S+\.({'|'.join((*SOUND_FORMATS, 'ogg', 'oga', 'm4a', 'mp4', 'webm'))})", re.IGNORECASE)
WORDS_A_SECOND = 2.5
USUAL_VOICE = "alloy"


class StatedAudio(Struct, frozen=True):
    """What a rule states of a sound: a whole file and the words in it, or a text to say, in a voice."""

    file: bytes | None = None
    text: str | None = None
    voice: str | None = None


class Spoken(Artifact, frozen=True):
    """Speech that has no format yet, or a file of a rule."""

    speech: Speech | bytes
    prompt_tokens: int
    headers: Headers = ()

    @property
    def size(self) -> int:
        return len(self.speech) if isinstance(self.speech, bytes) else int(self.speech.seconds * 1_000)

    def join(self, others: "Sequence[Spoken]") -> "Spoken":
        """Return it: a request has one text."""
        return self

    def show(self) -> str:
        """Return the text that is said."""
        if isinstance(self.speech, bytes):
            return f"{len(self.speech):,} bytes"
        return f"{self.speech.text} ({self.speech.voice}, {self.speech.seconds:g} s)"


class Transcript(Artifact, frozen=True):
    """The text of a recording, and its length in seconds."""

    text: str
    seconds: float
    headers: Headers = ()

    def join(self, others: "Sequence[Transcript]") -> "Transcript":
        """Return it: a request has one recording."""
        return self

    def show(self) -> str:
        """Return the text."""
        return self.text


class AudioSpec(Table):
    """A sound: a file, or a text to say."""

    example = "{text: Hello there, voice: sage}"

    file: str | None = field(
        None, min_length=1, description="a file beside the rules, sent as it is", examples=["a.mp3"]
    )
    text: str | None = field(
        None,
        description="the text to say, in place of the request's; beside a file, what is said in it",
        examples=["Hello there"],
    )
    voice: str | None = field(None, min_length=1, description="the voice, in place of the request's", examples=["sage"])


# Those of OpenAI's speech, and of Gemini's (https://ai.google.dev/gemini-api/docs/speech-generation#voices).
OPENAI_VOICES = (
    "alloy", "ash", "ballad", "coral", "echo", "fable", "onyx",
    "nova", "sage", "shimmer", "verse", "marin", "cedar",
)  # fmt: skip
_GEMINI_VOICES = (
    "Zephyr", "Puck", "Charon", "Kore", "Fenrir", "Leda", "Orus", "Aoede", "Callirrhoe", "Autonoe", "Enceladus",
    "Iapetus", "Umbriel", "Algieba", "Despina", "Erinome", "Algenib", "Rasalgethi", "Laomedeia", "Achernar",
    "Alnilam", "Schedar", "Gacrux", "Pulcherrima", "Achird", "Zubenelgenubi", "Vindemiatrix", "Sadachbia",
    "Sadaltager", "Sulafat",
)  # fmt: skip
_OTHER_VOICE = re.compile(r"voice_\w+|.*{[{%].*")  # of the user's own, or what a template makes


def _check_voice(name: str | None) -> None:
    """Raise ValueError for a voice that nobody has."""
    known = (*OPENAI_VOICES, *_GEMINI_VOICES)
    if name is not None and name not in known and not _OTHER_VOICE.fullmatch(name):
        hint = did_you_mean(name, known) or f"; voices are {', '.join(OPENAI_VOICES)}, and those of Gemini"
        raise ValueError(f'unknown voice "{name}"{hint}')


def _compile_audio(stated: Any, read_file: ReadFile) -> StatedAudio:
    if isinstance(stated, str):
        return StatedAudio(file=read_file(stated)) if _FILE.fullmatch(stated) else StatedAudio(text=stated)
    if stated.file is not None:
        if stated.voice is not None:
            raise ValueError("a file is sent as it is; leave out its voice")
        return StatedAudio(file=read_file(stated.file), text=stated.text)
    _check_voice(stated.voice)
    return StatedAudio(text=stated.text, voice=stated.voice)


# Characters of a request that are said, some eleven minutes: Gemini's models stop then, and OpenAI takes fewer
# (https://ai.google.dev/gemini-api/docs/models: 16,384 tokens, 25 a second).
MAX_SPOKEN = 10_000


def _finish_speech(call: Call, draft: ArtifactDraft, origins: Origins) -> Spoken:
    stated: StatedAudio = draft.stated or StatedAudio()
    tokens = draft.usage.get("prompt", call.prompt_tokens)
    if stated.file is not None:
        return Spoken(stated.file, prompt_tokens=tokens, headers=draft.headers)
    text = call.prompts[0].text[:MAX_SPOKEN] if stated.text is None else stated.text
    speech = Speech(text, stated.voice or call.options.voice or USUAL_VOICE, call.options.speed)
    return Spoken(speech, prompt_tokens=tokens, headers=draft.headers)


def write_turn(draft: ArtifactDraft) -> Draft:
    """Return the draft of a turn of a conversation: its text, with its sound. Raises ValueError."""
    stated: StatedAudio = draft.stated
    if stated.file is None:
        if stated.text is None:
            raise ValueError("audio needs a text or a file where it answers a conversation")
        text = stated.text
        sound = Sound(voice=stated.voice) if stated.voice else None
    else:
        if read_samples(stated.file) is None:
            raise ValueError("a conversation plays WAV files with 16-bit samples only")
        text = stated.text or hear(stated.file) or ""
        sound = Sound(stated.file)
    return Draft((DraftChoice((Text(text, sound=sound),)),), draft.model, draft.usage, headers=draft.headers)


def _finish_transcript(call: Call, draft: ArtifactDraft, origins: Origins) -> Transcript:
    seconds: float = call.raw.get("duration") or 0.0
    text = draft.stated
    if text is None and call.messages:  # the words that were heard
        text = call.messages[-1].text
    if text is None:
        text = _invent_words(call, seconds, origins.seed)
    return Transcript(text, seconds or measure_speech(text), headers=draft.headers)


def _invent_words(call: Call, seconds: float, seed: Seed) -> str:
    """Return plain words for a recording in which nobody is heard."""
    draw = seed.stream("transcript", call.content_fingerprint)
    count = min(max(round(seconds * WORDS_A_SECOND), 3), _MAX_INVENTED)
    words = [draw.choice(_WORDS) for _ in range(count)]
    sentences = [words[at : at + _SENTENCE] for at in range(0, count, _SENTENCE)]
    return " ".join([" ".join(sentence).capitalize() + "." for sentence in sentences])


_MAX_INVENTED = 5_000  # words
_SENTENCE = 9  # words
_WORDS = (
    "we", "meet", "again", "today", "and", "talk", "about", "the", "plan", "for", "next", "week", "then", "you",
    "said", "that", "it", "was", "late", "so", "they", "left", "after", "lunch", "with", "a", "note", "on", "my",
    "desk", "which", "asks", "us", "to", "call", "back", "before", "noon",
)  # fmt: skip

AUDIO = ThenKey(
    key="audio",
    value=Annotated[
        AsText[str] | AsTable[AudioSpec],
        ByShape("a text, the name of a file, or a table with text, voice or file"),
    ],
    doc="speech: a text to say, or a file beside the rules",
    beside=BESIDE,
    states="speech",
    example={"voice": "alloy"},  # the text is that of the request
    compile=_compile_audio,
)
TRANSCRIPT = ThenKey(
    key="transcript",
    value=str,
    doc="what is said in a recording",
    beside=BESIDE,
    states="a transcript",
    example="Hello there",
    compile=lambda stated, read_file: stated,
)
SPEECH = ArtifactKind(
    name="speech",
    advice="; write audio: Hello",
    then=AUDIO,
    body=lambda text: {"input": text, "voice": "alloy"},
    model_word="tts",
    wire={},
    finish=_finish_speech,
)


def _make_transcription(name: str) -> ArtifactKind:
    return ArtifactKind(
        name=name,
        advice="; write transcript: Hello",
        then=TRANSCRIPT,
        body=lambda text: {"file": text},
        model_word="transcribe",
        wire={"text": str},
        finish=_finish_transcript,
        files={"file": lambda text: write_wav(Speech(text))},
        takes_files=True,
    )


OPERATIONS = (SPEECH, *map(_make_transcription, ("transcriptions", "translations")))
