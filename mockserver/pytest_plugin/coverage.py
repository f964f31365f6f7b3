"""Rule coverage in pytest: watches the servers of all tests, and tells at the end what was used, and what never was."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mockserver.reports.coverage_watch import Watch, watching

if TYPE_CHECKING:
    from mockserver.reports.coverage import Coverage

UNUSED = ("ignore", "warn", "fail")
_TOLD = "mockserver_coverage"  # what a worker hands to the one that started it
Report = tuple[str, Path | None]  # its kind, and where to


def wanted(config: pytest.Config, fixtures: Set[str]) -> RuleCoverage | None:
    """What is to be registered for a run whose tests have rules by these fixtures; None, where nobody wants to know.

    Raises pytest.UsageError.
    """
    unused = config.getini("mockserver_unused") or "warn"
    if unused not in UNUSED:
        raise pytest.UsageError(f"mockserver_unused is one of {', '.join(UNUSED)}, not {unused!r}")
    said = config.getoption("mockserver_coverage") or config.getini("mockserver_coverage")
    reports = tuple(_report(each, config) for each in said)
    return RuleCoverage(unused, reports, fixtures) if reports or unused != "ignore" else None


def _report(said: str, config: pytest.Config) -> Report:
    kind, _, path = said.partition(":")
    if kind not in REPORTS or (kind == "term" and path):
        raise pytest.UsageError(f"--mockserver-coverage is term, html, html:FOLDER, json or json:FILE, not {said!r}")
    usual = REPORTS[kind]
    return (kind, config.invocation_params.dir / (path or usual) if usual else None)


class RuleCoverage:
    """A plugin for one run; a worker hands on what it saw. Where only some tests run, unused rules are no complaint."""

    def __init__(self, unused: str, reports: Sequence[Report], fixtures: Set[str]) -> None:
        self._unused, self._reports, self._fixtures = unused, reports, fixtures
        self._watch, self._partial = Watch(), False
        self._skipped = set[str]()
        watching.append(self._watch)

    def pytest_unconfigure(self) -> None:
        """Watch no more."""
        watching.remove(self._watch)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Some tests do not run."""
        self._partial = self._partial or bool(items)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """What could not be collected, or is skipped as a whole, does not run."""
        self._partial = self._partial or not report.passed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that is skipped may be the one that uses a rule."""
        if report.skipped:
            self._skipped.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended; of one that crashed nothing is known."""
        told: Mapping[str, Any] | None = getattr(node, "workeroutput", {}).get(_TOLD)
        if told is None:
            self._partial = True
        else:
            self._watch.add(told["watch"])
            self._partial = self._partial or told["partial"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Let a run fail whose rules nobody used, if that is wanted."""
        config = session.config
        skipped = (item for item in session.items if item.nodeid in self._skipped)
        ours = any(not self._fixtures.isdisjoint(getattr(item, "fixturenames", ())) for item in skipped)
        self._partial = self._partial or ours or _broken_off(session)
        if hasattr(config, "workeroutput"):
            config.workeroutput[_TOLD] = {"watch": self._watch.told(), "partial": self._partial}
        elif self._unused == "fail" and exitstatus == pytest.ExitCode.OK and self._complaints(config):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """The reports, and the rules that nobody used."""
        terminalreporter.ensure_newline()
        for kind, path in self._reports:
            _TELLING[kind](self._watch.coverage(str(config.rootpath)), path, terminalreporter)
        if complaints := self._complaints(config):
            failing = self._unused == "fail"
            title = f"mockserver: {_many(len(complaints))} never used"
            terminalreporter.section(title, red=failing, yellow=not failing)
            for line in complaints:
                terminalreporter.write_line(line)
            if failing:
                terminalreporter.write_line("the run fails for that: mockserver_unused = fail")

    def _complaints(self, config: pytest.Config) -> list[str]:
        if self._unused == "ignore" or self._partial or self._watch.empty or _narrowed(config):
            return []
        from mockserver.reports.coverage import unused

        return list(unused(self._watch.coverage(str(config.rootpath))))


def _broken_off(session: pytest.Session) -> bool:
    return bool(session.shouldstop or session.shouldfail) or session.exitstatus == pytest.ExitCode.INTERRUPTED


def _narrowed(config: pytest.Config) -> bool:
    """Whether only a part of the tests was asked for."""
    option, said = config.option, map(str, config.invocation_params.args)
    left_out = option.collectonly or getattr(option, "lf", False) or any(each.startswith("--ignore") for each in said)
    return left_out or (config.args_source is not config.ArgsSource.TESTPATHS and _names_a_part(config))


def _names_a_part(config: pytest.Config) -> bool:
    """Whether a test or a file was named, or folders without all tests.

    All are below `testpaths`; where that is not said a folder of the root's own may well hold them, no deeper one.
    """
    folders = [Path(os.path.abspath(config.invocation_params.dir / argument)) for argument in config.args]
    if any("::" in str(path) or path.is_file() for path in folders):
        return True
    root, patterns = config.rootpath, config.getini("testpaths")
    known = [root / path for pattern in patterns for path in glob(pattern, root_dir=root, recursive=True)]
    if known:
        return not all(any(path.is_relative_to(folder) for folder in folders) for path in known)
    return not any(root in (folder, folder.parent) or folder in root.parents for folder in folders)


def _many(rules: int) -> str:
    return "1 rule was" if rules == 1 else f"{rules} rules were"


def _as_table(coverage: Coverage, path: Path | None, terminal: pytest.TerminalReporter) -> None:
    from mockserver.reports.coverage import table

    terminal.section("mockserver: rule coverage", sep="-")
    for line in table(coverage):
        terminal.write_line(line)


def _as_page(coverage: Coverage, path: Path | None, terminal: pytest.TerminalReporter) -> None:
    from mockserver.reports.coverage import page

    texts = {file.path: _lines(file.path) for file in coverage.files}
    _write(page(coverage, texts), path / "index.html" if path else None, terminal)


def _as_json(coverage: Coverage, path: Path | None, terminal: pytest.TerminalReporter) -> None:
    from mockserver.reports.coverage import as_json

    _write(as_json(coverage), path, terminal)


def _lines(path: str) -> Sequence[str]:
    try:
        return Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:  # a file that a test made for itself
        return ()


def _write(text: str, path: Path | None, terminal: pytest.TerminalReporter) -> None:
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        terminal.write_line(f"rule coverage cannot be written to {path}: {error.strerror or error}", red=True)
    else:
        terminal.write_line(f"rule coverage written to {_near(path)}")


def _near(path: Path) -> Path:
    """A path as people find it from where they are."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


REPORTS = {"term": "", "html": "mockserver-coverage", "json": "mockserver-coverage.json"}  # where to, usually
_TELLING: Mapping[str, Callable[[Coverage, Path | None, pytest.TerminalReporter], None]] = {
    "term": _as_table,
    "html": _as_page,
    "json": _as_json,
}
