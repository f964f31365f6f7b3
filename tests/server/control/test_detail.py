"""One call in full: what was asked and answered, what differs, which rules stepped aside, which calls belong to it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.control import ControlledServer, controlled_server, rule

RULES = """
rules:
  - {name: slow, when: {last_user: "*order*"}, then: {timing: {first_token: 1ms}}}
  - {name: busy, when: {last_user: "*order*"}, times: 2, then: {error: 503}}
  - {name: order, when: {last_user: "*order*"}, then: {text: It has left.}}
  - {name: weather, when: {last_user: "*weather in Oslo*", model: gpt-4o}, then: {text: Sunny}}
  - {name: other, when: {model: gpt-4o, last_user: {equals: HELLO}}, then: {text: Hi}}
  - {name: three, when: {model: gpt-4o, stream: false, system: "*none*", operation: responses}, then: {text: Hi}}
"""
CHAT = "/v1/chat/completions"
KEY = "sk-very-secret-key-1"


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    return controlled_server(tmp_path, RULES)


def test_messages_tools_and_options(server: ControlledServer) -> None:
    used = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}
    messages: list[Any] = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, image]},
        {"role": "assistant", "content": None, "tool_calls": [used]},
        {"role": "tool", "tool_call_id": "c1", "content": "x" * 30_000},
    ]
    function = {"name": "get_weather", "description": "Weather", "parameters": {"type": "object"}}
    body = {"model": "m", "messages": messages, "tools": [{"type": "function", "function": function}], "max_tokens": 5}
    server.app.ask(CHAT, body)
    asked = server.get("calls/1")["asked"]
    _, user, assistant, tool = asked["messages"]
    assert (user["text"], user["parts"]) == ("hi", [{"kind": "image_url", "type": "image/png", "size": 300}])
    assert assistant["calls"] == [{"id": "c1", "name": "get_weather", "arguments": '{"city": "Oslo"}'}]
    assert assistant["tool_calls"] == ["get_weather"]
    assert (tool["tool_call_id"], len(tool["text"]), tool["cut"]) == ("c1", 20_001, True)
    assert asked["tools"] == [{k: function[k] for k in ("name", "description", "parameters")}]
    assert asked["options"] == {"max_tokens": 5}


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer(server: ControlledServer, stream: bool) -> None:
    server.post("rules", rule("call", "", then={"text": "Hm", "tool_calls": [{"name": "f", "arguments": {"a": 1}}]}))
    server.chat("x", stream=stream)
    call = server.get("calls/1")
    (choice,) = call["answer"]["choices"]
    assert choice == {
        "parts": [
            {"kind": "text", "text": "Hm"},
            {"kind": "call", "call": {"name": "f", "arguments": '{"a":1}'}},
        ],
        "finish": "tool_calls",
    }
    assert call["answer"]["whole"] is True
    assert call["asked_ms"] >= 0


def test_an_error_and_an_answer_that_broke_off(server: ControlledServer) -> None:
    server.chat("order")
    server.post("rules", rule("cut", "", then={"text": "one two three four", "faults": [{"cut": {"after_frames": 2}}]}))
    server.chat("x", stream=True)
    refused, broken = server.get("calls/1")["answer"], server.get("calls/2")["answer"]
    assert (refused["choices"], "message" in refused["error"]) == ([], True)
    assert broken["whole"] is False


def test_frames_say_what_they_add(server: ControlledServer) -> None:
    for path, body in (
        (CHAT, {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "order"}]}),
        ("/v1/responses", {"model": "gpt-4o", "stream": True, "input": "order"}),
        (
            "/anthropic/v1/messages",
            {"model": "c", "max_tokens": 99, "stream": True, "messages": [{"role": "user", "content": "order"}]},
        ),
        (
            "/gemini/v1beta/models/g:streamGenerateContent?alt=sse",
            {"contents": [{"role": "user", "parts": [{"text": "order"}]}]},
        ),
    ):
        for _ in range(3):
            server.app.ask(path, body)
        frames = server.get("calls?limit=1&bodies=true")["calls"][0]["reply"]["frames"]
        assert "".join(frame.get("adds", "") for frame in frames) == "It has left.", path
        assert all(frame["gap_ms"] >= 0 for frame in frames)
        server.api("reset", b"")


SAID = f"say {KEY} now"
GEMINI = "/gemini/v1beta/models/g:streamGenerateContent"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, {"messages": [{"role": "user", "content": SAID}], "model": "m", "stream": True}),
        (f"{GEMINI}?alt=sse", {"contents": [{"role": "user", "parts": [{"text": SAID}]}]}),
        (GEMINI, {"contents": [{"role": "user", "parts": [{"text": SAID}]}]}),
        (
            "/anthropic/v1/complete",
            {"model": "m", "prompt": f"\n\nHuman: {SAID}\n\nAssistant:", "max_tokens_to_sample": 99, "stream": True},
        ),
    ],
)
def test_a_credential_in_pieces_is_masked(server: ControlledServer, path: str, body: dict[str, Any]) -> None:
    server.post(
        "rules", rule("echo", "", when={"operation": ["chat", "completions"]}, then={"text": "{{ last_user }}"})
    )
    headers = {"authorization": f"Bearer {KEY}", "x-goog-api-key": KEY, "host": "localhost"}
    server.app.ask(path, body, headers=headers)
    shown, copied = json.dumps(server.get("calls/1")["reply"]), server.api("calls/1/body").body.decode()
    assert ("masked" in shown, "-secr" in shown, "masked" in copied, "-secr" in copied) == (True, False, True, False)


USED_UP = "it is used up: it has answered its 2 calls in this namespace"


def test_a_used_up_rule_is_the_nearest_and_says_so(tmp_path: Path) -> None:
    rules = "version: 1\nrules: [{name: busy, when: {last_user: order}, times: 2, then: {error: 503}}]"
    server = controlled_server(tmp_path, rules)
    for _ in range(3):
        server.chat("order")
    assert [(each["name"], each["why"]) for each in server.get("calls/3")["nearest"]] == [("busy", USED_UP)]


def test_rules_that_stepped_aside(server: ControlledServer) -> None:
    for _ in range(3):
        server.chat("my order")
    call = server.get("calls/3")
    assert call["tried"] == 3
    assert [(each["name"], each["why"]) for each in call["before"]] == [("busy", USED_UP)]
    assert (call["findings"][0]["ok"], "now" in call) == (True, False)
    assert "before" not in server.get("calls/2")


def test_a_typo_is_marked_and_a_change_proposed(server: ControlledServer) -> None:
    server.chat("What is the wether in Oslo?")
    call = server.get("calls/1")
    near = call["nearest"][0]
    assert (call["tried"], near["name"], near["source"]) == (6, "weather", f"rule {near['where']} weather")
    assert near["change"] == 'last_user: "What is the wether in Oslo?"'
    (finding,) = [each for each in near["findings"] if not each["ok"]]
    at, size = finding["span"]["at"], finding["span"]["size"]
    assert (finding["actual"][at : at + size], finding["actual"][at - 2 : at + 1]) == ("", "wet")
    assert "from" not in finding


def test_a_difference_far_behind_is_shown(server: ControlledServer) -> None:
    server.chat("a long introduction " * 10 + "hello?")
    server.chat("hello")
    found = {rule["name"]: rule["findings"] for rule in server.get("calls/2")["nearest"]}
    (hint,) = [each["hint"] for each in found["other"] if not each["ok"]]
    assert hint == "it would hold with ignore_case: true"
    server.post("rules", rule("end", "x", when={"last_user": {"ends_with": "hello!"}, "model": "gpt-4o"}))
    server.chat("a long introduction " * 10 + "hello?")
    near = next(rule for rule in server.get("calls/3")["nearest"] if rule["name"] == "end")
    (finding,) = [each for each in near["findings"] if not each["ok"]]
    assert (finding["from"], finding["actual"], finding["span"]) == (
        185,
        "g introduction hello?",
        {"at": 20, "size": 1},
    )


def test_credentials_leave_no_spans(server: ControlledServer) -> None:
    key = {"authorization": "Bearer sk-very-secret-key-1", "host": "localhost"}
    message = {"role": "user", "content": "What is the wether in Oslo with sk-very-secret-key-1?"}
    server.app.ask(CHAT, {"model": "gpt-4o", "messages": [message]}, headers=key)
    got = server.api("calls/1")
    assert b"very-secret" not in got.body
    (finding,) = [each for each in got.json["nearest"][0]["findings"] if not each["ok"]]
    assert "span" not in finding


def test_who_would_answer_now(server: ControlledServer) -> None:
    server.chat("else")
    assert "now" not in server.get("calls/1")
    server.post("rules", rule("mine", "x"))
    assert server.get("calls/1")["now"] == "rule api mine"
    server.chat("else")
    assert "now" not in server.get("calls/2")
    assert server.get("state")["namespaces"][0]["hits"] == {"rule api mine": 1}


def test_chains(server: ControlledServer) -> None:
    def said(*texts: str) -> dict[str, Any]:
        roles = ("user", "assistant") * 3
        messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
        return {"model": "gpt-4o", "messages": messages}

    server.app.ask(CHAT, said("order", "no", "again"))
    for _ in range(3):
        server.app.ask(CHAT, said("order"))
    server.app.ask(CHAT, said("else"))
    assert server.get("calls/3")["chain"] == {"conversation": [1, 2, 3, 4], "tries": [2, 3, 4]}
    assert server.get("calls/5")["chain"] == {"conversation": [5], "tries": [5]}


def test_a_conversation_by_the_ids_of_answers(server: ControlledServer) -> None:
    def ask(text: str, previous: str | None = None, **more: Any) -> str:
        body = {"model": "gpt-4o", "input": text, "store": True, "previous_response_id": previous, **more}
        got = server.app.ask("/v1/responses", {k: v for k, v in body.items() if v is not None})
        events = [line for line in got.body.decode().split("\n") if line.startswith("data: {")]
        whole = json.loads(events[0].removeprefix("data: "))["response"] if events else got.json
        return str(whole["id"])

    first = ask("one")
    second = ask("two", first, stream=True)
    ask("alone")
    ask("three", second)
    for number in (1, 2, 4):
        assert server.get(f"calls/{number}")["chain"]["conversation"] == [1, 2, 4]
    assert server.get("calls/3")["chain"]["conversation"] == [3]


def test_a_call_that_no_dialect_understands(server: ControlledServer) -> None:
    server.app.ask(CHAT, b"{")
    call = server.get("calls/1")
    assert (call["asked"], call["answer"]["choices"], "findings" in call) == (None, [], False)
    assert call["chain"] == {"conversation": [1], "tries": [1]}
