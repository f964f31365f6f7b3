"""What instructions order of tools."""

import pytest

from mockserver.core.call import Message, Tool
from mockserver.model.tools.pending_calls import Instructions, instructions
from tests.kit.calls import call

TOOLS = (Tool("lookup_policy"), Tool("send_reply"), Tool("search"))


def said(text: str) -> Instructions:
    return instructions(call(Message("system", text), "hello"), TOOLS)


@pytest.mark.parametrize(
    ("text", "always"),
    [
        ("Always call lookup_policy first.", ["lookup_policy"]),
        ("Use the search tool before answering.", ["search"]),
        ("You must first call search, then lookup_policy.", ["search", "lookup_policy"]),
        ("Always look up the policy.", ["lookup_policy"]),
        ("Call lookup_policy when the user asks about holidays.", []),
        ("You have lookup_policy.", []),
        ("Always be kind.", []),
        ("I always search my soul before talking to `nobody`", ["search"]),
    ],
)
def test_what_is_always_called(text: str, always: list[str]) -> None:
    assert [tool.name for tool in said(text).always] == always


@pytest.mark.parametrize(
    ("text", "first", "second", "cause"),
    [
        ("Call lookup_policy before send_reply.", "lookup_policy", "send_reply", "send_reply"),
        ("Before you call send_reply call lookup_policy.", "lookup_policy", "send_reply", "send_reply"),
        ("Call send_reply after lookup_policy.", "lookup_policy", "send_reply", "lookup_policy"),
        ("After lookup_policy call send_reply.", "lookup_policy", "send_reply", "lookup_policy"),
    ],
)
def test_pairs(text: str, first: str, second: str, cause: str) -> None:
    [pair] = said(text).pairs
    assert (pair.first.name, pair.second.name, pair.cause) == (first, second, cause)


def test_what_is_never_called() -> None:
    assert said("Never call send_reply.").never == {"send_reply"}
    assert said("Never call send_reply without asking.").never == frozenset()


def test_conditions_are_hints() -> None:
    assert "holidays" in said("If somebody asks about holidays, use lookup_policy.").hints["lookup_policy"]


def test_only_instructions_order() -> None:
    assert instructions(call("Always call lookup_policy first."), TOOLS) == Instructions()


def test_all_tools_are_forbidden_at_once() -> None:
    tools = (Tool("get_weather"), Tool("search"))
    assert instructions(call(Message("system", "Be brief. Do not use any tools.")), tools).never == {
        "get_weather",
        "search",
    }
    assert instructions(call(Message("system", "Do not use tools unless asked.")), tools).never == frozenset()
