"""Speech and transcriptions as OpenAI's API has them (https://platform.openai.com/docs/api-reference/audio)."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from math import ceil
from types import MappingProxyType

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.call import Call, Message, Options, Prompt
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.tokens import Tokenizer
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, literal, number, optional, shape, text, voice_of
from mockserver.dialects._forms import Part, nest_fields, parse_form
from mockserver.dialects._openai_api.media_files import check_recording
from mockserver.dialects._parse import Body, Complaint, read_body, read_object
from mockserver.dialects._reply import STREAM_LINES, RequestLines, make_json_reply, merge_headers
from mockserver.kinds.audio import OPENAI_VOICES, Spoken, Transcript
from mockserver.media.large_data import hash_data, read_data
from mockserver.media.sound_files import HEARD, SOUND_FORMATS, SoundFormat, hear
from mockserver.media.sound_length import measure
from mockserver.wire.chat import DONE

MAX_INPUT = 4_096  # characters
TOKENS_A_SECOND = 10  # of a recording
PIECE = 12_000  # bytes of a sound in one event: a quarter of a second
# `POST /audio/speech`
SPEECH = BodyModel(
    shape(
        input=text(most=MAX_INPUT),
        model=optional(str),
        voice=voice_of(*OPENAI_VOICES),
        instructions=optional(text(most=MAX_INPUT)),
        response_format=optional(literal(*SOUND_FORMATS)),
        speed=optional(number(0.25, 4)),
        stream_format=optional(literal("audio", "sse")),
    ),
    needed=("input",),
)
_FORMATS = ("json", "text", "srt", "verbose_json", "vtt", "diarized_json")
_WHISPER_FORMATS = ("srt", "vtt", "verbose_json")  # formats that newer models lack
_OTHER_FORMATS = "Use 'json' or 'text' instead."


class AudioApi(Struct, frozen=True):
    """The operations on sounds of a dialect whose replies have these header lines.

    `read_url_fields` returns the fields of a path. `show(call, body)` returns the body of a transcription in the
    dialect's words. `speech` is what a request for a sound has, and `formats` are the files that it can ask for.
    `urls` are the fields that can name a recording instead of the file, which nobody fetches.
    """

    dialect: str
    lines: RequestLines
    read_url_fields: Callable[[HttpRequest], Body] = lambda http: {}
    show: Callable[[Call, Body], Body] = lambda call, body: body
    speech: BodyModel = SPEECH
    formats: Mapping[str, SoundFormat] = MappingProxyType(SOUND_FORMATS)
    urls: tuple[str, ...] = ()

    def make_operations(self) -> tuple[Operation, ...]:
        """Return the operations that speak, and those on recordings."""
        return (
            Operation(
                "speech",
                "POST",
                "/audio/speech",
                parse=self._parse_speech,
                render=self._render_speech,
                error=make_error_event,
            ),
            *self.make_hearing_operations(),
        )

    def make_hearing_operations(self) -> tuple[Operation, ...]:
        """Return the operations on recordings."""
        translate = partial(self._hear, "translations")
        return (
            self.make_transcription_operation(),
            Operation("translations", "POST", "/audio/translations", parse=translate, render=self._render_transcript),
        )

    def make_transcription_operation(self) -> Operation:
        """Return the operation that writes down what is said."""
        return Operation(
            "transcriptions",
            "POST",
            "/audio/transcriptions",
            parse=partial(self._hear, "transcriptions"),
            render=self._render_transcript,
            error=make_error_event,
        )

    def _parse_speech(self, http: HttpRequest, validation: Validation) -> Call:
        body = read_object(http)
        _, parsed = read_body(self.speech, body, refuse=refuse, validation=validation, is_closed=True)
        parsed = {**parsed, **self.read_url_fields(http)}
        spoken = parsed["input"]
        voice = parsed.get("voice")
        name = voice["id"] if isinstance(voice, dict) else voice
        return Call(
            dialect=self.dialect,
            operation="speech",
            model=parsed.get("model") or "gpt-4o-mini-tts",
            http=http,
            meaning={key: value for key, value in parsed.items() if key != "stream_format"},
            raw=parsed,
            messages=(Message("user", spoken),),
            prompts=(Prompt(spoken),),
            stream=parsed.get("stream_format") == "sse",
            options=Options(voice=name, speed=parsed.get("speed") or 1.0),
        )

    def _render_speech(self, call: Call, outcome: Spoken) -> Reply:
        lines = self.lines(call.http, call)
        speech = outcome.speech
        form = self.formats[call.raw.get("response_format") or "mp3"]
        data = speech if isinstance(speech, bytes) else form.write(speech)
        tokens = ceil(len(data) / PIECE) if isinstance(speech, bytes) else count_tokens(speech.seconds)
        if not call.stream:
            own = (("content-type", form.media_type), ("content-length", str(len(data))))
            headers = merge_headers((*HeaderLines(lines), *own), outcome.headers)
            return Reply(200, headers, data, tokens=tokens)
        headers = merge_headers(HeaderLines(STREAM_LINES + lines), outcome.headers)
        return Reply(200, headers, frames=stream_speech(data, read=outcome.prompt_tokens, written=tokens))

    def _hear(self, operation: str, http: HttpRequest, validation: Validation) -> Call:
        """Return the call of a recording, whose words are the user's message if they can be heard."""
        form = parse_form(http, takes_urlencoded=bool(self.urls))
        body = {**nest_fields(form), **self.read_url_fields(http)}
        files = form.find_files("file")
        url = None if files else next(filter(None, map(body.get, self.urls)), None)
        if not (files or url) and validation is not Validation.OFF:
            raise refuse(Complaint("missing", ("file",)))
        file = files[0] if files else Part("file", b"")
        wanted = body.get("response_format", "json")
        if wanted not in _FORMATS and validation is not Validation.OFF:
            raise refuse(Complaint("value", ("response_format",), got=wanted, expected=_FORMATS))
        model = str(body.get("model") or "whisper-1")
        if url is None:
            check_recording(file, model, validation)
        if validation is Validation.LIVE and "gpt-4o" in model and wanted in _WHISPER_FORMATS:
            message = f"response_format '{wanted}' is not compatible with model '{model}'. {_OTHER_FORMATS}"
            raise Failure("bad_parameter", message=message, param="response_format", code="unsupported_value")
        begun = read_data(file.content, HEARD)
        heard = hear(begun)
        name = url or file.file_name or "upload"
        raw = {**body, "file": name, "duration": round(measure(begun, len(file.content)), 3)}
        return Call(
            dialect=self.dialect,
            operation=operation,
            model=model,
            http=http,
            meaning={**raw, "file": url or hash_data(file.content)},
            raw=raw,
            messages=() if heard is None else (Message("user", heard),),
            prompts=(Prompt(heard or ""),),
            stream=body.get("stream") == "true" and model != "whisper-1",
        )

    def _render_transcript(self, call: Call, outcome: Transcript) -> Reply:
        lines = self.lines(call.http, call)
        wanted = call.raw.get("response_format")
        wanted = wanted if wanted in _FORMATS else "json"
        written = Transcription(call, outcome)
        if call.stream:
            headers = merge_headers(HeaderLines(STREAM_LINES + lines), outcome.headers)
            return Reply(200, headers, frames=written.stream())
        if wanted in _WRITERS:
            data = _WRITERS[wanted](written).encode("utf-8", "replace")
            own = (("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(data))))
            return Reply(200, merge_headers((*HeaderLines(lines), *own), outcome.headers), data)
        bodies = {"verbose_json": written.make_verbose, "diarized_json": written.make_diarized}
        body = self.show(call, bodies.get(wanted, written.make_body)())
        return make_json_reply(200, body, lines=lines, headers=outcome.headers)


def hide_usage(call: Call, body: Body) -> Body:
    """Return the body of a transcription without what it cost, as most hosts send it."""
    return {key: value for key, value in body.items() if key != "usage"}


def count_tokens(seconds: float) -> int:
    """Return the tokens that a sound of this length takes."""
    return max(1, ceil(seconds * TOKENS_A_SECOND))


def stream_speech(data: bytes, *, read: int, written: int) -> Iterator[Frame]:
    """Yield a sound in pieces of a quarter of a second, then the usage."""
    for at in range(0, len(data), PIECE):
        delta = {"type": "speech.audio.delta", "audio": b64encode(data[at : at + PIECE]).decode()}
        yield Frame(to_json(delta), tokens=1)
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    yield Frame(to_json({"type": "speech.audio.done", "usage": usage}), part="end")


class Segment(Struct, frozen=True):
    """A sentence or a word in a recording, with its start and end in seconds."""

    text: str
    start: float
    end: float


class Transcription:
    """A transcript in the forms that the API has for it."""

    def __init__(self, call: Call, outcome: Transcript) -> None:
        self._call = call
        self._text = outcome.text
        self._seconds = outcome.seconds

    def make_body(self) -> Body:
        """Return the body with no more than the text and its usage."""
        if self._call.operation == "translations":
            return {"text": self._text}
        logprobs = {"logprobs": self._list_logprobs(self._text)} if self._wants_logprobs else {}
        return {"text": self._text, **logprobs, "usage": self._usage}

    def make_verbose(self) -> Body:
        """Return the body with the times of sentences, or of words."""
        is_translation = self._call.operation == "translations"
        wanted = self._call.raw.get("timestamp_granularities") or ["segment"]
        body: dict[str, Json] = {
            "task": "translate" if is_translation else "transcribe",
            "language": "english" if is_translation else _name_language(self._call.raw.get("language")),
            "duration": self._seconds,
            "text": self._text,
        }
        if "word" in wanted:
            words = [each for sentence in self.sentences for each in divide(sentence, str.split)]
            body["words"] = [{"word": each.text, "start": each.start, "end": each.end} for each in words]
        if "segment" in wanted or "word" not in wanted:
            body["segments"] = [self._show_segment(*each) for each in enumerate(self.sentences)]
        return body if is_translation else {**body, "usage": self._seconds_usage}

    def make_diarized(self) -> Body:
        """Return the body with who says each sentence: only one speaks."""
        segments = [self._show_turn(number, each) for number, each in enumerate(self.sentences, 1)]
        return {
            "task": "transcribe",
            "duration": self._seconds,
            "text": self._text,
            "segments": segments,
            "usage": self._usage,
        }

    def stream(self) -> Iterator[Frame]:
        """Yield the text word by word, then as a whole."""
        is_diarized = self._call.raw.get("response_format") == "diarized_json"
        for turn_number, sentence in enumerate(self.sentences, 1):
            turn = {"segment_id": f"seg_{turn_number:03}"} if is_diarized else {}
            for piece in split_words(sentence.text):
                logprobs = {"logprobs": self._list_logprobs(piece)} if self._wants_logprobs else {}
                yield Frame(to_json({"type": "transcript.text.delta", "delta": piece, **logprobs, **turn}), tokens=1)
            if is_diarized:
                yield Frame(to_json(self._show_turn(turn_number, sentence)))
        logprobs = {"logprobs": self._list_logprobs(self._text)} if self._wants_logprobs else {}
        done = {"type": "transcript.text.done", "text": self._text, **logprobs, "usage": self._usage}
        yield Frame(to_json(done), part="finish")
        yield DONE

    @property
    def sentences(self) -> list[Segment]:
        """The sentences with their times, as if each letter took equally long."""
        return divide(Segment(self._text, 0.0, self._seconds), split_sentences)

    @property
    def text(self) -> str:
        return self._text

    @property
    def _wants_logprobs(self) -> bool:
        return "logprobs" in (self._call.raw.get("include") or ())

    def _list_logprobs(self, text: str) -> list[Body]:
        tokenizer: Tokenizer = self._call.tokenizer
        return [{"token": token, "logprob": 0.0, "bytes": list(token.encode())} for token in tokenizer.split(text)]

    @property
    def _seconds_usage(self) -> Body:
        return {"type": "duration", "seconds": ceil(self._seconds)}

    @property
    def _usage(self) -> Body:
        if "gpt-4o" not in self._call.model:
            return self._seconds_usage
        heard = count_tokens(self._seconds)
        written = self._call.tokenizer.count(self._text)
        return {
            "type": "tokens",
            "total_tokens": heard + written,
            "input_tokens": heard,
            "input_token_details": {"text_tokens": 0, "audio_tokens": heard},
            "output_tokens": written,
        }

    def _show_segment(self, number: int, each: Segment) -> Body:
        return {
            "id": number,
            "seek": 0,
            "start": each.start,
            "end": each.end,
            "text": each.text,
            "tokens": [_FIRST_TOKEN, *range(_TOKENS, _TOKENS + len(self._call.tokenizer.split(each.text)))],
            "temperature": 0.0,
            "avg_logprob": -0.28,
            "compression_ratio": 1.2,
            "no_speech_prob": 0.01,
        }

    def _show_turn(self, number: int, each: Segment) -> Body:
        return {
            "type": "transcript.text.segment",
            "id": f"seg_{number:03}",
            "start": each.start,
            "end": each.end,
            "text": each.text.strip(),
            "speaker": "A",
        }


_FIRST_TOKEN = 50_364  # any number will do, as for the next
_TOKENS = 400


def split_words(text: str) -> list[str]:
    """Return the words of a text, each with the blanks before it."""
    spoken = text.rstrip()
    ends = [found.start() for found in _WORD_END.finditer(spoken)]
    return [text[start:end] for start, end in pairwise((0, *ends, len(text)))] if spoken else []


_WORD_END = re.compile(r"(?<=\S)(?=\s)")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with the blanks before it."""
    sentences: list[list[str]] = [[]]
    for word in split_words(text):
        sentences[-1].append(word)
        if word.rstrip().endswith((".", "!", "?")):
            sentences.append([])
    return ["".join(words) for words in sentences if words]


def divide(whole: Segment, split: Callable[[str], list[str]]) -> list[Segment]:
    """Return the parts into which `split` divides a text, with the time of each."""
    parts = split(whole.text)
    letters = sum(map(len, parts)) or 1
    ends = [whole.start]
    spoken = 0  # letters
    for part in parts:
        spoken += len(part)
        ends.append(round(whole.start + (whole.end - whole.start) * spoken / letters, 3))
    return [Segment(part, start, end) for part, (start, end) in zip(parts, pairwise(ends), strict=True)]


def _write_srt(written: Transcription) -> str:
    rows = [
        f"{number}\n{_write_time(each.start, ',')} --> {_write_time(each.end, ',')}\n{each.text.strip()}\n"
        for number, each in enumerate(written.sentences, 1)
    ]
    return "\n".join(rows) + "\n"


def _write_vtt(written: Transcription) -> str:
    rows = [
        f"{_write_time(each.start, '.')} --> {_write_time(each.end, '.')}\n{each.text.strip()}\n"
        for each in written.sentences
    ]
    return "\n".join(("WEBVTT\n", *rows)) + "\n"


def _write_time(seconds: float, point: str) -> str:
    """Return a time as subtitles have it, `00:01:02,345`, with this decimal point."""
    whole = round(seconds * 1000)
    hours, minutes = divmod(whole // 60_000, 60)
    return f"{hours:02}:{minutes:02}:{whole // 1000 % 60:02}{point}{whole % 1000:03}"


_WRITERS: Mapping[str, Callable[[Transcription], str]] = {
    "text": lambda written: written.text + "\n",
    "srt": _write_srt,
    "vtt": _write_vtt,
}


def _name_language(code: Json) -> str:
    return _LANGUAGES.get(code, "english") if isinstance(code, str) else "english"


_LANGUAGES = {
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "ja": "japanese",
    "nl": "dutch",
    "pt": "portuguese",
    "zh": "chinese",
}


def make_error_event(failed: Reply, last: bytes) -> Frame:
    """Return a failed reply as an event of a stream."""
    return Frame(b'{"type":"error",' + failed.body.lstrip()[1:], part="finish")
