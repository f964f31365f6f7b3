"""Pictures and speech of Gemini's models, and the pictures of Imagen.

`generateContent` makes them if its `responseModalities` or its model ask for them
(https://ai.google.dev/gemini-api/docs/image-generation, .../speech-generation), `predict` if it has a prompt
(https://ai.google.dev/gemini-api/docs/imagen).
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Options, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, find_table
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._parse import Body
from mockserver.dialects.gemini.errors import is_vertex, make_pretty_reply, make_stream_reply
from mockserver.dialects.gemini.request import NAME, find_model
from mockserver.kinds.audio import Spoken
from mockserver.kinds.images import Images
from mockserver.media.file_kinds import recognize
from mockserver.media.formats import FORMATS
from mockserver.media.picture import Picture
from mockserver.wire.gemini import list_modalities, stream_responses

IMAGE_TOKENS = 1290  # of a picture
TOKENS_A_SECOND = 25  # of speech
SAMPLES = "audio/L16;codec=pcm;rate=24000"
PIECE = 48_000  # bytes of speech in one response of a stream: a second
MAX_PICTURES = 8  # of Imagen at once
# Pixels of a picture by its aspect ratio, at the size `1K`.
SIZES: Mapping[str, tuple[int, int]] = {
    "1:1": (1024, 1024),
    "2:3": (832, 1248),
    "3:2": (1248, 832),
    "3:4": (864, 1184),
    "4:3": (1184, 864),
    "4:5": (896, 1152),
    "5:4": (1152, 896),
    "9:16": (768, 1344),
    "16:9": (1344, 768),
    "21:9": (1536, 672),
}
_SCALES = {"512": 0.5, "0.5K": 0.5, "1K": 1.0, "2K": 2.0, "4K": 4.0}


def find_operation(model: str, config: Body) -> str:
    """Return the operation that a request for content is for: `chat`, or `images` or `speech` with some models."""
    asked = config.get("responseModalities")
    if not asked:
        if "-image" in model:
            return "images"
        return "speech" if "-tts" in model else "chat"
    return "images" if "IMAGE" in asked else "speech" if "AUDIO" in asked else "chat"


def ask_for_media(call: Call, operation: str) -> Call:
    """Return a call for a picture or for speech of its last message."""
    config = call.raw.get("generationConfig") or {}
    asked = next((message.text for message in reversed(call.messages) if message.role == "user"), "")
    own = {"size": _read_size(config)} if operation == "images" else {"voice": _read_voice(config)}
    options = Options(n=call.options.n, **own)
    return replace(call, operation=operation, prompts=(Prompt(asked),), options=options, tools=())


def _read_size(config: Body) -> tuple[int, int]:
    """Return the width and height of a picture in pixels. Raises Failure for an unknown ratio or size."""
    asked: Body = config.get("imageConfig") or {}
    ratio = asked.get("aspectRatio") or "1:1"
    size = asked.get("imageSize") or "1K"
    for name, value, known in (("aspect_ratio", ratio, SIZES), ("image_size", size, _SCALES)):
        if value not in known:
            where = f"GenerateContentRequest.generation_config.image_config.{name}"
            raise Failure("bad_parameter", f"* {where}: {name} must be one of {', '.join(known)}.\n")
    width, height = SIZES[ratio]
    return round(width * _SCALES[size]), round(height * _SCALES[size])


def _read_voice(config: Body) -> str | None:
    """Return the name of the voice, of several the first."""
    speech: Body = config.get("speechConfig") or {}
    several = (speech.get("multiSpeakerVoiceConfig") or {}).get("speakerVoiceConfigs") or [{}]
    voice: Body = speech.get("voiceConfig") or several[0].get("voiceConfig") or {}
    name: str | None = (voice.get("prebuiltVoiceConfig") or {}).get("voiceName") or voice.get("voice")
    return name


class Blob(Struct, frozen=True):
    """Data in an answer."""

    media_type: str
    data: bytes

    def write(self) -> dict[str, Json]:
        return {"mimeType": self.media_type, "data": b64encode(self.data).decode()}


def write_picture(picture: Picture | bytes, media_type: str) -> Blob:
    """Return a picture in this format; a file of a rule keeps its own."""
    if isinstance(picture, bytes):
        return Blob(recognize(picture) or media_type, picture)
    form = next((form for form in FORMATS.values() if form.media_type == media_type), FORMATS["png"])
    return Blob(form.media_type, form.write(picture))


def render_media(call: Call, outcome: Images | Spoken, *, events: bool) -> Reply:
    """Return pictures as candidates, or speech as one; `events`: a stream has server-sent events."""
    made = make_media(call, outcome)
    answer = MediaAnswer(call, outcome.prompt_tokens, made.tokens)
    blobs = made.blobs
    if not call.stream:
        return make_pretty_reply(call.http, answer.make_body(blobs), outcome.headers)
    return make_stream_reply(
        stream_responses(answer.list_responses(blobs), events=events), outcome.headers, events=events
    )


class MadeMedia(NamedTuple):
    """Pictures, or speech, and the tokens of what was made, by modality."""

    blobs: Sequence[Blob]
    tokens: Mapping[str, int]


def make_media(call: Call, outcome: Images | Spoken) -> MadeMedia:
    """Return the pictures, or the speech, that a call gets."""
    if isinstance(outcome, Images):
        config: Body = (call.raw.get("generationConfig") or {}).get("imageConfig") or {}
        stated: Body = config.get("imageOutputOptions") or {}
        media_type = stated.get("mimeType") or config.get("outputMimeType") or "image/png"
        blobs = [write_picture(image, media_type) for image in outcome.images]
        return MadeMedia(blobs, {"IMAGE": IMAGE_TOKENS * len(blobs)})
    if isinstance(outcome.speech, bytes):
        return MadeMedia([Blob(recognize(outcome.speech) or SAMPLES, outcome.speech)], {"AUDIO": 1})
    spoken = max(ceil(outcome.speech.seconds * TOKENS_A_SECOND), 1)
    return MadeMedia([Blob(SAMPLES, outcome.speech.samples)], {"AUDIO": spoken})


class MediaAnswer(Struct, frozen=True):
    """An answer of data: the call, and the tokens of its prompt and of what was made, by modality."""

    call: Call
    prompt_tokens: int
    made: Mapping[str, int]

    def make_body(self, blobs: Sequence[Blob], *, is_last: bool = True) -> dict[str, Json]:
        """Return a response with data, one candidate for each."""
        end: dict[str, Json] = {"finishReason": "STOP"} if is_last else {}
        candidates = [
            {"content": {"parts": [{"inlineData": blob.write()}], "role": "model"}, **end, "index": at}
            for at, blob in enumerate(blobs)
        ]
        usage = self._count() if is_last else {"promptTokenCount": self.prompt_tokens}
        return {
            "candidates": candidates,
            "usageMetadata": usage,
            "modelVersion": self.call.model,
            "responseId": self.call.fingerprint[:23],
        }

    def _count(self) -> dict[str, Json]:
        made = sum(self.made.values())
        return {
            "promptTokenCount": self.prompt_tokens,
            "candidatesTokenCount": made,
            "totalTokenCount": self.prompt_tokens + made,
            "promptTokensDetails": list_modalities(self.prompt_tokens, {}),
            "candidatesTokensDetails": list_modalities(made, self.made),
        }

    def list_responses(self, blobs: Sequence[Blob]) -> list[dict[str, Json]]:
        """Return the responses of a stream: one for each second of speech, or for all pictures."""
        first = blobs[0]
        pieces = [blobs]
        if first.media_type == SAMPLES:
            pieces = [[Blob(SAMPLES, first.data[at : at + PIECE])] for at in range(0, len(first.data), PIECE)]
        return [self.make_body(piece, is_last=piece is pieces[-1]) for piece in pieces]


# Imagen.


def asks_for_pictures(http: HttpRequest, body: Mapping[str, Json]) -> bool:
    """Return whether a `predict` is about pictures, and not about embeddings."""
    return find_model(http).startswith("imagen") or "prompt" in find_table(body, "instances", 0)


def parse_imagen(http: HttpRequest, body: Body, validation: Validation) -> Call:
    """Return the call of a `predict` of Imagen. Raises Failure."""
    parameters: Body = body.get("parameters") or {}
    prompt = next((each.get("prompt") for each in body.get("instances") or ()), None)
    if not prompt and validation is not Validation.OFF:
        raise Failure("bad_parameter", "Image generation failed with the following error: The prompt is empty.")
    count = parameters.get("sampleCount") or 1
    if not 1 <= count <= MAX_PICTURES:
        raise Failure("bad_parameter", f"sampleCount must be in the range [1, {MAX_PICTURES}].")
    size = _read_size({"imageConfig": {"imageSize": parameters.get("sampleImageSize"), **parameters}})
    return Call(
        dialect=NAME,
        operation="images",
        model=find_model(http),
        http=http,
        meaning={"model": find_model(http), "prompt": prompt, "parameters": parameters},
        raw=body,
        messages=(Message("user", prompt or ""),),
        prompts=(Prompt(prompt or ""),),
        options=Options(n=count, size=size),
    )


def make_predictions(call: Call, outcome: Images) -> Body:
    """Return the pictures of Imagen."""
    parameters: Body = call.raw.get("parameters") or {}
    media_type = (parameters.get("outputOptions") or {}).get("mimeType") or "image/png"
    blobs = [write_picture(image, media_type) for image in outcome.images]
    made: list[Json] = [
        {"mimeType": blob.media_type, "bytesBase64Encoded": b64encode(blob.data).decode()} for blob in blobs
    ]
    if is_vertex(call.http) and parameters.get("enhancePrompt"):
        made = [{**each, "prompt": call.prompts[0].text} for each in made]
    return {"predictions": made}
