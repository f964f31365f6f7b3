"""Pictures and sounds in the request and the answer of a call, for a browser to show and play.

Bytes are served only if they begin like a picture or a sound, and with the media type of that: never text, and no SVG.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from mockserver.core.event_stream import is_prelude
from mockserver.core.http import read_media_type
from mockserver.core.json import Json, try_parse
from mockserver.core.row import Row
from mockserver.core.sent_body import split_frames
from mockserver.dialects._forms import FormReader
from mockserver.engine.offload import on_thread
from mockserver.media.file_kinds import recognize
from mockserver.media.samples import FORMATS
from mockserver.media.sound_files import write_wav_file
from mockserver.media.tone import RATE
from mockserver.server.control.requests import ControlRequest, RefusedError
from mockserver.server.masking import decode_request, rebuild_request

MAX_COUNT = 20  # of a call, each way
_SHOWN = ("image/png", "image/jpeg", "image/webp", "image/gif")
_SHORTEST = 64  # characters of base64 that are looked at


class Medium(Struct, frozen=True):
    """A picture or a sound: its media type and its bytes."""

    type: str
    data: bytes

    def describe(self) -> dict[str, Json]:
        """Return its media type, and its size in bytes."""
        return {"type": self.type, "size": len(self.data)}


async def show_medium(request: ControlRequest) -> Response:
    """Return a picture or a sound of the reply, or of the request."""
    row = request.find_call()
    of = request.query.get("of", "reply")
    at = request.read_number("at") or 0
    if of not in _FINDERS:
        raise RefusedError(400, "?of= must be request or reply")
    found = await on_thread(_FINDERS[of], row)
    if at >= len(found):
        there = f"the {of} of call {row.seq} has {len(found)} pictures and sounds"
        raise RefusedError(404, f"{there}; there is no number {at}: they count from 0")
    headers = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
    return Response(found[at].data, headers=headers, media_type=found[at].type)


def describe_media(row: Row) -> dict[str, Json]:
    """Return which pictures and sounds a call has: of its `request`, and of its `reply`."""
    found = {of: [medium.describe() for medium in find(row)] for of, find in _FINDERS.items()}
    return {"media": found} if any(found.values()) else {}


def find_request_media(row: Row) -> list[Medium]:
    """Return the pictures and sounds that came with the request."""
    http = decode_request(rebuild_request(row))
    if read_media_type(http.find_header("content-type") or "") != "multipart/form-data":
        return _find_in_body(http.body, "")
    try:
        reader = FormReader(http.find_header("content-type") or "")
        reader.write(http.body)
        parts = reader.finish().parts
    except ValueError:  # it is not a form, or is kept only in part
        return []
    return [*islice((found for part in parts for found in _recognize(part.data)), MAX_COUNT)]


def find_reply_media(row: Row) -> list[Medium]:
    """Return the pictures and sounds of the answer."""
    body = b"".join([data for _, data in row.sent])
    if row.streams and not is_prelude(body):
        return [*islice(_find_in_events([try_parse(frame.text) for frame in split_frames(row.sent)]), MAX_COUNT)]
    named = dict(row.reply_headers)
    return _find_in_body(body, named.get("content-type", ""))


_FINDERS: Mapping[str, Callable[[Row], list[Medium]]] = {"request": find_request_media, "reply": find_reply_media}


def _find_in_body(body: bytes, media_type: str) -> list[Medium]:
    if read_media_type(media_type) == "audio/pcm" and body:
        return [_make_sound(body, RATE)]
    if body[:1] in (b"{", b"["):
        return [*islice(_find_in_events([try_parse(body.decode("utf-8", "replace"))]), MAX_COUNT)]
    return [*_recognize(body)]


def _find_in_events(events: Iterable[Json]) -> Iterator[Medium]:
    """Yield the media in values; sounds that come in pieces are joined."""
    samples = bytearray()
    pieces = bytearray()
    rate = RATE
    for event in events:
        for found in _walk(event):
            if found.kind.endswith("output_audio.delta"):
                samples += FORMATS["audio/pcm"].decode(_decode(found.text))
            elif found.kind == "speech.audio.delta":
                pieces += _decode(found.text)
            elif (stated := _SAMPLES.match(found.media_type)) is not None:
                samples += _decode(found.text)
                rate = int(stated[1] or RATE)
            else:
                yield from _recognize(_decode(found.text))
    if samples:
        yield _make_sound(bytes(samples), rate)
    yield from _recognize(bytes(pieces))


class _LongText(Struct, frozen=True):
    """A text that may be base64, the type of its event, and the media type that is stated beside it."""

    text: str
    kind: str
    media_type: str


def _walk(value: Json, kind: str = "", media_type: str = "") -> Iterator[_LongText]:
    """Yield the long texts in a value."""
    if isinstance(value, str):
        if len(value) >= _SHORTEST:
            yield _LongText(value, kind, media_type)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each, kind, media_type)
    elif isinstance(value, Mapping):
        own = value.get("type")
        stated = value.get("mimeType") or value.get("media_type")
        for each in value.values():
            yield from _walk(each, own if isinstance(own, str) else kind, str(stated or ""))


def _decode(text: str) -> bytes:
    """Return the bytes of base64, or of a data URL; none if it is neither."""
    data = text[found.end() :] if (found := _DATA_URL.match(text)) else text
    try:
        return b64decode(data, validate=True)
    except ValueError:
        return b""


def _recognize(data: bytes) -> Iterator[Medium]:
    found = recognize(data) if data else None
    if found is not None and (found in _SHOWN or found.startswith("audio/")):
        yield Medium(found, data)


def _make_sound(samples: bytes, rate: int) -> Medium:
    return Medium("audio/wav", write_wav_file(samples, rate))


_DATA_URL = re.compile(r"data:[\w.+/-]{0,100}[^,]{0,100};base64,")
_SAMPLES: Any = re.compile(r"audio/(?:L16|pcm)(?:.*rate=(\d{4,6}))?", re.IGNORECASE)
