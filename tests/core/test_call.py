"""What a call knows of itself."""

from typing import Any

import pytest

from mockserver.core.call import Call, Message, Prompt, Tool, ToolCall, compute_fingerprint
from mockserver.core.http import HttpRequest
from mockserver.core.tokens import APPROX
from tests.kit.calls import pack_options

HTTP = HttpRequest("POST", "/v1/chat/completions")
SYSTEM, HELLO, HI, BYE = (
    Message("system", "Be kind"),
    Message("user", "Hello"),
    Message("assistant", "Hi"),
    Message("user", "Bye"),
)


def call(*messages: Message, meaning: Any = None, **more: Any) -> Call:
    return Call("openai", "chat", "m", HTTP, meaning, messages=messages, **pack_options(more))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": [2, 3]}, {"b": [2, 3], "a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ([1, 2], [2, 1], False),
        ("1", 1, False),
        (1, True, False),
        (None, False, False),
        ("é", "e\u0301", False),
        ({"a": None}, {}, False),
    ],
)
def test_fingerprints_name_a_meaning(one: Any, other: Any, same: bool) -> None:
    assert (call(meaning=one).fingerprint == call(meaning=other).fingerprint) is same


def test_a_fingerprint_is_pinned() -> None:
    assert (
        compute_fingerprint("openai", "chat", {"b": "ü\ud800", "a": [1.5, None]}) == "40b1187485b013a4e2d1e92de6c7f044"
    )


def test_dialect_and_operation_belong_to_the_fingerprint() -> None:
    asked = [Call(d, o, "m", HTTP, 1).fingerprint for d in ("openai", "azure") for o in ("chat", "models")]
    assert len(set(asked)) == 4


@pytest.mark.parametrize(
    ("messages", "last_user", "turn"),
    [
        ((), "", 0),
        ((SYSTEM,), "", 0),
        ((SYSTEM, HELLO), "Hello", 0),
        ((HELLO, HI, BYE), "Bye", 1),
        ((HELLO, HI), "Hello", 1),
        ((HELLO, HI, BYE, HI), "Bye", 2),
    ],
)
def test_the_conversation(messages: tuple[Message, ...], last_user: str, turn: int) -> None:
    asked = call(*messages)
    assert (asked.last_user, asked.turn) == (last_user, turn)


@pytest.mark.parametrize(
    ("messages", "since"),
    [
        ((), ()),
        ((SYSTEM,), (SYSTEM,)),
        ((SYSTEM, HELLO), ()),
        ((SYSTEM, HELLO, HI), (HI,)),
        ((HELLO, HI, BYE, HI, SYSTEM), (HI, SYSTEM)),
    ],
)
def test_what_was_said_since_the_user_spoke(messages: tuple[Message, ...], since: tuple[Message, ...]) -> None:
    assert call(*messages).since_user == since


def test_a_conversation_keeps_its_opening() -> None:
    opening = call(SYSTEM, HELLO).opening_fingerprint
    assert call(SYSTEM, HELLO, HI, BYE).opening_fingerprint == opening
    assert call(SYSTEM, BYE).opening_fingerprint != opening
    assert call(HELLO).opening_fingerprint != opening
    assert call(SYSTEM).opening_fingerprint == call(SYSTEM).opening_fingerprint
    assert call().opening_fingerprint == call().opening_fingerprint


def test_tools_by_name() -> None:
    look, ask = Tool("look"), Tool("ask")
    asked = call(tools=(look, ask))
    assert asked.find_tool("ask") is ask
    assert asked.find_tool("run") is None


@pytest.mark.parametrize(
    ("messages", "tools", "tokens"),
    [
        ((), (), 3),
        ((HELLO,), (), 3 + 4),
        ((SYSTEM, HELLO), (), 3 + 5 + 4),
        ((Message("assistant", tool_calls=(ToolCall("1", "look", "{}"),)),), (), 3 + 3 + 2),
    ],
)
def test_tokens_of_the_prompt(messages: tuple[Message, ...], tools: tuple[Tool, ...], tokens: int) -> None:
    assert call(*messages, tools=tools).prompt_tokens == tokens


def test_parts_and_tools_cost_tokens_too() -> None:
    plain = call(HELLO).prompt_tokens
    picture = call(Message("user", "Hello", parts=({"type": "image_url"},))).prompt_tokens
    bare = call(HELLO, tools=(Tool("look"),)).prompt_tokens
    full = call(HELLO, tools=(Tool("look", "Looks", {"type": "object"}),)).prompt_tokens
    assert plain < picture
    assert plain < bare < full


@pytest.mark.parametrize("prompt", [Prompt(""), Prompt("two words"), Prompt("", (1, 2, 3)), Prompt("one", ())], ids=str)
def test_a_prompt_has_as_many_tokens_as_it_counts(prompt: Prompt) -> None:
    assert prompt.count(APPROX) == len(prompt.find_tokens(APPROX))
