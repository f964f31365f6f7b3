"""Which tools a text asks for, clause by clause."""

import pytest

from mockserver.core.call import Tool
from mockserver.model.tools.choosing import best, tool_requests

TOOLS = (
    Tool("get_weather", "Get the weather for a city"),
    Tool("book_table", "Book a table at a restaurant"),
    Tool("send_email", "Send an e-mail"),
)


def asked(text: str) -> list[tuple[str, str, bool]]:
    return [(request.tool.name, request.text, request.later) for request in tool_requests(text, TOOLS, {})]


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


def function(name: str, about: str, *needed: str) -> Tool:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in needed}, "required": [*needed]}
    return Tool(name, about, schema)


OTHER_TOOLS = (
    function("add_to_shopping_list", "", "item"),
    function("get_user", "Get a user", "user_id"),
    function("issue_refund", "Issue a refund for an order", "order_id"),
)


def names(text: str) -> list[str]:
    return [request.tool.name for request in tool_requests(text, OTHER_TOOLS, {})]


def test_items_of_a_list_are_one_wish() -> None:
    assert names("add milk, eggs and bread to my shopping list") == ["add_to_shopping_list"]


def test_a_tool_that_is_named_twice_is_wanted_twice() -> None:
    assert names("use get_user for 12 and get_user for 13") == ["get_user", "get_user"]


@pytest.mark.parametrize("text", ["no news is good news", "Don't use any tools. Refund order 4.", "I got a refund."])
def test_what_wants_nothing(text: str) -> None:
    assert names(text) == []


FOREIGN_TOOLS = (
    Tool("get_weather", "Get the weather for a city"),
    Tool("search_flights", "Search flights between cities"),
    Tool("translate_text", "Translate a text"),
    Tool("delete_user", "Delete a user"),
)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Wie ist das Wetter in Berlin?", "get_weather"),
        ("Quel temps fait-il à Lyon ?", "get_weather"),
        ("¿Qué tiempo hace en Madrid?", "get_weather"),
        ("Che tempo fa a Milano?", "get_weather"),
        ("Какая погода в Москве?", "get_weather"),
        ("东京的天气怎么样？", "get_weather"),
        ("東京の天気を教えて", "get_weather"),
        ("Suche Flüge von Wien nach Rom", "search_flights"),
        ("Traduce 'hello' al español", "translate_text"),
        ("supprime l'utilisateur 7", "delete_user"),
        ("Erzähl mir von dir", None),
        ("Merci beaucoup !", None),
    ],
)
def test_tools_are_asked_for_in_other_languages(text: str, tool: str | None) -> None:
    assert [request.tool.name for request in tool_requests(text, FOREIGN_TOOLS, {})] == ([tool] if tool else [])
