"""The official clients read streams with empty pieces, which rules may state."""

from collections.abc import Iterator

import pytest
from anthropic import Anthropic
from google import genai

from mockserver.testing import MockServer

TEXT = ["", "One", "", " two", ""]
INPUT = ["", '{"city"', "", ':"Paris"}', ""]
HELLO = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def stating() -> Iterator[MockServer]:
    with MockServer(lint="off") as server:
        yield server


@pytest.fixture
def mock(stating: MockServer) -> MockServer:
    stating.reset()
    call = {"tool_call": {"name": "now", "arguments": "".join(INPUT)}, "chunks": INPUT}
    stating.on().reply(parts=[{"text": "".join(TEXT), "chunks": TEXT}, call])
    return stating


def test_chat(mock: MockServer) -> None:
    with mock.client().chat.completions.stream(model="m", messages=HELLO) as stream:
        message = stream.get_final_completion().choices[0].message
    assert (message.content, message.tool_calls[0].function.arguments) == ("One two", "".join(INPUT))


def test_responses(mock: MockServer) -> None:
    with mock.client().responses.stream(model="m", input="hi") as stream:
        deltas = [event.delta for event in stream if event.type == "response.function_call_arguments.delta"]
        final = stream.get_final_response()
    assert (final.output_text, final.output[1].arguments) == ("One two", "".join(INPUT))
    assert deltas == INPUT


def test_anthropic(mock: MockServer) -> None:
    with (
        Anthropic(base_url=mock.base_url("anthropic"), api_key="x") as client,
        client.messages.stream(model="m", max_tokens=99, messages=HELLO) as stream,
    ):
        text, used = stream.get_final_message().content
    assert (text.text, used.input) == ("One two", {"city": "Paris"})


def test_google(mock: MockServer) -> None:
    with genai.Client(http_options={"base_url": mock.base_url("gemini")}, api_key="x") as client:
        chunks = list(client.models.generate_content_stream(model="gemini-2.5-flash", contents="hi"))
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    assert [part.text for part in parts if part.text is not None] == TEXT
    assert parts[-1].function_call.args == {"city": "Paris"}
