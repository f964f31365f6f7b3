"""Sessions for browsers: ChatKit's, and those of Realtime as its beta made them."""

from typing import Any

import openai
import pytest
from openai import OpenAI

# The blocking client opens its connection in a way that websockets will drop.
pytestmark = pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")
RULES = "rules: []"


def test_a_session_of_chatkit(client: OpenAI) -> None:
    made = client.beta.chatkit.sessions.create(
        user="ada",
        workflow={"id": "wf_1", "state_variables": {"n": 1}},
        chatkit_configuration={"file_upload": {"enabled": True}},
        expires_after={"anchor": "created_at", "seconds": 60},
    )
    assert (made.user, made.status) == ("ada", "active")
    assert (made.workflow.id, made.workflow.state_variables) == ("wf_1", {"n": 1})
    assert made.client_secret.startswith("ek_")
    assert made.expires_at == 1_700_000_060
    assert made.chatkit_configuration.file_upload.enabled
    assert client.beta.chatkit.sessions.cancel(made.id).status == "cancelled"
    with pytest.raises(openai.BadRequestError, match="workflow"):
        client.post("/chatkit/sessions", body={"user": "ada"}, cast_to=object)


def test_a_session_of_the_realtime_beta(client: OpenAI) -> None:
    made = client.beta.realtime.sessions.create(
        model="gpt-4o-realtime-preview",
        voice="verse",
        modalities=["text", "audio"],
        instructions="Be brief.",
        input_audio_format="g711_ulaw",
        turn_detection={"type": "server_vad", "threshold": 0.3},
        tools=[{"type": "function", "name": "look", "parameters": {}}],
    )
    assert made.client_secret.value.startswith("ek_")
    assert (made.voice, made.modalities, made.instructions) == ("verse", ["text", "audio"], "Be brief.")
    assert (made.input_audio_format, made.output_audio_format) == ("g711_ulaw", "pcm16")
    assert made.turn_detection is not None
    assert made.turn_detection.threshold == 0.3
    with pytest.raises(openai.BadRequestError, match="Supported values are: 'alloy'"):
        client.post("/realtime/sessions", body={"voice": "nobody"}, cast_to=object)


def test_the_secret_of_the_beta_opens_a_session(client: OpenAI) -> None:
    made: Any = client.post("/realtime/sessions", body={"voice": "ash", "instructions": "Be kind."}, cast_to=object)
    browser = client.with_options(api_key=made["client_secret"]["value"])
    with browser.realtime.connect(model="gpt-realtime") as connection:
        created: Any = connection.recv()
    assert created.type == "session.created"
    assert (created.session.instructions, created.session.audio.output.voice) == ("Be kind.", "ash")


def test_a_transcription_session_of_the_beta(client: OpenAI) -> None:
    made = client.beta.realtime.transcription_sessions.create(
        input_audio_format="pcm16", input_audio_transcription={"model": "gpt-4o-transcribe"}
    )
    assert made.input_audio_transcription is not None
    assert (made.input_audio_format, made.input_audio_transcription.model) == ("pcm16", "gpt-4o-transcribe")
    assert made.client_secret.value.startswith("ek_")
