"""From a Responses body to a Call, and from an answer to a reply; whatever comes is understood or refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver.core.call import IdShape, Message, Tool, ToolChoice
from mockserver.core.http import Frame, Reply
from mockserver.core.plan import Answer, Choice, Failure, Reasoning, Text, Usage
from mockserver.dialects._responses.request import RESPONSE_STYLE, asked, error_event, responses_reply

F = {"type": "function", "name": "f", "description": "d", "parameters": {"b": 1, "a": 2}, "strict": True}
SEARCH = {"type": "web_search", "user_location": {"type": "approximate", "city": "Oslo"}}
IMAGE = {"type": "image_generation", "size": "1024x1024"}
WIKI = {"type": "mcp", "server_label": "wiki", "allowed_tools": ["ask"]}
ANSWER = Answer("resp_1", 1_700_000_000, "", (Choice((Reasoning("Hm."), Text("Hello there."))),), Usage(3, 4))


@pytest.fixture
def parse(speak: Callable[[str], Any]) -> Callable[..., Any]:
    parse: Callable[..., Any] = speak("openai").responses
    return parse


def test_an_empty_body_has_the_defaults(parse: Callable[..., Any]) -> None:
    call = parse({})
    assert (call.dialect, call.operation, call.model, call.raw) == ("openai", "responses", "", {})
    assert (call.messages, call.instructions, call.tools) == ((), False, ())
    assert (call.tool_choice, call.parallel_tool_calls, call.n) == (ToolChoice("none"), True, 1)
    assert (call.stream, call.store, call.background, call.previous, call.id) == (False, True, False, None, "")
    assert (call.max_tokens, call.max_tool_calls, call.overflow, call.logprobs) == (None, None, "error", None)
    assert (call.response_format, call.schema, call.ids) == ("text", None, IdShape("resp_", 50, "hex"))


FIELDS: list[tuple[dict[str, Any], str, Any]] = [
    ({"model": "gpt-x"}, "model", "gpt-x"),
    ({"stream": True}, "stream", True),
    ({"store": False}, "store", False),
    ({"store": None}, "store", True),
    ({"background": True}, "background", True),
    ({"previous_response_id": "resp_1"}, "previous", "resp_1"),
    ({"max_output_tokens": 16}, "max_tokens", 16),
    ({"max_tool_calls": 2}, "max_tool_calls", 2),
    ({"truncation": "auto"}, "overflow", "truncate"),
    ({"truncation": "disabled"}, "overflow", "error"),
    ({"parallel_tool_calls": False}, "parallel_tool_calls", False),
    ({"include": ["message.output_text.logprobs"]}, "logprobs", 0),
    ({"include": ["message.output_text.logprobs"], "top_logprobs": 5}, "logprobs", 5),
    ({"top_logprobs": 5}, "logprobs", None),
    ({"text": {"format": {"type": "json_object"}}}, "response_format", "json_object"),
    ({"text": {"format": None}}, "response_format", "text"),
    ({"text": {"format": {"type": "json_schema", "name": "x", "schema": {"a": 1}}}}, "schema", {"a": 1}),
    ({"instructions": "Be brief.", "input": "hi"}, "messages", (Message("system", "Be brief."), Message("user", "hi"))),
    ({"instructions": "Be brief."}, "instructions", True),
    ({"instructions": ""}, "instructions", False),
    ({"tools": [F]}, "tools", (Tool("f", "d", {"b": 1, "a": 2}, strict=True),)),
    ({"tools": [{"type": "custom", "name": "c"}]}, "tools", (Tool("c", kind="custom"),)),
    ({"tools": [SEARCH]}, "tools", (Tool("web_search", kind="web_search", options=SEARCH),)),
    ({"tools": [IMAGE]}, "tools", (Tool("image_generation", kind="image_generation", options=IMAGE),)),
    ({"tools": [WIKI]}, "tools", (Tool("mcp", kind="mcp", options=WIKI),)),
    (
        {"input": [{"type": "additional_tools", "tools": [WIKI, {}, 5]}]},
        "tools",
        (Tool("mcp", kind="mcp", options=WIKI),),
    ),
    ({"tools": [F]}, "tool_choice", ToolChoice("auto")),
    ({"tools": [F], "tool_choice": "required"}, "tool_choice", ToolChoice("required")),
    ({"tool_choice": {"type": "function", "name": "f"}}, "tool_choice", ToolChoice("named", ("f",))),
    ({"tool_choice": {"type": "custom", "name": "c"}}, "tool_choice", ToolChoice("named", ("c",))),
    ({"tool_choice": {"type": "web_search"}}, "tool_choice", ToolChoice("named", ("web_search",))),
    ({"tool_choice": {"type": "mcp", "server_label": "s"}}, "tool_choice", ToolChoice("named", ("mcp",), (("s", ""),))),
    (
        {"tool_choice": {"type": "mcp", "server_label": "s", "name": "t"}},
        "tool_choice",
        ToolChoice("named", ("mcp",), (("s", "t"),)),
    ),
    (
        {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [F, {"type": "mcp"}, {"name": "x"}, {}]}},
        "tool_choice",
        ToolChoice("auto", ("f", "mcp", "x")),
    ),
]


@pytest.mark.parametrize(("body", "field", "value"), FIELDS)
def test_fields(parse: Callable[..., Any], body: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(parse(body), field) == value


@pytest.mark.parametrize(
    ("reasoning", "effort"),
    [({"effort": "low"}, "low"), ({"summary": "auto"}, "medium"), ({"effort": "none", "summary": "auto"}, "none")],
)
def test_who_wants_a_summary_wants_thoughts(parse: Callable[..., Any], reasoning: dict[str, str], effort: str) -> None:
    assert parse({"reasoning": reasoning}).effort == effort


def test_what_is_said_by_instructions_is_of_this_call_alone(parse: Callable[..., Any]) -> None:
    assert parse({"instructions": "Be brief.", "input": "hi"}).spoken == (Message("user", "hi"),)


def test_what_is_asked(parse: Callable[..., Any]) -> None:
    nothing = asked(parse({}), RESPONSE_STYLE)
    assert (nothing.echo["temperature"], nothing.include, nothing.summary) == (1.0, frozenset(), False)
    more = asked(
        parse({"temperature": 0, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}}),
        RESPONSE_STYLE,
    )
    assert (more.echo["temperature"], more.summary) == (0.0, True)
    assert more.include == {"reasoning.encrypted_content"}
    assert asked(parse({"reasoning": {"generate_summary": "concise"}}), RESPONSE_STYLE).summary


def test_a_plain_reply(parse: Callable[..., Any]) -> None:
    reply = responses_reply(parse({"metadata": {"a": "b"}}), ANSWER, RESPONSE_STYLE)
    body = json.loads(reply.body)
    assert (reply.status, reply.frames, reply.tokens) == (200, None, 4)
    assert tuple(body) == tuple(key for key in RESPONSE_STYLE.response if key in body)
    assert (body["id"], body["model"], body["metadata"]) == ("resp_1", "gpt-5", {"a": "b"})
    assert [item["type"] for item in body["output"]] == ["reasoning", "message"]


def numbers(reply: Any) -> list[int]:
    return [json.loads(frame.data)["sequence_number"] for frame in reply.frames if isinstance(frame, Frame)]


def test_a_streamed_reply_and_its_rest(parse: Callable[..., Any]) -> None:
    call = parse({"stream": True})
    whole = numbers(responses_reply(call, ANSWER, RESPONSE_STYLE))
    assert whole == list(range(len(whole)))
    assert len(whole) > 8
    assert numbers(responses_reply(call, ANSWER, RESPONSE_STYLE, after=4)) == whole[5:]
    assert numbers(responses_reply(call, ANSWER, RESPONSE_STYLE, after=whole[-1])) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-30, 30) | st.floats(-3, 3) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = [
    *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "computer_call"),
    *("computer_call_output", "shell_call_output", "apply_patch_call_output", "mcp_approval_response"),
    *("item_reference", "additional_tools", "input_text", "output_text", "refusal", "input_image", "mcp", "x_output"),
    *("function", "custom", "web_search", "allowed_tools", "json_schema", "computer_use_preview"),
]
KEYS = [
    *("type", "role", "content", "text", "refusal", "id", "call_id", "name", "arguments", "input", "output", "action"),
    *("operation", "status", "image_url", "tools", "approve", "stdout", "stderr", "mode", "format", "schema"),
]
SHAPED = st.recursive(
    VALUES | st.sampled_from([*KINDS, "user", "assistant", "auto"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=10,
)
ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | VALUES}, optional=dict.fromkeys(KEYS[1:], SHAPED | st.just("user"))
)
TOP = [
    *("instructions", "tools", "tool_choice", "text", "reasoning", "include", "metadata", "prompt", "conversation"),
    *("previous_response_id", "background", "store", "stream", "truncation", "max_output_tokens", "top_logprobs"),
    *("previous_input_messages", "request_id", "cache_salt", "temperature", "foo"),
]
BODY = st.fixed_dictionaries(
    {"input": st.lists(ITEM | SHAPED, max_size=3) | SHAPED}, optional=dict.fromkeys(TOP, SHAPED | st.lists(ITEM))
)


@pytest.mark.parametrize("dialect", ["openai", "tzafon"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=BODY, strict=st.booleans())
def test_any_body_is_understood_or_refused(speak: Callable[[str], Any], dialect: str, body: Any, strict: bool) -> None:
    speaker = speak(dialect)
    try:
        call = speaker.responses(body, strict=strict)
    except Failure as failure:
        reply = speaker.fail(failure)
        assert reply.status == 400
    else:
        assert len(call.fingerprint) == 32
        assert call.prompt_tokens > 0
        assert all(isinstance(message.text, str) for message in call.messages)
        assert all(isinstance(made.arguments, str) for message in call.messages for made in message.tool_calls)
        assert speaker.operation("responses").render(call, ANSWER).status == 200


@pytest.mark.parametrize(
    ("said", "code", "message"),
    [
        ({"message": "Sorry", "type": "server_error", "param": None, "code": None}, "server_error", "Sorry"),
        ({"message": "Sorry", "type": "x", "param": "input", "code": 503}, "503", "Sorry"),
        ("Unauthorized", None, "Unauthorized"),
    ],
)
def test_an_error_as_an_event(said: Any, code: str | None, message: str) -> None:
    event = error_event(Reply(500, (), json.dumps({"error": said}).encode()), 7)
    param = said["param"] if isinstance(said, dict) else None
    told = {"type": "error", "sequence_number": 7, "code": code, "message": message, "param": param}
    assert (event.event, json.loads(event.data)) == ("error", told)
