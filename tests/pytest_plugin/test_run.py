"""A run of tests: one server, whose mistakes fail which tests, what tests leave open, what stands for all of them."""

import pytest

from tests.kit.nested import BROKEN, ini, run_test_file

pytest_plugins = ["pytester"]


def test_mistakes_of_a_rules_file(pytester: pytest.Pytester) -> None:
    ini(pytester, mockserver_rules="broken.yaml")
    tests = "def test_a(mockserver): pass\ndef test_b(mockserver): pass\ndef test_c(): pass"
    result = run_test_file(pytester, tests, files={"broken.yaml": BROKEN})
    told = result.stdout.str()
    assert len([line for line in result.outlines if line.startswith("broken.yaml:2:12: ")]) == 2
    result.assert_outcomes(errors=2, passed=1)
    assert "Traceback" not in told + result.stderr.str()
    run_test_file(pytester, "def test_c(): pass").assert_outcomes(passed=1)
    listed = run_test_file(pytester, tests, "--collect-only", "-q")
    assert sum(line.startswith("broken.yaml:2:12: ") for line in listed.outlines) == 1
    listed.stdout.fnmatch_lines(["test_it.py::test_a", "test_it.py::test_b", "test_it.py::test_c"])
    listed.stdout.fnmatch_lines(["required by test_it.py::test_a and 1 more"])


def test_a_port_that_cannot_be_bound(pytester: pytest.Pytester) -> None:
    guard = """
import socket
import pytest

@pytest.fixture(autouse=True, scope="session")
def guarded():
    with pytest.MonkeyPatch.context() as patch:
        def bind(self, address): raise PermissionError(1, "sockets are not allowed here")
        patch.setattr(socket.socket, "bind", bind)
        yield
"""
    result = run_test_file(pytester, "def test_a(mockserver): pass\ndef test_b(): pass", files={"conftest.py": guard})
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["cannot listen on 127.0.0.1:0: sockets are not allowed here"])
    assert "Traceback" not in result.stdout.str()


def test_an_answer_that_is_left_open(pytester: pytest.Pytester) -> None:
    tests = """
import httpx, pytest

def begun(server):
    server.on(last_user="hello").stream(["One ", "two ", "three"], timing={"first_token": "1ms", "per_token": "30s"})
    body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    client = httpx.Client()
    stream = client.stream("POST", server.base_url() + "/chat/completions", json=body)
    pieces = stream.__enter__().iter_bytes()
    next(pieces)
    return client, stream, pieces

@pytest.mark.mockserver(timing=True)
def test_leaves(mockserver):
    test_leaves.kept = begun(mockserver)

@pytest.mark.mockserver(timing=True)
def test_fails(mockserver):
    test_fails.kept = begun(mockserver)
    assert 0

@pytest.mark.mockserver(timing=True)
def test_closes(mockserver):
    client, stream, _ = begun(mockserver)
    stream.__exit__(None, None, None)
    client.close()
"""
    call = 'call 1: chat gpt-4o "hello" -> rule test_it.py:6 (client left after * frames)'
    said = f"MockServerWarning: the test left an answer open, {call}: *"
    result = run_test_file(pytester, tests, "-W", "always")
    result.assert_outcomes(passed=2, failed=1, warnings=1)
    result.stdout.fnmatch_lines(["test_it.py::test_leaves", f"*{said}"])
    result = run_test_file(pytester, tests, "-W", "error::mockserver.testing.MockServerWarning")
    result.assert_outcomes(passed=2, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_leaves*", f"E *{said}"])


def test_what_stands_for_all_tests(pytester: pytest.Pytester) -> None:
    tests = """
import pytest

@pytest.fixture(scope="session", autouse=True)
def always(mockserver_session):
    mockserver_session.on(last_user="hello").reply("always")

@pytest.fixture(scope="module")
def here(mockserver_session):
    rule = mockserver_session.on(last_user="here").reply("here")
    yield
    rule.remove()

@pytest.mark.parametrize("n", range(3))
def test_stands(mockserver, here, n):
    assert (greet(), greet("here")) == ("always", "here")
    mockserver.on(last_user="hello").reply("mine")
    assert greet() == "mine"
"""
    other = """
import openai, pytest

def test_stands_too(mockserver):
    assert greet() == "always"

@pytest.mark.mockserver(verify=False)
def test_is_gone(mockserver):
    with pytest.raises(openai.NotFoundError):
        greet("here")
"""
    files = {"test_other.py": f"from app import greet\n{other}"}
    run_test_file(pytester, tests, files=files).assert_outcomes(passed=5)


def test_a_server_of_the_users_own(pytester: pytest.Pytester) -> None:
    conftest = """
import pytest
from mockserver.testing import MockServer

@pytest.fixture(scope="session")
def mockserver_session():
    with MockServer("rules/own.yaml", unmatched="generate", keys=["sk-own"]) as server:
        server.on(last_user="hello").reply("of my own")
        yield server
"""
    tests = """
import openai, pytest

def test_it(mockserver):
    assert greet() == "of my own"
    assert greet("file") == "From the file."
    assert greet("anything")
    assert mockserver.calls[0].headers["authorization"] == "Bearer sk-own"

@pytest.mark.mockserver(rules=[], unmatched="error", verify=False)
def test_closer(mockserver):
    with pytest.raises(openai.NotFoundError):
        greet("file")

def test_unmet(mockserver):
    mockserver.on().reply("x").times(1)
"""
    rules = "rules: [{when: {last_user: file}, then: {text: From the file.}}]"
    files = {"conftest.py": conftest, "rules/own.yaml": rules}
    run_test_file(pytester, tests, files=files).assert_outcomes(passed=2, failed=1)


LEAKY = """
import os
import httpx, pytest
from mockserver.testing import MockServer

def test_prompt(mockserver):
    mockserver.on(last_user="other").reply("a")
    token = os.environ["GITHUB_TOKEN"]
    text = f"with {token} and {token.encode().hex()}"
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    key = {"authorization": "Bearer " + token[::-1]}
    httpx.post(mockserver.base_url() + "/chat/completions", json=body, headers=key)
    del token, text, body, key
    row, live, sources = mockserver.calls[0].row, mockserver.local.live, mockserver.local.setup.sources
    mockserver.assert_called(last_user="zz")

def test_settings():
    MockServer(unmatched="x")
"""


def test_no_report_of_a_failure_shows_keys(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"GITHUB_TOKEN": "ghp-Q7vX2nB9wLk4Tz", "MOCKSERVER_UPSTREAM_KEY_OPENAI": "sk-Zu3pW8xKq5Rt"}
    for name, key in keys.items():
        monkeypatch.setenv(name, key)
    result = run_test_file(
        pytester, LEAKY, "-vvv", "-l", "--full-trace", "--junitxml=junit.xml", "-o", "junit_logging=all"
    )
    result.assert_outcomes(failed=2)
    written = [each.read_bytes() for each in pytester.path.rglob("*") if each.is_file()]
    shown = b"\n".join((result.stdout.str().encode(), *written))
    assert b"ghp-...(masked)" in shown
    secrets = (*keys.values(), keys["GITHUB_TOKEN"][::-1])
    assert not [key for key in secrets if key.encode() in shown or key.encode().hex().encode() in shown]
