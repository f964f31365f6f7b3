"""The pytest plugin: its fixtures and its hooks, in the order in which pytest calls them.

From a test's collection to the report of its failure:

1. A test is collected; with the mark for faults (`fault_marks`), once per fault.
2. It, or its mark, requests the fixture `mockserver`. The first such test imports `pytest_run`, which has the work, so
   that an unused plugin costs next to nothing: a `Run` has the one server of this process.
3. `Run.serve` resets the server with what marks, command line and ini file say of the test (`configuration`), sets the
   environment for clients, and stops connections to providers. Until its end, the test has this `ServerUse`.
4. At the end of the test function, `ServerUse.verify` fails it for the problems of its server.
5. `ServerUse.finish_phase` adds what the server saw to the report of a failure, such as calls and the nearest rules.
6. The fixture's end resets the server, warns of what the test left behind, and restores environment and connections.

Rule coverage (`coverage_report`) and footprints (`footprint_report`) are plugins of their own, with their own hooks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from mockserver.core.namesake import find_overwriting
from mockserver.pytest_plugin.plugin_options import (
    CASSETTE,
    FAULT_MARK,
    FIXTURE,
    FOOTPRINT_FLAGS,
    FOOTPRINT_VALUES,
    MARKERS,
    SESSION_FIXTURE,
    add_options,
    check_options,
    find_unknown_keys,
    has_workers,
    is_marked,
    list_stated_keys,
    may_record,
    name_ini_file,
    read_options,
    uses_server,
)

if TYPE_CHECKING:
    from mockserver.pytest_plugin.pytest_run import Run, ServerUse
    from mockserver.testing import MockServer

RUN: pytest.StashKey[Run] = pytest.StashKey()
USE: pytest.StashKey[ServerUse] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, most of them also keys of the ini file."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """With `mockserver_env = session`, set the environment before any of the user's modules are imported."""
    sys.meta_path[:0] = [finder := WithoutRewriting()]
    early_config.add_cleanup(partial(_forget, finder))
    if early_config.getini("mockserver_env") == "session":
        with _use_run(early_config, error_type=pytest.UsageError) as run:
            run.set_environ()


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, check the options, and register the reports that were asked for."""
    from mockserver.pytest_plugin.coverage_report import make_rule_coverage

    for marker, about in MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {about}")
    if unknown := find_unknown_keys(config):
        from mockserver.pytest_plugin.configuration import explain_unknown_key

        raise pytest.UsageError(explain_unknown_key(unknown[0], config))
    check_options(config)
    if (coverage := make_rule_coverage(config)) is not None:
        config.pluginmanager.register(coverage, "mockserver-coverage")
    asks_footprint = any(config.getoption(flag) for flag in FOOTPRINT_FLAGS)
    if asks_footprint or any(map(config.getini, FOOTPRINT_VALUES)):
        from mockserver.pytest_plugin.footprint_report import FootprintReport, read_footprint_options

        options = read_footprint_options(config)  # mistakes are told with each run, not with the first that compares
        if asks_footprint:
            config.pluginmanager.register(FootprintReport(config, options), "mockserver-footprint")
    if has_workers(config) and (run := config.stash.get(RUN, None)) is not None:
        run.close()  # it was for conftest files; workers have their own


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the mark for faults once per fault."""
    if metafunc.definition.get_closest_marker(FAULT_MARK) is not None:
        from mockserver.pytest_plugin import fault_marks

        plugins = metafunc.config.pluginmanager
        if not plugins.is_registered(fault_marks):
            plugins.register(fault_marks, FAULT_MARK)
        fault_marks.parametrize(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Say what helps a module whose client found no key when it was imported."""
    report = yield
    if report.failed and collector.config.getini("mockserver_env") != "session" and _misses_key(report):
        report.sections.append(("mockserver", _CREATED_AT_IMPORT))
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --collect-only, report mistakes in marks, rules files and cassettes; else each fails its test."""
    ours = [item for item in items if uses_server(item)]
    if ours and config.option.collectonly and find_overwriting() is None:
        with _use_run(config) as run:
            for report in run.report_mistakes(ours):
                config.hook.pytest_collectreport(report=report)


@pytest.fixture(scope="session")
def mockserver_session(request: pytest.FixtureRequest) -> MockServer:
    """The server behind `mockserver`: one per worker, on its own port."""
    with _use_run(request.config) as run:
        return run.start()


@pytest.fixture
def mockserver(request: pytest.FixtureRequest, mockserver_session: MockServer) -> Iterator[MockServer]:
    """A mock server for LLM APIs, reset for each test; the official clients connect to it by themselves."""
    test = request.node
    with _use_run(request.config, test) as run, run.serve(test, mockserver_session) as use:
        test.stash[USE] = use
        yield use.server


@pytest.fixture(autouse=True)
def _mockserver_if_marked(request: pytest.FixtureRequest) -> None:
    """Give a marked test the fixture `mockserver`; else let mistakes in options fail a test of `mockserver_session`."""
    if FIXTURE in request.fixturenames:
        return
    if is_marked(request.node):
        request.getfixturevalue(FIXTURE)
    elif SESSION_FIXTURE in request.fixturenames:
        with _use_run(request.config) as run:
            run.check()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test for the problems of its server."""
    result = yield
    if (use := item.stash.get(USE, None)) is not None:
        use.verify()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what its server saw to the report of a test, and with --mockserver-inspect, show it."""
    report = yield
    if (use := item.stash.get(USE, None)) is not None:
        use.finish_phase(report, None if call.excinfo is None else call.excinfo.value)
        if report.failed and not use.over:
            item.config.stash[RUN].show_failed(item, use)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the fault matrix, the cassettes with unplayed episodes, and whether another package is in our way."""
    if (overwritten := find_overwriting()) is not None:
        terminalreporter.write_line(f"mockserver: {overwritten}", yellow=True)
    reports = [
        each for group in terminalreporter.stats.values() for each in group if getattr(each, "when", "") == "call"
    ]
    if any(name == FAULT_MARK for report in reports for name, _ in report.user_properties):
        from mockserver.pytest_plugin import fault_marks

        fault_marks.show_matrix(terminalreporter, reports)
    replayed = [report for report in reports if hasattr(report, CASSETTE)]
    if replayed and config.getini("mockserver_unplayed") != "ignore":
        from mockserver.pytest_plugin.pytest_run import list_unplayed

        for line in list_unplayed(replayed):
            terminalreporter.write_line(f"mockserver: {line}")


class WithoutRewriting(MetaPathFinder):
    """Finds our modules without pytest's assertion rewriting, which takes seconds if its cache is not writable."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """Find a module of this package."""
        return PathFinder.find_spec(name, path) if name.startswith("mockserver.") else None


def _forget(finder: WithoutRewriting) -> None:
    with suppress(ValueError):
        sys.meta_path.remove(finder)


_FAILED = partial(pytest.fail.Exception, pytrace=False)


@contextmanager
def _use_run(
    config: pytest.Config,
    item: pytest.Item | None = None,
    error_type: Callable[[str], BaseException] = _FAILED,
) -> Iterator[Run]:
    """Lend the run, which is made with its first use; mistakes in configuration are raised as another error.

    Before all, the error tells of a package that has overwritten ours.
    """
    if (overwritten := find_overwriting()) is not None:
        raise error_type(f"mockserver: {overwritten}")
    from mockserver.config.errors import MockserverError
    from mockserver.pytest_plugin.pytest_run import Run

    if RUN not in config.stash:
        inspects = bool(config.known_args_namespace.mockserver_inspect)  # others may not be parsed yet
        run = config.stash[RUN] = Run(read_options(config), may_record=may_record(config), inspects=inspects)
        config.add_cleanup(run.close)
    try:
        yield config.stash[RUN]
    except MockserverError as error:
        where = _find_place_of_options(config, item)
        texts = [("" if mistake.place else where) + mistake.render() for mistake in error.mistakes]
        raise error_type("\n".join(texts)) from None


def _find_place_of_options(config: pytest.Config, item: pytest.Item | None) -> str:
    """Return how a message begins on a mistake that tells no place: with the test that is marked, or the ini file."""
    if item is not None and is_marked(item):
        return f"{item.location[0]}:{(item.location[1] or 0) + 1}: "
    return next((name_ini_file(key, config) for key in list_stated_keys(config)), "")


def _misses_key(report: pytest.CollectReport) -> bool:
    """Return whether a module could not be imported for want of an API key."""
    errors = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
    return any(re.search(r"(?i)api[_ ]?key", line) for line in errors)


_CREATED_AT_IMPORT = (
    "if a client was created while a module was imported, its variables were not set yet; to set them before, write"
    " into pytest's ini file: mockserver_env = session"
)
