"""What a program did under a fault, by how it ended and by its calls: real ones, of httpx."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from mockserver.config.errors import Place
from mockserver.testing import MockServer
from mockserver.testing.fault_matrix import Choice, End, Probe, Standard, Verdict, judged

PASSED, FAILED = End("passed"), End("failed", "assert 1 == 2")
RAISED = End("raised", "ReadError", ("ReadError", "NetworkError", "Exception"))


@pytest.fixture(scope="module")
def running() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


@pytest.fixture
def server(running: MockServer) -> MockServer:
    running.reset()
    running.on(tools={"includes": "look"}).reply(tool_calls=[{"name": "look", "arguments": {"at": "it"}}])
    running.on().reply("Hello to you, friend!")
    return running


def post(server: MockServer, path: str = "chat/completions", **more: Any) -> httpx.Response | None:
    """One request; None where there is no whole answer to it."""
    body: dict[str, Any] = {"model": "gpt-4o", **more}
    body |= {"input": "hello"} if path == "responses" else {"messages": [{"role": "user", "content": "hello"}]}
    try:
        return httpx.post(f"{server.base_url()}/{path}", json=body, timeout=0.3)
    except httpx.HTTPError:
        return None


def verdict(server: MockServer, fault: str, end: End, calls: Callable[[], object]) -> Verdict:
    probe = Choice((fault,), retry_after=1).probes(Place("test_app.py", 1, 1))[1]
    assert probe.rule is not None
    server.lay(probe.rule)
    calls()
    server.quieten(5)
    return judged(probe, end, server.calls)


@pytest.mark.parametrize(
    ("fault", "end", "more", "times", "expected"),
    [
        (
            "cut@after_tokens=1",
            PASSED,
            {"stream": True},
            1,
            "took a truncated answer for whole: it was cut short after 2",
        ),
        (
            "cut@after_tokens=1",
            FAILED,
            {"stream": True},
            1,
            "took a truncated answer for whole: it was cut short after 2",
        ),
        ("cut@after_tokens=1", RAISED, {"stream": True}, 1, "raised ReadError"),
        ("cut@after_tokens=1", RAISED, {"stream": True}, 3, "raised ReadError, 2 retries"),
        ("cut@after_tokens=1", PASSED, {"stream": True}, 2, "recovered, 1 retry"),
        ("cut@after_tokens=1", FAILED, {"stream": True}, 2, "failed: assert 1 == 2, 1 retry"),
        ("cut@after_tokens=1", End("passed", same=True), {"stream": True}, 1, "recovered"),
        ("cut@before_done", PASSED, {"stream": True}, 1, "recovered"),
        (
            "cut@before_done",
            PASSED,
            {"stream": True, "path": "responses"},
            1,
            "took a truncated answer for whole: it was",
        ),
        ("cut@before_done", PASSED, {}, 1, "took a truncated answer for whole: it was cut short after"),
        ("cut@after_tokens=500", PASSED, {"stream": True}, 1, "unaffected: the answer ends before that"),
        ("malformed_json", PASSED, {}, 1, "took a malformed answer for whole"),
        ("error_event", PASSED, {}, 1, "took a truncated answer for whole: it was cut short after"),
        ("error_event", PASSED, {"stream": True}, 1, "took a truncated answer for whole: it was cut short after 3"),
        ("duplicate", FAILED, {"stream": True}, 1, "failed: assert 1 == 2"),
        ("keepalive", PASSED, {"stream": True}, 1, "recovered"),
        (
            "stall@after_tokens=1",
            FAILED,
            {"stream": True},
            1,
            "took a truncated answer for whole: it was given up after 2",
        ),
        (
            "stall@after_tokens=1",
            PASSED,
            {"stream": True},
            1,
            "took a truncated answer for whole: it was given up after 2",
        ),
        ("stall@after_tokens=1", PASSED, {}, 1, "recovered"),
        ("stall@at_start", FAILED, {"stream": True}, 1, "failed: assert 1 == 2"),
        ("unknown_tool", PASSED, {}, 1, "unaffected: the answer calls no tool"),
        ("unknown_tool", PASSED, {"tools": [{"type": "function", "function": {"name": "look"}}]}, 1, "recovered"),
        ("cut@in_tool_arguments", PASSED, {}, 1, "unaffected: the answer ends before that"),
        ("crlf", PASSED, {}, 0, "unaffected: no call came"),
        ("error=503", PASSED, {}, 2, "recovered, 1 retry"),
        ("error=503", End("passed", hung="still waiting"), {}, 1, "hung: still waiting"),
    ],
)
def test_outcomes(server: MockServer, fault: str, end: End, more: dict[str, Any], times: int, expected: str) -> None:
    found = verdict(server, fault, end, lambda: [post(server, **more) for _ in range(times)])
    assert found.told.startswith(expected)
    assert found.told.startswith(found.outcome) or found.outcome == "truncated"
    assert found.asked == ("" if not times else "stream" if "stream" in more else "plain")
    assert found.also == {}


def test_a_retry_that_is_sooner_than_the_end_of_what_was_given_up(server: MockServer) -> None:
    def both() -> None:
        post(server, stream=True)
        post(server)

    found = verdict(server, "stall@at_start", PASSED, both)
    assert (found.told, found.also) == ("recovered, 1 retry", {})


def test_a_client_that_has_enough_goes_at_once(server: MockServer) -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}

    def first_line() -> None:
        with httpx.stream("POST", f"{server.base_url()}/chat/completions", json=body) as answer:
            next(answer.iter_lines())

    assert verdict(server, "stall@after_tokens=1", PASSED, first_line).told == "recovered"


def test_another_question_is_no_retry(server: MockServer) -> None:
    def both() -> None:
        post(server, stream=True)
        post(server, stream=True, messages=[{"role": "user", "content": "and now?"}])

    assert verdict(server, "cut@after_tokens=1", PASSED, both).outcome == "recovered"
    server.reset()


def test_another_model_is_asked_instead(server: MockServer) -> None:
    def both() -> None:
        post(server, stream=True)
        post(server, model="gpt-4o-mini")

    assert verdict(server, "cut@after_tokens=1", PASSED, both).told == "recovered, 1 retry"


def test_retry_after(server: MockServer) -> None:
    found = verdict(server, "error=429", PASSED, lambda: [post(server), post(server)])
    assert (found.outcome, [*found.also]) == ("recovered", ["ignored_retry_after"])
    assert found.also["ignored_retry_after"] == "ignored Retry-After: came again at once, not after 1 s"
    server.reset()
    server.on().reply("Hi")
    assert verdict(server, "error=429", RAISED, lambda: post(server)).also == {}


def test_a_stream_that_is_left_open(server: MockServer) -> None:
    probe = Choice(("stall@after_tokens=1",)).probes(Place("test_app.py", 1, 1))[1]
    assert probe.rule is not None
    server.lay(probe.rule)
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    with httpx.stream("POST", f"{server.base_url()}/chat/completions", json=body):
        assert judged(probe, PASSED, server.calls).also == {"left_open": "left the stream of call 1 open"}
        assert judged(probe, End("passed", hung="still"), server.calls).also == {}


def test_no_rule_answered(server: MockServer) -> None:
    server.reset()
    found = verdict(server, "crlf", RAISED, lambda: post(server))
    assert found.outcome == "failed"
    assert found.told == 'failed: no rule answered call 1: chat gpt-4o "hello" -> unmatched'
    server.reset()


CUT = Probe("cut@after_tokens=3", "cut", {})


@pytest.mark.parametrize(
    ("standard", "found", "told", "bad"),
    [
        (Standard(), Verdict("recovered", "recovered"), "recovered", False),
        (Standard(), Verdict("hung", "hung: here"), "hung: here", True),
        (Standard(allow=("hung",)), Verdict("hung", "hung: here"), "hung: here", False),
        (Standard({"cut": ("hung",)}), Verdict("hung", "hung: here"), "hung: here", False),
        (Standard({"cut": ("raised",)}), Verdict("unaffected", "unaffected: why"), "unaffected: why", False),
        (
            Standard({"cut": ("recovered", "hung")}),
            Verdict("raised", "raised ReadError", names=("ReadError", "Exception")),
            "raised ReadError; recovered or hung was expected",
            True,
        ),
        (Standard({"cut": ("Exception",)}), Verdict("raised", "raised X", names=("X", "Exception")), "raised X", False),
        (
            Standard({"cut": ("hung",), "cut@after_tokens=3": ("recovered",)}),
            Verdict("recovered", "recovered", also={"left_open": "left it open"}),
            "recovered; left it open",
            True,
        ),
        (
            Standard(allow=("left_open",)),
            Verdict("recovered", "recovered", also={"left_open": "left it open"}),
            "recovered; left it open",
            False,
        ),
    ],
)
def test_what_is_held_against_it(standard: Standard, found: Verdict, told: str, bad: bool) -> None:
    row = standard.row("test_x", CUT, found)
    assert (row.test, row.fault, row.told, row.bad) == ("test_x", CUT.name, told, bad)
