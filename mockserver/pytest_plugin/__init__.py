"""The pytest plugin: fixtures, a marker and options.

The work is in `mockserver.pytest_plugin.session`, imported with the first test that needs a server, so that an unused
plugin costs next to nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from mockserver.core.namesake import find_overwriting
from mockserver.pytest_plugin.plugin_options import (
    COVERAGE,
    FAULT_MARK,
    FIXTURE,
    FLAGS,
    FOOTPRINT_FLAGS,
    INI_KEYS,
    INSPECT,
    MARKERS,
    OPTIONS,
    RECORD_IN_CI,
    SESSION_FIXTURE,
    is_marked,
    name_flag,
    uses_server,
)

if TYPE_CHECKING:
    from mockserver.pytest_plugin.session import Run, ServerUse
    from mockserver.testing import MockServer

RUN: pytest.StashKey[Run] = pytest.StashKey()
USE: pytest.StashKey[ServerUse] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, most of them also keys of the ini file."""
    group = parser.getgroup("mockserver", "mock servers for LLM APIs")
    for name, option in OPTIONS.items():
        group.addoption(name_flag(name), dest=f"mockserver_{name}", default=None, help=option.about, **option.arguments)
        parser.addini(f"mockserver_{name}", option.about, type=option.kind)
    for flag, about in FLAGS.items():
        group.addoption(flag, action="store_true", help=about)
    group.addoption("--mockserver-coverage", default=[], help=COVERAGE.about, **COVERAGE.arguments)
    parser.addini("mockserver_coverage", COVERAGE.about, type=COVERAGE.kind)
    for name, option in INI_KEYS.items():
        parser.addini(name, option.about, type=option.kind)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """With `mockserver_env = session`, set the environment before any of the user's modules are imported."""
    sys.meta_path[:0] = [finder := WithoutRewriting()]
    early_config.add_cleanup(partial(_forget, finder))
    if early_config.getini("mockserver_env") == "session":
        with _translate_mistakes(pytest.UsageError):
            _run(early_config).set_environ()


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, check the options, and start measuring rule coverage."""
    from mockserver.pytest_plugin.coverage_report import make_rule_coverage

    for marker, about in MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {about}")
    for name, option in INI_KEYS.items():
        if option.choices is not None and (value := config.getini(name)) not in ("", *option.choices):
            raise pytest.UsageError(f"{name} must be one of {', '.join(option.choices)}, not {value!r}")
    if not _may_record(config) and (config.getoption("mockserver_record") or "none") != "none":
        raise pytest.UsageError(
            f"recording is disabled under CI (the variable CI is set); pass {RECORD_IN_CI} to allow it"
        )
    if (coverage := make_rule_coverage(config)) is not None:
        config.pluginmanager.register(coverage, "mockserver-coverage")
    if any(config.getoption(flag) for flag in FOOTPRINT_FLAGS):
        from mockserver.pytest_plugin.footprint_report import make_footprint_report

        config.pluginmanager.register(make_footprint_report(config), "mockserver-footprint")
    if config.getoption(INSPECT):
        from mockserver.pytest_plugin.inspection import Inspection

        config.pluginmanager.register(Inspection(), "mockserver-inspection")
    distributes = config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
    if distributes and config.getoption(INSPECT):
        raise pytest.UsageError(f"{INSPECT} waits for you, which workers cannot; run without -n")
    if distributes and (run := config.stash.get(RUN, None)) is not None:
        run.close()  # it was for conftest files; workers have their own


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Say what helps a module whose client found no key when it was imported."""
    report = yield
    if report.failed and collector.config.getini("mockserver_env") != "session":
        errors = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
        if any(_MISSING_KEY.search(line) for line in errors):
            report.sections.append(("mockserver", _CREATED_AT_IMPORT))
    return report


