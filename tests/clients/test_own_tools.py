"""Custom tools with grammars and the provider's own tools, through OpenAI's client and without any rule."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
import regex
from lark import Lark
from openai import OpenAI

from tests.clients.conftest import KEY
from tests.kit.served import Served, served

ORDER = """
start: "order " NUMBER " " THING ("," " " NUMBER " " THING)*
THING: "apples" | "pears" | "plums"
NUMBER: /[1-9][0-9]*/
"""
DAY = r"^\d{4}-\d{2}-\d{2}$"
SCREEN: dict[str, Any] = {
    "type": "computer_use_preview",
    "display_width": 1024,
    "display_height": 768,
    "environment": "browser",
}
SHOT = {"type": "computer_screenshot", "image_url": "data:image/png;base64,aGk="}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base("openai"), api_key=KEY, max_retries=0) as client:
        yield client


def custom(syntax: str, definition: str) -> Any:
    form = {"type": "grammar", "syntax": syntax, "definition": definition}
    return {"type": "custom", "name": "shop", "description": "Orders fruit", "format": form}


def put_in(client: OpenAI, tool: Any, prompt: str) -> str:
    choice: Any = {"type": "custom", "name": "shop"}
    response = client.responses.create(model="gpt-5", input=prompt, tools=[tool], tool_choice=choice)
    [call] = [item for item in response.output if item.type == "custom_tool_call"]
    return call.input


def test_the_input_of_a_custom_tool_follows_its_grammar(client: OpenAI) -> None:
    assert put_in(client, custom("regex", DAY), "It is for 2024-05-17, they say") == "2024-05-17"
    Lark(ORDER).parse(put_in(client, custom("lark", ORDER), "We need 3 pears and 12 plums"))
    assert regex.fullmatch(DAY, put_in(client, custom("regex", DAY), "Any day"))


def test_so_it_does_in_a_chat(client: OpenAI) -> None:
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": ORDER}}
    answer = client.chat.completions.create(
        model="gpt-5",
        messages=[{"role": "user", "content": "Get 5 apples"}],
        tools=[{"type": "custom", "custom": {"name": "shop", "format": grammar}}],  # type: ignore[list-item]
        tool_choice={"type": "custom", "custom": {"name": "shop"}},
    )
    [call] = answer.choices[0].message.tool_calls or []
    assert call.type == "custom"
    assert call.custom.input.startswith("order 5 ")
    Lark(ORDER).parse(call.custom.input)


@pytest.mark.parametrize(
    ("tool", "place"),
    [(custom("lark", 'start: "a"\nb: ('), "line 2, column 5"), (custom("regex", "a(b"), "line 1, column 2")],
)
def test_a_broken_grammar_is_a_bad_request(client: OpenAI, tool: Any, place: str) -> None:
    with pytest.raises(openai.BadRequestError, match=f"Invalid grammar: .*: {place}") as caught:
        put_in(client, tool, "hello")
    assert caught.value.type == "invalid_request_error"


def test_a_computer_is_looked_at_and_then_typed_into(client: OpenAI) -> None:
    asked: Any = {"model": "computer-use-preview", "tools": [SCREEN], "truncation": "auto"}
    prompt = 'Type "fjords" into the field'
    response = client.responses.create(input=prompt, tool_choice={"type": "computer_use_preview"}, **asked)
    done = []
    for _ in range(10):
        calls = [item for item in response.output if item.type == "computer_call"]
        if not calls:
            break
        [call] = calls
        assert call.action is not None
        done.append(call.action.to_dict())
        told: Any = [{"type": "computer_call_output", "call_id": call.call_id, "output": SHOT}]
        response = client.responses.create(
            input=told, previous_response_id=response.id, tool_choice={"type": "computer_use_preview"}, **asked
        )
    assert done == [{"type": "screenshot"}, {"type": "type", "text": "fjords"}]
    assert response.output_text
