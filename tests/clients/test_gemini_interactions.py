"""Google's client with interactions: whole and streamed, continued, with tools, schemas, media and agents."""

import asyncio
import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import types

from mockserver.media.file_kinds import recognize
from mockserver.media.tone import read_tone
from mockserver.testing import MockServer

MODEL = "gemini-2.5-flash"
WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "Return the weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="generate") as running:
        yield running


@pytest.fixture
def client(server: MockServer) -> Iterator[Any]:
    options = types.HttpOptions(base_url=server.base_url("gemini"), retry_options=types.HttpRetryOptions(attempts=1))
    with genai.Client(api_key="any", http_options=options) as opened:
        yield opened


def test_an_interaction_goes_on_and_is_found_again(server: MockServer, client: Any) -> None:
    server.on(last_user="And then?", conversation="*Once upon a time*").reply("The end.")
    server.on(system="*Tell stories*", last_user="Begin").reply("Once upon a time")
    first = client.interactions.create(model=MODEL, input="Begin", system_instruction="Tell stories.")
    assert (first.status, first.output_text, first.model) == ("completed", "Once upon a time", MODEL)
    assert first.usage.total_tokens == first.usage.total_input_tokens + first.usage.total_output_tokens
    then = client.interactions.create(model=MODEL, input="And then?", previous_interaction_id=first.id)
    assert (then.output_text, then.previous_interaction_id) == ("The end.", first.id)
    assert client.interactions.get(first.id).output_text == "Once upon a time"
    client.interactions.delete(first.id)
    with pytest.raises(Exception, match="not found"):
        client.interactions.get(first.id)


@pytest.mark.parametrize("model", [MODEL, "gemini-3-pro-image-preview"])
def test_what_is_not_stored_is_unknown(model: str, server: MockServer, client: Any) -> None:
    made = client.interactions.create(model=model, input="Hello", store=False)
    assert client.interactions.get(made.id).steps == []  # as unknown ids are invented


def test_a_stream_has_the_steps_in_pieces(server: MockServer, client: Any) -> None:
    server.on("Think").reply("So it is", reasoning="Let me see")
    config: Any = {"thinking_summaries": "auto"}
    asked: Any = {"model": MODEL, "input": "Think", "generation_config": config}
    thought, output = client.interactions.create(**asked).steps
    events = list(client.interactions.create(**asked, stream=True))
    kinds = [event.event_type for event in events]
    assert kinds[:3] == ["interaction.created", "interaction.status_update", "step.start"]
    assert kinds[-2:] == ["step.stop", "interaction.completed"]
    assert [event.step.type for event in events if event.event_type == "step.start"] == ["thought", "model_output"]
    deltas = [event.delta for event in events if event.event_type == "step.delta"]
    assert "".join([delta.text for delta in deltas if delta.type == "text"]) == output.content[0].text == "So it is"
    summary = "".join([delta.content.text for delta in deltas if delta.type == "thought_summary"])
    assert summary == thought.summary[0].text == "Let me see"
    assert [delta.signature for delta in deltas if delta.type == "thought_signature"] == [thought.signature]
    assert events[-1].interaction.usage.total_thought_tokens

    async def stream() -> list[Any]:
        return [event async for event in await client.aio.interactions.create(**asked, stream=True)]

    assert [event.event_type for event in asyncio.run(stream())] == kinds


@pytest.mark.parametrize("is_stored", [True, False])
def test_functions_are_called_and_answered(is_stored: bool, server: MockServer, client: Any) -> None:
    server.on(tool_result={"name": "get_weather", "text": "*sunny*"}).reply("It is sunny.")
    server.on("*weather*").reply(tool_calls=[{"name": "get_weather", "arguments": {"city": "Oslo"}}])
    question: Any = [{"type": "user_input", "content": [{"type": "text", "text": "How is the weather?"}]}]
    asked: Any = {"model": MODEL, "tools": [WEATHER], "store": is_stored}
    called = client.interactions.create(**asked, input=question)
    assert called.status == "requires_action"
    (step,) = called.steps
    assert (step.type, step.name, step.arguments) == ("function_call", "get_weather", {"city": "Oslo"})
    result: Any = {"type": "function_result", "call_id": step.id, "name": step.name, "result": {"sky": "sunny"}}
    history = [] if is_stored else [*question, step.model_dump()]
    before = {"previous_interaction_id": called.id} if is_stored else {}
    assert client.interactions.create(**asked, **before, input=[*history, result]).output_text == "It is sunny."


def test_streamed_calls_have_their_arguments_in_pieces(server: MockServer, client: Any) -> None:
    server.on("*weather*").reply(tool_calls=[{"name": "get_weather", "arguments": {"city": "Oslo"}}])
    events = list(client.interactions.create(model=MODEL, input="The weather?", tools=[WEATHER], stream=True))
    (start,) = [event.step for event in events if event.event_type == "step.start"]
    assert (start.type, start.name, start.arguments) == ("function_call", "get_weather", {})
    pieces = [event.delta.arguments for event in events if event.event_type == "step.delta"]
    assert len(pieces) > 1
    assert json.loads("".join(pieces)) == {"city": "Oslo"}
    assert events[-1].interaction.status == "requires_action"


