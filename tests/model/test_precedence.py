"""Which sources of an answer are believed before which, as `model/reply.py` says."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Message, Tool, ToolChoice
from mockserver.core.plan import Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from tests.kit.calls import call

USER = {
    "properties": {"name": {"title": "Name", "type": "string"}, "age": {"title": "Age", "type": "integer"}},
    "required": ["name", "age"],
    "title": "User",
    "type": "object",
}
INSTRUCTOR = f"""
        As a genius expert, your task is to understand the content and provide
        the parsed objects in json that match the following json_schema:


        {json.dumps(USER, indent=2)}

        Make sure to return an instance of the JSON, not the schema itself
"""


def system(text: str) -> Message:
    return Message("system", text)


def said(*messages: str | Message, tools: tuple[Tool, ...] = (), **options: Any) -> str:
    turn = call(*messages, **options)
    turn = replace(turn, tools=tools, tool_choice=ToolChoice("auto" if tools else "none"))
    parts = answer_as_model(turn, Seed(1), {}).parts
    assert not any(isinstance(part, ToolUse) for part in parts)
    return "".join(part.text for part in parts if isinstance(part, Text))


@pytest.mark.parametrize(
    "text", ["Extract: Jason is 25 years old.", "Jason is 25 years old", "Jason, aged 25, is here."]
)
def test_a_schema_in_the_instructions_is_believed_before_phrases_of_the_user(text: str) -> None:
    assert json.loads(said(system(INSTRUCTOR), text, response_format="json_object")) == {"name": "Jason", "age": 25}


def test_the_user_may_order_the_fence_of_a_schema_of_the_instructions() -> None:
    text = "Jason is 25 years old.\n\nReturn the correct JSON response within a ```json codeblock. not the JSON_SCHEMA"
    assert said(system(INSTRUCTOR), text) == '```json\n{"name":"Jason","age":25}\n```'


def test_a_schema_of_the_request_is_believed_before_one_in_words() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    answer = said(system(INSTRUCTOR), "Ann lives in Oslo.", response_format="json_schema", schema=schema)
    assert json.loads(answer) == {"city": "Oslo"}


def test_a_schema_is_believed_before_an_example() -> None:
    text = f'Return JSON like {{"city": "Oslo"}}. Ann is 30 years old.\nThe JSON schema: {json.dumps(USER)}'
    assert json.loads(said(text)).keys() == {"name", "age"}


def test_the_example_that_is_shown_as_output_is_the_shape() -> None:
    text = 'Answer in JSON.\n<Tools>\n{"uber": "Uber financials"}\n<Output>\n{"items": [{"question": "What?"}]}'
    assert json.loads(said(text)).keys() == {"items"}


def test_a_template_may_have_left_its_braces_doubled() -> None:
    text = f"Ann is 30. Here's a JSON schema to follow:\n{json.dumps(USER).replace('{', '{{').replace('}', '}}')}"
    assert json.loads(said(f"{text}\nOutput a valid JSON object.")) == {"name": "Ann", "age": 30}


def test_elements_that_are_shown_as_the_format_are_filled() -> None:
    text = (
        "Select a team from these options: ['billing', 'technical']. Provide your selection in this XML format:\n\n"
        "<reasoning>\nBrief explanation\n</reasoning>\n\n<selection>\nThe team\n</selection>\n\nInput: my billing"
    )
    answer = said(text)
    assert answer.startswith("<reasoning>")
    assert answer.endswith("<selection>billing</selection>")


REMINDER = "<system-reminder>\nToday's date is 2026-11-28.\n</system-reminder>\n"
EXPLAINED = "Use the read tool. User messages may include <system-reminder> tags. <system-reminder> tags are useful."
READ = Tool(
    "read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)
FETCH = Tool("webfetch", "Fetches content from a URL.", {"type": "object", "properties": {"url": {"type": "string"}}})


@pytest.mark.parametrize(
    "text",
    [
        "say hi",
        '"say hi"',
        f"{REMINDER}say hi",
        f"say hi\n{REMINDER}",
        "<session_context>\nThis is the Gemini CLI.\n</session_context>\nsay hi",
        "<task>\nsay hi\n</task>\n\n<environment_details>\n# Time\n</environment_details>",
        "<user_query>say hi</user_query>",
    ],
)
def test_the_users_own_words_are_believed_before_what_the_client_wraps_around_them(text: str) -> None:
    assert said(system(EXPLAINED), text, tools=(READ, FETCH)) == "hi"


def test_a_message_of_context_alone_is_not_what_the_user_says() -> None:
    context = "<environment_context>\n  <cwd>/home/dev/app</cwd>\n</environment_context>"
    assert said(system(EXPLAINED), context, "say hi", tools=(READ,)) == "hi"


def test_the_manual_of_an_agent_orders_no_form() -> None:
    manual = "Reply in JSON with the keys a and b. Think in <thinking> tags. " + "Use the tools with care. " * 300
    assert said(system(manual), "say hi", tools=(READ,)) == "hi"
    assert said(system(manual), "say hi") != "hi"


def test_tags_around_what_a_prompt_quotes_are_no_values() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    answer = said("Grade the answer. <answer>Paris</answer>", response_format="json_schema", schema=schema)
    assert json.loads(answer) == {"answer": "Paris"}


def test_a_schema_is_believed_before_what_its_description_tells() -> None:
    told = {"type": "integer", "description": "from 1 to 5", "allOf": [{"minimum": 7}]}
    schema = {"type": "object", "properties": {"stars": told}, "required": ["stars"]}
    assert json.loads(said("Hi", response_format="json_schema", schema=schema))["stars"] >= 7


def test_names_may_be_in_small_letters() -> None:
    answer = said("jason is 25 years old", response_format="json_schema", schema=USER)
    assert json.loads(answer) == {"name": "jason", "age": 25}
