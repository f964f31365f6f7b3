"""Tests that are marked to run once for each fault: what apps of several kinds do, and what is said of it."""

from pathlib import Path

import pytest

from tests.kit import apps
from tests.kit.nested import ini, run_inside

pytest_plugins = ["pytester"]
APP = Path(apps.__file__).read_text()


@pytest.fixture
def app(pytester: pytest.Pytester) -> pytest.Pytester:
    ini(pytester)
    pytester.makepyfile(app=APP)
    return pytester


def run(app: pytest.Pytester, test: str, *options: str) -> pytest.RunResult:
    app.makepyfile(test_app=f"import pytest, app, asyncio\n\n{test}\n")
    return run_inside(app, *options)


def matrix(result: pytest.RunResult) -> list[str]:
    """The lines of the matrix that a run shows, without their margin."""
    lines = result.outlines
    start = next(at for at, line in enumerate(lines) if " mockserver faults " in line)
    end = next(at for at in range(start, len(lines)) if lines[at].endswith(" bad"))
    return [" ".join(line.split()) for line in lines[start + 1 : end + 1]]


def test_the_official_client_recovers_and_fails_as_it_says(app: pytest.Pytester) -> None:
    result = run(
        app,
        """
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.mockserver_faults("disconnect@after_tokens=1", "cut", "keepalive", "bad_tool_arguments", errors=[500])
def test_x(mockserver, stream):
    mockserver.on().reply(app.SAID)
    assert app.official(stream) == app.SAID
""",
    )
    assert matrix(result) == [
        "test_app.py::test_x[plain]",
        "ok intact passes",
        "ok error=500 plain recovered, 1 retry",
        "ok disconnect@after_tokens=1 plain recovered, 1 retry",
        "ok cut@after_tokens=1 plain raised JSONDecodeError",
        "ok cut@before_done plain raised JSONDecodeError",
        "ok cut@in_tool_arguments plain unaffected: the answer ended before the fault",
        "ok keepalive plain recovered",
        "ok bad_tool_arguments plain unaffected: the answer has no tool call",
        "test_app.py::test_x[stream]",
        "ok intact passes",
        "ok error=500 stream recovered, 1 retry",
        "ok disconnect@after_tokens=1 stream raised APIConnectionError",
        "BAD cut@after_tokens=1 stream accepted a truncated answer, cut short after 2 frames",
        "ok cut@before_done stream recovered",
        "ok cut@in_tool_arguments stream unaffected: the answer ended before the fault",
        "ok keepalive stream recovered",
        "ok bad_tool_arguments stream unaffected: the answer has no tool call",
        "16 runs: 8 recovered, 3 raised, 4 unaffected, 1 truncated; 1 bad",
    ]
    result.assert_outcomes(passed=15, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_x?cut@after_tokens=1-stream?*",
            "E *assert 'Hello' == 'Hello to you, friend!'*",
            "E *cut@after_tokens=1: accepted a truncated answer, cut short after 2 frames",
        ]
    )


def test_what_hangs_is_ended_with_its_answers_and_where_it_waits_for_something_else(app: pytest.Pytester) -> None:
    result = run(
        app,
        """
@pytest.mark.mockserver_faults("stall", times=None, limit=0.3)
def test_client(mockserver):
    mockserver.on().reply(app.SAID)
    assert app.official() == app.SAID

@pytest.mark.mockserver_faults("stall@at_start", limit="300ms")
async def test_awaited(mockserver):
    mockserver.on().reply(app.SAID)
    assert await app.awaited() == app.SAID

@pytest.mark.mockserver_faults("cut@before_done", limit=0.3)
def test_else(mockserver, mockserver_fault):
    mockserver.on().reply(app.SAID)
    app.official() if mockserver_fault.name == "intact" else app.deaf()

@pytest.mark.mockserver_faults("stall@at_start")
def test_without_a_socket(mockserver):
    mockserver.on().reply(app.SAID)
    with app.httpx.Client(transport=mockserver.transport(), timeout=None) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        client.post("http://localhost/v1/chat/completions", json=body).raise_for_status()
""",
    )
    waits = next(at for at, line in enumerate(APP.splitlines(), 1) if "Event().wait()" in line)
    reads = next(at for at, line in enumerate(APP.splitlines(), 1) if "chunks = client" in line)
    lines = matrix(result)
    assert [line for line in lines if "after_tokens" in line or "before_done" in line] == [
        f"BAD stall@after_tokens=1 stream hung: still waiting after 0.3 s, at app.py:{reads + 1}",
        f"BAD cut@before_done plain hung: still waiting after 0.3 s, at app.py:{waits}",
    ]
    awaited, client, without = (line.removesuffix(", 1 retry") for line in lines if "at_start" in line)
    assert awaited.startswith("BAD stall@at_start stream hung: still waiting after 0.3 s")
    assert client == f"BAD stall@at_start stream hung: still waiting after 0.3 s, at app.py:{reads}"
    assert without == "BAD stall@at_start plain hung: it would wait forever"
    result.assert_outcomes(passed=4, failed=5)
    result.stdout.fnmatch_lines([f"stall@at_start: hung: still waiting after 0.3 s, at app.py:{reads}*"])


