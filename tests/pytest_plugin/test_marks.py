"""The mark: tests that do not request the fixture, which mark wins, and mistakes in marks."""

import pytest

from tests.kit.nested import BROKEN, RULES, ini, run_test_file

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
    result = run_test_file(pytester, tests, files={"rules.yaml": RULES})
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["no rule answered *"])


def test_a_mark_brings_the_server_to_its_own_test_alone(pytester: pytest.Pytester) -> None:
    tests = """
import os
import pytest

@pytest.fixture(scope="session", autouse=True)
def found():
    return os.environ.get("MOCKSERVER_URL")

@pytest.fixture(scope="session")
def standing(mockserver_session):
    mockserver_session.on(last_user="ever").reply("as ever")

@pytest.mark.parametrize("led", [False, pytest.param(True, marks=pytest.mark.mockserver), False])
def test_parameters(led):
    assert ("MOCKSERVER_URL" in os.environ) is led

@pytest.mark.mockserver
def test_fixtures_that_last_longer_come_first(found):
    assert found is None

@pytest.mark.mockserver
@pytest.mark.parametrize("time", [1, 2])
def test_with_a_rule_of_the_session(standing, time):
    assert greet("ever") == "as ever"

@pytest.mark.mockserver_faults("cut@after_tokens=1", errors=[])
def test_under_faults():
    greet("ever")

@pytest.fixture
def written(request):
    request.path.with_name("made.yaml").write_text("rules: [{then: {text: made before}}]")

@pytest.mark.mockserver(rules="made.yaml")
def test_that_requests_it_after_what_it_needs(written, mockserver):
    assert greet("hello") == "made before"
"""
    run_test_file(pytester, tests).assert_outcomes(passed=9)


MARKS = [
    ("rulez='a.yaml'", '@pytest.mark.mockserver takes no "rulez"; did you mean "rules"?'),
    ("colour=1", '@pytest.mark.mockserver takes no "colour"; it takes rules, verify, max_calls, unmatched, *'),
    ("'rules.yaml'", "@pytest.mark.mockserver takes keywords, such as rules='rules.yaml'"),
    ("rules=3", "@pytest.mark.mockserver(rules=...) takes a file or a list of files, not 3"),
    ("rules='none.yaml'", "none.yaml not found in *"),
    ("rules='broken.yaml'", 'broken.yaml:2:12: *"last_usr"*'),
    ("seed='many'", 'seed must be a whole number, not "many"'),
    ("max_calls=0", "@pytest.mark.mockserver(max_calls=...) takes a number of calls, not 0"),
    ("max_calls=None", "@pytest.mark.mockserver(max_calls=...) takes a number of calls, not None"),
    ("verify='no'", "@pytest.mark.mockserver(verify=...) takes True, False, not 'no'"),
    ("record='onec'", "@pytest.mark.mockserver(record=...) takes none, once, *, not 'onec'; did you mean \"once\"?"),
    ("cassette='none'", 'there is no cassette "none" in */cassettes; *'),
]


def test_the_closest_mark_wins_key_by_key(pytester: pytest.Pytester) -> None:
    tests = """
import pytest
from mockserver.testing import MockServerTestCase
pytestmark = pytest.mark.mockserver(seed=1, dialect="azure", rules="here.yaml")

def said(server):
    settings = server.local.live.settings
    return settings.seed, settings.dialect, settings.unmatched, [rule.name for rule in server.local.live.engine.rules]

def test_module(mockserver):
    assert said(mockserver) == (1, "azure", "generate", ["here"])

class TestCaseOfOurs(MockServerTestCase):
    def test_it(self):
        assert said(self.mockserver) == (0, "openai", "error", [])

@pytest.mark.mockserver(seed=2)
class TestClass:
    def test_class(self, mockserver):
        assert said(mockserver) == (2, "azure", "generate", ["here"])

    @pytest.mark.mockserver(dialect="tzafon", rules=["here.yaml", "rules.yaml"])
    def test_test(self, mockserver):
        assert said(mockserver) == (2, "tzafon", "generate", ["here", "filed"])

@pytest.mark.parametrize("seed", [pytest.param(7, marks=pytest.mark.mockserver(seed=7, rules=[], timing=True))])
def test_parameter(mockserver, seed):
    assert said(mockserver) == (7, "azure", "generate", [])
    assert mockserver.local.live.namespaces.get("default").timed
"""
    ini(pytester, mockserver_unmatched="generate", mockserver_seed="5")
    files = {"rules.yaml": RULES, "sub/here.yaml": RULES.replace("filed", "here"), "sub/conftest.py": ""}
    files |= {"sub/test_marks.py": tests}
    run_test_file(pytester, "", "--mockserver-seed=6", files=files).assert_outcomes(passed=5)


