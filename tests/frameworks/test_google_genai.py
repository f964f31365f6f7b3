"""Google's own loop: automatic function calling in chats and in single requests, streamed too, and parsed answers."""

from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest
from google import genai
from google.genai.types import GenerateContentConfig, ThinkingConfig

from tests.frameworks.inputs import PERSON, WEATHER, WEATHER_AND_MONEY, WEATHER_AND_PERSON, Person, convert_currency

ADA = Person(name="Ada Lovelace", age=36)


class Mood(Enum):
    HAPPY = "happy"
    SAD = "sad"


@pytest.fixture
def client(address: str) -> Iterator[genai.Client]:
    with genai.Client() as client:
        yield client


@pytest.fixture(params=["gemini-2.5-flash", "gemini-3-pro-preview"])
def model(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def cities() -> list[str]:
    """The cities whose weather was asked for."""
    return []


@pytest.fixture
def config(cities: list[str]) -> GenerateContentConfig:
    def get_weather(city: str) -> str:
        """Get the current weather in a city."""
        cities.append(city)
        return f"sunny in {city}"

    return GenerateContentConfig(tools=[get_weather, convert_currency])


def test_functions_are_called(client: genai.Client, model: str, config: GenerateContentConfig) -> None:
    answer = client.models.generate_content(model=model, contents=WEATHER_AND_MONEY, config=config)
    assert answer.text == "Weather (Oslo): sunny in Oslo. Convert currency (120, EUR): 120 EUR are 180.00 USD."
    assert client.models.generate_content(model=model, contents="Hello!", config=config).text


def test_a_chat_goes_on(client: genai.Client, model: str, config: GenerateContentConfig, cities: list[str]) -> None:
    chat = client.chats.create(model=model, config=config)
    assert chat.send_message(WEATHER).text == "Weather (Paris): sunny in Paris."
    pieces = chat.send_message_stream("And in Rome?")
    assert "".join(piece.text or "" for piece in pieces) == "Weather (Rome): sunny in Rome."
    assert cities == ["Paris", "Rome"]


def test_a_function_that_fails_is_not_called_again(client: genai.Client, model: str) -> None:
    paths = list[str]()

    def read_file(path: str) -> str:
        """Read a file."""
        paths.append(path)
        raise FileNotFoundError(path)

    config = GenerateContentConfig(tools=[read_file])
    assert client.models.generate_content(model=model, contents="Read the file notes.txt.", config=config).text
    assert paths == ["notes.txt"]


@pytest.mark.parametrize(
    ("prompt", "schema", "parsed"),
    [(PERSON, Person, ADA), (PERSON, list[Person], [ADA]), ("I am so happy today.", Mood, Mood.HAPPY)],
)
def test_answers_are_parsed(client: genai.Client, model: str, prompt: str, schema: Any, parsed: Any) -> None:
    config = GenerateContentConfig(response_mime_type="application/json", response_schema=schema)
    assert client.models.generate_content(model=model, contents=prompt, config=config).parsed == parsed


def test_functions_and_an_object_at_the_end(
    client: genai.Client, config: GenerateContentConfig, cities: list[str]
) -> None:
    shaped = config.model_copy(update={"response_mime_type": "application/json", "response_schema": Person})
    answer = client.models.generate_content(model="gemini-3-pro-preview", contents=WEATHER_AND_PERSON, config=shaped)
    assert answer.parsed == ADA
    assert cities == ["Paris"]


async def test_without_blocking(client: genai.Client, model: str, config: GenerateContentConfig) -> None:
    thinking = config.model_copy(update={"thinking_config": ThinkingConfig(include_thoughts=True)})
    answer = await client.aio.models.generate_content(model=model, contents=WEATHER, config=thinking)
    assert answer.text == "Weather (Paris): sunny in Paris."
    assert answer.candidates
    assert answer.candidates[0].content
    assert [part.thought for part in answer.candidates[0].content.parts or ()] == [True, None]
