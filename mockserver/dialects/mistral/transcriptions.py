"""Mistral's transcriptions (https://docs.mistral.ai/capabilities/audio) of recordings, sent or at a URL."""

from collections.abc import Iterator, Sequence
from math import ceil

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, Reply
from mockserver.core.json import Json
from mockserver.dialects import Operation
from mockserver.dialects._openai_api.audio import AudioApi, Transcription, count_tokens, divide, split_words
from mockserver.dialects._parse import Body
from mockserver.dialects._reply import STREAM_LINES, make_json_reply, merge_headers
from mockserver.dialects.mistral.errors import write_header_lines
from mockserver.dialects.mistral.request import NAME
from mockserver.kinds.audio import Transcript

_AUDIO = AudioApi(NAME, write_header_lines, urls=("file_url", "file_id"))


def make_transcription_operation() -> Operation:
    """Return the operation, which reads recordings as OpenAI's does."""
    return replace(_AUDIO.make_transcription_operation(), render=_render)


def _render(call: Call, outcome: Transcript) -> Reply:
    lines = write_header_lines(call.http, call)
    body = _make_body(call, outcome)
    if not call.stream:
        return make_json_reply(200, body, lines=lines, headers=outcome.headers)
    return Reply(200, merge_headers(HeaderLines(STREAM_LINES + lines), outcome.headers), frames=_stream(body))


def _make_body(call: Call, outcome: Transcript) -> Body:
    heard = count_tokens(outcome.seconds)
    written = call.tokenizer.count(outcome.text)
    usage: Body = {
        "prompt_audio_seconds": ceil(outcome.seconds),
        "prompt_tokens": heard,
        "total_tokens": heard + written,
        "completion_tokens": written,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": heard},
        "service_tier": "standard",
    }
    return {
        "model": call.model,
        "text": outcome.text,
        "language": call.raw.get("language"),
        "segments": list(_list_segments(call, outcome)),
        "usage": usage,
        "finish_reason": None,
    }


def _list_segments(call: Call, outcome: Transcript) -> Iterator[Body]:
    """Yield the sentences or words and their times, if the request asks for either."""
    wanted: Json = call.raw.get("timestamp_granularities") or ()
    sentences = Transcription(call, outcome).sentences
    words = [word for sentence in sentences for word in divide(sentence, split_words)]
    for each in words if "word" in wanted else sentences if "segment" in wanted else ():
        yield {"type": "transcription_segment", "text": each.text, "start": each.start, "end": each.end}


def _stream(body: Body) -> Iterator[Frame]:
    """Yield the text word by word, then the whole."""
    words: Sequence[str] = split_words(body["text"])
    for word in words:
        event = "transcription.text.delta"
        yield Frame(to_json({"type": event, "text": word}), event=event, tokens=1)
    event = "transcription.done"
    yield Frame(to_json({"type": event, **body}), event=event, part="end")
