"""The footprint of tests as a run sees it: runs of pytest within a test."""

from pathlib import Path

import pytest

from tests.kit.nested import ini, run_test_file

pytest_plugins = ["pytester"]

FILE = "mockserver-footprint.yaml"
TESTS = """
import httpx, pytest
from openai import OpenAI

@pytest.fixture
def client(mockserver):
    with httpx.Client(transport=mockserver.transport()) as inner:
        yield OpenAI(base_url="http://mock/v1", api_key="k", http_client=inner)

def test_one(mockserver, client):
    mockserver.on().reply("Fine.")
    greet("How are you?", client)

class TestIt:
    @pytest.mark.parametrize("text", ["one", "two: 2"])
    def test_each(self, mockserver, text):
        mockserver.on().reply("Fine.")
        greet(text)

def test_without_calls(mockserver):
    pass

@pytest.mark.mockserver_faults("disconnect", allow="failed")
def test_faults(mockserver):
    mockserver.on().reply("Fine.")
    greet("faulted")
"""
LONGER = TESTS.replace("How are you?", "How are you on this sunny morning in the middle of May?")


def read(pytester: pytest.Pytester) -> str:
    return Path(pytester.path, FILE).read_text()


@pytest.fixture
def recorded(pytester: pytest.Pytester) -> str:
    """The file after a first run."""
    result = run_test_file(pytester, TESTS, "--mockserver-footprint-update", "-k", "not faults")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["new      test_it.py::test_one: 1 call, *", f"{FILE} written"])
    return read(pytester)


def test_a_run_that_exceeds_its_footprint(pytester: pytest.Pytester, recorded: str) -> None:
    assert [line for line in recorded.splitlines() if "test_it.py" in line] == [
        "  test_it.py::TestIt::test_each[one]:",
        '  "test_it.py::TestIt::test_each[two: 2]":',
        "  test_it.py::test_one:",
    ]
    run_test_file(pytester, TESTS, "--mockserver-footprint", "-k", "not faults").assert_outcomes(passed=4)
    result = run_test_file(pytester, LONGER, "--mockserver-footprint", "-k", "not faults")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines([
        "the footprint grew by more than 10%: prompt * -> * (+*%)",
        "    openai chat gpt-4o: prompt * -> *",
        "      user: * -> *",
        "  if it is intended, accept it with --mockserver-footprint-update",
        "1 footprint changed; --mockserver-footprint-update writes them",
    ])  # fmt: skip
    assert read(pytester) == recorded
    allowed = ["-o", "mockserver_footprint_growth=100%", "-o", "mockserver_footprint_growth=1.0"]
    run_test_file(pytester, LONGER, "--mockserver-footprint", "-k", "one", *allowed).assert_outcomes(passed=2)


def test_an_update_keeps_what_did_not_run_or_failed(pytester: pytest.Pytester, recorded: str) -> None:
    broken = LONGER.replace("greet(text)", "greet(text * 9); assert 0")
    result = run_test_file(pytester, broken, "--mockserver-footprint-update", "-k", "one or each", "-p", "no:randomly")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["changed  test_it.py::test_one: prompt * -> *"])
    assert read(pytester).split("  test_it.py::test_one:")[0] == recorded.split("  test_it.py::test_one:")[0]
    assert read(pytester) != recorded
    run_test_file(pytester, TESTS, "--mockserver-footprint-update", "-k", "one")
    assert read(pytester) == recorded


def test_new_and_deleted_tests(pytester: pytest.Pytester, recorded: str) -> None:
    renamed = TESTS.replace("def test_one", "def test_first")
    result = run_test_file(pytester, renamed, "--mockserver-footprint", "-k", "first")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        f"{FILE} has no footprint of this test; add it with --mockserver-footprint-update: 1 call, *",
        "entries of 1 deleted test: to remove them, use --mockserver-footprint-prune",
        "  test_it.py::test_one",
    ])  # fmt: skip
    assert (
        "deleted test:"
        not in run_test_file(pytester, renamed, "--mockserver-footprint", "test_it.py::TestIt").stdout.str()
    )
    run_test_file(pytester, renamed, "--mockserver-footprint-update", "-k", "first")
    assert "test_one" in read(pytester)
    result = run_test_file(pytester, renamed, "--mockserver-footprint-prune", "-k", "none")
    result.stdout.fnmatch_lines(["entries of 1 deleted test: removed", "  test_it.py::test_one", f"{FILE} written"])
    assert read(pytester) == recorded.replace("test_one", "test_first")


def test_workers_write_the_same_file(pytester: pytest.Pytester, recorded: str) -> None:
    (pytester.path / FILE).write_text(recorded.replace("test_one", "test_gone"))
    result = run_test_file(pytester, TESTS, "--mockserver-footprint-prune", "-n", "2", "-k", "not faults")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["entries of 1 deleted test: removed", "  test_it.py::test_gone"])
    assert read(pytester) == recorded


def test_names_prices_and_texts(pytester: pytest.Pytester) -> None:
    prices = "\n  gpt-4o*: prompt 2.50, cached 1.25, completion 10"
    ini(
        pytester,
        mockserver_footprint="tests/size.yaml",
        mockserver_footprint_texts="true",
        mockserver_footprint_prices=prices,
    )
    result = run_test_file(pytester, TESTS, "--mockserver-footprint-update", "-k", "one")
    result.stdout.fnmatch_lines(["* completion      cost", "this run * 0.0000*", "size.yaml written"])
    assert "How are you?" in (pytester.path / "tests/size.yaml").read_text()
    result = run_test_file(pytester, LONGER, "--mockserver-footprint", "-k", "test_one")
    result.stdout.fnmatch_lines(["  cost 0.0000* -> 0.0000*", "        +How are you on this sunny morning *"])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], f"there is no {FILE} yet; write it with --mockserver-footprint-update"),
        (["-o", "mockserver_footprint=broken.yaml"], "broken.yaml:1:5: *"),
        (["-o", "mockserver_footprint=."], "*: cannot be read: *"),
        (
            ["-o", "mockserver_footprint_growth=much"],
            'mockserver_footprint_growth: "much" is not a percentage; *',
        ),
        (["-o", "mockserver_footprint_prices=gpt-4o"], "mockserver_footprint_prices: 'gpt-4o' is not a price; *"),
    ],
)
def test_mistakes(pytester: pytest.Pytester, options: list[str], complaint: str) -> None:
    result = run_test_file(pytester, TESTS, "--mockserver-footprint", *options, files={"broken.yaml": "a: b: c\n"})
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {complaint}"])


def test_a_file_that_cannot_be_written(pytester: pytest.Pytester) -> None:
    blocks = 'import os\n\ndef test_blocks():\n    os.mkdir("size.yaml.d"); os.rename("size.yaml.d", "size.yaml")\n'
    options = ("--mockserver-footprint-update", "-o", "mockserver_footprint=size.yaml")
    result = run_test_file(pytester, TESTS, *options, "-k", "one or blocks", files={"test_blocks.py": blocks})
    assert result.ret == 1
    result.stdout.fnmatch_lines(["cannot write *size.yaml: Is a directory"])
