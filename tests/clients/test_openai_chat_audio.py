"""OpenAI's own client with chats that are spoken, over a real socket: plain, streamed, and as rules state."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Any, Literal

import openai
import pytest
from openai import OpenAI
from openai.types.chat.chat_completion_audio import ChatCompletionAudio

from mockserver.media.sound_files import Speech, hear, write_wav
from mockserver.wire.chat_audio import CHAT_FORMATS
from tests.kit.served import Served, served

RULES = """
rules:
  - {when: {operation: chat, last_user: "*as a rule*"}, then: {audio: {text: The rule speaks, voice: onyx}}}
  - {when: {operation: chat, last_user: "*file*"}, then: {audio: {file: jingle.wav}}}
  - when: {last_user: "*weather*", tool_result: {exists: false}}
    then: {tool_calls: [{name: get_weather, arguments: {}}]}
  - {when: {last_user: "*spent*"}, then: {text: Hello, usage: {completion_tokens: 9, completion_audio_tokens: 8}}}
  - {then: {text: "Ahoy, sailor!"}}
"""
JINGLE = write_wav(Speech("Ding dong"))
SPEAKER: dict[str, Any] = {"model": "gpt-audio", "modalities": ["text", "audio"]}
Kind = Literal["wav", "aac", "mp3", "flac", "opus", "pcm16"]


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES, files={"jingle.wav": JINGLE}) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[OpenAI]:
    strict = OpenAI(base_url=server.base("openai"), api_key="sk-test", max_retries=0, _strict_response_validation=True)
    with strict as client:
        yield client


def say(client: OpenAI, text: str, kind: Kind = "wav", **more: Any) -> ChatCompletionAudio:
    messages = [{"role": "user", "content": text}]
    sound = {"voice": "alloy", "format": kind}
    made = client.chat.completions.create(**{**SPEAKER, "audio": sound, "messages": messages, **more})
    message = made.choices[0].message
    assert message.content is None
    assert isinstance(message.audio, ChatCompletionAudio)
    return message.audio


@pytest.mark.parametrize("kind", CHAT_FORMATS)
def test_a_message_is_a_sound_with_its_transcript(client: OpenAI, kind: Kind) -> None:
    audio = say(client, "Hi", kind)
    assert audio.id.startswith("audio_")
    assert audio.transcript == "Ahoy, sailor!"
    assert audio.expires_at == 1_700_003_600
    assert hear(b64decode(audio.data)) == "Ahoy, sailor!"
    assert say(client, "Hi", kind) == audio


def test_each_choice_is_spoken_and_counted(client: OpenAI) -> None:
    made = client.chat.completions.create(
        **SPEAKER, audio={"voice": "alloy", "format": "wav"}, n=2, messages=[{"role": "user", "content": "Hi"}]
    )
    first, second = (choice.message.audio for choice in made.choices)
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert made.usage is not None
    assert made.usage.completion_tokens_details is not None
    assert made.usage.completion_tokens_details.audio_tokens == 35  # 20 a second
    assert made.usage.completion_tokens == 2 * 4 + 35
    assert made.usage.total_tokens == made.usage.prompt_tokens + made.usage.completion_tokens


def test_a_usage_of_a_rule_stays(client: OpenAI) -> None:
    made = client.chat.completions.create(
        **SPEAKER, audio={"voice": "ash", "format": "wav"}, messages=[{"role": "user", "content": "All is spent"}]
    )
    assert made.usage is not None
    assert made.usage.completion_tokens_details is not None
    assert (made.usage.completion_tokens, made.usage.completion_tokens_details.audio_tokens) == (9, 8)


def test_a_stream_has_the_transcript_then_samples_then_the_end(client: OpenAI) -> None:
    messages: list[Any] = [{"role": "user", "content": "Hi"}]
    whole = say(client, "Hi", "pcm16")
    with client.chat.completions.create(
        **SPEAKER, audio={"voice": "alloy", "format": "pcm16"}, stream=True, messages=messages
    ) as stream:
        chunks = list(stream)
    first, *rest = [chunk.choices[0].delta for chunk in chunks]
    assert (first.role, first.content, first.audio) == ("assistant", None, None)
    sounds = [delta.audio for delta in rest if delta.audio is not None]
    assert "".join([sound.transcript or "" for sound in sounds]) == whole.transcript
    assert "".join([sound.data or "" for sound in sounds]) == whole.data
    assert len([sound for sound in sounds if sound.data]) > 1
    assert [sound.id for sound in sounds if sound.id] == [sounds[0].id]
    assert sounds[-1].to_dict() == {"expires_at": whole.expires_at}
    assert chunks[-1].choices[0].finish_reason == "stop"
    with client.chat.completions.stream(
        **SPEAKER, audio={"voice": "alloy", "format": "pcm16"}, messages=messages
    ) as helper:
        for _ in helper:
            pass
        joined = helper.get_final_completion().choices[0].message.audio
    assert joined is not None
    assert (joined.transcript, joined.data) == (whole.transcript, whole.data)


def test_rules_state_what_is_said_and_how(client: OpenAI) -> None:
    spoken = say(client, "Speak as a rule")
    assert spoken.transcript == "The rule speaks"
    assert b64decode(spoken.data) == write_wav(Speech("The rule speaks", "onyx"))
    played = say(client, "Play the file")
    assert (played.transcript, b64decode(played.data)) == ("Ding dong", JINGLE)
    assert b64decode(say(client, "Play the file", "pcm16").data) == Speech("Ding dong").samples


def test_a_conversation_goes_on_after_a_sound_and_a_tool_call_has_none(client: OpenAI) -> None:
    spoken = say(client, "Hi")
    tools: list[Any] = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    history: list[Any] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "audio": {"id": spoken.id}},
        {"role": "user", "content": "How is the weather?"},
    ]
    sound: Any = {"voice": {"id": "voice_123"}, "format": "wav"}
    asked = client.chat.completions.create(**SPEAKER, audio=sound, messages=history, tools=tools).choices[0].message
    assert asked.audio is None
    assert asked.tool_calls
    history += [asked.to_dict(), {"role": "tool", "tool_call_id": asked.tool_calls[0].id, "content": "Sunny"}]
    told = client.chat.completions.create(**SPEAKER, audio=sound, messages=history, tools=tools).choices[0].message
    assert told.audio is not None


def test_without_audio_among_the_modalities_it_is_written(client: OpenAI) -> None:
    made = client.chat.completions.create(
        model="gpt-audio",
        modalities=["text"],
        audio={"voice": "ash", "format": "wav"},
        messages=[{"role": "user", "content": "Speak as a rule"}],
    )
    assert made.choices[0].message.content == "The rule speaks"
    assert made.choices[0].message.audio is None


def test_a_stored_chat_keeps_its_sound(client: OpenAI) -> None:
    made = client.chat.completions.create(
        **SPEAKER,
        audio={"voice": "ash", "format": "wav"},
        store=True,
        messages=[{"role": "user", "content": "Keep it"}],
    )
    kept = client.chat.completions.retrieve(made.id)
    assert kept.choices[0].message.audio == made.choices[0].message.audio


def test_the_live_service_streams_samples_only_and_wants_a_voice() -> None:
    messages: Any = [{"role": "user", "content": "Hi"}]
    with (
        served("settings: {validation: live}\n") as server,
        OpenAI(base_url=server.base("openai"), api_key="sk-test", max_retries=0) as client,
    ):
        with pytest.raises(openai.BadRequestError, match=r"'audio\.format' does not support 'mp3' when stream=true"):
            client.chat.completions.create(
                **SPEAKER, audio={"voice": "ash", "format": "mp3"}, stream=True, messages=messages
            )
        with pytest.raises(openai.BadRequestError, match="Missing required parameter: 'audio'"):
            client.chat.completions.create(**SPEAKER, messages=messages)
