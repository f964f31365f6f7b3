"""The fixture in unittest, doctest, asyncio, trio and xdist, and together with other plugins."""

import pytest

from tests.kit.nested import QUICK, ini, run_test_file

pytest_plugins = ["pytester"]


def test_awaited_tests(pytester: pytest.Pytester) -> None:
    tests = """
import httpx2, pytest, pytest_asyncio
from openai import AsyncOpenAI

async def greeted(**options):
    async with AsyncOpenAI(max_retries=0, **options) as client:
        asked = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hello"}])
        return (await asked).choices[0].message.content

@pytest_asyncio.fixture
async def said(mockserver):
    mockserver.on().reply("Hello!")
    return await greeted()

@pytest.mark.asyncio
async def test_in_a_fixture(said, mockserver):
    assert said == "Hello!"
    assert len(mockserver.calls) == 1

@pytest.mark.asyncio
async def test_fails(mockserver):
    mockserver.on().reply("Hi!").times(2)
    await greeted()

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_anyio(mockserver, anyio_backend):
    mockserver.on().reply("Hi!", faults=[{"stall": {"for": "10m"}}]).times(1)
    assert await greeted(http_client=httpx2.AsyncClient(transport=mockserver.transport(), timeout=900)) == "Hi!"
    mockserver.on().reply("Hello!")
    assert await greeted() == "Hello!"
"""
    result = run_test_file(
        pytester, tests, "-o", "asyncio_mode=strict"
    )  # in other modes pytest-asyncio runs anyio's tests, too
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["test_it.py:23 answered 1 of 2 expected calls"])


def test_other_kinds_of_tests(pytester: pytest.Pytester) -> None:
    tests = """
import unittest
import pytest

@pytest.mark.usefixtures("mockserver")
@pytest.mark.mockserver(seed=3)
class TestUsing(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def having(self, mockserver):
        self.mockserver = mockserver

    def test_answers(self):
        self.mockserver.on().reply("Hi!")
        self.assertEqual(greet(), "Hi!")

    def test_unmet(self):
        self.mockserver.on().reply("Hi!").times(2)

    def test_fails_by_itself(self):
        self.assertEqual("Hi!", self.mockserver.on().reply("Hi!").times(3))

    @unittest.expectedFailure
    def test_unmet_as_expected(self):
        self.assertEqual(greet(), "Hello!")

    def test_skips(self):
        self.mockserver.on().reply("Hi!").times(2)
        self.skipTest("later")

def documented():
    '''
    >>> mockserver = getfixture("mockserver")
    >>> _ = mockserver.on(last_user="hello").reply("Hi!")
    >>> greet()
    'Hi!'
    '''
"""
    page = {"page.txt": ">>> _ = getfixture('mockserver').on().reply('Hi!').times(1)\n"}
    result = run_test_file(pytester, tests, "--doctest-modules", "--doctest-glob=*.txt", files=page)
    result.assert_outcomes(passed=2, failed=3, xfailed=1, skipped=1)
    told = result.stdout.str()
    assert "test_it.py:18 answered 0 of 2 expected calls" in told
    assert "answered 0 of 3 expected calls" in told.partition("AssertionError: 'Hi!' != <")[2]
    assert "answered 0 of 1 expected call" in told


