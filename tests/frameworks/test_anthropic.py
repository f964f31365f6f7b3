"""Anthropic's own loop: the tool runner with threads and without, streams, tools that fail, and parsed answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic, beta_async_tool, beta_tool
from anthropic.tools import BetaLocalFilesystemMemoryTool

from tests.frameworks.inputs import (
    PERSON,
    TWO_CITIES,
    WEATHER,
    WEATHER_AND_MONEY,
    WEATHER_AND_PERSON,
    Person,
    convert_currency,
    get_weather,
)

pytestmark = pytest.mark.usefixtures("address")
ADA = Person(name="Ada Lovelace", age=36)
TOOLS = [beta_tool(get_weather), beta_tool(convert_currency)]
WAYS: dict[str, Mapping[str, Any]] = {"thread": {}, "history": {"thread": False}, "stream": {"stream": True}}
MODELS = ("claude-sonnet-5-5", "claude-haiku-4-5")


def asked(prompt: str, model: str = MODELS[0]) -> dict[str, Any]:
    return {"model": model, "max_tokens": 1000, "messages": [{"role": "user", "content": prompt}]}


def turns(prompt: str, **options: Any) -> list[Any]:
    """The messages of the model, in order."""
    with Anthropic(max_retries=0) as client:
        runner = client.beta.messages.tool_runner(max_iterations=4, **asked(prompt), **options)
        return [turn.get_final_message() if "stream" in options else turn for turn in runner]


def said(turn: Any) -> str:
    return "".join(block.text for block in turn.content if block.type == "text")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("prompt", "calls", "results"),
    [
        (WEATHER, ["get_weather"], ["sunny in Paris"]),
        (TWO_CITIES, ["get_weather", "get_weather"], ["sunny in Lagos", "sunny in Tokyo"]),
        (WEATHER_AND_MONEY, ["get_weather", "convert_currency"], ["sunny in Oslo", "120 EUR are 180.00 USD"]),
    ],
)
def test_the_runner_ends(way: str, prompt: str, calls: list[str], results: list[str]) -> None:
    first, last = turns(prompt, tools=TOOLS, **WAYS[way])
    assert [block.name for block in first.content if block.type == "tool_use"] == calls
    assert (first.stop_reason, last.stop_reason) == ("tool_use", "end_turn")
    assert all(result in said(last) for result in results)


def test_the_clients_memory_is_given_what_its_command_needs(tmp_path: Path) -> None:
    prompt = "Create a memory file /memories/notes.txt with 'I like tea'"
    turns(prompt, tools=[BetaLocalFilesystemMemoryTool(str(tmp_path))])
    assert (tmp_path / "memories" / "notes.txt").read_text() == "I like tea"


def test_a_text_editor_is_given_what_its_command_needs() -> None:
    editor: Any = {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}
    with Anthropic(max_retries=0) as client:
        message = client.messages.create(tools=[editor], **asked("Edit a.py: replace 'foo' with 'bar'"))
    call = message.content[-1]
    assert call.type == "tool_use"
    assert call.input == {"command": "str_replace", "path": "a.py", "old_str": "foo", "new_str": "bar"}


def test_without_a_reason_no_tool_is_called() -> None:
    (only,) = turns("Hello!", tools=TOOLS)
    assert said(only)


def test_a_tool_that_fails_is_not_called_again(caplog: pytest.LogCaptureFixture) -> None:
    def read_file(path: str) -> str:
        """Read a file."""
        raise FileNotFoundError(path)

    _, last = turns("Read the file notes.txt.", tools=[beta_tool(read_file)])
    assert "notes.txt" in said(last)


@pytest.mark.parametrize("model", MODELS)
def test_answers_are_parsed(model: str) -> None:
    client = Anthropic(max_retries=0)
    assert client.messages.parse(output_format=Person, **asked(PERSON, model)).parsed_output == ADA
    with client.messages.stream(output_format=Person, **asked(PERSON, model)) as streamed:
        assert streamed.get_final_message().parsed_output == ADA
    runner = client.beta.messages.tool_runner(tools=TOOLS, output_format=Person, **asked(WEATHER_AND_PERSON, model))
    assert runner.until_done().parsed_output == ADA


async def test_without_blocking() -> None:
    async def get_sky(city: str) -> str:
        """Get the weather in a city."""
        return f"sunny in {city}"

    async with AsyncAnthropic(max_retries=0) as client:
        thinking = {"type": "adaptive"}
        runner = client.beta.messages.tool_runner(tools=[beta_async_tool(get_sky)], thinking=thinking, **asked(WEATHER))
        last = await runner.until_done()
        async with client.messages.stream(**asked("Tell me about tides.")) as streamed:
            pieces = [piece async for piece in streamed.text_stream]
    assert [block.type for block in last.content] == ["thinking", "text"]
    assert said(last) == "Sky (Paris): sunny in Paris."
    assert len(pieces) > 5
