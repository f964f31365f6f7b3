"""What a test is told when it fails, kind by kind, as golden texts.

`pytest tests/misses --update` rewrites them; review them as somebody whose test has just failed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import gettempdir
from textwrap import dedent

import httpx
import pytest

from mockserver.reports.failures import write_failure, write_server_report
from mockserver.testing import MockServer
from tests.misses.failures import FAILED, UNANSWERED, ask

HERE = Path(__file__).parent / "reports"


@pytest.fixture(scope="module")
def running() -> Iterator[MockServer]:
    server = MockServer().start()
    yield server
    server.stop()


def asserted(assertion: Callable[[MockServer], None]) -> Callable[[MockServer], str]:
    def why(server: MockServer) -> str:
        server.on().reply("ok")
        for model, text in (("gpt-4o", "plan"), ("gpt-4o", "act"), ("o3", "check the weather in Oslo")):
            ask(server, text, model=model)
        with pytest.raises(AssertionError) as error:
            assertion(server)
        return str(error.value)

    return why


ASSERTED: Mapping[str, Callable[[MockServer], str]] = {
    "never-called-so": asserted(lambda server: server.assert_called(last_user="check the wether in Oslo")),
    "called-too-seldom": asserted(lambda server: server.assert_called_times(3, model="gpt-4o")),
    "called-too-often": asserted(lambda server: server.assert_called_once(model="gpt-4o")),
    "called-at-all": asserted(lambda server: server.assert_not_called(model={"starts_with": "o"})),
    "wrong-sequence": asserted(lambda server: server.assert_sequence("plan", "draft", {"model": "gpt-5"}, "check*")),
    "one-call-too-many": asserted(lambda server: server.assert_sequence("plan", "check*")),
    "one-call-missing": asserted(lambda server: server.assert_sequence("plan", "think", "act", "check*")),
}


def refused(server: MockServer) -> None:
    server.on(last_user="total").reply("{{ tool_result.json.total }}")
    ask(server, path="/v1/chat/completion")
    ask(server, temperature=7)
    ask(server, "total")


def golden(name: str, text: str, *, update: bool) -> None:
    """Hold a text against the golden one; the lines of this file are all one, and files stand in no folder."""
    file, text = HERE / f"{name}.txt", re.sub(rf"{re.escape(gettempdir())}/\w+/", "", text) + "\n"
    text = re.sub(r"(?:\S+/)?(?:test_reports|failures)\.py:\d+", "tests/test_app.py:12", text)
    if update:
        HERE.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("name", FAILED)
def test_what_a_failed_test_is_told(name: str, running: MockServer, update: bool) -> None:
    running.reset()
    FAILED[name](running)
    problems = running.problems()
    golden(name, write_failure(problems), update=update)
    assert all(len(problem.headline) <= 100 for problem in problems)
    assert all(line.isprintable() for problem in problems for line in problem.text.splitlines())


@pytest.mark.parametrize("name", ASSERTED)
def test_what_a_failed_assertion_says(name: str, running: MockServer, update: bool) -> None:
    running.reset()
    golden(name, ASSERTED[name](running), update=update)


def test_what_is_told_of_a_test_that_failed_by_itself(running: MockServer, update: bool) -> None:
    running.reset()
    refused(running)
    golden("refused", write_server_report(running.calls, running.problems()), update=update)


def test_every_golden_text_is_used() -> None:
    assert {file.stem for file in HERE.glob("*.txt")} == {*FAILED, *ASSERTED, "refused"}


PASTED = re.compile(r"  add a rule to the test:\n((?:    .*\n)+)  or to a rules file:\n((?:    .*\n?)+)")


@pytest.mark.parametrize("name", UNANSWERED)
def test_what_is_told_to_paste_answers_the_very_call(name: str, running: MockServer, tmp_path: Path) -> None:
    running.reset()
    FAILED[name](running)
    call = next(call for call in running.calls if call.source == "unmatched")
    found = PASTED.search(write_failure(running.problems()) + "\n")
    assert found is not None
    (tmp_path / "pasted.yaml").write_text(f"rules:\n{found[2]}")

    def in_python() -> None:
        exec(dedent(found[1]), {"mockserver": running})

    for paste in (in_python, lambda: running.load(tmp_path / "pasted.yaml")):
        running.reset()
        paste()
        headers = {name: value for name, value in call.headers.items() if name not in ("host", "content-length")}
        httpx.request(call.method, running.url + call.path, content=call.row.body, headers=headers)
        assert running.calls[0].source.startswith("rule "), running.calls[0].error
        running.reset()
        ask(running, "something else altogether")
        assert running.calls[0].source == "unmatched"
