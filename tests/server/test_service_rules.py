"""Rules with `service: true` answer what a program asks for itself; nothing counts such calls."""

import json
from pathlib import Path

import pytest

from mockserver.testing import MockServer
from tests.kit.control import ControlledServer, controlled_server

RULES = """
rules:
  - {name: title, service: true, when: {system: "*title generator*"}, then: {text: A title}}
  - {service: true, when: {last_user: quota}, then: {text: "4"}}
  - {name: hi, times: 1, then: {text: Hello there}}
"""
CHAT = "/v1/chat/completions"


def ask(server: ControlledServer, user: str, system: str = "") -> str:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return str(server.app.ask(CHAT, {"model": "gpt-4o", "messages": messages}).headers["x-mockserver-source"])


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    return controlled_server(tmp_path, RULES, unmatched="error")


def test_their_source_names_them(server: ControlledServer) -> None:
    assert ask(server, "hi", "You are a title generator.") == "service title"
    assert ask(server, "quota").endswith("/rules.yaml:4")


def test_lists_hide_their_calls_unless_asked(server: ControlledServer) -> None:
    ask(server, "hi", "You are a title generator.")
    ask(server, "hi")
    ask(server, "hi")
    assert [(call["call"], "service" in call) for call in server.calls("")] == [(2, False), (3, False)]
    assert [(call["call"], call.get("service")) for call in server.calls("?service=true")] == [
        (1, True),
        (2, None),
        (3, None),
    ]
    assert [call["call"] for call in server.calls("?unmatched=true")] == [3], "the first used up nothing"


def test_tests_do_not_see_their_calls(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    with MockServer(rules) as server:
        chat = server.client().chat.completions.create
        messages = [{"role": "system", "content": "You are a title generator."}, {"role": "user", "content": "hi"}]
        assert chat(model="gpt-4o", messages=messages).choices[0].message.content == "A title"  # type: ignore[call-overload]
        server.assert_not_called()
        server.budget(max_calls=0)
        assert [json.loads(call.row.body)["messages"] for call in server.service_calls] == [messages]
