"""Which tools a text asks for."""

import pytest

from mockserver.core.call import Tool
from mockserver.engine.generate.tools.choosing import best, follow_up, wishes

TOOLS = (
    Tool("get_weather", "Get the weather for a city"),
    Tool("book_table", "Book a table at a restaurant"),
    Tool("send_email", "Send an e-mail"),
)


def asked(text: str) -> list[tuple[str, str, bool]]:
    return [(wish.tool.name, wish.text, wish.later) for wish in wishes(text, TOOLS, {})]


def test_each_wish_has_its_own_words() -> None:
    assert asked("Check the weather in Paris and book a table at Chez Nous, then e-mail it to bob") == [
        ("get_weather", "Check the weather in Paris", False),
        ("book_table", "book a table at Chez Nous", False),
        ("send_email", "e-mail it to bob", True),
    ]


def test_what_asks_for_nothing_belongs_to_the_wish_before() -> None:
    assert asked("I am in Rome. What is the weather? I need it in celsius and soon") == [
        ("get_weather", "I am in Rome. What is the weather? I need it in celsius and soon", False)
    ]


def test_what_is_denied_is_no_part_of_a_wish() -> None:
    assert asked("Don't send an email, check the weather in Rome") == [
        ("get_weather", "check the weather in Rome", False)
    ]


@pytest.mark.parametrize("text", ["", "hello", "?!", "write a poem about the weather", "never call get_weather"])
def test_prose_asks_for_no_tool(text: str) -> None:
    assert asked(text) == []


def test_the_best_of_tools_that_fit_badly() -> None:
    found = best("something for a city", TOOLS, {})
    assert found is not None
    assert found.name == "get_weather"
    assert best("xyzzy", TOOLS, {}) is None


@pytest.mark.parametrize(("text", "so"), [("and in Rome?", True), ("What about 5?", True), ("Rome is nice", False)])
def test_follow_ups(text: str, so: bool) -> None:
    assert follow_up(text) is so
