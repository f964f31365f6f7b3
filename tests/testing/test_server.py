"""A running server for tests: rules, calls, what a test fails for."""

import json
import socket
import threading
from pathlib import Path

import httpx
import pytest
from openai import APIStatusError, NotFoundError, OpenAI

from mockserver.config.errors import ConfigError, RuleError, SourceLocation
from mockserver.testing import MockServer

CHAT = "/v1/chat/completions"


def said(client: OpenAI, text: str, **more: object) -> str | None:
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="gpt-4o", messages=messages, **more).choices[0].message.content


def posted(server: MockServer, text: str = "hello", path: str = CHAT) -> httpx.Response:
    return httpx.post(server.url + path, json={"model": "gpt-4o", "messages": [{"role": "user", "content": text}]})


def test_rules_answer_in_order_before_those_of_files(server: MockServer, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules: [{name: filed, then: {text: from the file}}]")
    server.load(file)
    first = server.on(last_user="*hello*").reply("first")
    server.on(name="second", last_user="*hello*").reply("second")
    assert said(server.client(), "hello you") == "first"
    assert said(server.client(), "what?") == "from the file"
    assert [call.source.rpartition(":")[2] for call in server.calls] == [str(first.place.line), "1 filed"]


def test_a_reset_forgets_all_but_the_address_and_what_stands(server: MockServer) -> None:
    client, address = server.client(), server.url
    standing = server.on(last_user="*always*").reply("standing")
    server.local.rules.keep_declared()
    server.reset()
    server.on(last_user="*").reply("in front").times(1)
    assert [said(client, "always"), said(client, "always")] == ["in front", "standing"]
    for _ in range(2):
        server.reset()
        server.local.rules.keep_declared()
        assert (len(server.calls), server.url) == (0, address)
        assert said(client, "always") == "standing"
    standing.remove()
    with pytest.raises(NotFoundError, match="there are no rules that answer"):
        said(client, "always")


def test_an_error_in_the_block_says_what_no_rule_answered() -> None:
    def wait_in_vain(text: str) -> None:
        with MockServer() as server:
            server.on(last_user="bye").reply("Bye!")
            posted(server, text)
            raise TimeoutError

    with pytest.raises(TimeoutError) as caught:
        wait_in_vain("hello")
    assert caught.value.__notes__[0].startswith('no rule answered "hello" (call 1); nearest ')
    with pytest.raises(TimeoutError) as caught:
        wait_in_vain("bye")
    assert not hasattr(caught.value, "__notes__")


def test_a_function_that_returns_an_unknown_key(server: MockServer) -> None:
    server.on("go").reply(lambda call: {"txt": 3})
    with pytest.raises(APIStatusError):
        said(server.client().with_options(max_retries=0), "go")
    assert 'unknown key "txt"; did you mean "text"?' in server.problems()[0].headline


def test_what_a_test_fails_for(server: MockServer) -> None:
    server.on(last_user="once").reply("x").times(2)
    server.on(last_user="broken").reply(lambda call: 1 / 0)
    unfinished = server.on(last_user="nothing")
    server.budget(max_calls=2, max_tokens=5)
    client = server.client().with_options(max_retries=0)
    said(client, "once")
    for text in ("broken", "unknown"):
        with pytest.raises(APIStatusError):
            said(client, text)
    told = [problem.headline for problem in server.problems()]
    assert [line.partition(":")[0] for line in told if line.startswith("tests")] == ["tests/testing/test_server.py"] * 2
    assert f"{unfinished.where}: on(...) has no answer" in told[0], "it may be the cause of the others"
    assert told[1].startswith("ZeroDivisionError: division by zero in the function of tests/testing/test_server.py:")
    assert told[2].startswith('no rule answered "unknown" (call 3); nearest tests/testing/test_server.py:')
    assert "answered 1 of 2 expected calls" in told[3]
    assert told[4].startswith("3 calls received, 2 allowed")
    assert "tokens used, 5 allowed" in told[5]
    with pytest.raises(AssertionError, match="answered 1 of 2 expected calls"):
        server.verify()


def test_a_tls_handshake_is_named(server: MockServer, caplog: pytest.LogCaptureFixture) -> None:
    why = "This is a TLS handshake: the URL must begin with http://"
    host, port = server.url.removeprefix("http://").split(":")
    for _ in range(2):
        with socket.create_connection((host, int(port)), timeout=30) as wire:
            wire.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            assert why.encode() in wire.recv(10_000)
    assert server.calls[0].error.startswith(why)
    assert [record.message for record in caplog.records] == [  # once
        "a client spoke TLS, which this server does not: its URL must begin with http://, not https://"
    ]


def test_requests_of_a_batch_count_as_calls(server: MockServer) -> None:
    def ask(*texts: str) -> None:
        params = [
            {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
            for text in texts
        ]
        requests = [{"custom_id": f"r{at}", "params": each} for at, each in enumerate(params)]
        url = f"{server.base_url('anthropic')}/v1/messages/batches"
        httpx.post(url, json={"requests": requests}).raise_for_status()

    greeting = server.on("hi *").reply("Hello").times(2)
    ask("hi a", "hi b")
    assert (server.problems(), len(greeting.calls)) == ((), 2)
    server.assert_called(last_user="hi b")
    server.assert_not_called(last_user="bye")
    server.reset()
    server.on("hi *").reply("Hello").times(2)
    ask("hi a", "bye")
    [unmatched, unmet] = [problem.headline for problem in server.problems()]
    assert unmatched.startswith('no rule answered "bye" (call 3, request 2 of msgbatch_')
    assert ', custom_id "r1"); nearest tests/testing/test_server.py:' in server.problems()[0].text
    assert "answered 1 of 2 expected calls" in unmet


def test_an_unmatched_line_of_a_batch_is_reported_like_a_call(server: MockServer) -> None:
    server.on("hi *").reply("Hello")
    lines = [
        {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
        for name, body in (("a", {"model": "gpt-4o", "messages": [{"role": "user", "content": "bye"}]}), ("b", {}))
    ]
    with OpenAI(base_url=server.base_url("openai"), api_key="any") as client:
        file = client.files.create(file=("in.jsonl", "\n".join(map(json.dumps, lines)).encode()), purpose="batch")
        batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    assert [call.part_of for call in server.calls] == [
        "",
        "",
        f'line 1 of {batch.id}, custom_id "a"',
        f'line 2 of {batch.id}, custom_id "b"',
    ]
    [unmatched] = server.problems()
    assert unmatched.text.startswith(f'no rule answered "bye" (call 3, line 1 of {batch.id}, custom_id "a"); nearest')
    assert "MISS  last_user" in unmatched.text
    server.assert_called_once(last_user="bye")


def test_a_function_that_fails_late_is_no_problem_of_the_next_test(server: MockServer) -> None:
    asked, over, told = threading.Event(), threading.Event(), threading.Event()

    def fails(call: object) -> str:
        asked.set()
        over.wait(10)
        threading.Timer(0.1, told.set).start()
        raise ValueError("late")

    def asks() -> None:
        with pytest.raises(httpx.HTTPError):
            posted(server)

    server.on().reply(fails)
    thread = threading.Thread(target=asks)
    thread.start()
    asked.wait(10)
    server.reset()
    thread.join()
    over.set()
    told.wait(10)
    assert (server.problems(), server.local.rules.failures) == ((), [])


def test_a_block_starts_stops_and_verifies() -> None:
    with MockServer(unmatched="generate") as server:
        assert posted(server).status_code == 200
        address = server.url
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    with pytest.raises(ConfigError, match="this server is not running; use it in a with block"):
        _ = server.url
    with pytest.raises(AssertionError, match=r'no rule answered "hello" \(call 1\)'), MockServer() as server:
        posted(server)
    with MockServer() as server, pytest.raises(ConfigError, match=f"already running at {server.url}; stop it first"):
        server.start()
    with pytest.raises(KeyError), MockServer() as server:  # what went wrong first is what is told
        _ = {}[posted(server).status_code]


def test_a_client_that_leaves_a_silent_stream_is_noted_at_once(server: MockServer) -> None:
    server.on().reply("a b c d", faults=[{"stall": {"after_tokens": 1}}])
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
    with httpx.stream("POST", server.url + CHAT, json=body) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith("data: ")
        assert server.calls[0].ended == "open"
    assert server.calls[0].ended.startswith("client left")


def test_mistakes_are_told_at_once(server: MockServer, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("rules: [{then: {txt: x}}]")
    with pytest.raises(RuleError, match='unknown key "txt"; did you mean "text"'):
        server.load(broken)
    with pytest.raises(RuleError):
        MockServer(broken)
    with pytest.raises(ConfigError, match='there is no dialect "azur"; did you mean "azure"'):
        server.base_url("azur")
    with pytest.raises(ConfigError, match="unknown setting"):
        MockServer(sed=3)


def test_options_of_a_server_that_is_made(server: MockServer) -> None:
    with pytest.raises(AttributeError, match=r'"unmatched" is an option.* @pytest.mark.mockserver\(unmatched=...\)'):
        server.unmatched = "error"  # type: ignore[attr-defined]
    server.notes = ["of a test"]  # type: ignore[attr-defined]


def test_rules_that_are_laid_over_all_others(server: MockServer) -> None:
    server.on().reply("Hello")
    server.local.rules.override(
        server.local.rules.compile(
            {"name": "busy", "times": 1, "then": {"error": 503}}, SourceLocation("here.py", 1, 1)
        )
    )
    assert [posted(server).status_code, posted(server).status_code] == [503, 200]
    assert server.calls[0].source == "rule here.py:1 busy"
    server.reset()
    server.on().reply("Hello")
    assert posted(server).status_code == 200


def test_what_goes_out_is_waited_for_as_long_as_somebody_takes_it(server: MockServer) -> None:
    server.on().reply("Hello", faults=[{"stall": {"after_tokens": 1}}])
    body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    with httpx.stream("POST", server.url + CHAT, json=body):
        server.local.wait_until_idle(0.05)
        assert server.calls[0].ended == "open"
    server.local.wait_until_idle(20)
    assert server.calls[0].ended.startswith("client left after 2 frames")
