"""Calls as text to copy, and two calls compared: exact, quoted, without credentials."""

import json
import shlex
import subprocess
from gzip import compress
from pathlib import Path
from typing import Any

import pytest

from mockserver.config.source import read
from mockserver.server.sources import compile_rules
from tests.kit.control import ControlledServer, controlled_server, rule

pytestmark = pytest.mark.needs("bash")

RULES = """
rules:
  - {name: hi, when: {last_user: hi}, then: {text: "Hello \\e[31m there"}}
  - {name: busy, when: {last_user: busy}, then: {error: 429, retry_after: 3}}
"""
CHAT = "/v1/chat/completions"
KEY = "sk-very-secret-key-1"
HEADERS = {"authorization": f"Bearer {KEY}", "host": "127.0.0.1:8000", "user-agent": "x", "openai-beta": "a b"}


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    return controlled_server(tmp_path, RULES)


def ask(server: ControlledServer, text: str, path: str = CHAT, **more: Any) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}
    server.app.ask(path, body, headers=HEADERS)


def copied(server: ControlledServer, form: str, number: int = 1) -> str:
    got = server.api(f"calls/{number}/as?form={form}")
    assert (got.status, got.headers["content-type"]) == (200, "text/plain; charset=utf-8"), got.body
    assert KEY.encode() not in got.body
    return got.body.decode()


def test_a_curl_command_sends_the_same_and_obeys_nothing(server: ControlledServer, tmp_path: Path) -> None:
    text = f'it\'s $(touch {tmp_path}/no) `x` "q" \x1b[31m ü {KEY} \\'
    ask(server, text, "/ns/a b'/v1/chat/completions?a=1&key=" + KEY)
    command = copied(server, "curl")
    assert command.isascii()
    assert "\x1b" not in command
    program = tmp_path / "curl"
    program.write_text('#!/bin/sh\nfor each in "$@"; do printf "%s\\0" "$each"; done\n')
    program.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "OPENAI_API_KEY": "its-key"}
    got = subprocess.run(["bash", "-c", command], env=environ, capture_output=True, check=True).stdout.decode()
    url, *more = got.split("\0")[:-1]
    assert url == "http://127.0.0.1:8000/ns/a b'/v1/chat/completions?a=1&key=its-key"
    assert not (tmp_path / "no").exists()
    assert json.loads(more[-1])["messages"][0]["content"] == text.replace(KEY, "its-key")
    headers = dict(zip(more[::2], more[1::2], strict=True))
    assert headers["-H"] in ("authorization: Bearer its-key", "openai-beta: a b")
    assert "user-agent" not in got


def test_a_curl_command_of_other_methods_and_bodies(server: ControlledServer) -> None:
    server.app.ask("/v1/models", method="GET", headers=HEADERS)
    server.app.ask(CHAT, b"\xff\x00not json", headers=HEADERS)
    assert shlex.split(copied(server, "curl"))[1] == "http://127.0.0.1:8000/v1/models"
    assert "not json" in copied(server, "curl", 2)


@pytest.mark.parametrize(
    ("path", "header", "variable"),
    [
        ("/anthropic/v1/messages", "x-api-key", "ANTHROPIC_API_KEY"),
        ("/azure/chat/completions", "api-key", "AZURE_AI_API_KEY"),
        ("/crazyrouter/v1/chat/completions", "x-api-key", "OPENAI_API_KEY"),  # its client has no variable of its own
        ("/elsewhere", "x-api-key", "OPENAI_API_KEY"),
    ],
)
def test_a_curl_command_names_the_key_of_the_client(
    server: ControlledServer, path: str, header: str, variable: str
) -> None:
    server.app.ask(path, {"model": "m"}, headers={**HEADERS, header: KEY})
    assert f"-H '{header}: '\"${variable}\"" in copied(server, "curl")


def test_a_rule_that_loads_and_answers_alike(server: ControlledServer) -> None:
    ask(server, "else", max_tokens=5)
    ask(server, "busy")
    for number, key in ((1, "text"), (2, "error")):
        (made,) = compile_rules((read(f"rules:\n{copied(server, 'rule', number)}", "a.yaml"),), None)
        assert (made.name, key in made.spec["then"]) == (f"call {number}", True)
    said = server.get("calls/1")["answer"]["choices"][0]["parts"][0]["text"]
    server.post("rules", read(f"rules:\n{copied(server, 'rule')}", "a.yaml").data)
    ask(server, "else")
    again = server.get("calls/3")
    assert (again["source"], again["answer"]["choices"][0]["parts"][0]["text"]) == ("rule api call 1", said)


