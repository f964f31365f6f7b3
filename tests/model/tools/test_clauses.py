"""Clauses, their moods, and answers to questions of the assistant."""

import pytest

from mockserver.core.call import Call, Message
from mockserver.model.tools.clauses import (
    answers,
    clauses,
    mood,
    needs_the_world,
    ordered,
    reopened,
    reported,
    unquoted,
    wanting,
)
from tests.kit.calls import call


def test_clauses_stand_between_signs_and_joining_words() -> None:
    found = clauses("Check the weather in Paris, and book a table. Then e-mail bob@example.com")
    assert [clause.text.strip() for clause in found] == [
        "Check the weather in Paris",
        "book a table",
        "e-mail bob@example.com",
    ]


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("do this and that", [False, False]),
        ("do this, then that", [False, True]),
        ("do this. After that do that", [False, True]),
        ("do this; finally do that", [False, True]),
        ("do this. Once you have it do that", [False, True]),
    ],
)
def test_what_is_to_come_later(text: str, later: list[bool]) -> None:
    assert [clause.later for clause in clauses(text)] == later


@pytest.mark.parametrize(
    ("text", "wanted", "denied"),
    [
        ("don't search the web", "", " search the web"),
        ("tell me without searching", "tell me ", " searching"),
        ("don't search just answer", "  answer", " search "),
        ("I don't want you to book it", "", " book it"),
        ("I don't know the weather", "I don't know the weather", ""),
        ("use search instead of lookup", "use search ", " lookup"),
    ],
)
def test_what_is_denied(text: str, wanted: str, denied: str) -> None:
    [clause] = clauses(text)
    assert (clause.text, clause.denied) == (wanted, denied)


@pytest.mark.parametrize(
    ("text", "idle"),
    [
        ("Thanks for the weather", True),
        ("what can you do", True),
        ("Which tools do you have", True),
        ("How does get_weather work", True),
        ("What is the weather", False),
    ],
)
def test_what_asks_for_nothing(text: str, idle: bool) -> None:
    assert clauses(text)[0].idle is idle


def test_quoted_texts_are_blanked_and_quoted_names_stay() -> None:
    assert unquoted('say "book a table" with `get_user`') == "say" + " " * 16 + "with `get_user`"
    assert len(unquoted("```\nbook a table\n```")) == len("```\nbook a table\n```")


def test_of_a_long_text_the_ends_are_heard() -> None:
    found = clauses("first. " + "middle. " * 1000 + "last.")
    assert (found[0].text.strip(), found[-1].text.strip()) == ("first", "last")
    assert len(found) <= 400


@pytest.mark.parametrize("sign", ["“", '"', "`", "'", "«", "「", "a,", "what ", "do you have ", "not "])
def test_hostile_texts_are_read_in_bounded_time(sign: str) -> None:
    assert len(clauses(sign * 16_000)) <= 400


@pytest.mark.parametrize(
    ("clause", "how"),
    [
        ("cancel my order", "order"),
        ("Can you please cancel it", "order"),
        ("I'd like to cancel it", "order"),
        ("what is in my cart", "question"),
        ("Do I need a visa", "question"),
        ("Hi! Which orders are open", "question"),
        ("I cancelled it last week", "report"),
        ("we have already sent it", "report"),
        ("The weather was lovely", "report"),
        ("", "order"),
    ],
)
def test_moods(clause: str, how: str) -> None:
    assert mood(clause) == how


def test_what_somebody_reports_to_have_done() -> None:
    assert reported("I have already Deleted the user") == "deleted"
    assert reported("delete the user") == ""


def test_an_order_from_its_verb_on() -> None:
    assert ordered("Hey, could you please refund order 4") == "refund order 4"
    assert ordered("I want to cancel it") == "cancel it"


@pytest.mark.parametrize(
    ("clause", "so"),
    [("how many days do I have left", True), ("what is on today", True), ("what is a day", False), ("", False)],
)
def test_what_no_model_knows_by_itself(clause: str, so: bool) -> None:
    assert needs_the_world(clause) is so


def test_what_is_wanted() -> None:
    assert wanting("I need a room")
    assert wanting("could you find one")
    assert not wanting("Our company makes rooms")


def test_a_megabyte_is_read_in_linear_time() -> None:
    for text in ("please " * 150_000, "I " * 500_000, "the a " * 150_000, " " * 1_000_000):
        assert mood(text) in ("order", "question", "report")
        assert not needs_the_world(text)


def answered(asked: str, text: str) -> Call:
    return call("cancel an order", Message("assistant", asked), text)


@pytest.mark.parametrize("text", ["5512", "order 88, $20", "yes, go ahead", "the blue one"])
def test_values_and_consent_are_answers(text: str) -> None:
    assert answers(answered("Which order?", text))


@pytest.mark.parametrize("text", ["no thanks", "never mind", "show me all orders", "which are there?", "x" * 500])
def test_refusals_and_new_requests_are_none(text: str) -> None:
    assert not answers(answered("Which order?", text))


def test_without_a_question_there_is_no_answer() -> None:
    assert not answers(answered("It is cancelled.", "5512"))
    assert not answers(call("5512"))


def test_what_is_open_again() -> None:
    assert list(reopened(answered("Which order?", "5512"))) == ["cancel an order"]
    assert list(reopened(answered("Hm. Shall I cancel order 3?", "yes"))) == ["cancel order 3?", "cancel an order"]
    assert list(reopened(answered("Which order?", "no"))) == []
