"""In which mood something is said."""

import pytest

from mockserver.model.tools.clauses import mood, needs_the_world, ordered, reported, wanting


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
