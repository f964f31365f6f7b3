"""Cassettes in tests: recorded, played, named after the test, and what of them was not played."""

import re
import shutil
from collections.abc import Iterator

import pytest

from mockserver.testing import MockServer
from tests.kit.nested import ini, run_test_file

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-0123456789abcdefghij")


@pytest.fixture(scope="module")
def provider() -> Iterator[MockServer]:
    server = MockServer().start()
    server.on().reply("{{ last_user }} to you!")
    server.local.rules.keep_declared()
    yield server
    server.stop()


@pytest.fixture
def upstream(provider: MockServer) -> str:
    provider.reset()
    return f"--mockserver-upstream=openai={provider.base_url()}"


TESTS = """
import pytest

@pytest.mark.parametrize("text", ["hello", "good/evening", "A", "a"])
class TestGreeting:
    def test_greets(self, mockserver, text):
        assert greet(text) == f"{text} to you!"

def test_twice(mockserver):
    assert greet("one") == "one to you!"
    assert greet("two") == "two to you!"
"""


def names(pytester: pytest.Pytester, folder: str) -> list[str]:
    return sorted(
        path.relative_to(pytester.path / folder).as_posix() for path in (pytester.path / folder).rglob("*.yaml")
    )


def test_a_test_is_recorded_once_and_played_from_then_on(
    pytester: pytest.Pytester, provider: MockServer, upstream: str
) -> None:
    run_test_file(pytester, TESTS, "--mockserver-record=once", upstream).assert_outcomes(passed=5)
    assert len(provider.calls) == 6
    assert provider.calls[0].headers["authorization"] == "Bearer sk-real-0123456789abcdefghij"
    found = names(pytester, "cassettes")
    assert [name.partition("~")[0].removesuffix(".yaml") for name in found] == [
        "test_it/TestGreeting.test_greets[A]",
        "test_it/TestGreeting.test_greets[a]",
        "test_it/TestGreeting.test_greets[good-evening]",
        "test_it/TestGreeting.test_greets[hello]",
        "test_it/test_twice",
    ]
    assert len({name.lower() for name in found}) == 5
    for options in (), ("--mockserver-record=once", upstream), ("--mockserver-record=none",):
        result = run_test_file(pytester, TESTS, *options)
        result.assert_outcomes(passed=5)
        assert "not played" not in result.stdout.str()
    assert len(provider.calls) == 6


def test_what_was_edited_is_played_with_a_warning(pytester: pytest.Pytester, upstream: str) -> None:
    run_test_file(pytester, TESTS, "--mockserver-record=once", upstream, "-k", "twice").assert_outcomes(passed=1)
    file = pytester.path / "cassettes/test_it/test_twice.yaml"
    edited = TESTS.replace("two to you!", "two to me!")
    file.write_text(file.read_text().replace("two to you!", "two to me!"))
    result = run_test_file(pytester, edited, "-k", "twice", "-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        ["*MockServerWarning: cassette test_it/test_twice.yaml: edited since *: #2; record it*"]
    )
    file.write_text(re.sub("sha256: .*", "sha256: unknown", file.read_text()))
    run_test_file(pytester, edited, "-k", "twice", "-W", "default").assert_outcomes(passed=1, warnings=0)


def test_what_was_imported_from_pytest_recording_is_found(pytester: pytest.Pytester, upstream: str) -> None:
    run_test_file(pytester, TESTS, "--mockserver-record=once", upstream, "-k", "evening").assert_outcomes(passed=1)
    recorded = next(pytester.path.glob("cassettes/test_it/*evening*.yaml"))
    recorded.rename(recorded.with_name("TestGreeting.test_greets[good-evening].yaml"))
    run_test_file(pytester, TESTS, "-k", "evening").assert_outcomes(passed=1)


def test_what_is_asked_anew(pytester: pytest.Pytester, provider: MockServer, upstream: str) -> None:
    run_test_file(pytester, TESTS, "--mockserver-record=once", upstream, "-k", "twice").assert_outcomes(passed=1)
    other = TESTS.replace('"two"', '"three"').replace("two to", "three to")
    result = run_test_file(pytester, other, "-k", "twice")
    result.assert_outcomes(failed=1)
    assert "this request" in result.stdout.str()
    result.stdout.fnmatch_lines(["E * to record it, set --mockserver-record=new_episodes*"])
    assert "set --record" not in result.stdout.str()
    run_test_file(pytester, other, "--mockserver-record=new_episodes", upstream, "-k", "twice").assert_outcomes(
        passed=1
    )
    assert len(provider.calls) == 3
    run_test_file(pytester, other, "--mockserver-record=all", upstream, "-k", "twice").assert_outcomes(passed=1)
    assert len(provider.calls) == 5


def test_the_cassette_of_a_renamed_parameter_is_named(pytester: pytest.Pytester, upstream: str) -> None:
    run_test_file(pytester, TESTS, "--mockserver-record=once", upstream, "-k", "hello").assert_outcomes(passed=1)
    result = run_test_file(pytester, TESTS.replace("hello", "hi"), "-k", "greets and hi")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "no cassette cassettes/test_it/TestGreeting.test_greets[[]hi].yaml;"
        " there is TestGreeting.test_greets[[]hello].yaml",
        "  rename one, or record with --mockserver-record=once and --mockserver-upstream=DIALECT=URL",
    ])  # fmt: skip
    assert "no cassette" not in run_test_file(pytester, TESTS, "-k", "twice").stdout.str()


