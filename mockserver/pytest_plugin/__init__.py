"""The pytest plugin: fixtures, a marker and options.

The work is in `mockserver.pytest_plugin.run`, imported with the first test that needs a server: an unused plugin costs
next to nothing.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentError
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockserver.pytest_plugin.run import Run, Use
    from mockserver.testing import MockServer
    from mockserver.testing.clients import Environs

MARK, FAULTS = "mockserver", "mockserver_faults"
FIXTURES = {"mockserver", "mockserver_session"}
RUN: pytest.StashKey[Run] = pytest.StashKey()
USE: pytest.StashKey[Use] = pytest.StashKey()
LED: pytest.StashKey[Environs] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, each also a key of the ini file."""
    group = parser.getgroup("mockserver", "mock servers for LLM APIs")
    try:
        for name, (words, kind, how) in OPTIONS.items():
            group.addoption(f"--mockserver-{name}", dest=f"mockserver_{name}", default=None, help=words, **how)
            parser.addini(f"mockserver_{name}", words, type=kind)
        group.addoption(_FORCED, dest="mockserver_record_in_ci", action="store_true", help="allow recording under CI")
        group.addoption("--mockserver-coverage", action="append", default=[], metavar="KIND", help=_COVERAGE)
        if pytest.version_tuple < (9,):  # which finds two of one name only when it reads some
            with suppress(pytest.UsageError):
                parser.parse_known_args([])
    except (ValueError, ArgumentError) as error:
        if "--mockserver" not in str(error):
            raise
        raise pytest.UsageError(
            f"mockserver: another plugin has an option of this name, {error}; keep one of them out: -p no:NAME"
        ) from error
    parser.addini("mockserver_coverage", _COVERAGE, type="args")
    parser.addini("mockserver_unused", _UNUSED)
    for name, (words, choices) in CHOICES.items():
        parser.addini(name, f"{words}: {choices[0]} (default), {' or '.join(choices[1:])}")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before anything of the user's is imported, lead clients to the server, where the ini file wants that."""
    sys.meta_path[:0] = [finder := Plain()]
    early_config.add_cleanup(partial(_forget, finder))
    if early_config.getini("mockserver_env") == "session":
        with _told(pytest.UsageError):
            _run(early_config).lead()


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known, see to it that options are in order, and watch which rules are used."""
    from mockserver.pytest_plugin.coverage import wanted

    config.addinivalue_line(
        "markers", f"{MARK}(rules=, cassette=, unmatched=, timing=, seed=, dialect=, ...): {_MARKS}"
    )
    config.addinivalue_line(
        "markers", f"{FAULTS}(*faults, positions=, errors=, limit=, expect=, allow=, ...): {_FAULTED}"
    )
    for name, (_, choices) in CHOICES.items():
        if (value := config.getini(name)) not in ("", *choices):
            raise pytest.UsageError(f"{name} is one of {', '.join(choices)}, not {value!r}")
    if not _may_record(config) and (config.getoption("mockserver_record") or "none") != "none":
        raise pytest.UsageError(f"nothing is recorded under CI (the variable CI is set), unless {_FORCED} is given")
    if (coverage := wanted(config, FIXTURES)) is not None:
        config.pluginmanager.register(coverage, "mockserver-coverage")
    distributes = config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
    if distributes and (run := config.stash.get(RUN, None)) is not None:
        run.close()  # it is for the conftest files that were imported by now; workers have their own


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tell once what is mistaken in what tests want, rather than in each test."""
    ours = [item for item in items if FIXTURES.intersection(getattr(item, "fixturenames", ()))]
    if not ours or config.option.collectonly:
        return
    lost = set[pytest.Item]()
    for text, held in _run(config).mistakes(ours):
        more = f" and {len(held) - 1} more" if len(held) > 1 else ""
        where = held[0].nodeid.partition("::")[0]
        report = pytest.CollectReport(where, "failed", f"{text}\nwanted by {held[0].nodeid}{more}", [])
        config.hook.pytest_collectreport(report=report)
        lost.update(held)
    items[:] = [item for item in items if item not in lost]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have a test that is marked so run once for each fault."""
    if metafunc.definition.get_closest_marker(FAULTS) is not None:
        from mockserver.pytest_plugin import faults

        plugins = metafunc.config.pluginmanager
        if not plugins.is_registered(faults):
            plugins.register(faults, FAULTS)
        faults.spread(metafunc)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have a server for a marked test that does not ask for one itself, before all else that is for it alone."""
    marked = item.get_closest_marker(MARK) or item.get_closest_marker(FAULTS)
    if marked is not None and isinstance(item, pytest.Function) and "mockserver" not in item.fixturenames:
        known, names = item._fixtureinfo.name2fixturedefs, item.fixturenames
        lasting = [name for name in names if name in known and known[name][-1].scope != "function"]
        # a list of its own: the other parameters of the test have the same one
        item.fixturenames = [*lasting, "mockserver", *(name for name in names if name not in lasting)]


@pytest.fixture(scope="session")
def mockserver_session(request: pytest.FixtureRequest) -> MockServer:
    """The server beneath `mockserver`: one for each worker, on a port of its own."""
    with _told(_FAILED):
        return _run(request.config).started()