def test_outcomes_that_are_none(app: pytest.Pytester) -> None:
    result = run(
        app,
        """
@pytest.mark.mockserver_faults("crlf", when={"model": "other"})
@pytest.mark.parametrize("how", ["skipped", "other", "without", "failing"])
def test_x(mockserver, how):
    mockserver.on().reply(app.SAID)
    if how == "skipped":
        pytest.skip("not today")
    if how in ("other", "failing"):
        app.official()
    assert how != "failing"
""",
    )
    assert matrix(result) == [
        "test_app.py::test_x[failing]",
        "BAD intact fails without a fault",
        "BAD crlf stream failed: assert 'failing' != 'failing'",
        "test_app.py::test_x[other]",
        "ok intact passes",
        "ok crlf stream unaffected: no call matches",
        "test_app.py::test_x[without]",
        "BAD intact makes no calls, so no fault could be injected",
        "ok crlf unaffected: no calls received",
        "6 runs: 1 recovered, 2 unaffected, 3 failed; 3 bad",
    ]
    result.assert_outcomes(passed=3, failed=3, skipped=2)
    result.stdout.fnmatch_lines(["no fault could be injected: no calls received: the code made none*"])


def test_a_mistake_in_the_marker_fails_its_test(app: pytest.Pytester) -> None:
    case = "class Test(unittest.TestCase):\n    def test_y(self): ..."
    app.makepyfile(test_case=f"import pytest, unittest\n@pytest.mark.mockserver_faults('cut')\n{case}")
    tests = "@pytest.mark.mockserver_faults('cutt')\ndef test_x(mockserver): ...\ndef test_z(): ..."
    result = run(app, tests)
    result.assert_outcomes(errors=2, passed=1)
    of_case = "test_case.py:4: @pytest.mark.mockserver_faults is for functions and plain classes, not for a TestCase"
    result.stdout.fnmatch_lines([of_case])
    result.stdout.fnmatch_lines(
        ['test_app.py:3:1: @pytest.mark.mockserver_faults: unknown fault "cutt"; did you mean "cut"?*']
    )
    assert "Traceback" not in result.stdout.str()


CLIENTS = {
    "anthropic": """
def ask(tools):
    offered = {"tools": [{"name": "look", "input_schema": {"type": "object"}}]} if tools else {}
    said = [{"role": "user", "content": "hello"}]
    with anthropic.Anthropic() as client:
        with client.messages.stream(model="claude-opus-4-8", max_tokens=99, messages=said, **offered) as stream:
            return "".join(stream.text_stream)
""",
    "google.genai": """
import httpx

def ask(tools):
    look = google.genai.types.FunctionDeclaration(name="look", description="Look.")
    offered = {"tools": [google.genai.types.Tool(function_declarations=[look])]} if tools else {}
    # one of its own is not closed after a broken stream
    with httpx.Client() as own, google.genai.Client(http_options={"httpx_client": own}) as client:
        chunks = client.models.generate_content_stream(model="gemini-2.5-flash", contents="hello", config=offered)
        return "".join(part.text or "" for chunk in chunks for part in chunk.candidates[0].content.parts)
""",
}


@pytest.mark.parametrize("module", CLIENTS)
def test_streams_of_other_providers_are_judged_alike(app: pytest.Pytester, module: str) -> None:
    result = run(
        app,
        f"""
import {module}

{CLIENTS[module]}

@pytest.mark.mockserver_faults("join_frames", "split_frame", "unknown_tool", "cut@after_tokens=1")
def test_text(mockserver):
    mockserver.on().reply(app.SAID)
    assert ask(tools=False) == app.SAID

@pytest.mark.mockserver_faults("unknown_tool")
def test_tool(mockserver):
    mockserver.on().reply(app.SAID, tool_calls=[{{"name": "look", "arguments": {{}}}}])
    assert ask(tools=True) == app.SAID
""",
    )
    assert [line.partition(" after ")[0] for line in matrix(result)[:-1]] == [
        "test_app.py::test_text",
        "ok intact passes",
        "ok join_frames stream recovered",
        "ok split_frame stream recovered",
        "ok unknown_tool stream unaffected: the answer has no tool call",
        "BAD cut@after_tokens=1 stream accepted a truncated answer, cut short",
        "test_app.py::test_tool",
        "ok intact passes",
        "ok unknown_tool stream recovered",
    ]