@pytest.mark.slow
def test_on_workers(pytester: pytest.Pytester) -> None:
    """Each worker has a server of its own, the controller none; clients that conftest files make work everywhere."""
    tests = """
import os
from conftest import client

def test_led(mockserver, worker_id):
    mockserver.on(last_user="hello").reply("Hi!")
    assert greet(client=client) == "Hi!"
    assert str(client.base_url).rstrip("/") == os.environ["OPENAI_BASE_URL"] == mockserver.base_url()
    with open(f"{worker_id}.address", "w") as file:
        file.write(mockserver.url)

def test_unmatched(mockserver):
    mockserver.on().reply("Hi!").times(1)
"""
    faulted = """
import pytest
from app import greet

@pytest.mark.mockserver_faults("crlf", errors=[])
def test_faulted(mockserver):
    mockserver.on().reply("Hi!")
    assert greet() == "Hi!"
"""
    conftest = """
import threading
from openai import OpenAI

client = OpenAI(max_retries=0)

def pytest_runtest_logreport(report):
    import os
    if "PYTEST_XDIST_WORKER" not in os.environ:
        assert "mockserver" not in [thread.name for thread in threading.enumerate()]

def pytest_unconfigure():
    client.close()
"""
    ini(pytester, mockserver_env="session")
    files = {"conftest.py": conftest, "test_more.py": f"from app import greet\n{tests}", "test_faulted.py": faulted}
    result = run_test_file(pytester, tests, "-n", "2", "--dist", "loadfile", files=files)
    result.assert_outcomes(passed=4, failed=2)
    assert "INTERNALERROR" not in result.stdout.str()
    addresses = [file.read_text() for file in pytester.path.glob("*.address")]
    assert len({*addresses}) == 2
    result.stdout.fnmatch_lines(["2 runs: 1 recovered, 1 unaffected; none bad"])
    result.stdout.fnmatch_lines(["FAILED test_*.py::test_unmatched - Failed: test_*.py:14 answered *of*"])


def test_processes_that_a_test_starts(pytester: pytest.Pytester) -> None:
    tests = """
import multiprocessing, os, subprocess, sys
from openai import OpenAI

def test_subprocess(mockserver):
    mockserver.on().reply("Hi!").times(1)
    command = [sys.executable, "-c", "from app import greet; print(greet())"]
    assert subprocess.check_output(command, text=True) == "Hi!\\n"

def told(work):
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.write(writing, str(work()).encode())
        except Exception as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as told:
        return told.read()

def test_fork(mockserver):
    mockserver.on(last_user="hello").reply("Hi!").times(1)
    assert told(greet) == "Hi!"
    elsewhere = "the server runs in the process that this one was forked from"
    for work in (lambda: mockserver.calls, lambda: mockserver.on().reply("x"), mockserver.reset):
        assert told(work).startswith(elsewhere)
    assert told(mockserver.stop) == "None"
    assert len(mockserver.calls) == 1
"""
    run_test_file(pytester, tests, "-W", "ignore::DeprecationWarning").assert_outcomes(passed=2)


def test_options_of_pytest(pytester: pytest.Pytester) -> None:
    tests = "def test_it(mockserver):\n    mockserver.on().reply('x')\n    assert greet() == 'x'"
    shown = run_test_file(pytester, tests, "--setup-show").stdout
    shown.fnmatch_lines(["*SETUP    S mockserver_session*", "*SETUP    F mockserver*"])
    run_test_file(pytester, tests, "--markers").stdout.fnmatch_lines(["@pytest.mark.mockserver(*"])
    result = run_test_file(pytester, tests, "-p", "no:mockserver")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'mockserver' not found"])


def test_imports(pytester: pytest.Pytester) -> None:
    tests = """
import sys
from importlib.machinery import SourceFileLoader

heavy = ("mockserver.testing", "mockserver.engine", "starlette", "pydantic", "uvicorn", "yaml", "httpx")
early = [name for name in heavy if name in sys.modules]

def test_an_idle_plugin_imports_nothing():
    assert "mockserver.pytest_plugin" in sys.modules
    assert not early

def test_our_modules_are_not_rewritten(mockserver):
    assert type(sys.modules["mockserver.testing"].__spec__.loader) is SourceFileLoader
"""
    rewriting = "import pytest\npytest.register_assert_rewrite('mockserver')\n"  # as for all installed packages
    pytester.makepyfile(conftest=rewriting, test_imports=tests)
    options = ("-p", "no:respx", "-W", "ignore::pytest.PytestAssertRewriteWarning", "test_imports.py")
    pytester.runpytest_subprocess(*QUICK, *options).assert_outcomes(passed=2)
