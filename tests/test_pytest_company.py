"""The fixture with other plugins beside it, and without: what it does at its core is the same in any company."""

from collections.abc import Iterator

import pytest

from mockserver.testing import MockServer
from tests.kit.nested import ran

pytest_plugins = ["pytester"]

COMPANY = {
    "all": (),
    "without xdist": ("-p", "no:xdist"),
    "without pytest-asyncio": ("-p", "no:asyncio"),
    "without anyio": ("-p", "no:anyio"),
    "on workers": ("-n", "2"),
    "alone": ("-p", "mockserver.pytest_plugin"),  # and nothing else is loaded
}
RULES = """
rules:
  - {when: {last_user: hello}, then: {text: Hi!}}
  - {when: {last_user: nobody}, then: {text: Never said.}}
"""
TESTS = """
import openai, pytest

@pytest.mark.mockserver(rules="rules.yaml")
def test_filed(mockserver):
    assert greet() == "Hi!"

@pytest.mark.mockserver(record="once")
def test_taped(mockserver):
    assert greet("who is there?") == "It is me."

def test_unmatched(mockserver):
    mockserver.on(last_user="*weather*").reply("Sunny.")
    with pytest.raises(openai.NotFoundError):
        greet("good evening")

@pytest.mark.mockserver(rulez="rules.yaml")
class TestMistaken:
    def test_one(self, mockserver): pass
    def test_two(self, mockserver): pass
"""
MISTAKE = '@pytest.mark.mockserver takes no "rulez"; did you mean "rules"?'
TOLD = [
    'no rule answered "good evening" (call 1); nearest test_it.py:14: last_user',
    "    test_it.py:14: 0 of 1 condition holds",
    '      MISS  last_user glob "[*]weather[*]": got "good evening"',
    "-* mockserver: rule coverage -*",
    "rules.yaml    1/2    50%  4 rule",
    "TOTAL         1/3    33%",
    "FAILED test_it.py::test_unmatched - Failed: no rule answered *",
]


@pytest.fixture
def provider() -> Iterator[MockServer]:
    with MockServer() as server:
        server.on().reply("It is me.").times(1)
        yield server


@pytest.mark.parametrize("company", COMPANY)
def test_its_core_in_any_company(
    company: str, pytester: pytest.Pytester, provider: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    if company == "alone":
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    options = (*COMPANY[company], f"--mockserver-upstream=openai={provider.base_url()}")
    wanted = ("--mockserver-coverage=term", "--continue-on-collection-errors")
    result = ran(pytester, TESTS, *options, *wanted, files={"rules.yaml": RULES})
    result.assert_outcomes(passed=2, failed=1, errors=1)
    result.stdout.fnmatch_lines(TOLD)
    assert [line for line in result.outlines if line.startswith("@pytest.mark.mockserver takes no")] == [MISTAKE]
    again = options if company != "on workers" else options[2:]  # one process is enough to play it in
    ran(pytester, TESTS, *again, "-k", "taped").assert_outcomes(passed=1, deselected=4)
    assert len(provider.calls) == 1