def test_a_mistake_fails_its_tests_and_no_other(pytester: pytest.Pytester) -> None:
    tests = """
import pytest
from mockserver.testing import MockServerTestCase

@pytest.mark.mockserver(seed=3)
class TestCase(MockServerTestCase):
    def test_it(self): ...
"""
    for number, (mark, _) in enumerate(MARKS):
        tests += f"""
@pytest.mark.mockserver({mark})
@pytest.mark.parametrize("n", range(3))
def test_{number}(mockserver, n): ...
"""
    tests += """
def test_broken_cassette(mockserver): ...

def test_good(mockserver): ...
"""
    files = {"broken.yaml": BROKEN, "cassettes/test_it/test_broken_cassette.yaml": "a: ["}
    result = run_test_file(pytester, tests, files=files)
    result.assert_outcomes(errors=2 + 3 * len(MARKS), passed=1)
    own = "test_it.py:8: @pytest.mark.mockserver is not for a MockServerTestCase: configure its server with *"
    cassette = "cassettes/test_it/test_broken_cassette.yaml:1:5: *"
    result.stdout.fnmatch_lines(["* ERROR at setup of TestCase.test_it *", own])
    result.stdout.fnmatch_lines(["* ERROR at setup of test_broken_cassette *", f"*{cassette}"])
    for number, (mark, told) in enumerate(MARKS):
        line = tests.splitlines().index(f"@pytest.mark.mockserver({mark})") + 2  # `ran` begins with one
        place = "" if mark == "rules='broken.yaml'" else f"test_it.py:{line}: "
        result.stdout.fnmatch_lines([f"* ERROR at setup of test_{number}[[]2[]] *", place + told.replace("[", "[[]")])
    assert "Traceback" not in result.stdout.str()
    assert "plugin" not in result.stdout.str().partition("= ERRORS =")[2]  # no line of ours
    listed = run_test_file(pytester, tests, "--collect-only", files=files)
    listed.assert_outcomes(errors=2 + len(MARKS))
    listed.stdout.fnmatch_lines(["*<Function test_good>"])
    listed.stdout.fnmatch_lines([f"*{cassette}"])
    for number, (_, told) in enumerate(MARKS):
        by = f"required by test_it.py::test_{number}[[]0[]] and 2 more"
        listed.stdout.fnmatch_lines([told.replace("[", "[[]"), by])


def test_an_agent_that_never_stops_is_stopped(pytester: pytest.Pytester) -> None:
    tests = """
import pytest
from openai import BadRequestError, OpenAI

SEARCH = {"type": "function", "function": {"name": "search", "parameters": {"type": "object", "properties": {}}}}

@pytest.mark.mockserver(max_calls=3)
@pytest.mark.parametrize("turns", [3, 4])
def test_agent(mockserver, turns):
    mockserver.on("Find it").reply(tool_calls=[{"name": "search", "arguments": {}}])
    client, messages = OpenAI(), [{"role": "user", "content": "Find it"}]
    try:
        for _ in range(turns):
            answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SEARCH])
            message = answer.choices[0].message
            messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "nothing"}]
    except BadRequestError:
        assert turns == 4
"""
    result = run_test_file(pytester, tests)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "This test has reached its limit of 3 calls: rule *.py:* with search({}) answered 3 of them."
            " Put a rule with tool_result before it, so that the result of the tool is answered.",
            "  to allow more: @pytest.mark.mockserver(max_calls=...)",
        ]
    )
