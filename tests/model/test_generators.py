"""Every kind of generated answer, and that nothing but the stream decides it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.core.call import Call, Message, Prompt, Tool, ToolCall
from mockserver.core.draft import DraftChoice
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.core.tokens import count
from mockserver.model import GENERATORS
from tests.kit.calls import pack_options

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
HI, TEA = (Message("user", "Hi there"),), (Message("user", "Tell me about green tea"),)
TOOLS = (Tool("look", parameters=WEATHER), Tool("stop"), Tool("shell", kind="custom"), Tool("any", parameters={}))


def call(*, messages: tuple[Message, ...] = HI, **more: Any) -> Call:
    http = HttpRequest("POST", "/v1/chat/completions")
    return Call("openai", "chat", "m", http, meaning=0, messages=messages, tools=TOOLS, **pack_options(more))


def made(kind: str, options: Mapping[str, Json] | None = None, seed: int = 0, **more: Any) -> DraftChoice:
    return GENERATORS[kind](call(**more), Seed(seed).branch("test"), options or {})


def text(choice: DraftChoice) -> str:
    (part,) = choice.parts
    assert isinstance(part, Text)
    return part.text


def use(choice: DraftChoice) -> ToolCall:
    (part,) = choice.parts
    assert isinstance(part, ToolUse)
    return part.call


def test_kinds() -> None:
    assert set(GENERATORS) == {"auto", "prose", "lorem", "words", "echo", "schema", "json", "markdown", "arguments"}


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({}, "prose"),
        ({"response_format": "text"}, "prose"),
        ({"response_format": "json_object"}, "json"),
        ({"response_format": "json_schema", "schema": WEATHER}, "schema"),
        ({"response_format": "json_schema"}, "json"),  # the AI SDK asks so for any object
    ],
)
def test_auto_does_what_the_format_asks_for(asked: dict[str, Any], kind: str) -> None:
    assert made("auto", messages=TEA, **asked).parts == made(kind, messages=TEA, **asked).parts


@pytest.mark.parametrize("kind", sorted(set(GENERATORS) - {"echo", "arguments"}))
def test_the_stream_decides(kind: str) -> None:
    asked: dict[str, Any] = {"response_format": "json_schema", "schema": WEATHER}
    answers = [made(kind, seed=seed, **asked) for seed in range(4)]
    assert answers == [made(kind, seed=seed, **asked) for seed in range(4)]
    assert len(set(map(text, answers))) > 1


def replied(text: str, *more: Message, **asked: Any) -> str:
    http = HttpRequest("POST", "/v1/chat/completions")
    said = Call("openai", "chat", "m", http, meaning=0, messages=(Message("user", text), *more), **pack_options(asked))
    (part,) = GENERATORS["auto"](said, Seed(1), {}).parts
    assert isinstance(part, Text)
    return part.text


def test_results_of_tools_are_told_and_taken() -> None:
    told = (
        Message("assistant", tool_calls=(ToolCall("1", "get_user", '{"id": 7}'),)),
        Message("tool", '{"email": "ada@example.com"}', tool_call_id="1"),
    )
    assert replied("Who is user 7?", *told) == "User (7): email ada@example.com."
    schema = {"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]}
    asked = replied("Who is user 7?", *told, response_format="json_schema", schema=schema)
    assert json.loads(asked) == {"email": "ada@example.com"}


def test_forms_and_prose() -> None:
    assert replied("Say hello") == "hello"
    assert "green tea" in replied("Tell me about green tea").lower()
    http = HttpRequest("POST", "/v1/completions")
    begun = Call("openai", "completion", "m", http, meaning=0, prompts=(Prompt("Say hello"),))
    assert text(GENERATORS["auto"](begun, Seed(1), {})) == " hello"


def test_a_stated_length_wins_over_the_form() -> None:
    assert len(text(made("auto", {"tokens": 300}, seed=1)).split()) > 150


def test_arguments_fit_the_tool() -> None:
    assert list(json.loads(use(made("arguments", {"tool": "look"})).arguments)) == ["city"]
    assert use(made("arguments", {"tool": "shell"})).kind == "custom"
    for tool in ("stop", "any", "unknown"):
        assert use(made("arguments", {"tool": tool})) == ToolCall("", tool, "{}")


@pytest.mark.parametrize("tokens", [1, 30, 200, 900])
def test_the_tokens_of_prose_are_counted_while_it_is_made(tokens: int) -> None:
    for seed in range(20):
        choice = made("prose", {"tokens": tokens}, seed, messages=TEA)
        assert choice.tokens == count(text(choice))
