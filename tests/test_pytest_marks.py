"""Tests that are marked, and do not ask for the server themselves."""

import pytest

from tests.kit.nested import RULES, ran

pytest_plugins = ["pytester"]


def test_a_mark_is_enough(pytester: pytest.Pytester) -> None:
    tests = """
import os
import pytest

@pytest.fixture
def asked():
    return greet()

@pytest.mark.mockserver(rules="rules.yaml")
class TestMarked:
    def test_marked(self, asked):
        assert asked == "from the file"

    def test_takes_it_too(self, mockserver):
        assert greet() == "from the file"
        assert len(mockserver.calls) == 1

@pytest.mark.mockserver
def test_unmatched():
    greet()

def test_unmarked():
    assert "MOCKSERVER_URL" not in os.environ
"""
    result = ran(pytester, tests, files={"rules.yaml": RULES})
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["no rule answered *"])


def test_a_mark_brings_the_server_to_its_own_test_alone(pytester: pytest.Pytester) -> None:
    conftest = """
import os
import pytest

@pytest.fixture(scope="session", autouse=True)
def found():
    return os.environ.get("MOCKSERVER_URL")
"""
    tests = """
import os
import pytest

@pytest.mark.parametrize("led", [False, pytest.param(True, marks=pytest.mark.mockserver), False])
def test_parameters(led):
    assert ("MOCKSERVER_URL" in os.environ) is led

@pytest.mark.mockserver
def test_fixtures_that_last_longer_come_first(found):
    assert found is None
"""
    ran(pytester, tests, files={"conftest.py": conftest}).assert_outcomes(passed=4)


def test_a_mark_brings_the_server_beside_the_one_of_the_session(pytester: pytest.Pytester) -> None:
    conftest = """
import pytest

@pytest.fixture(scope="session", autouse=True)
def standing(mockserver_session):
    mockserver_session.on().reply("as ever")
"""
    tests = """
import pytest

@pytest.mark.mockserver
@pytest.mark.parametrize("time", [1, 2])
def test_marked(time):
    assert greet() == "as ever"

@pytest.mark.mockserver_faults("cut@after_tokens=1", errors=[])
def test_under_faults():
    greet()
"""
    ran(pytester, tests, files={"conftest.py": conftest}).assert_outcomes(passed=4)
