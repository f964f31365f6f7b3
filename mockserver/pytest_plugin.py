"""The pytest plugin: fixtures, a marker, options.

What they do is in `mockserver.testing`, which is imported when a test first wants a server: to have the plugin costs
next to nothing.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockserver.testing import MockServer, Setup

MARK, FAULTS = "mockserver", "mockserver_faults"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, each also a key of the ini file."""
    group = parser.getgroup("mockserver", "stand-ins for LLM APIs")
    for name, words in OPTIONS.items():
        group.addoption(f"--mockserver-{name}", dest=f"mockserver_{name}", default=None, help=words)
        parser.addini(f"mockserver_{name}", words)
    group.addoption("--mockserver-coverage", action="append", default=[], metavar="KIND", help=_COVERAGE)
    parser.addini("mockserver_coverage", _COVERAGE, type="args")
    parser.addini(
        "mockserver_unused", "what comes of rules of files that nobody used: ignore, warn (the default), fail"
    )
    parser.addini("mockserver_env", "when clients are led to the server: for a test (the default), or the session")


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known, and watch which rules are used."""
    from mockserver.pytest_coverage import wanted

    config.addinivalue_line("markers", f"{MARK}(rules=, cassette=, unmatched=, timing=, seed=, dialect=, ...): {_MARK}")
    config.addinivalue_line(
        "markers", f"{FAULTS}(*faults, positions=, errors=, limit=, expect=, allow=, ...): {_FAULTS}"
    )
    if (coverage := wanted(config)) is not None:
        config.pluginmanager.register(coverage, "mockserver-coverage")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have a test that is marked so run once for each fault."""
    if metafunc.definition.get_closest_marker(FAULTS) is not None:
        from mockserver import pytest_faults

        plugins = metafunc.config.pluginmanager
        if not plugins.is_registered(pytest_faults):
            plugins.register(pytest_faults, FAULTS)
        pytest_faults.spread(metafunc)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests did under faults."""
    ran = [each for told in terminalreporter.stats.values() for each in told if getattr(each, "when", "") == "call"]
    found = [value for each in ran for name, value in each.user_properties if name == FAULTS]
    if found:
        from mockserver.reports.faults import Row, table

        terminalreporter.section("mockserver faults")
        for line in table([Row(**row) for row in found]):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def mockserver_session() -> Iterator[MockServer]:
    """The server beneath `mockserver`: one for each worker, on a port of its own."""
    from mockserver.testing import MockServer

    server = MockServer().start()
    yield server
    server.stop()


@pytest.fixture
def mockserver(request: pytest.FixtureRequest, mockserver_session: MockServer) -> Iterator[MockServer]:
    """A stand-in for LLM APIs, cleared for each test, to which the official clients come by themselves."""
    server = mockserver_session
    server.keep()
    server.reset(_setup(request))
    with server.environ():
        yield server
    for call in server.close_open():
        warnings.warn(f"the test left the answer to {call!r} open", stacklevel=1)
    server.reset()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test fail for what its server has to complain of."""
    result = yield
    server = getattr(item, "funcargs", {}).get("mockserver")
    if server is not None:
        problems = server.problems()
        if problems:
            from mockserver.reports.problems import told

            pytest.fail(told(problems), pytrace=False)
    return result


def _setup(request: pytest.FixtureRequest) -> Setup:
    """What marker, command line and ini file say; the closest wins, key by key."""
    from mockserver.testing import Setup

    stated: dict[str, Any] = {**_configured(request.config)}
    for mark in reversed(list(request.node.iter_markers(MARK))):
        stated |= mark.kwargs
    rules = stated.pop("rules", ())
    files = [rules] if isinstance(rules, str | os.PathLike) else rules
    return Setup.of(*(_found(file, request) for file in files), **stated)


def _configured(config: pytest.Config) -> Mapping[str, Any]:
    found = {}
    for name in OPTIONS:
        value = config.getoption(f"mockserver_{name}") or config.getini(f"mockserver_{name}")
        if value:
            found[name] = value
    return found


def _found(file: str | os.PathLike[str], request: pytest.FixtureRequest) -> Path:
    """A file that is named beside the test, or from the root of the tests."""
    beside = request.path.parent / file
    return beside if beside.exists() else request.config.rootpath / file


OPTIONS = {
    "rules": "a rules file that every test has, behind the rules that it declares",
    "seed": "the number from which every choice follows",
    "dialect": "the dialect of the bare paths",
    "record": "record cassettes: none, once, new_episodes or all",
    "upstream": "where the provider's own server is: openai=https://...",
}
_COVERAGE = "report which rules were used: term, html, html:FOLDER, json or json:FILE; may be given several times"
_MARK = "what the server of a test is to be like; of several marks the closest wins"
_FAULTS = "run the test once for each fault and show what it did"
