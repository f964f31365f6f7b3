"""Google's client in Live sessions: text, speech, tools and interruptions."""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK
from websockets.sync.client import connect

from mockserver.core.json import try_parse
from mockserver.media.sound_files import write_wav_file
from mockserver.media.tone import read_tone, write_tone
from mockserver.testing import MockServer

MODEL = "gemini-live-2.5-flash-preview"
TOOL: Any = {"function_declarations": [{"name": "get_weather", "parameters": {"type": "OBJECT", "properties": {}}}]}
SERVICE = "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
SILENCE = bytes(48_000)  # a second


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(lint="off", timing=True) as running:
        running.on(operation="realtime", tool_result={"name": "get_weather"}).reply("It is 5 degrees.")
        running.on(operation="realtime", last_user="*weather*").reply(tool_calls=[{"name": "get_weather"}])
        running.on(last_user="hello").reply("Hi there, friend")
        running.on(last_user="again", conversation="*Hi there, friend*").reply("Once more")
        running.on(last_user="slow").reply("one two three four five", timing={"per_token": "300ms"})
        running.on(last_user="refuse").fail(429)
        yield running


@pytest.fixture
def client(server: MockServer) -> Iterator[genai.Client]:
    options = types.HttpOptions(base_url=server.base_url("gemini"))
    with genai.Client(api_key="any", http_options=options) as opened:
        plain = server.base_url("gemini").replace("http", "ws", 1)  # it knows wss alone
        opened._api_client._websocket_base_url = lambda options=None: plain  # type: ignore[method-assign]
        opened._api_client._websocket_ssl_ctx = {}
        yield opened


async def listen(session: Any) -> list[types.LiveServerMessage]:
    """The messages of one turn."""
    return [message async for message in session.receive()]


