"""Which tools a text asks for, clause by clause."""

import pytest

from mockserver.core.call import Tool
from mockserver.model.tools.choosing import (
    Surroundings,
    best,
    denied,
    described,
    is_follow_up,
    named,
    refers_back,
    tool_requests,
)
from mockserver.model.tools.clauses import clauses
from mockserver.model.tools.offers import offered_tools


def tool(name: str, about: str = "", **takes: str) -> Tool:
    properties = {key.rstrip("_"): {"type": kind} for key, kind in takes.items()}
    return Tool(name, about, {"type": "object", "properties": properties, "required": [*properties]})


ORDERS = (
    tool("lookup_order", "Look up an order by its id", order_id="string"),
    tool("issue_refund", "Issue a refund for an order", order_id="string", amount="number"),
    tool("cancel_order", "Cancel an order", order_id="string"),
)
EVENTS = (
    tool("calendar_create_event", "Creates an event", title="string", start="string"),
    tool("calendar_list_events", "Lists events", start="string", end="string"),
    tool("get_balance", "Account balance", account="string"),
    tool("transfer_funds", "Move money between accounts", from_account="string", amount="number"),
)
OTHERS = (
    tool("mcp__github__merge_pull_request", "Merge a pull request", number="integer"),
    tool("mcp__github__list_issues", "List issues", repo="string"),
    tool("assistant_7", "Ask about the weather.", city="string"),
    tool("rollback", "", service="string"),
    tool("WebFetch", "Fetches content", url="string"),
)


def chosen(text: str, *tools: Tool) -> list[str]:
    clause, *_ = clauses(text)
    found = described(clause, offered_tools(tools, {}), Surroundings(clause, clause, text))
    return [each.name for each in found]


@pytest.mark.parametrize(
    ("text", "tools", "name"),
    [
        ("please refund order B-93 with $12.00", ORDERS, "issue_refund"),
        ("What's the status of order 778?", ORDERS, "lookup_order"),
        ("I'd like to cancel my order 5512", ORDERS, "cancel_order"),
        ("set up a meeting with Bob tomorrow at 3pm", EVENTS, "calendar_create_event"),
        ("how much money is in my savings account?", EVENTS, "get_balance"),
        ("Can you merge PR #42?", OTHERS, "mcp__github__merge_pull_request"),
        ("What is the weather in Paris?", OTHERS, "assistant_7"),
        ("roll back payments", OTHERS, "rollback"),
        ("Summarize https://example.com/post", OTHERS, "WebFetch"),
    ],
)
def test_the_tool_that_is_described(text: str, tools: tuple[Tool, ...], name: str) -> None:
    assert chosen(text, *tools) == [name]


@pytest.mark.parametrize(
    "text",
    [
        "I cancelled my order last week",
        "The order was fine",
        "Do you like orders?",
        "Explain the history of refunds",
        "Why do people cancel orders?",
        "How do orders travel?",
        "Write a poem on an order to cancel",
    ],
)
def test_reports_opinions_and_explanations_take_no_tool(text: str) -> None:
    assert chosen(text, *ORDERS) == []


def test_a_listed_value_tells_of_its_tool() -> None:
    kinds = {"type": "object", "properties": {"kind": {"enum": ["cardiology", "dermatology"]}, "city": {}}}
    assert chosen("find me a cardiologist in Denver", Tool("find_doctor", "", kinds), ORDERS[0]) == ["find_doctor"]


def test_tools_are_named_in_the_order_of_the_clause() -> None:
    clause, *_ = clauses("cancel_order or lookup_order")
    assert [each.name for each in named(clause, offered_tools(ORDERS, {}))] == ["cancel_order", "lookup_order"]


def test_what_is_denied_is_the_deed_and_not_all_that_is_done_to_the_same_thing() -> None:
    clause, *_ = clauses("do not refund order 4")
    assert list(denied(clause, offered_tools(ORDERS, {}))) == ["issue_refund"]


def test_all_tools_are_denied_at_once() -> None:
    clause, *_ = clauses("don't use any tools")
    assert len(list(denied(clause, offered_tools(ORDERS, {})))) == len(ORDERS)


@pytest.mark.parametrize(
    ("text", "so"),
    [("send it", True), ("use the result", True), ("say that I am late", False), ("is there a bus", False)],
)
def test_what_refers_to_something_before(text: str, so: bool) -> None:
    assert refers_back(text) is so


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


OTHER_TOOLS = (
    function("add_to_shopping_list", "", "item"),
    function("get_user", "Get a user", "user_id"),
    function("issue_refund", "Issue a refund for an order", "order_id"),
)


def names(text: str) -> list[str]:
    return [request.tool.name for request in tool_requests(text, OTHER_TOOLS, {})]


def test_items_of_a_list_are_one_wish() -> None:
    assert names("add milk, eggs and bread to my shopping list") == ["add_to_shopping_list"]


def test_a_clause_that_only_names_a_tool_says_which_the_one_beside_it_is_for() -> None:
    [request] = tool_requests("¿Quién es el 7? Usa get_user.", OTHER_TOOLS, {})
    assert (request.tool.name, "Usa" in request.text) == ("get_user", False)
    assert names("Use get_user. Who is number 7?") == ["get_user"]


def test_a_tool_that_is_named_twice_is_wanted_twice() -> None:
    assert names("use get_user for 12 and get_user for 13") == ["get_user", "get_user"]


def test_a_request_is_heard_amid_a_long_text() -> None:
    padding = "Our company makes chairs. We have three plants, and a museum. " * 60
    [request] = tool_requests(f"{padding}Please refund order C-17. {padding}", OTHER_TOOLS, {})
    assert request.tool.name == "issue_refund"
    assert "C-17" in request.text


def test_some_tool_is_called_where_one_is_asked_for() -> None:
    assert len(names("call the tool")) == 1
    assert names("what is a tool") == []


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
