"""Whatever befalls an answer, HTTP stays true where the fault is not about HTTP, and the server goes on as before."""

from collections.abc import Iterator

import pytest

from tests.faults.together import ANSWERS, OPERATIONS, Case, cases, rules
from tests.faults.wire import connected
from tests.kit.served import Served, served

CASES = cases()
BATCH = 24
CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
PATH = "/openai/v1/chat/completions"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """A server that has a rule for each case."""
    with served(rules(CASES)) as running:
        yield running


@pytest.fixture(scope="module")
def intact(server: Served) -> bytes:
    """What an answer is that nothing befalls."""
    with connected(server.address) as line:
        return line.ask(PATH, CHAT).body


@pytest.mark.parametrize("first", range(0, len(CASES), BATCH))
def test_the_next_request_fares_well(server: Served, intact: bytes, first: int) -> None:
    for case in CASES[first : first + BATCH]:
        _told(server, intact, case)


def _told(server: Served, intact: bytes, case: Case) -> None:
    method, path, body = case.request
    with connected(server.address) as line:
        heard = line.request(method, path, body, str(case.number))
        assert heard.ended in (("whole", "FIN", "RST") if case.breaks else ("whole",)), case
        assert heard.status in ({0, 200, 503, 204} if case.breaks else {_status(case)}), (case, heard.body)
        if method == "HEAD" or heard.status == 204:
            assert (heard.body, heard.rest) == (b"", b""), case
        if not case.breaks:
            assert heard.rest == b"", case
            assert line.ask(PATH, CHAT).body == intact, case
    with connected(server.address) as line:
        assert line.ask(PATH, CHAT).body == intact, case


def _status(case: Case) -> int:
    return {"error": 503, "no content": 204}.get(case.answer, 200)


def test_the_sample_holds_every_operation_and_kind_of_answer() -> None:
    assert {(case.dialect, case.operation) for case in CASES} == set(OPERATIONS)
    assert {case.answer for case in CASES} == set(ANSWERS)
    assert {case.request[0] for case in CASES} == {"GET", "HEAD", "POST"}
    assert {len(case.faults) for case in CASES} == {1, 2}
