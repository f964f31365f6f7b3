"""The word with which a text ends when its work is done, and forms that an order gives to any text."""

import pytest
from msgspec.structs import replace

from mockserver.core.call import Message, Tool, ToolChoice
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from mockserver.model.form import find_closing, finish_answer
from mockserver.model.orders import Request
from mockserver.model.prose import read_topic
from tests.kit.calls import call, tool_result

WEATHER = Tool("get_weather", "Get the weather", {"type": "object", "properties": {"city": {"type": "string"}}})


def said(*messages: str | Message, tools: tuple[Tool, ...] = ()) -> str:
    turn = call(*messages)
    parts = answer_as_model(replace(turn, tools=tools, tool_choice=ToolChoice("auto")), Seed(1), {}).parts
    return "".join(part.text for part in parts if isinstance(part, Text))


def rules(text: str) -> Message:
    return Message("system", text)


@pytest.mark.parametrize(
    ("order", "word"),
    [
        ('Reply "TERMINATE" in the end when everything is done.', "TERMINATE"),
        ("When the task is complete, respond with TERMINATE.", "TERMINATE"),
        ("Once you have finished, say ALL_DONE", "ALL_DONE"),
        ("End every answer with 'over and out'.", "over and out"),
        ("Do not say DONE until the work is finished.", "DONE"),
        ("Output <END> to signal completion", "<END>"),
        ("Say READY only after you have called the tool.", "READY"),
        ("If you cannot complete the task, say FAILED.", ""),
        ("If the user says goodbye when done, say BYE.", ""),
        ("When you write SQL, use TABS.", ""),
        ("Say 'pong' when I say ping.", ""),
        ("Be brief.", ""),
    ],
)
def test_the_word_that_ends_an_answer(order: str, word: str) -> None:
    found = find_closing(call(rules(f"You are kind. {order} Be brief."), "Tell me about bees"))
    assert found.word == word
    assert said(rules(order), "What is 2 + 2?") == f"4\n\n{word}".rstrip()


def test_the_order_is_no_text_to_repeat() -> None:
    assert said("What is 2 + 2? Reply TERMINATE when done.") == "4\n\nTERMINATE"


def test_no_word_while_tools_are_to_be_called() -> None:
    order, user = rules("Use your tools. Reply TERMINATE when the task is done."), "What is the weather in Oslo?"
    assert said(order, user, tools=(WEATHER,)) == ""
    assert said(order, Message("user", user), *tool_result("sunny"), tools=(WEATHER,)).endswith("sunny.\n\nTERMINATE")


def test_who_has_nothing_left_to_do_says_the_word_alone() -> None:
    order, answer = rules("Reply TERMINATE when the task is done."), Message("assistant", "It is 4.")
    assert said(order, "What is 2 + 2?", answer, "") == "TERMINATE"
    assert said("What is 2 + 2?", answer, "Please continue. If everything is done, reply 'TERMINATE'.") == "TERMINATE"


def test_a_critic_approves_only_after_feedback() -> None:
    order, poem = rules("Respond with 'APPROVE' when your feedback has been addressed."), "Snow falls on the roof"
    assert "APPROVE" not in said(order, poem)
    assert said(order, poem, Message("assistant", "Too short."), "Snow falls softly on the roof") == "APPROVE"


@pytest.mark.parametrize(
    ("text", "order", "formed"),
    [
        ("There are 25 days.", "Only reply with the number", "25"),
        ("Rain falls.", "Write SQL with keywords in uppercase", "Rain falls."),
        ("Rain falls.", "Which number is in the upper row?", "Rain falls."),
    ],
)
def test_forms(text: str, order: str, formed: str) -> None:
    assert finish_answer(text, Request(order, "", read_topic(order)), Seed(0).stream("x")) == formed


@pytest.mark.parametrize(
    "piece", ["say ", 'say "a" when done ', "end the the ", "reply with the word ", "in all caps "]
)
def test_no_order_is_too_odd(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    assert len(find_closing(call(rules(text), text)).word) < 200
    assert finish_answer("abc", Request(text[:10_000], "", read_topic("")), Seed(0).stream("x"))
