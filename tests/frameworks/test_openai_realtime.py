"""The Agents SDK of OpenAI in a voice session: what it says and hears, its tools, and interruptions."""

import asyncio

from agents import function_tool
from agents.realtime import AssistantMessageItem, RealtimeAgent, RealtimeRunner, RealtimeSession, UserMessageItem
from agents.realtime.items import AssistantAudio, InputAudio

from mockserver.media.tone import read_tone, write_tone
from tests.frameworks.inputs import WEATHER, get_weather

SILENCE = bytes(48_000)


async def listen(session: RealtimeSession, answers: int) -> tuple[bytes, list[str]]:
    """Return what is heard in a session, and which tools are called, until so many responses are over."""
    sound, used = b"", []
    async for event in session:
        assert event.type != "error", event.error
        if event.type == "audio":
            sound += event.audio.data
        elif event.type == "tool_end":
            used.append(event.tool.name)
        elif event.type == "agent_end":
            answers -= 1
            if not answers:
                break
    return sound, used


async def test_a_voice_agent_uses_a_tool_and_answers(address: str) -> None:
    agent = RealtimeAgent("Guide", instructions="Help.", tools=[function_tool(get_weather)])
    url = f"ws{address.removeprefix('http')}/realtime?model=gpt-realtime"
    async with await RealtimeRunner(agent).run(model_config={"url": url, "api_key": "any"}) as session:
        await session.send_audio(write_tone(WEATHER) + SILENCE)
        sound, used = await asyncio.wait_for(listen(session, answers=2), timeout=30)
        assert used == ["get_weather"]
        assert "sunny in Paris" in (read_tone(sound) or "")
        await session.send_audio(write_tone("Thank you!") + SILENCE)
        await asyncio.wait_for(listen(session, answers=1), timeout=30)
        said = [
            part.transcript
            for item in session._history
            if isinstance(item, UserMessageItem)
            for part in item.content
            if isinstance(part, InputAudio)
        ]
        answered = [
            part.transcript
            for item in session._history
            if isinstance(item, AssistantMessageItem)
            for part in item.content
            if isinstance(part, AssistantAudio)
        ]
    assert said == [WEATHER, "Thank you!"]
    assert len(answered) == 2
    assert all(answered)
