"""Mistral's speech (https://docs.mistral.ai/api/endpoint/audio/speech): JSON with the sound, or events with pieces."""

from base64 import b64encode
from collections.abc import Iterator
from math import ceil

from pydantic_core import to_json

from mockserver.core.call import Call, Message, Options, Prompt
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, list_of, literal, number, optional, shape
from mockserver.dialects._openai_api.audio import PIECE, count_tokens
from mockserver.dialects._parse import read_request
from mockserver.dialects._reply import STREAM_LINES, make_json_reply, merge_headers
from mockserver.dialects.mistral.errors import refuse, write_header_lines
from mockserver.dialects.mistral.request import NAME
from mockserver.kinds.audio import Spoken
from mockserver.media.sound_files import SOUND_FORMATS

USUAL_MODEL = "voxtral-mini-tts-latest"
SPEECH = BodyModel(
    shape(
        input=str,
        model=optional(str),
        metadata=optional(Object),
        stream=optional(bool),
        prompt_cache_key=optional(str),
        voice_id=optional(str),
        voice=optional(str),  # what OpenAI's clients call it
        ref_audio=optional(str),
        expressiveness=optional(number(1, 100)),
        phoneme_hints=optional(Object),
        conversation_history=optional(list_of(Object)),
        response_format=optional(literal("pcm", "wav", "mp3", "flac", "opus")),
    ),
    needed=("input",),
)


def make_speech_operation() -> Operation:
    """Return the operation that speaks."""
    return Operation("speech", "POST", "/audio/speech", parse=_parse, render=_render)


def _parse(http: HttpRequest, validation: Validation) -> Call:
    _, asked = read_request(SPEECH, http, refuse=refuse, validation=validation, is_closed=True)
    said = asked["input"]
    return Call(
        dialect=NAME,
        operation="speech",
        model=asked.get("model") or USUAL_MODEL,
        http=http,
        meaning={key: value for key, value in asked.items() if key not in ("stream", "metadata")},
        raw=asked,
        messages=(Message("user", said),),
        prompts=(Prompt(said),),
        stream=asked.get("stream") is True,
        options=Options(voice=asked.get("voice_id") or asked.get("voice")),
    )


def _render(call: Call, outcome: Spoken) -> Reply:
    speech = outcome.speech
    form = SOUND_FORMATS[call.raw.get("response_format") or "mp3"]
    data = speech if isinstance(speech, bytes) else form.write(speech)
    written = ceil(len(data) / PIECE) if isinstance(speech, bytes) else count_tokens(speech.seconds)
    lines = write_header_lines(call.http, call)
    if not call.stream:
        body = {"audio_data": b64encode(data).decode()}
        return make_json_reply(200, body, lines=lines, headers=outcome.headers, tokens=written)
    headers = merge_headers(HeaderLines(STREAM_LINES + lines), outcome.headers)
    return Reply(200, headers, frames=_stream(data, read=outcome.prompt_tokens, written=written))


def _stream(data: bytes, *, read: int, written: int) -> Iterator[Frame]:
    """Yield the sound in pieces, then the usage."""
    event = "speech.audio.delta"
    for at in range(0, len(data), PIECE):
        delta = {"type": event, "audio_data": b64encode(data[at : at + PIECE]).decode()}
        yield Frame(to_json(delta), event=event, tokens=1)
    usage: dict[str, Json] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    event = "speech.audio.done"
    yield Frame(to_json({"type": event, "usage": usage}), event=event, part="end")
