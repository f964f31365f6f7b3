"""What prompts cost: OpenAI's published examples to the token, and formulas by hand."""

import time
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Grammar, Message, Prompt, Tool, ToolCall, declare_tools, find_toolset
from mockserver.core.tokens import count_image_tokens, count_part_tokens
from mockserver.tokenizers import find_tokenizer
from tests.core.test_images import PNG, url
from tests.kit.calls import call

CITY = {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}
DESCRIBED = {"type": "string", "description": "The unit of temperature to return", "enum": ["celsius", "fahrenheit"]}
PLAIN = {"type": "string", "enum": ["celsius", "fahrenheit"]}


def weather(unit: dict[str, Any]) -> Tool:
    parameters = {"type": "object", "properties": {"location": CITY, "unit": unit}, "required": ["location"]}
    return Tool("get_current_weather", "Get the current weather in a given location", parameters)


FRIENDLY = (Message("system", "You are a helpful assistant."), "Hello!")
FORECASTER = (
    Message("system", "You are a helpful assistant that can answer to questions about the weather."),
    "What's the weather like in San Francisco?",
)


@pytest.mark.parametrize(
    ("tokenizer", "said", "tools", "published"),
    [
        ("cl100k_base", FRIENDLY, (), 19),
        ("o200k_base", FRIENDLY, (), 19),
        ("cl100k_base", ("hello",), (), 8),
        ("cl100k_base", ("What is the weather like in Boston?",), (weather(PLAIN),), 82),
        ("cl100k_base", FORECASTER, (weather(DESCRIBED),), 105),
        ("o200k_base", FORECASTER, (weather(DESCRIBED),), 101),
    ],
)
def test_published_counts(tokenizer: str, said: Any, tools: tuple[Tool, ...], published: int) -> None:
    asked = replace(call(*said, tokenizer=find_tokenizer(tokenizer)), tools=tools)
    assert asked.prompt_tokens == published


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (Message("user"), 3),
        (Message("user", "one two"), 5),
        (Message("user", "one two", name="Ada"), 7),
        (Message("assistant", tool_calls=(ToolCall("call_1", "look", '{"a":1}'),)), 9),
        (Message("user", parts=({"type": "input_audio"},)), 88),
        (Message("user", parts=({"type": "image_url", "image_url": {"url": "https://x/y.png"}},)), 768),
    ],
)
def test_what_the_estimate_says_of_a_message(message: Message, tokens: int) -> None:
    assert call(message).prompt_tokens == 3 + tokens


def test_prompts_cost_their_tokens() -> None:
    assert call("x", prompts=(Prompt("one two"), Prompt("<|1|><|2|><|3|>", (1, 2, 3)))).prompt_tokens == 5


NESTED = {
    "type": "object",
    "properties": {
        "who": {
            "type": "object",
            "description": "Whom it is for",
            "properties": {"name": {"type": "string", "description": "Full"}, "age": {"type": ["integer", "null"]}},
            "required": ["name"],
        },
        "tags": {"type": "array", "items": {"type": "string"}},
        "size": {"anyOf": [{"type": "number"}, {"enum": ["small", 1, None]}]},
        "free": {"type": "object"},
        "any": True,
    },
}


def test_tools_are_laid_out_as_typescript() -> None:
    tools = (
        Tool("send", "Send it.\nNow.", NESTED),
        Tool("stop", "", {"type": "object", "properties": {}}),
        Tool("say", kind="custom", grammar=Grammar("regex", "[a-z]+")),
    )
    assert declare_tools(tools).splitlines() == [
        "namespace functions {",
        "",
        "// Send it.",
        "Now.",
        "type send = (_: {",
        "// Whom it is for",
        "who?: {",
        "  // Full",
        "  name: string,",
        "  age?: number | null,",
        "},",
        "tags?: string[],",
        'size?: number | "small" | 1 | null,',
        "free?: object,",
        "any?: any,",
        "}) => any;",
        "",
        "type stop = () => any;",
        "",
        "// [a-z]+",
        "type say = (_: string) => any;",
        "",
        "} // namespace functions",
    ]


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        True,
        [],
        {"properties": []},
        {"properties": {"a": None, "b": {"type": 5}, "c": {"type": "odd"}, "d": {"type": [{}]}}, "required": "a"},
        {"properties": {"a": {"properties": {"b": 1}, "type": "object", "required": 3}}},
    ],
)
def test_odd_parameters_cost_something(parameters: Any) -> None:
    assert "namespace" in declare_tools((Tool("odd", parameters=parameters),))


