"""A fault of our own is told with its place, without credentials, and without a line that could pass for another."""

from mockserver.core.http import HttpRequest
from mockserver.server.handler import MAX_TRACEBACK, crash

KEY = "sk-proj-0a1b2c3d4e"


def told(message: str, *, path: str = "/v1/x") -> str:
    http = HttpRequest("POST", path, headers=((b"authorization", f"Bearer {KEY}".encode()),))
    try:
        raise ValueError(message)
    except ValueError as error:
        return crash(error, http)


def test_it_says_where_and_what() -> None:
    first, *trace = told("no such thing").splitlines()
    assert first == "a fault of mockserver itself, on POST /v1/x"
    assert trace[0] == "| Traceback (most recent call last):"
    assert "test_crash.py" in trace[1]
    assert trace[-1] == "| ValueError: no such thing"


def test_credentials_are_masked() -> None:
    text = told(f"cannot read {{'key': '{KEY}'}}", path=f"/v1/models/{KEY}")
    assert KEY not in text
    assert text.count("sk-p...(masked)") == 2


def test_no_line_can_be_forged() -> None:
    text = told("a\n7 GET / -> 200\r\x1b[2Kb", path="/a\n8 GET / -> 200")
    assert r"/a\x0a8 GET / -> 200" in text
    assert text.splitlines()[-2:] == ["| ValueError: a", r"| 7 GET / -> 200\x0d\x1b[2Kb"]


def test_of_a_huge_one_the_end_is_told() -> None:
    assert len(told("x\n" * 100_000)) < 3 * MAX_TRACEBACK
