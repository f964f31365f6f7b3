"""Instructor: its modes for OpenAI, Claude and Gemini, several objects, objects that grow, what is asked again."""

from collections.abc import Iterable
from typing import Annotated

import instructor
import pytest
from anthropic import Anthropic
from google import genai
from instructor import Mode
from openai import OpenAI
from pydantic import AfterValidator

from tests.frameworks.inputs import PEOPLE, PERSON, Person

ADA = {"name": "Ada Lovelace", "age": 36}
JOHN, JANE = {"name": "John Doe", "age": 25}, {"name": "Jane Roe", "age": 31}
EXTRACT = [{"role": "user", "content": f"Extract the person: {PERSON}"}]
EXTRACT_ALL = [{"role": "user", "content": f"Extract all people: {PEOPLE}"}]
MODES = [Mode.TOOLS, Mode.JSON, Mode.JSON_SCHEMA, Mode.MD_JSON, Mode.RESPONSES_TOOLS]


def client(mode: Mode = Mode.TOOLS) -> instructor.Instructor:
    return instructor.from_openai(OpenAI(), mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_an_object(mode: Mode) -> None:
    person = client(mode).create(model="gpt-4o", response_model=Person, messages=EXTRACT, max_retries=0)
    assert person.model_dump() == ADA


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-haiku-4-5"])
@pytest.mark.parametrize("mode", [Mode.TOOLS, Mode.JSON, Mode.JSON_SCHEMA])
def test_objects_of_claude(model: str, mode: Mode) -> None:
    own = instructor.from_anthropic(Anthropic(max_retries=0), mode=mode)
    options = {"model": model, "max_tokens": 1000, "max_retries": 0}
    assert own.create(response_model=Person, messages=EXTRACT, **options).model_dump() == ADA
    people = own.create(response_model=list[Person], messages=EXTRACT_ALL, **options)
    assert [person.model_dump() for person in people] == [JOHN, JANE]


@pytest.mark.parametrize("mode", [Mode.TOOLS, Mode.JSON])
def test_objects_of_gemini(mode: Mode) -> None:
    with genai.Client() as google:
        own = instructor.from_genai(google, mode=mode)
        options = {"model": "gemini-3-pro-preview", "max_retries": 0}
        assert own.create(response_model=Person, messages=EXTRACT, **options).model_dump() == ADA
        people = own.create(response_model=list[Person], messages=EXTRACT_ALL, **options)
    assert [person.model_dump() for person in people] == [JOHN, JANE]


@pytest.mark.parametrize("mode", [Mode.TOOLS, Mode.JSON, Mode.MD_JSON])
def test_several_objects_one_by_one(mode: Mode) -> None:
    people = client(mode).create_iterable(model="gpt-4o", response_model=Person, messages=EXTRACT_ALL)
    assert [person.model_dump() for person in people] == [JOHN, JANE]


def test_several_calls_at_once() -> None:
    several = client(Mode.PARALLEL_TOOLS)
    people = several.create(model="gpt-4o", response_model=Iterable[Person], messages=EXTRACT_ALL, max_retries=0)
    assert [person.model_dump() for person in people] == [JOHN, JANE]


@pytest.mark.parametrize("mode", [Mode.TOOLS, Mode.JSON, Mode.MD_JSON])
def test_an_object_grows(mode: Mode) -> None:
    seen = list(client(mode).create_partial(model="gpt-4o", response_model=Person, messages=EXTRACT))
    assert len(seen) > 2
    assert seen[-1].model_dump() == ADA
    assert {person.name for person in seen} >= {None, "Ada Lovelace"}


def test_a_refused_object_is_asked_again() -> None:
    refused = []

    def refuse_once(name: str) -> str:
        if not refused:
            refused.append(name)
            raise ValueError("say it again")
        return name

    class Checked(Person):
        name: Annotated[str, AfterValidator(refuse_once)]

    assert client().create(model="gpt-4o", response_model=Checked, messages=EXTRACT, max_retries=2).age == 36
    assert refused == ["Ada Lovelace"]