def test_tools_that_are_equal_in_python_but_not_in_json_are_told_apart() -> None:
    one, one_point_zero, true = (
        declare_tools((Tool("pick", parameters={"properties": {"a": {"enum": [value]}}}),)) for value in (1, 1.0, True)
    )
    assert ["a?: 1," in one, "a?: 1.0," in one_point_zero, "a?: true," in true] == [True] * 3


def test_the_same_tools_are_laid_out_once() -> None:
    assert declare_tools((Tool("send", "Send it.", NESTED),)) is declare_tools((Tool("send", "Send it.", {**NESTED}),))


def test_equal_tools_are_one_set_that_keeps_what_is_worked_out_of_them() -> None:
    def count(tools: Sequence[Tool]) -> list[int]:
        return [len(tools)]

    one, same = (find_toolset((Tool("send", "Send it.", {**NESTED}),)) for _ in range(2))
    assert one is same is find_toolset(one)
    assert one.work_out(count) is same.work_out(count)
    assert one.work_out(count) == [1]


def test_a_set_of_tools_is_never_that_of_others() -> None:
    none, odd = (find_toolset((Tool("send", parameters={"default": value}),)) for value in (None, float("nan")))
    assert none is not odd
    assert none[0].parameters == {"default": None}
    half = find_toolset((Tool("\ud800"),))
    assert half is not find_toolset((Tool("\ud800"),))
    deep: Any = {}
    for _ in range(50_000):
        deep = {"a": deep}
    assert find_toolset((Tool("deep", parameters=deep),))[0].name == "deep"


def test_half_a_character_in_a_tool_is_laid_out() -> None:
    assert "// \ud800" in declare_tools((Tool("send", "\ud800"),))


def test_hostile_parameters_are_laid_out_in_no_time() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(12):
        deep = {"type": ["object", "array"] * 20, "properties": {"a": deep}, "items": {"anyOf": [deep]}}
    assert len(declare_tools((Tool("deep", parameters={"properties": {"a": deep}}),))) < 100_000


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((1, 1), 255),
        ((512, 512), 255),
        ((513, 512), 425),
        ((1024, 1024), 765),
        ((2048, 4096), 1105),
        ((4096, 8192), 1105),
        ((100_000, 10), 765),
    ],
)
def test_images_cost_by_tiles(size: tuple[int, int], tokens: int) -> None:
    assert count_image_tokens(*size) == tokens


@pytest.mark.parametrize(
    ("image", "tokens"),
    [
        ({"url": "https://x/y.png"}, 765),
        ({"url": "https://x/y.png", "detail": "low"}, 85),
        ({"url": url("image/png", PNG)}, 255),
        ({"url": url("image/png", PNG), "detail": "high"}, 255),
        ({"file_id": "file-1"}, 765),
    ],
)
def test_an_image_in_a_message(image: dict[str, str], tokens: int) -> None:
    assert count_part_tokens({"type": "image_url", "image_url": image}) == tokens


def test_tools_of_many_required_parameters_are_declared_soon() -> None:
    names = [f"parameter_{at}" for at in range(20_000)]
    many = Tool("make", parameters={"properties": {name: {"type": "string"} for name in names}, "required": names})
    began = time.process_time()
    assert declare_tools((many,)).count("?") == 0
    assert time.process_time() - began < 1