def say(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def written(messages: list[types.LiveServerMessage]) -> str:
    return "".join(message.text or "" for message in messages)


def test_a_conversation_in_text(server: MockServer, client: genai.Client) -> None:
    async def talk() -> tuple[str, str, types.UsageMetadata | None]:
        async with client.aio.live.connect(model=MODEL, config={"response_modalities": ["TEXT"]}) as session:
            await session.send_client_content(turns=say("hello"), turn_complete=True)
            first = await listen(session)
            await session.send_realtime_input(text="again")
            return written(first), written(await listen(session)), first[-1].usage_metadata

    first, second, usage = asyncio.run(talk())
    assert (first, second) == ("Hi there, friend", "Once more")
    assert usage is not None
    assert usage.response_token_count
    assert [call.operation for call in server.calls] == ["realtime", "realtime"]
    (session,) = server.service_calls
    assert (session.operation, session.row.ending) == ("realtime_session", "complete")


@pytest.mark.parametrize("rate", [24_000, 16_000])
def test_a_voice_agent(rate: int, server: MockServer, client: genai.Client) -> None:
    config: Any = {
        "response_modalities": ["AUDIO"],
        "tools": [TOOL],
        "input_audio_transcription": {},
        "output_audio_transcription": {},
    }
    server.on(operation="transcriptions").reply(transcript="How is the weather?")
    spoken = write_tone("How is the weather?") + SILENCE
    if rate == 16_000:  # of every three samples two
        spoken = b"".join([spoken[at : at + 4] for at in range(0, len(spoken), 6)])

    async def talk() -> tuple[str, str, bytes]:
        said, heard, sound = "", "", b""
        async with client.aio.live.connect(model=MODEL, config=config) as session:
            await session.send_realtime_input(audio=types.Blob(data=spoken, mime_type=f"audio/pcm;rate={rate}"))
            async for message in session.receive():  # to the end of the turn, which the result of a call continues
                if message.tool_call is not None:
                    (called,) = message.tool_call.function_calls or ()
                    result = types.FunctionResponse(id=called.id, name=called.name, response={"degrees": 5})
                    await session.send_tool_response(function_responses=result)
                content = message.server_content
                if content is not None and content.input_transcription is not None:
                    heard += content.input_transcription.text or ""
                if content is not None and content.output_transcription is not None:
                    said += content.output_transcription.text or ""
                sound += message.data or b""
        return heard, said, sound

    heard, said, sound = asyncio.run(asyncio.wait_for(talk(), 30))
    assert (heard, said) == ("How is the weather?", "It is 5 degrees.")
    assert read_tone(sound) == "It is 5 degrees."


def test_speech_is_heard_word_for_word(client: genai.Client) -> None:
    async def talk() -> str:
        async with client.aio.live.connect(model=MODEL, config={"response_modalities": ["TEXT"]}) as session:
            blob = types.Blob(data=write_tone("hello") + SILENCE, mime_type="audio/pcm;rate=24000")
            await session.send_realtime_input(audio=blob)
            return written(await listen(session))

    assert asyncio.run(asyncio.wait_for(talk(), 30)) == "Hi there, friend"


def test_turns_that_the_client_marks(client: genai.Client) -> None:
    config: Any = {
        "response_modalities": ["TEXT"],
        "realtime_input_config": {"automatic_activity_detection": {"disabled": True}},
    }

    async def talk() -> str:
        async with client.aio.live.connect(model=MODEL, config=config) as session:
            await session.send_realtime_input(activity_start=types.ActivityStart())
            blob = types.Blob(data=write_tone("hello"), mime_type="audio/pcm;rate=24000")
            await session.send_realtime_input(audio=blob)
            await session.send_realtime_input(activity_end=types.ActivityEnd())
            return written(await listen(session))

    assert asyncio.run(asyncio.wait_for(talk(), 30)) == "Hi there, friend"


def test_each_utterance_is_a_turn_and_silence_is_none(server: MockServer, client: genai.Client) -> None:
    def make_blob(data: bytes) -> types.Blob:
        return types.Blob(data=data, mime_type="audio/pcm;rate=24000")

    async def talk() -> list[str]:
        said = []
        async with client.aio.live.connect(model=MODEL, config={"response_modalities": ["TEXT"]}) as session:
            both = write_tone("slow") + SILENCE + write_tone("hello") + SILENCE
            await session.send_realtime_input(audio=make_blob(both))  # the second interrupts the first
            said.append(written([message async for message in until_complete(session)]))
            await session.send_realtime_input(audio=make_blob(SILENCE[:-1]))  # half a sample
            await session.send_realtime_input(audio_stream_end=True)  # after silence
            await session.send_realtime_input(audio=make_blob(write_tone("again")))
            await session.send_realtime_input(audio_stream_end=True)  # within speech
            said.append(written([message async for message in until_complete(session)]))
            await session.send_realtime_input(audio=make_blob(SILENCE))
            await session.send_realtime_input(text="hello")
            said.append(written([message async for message in until_complete(session)]))
        return said

    assert asyncio.run(asyncio.wait_for(talk(), 30)) == ["Hi there, friend", "Once more", "Hi there, friend"]
    assert [call.last_user for call in server.calls] == ["slow", "hello", "again", "hello"]


async def until_complete(session: Any) -> AsyncIterator[types.LiveServerMessage]:
    """What comes until a turn is complete; one that is interrupted has no such end."""
    while True:
        message = await session._receive()
        yield message
        if message.server_content is not None and message.server_content.turn_complete:
            return


def test_the_user_interrupts(client: genai.Client) -> None:
    async def talk() -> list[types.LiveServerMessage]:
        async with client.aio.live.connect(model=MODEL, config={"response_modalities": ["TEXT"]}) as session:
            await session.send_client_content(turns=say("slow"), turn_complete=True)
            first = await session._receive()
            await session.send_client_content(turns=say("hello"), turn_complete=True)
            return [first, *await listen(session)]

    messages = asyncio.run(asyncio.wait_for(talk(), 30))
    assert any(message.server_content and message.server_content.interrupted for message in messages)
    assert written(messages).endswith("Hi there, friend")


def test_what_is_refused_ends_the_session(client: genai.Client) -> None:
    async def talk() -> None:
        async with client.aio.live.connect(model=MODEL, config={"response_modalities": ["TEXT"]}) as session:
            await session.send_client_content(turns=say("refuse"), turn_complete=True)
            await listen(session)

    with pytest.raises(errors.APIError, match="quota") as caught:
        asyncio.run(asyncio.wait_for(talk(), 30))
    assert caught.value.code == 1011


@pytest.mark.parametrize(
    "message",
    [
        "no JSON",
        "[]",
        "{}",
        '{"clientContent": {}}',
        '{"setup": {"generationConfig": {"temperature": "warm"}}}',
        '{"setup": 1}',
        '{"realtimeInput": {"audio": {"data": "AAAA", "mimeType": "audio/pcm;rate=0000"}}}',
        '{"realtimeInput": {"audio": {"data": "*", "mimeType": "audio/pcm"}}}',
        '{"toolResponse": {"functionResponses": 3}}',
    ],
)
def test_a_message_that_is_wrong_ends_the_session(message: str, server: MockServer) -> None:
    url = f"{server.base_url('gemini').replace('http', 'ws', 1)}/ws/{SERVICE}"
    with connect(url) as socket:
        if "realtime" in message or "tool" in message:
            socket.send('{"setup": {"model": "models/x"}}')
            assert socket.recv() == b'{"setupComplete":{}}'
        socket.send(message)
        with pytest.raises(ConnectionClosedError) as closed:
            socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1007
    assert closed.value.rcvd.reason


def test_a_rate_that_changes_within_speech_ends_the_session(server: MockServer) -> None:
    url = f"{server.base_url('gemini').replace('http', 'ws', 1)}/ws/{SERVICE}"
    with connect(url) as socket:
        socket.send('{"setup": {"model": "models/x"}}')
        assert socket.recv() == b'{"setupComplete":{}}'
        for sound, rate in ((write_tone("hello"), 24_000), (SILENCE, 16_000)):
            data = b64encode(sound).decode()
            socket.send(f'{{"realtimeInput": {{"audio": {{"data": "{data}", "mimeType": "audio/pcm;rate={rate}"}}}}}}')
        with pytest.raises(ConnectionClosedError, match="rate of the audio cannot change"):
            socket.recv()


def _ask_live(
    server: MockServer, text: str, modality: str = "TEXT", *, service: str = SERVICE, model: str = "x"
) -> Iterator[dict[str, Any]]:
    """Yield what a session says to a text, up to the end of the turn; frames that are no JSON as `{"raw": ...}`."""
    url = f"{server.base_url('gemini').replace('http', 'ws', 1)}/ws/{service}"
    with connect(url) as socket:
        socket.send(json.dumps({"setup": {"model": model, "generationConfig": {"responseModalities": [modality]}}}))
        socket.recv()
        turns = [{"parts": [{"text": text}]}]
        socket.send(json.dumps({"clientContent": {"turns": turns, "turnComplete": True}}))
        while True:
            data = socket.recv()
            message = try_parse(bytes(data).decode()) if isinstance(data, bytes) else None
            yield message if isinstance(message, dict) else {"raw": data}
            if isinstance(message, dict) and (
                "toolCall" in message or "turnComplete" in message.get("serverContent", {})
            ):
                return


def test_vertex_ai_has_a_path_of_its_own(server: MockServer) -> None:
    service = "google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent"
    said = _ask_live(server, "hello", service=service, model=f"projects/p/locations/l/publishers/google/models/{MODEL}")
    parts = [part for message in said for part in message["serverContent"].get("modelTurn", {}).get("parts", ())]
    assert "".join(part["text"] for part in parts) == "Hi there, friend"
    assert server.calls[0].model == MODEL


def test_calls_come_together_and_last(server: MockServer) -> None:
    server.on(last_user="both").reply("Sure", tool_calls=[{"name": "a"}, {"name": "b"}], timing={"per_token": "50ms"})
    *_, before, calls = _ask_live(server, "both")
    assert before["serverContent"]["modelTurn"]["parts"] == [{"text": "Sure"}]
    assert [(call["id"], call["name"]) for call in calls["toolCall"]["functionCalls"]] == [
        ("function-call-1", "a"),
        ("function-call-2", "b"),
    ]
    assert calls["usageMetadata"]["totalTokenCount"] > 0


def test_a_rule_states_the_sound(server: MockServer, tmp_path: Path) -> None:
    sound = write_tone("something else")
    (tmp_path / "song.wav").write_bytes(write_wav_file(sound))
    server.on(operation="realtime", last_user="sing").reply(audio={"file": str(tmp_path / "song.wav")})
    said = [message.get("serverContent", {}).get("modelTurn") for message in _ask_live(server, "sing", "AUDIO")]
    heard = b"".join([b64decode(turn["parts"][0]["inlineData"]["data"]) for turn in said if turn])
    assert heard.startswith(sound)


def test_faults_and_stated_bodies_reach_the_client(server: MockServer) -> None:
    server.on(last_user="spoil").reply("one two three", faults=["malformed_json"])
    assert any(b'"candidates"' in message.get("raw", b"") for message in _ask_live(server, "spoil"))
    server.on(last_user="break").reply("one two three", faults=["error_event"])
    with pytest.raises(ConnectionClosedError, match="1011"):
        [*_ask_live(server, "break")]
    bodies = ("[1]", '{"candidates": ["x"]}', '{"candidates": {"a": 1}}', '{"candidates": [{"content": 1}]}')
    for number, body in enumerate(bodies):
        server.on(last_user=f"raw {number}").reply(raw={"status": 200, "body": body})
        with pytest.raises(ConnectionClosedOK):
            [*_ask_live(server, f"raw {number}")]


def test_a_setup_that_is_wrong_is_refused(client: genai.Client) -> None:
    async def talk() -> None:
        config: Any = {"response_modalities": ["TEXT"], "temperature": "warm"}
        async with client.aio.live.connect(model=MODEL, config=types.LiveConnectConfig.model_construct(**config)):
            pass

    with pytest.raises(Exception, match=r"1007|TYPE_FLOAT|warm"):
        asyncio.run(asyncio.wait_for(talk(), 30))


@pytest.mark.filterwarnings("ignore::google.genai.errors.ExperimentalWarning")
def test_a_token_opens_a_session_for_the_key_that_made_it() -> None:
    with MockServer(keys=["secret"]) as server:
        server.on(system="*Be brief*", last_user="hello").reply("Hi")
        options = types.HttpOptions(base_url=server.base_url("gemini"), api_version="v1alpha")

        async def talk(key: str) -> str:
            browser = genai.Client(api_key=key, http_options=options)
            plain = server.base_url("gemini").replace("http", "ws", 1)
            browser._api_client._websocket_base_url = lambda options=None: plain  # type: ignore[method-assign]
            browser._api_client._websocket_ssl_ctx = {}
            async with browser.aio.live.connect(model=MODEL, config={"response_modalities": ["TEXT"]}) as session:
                await session.send_client_content(turns=say("hello"), turn_complete=True)
                return written(await listen(session))

        config: Any = {"uses": 1, "live_connect_constraints": {"config": {"system_instruction": "Be brief."}}}
        with genai.Client(api_key="secret", http_options=options) as client:
            token = client.auth_tokens.create(config=config)
            forever = client.auth_tokens.create(config={**config, "uses": 0})
        assert token.name is not None
        assert asyncio.run(talk(token.name)) == "Hi"
        with pytest.raises(ConnectionClosedError, match="no uses left"):
            asyncio.run(talk(token.name))
        assert [asyncio.run(talk(str(forever.name))) for _ in range(2)] == ["Hi", "Hi"]
        with pytest.raises(ConnectionClosedError, match="API key not valid"):
            asyncio.run(talk("auth_tokens/unknown"))
