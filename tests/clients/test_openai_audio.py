"""OpenAI's own client with sounds, over a real socket: what speech says, a transcription hears, word for word."""

import io
import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any, Literal

import av
import httpx2
import openai
import pytest
from openai import OpenAI

from mockserver.core.seed import Seed
from mockserver.media.formats import write_png
from mockserver.media.picture import draw
from mockserver.media.sound_files import Speech, write_wav
from tests.kit.served import Served, served

RULES = """
rules:
  - {when: {operation: speech, last_user: "*as a rule*"}, then: {audio: {text: The rule speaks, voice: onyx}}}
  - {when: {operation: speech, last_user: "*file*"}, then: {audio: jingle.mp3}}
  - {when: {operation: transcriptions, last_user: "*secret*"}, then: {transcript: "[redacted]"}}
  - {when: {operation: transcriptions, param.file: long.wav}, then: {transcript: "First. And second? Third!"}}
  - {when: {operation: transcriptions, param.file: broken.wav}, then: {error: 429, headers: {x-should-retry: "false"}}}
"""
SAID = "Hello there! The quick brown fox, aged 3, says: “naïve”."
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
Kind = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
SPEAKER, LISTENER = "gpt-4o-mini-tts", "gpt-4o-transcribe"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES, files={"jingle.mp3": b"ding dong"}) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base("openai"), api_key="sk-test", max_retries=0) as client:
        yield client


def say(client: OpenAI, text: str, kind: Kind = "wav", **more: Any) -> bytes:
    return client.audio.speech.create(model=SPEAKER, voice="sage", input=text, response_format=kind, **more).content


@pytest.mark.parametrize("kind", FORMATS)
def test_what_speech_says_a_transcription_hears(client: OpenAI, kind: Kind) -> None:
    sound = say(client, SAID, kind)
    heard = client.audio.transcriptions.create(model=LISTENER, file=(f"said.{kind}", sound))
    assert heard.text == SAID
    assert say(client, SAID, kind) == sound


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind != "pcm"])
def test_a_player_plays_it(client: OpenAI, kind: Kind) -> None:
    with av.open(io.BytesIO(say(client, SAID, kind, speed=2.0)), "r") as file:
        rate = file.streams.audio[0].rate
        assert sum(frame.samples for frame in file.decode(audio=0)) / rate == pytest.approx(len(SAID) / 30, abs=0.05)


def test_speech_is_streamed(client: OpenAI) -> None:
    with client.audio.speech.with_streaming_response.create(
        model=SPEAKER, voice="sage", input=SAID, response_format="wav", stream_format="sse"
    ) as answer:
        events = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]
    *pieces, last = events
    assert b"".join([b64decode(piece["audio"]) for piece in pieces]) == say(client, SAID)
    assert last["type"] == "speech.audio.done"
    assert last["usage"]["total_tokens"] == last["usage"]["input_tokens"] + last["usage"]["output_tokens"]


def test_a_rule_states_what_is_said_or_sends_a_file(client: OpenAI) -> None:
    heard = client.audio.transcriptions.create(model=LISTENER, file=("a.wav", say(client, "as a rule")))
    assert heard.text == "The rule speaks"
    assert say(client, "the file") == b"ding dong"


def test_a_rule_matches_what_is_heard(client: OpenAI) -> None:
    sound = say(client, "My secret is 1234.")
    assert client.audio.transcriptions.create(model=LISTENER, file=("a.wav", sound)).text == "[redacted]"
    with pytest.raises(openai.RateLimitError):
        client.audio.transcriptions.create(model=LISTENER, file=("broken.wav", say(client, "hello")))


def test_times_of_sentences_and_words(client: OpenAI) -> None:
    sound = ("long.wav", say(client, "x" * 45))
    found = client.audio.transcriptions.create(
        model="whisper-1", file=sound, response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    assert (found.duration, found.language) == (3.0, "english")
    assert [segment.text.strip() for segment in found.segments or ()] == ["First.", "And second?", "Third!"]
    assert [word.word for word in found.words or ()] == ["First.", "And", "second?", "Third!"]
    times = [time for segment in found.segments or () for time in (segment.start, segment.end)]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0.0, 3.0)


