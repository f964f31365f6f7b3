"""What orders the form of the reply is no request for a tool and no argument."""

import json

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Tool, ToolCall, ToolChoice
from mockserver.core.plan import Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from mockserver.model.form import remove_form
from tests.kit.calls import call

TEXT = {"type": "string"}
TOOLS = tuple(
    Tool(name, about, {"type": "object", "properties": dict.fromkeys(fields, TEXT), "required": fields})
    for name, about, fields in (
        ("get_weather", "Get the weather for a city", ["city"]),
        ("send_email", "Send an email", ["to", "subject", "body"]),
    )
)
FORMS = (
    "Reply TERMINATE when done.",
    "Answer yes or no: is it warm?",
    "Respond as JSON with keys city and temp.",
    "Answer in one word.",
    "Please answer only with YES or NO.",
    "Output a markdown table.",
    "Format your answer as YAML, and nothing else",
    "Answer with A, B or C.",
    "Exactly 3 bullet points.",
    "Keep it short.",
)


def asked(*said: str | Message) -> Call:
    return replace(call(*said), tools=TOOLS, tool_choice=ToolChoice("auto"))


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_no_argument(form: str) -> None:
    for said in (f"What's the weather in Oslo? {form}", f"{form}\nWhat's the weather in Oslo?"):
        made = [part.call for part in answer_as_model(asked(said), Seed(1), {}).parts if isinstance(part, ToolUse)]
        assert [(one.name, json.loads(one.arguments)) for one in made] == [("get_weather", {"city": "Oslo"})]
        done = Message("assistant", tool_calls=(ToolCall("1", "get_weather", '{"city": "Oslo"}'),))
        answer = answer_as_model(
            asked(said, done, Message("tool", '{"temp": 12}', tool_call_id="1")), Seed(1), {}
        ).parts
        assert all(isinstance(part, Text) for part in answer)


@pytest.mark.parametrize(
    "said",
    [
        "Reply to Bob's email.",
        "Return a list of open orders for Bob.",
        "Write the report to out.json.",
        "Answer the email from Ann in one go.",
        "Reply yes to the invitation.",
        "Print the words of the song.",
        "Answer with get_weather as JSON.",
    ],
)
def test_requests_stay(said: str) -> None:
    assert remove_form(asked(said)).last_user == said


def test_a_text_that_is_all_form_keeps_what_it_asks_for() -> None:
    assert remove_form(asked("Respond in JSON with the weather in Oslo")).last_user.strip() == (
        "with the weather in Oslo"
    )
    assert remove_form(asked("Answer in one word.")).last_user == "Answer in one word."


def test_json_takes_numbers_of_results() -> None:
    done = Message("assistant", tool_calls=(ToolCall("1", "get_weather", '{"city": "Oslo"}'),))
    result = Message("tool", '{"temp": 12, "code": 7}', tool_call_id="1")
    said = "What's the weather in Oslo? Respond as JSON with keys city, temp and code (string)."
    (part,) = answer_as_model(asked(said, done, result), Seed(1), {}).parts
    assert isinstance(part, Text)
    assert json.loads(part.text) == {"city": "Oslo", "temp": 12, "code": "7"}
