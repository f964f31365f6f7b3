"""Fault matrices of tests whose clients go without a socket."""

import pytest

import mockserver.pytest_plugin.faults  # noqa: F401  # else each run within would import it anew
from tests.kit.nested import ran

pytest_plugins = ["pytester"]

TEST = """
import httpx, pytest

@pytest.mark.mockserver_faults("stall@at_start")
def test_x(mockserver):
    mockserver.on().reply("Hello")
    with httpx.Client(transport=mockserver.transport(), timeout=None) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        client.post("http://localhost/v1/chat/completions", json=body).raise_for_status()
"""


def test_what_would_wait_for_ever_hangs(pytester: pytest.Pytester) -> None:
    result = ran(pytester, TEST)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*EndlessError: this answer never continues*",
            "  BAD  stall@at_start  plain   hung: it would wait forever",
            "2 runs: 1 recovered, 1 hung; 1 bad",
        ]
    )