@pytest.mark.parametrize("is_bare", [True, False])
def test_schemas_tool_choices_and_settings_are_read(is_bare: bool, client: Any) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    form = {"type": "text", "mime_type": "application/json", "schema": schema}
    made = client.interactions.create(model=MODEL, input="Ada is 36", response_format=schema if is_bare else [form])
    assert json.loads(made.output_text) == {"age": 36}
    choice: Any = {"allowed_tools": {"mode": "any", "tools": ["get_weather"]}}
    called = client.interactions.create(
        model=MODEL, input="Hello", tools=[WEATHER], generation_config={"tool_choice": choice}
    )
    assert called.steps[0].name == "get_weather"
    short = client.interactions.create(model=MODEL, input="Hello", generation_config={"max_output_tokens": 2})
    assert (short.status, short.usage.total_output_tokens) == ("incomplete", 2)


def test_pictures_and_speech_are_outputs(client: Any) -> None:
    wide: Any = {"type": "image", "aspect_ratio": "16:9"}
    picture = client.interactions.create(model="gemini-3-pro-image-preview", input="A red boat", response_format=wide)
    assert recognize(b64decode(picture.output_image.data)) == picture.output_image.mime_type == "image/png"
    config: Any = {"speech_config": [{"voice": "Kore"}]}
    asked: Any = {
        "model": "gemini-2.5-flash-preview-tts",
        "response_modalities": ["audio"],
        "generation_config": config,
    }
    spoken = client.interactions.create(**asked, input="Say hello")
    assert read_tone(b64decode(spoken.output_audio.data)) == "Say hello"
    deltas = [
        each.delta for each in client.interactions.create(**asked, input="Hi", stream=True) if hasattr(each, "delta")
    ]
    assert [delta.type for delta in deltas] == ["audio"]


def test_pictures_and_speech_are_kept_and_go_on(server: MockServer, client: Any) -> None:
    server.on(operation="images", conversation="*Tell me of boats*").reply(image={"color": "teal"})
    told = client.interactions.create(model=MODEL, input="Tell me of boats")
    asked: Any = {"model": "gemini-3-pro-image-preview", "input": "Draw one", "previous_interaction_id": told.id}
    begun = client.interactions.create(**asked, background=True)
    assert (begun.status, begun.steps) == ("in_progress", [])
    drawn = client.interactions.get(begun.id)
    assert (drawn.status, drawn.previous_interaction_id) == ("completed", told.id)
    assert server.calls[-2].source.startswith("rule")
    assert drawn.output_image.data == client.interactions.create(**asked).output_image.data
    spoken = client.interactions.create(model="gemini-2.5-flash-preview-tts", input="Say hello")
    assert client.interactions.get(spoken.id).output_audio.data == spoken.output_audio.data
    server.on(last_user="Again", conversation="*Say hello*").reply("As I said")
    again = client.interactions.create(model=MODEL, input="Again", previous_interaction_id=spoken.id)
    assert again.output_text == "As I said"


def test_media_of_the_prompt_reach_rules(server: MockServer, client: Any) -> None:
    server.on("Describe").reply("A dot")
    given: Any = [
        {"type": "text", "text": "Describe"},
        {"type": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png"},
    ]
    assert client.interactions.create(model=MODEL, input=given).output_text == "A dot"
    assert server.calls[0].messages[0].parts[0]["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgo="


def test_agents_work_in_the_background(server: MockServer, client: Any) -> None:
    server.on(model="deep-research*").reply("Tea is old.")
    begun = client.interactions.create(agent="deep-research-pro-preview-12-2025", input="Tea", background=True)
    assert (begun.status, begun.steps, begun.agent) == ("in_progress", [], "deep-research-pro-preview-12-2025")
    found = client.interactions.get(begun.id)
    assert (found.status, found.output_text) == ("completed", "Tea is old.")
    assert client.interactions.cancel(begun.id).status == "completed"


def test_only_what_is_in_progress_is_cancelled(client: Any) -> None:
    begun = client.interactions.create(model=MODEL, input="Hello", background=True)
    cancelled = client.interactions.cancel(begun.id)
    assert (cancelled.status, cancelled.steps) == ("cancelled", [])
    assert client.interactions.get(begun.id).status == "cancelled"
    made = client.interactions.create(model=MODEL, input="Hi")
    assert client.interactions.cancel(made.id).output_text == made.output_text


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"model": MODEL, "input": ""}, "'input' must not be empty"),
        ({"model": MODEL, "input": "x", "generation_config": {"temperature": 9}}, "temperature must be in the range"),
        ({"model": MODEL, "input": "x", "generation_config": {"seed": "x"}}, "seed"),
    ],
)
def test_mistakes_are_refused(asked: Any, message: str, client: Any) -> None:
    with pytest.raises(Exception, match=message):
        client.interactions.create(**asked)


def test_a_failed_call_is_an_error_of_the_client(server: MockServer, client: Any) -> None:
    server.on("Hello").fail("forbidden")
    with pytest.raises(Exception, match="PERMISSION_DENIED"):
        client.interactions.create(model=MODEL, input="Hello")
