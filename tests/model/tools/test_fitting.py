"""Which of the offered tools one clause asks for."""

import pytest

from mockserver.core.call import Tool
from mockserver.model.tools.choosing import Surroundings, denied, described, named, refers_back
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
