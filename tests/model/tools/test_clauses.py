"""Clauses of a text."""

import pytest

from mockserver.model.tools.choosing import clauses, unquoted


def test_clauses_stand_between_signs_and_joining_words() -> None:
    found = clauses("Check the weather in Paris, and book a table. Then e-mail bob@example.com")
    assert [clause.text.strip() for clause in found] == [
        "Check the weather in Paris",
        "book a table",
        "e-mail bob@example.com",
    ]


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
