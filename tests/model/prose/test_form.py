"""Prompts that say what the answer looks like, as users word them: options, lengths, tags, labels, code, commands."""

import re

import pytest
from msgspec.structs import replace

from mockserver.core.call import Message, Tool, ToolCall, ToolChoice
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from tests.kit.calls import call

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def answered(text: str, *, rules: str = "", result: str = "") -> str:
    made = Message("assistant", tool_calls=(ToolCall("1", "get_weather", '{"city": "Oslo"}'),))
    told = (made, Message("tool", result, tool_call_id="1")) if result else ()
    said = call(*([Message("system", rules)] if rules else []), text, *told)
    said = replace(said, tools=(Tool("get_weather", "Get the weather", CITY),) * bool(result))
    parts = answer_as_model(replace(said, tool_choice=ToolChoice("auto")), Seed(1), {}).parts
    return "".join(part.text for part in parts if isinstance(part, Text))


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("Answer with A, B, C or D. 2+2=? A) 3 B) 4 C) 5 D) 6", "B"),
        ("Which is larger, A) cat or B) dog? Answer with the letter only.", "[AB]"),
        ("Select the right option and give only its letter. 9-3=? A. 5 B. 6 C. 7", "B"),
        ("Which is a mammal?\na) trout\nb) whale\nReply with the letter.", "[ab]"),
        ("True or false: 3*3 = 9", "True"),
        ("Answer yes or no: is 7 greater than 3?", "yes"),
        ("Give one word only: opposite of hot", r"\w+"),
        ("Say only the word yes.", "yes"),
        ("Explain recursion in at most 8 words.", r"(?:\S+ ){0,7}\S+\."),
        ("Max 3 words: what is rain?", r"(?:\S+ ){0,2}\S+\."),
        ("Think in <thinking> tags and then answer in <answer> tags: 2+2?", r"<thinking>.+</thinking>\n<answer>.+"),
        ("What is 12*12? End with FINAL ANSWER: followed by the answer.", "FINAL ANSWER: 144"),
        ("What is 7*8? Your last line must be 'RESULT: <answer>'.", "RESULT: 56"),
        ("Who wrote Faust? Begin your answer with 'Response:'", "Response: .+"),
        ("Write a python function that adds two numbers", r"```python\ndef add_two_numbers\(.*\n```"),
        ("Write an email to three customers", r"[^\n]+"),
        ("Write a short story about three pigs", r"[^\n]+"),
    ],
)  # fmt: skip
def test_an_answer_looks_as_ordered(text: str, pattern: str) -> None:
    assert re.fullmatch(pattern, answered(text), re.DOTALL), answered(text)


@pytest.mark.parametrize(
    ("text", "result", "answer"),
    [
        ("Exactly 2 bullet points.", '{"temp": 12, "sky": "clear"}', "- Temp: 12\n- Sky: clear"),
        ("Is it raining? Answer yes or no.", '{"raining": false}', "no"),
        ("Answer yes or no: is it warm?", "It is not warm.", "no"),
        ("Reply in at most 9 words.", "Sunny.", "Weather (Oslo): Sunny."),
    ],
)  # fmt: skip
def test_results_take_the_form_too(text: str, result: str, answer: str) -> None:
    assert answered(f"What is the weather in Oslo? {text}", result=result) == answer