_MISSING_KEY = re.compile(r"(?i)api[_ ]?key")
_CREATED_AT_IMPORT = (
    "if a client was created while a module was imported, its variables were not set yet; to set them before, write"
    " into pytest's ini file: mockserver_env = session"
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --collect-only, report mistakes in marks, rules files and cassettes; else each fails its test."""
    ours = [item for item in items if uses_server(item)]
    if not ours or not config.option.collectonly or find_overwriting() is not None:
        return
    for text, affected in _run(config).list_mistakes(ours):
        more = f" and {len(affected) - 1} more" if len(affected) > 1 else ""
        file = affected[0].nodeid.partition("::")[0]
        report = pytest.CollectReport(file, "failed", f"{text}\nrequired by {affected[0].nodeid}{more}", [])
        config.hook.pytest_collectreport(report=report)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test of `mockserver_session` alone for mistakes in the options; `mockserver` finds those of its test."""
    names = getattr(item, "fixturenames", ())
    if SESSION_FIXTURE in names and FIXTURE not in names and not is_marked(item):
        with _translate_mistakes(_FAILED):
            _run(item.config).check()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the mark for faults once per fault."""
    if metafunc.definition.get_closest_marker(FAULT_MARK) is not None:
        from mockserver.pytest_plugin import fault_marks

        plugins = metafunc.config.pluginmanager
        if not plugins.is_registered(fault_marks):
            plugins.register(fault_marks, FAULT_MARK)
        fault_marks.parametrize(metafunc)


@pytest.fixture(autouse=True)
def _mockserver_of_mark(request: pytest.FixtureRequest) -> None:
    """Give a marked test the fixture `mockserver`, if it does not request it."""
    if is_marked(request.node) and FIXTURE not in request.fixturenames:
        request.getfixturevalue(FIXTURE)


@pytest.fixture(scope="session")
def mockserver_session(request: pytest.FixtureRequest) -> MockServer:
    """The server behind `mockserver`: one per worker, on its own port."""
    with _translate_mistakes(_FAILED):
        return _run(request.config).start()


@pytest.fixture
def mockserver(request: pytest.FixtureRequest, mockserver_session: MockServer) -> Iterator[MockServer]:
    """A mock server for LLM APIs, reset for each test; the official clients connect to it by themselves."""
    test = request.node
    with _translate_mistakes(_FAILED, test), _run(request.config).serve(test, mockserver_session) as use:
        test.stash[USE] = use
        yield use.server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test for the problems of its server."""
    result = yield
    if (use := item.stash.get(USE, None)) is not None:
        use.verify()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Restore everything again: fixtures that were set up before ours may have restored our values."""
    try:
        return (yield)
    finally:
        if (use := item.stash.get(USE, None)) is not None:
            use.restore()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what its server saw to the report of a test."""
    report = yield
    use = item.stash.get(USE, None)
    if use is not None and not use.over:
        use.add_to(report, None if call.excinfo is None else call.excinfo.value)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the fault matrix, the cassettes with unplayed episodes, and whether another package is in our way."""
    if (overwritten := find_overwriting()) is not None:
        terminalreporter.write_line(f"mockserver: {overwritten}", yellow=True)
    reports = [
        each for group in terminalreporter.stats.values() for each in group if getattr(each, "when", "") == "call"
    ]
    if rows := [value for each in reports for name, value in each.user_properties if name == FAULT_MARK]:
        from mockserver.testing.fault_matrix import FaultRow, write_matrix

        terminalreporter.section("mockserver faults")
        for line in write_matrix([FaultRow(**row) for row in rows]):
            terminalreporter.write_line(line)
    replayed = [each for each in reports if hasattr(each, "mockserver_cassette")]
    if replayed and config.getini("mockserver_unplayed") != "ignore":
        from mockserver.pytest_plugin.session import list_unplayed

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


def _run(config: pytest.Config) -> Run:
    if RUN not in config.stash:
        from mockserver.pytest_plugin.session import Run

        run = config.stash[RUN] = Run(_read_options(config), may_record=_may_record(config))
        config.add_cleanup(run.close)
    return config.stash[RUN]


def _read_options(config: pytest.Config) -> dict[str, Any]:
    """Return the options of the command line, which may not be parsed to its end yet, and of the ini file."""
    given = vars(config.known_args_namespace)
    found: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        if (value := given[f"mockserver_{name}"]) is not None:
            found[name] = _resolve_paths(config.invocation_params.dir, value) if option.is_path else value
        elif value := config.getini(f"mockserver_{name}"):
            found[name] = _resolve_paths(config.rootpath, value) if option.is_path else value
    if not _may_record(config):
        found.pop("record", None)
    return found


def _resolve_paths(folder: Path, value: str | list[str] | list[Path]) -> Any:
    return [folder / file for file in value] if isinstance(value, list) else folder / value


def _may_record(config: pytest.Config) -> bool:
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false", "no")
    return not in_ci or bool(config.known_args_namespace.mockserver_record_in_ci)


@contextmanager
def _translate_mistakes(error_type: Callable[[str], BaseException], item: pytest.Item | None = None) -> Iterator[None]:
    """Raise mistakes in configuration as another error, without a traceback; before all, a package that is not ours.

    Those that are in no file are in the marks of a test `item`.
    """
    if (overwritten := find_overwriting()) is not None:
        raise error_type(f"mockserver: {overwritten}")
    from mockserver.config.errors import MockserverError

    try:
        yield
    except MockserverError as error:
        marked = f"{item.location[0]}:{(item.location[1] or 0) + 1}: " if item is not None else ""
        texts = [("" if mistake.place else marked) + mistake.render() for mistake in error.mistakes]
        raise error_type("\n".join(texts)) from None


_FAILED = partial(pytest.fail.Exception, pytrace=False)