def test_subtitles(client: OpenAI) -> None:
    sound = ("long.wav", say(client, "x" * 45))
    srt = client.audio.transcriptions.create(model="whisper-1", file=sound, response_format="srt")
    assert srt.startswith("1\n00:00:00,000 --> 00:00:00,720\nFirst.\n\n2\n")
    vtt = client.audio.transcriptions.create(model="whisper-1", file=sound, response_format="vtt")
    assert vtt.startswith("WEBVTT\n\n00:00:00.000 --> 00:00:00.720\nFirst.\n")
    plain = client.audio.transcriptions.create(model="whisper-1", file=sound, response_format="text")
    assert plain == "First. And second? Third!\n"


def test_speakers_are_told_apart(client: OpenAI) -> None:
    found = client.audio.transcriptions.create(
        model="gpt-4o-transcribe-diarize",
        file=("long.wav", say(client, "x" * 45)),
        response_format="diarized_json",
        chunking_strategy="auto",
    )
    assert [(each.speaker, each.text) for each in found.segments] == [
        ("A", "First."),
        ("A", "And second?"),
        ("A", "Third!"),
    ]


def test_a_transcription_is_streamed(client: OpenAI) -> None:
    sound = ("said.wav", say(client, SAID))
    events = list(client.audio.transcriptions.create(model=LISTENER, file=sound, stream=True, include=["logprobs"]))
    assert "".join([event.delta for event in events if event.type == "transcript.text.delta"]) == SAID
    last = events[-1]
    assert last.type == "transcript.text.done"
    assert last.text == SAID
    assert last.logprobs


def test_a_streamed_transcription_ends_as_chats_do(client: OpenAI) -> None:
    asked: Any = {"model": LISTENER, "file": ("said.wav", say(client, SAID)), "stream": True}
    with client.audio.transcriptions.with_streaming_response.create(**asked) as answer:
        assert answer.read().endswith(b"data: [DONE]\n\n")


def test_a_translation(client: OpenAI) -> None:
    sound = ("said.wav", say(client, "Guten Tag"))
    with pytest.deprecated_call():
        assert client.audio.translations.create(model="whisper-1", file=sound).text == "Guten Tag"
    with pytest.deprecated_call():
        whole = client.audio.translations.create(model="whisper-1", file=sound, response_format="verbose_json")
    assert (whole.language, whole.text) == ("english", "Guten Tag")


def test_a_recording_of_others_gets_plain_words_for_as_long_as_it_is(client: OpenAI) -> None:
    short, long, again = (
        client.audio.transcriptions.create(model=LISTENER, file=("other.mp3", b"ID3" + bytes(size))).text
        for size in (8_000, 80_000, 8_000)
    )
    assert (len(short.split()), len(long.split())) == (5, 50)
    assert again == short


PNG, PDF = write_png(draw("A cat", 16, 16, Seed())), b"%PDF-1.7 not a sound"


@pytest.mark.parametrize("model", ["whisper-1", LISTENER])
@pytest.mark.parametrize(
    ("file", "message"),
    [
        (("cat.png", PNG), "could not be decoded|might be corrupted"),
        (("said.wav", PNG), "could not be decoded|might be corrupted"),
        (("upload", PDF), "could not be decoded|might be corrupted"),
        (("notes.txt", b"words"), "Invalid file format"),
        (("said.wav", b""), "too short"),
        (("said.wav", write_wav(Speech("Hi"))[:48]), "too short"),
    ],
)
def test_what_is_no_sound_is_refused(client: OpenAI, model: str, file: tuple[str, bytes], message: str) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        client.audio.transcriptions.create(model=model, file=file)


@pytest.mark.parametrize("file", [b"Example data", ("said.mp3", b"Example data")])
def test_a_placeholder_is_taken_for_a_sound_but_by_the_live_api(client: OpenAI, file: Any) -> None:
    assert client.audio.transcriptions.create(model=LISTENER, file=file).text
    with (
        served("settings: {validation: live}\n") as server,
        OpenAI(base_url=server.base("openai"), api_key="any") as strict,
        pytest.raises(openai.BadRequestError),
    ):
        strict.audio.transcriptions.create(model=LISTENER, file=file)


def test_without_validation_any_file_and_any_voice_will_do() -> None:
    with (
        served("settings: {validation: off}\n") as server,
        OpenAI(base_url=server.base("openai"), api_key="any") as client,
    ):
        assert client.audio.transcriptions.create(model="whisper-1", file=("notes.txt", b"words")).text
        assert client.audio.speech.create(model="kokoro", voice="af_heart", input="Hi", response_format="wav").content


