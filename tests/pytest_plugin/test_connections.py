"""Tests whose clients are about to connect to a provider, in runs of pytest within a test."""

import pytest

from tests.kit.nested import ini, run_test_file

pytest_plugins = ["pytester"]

# A client made at import; no host is found, so that what is let through goes nowhere.
FILES = {
    "conftest.py": """
import socket
find = socket.getaddrinfo
def nowhere(host, *more, **named):
    if host == "127.0.0.1":
        return find(host, *more, **named)
    raise socket.gaierror(-2, "no host is found here")
socket.getaddrinfo = nowhere
""",
    "early.py": """
import openai
client = openai.OpenAI(api_key="x", max_retries=0)

def ask(client=client):
    messages = [{"role": "user", "content": "Hello?"}]
    return client.chat.completions.create(model="gpt-4o", messages=messages).choices[0].message.content

def ask_or_give_up():
    try:
        return ask()
    except Exception:
        return "No idea."
""",
}
TESTS = """
import openai, pytest, threading
from early import ask, ask_or_give_up
"""


@pytest.fixture(autouse=True)
def lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)  # restored after each run
    monkeypatch.delenv("CI", raising=False)


def test_a_client_made_at_import(pytester: pytest.Pytester) -> None:
    tests = f"""{TESTS}
def test_asks(mockserver):
    mockserver.on().reply("Hi!")
    ask()

def test_swallows(mockserver):
    ask_or_give_up()

def test_in_a_thread(mockserver):
    thread = threading.Thread(target=lambda: pytest.raises(BaseException, ask))
    thread.start()
    thread.join()

@pytest.fixture
def asked(mockserver):
    return ask()

def test_in_setup(asked):
    pass

def test_takes_it_for_something_else(mockserver):
    with pytest.raises(BaseException):
        ask()
    assert 0
"""
    result = run_test_file(pytester, tests, files=FILES)
    result.assert_outcomes(failed=4, errors=1)
    told = [
        "stopped a connection to api.openai.com:443 at early.py:7",
        "  if `client` of early.py was created before the test set OPENAI_BASE_URL:",
        "    create it in the test, or set mockserver_env = session in pytest's ini file",
        "  else its URL is set by the app: let the test set it to mockserver.base_url()",
        '  to let it connect: allow_hosts=["api.openai.com"]',
    ]
    for title in ("test_asks", "test_swallows", "test_in_a_thread", "ERROR at setup of test_in_setup"):
        result.stdout.fnmatch_lines([f"*_ {title} _*"])
    lines = result.outlines
    assert [lines[at : at + 5] for at, line in enumerate(lines) if line == told[0]] == [told] * 5
    assert "Traceback" not in result.stdout.str()
    assert result.stdout.str().count("- mockserver -") == 1  # of the test that fails by itself
    assert "_client.py" not in result.stdout.str()  # no frames of libraries
    ini(pytester, mockserver_env="session")
    again = f"{TESTS}\ndef test_asks(mockserver):\n    mockserver.on().reply('Hi!')\n    assert ask() == 'Hi!'"
    run_test_file(pytester, again, files=FILES).assert_outcomes(passed=1)


def test_a_client_without_a_key_at_import(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    tests = "from openai import OpenAI\nclient = OpenAI()\ndef test_it(mockserver): ..."
    result = run_test_file(pytester, tests)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*- mockserver -*", "if a client was created while a module was imported, * = session"]
    )
    ini(pytester, mockserver_env="session")
    run_test_file(pytester, tests).assert_outcomes(passed=1)


def test_where_no_server_is_used(pytester: pytest.Pytester) -> None:
    ini(pytester, mockserver_env="session")
    tests = f"""{TESTS}
import asyncio, socket, ssl
import conftest

def places():
    return socket.getaddrinfo, asyncio.BaseEventLoop.getaddrinfo, ssl.SSLContext.wrap_socket, ssl.SSLContext.wrap_bio

before = places()

def test_before():
    assert places() == before

def test_with(mockserver, monkeypatch):
    assert not set(places()) & set(before)
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)

def test_after():
    assert places() == before
    with pytest.raises(openai.APIConnectionError):
        ask(openai.OpenAI(api_key="x", base_url="https://api.openai.com/v1", max_retries=0))
"""
    run_test_file(pytester, tests, files=FILES).assert_outcomes(passed=3)


def test_hosts_that_are_let_through(pytester: pytest.Pytester) -> None:
    marked = f"""{TESTS}
@pytest.mark.mockserver(allow_hosts=["*.openai.com"])
def test_goes_out(mockserver):
    with pytest.raises(openai.APIConnectionError):
        ask()
"""
    run_test_file(pytester, marked, files=FILES).assert_outcomes(passed=1)
    plain = marked.replace('@pytest.mark.mockserver(allow_hosts=["*.openai.com"])', "")
    run_test_file(pytester, plain, files=FILES).assert_outcomes(failed=1)
    run_test_file(pytester, plain, "--mockserver-allow-hosts=api.openai.com", files=FILES).assert_outcomes(passed=1)
    ini(pytester, mockserver_allow_hosts="api.fireworks.ai api.openai.com")
    run_test_file(pytester, plain, files=FILES).assert_outcomes(passed=1)
    other = marked.replace("*.openai.com", "api.fireworks.ai")  # the mark wins
    run_test_file(pytester, other, files=FILES).assert_outcomes(failed=1)
    wrong = run_test_file(pytester, marked.replace("*.openai.com", "https://api.openai.com/v1"), files=FILES)
    wrong.assert_outcomes(errors=1)
    wrong.stdout.fnmatch_lines(["test_it.py:*: allow_hosts takes hosts, such as *"])
    ini(pytester, mockserver_allow_hosts="https://api.openai.com/v1")
    wrong = run_test_file(pytester, plain, files=FILES)
    wrong.assert_outcomes(errors=1)
    wrong.stdout.fnmatch_lines(["tox.ini: allow_hosts takes hosts, such as *"])


def test_a_test_case_of_unittest(pytester: pytest.Pytester) -> None:
    tests = f"""{TESTS}
from mockserver.testing import BlockedConnectionError, MockServerTestCase, mocked

class TestAsks(MockServerTestCase):
    def test_asks(self):
        ask_or_give_up()

class TestGoesOut(MockServerTestCase):
    mockserver_options = {{"allow_hosts": ["api.openai.com"]}}

    def test_asks(self):
        assert ask_or_give_up() == "No idea."

@mocked()
def test_mocked(mockserver):
    with pytest.raises(BlockedConnectionError):
        ask()
    mockserver.reset()
"""
    result = run_test_file(pytester, tests, files=FILES)
    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["*stopped a connection to api.openai.com:443 at early.py:7"])
