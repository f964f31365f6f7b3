"""Rules declared in Python."""

import json
import re
from collections.abc import Callable
from datetime import date
from typing import Any
from uuid import UUID

import httpx
import pytest
from openai import APIStatusError, RateLimitError
from pydantic import BaseModel

from mockserver.config.errors import ConfigError, RuleError
from mockserver.testing import Asked, Declared, MockServer


def asked(server: MockServer, text: str = "hello", **more: Any) -> Any:
    client = server.client().with_options(max_retries=0)
    messages = more.pop("messages", [{"role": "user", "content": text}])
    return client.chat.completions.create(model="gpt-4o", messages=messages, **more)


def test_texts_tools_json_and_what_stands_beside(server: MockServer) -> None:
    server.on(last_user={"regex": r"weather in (?P<city>\w+)"}).reply(
        tool_calls=[{"name": "get_weather", "arguments": {"city": "{{ match.city }}"}}]
    )
    server.on(last_user="list").reply(json={"names": ("a", "b")}, usage={"completion_tokens": 7})
    server.on().reply("Hello, {{ call.model }}", finish="length")
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    [call] = asked(server, "weather in Oslo", tools=tools).choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Oslo"})
    listed = asked(server, "list")
    assert (json.loads(listed.choices[0].message.content), listed.usage.completion_tokens) == ({"names": ["a", "b"]}, 7)
    choice = asked(server).choices[0]
    assert (choice.message.content, choice.finish_reason) == ("Hello, gpt-4o", "length")


def test_a_stream_comes_in_these_pieces(server: MockServer) -> None:
    server.on().stream(["Hel", "lo ", "you"])
    pieces = [chunk.choices[0].delta.content for chunk in asked(server, stream=True) if chunk.choices]
    assert [piece for piece in pieces if piece] == ["Hel", "lo ", "you"]
    assert asked(server).choices[0].message.content == "Hello you"


def test_errors(server: MockServer) -> None:
    server.on(last_user="busy").fail(429, retry_after=1, headers={"x-mine": "yes"})
    server.on(last_user="long").fail("context_length")
    server.on(last_user="mine").fail(418, code="teapot", message="Short and stout")
    with pytest.raises(RateLimitError) as busy:
        asked(server, "busy")
    assert (busy.value.response.headers["retry-after"], busy.value.response.headers["x-mine"]) == ("1", "yes")
    with pytest.raises(APIStatusError, match="maximum context length"):
        asked(server, "long")
    with pytest.raises(APIStatusError) as mine:
        asked(server, "mine")
    assert (mine.value.status_code, mine.value.code) == (418, "teapot")


def test_steps_follow_the_conversation(server: MockServer) -> None:
    server.on().steps("first", {"text": "second"})
    spoken = (("user", "a"), ("assistant", "first"), ("user", "b"))
    turns = [{"role": role, "content": text} for role, text in spoken]
    assert asked(server, messages=turns[:1]).choices[0].message.content == "first"
    assert asked(server, messages=turns).choices[0].message.content == "second"


def test_fail_twice_then_succeed(server: MockServer) -> None:
    failing = server.on().fail(500).times(2)
    answering = server.on().times(1).reply("at last")
    client = server.client().with_options(max_retries=2)
    assert client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert (len(failing.calls), len(answering.calls), [call.attempt for call in server.calls]) == (2, 1, [1, 2, 3])
    assert server.problems() == ()


@pytest.mark.parametrize("name", [None, "letter"])
def test_rules_of_one_line_and_of_one_name_are_counted_apart(server: MockServer, name: str | None) -> None:
    [standing] = [server.on(name=name, last_user=text).reply("standing") for text in "z"]
    server.local.rules.keep_declared()
    server.reset()
    rules = [server.on(name=name, last_user=text).reply(text).times(1) for text in "abc"]
    assert [asked(server, text).choices[0].message.content for text in "ab"] == ["a", "b"]
    assert [len(rule.calls) for rule in rules] == [1, 1, 0]
    assert len({call.source for call in server.calls}) == 2
    [problem] = server.problems()
    assert "answered 0 of 1 expected call" in problem.headline
    assert asked(server, "c").choices[0].message.content == "c"
    assert asked(server, "z").choices[0].message.content == "standing"
    assert (server.problems(), len(standing.calls)) == ((), 1)
    standing.remove()


