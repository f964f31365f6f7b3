"""`--mockserver-inspect` and `mockserver run --inspect` keep the server, so that its calls can be looked at."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.kit.nested import APP, LIGHT, ini, run_test_file

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
TESTS = """
from app import greet
import openai, pytest

def test_fine(mockserver):
    mockserver.on("hello").reply("Hi!")
    greet()

def test_first(mockserver):
    mockserver.on("hello").reply("Hi!")
    assert greet() == "Hello!"

def test_second(mockserver):
    assert False
"""


@contextmanager
def started(folder: Path, *command: str) -> Iterator["subprocess.Popen[str]"]:
    words = (sys.executable, "-m", *command)
    kept = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what ignores it passes that on
    process = subprocess.Popen(
        words, cwd=folder, env=kept, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    signal.signal(signal.SIGINT, before)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"(http://\S+?)/__mockserver__/", line):
            return found[1]
    raise AssertionError("no address was printed")


def calls(at: str) -> list[str]:
    with urlopen(f"{at}/__mockserver__/") as page:
        assert page.headers["content-type"].startswith("text/html")
    with urlopen(f"{at}/__mockserver__/api/calls") as listed:
        return [call["source"] for call in json.load(listed)["calls"]]


def test_the_server_of_the_first_failed_test_waits(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "test_it.py").write_text(TESTS)
    options = (*LIGHT, "-q", "--mockserver-inspect", "--timeout=60")
    with started(tmp_path, "pytest", *options) as process:
        (source,) = calls(address(process))
        assert source == "rule test_it.py:10"
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert "2 failed, 1 passed" in rest
    assert rest.count("look at its calls") == 0  # the first one only


def test_it_needs_one_process(pytester: pytest.Pytester) -> None:
    ini(pytester)
    result = run_test_file(pytester, "def test_a(): pass", "--mockserver-inspect", "-n", "2")
    result.stderr.fnmatch_lines(["*--mockserver-inspect waits for you, which workers cannot; run without -n"])


def test_the_server_of_a_program_waits(tmp_path: Path) -> None:
    asks = "import os, urllib.request as r\nr.urlopen(os.environ['OPENAI_BASE_URL'] + '/models').read()\n"
    (tmp_path / "ask.py").write_text(f"{asks}raise SystemExit(3)")
    with started(tmp_path, "mockserver", "run", "--inspect", "--", sys.executable, "ask.py") as process:
        at, out = address(process), process.stdout
        assert out is not None
        assert "the program ended with code 3; Ctrl-C stops the server" in out.readline()
        assert calls(at) == ["generated"]
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert (process.returncode, "mockserver: 1 call" in rest) == (3, True)
