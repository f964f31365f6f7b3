"""Sounds and images at the hosts that have them: OpenAI's operations, in the words of each host.

Groq: https://console.groq.com/docs/speech-to-text. Together: https://docs.together.ai/reference/post-images-generations.
xAI: https://docs.x.ai/docs/guides/image-generations, .../voice. vLLM: its server's transcriptions.
"""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from mockserver.core.call import Call, Message, Options, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Models
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, integer, literal, number, open_shape, optional, shape, text
from mockserver.dialects._openai_api.audio import AudioApi, Segment, divide, hide_usage
from mockserver.dialects._openai_api.images import ImagesApi
from mockserver.dialects._parse import Body, read_body, read_object
from mockserver.dialects._reply import make_json_reply, make_request_hex, write_request_id
from mockserver.dialects.compatible.hosts import Host
from mockserver.dialects.compatible.request import NAME, drop_openai_rules
from mockserver.kinds.images import MAX_PIXELS
from mockserver.media.samples import FORMATS
from mockserver.media.sound_files import SOUND_FORMATS, SoundFormat
from mockserver.media.tone import measure_speech

_FORMATS = {**SOUND_FORMATS, "ogg": SOUND_FORMATS["opus"], "raw": SOUND_FORMATS["pcm"]}
_AUDIO = AudioApi(
    NAME,
    write_request_id,
    show=hide_usage,
    speech=BodyModel(  # the voices are those of the host's models
        shape(
            input=str,
            model=optional(str),
            voice=optional(str),
            response_format=optional(literal(*_FORMATS)),
            speed=optional(number(0.25, 5)),
        ),
        needed=("input",),
    ),
    formats=_FORMATS,
    urls=("url", "file"),
)


def _show_groq(call: Call, body: Body) -> Body:
    return {**hide_usage(call, body), "x_groq": {"id": f"req_{make_request_hex(call.http, call)}"}}


def _ask_for_urls(body: Body) -> Body:
    return {"response_format": "url", **body}


def _read_together(body: Body) -> Body:
    """Return a body with the size and the format of its answer in OpenAI's fields."""
    read = {key: value for key, value in _ask_for_urls(body).items() if key not in ("width", "height")}
    if "width" in body or "height" in body:
        read["size"] = f"{body.get('width', 1024)}x{body.get('height', 1024)}"
    if read["response_format"] == "base64":
        read["response_format"] = "b64_json"
    return read


def _show_together(call: Call, body: Body) -> Body:
    data = [
        {"index": index, **image, "type": "url" if "url" in image else "b64_json"}
        for index, image in enumerate(body["data"])
    ]
    return {"id": f"o{call.fingerprint[:20]}", "model": call.model, "object": "list", "data": data}


def _read_xai(body: Body) -> Body:
    """Return a body with the pictures to edit in OpenAI's field."""
    several = body.get("images") or []
    if not isinstance(several, list):
        return body  # it is refused as it is
    read = {key: value for key, value in _ask_for_urls(body).items() if key not in ("image", "images")}
    pictures = [*several, *filter(None, [body.get("image")])]
    if pictures:
        read["images"] = [{"image_url": each.get("url")} if isinstance(each, dict) else each for each in pictures]
    return read


def _show_xai(call: Call, body: Body) -> Body:
    data = [{**image, "mime_type": "image/png"} for image in body["data"]]
    return {"data": data, "usage": {"cost_in_usd_ticks": len(data) * 200_000_000}}


_SIDE = optional(integer(1, MAX_PIXELS))
_OWN: Mapping[str, BodyModel] = {"together": BodyModel(open_shape(width=_SIDE, height=_SIDE))}
_READ: Mapping[str, Callable[[Body], Body]] = {"together": _read_together, "xai": _read_xai}
_SHOW: Mapping[str, Callable[[Call, Body], Body]] = {"together": _show_together, "xai": _show_xai}


# xAI's speech, at paths of its own.

_CODECS = {
    "mp3": SOUND_FORMATS["mp3"],
    "wav": SOUND_FORMATS["wav"],
    "pcm": SOUND_FORMATS["pcm"],
    "mulaw": SoundFormat("audio/basic", lambda speech: FORMATS["audio/pcmu"].encode(speech.samples)),
    "alaw": SoundFormat("audio/x-alaw-basic", lambda speech: FORMATS["audio/pcma"].encode(speech.samples)),
}
_XAI_SPEECH = BodyModel(
    shape(
        text=text(1, 15_000),
        language=optional(str),
        voice_id=optional(str),
        speed=optional(number(0.7, 1.5)),
        output_format=optional(
            open_shape(codec=optional(literal(*_CODECS)), sample_rate=optional(int), bit_rate=optional(int))
        ),
    )
)
_XAI_VOICES = ("Eve", "Ara", "Rex", "Sal", "Leo")


def _parse_xai_speech(http: HttpRequest, validation: Validation) -> Call:
    body = read_body(_XAI_SPEECH, read_object(http), refuse=refuse, validation=validation).parsed
    codec = (body.get("output_format") or {}).get("codec") or "mp3"
    spoken = body.get("text") or ""
    return Call(
        dialect=NAME,
        operation="speech",
        model="grok-voice",
        http=http,
        meaning=body,
        raw={**body, "response_format": codec if codec in _CODECS else "mp3"},
        messages=(Message("user", spoken),),
        prompts=(Prompt(spoken),),
        options=Options(voice=body.get("voice_id") or "eve", speed=body.get("speed") or 1.0),
    )


def _show_xai_transcript(call: Call, body: Body) -> Body:
    seconds = call.raw.get("duration") or measure_speech(body["text"])
    words = divide(Segment(body["text"], 0.0, seconds), str.split)
    return {
        "text": body["text"],
        "language": call.raw.get("language") or "",
        "duration": seconds,
        "words": [{"text": each.text, "start": each.start, "end": each.end} for each in words],
    }


def _list_xai_voices(call: Call, outcome: Models) -> Reply:
    voices = [{"voice_id": name.lower(), "name": name, "language": "multilingual"} for name in _XAI_VOICES]
    return make_json_reply(200, {"voices": voices}, lines=write_request_id(call.http, call))


def _make_xai_speech_operations() -> tuple[Operation, ...]:
    api = replace(_AUDIO, formats=_CODECS, show=_show_xai_transcript, urls=("url",))
    made = {each.name: each for each in api.make_operations()}
    return (
        replace(made["speech"], path="/tts", parse=_parse_xai_speech, body=lambda text: {"text": text}),
        replace(made["transcriptions"], path="/stt"),
        Operation("info", "GET", "/tts/voices", parse=_parse_nothing, render=_list_xai_voices),
    )


def _parse_nothing(http: HttpRequest, validation: Validation) -> Call:
    return Call(NAME, "info", model="", http=http, meaning={"path": "voices"})


def make_media_operations(host: Host) -> tuple[Operation, ...]:
    """Return the operations on sounds and images that a host has."""
    audio = replace(_AUDIO, show=_show_groq) if host.kin == "groq" else _AUDIO
    images = ImagesApi(NAME, write_request_id, read=_ask_for_urls)
    if host.kin in _READ:
        images = replace(images, own=_OWN.get(host.kin), read=_READ[host.kin], show=_SHOW[host.kin])
    made = (*audio.make_operations(), *images.make_operations())
    own = _make_xai_speech_operations() if host.kin == "xai" else ()
    return tuple(map(drop_openai_rules, (*[each for each in made if each.name in host.operations], *own)))