def test_a_rule_for_faults_alone_has_answered_too(server: MockServer) -> None:
    cutting = server.on().then({"faults": [{"cut": {"after_tokens": 1}}]})
    server.on().reply("one two three")
    with httpx.stream("POST", f"{server.url}/v1/chat/completions", json={**BODY, "stream": True}) as answer:
        assert "[DONE]" not in answer.read().decode()
    assert [call.faults for call in cutting.calls] == [("cut",)]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda call: f"{call.last_user} of {call.model}", "hello of gpt-4o"),
        (lambda call: "{{ fake.name }}{% raw %}", "{{ fake.name }}{% raw %}"),
        (lambda call: {"text": f"{{{{ {call.model} }}}}"}, "{{ gpt-4o }}"),
    ],
)
def test_a_function_answers_in_data(server: MockServer, function: Callable[[Asked], Any], said: str) -> None:
    server.on().reply(function, finish="length")
    choice = asked(server).choices[0]
    assert (choice.message.content, choice.finish_reason) == (said, "length")


def test_a_function_may_fail(server: MockServer) -> None:
    rule = server.on(last_user="number").reply(lambda call: 7)
    server.on().reply(lambda call: {"txt": "x"})
    for text, why in (("number", "it must return a text or a table like `then`, not int"), ("x", 'unknown key "txt"')):
        with pytest.raises(APIStatusError, match=why):
            asked(server, text)
    assert [raised.where == rule.where for raised in server.local.rules.failures] == [True, False]


def test_a_compiled_pattern_is_searched_for(server: MockServer) -> None:
    server.on(re.compile(r"order (?P<number>\d+)$", re.IGNORECASE | re.DOTALL)).reply("It is {{ match.number }}.")
    server.on(model=re.compile("^gpt"), last_user=re.compile("^hello")).reply("Hi.")
    assert asked(server, "Where is Order 12").choices[0].message.content == "It is 12."
    assert asked(server, "hello there").choices[0].message.content == "Hi."
    with pytest.raises(APIStatusError):
        asked(server, "Say hello")
    assert len(server.calls.where(last_user=re.compile("h[ei]"))) == 3
    server.assert_called_once(re.compile("ORDER", re.IGNORECASE))


@pytest.mark.filterwarnings("error")
def test_an_async_function_is_refused(server: MockServer) -> None:
    async def answer(call: Asked) -> str:
        return "never awaited"

    server.on().reply(answer)
    with pytest.raises(APIStatusError, match="async functions are not supported"):
        asked(server)


def said(declare: Callable[[], object]) -> str:
    with pytest.raises((RuleError, ConfigError)) as error:
        declare()
    return str(error.value).partition(":")[2]


