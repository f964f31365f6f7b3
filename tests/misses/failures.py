"""Tests that fail, kind by kind: what each does to its server."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.testing import MockServer, Setup
from tests.cassettes.samples import plain

WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
TIME = {"type": "function", "function": {"name": "get_time"}}
USED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
    ],
}
LONG = "You answer questions about the weather. " * 12


def ask(server: MockServer, text: str = "How is the wether in Oslo?", **more: Any) -> httpx.Response:
    path, headers = more.pop("path", "/v1/chat/completions"), more.pop("headers", {})
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}
    return httpx.post(server.url + path, json=body, headers=headers)


def a_word_off(server: MockServer) -> None:
    server.on(last_user="*weather in Oslo*").reply("Sunny.")
    server.on(name="time", last_user={"contains": "time"}, model="gpt-4o*").reply("Noon.")
    ask(server)


def another_model(server: MockServer) -> None:
    server.on(last_user="hello", model="gpt-4o").reply("Hi!")
    ask(server, "hello", model="gpt-4o-mini")


def only_the_case(server: MockServer) -> None:
    server.on(last_user={"starts_with": "how is"}).reply("Fine.")
    ask(server)


def a_field_too_many(server: MockServer) -> None:
    server.on(last_user="hello", header={"x-tenant": "acme"}).reply("Hi!")
    ask(server, "hello")


def far_into_a_long_text(server: MockServer) -> None:
    server.on(last_user=f"{LONG}What is the weather in Oslo?").reply("Sunny.")
    ask(server, f"{LONG}What is the weather in Bergen?")


def other_tools(server: MockServer) -> None:
    server.on(last_user="How is the weather?", tools={"includes": ["get_weather", "get_place"]}).reply("Sunny.")
    ask(server, "How is the weather?", tools=[TIME, WEATHER], tool_choice="auto")


def after_a_tool(server: MockServer) -> None:
    server.on(last_user="Weather?", turn=0).reply(tool_calls=[{"name": "get_weather"}])
    result = {"role": "tool", "tool_call_id": "c1", "content": '{"sky": "clear"}'}
    ask(server, messages=[{"role": "user", "content": "Weather?"}, USED, result], tools=[WEATHER])


def another_schema(server: MockServer) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "person", "schema": {"type": "object"}}}
    asked = {"type": "json_schema", "json_schema": {"name": "people", "strict": True, "schema": {"type": "object"}}}
    server.on(param={"response_format": {"equals": wanted}}).reply(json={"name": "Ada"})
    ask(server, "Who?", response_format=asked)


def used_up(server: MockServer) -> None:
    server.on(last_user="hello").reply("Hi!").times(1)
    for _ in range(3):
        ask(server, "hello")


def declared_too_late(server: MockServer) -> None:
    ask(server, "hello")
    server.on(last_user="hello").reply("Hi!")


def without_rules(server: MockServer) -> None:
    ask(server, stream=True)


def many_calls(server: MockServer) -> None:
    server.on(last_user="step 100").reply("Done.")
    for number in range(30):
        ask(server, f"step {number}")


def a_long_conversation(server: MockServer) -> None:
    spoken = [{"role": ("user", "assistant")[at % 2], "content": f"{at}: {LONG}"} for at in range(21)]
    server.on(last_user="*snow*").reply("No.")
    ask(server, messages=[{"role": "system", "content": LONG}, *spoken])


def odd_characters(server: MockServer) -> None:
    server.on(last_user="bye\nnow", model="m\nodel").reply("Bye!")
    ask(server, "bye\n\u202eevil\u0000\x1b[31m* now", model="m\nodel")


def a_credential(server: MockServer) -> None:
    server.on(key="sk-other-credential-7654321").reply("Hi!")
    secret = "sk-very-secret-1234567890"
    ask(server, f"My key is {secret}, is it safe?", headers={"authorization": f"Bearer {secret}"})


def an_embedding(server: MockServer) -> None:
    server.on(operation="embeddings", last_user="dog").reply(embedding=[1.0])
    httpx.post(f"{server.url}/v1/embeddings", json={"model": "text-embedding-3-small", "input": "cat"})


def a_look_up(server: MockServer) -> None:
    httpx.get(f"{server.url}/v1/responses/resp_123")


def an_answer_it_goes_on_from(server: MockServer) -> None:
    body = {"model": "gpt-4o", "input": "And then?", "previous_response_id": "resp_123"}
    httpx.post(f"{server.url}/v1/responses", json=body)


def too_few_times(server: MockServer) -> None:
    server.on(last_user="retry").fail(500).times(3)
    server.on(last_user={"starts_with": "retr"}).reply("x")
    ask(server, "retry")
    ask(server, "retries")


def nobody_came(server: MockServer) -> None:
    server.on(last_user="hello").reply("Hi!").times(1)


def no_answer(server: MockServer) -> None:
    server.on(last_user="hello")


def too_many_calls(server: MockServer) -> None:
    server.on().reply("x")
    server.budget(max_calls=2)
    for number in range(4):
        ask(server, f"step {number}")


def too_many_tokens(server: MockServer) -> None:
    server.on().reply("one two three")
    server.budget(max_tokens=20)
    for number in range(3):
        ask(server, f"step {number}")


def a_function_that_fails(server: MockServer) -> None:
    server.on(last_user="total").reply(lambda call: str({}["price"]))
    for _ in range(2):
        ask(server, "total")


def several(server: MockServer) -> None:
    server.on(last_user="hello").reply("Hi!").times(1)
    ask(server, "hallo")


def a_rule_of_a_file(server: MockServer) -> None:
    rule = "{name: greeting, when: {last_user: hello, model: gpt-4o}, then: {text: Hi!}}"
    with TemporaryDirectory() as folder:
        (Path(folder) / "rules.yaml").write_text(f"rules:\n  - {rule}\n")
        server.load(Path(folder) / "rules.yaml")
    ask(server, "hello", model="o3")


def a_miss_in_a_cassette(server: MockServer) -> None:
    with TemporaryDirectory() as folder:
        CassetteFile(Path(folder) / "chat.yaml").append(plain())
        server.reset(Setup.make(cassettes=folder, cassette="chat"))
        ask(server)


Failing = Callable[[MockServer], None]


def named(*functions: Failing) -> Mapping[str, Failing]:
    return {function.__name__.replace("_", "-"): function for function in functions}


UNANSWERED = named(
    a_word_off, another_model, only_the_case, a_field_too_many, far_into_a_long_text, other_tools, after_a_tool,
    another_schema, used_up, without_rules, many_calls, a_long_conversation, odd_characters, a_credential,
    an_embedding, a_look_up, an_answer_it_goes_on_from, several, a_rule_of_a_file, a_miss_in_a_cassette,
)  # fmt: skip
FAILED = UNANSWERED | named(
    declared_too_late, too_few_times, nobody_came, no_answer, too_many_calls, too_many_tokens, a_function_that_fails
)
