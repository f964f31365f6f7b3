"""Received calls as a test sees them, and assertions on them."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from mockserver.config.errors import ConfigError
from mockserver.core.plan import Usage
from mockserver.testing import MockServer, MockServerWarning, ReceivedCall

CHAT = "/openai/v1/chat/completions"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
TOOLS = [{"type": "function", "function": {"name": "get_weather"}}]
BODY = {"model": "gpt-4o", "messages": MESSAGES, "tools": TOOLS}


@pytest.fixture
def came(server: MockServer) -> tuple[ReceivedCall, ...]:
    """A plain call, a stream, one that was refused, one for which no rule stands, and a look-up."""
    server.on(last_user="hello").reply(
        "Hi!", headers={"x-mine": "1"}, usage={"prompt_tokens": 9, "completion_tokens": 2}
    )
    server.on(last_user="cut").then({"text": "one two", "faults": [{"cut": {"after_frames": 2}}]})
    with httpx.Client(base_url=server.url, headers={"x-tenant": "blue"}) as client:
        client.post(CHAT, json=BODY)
        with client.stream(
            "POST", CHAT, json={**BODY, "messages": [{"role": "user", "content": "cut"}], "stream": True}
        ):
            pass
        client.post(CHAT, content="{")
        client.post("/azure/chat/completions?api-version=2024-05-01-preview", json={"messages": MESSAGES[:1]})
        client.get("/openai/v1/models")
    return tuple(server.calls)


def test_what_was_asked(came: tuple[ReceivedCall, ...]) -> None:
    plain, stream, refused, other, listed = came
    assert [call.number for call in came] == [1, 2, 3, 4, 5]
    assert (plain.method, plain.path, plain.dialect, plain.operation, plain.model) == (
        "POST",
        CHAT,
        "openai",
        "chat",
        "gpt-4o",
    )
    assert [(message.role, message.text) for message in plain.messages] == [("system", "Be brief."), ("user", "hello")]
    assert (plain.last_user, [tool.name for tool in plain.tools], plain.stream) == ("hello", ["get_weather"], False)
    assert (plain.headers["x-tenant"], plain.body, stream.stream, stream.attempt) == ("blue", BODY, True, 1)
    assert (refused.asked, refused.messages, refused.tools, refused.last_user, refused.body) == (None, (), (), "", None)
    assert (other.dialect, listed.operation, listed.method, listed.body) == ("azure", "models", "GET", {})


def test_what_it_got(came: tuple[ReceivedCall, ...]) -> None:
    plain, stream, refused, other, listed = came
    assert (plain.status, plain.ended, plain.usage) == (200, "complete", Usage(9, 2))
    assert b"Hi!" in plain.reply
    assert (plain.frames, plain.faults, plain.modified_by) == ((), (), ())
    assert plain.source.startswith("rule tests/testing/test_calls.py:")
    assert (len(stream.frames), stream.faults, stream.ended) == (2, ("cut",), "cut short after 2 frames")
    assert '"content":"one"' in stream.frames[1]
    assert (refused.status, refused.source, other.source, listed.source) == (400, "invalid", "unmatched", "generated")
    assert (plain.error, other.error.partition(";")[0]) == ("", "no rule answers this request")
    assert "JSON" in refused.error
    assert [rule.source for rule in plain.rules] == [rule.source for rule in other.rules]
    assert plain.source in [rule.source for rule in plain.rules]
    assert repr(plain).startswith('<call 1: chat gpt-4o "hello" -> rule tests')


def test_the_calls_are_a_sequence(server: MockServer, came: tuple[ReceivedCall, ...]) -> None:
    calls = server.calls
    assert (len(calls), calls[-1].number, [call.number for call in calls[1:3]]) == (5, 5, [2, 3])
    assert [call.number for call in calls.where(dialect="openai", header={"x-tenant": "blue"})] == [1, 2, 3, 5]
    assert [call.number for call in calls.of(lambda call: call.status == 400)] == [3]
    with pytest.raises(IndexError, match=r"there is no call \[5\]; 5 calls received:\n  call 1: chat gpt-4o"):
        calls[5]
    server.reset()
    with pytest.raises(IndexError, match=r"there is no call \[0\]; no calls received"):
        _ = server.calls[0]
    assert repr(server.calls) == "<no calls>"


@pytest.fixture
def asked(server: MockServer) -> MockServer:
    """A server that was asked three times."""
    server.on().reply("ok")
    for model, text in (("gpt-4o", "plan"), ("gpt-4o", "act"), ("o3", "check")):
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        httpx.post(f"{server.url}/v1/chat/completions", json=body)
    return server


def test_what_holds(asked: MockServer) -> None:
    asked.assert_called()
    asked.assert_called(last_user="pl*")
    asked.assert_called_once(model="o3")
    asked.assert_called_times(2, model="gpt-4o")
    asked.assert_not_called(model="gpt-5")
    asked.assert_sequence("plan", {"last_user": "act", "model": "gpt-4o"}, {"model": "o3"})
    asked.calls.where("*heck", model="o3").assert_called_once_with("check")


def why(assertion: Callable[[], None]) -> str:
    with pytest.raises(AssertionError) as error:
        assertion()
    return str(error.value)


def test_what_does_not(asked: MockServer) -> None:
    assert why(lambda: asked.assert_called(last_user="acts")).splitlines()[:5] == [
        'expected at least 1 call with last_user="acts", got 0',
        f'  call 2: chat gpt-4o "act" -> {asked.calls[0].source}',
        '    MISS  last_user equals "acts"',
        '          got              "act"',
        "                               ^",
    ]
    assert why(lambda: asked.assert_called_times(3, model="gpt-4o")).startswith("expected 3 calls with model=")
    assert "2 calls received" in why(lambda: asked.assert_called_once(model="gpt-4o"))
    assert "3 calls received" in why(lambda: asked.assert_called_once_with(model="o3"))
    assert 'call 3: chat o3 "check"' in why(lambda: asked.assert_not_called(model="o3"))
    assert why(asked.calls.where("nobody").assert_called).startswith(
        "expected at least 1 call, got 0\nno call in this selection; 3 calls received:\n  call 1: "
    )
    with MockServer() as untouched:
        assert why(untouched.assert_called).startswith(
            "expected at least 1 call, got 0\nno calls received: the code made none"
        )


def test_refused_calls_are_calls(server: MockServer) -> None:
    for path, body in ((CHAT, {}), ("/openai/v1/chat/completion", BODY)):
        httpx.post(f"{server.url}{path}", json=body)
    server.assert_called_times(2)
    assert "expected no calls, got 2" in why(server.assert_not_called)
    server.assert_not_called("*hello*", model="gpt-4o")  # what they ask for is unknown
    server.assert_called_once(path="/v1/chat/completion", method="POST")  # where they went is not
    assert "expected no calls with operation=" in why(lambda: server.assert_not_called(operation="chat"))


def test_no_call_can_have_a_misspelt_path(server: MockServer) -> None:
    with pytest.warns(MockServerWarning, match=r'assert_not_called cannot fail: no dialect knows the path "/v1/chats"'):
        server.assert_not_called(path="/v1/chats")
    server.on(path="/refunds").reply(json={})
    server.assert_not_called(path="/refunds")


def test_a_sequence_is_told_step_by_step(asked: MockServer) -> None:
    told = why(lambda: asked.assert_sequence("plan", "act now", "check", "report"))
    source = asked.calls[0].source
    assert told.splitlines() == [
        'wrong sequence at step 2: expected last_user="act now", got "act" (call 2)',
        "expected 4 calls, received 3:",
        f'  ok    1. call 1: chat gpt-4o "plan" -> {source}',
        f'  MISS  2. call 2: chat gpt-4o "act" -> {source}',
        '          MISS  last_user equals "act now"',
        '                got              "act"',
        "                                     ^",
        f'  ok    3. call 3: chat o3 "check" -> {source}',
        '  MISS  4. last_user="report": no call',
    ]
    assert "MISS  unexpected: call 2" in why(lambda: asked.assert_sequence("plan"))


def test_a_mistake_is_none_of_the_calls(asked: MockServer) -> None:
    with pytest.raises(ConfigError, match=r'test_calls.py:\d+:\d+: unknown field "modle"; did you mean "model"'):
        asked.assert_not_called(modle="o3")


def test_a_call_that_continues_a_kept_conversation_is_seen_as_rules_see_it(server: MockServer) -> None:
    tool: Any = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}, "strict": False}
    server.on("Weather?", tool_result={"exists": False}).reply(tool_calls=[{"name": "get_weather"}])
    server.on(tool_result={"name": "get_weather"}).reply("It rains.")
    client = server.client()
    first = client.responses.create(model="gpt-5", input="Weather?", tools=[tool])
    made: Any = first.output[0]
    result: Any = {"type": "function_call_output", "call_id": made.call_id, "output": "rain"}
    client.responses.create(model="gpt-5", input=[result], tools=[tool], previous_response_id=first.id)
    server.assert_called_once(tool_result={"name": "get_weather", "text": "rain"}, last_user="Weather?")
    assert len(server.calls.where(last_user="Weather?")) == 2
    assert [len(call.messages) for call in server.calls] == [1, 1]
    with pytest.raises(AssertionError, match=r'(?s)MISS  tool_result\.name equals "other".*got .*"get_weather"'):
        server.assert_called(tool_result={"name": "other"})
