"""Which worker acts next and when the work ends, and names from the lists of a prompt."""

import json
from typing import Any

import pytest

from mockserver.core.call import Message, Tool
from mockserver.core.json import Json
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from mockserver.model.listed_options import choose_speaker, choose_values, find_colleague, list_options
from tests.kit.calls import call

RULES = Message("system", "You supervise researcher and coder. If all is done, answer FINISH.")
CODE = Message("user", "Write code for a bar chart")


def route(*options: str, name: str = "next") -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"enum": [*options]}}, "required": [name]}


ROUTE = route("researcher", "coder", "FINISH")


def chosen(schema: Json, *messages: Message) -> Any:
    return next(iter(choose_values(call(*messages), schema).values()), None)


def test_a_worker_that_fits_and_then_the_end() -> None:
    assert chosen(ROUTE, RULES, CODE) == "coder"
    assert chosen(ROUTE, RULES, Message("user", "Research the moon")) == "researcher"
    for reply in (
        Message("user", "plot()", name="coder"),
        Message("assistant", "plot()"),
        Message("user", "coder: ok"),
    ):
        assert chosen(ROUTE, RULES, CODE, reply) == "FINISH"


@pytest.mark.parametrize("end", ["FINISH", "END", "__end__", "done", "stop", "complete", "final_answer"])
def test_every_worker_that_the_request_names_works_once(end: str) -> None:
    schema = route("flights", "hotels", end)
    messages = [Message("user", "Book a flight to Rome and a hotel there")]
    seen = []
    while not seen or (seen[-1] != end and len(seen) < 9):
        (part,) = answer_as_model(call(*messages, response_format="json_schema", schema=schema), Seed(1), {}).parts
        assert isinstance(part, Text)
        seen.append(json.loads(part.text)["next"])
        messages += [Message("assistant", part.text), Message("user", "Booked.")]
    assert seen == ["flights", "hotels", end]


def test_a_new_request_starts_again() -> None:
    done = (RULES, CODE, Message("assistant", "plot()", name="coder"))
    assert chosen(ROUTE, *done, Message("user", "Research the moon")) == "researcher"
    assert chosen(ROUTE, *done, Message("user", "Who acts next, or should we FINISH?")) == "FINISH"


def test_definitions_and_alternatives_list_options_too() -> None:
    node = {"anyOf": [{"const": "coder"}, {"$ref": "#/$defs/End"}]}
    schema = {"$defs": {"End": {"enum": ["__end__"]}}, "properties": {"goto": node}}
    assert chosen(schema, CODE) == "coder"
    assert chosen(schema, CODE, Message("assistant", "plot()")) == "__end__"
    endless: Json = {"$defs": {"A": {"$ref": "#/$defs/A"}}, "properties": {"next": {"$ref": "#/$defs/A"}}}
    assert choose_values(call(CODE), endless) == {}


def test_a_state_is_no_decision() -> None:
    assert choose_values(call("Set it to doing"), route("todo", "doing", "done", name="status")) == {}


def test_a_name_from_a_list_in_words() -> None:
    schema = {"properties": {"coworker": {"type": "string"}, "task": {"type": "string"}}}
    about = "Delegate a task to one of the following coworkers: Senior Researcher, Writer\nThe input is the coworker."
    assert choose_values(call("Ask the writer for an article"), schema, about) == {"coworker": "Writer"}
    assert choose_values(call("Hello"), schema, about) == {"coworker": "Senior Researcher"}
    rules = Message("system", "Available coworkers:\n- Editor: mends texts\n- Painter: draws\n")
    assert choose_values(call(rules, Message("user", "Please mend this")), schema) == {"coworker": "Editor"}


def test_a_member_of_a_roster() -> None:
    member = '<member id="{}" name="{}">\n  Role: {}\n</member>\n'
    roster = member.format("forecaster", "Forecaster", "Knows the weather") + member.format(
        "author", "Author", "Writes"
    )
    asked = call(Message("system", f"<team>\n{roster}</team>"), Message("user", "What is the weather in Oslo?"))
    schema = {"properties": {"member_id": {"type": "string"}, "task": {"type": "string"}}}
    tool = Tool("delegate_task_to_member", "Delegate a task.", schema)
    assert choose_values(asked, schema)["member_id"] == "forecaster"
    assert find_colleague(asked, tool) == {"member_id": "forecaster", "task": "What is the weather in Oslo?"}


def test_a_word_that_a_description_quotes() -> None:
    schema = {"properties": {"score": {"type": "string", "description": "'yes' if relevant, or 'no' if not"}}}
    assert choose_values(call("Grade it"), schema) == {"score": "yes"}


def test_workers_in_words() -> None:
    rules = Message("system", "Respond with the worker to act next, or FINISH. Workers: researcher, coder.")
    assert choose_speaker(call(rules, CODE)) == "coder"
    assert choose_speaker(call(rules, CODE, Message("user", "plot()", name="coder"))) == "FINISH"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("I was charged twice", "billing"),
        ("The app crashes on startup", "technical"),
        ("How do I reset my password?", "account"),
        ("A technical question about billing", "technical"),
    ],
)
def test_a_label_is_chosen_by_what_it_is_meant_for(text: str, label: str) -> None:
    schema = route("technical", "billing", "account", name="category")
    (part,) = answer_as_model(call(text, response_format="json_schema", schema=schema), Seed(1), {}).parts
    assert isinstance(part, Text)
    assert json.loads(part.text) == {"category": label}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Answer with red, green or blue.", ["red", "green", "blue"]),
        ("The workers are: ann (writes), ben (draws)", ["ann", "ben"]),
        ("Classify it as spam or ham: buy now", ["spam", "ham"]),
        ("Available agents:\n- billing: invoices\n- tech: bugs", ["billing", "tech"]),
        ("Choose one of the following coworkers: Senior Data Researcher", ["Senior Data Researcher"]),
        ("You have a team of specialists, listed below.", None),
        ("Write a poem about love or war", None),
        ('What does "yes or no" mean?', None),
        ("MY_VALUE cd /path/to/working/dir", None),
    ],
)
def test_options_in_words(text: str, names: list[str] | None) -> None:
    found = list_options(text)
    assert ([*found[0].names] if found else None) == names


@pytest.mark.parametrize("piece", ["a+b-", "a", "a, ", ": a b c ", "x:\n- a\n", "'a' or "])
def test_no_text_lists_too_much(piece: str) -> None:
    assert len(list_options(piece * (10_000 // len(piece)))) <= 2
