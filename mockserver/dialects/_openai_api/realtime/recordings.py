"""What the user says in a session, as a call for its transcription: the rules that answer recordings answer it, too."""

from hashlib import sha256

from mockserver.core.call import Call, Message, Prompt
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.dialects._parse import Body
from mockserver.media.samples import SampleFormat
from mockserver.media.tone import read_tone

USUAL_TRANSCRIBER = "gpt-4o-mini-transcribe"


def make_recording_call(
    http: HttpRequest, dialect: str, transcription: Body, audio: bytes, sound: SampleFormat
) -> Call:
    """Return the call for the transcription of a sound, as the session configures it."""
    heard = read_tone(sound.decode(audio))
    stated = {key: value for key, value in transcription.items() if value is not None}
    raw: dict[str, Json] = {**stated, "file": "audio", "duration": round(len(audio) / sound.bytes_per_second, 3)}
    return Call(
        dialect=dialect,
        operation="transcriptions",
        model=str(stated.get("model") or USUAL_TRANSCRIBER),
        http=http,
        meaning={**raw, "file": sha256(audio).hexdigest()},
        raw=raw,
        messages=() if heard is None else (Message("user", heard),),
        prompts=(Prompt(heard or ""),),
    )
