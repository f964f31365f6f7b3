"""Fault matrices: which faults, the time limit, and how runs are judged."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from mockserver.config.errors import MockserverError, SourceLocation
from mockserver.delivery.faults import FAULTS
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.testing import MockServer
from mockserver.testing.fault_cases import DEFAULT_FAULTS, FaultCase
from mockserver.testing.fault_matrix import BAD, FaultMatrix, FaultRow, RunResult, write_matrix
from mockserver.testing.time_limit import HungError, TimeLimit

HERE = SourceLocation("test_app.py", 7, 1)


def probes(*faults: Any, **options: Any) -> tuple[FaultCase, ...]:
    return FaultMatrix.declare(HERE, *faults, **options).cases


def names(*faults: Any, **options: Any) -> list[str]:
    return [probe.name for probe in probes(*faults, **options)]


@pytest.mark.parametrize(
    ("faults", "options", "expected"),
    [
        (["cut@after_tokens=3"], {}, ["cut@after_tokens=3"]),
        ([{"cut": {"after_tokens": 3}}], {}, ["cut@after_tokens=3"]),
        (["cut"], {}, ["cut@after_tokens=1", "cut@before_done", "cut@in_tool_arguments"]),
        (["duplicate", "crlf"], {}, ["duplicate", "crlf"]),
        (["cut", "cut@before_done"], {}, ["cut@after_tokens=1", "cut@before_done", "cut@in_tool_arguments"]),
        (["missing_field@at_start,field=/id"], {}, ["missing_field@at_start,field=/id"]),
        (
            ["cut", "empty_body", "error_event"],
            {"positions": ["after_bytes=9", {"after_tokens": 5}]},
            ["cut@after_bytes=9", "cut@after_tokens=5", "empty_body", "error_event@after_tokens=5"],
        ),
        (["crlf"], {"errors": [429, "context_length"]}, ["error=429", "error=context_length", "crlf"]),
        ([], {"errors": [{"status": 418, "message": "tea"}]}, ["error=418"]),
        (["error=503", 500], {}, ["error=503", "error=500"]),
    ],
)
def test_faults_and_their_names(faults: list[Any], options: dict[str, Any], expected: list[str]) -> None:
    assert names(*faults, **options) == ["intact", *expected]


def test_the_usual_ones_are_nearly_all_there_are() -> None:
    usual = names()
    assert usual[:4] == ["intact", "error=429", "error=500", "error=503"]
    assert len(usual) == 28
    assert {*FAULTS, *ANSWER_FAULTS} - {*DEFAULT_FAULTS} == {
        "duplicate",
        "reorder",
        "breaks_schema",
        "session_lost",
        "twice",
        "wrong_id",  # of MCP
        "wrong_checksum",  # of Amazon's event streams
    }


def test_the_rule_of_a_probe() -> None:
    intact, error, cut = probes("cut@before_done", errors=[429], retry_after="2s", when={"turn": 1})
    assert intact.rule is None
    assert error.rule is not None
    assert error.rule.spec == {
        "name": "error=429",
        "when": {"turn": 1},
        "times": 1,
        "then": {"error": 429, "retry_after": "2s"},
    }
    assert cut.rule is not None
    assert (cut.rule.where, cut.rule.times, cut.rule.then.answers, cut.at) == ("test_app.py:7", 1, (False,), 2)
    assert probes("crlf", times=None)[1].rule.times is None  # type: ignore[union-attr]
    assert probes(errors=[429], retry_after=None)[1].then == {"error": 429}


def test_what_is_said() -> None:
    expect: dict[str | int, Any] = {500: ValueError, "cut": ["raised", "truncated"], "cut@before_done": "recovered"}
    matrix = FaultMatrix.declare(
        HERE, "cut", errors=[500], limit="2s", expect=expect, allow="hung", when={"param": {"n": 2}}
    )
    assert matrix.limit == 2
    assert matrix.allow == ("hung",)
    assert matrix.expect == {
        "error=500": ("ValueError",),
        "cut": ("raised", "truncated"),
        "cut@before_done": ("recovered",),
    }
    rule = matrix.cases[1].rule
    assert rule is not None
    assert rule.spec["when"] == {"param.n": 2}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"faults": ["cutt"]}, 'unknown fault "cutt"; did you mean "cut"?'),
        ({"faults": ["cut@after_token=3"]}, 'unknown key "after_token"; did you mean "after_tokens"?'),
        ({"positions": ["after_token=3"]}, 'there is no position "after_token"; did you mean "after_tokens"?'),
        ({"faults": ["error_event@after_bytes=3"]}, '"after_bytes" does not apply to error_event; it accepts '),
        ({"faults": [{}]}, 'a fault is a name, "cut@after_tokens=3" or {"cut": {"after_tokens": 3}}, not {}'),
        ({"errors": [999]}, "999 is not an error status; write 400 to 599"),
        ({"when": {"modl": "x"}}, 'unknown field "modl"; did you mean "model"?'),
        ({"times": 0}, '"times" expects at least 1, not 0'),
        ({"limits": 3}, 'a fault matrix has no option "limits"; did you mean "limit"?'),
        ({"limit": "soon"}, '"soon" is not a duration; write 300ms, 2s, 1m or a number of seconds'),
        ({"expect": {"cutt": "raised"}}, 'expect: the matrix has no fault "cutt"; did you mean "cut"?'),
        ({"expect": {"cut": "raise"}}, 'expect: there is no outcome "raise"; did you mean "raised"?'),
        ({"expect": {"cut": 42}}, "expect takes an outcome or an error, not 42"),
        ({"expect": "raised"}, "expect must be a table, not 'raised'"),
        ({"when": ["hello"]}, "when must be a table, not ['hello']"),
        ({"limit": 0}, "limit must be more than 0 s"),
        (
            {"allow": "raised"},
            'allow: "raised" is not one of the bad outcomes: hung, truncated, failed, left_open, ignored_retry_after',
        ),
    ],
)
def test_mistakes(options: dict[str, Any], complaint: str) -> None:
    faults, others = options.get("faults", ["cut"]), {name: options[name] for name in options if name != "faults"}
    with pytest.raises(MockserverError) as raised:
        FaultMatrix.declare(HERE, *faults, **others)
    details = str(raised.value.mistakes[0])
    assert details.startswith("test_app.py:7:1: ")
    assert complaint in details


def test_what_waits_for_an_answer_goes_on_when_it_is_let_go() -> None:
    answer = threading.Event()
    with TimeLimit(0.05, answer.set) as limit:
        assert answer.wait(20)
    assert limit.exceeded
    assert limit.where.startswith("tests/testing/test_fault_matrix.py:")


def stubborn(limit: TimeLimit) -> None:
    with limit:
        try:
            threading.Event().wait(20)
        except Exception:  # as an app may have it
            threading.Event().wait(20)


def test_what_waits_for_something_else_is_broken_off() -> None:
    limit = TimeLimit(0.05, lambda: None)
    with pytest.raises(HungError, match=r"0.05 s have passed"):
        stubborn(limit)
    assert limit.exceeded


PASSED, FAILED = RunResult("passed"), RunResult("failed", "assert 1 == 2")
RAISED = RunResult("raised", "ReadError", ("ReadError", "NetworkError", "Exception"))


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


def verdict(server: MockServer, fault: str, end: RunResult, calls: Callable[[], object]) -> FaultRow:
    matrix = FaultMatrix.declare(HERE, fault)
    case = matrix.cases[1]
    assert case.rule is not None
    server.local.rules.override(case.rule)
    calls()
    server.local.wait_until_idle(5)
    return matrix.make_row("test_x", case, end, server.calls)


SHORT, STREAM = "accepted a truncated answer, ", {"stream": True}
LOOK = {"tools": [{"type": "function", "function": {"name": "look"}}]}


@pytest.mark.parametrize(
    ("fault", "end", "more", "times", "expected"),
    [
        ("cut@after_tokens=1", PASSED, STREAM, 1, f"{SHORT}cut short after 2"),
        ("cut@after_tokens=1", RAISED, STREAM, 3, "raised ReadError, 2 retries"),
        ("cut@after_tokens=1", PASSED, STREAM, 2, "recovered, 1 retry"),
        ("cut@after_tokens=1", FAILED, STREAM, 2, "failed: assert 1 == 2, 1 retry"),
        ("cut@after_tokens=1", RunResult("passed", same=True), STREAM, 1, "recovered"),
        ("cut@before_done", PASSED, {**STREAM, "path": "responses"}, 1, SHORT),
        ("cut@before_done", PASSED, {}, 1, f"{SHORT}cut short after"),
        ("cut@after_tokens=500", PASSED, STREAM, 1, "unaffected: the answer ended before the fault"),
        ("malformed_json", PASSED, {}, 1, "accepted a malformed answer"),
        ("error_event", PASSED, STREAM, 1, f"{SHORT}cut short after 3"),
        ("duplicate", FAILED, STREAM, 1, "failed: assert 1 == 2"),
        ("stall@after_tokens=1", PASSED, STREAM, 1, f"{SHORT}abandoned after 2"),
        ("stall@after_tokens=1", PASSED, {}, 1, "recovered"),
        ("unknown_tool", PASSED, {}, 1, "unaffected: the answer has no tool call"),
        ("unknown_tool", PASSED, LOOK, 1, "recovered"),
        ("crlf", PASSED, {}, 0, "unaffected: no calls received"),
        ("crlf", PASSED, {}, 1, "unaffected: the answer has nothing that the fault changes"),
        ("join_frames", PASSED, {}, 1, "unaffected: the answer has nothing that the fault changes"),
        ("join_frames", PASSED, STREAM, 1, "recovered"),
        ("drop_usage", PASSED, {}, 1, "recovered"),
        ("drop_usage", PASSED, STREAM, 1, "unaffected: the answer has nothing that the fault changes"),
        ("missing_field@field=/nope", PASSED, STREAM, 1, "unaffected: the answer has nothing that the fault changes"),
        ("crlf", RunResult("passed", same=False), STREAM, 1, "recovered, but its output differs"),
        ("error=503", RunResult("passed", hung="still waiting"), {}, 1, "hung: still waiting"),
    ],
)
def test_outcomes(
    server: MockServer, fault: str, end: RunResult, more: dict[str, Any], times: int, expected: str
) -> None:
    found = verdict(server, fault, end, lambda: [post(server, **more) for _ in range(times)])
    assert found.details.startswith(expected)
    assert found.details.startswith(found.outcome) or found.outcome == "truncated"
    assert found.asked == ("" if not times else "stream" if "stream" in more else "plain")
    assert found.bad == (found.outcome in BAD)


def test_a_client_that_has_enough_goes_at_once(server: MockServer) -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}

    def first_line() -> None:
        with httpx.stream("POST", f"{server.base_url()}/chat/completions", json=body) as answer:
            next(answer.iter_lines())

    assert verdict(server, "stall@after_tokens=1", PASSED, first_line).details == "recovered"


def test_another_question_is_no_retry(server: MockServer) -> None:
    def both() -> None:
        post(server, stream=True)
        post(server, stream=True, messages=[{"role": "user", "content": "and now?"}])

    assert verdict(server, "cut@after_tokens=1", PASSED, both).outcome == "recovered"
    server.reset()


def test_retry_after(server: MockServer) -> None:
    found = verdict(server, "error=429", PASSED, lambda: [post(server), post(server)])
    assert found.details.startswith("recovered, 1 retry; ignored Retry-After: retried a")
    assert found.details.endswith(", not after 1 s")
    assert found.bad
    server.reset()
    server.on().reply("Hi")
    assert verdict(server, "error=429", RAISED, lambda: post(server)).details == "raised ReadError"


@pytest.mark.parametrize(
    ("options", "end", "details", "bad"),
    [
        ({}, PASSED, "recovered; left the stream of call 1 open", True),
        ({"allow": "left_open"}, PASSED, "recovered; left the stream of call 1 open", False),
        ({"expect": {"stall": "left_open"}}, PASSED, "recovered; left the stream of call 1 open", False),
        ({}, RunResult("passed", hung="still"), "hung: still", True),
    ],
)
def test_a_stream_that_is_left_open(
    server: MockServer, options: dict[str, Any], end: RunResult, details: str, bad: bool
) -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    matrix = FaultMatrix.declare(HERE, "stall@after_tokens=1", **options)
    case = matrix.cases[1]
    assert case.rule is not None
    server.local.rules.override(case.rule)
    with httpx.stream("POST", f"{server.base_url()}/chat/completions", json=body):
        row = matrix.make_row("test_x", case, end, server.calls)
    assert (row.details, row.bad) == (details, bad)


def test_no_rule_answered(server: MockServer) -> None:
    server.reset()
    found = verdict(server, "crlf", RAISED, lambda: post(server))
    assert found.outcome == "failed"
    assert found.details == 'failed: no rule answered call 1: chat gpt-4o "hello" -> unmatched'
    server.reset()


@pytest.mark.parametrize(
    ("options", "result", "details", "bad"),
    [
        ({"allow": "hung"}, RunResult("passed", hung="here"), "hung: here", False),
        ({"expect": {"error": "hung"}}, RunResult("passed", hung="here"), "hung: here", False),
        ({"expect": {500: "recovered"}}, RAISED, "raised ReadError; expected recovered", True),
        ({"expect": {500: ["recovered", "NetworkError"], "error": "hung"}}, RAISED, "raised ReadError", False),
        ({"expect": {500: "raised"}}, PASSED, "unaffected: no calls received", False),
    ],
)
def test_what_is_held_against_it(options: dict[str, Any], result: RunResult, details: str, bad: bool) -> None:
    matrix = FaultMatrix.declare(HERE, "error=500", **options)
    row = matrix.make_row("test_x", matrix.cases[1], result, ())
    assert (row.test, row.fault, row.details, row.bad) == ("test_x", "error=500", details, bad)


ROWS = (
    FaultRow(
        "test_app.py::test_b", "cut@after_tokens=1", "stream", "truncated", "took a truncated answer", bad=True, at=2
    ),
    FaultRow("test_app.py::test_b", "intact", "", "recovered", "passes", bad=False),
    FaultRow("test_app.py::test_b", "crlf", "plain", "recovered", "recovered", bad=False, at=1),
    FaultRow("test_app.py::test_a", "crlf", "", "unaffected", "unaffected: no calls received", bad=False, at=1),
)


def test_the_table_is_in_order_whatever_came_first() -> None:
    assert list(write_matrix(ROWS)) == [
        "test_app.py::test_a",
        "  ok   crlf                        unaffected: no calls received",
        "test_app.py::test_b",
        "  ok   intact                      passes",
        "  ok   crlf                plain   recovered",
        "  BAD  cut@after_tokens=1  stream  took a truncated answer",
        "4 runs: 2 recovered, 1 unaffected, 1 truncated; 1 bad",
    ]