@pytest.fixture
def mockserver(request: pytest.FixtureRequest, mockserver_session: MockServer) -> Iterator[MockServer]:
    """A stand-in for LLM APIs, cleared for each test, to which the official clients come by themselves."""
    stash = request.node.stash
    with _told(_FAILED), _run(request.config).lent(request.node, mockserver_session) as use:
        stash[USE], stash[LED] = use, use.environs
        yield use.server
        del stash[USE]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test fail for what its server has to complain of."""
    result = yield
    use = item.stash.get(USE, None)
    if use is not None and (complaint := use.complaint()):
        pytest.fail(complaint, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Put the environment back again: fixtures that were there before ours may have ended with what it was then."""
    try:
        return (yield)
    finally:
        if (environs := item.stash.get(LED, None)) is not None:
            environs.restore()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Have the report of a test say what its server saw."""
    report = yield
    use = item.stash.get(USE, None)
    if use is not None:
        use.tell(report, None if call.excinfo is None else call.excinfo.value)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show what tests did under faults, and which episodes of cassettes were not played."""
    reports = [each for told in terminalreporter.stats.values() for each in told if getattr(each, "when", "") == "call"]
    if rows := [value for each in reports for name, value in each.user_properties if name == FAULTS]:
        from mockserver.reports.failures import Row, table

        terminalreporter.section("mockserver faults")
        for line in table([Row(**row) for row in rows]):
            terminalreporter.write_line(line)
    taped = [each for each in reports if hasattr(each, "mockserver_tape")]
    if taped and config.getini("mockserver_unplayed") != "ignore":
        from mockserver.pytest_plugin.run import idle

        for line in idle(taped):
            terminalreporter.write_line(f"mockserver: {line}")


class Plain(MetaPathFinder):
    """Finds our modules as Python does.

    Of all that comes with a plugin pytest rewrites the asserts, and at every start anew where it may not write: that
    would take seconds.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """The module, if it is ours."""
        return PathFinder.find_spec(name, path) if name.startswith("mockserver.") else None


def _forget(finder: Plain) -> None:
    with suppress(ValueError):
        sys.meta_path.remove(finder)


def _run(config: pytest.Config) -> Run:
    """The run of tests that this process is at."""
    if RUN not in config.stash:
        from mockserver.pytest_plugin.run import Run

        run = config.stash[RUN] = Run(_stated(config), recording=_may_record(config))
        config.add_cleanup(run.close)
    return config.stash[RUN]


def _stated(config: pytest.Config) -> Mapping[str, Any]:
    """What the command line says, and where it is silent the ini file. It may not have been read to its end yet."""
    given = vars(config.known_args_namespace)
    found: dict[str, Any] = {}
    for name in OPTIONS:
        if (value := given[f"mockserver_{name}"]) is not None:
            found[name] = _within(config.invocation_params.dir, value) if name in _PATHS else value
        elif value := config.getini(f"mockserver_{name}"):
            found[name] = _within(config.rootpath, value) if name in _PATHS else value
    if not _may_record(config):
        found.pop("record", None)
    return found


def _within(folder: Path, value: str | list[str] | list[Path]) -> Any:
    return [folder / file for file in value] if isinstance(value, list) else folder / value


def _may_record(config: pytest.Config) -> bool:
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false", "no")
    return not in_ci or bool(config.known_args_namespace.mockserver_record_in_ci)


@contextmanager
def _told(said: Callable[[str], BaseException]) -> Iterator[None]:
    """Tell people of their mistakes, without our own lines around them."""
    from mockserver.config.errors import MockserverError

    try:
        yield
    except MockserverError as error:
        from mockserver.pytest_plugin.run import in_pytest

        raise said(in_pytest("\n".join(mistake.shown() for mistake in error.mistakes))) from None


_FAILED = partial(pytest.fail.Exception, pytrace=False)
_RECORDS = ("none", "once", "new_episodes", "all")

# What can be said of the server of all tests: in which words, of which type in the ini file, and on the command line.
OPTIONS: Mapping[str, tuple[str, Any, Mapping[str, Any]]] = {
    "rules": (
        "a rules file for tests whose mark names none; repeatable",
        "paths",
        {"action": "append", "metavar": "FILE"},
    ),
    "seed": ("the seed of everything generated", "string", {"type": int}),
    "dialect": ("the dialect of bare paths", "string", {}),
    "unmatched": (
        "what to do if no rule matches: error (default) or generate",
        "string",
        {"choices": ("error", "generate")},
    ),
    "record": ("what to record into the cassettes of tests", "string", {"choices": _RECORDS}),
    "upstream": (
        "the provider's base URL, for recording: openai=https://api.openai.com/v1",
        "linelist",
        {"action": "append", "metavar": "DIALECT=URL"},
    ),
    "cassettes": ("the folder of cassettes (default: `cassettes` next to the test file)", "string", {}),
}
CHOICES = {
    "mockserver_env": ("how long environment variables point clients to the server", ("test", "session")),
    "mockserver_unplayed": ("what to do about cassette episodes that no test used", ("warn", "fail", "ignore")),
}
_PATHS = ("rules", "cassettes")
_FORCED = "--mockserver-record-in-ci"
_MARKS = "configure the test's server; the closest mark wins, key by key"
_COVERAGE = "report which rules were used: term, html, html:FOLDER, json or json:FILE; repeatable"
_UNUSED = "what to do about rules that no test used: ignore, warn (default) or fail"
_FAULTED = "run the test once per fault and show how it copes"