def test_mistakes_stand_where_the_test_has_them(server: MockServer) -> None:
    line = test_mistakes_stand_where_the_test_has_them.__code__.co_firstlineno
    assert said(lambda: server.on(last_usr="x").reply("x")).startswith(
        f'{line + 2}:5: unknown field "last_usr"; did you mean "last_user"?  [assert said('
    )
    assert 'unknown key "finsh"; did you mean "finish"?' in said(lambda: server.on().reply("x", finsh="stop"))
    assert "there is no answer here" in said(lambda: server.on().reply())
    assert 'unknown reason "teapot"' in said(lambda: server.on().fail("teapot"))  # type: ignore[arg-type]
    assert "invalid template" in said(lambda: server.on().reply("{{ x"))
    assert "fail takes a status or a short name, such as .fail(429), not <class 'openai.RateLimitError'>" in said(
        lambda: server.on().fail(RateLimitError)  # type: ignore[arg-type]
    )
    sent = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    assert 'unknown key "function"; write only the name and the arguments: {name: get_weather, arg' in said(
        lambda: server.on().reply(tool_calls=[sent])
    )
    assert "times takes a whole number of at least 1, not 0" in said(lambda: server.on().reply("x").times(0))
    assert "stream takes a list of pieces, such as ['Hello']; for" in said(lambda: server.on().stream("Hello"))
    assert "steps takes a text or a table for each turn, not [" in said(
        lambda: server.on().steps(["a", "b"])  # type: ignore[arg-type]
    )
    assert "stream takes a list of pieces, such as ['Hel', 'lo']; for" in said(
        lambda: server.on().stream(5)  # type: ignore[arg-type]
    )
    assert """then takes a table, such as {"text": "Hello"}, not 'ok'; for a text use .reply('ok')""" in said(
        lambda: server.on().then("ok")  # type: ignore[arg-type]
    )
    assert "then takes a table" in said(lambda: server.on().then(None))  # type: ignore[arg-type]
    assert """assert_called_times takes a whole number first, not 'hi'; write (2, "*text*")""" in said(
        lambda: server.assert_called_times("hi", 2)  # type: ignore[arg-type]
    )
    with pytest.raises(ConfigError, match="reset takes a Setup of mockserver"):
        server.reset({"seed": 7})  # type: ignore[arg-type]
    wrong: list[tuple[Any, ...]] = [({"a": 1},), ("a", "b"), (None,)]
    for texts in wrong:
        for takes in (server.on, server.assert_called, server.calls.where):
            assert "expected the text that the user says, and keywords" in said(lambda: takes(*texts))  # noqa: B023
    for text in ({"text": "x"}, ["x"], 5):
        assert "for a table of keys .then({...})" in said(lambda: server.on().reply(text))  # type: ignore[arg-type]  # noqa: B023
    assert "already has an answer; declare another rule with on(...)" in said(lambda: server.on().reply("x").reply("y"))
    assert all(one.rule is not None for one in declared(server)), "a mistaken one is not declared"


class Mood(BaseModel):
    mood: str


def test_values_of_python_are_written_as_a_file_has_them(server: MockServer) -> None:
    server.on(param={"user": UUID(int=7)}).reply(json={"at": date(2024, 5, 1), "moods": (Mood(mood="good"),)})
    answer = asked(server, user=str(UUID(int=7))).choices[0].message.content
    assert json.loads(answer) == {"at": "2024-05-01", "moods": [{"mood": "good"}]}
    circle: list[Any] = []
    circle.append(circle)
    for value in (object(), b"\xff", "half \ud83d", circle, len):
        assert "JSON cannot hold a value of this: " in said(lambda: server.on(param={"user": value}).reply("x"))  # noqa: B023
        assert "JSON cannot hold a value of this: " in said(lambda: server.on().reply(json=[value]))  # noqa: B023
    assert "JSON cannot hold a value of this: " in said(lambda: server.on().reply("half \ud83d"))


def test_a_positional_text_is_what_the_user_says(server: MockServer) -> None:
    rule = server.on("*weather*", name="forecast", model="gpt-4o").reply("Sunny.")
    assert rule.rule is not None
    assert rule.rule.spec["when"] == {"last_user": "*weather*", "model": "gpt-4o"}
    assert rule.rule.source.endswith(" forecast")
    assert "expected a text or last_user=, not both" in said(lambda: server.on("forecast", last_user="rain"))


def declared(server: MockServer) -> list[Declared]:
    return server.local.rules.declared


BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}


def test_a_set_is_a_sorted_list() -> None:
    with MockServer() as server:
        server.on(last_user={"in": {"c", "a", "b"}}).reply("one of them")
        (rule,) = server.local.live.find_engine("default").rules
        assert rule.spec["when"]["last_user"]["in"] == ["a", "b", "c"]