def test_no_credential_is_in_a_rule(server: ControlledServer) -> None:
    server.post("rules", rule("echo", "", then={"text": "{{ last_user }}"}))
    ask(server, f"a text with {KEY} in it")
    for form in ("rule", "pytest"):
        assert "..." in copied(server, form)


def test_a_test(server: ControlledServer) -> None:
    ask(server, "hi")
    text = copied(server, "pytest")
    compile(text, "test_call.py", "exec")
    assert text.startswith('def test_call_1(mockserver):\n    rule = mockserver.on(last_user="hi"')


def test_a_request_that_explain_takes(server: ControlledServer) -> None:
    ask(server, "hi", f"{CHAT}?a=1")
    content = json.loads(copied(server, "request"))
    assert (content["path"], content["headers"]["authorization"]) == (f"{CHAT}?a=1", "Bearer ...")
    assert server.post("explain", content)["answered_by"].endswith("hi")


def test_what_cannot_be_copied(server: ControlledServer) -> None:
    server.app.ask(CHAT, b"{", headers=HEADERS)
    assert server.api("calls/1/as?form=rule").status == 409
    assert server.api("calls/1/as?form=x").json["error"] == "?form= must be one of curl, rule, pytest, request"
    assert server.api("calls/1/body?of=x").json["error"] == "?of= must be request or reply"
    assert server.api("calls/7/as").status == 404


def test_bodies_as_they_were_sent(server: ControlledServer) -> None:
    ask(server, "hi", user=KEY)
    request, reply = (server.api(f"calls/1/body?of={of}") for of in ("request", "reply"))
    assert (request.headers["content-type"], reply.headers["content-type"]) == ("text/plain; charset=utf-8",) * 2
    assert json.loads(request.body)["user"].endswith("(masked)")
    assert b'"content":"Hello \\u001b[31m there"' in reply.body
    server.post("rules", rule("raw", "", when={"last_user": "raw"}, then={"raw": {"body": "a\x1b[31m\nb\x00"}}))
    ask(server, "raw")
    assert server.api("calls/2/body").body == b"a\\x1b[31m\nb\\x00"
    server.app.ask(CHAT, compress(b'{"model": "m"}'), headers={**HEADERS, "content-encoding": "gzip"})
    assert server.api("calls/3/body?of=request").body == b'{"model": "m"}'


def test_a_stream_as_it_was_sent_and_without_a_split_key(server: ControlledServer) -> None:
    ask(server, "hi", stream=True)
    sent = server.live.journal.list_rows("default")[0].sent
    assert server.api("calls/1/body").body == b"".join(data for _, data in sent)
    server.post("rules", rule("echo", "", then={"text": "{{ last_user }}"}))
    ask(server, f"a {KEY} b", stream=True)
    shown = server.api("calls/2/body").body
    assert b"masked" in shown
    assert b"very-secret" not in b"".join(shown.split())
    assert shown.endswith(b"data: [DONE]\n\n")


# --- compare


def test_two_calls_compared(server: ControlledServer) -> None:
    ask(server, "busy")
    ask(server, "busy now", temperature=1)
    found = server.post("compare", {"calls": [1, 2]})
    head = {each["where"]: (each.get("one"), each.get("other")) for each in found["head"]}
    assert head["status"] == (429, 200)
    assert head["source"][1] == "generated"
    text, temperature = found["request"]
    assert text == {
        "where": "messages[0].content",
        "one": "busy",
        "other": "busy now",
        "spans": {"one": {"at": 4, "size": 0}, "other": {"at": 4, "size": 4}},
    }
    assert temperature == {"where": "temperature", "other": 1}
    assert {"choices[0]", "error"} <= {each["where"] for each in found["answer"]}
    assert len(found["times"]["elapsed_ms"]) == 2


def test_equal_calls_and_long_texts(server: ControlledServer) -> None:
    for end in ("a", "a", "b"):
        ask(server, "x" * 5_000 + end)
    same = server.post("compare", {"calls": [1, 2]})
    assert (same["request"], same["answer"], same["head"]) == ([], [], [])
    (found,) = server.post("compare", {"calls": [2, 3]})["request"]
    assert (found["one"], found["spans"]["one"]) == ("x" * 100 + "a", {"at": 100, "size": 1})


def test_credentials_are_masked_in_comparisons(server: ControlledServer) -> None:
    ask(server, f"{KEY} a")
    ask(server, "b")
    got = server.api("compare", {"calls": [1, 2]})
    assert (got.status, KEY.encode() in got.body) == (200, False)


@pytest.mark.parametrize("calls", [None, [1], [1, "2"], [1, True], 3])
def test_mistakes_of_comparisons(server: ControlledServer, calls: Any) -> None:
    assert server.api("compare", {"calls": calls}).status == 400
    assert server.api("compare", {"calls": [1, 2]}).status == 404
