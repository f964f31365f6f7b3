"""Google's own client sends back what it got, over a socket: plain, streamed, by chats and with functions it calls."""

from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import types

from mockserver.testing import MockServer

MODELS = ["gemini-3-pro-preview", "gemini-3.7-flash", "gemini-2.5-flash"]
LOOK: Any = {
    "function_declarations": [
        {"name": "look", "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}}
    ]
}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="error") as started:
        yield started


@pytest.fixture
def client(server: MockServer) -> Iterator[genai.Client]:
    server.on("*weather*", turn=0).reply(
        reasoning="A look.",
        tool_calls=[
            {"name": "look", "arguments": {"city": "Zürich", "days": 1.0, "more": None}},
            {"name": "look", "arguments": {}},
        ],
    )
    server.on().reply("Sunny.")
    options = types.HttpOptions(base_url=server.base_url("gemini"))
    with genai.Client(api_key="k", http_options=options) as created:
        yield created
    server.reset()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_no_remark_at_any_turn(client: genai.Client, server: MockServer, model: str, stream: bool) -> None:
    config = types.GenerateContentConfig(tools=[LOOK], thinking_config=types.ThinkingConfig(include_thoughts=True))
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text="The weather?")])]
    for _ in range(3):
        if stream:
            chunks = client.models.generate_content_stream(model=model, contents=contents, config=config)
            parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]  # type: ignore
            said = types.Content(role="model", parts=parts)
        else:
            answer = client.models.generate_content(model=model, contents=contents, config=config)
            said = answer.candidates[0].content  # type: ignore[assignment, index]
        contents.append(said)
        calls = [part.function_call for part in said.parts or () if part.function_call]
        results = [
            types.Part(function_response=types.FunctionResponse(id=each.id, name=each.name, response={"result": "x"}))
            for each in calls
        ]
        contents.append(types.Content(role="user", parts=results or [types.Part(text="And then?")]))
    assert [call.status for call in server.calls] == [200] * 3
    assert [call.remarks for call in server.calls] == [()] * 3


def test_functions_that_the_client_calls(client: genai.Client, server: MockServer) -> None:
    def look(city: str = "", days: float = 0, more: str | None = None) -> str:
        """Look at the sky of a city."""
        return f"clear over {city}"

    chat = client.chats.create(model=MODELS[0], config=types.GenerateContentConfig(tools=[look]))
    assert chat.send_message("The weather?").text == "Sunny."
    assert chat.send_message("And then?").text == "Sunny."
    assert len(server.calls) == 3
    assert [call.remarks for call in server.calls] == [()] * 3


def test_a_lost_signature(client: genai.Client, server: MockServer) -> None:
    config, asked = (
        types.GenerateContentConfig(tools=[LOOK]),
        types.Content(role="user", parts=[types.Part(text="weather")]),
    )
    answer = client.models.generate_content(model=MODELS[0], contents=[asked], config=config)
    said = answer.candidates[0].content  # type: ignore[index]
    said.parts[0].thought_signature = None  # type: ignore[union-attr, index]
    result = types.Part(function_response=types.FunctionResponse(name="look", response={}))
    contents: list[Any] = [asked, said, types.Content(role="user", parts=[result, result])]
    client.models.generate_content(model=MODELS[0], contents=contents, config=config)
    (remark,) = server.calls[-1].remarks
    assert remark.startswith('contents[1].parts[0]: the live provider refuses this history with 400 "Function call is')