def test_voices_and_the_consent_to_them_are_kept(client: OpenAI) -> None:
    sound = ("me.wav", say(client, "I agree to this."))
    consent = client.audio.voice_consents.create(name="Ada", language="en-US", recording=sound)
    assert client.audio.voice_consents.update(consent.id, name="Ada L.").name == "Ada L."
    assert [each.id for each in client.audio.voice_consents.list()] == [consent.id]
    voice = client.audio.voices.create(name="Ada", consent=consent.id, audio_sample=sound)
    assert (voice.object, voice.name) == ("audio.voice", "Ada")
    spoken = client.audio.speech.create(model=SPEAKER, voice={"id": voice.id}, input="Hi", response_format="wav")
    assert client.audio.transcriptions.create(model=LISTENER, file=("a.wav", spoken.content)).text == "Hi"
    with pytest.raises(openai.BadRequestError, match="too short"):
        client.audio.voices.create(name="Ada", consent=consent.id, audio_sample=("me.wav", b""))
    assert client.audio.voice_consents.delete(consent.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.audio.voice_consents.retrieve(consent.id)


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"voice": "alloy"}, "input"),
        ({"input": "hi"}, "voice"),
        ({"input": "hi", "voice": "batman"}, "voice"),
        ({"input": "hi", "voice": {"id": 1}}, "voice.id"),
        ({"input": "x" * 4_097, "voice": "alloy"}, "input"),
        ({"input": "hi", "voice": "alloy", "speed": 9}, "speed"),
        ({"input": "hi", "voice": "alloy", "response_format": "midi"}, "response_format"),
    ],
)
def test_what_nobody_can_say_is_refused(server: Served, asked: dict[str, object], param: str) -> None:
    answer = httpx2.post(f"{server.base('openai')}/audio/speech", json=asked)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_a_transcription_needs_a_file_and_a_known_format(server: Served) -> None:
    url = f"{server.base('openai')}/audio/transcriptions"
    missing = httpx2.post(url, files={"other": ("a", b"x")}, data={"model": LISTENER})
    assert missing.json()["error"]["message"] == "Missing required parameter: 'file'."
    unknown = httpx2.post(url, files={"file": ("a", b"x")}, data={"response_format": "yaml"})
    assert (unknown.status_code, unknown.json()["error"]["param"]) == (400, "response_format")


@pytest.mark.parametrize(
    ("name", "model", "wanted", "message"),
    [
        ("said.txt", LISTENER, "json", "Invalid file format. Supported formats:"),
        ("said.wav", LISTENER, "srt", "response_format 'srt' is not compatible with model 'gpt-4o-transcribe'."),
    ],
)
def test_the_live_api_refuses_more(name: str, model: str, wanted: str, message: str) -> None:
    with served("settings: {validation: live}\n") as server:
        url = f"{server.base('openai')}/audio/transcriptions"
        sound = write_wav(Speech("Hi"))
        answer = httpx2.post(url, files={"file": (name, sound)}, data={"model": model, "response_format": wanted})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(message)


@pytest.mark.parametrize("text", ["!" * 30_000 + "x", " " * 30_000, "a" + " " * 30_000, "a. " * 10_000])
@pytest.mark.parametrize("how", [{"response_format": "srt"}, {"response_format": "verbose_json"}, {"stream": "true"}])
def test_a_long_text_takes_no_longer_than_its_length(server: Served, text: str, how: dict[str, str]) -> None:
    url = f"{server.base('openai')}/audio/transcriptions"
    sound = b"ID3" + Speech(text).mark
    answer = httpx2.post(url, files={"file": ("a.mp3", sound)}, data={"model": LISTENER, **how}, timeout=5)
    assert answer.status_code == 200


def test_a_recording_needs_no_file_name(server: Served) -> None:
    sound = write_wav(Speech("Hi"))
    head = b'--b\r\nContent-Disposition: form-data; name="file"\r\nContent-Type: application/octet-stream\r\n\r\n'
    how = {"content-type": "multipart/form-data; boundary=b"}
    url = f"{server.base('openai')}/audio/transcriptions"
    assert httpx2.post(url, content=head + sound + b"\r\n--b--\r\n", headers=how).json()["text"] == "Hi"