def test_a_cassette_that_may_be_meant_is_named(pytester: pytest.Pytester, upstream: str) -> None:
    run_test_file(pytester, TESTS, "--mockserver-record=once", upstream, "-k", "twice").assert_outcomes(passed=1)
    for name in ("a", "twice"):  # as recordings of vcrpy are named
        shutil.copy(next(pytester.path.glob("cassettes/*/test_twice*.yaml")), f"cassettes/{name}.yaml")
    shutil.rmtree("cassettes/test_it")
    result = run_test_file(pytester, TESTS, "-k", "twice")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "no cassette cassettes/test_it/*.yaml; there is a.yaml, twice.yaml",
        '  name one in @pytest.mark.mockserver(cassette="twice"), or record with *',
    ])  # fmt: skip


def test_episodes_that_were_not_played(pytester: pytest.Pytester, upstream: str) -> None:
    run_test_file(pytester, TESTS, "--mockserver-record=once", upstream, "-k", "twice").assert_outcomes(passed=1)
    fewer = TESTS.replace('    assert greet("one") == "one to you!"\n', "")
    told = "cassettes/test_it/test_twice.yaml: 1 of 2 episodes not played: #1"
    result = run_test_file(pytester, fewer, "-k", "twice")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"mockserver: {told}"])
    ini(pytester, mockserver_unplayed="fail")
    result = run_test_file(pytester, fewer, "-k", "twice")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"FAILED *test_twice - Failed: {told[:20]}*"])
    ini(pytester, mockserver_unplayed="ignore")
    result = run_test_file(pytester, fewer, "-k", "twice")
    result.assert_outcomes(passed=1)
    assert "not played" not in result.stdout.str()


def test_a_cassette_that_tests_share(pytester: pytest.Pytester, upstream: str) -> None:
    tests = """
import pytest
pytestmark = pytest.mark.mockserver(cassette="shared/all")

@pytest.mark.parametrize("text", ["one", "two", "three"])
def test_each(mockserver, text):
    assert greet(text) == f"{text} to you!"

@pytest.mark.mockserver(cassette=None)
def test_none(mockserver):
    mockserver.on().reply("mine")
    assert greet() == "mine"
"""
    recorded = run_test_file(pytester, tests, "--mockserver-record=once", upstream)
    recorded.assert_outcomes(passed=4)
    assert names(pytester, "cassettes") == ["shared/all.yaml"]
    assert "not played" not in recorded.stdout.str()
    result = run_test_file(pytester, tests)
    result.assert_outcomes(passed=4)
    assert "not played" not in result.stdout.str()
    fewer = tests.replace('"two", ', "")
    run_test_file(pytester, fewer).stdout.fnmatch_lines(
        ["mockserver: cassettes/shared/all.yaml: 1 of 3 episodes not played: #2"]
    )


def test_tests_that_stand_below_the_root(
    pytester: pytest.Pytester, upstream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = """
import pytest
from app import greet

@pytest.mark.mockserver(cassette="shared", record="once")
def test_shared(mockserver):
    assert greet("one") == "one to you!"
"""
    files = {"tests/unit/test_deep.py": tests}
    run_test_file(pytester, "", upstream, files=files).assert_outcomes(passed=1)
    assert names(pytester, "tests") == ["unit/cassettes/shared.yaml"]
    run_test_file(pytester, "", files=files).assert_outcomes(passed=1)
    monkeypatch.setenv("CI", "1")
    run_test_file(pytester, "", files=files).assert_outcomes(passed=1)
    (pytester.path / "tests/unit/cassettes/shared.yaml").unlink()
    told = run_test_file(pytester, "", files=files).stdout.str()
    assert f'there is no cassette "shared" in {pytester.path}/tests/unit/cassettes' in told


def test_what_is_not_recorded_is_told(pytester: pytest.Pytester, provider: MockServer, upstream: str) -> None:
    tests = """
from openai import APIError

def test_careless(mockserver):
    try:
        greet()
    except APIError:
        pass

def test_careful(mockserver):
    greet()
"""
    provider.on().fail("invalid_key")
    nowhere = "--mockserver-upstream=openai=http://127.0.0.1:9/v1"
    kept = "[(]@pytest.mark.mockserver(record_errors=True) records it too)"
    for there, why in (
        (upstream, f"401: the upstream rejected the API key*{kept}"),
        (nowhere, "127.0.0.1:9, refuses connections"),
    ):
        result = run_test_file(pytester, tests, "--mockserver-record=once", there, "-W", "default")
        result.assert_outcomes(passed=1, failed=1, warnings=1)
        result.stdout.fnmatch_lines(["- mockserver -".center(80, "-"), f"an answer was not recorded, call 1: *{why}*"])
        result.stdout.fnmatch_lines([f"*MockServerWarning: an answer was not recorded, call 1: chat*: *{why}*"])
