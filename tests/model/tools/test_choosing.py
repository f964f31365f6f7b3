"""Which tools a text asks for."""

import pytest

from mockserver.core.call import Tool
from mockserver.model.tools.choosing import best, is_follow_up, tool_requests

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


@pytest.mark.parametrize(("text", "so"), [("and in Rome?", True), ("What about 5?", True), ("Rome is nice", False)])
def test_follow_ups(text: str, so: bool) -> None:
    assert is_follow_up(text) is so


def function(name: str, about: str, *needed: str) -> Tool:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in needed}, "required": [*needed]}
    return Tool(name, about, schema)


OTHERS = (
    function("add_to_shopping_list", "", "item"),
    function("get_user", "Get a user", "user_id"),
    function("issue_refund", "Issue a refund for an order", "order_id"),
    function("db", "Run SQL", "query"),
)


def names(text: str) -> list[str]:
    return [request.tool.name for request in tool_requests(text, OTHERS, {})]


def test_items_of_a_list_are_one_wish() -> None:
    assert names("add milk, eggs and bread to my shopping list") == ["add_to_shopping_list"]


def test_a_clause_that_only_names_a_tool_says_which_the_one_beside_it_is_for() -> None:
    [request] = tool_requests("¿Quién es el 7? Usa get_user.", OTHERS, {})
    assert (request.tool.name, "Usa" in request.text) == ("get_user", False)
    assert names("Use get_user. Who is number 7?") == ["get_user"]


def test_a_tool_that_is_named_twice_is_wanted_twice() -> None:
    assert names("use get_user for 12 and get_user for 13") == ["get_user", "get_user"]


def test_a_request_is_heard_amid_a_long_text() -> None:
    padding = "Our company makes chairs. We have three plants, and a museum. " * 60
    [request] = tool_requests(f"{padding}Please refund order C-17. {padding}", OTHERS, {})
    assert request.tool.name == "issue_refund"
    assert "C-17" in request.text


def test_code_goes_to_what_runs_it() -> None:
    assert names("`SELECT count(*) FROM users`") == ["db"]


def test_some_tool_is_called_where_one_is_asked_for() -> None:
    assert len(names("call the tool")) == 1
    assert names("what is a tool") == []


@pytest.mark.parametrize("text", ["no news is good news", "Don't use any tools. Refund order 4.", "I got a refund."])
def test_what_wants_nothing(text: str) -> None:
    assert names(text) == []
