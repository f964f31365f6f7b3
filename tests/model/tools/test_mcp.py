"""MCP servers: what they have listed, asked for and called."""

from typing import Any

import pytest

from mockserver.core.call import Call, Message, Tool, ToolCall, ToolChoice
from mockserver.core.plan import Item
from mockserver.core.seed import Seed
from mockserver.model.tools.hosted import allowed, chosen, hosted_use
from tests.kit.calls import call

NAMED = {"allowed_tools": ["read_wiki", "ask_question"]}
REQUEST = Message("assistant", tool_calls=(ToolCall("mcpr_1", "ask_question", "{}", "mcp_approval_request"),))


def use(conversation: Call, **options: Any) -> Item | None:
    return hosted_use(Tool("mcp", kind="mcp", options={"server_label": "wiki", **options}), conversation, Seed(1))


def test_a_server_of_unknown_tools_is_only_listed_once() -> None:
    listed = use(call("hello"))
    assert listed == Item("mcp_list_tools", {"server_label": "wiki", "tools": [], "error": None})
    done = Message("assistant", parts=({"type": "mcp_list_tools", "server_label": "wiki"},))
    assert use(call("hello", done)) is None


@pytest.mark.parametrize(
    ("servers", "tools"),
    [
        ((), ["a", "b"]),
        ((("wiki", ""),), ["a", "b"]),
        ((("wiki", "b"),), ["b"]),
        ((("wiki", "b"), ("wiki", "")), ["a", "b"]),
        ((("other", "b"),), None),
    ],
)
def test_a_choice_means_a_server_or_one_of_its_tools(
    servers: tuple[tuple[str, str], ...], tools: list[str] | None
) -> None:
    server = Tool("mcp", kind="mcp", options={"server_label": "wiki", "allowed_tools": ["a", "b"]})
    found = chosen(server, ToolChoice("named", ("mcp",), servers))
    assert (found and allowed(found)) == tools
    assert chosen(Tool("web_search"), ToolChoice("required", (), servers)) == Tool("web_search")


def test_a_tool_that_needs_no_approval_is_called() -> None:
    made = use(call("ask a question"), require_approval="never", **NAMED)
    assert made is not None
    assert made.kind == "mcp_call"
    assert (made.body["name"], made.body["arguments"]) == ("ask_question", '{"query": "ask a question"}')
    assert made.body["output"]
    done = Message("assistant", parts=({"type": "mcp_call", "server_label": "wiki"},))
    assert use(call("ask a question", done), require_approval="never", **NAMED) is None


@pytest.mark.parametrize(
    ("required", "kind"),
    [
        (None, "mcp_approval_request"),
        ("always", "mcp_approval_request"),
        ({"never": {"tool_names": ["read_wiki"]}}, "mcp_call"),
        ({"always": {"tool_names": ["read_wiki"]}}, "mcp_approval_request"),
        ({"never": {"tool_names": ["ask_question"]}}, "mcp_approval_request"),
    ],
)
def test_approval_is_asked_for_where_it_is_required(required: Any, kind: str) -> None:
    made = use(call("read the wiki"), require_approval=required, allowed_tools={"tool_names": NAMED["allowed_tools"]})
    assert made is not None
    assert (made.kind, made.body["name"]) == (kind, "read_wiki")


@pytest.mark.parametrize(("answer", "kind"), [('{"approve":true}', "mcp_call"), ('{"approve":false}', None)])
def test_what_the_user_says_to_it_is_heeded(answer: str, kind: str | None) -> None:
    made = use(call("ask", REQUEST, Message("tool", answer, tool_call_id="mcpr_1")), **NAMED)
    assert (made and made.kind) == kind
